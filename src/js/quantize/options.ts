// Options of quantize, fakeQuantize and chooseQParams.

import { checkBoolean, checkChoice, checkDType } from "../base/check.js";
import type { DType } from "../base/dtype.js";
import { typeError } from "../base/errors.js";
import type { Options } from "../base/fields.js";
import { checkOptions } from "../base/options.js";
import { looksQuantized } from "../tensor/check.js";
import { checkSlices } from "../tensor/granularity.js";
import { type CheckedQParams, checkGivenScheme, checkQParams, checkScheme } from "./check.js";
import type { Purpose, QParamInput, Scheme } from "./quantized-tensor.js";
import { checkRange, type RangeChoice } from "./range-search.js";

/** The options of `quantize`, for any dtype and granularity. */
export type AnyQuantizeOptions = QuantizeOptions<
  DType,
  number | undefined,
  number | undefined,
  QParamInput | undefined,
  QParamInput | undefined
>;

/** How qparams are chosen. */
export interface ChooseQParamsOptions<
  D extends DType = DType,
  Axis extends number | undefined = number | undefined,
  Size extends number | undefined = number | undefined,
> {
  /** Default: `"int8"`. */
  dtype?: D | undefined;
  /** Default: `"symmetric"`, which takes a signed dtype. */
  scheme?: Scheme | undefined;
  /** One scale per index of this axis; negative counts from the end. Not with `groupSize`. */
  axis?: Axis;
  /**
   * The number of consecutive values of the last axis that share a scale. If it does not divide the
   * axis, the last group of every row is short.
   */
  groupSize?: Size;
  /**
   * Affine: widen the range to contain 0, so that 0 is exact. Default: true. With false, values that all
   * lie on one side of 0 are lost: codes reach from 0 over the width of their range only.
   */
  includeZero?: boolean | undefined;
  /** Treatment of NaN and infinities when choosing: `"throw"` (the default), or skip them. */
  nonFinite?: "throw" | "ignore" | undefined;
  /**
   * The range that the codes cover. `"minmax"` (the default): from the smallest to the largest value.
   * `"mse"`: of that range and those that shrink it in steps of 1/64 down to a quarter, the one of least
   * squared error; the widest of equal ones. `{ percentile: p }`: percentiles 100 − p to p of the values,
   * for the symmetric scheme percentile p of |x|, interpolated linearly as by `numpy.percentile`.
   */
  range?: RangeChoice | undefined;
}

/** How a tensor is quantized: with given qparams, or with qparams chosen for it. */
export interface QuantizeOptions<
  D extends DType = DType,
  Axis extends number | undefined = number | undefined,
  Size extends number | undefined = number | undefined,
  Scale extends QParamInput | undefined = QParamInput | undefined,
  Zero extends QParamInput | undefined = QParamInput | undefined,
> extends ChooseQParamsOptions<D, Axis, Size> {
  /**
   * Units per step, given instead of chosen; finite and > 0, in float32 too. One number, or numbers
   * whose shape broadcasts against the tensor's; with `axis` also a list of n numbers, with `groupSize`
   * a list of rows × groups.
   */
  scale?: Scale;
  /** The code of 0, in the forms of `scale`; an integer that the dtype holds. Default: 0. */
  zeroPoint?: Zero;
}

/**
 * A type that is inferred from arguments alone. Without it, the D of `chooseQParams(x)` as an argument
 * of `quantize` would be inferred from the parameter of `quantize`, which is every dtype.
 */
export type FromArguments<T> = [T][T extends unknown ? 0 : never];

/**
 * Makes `dtype` required where it is not the default. Without it, an object of `QuantizeOptions<"int4">`
 * could omit the dtype, and the result would be typed int4 but hold int8.
 */
export type NeedsDType<D> = "int8" extends D ? unknown : { readonly dtype: D };

/** Refuses `axis` beside `groupSize`. */
export type OneOfBoth<Axis, Size> = Axis extends number
  ? Size extends number
    ? { readonly groupSize: undefined }
    : unknown
  : unknown;

/**
 * Makes `scheme: "affine"` required for an unsigned dtype whose qparams are chosen: the default is symmetric.
 */
export type NeedsScheme<D, Scale = undefined> = Scale extends undefined
  ? D extends `u${string}`
    ? { readonly scheme: "affine" }
    : unknown
  : unknown;

/** The granularity that options ask for. */
export type GranularityOf<Axis, Size, Scale = undefined, Zero = undefined> = Axis extends number
  ? "perChannel"
  : Size extends number
    ? "perGroup"
    : Scale extends number | undefined
      ? Zero extends number | undefined
        ? "perTensor"
        : "broadcast"
      : "broadcast";

/** Options of `quantize`, `fakeQuantize` and `chooseQParams` after all checks. */
export interface CheckedOptions extends Purpose {
  readonly includeZero: boolean;
  readonly nonFinite: "throw" | "ignore";
  /** As `checkRange` returns it. */
  readonly range: number | undefined;
  /** Given qparams; undefined if they are to be chosen. */
  readonly given: CheckedQParams | undefined;
}

/** The options that `chooseQParams` takes. */
export const CHOOSE_OPTIONS = [
  "dtype",
  "scheme",
  "axis",
  "groupSize",
  "includeZero",
  "nonFinite",
  "range",
] as const;

/** The options of `quantize`, without `out`. */
export const QUANTIZE_OPTIONS = [...CHOOSE_OPTIONS, "scale", "zeroPoint"] as const;

/**
 * Checks options against their tensor.
 * @param isCopied  as in `checkQParams`
 */
export function checkQuantizeOptions(
  where: string,
  options: Options,
  shape: readonly number[],
  isCopied: boolean,
): CheckedOptions {
  const { scheme: givenScheme, axis, groupSize, scale, zeroPoint } = options;
  const dtype = checkDType(where, "options.dtype", options.dtype, "int8");
  const includeZero = checkBoolean(where, "options.includeZero", options.includeZero, true);
  const nonFinite = checkChoice(
    where,
    "options.nonFinite",
    options.nonFinite,
    ["throw", "ignore"] as const,
    "throw",
  );
  const range = checkRange(where, options.range);
  if (range !== undefined && scale !== undefined) {
    throw typeError(
      "ZP_CONFLICTING_OPTIONS",
      where,
      "options.range chooses a scale, and options.scale gives one, got both",
    );
  }
  const slices = checkSlices(where, "options", shape, axis, groupSize);
  if (scale === undefined && zeroPoint !== undefined) {
    throw typeError(
      "ZP_CONFLICTING_OPTIONS",
      where,
      "options.zeroPoint needs options.scale beside it, got zeroPoint alone",
    );
  }
  const zero = zeroPoint === undefined ? 0 : zeroPoint;
  const given =
    scale === undefined
      ? undefined
      : checkQParams(where, "options", scale, zero, shape, slices, dtype, isCopied);
  const scheme =
    given === undefined
      ? checkScheme(where, "options", givenScheme, "symmetric", dtype)
      : checkGivenScheme(where, "options", givenScheme, given, dtype);
  return { dtype, scheme, slices, includeZero, nonFinite, range, given };
}

const KNOWN_OPTIONS = [...QUANTIZE_OPTIONS, "out"];

/** The fields of a quantized tensor that are not qparams. */
const OF_TENSORS = ["data", "shape"];

/** The options of a call. A quantized tensor may stand for the qparams in it. */
export function quantizeOptions(where: string, options: unknown): Options {
  const ignored = looksQuantized(options) ? OF_TENSORS : [];
  return checkOptions(where, options, KNOWN_OPTIONS, "options", ignored);
}
