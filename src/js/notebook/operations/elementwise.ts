// Element-wise functions other than arithmetic: exponentials, logarithms, signs, remainders, bits, closeness.

import { checkFlag, checkScalar } from "../python/arguments.js";
import { pythonError } from "../python/errors.js";
import { binary, type Combination, combination } from "../tensor/binary.js";
import { cast, isScalar, type Scalar } from "../tensor/cast.js";
import { type DType, dtypes, type NumberStorage } from "../tensor/dtype.js";
import { laidOut, mapNumbers, type NumberUnary, type Operand } from "../tensor/layout.js";
import { resultType } from "../tensor/promotion.js";
import { clamp, clone, convert, type UnaryName, unary } from "../tensor/unary.js";
import type { View } from "../tensor/view.js";
import { checkOperand, checkView, type Operation, operation } from "./operation.js";

/** The result of a function of each element, of the tensor's layout. */
function mapped(view: View, type: DType, outType: DType, map: NumberUnary): View {
  const { values, strides } = laidOut(view);
  const source = cast(values, view.dtype, type) as NumberStorage;
  const out = outType.allocate(source.length);
  mapNumbers(out as NumberStorage, source, map);
  return { storage: out, dtype: outType, shape: view.shape, strides, offset: 0 };
}

/** Functions that turn integers and bools into float32. */
const FLOATING = {
  log2: Math.log2,
  log10: Math.log10,
  log1p: Math.log1p,
  exp2: (a: number) => 2 ** a,
  expm1: Math.expm1,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
};

function floating(map: NumberUnary): Operation {
  return operation("", (_where, view) => {
    const type = view.dtype.category === "float" ? view.dtype : dtypes.float32;
    return mapped(view, type, type, map);
  });
}

function rsqrt(where: string, view: View): View {
  return unary(where, "reciprocal", unary(where, "sqrt", view));
}

function sign(_where: string, view: View): View {
  if (view.dtype !== dtypes.int64) return mapped(view, view.dtype, view.dtype, signOf);
  return convert(mapped(view, dtypes.float64, dtypes.float64, signOf), dtypes.int64);
}

/** NaN gives 0. */
const signOf = (a: number): number => Number(a > 0) - Number(a < 0);

function signbit(_where: string, view: View): View {
  const type = view.dtype.category === "float" ? view.dtype : dtypes.float64;
  return mapped(view, type, dtypes.bool, (a) => Number(a < 0 || Object.is(a, -0)));
}

function frac(where: string, view: View): View {
  if (view.dtype.category === "float") {
    return mapped(view, view.dtype, view.dtype, (a) => a - Math.trunc(a));
  }
  throw pythonError("NotImplementedError", `${where}: takes a float tensor, got ${view.dtype}`);
}

function bitwiseNot(where: string, view: View): View {
  if (view.dtype === dtypes.bool) return logicalNot(where, view);
  checkInteger(where, view.dtype);
  const { values, strides } = laidOut(view);
  const out = view.dtype.allocate(values.length);
  if (values instanceof BigInt64Array) for (let i = 0; i < values.length; i++) out[i] = ~values[i];
  else mapNumbers(out as NumberStorage, values, (a) => ~a);
  return { storage: out, dtype: view.dtype, shape: view.shape, strides, offset: 0 };
}

function logicalNot(_where: string, view: View): View {
  const { values, strides } = laidOut(view);
  const out = dtypes.bool.allocate(values.length);
  for (let i = 0; i < values.length; i++) out[i] = Number(Number(values[i]) === 0);
  return { storage: out, dtype: dtypes.bool, shape: view.shape, strides, offset: 0 };
}

function nanToNum(
  where: string,
  view: View,
  nan: unknown = 0,
  above?: unknown,
  below?: unknown,
): View {
  if (view.dtype.category !== "float") return clone(view);
  const limit = view.dtype === dtypes.float32 ? (2 - 2 ** -23) * 2 ** 127 : Number.MAX_VALUE;
  const [none, most, least] = [
    Number(checkScalar(where, "nan", nan)),
    Number(checkScalar(where, "posinf", above ?? limit)),
    Number(checkScalar(where, "neginf", below ?? -limit)),
  ];
  return mapped(view, view.dtype, view.dtype, (a) => {
    if (Number.isNaN(a)) return none;
    return a === Number.POSITIVE_INFINITY ? most : a === Number.NEGATIVE_INFINITY ? least : a;
  });
}

