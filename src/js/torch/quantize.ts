// torch.quantize_per_tensor and torch.quantize_per_channel, bit for bit: multiply by the reciprocal of the
// scale, round, then add the zero point. quantize divides and adds before it rounds.

import { checkQDType } from "../base/check.js";
import { type CodesByQDType, DTYPES, type QDType } from "../base/dtype.js";
import { rangeError } from "../base/errors.js";
import { codesArray, copyOf, newArray } from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import { activeCore } from "../core/init.js";
import type { TensorInput } from "../tensor/check.js";
import type { Overflow } from "../wasm/baseline.js";
import { runTorch } from "./elementwise.js";
import { IntegerTensor } from "./integer-tensor.js";
import {
  checkCodesOut,
  checkFloatTensor,
  checkTorchOptions,
  type ToQuantize,
  type TorchQuantizeOptions,
  type TorchScale,
  type TorchScales,
  type TorchZeroPoint,
  type TorchZeroPoints,
} from "./options.js";
import { areOfChannels, checkChannels, checkOneScale, checkOneZeroPoint } from "./scales.js";
import {
  checkQTensor,
  perChannelTensor,
  perTensorTensor,
  type TorchQuantizedTensor,
  type TorchQuantizedTensorInput,
} from "./tensor.js";

/**
 * Quantizes with one scale and zero point for the whole tensor:
 *
 *     data[i] = clamp(round_half_even(x[i] · (1 / scale)) + zeroPoint, qmin, qmax)
 *
 * in separately rounded float32 operations; qint32 codes beyond 2²⁴ lose low bits. Infinities and values
 * out of range saturate and NaN becomes the zero point; with `compat: "torch"` NaN and all values
 * outside int64 become qmin.
 *
 * Source: torch.quantize_per_tensor. `quantize` divides by the scale and adds before it rounds.
 *
 * @param x          float32, any shape
 * @param scale      units per step: a number, or a tensor of one value. As in PyTorch, any number is
 *   accepted; 0 and small subnormal numbers have an infinite reciprocal, which makes the codes useless
 * @param zeroPoint  a code of the dtype: an integer, or a tensor of one value, which is truncated
 * @param dtype      `"qint8"`, `"quint8"` or `"qint32"`
 * @param options.compat  `"torch"`: PyTorch's codes for NaN, infinities and overflow
 * @param options.out     an array of the dtype's type for the codes; must not overlap `x`
 * @returns codes of x's shape with their qparams; the scale in double precision, as given
 * @throws {TypeError} `ZP_INVALID_TENSOR` for anything but float32, `ZP_INVALID_SCALE`,
 *   `ZP_INVALID_ZERO_POINT`
 * @throws {RangeError} `ZP_INVALID_ZERO_POINT` if the dtype does not hold it, `ZP_INVALID_DTYPE`,
 *   `ZP_INVALID_OUT`, `ZP_OUT_OF_MEMORY`
 * @example quantizePerTensor(tensor([0.5, 1.5]), 1, 1, "quint8").data // Uint8Array [1, 3]
 */
export function quantizePerTensor<D extends QDType>(
  x: TensorInput,
  scale: TorchScale,
  zeroPoint: TorchZeroPoint,
  dtype: D,
  options?: TorchQuantizeOptions<D>,
): TorchQuantizedTensor<D, "perTensor"> {
  const where = "quantizePerTensor";
  const core = activeCore(where);
  const task = checkPerTensor(where, x, scale, zeroPoint, dtype);
  const { overflow, out } = checkTorchOptions(where, options);
  return quantizeTorch(core, where, task, overflow, out) as TorchQuantizedTensor<D, "perTensor">;
}

/** Checks the arguments of `quantizePerTensor`. */
export function checkPerTensor<D extends QDType>(
  where: string,
  x: unknown,
  scale: unknown,
  zeroPoint: unknown,
  dtype: D,
): ToQuantize<D> {
  const checked = checkFloatTensor(where, x);
  // Checked before the dtype: an options object in the place of the scale is reported as a bad scale.
  const step = checkOneScale(where, "scale", scale);
  const name = checkQDType(where, "dtype", dtype) as D;
  const zero = checkOneZeroPoint(where, "zeroPoint", zeroPoint, DTYPES[name], `dtype ${name}`);
  return { x: checked, dtype: name, qparams: { scale: step, zeroPoint: zero } };
}

/** Quantizes a checked tensor. @param out  array for the codes, unchecked; default: a new array */
export function quantizeTorch<D extends QDType>(
  core: Core,
  where: string,
  task: ToQuantize<D>,
  overflow: Overflow = "saturate",
  out?: unknown,
): TorchQuantizedTensor<D> {
  const { x, dtype, qparams } = task;
  const codes = checkCodesOut(where, task, out) ?? newArray(where, codesArray(dtype), x.size);
  runTorch(core, where, x, qparams, { kind: "quantize", dtype, overflow }, codes);
  return quantizedFrom(task, codes);
}

