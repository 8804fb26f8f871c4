/// <reference lib="esnext.disposable" preserve="true" />

// A model with quantized layers.

import { refuseClones, refuseJSON } from "../base/cloning.js";
import { makeDisposable } from "../base/disposable.js";
import { notItself, typeError } from "../base/errors.js";
import { fixFields } from "../base/fields.js";
import { INSPECT, OWN } from "../base/format-value.js";
import { explainReceivers } from "../base/receivers.js";
import type { Core } from "../core/core.js";
import { QuantizedLinear } from "../linear/quantized-linear.js";
import { unpackLinear } from "../linear/unpack-linear.js";
import type { AnyQuantizedTensor } from "../quantize/quantized-tensor.js";
import type { TensorInput } from "../tensor/check.js";
import { type Tensor, tensor } from "../tensor/tensor.js";
import type { TorchQuantizedTensor } from "../torch/tensor.js";
import { type ConvertedLayer, type Flow, floatsOf, type LayerMethod } from "./converted/layer.js";
import { type Step, stepsOf } from "./converted/static-run.js";
import type { Linear } from "./layers/linear.js";
import { quantizedOf, shownQuantized } from "./layers/parameters.js";
import { inputsOf, type ModelReport, reportOn } from "./report.js";
import { modelText, outputOf, runLayers, type Sequential } from "./sequential.js";

/**
 * A model with quantized layers. It owns core memory: `dispose()` frees it. Made by `convert` and
 * `quantizeDynamic`.
 */
export class QuantizedModel {
  /** The float model; undefined in a model that `load` of zeropoint/models restored. */
  declare readonly model: Sequential | undefined;
  readonly #steps: readonly Step[];
  readonly #core: Core;
  #isDisposed = false;

  static {
    explainReceivers(QuantizedModel, "QuantizedModel", (object) => #core in object);
  }

  /** @internal */
  constructor(core: Core, model: Sequential | undefined, layers: readonly ConvertedLayer[]) {
    this.#core = core;
    refuseClones(this);
    fixFields<QuantizedModel>(this, { model });
    this.#steps = stepsOf(layers);
    convertedLayers.set(this, layers);
  }

  /**
   * The layers with their codes and qparams, in execution order: plain records, which outlive the model.
   * @example
   * for (const { name, weight } of quantized.layers) console.log(name, weight?.dtype, weight?.scale);
   */
  get layers(): readonly QuantizedLayer[] {
    const where = "QuantizedModel.layers";
    return convertedOf(this).map((converted) => {
      const { name, layer, method, q, input, output, fused, reduceRange } = converted.parts;
      const isPacked = layer instanceof QuantizedLinear;
      const { weight, bias } = isPacked
        ? unpackLinear(layer)
        : { weight: q ?? quantizedOf(layer), bias: (layer as Partial<Linear>).bias };
      return {
        name,
        type: layer.typeName,
        method,
        ...(weight && { weight: isPacked ? weight : shownQuantized(where, weight) }),
        ...(weight && bias && { bias: tensor(bias) }),
        ...(input && { input: { ...input } }),
        ...(output && { output: { ...output } }),
        ...(fused !== undefined && { fused }),
        ...(reduceRange !== undefined && { reduceRange }),
      };
    });
  }

  /**
   * Runs the quantized model.
   * @param x  input of the float model
   * @returns float32
   * @throws {TypeError} `ZP_DISPOSED`, and errors of layers, with the layer's name in the message
   */
  forward(x: TensorInput): Tensor {
    const where = "QuantizedModel.forward";
    this.#checkAlive(where);
    return this.#floats(runLayers<Step, Flow>(this.#steps, x, runStep));
  }

  /** Checked here, since layers without core memory do not check it. */
  #checkAlive(where: string): void {
    if (!this.#isDisposed) return;
    throw typeError("ZP_DISPOSED", where, "the model is disposed and cannot be used any more");
  }

  #floats(flow: Flow): Tensor {
    return outputOf(this, floatsOf(this.#core, flow));
  }

  /** Bytes of all parameters in stored form: packed codes, scales, biases, qparams. */
  get sizeInBytes(): number {
    return convertedOf(this).reduce((bytes, converted) => bytes + converted.parts.sizeInBytes, 0);
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
   * @throws {TypeError} `ZP_INVALID_MODEL` for inputs to a model without the float one, `ZP_DISPOSED`
   * @example console.log(String(quantized.report(heldOut)));
   */
  report(x?: TensorInput | readonly TensorInput[]): ModelReport {
    const where = "QuantizedModel.report";
    const inputs = inputsOf(x);
    const { model } = this;
    if (model === undefined && inputs.length > 0) {
      throw typeError(
        "ZP_INVALID_MODEL",
        where,
        "x is compared with the float model, which a loaded model does not have; leave x out",
      );
    }
    return reportOn(this.#core, convertedOf(this), inputs, model !== undefined);
  }

  /** Frees the layers' memory. A second call does nothing; a later `forward` throws. */
  dispose(): void {
    this.#isDisposed = true;
    for (const converted of convertedOf(this)) converted.dispose();
  }

  /** `dispose()`, for `using`. Present in engines with `Symbol.dispose`. */
  declare [Symbol.dispose]: () => void;

  /** The model as text, in PyTorch's style. */
  toString(): string {
    return modelText(
      "QuantizedModel",
      convertedOf(this).map((converted) => [converted.name, String(converted)] as const),
    );
  }

  /** @internal */
  get typeName(): string {
    return "QuantizedModel";
  }

  /** @internal @throws {TypeError} `ZP_NOT_CLONEABLE` */
  toJSON(): never {
    return refuseJSON();
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

/** One layer of a `QuantizedModel`. */
export interface QuantizedLayer {
  /** The layer's name in the model. */
  readonly name: string;
  /** Its type: "Linear", "ReLU", … */
  readonly type: string;
  /** Its arithmetic. */
  readonly method: LayerMethod;
  /** The quantized weight: codes, shape and qparams; there if the layer has one. */
  readonly weight?: AnyQuantizedTensor | TorchQuantizedTensor;
  /** The bias of such a layer, float32; there if it has one. */
  readonly bias?: Tensor;
  /** Static layers: scale and zero point that a float input is quantized with, to quint8. */
  readonly input?: { readonly scale: number; readonly zeroPoint: number };
  /** Static layers: scale and zero point of the output, quint8. */
  readonly output?: { readonly scale: number; readonly zeroPoint: number };
  /** Static layers: whether the following ReLU is part of the layer. */
  readonly fused?: boolean;
  /** Dynamic layers: whether 7 bits are used for activations. */
  readonly reduceRange?: boolean;
}

/** Layers of quantized models, private to the library. */
const convertedLayers = /* @__PURE__ */ new WeakMap<QuantizedModel, readonly ConvertedLayer[]>();

/** The layers of a quantized model. */
export function convertedOf(model: QuantizedModel): readonly ConvertedLayer[] {
  const layers = convertedLayers.get(model);
  if (layers === undefined) throw notItself("QuantizedModel");
  return layers;
}

const runStep = (step: Step, flow: Flow): Flow => step.run(flow);
