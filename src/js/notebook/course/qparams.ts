// get_q_scale_and_zero_point and get_q_scale_symmetric.

import { roundHalfEven } from "../../base/round.js";
import * as core from "../core.js";
import { bindArguments } from "../python/arguments.js";
import { checkFinite, type Tuple, tuple } from "../python/builtins.js";
import { pythonError } from "../python/errors.js";
import { fromInt64, isInt } from "../tensor/cast.js";
import { checkDType, type DType, dtypes, iinfo, integerLimits } from "../tensor/dtype.js";
import { checkTensor, type Tensor, viewOf } from "../tensor/tensor.js";
import { elements } from "../tensor/view.js";

type PythonNumber = number | bigint;

/** a - b */
function minus(a: PythonNumber, b: PythonNumber): PythonNumber {
  return isInt(a) && isInt(b) ? fromInt64(BigInt(a) - BigInt(b)) : Number(a) - Number(b);
}

/** a / b, rounded once. @throws {RangeError} ZeroDivisionError */
function over(where: string, what: string, a: PythonNumber, b: PythonNumber): number {
  if (Number(b) === 0) throw pythonError("ZeroDivisionError", `${where}: ${what}`);
  if (typeof a !== "bigint" && typeof b !== "bigint") return a / b;
  if (!isInt(a) || !isInt(b)) return Number(a) / Number(b);
  const negative = Number(a) < 0 !== Number(b) < 0;
  const [numerator, denominator] = [magnitude(BigInt(a)) << 128n, magnitude(BigInt(b))];
  const quotient = numerator / denominator;
  // `rest` is 1 if any bit after the quotient's is set. The quotient has more bits than a double, so that it then
  // rounds correctly.
  const rest = quotient * denominator === numerator ? 0n : 1n;
  const value = Number((quotient << 1n) | rest) / 2 ** 129;
  return negative ? -value : value;
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value;
}

// ---------------------------------------------------------------------------------------------

/** The smallest and largest element as Python numbers. */
function rangeOf(where: string, tensor: Tensor): { min: PythonNumber; max: PythonNumber } {
  if (tensor.numel() === 0) {
    throw pythonError("RuntimeError", `${where}: a tensor without elements has no min and max`);
  }
  if (tensor.dtype === dtypes.float32) {
    return core.minMax(where, elements(viewOf(tensor)) as Float32Array);
  }
  const asNumber = (value: number | bigint | boolean): PythonNumber =>
    typeof value === "boolean" ? Number(value) : value;
  return { min: asNumber(tensor.min().item()), max: asNumber(tensor.max().item()) };
}

/** A tensor, and a dtype that defaults to torch.int8. */
export type TensorAndDType = [tensor: Tensor, dtype?: DType | { dtype?: DType }];

/**
 * The affine scale and zero point that map [min, max] to the dtype's range.
 *
 *   scale = (max - min) / (q_max - q_min)
 *   zero_point = q_min - min / scale, limited to [q_min, q_max], rounded half to even
 *
 * in double precision. The range is not widened to contain 0.
 *
 * Source: notebook 5, with `dtype` honoured as its name says; `get_q_scale_and_zero_point004` ignores
 * it as notebook 5 does.
 *
 * @param tensor  any shape, at least one element
 * @param dtype   an integer dtype; default: torch.int8
 * @returns (scale, zero_point); an int64 zero point beyond 2^53 is a BigInt
 * @throws {RangeError} RuntimeError for no elements; ZeroDivisionError if all are equal; ValueError
 *   for NaN or opposite infinities
 */
export function get_q_scale_and_zero_point(...args: TensorAndDType): Tuple<[number, number]> {
  const where = "get_q_scale_and_zero_point";
  const [tensor, dtype] = bindTensorAndDType(where, args);
  return chooseAffine(where, tensor, dtype);
}

/**
 * `get_q_scale_and_zero_point` as in notebook 5: uses int8's range for every `dtype`.
 * Source: notebook 5.
 */
export function get_q_scale_and_zero_point004(...args: TensorAndDType): Tuple<[number, number]> {
  const where = "get_q_scale_and_zero_point004";
  const [tensor] = bindTensorAndDType(where, args);
  return chooseAffine(where, tensor, dtypes.int8);
}

export function bindTensorAndDType(where: string, args: readonly unknown[]): [Tensor, DType] {
  const [tensor, dtype] = bindArguments(where, ["tensor", "dtype?"], args);
  return [checkTensor(where, "tensor", tensor), checkDType(where, dtype ?? dtypes.int8)];
}

export function chooseAffine(where: string, tensor: Tensor, dtype: DType): Tuple<[number, number]> {
  iinfo(dtype); // refuses dtypes that are no integers
  const limits = integerLimits(dtype);
  const { min, max } = rangeOf(where, tensor);
  const steps = fromInt64(limits.max - limits.min);
  const scale = over(where, "", minus(max, min), steps);
  const equal = `all elements are ${min}, so the scale is 0 and there is no zero point`;
  const zeroPoint = Number(limits.min) - over(where, equal, min, scale);
  const chosen = limitToRange(where, zeroPoint, limits);
  return tuple(scale, chosen as number);
}

function limitToRange(
  where: string,
  zeroPoint: number,
  { min, max }: { min: bigint; max: bigint },
): PythonNumber {
  // Comparing a BigInt with a number is exact, as Python's comparison of an int with a float is.
  if (zeroPoint < min) return fromInt64(min);
  if (zeroPoint > max) return fromInt64(max);
  checkFinite(`${where}: the zero point`, zeroPoint);
  return fromInt64(BigInt(roundHalfEven(zeroPoint)));
}

// ---------------------------------------------------------------------------------------------

/**
 * The symmetric scale.
 *
 *   tensor.abs().max() / q_max
 *
 * in double precision.
 *
 * Source: notebooks 2 and 5.
 *
 * @param tensor  any shape, at least one element
 * @param dtype   an integer dtype; default: torch.int8
 * @throws {RangeError} RuntimeError for no elements
 */
export function get_q_scale_symmetric(...args: TensorAndDType): number {
  const where = "get_q_scale_symmetric";
  const [tensor, dtype] = bindTensorAndDType(where, args);
  return chooseSymmetric(where, tensor, dtype);
}

/** The same function: notebook 5's does not differ. Source: notebook 5. */
export const get_q_scale_symmetric004 = get_q_scale_symmetric;

export function chooseSymmetric(where: string, tensor: Tensor, dtype: DType): number {
  const largest = largestMagnitude(where, tensor);
  iinfo(dtype); // refuses dtypes that are no integers
  return over(where, "", largest, fromInt64(integerLimits(dtype).max));
}

/** abs().max().item(), which for integers may wrap to a negative number. */
function largestMagnitude(where: string, tensor: Tensor): PythonNumber {
  if (tensor.dtype !== dtypes.float32) return rangeOf(where, tensor.abs()).max;
  const { min, max } = rangeOf(where, tensor);
  return Math.max(Math.abs(Number(min)), Math.abs(Number(max)));
}
