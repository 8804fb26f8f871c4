// Other programs that search vectors, installed from npm: each builds an index of rows, and searches it.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(import.meta.url);
const requireProgram = createRequire(join(process.env.ZEROPOINT_PROGRAMS ?? "", "x.js"));

/**
 * @typedef {object} Built
 * @property {(query: Float32Array, k: number) => number[] | Promise<number[]>} search
 * @property {() => void} [end]
 *
 * @typedef {object} Contestant
 * @property {string} name
 * @property {string} removal       whether rows can be removed
 * @property {number} [most]        the most rows that it is built of, since it would take many minutes
 * @property {(unit: Float32Array, dimensions: number) => Promise<Built>} build
 */

/** Rows of an array. @param {Float32Array} values @param {number} dimensions */
const rowsOf = (values, dimensions) =>
  Array.from({ length: values.length / dimensions }, (_, i) =>
    values.subarray(i * dimensions, (i + 1) * dimensions),
  );

/** @type {Contestant[]} */
export const OTHERS = [
  {
    name: "tfjs-wasm: matMul and topk, float32",
    removal: "no",
    async build(unit, dimensions) {
      const tf = require("@tensorflow/tfjs-core");
      const backend = require("@tensorflow/tfjs-backend-wasm");
      const { prepareTf } = await import("../engines.mjs");
      await prepareTf(tf, backend);
      const weight = tf.tensor2d(unit, [unit.length / dimensions, dimensions]);
      return {
        search: (query, k) =>
          tf.tidy(() => {
            const scores = tf.matMul(weight, tf.tensor2d(query, [dimensions, 1]));
            return [...tf.topk(tf.reshape(scores, [-1]), k).indices.dataSync()];
          }),
        end: () => weight.dispose(),
      };
    },
  },
  {
    name: "usearch (native), HNSW, f32",
    removal: "yes",
    async build(unit, dimensions) {
      const { Index, MetricKind } = requireProgram("usearch");
      const index = new Index({ dimensions, metric: MetricKind.Cos });
      const keys = BigUint64Array.from(rowsOf(unit, dimensions), (_, i) => BigInt(i));
      index.add(keys, unit);
      return { search: (query, k) => Array.from(index.search(query, k).keys, Number) };
    },
  },
  {
    name: "hnswlib-wasm, HNSW, float32",
    removal: "marks",
    most: 5000,
    async build(unit, dimensions) {
      const lib = await loadHnswlib();
      const index = new lib.HierarchicalNSW("cosine", dimensions, "");
      const rows = rowsOf(unit, dimensions);
      index.initIndex(rows.length, 16, 200, 100);
      const ids = Uint32Array.from(rows, (_, i) => i);
      index.addPoints(rows, ids, false);
      return {
        search: (query, k) => [...index.searchKnn(query, k, undefined).neighbors],
        end: () => index.delete?.(),
      };
    },
  },
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
        end: () => db.close(),
      };
    },
  },
  {
    name: "voy-search, k-d tree, float32",
    removal: "yes",
    most: 2000,
    async build(unit, dimensions) {
      const path = require.resolve("voy-search/voy_search_bg.wasm");
      const glue = await import("voy-search/voy_search_bg.js");
      const bytes = readFileSync(path);
      const { instance } = await WebAssembly.instantiate(bytes, { "./voy_search_bg.js": glue });
      glue.__wbg_set_wasm(instance.exports);
      const embeddings = rowsOf(unit, dimensions).map((row, i) => ({
        id: String(i),
        title: "",
        url: "",
        embeddings: [...row],
      }));
      const index = new glue.Voy({ embeddings });
      return {
        search: (query, k) => index.search(query, k).neighbors.map(({ id }) => Number(id)),
      };
    },
  },
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
    const folder = join(process.env.ZEROPOINT_PROGRAMS ?? "", "node_modules", "hnswlib-wasm");
    const { loadHnswlib: load } = await import(
      pathToFileURL(join(folder, "dist", "hnswlib.js")).href
    );
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
