// plan: rows of an analysis and a budget -> the schemes of least error.

import { wrongNumber } from "../../base/check.js";
import { rangeError, typeError } from "../../base/errors.js";
import { fieldOf } from "../../base/fields.js";
import { checkOptions } from "../../base/options.js";
import { checkFormat, type PlanFormat } from "./formats.js";
import { type Grouped, groupTensors } from "./groups.js";
import { checkMetric, type MetricName } from "./metric.js";
import { type FileRows, givenRows, PlanInput, type PlanRow } from "./rows.js";
import { solve } from "./solve.js";

/** Which tensors get which schemes, of `plan` and `frontier`. */
export interface PlanConstraints {
  /** Every tensor has an SQNR of at least so many decibels, unless it is pinned. */
  minSqnr?: number | undefined;
  /**
   * Schemes of tensors by patterns of names: `*` for any text, `?` for one character, `{a,b}` for alternatives. Of
   * several patterns that match a name, the last one counts. Norms, biases and others that are kept stay so; a pattern
   * that matches nothing else is refused.
   */
  pin?: Readonly<Record<string, string>> | undefined;
  /**
   * Which tensors must agree: a pattern with alternatives, whose tensors agree if their names differ in nothing else,
   * or a list of patterns, all of whose tensors agree. Default: `DEFAULT_SAME`.
   */
  same?: readonly (string | readonly string[])[] | undefined;
  /** What is minimized. Default: `"output"` if the rows have it, else `"relative"`. */
  metric?: MetricName | ((row: PlanRow) => number) | undefined;
  /**
   * The format that the plan is for: `"gguf"` has block types and no integer schemes, the others have no block types.
   * Default: that of the model, if the rows name it.
   */
  format?: PlanFormat | undefined;
}

/** A budget, and other options of `plan`: exactly one of the first three, or `minSqnr` alone. */
export interface PlanOptions extends PlanConstraints {
  /**
   * Bytes of all tensors together, headers of files on top; with what `storedRows` gives, bytes of the file at most.
   */
  bytes?: number | undefined;
  /** Bits by parameters, of all tensors together, kept ones included; with what `storedRows` gives, of the file. */
  bitsPerWeight?: number | undefined;
  /** Bytes, or those of the file, by the bytes of the tensors as they are. */
  ratio?: number | undefined;
}

/** Which tensor gets which scheme: plain JSON. */
export interface Plan {
  /** The version of this form of a plan. */
  readonly version: 1;
  /** The name of a scheme for each tensor of the rows. */
  readonly schemes: Readonly<Record<string, string>>;
  /** Why a tensor is kept, pinned or agrees with another one. */
  readonly reasons: Readonly<Record<string, string>>;
  /** Bytes of all tensors together. */
  readonly bytes: number;
  /** About the bytes of the file, and not less, if the rows are those of a file: what `storedRows` gives. */
  readonly fileBytes?: number;
  /** true if `fileBytes` is that of the file to the byte: `zeropoint plan` of a model asks the writer. */
  readonly isFileExact?: true;
  /** Bytes of the tensors as they are, if the rows say so. */
  readonly bytesBefore?: number;
  /** Values of all tensors together. */
  readonly parameters: number;
  /** Bits by parameters, of all tensors together. */
  readonly bitsPerWeight: number;
  /**
   * The sum over all tensors of the row's error times the tensor's share of the parameters; for `"layers"` the mean over
   * all tensors that are not kept.
   */
  readonly error: number;
  /** No plan within the budget has less error. With `minSqnr` alone, the least error of a plan of so many bytes. */
  readonly bound: number;
  /** How far from the best the error can be at most: (error − bound) / bound; null if only the bound is 0. */
  readonly gap: number | null;
  /** The error: `"layers"`, `"relative"`, `"output"`, `"mse"`, `"max"`, `"cosine"`, or `"custom"` for a function. */
  readonly metric: MetricName | "custom";
  /** The format that the plan is for, if it was given, or the rows name it. */
  readonly format?: PlanFormat;
  /** The budget as given. */
  readonly budget: Readonly<Record<string, number>>;
}

