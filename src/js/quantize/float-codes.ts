// Codes that are floats of 8 and 4 bits: quantize, dequantize and fakeQuantize for these dtypes.

import { checkChoice } from "../base/check.js";
import type { DType } from "../base/dtype.js";
import { rangeError, typeError } from "../base/errors.js";
import type { Options } from "../base/fields.js";
import { decodeSmall, encodeSmall, SMALL_FLOATS } from "../base/small-floats.js";
import { type NumberArray, newArray, valueAt } from "../base/typed-arrays.js";
import type { CheckedTensor, QuantizedFields } from "../tensor/check.js";
import { checkCodes, checkOut } from "../tensor/codes.js";
import { checkSlices, forSlices, qparamsShape, type Slices } from "../tensor/granularity.js";
import { checkOwnShape, checkSize, sizeOf } from "../tensor/shape.js";
import { checkTensorOut, type Tensor } from "../tensor/tensor.js";
import { checkQParams } from "./check.js";
import { type BlockShape, checkRule } from "./options.js";
import { listed, type QParamInput, type Rule, type ScaleTensor } from "./quantized-tensor.js";

/** A float type of 8 or 4 bits that values can be quantized to. */
export type FloatCodesDType = "float8_e4m3fn" | "float8_e5m2" | "float4_e2m1";

const DTYPES: readonly unknown[] = ["float8_e4m3fn", "float8_e5m2", "float4_e2m1"];

/** Whether a dtype is one of floats. */
export const isFloatDType = (dtype: unknown): dtype is FloatCodesDType => DTYPES.includes(dtype);

/** Options of `quantize` and `fakeQuantize` for codes that are floats. */
export interface FloatCodesOptions<D extends FloatCodesDType | DType = FloatCodesDType> {
  /** The type of the codes. */
  dtype: D;
  /** One scale per index of this axis; negative counts from the end. */
  axis?: number | undefined;
  /** The number of consecutive values of the last axis that share a scale. */
  groupSize?: number | undefined;
  /** One scale for each n-dimensional block of this shape; -1: the whole axis. */
  blockShape?: BlockShape | undefined;
  /** Units per step, given instead of chosen: a number, or one for each slice. */
  scale?: QParamInput | undefined;
  /** All rules divide by the scale; `"onnx"` and `"torch"` take any scale. */
  rule?: Rule | undefined;
  /** Treatment of NaN and infinities when choosing: `"throw"` (the default), or skip them. */
  nonFinite?: "throw" | "ignore" | undefined;
}

/** Refuses dtypes of integers, which editors complete all the same: they complete those of the first overload alone. */
export type NeedsFloat<D> = D extends FloatCodesDType
  ? unknown
  : { readonly dtype: FloatCodesDType };

/** Codes that are floats of 8 or 4 bits, with their scales: value = code · scale. Plain data. */
export interface FloatQuantizedTensor<D extends FloatCodesDType = FloatCodesDType> {
  /** Bit patterns, one element each; those of float4_e2m1 are 0 to 15. */
  readonly data: Uint8Array;
  /** The length of each axis, outermost first. */
  readonly shape: readonly number[];
  /** The type of the patterns. */
  readonly dtype: D;
  /** Units of the codes' values: a number, or a tensor as other quantized tensors have it. */
  readonly scale: number | ScaleTensor;
  /** Per channel: the axis, counted from 0. */
  readonly axis?: number;
  /** Per group: the number of consecutive values of the last axis that share a scale. */
  readonly groupSize?: number;
  /** Per block: the number of values of a block on each axis. */
  readonly blockShape?: readonly number[];
}

/** Options of integer codes alone. */
const OTHERS = ["zeroPoint", "offset", "range", "includeZero"];

/** Scales and slices after their checks. */
interface Scaled {
  readonly dtype: FloatCodesDType;
  readonly rule: Rule;
  readonly slices: Slices;
  readonly scale: number | ScaleTensor;
}

/** The scales in the options, or chosen: max|x| over the largest value of the type; 1 for zeros. */
function scaledBy(where: string, x: CheckedTensor, options: Options): Scaled {
  const { axis, groupSize, blockShape, scale } = options;
  const rule = checkRule(where, options);
  const dtype = options.dtype as FloatCodesDType;
  const scheme = checkChoice(where, "options.scheme", options.scheme, ["symmetric"], "symmetric");
  for (const name of OTHERS) {
    if (options[name] === undefined || options[name] === 0) continue;
    const problem = `options.${name} must be undefined with dtype ${dtype}, which is ${scheme}`;
    throw typeError("ZP_CONFLICTING_OPTIONS", where, problem);
  }
  const { shape, data } = x;
  const slices = checkSlices(where, "options", shape, axis, groupSize, blockShape);
  const nonFinite = checkChoice(
    where,
    "options.nonFinite",
    options.nonFinite,
    ["throw", "ignore"],
    "throw",
  );
  const own = { dtype, rule, slices };
  if (scale !== undefined) {
    return { ...own, scale: givenScale(where, "options", scale, shape, slices, rule) };
  }
  const most = newArray(where, Float32Array, slices.slices);
  forSlices(slices, (start, count, slice) => {
    for (let i = start; i < start + count; i++) {
      const value = Math.abs(Math.fround(valueAt(data, i)));
      if (value > most[slice] && value < Infinity) most[slice] = value;
      if (value < Infinity || nonFinite === "ignore") continue;
      const problem = `x must be finite to choose a scale, but value ${i} is ${valueAt(data, i)}`;
      throw rangeError("ZP_NON_FINITE", where, problem);
    }
  });
  const largest = SMALL_FLOATS[dtype].most;
  // Scales below the smallest normal number are imprecise.
  const scales = most.map((own) => (own === 0 ? 1 : Math.max(own / largest, 2 ** -126)));
  if (slices.granularity === "perTensor") return { ...own, scale: scales[0] };
  return { ...own, scale: { data: scales, shape: qparamsShape(shape, slices) } };
}

