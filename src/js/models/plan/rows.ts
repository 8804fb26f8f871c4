// Rows of an analysis -> the tensors that a plan chooses schemes for, with their options, in one order.

import { wrongKind, wrongNumber } from "../../base/check.js";
import { rangeError } from "../../base/errors.js";
import { fieldOf } from "../../base/fields.js";
import { show } from "../../base/format-value.js";
import { checkAttached } from "../../base/typed-arrays.js";
import { bytesOf, dtypeInfo, type FileDType } from "../../formats/dtypes.js";
import type { ChosenMetric } from "./metric.js";

/** A row as `plan` reads it: one tensor quantized by one scheme. Rows of `analyze` have all fields. */
export interface PlanRow {
  /** The tensor's name. */
  readonly name: string;
  /** The name of the scheme; "keep" for the tensor as it is. */
  readonly scheme: string;
  /** Bytes of the tensor with this scheme, those of scales and zero points included. */
  readonly bytes: number;
  /** Values of the tensor. */
  readonly parameters: number;
  /** Bytes of the tensor as it is. Default: by `dtype`. */
  readonly bytesBefore?: number | undefined;
  /** As it is stored. */
  readonly dtype?: string | undefined;
  /** Squared error by squared signal. Default: by `sqnr`. */
  readonly relative?: number | null | undefined;
  /** Mean squared error. */
  readonly mse?: number | null | undefined;
  /** The largest error. */
  readonly max?: number | null | undefined;
  /** Signal to quantization noise in dB. */
  readonly sqnr?: number | null | undefined;
  /** Similarity, at most 1. */
  readonly cosine?: number | null | undefined;
  /** Squared error of the outputs by their squared signal, of an analysis with activations. */
  readonly outputRelative?: number | null | undefined;
  /** The format of the model. */
  readonly format?: string | undefined;
  /** Tensors of one hash are tied: they get one scheme. */
  readonly sha256?: string | undefined;
  /** The reason for the scheme of a tensor that has one row only. */
  readonly reason?: string | undefined;
  /** false if the target of the plan does not store this tensor by this scheme: of `storedRows`. Never chosen. */
  readonly isWritten?: boolean | undefined;
  /** Bytes that the tensor adds to the header of the file: of `storedRows`. */
  readonly headerBytes?: number | undefined;
}

/** Rows with the bytes of a file: what `storedRows` gives. */
export interface FileRows {
  /** Of each tensor one for each scheme. */
  readonly rows: Iterable<PlanRow>;
  /** Bytes of the file in addition to those of its rows. */
  readonly overhead: number;
}

/** One way to store a tensor. */
export interface Candidate {
  readonly scheme: string;
  readonly bytes: number;
  /** Of these, in the header of the file. */
  readonly headerBytes: number;
  /** The metric's value times the tensor's share of the parameters, or for "layers" by the number of weights. */
  readonly error: number;
  /** Whether its SQNR is at least the required one. */
  readonly isAllowed: boolean;
}

/** A tensor of the rows. */
export interface PlanTensor {
  readonly name: string;
  readonly parameters: number;
  /** Bytes as it is; undefined if the rows say nothing. */
  bytesBefore: number | undefined;
  sha256: string | undefined;
  reason: string | undefined;
  /** The last of its rows. */
  last: number;
}

/** The order of names and schemes: by UTF-16 code units, the same everywhere. */
export const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0;

/** A field that rows may lack; fields of Object.prototype do not count. */
const optional = (row: object, field: string): unknown =>
  Object.hasOwn(row, field) ? ((row as Record<string, unknown>)[field] ?? undefined) : undefined;

/**
 * The rows as a list.
 * @throws {TypeError} `ZP_INVALID_ROW`; `ZP_DETACHED`
 */