/** Codes as a result of `quantizePerTensor` or `quantizePerChannel`. */
function quantizedFrom<D extends QDType>(
  { x: { shape }, dtype, qparams }: ToQuantize<D>,
  codes: CodesByQDType[D],
): TorchQuantizedTensor<D> {
  if (!areOfChannels(qparams)) return perTensorTensor(codes, shape, dtype, qparams);
  const { scales, zeroPoints } = qparams;
  // PyTorch stores scales in float32 if the zero points are floating.
  const isFloat = zeroPoints instanceof Float32Array;
  const kept = isFloat ? copyOf("quantizePerChannel", scales, Float32Array) : scales;
  return perChannelTensor(codes, shape, dtype, { ...qparams, scales: kept });
}

/**
 * Quantizes with one scale and zero point per index of an axis. The array type of the zero points
 * selects the scheme, as their dtype does in PyTorch:
 *
 *     integers   per_channel_affine                 clamp(round_half_even(x · (1 / scale)) + zero, …)
 *     floats     per_channel_affine_float_qparams   clamp(round_half_even(x · (1 / scale) + zero), …)
 *
 * Integers are an Int32Array (or another integer array), a BigInt64Array or a plain list; floats a
 * Float32Array or a Float64Array, also inside a tensor such as `tensor([0, 0, 0])`. With floats a scale
 * of 0 counts as 1.
 *
 * Source: torch.quantize_per_channel.
 *
 * @param x           float32 with at least one axis
 * @param scales      units per step, of shape [x.shape[axis]]: a Float32Array, a Float64Array (kept
 *   and dequantized in double precision), a list (rounded to float32), or a tensor of these
 * @param zeroPoints  codes of the dtype, of the same shape; floating ones: any number
 * @param axis        0 <= axis < rank; as in PyTorch it cannot be counted from the end
 * @param dtype       `"qint8"`, `"quint8"` or, with integer zero points, `"qint32"`
 * @param options.compat  `"torch"`: PyTorch's codes for NaN, infinities and overflow
 * @param options.out     an array of the dtype's type for the codes; must not overlap `x`
 * @returns codes of x's shape with their qparams, which have shape [1, …, n, …, 1]
 * @throws {TypeError} `ZP_INVALID_TENSOR`, `ZP_INVALID_SCALE` for scales that are not floating
 * @throws {RangeError} `ZP_INVALID_AXIS`, `ZP_SHAPE_MISMATCH`, `ZP_INVALID_ZERO_POINT`,
 *   `ZP_UNSUPPORTED_DTYPE` for qint32 with floating zero points (PyTorch divides by zero there),
 *   `ZP_INVALID_DTYPE`, `ZP_INVALID_OUT`, `ZP_OUT_OF_MEMORY`
 * @example
 * const x = tensor([[0.5, 1.5], [10, 20]]);
 * quantizePerChannel(x, [0.5, 10], [0, 1], 0, "qint8").data; // Int8Array [1, 3, 2, 3]
 */
export function quantizePerChannel<D extends QDType>(
  x: TensorInput,
  scales: TorchScales,
  zeroPoints: TorchZeroPoints,
  axis: number,
  dtype: D,
  options?: TorchQuantizeOptions<D>,
): TorchQuantizedTensor<D, "perChannel"> {
  const where = "quantizePerChannel";
  const core = activeCore(where);
  const task = checkPerChannel(where, x, scales, zeroPoints, axis, dtype);
  const { overflow, out } = checkTorchOptions(where, options);
  return quantizeTorch(core, where, task, overflow, out) as TorchQuantizedTensor<D, "perChannel">;
}

/** Checks the arguments of `quantizePerChannel`. */
export function checkPerChannel<D extends QDType>(
  where: string,
  x: unknown,
  scales: unknown,
  zeroPoints: unknown,
  axis: unknown,
  dtype: D,
): ToQuantize<D> {
  const checked = checkFloatTensor(where, x);
  const name = checkQDType(where, "dtype", dtype) as D;
  const qparams = checkChannels(
    where,
    { scales: "scales", zeroPoints: "zeroPoints", axis: "axis" },
    scales,
    zeroPoints,
    axis,
    checked.shape,
    DTYPES[name],
    `dtype ${name}`,
  );
  if (qparams.zeroPoints instanceof Float32Array && dtype === "qint32") {
    throw rangeError(
      "ZP_UNSUPPORTED_DTYPE",
      where,
      'dtype must be "qint8" or "quint8" with floating zero points, got "qint32"; an ' +
        `Int32Array or a list of zero points selects the integer scheme`,
    );
  }
  return { x: checked, dtype: name, qparams };
}

/**
 * The integers of a quantized tensor.
 *
 * Source: Tensor.int_repr().
 *
 * @param q  a result of `quantizePerTensor` or `quantizePerChannel`
 * @returns a copy of `q.data` with q's shape; int8, uint8 or int32
 * @throws {TypeError|RangeError} as `dequantize` for its `q`
 * @example String(intRepr(quantizePerTensor(tensor([1, 2]), 1, 0, "qint8")))
 * // "tensor([1, 2], dtype=torch.int8)"
 */
export function intRepr<D extends QDType>(
  q: TorchQuantizedTensorInput<D>,
): IntegerTensor<CodesByQDType[D]> {
  const where = "intRepr";
  const { codes, shape, size, dtype } = checkQTensor(where, "q", q);
  const data = copyOf(where, codes, codesArray(dtype as D), size);
  const name = dtype.slice(1) as "int8" | "uint8" | "int32";
  return new IntegerTensor(data, shape, name);
}