const CONSTRAINTS = ["minSqnr", "pin", "same", "metric", "format"];
const BUDGETS = ["bytes", "bitsPerWeight", "ratio"] as const;

/**
 * Chooses the schemes of least total error within a budget. Equal rows and options give an equal plan, in any order of
 * the rows and on any machine. Tensors of equal sha256 are tied and get one scheme, as do those of `same`.
 *
 * Weight error is not accuracy: measure that with the quantized model.
 * @param rows  of `analyze`; of each tensor one for each scheme to choose from. Or what `storedRows` gives:
 *   the budget is then that of the file, whose headers count as well
 * @throws {RangeError} `ZP_IMPOSSIBLE_BUDGET` if no plan fits; the message has the smallest possible budget
 * @throws {TypeError | RangeError} `ZP_INVALID_ROW`; `ZP_INVALID_OPTION`; `ZP_CONFLICTING_OPTIONS`
 * @example
 * // rows of two tensors with int8-g32 and int4-g32, 9216 or 5120 bytes each
 * const { schemes, bytes, gap } = plan(rows, { bytes: 15_000 });
 * schemes.a; // "int4-g32"
 * schemes.b; // "int8-g32"
 * [bytes, gap]; // [14336, 0]
 */
export function plan(rows: Iterable<PlanRow> | FileRows, options: PlanOptions): Plan {
  const where = "plan";
  const given = checkOptions(where, options, [...BUDGETS, ...CONSTRAINTS]);
  const budget = readBudget(where, given);
  const prepared = prepare(where, rows, given);
  const { input, groups, choices, metric, format } = prepared;
  const { starts, bytes } = choices;
  let smallest = 0;
  for (let i = 0; i < groups.length; i++) smallest += bytes[starts[i]];
  const capacity = capacityOf(where, budget, input) ?? smallest;
  if (smallest > capacity) throw impossible(where, budget, smallest, input);
  const solution = solve(choices, capacity);
  const schemes = new Map<string, string>();
  const reasons = new Map<string, string>();
  for (const [i, group] of groups.entries()) {
    const scheme = group.schemes[solution.chosen[i] - starts[i]];
    for (const { name } of group.tensors) schemes.set(name, scheme);
    for (const [name, reason] of group.reasons) reasons.set(name, reason);
  }
  const total = totalsOf(where, input, schemes);
  const bound = solution.isOptimal ? total.error : Math.min(total.error, solution.bound);
  return {
    version: 1,
    schemes: inOrder(input, schemes),
    reasons: inOrder(input, reasons),
    bytes: total.bytes,
    ...(input.overhead !== undefined && {
      fileBytes: total.bytes + total.headerBytes + input.overhead,
    }),
    ...(input.bytesBefore !== undefined && { bytesBefore: input.bytesBefore }),
    parameters: input.parameters,
    bitsPerWeight: input.parameters === 0 ? 0 : (8 * total.bytes) / input.parameters,
    error: total.error,
    bound,
    gap: total.error === bound ? 0 : bound === 0 ? null : (total.error - bound) / bound,
    metric,
    ...(format !== undefined && { format }),
    budget,
  };
}

/** Rows and options of `plan` and `frontier`, checked and brought in order. */
export interface Prepared extends Grouped {
  readonly input: PlanInput;
  readonly metric: Plan["metric"];
  readonly format: PlanFormat | undefined;
}

/** Checks rows and all options but the budget. */
export function prepare(
  where: string,
  rows: unknown,
  { minSqnr, pin, same, metric, format }: Readonly<Record<string, unknown>>,
): Prepared {
  const rowsGiven = givenRows(where, rows);
  const { list } = rowsGiven;
  const { name, ...measure } = checkMetric(where, metric, list);
  const least = minSqnr as number | undefined;
  const chosen = checkFormat(where, format, list);
  const input = new PlanInput(where, rowsGiven, measure, least, chosen.holds);
  const grouped = groupTensors(where, input, { pin, same, minSqnr: least, format: chosen.name });
  return { input, metric: name, format: chosen.name, ...grouped };
}

/** Names of the options that `plan` and `frontier` share. */
export const CONSTRAINT_NAMES: readonly string[] = CONSTRAINTS;

