// PyTorch's own quantization functions, bit for bit: torch.quantize_per_tensor and its kin.
//
// They multiply by the reciprocal of the scale and round before adding the zero point, where the
// functions of the course notebooks (quantize, dequantize, fakeQuantize) divide and add before.

import { arrayName, checkStillThere, codesArray, newArray } from "./arrays.js";
import { runJob } from "./async/background.js";
import {
  type CheckedTensor,
  checkBoolean,
  checkChoice,
  checkOptions,
  checkOut,
  checkQDType,
  checkQuantLimit,
  checkTensor,
  type TensorInput,
} from "./check.js";
import type { Overflow } from "./core/baseline.js";
import type { Core } from "./core.js";
import type { OutOption } from "./dequantize.js";
import { type CodesByQDType, DTYPES, type Limits, type QDType } from "./dtype.js";
import { rangeError, typeError } from "./errors.js";
import { activeCore } from "./init.js";
import {
  checkChannels,
  checkOneScale,
  checkOneZeroPoint,
  checkQTensor,
  IntegerTensor,
  perChannelTensor,
  perTensorTensor,
  type TorchQParams,
  type TorchQuantizedTensor,
  type TorchQuantizedTensorInput,
} from "./qtensor.js";
import { checkTensorOut, type Tensor } from "./tensor.js";
import { tensorRange } from "./tiles.js";
import { runTorch } from "./torch-elementwise.js";
import { chooseActivation, nonFiniteValues } from "./torch-qparams.js";
import { done, type Procedure } from "./work.js";

/** What PyTorch itself does where it does what nobody would expect. */
export interface CompatOption {
  /**
   * `"torch"` reproduces PyTorch for NaN, infinities and values that no int32 holds. Default: they
   * are treated soundly, and all others are as in PyTorch.
   */
  compat?: "torch" | undefined;
}

/** What `quantizePerTensor` and its kin take beside their arguments. */
export interface TorchQuantizeOptions<D extends QDType = QDType> extends CompatOption {
  /** Where to write the codes; an array of the dtype's type, apart from `x`. */
  out?: CodesByQDType[D] | undefined;
}

/** What `fakeQuantizePerTensor` and its kin take beside their arguments. */
export interface TorchFakeQuantizeOptions extends CompatOption, OutOption {}

/** One scale: a number, or a tensor of one value, whose float32 value is taken as it is. */
export type TorchScale = number | TensorInput;

/** One zero point: an integer, or a tensor of one value, which is truncated to one. */
export type TorchZeroPoint = number | TensorInput | BigInt64Array;

/** Scales of channels: one axis; float32, or float64 if given in a Float64Array. */
export type TorchScales = TensorInput | readonly number[];

/**
 * Zero points of channels: one axis. In an array of floats, as torch.zeros(n) is, they select another
 * scheme than integers do (Int32Array, BigInt64Array or a list), whatever their values.
 */
export type TorchZeroPoints = TensorInput | readonly number[] | BigInt64Array;

/** true if `compat: "torch"` is asked for. */
export function checkCompat(where: string, value: unknown): boolean {
  if (value === undefined) return false;
  return checkChoice(where, "options.compat", value, ["torch"], undefined) === "torch";
}

/** What every function here takes beside its arguments, and `others`; `out` has yet to be checked. */
export function checkTorchOptions(
  where: string,
  options: unknown,
  others: readonly string[] = [],
): {
  readonly given: Record<string, unknown>;
  readonly overflow: Overflow;
  readonly out: unknown;
} {
  const given = checkOptions(where, options, ["compat", "out", ...others]);
  const { compat, out } = given;
  return { given, overflow: checkCompat(where, compat) ? "torch" : "saturate", out };
}

/** A tensor that PyTorch would take too: float32, no other floats, no integers. */
function checkFloatTensor(where: string, value: unknown): CheckedTensor {
  const checked = checkTensor(where, "x", value);
  const name = arrayName(checked.data);
  if (name === "Float32Array") return checked;
  throw typeError(
    "ZP_INVALID_TENSOR",
    where,
    "x must be a float32 tensor, as PyTorch's function takes no other, got data of type " +
      `${name}; tensor(…) rounds it to float32`,
  );
}

/** The array that codes are to be written to, if one is given. */
export function checkCodesOut<D extends QDType>(
  where: string,
  { x: { data, size }, dtype }: Pick<ToQuantize<D>, "x" | "dtype">,
  out: unknown,
): CodesByQDType[D] | undefined {
  if (out === undefined) return undefined;
  const { arrayName: wanted } = DTYPES[dtype];
  return checkOut(where, "options.out", out, wanted, size, [data]) as CodesByQDType[D];
}

