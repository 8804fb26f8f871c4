// The layers that a model is made of, in float32.

import { type ArrayConstructor, checkStillThere, type NumberArray, newArray } from "../arrays.js";
import {
  type AsyncOptions,
  changes,
  checkAsyncOptions,
  loadForms,
  runHere,
  runJob,
  throwIfAborted,
} from "../async/background.js";
import {
  aroundAxis,
  type CheckedTensor,
  checkFinite,
  checkInteger,
  checkOptions,
  checkShape,
  checkTensor,
  sameShape,
  sizeOf,
  type TensorInput,
} from "../check.js";
import type { Core } from "../core.js";
import type { Codes } from "../dtype.js";
import { rangeError, typeError } from "../errors.js";
import { axisOf } from "../granularity.js";
import { activeCore } from "../init.js";
import { checkLinear, checkMatrix, runLinear } from "../linear.js";
import { formatShape } from "../print.js";
import { floatRepr } from "../python-repr.js";
import { INSPECT, kindOf, OWN, show, showShape } from "../show.js";
import { asTensor, copyTensor, Tensor } from "../tensor.js";

/** One step of a model: from a tensor to a tensor. */
export abstract class Layer {
  /** What `QConfigMapping.setObjectType` calls layers of this class. */
  static readonly typeName: string = "Layer";
  /** Types alone: what merely looks like a layer is none. */
  declare private readonly layer: never;

  /** What `QConfigMapping.setObjectType` calls layers like this one. */
  get typeName(): string {
    return (this.constructor as typeof Layer).typeName;
  }

  /** @internal */
  get [OWN](): true {
    return true;
  }

  /** Computes the layer's output. */
  abstract forward(x: TensorInput): Tensor;

  /**
   * `forward`, with the same bits. A layer that multiplies does so off this thread, as `linearAsync` and
   * `QuantizedLinear.forwardAsync` do. Others have little to do, and do it here: with a pause after
   * every piece where values are many, and `onProgress` says so (`offThread`, `reason`).
   * @param x  what `forward` takes; leave it as it is until the promise settles
   * @param options.signal      stops the work: the promise is rejected with the signal's reason
   * @param options.onProgress  called after every piece with `{ done, total, offThread, reason }`
   * @returns a promise of what `forward` returns
   * @throws (as a rejection) what `forward` and `quantizeAsync` throw
   */
  async forwardAsync(x: TensorInput, options?: AsyncOptions): Promise<Tensor> {
    const { settings } = checkAsyncOptions(`${this.typeName}.forwardAsync`, options);
    return await runHere(this.typeName, settings, () => this.forward(x));
  }

  /** Bytes of the layer's parameters, in float32. */
  get sizeInBytes(): number {
    return 0;
  }