export function listOfRows(where: string, given: unknown): readonly unknown[] {
  checkAttached(where, "rows", given);
  if (typeof given === "object" && given !== null && Symbol.iterator in given) {
    return Array.from(given as Iterable<unknown>);
  }
  const wanted = "an array of rows of analyze, or an iterable of them";
  throw wrongKind("ZP_INVALID_ROW", where, "rows", wanted, given);
}

/** The rows as a list, and the bytes of the file beside them; undefined for rows of tensors alone. */
export interface GivenRows {
  readonly list: readonly unknown[];
  readonly overhead: number | undefined;
}

/**
 * Rows, or what `storedRows` gives.
 * @throws {TypeError | RangeError} `ZP_INVALID_ROW`; `ZP_DETACHED`
 */
export function givenRows(where: string, given: unknown): GivenRows {
  const isOfFile =
    typeof given === "object" &&
    given !== null &&
    !(Symbol.iterator in given) &&
    Object.hasOwn(given, "rows");
  if (!isOfFile) return { list: listOfRows(where, given), overhead: undefined };
  const { rows } = given as Partial<FileRows>;
  const overhead = optional(given, "overhead");
  if (!isCount(overhead)) {
    throw wrongNumber("ZP_INVALID_ROW", where, "rows.overhead", COUNT, overhead);
  }
  return { list: listOfRows(where, rows), overhead };
}

/**
 * Checked rows, in an order that does not depend on theirs. Columns instead of objects: a million of these would keep
 * the garbage collector busy for seconds.
 */
export class PlanInput {
  /** Sorted by name. */
  readonly tensors: readonly PlanTensor[];
  /** Of all tensors together. */
  readonly parameters: number;
  /** Of all tensors together; undefined if the rows of one say nothing. */
  readonly bytesBefore: number | undefined;
  /** Bytes of the file in addition to those of its rows; undefined if the rows are those of tensors alone. */
  readonly overhead: number | undefined;
  readonly #isByShare: boolean;
  /** Tensors that are not kept, at least 1. */
  readonly #weights: number;
  readonly #schemes: readonly string[];
  readonly #scheme: Int32Array;
  /** Those in the header of the file included. */
  readonly #bytes: Float64Array;
  readonly #headerBytes: Float64Array;
  readonly #errors: Float64Array;
  readonly #isAllowed: Uint8Array;
  /** The row before of the same tensor; -1 at its first one. */
  readonly #before: Int32Array;

