// verifyOutput: the files of quantizeModel, opened again and compared with their model.

import { checkAbortSignal, checkFunction, wrongKind } from "../../base/check.js";
import { checkOptions } from "../../base/options.js";
import type { PlatformAbortSignal } from "../../base/platform.js";
import { documentOf, type Model, type ModelTensor, weightsOf } from "../open/model.js";
import { openModel } from "../open/open.js";
import { type OutputReader, readOutput } from "../quantize/output.js";
import type { OutputFile, QuantizeModelResult, QuantizeProgress } from "../quantize/types.js";
import { rowOf } from "./compare.js";
import type { CompareRow } from "./row.js";

/** Options of `verifyOutput`. */
export interface VerifyOptions {
  /** Rejects with the signal's reason once it is aborted. */
  signal?: PlatformAbortSignal | undefined;
  /** Called while tensors are read, with bytes of the model. */
  onProgress?: ((progress: QuantizeProgress) => void) | undefined;
}

/** The result of reading the files of `quantizeModel` again. */
export interface Verification {
  /** Number of tensors of the model. */
  readonly total: number;
  /** Number of tensors that were read again. */
  readonly read: number;
  /** The largest difference of any tensor. */
  readonly max: number;
  /** The least SQNR of any quantized tensor in dB; Infinity if nothing differs. */
  readonly sqnr: number;
  /** A row for each tensor. */
  readonly rows: readonly CompareRow[];
  /** Problems: missing tensors, and kept tensors that differ. Empty for correct files. */
  readonly problems: readonly string[];
}

/**
 * Opens the files of `quantizeModel` again, as they are made, and compares every tensor with the model: "412 of 412
 * tensors read again". For files on a disk use `compare(model, await openModel(path))`.
 *
 * @param model  that was quantized, still open
 * @param result  of `quantizeModel`
 * @throws {TypeError} `ZP_INVALID_MODEL`, `ZP_INVALID_OPTION` for files of others
 * @throws {RangeError} `ZP_INVALID_FILE` if a file cannot be read again; as the streams of `quantizeModel`
 * @example
 * const w = tensor(new Float32Array(512).fill(0.5), [2, 256]);
 * const model = await openModel(save({ w, b: tensor([1, 2]) }));
 * const result = await quantizeModel(model, "int8-channel");
 * const { read, total, problems } = await verifyOutput(model, result);
 * `${read} of ${total} tensors read again`; // "2 of 2 tensors read again"
 * problems; // []
 */
export async function verifyOutput(
  model: Model,
  result: QuantizeModelResult,
  options?: VerifyOptions,
): Promise<Verification> {
  const where = "verifyOutput";
  documentOf(where, "model", model);
  const { signal, onProgress } = checkOptions(where, options, [
    "signal",
    "onProgress",
  ]) as VerifyOptions;
  checkAbortSignal(where, signal);
  checkFunction(where, "options.onProgress", onProgress);
  const { files, report } = Object(result) as Partial<QuantizeModelResult>;
  const readers = new Map<string, OutputReader>();
  for (const file of Array.isArray(files) ? (files as OutputFile[]) : []) {
    const reader = readOutput(where, file);
    if (reader !== undefined) readers.set(file.name, reader);
  }
  const main =
    [...readers.keys()].find((name) => name.endsWith(".index.json")) ?? [...readers.keys()][0];
  if (main === undefined || report === undefined) {
    throw wrongKind("ZP_INVALID_OPTION", where, "result", "the result of quantizeModel", result);
  }
  const kept = new Set(
    report.rows.filter(({ scheme }) => scheme === "keep").map(({ name }) => name),
  );
  try {
    const externalData = (path: string) => {
      const reader = readers.get(path);
      if (reader === undefined) throw new Error(`${path} is not among the files`);
      return reader;
    };
    const written = await openModel(readers.get(main) as OutputReader, { externalData });
    return await verifyAll(where, model, written, kept, signal, onProgress);
  } finally {
    for (const reader of readers.values()) await reader.close();
  }
}

async function verifyAll(
  where: string,
  model: Model,
  written: Model,
  kept: ReadonlySet<string>,
  signal: PlatformAbortSignal | undefined,
  onProgress: VerifyOptions["onProgress"],
): Promise<Verification> {
  const rows: CompareRow[] = [];
  const problems: string[] = [];
  let total = 0;
  for (const { byteLength } of model.tensors.values()) total += byteLength;
  let done = 0;
  let read = 0;
  let max = 0;
  let sqnr = Infinity;
  for (const tensor of inFileOrder(model, written)) {
    const { name } = tensor;
    const advance = (bytes: number): void => {
      signal?.throwIfAborted();
      done += bytes;
      onProgress?.({ done, total, name });
    };
    const row = await rowOf(where, model, written, tensor, written.tensors.get(name), advance);
    rows.push(row);
    if (row.reason !== undefined) problems.push(`${name}: ${row.reason}`);
    else {
      read++;
      if (kept.has(name) && !row.equal) problems.push(`${name}: kept, but it differs`);
    }
    if (row.max > max) max = row.max;
    if (row.sqnr < sqnr) sqnr = row.sqnr;
  }
  return { total: rows.length, read, max, sqnr, rows, problems };
}

/** The tensors of a model in the order in which the written file has them: streams go forward. */
function inFileOrder(model: Model, written: Model): ModelTensor[] {
  const { files } = documentOf("verifyOutput", "model", written);
  const weights = weightsOf(written);
  const place = ({ name }: ModelTensor): number => {
    const [codes] = Object.values(weights.get(name)?.parts ?? {});
    return files.get(codes ?? name)?.span?.offset ?? 0;
  };
  return [...model.tensors.values()].sort((a, b) => place(a) - place(b));
}
