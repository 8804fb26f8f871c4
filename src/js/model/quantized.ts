// The layers of a converted model: codes between those that compute with codes, floats elsewhere.

import { asFloat32, type NumberArray, newArray } from "../arrays.js";
import { type AsyncSettings, runHere, runJob } from "../async/background.js";
import { checkTensor, type TensorInput } from "../check.js";
import type { Core } from "../core.js";
import { dequantize } from "../dequantize.js";
import { type Codes, DTYPES } from "../dtype.js";
import { runOn } from "../init.js";
import { checkInput } from "../linear.js";
import { type PackedWeight, packing, type WeightCodes } from "../packed-weight.js";
import { floatRepr } from "../python-repr.js";
import {
  listed,
  type QuantizedTensor,
  type QuantizedTensorInput,
  qparamsText,
} from "../qparams.js";
import { perTensorTensor, type TensorQParams, TorchQuantizedTensor } from "../qtensor.js";
import { layerOf, type QuantizedLinear, type QuantizedLinearOptions } from "../quantized-linear.js";
import { Tensor } from "../tensor.js";
import { quantizePerTensor } from "../torch.js";
import { runStatic, setStaticBias } from "../w8a8.js";
import type { Procedure } from "../work.js";
import {
  checkIndices,
  computesAs,
  coreOf,
  type Embedding,
  floatBytes,
  type Layer,
  type Linear,
  ReLU,
  rowsOf,
} from "./layer.js";

/** Quint8 codes with one scale, on their way from one layer to the next. */
type CodesFlow = TorchQuantizedTensor<"quint8", "perTensor">;

/** What goes from layer to layer. */
export type Flow = TensorInput | Tensor | CodesFlow;

/** Whether codes go by, rather than floats. */
function isCodes(flow: Flow): flow is CodesFlow {
  return flow instanceof TorchQuantizedTensor;
}

/** Float values of what goes by. */
export function floatsOf(core: Core, flow: Flow): TensorInput {
  return isCodes(flow) ? runOn(core, () => dequantize(flow)) : flow;
}

/** How a layer of a converted model computes. */
export type LayerMethod = "float32" | "static" | "dynamic" | "weight-only";

/** What a converted layer is made of. */
interface Parts<L extends Layer> {
  readonly name: string;
  /** The layer it was made from. */
  readonly layer: L;
  readonly method: LayerMethod;
  /** Bytes of the parameters as they would be stored. */
  readonly sizeInBytes: number;
  /** The quantized weight, if there is one. */
  readonly q?: QuantizedTensor | TorchQuantizedTensor;
  /** Whether the ReLU after it is part of it. */
  readonly fused?: boolean;
}

/** One step of a converted model. */
export abstract class ConvertedLayer<L extends Layer = Layer> {
  declare readonly parts: Parts<L>;
  declare readonly core: Core;

  constructor(core: Core, parts: Parts<L>) {
    this.core = core;
    this.parts = parts;
  }

  get name(): string {
    return this.parts.name;
  }

  /** The layer it was made from. */
  get layer(): L {
    return this.parts.layer;
  }

  abstract run(flow: Flow): Flow;

  /** The same off this thread, where that is worth it. */
  runAsync(flow: Flow, settings: AsyncSettings): Promise<Flow> {
    return runHere(this.layer.typeName, settings, () => this.run(flow));
  }

  /** Float values of what goes by. */
  toFloats(flow: Flow): TensorInput {
    return floatsOf(this.core, flow);
  }

  dispose(): void {}

  abstract toString(): string;
}

/** A layer that stays as it was. Codes pass through a ReLU as codes. */
export class FloatStep extends ConvertedLayer {
  constructor(core: Core, name: string, layer: Layer) {
    super(core, { name, layer, method: "float32", sizeInBytes: layer.sizeInBytes });
  }

  run(flow: Flow): Flow {
    return this.#takesCodes(flow) ? reluOfCodes(flow) : this.layer.forward(this.toFloats(flow));
  }

  override runAsync(flow: Flow, settings: AsyncSettings): Promise<Flow> {
    return this.#takesCodes(flow)
      ? super.runAsync(flow, settings)
      : this.layer.forwardAsync(this.toFloats(flow), settings);
  }

  #takesCodes(flow: Flow): flow is CodesFlow {
    return isCodes(flow) && computesAs(this.layer, ReLU);
  }

  toString(): string {
    return String(this.layer);
  }
}

