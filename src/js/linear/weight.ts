// Checks of the weights of linear layers.

import { type Codes, DTYPES, type DType } from "../base/dtype.js";
import { rangeError } from "../base/errors.js";
import { showShape } from "../base/format-value.js";
import type { NumberArray } from "../base/typed-arrays.js";
import type { CheckedMeta, CheckedQuantized } from "../quantize/check.js";
import { listed } from "../quantize/quantized-tensor.js";
import { checkTensor, readQuantized } from "../tensor/check.js";
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
 * Converts a weight of dtype qint8 to int8: w = (code − zeroPoint) · scale in both.
 * Returns any other value unchanged.
 */
export function fromTorch(where: string, weight: unknown): unknown {
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
  const { shape, dtype, qparams, slices } = checked;
  const { scale, zeroPoint, hasOffsets } = qparams;
  const [outFeatures, inFeatures] = checkMatrix(where, shape);
  checkWeightDType(where, "weight.dtype", dtype);
  return {
    outFeatures,
    inFeatures,
    dtype,
    granularity: weightGranularity(where, checked, outFeatures, inFeatures),
    groupSize: Math.min(slices.groupSize ?? 0, MAX_COUNT),
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
): WeightLayout["granularity"] {
  if (slices.granularity === "perGroup") return "perGroup";
  if (slices.granularity === "perChannel") return slices.axis === 0 ? "perOutput" : "perInput";
  if (typeof scale === "number" || scale.data.length === 1) return "perTensor";
  const columns = scale.shape.at(-1);
  const rows = scale.shape.at(-2) ?? 1;
  if (rows === outFeatures && columns === 1) return "perOutput";
  if (rows === 1 && columns === inFeatures) return "perInput";
  throw rangeError(
    "ZP_SHAPE_MISMATCH",
    where,
    "weight.scale must be one number, one per row, one per column or one per group, " +
      `got shape ${showShape(scale.shape)} for a weight of shape ` +
      showShape([outFeatures, inFeatures]),
  );
}
