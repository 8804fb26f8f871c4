// The other engines of the comparison, set to one thread.

/** Thread count of the other engines, equal to zeropoint's default. */
const THREADS = 1;

/**
 * @param {any} ort  onnxruntime-web, as imported
 * @param {string} [wasmPaths]  folder of its WebAssembly
 */
export function prepareOrt(ort, wasmPaths) {
  ort.env.wasm.numThreads = THREADS;
  ort.env.logLevel = "error";
  if (wasmPaths) ort.env.wasm.wasmPaths = wasmPaths;
  return ort;
}

/**
 * @param {any} tf  tfjs-core
 * @param {any} wasm  tfjs-backend-wasm
 * @param {string} [wasmPaths]
 */
export async function prepareTf(tf, wasm, wasmPaths) {
  tf.env().set("WASM_HAS_MULTITHREAD_SUPPORT", THREADS > 1);
  if (wasmPaths) wasm.setWasmPaths(wasmPaths);
  if (!(await tf.setBackend("wasm"))) throw new Error("its wasm backend does not start");
  await tf.ready();
  return tf;
}
