// verifyOutput: the files of quantizeModel, made again and compared with their model, and with the files that were written.

import { checkAbortSignal, checkFinite, checkFunction, wrongKind } from "../../base/check.js";
import type { ZeropointError } from "../../base/errors.js";
import { fieldOf } from "../../base/fields.js";
import { checkOptions } from "../../base/options.js";
import type { PlatformAbortSignal } from "../../base/platform.js";
import { readBytes } from "../../formats/source.js";
import { documentOf, type Model, type ModelTensor, weightsOf } from "../open/model.js";
import { openModel } from "../open/open.js";
import { type FileSource, openSource } from "../open/sources.js";
import { type OutputReader, readOutput } from "../quantize/output.js";
import { LEFT_OUT } from "../quantize/requantize.js";
import type { OutputFile, QuantizeModelResult, QuantizeProgress } from "../quantize/types.js";
import { viewsOf } from "../weights/view.js";
import { counterpartOf, rowOf } from "./compare.js";
import type { CompareRow } from "./row.js";

/** Options of `verifyOutput`. */
export interface VerifyOutputOptions {
  /**
   * Opens a file as it was written, by its name in `result.files`: twice, for its bytes and for its tensors. Every byte
   * must be the one that the model gives now. Default: files are made again, and compared with what their streams gave.
   */
  written?: ((name: string) => FileSource | Promise<FileSource>) | undefined;
  /** The least SQNR of a quantized tensor in dB. Default: above 0, where zeros would be as near. */
  minSqnr?: number | undefined;
  /** Rejects with the signal's reason once it is aborted. */
  signal?: PlatformAbortSignal | undefined;
  /** Called while files are made and tensors are read, with bytes of both. */
  onProgress?: ((progress: QuantizeProgress) => void) | undefined;
}

/** The result of reading the files of `quantizeModel` again. */
export interface OutputVerification {
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
  /**
   * Problems: bytes that are not those that the model gives, missing tensors, kept tensors that differ, and quantized
   * ones with too low an SQNR. Empty for correct files.
   */
  readonly problems: readonly string[];
}

/**
 * Verifies the files of `quantizeModel`: "412 of 412 tensors read again". The files are made from the model again, and
 * compared byte for byte with the written ones that `options.written` opens, or by CRC-32 with what their streams gave
 * last; a file that was not streamed is made twice. So a model that gave other values while it was quantized is found.
 * Then the files are opened and each tensor is compared with the model: a kept one must be equal.
 *
 * @param model  that was quantized, still open
 * @param result  of `quantizeModel`
 * @throws {TypeError} `ZP_INVALID_MODEL`, `ZP_INVALID_FUNCTION`, `ZP_INVALID_OPTION` for files of others
 * @throws {RangeError} `ZP_INVALID_FILE` if a file cannot be read again; as the streams of `quantizeModel`
 * @throws {Error} `ZP_LOAD_FAILED` if the model's files change meanwhile, or a written file cannot be opened
 * @example
 * const w = tensor(new Float32Array(512).fill(0.5), [2, 256]);
 * const model = await openModel(save({ w, b: tensor([1, 2]) }));
 * const result = await quantizeModel(model, "int8-channel");
 * const { read, total, problems } = await verifyOutput(model, result, { minSqnr: 30 }); // also written: (name) => path
 * `${read} of ${total} tensors read again`; // "2 of 2 tensors read again"
 * problems; // []
 */
export async function verifyOutput(
  model: Model,
  result: QuantizeModelResult,
  options?: VerifyOutputOptions,
): Promise<OutputVerification> {
  const where = "verifyOutput";
  documentOf(where, "model", model);
  const names = ["written", "minSqnr", "signal", "onProgress"];
  const given = checkOptions(where, options, names) as VerifyOutputOptions;
  const { written, signal, onProgress } = given;
  checkFunction(where, "options.written", written);
  const minSqnr = checkFinite(where, "options.minSqnr", given.minSqnr, 0);
  checkAbortSignal(where, signal);
  checkFunction(where, "options.onProgress", onProgress);
  const { files, report } = Object(result) as Partial<QuantizeModelResult>;
  const outputs = new Map<string, Output>();
  for (const file of Array.isArray(files) ? (files as OutputFile[]) : []) {
    const reader = readOutput(where, file);
    if (reader !== undefined) outputs.set(file.name, { file, reader });
  }
  const main =
    [...outputs.keys()].find((name) => name.endsWith(".index.json")) ?? [...outputs.keys()][0];
  if (main === undefined || report === undefined) {
    throw wrongKind("ZP_INVALID_OPTION", where, "result", "the result of quantizeModel", result);
  }
  const namesOf = (wanted: string): Set<string> =>
    new Set(report.rows.filter(({ scheme }) => scheme === wanted).map(({ name }) => name));
  const isMade = ({ reader }: Output): boolean => written !== undefined || !reader.isStreamed;
  const made = [...outputs.values()].filter(isMade);
  const total = made.reduce((bytes, { file }) => bytes + file.size, 0);
  const progress = new Advances(total + bytesOf(model), signal, onProgress);
  const problems: string[] = [];
  const open = async (name: string): Promise<FileSource> => {
    if (written !== undefined) return await written(name);
    // Those for transformers.js are in a folder.
    const { reader } = outputs.get(name) ?? outputs.get(`onnx/${name}`) ?? {};
    if (reader === undefined) throw new Error(`${name} is not among the files`);
    return reader;
  };
  try {
    for (const { file } of made) {
      const other = written === undefined ? undefined : await openSource(where, open(file.name));
      const problem = await differenceOf(where, file, other, progress).finally(other?.close);
      if (problem !== undefined) problems.push(problem);
    }
    const limits = { kept: namesOf("keep"), leftOut: namesOf(LEFT_OUT), minSqnr };
    const openResult = () => openModel(open(main), { externalData: open, signal });
    const tensors = await verifyTensors(where, model, openResult, limits, progress).catch(
      (error: ZeropointError) => {
        // Wrong bytes are the reason.
        if (problems.length === 0 || error.code !== "ZP_INVALID_FILE") throw error;
        const unread = { total: model.tensors.size, read: 0, max: Number.NaN, sqnr: Number.NaN };
        return { ...unread, rows: [], problems: [`${main} cannot be read: ${error.message}`] };
      },
    );
    for (const problem of tensors.problems) problems.push(problem);
    for (const { file, reader } of written === undefined ? outputs.values() : []) {
      const range = await reader.difference();
      if (range === undefined) continue;
      const place = `${file.name}: bytes ${range.begin}-${range.end - 1}`;
      problems.push(`${place} are not those that its stream gave: the model's values have changed`);
    }
    return { ...tensors, problems };
  } finally {
    for (const { reader } of outputs.values()) await reader.close();
  }
}

