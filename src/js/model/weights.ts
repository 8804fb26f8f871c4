// How a conversion quantizes the weights of layers, on this thread or another.

import { chooseQParamsAsync, quantizeAsync } from "../async/functions.js";
import { checkInteger } from "../check.js";
import type { Core } from "../core.js";
import { type Codes, DTYPES, type Limits, type QDType } from "../dtype.js";
import type { ObservedQParams } from "../observer.js";
import type { QConfig } from "../qconfig.js";
import type { WeightOnlyOptions } from "../qconfig-mapping.js";
import {
  type AnyQuantizeOptions,
  chooseQParams,
  listed,
  type QuantizedTensor,
} from "../qparams.js";
import type { TorchQuantizedTensor } from "../qtensor.js";
import { quantize } from "../quantize.js";
import type { Tensor } from "../tensor.js";
import { checkPerChannel, checkPerTensor, quantizing, type ToQuantize } from "../torch.js";
import type { UniformObserver } from "../uniform.js";
import { done, type Procedure, type Work } from "../work.js";
import type { Embedding, Linear } from "./layer.js";
import { unsupported, weightObserver } from "./prepare.js";
import type { QuantizedWeight } from "./quantized.js";
import { told } from "./sequential.js";

/** Asks for work on a weight; errors of this library then say that it was one. */
function* onWeight<T>(work: Work<T>): Procedure<T> {
  try {
    return yield* done(work);
  } catch (error) {
    throw told("x is the weight", error);
  }
}

/** Quantizes weights alone, in the arithmetic of `quantize`. */
export function* quantizeOnly(
  weight: Tensor,
  { bits, ...options }: WeightOnlyOptions,
): Procedure<{ q: QuantizedTensor; bits: number }> {
  const { length } = weight.data;
  const quantizeBy = (given: AnyQuantizeOptions, amount: number) =>
    onWeight({
      amount,
      here: () => quantize(weight, given) as QuantizedTensor,
      away: (own) => quantizeAsync(weight, { ...given, ...own }) as Promise<QuantizedTensor>,
    });
  if (bits === undefined) return { q: yield* quantizeBy(options, 2 * length), bits: 32 };
  const dtype = bits <= 2 ? "int2" : bits <= 4 ? "int4" : "int8";
  const most = 2 ** (bits - 1) - 1;
  const chosen = yield* onWeight({
    amount: length,
    here: () => chooseQParams(weight, { ...options, dtype }),
    away: (own) => chooseQParamsAsync(weight, { ...options, dtype, ...own }),
  });
  // The dtype's largest code stands for max|w|; here it is to be the largest code of `bits`.
  const widen = DTYPES[dtype].qmax / most;
  const { scale } = chosen as { scale: number | { data: Float32Array; shape: readonly number[] } };
  const wider =
    typeof scale === "number"
      ? scale * widen
      : { data: scale.data.map((value) => value * widen), shape: scale.shape };
  const { axis, groupSize } = options;
  const q = yield* quantizeBy({ dtype, axis, groupSize, scale: wider }, length);
  // Infinities have become the dtype's last codes.
  cutOff(q.data, -most, most, DTYPES[dtype]);
  return { q, bits };
}

/** Makes codes beyond two limits the nearer one. @param own  the codes that there are */
function cutOff(codes: Codes, low: number, high: number, { qmin, qmax }: Limits): void {
  if (low <= qmin && high >= qmax) return;
  for (let i = 0; i < codes.length; i++) codes[i] = Math.max(low, Math.min(high, codes[i]));
}

/** Lets a QConfig's weight observer look at the weights. */
function* observeWeight(
  where: string,
  { weight }: Linear | Embedding,
  qconfig: QConfig,
): Procedure<{ observer: UniformObserver; qparams: ObservedQParams }> {
  const observer = weightObserver(where, qconfig);
  yield* onWeight({
    amount: weight.data.length,
    here: () => observer.observe(weight),
    away: (own) => observer.observeAsync(weight, own),
  });
  return { observer, qparams: observer.calculateQParams() };
}

/**
 * Quantizes weights as PyTorch's conversion does: quantize_per_tensor, or per_channel on its axis, then
 * cut off to the observer's codes.
 */
