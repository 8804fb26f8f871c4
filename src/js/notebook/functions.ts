// The notebooks' functions, under their own names and with their own behaviour, quirks included.
//
// Each is written out in its comment as the notebooks have it. float32 tensors are computed by the
// core in one pass; other dtypes take the same steps one by one, as tensor operations.

import { sameShape } from "../check.js";
import { show, showShape } from "../show.js";
import { bindArguments, hasKeyword } from "./arguments.js";
import { cast, fromInt64, isInt, isScalar, type Scalar, scalarStorage } from "./cast.js";
import * as core from "./core.js";
import {
  checkDType,
  type DType,
  dtypes,
  iinfo,
  integerLimits,
  type NumberStorage,
} from "./dtype.js";
import { commonLayout, keptStrides, type Layout, roundHalfEven } from "./elementwise.js";
import { pythonError } from "./errors.js";
import { linear } from "./linear.js";
import { resultType } from "./promotion.js";
import { checkFinite, type Tuple, tuple } from "./python.js";
import { checkTensor, operandOf, Tensor, type TensorOrScalar, tensorOf, viewOf } from "./tensor.js";
import {
  allocate,
  checkAxis,
  checkInteger,
  elements,
  permute,
  stretch,
  type View,
} from "./view.js";

const FLOAT32_VIEW = { dtype: dtypes.float32 };

/** What the core needs to know of a scale or zero point, if it can take it. */
interface CoreOperand {
  readonly values: Float32Array;
  readonly shape: readonly number[];
}

/**
 * A scale or zero point in float32, if it combines with a float32 tensor of `rank` to float32.
 * @param layout  of the result, whose order of axes the values follow
 */
function coreOperand(
  operand: View | Scalar,
  rank: number,
  layout: Layout,
): CoreOperand | undefined {
  const shape = new Array<number>(rank).fill(1);
  if (resultType({ ...FLOAT32_VIEW, shape }, operand) !== dtypes.float32) return undefined;
  if (isScalar(operand)) {
    return { values: scalarStorage(operand, dtypes.float32) as Float32Array, shape: [] };
  }
  const ordered = inOrder(operand, layout);
  const values = cast(elements(ordered), operand.dtype, dtypes.float32) as Float32Array;
  return { values, shape: ordered.shape };
}

/** A tensor with its axes in the order in which those of a result lie, slowest first. */
function inOrder(view: View, { shape, order }: Layout): View {
  if (order === undefined) return view;
  const missing = new Array<number>(shape.length - view.shape.length).fill(1);
  return permute(stretch(view, [...missing, ...view.shape]), order);
}

function shapeOf(operand: View | Scalar): readonly number[] {
  return isScalar(operand) ? [] : operand.shape;
}

// ---------------------------------------------------------------------------------------------

/** Keywords of `linear_q_with_scale_and_zero_point`. */
interface LinearQKeywords {
  /** Units per step. */
  scale?: TensorOrScalar;
  /** The code that stands for 0. */
  zero_point?: TensorOrScalar;
  /** Default: torch.int8. */
  dtype?: DType;
}

/**
 * Quantizes with a given scale and zero point.
 *
 *   torch.round(tensor / scale + zero_point).clamp(iinfo(dtype).min, iinfo(dtype).max).to(dtype)
 *
 * Nothing is validated but shapes and dtypes. In int32 the largest values wrap to -2147483648,
 * because float32 rounds the upper bound up to 2^31; int64 alike.
 *
 * Source: notebooks 1, 2 and 5.
 *
 * @param tensor      any shape
 * @param scale       a number, or a tensor that broadcasts with `tensor`
 * @param zero_point  a number, or a tensor that broadcasts with both
 * @param dtype       an integer dtype; default: torch.int8
 * @returns codes of the shape that all three broadcast to
 * @throws {TypeError} for a dtype that is no integer
 * @throws {RangeError} RuntimeError for shapes that do not fit each other
 */