/** max(q, zero point): the codes of max(x, 0), with the same qparams. Source: torch.relu. */
function reluOfCodes({ data, shape, scale, zeroPoint }: CodesFlow): CodesFlow {
  const codes = data.map((code) => Math.max(code, zeroPoint));
  return perTensorTensor(codes, shape, "quint8", { scale, zeroPoint });
}

/** An int8 weight with zero points 0, one scale or one for each output. */
export interface QuantizedWeight {
  readonly q: TorchQuantizedTensor<"qint8">;
  readonly scales: Float32Array;
}

/** How a weight like this prints. */
const perOutputText = ({ q }: QuantizedWeight): string => `qscheme=torch.${q.qscheme}`;

/** How the features of a layer print. */
const featuresText = ({ inFeatures, outFeatures }: Linear): string =>
  `in_features=${inFeatures}, out_features=${outFeatures}`;

/** Bytes of an int8 weight and a bias of four bytes a value. */
const int8Bytes = ({ q, scales }: QuantizedWeight, { bias }: Linear): number =>
  q.data.length + 4 * scales.length + floatBytes(bias);

/** Bytes of scale and zero point of activations: a double and an int32. */
const ACTIVATION_BYTES = 12;

/**
 * A linear layer with quint8 codes in and out:
 *
 *     acc = Σ (qx − zx) · qw                                          exact
 *     q = clamp(round_half_even(float(acc + bias) · float(sx · sw / sy)) + zy, 0, 255)
 *
 * with the bias in whole steps of sx · sw. The same in every build; PyTorch's engines differ from one
 * another here. qnnpack's codes are these, but where a product is next to a tie, and where a bias has
 * more than 2³¹ steps: it cuts that off.
 */
export class StaticLinear extends ConvertedLayer<Linear> {
  readonly #weight: PackedWeight;
  readonly #input: TensorQParams;
  readonly #output: TensorQParams;
  readonly #text: string;

  /**
   * @param ownsInput  whether the input's qparams are the layer's own, not those of the one before
   * @param fused      whether a ReLU is part of the layer
   */
  constructor(
    name: string,
    layer: Linear,
    quantized: QuantizedWeight,
    packed: PackedWeight,
    input: TensorQParams,
    output: TensorQParams,
    ownsInput: boolean,
    fused: boolean,
  ) {
    const { q, scales } = quantized;
    const activations = (ownsInput ? 2 : 1) * ACTIVATION_BYTES;
    const sizeInBytes = int8Bytes(quantized, layer) + activations;
    super(coreOf(layer), { name, layer, method: "static", sizeInBytes, q, fused });
    this.#input = input;
    this.#output = output;
    this.#text = perOutputText(quantized);
    this.#weight = packed;
    const { bias } = layer;
    if (bias !== undefined) {
      setStaticBias(this.core, "convert", packed, bias.data, scales, input);
    }
  }

  run(flow: Flow): Flow {
    const where = "Linear.forward";
    const { codes, rows, outShape } = this.#check(where, flow);
    const out = newArray(where, Uint8Array, rows * this.layer.outFeatures);
    runStatic(this.core, where, this.#weight, codes, rows, this.#input, this.#output, out);
    return this.#result(out, outShape);
  }

  override async runAsync(flow: Flow, settings: AsyncSettings): Promise<Flow> {
    const where = "Linear.forwardAsync";
    const weight = this.#weight;
    weight.checkAlive(where);
    const { codes, rows, outShape } = this.#check(where, flow);
    const out = await runJob(
      this.core,
      where,
      settings,
      "forwardStatic",
      weight,
      codes,
      this.#input,
      this.#output,
      rows,
    );
    return this.#result(out, outShape);
  }

  /** The codes of what goes in, and the shape of what comes out. */
  #check(where: string, flow: Flow): { codes: Uint8Array; rows: number; outShape: number[] } {
    const { shape, data } = isCodes(flow) ? flow : this.#quantize(where, flow);
    const { rows, outShape } = checkInput(where, { data, shape }, this.layer);
    return { codes: data, rows, outShape };
  }

  #result(codes: Uint8Array, shape: readonly number[]): CodesFlow {
    const result = perTensorTensor(codes, shape, "quint8", this.#output);
    return this.parts.fused ? reluOfCodes(result) : result;
  }

