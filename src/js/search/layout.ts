// How an index keeps its rows: what its options say.

import { checkChoice, checkInteger, wrongNumber } from "../base/check.js";
import { typeError } from "../base/errors.js";
import { checkOptions } from "../base/options.js";

/** The score of a row x for a query q. */
export type VectorMetric = "cosine" | "dot" | "euclidean";

/** The codes of a row. */
export type VectorDType = "int8" | "int4" | "binary";

/** The original vectors that are kept beside the codes. */
export type VectorOriginals = "none" | "float32" | "float16";

/** An id of a row. 1 and "1" are different ids. */
export type VectorId = number | string;

/** Options of `VectorIndex`. */
export interface VectorIndexOptions<Metric extends VectorMetric = VectorMetric> {
  /** The number of values of each vector, 1 to 65535. */
  dimensions: number;
  /**
   * `"cosine"` (default): q · x / (|q| |x|), 0 if one of them is zero. `"dot"`: q · x. `"euclidean"`: |q − x|.
   */
  metric?: Metric | undefined;
  /**
   * The codes of a row: `"int8"` (default), `"int4"`, or `"binary"`: signs, one bit a value. Each row has a scale of
   * its own: of its largest value, or of the mean of its values' sizes for `"binary"`.
   */
  dtype?: VectorDType | undefined;
  /**
   * With `"int8"` or `"int4"`: one scale for each group of as many values of a row, an integer >= 1; the last group
   * may be short. Bounds are narrower, scans take longer, and a row takes 4 bytes more for each group. Default: one
   * scale a row.
   */
  groupSize?: number | undefined;
  /**
   * `"none"` (default): every row is scanned. `"binary"`: only rows whose signs are nearest to the query's; faster,
   * and nothing is proven. Takes one bit a value more.
   */
  prefilter?: "none" | "binary" | undefined;
  /**
   * Which originals are kept beside the codes: `"none"` (default); `"float32"`, which decide what the codes leave
   * open; or `"float16"`, whose rounding stays in the bounds.
   */
  originals?: VectorOriginals | undefined;
}

/** The checked options of an index. */
export interface VectorLayout {
  readonly dimensions: number;
  readonly metric: VectorMetric;
  readonly dtype: VectorDType;
  readonly originals: VectorOriginals;
  /** Values of a group that has a scale of its own; undefined: one scale a row. */
  readonly groupSize: number | undefined;
  /** Whether rows have signs, by which a search chooses the rows that it scans. */
  readonly hasSigns: boolean;
}

/** The most values of a vector. */
const MOST_DIMENSIONS = 65535;

const OPTIONS = ["dimensions", "metric", "dtype", "groupSize", "prefilter", "originals"];

/** Checks the options of an index. @throws {RangeError} {TypeError} */
export function checkLayout(where: string, options: unknown): VectorLayout {
  const given = checkOptions(where, options, OPTIONS);
  const { dimensions } = given;
  const wanted = `an integer from 1 to ${MOST_DIMENSIONS}`;
  const isValid = Number.isInteger(dimensions) && (dimensions as number) >= 1;
  if (!isValid || (dimensions as number) > MOST_DIMENSIONS) {
    throw wrongNumber("ZP_INVALID_OPTION", where, "options.dimensions", wanted, dimensions);
  }
  const choice = <T extends string>(name: string, choices: readonly T[], fallback: T): T =>
    checkChoice(where, `options.${name}`, given[name], choices, fallback);
  const metric = choice("metric", ["cosine", "dot", "euclidean"], "cosine");
  const dtype = choice("dtype", ["int8", "int4", "binary"], "int8");
  const prefilter = choice("prefilter", ["none", "binary"], "none");
  const originals = choice("originals", ["none", "float32", "float16"], "none");
  const hasSigns = prefilter === "binary";
  if (hasSigns && dtype === "binary") {
    const problem = 'options.prefilter "binary" needs dtype "int8" or "int4", got "binary"';
    throw typeError("ZP_CONFLICTING_OPTIONS", where, problem);
  }
  const size = checkInteger(where, "options.groupSize", given.groupSize, 0, 1, 2 ** 31 - 1);
  const groupSize = size === 0 ? undefined : size;
  if (groupSize !== undefined && dtype === "binary") {
    const problem = 'options.groupSize needs dtype "int8" or "int4", got "binary"';
    throw typeError("ZP_CONFLICTING_OPTIONS", where, problem);
  }
  return { dimensions: dimensions as number, metric, dtype, originals, groupSize, hasSigns };
}

/** Bytes of a row's signs. */
export const signBytes = (dimensions: number): number => Math.ceil(dimensions / 8);
