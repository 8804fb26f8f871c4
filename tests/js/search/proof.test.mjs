// No false proof: random indexes and queries against exact scores, in every build.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { save } from "zeropoint/models";
import { Random } from "../support/asserts.mjs";
import { builds } from "../support/builds.mjs";
import { effort } from "../support/effort.mjs";
import { exactScore, integerOf, nearest } from "./reference.mjs";

const METRICS = ["cosine", "dot", "euclidean"];
const DTYPES = ["int8", "int4", "binary"];
const ORIGINALS = ["none", "float32", "float16"];

const random = new Random(391);
const pick = (list) => random.pick(list);

/** Rows around few centers, so that many are near each other, and some are equal or zero. */
function randomRows(count, dimensions, size) {
  const uniform = () => random.between(-size, size);
  const centers = Array.from({ length: 3 }, () => Array.from({ length: dimensions }, uniform));
  return Array.from({ length: count }, () => {
    const center = pick(centers);
    const spread = pick([0, 1 / 1024, 1 / 16, 1]);
    if (random.integer(0, 39) === 0) return new Float32Array(dimensions);
    return Float32Array.from(center, (value) => value + spread * uniform());
  });
}

/** A random index and query: options, rows, query, k, and the exact scores of the rows. */
function randomSearch(run) {
  const options = {
    dimensions: random.integer(1, 24),
    metric: METRICS[run % 3],
    dtype: pick(DTYPES),
    originals: pick(ORIGINALS),
  };
  if (options.dtype !== "binary" && run % 2 === 0) options.groupSize = random.integer(1, 9);
  const { dimensions, metric } = options;
  const rows = randomRows(random.integer(1, 30), dimensions, 2 ** random.integer(-12, 8));
  const query = pick([pick(rows), ...randomRows(2, dimensions, 1)]);
  const k = random.integer(1, 8);
  const integers = [...query].map(integerOf);
  const scores = rows.map((row) => exactScore(integers, [...row].map(integerOf), metric));
  return { options, rows, query, k, scores };
}

/** The bytes of a saved index with each row's error bound multiplied by a factor. */
function withErrors(bytes, factor) {
  const start = 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
  const [from, to] = header.errors.data_offsets;
  const errors = new Float32Array(bytes.slice(start + from, start + to).buffer);
  const changed = bytes.slice();
  changed.set(new Uint8Array(errors.map((error) => factor * error).buffer), start + from);
  return changed;
}

/** Asserts that a result says nothing wrong. @param scores  exact scores of rows by id */
function checkResult(result, scores, { k, metric, originals }, text) {
  const { hits, proven, candidates } = result;
  const order = nearest(scores).slice(0, k);
  assert.equal(hits.length, order.length, text);
  const found = hits.map(({ id }) => id);
  for (const { id, score, distance, error } of hits) {
    const given = metric === "euclidean" ? -distance : score;
    const difference = Math.abs(given - scores[id]);
    assert.ok(
      difference <= error,
      `${text}: ${given} of ${id} is ${difference} away, over ${error}`,
    );
  }
  if (originals === "float32") {
    assert.equal(proven, "order", text);
    for (const { error } of hits) assert.equal(error, 0, text);
  }
  if (proven === "order") {
    assert.deepEqual(found, order, text);
    return;
  }
  assert.ok(candidates >= hits.length, text);
  if (proven === "members") {
    // Rows with equal scores may stand for each other.
    const least = scores[order.at(-1)];
    for (const id of found) assert.ok(scores[id] >= least, `${text}: ${id} is no member`);
  } else assert.ok(candidates > hits.length, text);
}