  #quantize(where: string, x: TensorInput): CodesFlow {
    const { data, shape } = checkTensor(where, "input", x);
    const { scale, zeroPoint } = this.#input;
    const values = { data: asFloat32(data), shape };
    return runOn(this.core, () => quantizePerTensor(values, scale, zeroPoint, "quint8"));
  }

  override dispose(): void {
    this.#weight.dispose();
  }

  toString(): string {
    const { scale, zeroPoint } = this.#output;
    return (
      `${this.parts.fused ? "QuantizedLinearReLU" : "QuantizedLinear"}(${featuresText(this.layer)}, ` +
      `scale=${floatRepr(scale)}, zero_point=${zeroPoint}, ${this.#text})`
    );
  }
}

/** A linear layer with quantized weights, which takes floats. */
class QuantizedStep extends ConvertedLayer<Linear> {
  readonly #quantized: QuantizedLinear;
  readonly #text: string;

  constructor(parts: Parts<Linear>, quantized: QuantizedLinear, text: string) {
    super(coreOf(parts.layer), parts);
    this.#quantized = quantized;
    this.#text = text;
  }

  run(flow: Flow): Flow {
    return this.#quantized.forward(this.toFloats(flow));
  }

  override runAsync(flow: Flow, settings: AsyncSettings): Promise<Flow> {
    return this.#quantized.forwardAsync(this.toFloats(flow), settings);
  }

  override dispose(): void {
    this.#quantized.dispose();
  }

  toString(): string {
    return this.#text;
  }
}

/** Packs the weight of a layer that computes with codes. */
export function packedInt8(
  where: string,
  layer: Linear,
  { q, scales }: QuantizedWeight,
): Procedure<PackedWeight> {
  const { outFeatures, inFeatures, bias } = layer;
  const weight: WeightCodes = {
    outFeatures,
    inFeatures,
    dtype: "int8",
    codes: q.data,
    granularity: scales.length > 1 ? "perOutput" : "perTensor",
    groupSize: 0,
    scales,
    zeroPoints: new Int32Array(scales.length),
  };
  return packing(coreOf(layer), where, weight, bias?.data);
}

/** A linear layer whose input is quantized on the fly. */
export function dynamicLinear(
  name: string,
  layer: Linear,
  weight: QuantizedWeight,
  reduceRange: boolean,
): Procedure<ConvertedLayer> {
  const sizeInBytes = int8Bytes(weight, layer);
  const parts = { name, layer, method: "dynamic", sizeInBytes, q: weight.q } as const;
  const text = `dtype=torch.qint8, ${perOutputText(weight)}`;
  const options = { activations: "dynamic", reduceRange } as const;
  return quantizedStep(parts, options, "DynamicQuantizedLinear", text);
}

/**
 * A linear layer with quantized weights and float32 activations.
 * @param bits  of a code, where they are fewer than the dtype's
 */
export function weightOnlyLinear(
  name: string,
  layer: Linear,
  q: QuantizedTensor,
  bits: number,
): Procedure<ConvertedLayer> {
  const sizeInBytes = storedBytes(q, bits) + floatBytes(layer.bias);
  const parts = { name, layer, method: "weight-only", sizeInBytes, q } as const;
  return quantizedStep(parts, {}, "WeightOnlyLinear", qparamsText(q));
}

/** @param text  what prints after its features */
function* quantizedStep(
  parts: Parts<Linear> & Pick<Required<Parts<Linear>>, "q">,
  options: QuantizedLinearOptions,
  type: string,
  text: string,
): Procedure<ConvertedLayer> {
  const { layer, q } = parts;
  const own = { ...options, bias: layer.bias };
  const quantized = yield* layerOf(coreOf(layer), q as QuantizedTensor, own);
  return new QuantizedStep(parts, quantized, `${type}(${featuresText(layer)}, ${text})`);
}

/** Bytes of a quantized tensor: its codes packed, float32 scales, int32 zero points if not all 0. */
function storedBytes({ data, dtype, scale, zeroPoint }: QuantizedTensor, bits: number): number {
  const width = Math.min(bits, DTYPES[dtype].bits);
  const hasZeros = listed(zeroPoint).some((zero) => zero !== 0);
  return Math.ceil((data.length * width) / 8) + (hasZeros ? 8 : 4) * listed(scale).length;
}

