// Methods that work element by element: arithmetic, comparisons, functions.

import type { Scalar } from "../../tensor/cast.js";
import type {
  AddKeywords,
  ClampKeywords,
  DivideKeywords,
  RoundKeywords,
} from "../../tensor/keywords.js";
import type { Keywords, OtherKeyword } from "./calls.js";

/** Operators, rounding and limits. */
export interface ArithmeticMethods<T> {
  /**
   * Python's t + other; with `alpha`, t + alpha * other.
   * @throws {RangeError} RuntimeError for a float `alpha` with integers
   */
  add(other: T | Scalar, keywords?: AddKeywords): T;
  add(keywords: OtherKeyword<T> & AddKeywords): T;
  /**
   * Python's t - other; with `alpha`, t - alpha * other. An integer tensor minus a Python int stays
   * in its dtype and wraps.
   */
  sub(other: T | Scalar, keywords?: AddKeywords): T;
  sub(keywords: OtherKeyword<T> & AddKeywords): T;
  /** Python's other - t; with `alpha`, other - alpha * t. */
  rsub(other: T | Scalar, keywords?: AddKeywords): T;
  rsub(keywords: OtherKeyword<T> & AddKeywords): T;
  /** Python's t * other. */
  mul(other: T | Scalar | OtherKeyword<T>): T;
  /**
   * Python's t / other: true division; integers are divided in float32. With `rounding_mode`, the
   * quotients are cut off: "trunc" towards zero, "floor" downwards, as Python's t // other.
   * @throws {RangeError} RuntimeError with `rounding_mode` for integers divided by 0
   */
  div(other: T | Scalar, keywords?: DivideKeywords): T;
  div(keywords: OtherKeyword<T> & DivideKeywords): T;
  /**
   * Python's number / t, which PyTorch computes as t.reciprocal() * number, rounding twice.
   * `torch.div(number, t)` rounds once.
   */
  rdiv(other: T | Scalar | OtherKeyword<T>): T;
  /** Python's t ** exponent. */
  pow(exponent: T | Scalar | { exponent: T | Scalar }): T;
  /** The larger of both, element by element. */
  maximum(other: T | OtherKeyword<T>): T;
  /** The smaller of both, element by element. */
  minimum(other: T | OtherKeyword<T>): T;
  /** Python's t == other. */
  eq(other: T | Scalar | OtherKeyword<T>): T;
  /** Python's t != other. */
  ne(other: T | Scalar | OtherKeyword<T>): T;
  /** Python's t < other. */
  lt(other: T | Scalar | OtherKeyword<T>): T;
  /** Python's t <= other. */
  le(other: T | Scalar | OtherKeyword<T>): T;
  /** Python's t > other. */
  gt(other: T | Scalar | OtherKeyword<T>): T;
  /** Python's t >= other. */
  ge(other: T | Scalar | OtherKeyword<T>): T;
  /**
   * The nearest whole numbers, ties to the even ones. Integers stay.
   * @throws {RangeError} RuntimeError for `decimals` of integers
   */
  round(keywords?: RoundKeywords): T;
  /**
   * Limits every element to [min, max]; NaN stays NaN. Either bound may be left out.
   * @throws {RangeError} RuntimeError without bounds, or if one does not fit in the dtype
   */
  clamp(min?: Scalar | null, max?: Scalar | null): T;
  clamp(keywords: ClampKeywords): T;
  /** The same as `clamp`. */
  clip(min?: Scalar | null, max?: Scalar | null): T;
  clip(keywords: ClampKeywords): T;
}

/**
 * Element-wise functions. Those that are not exact are computed in double precision and rounded once; PyTorch's differ by
 * up to 1 ulp, which depends on the machine.
 */
