// The arguments with which torchao's own configurations call its primitives, for weights of two axes.

import { checkInteger } from "../../base/check.js";
import { MAX_COUNT } from "../../tensor/shape.js";
import type { ChooseAffineOptions } from "./choose.js";
import type { ChooseFloat8Options } from "./float8.js";

/** A block for each row. */
const ROWS: readonly number[] = /* @__PURE__ */ Object.freeze([1, -1]);

/** Int8 weights, one scale for each row: Int8WeightOnlyConfig. */
export const int8Weight: Readonly<ChooseAffineOptions> = /* @__PURE__ */ Object.freeze({
  mapping: "symmetric",
  blockSize: ROWS,
  dtype: "int8",
  eps: 2 ** -23,
  scaleDtype: "float32",
  zeroPointDtype: "int8",
  keepdim: true,
});

/** Int8 activations, one scale for each row, chosen as they come: Int8DynamicActivationInt8WeightConfig. */
export const int8DynamicActivation: Readonly<ChooseAffineOptions> = int8Weight;

const checkGroupSize = (where: string, groupSize: unknown): number =>
  checkInteger(where, "groupSize", groupSize ?? null, 1, 1, MAX_COUNT);

/**
 * Weights of 1 to 8 bits in groups of a row: IntxWeightOnlyConfig.
 * @throws {TypeError | RangeError} `ZP_INVALID_OPTION`
 */
export function intx(bits: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8, groupSize: number): ChooseAffineOptions {
  const own = checkInteger("intx", "bits", bits ?? null, 1, 1, 8) as typeof bits;
  return {
    mapping: "symmetric",
    blockSize: [1, checkGroupSize("intx", groupSize)],
    dtype: `int${own}`,
    zeroPointDtype: "int8",
    keepdim: true,
  };
}

/**
 * Weights of 4 bits in groups of a row with real zero points, for tinygemm: Int4WeightOnlyConfig.
 * @throws {TypeError | RangeError} `ZP_INVALID_OPTION`
 */
export const int4Tinygemm = (groupSize: number): ChooseAffineOptions => ({
  mapping: "asymmetric",
  blockSize: [1, checkGroupSize("int4Tinygemm", groupSize)],
  dtype: "int32",
  quantMin: 0,
  quantMax: 15,
  eps: 1e-6,
  scaleDtype: "bfloat16",
  zeroPointDtype: "bfloat16",
  zeroPointDomain: "float",
  preserveZero: false,
});

/** Float8 with one scale for each row: Float8DynamicActivationFloat8WeightConfig by rows. */
export const float8Row: Readonly<ChooseFloat8Options> = /* @__PURE__ */ Object.freeze({
  dtype: "float8_e4m3fn",
  blockSize: ROWS,
});