function givenScale(
  where: string,
  prefix: string,
  scale: unknown,
  shape: readonly number[],
  slices: Slices,
  rule: Rule,
): number | ScaleTensor {
  const none = { value: 0, hasOffsets: false };
  const checked = checkQParams(where, prefix, scale, none, shape, slices, "int8", true, rule).scale;
  if (typeof checked === "number" || checked.data.length === slices.slices) return checked;
  const wanted = "one number, or one for each index of axis, group or block";
  throw rangeError("ZP_SHAPE_MISMATCH", where, `${prefix}.scale must be ${wanted}`);
}

/** Calls run(start, count, scale) for values that share a scale. */
function forScales(
  { slices, scale }: Scaled,
  run: (start: number, count: number, scale: number) => void,
): void {
  const scales = listed(scale);
  forSlices(slices, (start, count, slice) => {
    run(start, count, Math.fround(scales[scales.length === 1 ? 0 : slice]));
  });
}

/** The code of one value. ONNX adds the zero point 0 to quotients for float4_e2m1, so that -0 becomes 0. */
function codeOf(value: number, scale: number, { dtype, rule }: Scaled): number {
  const quotient = Math.fround(Math.fround(value) / scale);
  return encodeSmall(rule === "onnx" && dtype === "float4_e2m1" ? quotient + 0 : quotient, dtype);
}

/** `quantize` for dtypes of floats. */
export function quantizeToFloats(
  where: string,
  x: CheckedTensor,
  options: Options,
): FloatQuantizedTensor {
  const scaled = scaledBy(where, x, options);
  const { dtype, slices, scale } = scaled;
  const { out } = options;
  const inputs = [x.data, ...(typeof scale === "number" ? [] : [scale.data])];
  const data =
    out === undefined
      ? newArray(where, Uint8Array, x.size)
      : (checkOut(where, "options.out", out, "Uint8Array", x.size, inputs) as Uint8Array);
  forScales(scaled, (start, count, own) => {
    for (let i = start; i < start + count; i++) {
      data[i] = codeOf(valueAt(x.data, i), own, scaled);
    }
  });
  const { axis, groupSize, blocks } = slices;
  return {
    data,
    shape: [...x.shape],
    dtype,
    scale,
    ...(axis !== undefined && { axis }),
    ...(groupSize !== undefined && { groupSize }),
    ...(blocks !== undefined && { blockShape: [...blocks.size] }),
  };
}

/** `fakeQuantize` for dtypes of floats. */
export function fakeQuantizeToFloats(where: string, x: CheckedTensor, options: Options): Tensor {
  const scaled = scaledBy(where, x, options);
  const { dtype, scale } = scaled;
  const inputs = [x.data, ...(typeof scale === "number" ? [] : [scale.data])];
  const { out } = options;
  const { result, data } = checkTensorOut(where, "options.out", out, x.shape, x.size, inputs);
  forScales(scaled, (start, count, own) => {
    for (let i = start; i < start + count; i++) {
      data[i] = decodeSmall(codeOf(valueAt(x.data, i), own, scaled), dtype) * own;
    }
  });
  return result;
}

/** `dequantize` for dtypes of floats. */
export function dequantizeFloats(
  where: string,
  { dtype: given, data: codes, shape: lengths, dims, scale, ...q }: QuantizedFields,
  rule: Rule,
  out: unknown,
): Tensor {
  const dtype = given as FloatCodesDType;
  const shape = checkOwnShape(where, "q", lengths, dims);
  const { bits } = SMALL_FLOATS[dtype];
  const data: NumberArray = checkCodes(where, "q.data", codes, bits === 3 ? "uint4" : "uint8");
  checkSize(where, "q", shape, data.length);
  const slices = checkSlices(where, "q", shape, q.axis, q.groupSize, q.blockShape);
  const scaled = { dtype, rule, slices, scale: givenScale(where, "q", scale, shape, slices, rule) };
  const size = sizeOf(shape);
  const own = checkTensorOut(where, "options.out", out, shape, size, [data]);
  const values = Float32Array.from({ length: 256 }, (_, code) => decodeSmall(code, dtype));
  forScales(scaled, (start, count, step) => {
    for (let i = start; i < start + count; i++) own.data[i] = values[data[i]] * step;
  });
  return own.result;
}
