// Writes the quantized files, then reads them again and compares them with the model.

import { quantizeModel } from "zeropoint/models";
import { feeds, opened } from "./opened.js";
import { sinkOf } from "./sinks.js";
import { verify } from "./verify.js";

/** @typedef {import("../../shell/calls/serve.js").Context} Context */

/**
 * Writes the quantized files, then reads them again and compares them with the model.
 * @param {{ choice: any, format?: string, target?: string, runs?: boolean, handles?: FileSystemFileHandle[] }} argument
 *   choice: a scheme or a plan; runs: whether to run both models in ONNX Runtime Web; handles: where to write, in the
 *   order of the files; default: the private file system
 * @param {Context} context
 */
export async function quantize({ choice, format, target, runs, handles }, context) {
  const { signal, report } = context;
  const source = opened();
  const outputs = /** @type {{ format?: any, target?: string }} */ ({ format, target });
  if (!format) delete outputs.format;
  if (!target) delete outputs.target;
  const options = { signal, ...outputs, ...(runs && (await runOptions())) };
  const result = await quantizeModel(source, choice, {
    ...options,
    onProgress: (/** @type {any} */ progress) => report({ progress }),
  });
  /** @type {File[]} */
  const written = [];
  for (const [i, file] of result.files.entries()) {
    written.push(await write(file, handles?.[i], context));
  }
  const verified = await verify(source, written, result.report.rows, context);
  const inputs = runs ? [...feeds.keys()] : [];
  const names = written.map(({ name }) => name);
  // Files whose place the reader did not choose are downloaded from the private file system.
  const files = written.filter((_, i) => !handles?.[i]);
  return { report: result.report, verified, inputs, names, files };
}

/** Both models in ONNX Runtime Web, on the inputs that were given. */
async function runOptions() {
  const { createSession, runtimeTensor } = await import("./run-onnx.js");
  const entries = Array.from(feeds, ([name, feed]) => [name, runtimeTensor(feed)]);
  return { verifyWith: createSession, verifyInputs: Object.fromEntries(entries) };
}

/**
 * Writes a file, chunk by chunk.
 * @param {{ name: string, size: number, stream(): ReadableStream<Uint8Array> }} file
 * @param {FileSystemFileHandle | undefined} chosen
 * @param {Context} context
 */
async function write(file, chosen, { signal, ready }) {
  const sink = await sinkOf(file, chosen);
  const chunks = file.stream().getReader();
  try {
    for (;;) {
      await ready();
      signal.throwIfAborted();
      const { done, value } = await chunks.read();
      if (done) break;
      await sink.write(value);
    }
  } catch (error) {
    await chunks.cancel().catch(() => {});
    await sink.abandon();
    throw error;
  }
  return await sink.finish();
}