function* observedWeight(
  where: string,
  core: Core,
  layer: Linear,
  qconfig: QConfig,
): Procedure<TorchQuantizedTensor> {
  const { observer, qparams } = yield* observeWeight(where, layer, qconfig);
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
  const { weight } = layer;
  if (!qscheme.startsWith("per_channel")) {
    const task = checkPerTensor(where, weight, qparams.scale, qparams.zeroPoint, dtype);
    return yield* quantized(where, core, task, observer);
  }
  const { chAxis } = observer as UniformObserver & { chAxis: number };
  // Of weights without values the observer has not seen its axis.
  checkInteger(where, "options.chAxis", chAxis, 0, -2, 1);
  const channel = chAxis < 0 ? chAxis + 2 : chAxis;
  const task = channelTask(where, weight, qparams, channel, Int32Array, dtype);
  return yield* quantized(where, core, task, observer);
}

/** A weight with its qparams. Of one without values the observer has seen nothing: it has but one scale. */
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

/** Quantizes a weight in PyTorch's arithmetic, and cuts off what is beyond its observer's codes. */
function* quantized<D extends QDType>(
  where: string,
  core: Core,
  task: ToQuantize<D>,
  { quantMin, quantMax }: Pick<UniformObserver, "quantMin" | "quantMax">,
): Procedure<TorchQuantizedTensor<D>> {
  const q = yield* quantizing(core, where, task);
  cutOff(q.data, quantMin, quantMax, DTYPES[task.dtype]);
  return q;
}

/** Weights for int8 activations: qint8, zero points 0, one scale or one for each output. */
export function* int8Weight(
  where: string,
  core: Core,
  layer: Linear,
  qconfig: QConfig,
): Procedure<QuantizedWeight> {
  const q = yield* observedWeight(where, core, layer, qconfig);
  const { dtype, scale, zeroPoint, axis } = q;
  const hasZeros = listed(zeroPoint).some((zero) => zero !== 0);
  if (dtype !== "qint8" || hasZeros || (axis ?? 0) !== 0) {
    return unsupported(
      where,
      "weights must be qint8 with zero points 0, one scale or one for each output (axis 0), where " +
        "activations are quantized too; defaultWeightObserver and defaultPerChannelWeightObserver are",
    );
  }
  const scales = Float32Array.from(listed(scale));
  return { q: q as TorchQuantizedTensor<"qint8">, scales };
}

/** The same as a weight that `linear` multiplies by, with the same values. */
export function* observedCodes(
  where: string,
  core: Core,
  layer: Linear,
  qconfig: QConfig,
): Procedure<{ q: QuantizedTensor; bits: number }> {
  const q = yield* observedWeight(where, core, layer, qconfig);
  // PyTorch's dtypes have one letter more.
  return { q: { ...q, dtype: q.dtype.slice(1) } as unknown as QuantizedTensor, bits: 8 };
}

/** Quantizes a table by rows with floating zero points, as PyTorch does. */
export function* observedTable(
  where: string,
  core: Core,
  layer: Embedding,
  qconfig: QConfig,
): Procedure<{ q: TorchQuantizedTensor<"quint8">; bits: 4 | 8 }> {
  const { observer, qparams } = yield* observeWeight(where, layer, qconfig);
  const { dtype } = observer;
  const { chAxis } = observer as UniformObserver & { chAxis: number };
  if ((dtype !== "quint8" && dtype !== "quint4x2") || (chAxis !== 0 && chAxis !== -2)) {
    return unsupported(
      where,
      `the weight of an Embedding must have dtype quint8 or quint4x2 and chAxis 0, got ${dtype} and ` +
        `${chAxis}`,
    );
  }
  const task = channelTask(where, layer.weight, qparams, 0, Float32Array, "quint8");
  const isByte = dtype === "quint8";
  // Codes of four bits are cut off where those end, whatever the observer's range.
  const range = isByte ? observer : { quantMin: 0, quantMax: 15 };
  return { q: yield* quantized(where, core, task, range), bits: isByte ? 8 : 4 };
}