/**
 * Quantizes with one scale and zero point for the whole tensor:
 *
 *     data[i] = clamp(round_half_even(x[i] · (1 / scale)) + zeroPoint, qmin, qmax)
 *
 * in separately rounded float32 operations; a qint32 loses low bits beyond 2²⁴. Infinities and values
 * too large saturate and NaN becomes the zero point; with `compat: "torch"` all values that no int64
 * holds become qmin.
 *
 * Source: torch.quantize_per_tensor. `quantize` divides by the scale and adds before it rounds.
 *
 * @param x          float32, any shape
 * @param scale      units per step: a number, or a tensor of one value. As in PyTorch it may be
 *   anything; 0 and subnormal numbers have an infinite reciprocal and so no sensible codes
 * @param zeroPoint  a code of the dtype: an integer, or a tensor of one value, which is truncated
 * @param dtype      `"qint8"`, `"quint8"` or `"qint32"`
 * @param options.compat  `"torch"`: PyTorch's codes for NaN, infinities and overflow
 * @param options.out     an array of the dtype's type for the codes, apart from `x`
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
  return quantizeChecked(core, where, task, overflow, out) as TorchQuantizedTensor<D, "perTensor">;
}

/** A tensor to be quantized, and how. */
export interface ToQuantize<D extends QDType = QDType> {
  readonly x: CheckedTensor;
  readonly dtype: D;
  readonly qparams: TorchQParams;
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
  // Options in the place of the scale are told as what they are, not as a missing dtype.
  const step = checkOneScale(where, "scale", scale);
  const name = checkQDType(where, "dtype", dtype) as D;
  const zero = checkOneZeroPoint(where, "zeroPoint", zeroPoint, DTYPES[name], `dtype ${name}`);
  return { x: checked, dtype: name, qparams: { scale: step, zeroPoint: zero } };
}

