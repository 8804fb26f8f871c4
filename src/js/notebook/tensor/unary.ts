// Element-wise functions of one tensor.

import { roundHalfEven } from "../../base/round.js";
import { pythonError } from "../python/errors.js";
import { cast, checkedScalarStorage, type Scalar } from "./cast.js";
import { type DType, dtypes, type NumberStorage, type Storage } from "./dtype.js";
import { keptStrides, laidOut, mapNumbers, type NumberUnary } from "./layout.js";
import { resultType } from "./promotion.js";
import type { View } from "./view.js";

/** Operations on one tensor. */
export type UnaryName =
  | "abs"
  | "neg"
  | "square"
  | "sqrt"
  | "reciprocal"
  | "exp"
  | "log"
  | "sigmoid"
  | "tanh"
  | "relu"
  | "round"
  | "floor"
  | "ceil"
  | "trunc"
  | "isnan"
  | "isinf"
  | "isfinite";

const UNARY: { readonly [name in UnaryName]: NumberUnary } = {
  abs: Math.abs,
  neg: (a) => -a,
  square: (a) => a * a,
  sqrt: Math.sqrt,
  reciprocal: (a) => 1 / a,
  exp: Math.exp,
  log: Math.log,
  sigmoid: (a) => 1 / (1 + Math.exp(-a)),
  tanh: Math.tanh,
  // NaN stays NaN, and -0 stays -0.
  relu: (a) => (a < 0 ? 0 : a),
  round: roundHalfEven,
  floor: Math.floor,
  ceil: Math.ceil,
  trunc: Math.trunc,
  isnan: (a) => (Number.isNaN(a) ? 1 : 0),
  isinf: (a) => (a === Number.POSITIVE_INFINITY || a === Number.NEGATIVE_INFINITY ? 1 : 0),
  isfinite: (a) => (Number.isFinite(a) ? 1 : 0),
};

const INT64_UNARY: { readonly [name in "abs" | "neg" | "square" | "relu"]: (a: bigint) => bigint } =
  {
    abs: (a) => (a < 0n ? -a : a),
    neg: (a) => -a,
    square: (a) => a * a,
    relu: (a) => (a < 0n ? 0n : a),
  };

/** Operations that turn integers and bools into float32. */
const FLOATING: ReadonlySet<UnaryName> = new Set([
  "sqrt",
  "reciprocal",
  "exp",
  "log",
  "sigmoid",
  "tanh",
]);

/**
 * Maps every element.
 *
 * abs, neg, square and relu keep integer dtypes, and wrap: abs of int8's -128 is -128. round, floor,
 * ceil and trunc leave integers as they are. sqrt, reciprocal, exp, log, sigmoid and tanh turn
 * integers into float32. isnan, isinf and isfinite give bool. square of bool gives int64.
 *
 * exp, log, sigmoid and tanh are computed in double precision and rounded to the dtype once. PyTorch
 * computes them in float32, with errors of up to 1 ulp that depend on the machine.
 *
 * Source: `torch.abs`, neg, square, sqrt, reciprocal, round (half to even), floor, ceil, trunc, ...
 *
 * @throws {RangeError} RuntimeError for bool, where PyTorch refuses it
 */
export function unary(where: string, name: UnaryName, view: View): View {
  const isTest = name === "isnan" || name === "isinf" || name === "isfinite";
  if (view.dtype === dtypes.bool) {
    if (name === "square") return unary(where, name, convert(view, dtypes.int64));
    if (!isTest && !FLOATING.has(name)) {
      throw pythonError(
        "RuntimeError",
        `${where}: does not take a bool tensor; convert to an integer dtype with to()`,
      );
    }
  }
  const isFloat = view.dtype.category === "float";
  const type = !isFloat && FLOATING.has(name) ? dtypes.float32 : view.dtype;
  const { values, strides } = laidOut(view);
  const source = cast(values, view.dtype, type);
  const outType = isTest ? dtypes.bool : type;
  const out = outType.allocate(source.length);
  const result = { storage: out, dtype: outType, shape: view.shape, strides, offset: 0 };
  if (!isFloat && isTest) {
    if (name === "isfinite") (out as Uint8Array).fill(1);
  } else if (type.category === "integer" && ["round", "floor", "ceil", "trunc"].includes(name)) {
    (out as Float32Array).set(source as Float32Array);
  } else if (source instanceof BigInt64Array) {
    const map = INT64_UNARY[name as keyof typeof INT64_UNARY];
    for (let i = 0; i < source.length; i++) out[i] = map(source[i]);
  } else {
    const isSquare = name === "square" && type.category === "integer";
    mapNumbers(out as NumberStorage, source, isSquare ? (a) => Math.imul(a, a) : UNARY[name]);
  }
  return result;
}

