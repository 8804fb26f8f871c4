// ONNX Runtime Web, loaded on request: sessions for quantizeModel's comparison of outputs, and their inputs.

import glue from "onnxruntime-web/ort-wasm-simd-threaded.mjs?url";
import binary from "onnxruntime-web/ort-wasm-simd-threaded.wasm?url";
import { env, InferenceSession, Tensor } from "onnxruntime-web/wasm";

const address = (/** @type {string} */ path) => new URL(path, import.meta.url).href;
env.wasm.wasmPaths = { mjs: address(glue), wasm: address(binary) };
// One thread needs no shared memory, which a page has only with certain headers.
env.wasm.numThreads = 1;

/** @type {import("zeropoint/models").SessionFactory} */
export const createSession = (bytes, options) =>
  /** @type {any} */ (InferenceSession.create(bytes, { ...options, executionProviders: ["wasm"] }));

/**
 * An input as the engine takes it.
 * @param {{ dtype: any, shape: readonly number[], data: any }} feed
 * @returns {any}
 */
export const runtimeTensor = ({ dtype, shape, data }) => new Tensor(dtype, data, shape);