/** Quantizes what is checked. @param out  where the codes go, unchecked; default: a new array */
function quantizeChecked<D extends QDType>(
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

/** Has a tensor quantized. */
export function quantizing<D extends QDType>(
  core: Core,
  where: string,
  task: ToQuantize<D>,
): Procedure<TorchQuantizedTensor<D>> {
  return done({
    amount: task.x.size,
    here: () => quantizeChecked(core, where, task),
    away: (own) =>
      runJob(core, where, own, "quantizeTorch", task, "saturate", undefined) as Promise<
        TorchQuantizedTensor<D>
      >,
  });
}

/** Codes as what `quantizePerTensor` or `quantizePerChannel` returns. */
export function quantizedFrom<D extends QDType>(
  { x: { shape }, dtype, qparams }: ToQuantize<D>,
  codes: CodesByQDType[D],
): TorchQuantizedTensor<D> {
  if (!("axis" in qparams)) return perTensorTensor(codes, shape, dtype, qparams);
  const { scales, zeroPoints } = qparams;
  // PyTorch keeps the scales beside floating zero points in float32.
  const kept = zeroPoints instanceof Float32Array ? Float32Array.from(scales) : scales;
  return perChannelTensor(codes, shape, dtype, { ...qparams, scales: kept });
}

/**
 * Quantizes with one scale and zero point per index of an axis. The kind of array that the zero points
 * come in selects the scheme, as their dtype does in PyTorch:
 *
 *     integers   per_channel_affine                 clamp(round_half_even(x · (1 / scale)) + zero, …)
 *     floats     per_channel_affine_float_qparams   clamp(round_half_even(x · (1 / scale) + zero), …)
 *
 * Integers are an Int32Array (or another integer array), a BigInt64Array or a plain list; floats a
 * Float32Array or a Float64Array, so also what `tensor([0, 0, 0])` makes. With floats a scale of 0
 * counts as 1.
 *
 * Source: torch.quantize_per_channel.
 *
 * @param x           float32 with at least one axis
 * @param scales      units per step, of shape [x.shape[axis]]: a Float32Array, a Float64Array (kept
 *   and dequantized in double precision), a list (rounded to float32), or a tensor of these
 * @param zeroPoints  codes of the dtype, of the same shape; floats may be any
 * @param axis        0 <= axis < rank; as in PyTorch it cannot be counted from the end
 * @param dtype       `"qint8"`, `"quint8"` or, with integer zero points, `"qint32"`
 * @param options.compat  `"torch"`: PyTorch's codes for NaN, infinities and overflow
 * @param options.out     an array of the dtype's type for the codes, apart from `x`
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
  return quantizeChecked(core, where, task, overflow, out) as TorchQuantizedTensor<D, "perChannel">;
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
 * Quantizes with one scale and zero point that are chosen from the values: from their range, widened
 * to contain 0, in double precision; a scale below 6.1e-5 is raised to that, and one that float32
 * cannot invert becomes 0.1.
 *
 * Source: torch.quantize_per_tensor_dynamic, which takes no tensor without values; here that has the
 * scale 0.1, as an input without values has in PyTorch's dynamic layers.
 *
 * @param x            float32, any shape
 * @param dtype        `"qint8"` or `"quint8"`
 * @param reduceRange  true: use half the codes, -64 to 63 or 0 to 127; default: false
 * @param options.compat  `"torch"`: -Infinity gives an infinite scale as in PyTorch
 * @param options.out     an array of the dtype's type for the codes, apart from `x`
 * @returns what `quantizePerTensor` returns
 * @throws {RangeError} `ZP_NON_FINITE` for NaN or an infinity, `ZP_UNSUPPORTED_DTYPE` for qint32,
 *   `ZP_INVALID_DTYPE`, `ZP_INVALID_OUT`, `ZP_OUT_OF_MEMORY`
 * @throws {TypeError} `ZP_INVALID_TENSOR` for anything but float32
 * @example quantizePerTensorDynamic(tensor([-1, 0, 1]), "quint8").zeroPoint // 128
 */
export function quantizePerTensorDynamic<D extends "qint8" | "quint8">(
  x: TensorInput,
  dtype: D,
  reduceRange?: boolean,
  options?: TorchQuantizeOptions<D>,
): TorchQuantizedTensor<D, "perTensor"> {
  const where = "quantizePerTensorDynamic";
  const core = activeCore(where);
  const source = checkDynamic(where, x, dtype, reduceRange);
  const { overflow, out } = checkTorchOptions(where, options);
  const range = minMax(core, where, source.x);
  const task = chooseDynamic(core, where, source, range, overflow);
  return quantizeChecked(core, where, task, overflow, out) as TorchQuantizedTensor<D, "perTensor">;
}

/** What `quantizePerTensorDynamic` takes, after its checks. */
export interface DynamicSource<D extends QDType = QDType> {
  readonly x: CheckedTensor;
  readonly dtype: D;
  readonly reduceRange: boolean;
}

/** Checks the arguments of `quantizePerTensorDynamic`. */
export function checkDynamic<D extends QDType>(
  where: string,
  x: unknown,
  dtype: D,
  reduceRange: unknown,
): DynamicSource<D> {
  const checked = checkFloatTensor(where, x);
  const code = (dtype as QDType) === "qint32" ? "ZP_UNSUPPORTED_DTYPE" : "ZP_INVALID_DTYPE";
  const name = checkChoice(where, "dtype", dtype, ["qint8", "quint8"], undefined, code) as D;
  const reduce = checkBoolean(where, "reduceRange", reduceRange, false);
  return { x: checked, dtype: name, reduceRange: reduce };
}

/** Chooses the qparams of `quantizePerTensorDynamic`. */
export function chooseDynamic<D extends QDType>(
  core: Core,
  where: string,
  { x, dtype, reduceRange }: DynamicSource<D>,
  [min, max]: Iterable<number>,
  overflow: Overflow,
): ToQuantize<D> {
  let qparams = chooseActivation(core, where, min, max, dtype, reduceRange);
  if (qparams === undefined && overflow === "torch" && min === -Infinity && max < Infinity) {
    const { qmax } = DTYPES[dtype];
    qparams = { scale: Infinity, zeroPoint: reduceRange ? Math.trunc(qmax / 2) : qmax };
  }
  if (qparams === undefined) throw nonFiniteValues(where, "x", [min, max]);
  return { x, dtype, qparams };
}

/** Smallest and largest value, NaN if any is NaN; both 0 for a tensor without values. */
function minMax(
  core: Core,
  where: string,
  { data, size }: CheckedTensor,
): readonly [min: number, max: number] {
  if (size === 0) return [0, 0];
  checkStillThere(where, data, size);
  const [min, max] = tensorRange(core, where, data, size);
  return [min, max];
}

/**
 * The integers of a quantized tensor.
 *
 * Source: Tensor.int_repr().
 *
 * @param q  what `quantizePerTensor` or `quantizePerChannel` returns
 * @returns a copy of `q.data` with q's shape; int8, uint8 or int32
 * @throws {TypeError|RangeError} what `dequantize` throws for its `q`
 * @example String(intRepr(quantizePerTensor(tensor([1, 2]), 1, 0, "qint8")))
 * // "tensor([1, 2], dtype=torch.int8)"
 */
export function intRepr<D extends QDType>(
  q: TorchQuantizedTensorInput<D>,
): IntegerTensor<CodesByQDType[D]> {
  const where = "intRepr";
  const { codes, shape, size, dtype } = checkQTensor(where, "q", q);
  const data = newArray(where, codesArray(dtype as D), size);
  data.set(codes);
  const name = dtype.slice(1) as "int8" | "uint8" | "int32";
  return new IntegerTensor(data, shape, name);
}

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
 * Infinities saturate and NaN becomes 0; with `compat: "torch"` all values that no int64 holds become
 * what quantMin stands for.
 *
 * Source: torch.fake_quantize_per_tensor_affine. `fakeQuantize` divides and adds before it rounds.
 *
 * @param x          float32, any shape
 * @param scale      units per step: a number, or a tensor of one value; rounded to float32
 * @param zeroPoint  an integer from quantMin to quantMax, or a tensor of one value
 * @param quantMin, quantMax  the codes that may be used; integers that int32 holds
 * @param options.compat  `"torch"`: PyTorch's results for NaN, infinities and overflow
 * @param options.out     where to write the values, apart from `x`
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

/** A tensor to be quantized and dequantized, and how. */
export interface ToFakeQuantize {
  readonly x: CheckedTensor;
  readonly limits: Limits;
  readonly qparams: TorchQParams;
}

/** Checks the arguments of `fakeQuantizePerTensor`. */
export function checkFakePerTensor(
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

/** Quantizes and dequantizes what is checked but for its options. */
function fakeQuantizeChecked(
  core: Core,
  where: string,
  { x, limits, qparams }: ToFakeQuantize,
  options: unknown,
): Tensor {
  const { overflow, out } = checkTorchOptions(where, options);
  const result = checkTensorOut(where, "options.out", out, x.shape, x.size, [x.data]);
  const operation = { kind: "fakeQuantize", ...limits, overflow } as const;
  runTorch(core, where, x, qparams, operation, result.data);
  return result;
}

/**
 * Quantizes and dequantizes in one pass with one scale and zero point per index of an axis.
 *
 * Integer zero points are added after rounding, as in `fakeQuantizePerTensor`; floating ones before
 * it, in separately rounded operations, where PyTorch's AVX2 build fuses some: within an ulp of a tie
 * the two may differ.
 *
 * Source: torch.fake_quantize_per_channel_affine.
 *
 * @param x           float32 with at least one axis
 * @param scales      float32 of shape [x.shape[axis]]
 * @param zeroPoints  of the same shape: an Int32Array or a list of integers from quantMin to quantMax,
 *   or a Float32Array; PyTorch takes no int64 here
 * @param axis        0 <= axis < rank
 * @param quantMin, quantMax  the codes that may be used; integers that int32 holds
 * @param options     those of `fakeQuantizePerTensor`
 * @returns float32, of x's shape
 * @throws {TypeError} `ZP_INVALID_TENSOR`, `ZP_INVALID_SCALE`, `ZP_INVALID_ZERO_POINT`
 * @throws {RangeError} `ZP_INVALID_AXIS`, `ZP_SHAPE_MISMATCH`, and what `fakeQuantizePerTensor` throws
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
export function checkFakePerChannel(
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
  const zeroType = dataType(zeroPoints);
  if (zeroType !== undefined && !["Int32Array", "Float32Array"].includes(zeroType)) {
    throw typeError(
      "ZP_INVALID_ZERO_POINT",
      where,
      `zeroPoints must be an Int32Array, a Float32Array or a list, got type ${zeroType}`,
    );
  }
  const scaleType = dataType(scales);
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
    scales,
    zeroPoints,
    axis,
    checked.shape,
    limits,
    "this quant range",
  );
  return { x: checked, limits, qparams };
}

/** The type of a typed array, or of a tensor's data. */
function dataType(value: unknown): string | undefined {
  return arrayName(value) ?? arrayName((value as { data?: unknown } | null | undefined)?.data);
}
