// Options of quantize, fakeQuantize and chooseQParams.

import { checkBoolean, checkChoice, checkDType } from "../base/check.js";
import type { DType } from "../base/dtype.js";
import { typeError } from "../base/errors.js";
import type { Options } from "../base/fields.js";
import { checkOptions } from "../base/options.js";
import { looksQuantized } from "../tensor/check.js";
import { checkSlices } from "../tensor/granularity.js";
import {
  type CheckedQParams,
  checkGivenScheme,
  checkQParams,
  checkScheme,
  checkShift,
  offsetScheme,
} from "./check.js";
import type { Purpose, QParamInput, Rule, Scheme } from "./quantized-tensor.js";
import { checkRange, type RangeChoice, type Search } from "./range-search.js";

/** The options of `quantize`, for any dtype and granularity. */
export type AnyQuantizeOptions = QuantizeOptions<
  DType,
  number | undefined,
  number | undefined,
  QParamInput | undefined,
  QParamInput | "float" | undefined,
  BlockShape | undefined
>;

/** The values of a block on each axis; -1: the whole axis. */
export type BlockShape = readonly number[];

/** How qparams are chosen. */
export interface ChooseQParamsOptions<
  D extends DType = DType,
  Axis extends number | undefined = number | undefined,
  Size extends number | undefined = number | undefined,
  Zero extends "float" | undefined = undefined,
  Block extends BlockShape | undefined = BlockShape | undefined,
> {
  /** Default: `"int8"`. */
  dtype?: D | undefined;
  /** Default: `"symmetric"`, which takes a signed dtype; with `zeroPoint: "float"`: `"affine"`. */
  scheme?: Scheme | undefined;
  /** One scale per index of this axis; negative counts from the end. Not with `groupSize`. */
  axis?: Axis;
  /**
   * The number of consecutive values of the last axis that share a scale. If it does not divide the
   * axis, the last group of every row is short.
   */
  groupSize?: Size;
  /**
   * One scale for each n-dimensional block of this shape: the number of values on each axis, -1 for the whole axis.
   * The last block of an axis may be shorter. Not with `axis` or `groupSize`.
   */
  blockShape?: Block;
  /**
   * `"float"`: affine with a real offset instead of a zero point, x ≈ scale · code + offset, as MLX and
   * `q4_1` of ggml have it. The codes reach from the smallest to the largest value, wherever 0 is; 0 itself
   * is not exact in general. The result has `offset` in the place of `zeroPoint`.
   */
  zeroPoint?: Zero;
  /**
   * Affine: widen the range to contain 0, so that 0 is exact. Default: true. With false, values that all
   * lie on one side of 0 are lost: codes reach from 0 over the width of their range only;
   * `zeroPoint: "float"` serves those. Not true with `zeroPoint: "float"`.
   */
  includeZero?: boolean | undefined;
  /** Treatment of NaN and infinities when choosing: `"throw"` (the default), or skip them. */
  nonFinite?: "throw" | "ignore" | undefined;
  /**
   * The range that the codes cover. `"minmax"` (the default): from the smallest to the largest value.
   * `"mse"`: the range of least squared error among that range and its reductions in steps of 1/64 down to a
   * quarter; of equal ones the widest. `"hqq"`: no range, but
   * scale and zero point (or offset) by half-quadratic splitting: twenty iterations of least squares against
   * sparse errors, from `"minmax"` on; the iterate of least squared error.
   * `{ percentile: p }`: percentiles 100 − p to p of the values,
   * for the symmetric scheme percentile p of |x|, interpolated linearly as by `numpy.percentile`.
   */
  range?: RangeChoice | undefined;
}

/** The option `rule`. */
export interface RuleOption {
  /**
   * The order of operations. `"course"` (the default): `round(x / scale + zeroPoint)`; `"onnx"`:
   * `round(x / scale) + zeroPoint`; `"torch"`: `round(x * (1 / scale)) + zeroPoint`. See `quantize`, and
   * `chooseQParams` for the scales and zero points that each chooses.
   */
  rule?: Rule | undefined;
}