  /**
   * Reads and checks rows, each field once.
   * @param holds  whether rows of a scheme are options
   * @throws {TypeError | RangeError} `ZP_INVALID_ROW`
   */
  constructor(
    where: string,
    { list: rows, overhead }: GivenRows,
    metric: Pick<ChosenMetric, "read" | "isByShare">,
    minSqnr: number | undefined,
    holds: (scheme: string) => boolean,
  ) {
    const count = rows.length;
    this.overhead = overhead;
    this.#isByShare = metric.isByShare;
    this.#scheme = new Int32Array(count);
    this.#bytes = new Float64Array(count);
    this.#headerBytes = new Float64Array(count);
    this.#errors = new Float64Array(count);
    this.#isAllowed = new Uint8Array(count);
    this.#before = new Int32Array(count);
    const found = new Map<string, PlanTensor>();
    const schemes = new Map<string, number>();
    const numberOf = (scheme: string): number => {
      const number = schemes.get(scheme) ?? schemes.size;
      schemes.set(scheme, number);
      return number;
    };
    /** A row of each tensor whose scheme is no option. */
    const unheld = new Map<PlanTensor, number>();
    const unwritten = new Set<PlanTensor>();
    for (let i = 0; i < count; i++) {
      const { scheme, bytes, row, tensor } = readRow(where, i, rows[i], found);
      const isStored = optional(row, "isWritten") !== false;
      if (!isStored) unwritten.add(tensor);
      if (!isStored || !holds(scheme)) {
        unheld.set(tensor, i);
        continue;
      }
      const isKeep = scheme === "keep";
      if (isKeep) tensor.bytesBefore ??= bytes;
      this.#scheme[i] = numberOf(scheme);
      const headerBytes = overhead === undefined ? 0 : headerBytesOf(where, i, row);
      this.#bytes[i] = bytes + headerBytes;
      this.#headerBytes[i] = headerBytes;
      // Exact by definition, also where JSON has made null of an infinite SQNR.
      this.#errors[i] = isKeep ? 0 : metric.read(row, i);
      this.#isAllowed[i] = minSqnr === undefined || isKeep || hasSqnr(row, minSqnr) ? 1 : 0;
      this.#before[i] = tensor.last;
      tensor.last = i;
    }
    // A weight whose rows fit no scheme of the format, such as rows that are not whole blocks, is kept.
    for (const [tensor, i] of unheld) {
      if (tensor.last !== -1 || tensor.bytesBefore === undefined) continue;
      this.#scheme[i] = numberOf("keep");
      this.#bytes[i] = tensor.bytesBefore;
      this.#isAllowed[i] = 1;
      this.#before[i] = -1;
      tensor.last = i;
      tensor.reason ??= unwritten.has(tensor)
        ? "no scheme among its rows that the target stores"
        : "no scheme among its rows that the format holds";
    }
    this.#schemes = [...schemes.keys()];
    this.tensors = Array.from(found.values()).sort((a, b) => byText(a.name, b.name));
    const weights = this.tensors.reduce((sum, each) => sum + (this.isKept(each) ? 0 : 1), 0);
    this.#weights = Math.max(1, weights);
    let parameters = 0;
    let bytesBefore: number | undefined = 0;
    for (const tensor of this.tensors) {
      parameters += tensor.parameters;
      if (bytesBefore !== undefined && tensor.bytesBefore !== undefined) {
        bytesBefore += tensor.bytesBefore;
      } else bytesBefore = undefined;
    }
    this.parameters = parameters;
    this.bytesBefore = bytesBefore;
  }

  /**
   * The options of a tensor, by the names of their schemes.
   * @throws {RangeError} `ZP_INVALID_ROW` if the rows have a scheme twice
   */
  candidatesOf(where: string, tensor: PlanTensor): Candidate[] {
    const candidates: Candidate[] = [];
    const share = this.#isByShare
      ? tensor.parameters / Math.max(1, this.parameters)
      : 1 / this.#weights;
    for (let i = tensor.last; i >= 0; i = this.#before[i]) {
      candidates.push({
        scheme: this.#schemes[this.#scheme[i]],
        bytes: this.#bytes[i],
        headerBytes: this.#headerBytes[i],
        error: this.#errors[i] * share,
        isAllowed: this.#isAllowed[i] === 1,
      });
    }
    candidates.sort((a, b) => byText(a.scheme, b.scheme));
    for (let i = 1; i < candidates.length; i++) {
      if (candidates[i].scheme !== candidates[i - 1].scheme) continue;
      const twice = `rows have ${show(tensor.name)} with scheme ${candidates[i].scheme} twice`;
      throw rangeError("ZP_INVALID_ROW", where, twice);
    }
    return candidates;
  }

  /** Whether there is nothing to choose: norms, biases and other tensors that are kept. */
  isKept({ last }: PlanTensor): boolean {
    return this.#before[last] === -1 && this.#schemes[this.#scheme[last]] === "keep";
  }
}

