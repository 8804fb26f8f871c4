// The engines that zeropoint is compared with, set to one thread.

/** How many threads the others use: as many as zeropoint's default. */
const THREADS = 1;

/**
 * @param {any} ort  onnxruntime-web, as imported
 * @param {string} [wasmPaths]  where its WebAssembly is
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
