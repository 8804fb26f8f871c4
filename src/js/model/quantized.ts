// The layers of a converted model: codes between those that compute with codes, floats elsewhere.

import { newArray } from "../arrays.js";
import type { Core } from "../build.js";
import { checkTensor, type TensorInput } from "../check.js";
import { dequantize } from "../dequantize.js";
import { DTYPES } from "../dtype.js";
import { rangeError } from "../errors.js";
import { runOn } from "../init.js";
import { PackedWeight, type WeightCodes } from "../packed-weight.js";
import { floatRepr } from "../python-repr.js";
import type { QuantizedTensor, QuantizedTensorInput } from "../qparams.js";
import { TorchQuantizedTensor } from "../qtensor.js";
import { QuantizedLinear } from "../quantized-linear.js";
import { showShape } from "../show.js";
import { Tensor } from "../tensor.js";
import { quantizePerTensor } from "../torch.js";
import { type Activation, Int8Layer } from "../w8a8.js";
import { checkIndices, coreOf, type Embedding, type Layer, type Linear, ReLU } from "./layer.js";

/** Quint8 codes with one scale, on their way from one layer to the next. */
export type CodesFlow = TorchQuantizedTensor<"quint8", "perTensor">;

/** What goes from layer to layer. */
export type Flow = TensorInput | Tensor | CodesFlow;

/** Whether codes go by, rather than floats. */
export function isCodes(flow: Flow): flow is CodesFlow {
  return flow instanceof TorchQuantizedTensor;
}

/** How a layer of a converted model computes. */
export type LayerMethod = "float32" | "static" | "dynamic" | "weight-only";

/** One step of a converted model. */
export interface ConvertedLayer {
  readonly name: string;
  /** The layer it was made from. */
  readonly float: Layer;
  readonly method: LayerMethod;
  /** Bytes of the parameters as they would be stored. */
  readonly sizeInBytes: number;
  /** The values that the weight's codes stand for; undefined where there are none. */
  readonly weight: Tensor | undefined;
  run(flow: Flow): Flow;
  dispose(): void;
  toString(): string;
}

/** Float values of what goes by. */
export function toFloats(core: Core | undefined, flow: Flow): TensorInput {
  if (!isCodes(flow)) return flow;
  return core === undefined ? dequantize(flow) : runOn(core, () => dequantize(flow));
}

/** A layer that stays as it was. Codes pass through a ReLU as codes. */
export class FloatStep implements ConvertedLayer {
  readonly method = "float32";
  readonly weight = undefined;
  readonly name: string;
  readonly float: Layer;
  readonly #core: Core;

  constructor(core: Core, name: string, float: Layer) {
    this.#core = core;
    this.name = name;
    this.float = float;
  }

  get sizeInBytes(): number {
    return this.float.sizeInBytes;
  }

