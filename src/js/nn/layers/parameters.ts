// Parameters of layers, and the core that a layer with a weight runs on.

import { notItself, rangeError } from "../../base/errors.js";
import { define } from "../../base/fields.js";
import { showShape } from "../../base/format-value.js";
import { copyLike } from "../../base/typed-arrays.js";
import type { Core } from "../../core/core.js";
import { runOn } from "../../core/init.js";
import type { Layer } from "../../linear/layer.js";
import { checkMatrix } from "../../linear/weight.js";
import { checkQuantized } from "../../quantize/check.js";
import { dequantize } from "../../quantize/dequantize.js";
import {
  type AnyQuantizedTensor,
  copiedQParams,
  type QuantizedTensor,
  quantizedResult,
  storedBytes,
} from "../../quantize/quantized-tensor.js";
import { checkTensor, readQuantized } from "../../tensor/check.js";
import { sameShape } from "../../tensor/shape.js";
import { copyTensor, Tensor } from "../../tensor/tensor.js";
import { areOfChannels } from "../../torch/scales.js";
import {
  checkQTensor,
  looksTorchQuantized,
  perChannelTensor,
  perTensorTensor,
  TorchQuantizedTensor,
} from "../../torch/tensor.js";

/** Checks and copies a parameter of a layer: float32 of a given shape. */
export function checkParameter(
  where: string,
  argument: string,
  value: unknown,
  shape: readonly number[],
): Tensor | undefined {
  if (value === undefined || value === null) return undefined;
  const checked = checkTensor(where, argument, value);
  if (!sameShape(checked.shape, shape)) {
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      where,
      `${argument} must have shape ${showShape(shape)}, got ${showShape(checked.shape)}`,
    );
  }
  return copyTensor(where, checked);
}

/** A tensor for users: on the same data, with separate fields that can change without effect on the layer. */
export const shown = ({ data, shape }: Tensor): Tensor => new Tensor(data, [...shape]);

/** A quantized weight: a plain one, or one of PyTorch's dtypes. */
export type AnyQuantized = AnyQuantizedTensor | TorchQuantizedTensor;

/** The weight of a layer, its core and its bias. */
interface Parameters {
  /** The core that was active when the layer was made. */
  readonly core: Core;
  /** float32 of shape [rows, columns]; of a quantized weight its values, dequantized on each access. */
  readonly weight: Tensor;
  /** The weight, if it is quantized. */
  readonly quantized: AnyQuantized | undefined;
  /** float32 of shape [rows]. */
  readonly bias: Tensor | undefined;
}

/** Private to the library; users get other tensors on the same data. */
export const parameters = /* @__PURE__ */ new WeakMap<Layer, Parameters>();

/** The parameters of a layer with a weight. */
export function parametersOf(layer: Layer): Parameters {
  const own = parameters.get(layer);
  if (own === undefined) throw notItself(`${layer.typeName}.forward`);
  return own;
}

/** The core that a layer with a weight runs on. */
export const coreOf = (layer: Layer): Core => parametersOf(layer).core;

/** The quantized weight of a Linear or Embedding that was made of one. */
export const quantizedOf = (layer: Layer): AnyQuantized | undefined =>
  parameters.get(layer)?.quantized;

/** Bytes of a layer's bias in float32. */
export const biasBytes = (layer: Layer): number => 4 * (parametersOf(layer).bias?.shape[0] ?? 0);

/** Bytes of a layer's weight in stored form. @param size  its number of values */
export function weightBytes(layer: Layer, size: number): number {
  const quantized = quantizedOf(layer);
  return quantized === undefined ? 4 * size : storedBytes(quantized as QuantizedTensor);
}

/** Sets the parameters of a layer with a quantized weight. @returns its values, on each access */
export function setQuantized(
  layer: Layer,
  core: Core,
  quantized: AnyQuantized,
  bias: Tensor | undefined,
): () => Tensor {
  const values = () => runOn(core, () => dequantize(quantized as QuantizedTensor));
  const own = { core, quantized, bias, weight: undefined as unknown as Tensor };
  parameters.set(layer, define(own, "weight", { get: values }));
  return values;
}

/** Checks and copies a quantized weight. */
export function checkQuantizedWeight(where: string, weight: unknown, axes?: string): AnyQuantized {
  // Copied as a whole: another thread, or a getter, may change the given one.
  const given = readQuantized(weight);
  if (looksTorchQuantized(given)) {
    const { codes, shape, dtype, qparams } = checkQTensor(where, "weight", given);
    checkMatrix(where, shape, axes);
    const data = copyLike(where, codes);
    if (!areOfChannels(qparams)) return perTensorTensor(data, shape, dtype, qparams);
    const { axis, scales, zeroPoints } = qparams;
    const own = {
      axis,
      scales: copyLike(where, scales),
      zeroPoints: copyLike(where, zeroPoints),
    };
    return perChannelTensor(data, shape, dtype, own);
  }
  const checked = checkQuantized(where, "weight", given, true);
  checkMatrix(where, checked.shape, axes);
  const data = copyLike(where, checked.codes);
  return quantizedResult(data, checked.shape, checked.qparams, checked);
}

/** A quantized weight for users: a copy, on other arrays. */
export function shownQuantized<Q extends AnyQuantized>(where: string, q: Q): Q {
  const own = { ...copiedQParams(where, q), data: copyLike(where, q.data), shape: [...q.shape] };
  return q instanceof TorchQuantizedTensor
    ? Object.assign(Object.create(TorchQuantizedTensor.prototype) as Q, own)
    : own;
}

/** Defines the field `quantizedWeight` of a layer: a copy on each access; undefined for a float weight. */
export function showQuantized(layer: Layer, quantized: AnyQuantized | undefined): void {
  const get = () => quantized && shownQuantized(layer.typeName, quantized);
  define(layer, "quantizedWeight", { get, enumerable: true });
}

/** Checks and copies a weight. @param axes  names of its axes */
export function checkWeight(where: string, weight: unknown, axes?: string): Tensor {
  const checked = checkTensor(where, "weight", weight);
  checkMatrix(where, checked.shape, axes);
  return copyTensor(where, checked);
}
