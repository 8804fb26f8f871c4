/// <reference lib="esnext.disposable" preserve="true" />

// A model with quantized layers.

import { makeDisposable } from "../base/disposable.js";
import { notItself, typeError } from "../base/errors.js";
import { fixFields } from "../base/fields.js";
import { INSPECT, OWN } from "../base/format-value.js";
import type { Core } from "../core/core.js";
import type { TensorInput } from "../tensor/check.js";
import type { Tensor } from "../tensor/tensor.js";
import { type ConvertedLayer, type Flow, floatsOf } from "./converted/layer.js";
import { type Step, stepsOf } from "./converted/static-run.js";
import { inputsOf, type ModelReport, reportOn } from "./report.js";
import { modelText, outputOf, runLayers, type Sequential } from "./sequential.js";

/**
 * A model with quantized layers. It owns core memory: `dispose()` frees it. Made by `convert` and
 * `quantizeDynamic`.
 */
export class QuantizedModel {
  /** The float model. */
  declare readonly model: Sequential;
  readonly #layers: readonly ConvertedLayer[];
  readonly #steps: readonly Step[];
  readonly #core: Core;
  #isDisposed = false;

  /** @internal */
  constructor(core: Core, model: Sequential, layers: readonly ConvertedLayer[]) {
    this.#core = core;
    fixFields<QuantizedModel>(this, { model });
    this.#layers = layers;
    this.#steps = stepsOf(layers);
  }

  /**
   * Runs the quantized model.
   * @param x  input of the float model
   * @returns float32
   * @throws {TypeError} `ZP_DISPOSED`, and errors of layers, with the layer's name in the message
   */
  forward(x: TensorInput): Tensor {
    const where = "QuantizedModel.forward";
    if (!(#core in this)) throw notItself(where);
    this.#checkAlive(where);
    return this.#floats(runLayers<Step, Flow>(this.#steps, x, runStep));
  }

  /** Needed for models without core memory, too. */
  #checkAlive(where: string): void {
    if (!this.#isDisposed) return;
    throw typeError("ZP_DISPOSED", where, "the model is disposed and cannot be used any more");
  }

  #floats(flow: Flow): Tensor {
    return outputOf(this, floatsOf(this.#core, flow));
  }

  /** Bytes of all parameters in stored form: packed codes, scales, biases, qparams. */
  get sizeInBytes(): number {
    return this.#layers.reduce((bytes, converted) => bytes + converted.parts.sizeInBytes, 0);
  }

  /**
   * Reports sizes and errors: for each layer the SQNR of its weights and, for given inputs, of its
   * outputs against the float model, in dB.
   *
   * A layer's output is that of the quantized model, so it includes the errors of all earlier layers.
   * The output of a fused layer is compared after its ReLU.
   *
   * @param x  an input, or a list of them; without input the report has no figures for outputs
   * @returns plain data, printed as a table
   * @example console.log(String(quantized.report(heldOut)));
   */
  report(x?: TensorInput | readonly TensorInput[]): ModelReport {
    return reportOn(this.#core, this.#layers, inputsOf(x));
  }

  /** Frees the layers' memory. A second call does nothing; a later `forward` throws. */
  dispose(): void {
    if (!(#core in this)) throw notItself("QuantizedModel.dispose");
    this.#isDisposed = true;
    for (const converted of this.#layers) converted.dispose();
  }

  /** `dispose()`, for `using`. Present in engines with `Symbol.dispose`. */
  declare [Symbol.dispose]: () => void;

  /** The model as text, in PyTorch's style. */
  toString(): string {
    return modelText(
      "QuantizedModel",
      this.#layers.map((converted) => [converted.name, String(converted)] as const),
    );
  }

  /** @internal */
  get typeName(): string {
    return "QuantizedModel";
  }

  /** @internal */
  get [OWN](): true {
    return true;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }
}

makeDisposable(QuantizedModel);

const runStep = (step: Step, flow: Flow): Flow => step.run(flow);
