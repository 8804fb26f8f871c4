// Operations on one element of each operand at a time, with PyTorch's dtypes, broadcasting and
// memory layout. float32 is computed in double precision and rounded on storing, which for one +,
// -, *, / or square root equals computing in float32.

import { cast, checkedScalarStorage, isInt, isScalar, type Scalar, scalarStorage } from "./cast.js";
import { type DType, dtypes, type NumberStorage, type Storage } from "./dtype.js";
import { pythonError } from "./errors.js";
import { resultType } from "./promotion.js";
import {
  broadcast,
  countOf,
  elements,
  isContiguous,
  isDense,
  loopOrder,
  type Placement,
  permute,
  rowMajorStrides,
  rowMajorView,
  stretch,
  type View,
} from "./view.js";

/** What an operation takes beside a tensor: another one, or a Python number. */
export type Operand = View | Scalar;

/** Operations on two operands. */
export type BinaryName =
  | "add"
  | "sub"
  | "mul"
  | "div"
  | "maximum"
  | "minimum"
  | "eq"
  | "ne"
  | "lt"
  | "le"
  | "gt"
  | "ge";

/** Operations on one tensor. */
export type UnaryName =
  | "abs"
  | "neg"
  | "square"
  | "sqrt"
  | "reciprocal"
  | "round"
  | "floor"
  | "ceil"
  | "trunc"
  | "isnan"
  | "isinf"
  | "isfinite";

type NumberBinary = (a: number, b: number) => number;
type BigIntBinary = (a: bigint, b: bigint) => bigint;
type NumberUnary = (a: number) => number;

/** The larger of two numbers; NaN if either is. */
function maximum(a: number, b: number): number {
  return a >= b || Number.isNaN(a) ? a : b;
}

/** The smaller of two numbers; NaN if either is. */
function minimum(a: number, b: number): number {
  return a <= b || Number.isNaN(a) ? a : b;
}

const FLOAT_BINARY: { readonly [name in BinaryName]: NumberBinary } = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  maximum,
  minimum,
  eq: (a, b) => (a === b ? 1 : 0),
  ne: (a, b) => (a !== b ? 1 : 0),
  lt: (a, b) => (a < b ? 1 : 0),
  le: (a, b) => (a <= b ? 1 : 0),
  gt: (a, b) => (a > b ? 1 : 0),
  ge: (a, b) => (a >= b ? 1 : 0),
};

// Storing keeps the low bits of sums and differences; a product of two int32s is not exact in
// double precision, so its low bits are taken here.
const INTEGER_BINARY: { readonly [name in BinaryName]: NumberBinary } = {
  ...FLOAT_BINARY,
  mul: Math.imul,
};

const BOOL_BINARY: { readonly [name in BinaryName]: NumberBinary } = {
  ...FLOAT_BINARY,
  add: (a, b) => a | b,
  mul: (a, b) => a & b,
};

const INT64_BINARY: { readonly [name in Exclude<BinaryName, "div">]: BigIntBinary } = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  maximum: (a, b) => (a >= b ? a : b),
  minimum: (a, b) => (a <= b ? a : b),
  eq: (a, b) => (a === b ? 1n : 0n),
  ne: (a, b) => (a !== b ? 1n : 0n),
  lt: (a, b) => (a < b ? 1n : 0n),
  le: (a, b) => (a <= b ? 1n : 0n),
  gt: (a, b) => (a > b ? 1n : 0n),
  ge: (a, b) => (a >= b ? 1n : 0n),
};

const COMPARISONS: ReadonlySet<BinaryName> = new Set(["eq", "ne", "lt", "le", "gt", "ge"]);

/**
 * Combines two operands element by element.
 *
 * The dtype is `resultType`'s, but float32 for a division of integers, and bool for comparisons.
 * Integers wrap around. Python numbers are converted to the common dtype first. For bool, add is
 * "or" and mul is "and".
 *
 * Source: torch.add, sub, mul, div, maximum, minimum, eq, ne, lt, le, gt, ge.
 *
 * @returns a tensor of the broadcast shape, of the operands' memory layout
 * @throws {RangeError} RuntimeError for shapes that do not fit, and for sub of bools
 */
export function binary(where: string, name: BinaryName, a: Operand, b: Operand): View {
  let type = resultType(a, b);
  if (name === "div" && type.category !== "float") type = dtypes.float32;
  if (name === "sub" && [a, b].some(isBool)) {
    throw pythonError(
      "RuntimeError",
      `${where}: bools cannot be subtracted; convert to an integer dtype with to()`,
    );
  }
  const table =
    type.category === "float" ? FLOAT_BINARY : type === dtypes.bool ? BOOL_BINARY : INTEGER_BINARY;
  const int64 = INT64_BINARY[name as Exclude<BinaryName, "div">];
  const outType = COMPARISONS.has(name) ? dtypes.bool : type;
  return combine(where, [a, b], type, table[name], int64, outType);
}

