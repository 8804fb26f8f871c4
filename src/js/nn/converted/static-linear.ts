// Linear layers with quint8 input and output.

import { rangeError } from "../../base/errors.js";
import { copyOf, newArray } from "../../base/typed-arrays.js";
import { checkInput } from "../../linear/input.js";
import { PackedWeight } from "../../linear/packed-weight.js";
import { runStatic, setStaticBias } from "../../linear/static.js";
import type { WeightCodes } from "../../linear/weight.js";
import { rowsOfCodes } from "../../linear/weight-rows.js";
import { readQuantized } from "../../tensor/check.js";
import { floatRepr } from "../../tensor/python-repr.js";
import { Tensor } from "../../tensor/tensor.js";
import type { TensorQParams } from "../../torch/scales.js";
import { looksTorchQuantized, type TorchQuantizedTensor } from "../../torch/tensor.js";
import type { Linear } from "../layers/linear.js";
import { biasBytes, coreOf, parametersOf } from "../layers/parameters.js";
import { CodesFlow, ConvertedLayer, codesOf, type Flow } from "./layer.js";

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
    const own = ownsInput ? input : undefined;
    const parts = { name, layer, method: "static", sizeInBytes, q, fused } as const;
    super(coreOf(layer), { ...parts, input: own, output });
    this.#input = input;
    this.#output = output;
    this.#text = perOutputText(quantized);
    this.#weight = packed;
    const { bias } = parametersOf(layer);
    this.#bias = bias && copyOf("convert", bias.data, Float32Array);
    this.#scales = scales;
    this.setBias("convert", input);
  }

  /** Quantizes the bias for an input's scale, again after a change, as PyTorch's qnnpack does. */
  setBias(where: string, input: TensorQParams): void {
    if (this.#bias === undefined || input.scale === this.#biasScale) return;
    this.#weight.checkAlive(where);
    setStaticBias(this.core, where, this.#weight, this.#bias, this.#scales, input);
    this.#biasScale = input.scale;
  }

  /** The qparams that quantize a float input. */
  get input(): TensorQParams {
    return this.#input;
  }

  get output(): TensorQParams {
    return this.#output;
  }

  get weight(): PackedWeight {
    return this.#weight;
  }

  run(flow: Flow): Flow {
    return runStaticLayers([this], flow, [this.parts.fused === true], false);
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

/**
 * Runs static layers in sequence.
 * @param relus     for each layer, whether a ReLU follows
 * @param asFloats  whether to return values, not codes
 */
export function runStaticLayers(
  layers: readonly StaticLinear[],
  flow: Flow,
  relus: readonly boolean[],
  asFloats: boolean,
): Flow {
  const where = "Linear.forward";
  const [first] = layers;
  const given = readQuantized(flow);
  const codes = codesOf(where, given);
  if (codes === undefined) refuseOtherCodes(where, given);
  const x = codes === undefined ? given : { data: codes.codes, shape: codes.shape };
  const batch = checkInput(where, x, first.weight);
  const own = codes === undefined ? first.input : codes.qparams;
  let input = own;
  for (const layer of layers) {
    layer.setBias(where, input);
    input = layer.output;
  }
  const steps = layers.map(({ weight, output }, i) => ({ weight, output, relu: relus[i] }));
  const { weight, output, core } = layers[layers.length - 1];
  const shape = [...batch.outShape.slice(0, -1), weight.outFeatures];
  const out = newArray<Float32Array | Uint8Array>(
    where,
    asFloats ? Float32Array : Uint8Array,
    batch.rows * weight.outFeatures,
  );
  runStatic(core, where, steps, batch, codes !== undefined, own, out);
  return out instanceof Float32Array ? new Tensor(out, shape) : new CodesFlow(out, shape, output);
}

function refuseOtherCodes(where: string, x: unknown): void {
  if (!looksTorchQuantized(x)) return;
  throw rangeError(
    "ZP_UNSUPPORTED_DTYPE",
    where,
    "a quantized input must be quint8 with one scale, as PyTorch's static layer takes it; " +
      "dequantize(…) makes floats of others",
  );
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
    hasOffsets: false,
  };
  return new PackedWeight(coreOf(layer), where, rowsOfCodes(where, weight), bias?.data);
}
