// Linear layers with quint8 input and output.

import { rangeError } from "../../base/errors.js";
import { asFloat32, copyOf, newArray } from "../../base/typed-arrays.js";
import { runOn } from "../../core/init.js";
import { checkInput } from "../../linear/input.js";
import { PackedWeight, type WeightCodes } from "../../linear/packed-weight.js";
import { runStatic, setStaticBias } from "../../linear/static.js";
import { checkTensor, readQuantized } from "../../tensor/check.js";
import { floatRepr } from "../../tensor/python-repr.js";
import { quantizePerTensor } from "../../torch/quantize.js";
import type { TensorQParams } from "../../torch/scales.js";
import { looksTorchQuantized, type TorchQuantizedTensor } from "../../torch/tensor.js";
import type { Linear } from "../layers/linear.js";
import { biasBytes, coreOf, parametersOf } from "../layers/parameters.js";
import { CodesFlow, ConvertedLayer, codesOf, type Flow, reluOfCodes } from "./layer.js";

/** An int8 weight with zero points 0, and one scale or one per output. */
export interface QuantizedWeight {
  readonly q: TorchQuantizedTensor<"qint8">;
  readonly scales: Float32Array;
}

/** The text of such a weight in a printed layer. */
export const perOutputText = ({ q }: QuantizedWeight): string => `qscheme=torch.${q.qscheme}`;

/** The text of a layer's features. */
export const featuresText = ({ inFeatures, outFeatures }: Linear): string =>
  `in_features=${inFeatures}, out_features=${outFeatures}`;

/** Bytes of an int8 weight, its scales and a bias of four bytes per value. */
export const int8Bytes = ({ q, scales }: QuantizedWeight, layer: Linear): number =>
  q.data.length + 4 * scales.length + biasBytes(layer);

/** Bytes of scale and zero point of activations: a double and an int32. */
const ACTIVATION_BYTES = 12;

/**
 * A linear layer with quint8 input and output:
 *
 *     acc = Σ (qx − zx) · qw                                          exact
 *     q = clamp(round_half_even(float(acc + bias) · float(sx · sw / sy)) + zy, 0, 255)
 *
 * The bias is rounded to a multiple of sx · sw. A quantized input brings its sx and zx, as in PyTorch; a
 * float input is quantized with the qparams of its observer. Results are the same in every build.
 * PyTorch's engines differ from one another here. The codes equal those of qnnpack, except where a product
 * is next to a tie, and where a bias exceeds 2³¹ steps, at which qnnpack clamps it.
 */
export class StaticLinear extends ConvertedLayer<Linear> {
  readonly #weight: PackedWeight;
  readonly #input: TensorQParams;
  readonly #output: TensorQParams;
  readonly #text: string;
  readonly #bias: Float32Array | undefined;
  readonly #scales: Float32Array;
  /** The input scale that the packed bias was quantized with. */
  #biasScale = NaN;

  /**
   * @param ownsInput  whether the input's qparams belong to this layer, not to the previous one
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
    const { bias } = parametersOf(layer);
    this.#bias = bias && copyOf("convert", bias.data, Float32Array);
    this.#scales = scales;
    this.#setBias("convert", input);
  }

  /** Quantizes the bias for an input's scale, again after a change, as PyTorch's qnnpack does. */
  #setBias(where: string, input: TensorQParams): void {
    if (this.#bias === undefined || input.scale === this.#biasScale) return;
    this.#weight.checkAlive(where);
    setStaticBias(this.core, where, this.#weight, this.#bias, this.#scales, input);
    this.#biasScale = input.scale;
  }

  run(flow: Flow): Flow {
    const where = "Linear.forward";
    const given = readQuantized(flow);
    const input = codesOf(where, given) ?? this.#quantize(where, given);
    const batch = checkInput(where, { data: input.codes, shape: input.shape }, this.#weight);
    const out = newArray(where, Uint8Array, batch.outSize);
    this.#setBias(where, input.qparams);
    runStatic(this.core, where, this.#weight, batch, input.qparams, this.#output, out);
    const result = new CodesFlow(out, batch.outShape, this.#output);
    return this.parts.fused ? reluOfCodes(result) : result;
  }

  #quantize(where: string, x: unknown): CodesFlow {
    if (looksTorchQuantized(x)) {
      throw rangeError(
        "ZP_UNSUPPORTED_DTYPE",
        where,
        "a quantized input must be quint8 with one scale, as PyTorch's static layer takes it; " +
          "dequantize(…) makes floats of others",
      );
    }
    const { data, shape } = checkTensor(where, "input", x);
    const { scale, zeroPoint } = this.#input;
    const values = { data: asFloat32(where, data), shape };
    const q = runOn(this.core, () => quantizePerTensor(values, scale, zeroPoint, "quint8"));
    return new CodesFlow(q.data, shape, this.#input);
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

/** Packs the weight of a static layer. */
export function packedInt8(
  where: string,
  layer: Linear,
  { q, scales }: QuantizedWeight,
): PackedWeight {
  const { outFeatures, inFeatures } = layer;
  const { bias } = parametersOf(layer);
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
  return new PackedWeight(coreOf(layer), where, weight, bias?.data);
}