/** Combines two operands in a dtype, by one function for numbers and one for int64. */
function combine(
  where: string,
  [a, b]: readonly [Operand, Operand],
  type: DType,
  numbers: NumberBinary,
  int64: BigIntBinary,
  outType: DType = type,
): View {
  // Operands of other dtypes are converted first.
  const converted = ([a, b] as const).map((operand) =>
    isScalar(operand) || operand.dtype === type
      ? operand
      : { shape: operand.shape, strides: keptStrides(operand) },
  );
  const layout = commonLayout(where, converted);
  const { count, shape, strides } = layout;
  const out = outType.allocate(count);
  const left = operandElements(a, type, layout);
  const right = operandElements(b, type, layout);
  if (left instanceof BigInt64Array) {
    combineInt64(out, left, right as BigInt64Array, count, int64);
  } else {
    combineNumbers(out as NumberStorage, left, right as NumberStorage, count, numbers);
  }
  return { storage: out, dtype: outType, shape, strides, offset: 0 };
}

/**
 * a + alpha * b or a - alpha * b, in the operands' common dtype: rounded once in float32, as
 * PyTorch's vector loop does, and twice in float64, where PyTorch rounds once.
 *
 * Source: torch.add, torch.sub with alpha.
 *
 * @throws {RangeError} RuntimeError as `binary` does; for a float `alpha` with integers, a bool one
 *   with anything but bools, and one that does not fit in the dtype
 */
export function addScaled(
  where: string,
  name: "add" | "sub",
  a: Operand,
  b: Operand,
  alpha: Scalar,
): View {
  // Refuses bools too.
  if (alpha === 1 || (name === "sub" && [a, b].some(isBool))) return binary(where, name, a, b);
  const type = resultType(a, b);
  const isWhole = typeof alpha === "boolean" || isInt(alpha);
  if (typeof alpha === "boolean" ? type !== dtypes.bool : !isWhole && type.category !== "float") {
    throw pythonError(
      "RuntimeError",
      `${where}: alpha must be ${isWhole ? "a number" : "an int"} for a result of ${type}, ` +
        `got ${alpha}`,
    );
  }
  // PyTorch adds -alpha times b, and that is what has to fit.
  const isNegated = name === "sub" && isInt(alpha);
  const given = checkedScalarStorage(where, isNegated ? -BigInt(alpha) : alpha, type)[0];
  const factor = name === "sub" && !isNegated ? -given : given;
  const by = Number(factor);
  let add: NumberBinary = (x, y) => x + Math.imul(by, y);
  if (type === dtypes.bool) add = (x, y) => x | (y & by);
  else if (type === dtypes.float32) add = (x, y) => fusedMultiplyAdd(by, y, x);
  else if (type === dtypes.float64) add = (x, y) => x + by * y;
  return combine(where, [a, b], type, add, (x, y) => x + (factor as bigint) * y);
}

/** a * b + c of float32 numbers, rounded to float32 once. */
function fusedMultiplyAdd(a: number, b: number, c: number): number {
  const product = a * b; // exact
  const sum = product + c;
  const nearest = Math.fround(sum);
  // Rounding twice errs where the first rounding hits the middle between two float32 numbers.
  const other = 2 * sum - nearest;
  if (other === nearest || Math.fround(other) !== other || !Number.isFinite(other)) return nearest;
  const rest = sum - product;
  const lost = product - (sum - rest) + (c - rest);
  return lost !== 0 && lost > 0 === other > nearest ? other : nearest;
}

/** Ways to make quotients whole. */
export type RoundingMode = "trunc" | "floor";

/**
 * Divides and cuts the quotients off, towards zero or downwards. Integers stay integers.
 *
 * Source: torch.div with rounding_mode; c10::div_floor_floating (c10/util/generic_math.h).
 *
 * @throws {RangeError} RuntimeError for bools, and for integers divided by 0
 */