/** A table whose rows are dequantized when they are looked up. */
export class QuantizedEmbedding extends ConvertedLayer<Embedding> {
  readonly #q: QuantizedTensor | TorchQuantizedTensor;
  readonly #bits: number;
  readonly #text: string;

  /** @param bits  of a code, where they are fewer than the dtype's */
  constructor(
    name: string,
    layer: Embedding,
    q: QuantizedTensor | TorchQuantizedTensor,
    bits: number,
  ) {
    const isTorch = q instanceof TorchQuantizedTensor;
    // Packed codes; for each row a scale and a bias, float32 or float16.
    const sizeInBytes = isTorch
      ? Math.ceil((q.data.length * bits) / 8) + bits * layer.numEmbeddings
      : storedBytes(q, bits);
    super(coreOf(layer), { name, layer, method: "weight-only", sizeInBytes, q });
    this.#q = q;
    this.#bits = bits;
    this.#text = isTorch
      ? `dtype=torch.${bits === 4 ? "quint4x2" : q.dtype}, qscheme=torch.${q.qscheme}`
      : qparamsText(q);
  }

  run(flow: Flow): Flow {
    const where = "Embedding.forward";
    const { numEmbeddings, embeddingDim } = this.layer;
    const { data, shape } = checkIndices(where, this.toFloats(flow), numEmbeddings);
    const q = this.#q;
    const out =
      q instanceof TorchQuantizedTensor
        ? lookUp(where, q, data, embeddingDim, this.#bits === 4 ? toHalf : Math.fround)
        : runOn(this.core, () => dequantize(quantizedRows(where, q, data, embeddingDim))).data;
    return new Tensor(out, [...shape, embeddingDim]);
  }

  toString(): string {
    const { numEmbeddings, embeddingDim } = this.layer;
    return (
      `QuantizedEmbedding(num_embeddings=${numEmbeddings}, embedding_dim=${embeddingDim}, ` +
      `${this.#text})`
    );
  }
}

/**
 * Some rows of a table with a float scale and zero point each, as torch.ops.quantized.embedding_byte and
 * embedding_4bit have them: scale · code + bias, rounded once, where the bias is -scale · zeroPoint,
 * rounded. Beside codes of 4 bits scale and bias are float16, so that beyond 65504 nothing is left.
 * @param store  rounds scale and bias
 */
function lookUp(
  where: string,
  { data, scale, zeroPoint }: TorchQuantizedTensor,
  indices: NumberArray,
  length: number,
  store: (value: number) => number,
): Float32Array {
  const [scales, zeroPoints] = [scale, zeroPoint].map((each) => (each as Tensor).data);
  const out = newArray(where, Float32Array, indices.length * length);
  for (let i = 0, at = 0; i < indices.length; i++) {
    const row = indices[i];
    const step = store(scales[row]);
    const bias = store(-Math.fround(scales[row] * zeroPoints[row]));
    const end = (row + 1) * length;
    // Rounded as out holds it: before that double precision has all digits.
    for (let code = row * length; code < end; code++) out[at++] = step * data[code] + bias;
  }
  return out;
}

/** The nearest float16. Math.f16round, which few engines have yet. */
function toHalf(value: number): number {
  if (!(Math.abs(value) < 65520)) return value * Infinity;
  // Doubles of this size are multiples of the distance between float16 values near this one.
  const coarse = 1.5 * 2 ** (52 - 10 + Math.max(Math.floor(Math.log2(Math.abs(value))), -14));
  return value + coarse - coarse;
}

/** Some rows of a quantized table, quantized as they are in the table. */
function quantizedRows(
  where: string,
  {
    data,
    dtype,
    scale,
    zeroPoint,
    axis,
    groupSize,
  }: (QuantizedTensor | TorchQuantizedTensor) & { readonly groupSize?: number | undefined },
  indices: NumberArray,
  length: number,
): QuantizedTensorInput {
  const width = groupSize === undefined ? 1 : length / groupSize;
  const pick = (each: number | { readonly data: Codes | Float32Array | Float64Array }) =>
    typeof each === "number"
      ? each
      : axis === 1
        ? each.data
        : rowsOf(where, each.data, width, indices);
  return {
    data: rowsOf(where, data, length, indices),
    shape: [indices.length, length],
    dtype,
    scale: pick(scale),
    zeroPoint: pick(zeroPoint),
    axis,
    groupSize,
  } as QuantizedTensorInput;
}