  run(flow: Flow): Flow {
    if (isCodes(flow) && this.float instanceof ReLU) return reluOfCodes(flow);
    return this.float.forward(toFloats(this.#core, flow));
  }

  dispose(): void {}

  toString(): string {
    return String(this.float);
  }
}

/** max(q, zero point): the codes of max(x, 0), with the same qparams. Source: torch.relu. */
function reluOfCodes({ data, shape, scale, zeroPoint }: CodesFlow): CodesFlow {
  const codes = data.map((code) => Math.max(code, zeroPoint));
  return codesFlow(codes, shape, { scale, zeroPoint });
}

function codesFlow(
  codes: Uint8Array,
  shape: readonly number[],
  { scale, zeroPoint }: Activation,
): CodesFlow {
  const qscheme = "per_tensor_affine";
  return new TorchQuantizedTensor<"quint8", "perTensor">(
    codes,
    shape,
    "quint8",
    qscheme,
    scale,
    zeroPoint,
  );
}

/** An int8 weight with zero points 0, one scale or one for each output. */
export interface QuantizedWeight {
  readonly q: TorchQuantizedTensor<"qint8">;
  readonly scales: Float32Array;
}

/** Bytes of scale and zero point of activations: a double and an int32. */
const ACTIVATION_BYTES = 12;

/**
 * A linear layer with quint8 codes in and out:
 *
 *     acc = Σ (qx − zx) · qw                                          exact
 *     q = clamp(round_half_even(float(acc + bias) · float(sx · sw / sy)) + zy, 0, 255)
 *
 * with the bias as int32 in steps of sx · sw. The same in every build; PyTorch's engines differ from
 * one another here.
 */
export class StaticLinear implements ConvertedLayer {
  readonly method = "static";
  readonly sizeInBytes: number;
  readonly name: string;
  readonly float: Linear;
  readonly #core: Core;
  readonly #q: TorchQuantizedTensor<"qint8">;
  readonly #layer: Int8Layer;
  readonly #input: Activation;
  readonly #output: Activation;
  readonly #hasReLU: boolean;
  readonly #perOutput: boolean;

  /**
   * @param ownsInput  whether the input's qparams are the layer's own, not those of the one before
   * @param hasReLU    whether a ReLU is part of the layer
   */
  constructor(
    name: string,
    float: Linear,
    { q, scales }: QuantizedWeight,
    input: Activation,
    output: Activation,
    ownsInput: boolean,
    hasReLU: boolean,
  ) {
    this.name = name;
    this.float = float;
    this.#q = q;
    this.#core = coreOf(float);
    this.#input = input;
    this.#output = output;
    this.#hasReLU = hasReLU;
    this.#perOutput = scales.length > 1;
    const { outFeatures, inFeatures, bias } = float;
    const where = "convert";
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
    this.#layer = new Int8Layer(
      this.#core,
      new PackedWeight(this.#core, where, weight, bias?.data),
    );
    if (bias !== undefined) this.#layer.setStaticBias(where, bias.data, scales, input);
    this.sizeInBytes =
      q.data.length +
      4 * scales.length +
      4 * (bias?.data.length ?? 0) +
      (ownsInput ? 2 : 1) * ACTIVATION_BYTES;
  }

  get weight(): Tensor {
    return runOn(this.#core, () => dequantize(this.#q));
  }

  run(flow: Flow): Flow {
    const where = "Linear.forward";
    const codes = isCodes(flow) ? flow : this.#quantize(where, flow);
    const { inFeatures, outFeatures } = this.float;
    const { shape, data } = codes;
    if (shape.length === 0 || shape[shape.length - 1] !== inFeatures) {
      throw rangeError(
        "ZP_SHAPE_MISMATCH",
        `${where}: input must have ${inFeatures} values on its last axis, got shape ` +
          showShape(shape),
      );
    }
    const lead = shape.slice(0, -1);
    const rows = lead.reduce((product, length) => product * length, 1);
    const out = newArray(where, Uint8Array, rows * outFeatures);
    this.#layer.runStatic(where, data, rows, this.#input, this.#output, out);
    const result = codesFlow(out, [...lead, outFeatures], this.#output);
    return this.#hasReLU ? reluOfCodes(result) : result;
  }

  #quantize(where: string, x: TensorInput): CodesFlow {
    const { data, shape } = checkTensor(where, "input", x);
    const { scale, zeroPoint } = this.#input;
    const values = { data: Float32Array.from(data), shape };
    return runOn(this.#core, () => quantizePerTensor(values, scale, zeroPoint, "quint8"));
  }

  dispose(): void {
    this.#layer.weight.dispose();
  }

  toString(): string {
    const { inFeatures, outFeatures } = this.float;
    const { scale, zeroPoint } = this.#output;
    const scheme = this.#perOutput ? "per_channel_affine" : "per_tensor_affine";
    return (
      `${this.#hasReLU ? "QuantizedLinearReLU" : "QuantizedLinear"}(in_features=${inFeatures}, ` +
      `out_features=${outFeatures}, scale=${floatRepr(scale)}, zero_point=${zeroPoint}, ` +
      `qscheme=torch.${scheme})`
    );
  }
}

/** A linear layer whose input is quantized on the fly. */
export class DynamicLinear implements ConvertedLayer {
  readonly method = "dynamic";
  readonly sizeInBytes: number;
  readonly name: string;
  readonly float: Linear;
  readonly #q: TorchQuantizedTensor<"qint8">;
  readonly #layer: QuantizedLinear;
  readonly #perOutput: boolean;

  constructor(name: string, float: Linear, { q, scales }: QuantizedWeight, reduceRange: boolean) {
    this.name = name;
    this.float = float;
    this.#q = q;
    this.#perOutput = scales.length > 1;
    const { bias } = float;
    const core = coreOf(float);
    this.#layer = runOn(
      core,
      () => new QuantizedLinear(q, { bias, activations: "dynamic", reduceRange }),
    );
    this.sizeInBytes = q.data.length + 4 * scales.length + 4 * (bias?.data.length ?? 0);
  }

  get weight(): Tensor {
    return runOn(coreOf(this.float), () => dequantize(this.#q));
  }

  run(flow: Flow): Flow {
    return this.#layer.forward(toFloats(coreOf(this.float), flow));
  }

  dispose(): void {
    this.#layer.dispose();
  }

  toString(): string {
    const { inFeatures, outFeatures } = this.float;
    const scheme = this.#perOutput ? "per_channel_affine" : "per_tensor_affine";
    return (
      `DynamicQuantizedLinear(in_features=${inFeatures}, out_features=${outFeatures}, ` +
      `dtype=torch.qint8, qscheme=torch.${scheme})`
    );
  }
}

/** Bytes of a quantized tensor: its codes packed, float32 scales, int32 zero points if not all 0. */
function storedBytes({ data, dtype, scale, zeroPoint }: QuantizedTensor, bits: number): number {
  const width = Math.min(bits, DTYPES[dtype].bits);
  const scales = typeof scale === "number" ? 1 : scale.data.length;
  const zeros = typeof zeroPoint === "number" ? [zeroPoint] : zeroPoint.data;
  const hasZeros = zeros.some((zero) => zero !== 0);
  return Math.ceil((data.length * width) / 8) + 4 * scales + (hasZeros ? 4 * scales : 0);
}

/** How weights of their own granularity print. */
function weightText({ dtype, axis, groupSize }: QuantizedTensor): string {
  const granularity =
    groupSize !== undefined
      ? `, group_size=${groupSize}`
      : axis !== undefined
        ? `, axis=${axis}`
        : "";
  return `dtype=${dtype}${granularity}`;
}

/** A linear layer with quantized weights and float32 activations. */
export class WeightOnlyLinear implements ConvertedLayer {
  readonly method = "weight-only";
  readonly sizeInBytes: number;
  readonly name: string;
  readonly float: Linear;
  readonly #q: QuantizedTensor;
  readonly #layer: QuantizedLinear;

  /** @param bits  of a code, where they are fewer than the dtype's */
  constructor(name: string, float: Linear, q: QuantizedTensor, bits: number) {
    this.name = name;
    this.float = float;
    const core = coreOf(float);
    const { bias } = float;
    this.#q = q;
    this.#layer = runOn(core, () => new QuantizedLinear(q as QuantizedTensorInput, { bias }));
    this.sizeInBytes = storedBytes(q, bits) + 4 * (bias?.data.length ?? 0);
  }

  get weight(): Tensor {
    return runOn(coreOf(this.float), () => dequantize(this.#q));
  }

  run(flow: Flow): Flow {
    return this.#layer.forward(toFloats(coreOf(this.float), flow));
  }

  dispose(): void {
    this.#layer.dispose();
  }

  toString(): string {
    const { inFeatures, outFeatures } = this.float;
    return `WeightOnlyLinear(in_features=${inFeatures}, out_features=${outFeatures}, ${weightText(this.#q)})`;
  }
}

/** A table whose rows are dequantized when they are looked up. */
export class QuantizedEmbedding implements ConvertedLayer {
  readonly method = "weight-only";
  readonly name: string;
  readonly float: Embedding;
  readonly sizeInBytes: number;
  readonly #q: QuantizedTensor | TorchQuantizedTensor;
  readonly #text: string;

  constructor(
    name: string,
    float: Embedding,
    q: QuantizedTensor | TorchQuantizedTensor,
    bits: number,
  ) {
    this.name = name;
    this.float = float;
    this.#q = q;
    if (q instanceof TorchQuantizedTensor) {
      // Packed codes; a float32 scale and a float32 zero point for each row.
      this.sizeInBytes = Math.ceil((q.data.length * bits) / 8) + 8 * float.numEmbeddings;
      this.#text = `dtype=torch.${bits === 4 ? "quint4x2" : q.dtype}, qscheme=torch.${q.qscheme}`;
    } else {
      this.sizeInBytes = storedBytes(q, bits);
      this.#text = weightText(q);
    }
  }

  get weight(): Tensor {
    return runOn(coreOf(this.float), () => dequantize(this.#q));
  }

  run(flow: Flow): Flow {
    const where = "Embedding.forward";
    const { numEmbeddings, embeddingDim } = this.float;
    const core = coreOf(this.float);
    const indices = toFloats(core, flow);
    const { data, shape, size } = checkIndices(where, indices, numEmbeddings);
    // Each row that is asked for is dequantized once.
    const rows = new Map<number, Float32Array>();
    const out = newArray(where, Float32Array, size * embeddingDim);
    for (let i = 0; i < size; i++) {
      let row = rows.get(data[i]);
      if (row === undefined) {
        const index = data[i];
        row = runOn(core, () => dequantize(rowOf(this.#q, index, embeddingDim))).data;
        rows.set(index, row);
      }
      out.set(row, i * embeddingDim);
    }
    return new Tensor(out, [...shape, embeddingDim]);
  }

  dispose(): void {}

  toString(): string {
    const { numEmbeddings, embeddingDim } = this.float;
    return (
      `QuantizedEmbedding(num_embeddings=${numEmbeddings}, embedding_dim=${embeddingDim}, ` +
      `${this.#text})`
    );
  }
}

/** One row of a quantized table, quantized as it is in the table. */
function rowOf(
  q: QuantizedTensor | TorchQuantizedTensor,
  row: number,
  length: number,
): QuantizedTensorInput {
  const start = row * length;
  const data = q.data.subarray(start, start + length);
  const shape = [1, length];
  const { dtype, scale, zeroPoint, axis } = q;
  const common = { data, shape, dtype } as Pick<QuantizedTensorInput, "data" | "shape" | "dtype">;
  if (typeof scale === "number" || typeof zeroPoint === "number") {
    return { ...common, scale, zeroPoint } as QuantizedTensorInput;
  }
  const groupSize = q instanceof TorchQuantizedTensor ? undefined : q.groupSize;
  if (groupSize !== undefined) {
    const groups = length / groupSize;
    const [from, to] = [row * groups, (row + 1) * groups];
    return {
      ...common,
      scale: scale.data.subarray(from, to),
      zeroPoint: zeroPoint.data.subarray(from, to),
      groupSize,
    } as QuantizedTensorInput;
  }
  const [from, to] = axis === 0 ? [row, row + 1] : [0, scale.data.length];
  return {
    ...common,
    scale: scale.data.subarray(from, to),
    zeroPoint: zeroPoint.data.subarray(from, to),
    axis,
  } as QuantizedTensorInput;
}
