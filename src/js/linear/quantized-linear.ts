/// <reference lib="esnext.disposable" preserve="true" />

// The linear layer with quantized weights, packed once and run many times.

import { makeDisposable } from "../base/disposable.js";
import { notItself, rangeError, typeError } from "../base/errors.js";
import { ownFields } from "../base/fields.js";
import { showShape } from "../base/format-value.js";
import { checkOptions } from "../base/options.js";
import { explainReceivers } from "../base/receivers.js";
import { areApart, arrayLength, arrayName } from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import { activeCore } from "../core/init.js";
import { checkQuantizeOptions } from "../quantize/options.js";
import {
  type AnyQParams,
  copiedQParams,
  type QuantizedTensorInput,
  qparamsBytes,
  qparamsResult,
  qparamsText,
} from "../quantize/quantized-tensor.js";
import type { TensorInput } from "../tensor/check.js";
import { checkTensorOut, Tensor } from "../tensor/tensor.js";
import type { TorchQuantizedTensorInput } from "../torch/tensor.js";
import { appendedRows, grownQParams } from "./append.js";
import { runDynamic } from "./dynamic.js";
import { type Batch, checkBias, checkInput } from "./input.js";
import { isLayer, Layer } from "./layer.js";
import {
  checkDynamicWeight,
  checkSource,
  choosingOptions,
  LAYER_OPTIONS,
  type QuantizedLinearOptions,
} from "./layer-options.js";
import { type Accumulate, multiplyPacked } from "./multiply.js";
import { PackedWeight } from "./packed-weight.js";

/** Options of `append`. */
export interface AppendOptions {
  /** float32, one value for each appended row, if the layer has a bias. */
  bias?: TensorInput | null | undefined;
}

/**
 * A linear layer with quantized weights, packed once into the core's memory at 1 to 8 bits and used many
 * times. `forward` and `linear` give the same bits.
 *
 * The memory is freed by `dispose()`, at the end of a `using` block, or some time after the layer becomes
 * garbage.
 *
 * It can be a layer of a `Sequential`. `unpackLinear` gives its codes back; `save` of zeropoint/models writes
 * it, alone or in a model.
 *
 * @example
 * using layer = new QuantizedLinear(weight, { axis: 0, bias });
 * const y = layer.forward(x);
 */
export class QuantizedLinear extends Layer {
  static override readonly typeName = "QuantizedLinear";
  readonly #accumulate: Accumulate;
  readonly #core: Core;
  readonly #weight: PackedWeight;
  #qparams: AnyQParams;
  /** For dynamic activations; undefined for float32. */
  readonly #reduceRange: boolean | undefined;

  static {
    explainReceivers(QuantizedLinear, "QuantizedLinear", isLayer);
  }