export interface ElementwiseMethods<T> {
  /** Magnitudes. Integers wrap: int8's -128 stays -128. */
  abs(): T;
  /** Python's -t. */
  neg(): T;
  /** Products with themselves. */
  square(): T;
  /** Square roots, correctly rounded. */
  sqrt(): T;
  /** 1 / t. */
  reciprocal(): T;
  /** e to the power of each element, within 1 ulp of PyTorch's. */
  exp(): T;
  /** Natural logarithms, within 1 ulp of PyTorch's. */
  log(): T;
  /** 1 / (1 + exp(-t)), within 2 ulps of PyTorch's. */
  sigmoid(): T;
  /** Hyperbolic tangents, within 2 ulps of PyTorch's. */
  tanh(): T;
  /** 0 for negative elements, the others as they are. */
  relu(): T;
  /** The next whole numbers below. */
  floor(): T;
  /** The next whole numbers above. */
  ceil(): T;
  /** Without decimals. */
  trunc(): T;
  /** Which elements are NaN. */
  isnan(): T;
  /** Which elements are infinite. */
  isinf(): T;
  /** Which elements are neither NaN nor infinite. */
  isfinite(): T;
  /** Logarithms to the base 2. */
  log2(): T;
  /** Logarithms to the base 10. */
  log10(): T;
  /** Logarithms of 1 + t. */
  log1p(): T;
  /** 2 to the power of each element. */
  exp2(): T;
  /** e to the power of each element, minus 1. */
  expm1(): T;
  /** Sines. */
  sin(): T;
  /** Cosines. */
  cos(): T;
  /** Tangents. */
  tan(): T;
  /** Angles of sines. */
  asin(): T;
  /** Angles of cosines. */
  acos(): T;
  /** Angles of tangents. */
  atan(): T;
  /** Hyperbolic sines. */
  sinh(): T;
  /** Hyperbolic cosines. */
  cosh(): T;
  /** The angles of points whose y is this tensor's, and x the other's. */
  atan2(other: T | Keywords): T;
  /** 1 / sqrt(t), rounded twice. */
  rsqrt(): T;
  /** -1, 0 or 1; 0 for NaN. */
  sign(): T;
  /** Which elements have a minus sign, -0 included. */
  signbit(): T;
  /** The decimals: t - trunc(t). @throws {RangeError} RuntimeError for integers */
  frac(): T;
  /** Which elements are 0. */
  logical_not(): T;
  /** All bits the other way; of bools, which are false. @throws {RangeError} RuntimeError for floats */
  bitwise_not(): T;
  /** Numbers in place of NaN (default: 0) and infinities (default: the dtype's limits). */
  nan_to_num(nan?: number | Keywords, posinf?: number | Keywords, neginf?: number | Keywords): T;
  /** As `clamp` with `min` alone; also a tensor of bounds. */
  clamp_min(min: Scalar | T | Keywords): T;
  /** As `clamp` with `max` alone; also a tensor of bounds. */
  clamp_max(max: Scalar | T | Keywords): T;
  /** Python's t % other, with the sign of the divisor. @throws {RangeError} RuntimeError for integers by 0 */
  remainder(other: T | Scalar | Keywords): T;
  /** C's remainder, with the sign of t. @throws {RangeError} RuntimeError for integers by 0 */
  fmod(other: T | Scalar | Keywords): T;
  /** Where both are not 0. */
  logical_and(other: T | Keywords): T;
  /** Where either is not 0. */
  logical_or(other: T | Keywords): T;
  /** Where exactly one is not 0. */
  logical_xor(other: T | Keywords): T;
  /** Python's t & other. @throws {RangeError} RuntimeError for floats */
  bitwise_and(other: T | Scalar | Keywords): T;
  /** Python's t | other. @throws {RangeError} RuntimeError for floats */
  bitwise_or(other: T | Scalar | Keywords): T;
  /** Python's t ^ other. @throws {RangeError} RuntimeError for floats */
  bitwise_xor(other: T | Scalar | Keywords): T;
  /** Python's t << other: 0 for counts below 0 or of all bits. @throws {RangeError} RuntimeError for floats */
  bitwise_left_shift(other: T | Scalar | Keywords): T;
  /** Python's t >> other, which keeps the sign. @throws {RangeError} RuntimeError for floats */
  bitwise_right_shift(other: T | Scalar | Keywords): T;
  /** Which elements are within atol + rtol * |other| of another tensor's. */
  isclose(
    other: T | Keywords,
    rtol?: number | Keywords,
    atol?: number | Keywords,
    equal_nan?: boolean,
  ): T;
}