export function linear_q_with_scale_and_zero_point(
  tensor: Tensor,
  scale: TensorOrScalar,
  zero_point: TensorOrScalar,
  dtype?: DType | { dtype?: DType },
): Tensor;
export function linear_q_with_scale_and_zero_point(
  tensor: Tensor,
  scale: TensorOrScalar,
  keywords: Omit<LinearQKeywords, "scale">,
): Tensor;
export function linear_q_with_scale_and_zero_point(
  tensor: Tensor,
  keywords: LinearQKeywords,
): Tensor;
export function linear_q_with_scale_and_zero_point(...args: unknown[]): Tensor {
  const where = "linear_q_with_scale_and_zero_point";
  const parameters = ["tensor", "scale", "zero_point", "dtype?"];
  const [tensor, scale, zeroPoint, dtype] = bindArguments(where, parameters, args);
  return linearQ(where, tensor, scale, zeroPoint, dtype);
}

function linearQ(
  where: string,
  tensorArgument: unknown,
  scaleArgument: unknown,
  zeroPointArgument: unknown,
  dtypeArgument: unknown = dtypes.int8,
): Tensor {
  const tensor = checkTensor(where, "tensor", tensorArgument);
  const scale = operandOf(where, "scale", scaleArgument);
  const zeroPoint = operandOf(where, "zero_point", zeroPointArgument);
  const dtype = checkDType(where, dtypeArgument);
  const view = viewOf(tensor);
  const quotient = commonLayout(where, [view, scale]);
  const layout = commonLayout(where, [quotient, zeroPoint]);
  iinfo(dtype); // refuses dtypes that are no integers
  const inCore = quantizeInCore(where, view, scale, zeroPoint, dtype, layout);
  if (inCore !== undefined) return tensorOf(inCore);
  const { min, max } = integerLimits(dtype);
  return tensor
    .div(scaleArgument as TensorOrScalar)
    .add(zeroPointArgument as TensorOrScalar)
    .round()
    .clamp(fromInt64(min), fromInt64(max))
    .to(dtype);
}

function quantizeInCore(
  where: string,
  view: View,
  scale: View | Scalar,
  zeroPoint: View | Scalar,
  dtype: DType,
  layout: Layout,
): View | undefined {
  if (view.dtype !== dtypes.float32 || !core.isCoreDType(dtype.name)) return undefined;
  const scaledRank = Math.max(view.shape.length, shapeOf(scale).length);
  const coreScale = coreOperand(scale, view.shape.length, layout);
  const coreZeroPoint = coreOperand(zeroPoint, scaledRank, layout);
  if (coreScale === undefined || coreZeroPoint === undefined) return undefined;
  const ordered = inOrder(view, layout);
  const x = { values: elements(ordered) as Float32Array, shape: ordered.shape };
  const storage = dtype.allocate(layout.count) as NumberStorage;
  core.linearQ(where, dtype.name, x, coreScale, coreZeroPoint, storage);
  // What follows the division works on one tensor alone.
  const { shape, strides } = commonLayout(where, [layout]);
  return { storage, dtype, shape, strides, offset: 0 };
}

// ---------------------------------------------------------------------------------------------

/**
 * Dequantizes.
 *
 *   scale * (quantized_tensor.float() - zero_point)
 *
 * Without `.float()`, as `quantized_tensor.sub(zero_point).mul(scale)`, the difference would wrap
 * around in the codes' dtype.
 *
 * Source: notebooks 1, 2 and 5.
 *
 * @param quantized_tensor  codes of any dtype and shape
 * @param scale, zero_point  numbers, or tensors that broadcast with the codes
 * @returns float32, of the shape that all three broadcast to; float64 if `scale` or `zero_point` is
 *   such a tensor with dimensions
 * @throws {RangeError} RuntimeError for shapes that do not fit each other, and for a bool zero point
 */
export function linear_dequantization(
  quantized_tensor: Tensor,
  scale: TensorOrScalar,
  zero_point: TensorOrScalar,
): Tensor;
export function linear_dequantization(
  quantized_tensor: Tensor,
  keywords: { scale: TensorOrScalar; zero_point: TensorOrScalar },
): Tensor;
export function linear_dequantization(...args: unknown[]): Tensor {
  const where = "linear_dequantization";
  // Notebook 5 calls the first parameter q.
  const first = hasKeyword(args, "q") ? "q" : "quantized_tensor";
  const [codes, scale, zeroPoint] = bindArguments(where, [first, "scale", "zero_point"], args);
  return linearDequantization(where, codes, scale, zeroPoint);
}

