// Powers.

import { pythonError } from "../python/errors.js";
import { binary } from "./binary.js";
import { checkedScalarStorage, type Scalar } from "./cast.js";
import { dtypes } from "./dtype.js";
import { laidOut } from "./layout.js";
import { resultType } from "./promotion.js";
import { convert, unary } from "./unary.js";
import type { View } from "./view.js";

/**
 * Raises to a power that is a number: 2, 3 and -2 by multiplying, 0.5 and -0.5 by a square root, as
 * PyTorch does. Other powers of floats use the engine's Math.pow, whose last bit is not defined.
 *
 * Source: `torch.pow` with a number as exponent.
 *
 * @throws {RangeError} RuntimeError for a negative power of integers, and for one that does not fit
 *   in their dtype
 */
export function power(where: string, view: View, exponent: Scalar): View {
  const type = resultType(view, exponent);
  const base = convert(view, type);
  if (type.category === "float") {
    const by = Number(exponent);
    if (by === 2) return unary(where, "square", base);
    if (by === 0.5) return unary(where, "sqrt", base);
    if (by === -0.5) return unary(where, "reciprocal", unary(where, "sqrt", base));
    if (by === -1) return unary(where, "reciprocal", base);
    if (by === -2) return unary(where, "reciprocal", unary(where, "square", base));
    if (by === 3) return binary(where, "mul", unary(where, "square", base), base);
    const { values, strides } = laidOut(base);
    const out = type.allocate(values.length);
    // PyTorch takes two vectors of 8 values at a time, with the exponent as float32, and the remaining values
    // one by one, with the exponent as float64.
    const inVectors = type === dtypes.float32 ? values.length - (values.length % 16) : 0;
    for (let i = 0; i < values.length; i++) {
      out[i] = floatPower(Number(values[i]), i < inVectors ? Math.fround(by) : by);
    }
    return { storage: out, dtype: type, shape: view.shape, strides, offset: 0 };
  }
  if (Number(exponent) < 0) {
    throw pythonError(
      "RuntimeError",
      `${where}: integers cannot be raised to the negative power ${exponent}; convert with float()`,
    );
  }
  if (type !== dtypes.bool) checkedScalarStorage(where, exponent, type);
  const { values, strides } = laidOut(base);
  const out = type.allocate(values.length);
  const bits = type === dtypes.int64 ? 64 : 32;
  for (let i = 0; i < values.length; i++) {
    const value = integerPower(BigInt(values[i]), BigInt(exponent), bits);
    out[i] = out instanceof BigInt64Array ? value : Number(value);
  }
  return { storage: out, dtype: type, shape: view.shape, strides, offset: 0 };
}

/** C's pow: 1 to every power is 1, and so is -1 to an infinite one. JavaScript has NaN there. */
export function floatPower(base: number, exponent: number): number {
  const isOne = base === 1 || (base === -1 && Math.abs(exponent) === Number.POSITIVE_INFINITY);
  return isOne ? 1 : base ** exponent;
}

/** base^exponent, the low bits of it. */
function integerPower(base: bigint, exponent: bigint, bits: number): bigint {
  let result = 1n;
  let square = base;
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = BigInt.asIntN(bits, result * square);
    square = BigInt.asIntN(bits, square * square);
  }
  return result;
}
