// Writes the quantized files, then reads them again and compares them with the model.

import { startCalls } from "../../shell/calls/client.js";
import { library } from "../../shell/library.js";
import type { Run } from "../show/progress.js";
import { compareAnswers } from "./answers.js";
import engineUrl from "./engine-worker.js?worker&url";
import { feeds, importance, labels, opened } from "./opened.js";
import { sinkOf } from "./sinks.js";
import { verify } from "./verify.js";

/**
 * Writes the quantized files, then reads them again and compares them with the model.
 * @param argument  choice: a scheme or a plan, of planOfPreset for a mix of llama-quantize; runs: whether to run both models in ONNX Runtime Web; handles: where to write, in the
 *   order of the files; default: the private file system
 */
export async function quantize(
  {
    choice,
    format,
    target,
    runs,
    handles,
  }: {
    choice: any;
    format?: string;
    target?: string;
    runs?: boolean;
    handles?: FileSystemFileHandle[];
  },
  run: Run,
) {
  const { signal, onProgress } = run;
  const zp = await library();
  const source = opened();
  const engine = runs ? startCalls(engineUrl, "engine", () => {}) : undefined;
  /** Outputs of the original and of the quantized model. */
  const outputs: Record<string, any>[] = [];
  const options = {
    signal,
    ...(format && { format: format as any }),
    ...(target && { target }),
    ...(format === "gguf" && { imatrix: importance.get("matrix") }),
    ...(engine && {
      verifyWith: sessionsOf(engine, outputs),
      verifyInputs: Object.fromEntries(feeds),
    }),
    onProgress,
  };
  const result = await zp
    .quantizeModel(source, choice.preset ?? choice, options)
    .finally(() => engine?.end());
  const written: File[] = [];
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
 * @param outputs  that get those of each run
 */
function sessionsOf({ call }: ReturnType<typeof startCalls>, outputs: Record<string, any>[]): any {
  return async (bytes: Uint8Array, options: object) => {
    const id = await call("create", { bytes, options }, { transfer: [bytes.buffer] });
    return {
      run: async (given: object) => {
        const results = await call("run", { id, feeds: given });
        outputs.push(results);
        return results;
      },
      release: () => call("release", { id }),
    };
  };
}

/** Writes a file, chunk by chunk. */
async function write(
  file: { name: string; size: number; stream(): ReadableStream<Uint8Array> },
  chosen: FileSystemFileHandle | undefined,
  { signal, pause }: Run,
) {
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
