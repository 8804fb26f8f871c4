// Other programs that search vectors, installed from npm, in Node.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { prepareTf } from "../engines.mjs";
import { hnswlib, rowsOf, tfjs, voy } from "./others.mjs";

const require = createRequire(import.meta.url);
/** The folder of the programs that are not in package.json. */
const programs = process.env.ZEROPOINT_PROGRAMS ?? "";
const requireProgram = createRequire(join(programs, "x.js"));

/** @returns {import("./others.mjs").Contestant[]} */
export const contestants = () => [
  tfjs(() => prepareTf(require("@tensorflow/tfjs-core"), require("@tensorflow/tfjs-backend-wasm"))),
  {
    name: "usearch (native), HNSW, float32",
    removal: "yes",
    async build(unit, dimensions) {
      const { Index, MetricKind } = requireProgram("usearch");
      const index = new Index({ dimensions, metric: MetricKind.Cos });
      const keys = BigUint64Array.from(rowsOf(unit, dimensions), (_, i) => BigInt(i));
      index.add(keys, unit);
      return { search: (query, k) => Array.from(index.search(query, k).keys, Number) };
    },
  },
  hnswlib(loadHnswlib),
  {
    name: "sqlite-vec (native), int8",
    removal: "yes",
    async build(unit, dimensions) {
      const { DatabaseSync } = await import("node:sqlite");
      const db = new DatabaseSync(":memory:", { allowExtension: true });
      require("sqlite-vec").load(db);
      db.exec(`create virtual table v using vec0(e int8[${dimensions}] distance_metric=cosine)`);
      const insert = db.prepare("insert into v(rowid, e) values (?, vec_int8(?))");
      db.exec("begin");
      for (const [i, row] of rowsOf(unit, dimensions).entries()) {
        insert.run(BigInt(i + 1), bytesOf(row));
      }
      db.exec("commit");
      const select = db.prepare("select rowid from v where e match vec_int8(?) and k = ?");
      return {
        search: (query, k) => select.all(bytesOf(query), k).map(({ rowid }) => Number(rowid) - 1),
      };
    },
  },
  voy(
    () => import("voy-search/voy_search_bg.js"),
    async () => readFileSync(require.resolve("voy-search/voy_search_bg.wasm")),
  ),
];

/** Loads hnswlib-wasm, which is compiled for pages alone: with stand-ins for a page's globals while it starts. */
async function loadHnswlib() {
  const standIns = {
    window: globalThis,
    document: {},
    location: { href: "http://localhost/" },
    indexedDB: { open: () => ({}) },
  };
  const added = Object.keys(standIns).filter((name) => !(name in globalThis));
  for (const name of added) globalThis[name] = standIns[name];
  try {
    const file = join(programs, "node_modules", "hnswlib-wasm", "dist", "hnswlib.js");
    const { loadHnswlib: load } = await import(pathToFileURL(file).href);
    return await load();
  } finally {
    for (const name of added) delete globalThis[name];
  }
}

/** A unit vector's codes as bytes, with one scale for its largest value. @param {Float32Array} row */
function bytesOf(row) {
  let largest = 0;
  for (const value of row) largest = Math.max(largest, Math.abs(value));
  const codes = Int8Array.from(row, (value) => Math.round((127 * value) / (largest || 1)));
  return new Uint8Array(codes.buffer);
}