  /**
   * With `activations: "dynamic"` the layer is PyTorch's dynamic quantized linear layer, bit for bit: a
   * float weight is quantized to int8 with scale max|w| / 127.5, one for all or (`axis: 0`) one for
   * each output; every input is quantized to quint8 with one scale for all its rows, chosen from its
   * range; products are summed as integers:
   *
   *     y = float(Σ (qx − zeroPoint) · qw) · (scale · weightScale) + bias        in float32
   *
   * A weight of another signed dtype (W4A8), or in groups, is quantized as by `quantize`, and runs by the same
   * formula; the integer sums of groups, of at most 1024 products each, are added in double, in order:
   *
   *     y = float(Σ weightScale[group] · Σ (qx − zeroPoint) · qw) · scale + bias
   *
   * Source: torch.ao.nn.quantized.dynamic.Linear, with qnnpack's rounding.
   *
   * @param weight  a quantized tensor of shape [N, K] and 1 to 8 bits (dynamic activations: of a
   *   signed dtype or qint8 with zero points 0, not one scale for each input); or float32 of that shape,
   *   which is quantized as by `quantize(weight, options)` (dynamic: as above)
   * @param options.bias         float32 of shape [N]; default: none
   * @param options.activations  `"float32"` (default) or `"dynamic"`
   * @param options.reduceRange  dynamic: 7 bits for activations, PyTorch's default; default: true
   * @param options.accumulate   `"exact"` (default) or `"float32"`, see `linear`
   * @param options  the other options of `quantize`, for a float weight only
   * @throws {TypeError} `ZP_INVALID_TENSOR`, `ZP_UNKNOWN_OPTION`, `ZP_CONFLICTING_OPTIONS` if options
   *   would quantize a weight that is already quantized, or differ from the way of dynamic layers
   * @throws {RangeError} `ZP_SHAPE_MISMATCH`, `ZP_UNSUPPORTED_DTYPE` for more than 8 bits,
   *   `ZP_OUT_OF_MEMORY`, and as `quantize` and `dequantize`
   * @example new QuantizedLinear(weight, { dtype: "int4", groupSize: 32 })
   * @example new QuantizedLinear(weight, { activations: "dynamic", axis: 0, bias })
   */
  constructor(
    weight: TensorInput | QuantizedTensorInput | TorchQuantizedTensorInput<"qint8">,
    options?: QuantizedLinearOptions,
  ) {
    super();
    const where = "QuantizedLinear";
    const core = activeCore(where);
    const given = checkOptions(where, options, LAYER_OPTIONS);
    const source = checkSource(core, where, weight, given);
    const { rows, meta } = source.weight();
    if (source.reduceRange !== undefined) checkDynamicWeight(where, rows);
    const packed = new PackedWeight(core, where, rows, source.bias);
    this.#qparams = qparamsResult(meta.qparams, meta);
    choices.set(this, choosingOptions(given));
    this.#accumulate = source.accumulate;
    this.#reduceRange = source.reduceRange;
    this.#core = core;
    this.#weight = packed;
    packedWeights.set(this, packed);
  }

  /** Values per row of input: K of the weight's shape [N, K]. */
  get inFeatures(): number {
    return packedOf(this).inFeatures;
  }

  /** Values per row of output: N. */
  get outFeatures(): number {
    return packedOf(this).outFeatures;
  }

