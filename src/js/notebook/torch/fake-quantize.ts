// torch.fake_quantize_per_tensor_affine and torch.fake_quantize_per_channel_affine.

import { fakeQuantizePerChannel, fakeQuantizePerTensor } from "../../torch/fake-quantize.js";
import { bindArguments } from "../python/arguments.js";
import { pythonError } from "../python/errors.js";
import { PythonFloat, plain } from "../tensor/cast.js";
import { dtypes } from "../tensor/dtype.js";
import { checkTensor, type Tensor } from "../tensor/tensor.js";
import { checkFloat32, runToolkit, tensorFrom } from "./quantized.js";

/** PyTorch reports values that do not fit as RuntimeErrors. */
const EXCEPTIONS = {
  ZP_INVALID_SCALE: "RuntimeError",
  ZP_INVALID_ZERO_POINT: "RuntimeError",
} as const;

/**
 * Quantizes and dequantizes with one scale and zero point for the whole tensor.
 *
 * Source: `torch.fake_quantize_per_tensor_affine`.
 *
 * @param input       float32
 * @param scale       a number, or a tensor of one value
 * @param zero_point  an integer from quant_min to quant_max, or a tensor of one value
 * @param quant_min, quant_max  the smallest and largest code
 * @returns float32, of the input's shape
 * @throws {TypeError} TypeError
 * @throws {RangeError} RuntimeError for an input that is not float32, and for qparams that do not fit
 * @example torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255)
 */
export function fake_quantize_per_tensor_affine(
  input: Tensor,
  scale: Tensor | number,
  zero_point: Tensor | number,
  quant_min: number,
  quant_max: number | { quant_max: number },
): Tensor;

export function fake_quantize_per_tensor_affine(...args: unknown[]): Tensor {
  const where = "torch.fake_quantize_per_tensor_affine";
  const parameters = ["input", "scale", "zero_point", "quant_min", "quant_max"];
  const [input, scale, zeroPoint, least, most] = bindArguments(where, parameters, args);
  const x = checkFloat32(where, input);
  if (zeroPoint instanceof PythonFloat) {
    throw pythonError("TypeError", `${where}: zero_point must be an int, got ${zeroPoint}`);
  }
  const { data, shape } = runToolkit(
    where,
    () =>
      fakeQuantizePerTensor(
        x,
        plain(scale) as number,
        zeroPoint as number,
        least as number,
        most as number,
        { compat: "torch" },
      ),
    EXCEPTIONS,
  );
  return tensorFrom(data, dtypes.float32, shape);
}

/**
 * Quantizes and dequantizes with a scale and a zero point for every index of a dimension.
 *
 * Source: `torch.fake_quantize_per_channel_affine`.
 *
 * @param input       float32
 * @param scale       float32 of one dimension, as long as input's dimension `axis`
 * @param zero_point  int32 or float32, of the same length
 * @param axis        the dimension of the channels, counted from 0 only
 * @param quant_min, quant_max  the smallest and largest code
 * @returns float32, of the input's shape
 * @throws {TypeError} TypeError
 * @throws {RangeError} RuntimeError for an input that is not float32, and for lengths, dtypes or qparams that do not fit
 */
export function fake_quantize_per_channel_affine(
  input: Tensor,
  scale: Tensor,
  zero_point: Tensor,
  axis: number,
  quant_min: number,
  quant_max: number | { quant_max: number },
): Tensor;

export function fake_quantize_per_channel_affine(...args: unknown[]): Tensor {
  const where = "torch.fake_quantize_per_channel_affine";
  const parameters = ["input", "scale", "zero_point", "axis", "quant_min", "quant_max"];
  const [input, scale, zeroPoint, axis, least, most] = bindArguments(where, parameters, args);
  const x = checkFloat32(where, input);
  const steps = checkTensor(where, "scale", scale) as Tensor & { data: Float32Array };
  const zeros = checkTensor(where, "zero_point", zeroPoint) as Tensor & { data: Int32Array };
  const { data, shape } = runToolkit(
    where,
    () =>
      fakeQuantizePerChannel(x, steps, zeros, axis as number, least as number, most as number, {
        compat: "torch",
      }),
    EXCEPTIONS,
  );
  return tensorFrom(data, dtypes.float32, shape);
}
