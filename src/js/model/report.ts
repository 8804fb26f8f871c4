// What quantizing a model costs: its size, and each layer's error against the float model.

import { runHere } from "../async/background.js";
import { dequantizeAsync, quantizationErrorAsync } from "../async/functions.js";
import type { TensorInput } from "../check.js";
import type { Core } from "../core.js";
import { dequantize } from "../dequantize.js";
import { quantizationError } from "../error.js";
import { runOn } from "../init.js";
import { INSPECT } from "../show.js";
import type { Tensor } from "../tensor.js";
import { done, type Procedure, type Work } from "../work.js";
import type { Embedding, Linear } from "./layer.js";
import type { ConvertedLayer, Flow, LayerMethod } from "./quantized.js";
import { toldIn } from "./sequential.js";

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
  declare readonly layers: readonly LayerReport[];
  /** Bytes of all parameters now. */
  declare readonly sizeInBytes: number;
  /** Bytes of all parameters in float32. */
  declare readonly floatSizeInBytes: number;
  /** SQNR of the model's output against the float model's, in dB; undefined if no input was given. */
  declare readonly outputSqnr: number | undefined;

  /** @internal */
  constructor(layers: readonly LayerReport[]) {
    this.layers = layers;
    const sumOf = (field: "sizeInBytes" | "floatSizeInBytes") =>
      layers.reduce((sum, layer) => sum + layer[field], 0);
    this.sizeInBytes = sumOf("sizeInBytes");
    this.floatSizeInBytes = sumOf("floatSizeInBytes");
    this.outputSqnr = layers[layers.length - 1]?.outputSqnr;
  }

  /** The report as a table, a line for each layer. */
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

// ---- Measuring

/** Sums up signal and noise of several outputs. */
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

  /** As `quantizationError` has it: Infinity if there is no noise, NaN if there are no values. */
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

/** Whether there are codes to compare with values. */
const hasCodes = ({ parts: { q } }: ConvertedLayer): boolean =>
  q !== undefined && q.data.length > 0;

/** How much work there is, in runs of a layer and in weights or outputs to compare. */
export const reportTotal = (steps: readonly ConvertedLayer[], inputs: number): number =>
  3 * inputs * steps.length + 2 * steps.filter(hasCodes).length;

/** Runs the float layers and the quantized ones, and compares. */
export function* reporting(
  core: Core,
  steps: readonly ConvertedLayer[],
  inputs: readonly TensorInput[],
): Procedure<ModelReport> {
  const meters = steps.map(() => new SqnrMeter());
  for (const input of inputs) {
    const expected: Tensor[] = [];
    for (const step of steps) {
      const { layer } = step;
      const x = expected.at(-1) ?? input;
      const output = yield* doneInLayer(step, {
        amount: 1,
        here: () => layer.forward(x),
        away: (own) => layer.forwardAsync(x, own),
      });
      expected.push(output);
    }
    let flow: Flow = input;
    for (const [index, step] of steps.entries()) {
      const x: Flow = flow;
      flow = yield* doneInLayer<Flow>(step, {
        amount: 1,
        here: () => step.run(x),
        away: (own) => step.runAsync(x, own),
      });
      const output = flow;
      const signal = expected[step.parts.fused ? index + 1 : index];
      const compare = (): void => meters[index].add(signal, step.toFloats(output) as Tensor);
      yield* done({
        amount: 1,
        here: compare,
        away: (own) => runHere("comparing outputs", own, compare),
      });
    }
  }
  const layers: LayerReport[] = [];
  for (const [index, step] of steps.entries()) {
    const { name, layer, method, sizeInBytes } = step.parts;
    layers.push({
      name,
      type: layer.typeName,
      method,
      sizeInBytes,
      floatSizeInBytes: layer.sizeInBytes,
      weightSqnr: yield* weightSqnr(core, step),
      outputSqnr: inputs.length === 0 ? undefined : meters[index].sqnr,
    });
  }
  return new ModelReport(layers);
}

/** Asks for work of a layer's; errors of this library then say which layer it was. */
function* doneInLayer<T>(step: ConvertedLayer, work: Work<T>): Procedure<T> {
  try {
    return yield* done(work);
  } catch (error) {
    throw toldIn(step, error);
  }
}

function* weightSqnr(core: Core, step: ConvertedLayer): Procedure<number | undefined> {
  const { q } = step.parts;
  if (q === undefined) return undefined;
  if (!hasCodes(step)) return NaN;
  const { weight } = step.layer as Linear | Embedding;
  const values = yield* done({
    amount: 1,
    here: () => runOn(core, () => dequantize(q)),
    away: (own) => dequantizeAsync(q, own),
  });
  return yield* done({
    amount: 1,
    here: () => runOn(core, () => quantizationError(weight, values, "sqnr")),
    away: (own) => quantizationErrorAsync(weight, values, "sqnr", own),
  });
}