/** Checks the option `rule`. */
export const checkRule = (where: string, { rule }: Options): Rule =>
  checkChoice(where, "options.rule", rule, ["course", "onnx", "torch"] as const, "course");

/** How a tensor is quantized: with given qparams, or with qparams chosen for it. */
export interface QuantizeOptions<
  D extends DType = DType,
  Axis extends number | undefined = number | undefined,
  Size extends number | undefined = number | undefined,
  Scale extends QParamInput | undefined = QParamInput | undefined,
  Zero extends QParamInput | "float" | undefined = QParamInput | undefined,
  Block extends BlockShape | undefined = BlockShape | undefined,
> extends Omit<ChooseQParamsOptions<D, Axis, Size, undefined, Block>, "zeroPoint"> {
  /**
   * Units per step, given instead of chosen; finite and > 0, in float32 too. One number, or numbers
   * whose shape broadcasts against the tensor's; with `axis` also a list of n numbers, with `groupSize`
   * a list of rows × groups.
   */
  scale?: Scale;
  /**
   * The code of 0, in the forms of `scale`; an integer that the dtype holds. Default: 0. Or, without `scale`,
   * `"float"`: see `ChooseQParamsOptions`.
   */
  zeroPoint?: Zero;
  /** The value of the code 0, in the forms of `scale`, instead of `zeroPoint`; finite. */
  offset?: QParamInput | undefined;
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

/** Refuses more than one of `axis`, `groupSize` and `blockShape`. */
export type OneOfBoth<Axis, Size, Block = undefined> = Axis extends number
  ? Size extends number
    ? { readonly groupSize: undefined }
    : NoBlock<Block>
  : Size extends number
    ? NoBlock<Block>
    : unknown;

/** Refuses `blockShape`. */
type NoBlock<Block> = Block extends BlockShape ? { readonly blockShape: undefined } : unknown;

/**
 * Makes `scheme: "affine"` required for an unsigned dtype whose qparams are chosen: the default is symmetric.
 */
export type NeedsScheme<D, Scale = undefined, Zero = undefined> = Scale extends undefined
  ? Zero extends "float"
    ? { readonly scheme?: "affine" | undefined; readonly includeZero?: false | undefined }
    : D extends `u${string}`
      ? { readonly scheme: "affine" }
      : unknown
  : unknown;

/** Refuses `axis` beside `groupSize`, as `OneOfBoth` does, where their types are not inferred: in constructors. */
export type OneGranularity = { axis?: undefined } | { groupSize?: undefined };

/** Refuses an unsigned dtype with the symmetric scheme, as `NeedsScheme` does, where types are not inferred. */
export type FittingScheme =
  | { scale: QParamInput }
  | { dtype?: Exclude<DType, `u${string}`> | undefined }
  | { zeroPoint: "float" }
  // Last, because the compiler's message is about the last one.
  | { scheme: "affine" };

/** The granularity that options ask for. */
export type GranularityOf<
  Axis,
  Size,
  Scale = undefined,
  Zero = undefined,
  Block = undefined,
> = Axis extends number
  ? "perChannel"
  : Size extends number
    ? "perGroup"
    : Block extends BlockShape
      ? "perBlock"
      : Scale extends number | undefined
        ? Zero extends number | "float" | undefined
          ? "perTensor"
          : "broadcast"
        : "broadcast";

/** Options of `quantize`, `fakeQuantize` and `chooseQParams` after all checks. */
export interface CheckedOptions extends Purpose {
  /** Whether offsets are chosen, or given. */
  readonly hasOffsets: boolean;
  readonly includeZero: boolean;
  readonly rule: Rule;
  readonly nonFinite: "throw" | "ignore";
  /** As `checkRange` returns it. */
  readonly range: Search | undefined;
  /** Given qparams; undefined if they are to be chosen. */
  readonly given: CheckedQParams | undefined;
}

/** The options that `chooseQParams` takes. */
export const CHOOSE_OPTIONS = [
  "dtype",
  "scheme",
  "axis",
  "groupSize",
  "blockShape",
  "zeroPoint",
  "includeZero",
  "nonFinite",
  "range",
] as const;

/** The options of `quantize`, without `out`. */
export const QUANTIZE_OPTIONS = [...CHOOSE_OPTIONS, "scale", "offset"] as const;

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
  const { scheme: givenScheme, axis, groupSize, blockShape, scale, zeroPoint, offset } = options;
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
  const rule = checkRule(where, options);
  if (rule !== "course") checkRuleAlone(where, rule, options);
  if (range !== undefined && scale !== undefined) {
    throw typeError(
      "ZP_CONFLICTING_OPTIONS",
      where,
      "options.range chooses a scale, and options.scale gives one, got both",
    );
  }
  const slices = checkSlices(where, "options", shape, axis, groupSize, blockShape);
  const checked = { dtype, slices, includeZero, nonFinite, range, rule };
  if (zeroPoint === "float") {
    checkFloatZeroPoint(where, options);
    const scheme = checkScheme(where, "options", givenScheme, "affine", dtype);
    if (scheme === "symmetric") throw offsetScheme(where, "options");
    return { ...checked, includeZero: false, scheme, hasOffsets: true, given: undefined };
  }
  for (const [name, value] of Object.entries({ zeroPoint, offset })) {
    if (scale !== undefined || value === undefined) continue;
    throw typeError(
      "ZP_CONFLICTING_OPTIONS",
      where,
      `options.${name} needs options.scale beside it, got ${name} alone`,
    );
  }
  if (scale === undefined) {
    const scheme = checkScheme(where, "options", givenScheme, "symmetric", dtype);
    return { ...checked, scheme, hasOffsets: false, given: undefined };
  }
  const shift = checkShift(where, "options", zeroPoint, offset);
  const { hasOffsets } = shift;
  const own = hasOffsets || zeroPoint !== undefined ? shift : { value: 0, hasOffsets };
  const given = checkQParams(where, "options", scale, own, shape, slices, dtype, isCopied, rule);
  const scheme = checkGivenScheme(where, "options", givenScheme, given, dtype);
  return { ...checked, scheme, hasOffsets, given };
}

