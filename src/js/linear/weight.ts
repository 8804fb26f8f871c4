// Checks of the weights of linear layers.

import { checkDType, checkInteger } from "../base/check.js";
import { type Codes, DTYPES, type DType } from "../base/dtype.js";
import { rangeError } from "../base/errors.js";
import { type Options, ownFields } from "../base/fields.js";
import { showShape } from "../base/format-value.js";
import { arrayLength, copyOf, type NumberArray } from "../base/typed-arrays.js";
import type { CheckedMeta, CheckedQuantized } from "../quantize/check.js";
import { listed } from "../quantize/quantized-tensor.js";
import { checkTensor, looksQuantized, readQuantized } from "../tensor/check.js";
import { checkCodes } from "../tensor/codes.js";
import { checkEmpty } from "../tensor/granularity.js";
import { MAX_COUNT } from "../tensor/shape.js";
import { areOfChannels } from "../torch/scales.js";
import { checkQTensor, looksTorchQuantized } from "../torch/tensor.js";
import type { MainModule } from "../wasm/baseline.js";

/** A read-only list of numbers. */
export type NumberList = NumberArray | readonly number[];

/** A checked weight of shape [outFeatures, inFeatures] and 1 to 8 bits, without its codes. */
export interface WeightLayout {
  readonly outFeatures: number;
  readonly inFeatures: number;
  readonly dtype: DType;
  readonly granularity: Parameters<MainModule["packRows"]>[4];
  /** For "perGroup", cut to the 32 bits that the core takes; 0 otherwise. */
  readonly groupSize: number;
  readonly scales: NumberList;
  /** Zero points; offsets, if `hasOffsets`. */
  readonly zeroPoints: NumberList;
  readonly hasOffsets: boolean;
}

/** The same with its codes, one per byte. */
export interface WeightCodes extends WeightLayout {
  readonly codes: Codes;
}

/** A float weight after its checks, of shape [outFeatures, inFeatures]. */
export interface FloatWeight {
  readonly outFeatures: number;
  readonly inFeatures: number;
  readonly values: NumberArray;
}

/** Whether a weight is float32. */
export const isFloat = (weight: FloatWeight | WeightCodes): weight is FloatWeight =>
  Object.hasOwn(weight, "values");

/** Checks that a weight has two axes, and returns their lengths. */
export function checkMatrix(
  where: string,
  shape: readonly number[],
  axes = "outFeatures, inFeatures",
): [number, number] {
  const [rows, columns] = shape;
  if (shape.length !== 2) {
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      where,
      `weight must have shape [${axes}], got ${showShape(shape)}`,
    );
  }
  checkEmpty(where, shape, Math.max(rows, columns));
  return [rows, columns];
}

export function checkFloatWeight(where: string, value: unknown): FloatWeight {
  const { data, shape } = checkTensor(where, "weight", value);
  const [outFeatures, inFeatures] = checkMatrix(where, shape);
  return { outFeatures, inFeatures, values: data };
}

/**
 * Converts a weight of dtype qint8 to int8: w = (code − zeroPoint) · scale in both; and a result of torchao's functions
 * to one with `blockShape`. Returns any other value unchanged.
 */
export function fromTorch(where: string, weight: unknown): unknown {
  if (looksAffine(weight)) return fromAffine(where, weight);
  const given = readQuantized(weight);
  if (!looksTorchQuantized(given)) return given;
  const { codes, shape, dtype, qparams } = checkQTensor(where, "weight", given);
  if (dtype !== "qint8") {
    throw rangeError(
      "ZP_UNSUPPORTED_DTYPE",
      where,
      `weight.dtype must be "qint8" for the weight of a linear layer, got "${dtype}"`,
    );
  }
  if (!areOfChannels(qparams)) return { data: codes, shape, dtype: "int8", ...qparams };
  const { axis, scales, zeroPoints } = qparams;
  if (zeroPoints instanceof Float32Array) {
    throw rangeError(
      "ZP_INVALID_ZERO_POINT",
      where,
      "weight.zeroPoint must be integers, as an Int32Array, got floats: scheme " +
        `per_channel_affine_float_qparams`,
    );
  }
  return { data: codes, shape, dtype: "int8", scale: scales, zeroPoint: zeroPoints, axis };
}

/** Whether a weight is a result of `quantizeAffine` or `quantizeHqq`. */
const looksAffine = (weight: unknown): weight is object =>
  looksQuantized(weight) && Object.hasOwn(weight, "blockSize");

