// linear_q_with_scale_and_zero_point and linear_dequantization.

import * as core from "../core.js";
import { checkOperand } from "../operations/operation.js";
import { bindArguments, hasKeyword } from "../python/arguments.js";
import { cast, fromInt64, isScalar, type Scalar, scalarStorage } from "../tensor/cast.js";
import {
  checkDType,
  type DType,
  dtypes,
  iinfo,
  integerLimits,
  type NumberStorage,
} from "../tensor/dtype.js";
import { commonLayout, keptStrides, type Layout } from "../tensor/layout.js";
import { resultType } from "../tensor/promotion.js";
import { checkTensor, Tensor, type TensorOrScalar, tensorOf, viewOf } from "../tensor/tensor.js";
import { elements, permute, stretch, type View } from "../tensor/view.js";

const FLOAT32_VIEW = { dtype: dtypes.float32 };

/** A scale or zero point in the core's form, if the core accepts it. */
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

/** Permutes a tensor's axes into the order in which a result stores them, slowest first. */
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
 * because float32 rounds the upper bound up to 2^31; the same holds for int64.
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

export function linearQ(
  where: string,
  tensorArgument: unknown,
  scaleArgument: unknown,
  zeroPointArgument: unknown,
  dtypeArgument: unknown = dtypes.int8,
): Tensor {
  const tensor = checkTensor(where, "tensor", tensorArgument);
  const scale = checkOperand(where, "scale", scaleArgument);
  const zeroPoint = checkOperand(where, "zero_point", zeroPointArgument);
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
  // The operations after the division have one operand, the quotient.
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

export function linearDequantization(
  where: string,
  codesArgument: unknown,
  scaleArgument: unknown,
  zeroPointArgument: unknown,
): Tensor {
  const codes = checkTensor(where, "quantized_tensor", codesArgument);
  const scale = checkOperand(where, "scale", scaleArgument);
  const zeroPoint = checkOperand(where, "zero_point", zeroPointArgument);
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