function linearDequantization(
  where: string,
  codesArgument: unknown,
  scaleArgument: unknown,
  zeroPointArgument: unknown,
): Tensor {
  const codes = checkTensor(where, "quantized_tensor", codesArgument);
  const scale = operandOf(where, "scale", scaleArgument);
  const zeroPoint = operandOf(where, "zero_point", zeroPointArgument);
  const view = viewOf(codes);
  const floats = { shape: view.shape, strides: keptStrides(view) };
  const difference = commonLayout(where, [floats, zeroPoint]);
  const layout = commonLayout(where, [scale, difference]);
  // Tensor.sub refuses bools.
  const isBool = resultType(zeroPoint) === dtypes.bool;
  if (core.isCoreDType(view.dtype.name) && !isBool) {
    const coreZeroPoint = coreOperand(zeroPoint, view.shape.length, layout);
    const coreScale = coreOperand(scale, difference.shape.length, layout);
    if (coreScale !== undefined && coreZeroPoint !== undefined) {
      const ordered = inOrder(view, layout);
      const q = { values: elements(ordered) as NumberStorage, shape: ordered.shape };
      const storage = dtypes.float32.allocate(layout.count) as Float32Array;
      core.linearDequantization(where, view.dtype.name, q, coreScale, coreZeroPoint, storage);
      const { shape, strides } = layout;
      return tensorOf({ storage, dtype: dtypes.float32, shape, strides, offset: 0 });
    }
  }
  const shifted = codes.float().sub(zeroPointArgument as TensorOrScalar);
  return scaleArgument instanceof Tensor
    ? scaleArgument.mul(shifted)
    : shifted.mul(scaleArgument as Scalar);
}

// ---------------------------------------------------------------------------------------------
// Python's arithmetic on what item() gives: ints are exact, of any size.

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
  // The quotient has more bits than a double; one more stands for all that follow.
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
type TensorAndDType = [tensor: Tensor, dtype?: DType | { dtype?: DType }];

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
 * `get_q_scale_and_zero_point` as notebook 5 has it: always with int8's range, whatever `dtype`
 * says.
 * Source: notebook 5.
 */
export function get_q_scale_and_zero_point004(...args: TensorAndDType): Tuple<[number, number]> {
  const where = "get_q_scale_and_zero_point004";
  const [tensor] = bindTensorAndDType(where, args);
  return chooseAffine(where, tensor, dtypes.int8);
}

function bindTensorAndDType(where: string, args: readonly unknown[]): [Tensor, DType] {
  const [tensor, dtype] = bindArguments(where, ["tensor", "dtype?"], args);
  return [checkTensor(where, "tensor", tensor), checkDType(where, dtype ?? dtypes.int8)];
}