/** A result of torchao's functions as a quantized tensor, whose checks follow. */
function fromAffine(where: string, weight: object): object {
  const { blockSize: blockShape, zeroPointDomain: domain, ...given } = ownFields(weight);
  const { shape } = given;
  const floats = (argument: string, value: unknown) => {
    const { data, shape, size } = checkTensor(where, `weight.${argument}`, value);
    return { data: copyOf(where, data, Float32Array, size) as Float32Array, shape };
  };
  const scale = floats("scale", given.scale);
  const { dtype, data, low, high } = affineCodes(where, given);
  const own = { data, shape, dtype, blockShape, scale };
  if (domain === "none") return { ...own, zeroPoint: 0 };
  const zero = floats("zeroPoint", given.zeroPoint);
  if (domain !== "float" && zero.data.every(Number.isInteger)) {
    return { ...own, zeroPoint: { ...zero, data: Int32Array.from(zero.data) } };
  }
  // The value of code 0: scale * (0 - middle) + zeroPoint, or scale * (0 - zeroPoint).
  const middle = (high + low + 1) / 2;
  const offset = zero.data.map((each, i) => {
    const step = scale.data[scale.data.length === 1 ? 0 : i];
    return domain === "float" ? each - step * middle : -each * step;
  });
  return { ...own, offset: { ...zero, data: offset } };
}

/** Codes of torchao: int1, and small codes in int16 and int32, as those of a dtype that layers take. */
function affineCodes(where: string, given: Options) {
  const dtype =
    given.dtype === "int1" ? "int2" : checkDType(where, "weight.dtype", given.dtype, undefined);
  const { qmin, qmax, bits } = DTYPES[dtype];
  const { quantMin, quantMax, data } = given;
  const low = checkInteger(
    where,
    "weight.quantMin",
    quantMin,
    given.dtype === "int1" ? -1 : qmin,
    -(2 ** 31),
    2 ** 31 - 1,
  );
  const high = checkInteger(
    where,
    "weight.quantMax",
    quantMax,
    given.dtype === "int1" ? 0 : qmax,
    low,
    2 ** 31 - 1,
  );
  const narrow = `uint${Math.max(1, Math.ceil(Math.log2(high + 1)))}`;
  if (bits <= 8 || low !== 0 || !Object.hasOwn(DTYPES, narrow)) return { dtype, data, low, high };
  const codes = checkCodes(where, "weight.data", data, dtype);
  const wide = copyOf(where, codes, Int32Array, arrayLength(codes)) as Int32Array;
  if (!wide.every((code) => code >= 0 && code <= high)) {
    throw rangeError("ZP_INVALID_CODES", where, `weight.data must have codes from 0 to ${high}`);
  }
  return { dtype: narrow, data: Uint8Array.from(wide), low, high };
}

export function checkWeightDType(where: string, argument: string, dtype: DType): void {
  if (DTYPES[dtype].bits <= 8) return;
  throw rangeError(
    "ZP_UNSUPPORTED_DTYPE",
    where,
    `${argument} must be a dtype of 1 to 8 bits for the weight of a linear layer, got "${dtype}"`,
  );
}

export function weightCodes(where: string, checked: CheckedQuantized): WeightCodes {
  return { ...weightLayout(where, checked), codes: checked.codes };
}

export function weightLayout(where: string, checked: CheckedMeta): WeightLayout {
  const { shape, dtype, qparams } = checked;
  const { scale, zeroPoint, hasOffsets } = qparams;
  const [outFeatures, inFeatures] = checkMatrix(where, shape);
  checkWeightDType(where, "weight.dtype", dtype);
  return {
    outFeatures,
    inFeatures,
    dtype,
    ...weightGranularity(where, checked, outFeatures, inFeatures),
    scales: listed(scale),
    zeroPoints: listed<Int32Array | Float32Array>(zeroPoint),
    hasOffsets,
  };
}

function weightGranularity(
  where: string,
  { qparams: { scale }, slices }: CheckedMeta,
  outFeatures: number,
  inFeatures: number,
): Pick<WeightLayout, "granularity" | "groupSize"> {
  const groups = (size: number) =>
    ({ granularity: "perGroup", groupSize: Math.min(size, MAX_COUNT) }) as const;
  const perTensor = { granularity: "perTensor", groupSize: 0 } as const;
  const perOutput = { granularity: "perOutput", groupSize: 0 } as const;
  const perInput = { granularity: "perInput", groupSize: 0 } as const;
  const { granularity, groupSize, blocks } = slices;
  if (groupSize !== undefined) return groups(groupSize);
  if (granularity === "perChannel") return slices.axis === 0 ? perOutput : perInput;
  if (typeof scale === "number" || scale.data.length === 1) return perTensor;
  if (blocks !== undefined) {
    const { size, counts } = blocks;
    if (size[0] === 1) return counts[1] === 1 ? perOutput : groups(size[1]);
    if (counts[0] === 1 && size[1] === 1) return perInput;
    throw rangeError(
      "ZP_INVALID_GROUP_SIZE",
      where,
      "weight must have blocks that are rows, columns or groups of a row for a linear layer, got " +
        `blocks of ${showShape(size)}, which dequantize and dequantizeAffine take`,
    );
  }
  const columns = scale.shape.at(-1);
  const rows = scale.shape.at(-2) ?? 1;
  if (rows === outFeatures && columns === 1) return perOutput;
  if (rows === 1 && columns === inFeatures) return perInput;
  throw rangeError(
    "ZP_SHAPE_MISMATCH",
    where,
    "weight.scale must be one number, one per row, one per column or one per group, " +
      `got shape ${showShape(scale.shape)} for a weight of shape ` +
      showShape([outFeatures, inFeatures]),
  );
}
