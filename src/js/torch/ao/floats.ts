// The float types that torchao computes in: rounding, conversion to integers.

import { float16Bits, type HalfType } from "../../base/halves.js";
import { roundHalfEven } from "../../base/round.js";
import { arrayLength, type NumberArray, newArray, valueAt } from "../../base/typed-arrays.js";

/** A dtype of arithmetic. */
export type FloatDType = "float32" | HalfType;
export const FLOAT_DTYPES = ["float32", "float16", "bfloat16"] as const;

/** Smallest normal number, the default of `eps`. */
export const SMALLEST_NORMAL: Readonly<Record<FloatDType, number>> = {
  float32: 2 ** -126,
  bfloat16: 2 ** -126,
  float16: 2 ** -14,
};

/** Rounds a number to the nearest one of a type, ties to even. */
export type Round = (value: number) => number;

const word = /* @__PURE__ */ new Uint32Array(1);
const float = /* @__PURE__ */ new Float32Array(word.buffer);

// A float32 whose last `bits` bits of the pattern are rounded away, half to even.
function roundBits(value: number, bits: number): number {
  float[0] = value;
  if (Number.isNaN(float[0])) return Number.NaN;
  const half = 2 ** (bits - 1) - 1;
  word[0] = ((word[0] + half + ((word[0] >>> bits) & 1)) & -(2 ** bits)) >>> 0;
  return float[0];
}

const ROUND: Readonly<Record<FloatDType, Round>> = {
  float32: Math.fround,
  bfloat16: (value) => roundBits(value, 16),
  float16: (value) => {
    const single = Math.fround(value);
    // Subnormal: multiples of 2^-24.
    if (Math.abs(single) < 2 ** -14) return roundHalfEven(single * 2 ** 24) * 2 ** -24;
    const rounded = roundBits(single, 13);
    return Math.abs(rounded) > 65504 ? rounded * Infinity : rounded;
  },
};

/** The rounding of a dtype: to float32 first, then to the type, as PyTorch's operations on half floats. */
export const roundingOf = (dtype: FloatDType): Round => ROUND[dtype];

/** The dtype of an operation on two: float32 for different floats; a float's own beside integers. */
export function promoted(a: FloatDType, b: string): FloatDType {
  const isFloat = (FLOAT_DTYPES as readonly string[]).includes(b);
  return a === b || !isFloat ? a : "float32";
}

/** The values of an array as float32, exact for half floats. */
export function floatsOf(where: string, data: NumberArray): Float32Array {
  const values = newArray(where, Float32Array, arrayLength(data));
  for (let i = 0; i < values.length; i++) values[i] = valueAt(data, i);
  return values;
}

/** Values of a dtype in the array that stores them: `Float32Array`, or bit patterns. */
export function storedAs(
  where: string,
  values: Float32Array,
  dtype: FloatDType,
): Float32Array | Uint16Array {
  if (dtype === "float32") return values;
  const patterns = newArray(where, Uint16Array, values.length);
  for (let i = 0; i < values.length; i++) patterns[i] = patternOf(values[i], dtype);
  return patterns;
}

/** The bit pattern of a value that the type holds. */
function patternOf(value: number, dtype: HalfType): number {
  if (Number.isNaN(value)) return dtype === "float16" ? 0x7e00 : 0x7fc0;
  if (dtype === "float16") return float16Bits(value);
  float[0] = value;
  return word[0] >>> 16;
}

/** C's conversion to int32 as x86 does it: toward zero; the smallest int32 for NaN and what does not fit. */
export const toInt32 = (value: number): number =>
  value >= -(2 ** 31) && value < 2 ** 31 ? Math.trunc(value) : -(2 ** 31);

// ---- float8

/** The types of 8-bit floats. */
export type Float8DType = "float8_e4m3fn" | "float8_e5m2" | "float8_e4m3fnuz" | "float8_e5m2fnuz";

/** The dtypes of 8-bit floats. */
export const FLOAT8_DTYPES = [
  "float8_e4m3fn",
  "float8_e5m2",
  "float8_e4m3fnuz",
  "float8_e5m2fnuz",
] as const satisfies readonly Float8DType[];