/** Checks what a row must have, and adds what it says about its tensor to the rows' before it. */
function readRow(
  where: string,
  index: number,
  row: unknown,
  found: Map<string, PlanTensor>,
): { scheme: string; bytes: number; row: object; tensor: PlanTensor } {
  if (typeof row !== "object" || row === null) {
    throw wrongKind("ZP_INVALID_ROW", where, `rows[${index}]`, "a row of analyze", row);
  }
  const { name, scheme, bytes, parameters } = row as Partial<PlanRow>;
  if (typeof name !== "string") throw wrongField(where, index, "name", "a text", name);
  if (typeof scheme !== "string" || scheme === "") {
    throw wrongField(where, index, "scheme", "the name of a scheme", scheme);
  }
  if (!isCount(bytes)) throw wrongField(where, index, "bytes", COUNT, bytes);
  if (!isCount(parameters)) throw wrongField(where, index, "parameters", COUNT, parameters);
  const before = bytesBeforeOf(row, parameters);
  const sha256 = textOf(row, "sha256");
  const reason = textOf(row, "reason");
  let tensor = found.get(name);
  if (tensor === undefined) {
    tensor = { name, parameters, bytesBefore: before, sha256, reason, last: -1 };
    found.set(name, tensor);
    return { scheme: scheme.toLowerCase(), bytes, row, tensor };
  }
  for (const field of ["parameters", "bytesBefore", "sha256"] as const) {
    const own = field === "parameters" ? parameters : field === "sha256" ? sha256 : before;
    if (own === undefined || tensor[field] === undefined || tensor[field] === own) continue;
    const problem = `rows[${index}].${field} must be as in other rows of ${show(name)}`;
    throw rangeError("ZP_INVALID_ROW", where, `${problem}, ${tensor[field]}, got ${own}`);
  }
  tensor.bytesBefore ??= before;
  tensor.sha256 ??= sha256;
  return { scheme: scheme.toLowerCase(), bytes, row, tensor };
}

const COUNT = "an integer of at least 0";

const wrongField = (where: string, index: number, field: string, wanted: string, got: unknown) =>
  wrongNumber("ZP_INVALID_ROW", where, `rows[${index}].${field}`, wanted, got);

function textOf(row: object, field: string): string | undefined {
  const text = optional(row, field);
  return typeof text === "string" ? text : undefined;
}

/** Bytes in the header of the file; 0 if the row says nothing. */
function headerBytesOf(where: string, index: number, row: object): number {
  const headerBytes = optional(row, "headerBytes") ?? 0;
  if (isCount(headerBytes)) return headerBytes;
  throw wrongField(where, index, "headerBytes", COUNT, headerBytes);
}

function bytesBeforeOf(row: object, parameters: number): number | undefined {
  const before = optional(row, "bytesBefore");
  if (isCount(before)) return before;
  const dtype = textOf(row, "dtype");
  if (dtype === undefined || dtypeInfo(dtype) === undefined) return undefined;
  return bytesOf(dtype as FileDType, parameters);
}

/** Whether a row's SQNR is at least a number of decibels; null is the infinite one of JSON. */
function hasSqnr(row: object, minSqnr: number): boolean {
  const sqnr = Object.hasOwn(row, "sqnr") ? (row as PlanRow).sqnr : undefined;
  if (sqnr === null) return optional(row, "relative") === 0 || optional(row, "mse") === 0;
  return typeof sqnr === "number" && sqnr >= minSqnr;
}

/** Fields of rows of `analyze` that hold lists. */
interface RowLists {
  readonly shape?: unknown;
  readonly worstRows?: unknown;
  readonly histogram?: { readonly counts?: unknown };
}

/** A copy of a row with lists of its own. @param given  a row of `analyze`, of which nothing is checked */
export function copyRow<Row extends object>(given: Row): Row {
  const row = { ...given };
  const shape = fieldOf(row as RowLists, "shape");
  const worstRows = fieldOf(row as RowLists, "worstRows");
  const histogram = fieldOf(row as RowLists, "histogram");
  return {
    ...row,
    ...(Array.isArray(shape) && { shape: [...shape] }),
    ...(Array.isArray(worstRows) && { worstRows: worstRows.map((each) => ({ ...each })) }),
    ...(Array.isArray(histogram?.counts) && {
      histogram: { ...histogram, counts: [...histogram.counts] },
    }),
  };
}
