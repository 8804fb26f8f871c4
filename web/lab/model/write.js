// Writes the quantized files, then reads them again and compares them with the model.

import { startCalls } from "../../shell/calls/client.js";
import { library } from "../../shell/library.js";
import { compareAnswers } from "./answers.js";
import engineUrl from "./engine-worker.js?worker&url";
import { feeds, labels, opened } from "./opened.js";
import { sinkOf } from "./sinks.js";
import { verify } from "./verify.js";

/** @typedef {import("../show/progress.js").Run} Run */

/**
 * Writes the quantized files, then reads them again and compares them with the model.
 * @param {{ choice: any, format?: string, target?: string, runs?: boolean, handles?: FileSystemFileHandle[] }} argument
 *   choice: a scheme or a plan; runs: whether to run both models in ONNX Runtime Web; handles: where to write, in the
 *   order of the files; default: the private file system
 * @param {Run} run
 */
export async function quantize({ choice, format, target, runs, handles }, run) {
  const { signal, onProgress } = run;
  const zp = await library();
  const source = opened();
  const engine = runs ? startCalls(engineUrl, "engine", () => {}) : undefined;
  /** Outputs of the original and of the quantized model. @type {Record<string, any>[]} */
  const outputs = [];
  const options = {
    signal,
    ...(format && { format: /** @type {any} */ (format) }),
    ...(target && { target }),
    ...(engine && {
      verifyWith: sessionsOf(engine, outputs),
      verifyInputs: Object.fromEntries(feeds),
    }),
    onProgress,
  };
  const result = await zp.quantizeModel(source, choice, options).finally(() => engine?.end());
  /** @type {File[]} */
  const written = [];
  for (const [i, file] of result.files.entries()) {
    written.push(await write(file, handles?.[i], run));
  }
  const verified = await verify(zp, source, written, result.report.rows, run);
  const inputs = runs ? [...feeds.keys()] : [];
  const names = written.map(({ name }) => name);
  // Files whose place the reader did not choose are downloaded from the private file system.
  const files = written.filter((_, i) => !handles?.[i]);
  const [original, quantized] = outputs;
  const answers = quantized ? compareAnswers(original, quantized, labels.get("labels")) : [];
  return { report: result.report, verified, inputs, names, files, answers };
}

/**
 * Sessions of an engine in a worker of its own.
 * @param {ReturnType<typeof startCalls>} engine
 * @param {Record<string, any>[]} outputs  that get those of each run
 * @returns {any}
 */
function sessionsOf({ call }, outputs) {
  return async (/** @type {Uint8Array} */ bytes, /** @type {object} */ options) => {
    const id = await call("create", { bytes, options }, [bytes.buffer]);
    return {
      run: async (/** @type {object} */ given) => {
        const results = await call("run", { id, feeds: given });
        outputs.push(results);
        return results;
      },
      release: () => call("release", { id }),
    };
  };
}

/**
 * Writes a file, chunk by chunk.
 * @param {{ name: string, size: number, stream(): ReadableStream<Uint8Array> }} file
 * @param {FileSystemFileHandle | undefined} chosen
 * @param {Run} run
 */
async function write(file, chosen, { signal, pause }) {
  const sink = await sinkOf(file, chosen);
  const chunks = file.stream().getReader();
  try {
    for (;;) {
      await pause.ready();
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