/** Refuses options that belong to the course's rule. */
function checkRuleAlone(
  where: string,
  rule: Rule,
  { zeroPoint, offset, includeZero, range }: Options,
): void {
  const problem =
    zeroPoint === "float" || offset !== undefined
      ? "has zero points, not offsets"
      : includeZero === false
        ? "always includes 0, and options.includeZero is false"
        : typeof range === "string" && range !== "minmax"
          ? `chooses no range by its error, and options.range is "${range}"`
          : undefined;
  if (problem === undefined) return;
  throw typeError("ZP_CONFLICTING_OPTIONS", where, `options.rule: "${rule}" ${problem}`);
}

/** Refuses options that an offset to be chosen excludes. */
function checkFloatZeroPoint(where: string, { scale, offset, includeZero }: Options): void {
  const problem =
    scale !== undefined || offset !== undefined
      ? `chooses an offset, and options.${scale === undefined ? "offset" : "scale"} is given`
      : includeZero === true
        ? "takes the range as it is, and options.includeZero: true would widen it"
        : undefined;
  if (problem === undefined) return;
  throw typeError("ZP_CONFLICTING_OPTIONS", where, `options.zeroPoint: "float" ${problem}`);
}

/** The core's name of the way in which qparams are chosen. */
export const choiceOf = ({
  scheme,
  hasOffsets,
}: Pick<CheckedOptions, "scheme" | "hasOffsets">): "symmetric" | "affine" | "offset" =>
  hasOffsets ? "offset" : scheme;

const KNOWN_OPTIONS = [...QUANTIZE_OPTIONS, "rule", "out"];

/** The fields of a quantized tensor that are not qparams. */
const OF_TENSORS = ["data", "shape"];

/** The options of a call. A quantized tensor may stand for the qparams in it. */
export function quantizeOptions(where: string, options: unknown): Options {
  const ignored = looksQuantized(options) ? OF_TENSORS : [];
  return checkOptions(where, options, KNOWN_OPTIONS, "options", ignored);
}
