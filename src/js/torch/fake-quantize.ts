// torch.fake_quantize_per_tensor_affine and its per-channel form.

import type { Limits } from "../base/dtype.js";
import { rangeError, typeError } from "../base/errors.js";
import { arrayName } from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import { activeCore } from "../core/init.js";
import { type CheckedTensor, readTensor, TensorFields, type TensorInput } from "../tensor/check.js";
import { checkQuantLimit } from "../tensor/codes.js";
import { checkTensorOut, type Tensor } from "../tensor/tensor.js";
import { runTorch } from "./elementwise.js";
import {
  checkFloatTensor,
  checkTorchOptions,
  type TorchFakeQuantizeOptions,
  type TorchScale,
  type TorchScales,
  type TorchZeroPoint,
  type TorchZeroPoints,
} from "./options.js";
import { checkChannels, checkOneScale, checkOneZeroPoint, type TorchQParams } from "./scales.js";

function checkQuantRange(where: string, quantMin: unknown, quantMax: unknown): Limits {
  const low = checkQuantLimit(where, "quantMin", quantMin);
  const high = checkQuantLimit(where, "quantMax", quantMax);
  if (low <= high) return { qmin: low, qmax: high };
  throw rangeError(
    "ZP_INVALID_QUANT_RANGE",
    where,
    `quantMin must be at most quantMax, got ${low} and ${high}`,
  );
}

/**
 * Quantizes and dequantizes in one pass, as quantization-aware training does in its forward pass:
 *
 *     n = round_half_even(x[i] · (1 / scale)) + zeroPoint
 *     out[i] = (clamp(n, quantMin, quantMax) − zeroPoint) · scale
 *
 * Infinities saturate and NaN becomes 0; with `compat: "torch"` NaN and all values outside int64 become
 * the value of quantMin.
 *
 * Source: torch.fake_quantize_per_tensor_affine. `fakeQuantize` divides and adds before it rounds.
 *
 * @param x          float32, any shape
 * @param scale      units per step: a number, or a tensor of one value; rounded to float32
 * @param zeroPoint  an integer from quantMin to quantMax, or a tensor of one value
 * @param quantMin, quantMax  the smallest and largest code; integers within int32
 * @param options.compat  `"torch"`: PyTorch's results for NaN, infinities and overflow
 * @param options.out     array for the values; must not overlap `x`
 * @returns float32, of x's shape
 * @throws {TypeError} `ZP_INVALID_TENSOR` for anything but float32, `ZP_INVALID_SCALE`
 * @throws {RangeError} `ZP_INVALID_ZERO_POINT`, `ZP_INVALID_QUANT_RANGE`, `ZP_INVALID_OUT`,
 *   `ZP_OUT_OF_MEMORY`
 * @example fakeQuantizePerTensor(tensor([0.3, 9]), 0.5, 0, 0, 15).data // Float32Array [0.5, 7.5]
 */
export function fakeQuantizePerTensor(
  x: TensorInput,
  scale: TorchScale,
  zeroPoint: TorchZeroPoint,
  quantMin: number,
  quantMax: number,
  options?: TorchFakeQuantizeOptions,
): Tensor {
  const where = "fakeQuantizePerTensor";
  const core = activeCore(where);
  const task = checkFakePerTensor(where, x, scale, zeroPoint, quantMin, quantMax);
  return fakeQuantizeChecked(core, where, task, options);
}

/** A tensor to quantize and dequantize, with qparams and limits. */
interface ToFakeQuantize {
  readonly x: CheckedTensor;
  readonly limits: Limits;
  readonly qparams: TorchQParams;
}

/** Checks the arguments of `fakeQuantizePerTensor`. */
function checkFakePerTensor(
  where: string,
  x: unknown,
  scale: unknown,
  zeroPoint: unknown,
  quantMin: unknown,
  quantMax: unknown,
): ToFakeQuantize {
  const checked = checkFloatTensor(where, x);
  const step = checkOneScale(where, "scale", scale);
  const limits = checkQuantRange(where, quantMin, quantMax);
  const zero = checkOneZeroPoint(where, "zeroPoint", zeroPoint, limits, "this quant range");
  return { x: checked, limits, qparams: { scale: step, zeroPoint: zero } };
}

