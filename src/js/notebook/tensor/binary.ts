// Element-wise functions of two tensors.

import { pythonError } from "../python/errors.js";
import { checkedScalarStorage, isInt, isScalar, type Scalar } from "./cast.js";
import { type DType, dtypes, type NumberStorage, type Storage } from "./dtype.js";
import { commonLayout, keptStrides, type Operand, operandElements } from "./layout.js";
import { resultType } from "./promotion.js";
import type { View } from "./view.js";

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

type NumberBinary = (a: number, b: number) => number;

type BigIntBinary = (a: bigint, b: bigint) => bigint;

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

// Storing keeps the low bits of sums and differences. A product of two int32 values is not exact in
// double precision, so this function takes its low bits itself.
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
 * Source: `torch.add`, sub, mul, div, maximum, minimum, eq, ne, lt, le, gt, ge.
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

/** A function of two elements, for numbers and for int64. */
export interface Combination {
  readonly numbers: (a: number, b: number) => number;
  readonly int64: (a: bigint, b: bigint) => bigint;
}

/** Combines two operands, converted to a dtype, element by element; the result is of that dtype or another one. */
export function combination(
  where: string,
  operands: readonly [Operand, Operand],
  type: DType,
  { numbers, int64 }: Combination,
  outType?: DType,
): View {
  return combine(where, operands, type, numbers, int64, outType);
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
 * Source: `torch.add`, `torch.sub` with alpha.
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
  // PyTorch adds -alpha times b, and checks that -alpha fits in the dtype.
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

/** Rounding modes of quotients. */
export type RoundingMode = "trunc" | "floor";

/**
 * Divides and truncates the quotients, towards zero or downwards. Integers stay integers.
 *
 * Source: `torch.div` with rounding_mode; c10::div_floor_floating (c10/util/generic_math.h).
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

// A storage of one element represents every element: step 0.
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
    // The same loop as a separate function, so that engines compile it for one type of array.
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
