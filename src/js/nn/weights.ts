// Quantization of the weights of converted layers.

import { checkInteger } from "../base/check.js";
import { type Codes, DTYPES, type Limits, type QDType } from "../base/dtype.js";
import { fieldsOf, ownFields } from "../base/fields.js";
import { newArray } from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import type { ObservedQParams } from "../observers/observer.js";
import type { QConfig } from "../observers/qconfig.js";
import type { WeightOnlyOptions } from "../observers/qconfig-mapping.js";
import type { RangeObserver } from "../observers/range-observer.js";
import type { AnyQuantizeOptions } from "../quantize/options.js";
import { chooseQParams } from "../quantize/qparams.js";
import { quantize } from "../quantize/quantize.js";
import { listed, type QuantizedTensor } from "../quantize/quantized-tensor.js";
import type { Tensor } from "../tensor/tensor.js";
import type { ToQuantize } from "../torch/options.js";
import { checkPerChannel, checkPerTensor, quantizeTorch } from "../torch/quantize.js";
import type { TorchQuantizedTensor } from "../torch/tensor.js";
import type { QuantizedWeight } from "./converted/static-linear.js";
import type { Embedding } from "./layers/embedding.js";
import type { Linear } from "./layers/linear.js";
import { parametersOf } from "./layers/parameters.js";
import { unsupported, weightObserver } from "./prepare.js";
import { told } from "./sequential.js";

/** Runs a function on a weight. Names the weight in errors of this library. */
function onWeight<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw told("x is the weight", error);
  }
}

/** Quantizes the weights of a weight-only layer, in the arithmetic of `quantize`. */
export function quantizeOnly(
  weight: Tensor,
  given: WeightOnlyOptions,
): { q: QuantizedTensor; bits: number } {
  const { bits, axis, groupSize, ...others } = ownFields(given) as WeightOnlyOptions;
  const options = { axis, groupSize, ...others };
  const quantizeBy = (how: AnyQuantizeOptions) =>
    onWeight(() => quantize(weight, how) as QuantizedTensor);
  if (bits === undefined) return { q: quantizeBy(options), bits: 32 };
  const dtype = bits <= 2 ? "int2" : bits <= 4 ? "int4" : "int8";
  const most = 2 ** (bits - 1) - 1;
  const chosen = onWeight(() => chooseQParams(weight, { ...options, dtype }));
  // The chosen scale maps max|w| to the dtype's largest code. Widened, it maps to the largest code of `bits`.
  const widen = DTYPES[dtype].qmax / most;
  const { scale } = chosen as { scale: number | { data: Float32Array; shape: readonly number[] } };
  const wider =
    typeof scale === "number"
      ? scale * widen
      : { data: scaled("WeightOnlyQConfig", scale.data, widen), shape: scale.shape };
  const q = quantizeBy({ dtype, axis, groupSize, scale: wider });
  // Infinities became the dtype's limits; clamp them to the limits of `bits`.
  cutOff(q.data, -most, most, DTYPES[dtype]);
  return { q, bits };
}

/** Values multiplied by a factor. */
function scaled(where: string, values: Float32Array, factor: number): Float32Array {
  const out = newArray(where, Float32Array, values.length);
  for (let i = 0; i < out.length; i++) out[i] = values[i] * factor;
  return out;
}

/** Clamps codes to two limits. @param own  limits of the codes' dtype */
function cutOff(codes: Codes, low: number, high: number, { qmin, qmax }: Limits): void {
  if (low <= qmin && high >= qmax) return;
  for (let i = 0; i < codes.length; i++) codes[i] = Math.max(low, Math.min(high, codes[i]));
}

/** Runs a QConfig's weight observer on the weights. */
function observeWeight(
  where: string,
  layer: Linear | Embedding,
  qconfig: QConfig,
): { observer: RangeObserver; qparams: ObservedQParams } {
  const { weight } = parametersOf(layer);
  const observer = weightObserver(where, qconfig);
  onWeight(() => observer.observe(weight));
  return { observer, qparams: observer.calculateQParams() };
}

/**
 * Quantizes weights as PyTorch's conversion does: quantize_per_tensor or quantize_per_channel, then a
 * clamp to the observer's range of codes.
 */