function checkInteger(where: string, type: DType): void {
  if (type.category !== "float") return;
  throw pythonError("NotImplementedError", `${where}: takes integers or bools, got ${type}`);
}

/** The remainder with the sign of the divisor, as Python's %. */
function floorRemainder(a: number, b: number): number {
  const rest = a % b;
  return rest !== 0 && b < 0 !== rest < 0 ? rest + b : rest;
}

/** The functions for numbers and for int64 of an operation on two operands. */
interface Pair extends Combination {
  /** The dtype of the result, where it is not that of the operands. */
  readonly result?: DType;
  /** Refuses dtypes. */
  readonly check?: (where: string, type: DType) => void;
}

const refuseBool =
  (what: string) =>
  (where: string, type: DType): void => {
    if (type !== dtypes.bool) return;
    throw pythonError(
      "NotImplementedError",
      `${where}: ${what} of bools is not defined; convert with to()`,
    );
  };

/** Whether a count of places is beyond the bits of a dtype: such a shift leaves no bit, or only signs. */
const isBeyond = (count: number | bigint, bits: number): boolean => count < 0 || count >= bits;

const LOGICAL = { result: dtypes.bool };

const PAIRS: { readonly [name: string]: (type: DType, where: string) => Pair } = {
  remainder: (type, where) => ({
    numbers: checkedDivisor(where, type, floorRemainder),
    int64: (a, b) => {
      checkNotZero(where, b === 0n);
      const rest = a % b;
      return rest !== 0n && b < 0n !== rest < 0n ? rest + b : rest;
    },
    check: refuseBool("a remainder"),
  }),
  fmod: (type, where) => ({
    numbers: checkedDivisor(where, type, (a, b) => a % b),
    int64: (a, b) => {
      checkNotZero(where, b === 0n);
      return a % b;
    },
    check: refuseBool("a remainder"),
  }),
  logical_and: () => ({
    ...LOGICAL,
    numbers: (a, b) => Number(a !== 0 && b !== 0),
    int64: (a, b) => (a && b ? 1n : 0n),
  }),
  logical_or: () => ({
    ...LOGICAL,
    numbers: (a, b) => Number(a !== 0 || b !== 0),
    int64: (a, b) => (a || b ? 1n : 0n),
  }),
  logical_xor: () => ({
    ...LOGICAL,
    numbers: (a, b) => Number((a !== 0) !== (b !== 0)),
    int64: (a, b) => (!a !== !b ? 1n : 0n),
  }),
  bitwise_and: () => ({ numbers: (a, b) => a & b, int64: (a, b) => a & b, check: checkInteger }),
  bitwise_or: () => ({ numbers: (a, b) => a | b, int64: (a, b) => a | b, check: checkInteger }),
  bitwise_xor: () => ({ numbers: (a, b) => a ^ b, int64: (a, b) => a ^ b, check: checkInteger }),
  bitwise_left_shift: (type) => ({
    numbers: (a, b) => (isBeyond(b, 8 * type.itemsize) ? 0 : a << b),
    int64: (a, b) => (isBeyond(b, 64) ? 0n : a << b),
    check: checkInteger,
  }),
  bitwise_right_shift: (type) => {
    const bits = 8 * type.itemsize;
    const most = type.is_signed ? bits - 1 : bits;
    return {
      // A shift by 32 places is one by 0 in JavaScript.
      numbers: (a, b) => (!isBeyond(b, most) ? a >> b : a < 0 ? -1 : 0),
      int64: (a, b) => a >> (isBeyond(b, 63) ? 63n : b),
      check: checkInteger,
    };
  },
};

function checkNotZero(where: string, isZero: boolean): void {
  if (isZero) throw pythonError("RuntimeError", `${where}: integers cannot be divided by 0`);
}

function checkedDivisor(
  where: string,
  type: DType,
  divide: (a: number, b: number) => number,
): (a: number, b: number) => number {
  if (type.category === "float") return divide;
  return (a, b) => {
    checkNotZero(where, b === 0);
    return divide(a, b);
  };
}

/** One of the operations on two operands. */
export function combined(where: string, name: string, a: Operand, b: Operand): View {
  const type = resultType(a, b);
  const { result, check, ...pair } = PAIRS[name](type, where);
  check?.(where, type);
  return combination(where, [a, b], type, pair, result);
}

const pairOperation = (name: string): Operation =>
  operation("other", (where, view, other) =>
    combined(where, name, view, checkOperand(where, "other", other)),
  );