  /** The weight's scale and zero point or offset, dtype, scheme and granularity; a copy on each access. */
  get qparams(): AnyQParams {
    const where = "QuantizedLinear.qparams";
    return copiedQParams(where, this.#qparams);
  }

  /** The precision of the input in products. */
  get activations(): "float32" | "dynamic" {
    return this.#reduceRange === undefined ? "float32" : "dynamic";
  }

  /** With dynamic activations: whether 7 of their 8 bits are used; undefined otherwise. */
  get reduceRange(): boolean | undefined {
    return this.#reduceRange;
  }

  override get sizeInBytes(): number {
    const { outFeatures, inFeatures, biasAt } = packedOf(this);
    const bias = biasAt === 0 ? 0 : 4 * outFeatures;
    return qparamsBytes(this.#qparams, outFeatures * inFeatures) + bias;
  }

  /** The precision of sums. */
  get accumulate(): Accumulate {
    return this.#accumulate;
  }

  /**
   * Computes input · weightᵀ + bias.
   * @param input  float32 of shape [..., inFeatures]
   * @param out    array for the result: a Float32Array of its length, or a Tensor of its shape, which is
   *   then returned; must not overlap `input`
   * @returns float32 of shape [..., outFeatures]
   *
   * With dynamic activations the input needs 2 axes or more, as in PyTorch, and finite values.
   *
   * @throws {TypeError} `ZP_DISPOSED`, `ZP_INVALID_TENSOR`, `ZP_INVALID_OUT`
   * @throws {RangeError} `ZP_SHAPE_MISMATCH`, `ZP_INVALID_OUT`, `ZP_SIZE_OVERFLOW`,
   *   `ZP_OUT_OF_MEMORY`; `ZP_NON_FINITE` with dynamic activations
   * @example
   * const layer = new QuantizedLinear(tensor([[1, 2, 3], [4, 5, 6]]));
   * layer.forward(tensor([[1, 0, 1]])).shape; // [1, 2]
   */
  forward(input: TensorInput, out?: Float32Array | Tensor): Tensor {
    const where = "QuantizedLinear.forward";
    const weight = this.#weight;
    const core = this.#core;
    // Fast path for a loop that reuses its tensors: allocates nothing.
    if (this.#reduceRange === undefined && input instanceof Tensor && out instanceof Tensor) {
      // Each field is read once: it may be an accessor.
      const { data, shape } = input;
      const { data: outData, shape: outShape } = out;
      const rows = matchingRows(shape, outShape, weight);
      if (
        rows > 0 &&
        areClear(data, rows * weight.inFeatures, outData, rows * weight.outFeatures)
      ) {
        weight.checkAlive(where);
        multiplyPacked(core, where, weight, this.#accumulate, data, rows, outData);
        return out;
      }
    }
    const batch = this.#check(where, input);
    const { outShape, outSize } = batch;
    const { result, data } = checkTensorOut(where, "out", out, outShape, outSize, [batch.data]);
    // After all reads of the arguments: a getter among them may have disposed of the layer.
    weight.checkAlive(where);
    if (this.#reduceRange !== undefined) {
      runDynamic(core, where, weight, batch, this.#reduceRange, data);
    } else if (outSize > 0) {
      multiplyPacked(core, where, weight, this.#accumulate, batch.data, batch.rows, data);
    }
    return result;
  }

  /** Checks an input of the layer. */
  #check(where: string, input: unknown): Batch {
    const batch = checkInput(where, input, this.#weight);
    if (this.#reduceRange !== undefined && batch.shape.length < 2) {
      throw rangeError(
        "ZP_SHAPE_MISMATCH",
        where,
        "input must have 2 axes or more, as PyTorch's dynamic layer takes it, " +
          `got shape ${showShape(batch.shape)}`,
      );
    }
    return batch;
  }

  /**
   * Appends outputs to the layer, as for a list of embeddings that grows. The layer then equals a new one
   * of all rows. It costs as much as packing the new rows, and now and then a copy of the packed weight.
   *
   * Float rows are quantized by the layer's options; with scales of their own (`axis: 0` or
   * `groupSize`), or with the layer's where outputs share them: values beyond its range saturate.
   *
   * @param weight  float32 of shape [M, inFeatures]; or a quantized tensor of that shape with the layer's
   *   dtype and granularity, and with its scale and zero point where outputs share them
   * @param options.bias  float32 of shape [M], if and only if the layer has a bias
   * @returns the layer
   * @throws {TypeError} `ZP_DISPOSED`, `ZP_INVALID_TENSOR`, `ZP_CONFLICTING_OPTIONS`
   * @throws {RangeError} `ZP_SHAPE_MISMATCH`, `ZP_UNSUPPORTED_DTYPE`, `ZP_INVALID_SCALE`,
   *   `ZP_SIZE_OVERFLOW`, `ZP_OUT_OF_MEMORY`, and as the constructor; the layer is then as before
   * @example
   * const layer = new QuantizedLinear(tensor([[1, 2]]), { axis: 0 });
   * layer.append(tensor([[3, 4], [5, 6]])).outFeatures; // 3
   */
  append(
    weight: TensorInput | QuantizedTensorInput | TorchQuantizedTensorInput<"qint8">,
    options?: AppendOptions,
  ): this {
    const where = "QuantizedLinear.append";
    const packed = this.#weight;
    const given = checkOptions(where, options, ["bias"]);
    packed.checkAlive(where);
    const layer = {
      layout: packed.layout,
      qparams: this.#qparams,
      isDynamic: this.#reduceRange !== undefined,
      how: choicesOf(this),
    };
    const rows = appendedRows(this.#core, where, weight, layer);
    const bias = checkBias(where, "options.bias", given.bias, rows.outFeatures);
    const hasBias = packed.biasAt !== 0;
    if (hasBias !== (bias !== undefined)) {
      throw typeError(
        "ZP_CONFLICTING_OPTIONS",
        where,
        hasBias
          ? "options.bias must be given, since the layer has a bias"
          : "options.bias cannot be given, since the layer has no bias",
      );
    }
    packed.append(where, rows, bias);
    this.#qparams = grownQParams(this.#qparams, packed.layout);
    return this;
  }

  /** Frees the layer's memory. A second call does nothing; a later `forward` throws. */
  dispose(): void {
    this.#weight.dispose();
  }

  /** `dispose()`, for `using`. Present in engines with `Symbol.dispose`. */
  declare [Symbol.dispose]: () => void;

  /**
   * The layer as text, in PyTorch's style.
   * @example String(new QuantizedLinear(tensor([[1, 2]]))) // "QuantizedLinear(in_features=2, out_features=1, dtype=int8)"
   */
  override toString(): string {
    const { inFeatures, outFeatures } = this;
    const dynamic = this.#reduceRange === undefined ? "" : ", activations=dynamic";
    return `QuantizedLinear(in_features=${inFeatures}, out_features=${outFeatures}, ${qparamsText(this.#qparams)}${dynamic})`;
  }
}

makeDisposable(QuantizedLinear);

/** Packed weights of layers, private to the library. */
const packedWeights = /* @__PURE__ */ new WeakMap<QuantizedLinear, PackedWeight>();

/** Options by which layers choose the qparams of appended rows. */
const choices = /* @__PURE__ */ new WeakMap<QuantizedLinear, Record<string, unknown>>();

export const choicesOf = (layer: QuantizedLinear): Record<string, unknown> =>
  choices.get(layer) as Record<string, unknown>;

/** Sets the options for a layer that was made of codes. @param given  `range` and the others, not checked */
export function restoreChoices(
  where: string,
  layer: QuantizedLinear,
  given: Record<string, unknown>,
): void {
  const { dtype, hasOffsets } = packedOf(layer).layout;
  // Checks them like the options of `quantize` for a tensor of one value.
  checkQuantizeOptions(
    where,
    ownFields({ ...given, dtype, scheme: "affine", ...(hasOffsets && FLOAT) }),
    [1],
    false,
  );
  choices.set(layer, choosingOptions(given));
}

const FLOAT = { zeroPoint: "float" };

/** The packed weight of a layer. */
export function packedOf(layer: QuantizedLinear): PackedWeight {
  const packed = packedWeights.get(layer);
  if (packed === undefined) throw notItself("QuantizedLinear");
  return packed;
}

/**
 * The number of rows of an input, if its shape and the result's shape are lists that fit the weight;
 * otherwise 0, and the full checks follow. The shapes are unchecked; each length is read once.
 */
function matchingRows(shape: unknown, outShape: unknown, weight: PackedWeight): number {
  if (!Array.isArray(shape) || !Array.isArray(outShape)) return 0;
  const axes = shape.length;
  if (axes === 0 || axes > 8 || outShape.length !== axes) return 0;
  let rows = 1;
  for (let axis = 0; axis < axes - 1; axis++) {
    const length: unknown = shape[axis];
    if (typeof length !== "number" || length !== length >>> 0 || outShape[axis] !== length) {
      return 0;
    }
    rows *= length;
  }
  return shape[axes - 1] === weight.inFeatures && outShape[axes - 1] === weight.outFeatures
    ? rows
    : 0;
}

/** Whether input and result are Float32Arrays of the given sizes, in different unshared buffers. */
function areClear(input: unknown, size: number, out: unknown, outSize: number): boolean {
  return (
    arrayName(input) === "Float32Array" &&
    arrayName(out) === "Float32Array" &&
    arrayLength(input) === size &&
    arrayLength(out) === outSize &&
    outSize > 0 &&
    areApart(input, out)
  );
}
