// range -> scale and zero point, as in PyTorch: for dynamic activations and in observers.

import { DTYPES, type QDType } from "../base/dtype.js";
import { checkStatus, rangeError, type ZeropointError } from "../base/errors.js";
import { newArray } from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import type { TensorQParams } from "./scales.js";

/** Heap bytes that choosing needs. */
export const CHOSEN_BYTES = 16;

/**
 * Chooses scale and zero point as PyTorch's quant_utils::ChooseQuantizationParams does.
 * @param min, max     float32
 * @param reduceRange  whether to use half the codes
 * @param at           heap offset of CHOSEN_BYTES bytes, scratch
 * @returns undefined unless both are finite
 */
export function chooseActivationAt(
  { memory, module }: Core,
  where: string,
  min: number,
  max: number,
  dtype: QDType,
  reduceRange: boolean,
  at: number,
): TensorQParams | undefined {
  const { qmin, qmax } = DTYPES[dtype];
  const status = module.chooseQuantizationParams(min, max, qmin, qmax, reduceRange, at, at + 8);
  if (status === "kNonFinite") return undefined;
  checkStatus(where, status);
  const scale = memory.readOne("Float64Array", at);
  return { scale, zeroPoint: memory.readOne("Int32Array", at + 8) };
}

/** `chooseActivationAt` in a heap block that it reserves. */
export function chooseActivation(
  core: Core,
  where: string,
  min: number,
  max: number,
  dtype: QDType,
  reduceRange: boolean,
): TensorQParams | undefined {
  const { memory } = core;
  const [chosenAt] = memory.layOut(where, CHOSEN_BYTES);
  try {
    return chooseActivationAt(core, where, min, max, dtype, reduceRange, chosenAt);
  } finally {
    memory.end();
  }
}

/** Settings of the computation of qparams from observed ranges. */
interface Calculation {
  readonly scheme: "symmetric" | "affine" | "affineFloat";
  readonly quantMin: number;
  readonly quantMax: number;
  /** The smallest scale. */
  readonly eps: number;
  /** The zero point of a symmetric scheme. */
  readonly zeroPoint: number;
}

/**
 * Computes scales and zero points of ranges, as observers' `calculate_qparams` does. The core's status
 * is kNonFinite if a range has NaN or an infinity.
 */
export function calculateQParams(
  { memory, module }: Core,
  where: string,
  ranges: Float32Array,
  { scheme, quantMin, quantMax, eps, zeroPoint }: Calculation,
): { status: string; scales: Float32Array; zeroPoints: Float32Array | Int32Array } {
  const count = ranges.length / 2;
  const isFloat = scheme === "affineFloat";
  const scales = newArray(where, Float32Array, count);
  const zeroType: typeof Float32Array | typeof Int32Array = isFloat ? Float32Array : Int32Array;
  const zeroPoints = newArray<Float32Array | Int32Array>(where, zeroType, count);
  const [at, scaleAt, zeroAt] = memory.layOut(where, 8 * count, 4 * count, 4 * count);
  try {
    memory.write("Float32Array", at, ranges);
    const status = isFloat
      ? module.calculateFloatQParams(at, count, quantMin, quantMax, eps, scaleAt, zeroAt)
      : module.calculateQParams(
          at,
          count,
          scheme,
          quantMin,
          quantMax,
          eps,
          zeroPoint,
          scaleAt,
          zeroAt,
        );
    memory.read(scaleAt, scales);
    memory.read(zeroAt, zeroPoints);
    return { status, scales, zeroPoints };
  } finally {
    memory.end();
  }
}

/** The error for values that no scale can be chosen for, from their range. */
export function nonFiniteValues(
  where: string,
  argument: string,
  [min, max]: ArrayLike<number> & Iterable<number>,
): ZeropointError {
  return rangeError(
    "ZP_NON_FINITE",
    where,
    `${argument} must be finite to choose a scale, got values from ${min} to ${max}`,
  );
}
