// Exported codes in sqlite-vec and usearch: the same values, and the same nearest rows. Run by npm run check:engines,
// which installs both into ZEROPOINT_ENGINES.

import assert from "node:assert/strict";
import { createRequire, isBuiltin } from "node:module";
import { join } from "node:path";
import { it } from "node:test";
import { init } from "zeropoint";
import { VectorIndex } from "zeropoint/search";
import { Random } from "../js/support/asserts.mjs";

await init();
const require = createRequire(join(process.env.ZEROPOINT_ENGINES ?? "", "node_modules", "x.js"));

const D = 48;
const random = new Random(396);
const rows = Array.from({ length: 200 }, () => random.normal(D));
const query = random.normal(D);
const ids = rows.map((_, i) => i + 1);

/** An index of all rows, and one of the query, which gives its codes. */
function exported(options, layout) {
  const [index, own] = [rows, [query]].map((vectors) => {
    const index = new VectorIndex({ dimensions: D, ...options });
    index.add(vectors, vectors === rows ? ids : undefined);
    return index;
  });
  const { data, bytesPerRow } = index.export(layout);
  const rowsOf = Array.from(rows, (_, i) => data.slice(i * bytesPerRow, (i + 1) * bytesPerRow));
  return { index, codes: rowsOf, queryCodes: own.export(layout).data };
}

/** A row's bytes as a blob. */
const blob = (codes) => new Uint8Array(codes.buffer, codes.byteOffset, codes.byteLength);

// Node has it since version 22.13.
const skip = !isBuiltin("node:sqlite") && "this Node has no node:sqlite";

it("sqlite-vec reads int8 codes and bits, and finds the nearest rows by them", {
  skip,
}, async () => {
  const { DatabaseSync } = await import("node:sqlite");
  const db = new DatabaseSync(":memory:", { allowExtension: true });
  require("sqlite-vec").load(db);
  const jsonOf = (call, codes) => {
    const { json } = db.prepare(`select vec_to_json(${call}(?)) as json`).get(blob(codes));
    return JSON.parse(json);
  };
  const fill = (table, type, call, codes) => {
    db.exec(`create virtual table ${table} using vec0(e ${type})`);
    const insert = db.prepare(`insert into ${table}(rowid, e) values (?, ${call}(?))`);
    for (const [i, own] of codes.entries()) insert.run(BigInt(ids[i]), blob(own));
  };
  const nearest = (table, call, codes) =>
    db
      .prepare(`select rowid, distance from ${table} where e match ${call}(?) and k = 10`)
      .all(blob(codes));

  const int8 = exported({}, "sqlite-vec");
  assert.deepEqual(jsonOf("vec_int8", int8.codes[7]), [...int8.codes[7]]);
  fill("v8", `int8[${D}] distance_metric=cosine`, "vec_int8", int8.codes);
  const [best] = nearest("v8", "vec_int8", int8.queryCodes);
  assert.equal(best.rowid, int8.index.search(query).hits[0].id);

  const bits = exported({ dtype: "binary" }, "sqlite-vec");
  const signs = [...rows[7]].map((value) => (value > 0 ? 1 : 0));
  assert.deepEqual(jsonOf("vec_bit", bits.codes[7]), signs);
  fill("v1", `bit[${D}]`, "vec_bit", bits.codes);
  const distance = (row) => row.filter((value, i) => value > 0 !== query[i] > 0).length;
  for (const found of nearest("v1", "vec_bit", bits.queryCodes)) {
    assert.equal(found.distance, distance(rows[found.rowid - 1]));
  }
  db.close();
});

it("usearch finds the nearest rows by int8 codes", () => {
  const { Index, MetricKind, ScalarKind } = require("usearch");
  const { index, codes, queryCodes } = exported({}, "usearch");
  const other = new Index({ dimensions: D, metric: MetricKind.Cos, quantization: ScalarKind.I8 });
  for (const [i, own] of codes.entries()) other.add(BigInt(ids[i]), own);
  const { keys } = other.search(queryCodes, 10);
  const expected = index.search(query).hits.map(({ id }) => id);
  assert.equal(Number(keys[0]), expected[0]);
  assert.ok(Array.from(keys, Number).filter((id) => expected.includes(id)).length >= 8);
});