/** Quantizes and dequantizes a checked tensor. Checks the options. */
function fakeQuantizeChecked(
  core: Core,
  where: string,
  { x, limits, qparams }: ToFakeQuantize,
  options: unknown,
): Tensor {
  const { overflow, out } = checkTorchOptions(where, options);
  const { result, data } = checkTensorOut(where, "options.out", out, x.shape, x.size, [x.data]);
  const operation = { kind: "fakeQuantize", ...limits, overflow } as const;
  runTorch(core, where, x, qparams, operation, data);
  return result;
}

/**
 * Quantizes and dequantizes in one pass with one scale and zero point per index of an axis.
 *
 * Integer zero points are added after rounding, as in `fakeQuantizePerTensor`; floating ones before
 * it, in separately rounded operations. PyTorch's AVX2 build fuses some of them, so that results may
 * differ within an ulp of a tie.
 *
 * Source: torch.fake_quantize_per_channel_affine.
 *
 * @param x           float32 with at least one axis
 * @param scales      float32 of shape [x.shape[axis]]
 * @param zeroPoints  of the same shape: an Int32Array or a list of integers from quantMin to quantMax,
 *   or a Float32Array; PyTorch takes no int64 here
 * @param axis        0 <= axis < rank
 * @param quantMin, quantMax  the smallest and largest code; integers within int32
 * @param options     as in `fakeQuantizePerTensor`
 * @returns float32, of x's shape
 * @throws {TypeError} `ZP_INVALID_TENSOR`, `ZP_INVALID_SCALE`, `ZP_INVALID_ZERO_POINT`
 * @throws {RangeError} `ZP_INVALID_AXIS`, `ZP_SHAPE_MISMATCH`, and as `fakeQuantizePerTensor`
 * @example fakeQuantizePerChannel(tensor([[0.3], [30]]), [0.5, 20], [0, 0], 0, 0, 15).data
 * // Float32Array [0.5, 40]
 */
export function fakeQuantizePerChannel(
  x: TensorInput,
  scales: TorchScales,
  zeroPoints: TorchZeroPoints,
  axis: number,
  quantMin: number,
  quantMax: number,
  options?: TorchFakeQuantizeOptions,
): Tensor {
  const where = "fakeQuantizePerChannel";
  const core = activeCore(where);
  const task = checkFakePerChannel(where, x, scales, zeroPoints, axis, quantMin, quantMax);
  return fakeQuantizeChecked(core, where, task, options);
}

/** Checks the arguments of `fakeQuantizePerChannel`. */
function checkFakePerChannel(
  where: string,
  x: unknown,
  scales: unknown,
  zeroPoints: unknown,
  axis: unknown,
  quantMin: unknown,
  quantMax: unknown,
): ToFakeQuantize {
  const checked = checkFloatTensor(where, x);
  const limits = checkQuantRange(where, quantMin, quantMax);
  const [givenScales, givenZeros] = [readTensor(scales), readTensor(zeroPoints)];
  const zeroType = dataType(givenZeros);
  if (zeroType !== undefined && !["Int32Array", "Float32Array"].includes(zeroType)) {
    throw typeError(
      "ZP_INVALID_ZERO_POINT",
      where,
      `zeroPoints must be an Int32Array, a Float32Array or a list, got type ${zeroType}`,
    );
  }
  const scaleType = dataType(givenScales);
  if (scaleType !== undefined && scaleType !== "Float32Array") {
    throw typeError(
      "ZP_INVALID_SCALE",
      where,
      `scales must be a Float32Array or a list, got type ${scaleType}`,
    );
  }
  const qparams = checkChannels(
    where,
    { scales: "scales", zeroPoints: "zeroPoints", axis: "axis" },
    givenScales,
    givenZeros,
    axis,
    checked.shape,
    limits,
    "this quant range",
  );
  return { x: checked, limits, qparams };
}

/** The type of a typed array, or of a tensor's data. */
function dataType(value: unknown): string | undefined {
  return arrayName(value instanceof TensorFields ? value.data : value);
}