function chooseAffine(where: string, tensor: Tensor, dtype: DType): Tuple<[number, number]> {
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

/**
 * Quantizes affinely: `get_q_scale_and_zero_point`, then `linear_q_with_scale_and_zero_point`.
 *
 * Source: notebook 5, with `dtype` honoured; `linear_quantization004` is notebook 5's own.
 *
 * @param tensor  any shape, at least one element
 * @param dtype   an integer dtype; default: torch.int8
 * @returns (quantized_tensor, scale, zero_point)
 * @throws as those two
 */
export function linear_quantization(...args: TensorAndDType): Tuple<[Tensor, number, number]> {
  const where = "linear_quantization";
  const [tensor, dtype] = bindTensorAndDType(where, args);
  return quantizeAffine(where, tensor, dtype, dtype);
}

/**
 * `linear_quantization` as notebook 5 has it: scale and zero point always for int8's range, codes
 * in `dtype`.
 * Source: notebook 5.
 */
export function linear_quantization004(...args: TensorAndDType): Tuple<[Tensor, number, number]> {
  const where = "linear_quantization004";
  const [tensor, dtype] = bindTensorAndDType(where, args);
  return quantizeAffine(where, tensor, dtypes.int8, dtype);
}

function quantizeAffine(
  where: string,
  tensor: Tensor,
  rangeDType: DType,
  dtype: DType,
): Tuple<[Tensor, number, number]> {
  const [scale, zeroPoint] = chooseAffine(where, tensor, rangeDType);
  return tuple(linearQ(where, tensor, scale, zeroPoint, dtype), scale, zeroPoint);
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

function chooseSymmetric(where: string, tensor: Tensor, dtype: DType): number {
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

/**
 * Quantizes symmetrically with one scale: `get_q_scale_symmetric`, zero point 0.
 *
 * A tensor of zeros has scale 0, and 0/0 is NaN: its codes are 0, or the most negative int32 or
 * int64.
 *
 * Source: notebook 2.
 *
 * @param tensor  any shape, at least one element
 * @param dtype   an integer dtype; default: torch.int8
 * @returns (quantized_tensor, scale)
 * @throws {RangeError} RuntimeError for no elements
 */
export function linear_q_symmetric(...args: TensorAndDType): Tuple<[Tensor, number]> {
  const where = "linear_q_symmetric";
  const [tensor, dtype] = bindTensorAndDType(where, args);
  return quantizeSymmetric(where, tensor, dtype, dtype);
}

/**
 * `linear_q_symmetric` as notebook 5 has it: the scale always for int8, codes in `dtype`.
 * Source: notebook 5.
 */
export function linear_q_symmetric004(...args: TensorAndDType): Tuple<[Tensor, number]> {
  const where = "linear_q_symmetric004";
  const [tensor, dtype] = bindTensorAndDType(where, args);
  return quantizeSymmetric(where, tensor, dtypes.int8, dtype);
}

function quantizeSymmetric(
  where: string,
  tensor: Tensor,
  rangeDType: DType,
  dtype: DType,
): Tuple<[Tensor, number]> {
  const scale = chooseSymmetric(where, tensor, rangeDType);
  return tuple(linearQ(where, tensor, scale, 0, dtype), scale);
}

// ---------------------------------------------------------------------------------------------

/** Keywords of the per-channel functions. */
interface PerChannelKeywords {
  /** The dimension of the channels. */
  dim: number;
  /** Default: torch.int8. */
  dtype?: DType;
}

/**
 * Quantizes symmetrically with one scale for each index of a dimension.
 *
 *   scale[i] = float32(get_q_scale_symmetric(tensor.select(dim, i), dtype))
 *
 * Source: notebooks 2 and 3.
 *
 * @param tensor  any shape of at least one dimension; every channel needs an element
 * @param dim     the dimension, counted from the end if negative
 * @param dtype   an integer dtype; default: torch.int8
 * @returns (quantized_tensor, scale): float32, of size 1 in every dimension but `dim`
 * @throws {RangeError} IndexError for a dimension that the tensor does not have; RuntimeError for
 *   channels without elements
 */
export function linear_q_symmetric_per_channel(
  tensor: Tensor,
  dim: number,
  dtype?: DType | { dtype?: DType },
): Tuple<[Tensor, Tensor]>;
export function linear_q_symmetric_per_channel(
  tensor: Tensor,
  keywords: PerChannelKeywords,
): Tuple<[Tensor, Tensor]>;
export function linear_q_symmetric_per_channel(...args: unknown[]): Tuple<[Tensor, Tensor]> {
  const where = "linear_q_symmetric_per_channel";
  const [tensor, dim, dtype] = bindPerChannel(where, args);
  return quantizePerChannel(where, tensor, dim, dtype, dtype);
}

/**
 * `linear_q_symmetric_per_channel` as notebook 5 has it: scales always for int8, codes in `dtype`.
 * Source: notebook 5.
 */
export function linear_q_symmetric_per_channel004(
  tensor: Tensor,
  dim: number,
  dtype?: DType | { dtype?: DType },
): Tuple<[Tensor, Tensor]>;
export function linear_q_symmetric_per_channel004(
  tensor: Tensor,
  keywords: PerChannelKeywords,
): Tuple<[Tensor, Tensor]>;
export function linear_q_symmetric_per_channel004(...args: unknown[]): Tuple<[Tensor, Tensor]> {
  const where = "linear_q_symmetric_per_channel004";
  const [tensor, dim, dtype] = bindPerChannel(where, args);
  return quantizePerChannel(where, tensor, dim, dtypes.int8, dtype);
}

function bindPerChannel(where: string, args: readonly unknown[]): [Tensor, unknown, DType] {
  // Notebook 2 calls the first parameter r_tensor.
  const first = hasKeyword(args, "r_tensor") ? "r_tensor" : "tensor";
  const parameters = [first, "dim", "dtype?"];
  const [tensor, dim, dtype] = bindArguments(where, parameters, args);
  return [checkTensor(where, "tensor", tensor), dim, checkDType(where, dtype ?? dtypes.int8)];
}

function quantizePerChannel(
  where: string,
  tensor: Tensor,
  dim: unknown,
  rangeDType: DType,
  dtype: DType,
): Tuple<[Tensor, Tensor]> {
  if (tensor.dim() === 0) {
    throw pythonError("IndexError", `${where}: a 0-d tensor has no dimensions to choose from`);
  }
  const axis = checkAxis(where, dim, tensor.dim());
  const channels = tensor.shape[axis];
  const scale = tensorOf(allocate(dtypes.float32, [channels]));
  for (let index = 0; index < channels; index++) {
    scale.set(index, chooseSymmetric(where, tensor.select(axis, index), rangeDType));
  }
  const shape = tensor.shape.map((_, other) => (other === axis ? channels : 1));
  const shaped = scale.view(shape);
  return tuple(linearQ(where, tensor, shaped, 0, dtype), shaped);
}

// ---------------------------------------------------------------------------------------------

/** Keywords of the per-group functions. */
interface PerGroupKeywords {
  /** How many elements of a row share a scale. */
  group_size: number;
  /** Default: torch.int8. */
  dtype?: DType;
}

/**
 * Quantizes symmetrically with one scale for every `group_size` consecutive elements of a row.
 *
 * Source: notebook 5, with `dtype` honoured; `linear_q_symmetric_per_group004` is notebook 5's own.
 *
 * @param tensor      [rows, columns], contiguous
 * @param group_size  divides the number of columns
 * @param dtype       an integer dtype; default: torch.int8
 * @returns (quantized_tensor, scale): [rows, columns], and float32 [rows * columns / group_size, 1]
 * @throws {RangeError} checked in this order: IndexError for less than two dimensions;
 *   ZeroDivisionError for a group size of 0; AssertionError if it does not divide, then if there
 *   are more than two dimensions; RuntimeError for a negative group size and for a tensor that is
 *   not contiguous
 */
export function linear_q_symmetric_per_group(
  tensor: Tensor,
  group_size: number,
  dtype?: DType | { dtype?: DType },
): Tuple<[Tensor, Tensor]>;
export function linear_q_symmetric_per_group(
  tensor: Tensor,
  keywords: PerGroupKeywords,
): Tuple<[Tensor, Tensor]>;
export function linear_q_symmetric_per_group(...args: unknown[]): Tuple<[Tensor, Tensor]> {
  const where = "linear_q_symmetric_per_group";
  const [tensor, groupSize, dtype] = bindPerGroup(where, args);
  return quantizePerGroup(where, tensor, groupSize, dtype, dtype);
}

/**
 * `linear_q_symmetric_per_group` as notebook 5 has it: scales always for int8, codes in `dtype`.
 * Source: notebook 5.
 */
export function linear_q_symmetric_per_group004(
  tensor: Tensor,
  group_size: number,
  dtype?: DType | { dtype?: DType },
): Tuple<[Tensor, Tensor]>;
export function linear_q_symmetric_per_group004(
  tensor: Tensor,
  keywords: PerGroupKeywords,
): Tuple<[Tensor, Tensor]>;
export function linear_q_symmetric_per_group004(...args: unknown[]): Tuple<[Tensor, Tensor]> {
  const where = "linear_q_symmetric_per_group004";
  const [tensor, groupSize, dtype] = bindPerGroup(where, args);
  return quantizePerGroup(where, tensor, groupSize, dtypes.int8, dtype);
}

function bindPerGroup(where: string, args: readonly unknown[]): [Tensor, number, DType] {
  const parameters = ["tensor", "group_size", "dtype?"];
  const [tensor, groupSize, dtype] = bindArguments(where, parameters, args);
  return [
    checkTensor(where, "tensor", tensor),
    checkInteger(where, "group_size", groupSize),
    checkDType(where, dtype ?? dtypes.int8),
  ];
}

function quantizePerGroup(
  where: string,
  tensor: Tensor,
  groupSize: number,
  rangeDType: DType,
  dtype: DType,
): Tuple<[Tensor, Tensor]> {
  const { shape } = tensor;
  const text = showShape(shape);
  if (shape.length < 2) {
    throw pythonError(
      "IndexError",
      `${where}: the tensor must have two dimensions, got shape ${text}`,
    );
  }
  if (groupSize === 0) throw pythonError("ZeroDivisionError", `${where}: group_size must not be 0`);
  if (shape[1] % groupSize !== 0) {
    throw pythonError(
      "AssertionError",
      `${where}: group_size ${groupSize} must divide the ${shape[1]} columns of shape ${text}`,
    );
  }
  if (shape.length !== 2) {
    throw pythonError(
      "AssertionError",
      `${where}: the tensor must have two dimensions, got shape ${text}`,
    );
  }
  const groups = tensor.view(-1, groupSize);
  const [codes, scale] = quantizePerChannel(where, groups, 0, rangeDType, dtype);
  return tuple(codes.view(shape), scale);
}

/**
 * Dequantizes what `linear_q_symmetric_per_group` made.
 *
 * Source: notebook 5.
 *
 * @param quantized_tensor  codes, contiguous
 * @param scale             [number of elements / group_size, 1]
 * @param group_size        consecutive elements that share a scale
 * @returns float32, of the codes' shape
 * @throws {RangeError} RuntimeError for scales that do not fit the groups
 */
export function linear_dequantization_per_group(
  quantized_tensor: Tensor,
  scale: TensorOrScalar,
  group_size: number,
): Tensor;
export function linear_dequantization_per_group(
  quantized_tensor: Tensor,
  scale: TensorOrScalar,
  keywords: { group_size: number },
): Tensor;
export function linear_dequantization_per_group(
  quantized_tensor: Tensor,
  keywords: { scale: TensorOrScalar; group_size: number },
): Tensor;
export function linear_dequantization_per_group(...args: unknown[]): Tensor {
  const where = "linear_dequantization_per_group";
  const parameters = ["quantized_tensor", "scale", "group_size"];
  const [given, scale, groupSize] = bindArguments(where, parameters, args);
  const codes = checkTensor(where, "quantized_tensor", given);
  const groups = codes.view(-1, checkInteger(where, "group_size", groupSize));
  return linearDequantization(where, groups, scale, 0).view(codes.shape);
}

// ---------------------------------------------------------------------------------------------

/** Ways to measure an error. */
export type ErrorType = "mse" | "mae";

/**
 * How far a dequantized tensor is from the original.
 *
 *   "mse"  mean((original - dequantized)^2)
 *   "mae"  mean(|original - dequantized|)
 *
 * in float32, in PyTorch's order of addition.
 *
 * Source: notebook 2.
 *
 * @param original_tensor, dequantized_tensor  of one shape
 * @param error_type  default: "mse"
 * @returns a number that float32 holds; NaN for no elements
 * @throws checked in this order: {TypeError} if only one is a tensor; {RangeError} ValueError if
 *   the shapes differ; {TypeError} if neither is a tensor; {RangeError} RuntimeError for bools,
 *   ValueError for an unknown `error_type`, RuntimeError for integers
 */
export function quantization_error(
  original_tensor: Tensor,
  dequantized_tensor: Tensor,
  error_type?: ErrorType | { error_type?: ErrorType },
): number;
export function quantization_error(...args: unknown[]): number {
  const where = "quantization_error";
  const parameters = ["original_tensor", "dequantized_tensor", "error_type?"];
  const [original, dequantized, errorType = "mse"] = bindArguments(where, parameters, args);
  if (kindOf(original) !== kindOf(dequantized)) {
    throw pythonError(
      "TypeError",
      `${where}: both must be tensors, got ${show(original)} and ${show(dequantized)}`,
    );
  }
  const shapes = [original, dequantized].map((each) => (each instanceof Tensor ? each.shape : []));
  if (!sameShape(shapes[0], shapes[1])) {
    const texts = shapes.map(showShape).join(" and ");
    throw pythonError("ValueError", `${where}: the shapes differ: ${texts}`);
  }
  const a = checkTensor(where, "original_tensor", original);
  const b = checkTensor(where, "dequantized_tensor", dequantized);
  const isKnown = errorType === "mse" || errorType === "mae";
  const bothFloat32 = a.dtype === dtypes.float32 && b.dtype === dtypes.float32;
  if (isKnown && bothFloat32 && a.is_contiguous() && b.is_contiguous()) {
    const [aValues, bValues] = [elements(viewOf(a)), elements(viewOf(b))];
    return core.quantizationError(
      where,
      errorType,
      aValues as Float32Array,
      bValues as Float32Array,
    );
  }
  const difference = a.sub(b);
  if (!isKnown) {
    throw pythonError(
      "ValueError",
      `${where}: error_type must be "mse" or "mae", got ${show(errorType)}`,
    );
  }
  const terms = errorType === "mse" ? difference.square() : difference.abs();
  if (!terms.is_floating_point()) {
    throw pythonError(
      "RuntimeError",
      `${where}: takes float tensors, got ${a.dtype} and ${b.dtype}; convert with float() first`,
    );
  }
  return terms.mean().item();
}

function kindOf(value: unknown): unknown {
  return typeof value === "object" && value !== null ? Object.getPrototypeOf(value) : typeof value;
}

// ---------------------------------------------------------------------------------------------

/**
 * A linear layer with int8 weights and float32 activations, as notebook 5 has it.
 *
 *   torch.nn.functional.linear(input, q_w.to(torch.float32) * s_w + z_w)
 *
 * The zero point is added, in units of the weights, where `(q_w - z_w) * s_w` would be right; this
 * makes no difference for symmetric weights, whose zero point is 0. `QuantizedLinear` of
 * "zeropoint" does it right.
 *
 * Source: notebook 5.
 *
 * @param input  float32 [..., K]
 * @param q_w    int8 [N, K]
 * @param s_w, z_w  numbers, or tensors that broadcast with `q_w`
 * @returns float32 [..., N], accumulated in double precision
 * @throws {RangeError} AssertionError for other dtypes; RuntimeError for shapes that do not fit
 */
export function quantized_linear_W8A32_without_bias(
  input: Tensor,
  q_w: Tensor,
  s_w: TensorOrScalar,
  z_w: TensorOrScalar,
): Tensor;
export function quantized_linear_W8A32_without_bias(
  input: Tensor,
  keywords: { q_w: Tensor; s_w: TensorOrScalar; z_w: TensorOrScalar },
): Tensor;
export function quantized_linear_W8A32_without_bias(...args: unknown[]): Tensor {
  const where = "quantized_linear_W8A32_without_bias";
  const [x, q, s, z] = bindArguments(where, ["input", "q_w", "s_w", "z_w"], args);
  const input = checkTensor(where, "input", x);
  const codes = checkTensor(where, "q_w", q);
  if (input.dtype !== dtypes.float32) {
    throw pythonError(
      "AssertionError",
      `${where}: input must be torch.float32, got ${input.dtype}`,
    );
  }
  if (codes.dtype !== dtypes.int8) {
    throw pythonError("AssertionError", `${where}: q_w must be torch.int8, got ${codes.dtype}`);
  }
  operandOf(where, "s_w", s);
  operandOf(where, "z_w", z);
  const weight = codes
    .float()
    .mul(s as TensorOrScalar)
    .add(z as TensorOrScalar);
  return linear(where, input, weight, undefined);
}

/** Notebook 5's functions that do the same as the others. */
export {
  linear_dequantization as linear_dequantization004,
  linear_dequantization_per_group as linear_dequantization_per_group004,
  linear_q_with_scale_and_zero_point as linear_q_with_scale_and_zero_point004,
  quantized_linear_W8A32_without_bias as quantized_linear_W8A32_without_bias004,
};