function observedWeight(
  where: string,
  core: Core,
  layer: Linear,
  qconfig: QConfig,
): TorchQuantizedTensor {
  const { observer, qparams } = observeWeight(where, layer, qconfig);
  const { dtype, qscheme } = observer;
  if (dtype !== "qint8" && dtype !== "quint8") {
    return unsupported(
      where,
      `weights of a Linear must have dtype qint8 or quint8, got ${dtype}; a WeightOnlyQConfig takes ` +
        `other dtypes`,
    );
  }
  if (qscheme === "per_channel_affine_float_qparams") {
    return unsupported(where, "per_channel_affine_float_qparams is for embeddings, not for Linear");
  }
  const { weight } = parametersOf(layer);
  if (!qscheme.startsWith("per_channel")) {
    const task = checkPerTensor(where, weight, qparams.scale, qparams.zeroPoint, dtype);
    return quantized(where, core, task, observer);
  }
  const { chAxis } = observer as RangeObserver & { chAxis: number };
  // The observer of a weight without values has not checked its axis.
  checkInteger(where, "options.chAxis", chAxis, 0, -2, 1);
  const channel = chAxis < 0 ? chAxis + 2 : chAxis;
  const task = channelTask(where, weight, qparams, channel, Int32Array, dtype);
  return quantized(where, core, task, observer);
}

/** A weight with its qparams. Without values the observer is unobserved and has a single scale. */
function channelTask<D extends QDType>(
  where: string,
  weight: Tensor,
  { scale, zeroPoint }: ObservedQParams,
  channel: number,
  Zeros: Int32ArrayConstructor | Float32ArrayConstructor,
  dtype: D,
): ToQuantize<D> {
  const spread = (List: typeof Zeros, { data }: { readonly data: ArrayLike<number> }) =>
    weight.data.length > 0 ? List.from(data) : new List(weight.shape[channel]).fill(data[0]);
  const scales = spread(Float32Array, scale);
  return checkPerChannel(where, weight, scales, spread(Zeros, zeroPoint), channel, dtype);
}

/** Quantizes a weight in PyTorch's arithmetic and clamps codes to the observer's range. */
function quantized<D extends QDType>(
  where: string,
  core: Core,
  task: ToQuantize<D>,
  { quantMin, quantMax }: Pick<RangeObserver, "quantMin" | "quantMax">,
): TorchQuantizedTensor<D> {
  const q = quantizeTorch(core, where, task);
  cutOff(q.data, quantMin, quantMax, DTYPES[task.dtype]);
  return q;
}

/** Weights for int8 activations: qint8, zero points 0, and one scale or one per output. */
export function int8Weight(
  where: string,
  core: Core,
  layer: Linear,
  qconfig: QConfig,
): QuantizedWeight {
  const q = observedWeight(where, core, layer, qconfig);
  const { dtype, scale, zeroPoint } = q;
  const { axis } = fieldsOf(q);
  const hasZeros = listed(zeroPoint).some((zero) => zero !== 0);
  if (dtype !== "qint8" || hasZeros || (axis ?? 0) !== 0) {
    return unsupported(
      where,
      "weights must be qint8 with zero points 0, one scale or one for each output (axis 0), where " +
        "activations are quantized too; default_weight_observer and default_per_channel_weight_observer of " +
        "predefinedObservers are",
    );
  }
  const scales = Float32Array.from(listed(scale));
  return { q: q as TorchQuantizedTensor<"qint8">, scales };
}

/** Weights of a weight-only layer in a form that `linear` takes. */
export function observedCodes(
  where: string,
  core: Core,
  layer: Linear,
  qconfig: QConfig,
): { q: QuantizedTensor; bits: number } {
  const q = observedWeight(where, core, layer, qconfig);
  // "qint8" -> "int8", "quint8" -> "uint8".
  return { q: { ...q, dtype: q.dtype.slice(1) } as unknown as QuantizedTensor, bits: 8 };
}

/** Quantizes a table by rows with floating zero points, as PyTorch does. */
export function observedTable(
  where: string,
  core: Core,
  layer: Embedding,
  qconfig: QConfig,
): { q: TorchQuantizedTensor<"quint8">; bits: 4 | 8 } {
  const { observer, qparams } = observeWeight(where, layer, qconfig);
  const { dtype } = observer;
  const { chAxis } = observer as RangeObserver & { chAxis: number };
  if ((dtype !== "quint8" && dtype !== "quint4x2") || (chAxis !== 0 && chAxis !== -2)) {
    return unsupported(
      where,
      `the weight of an Embedding must have dtype quint8 or quint4x2 and chAxis 0, got ${dtype} and ` +
        `${chAxis}`,
    );
  }
  const task = channelTask(where, parametersOf(layer).weight, qparams, 0, Float32Array, "quint8");
  const isByte = dtype === "quint8";
  // 4-bit codes are clamped to 0 .. 15 for every range of the observer.
  const range = isByte ? observer : { quantMin: 0, quantMax: 15 };
  return { q: quantized(where, core, task, range), bits: isByte ? 8 : 4 };
}
