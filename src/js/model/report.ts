// What quantizing a model costs: its size, and each layer's error against the float model.

import type { TensorInput } from "../check.js";
import type { Tensor } from "../tensor.js";
import type { LayerMethod } from "./quantized.js";

/** What became of one layer. */
export interface LayerReport {
  /** The layer's name in the model. */
  readonly name: string;
  /** Its type: "Linear", "ReLU", … */
  readonly type: string;
  /** How it computes now. */
  readonly method: LayerMethod;
  /** Bytes of its parameters now, codes packed. */
  readonly sizeInBytes: number;
  /** Bytes of its parameters in float32. */
  readonly floatSizeInBytes: number;
  /** SQNR of the quantized weights against the float ones, in dB; undefined without such weights. */
  readonly weightSqnr: number | undefined;
  /**
   * SQNR of the layer's outputs against those of the float model, in dB, errors of earlier layers
   * included; undefined if no input was given.
   */
  readonly outputSqnr: number | undefined;
}

/** What quantizing a model costs. Prints as a table. */
export class ModelReport {
  /** One line for each layer, in the order in which they run. */
  readonly layers: readonly LayerReport[];
  /** Bytes of all parameters now. */
  readonly sizeInBytes: number;
  /** Bytes of all parameters in float32. */
  readonly floatSizeInBytes: number;
  /** SQNR of the model's output against the float model's, in dB; undefined if no input was given. */
  readonly outputSqnr: number | undefined;

  /** @internal */
  constructor(layers: readonly LayerReport[]) {
    this.layers = layers;
    this.sizeInBytes = layers.reduce((sum, { sizeInBytes }) => sum + sizeInBytes, 0);
    this.floatSizeInBytes = layers.reduce((sum, layer) => sum + layer.floatSizeInBytes, 0);
    this.outputSqnr = layers[layers.length - 1]?.outputSqnr;
  }

  /** The report as a table, a line for each layer. */
  toString(): string {
    const head = ["layer", "type", "method", "bytes", "of", "weights", "outputs"];
    const total = {
      name: "all",
      type: "",
      method: "",
      sizeInBytes: this.sizeInBytes,
      floatSizeInBytes: this.floatSizeInBytes,
      weightSqnr: undefined,
      outputSqnr: this.outputSqnr,
    };
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
}

function decibels(sqnr: number | undefined): string {
  if (sqnr === undefined) return "-";
  return sqnr === Infinity ? "exact" : `${sqnr.toFixed(1)} dB`;
}

/** Sums up signal and noise of several pieces. */
export class SqnrMeter {
  #signal = 0;
  #noise = 0;

  add(signal: Tensor, value: Tensor): void {
    const [a, b] = [signal.data, value.data];
    for (let i = 0; i < a.length; i++) {
      const difference = a[i] - b[i];
      this.#signal += a[i] * a[i];
      this.#noise += difference * difference;
    }
  }

  /** 10 · log10(signal / noise); Infinity if there is no noise. */
  get sqnr(): number {
    return this.#noise === 0 ? Infinity : 10 * Math.log10(this.#signal / this.#noise);
  }
}

/** One input, or a list of them. */
export function inputsOf(x: TensorInput | readonly TensorInput[] | undefined): TensorInput[] {
  if (x === undefined) return [];
  return Array.isArray(x) ? [...x] : [x as TensorInput];
}
