// The tensors of a model, divided among workers: each tensor has one, which analyzes it and holds the moments of its
// inputs.

import type { AnalysisRow, AnalyzeOptions, ModelTensor } from "zeropoint/models";
import type { ModelHandle } from "zeropoint/worker";
import type { Library } from "../../shell/library.js";
import { escapeGlob } from "../names.js";

/** The tensors of one worker. */
export interface Part {
  zp: Library;
  /** The model, opened by this worker. */
  model: ModelHandle;
  names: ReadonlySet<string>;
}

/** Bytes of tensors for each worker, at least: their analysis takes about a second, the worker's start a tenth of one. */
const LEAST_BYTES = 2 ** 24;

/** Gigabytes of the device where a browser does not tell them, and for each worker, whose heap is up to 0.15. */
const UNKNOWN_MEMORY = 2;
const WORKER_MEMORY = 1;

/**
 * How many workers analyze a model.
 * @param bytes  of its tensors
 */
export function workerCount(
  bytes: number,
  {
    hardwareConcurrency = 1,
    deviceMemory = UNKNOWN_MEMORY,
  }: { hardwareConcurrency?: number; deviceMemory?: number },
): number {
  const most = Math.min(
    hardwareConcurrency,
    Math.floor(deviceMemory / WORKER_MEMORY),
    Math.floor(bytes / LEAST_BYTES),
  );
  return Math.max(1, most);
}

/** Divides tensors: in their order, each to the worker with the fewest bytes so far. @returns the names of each worker */
export function divide(
  tensors: Iterable<Pick<ModelTensor, "name" | "byteLength">>,
  count: number,
): Set<string>[] {
  const parts = Array.from({ length: count }, () => ({ names: new Set<string>(), bytes: 0 }));
  for (const { name, byteLength } of tensors) {
    const part = parts.reduce((least, each) => (each.bytes < least.bytes ? each : least));
    part.names.add(name);
    part.bytes += byteLength;
  }
  return parts.map(({ names }) => names);
}

/** Options of an analysis. activations: by name, each of the connection of its tensor's part. */
export interface PartOptions extends Pick<AnalyzeOptions, "schemes" | "format" | "target"> {
  sample?: number;
  activations?: Record<string, any>;
  signal: AbortSignal;
  onProgress(progress: { done: number; total: number; name: string }): void | Promise<void>;
}

/** The rows of one worker that nobody has taken yet. */
interface Queue {
  rows: AnalysisRow[];
  isDone: boolean;
}

/**
 * Analyzes a model by all of its workers. The rows are those of one worker, in the same order. The first error of a worker
 * ends the others.
 * @param parts  of all tensors
 * @param given  names of the tensors to analyze, in any order
 */
export async function* analyzeParts(
  parts: readonly Part[],
  given: readonly string[],
  { signal, onProgress, activations = {}, ...options }: PartOptions,
): AsyncGenerator<AnalysisRow, void, undefined> {
  const tensors = await parts[0].model.tensors;
  const values = ({ shape }: ModelTensor) => shape.reduce((size, length) => size * length, 1);
  const parameters = Array.from(tensors.values(), values).reduce((sum, size) => sum + size, 0);
  const wanted = new Set(given);
  const names = [...tensors.keys()].filter((name) => wanted.has(name));
  const controller = new AbortController();
  const abort = () => controller.abort(signal.reason);
  signal.addEventListener("abort", abort);
  if (signal.aborted) abort();
  let failure: { error: unknown } | undefined;
  let wake = () => {};
  /** Bytes by worker. */
  const progress = parts.map((part) => {
    const own = names.filter((name) => part.names.has(name));
    const total = own.reduce((sum, name) => sum + (tensors.get(name)?.byteLength ?? 0), 0);
    return { done: 0, total };
  });
  const sum = (field: "done" | "total") => progress.reduce((all, each) => all + each[field], 0);

  const read = async ({ zp, model, names: own }: Part, index: number, queue: Queue) => {
    const included = names.filter((name) => own.has(name));
    let last = included[0];
    try {
      if (included.length === 0) return;
      const rows = zp.analyze(model, {
        ...options,
        signal: controller.signal,
        ...(included.length < tensors.size && { include: included.map(escapeGlob) }),
        activations: Object.fromEntries(
          Object.entries(activations).filter(([name]) => own.has(name)),
        ),
        onProgress: ({ done, total, name }) => {
          // A message that was on its way.
          if (controller.signal.aborted) return;
          progress[index] = { done, total };
          last = name;
          return onProgress({ done: sum("done"), total: sum("total"), name });
        },
      });
      for await (const row of rows) {
        // A pattern of a strange name may match another one.
        if (!own.has(row.name)) continue;
        queue.rows.push({ ...row, share: parameters === 0 ? 0 : row.parameters / parameters });
        wake();
      }
    } catch (error) {
      failure ??= { error: parts.length === 1 ? error : ofWorker(error, index, parts, last) };
      controller.abort();
    } finally {
      queue.isDone = true;
      wake();
    }
  };

  const queues = parts.map((): Queue => ({ rows: [], isDone: false }));
  const reading = parts.map((part, i) => read(part, i, queues[i]));
  try {
    for (const name of names) {
      const queue = queues[parts.findIndex((part) => part.names.has(name))];
      for (;;) {
        if (failure) throw failure.error;
        const row = queue.rows[0];
        if (row === undefined && !queue.isDone) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        } else if (row?.name === name) {
          queue.rows.shift();
          yield row;
        } else break;
      }
    }
    await Promise.all(reading);
    if (failure) throw failure.error;
  } finally {
    signal.removeEventListener("abort", abort);
    controller.abort();
    await Promise.all(reading);
  }
}

/** An error of one of several workers: it names a worker that has ended. */
function ofWorker(error: unknown, index: number, { length }: readonly Part[], name: string) {
  if ((error as { code?: unknown }).code !== "ZP_WORKER_LOST") return error;
  const { message } = error as Error;
  const worker = `worker ${index + 1} of ${length}`;
  return new Error(`${worker} ended at ${name}: ${message}. Open the file again.`, {
    cause: error,
  });
}