export function divideWhole(where: string, mode: RoundingMode, a: Operand, b: Operand): View {
  const type = resultType(a, b);
  const floors = mode === "floor";
  if (type === dtypes.bool) {
    throw pythonError(
      "RuntimeError",
      `${where}: bools cannot be divided with a rounding_mode; convert with to()`,
    );
  }
  if (type.category === "float") {
    const round = type === dtypes.float32 ? Math.fround : Number;
    const quotient: NumberBinary = floors
      ? (x, y) => floorQuotient(x, y, round)
      : (x, y) => Math.trunc(round(x / y));
    return combine(where, [a, b], type, quotient, (x) => x);
  }
  const checkDivisor = (isZero: boolean): void => {
    if (isZero) throw pythonError("RuntimeError", `${where}: integers cannot be divided by 0`);
  };
  const whole = floors ? Math.floor : Math.trunc;
  return combine(
    where,
    [a, b],
    type,
    (x, y) => {
      checkDivisor(y === 0);
      return whole(x / y);
    },
    (x, y) => {
      checkDivisor(y === 0n);
      const isBelow = floors && x % y !== 0n && x < 0n !== y < 0n;
      return x / y - (isBelow ? 1n : 0n);
    },
  );
}

function floorQuotient(a: number, b: number, round: (value: number) => number): number {
  if (b === 0) return a / b;
  const rest = a % b;
  let quotient = round(round(a - rest) / b);
  if (rest !== 0 && b < 0 !== rest < 0) quotient = round(quotient - 1);
  if (quotient === 0) return a / b < 0 || Object.is(a / b, -0) ? -0 : 0;
  const below = Math.floor(quotient);
  return round(quotient - below) > 0.5 ? below + 1 : below;
}

function isBool(operand: Operand): boolean {
  return isScalar(operand) ? typeof operand === "boolean" : operand.dtype === dtypes.bool;
}

// A storage of one element stands for every element: step 0.
function combineNumbers(
  out: NumberStorage,
  a: NumberStorage,
  b: NumberStorage,
  count: number,
  combine: NumberBinary,
): void {
  const aStep = a.length === 1 ? 0 : 1;
  const bStep = b.length === 1 ? 0 : 1;
  if (out instanceof Float32Array && a instanceof Float32Array && b instanceof Float32Array) {
    // The same loop, which engines compile for one type of array alone.
    for (let i = 0; i < count; i++) out[i] = combine(a[i * aStep], b[i * bStep]);
    return;
  }
  for (let i = 0; i < count; i++) out[i] = combine(a[i * aStep], b[i * bStep]);
}

function combineInt64(
  out: Storage,
  a: BigInt64Array,
  b: BigInt64Array,
  count: number,
  combine: BigIntBinary,
): void {
  const aStep = a.length === 1 ? 0 : 1;
  const bStep = b.length === 1 ? 0 : 1;
  for (let i = 0; i < count; i++) {
    const value = combine(a[i * aStep], b[i * bStep]);
    if (out instanceof BigInt64Array) out[i] = value;
    else out[i] = Number(value);
  }
}

/** Where the elements of a result lie, and the order in which its operands are walked. */
export interface Layout extends Placement {
  readonly count: number;
  /** Axes from slowest to fastest; undefined for row-major order. */
  readonly order: readonly number[] | undefined;
}

/** Results are laid out as PyTorch does: like their operands, where these agree. */
export function commonLayout(where: string, operands: readonly (Placement | Scalar)[]): Layout {
  const views = operands.filter((operand): operand is Placement => !isScalar(operand));
  const shape = views.reduce<readonly number[]>(
    (joint, view) => broadcast(where, joint, view.shape),
    [],
  );
  const count = countOf(shape);
  // Operands that lie alike decide all; others decide axis by axis.
  if (views.length === operands.length && views.every((view) => areEqual(view.shape, shape))) {
    if (views.every(isContiguous)) {
      return { shape, strides: rowMajorStrides(shape), count, order: undefined };
    }
    const { strides } = views[0];
    if (views.every((view) => isDense(view) && areEqual(view.strides, strides))) {
      return { shape, strides, count, order: slowestFirst(views[0]) };
    }
  }
  const strides = views.map((view) => stretch(view, shape).strides);
  const order = loopOrder(shape, strides).reverse();
  return { shape, strides: stridesOf(shape, order), count, order };
}

function areEqual(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}

/** The strides of a tensor without gaps whose axes lie in a given order, slowest first. */
function stridesOf(shape: readonly number[], order: readonly number[]): number[] {
  const strides = new Array<number>(shape.length);
  const ordered = rowMajorStrides(order.map((axis) => shape[axis]));
  order.forEach((axis, i) => {
    strides[axis] = ordered[i];
  });
  return strides;
}

/** An operand's values in the layout's order; a single one if it has no more. */
function operandElements(operand: Operand, type: DType, layout: Layout): Storage {
  if (isScalar(operand)) return scalarStorage(operand, type);
  if (countOf(operand.shape) === 1) return cast(elements(operand), operand.dtype, type);
  const stretched = stretch(operand, layout.shape);
  const ordered = layout.order ? permute(stretched, layout.order) : stretched;
  return cast(elements(ordered), operand.dtype, type);
}