/** Floats: the angle of a point; integers as float32. */
function atan2(where: string, view: View, given: unknown): View {
  const other = checkView(where, "other", given);
  const joint = resultType(view, other);
  const type = joint.category === "float" ? joint : dtypes.float32;
  return combination(where, [view, other], type, { numbers: Math.atan2, int64: (a) => a });
}

/** Which elements are close to those of another tensor. Source: `torch.isclose`. */
export function isclose(
  where: string,
  view: View,
  other: View,
  rtol: unknown = 1e-5,
  atol: unknown = 1e-8,
  nan?: unknown,
): View {
  if (view.dtype !== other.dtype) {
    throw pythonError(
      "RuntimeError",
      `${where}: both tensors must have the same dtype, got ${view.dtype} and ${other.dtype}`,
    );
  }
  const isBool = view.dtype === dtypes.bool;
  const [a, b] = isBool
    ? [convert(view, dtypes.float32), convert(other, dtypes.float32)]
    : [view, other];
  const [relative, absolute] = [checkScalar(where, "rtol", rtol), checkScalar(where, "atol", atol)];
  const part = unary(where, "abs", binary(where, "mul", b, relative));
  const allowed = binary(where, "add", part, absolute);
  const distance = unary(where, "abs", binary(where, "sub", a, b));
  const isNear = binary(
    where,
    "mul",
    unary(where, "isfinite", distance),
    binary(where, "le", distance, allowed),
  );
  const near = binary(where, "add", isNear, binary(where, "eq", a, b));
  if (!checkFlag(where, "equal_nan", nan)) return near;
  const bothNaN = binary(where, "mul", unary(where, "isnan", a), unary(where, "isnan", b));
  return binary(where, "add", near, bothNaN);
}

function bounded(where: string, view: View, name: "min" | "max", given: unknown): View {
  const bound = checkOperand(where, name, given);
  if (!isScalar(bound)) return binary(where, name === "min" ? "maximum" : "minimum", view, bound);
  return clamp(
    where,
    view,
    ...((name === "min" ? [bound, undefined] : [undefined, bound]) as [Scalar, undefined]),
  );
}

/** A function of each element that the operators' file has. */
const plain = (name: UnaryName): Operation =>
  operation("", (where, view) => unary(where, name, view));

/** Element-wise operations. */
export const elementwise = {
  abs: plain("abs"),
  neg: plain("neg"),
  square: plain("square"),
  sqrt: plain("sqrt"),
  reciprocal: plain("reciprocal"),
  exp: plain("exp"),
  log: plain("log"),
  sigmoid: plain("sigmoid"),
  tanh: plain("tanh"),
  relu: plain("relu"),
  floor: plain("floor"),
  ceil: plain("ceil"),
  trunc: plain("trunc"),
  isnan: plain("isnan"),
  isinf: plain("isinf"),
  isfinite: plain("isfinite"),
  ...(Object.fromEntries(Object.entries(FLOATING).map(([name, map]) => [name, floating(map)])) as {
    [name in keyof typeof FLOATING]: Operation;
  }),
  rsqrt: operation("", rsqrt),
  sign: operation("", sign),
  signbit: operation("", signbit),
  frac: operation("", frac),
  logical_not: operation("", logicalNot),
  bitwise_not: operation("", bitwiseNot),
  nan_to_num: operation("nan? posinf? neginf?", nanToNum),
  clamp_min: operation("min", (where, view, min) => bounded(where, view, "min", min)),
  clamp_max: operation("max", (where, view, max) => bounded(where, view, "max", max)),
  remainder: pairOperation("remainder"),
  fmod: pairOperation("fmod"),
  logical_and: pairOperation("logical_and"),
  logical_or: pairOperation("logical_or"),
  logical_xor: pairOperation("logical_xor"),
  bitwise_and: pairOperation("bitwise_and"),
  bitwise_or: pairOperation("bitwise_or"),
  bitwise_xor: pairOperation("bitwise_xor"),
  bitwise_left_shift: pairOperation("bitwise_left_shift"),
  bitwise_right_shift: pairOperation("bitwise_right_shift"),
  atan2: operation("other", atan2),
  isclose: operation("other rtol? atol? equal_nan?", (where, view, other, ...rest: unknown[]) =>
    isclose(where, view, checkView(where, "other", other), ...rest),
  ),
};
