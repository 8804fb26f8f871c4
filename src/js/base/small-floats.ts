// Floats of 8 and 4 bits: values to bit patterns and back.

import { roundHalfEven } from "./round.js";

interface SmallFloat {
  /** Bits of a pattern below the sign. */
  readonly bits: number;
  readonly mantissa: number;
  readonly bias: number;
  /** The largest value. */
  readonly most: number;
  /** The pattern of NaN; +6, the largest value, for a type without NaN, as ONNX has it. */
  readonly nan: number;
}

const small = (
  bits: number,
  mantissa: number,
  bias: number,
  most: number,
  nan: number,
): SmallFloat => ({ bits, mantissa, bias, most, nan });

/** The types of floats of 8 and 4 bits. Those with the NaN 0x80 have no -0. */
export const SMALL_FLOATS = {
  float8_e4m3fn: /* @__PURE__ */ small(7, 3, 7, 448, 0x7f),
  float8_e5m2: /* @__PURE__ */ small(7, 2, 15, 57344, 0x7f),
  float8_e4m3fnuz: /* @__PURE__ */ small(7, 3, 8, 240, 0x80),
  float8_e5m2fnuz: /* @__PURE__ */ small(7, 2, 16, 57344, 0x80),
  float4_e2m1: /* @__PURE__ */ small(3, 1, 1, 6, 7),
} as const;

export type SmallFloatDType = keyof typeof SMALL_FLOATS;

const word = /* @__PURE__ */ new Uint32Array(1);
const float = /* @__PURE__ */ new Float32Array(word.buffer);

/** The pattern of the nearest value, ties to even. Values beyond the largest saturate; NaN is kept where there is one. */
export function encodeSmall(value: number, dtype: SmallFloatDType): number {
  const { bits, mantissa, bias, most, nan } = SMALL_FLOATS[dtype];
  if (Number.isNaN(value)) return nan;
  const magnitude = Math.min(Math.abs(value), most);
  float[0] = magnitude;
  // The exponent of the value, or that of subnormal ones.
  const exponent = Math.max((word[0] >>> 23) - 127, 1 - bias);
  const steps = roundHalfEven(magnitude * 2 ** (mantissa - exponent));
  // A carry to 2^(mantissa + 1) steps runs over into the exponent, as it should.
  const code = (exponent + bias - 1) * 2 ** mantissa + steps;
  const isNegative = value < 0 || Object.is(value, -0);
  return isNegative && !(nan === 0x80 && code === 0) ? code | (1 << bits) : code;
}

/** The value of a pattern, exact. */
export function decodeSmall(code: number, dtype: SmallFloatDType): number {
  const { bits, mantissa, bias, nan } = SMALL_FLOATS[dtype];
  const magnitude = code & ((1 << bits) - 1);
  const sign = code < 1 << bits ? 1 : -1;
  if (nan === 0x80 && code === 0x80) return Number.NaN;
  if (dtype === "float8_e4m3fn" && magnitude === 0x7f) return Number.NaN;
  if (dtype === "float8_e5m2" && magnitude >= 0x7c) {
    return magnitude === 0x7c ? sign * Infinity : Number.NaN;
  }
  const exponent = magnitude >> mantissa;
  const fraction = magnitude & (2 ** mantissa - 1);
  return exponent === 0
    ? sign * fraction * 2 ** (1 - bias - mantissa)
    : sign * (fraction + 2 ** mantissa) * 2 ** (exponent - bias - mantissa);
}