// Adding and subtracting 2^52 leaves no room for a fraction, and rounds half to even.
const WHOLE = 2 ** 52;

/** Rounds half to even; keeps the sign of 0, NaN and infinities. */
export function roundHalfEven(value: number): number {
  const magnitude = Math.abs(value);
  if (!(magnitude < WHOLE)) return value;
  const rounded = magnitude + WHOLE - WHOLE;
  return value < 0 || Object.is(value, -0) ? -rounded : rounded;
}

const UNARY: { readonly [name in UnaryName]: NumberUnary } = {
  abs: Math.abs,
  neg: (a) => -a,
  square: (a) => a * a,
  sqrt: Math.sqrt,
  reciprocal: (a) => 1 / a,
  round: roundHalfEven,
  floor: Math.floor,
  ceil: Math.ceil,
  trunc: Math.trunc,
  isnan: (a) => (Number.isNaN(a) ? 1 : 0),
  isinf: (a) => (a === Number.POSITIVE_INFINITY || a === Number.NEGATIVE_INFINITY ? 1 : 0),
  isfinite: (a) => (Number.isFinite(a) ? 1 : 0),
};

const INT64_UNARY: { readonly [name in "abs" | "neg" | "square"]: (a: bigint) => bigint } = {
  abs: (a) => (a < 0n ? -a : a),
  neg: (a) => -a,
  square: (a) => a * a,
};

/**
 * Maps every element.
 *
 * abs, neg and square keep integer dtypes, and wrap: abs of int8's -128 is -128. round, floor, ceil
 * and trunc leave integers as they are. sqrt and reciprocal turn integers into float32. isnan,
 * isinf and isfinite give bool. square of bool gives int64.
 *
 * Source: torch.abs, neg, square, sqrt, reciprocal, round (half to even), floor, ceil, trunc, ...
 *
 * @throws {RangeError} RuntimeError for bool, where PyTorch refuses it
 */
export function unary(where: string, name: UnaryName, view: View): View {
  const isTest = name === "isnan" || name === "isinf" || name === "isfinite";
  if (view.dtype === dtypes.bool) {
    if (name === "square") return unary(where, name, convert(view, dtypes.int64));
    if (!isTest && name !== "sqrt" && name !== "reciprocal") {
      throw pythonError(
        "RuntimeError",
        `${where}: does not take a bool tensor; convert to an integer dtype with to()`,
      );
    }
  }
  const isFloat = view.dtype.category === "float";
  const type = !isFloat && (name === "sqrt" || name === "reciprocal") ? dtypes.float32 : view.dtype;
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
 * Source: torch.round with decimals.
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

function mapNumbers(out: NumberStorage, source: NumberStorage, map: NumberUnary): void {
  if (out instanceof Float32Array && source instanceof Float32Array) {
    for (let i = 0; i < source.length; i++) out[i] = map(source[i]);
    return;
  }
  for (let i = 0; i < source.length; i++) out[i] = map(source[i]);
}

/** A tensor's values in the order in which an operation on it alone lays out its result. */
function laidOut(view: View): { values: Storage; strides: readonly number[] } {
  if (isContiguous(view)) return { values: elements(view), strides: rowMajorStrides(view.shape) };
  const strides = keptStrides(view);
  if (strides !== view.strides) {
    return { values: elements(permute(view, slowestFirst(view))), strides };
  }
  const run = rowMajorView(view.storage, view.dtype, [countOf(view.shape)]);
  return { values: elements({ ...run, offset: view.offset }), strides };
}

/** The strides of a tensor's copies: its own, if there are no gaps. */
export function keptStrides(view: Placement): readonly number[] {
  return isDense(view) ? view.strides : stridesOf(view.shape, slowestFirst(view));
}

function slowestFirst({ shape, strides }: Placement): number[] {
  return loopOrder(shape, [strides]).reverse();
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
 * Source: torch.clamp.
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
    // Comparisons with NaN are false, so NaN passes both, and all pass NaN.
    const limit = (a: number): number => {
      const raised = a < least ? least : a;
      return raised > most ? most : raised;
    };
    mapNumbers(out as NumberStorage, values, limit);
  }
  return result;
}

/**
 * Raises to a power that is a number: 2, 3 and -2 by multiplying, 0.5 and -0.5 by a square root, as
 * PyTorch does. Other powers of floats use the engine's Math.pow, whose last bit is not defined.
 *
 * Source: torch.pow with a number as exponent.
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
    // Two vectors of 8 at a time: those of float32 have the exponent in float32, what is left has not.
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
function floatPower(base: number, exponent: number): number {
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