describe("VectorIndex.search proves nothing that is wrong", () => {
  it("for random indexes and queries, in every build", { timeout: 600_000 }, () => {
    const proofs = { order: 0, members: 0, false: 0 };
    for (let run = 0; run < effort(10_000); run++) {
      const { options, rows, query, k, scores } = randomSearch(run);
      let expected;
      for (const { VectorIndex, name } of builds) {
        const text = `run ${run}, ${name}, ${JSON.stringify({ ...options, k })}`;
        const index = new VectorIndex(options);
        index.add(rows);
        const result = index.search(query, { k });
        index.dispose();
        expected ??= result;
        assert.deepEqual(result, expected, text);
        checkResult(result, scores, { k, ...options }, text);
        proofs[result.proven]++;
      }
    }
    // Each kind of proof was met.
    for (const [proof, count] of Object.entries(proofs)) assert.ok(count > builds.length, proof);
  });

  it("which bounds of rows that are 1 % too small would do", {
    timeout: 600_000,
  }, async (context) => {
    const { VectorIndex, load } = builds[0];
    let wrong = 0;
    const runs = effort(2_000);
    for (let run = 0; run < runs; run++) {
      const { options, rows, query, k, scores } = randomSearch(run);
      const index = new VectorIndex({ ...options, originals: "none" });
      index.add(rows);
      const bytes = new Uint8Array(await new Response(save(index)).arrayBuffer());
      const [whole, shrunk] = await Promise.all(
        [1, 0.99].map(async (factor) => await load(withErrors(bytes, factor))),
      );
      checkResult(whole.search(query, { k }), scores, { k, ...options, originals: "none" }, "");
      try {
        checkResult(shrunk.search(query, { k }), scores, { k, ...options, originals: "none" }, "");
      } catch {
        wrong++;
      }
      for (const each of [index, whole, shrunk]) each.dispose();
    }
    context.diagnostic(`${wrong} of ${runs} results are wrong with bounds that are 1 % too small`);
    assert.ok(wrong > runs / 100, `${wrong} of ${runs}`);
  });

  // The row's bound is reached: its error lies along the query, and another row, which codes hold almost
  // exactly, has a score that only the last half of a percent of the bound keeps open.
  it("for a row whose score reaches its bound, and another just below it", () => {
    const { VectorIndex } = builds[0];
    for (let run = 0; run < 40; run++) {
      const dimensions = 32;
      const row = Float32Array.from({ length: dimensions }, () => random.between(-1, 1));
      const groupSize = pick([undefined, 7, 16]);
      const index = new VectorIndex({ dimensions, metric: "dot", dtype: "int4", groupSize });
      index.add(row);
      const query = index.vector(0).map((value, i) => row[i] - value);
      const integers = [...query].map(integerOf);
      const scoreOf = (x) => exactScore(integers, [...x].map(integerOf), "dot");
      const [{ score: estimate }] = index.search(query).hits;
      const wanted = estimate + 0.995 * (scoreOf(row) - estimate);
      const place = query.indexOf(query.reduce((a, b) => (Math.abs(a) > Math.abs(b) ? a : b)));
      const other = new Float32Array(dimensions);
      other[place] = wanted / query[place];
      index.add(other);
      const result = index.search(query, { k: 1 });
      assert.ok(scoreOf(row) > scoreOf(other));
      checkResult(result, [scoreOf(row), scoreOf(other)], { k: 1, metric: "dot" }, `run ${run}`);
      assert.equal(result.candidates, 2);
      index.dispose();
    }
  });

  it("with bounds that a query along a row's error reaches, and nothing exceeds", () => {
    const { VectorIndex } = builds[0];
    for (const metric of ["dot", "euclidean"]) {
      for (let run = 0; run < 20; run++) {
        const dimensions = 32;
        const row = Float32Array.from({ length: dimensions }, () => random.between(-1, 1));
        const groupSize = pick([undefined, 7, 16]);
        const index = new VectorIndex({ dimensions, metric, dtype: "int4", groupSize });
        index.add(row);
        const error = index.vector(0).map((value, i) => row[i] - value);
        const query = metric === "dot" ? error : row.map((value, i) => value + 8 * error[i]);
        const exact = exactScore([...query].map(integerOf), [...row].map(integerOf), metric);
        const [{ score, distance = -score, error: bound }] = index.search(query).hits;
        const difference = Math.abs(-distance - exact);
        assert.ok(difference <= bound, `${metric}: ${difference} is over ${bound}`);
        assert.ok(difference > 0.99 * bound, `${metric}: ${difference} is far below ${bound}`);
        index.dispose();
      }
    }
  });
});
