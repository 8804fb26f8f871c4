// The search benchmark, in Node or in a page: searches of zeropoint beside plain JavaScript, other programs and the
// machine's speed of reading. Contestants are timed in turn, one query each, round after round.

import { limitKernels } from "../limits/limits.mjs";
import { summary } from "../measure.mjs";
import { clusteredVectors, normalized, plainSearch } from "./vectors.mjs";

const K = 10;
const QUERIES = 32;

/** The forms of an index; those with `threads` also with two. */
const FORMS = [
  {
    name: "int8, proven by float32 originals",
    options: { dtype: "int8", originals: "float32" },
    threads: 2,
  },
  { name: "int8", options: { dtype: "int8" }, threads: 2 },
  { name: "int4", options: { dtype: "int4" }, threads: 2 },
  { name: "int4 in groups of 32", options: { dtype: "int4", groupSize: 32 } },
  { name: "binary prefilter, int8", options: { dtype: "int8", prefilter: "binary" } },
  {
    name: "binary prefilter, int8, float32 originals",
    options: { dtype: "int8", prefilter: "binary", originals: "float32" },
  },
];

/** Milliseconds of a call. @param {() => unknown} work */
async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/**
 * @typedef {object} StoredIndex
 * @property {any} source  what `load` takes
 * @property {number} bytes
 * @property {() => unknown} read  reads all of it
 * @property {() => void} remove
 *
 * @typedef {object} Environment
 * @property {(options: object, ...entries: object[]) => Promise<any>} create  of zeropoint
 * @property {object} search  the entry zeropoint/search
 * @property {WebAssembly.Module} limits  the compiled limits of the baseline build
 * @property {(index: object) => Promise<StoredIndex>} store  saves an index
 * @property {import("./others.mjs").Contestant[]} others
 */

/**
 * @param {Environment} environment
 * @param {{ rows: number, dimensions: number, rounds: number }} sizes
 */
export async function measureSearch(environment, { rows, dimensions, rounds }) {
  const { create, search, limits, store, others } = environment;
  const { vectors, queries } = clusteredVectors({ rows, dimensions, queries: QUERIES });
  const queryOf = (i) => queries.subarray(i * dimensions, (i + 1) * dimensions);
  const unit = normalized(vectors, dimensions);
  const unitQueries = normalized(queries, dimensions);
  const unitOf = (i) => unitQueries.subarray(i * dimensions, (i + 1) * dimensions);
  const truth = Array.from({ length: QUERIES }, (_, i) => plainSearch(unit, unitOf(i), K));
  const recallOf = (found) =>
    found.reduce((sum, ids, i) => sum + ids.filter((id) => truth[i].includes(id)).length, 0) /
    (K * found.length);

  const lines = [];
  /** Contestants, which are timed in turn. */
  const racers = [];
  const addRacer = (name, run, about = {}) => racers.push({ name, run, about, samples: [] });

  const read = limitKernels(limits, { bytes: rows * dimensions }).find(
    ({ limit }) => limit === "read",
  );
  addRacer("reading the int8 codes once", () => read.run());
  addRacer("plain JavaScript, float32", (i) => plainSearch(unit, unitOf(i), K), { recall: 1 });

  for (const threads of [1, 2]) {
    const zp = await create({ threads }, search);
    for (const { name, options, threads: most = 1 } of FORMS) {
      if (threads > most) continue;
      const index = new zp.VectorIndex({ dimensions, ...options });
      const own = `zeropoint ${name}${threads > 1 ? `, ${zp.threads} threads` : ""}`;
      const build = await timed(() => index.add(vectors));
      const results = Array.from({ length: QUERIES }, (_, i) => index.search(queryOf(i), { k: K }));
      const counts = results.map(({ candidates }) => candidates).sort((a, b) => a - b);
      addRacer(own, (i) => index.search(queryOf(i), { k: K }), {
        build,
        bytes: index.sizeInBytes,
        removal: "yes",
        recall: recallOf(results.map(({ hits }) => hits.map(({ id }) => id))),
        candidates: [counts[QUERIES >> 1], counts[QUERIES - 1]],
      });
      if (threads > 1 || name !== "int8") continue;
      const batch = { data: queries.subarray(0, 16 * dimensions), shape: [16, dimensions] };
      addRacer(`${own}, 16 queries a call`, () => index.search(batch, { k: K }), { queries: 16 });
      lines.push(...(await measureAdding(zp, vectors, dimensions)));
      lines.push(...(await measureLoading(zp, await store(index))));
    }
  }

  for (const { name, removal, most = rows, build } of others) {
    const some = Math.min(rows, most);
    try {
      let built;
      const time = await timed(async () => {
        built = await build(unit.subarray(0, some * dimensions), dimensions);
      });
      const found = [];
      for (let i = 0; i < QUERIES; i++) found.push(await built.search(unitOf(i), K));
      const isWhole = some === rows;
      const about = { build: time, removal, ...(isWhole && { recall: recallOf(found) }) };
      const own = isWhole ? name : `${name}, ${some} rows only`;
      addRacer(own, (i) => built.search(unitOf(i), K), about);
    } catch (error) {
      console.log(`${name} does not run here: ${String(error).slice(0, 200)}`);
    }
  }

  for (let round = 0; round < rounds; round++) {
    for (const racer of round % 2 === 0 ? racers : [...racers].reverse()) {
      racer.samples.push(await timed(() => racer.run(round % QUERIES)));
    }
  }
  const raced = racers.map(({ name, samples, about }) => {
    const { median, q1, q3 } = summary(samples);
    const { queries: each = 1, ...more } = about;
    return { name, time: median / each, q1: q1 / each, q3: q3 / each, ...more };
  });
  return { rows, dimensions, k: K, results: [...raced, ...lines] };
}

/** Adding all rows, beside `quantize` of them. */
async function measureAdding(zp, vectors, dimensions) {
  const quantizing = [];
  const adding = [];
  const x = { data: vectors, shape: [vectors.length / dimensions, dimensions] };
  for (let round = 0; round < 3; round++) {
    quantizing.push(await timed(() => zp.quantize(x, { axis: 0 })));
    const other = new zp.VectorIndex({ dimensions });
    adding.push(await timed(() => other.add(vectors)));
    other.dispose();
  }
  return [
    { name: "quantize", time: summary(quantizing).median },
    { name: "adding all rows", time: summary(adding).median },
  ];
}

/** Loading a saved index, beside reading its bytes. */
async function measureLoading(zp, stored) {
  const reading = [];
  const loading = [];
  for (let round = 0; round < 7; round++) {
    reading.push(await timed(() => stored.read()));
    let loaded;
    loading.push(await timed(async () => (loaded = await zp.load(stored.source))));
    loaded.dispose();
  }
  stored.remove();
  return [
    { name: "reading a saved index", time: summary(reading).median, bytes: stored.bytes },
    { name: "loading a saved index", time: summary(loading).median },
  ];
}