/** An output file, and random access to its bytes. */
interface Output {
  readonly file: OutputFile;
  readonly reader: OutputReader;
}

const bytesOf = ({ tensors }: Model): number => {
  let bytes = 0;
  for (const { byteLength } of tensors.values()) bytes += byteLength;
  return bytes;
};

/** Progress in bytes, which an abort ends. */
class Advances {
  #done = 0;

  constructor(
    readonly total: number,
    readonly signal: PlatformAbortSignal | undefined,
    readonly report: VerifyOutputOptions["onProgress"],
  ) {}

  add(bytes: number, name: string): void {
    this.signal?.throwIfAborted();
    this.#done += bytes;
    this.report?.({ done: this.#done, total: this.total, name });
  }
}

/**
 * Makes a file again.
 * @param written  to compare with, chunk by chunk
 * @returns the problem; undefined for equal bytes
 */
async function differenceOf(
  where: string,
  { name, size, stream }: OutputFile,
  written: Awaited<ReturnType<typeof openSource>> | undefined,
  progress: Advances,
): Promise<string | undefined> {
  const title = written?.name ?? name;
  if (written !== undefined && written.size !== size) {
    return `${title} has ${written.size} bytes instead of ${size}`;
  }
  const reader = (stream() as ReadableStream<Uint8Array>).getReader();
  try {
    for (let at = 0; ; ) {
      const { done, value } = await reader.read();
      if (done) return undefined;
      const found = written && (await readBytes(where, written, at, value.length));
      const wrong = found === undefined ? value.length : firstDifference(value, found);
      if (wrong < value.length) {
        return `${title} differs at byte ${at + wrong} from what its source gives`;
      }
      at += value.length;
      progress.add(value.length, name);
    }
  } finally {
    await reader.cancel();
  }
}

/** The index of the first byte that differs; the length of `a` if there is none. */
function firstDifference(a: Uint8Array, b: Uint8Array): number {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  return i;
}

/** Tensors that must be equal, and the least SQNR of the others. */
interface Limits {
  readonly kept: ReadonlySet<string>;
  /** Tensors that are not written. */
  readonly leftOut: ReadonlySet<string>;
  readonly minSqnr: number;
}

/** Compares the tensors of a model with those of the opened result. */
async function verifyTensors(
  where: string,
  model: Model,
  openResult: () => Promise<Model>,
  limits: Limits,
  progress: Advances,
): Promise<OutputVerification> {
  const { opened } = documentOf(where, "model", model);
  const rows: CompareRow[] = [];
  const problems: string[] = [];
  let read = 0;
  let max = 0;
  let sqnr = Infinity;
  // First, as it runs on the instance at hand.
  const result = await openResult();
  try {
    const views = await viewsOf(where, documentOf(where, "model", model));
    for (const tensor of inFileOrder(model, result)) {
      const { name } = tensor;
      if (limits.leftOut.has(name)) continue;
      const advance = (bytes: number): void => progress.add(bytes, name);
      const other = counterpartOf(where, result, tensor, name, views);
      const row = await rowOf(where, model, result, tensor, other, views, advance);
      await opened.checkUnchanged(where);
      rows.push(row);
      const problem = problemOf(row, limits);
      if (problem !== undefined) problems.push(`${name}: ${problem}`);
      if (fieldOf(row, "reason") === undefined) read++;
      if (row.max > max) max = row.max;
      if (row.sqnr < sqnr) sqnr = row.sqnr;
    }
  } finally {
    await result.close();
  }
  return { total: rows.length, read, max, sqnr, rows, problems };
}

/** The problem of a tensor; undefined for a correct one. */
function problemOf(row: CompareRow, { kept, minSqnr }: Limits): string | undefined {
  const { name, equal, sqnr } = row;
  const reason = fieldOf(row, "reason");
  if (reason !== undefined) return reason;
  if (kept.has(name)) return equal ? undefined : "kept, but it differs";
  // The nearest codes have no more noise than zeros have, which is all of the signal: 0 dB.
  if (equal || (sqnr > 0 && sqnr >= minSqnr)) return undefined;
  if (sqnr > 0) return `SQNR ${sqnr.toFixed(1)} dB is below options.minSqnr ${minSqnr}`;
  const shown = Number.isFinite(sqnr) ? sqnr.toFixed(1) : String(sqnr);
  return `SQNR ${shown} dB: its values are no nearer to those of the model than zeros`;
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
