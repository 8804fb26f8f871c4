// Conversions between dtypes, as PyTorch makes them on x86-64.

import { show } from "../../base/format-value.js";
import { explainReceivers } from "../../base/receivers.js";
import { floatRepr } from "../../tensor/python-repr.js";
import { pythonError } from "../python/errors.js";
import { type DType, dtypes, integerLimits, type NumberStorage, type Storage } from "./dtype.js";

/**
 * A Python number or bool. A JavaScript number stands for a Python int if it is a safe integer, and
 * for a Python float otherwise; a BigInt always stands for an int, a `PythonFloat` for a float.
 */
export type Scalar = number | bigint | boolean;

/**
 * A number that is a Python float even if it is whole. TypeScript treats it as a number; arithmetic
 * gives ordinary numbers.
 */
export class PythonFloat extends Number {
  readonly #float = true;

  static {
    explainReceivers(PythonFloat, "float", (object) => #float in object);
  }

  override toString(): string {
    return floatRepr(this.valueOf());
  }

  /** Its name in messages. */
  get [Symbol.toStringTag](): string {
    return "float";
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}

/** Whether a value is a Python number or bool. */
export function isScalar(value: unknown): value is Scalar {
  return (
    typeof value === "number" ||
    typeof value === "bigint" ||
    typeof value === "boolean" ||
    value instanceof PythonFloat
  );
}

/** The JavaScript number of a scalar, where int and float need not be distinguished. */
export function plain<T>(value: T): T {
  return value instanceof PythonFloat ? (value.valueOf() as T) : value;
}

/** Whether a number or BigInt stands for a Python int. */
export function isInt(value: unknown): value is number | bigint {
  return typeof value === "bigint" || Number.isSafeInteger(value);
}

/** The dtype that PyTorch gives a Python number by itself. */
export function scalarDType(value: Scalar): DType {
  if (typeof value === "boolean") return dtypes.bool;
  return isInt(value) ? dtypes.int64 : dtypes.float32;
}

/** An int64's value: a number where that is exact, else a BigInt. */
export function fromInt64(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** An int64 rounded once to float32; going through float64 would round twice. */
function int64ToFloat32(value: bigint): number {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return Math.fround(number);
  // 2^53 and more: the low 16 bits are below half of float32's last bit, so a single bit that is set if
  // any of them is set rounds in the same way.
  const sticky = (value & 0xffffn) === 0n ? 0n : 1n;
  return Math.fround(Number(((value >> 16n) << 1n) | sticky)) * 2 ** 15;
}

const INT32_MIN = -2147483648;

const INT64_MIN = -(1n << 63n);

function floatToInt64(value: number): bigint {
  return value >= -(2 ** 63) && value < 2 ** 63 ? BigInt(Math.trunc(value)) : INT64_MIN;
}

/**
 * Converts values to another dtype.
 *
 *   float -> int32        truncate; NaN and values out of range become -2147483648
 *   float -> int8, 16 bit the int32 rule, then the low bits
 *   float -> uint8        truncate to int64, then the low 8 bits
 *   float -> int64        truncate; NaN and values out of range become -2^63
 *   anything -> bool      whether it is not 0
 *   integer -> integer    the low bits; integer -> float rounds once
 *
 * Source: Tensor.to on x86-64; c10::convert (c10/util/TypeCast.h).
 *
 * @returns a new storage, or the same one if `to` is `from`
 */
export function cast(values: Storage, from: DType, to: DType): Storage {
  if (from === to) return values;
  const n = values.length;
  const out = to.allocate(n);
  if (to === dtypes.bool) {
    for (let i = 0; i < n; i++) out[i] = Number(values[i]) !== 0 ? 1 : 0;
  } else if (values instanceof BigInt64Array) {
    castInt64(values, out as NumberStorage, to);
  } else if (out instanceof BigInt64Array) {
    const isFloat = from.category === "float";
    for (let i = 0; i < n; i++) out[i] = isFloat ? floatToInt64(values[i]) : BigInt(values[i]);
  } else if (from.category === "float" && to.category === "integer" && to !== dtypes.uint8) {
    castFloatToInt(values as Float32Array | Float64Array, out);
  } else {
    // Storing rounds to float32 and wraps to integers; to uint8 as an int64 would.
    out.set(values);
  }
  return out;
}

function castFloatToInt(values: Float32Array | Float64Array, out: NumberStorage): void {
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    // Storing truncates and keeps the low bits.
    out[i] = value > INT32_MIN - 1 && value < -INT32_MIN ? value : INT32_MIN;
  }
}

function castInt64(values: BigInt64Array, out: NumberStorage, to: DType): void {
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (to === dtypes.float32) out[i] = int64ToFloat32(value);
    else if (to === dtypes.float64) out[i] = Number(value);
    else out[i] = Number(BigInt.asIntN(32, value));
  }
}

/** An int as a BigInt. @throws {RangeError} RuntimeError if int64 cannot hold it */
function toInt64(value: number | bigint): bigint {
  const big = BigInt(value);
  if (BigInt.asIntN(64, big) !== big) {
    throw pythonError(
      "RuntimeError",
      `${big} does not fit in 64 bits, the widest integer there is`,
    );
  }
  return big;
}

/**
 * A storage of one Python number in an operand's dtype, converted as a 0-d tensor of it would be:
 * integers wrap, floats round and overflow to infinity.
 * @throws {RangeError} RuntimeError for an int of more than 64 bits
 */
export function scalarStorage(value: Scalar, to: DType): Storage {
  if (typeof value === "number" && to.category === "float") {
    return cast(Float64Array.of(value), dtypes.float64, to);
  }
  if (typeof value !== "boolean" && isInt(value)) {
    return cast(BigInt64Array.of(toInt64(value)), dtypes.int64, to);
  }
  if (typeof value === "boolean") return cast(Uint8Array.of(value ? 1 : 0), dtypes.bool, to);
  return cast(Float64Array.of(Number(value)), dtypes.float64, to);
}

/**
 * A storage of one Python number in a given dtype, checked as by PyTorch: a value that the dtype
 * cannot hold is an error, except NaN and infinities in a floating dtype and, for unsigned dtypes,
 * negative ints down to -max, which wrap. Floats are compared before truncation: 127.5 is
 * beyond int8, and -0.5 beyond uint8. 2^63 equals int64's largest in double precision, and wraps.
 *
 * Source: c10::Scalar::to (fill_, item assignment, full, clamp).
 *
 * @throws {RangeError} RuntimeError
 */
export function checkedScalarStorage(where: string, value: Scalar, to: DType): Storage {
  if (to.category === "integer" && typeof value !== "boolean") {
    const { min, max } = integerLimits(to);
    if (!isInt(value)) {
      const float = Number(value);
      if (!(float >= Number(min) && float <= Number(max))) throw doesNotFit(where, value, to);
      return cast(Float64Array.of(float), dtypes.float64, to);
    }
    const whole = BigInt(value);
    if (whole < (to.is_signed ? min : -max) || whole > max) throw doesNotFit(where, value, to);
    return cast(BigInt64Array.of(whole), dtypes.int64, to);
  }
  const out = scalarStorage(value, to);
  if (to === dtypes.float32 && Number.isFinite(Number(value)) && isBeyondFloat32(Number(value))) {
    throw doesNotFit(where, value, to);
  }
  return out;
}

/** Includes values that rounding would bring to the largest float32: PyTorch compares before it rounds. */
const isBeyondFloat32 = (value: number): boolean => Math.abs(value) > (2 - 2 ** -23) * 2 ** 127;

/**
 * Stores Python numbers in a given dtype. Ints and, in an integer dtype, floats are checked as by
 * `checkedScalarStorage`; floats beyond float32 become infinite.
 *
 * Source: `torch.tensor`.
 *
 * @throws {RangeError} RuntimeError
 */
export function storeChecked(
  where: string,
  out: Storage,
  to: DType,
  values: readonly Scalar[],
): void {
  // Fast path for the most frequent values: numbers well within the range.
  const narrow = to.category === "integer" && to !== dtypes.int64 ? integerLimits(to) : undefined;
  const least = narrow ? Number(narrow.min) : Number.MIN_SAFE_INTEGER;
  const most = narrow ? Number(narrow.max) : Number.MAX_SAFE_INTEGER;
  for (let i = 0; i < values.length; i++) {
    const value = plain(values[i]);
    // Ints of any size: Python's float(int) rounds to float64 first.
    if (to.category === "float") out[i] = Number(value);
    else if (to === dtypes.bool) out[i] = Number(value) !== 0 ? 1 : 0;
    else if (typeof value !== "number") out[i] = checkedScalarStorage(where, value, to)[0];
    else if (!(value >= least && value <= most)) {
      out[i] = checkedScalarStorage(where, values[i], to)[0];
    } else out[i] = out instanceof BigInt64Array ? BigInt(Math.trunc(value)) : value;
  }
}

function doesNotFit(where: string, value: Scalar, to: DType): Error {
  return pythonError("RuntimeError", `${where}: ${show(plain(value))} does not fit in ${to}`);
}
