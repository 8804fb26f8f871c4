// A float model with observers attached to its layers.

import { refuseClones, refuseJSON } from "../base/cloning.js";
import { notItself, typeError } from "../base/errors.js";
import { fixFields } from "../base/fields.js";
import { INSPECT, OWN, show } from "../base/format-value.js";
import { explainReceivers } from "../base/receivers.js";
import { arrayName } from "../base/typed-arrays.js";
import type { Observer } from "../observers/observer.js";
import type { QConfig } from "../observers/qconfig.js";
import type { WeightOnlyQConfig } from "../observers/qconfig-mapping.js";
import type { TensorInput } from "../tensor/check.js";
import type { Tensor } from "../tensor/tensor.js";
import { modelText, type NamedLayer, outputOf, runLayers, type Sequential } from "./sequential.js";

/** The planned conversion of a layer. */
export type Plan =
  | { readonly method: "float32" }
  | { readonly method: "static"; readonly qconfig: QConfig }
  | { readonly method: "dynamic"; readonly qconfig: QConfig }
  | { readonly method: "weight-only"; readonly qconfig: QConfig | WeightOnlyQConfig };

/** The observers of a layer. */
export interface LayerObservers {
  /** Observes the input, unless it is the output of another static layer. */
  readonly input?: Observer;
  /** Observes the output, after a fused ReLU. */
  readonly output?: Observer;
}

export interface PreparedLayer extends NamedLayer {
  readonly plan: Plan;
  readonly input: Observer | undefined;
  readonly output: Observer | undefined;
  /** Whether the following ReLU is part of the layer. */
  readonly fused: boolean;
}

/**
 * A float model with observers attached to its layers: `forward` returns the output of the float model
 * and passes inputs and outputs of layers to the observers. Made by `prepare`.
 */
export class PreparedModel {
  /** The float model. */
  declare readonly model: Sequential;

  static {
    explainReceivers(PreparedModel, "PreparedModel", (object) =>
      layersByModel.has(object as PreparedModel),
    );
  }

  /** @internal */
  constructor(model: Sequential, layers: readonly PreparedLayer[]) {
    refuseClones(this);
    fixFields<PreparedModel>(this, { model });
    layersByModel.set(this, layers);
  }

  /** The observers by layer name, for inspection. */
  get observers(): Readonly<Record<string, LayerObservers>> {
    const entries = layersOf(this)
      .filter(({ output }) => output !== undefined)
      .map((prepared) => [prepared.name, observersOf(prepared)] as const);
    return Object.fromEntries(entries);
  }

  /**
   * Runs a calibration batch through the float model and its observers.
   * @param x  input of the model
   * @returns the output of the float model
   * @throws errors of layers and observers, with the layer's name at the end of the message
   */
  forward(x: TensorInput): Tensor {
    const watching = watch();
    return outputOf(
      this,
      runLayers<PreparedLayer, TensorInput>(layersOf(this), x, (prepared, input) => {
        prepared.input?.observe(input);
        const output = prepared.layer.forward(input);
        for (const observer of watching(prepared)) observer.observe(output);
        return output;
      }),
    );
  }

  /**
   * Runs several calibration batches.
   * @param batches  a list, or anything else that can be iterated
   * @returns this
   * @throws {TypeError} `ZP_INVALID_TENSOR` for anything else; and as `forward`
   * @example const quantized = convert(prepare(model, qconfig).calibrate(batches));
   */
  calibrate(batches: Iterable<TensorInput>): this {
    const { [Symbol.iterator]: iterator } = Object(batches) as Partial<Iterable<TensorInput>>;
    const isBatch = typeof batches === "string" || arrayName(batches) !== undefined;
    if (typeof iterator !== "function" || isBatch) {
      throw typeError(
        "ZP_INVALID_TENSOR",
        "PreparedModel.calibrate",
        `batches must be a list of tensors, got ${show(batches)}; forward takes one batch`,
      );
    }
    for (const batch of batches) this.forward(batch);
    return this;
  }

  /** The model with its observers as text, in PyTorch's style. */
  toString(): string {
    const children = layersOf(this).map((prepared) => {
      const { name, layer } = prepared;
      const inside = Object.entries(observersOf(prepared)).map(
        ([role, observer]) => [role, String(observer)] as const,
      );
      const text = inside.length === 0 ? String(layer) : modelText(String(layer), inside);
      return [name, text] as const;
    });
    return modelText("PreparedModel", children);
  }

  /** @internal */
  get typeName(): string {
    return "PreparedModel";
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

/** Steps of prepared models, private to the library. */
const layersByModel = /* @__PURE__ */ new WeakMap<PreparedModel, readonly PreparedLayer[]>();

/** The layers of a prepared model. */
export function layersOf(prepared: PreparedModel): readonly PreparedLayer[] {
  const layers = layersByModel.get(prepared);
  if (layers === undefined) throw notItself("PreparedModel");
  return layers;
}

/** The observers of a layer. */
const observersOf = ({ input, output }: PreparedLayer): LayerObservers => ({
  ...(input && { input }),
  ...(output && { output }),
});

/**
 * Returns a function that gives, for consecutive layers, the observers of each output. A fused layer's observers
 * observe the output of its ReLU.
 */
function watch(): (prepared: PreparedLayer) => Observer[] {
  let waiting: Observer | undefined;
  return ({ output, fused }) => {
    // PyTorch's fused module runs its observer once inside and once after the module.
    const watching = [waiting, waiting, fused ? undefined : output];
    waiting = fused ? output : undefined;
    return watching.filter((observer) => observer !== undefined);
  };
}
