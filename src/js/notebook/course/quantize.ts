// linear_quantization, linear_q_symmetric and their forms per channel and per group.

import { showShape } from "../../base/format-value.js";
import { bindArguments, hasKeyword } from "../python/arguments.js";
import { type Tuple, tuple } from "../python/builtins.js";
import { pythonError } from "../python/errors.js";
import { checkDType, type DType, dtypes } from "../tensor/dtype.js";
import { checkTensor, type Tensor, type TensorOrScalar, tensorOf } from "../tensor/tensor.js";
import { allocate, checkAxis, checkInteger } from "../tensor/view.js";
import { quantized_linear_W8A32_without_bias } from "./linear.js";
import {
  linear_dequantization,
  linear_q_with_scale_and_zero_point,
  linearDequantization,
  linearQ,
} from "./linear-q.js";
import {
  bindTensorAndDType,
  chooseAffine,
  chooseSymmetric,
  type TensorAndDType,
} from "./qparams.js";

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
 * Dequantizes a result of `linear_q_symmetric_per_group`.
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

/** Notebook 5's functions that do the same as the others. */
export {
  linear_dequantization as linear_dequantization004,
  linear_dequantization_per_group as linear_dequantization_per_group004,
  linear_q_with_scale_and_zero_point as linear_q_with_scale_and_zero_point004,
  quantized_linear_W8A32_without_bias as quantized_linear_W8A32_without_bias004,
};