/** Checks `minSqnr`. */
export function checkMinSqnr(where: string, minSqnr: unknown): void {
  if (minSqnr === undefined || Number.isFinite(minSqnr)) return;
  const argument = "options.minSqnr";
  throw wrongNumber("ZP_INVALID_OPTION", where, argument, "a finite number of decibels", minSqnr);
}

function readBudget(
  where: string,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, number>> {
  const budget: Record<string, number> = {};
  for (const name of BUDGETS) {
    const { [name]: value } = given;
    if (value === undefined) continue;
    if (!(Number.isFinite(value) && (value as number) > 0)) {
      const wanted = "a finite number above 0";
      throw wrongNumber("ZP_INVALID_OPTION", where, `options.${name}`, wanted, value);
    }
    budget[name] = value as number;
  }
  const names = Object.keys(budget);
  if (names.length > 1) {
    const problem = `options.${names[0]} and options.${names[1]} are two budgets: give one`;
    throw typeError("ZP_CONFLICTING_OPTIONS", where, problem);
  }
  checkMinSqnr(where, given.minSqnr);
  if (given.minSqnr !== undefined) budget.minSqnr = given.minSqnr as number;
  if (Object.keys(budget).length > 0) return budget;
  const problem = "options must have a budget: bytes, bitsPerWeight, ratio or minSqnr";
  throw typeError("ZP_INVALID_OPTION", where, problem);
}

/** The budget in bytes; undefined if the fewest bytes are wanted. */
function capacityOf(
  where: string,
  budget: Readonly<Record<string, number>>,
  { parameters, bytesBefore, overhead = 0 }: PlanInput,
): number | undefined {
  const [bytes, bitsPerWeight, ratio] = BUDGETS.map((name) => fieldOf(budget, name));
  if (bytes !== undefined) return Math.floor(bytes) - overhead;
  if (bitsPerWeight !== undefined) return Math.floor((bitsPerWeight * parameters) / 8) - overhead;
  if (ratio === undefined) return undefined;
  if (bytesBefore !== undefined) return Math.floor(ratio * bytesBefore) - overhead;
  const problem = "options.ratio needs bytesBefore in the rows of every tensor";
  throw rangeError("ZP_INVALID_ROW", where, problem);
}

/** The error for a budget below the smallest plan. */
function impossible(
  where: string,
  budget: Readonly<Record<string, number>>,
  smallest: number,
  { parameters, bytesBefore, overhead = 0 }: PlanInput,
): Error {
  const [name, value] = Object.entries(budget)[0];
  const bytes = smallest + overhead;
  const least =
    name === "bitsPerWeight"
      ? (8 * bytes) / parameters
      : name === "ratio"
        ? bytes / (bytesBefore as number)
        : bytes;
  // Rounded up: the least that is printed is enough.
  const shown = name === "bytes" ? least : Math.ceil(least * 1e6) / 1e6;
  const problem = `options.${name} must be at least ${shown} with the schemes of the rows, got ${value}`;
  return rangeError("ZP_IMPOSSIBLE_BUDGET", where, problem);
}

/** Bytes and error of a choice, summed in the order of names. */
function totalsOf(
  where: string,
  input: PlanInput,
  schemes: ReadonlyMap<string, string>,
): { readonly bytes: number; readonly headerBytes: number; readonly error: number } {
  let bytes = 0;
  let headerBytes = 0;
  let error = 0;
  for (const tensor of input.tensors) {
    const scheme = schemes.get(tensor.name);
    const chosen = input.candidatesOf(where, tensor).find((each) => each.scheme === scheme);
    headerBytes += chosen?.headerBytes ?? 0;
    bytes += chosen ? chosen.bytes - chosen.headerBytes : (tensor.bytesBefore as number);
    error += chosen?.error ?? 0;
  }
  return { bytes, headerBytes, error };
}

/** An object with entries in the order of names, each of its own: __proto__ is a name like others. */
const inOrder = (
  { tensors }: PlanInput,
  entries: ReadonlyMap<string, string>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    tensors.flatMap(({ name }) => {
      const value = entries.get(name);
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