/**
 * Rounds to a number of decimals, which may be negative: multiplies, rounds half to even, divides.
 *
 * Source: `torch.round` with decimals.
 *
 * @throws {RangeError} RuntimeError for integers and bools
 */
export function roundDecimals(where: string, view: View, decimals: number): View {
  const { dtype, shape } = view;
  if (dtype.category !== "float") {
    throw pythonError(
      "RuntimeError",
      `${where}: decimals takes a float tensor, got ${dtype}; convert with float() first`,
    );
  }
  const round = dtype === dtypes.float32 ? Math.fround : Number;
  const power = round(Number(`1e${Math.abs(decimals)}`));
  const { values, strides } = laidOut(view);
  const out = dtype.allocate(values.length);
  const map: NumberUnary =
    decimals < 0
      ? (a) => roundHalfEven(round(a / power)) * power
      : (a) => roundHalfEven(round(a * power)) / power;
  mapNumbers(out as NumberStorage, values as NumberStorage, map);
  return { storage: out, dtype, shape, strides, offset: 0 };
}

/** The tensor in another dtype, of the same memory layout; itself if the dtype is the same. */
export function convert(view: View, to: DType): View {
  if (view.dtype === to) return view;
  const storage = cast(laidOut(view).values, view.dtype, to);
  return { storage, dtype: to, shape: view.shape, strides: keptStrides(view), offset: 0 };
}

/** A copy of a tensor, of the same memory layout. */
export function clone(view: View): View {
  return {
    storage: laidOut(view).values.slice() as Storage,
    dtype: view.dtype,
    shape: view.shape,
    strides: keptStrides(view),
    offset: 0,
  };
}

/**
 * Limits every element to [min, max]; NaN stays NaN. If min > max, the result is max.
 *
 * Source: `torch.clamp`.
 *
 * @param min, max  numbers, at least one. A float bound turns an integer tensor into float32. If
 *   both are given, a NaN makes every element NaN; alone it changes nothing.
 * @throws {RangeError} RuntimeError if a bound does not fit in the result's dtype, and for bools
 */
export function clamp(
  where: string,
  view: View,
  min: Scalar | undefined,
  max: Scalar | undefined,
): View {
  const bounds = [min, max].filter((bound) => bound !== undefined);
  if (bounds.length === 0) {
    throw pythonError("RuntimeError", `${where}: at least one of min and max must be given`);
  }
  const type = resultType(view, ...bounds);
  if (type === dtypes.bool) {
    throw pythonError("RuntimeError", `${where}: does not take bools; convert with to()`);
  }
  const source = convert(view, type);
  const { values, strides } = laidOut(source);
  const out = type.allocate(values.length);
  const result = { storage: out, dtype: type, shape: view.shape, strides, offset: 0 };
  const low = min === undefined ? undefined : checkedScalarStorage(where, min, type)[0];
  const high = max === undefined ? undefined : checkedScalarStorage(where, max, type)[0];
  if (values instanceof BigInt64Array) {
    for (let i = 0; i < values.length; i++) {
      const raised = low !== undefined && values[i] < low ? (low as bigint) : values[i];
      out[i] = high !== undefined && raised > high ? high : raised;
    }
  } else if (bounds.length === 2 && (Number.isNaN(low) || Number.isNaN(high))) {
    (out as Float32Array).fill(Number.NaN);
  } else {
    const least = Number(low ?? Number.NEGATIVE_INFINITY);
    const most = Number(high ?? Number.POSITIVE_INFINITY);
    // Comparisons with NaN are false, so NaN is unchanged, and a NaN bound changes nothing.
    const limit = (a: number): number => {
      const raised = a < least ? least : a;
      return raised > most ? most : raised;
    };
    mapNumbers(out as NumberStorage, values, limit);
  }
  return result;
}