  /** The layer as PyTorch prints it. */
  toString(): string {
    return `${this.typeName}(${this.extraText()})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  /** @internal */
  protected extraText(): string {
    return "";
  }
}

/** A class of layers. */
type LayerClass<L extends Layer> = (abstract new (...args: never) => L) & { readonly prototype: L };

/** Whether a layer computes what a class does, rather than a subclass with a `forward` of its own. */
export function computesAs<L extends Layer>(
  layer: Layer | undefined,
  type: LayerClass<L>,
): layer is L {
  return layer instanceof type && layer.forward === type.prototype.forward;
}

/** Parameters of a layer: float32 of a shape, copied. */
function checkParameter(
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

/** Bytes of parameters in float32. */
export const floatBytes = (...parameters: (Tensor | undefined)[]): number =>
  parameters.reduce((bytes, parameter) => bytes + 4 * (parameter?.data.length ?? 0), 0);

/** The core that a layer was made on. */
const cores = new WeakMap<Layer, Core>();

/** The core that a layer with a weight runs on. */
export const coreOf = (layer: Linear | Embedding): Core => cores.get(layer) as Core;

/** A layer's weight, copied; the layer runs on the core that is active. @param axes  names of its axes */
function ownWeight(
  where: string,
  layer: Linear | Embedding,
  weight: unknown,
  axes?: string,
): Tensor {
  cores.set(layer, activeCore(where));
  const checked = checkTensor(where, "weight", weight);
  checkMatrix(where, checked.shape, axes);
  return copyTensor(where, checked);
}

/** What `Linear` takes beside its weight. */
export interface LinearLayerOptions {
  /** float32 of shape [outFeatures]. Default: none. */
  bias?: TensorInput | null | undefined;
}

/**
 * input · weightᵀ + bias, as `linear` computes it.
 *
 * Source: torch.nn.Linear, with the weight given.
 *
 * @example new Linear(tensor([[1, 2], [3, 4]]), { bias: tensor([0, 1]) })
 */
export class Linear extends Layer {
  static override readonly typeName = "Linear";
  /** float32 of shape [outFeatures, inFeatures]; a copy of what was given. */
  declare readonly weight: Tensor;
  /** float32 of shape [outFeatures]; a copy of what was given. */
  declare readonly bias: Tensor | undefined;
  /** How many values a row of input has. */
  declare readonly inFeatures: number;
  /** How many values a row of output has. */
  declare readonly outFeatures: number;

  /**
   * @param weight  float32 of shape [outFeatures, inFeatures]
   * @param options.bias  float32 of shape [outFeatures]; default: none
   * @throws {RangeError} `ZP_SHAPE_MISMATCH`
   * @throws {TypeError} `ZP_INVALID_TENSOR`, `ZP_UNKNOWN_OPTION`
   */
  constructor(weight: TensorInput, options?: LinearLayerOptions) {
    super();
    const where = "Linear";
    this.weight = ownWeight(where, this, weight);
    [this.outFeatures, this.inFeatures] = this.weight.shape as [number, number];
    const { bias } = checkOptions(where, options, ["bias"]);
    this.bias = checkParameter(where, "options.bias", bias, [this.outFeatures]);
  }

  /**
   * @param input  float32 of shape [..., inFeatures]
   * @returns float32 of shape [..., outFeatures]
   * @throws {RangeError} `ZP_SHAPE_MISMATCH`
   */
  forward(input: TensorInput): Tensor {
    return runLinear(coreOf(this), "Linear.forward", input, this.weight, this.bias);
  }

  override async forwardAsync(input: TensorInput, options?: AsyncOptions): Promise<Tensor> {
    if (changes(this, Linear, "forward")) return await super.forwardAsync(input, options);
    const where = "Linear.forwardAsync";
    const { settings } = checkAsyncOptions(where, options);
    const call = checkLinear(where, input, this.weight, this.bias, undefined);
    return await runJob(coreOf(this), where, settings, "linear", call);
  }

  override get sizeInBytes(): number {
    return floatBytes(this.weight, this.bias);
  }

  protected override extraText(): string {
    const { inFeatures, outFeatures, bias } = this;
    const hasBias = bias === undefined ? "False" : "True";
    return `in_features=${inFeatures}, out_features=${outFeatures}, bias=${hasBias}`;
  }
}

/** Many values are worked on in pieces of about so many. */
const VALUES_AT_ONCE = 2 ** 18;

/** A layer whose values depend on few others each. */
export abstract class Piecewise extends Layer {
  override async forwardAsync(x: TensorInput, options?: AsyncOptions): Promise<Tensor> {
    const where = `${this.typeName}.forwardAsync`;
    const { settings } = checkAsyncOptions(where, options);
    const checked = checkTensor(where, "x", x);
    const isLong = checked.size > VALUES_AT_ONCE && freeAxes(this, checked.shape) > 0;
    if (!isLong) return await super.forwardAsync(x, options);
    throwIfAborted(settings.signal);
    const { forwardHere } = await loadForms(where);
    return await forwardHere(this, where, checked, VALUES_AT_ONCE, settings);
  }
}

/**
 * How many axes of a shape may be cut, from the outermost on: values of different indices there have
 * nothing to do with each other. 0 or less for a shape that the layer refuses, and for a layer of which
 * nothing is known.
 */
export function freeAxes(layer: Piecewise, shape: readonly number[]): number {
  const { length } = shape;
  if (computesAs(layer, Elementwise)) return length;
  if (computesAs(layer, Softmax)) {
    const axis = layer.axis < 0 ? layer.axis + length : layer.axis;
    return axis < length ? axis : 0;
  }
  if (!computesAs(layer, LayerNorm)) return 0;
  const own = layer.normalizedShape;
  return endsWith(shape, own) ? length - own.length : 0;
}

/** Whether the last axes of a shape are these. */
const endsWith = (shape: readonly number[], own: readonly number[]): boolean =>
  sameShape(shape.slice(-own.length), own);

/** A function of every value by itself, which is out of a subclass's reach: that changes `forward`. */
abstract class Elementwise extends Piecewise {
  readonly #map: (value: number) => number;

  /** @internal */
  constructor(map: (value: number) => number) {
    super();
    this.#map = map;
  }

  /** @param x  float32, any shape. @returns float32 of the same shape */
  forward(x: TensorInput): Tensor {
    const where = `${this.typeName}.forward`;
    const result = copyTensor(where, checkTensor(where, "x", x));
    const { data } = result;
    for (let i = 0; i < data.length; i++) data[i] = this.#map(data[i]);
    return result;
  }
}

/**
 * max(x, 0); NaN and -0 stay what they are.
 *
 * Source: torch.nn.ReLU.
 *
 * @example new ReLU().forward(tensor([-1, 2])).data // Float32Array [0, 2]
 */
export class ReLU extends Elementwise {
  static override readonly typeName = "ReLU";

  constructor() {
    super((value) => (value < 0 ? 0 : value));
  }
}

/**
 * 1 / (1 + e⁻ˣ), in double precision and rounded once. The last bit is the engine's, whose Math.exp it
 * uses.
 *
 * Source: torch.nn.Sigmoid.
 *
 * @example new Sigmoid().forward(tensor([0])).data // Float32Array [0.5]
 */
export class Sigmoid extends Elementwise {
  static override readonly typeName = "Sigmoid";

  constructor() {
    super((value) => 1 / (1 + Math.exp(-value)));
  }
}

/**
 * The hyperbolic tangent, in double precision and rounded once, by the engine's Math.tanh.
 *
 * Source: torch.nn.Tanh.
 *
 * @example new Tanh().forward(tensor([0])).data // Float32Array [0]
 */
export class Tanh extends Elementwise {
  static override readonly typeName = "Tanh";

  constructor() {
    super(Math.tanh);
  }
}

/** What `Softmax` takes. */
export interface SoftmaxOptions {
  /** The axis along which values add up to 1; negative counts from the end. Default: -1. */
  axis?: number | undefined;
}

/**
 * eˣ / Σ eˣ along an axis, in double precision and rounded once.
 *
 * Source: torch.nn.Softmax.
 *
 * @example new Softmax().forward(tensor([0, 0])).data // Float32Array [0.5, 0.5]
 */
export class Softmax extends Piecewise {
  static override readonly typeName = "Softmax";
  /** The axis along which values add up to 1. */
  declare readonly axis: number;

  /** @throws {TypeError|RangeError} `ZP_INVALID_OPTION`, `ZP_UNKNOWN_OPTION` */
  constructor(options?: SoftmaxOptions) {
    super();
    const { axis } = checkOptions("Softmax", options, ["axis"]);
    this.axis = checkInteger("Softmax", "options.axis", axis, -1, -64, 63);
  }

  /**
   * @param x  float32 with the axis. @returns float32 of the same shape
   * @throws {RangeError} `ZP_INVALID_AXIS`
   */
  forward(x: TensorInput): Tensor {
    const where = "Softmax.forward";
    const checked = checkTensor(where, "x", x);
    const { shape } = checked;
    const axis = axisOf(where, "axis", this.axis, shape);
    const result = copyTensor(where, checked);
    if (checked.size === 0) return result;
    const [outer, length, inner] = aroundAxis(shape, axis);
    for (let o = 0; o < outer; o++) {
      for (let i = 0; i < inner; i++) {
        softmax(result.data, o * length * inner + i, length, inner);
      }
    }
    return result;
  }

  protected override extraText(): string {
    return `dim=${this.axis}`;
  }
}

function softmax(data: Float32Array, start: number, length: number, stride: number): void {
  const end = start + length * stride;
  let max = -Infinity;
  for (let i = start; i < end; i += stride) max = Math.max(max, data[i]);
  let sum = 0;
  for (let i = start; i < end; i += stride) sum += Math.exp(data[i] - max);
  for (let i = start; i < end; i += stride) data[i] = Math.exp(data[i] - max) / sum;
}

/** What `LayerNorm` takes beside the shape. */
export interface LayerNormOptions {
  /** float32 of the normalized shape. Default: ones. */
  weight?: TensorInput | null | undefined;
  /** float32 of the normalized shape. Default: zeros. */
  bias?: TensorInput | null | undefined;
  /** Added to the variance. Default: 1e-5. */
  eps?: number | undefined;
}

/**
 * (x − mean) / √(variance + eps) · weight + bias over the last axes, in double precision and rounded
 * once.
 *
 * Source: torch.nn.LayerNorm.
 *
 * @example
 * new LayerNorm(2).forward(tensor([[1, 3]])).data
 * // Float32Array [-0.9999949932098389, 0.9999949932098389]
 */
export class LayerNorm extends Piecewise {
  static override readonly typeName = "LayerNorm";
  /** The last axes of the input, over which it is normalized. */
  declare readonly normalizedShape: readonly number[];
  /** float32 of shape `normalizedShape`, which multiplies; a copy of what was given. */
  declare readonly weight: Tensor | undefined;
  /** float32 of shape `normalizedShape`, which is added; a copy of what was given. */
  declare readonly bias: Tensor | undefined;
  /** Added to the variance. */
  declare readonly eps: number;

  /**
   * @param normalizedShape  the lengths of the last axes, of one at least, or of the last one alone
   * @throws {TypeError|RangeError} `ZP_INVALID_SHAPE`, `ZP_SHAPE_MISMATCH`, `ZP_INVALID_OPTION`
   */
  constructor(normalizedShape: number | readonly number[], options?: LayerNormOptions) {
    super();
    const where = "LayerNorm";
    const { weight, bias, eps } = checkOptions(where, options, ["weight", "bias", "eps"]);
    const lengths = typeof normalizedShape === "number" ? [normalizedShape] : normalizedShape;
    this.normalizedShape = checkShape(where, "normalizedShape", lengths);
    if (this.normalizedShape.length === 0) {
      throw rangeError("ZP_INVALID_SHAPE", where, "normalizedShape must have lengths, got []");
    }
    this.weight = checkParameter(where, "options.weight", weight, this.normalizedShape);
    this.bias = checkParameter(where, "options.bias", bias, this.normalizedShape);
    this.eps = checkFinite(where, "options.eps", eps, 1e-5);
  }

  /**
   * @param x  float32 of shape [..., …normalizedShape]. @returns float32 of the same shape
   * @throws {RangeError} `ZP_SHAPE_MISMATCH`
   */
  forward(x: TensorInput): Tensor {
    const where = "LayerNorm.forward";
    const checked = checkTensor(where, "x", x);
    const { shape } = checked;
    const own = this.normalizedShape;
    if (!endsWith(shape, own)) {
      throw rangeError(
        "ZP_SHAPE_MISMATCH",
        where,
        `x must have ${showShape(own)} for its last axes, got shape ${showShape(shape)}`,
      );
    }
    const result = copyTensor(where, checked);
    const { data } = result;
    const count = sizeOf(own);
    for (const each of [this.weight, this.bias]) {
      if (each !== undefined) checkStillThere(where, each.data, count);
    }
    for (let start = 0; start < data.length; start += count) {
      this.#normalize(data.subarray(start, start + count));
    }
    return result;
  }

  #normalize(row: Float32Array): void {
    const { weight, bias, eps } = this;
    let sum = 0;
    for (let i = 0; i < row.length; i++) sum += row[i];
    const mean = sum / row.length;
    let squares = 0;
    for (let i = 0; i < row.length; i++) squares += (row[i] - mean) ** 2;
    const scale = 1 / Math.sqrt(squares / row.length + eps);
    for (let i = 0; i < row.length; i++) {
      row[i] = (row[i] - mean) * scale * (weight?.data[i] ?? 1) + (bias?.data[i] ?? 0);
    }
  }

  override get sizeInBytes(): number {
    return floatBytes(this.weight, this.bias);
  }

  protected override extraText(): string {
    const { normalizedShape, eps, weight } = this;
    const affine = weight === undefined ? "False" : "True";
    return `${formatShape(normalizedShape)}, eps=${floatRepr(eps)}, elementwise_affine=${affine}`;
  }
}

/**
 * Checks indices into the rows of a table.
 * @throws {RangeError} `ZP_INVALID_TENSOR` for an index that is none
 */
export function checkIndices(where: string, value: unknown, rows: number): CheckedTensor {
  const checked = checkTensor(where, "indices", value, Float64Array);
  const { data } = checked;
  for (let i = 0; i < data.length; i++) {
    if (Number.isInteger(data[i]) && data[i] >= 0 && data[i] < rows) continue;
    const allowed = rows === 0 ? "none, for there are no rows" : `integers from 0 to ${rows - 1}`;
    throw rangeError(
      "ZP_INVALID_TENSOR",
      where,
      `indices must be ${allowed}, but value ${i} is ${show(data[i])}`,
    );
  }
  return checked;
}

/** Some rows of a table, each of `width` values. */
export function rowsOf<A extends Codes | Float32Array | Float64Array>(
  where: string,
  table: A,
  width: number,
  indices: NumberArray,
): A {
  const out = newArray(where, table.constructor as ArrayConstructor<A>, indices.length * width);
  for (let i = 0; i < indices.length; i++) {
    const start = indices[i] * width;
    out.set(table.subarray(start, start + width), i * width);
  }
  return out;
}

/**
 * Rows of a table, by their indices.
 *
 * Source: torch.nn.Embedding, with the weight given.
 *
 * @example
 * const table = new Embedding(tensor([[1, 2], [3, 4]]));
 * table.forward(Int32Array.of(1, 1, 0)).shape; // [3, 2]
 */
export class Embedding extends Layer {
  static override readonly typeName = "Embedding";
  /** float32 of shape [numEmbeddings, embeddingDim]; a copy of what was given. */
  declare readonly weight: Tensor;
  /** How many rows the table has. */
  declare readonly numEmbeddings: number;
  /** How many values a row has. */
  declare readonly embeddingDim: number;

  /**
   * @param weight  float32 of shape [numEmbeddings, embeddingDim]
   * @throws {RangeError} `ZP_SHAPE_MISMATCH`
   * @throws {TypeError} `ZP_INVALID_TENSOR`
   */
  constructor(weight: TensorInput) {
    super();
    this.weight = ownWeight("Embedding", this, weight, "numEmbeddings, embeddingDim");
    [this.numEmbeddings, this.embeddingDim] = this.weight.shape as [number, number];
  }

  /**
   * @param x  indices of any shape: integers from 0 to numEmbeddings − 1
   * @returns float32 of shape [...x.shape, embeddingDim]
   * @throws {RangeError} `ZP_INVALID_TENSOR` for an index that is none
   */
  forward(x: TensorInput): Tensor {
    const where = "Embedding.forward";
    const { numEmbeddings, embeddingDim, weight } = this;
    const { data, shape } = checkIndices(where, x, numEmbeddings);
    checkStillThere(where, weight.data, numEmbeddings * embeddingDim);
    const rows = rowsOf(where, weight.data, embeddingDim, data);
    return new Tensor(rows, [...shape, embeddingDim]);
  }

  override get sizeInBytes(): number {
    return floatBytes(this.weight);
  }

  protected override extraText(): string {
    return `${this.numEmbeddings}, ${this.embeddingDim}`;
  }
}

/** A function of a tensor, as a layer. */
class FunctionLayer extends Layer {
  static override readonly typeName = "Function";
  readonly #run: (x: Tensor) => TensorInput;

  /** @internal */
  constructor(run: (x: Tensor) => TensorInput) {
    super();
    this.#run = run;
  }

  forward(x: TensorInput): Tensor {
    const where = "Function.forward";
    const result = this.#run(asTensor(where, "x", x));
    if (kindOf(result) === "Promise") {
      const why = "layers are synchronous, and the function returns a Promise";
      throw typeError("ZP_INVALID_MODEL", where, why);
    }
    return asTensor(where, "what the function returns", result);
  }

  protected override extraText(): string {
    return this.#run.name;
  }
}

/** A layer, or a function that serves as one. @throws {TypeError} `ZP_INVALID_MODEL` */
export function checkLayer(where: string, argument: string, value: unknown): Layer {
  if (value instanceof Layer) return value;
  // An instance's own classes do not show what they are.
  const isClass = (made: { readonly prototype?: unknown }): boolean =>
    made.prototype instanceof Layer || /^class\b/.test(Function.prototype.toString.call(made));
  if (typeof value === "function" && !isClass(value)) {
    return new FunctionLayer(value as (x: Tensor) => TensorInput);
  }
  const hint = typeof value === "function" ? "a class; new makes a layer of it" : show(value);
  throw typeError(
    "ZP_INVALID_MODEL",
    where,
    `${argument} must be a layer or a function from tensor to tensor, got ${hint}`,
  );
}
