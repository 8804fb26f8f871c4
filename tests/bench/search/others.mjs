// Other programs that search vectors, of those that run in Node and in pages: each builds an index of rows, and
// searches it.

/**
 * @typedef {object} Built
 * @property {(query: Float32Array, k: number) => number[] | Promise<number[]>} search
 *
 * @typedef {object} Contestant
 * @property {string} name
 * @property {string} removal       whether rows can be removed
 * @property {number} [most]        the most rows that it is built of, since it would take many minutes
 * @property {(unit: Float32Array, dimensions: number) => Promise<Built>} build
 */

/** Rows of an array. @param {Float32Array} values @param {number} dimensions */
export const rowsOf = (values, dimensions) =>
  Array.from({ length: values.length / dimensions }, (_, i) =>
    values.subarray(i * dimensions, (i + 1) * dimensions),
  );

/** @param {() => Promise<any>} loadTf  tfjs-core with its wasm backend @returns {Contestant} */
export const tfjs = (loadTf) => ({
  name: "tfjs-wasm: matMul and topk, float32",
  removal: "no",
  async build(unit, dimensions) {
    const tf = await loadTf();
    const weight = tf.tensor2d(unit, [unit.length / dimensions, dimensions]);
    return {
      search: (query, k) =>
        tf.tidy(() => {
          const scores = tf.matMul(weight, tf.tensor2d(query, [dimensions, 1]));
          return [...tf.topk(tf.reshape(scores, [-1]), k).indices.dataSync()];
        }),
    };
  },
});

/** @param {() => Promise<any>} loadLibrary @returns {Contestant} */
export const hnswlib = (loadLibrary) => ({
  name: "hnswlib-wasm, HNSW, float32",
  removal: "marks",
  most: 5000,
  async build(unit, dimensions) {
    const lib = await loadLibrary();
    const index = new lib.HierarchicalNSW("cosine", dimensions, "");
    const rows = rowsOf(unit, dimensions);
    index.initIndex(rows.length, 16, 200, 100);
    const ids = Uint32Array.from(rows, (_, i) => i);
    index.addPoints(rows, ids, false);
    return { search: (query, k) => [...index.searchKnn(query, k, undefined).neighbors] };
  },
});

/**
 * @param {() => Promise<any>} loadGlue                  its JavaScript
 * @param {() => Promise<BufferSource>} loadBytes        its binary
 * @returns {Contestant}
 */
export const voy = (loadGlue, loadBytes) => ({
  name: "voy-search, k-d tree, float32",
  removal: "yes",
  most: 2000,
  async build(unit, dimensions) {
    const glue = await loadGlue();
    const imports = { "./voy_search_bg.js": glue };
    const { instance } = await WebAssembly.instantiate(await loadBytes(), imports);
    glue.__wbg_set_wasm(instance.exports);
    const embeddings = rowsOf(unit, dimensions).map((row, i) => ({
      id: String(i),
      title: "",
      url: "",
      embeddings: [...row],
    }));
    const index = new glue.Voy({ embeddings });
    return { search: (query, k) => index.search(query, k).neighbors.map(({ id }) => Number(id)) };
  },
});
