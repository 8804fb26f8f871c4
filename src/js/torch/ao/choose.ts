// The choice of scales and zero points of blocks, as torchao makes it.

import { checkBoolean, checkChoice, checkFinite } from "../../base/check.js";
import { rangeError, typeError } from "../../base/errors.js";
import type { Options } from "../../base/fields.js";
import { showShape } from "../../base/format-value.js";
import { checkOptions } from "../../base/options.js";
import { roundHalfEven } from "../../base/round.js";
import { newArray } from "../../base/typed-arrays.js";
import { forRuns } from "../../tensor/blocks.js";
import type { TensorInput } from "../../tensor/check.js";
import {
  atLeast,
  type BlockTensor,
  boundIn,
  CODE_OPTIONS,
  type CodeOptions,
  type Codes,
  checkCodeOptions,
  checkFiniteRanges,
  clamp,
  resultOf,
  valuesOf,
  ZERO_DTYPES,
  type ZeroPointDType,
  zeroPointsOf,
} from "./arguments.js";
import { blockShape, checkBlocks } from "./blocks.js";
import { FLOAT_DTYPES, type FloatDType, roundingOf, SMALLEST_NORMAL } from "./floats.js";

/** How a range becomes a scale and a zero point: MappingType of torchao. */
export type Mapping = "symmetric" | "symmetricNoClippingErr" | "asymmetric";

/** Options of `chooseQParamsAffine`. */
export interface ChooseAffineOptions extends CodeOptions {
  /** Default: `"symmetric"`. */
  mapping?: Mapping | undefined;
  /** The values of a block on each axis, which divide it; -1: all of it. */
  blockSize?: readonly number[] | undefined;
  /** The smallest scale, rounded to the dtype of the values. Default: the smallest normal number of that. */
  eps?: number | undefined;
  /** Default: the dtype of the values. */
  scaleDtype?: FloatDType | undefined;
  /** Default: `"int32"`; for float zero points the dtype of the values. */
  zeroPointDtype?: ZeroPointDType | undefined;
  /** Whether to keep the axes of length 1 that come from whole axes. Default: false. */
  keepdim?: boolean | undefined;
  /** false: the range is not widened to 0. Default: true; false for float zero points. */
  preserveZero?: boolean | undefined;
  /** The smallest value of each block, with `max` instead of `x`, which is then undefined. */
  min?: TensorInput | undefined;
  /** The largest value of each block. */
  max?: TensorInput | undefined;
}

const CHOOSE_OPTIONS = [
  ...CODE_OPTIONS,
  "mapping",
  "blockSize",
  "eps",
  "scaleDtype",
  "zeroPointDtype",
  "keepdim",
  "preserveZero",
  "min",
  "max",
];

/**
 * Chooses the scale and the zero point of every block, each operation rounded to the dtype `t` of the values, with
 * neg = min(min, 0) and pos = max(max, 0):
 *
 *     symmetric                scale = max(max(-neg, pos) / ((quantMax - quantMin) / 2), eps)
 *                              zeroPoint = trunc((quantMax + quantMin + 1) / 2)
 *     symmetricNoClippingErr   scale = max(max(neg / quantMin, pos / quantMax), eps)
 *     asymmetric               scale = max((pos - neg) / (quantMax - quantMin), eps)
 *                              zeroPoint = clamp(quantMin - round_half_even(neg / scale), quantMin, quantMax)
 *
 * `preserveZero: false`: the asymmetric formula with min and max as they are. `zeroPointDomain: "float"` (tinygemm):
 * that scale, and zeroPoint = min + scale * ((quantMax + quantMin + 1) / 2), a real number.
 *
 * Source: choose_qparams_affine, choose_qparams_affine_with_min_max, _choose_qparams_affine_tinygemm and
 * _choose_qparams_affine_dont_preserve_zero of torchao 0.19.
 *
 * @param x  float32, float16 or bfloat16 (see `TensorInput`), any shape; undefined with `min` and `max`
 * @returns scales and zero points, one for each block
 * @throws {RangeError} `ZP_NON_FINITE` without `compat: "torch"`, `ZP_INVALID_GROUP_SIZE`
 * @throws {TypeError} `ZP_INVALID_TENSOR`, `ZP_CONFLICTING_OPTIONS`
 * @example chooseQParamsAffine(x, { mapping: "symmetric", blockSize: [1, 32], dtype: "int4" })
 */
