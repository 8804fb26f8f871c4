// Report on a quantized model: its size, and each layer's error against the float model.

import { INSPECT } from "../base/format-value.js";
import { explainReceivers } from "../base/receivers.js";
import type { Core } from "../core/core.js";
import { runOn } from "../core/init.js";
import type { Layer } from "../linear/layer.js";
import { packedOf, QuantizedLinear } from "../linear/quantized-linear.js";
import { dequantize } from "../quantize/dequantize.js";
import { quantizationError } from "../quantize/metrics.js";
import type { TensorInput } from "../tensor/check.js";
import type { Tensor } from "../tensor/tensor.js";
import type { ConvertedLayer, Flow, LayerMethod } from "./converted/layer.js";
import type { Embedding } from "./layers/embedding.js";
import type { Linear } from "./layers/linear.js";
import { biasBytes, parametersOf, quantizedOf } from "./layers/parameters.js";
import { toldIn } from "./sequential.js";

/** Size and errors of one layer. */
export interface LayerReport {
  /** The layer's name in the model. */
  readonly name: string;
  /** Its type: "Linear", "ReLU", … */
  readonly type: string;
  /** Its arithmetic in the quantized model. */
  readonly method: LayerMethod;
  /** Bytes of its quantized parameters, codes packed. */
  readonly sizeInBytes: number;
  /** Bytes of its parameters in float32. */
  readonly floatSizeInBytes: number;
  /** SQNR of the quantized weights against the float ones, in dB; undefined without such weights. */
  readonly weightSqnr: number | undefined;
  /**
   * SQNR of the layer's outputs against the float model's outputs, in dB, errors of earlier layers
   * included; undefined if no input was given.
   */
  readonly outputSqnr: number | undefined;
}

/** Sizes and errors of a quantized model, printed as a table. */
export class ModelReport {
  /** One entry per layer, in execution order. */
  declare readonly layers: readonly LayerReport[];
  /** Bytes of all quantized parameters. */
  declare readonly sizeInBytes: number;
  /** Bytes of all parameters in float32. */
  declare readonly floatSizeInBytes: number;
  /** SQNR of the model's output against the float model's, in dB; undefined if no input was given. */
  declare readonly outputSqnr: number | undefined;

  static {
    explainReceivers(ModelReport, "ModelReport", (object) => Object.hasOwn(object, "layers"));
  }

  /** @internal */
  constructor(layers: readonly LayerReport[]) {
    this.layers = layers;
    const sumOf = (field: "sizeInBytes" | "floatSizeInBytes") =>
      layers.reduce((sum, layer) => sum + layer[field], 0);
    this.sizeInBytes = sumOf("sizeInBytes");
    this.floatSizeInBytes = sumOf("floatSizeInBytes");
    this.outputSqnr = layers[layers.length - 1]?.outputSqnr;
  }

  /** The report as a table, one line per layer. */
  toString(): string {
    const head = ["layer", "type", "method", "bytes", "of", "weights", "outputs"];
    const total = { ...this, name: "all", type: "", method: "", weightSqnr: undefined };
    const rows = [...this.layers, total].map((layer) => [
      layer.name,
      layer.type,
      layer.method,
      String(layer.sizeInBytes),
      String(layer.floatSizeInBytes),
      decibels(layer.weightSqnr),
      decibels(layer.outputSqnr),
    ]);
    const table = [head, ...rows];
    const widths = head.map((_, i) => Math.max(...table.map((row) => row[i].length)));
    const line = (row: readonly string[]) =>
      row
        .map((text, i) => (i < 3 ? text.padEnd(widths[i]) : text.padStart(widths[i])))
        .join("  ")
        .trimEnd();
    return table.map(line).join("\n");
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }
}

function decibels(sqnr: number | undefined): string {
  if (sqnr === undefined) return "-";
  return sqnr === Infinity ? "exact" : `${sqnr.toFixed(1)} dB`;
}

/** Sums of signal and noise over several outputs. */
class SqnrMeter {
  #size = 0;
  #signal = 0;
  #noise = 0;

  add(signal: Tensor, value: Tensor): void {
    const [a, b] = [signal.data, value.data];
    this.#size += a.length;
    for (let i = 0; i < a.length; i++) {
      const difference = a[i] - b[i];
      this.#signal += a[i] * a[i];
      this.#noise += difference * difference;
    }
  }

  /** As by `quantizationError`: Infinity without noise, NaN without values. */
  get sqnr(): number {
    return this.#noise === 0 && this.#size > 0
      ? Infinity
      : 10 * Math.log10(this.#signal / this.#noise);
  }
}

/** One input, or a list of them. */
export function inputsOf(x: TensorInput | readonly TensorInput[] | undefined): TensorInput[] {
  if (x === undefined) return [];
  return Array.isArray(x) ? [...x] : [x as TensorInput];
}

/** Whether a layer has a quantized weight to compare with the float one. */
const hasCodes = ({ parts: { q } }: ConvertedLayer): boolean =>
  q !== undefined && q.data.length > 0;

/**
 * Runs the float and the quantized layers and compares their outputs.
 * @param hasFloats  whether the layers have float weights to compare with
 */
export function reportOn(
  core: Core,
  layers: readonly ConvertedLayer[],
  inputs: readonly TensorInput[],
  hasFloats: boolean,
): ModelReport {
  const meters = layers.map(() => new SqnrMeter());
  for (const input of inputs) {
    const expected: Tensor[] = [];
    for (const converted of layers) {
      const x = expected.at(-1) ?? input;
      expected.push(inLayer(converted, () => converted.layer.forward(x)));
    }
    let flow: Flow = input;
    for (const [index, converted] of layers.entries()) {
      const x: Flow = flow;
      flow = inLayer<Flow>(converted, () => converted.run(x));
      const signal = expected[converted.parts.fused ? index + 1 : index];
      meters[index].add(signal, converted.toFloats(flow) as Tensor);
    }
  }
  const reports: LayerReport[] = [];
  for (const [index, converted] of layers.entries()) {
    const { name, layer, method, sizeInBytes } = converted.parts;
    reports.push({
      name,
      type: layer.typeName,
      method,
      sizeInBytes,
      floatSizeInBytes: floatBytes(layer),
      weightSqnr: hasFloats ? weightSqnr(core, converted) : undefined,
      outputSqnr: inputs.length === 0 ? undefined : meters[index].sqnr,
    });
  }
  return new ModelReport(reports);
}

/** Bytes of a layer's parameters in float32, also if they are quantized. */
function floatBytes(layer: Layer): number {
  if (layer instanceof QuantizedLinear) {
    const { inFeatures, outFeatures, biasAt } = packedOf(layer);
    return 4 * outFeatures * (biasAt === 0 ? inFeatures : inFeatures + 1);
  }
  const quantized = quantizedOf(layer);
  return quantized ? 4 * quantized.data.length + biasBytes(layer) : layer.sizeInBytes;
}

/** Runs a function of a layer. Adds the layer's name to errors of this library. */
function inLayer<T>(converted: ConvertedLayer, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw toldIn(converted, error);
  }
}

function weightSqnr(core: Core, converted: ConvertedLayer): number | undefined {
  const { q } = converted.parts;
  if (q === undefined) return undefined;
  if (!hasCodes(converted)) return NaN;
  const { weight } = parametersOf(converted.layer as Linear | Embedding);
  return runOn(core, () => quantizationError(weight, dequantize(q), "sqnr"));
}
