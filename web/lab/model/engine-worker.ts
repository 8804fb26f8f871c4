// ONNX Runtime Web off the page's thread: sessions by number, for quantizeModel's comparison of outputs.

import glue from "onnxruntime-web/ort-wasm-simd-threaded.mjs?url";
import binary from "onnxruntime-web/ort-wasm-simd-threaded.wasm?url";
import { env, InferenceSession, Tensor } from "onnxruntime-web/wasm";
import { serveCalls } from "../../shell/calls/serve.js";

const address = (path: string) => new URL(path, import.meta.url).href;
env.wasm.wasmPaths = { mjs: address(glue), wasm: address(binary) };
// One thread needs no shared memory, which a page has only with certain headers.
env.wasm.numThreads = 1;

const sessions: InferenceSession[] = [];

serveCalls({
  /** @returns the session's number */
  async create({ bytes, options }: { bytes: Uint8Array; options: object }): Promise<number> {
    const session = await InferenceSession.create(bytes, {
      ...options,
      executionProviders: ["wasm"],
    });
    return sessions.push(session) - 1;
  },

  async run({ id, feeds }: { id: number; feeds: Record<string, any> }) {
    const inputs = Object.entries(feeds).map(([name, { type, data, dims }]) => [
      name,
      new Tensor(type, data, dims),
    ]);
    const outputs = await sessions[id].run(Object.fromEntries(inputs));
    const plain = Object.entries(outputs).map(([name, { type, data, dims }]) => [
      name,
      { type, data, dims },
    ]);
    return Object.fromEntries(plain);
  },

  release: ({ id }: { id: number }) => sessions[id].release(),
});