export function chooseQParamsAffine(
  x: TensorInput | undefined,
  options?: ChooseAffineOptions,
): [BlockTensor, BlockTensor] {
  const where = "chooseQParamsAffine";
  const given = checkOptions(where, options, CHOOSE_OPTIONS);
  const codes = checkCodeOptions(where, given);
  const hasFloatZero = codes.domain === "float";
  const mappings = ["symmetric", "symmetricNoClippingErr", "asymmetric"] as const;
  const fallback = hasFloatZero ? "asymmetric" : "symmetric";
  const mapping = checkChoice(where, "options.mapping", given.mapping, mappings, fallback);
  const preservesZero = checkBoolean(
    where,
    "options.preserveZero",
    given.preserveZero,
    !hasFloatZero,
  );
  if (mapping !== "asymmetric" && !preservesZero) {
    const problem = `options.mapping must be "asymmetric" for a range without 0, got "${mapping}"`;
    throw typeError("ZP_CONFLICTING_OPTIONS", where, problem);
  }
  if (hasFloatZero && preservesZero) {
    const problem = 'options.preserveZero must be false with zeroPointDomain: "float", got true';
    throw typeError("ZP_CONFLICTING_OPTIONS", where, problem);
  }
  const { min, max, dtype, shape } = rangesOf(where, x, given);
  if (!codes.isTorch) checkFiniteRanges(where, min, max);
  const eps = checkFinite(where, "options.eps", given.eps, SMALLEST_NORMAL[dtype]);
  const scaleDtype = checkChoice(
    where,
    "options.scaleDtype",
    given.scaleDtype,
    FLOAT_DTYPES,
    dtype,
  );
  const zeroDtype = checkChoice(
    where,
    "options.zeroPointDtype",
    given.zeroPointDtype,
    ZERO_DTYPES,
    hasFloatZero ? dtype : "int32",
  );
  const scales = newArray(where, Float32Array, min.length);
  const zeroPoints = newArray(where, Float32Array, min.length);
  const choose = choiceOf(where, codes, mapping, preservesZero, dtype, eps);
  for (let i = 0; i < min.length; i++) {
    const [scale, zeroPoint] = choose(min[i], max[i]);
    scales[i] = scale;
    zeroPoints[i] = zeroPoint;
  }
  const round = roundingOf(scaleDtype);
  return [
    resultOf(where, scales.map(round), shape, scaleDtype),
    zeroPointsOf(where, zeroPoints, shape, zeroDtype),
  ];
}

/** The range of every block: computed, or given. */
function rangesOf(where: string, x: TensorInput | undefined, options: Options) {
  if (options.min !== undefined || options.max !== undefined) {
    if (x !== undefined) {
      const problem = "options.min and options.max take the place of x, got both";
      throw typeError("ZP_CONFLICTING_OPTIONS", where, problem);
    }
    const min = valuesOf(where, "options.min", options.min);
    const max = valuesOf(where, "options.max", options.max);
    if (showShape(min.shape) !== showShape(max.shape) || min.dtype !== max.dtype) {
      const problem = "options.min and options.max must have one shape and dtype";
      throw rangeError("ZP_SHAPE_MISMATCH", where, problem);
    }
    return { min: min.values, max: max.values, dtype: min.dtype, shape: min.shape };
  }
  const { values, shape, dtype } = valuesOf(where, "x", x);
  const blocks = checkBlocks(where, options.blockSize ?? shape.map(() => -1), shape);
  const keepdim = checkBoolean(where, "options.keepdim", options.keepdim, false);
  const min = newArray(where, Float32Array, blocks.count).fill(Infinity);
  const max = newArray(where, Float32Array, blocks.count).fill(-Infinity);
  forRuns(blocks, (start, count, block) => {
    for (let i = start; i < start + count; i++) {
      // Math.min and Math.max keep NaN, as PyTorch's amin and amax do.
      min[block] = Math.min(min[block], values[i]);
      max[block] = Math.max(max[block], values[i]);
    }
  });
  return { min, max, dtype, shape: blockShape(blocks, keepdim) };
}

/** The formula from the range of a block to its scale and zero point. */
function choiceOf(
  where: string,
  { low, high, domain }: Codes,
  mapping: Mapping,
  preservesZero: boolean,
  dtype: FloatDType,
  eps: number,
): (min: number, max: number) => [scale: number, zeroPoint: number] {
  const round = roundingOf(dtype);
  const least = round(Math.fround(eps));
  const steps = Math.fround(high - low);
  const middle = (high + low + 1) / 2;
  if (mapping !== "asymmetric") {
    const zeroPoint = round(Math.trunc(middle));
    const half = Math.fround((high - low) / 2);
    return (min, max) => {
      const [neg, pos] = [Math.min(min, 0), Math.max(max, 0)];
      if (mapping === "symmetric")
        return [atLeast(round(Math.max(-neg, pos) / half), least), zeroPoint];
      const [below, above] = [round(neg / Math.fround(low)), round(pos / Math.fround(high))];
      return [atLeast(below > above ? below : above, least), zeroPoint];
    };
  }
  const width = (min: number, max: number): number =>
    atLeast(round(round(max - min) / steps), least);
  if (domain === "float") {
    return (min, max) => {
      const scale = width(min, max);
      return [scale, round(min + round(scale * middle))];
    };
  }
  const [lowest, highest] = [boundIn(where, low, dtype), boundIn(where, high, dtype)];
  return (min, max) => {
    const [neg, pos] = preservesZero ? [Math.min(min, 0), Math.max(max, 0)] : [min, max];
    const scale = width(neg, pos);
    const zeroPoint = round(Math.fround(low) - roundHalfEven(round(neg / scale)));
    return [scale, clamp(zeroPoint, lowest, highest)];
  };
}
