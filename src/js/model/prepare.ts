// prepare, calibrate: what is to become of each layer of a float model, and observers that look on.

import { arrayName } from "../arrays.js";
import { type AsyncOptions, checkAsyncOptions } from "../async/background.js";
import { checkBoolean, checkOptions, type TensorInput } from "../check.js";
import { rangeError, typeError } from "../errors.js";
import { isFactory } from "../factory.js";
import { activeCore } from "../init.js";
import { Observer } from "../observer.js";
import { FixedQParamsObserver, PlaceholderObserver, RecordingObserver } from "../passive.js";
import type { ObserverSource, QConfig } from "../qconfig.js";
import {
  checkQConfig,
  type LayerQConfig,
  namesAround,
  QConfigMapping,
  WeightOnlyQConfig,
} from "../qconfig-mapping.js";
import { INSPECT, OWN, show } from "../show.js";
import type { Tensor } from "../tensor.js";
import { UniformObserver } from "../uniform.js";
import { computesAs, Embedding, type Layer, Linear, ReLU } from "./layer.js";
import {
  modelText,
  type NamedLayer,
  outputOf,
  runLayers,
  runLayersAsync,
  Sequential,
  toldIn,
} from "./sequential.js";

/** How a model is to be quantized: all its layers alike, or each as a mapping says. */
export type ModelQConfig = QConfig | WeightOnlyQConfig | QConfigMapping;

/** What is to become of a layer. */
type Plan =
  | { readonly method: "float32" }
  | { readonly method: "static"; readonly qconfig: QConfig }
  | { readonly method: "dynamic"; readonly qconfig: QConfig }
  | { readonly method: "weight-only"; readonly qconfig: QConfig | WeightOnlyQConfig };

/** The observers of a layer. */
export interface LayerObservers {
  /** Sees what goes in, where that does not come from another static layer. */
  readonly input?: Observer;
  /** Sees what comes out, after a ReLU that is fused with the layer. */
  readonly output?: Observer;
}

export interface PreparedStep extends NamedLayer {
  readonly plan: Plan;
  readonly observers: LayerObservers;
  /** Whether the ReLU that follows is part of the layer. */
  readonly fused: boolean;
}

export function checkModel(where: string, model: unknown): Sequential {
  if (computesAs(model as Layer, Sequential)) return model as Sequential;
  const what = model instanceof Sequential ? "one with a forward of its own" : show(model);
  throw typeError("ZP_INVALID_MODEL", where, `model must be a Sequential, got ${what}`);
}

export function checkMapping(where: string, qconfig: unknown): QConfigMapping {
  if (qconfig instanceof QConfigMapping) return qconfig;
  return new QConfigMapping().setGlobal(checkQConfig(where, qconfig, "a QConfigMapping"));
}

/** A name that no layer has is a slip that would leave a layer unquantized. */
function checkNames(where: string, mapping: QConfigMapping, layers: readonly NamedLayer[]): void {
  const names = layers.map(({ name }) => name);
  const known = new Set(names.flatMap(namesAround));
  const missing = mapping.moduleNames.find((name) => !known.has(name));
  if (missing === undefined) return;
  throw rangeError(
    "ZP_INVALID_MODEL",
    where,
    `the model has no layer ${show(missing)}, which the QConfigMapping names; ` +
      `it has ${names.join(", ")}`,
  );
}

/** Makes an observer of a QConfig. */
function makeObserver(where: string, field: string, source: ObserverSource): Observer {
  const made: object = isFactory(source) ? source() : new source();
  if (made instanceof Observer) return made;
  throw typeError(
    "ZP_INVALID_QCONFIG",
    where,
    `qconfig.${field} must make an observer, got ${show(made)}`,
  );
}

/** The observer of a layer's weights. @throws {RangeError} `ZP_UNSUPPORTED_QCONFIG` */
export function weightObserver(where: string, { weight }: QConfig): UniformObserver {
  const observer = weight && makeObserver(where, "weight", weight);
  if (observer instanceof UniformObserver) return observer;
  return unsupported(
    where,
    `weights must be quantized by an observer that chooses qparams, got ${observer}`,
  );
}

export function unsupported(where: string, problem: string): never {
  throw rangeError("ZP_UNSUPPORTED_QCONFIG", where, problem);
}

/**
 * What a QConfig makes of a layer.
 * @param isNamed  whether it is meant for this very layer
 */
function planFor(where: string, layer: Layer, qconfig: LayerQConfig, isNamed: boolean): Plan {
  const isEmbedding = computesAs(layer, Embedding);
  const isKnown = isEmbedding || computesAs(layer, Linear);
  if (qconfig === null || !isKnown) {
    const isMeant = qconfig !== null && isNamed;
    if (isMeant && [Linear, Embedding, Sequential].some((type) => layer instanceof type)) {
      unsupported(where, "a layer with a forward of its own cannot be quantized");
    }
    return { method: "float32" };
  }
  if (qconfig instanceof WeightOnlyQConfig) return { method: "weight-only", qconfig };
  const method = isEmbedding ? planEmbedding(where, qconfig) : planLinear(where, qconfig);
  return { method, qconfig };
}

/** How a Linear computes by a QConfig. */
function planLinear(where: string, { activation }: QConfig): "static" | "dynamic" | "weight-only" {
  if (activation === null) return "weight-only";
  const observer = makeObserver(where, "activation", activation);
  const isUniform = observer instanceof UniformObserver;
  if (observer instanceof PlaceholderObserver) {
    const { dtype, isDynamic } = observer;
    if (isDynamic && dtype === "quint8") return "dynamic";
    if (!isDynamic && dtype === "float32") return "weight-only";
    unsupported(
      where,
      `a placeholder for ${isDynamic ? "dynamic " : ""}${dtype} activations is data only; Linear ` +
        `takes dynamic quint8 or float32`,
    );
  }
  if (isUniform && observer.isDynamic) return "dynamic";
  const isStatic =
    isUniform || observer instanceof FixedQParamsObserver || observer instanceof RecordingObserver;
  if (!isStatic) unsupported(where, `Linear cannot quantize activations by ${observer}`);
  const { dtype } = observer;
  if (dtype !== "quint8" && dtype !== "qint8") {
    unsupported(
      where,
      `activations of a static Linear must have dtype quint8 or qint8, got ${dtype}`,
    );
  }
  if (isUniform && observer.qscheme.startsWith("per_channel")) {
    unsupported(where, "activations must have one scale, got a per-channel observer");
  }
  return "static";
}

function planEmbedding(where: string, { weight }: QConfig): "weight-only" {
  const observer = weight && makeObserver(where, "weight", weight);
  if (
    observer instanceof UniformObserver &&
    observer.qscheme === "per_channel_affine_float_qparams"
  ) {
    return "weight-only";
  }
  return unsupported(
    where,
    "Embedding takes floatQParamsWeightOnlyQConfig, its 4-bit sister, a WeightOnlyQConfig, or null " +
      "to stay as it is; a QConfigMapping gives it its own",
  );
}

/** What `prepare` takes beside model and QConfig. */
export interface PrepareOptions {
  /**
   * Whether a ReLU right after a static Linear becomes part of it, as `fuse_modules` does in PyTorch:
   * no codes are then spent on values that it cuts off. Its observer sees every batch twice, as the
   * one of a fused module does there, which a moving average shows. Default: true.
   */
  fuse?: boolean | undefined;
}

/**
 * A float model with observers at its layers: `forward` computes what the model computes, and lets the
 * observers see it. Made by `prepare`.
 */
export class PreparedModel {
  /** The model that was prepared. */
  declare readonly model: Sequential;
  readonly #steps: readonly PreparedStep[];

  /** @internal */
  constructor(model: Sequential, steps: readonly PreparedStep[]) {
    this.model = model;
    this.#steps = steps;
  }

  /** @internal */
  get steps(): readonly PreparedStep[] {
    return this.#steps;
  }

  /** The observers by the names of their layers, for looking at what they hold. */
  get observers(): Readonly<Record<string, LayerObservers>> {
    const entries = this.#steps
      .filter(({ observers }) => observers.output !== undefined)
      .map(({ name, observers }) => [name, observers] as const);
    return Object.fromEntries(entries);
  }

  /**
   * Runs a calibration batch: the float model's result, observed on its way.
   * @param x  what the model takes
   * @returns what the float model gives
   * @throws what a layer or an observer throws, with the layer's name at the end of the message
   */
  forward(x: TensorInput): Tensor {
    const watching = watch();
    return outputOf(
      this,
      runLayers<PreparedStep, TensorInput>(this.#steps, x, (step, input) => {
        step.observers.input?.observe(input);
        const output = step.layer.forward(input);
        for (const observer of watching(step)) observer.observe(output);
        return output;
      }),
    );
  }

  /**
   * `forward`, off this thread as far as its layers are: see `Sequential.forwardAsync`. The observers
   * look off this thread, too: see `Observer.observeAsync`. One batch at a time: those that average
   * depend on the order. If the signal stops it, some observers have seen the batch and others not.
   * @param x        what the model takes
   * @param options  `signal` and `onProgress` as in `Sequential.forwardAsync`
   * @returns a promise of what `forward` returns
   * @throws (as a rejection) what `forward` and `quantizeAsync` throw
   * @example for (const batch of batches) await prepared.forwardAsync(batch, { signal });
   */
  async forwardAsync(x: TensorInput, options?: AsyncOptions): Promise<Tensor> {
    const { settings } = checkAsyncOptions("PreparedModel.forwardAsync", options);
    const { signal } = settings;
    const watching = watch();
    const run = async (step: PreparedStep, input: TensorInput, own: AsyncOptions) => {
      await step.observers.input?.observeAsync(input, { signal });
      const output = await step.layer.forwardAsync(input, own);
      for (const observer of watching(step)) await observer.observeAsync(output, { signal });
      return output;
    };
    return outputOf(
      this,
      await runLayersAsync<PreparedStep, TensorInput>(this.#steps, x, settings, run),
    );
  }

  /**
   * Runs several calibration batches.
   * @param batches  a list, or anything else that can be iterated
   * @returns this
   * @throws {TypeError} `ZP_INVALID_TENSOR` for anything else; and what `forward` throws
   * @example const quantized = convert(prepare(model, qconfig).calibrate(batches));
   */
  calibrate(batches: Iterable<TensorInput>): this {
    const { [Symbol.iterator]: iterator } = Object(batches) as Partial<Iterable<TensorInput>>;
    const isBatch = typeof batches === "string" || arrayName(batches) !== undefined;
    if (typeof iterator !== "function" || isBatch) {
      throw typeError(
        "ZP_INVALID_TENSOR",
        "PreparedModel.calibrate",
        `batches must be a list of tensors, got ${show(batches)}; forward and ` +
          `forwardAsync take one batch`,
      );
    }
    for (const batch of batches) this.forward(batch);
    return this;
  }

  /** The model with its observers, in the manner of PyTorch's print. */
  toString(): string {
    const children = this.#steps.map(({ name, layer, observers }) => {
      const inside = Object.entries(observers).map(
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

  /** @internal */
  get [OWN](): true {
    return true;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }
}

/** Says of one layer after the other who observes its output: of a fused one, that of the ReLU after it. */
function watch(): (step: PreparedStep) => Observer[] {
  let waiting: Observer | undefined;
  return ({ observers, fused }) => {
    // A fused module of PyTorch's has its observer among its layers, and calls it once more afterwards.
    const watching = [waiting, waiting, fused ? undefined : observers.output];
    waiting = fused ? observers.output : undefined;
    return watching.filter((observer) => observer !== undefined);
  };
}

/**
 * Puts observers at the layers of a model that are to be quantized. Run calibration batches through
 * what it returns, then `convert` it.
 *
 * What becomes of a layer follows from its QConfig:
 *
 * | activation | Linear becomes |
 * | --- | --- |
 * | an observer (MinMax, MovingAverage, Histogram, FixedQParams) | static W8A8 |
 * | a PlaceholderObserver that is dynamic | dynamic W8A8, see `QuantizedLinear` |
 * | a PlaceholderObserver for float32, null, or a `WeightOnlyQConfig` | quantized weights alone |
 *
 * An Embedding takes `floatQParamsWeightOnlyQConfig` or a `WeightOnlyQConfig`; all other layers stay as
 * they are, those of subclasses with a `forward` of their own among them, but a ReLU between static
 * layers runs on their codes. Where floats go into a static layer they are quantized by an observer of
 * their own; that is what QuantStub is for in PyTorch.
 *
 * Source: torch.ao.quantization.prepare.
 *
 * @param model    stays as it is; its weights are read when it is converted
 * @param qconfig  for all layers, or a mapping
 * @param options.fuse  default: true, see `PrepareOptions`
 * @throws {TypeError} `ZP_INVALID_MODEL`, `ZP_INVALID_QCONFIG`
 * @throws {RangeError} `ZP_UNSUPPORTED_QCONFIG` if a layer cannot do what its QConfig says;
 *   `ZP_INVALID_MODEL` if the mapping names a layer that the model does not have
 * @example
 * const prepared = prepare(model, getDefaultQConfig("x86"));
 * for (const batch of batches) prepared.forward(batch);
 * const quantized = convert(prepared);
 */
export function prepare(
  model: Sequential,
  qconfig: ModelQConfig,
  options?: PrepareOptions,
): PreparedModel {
  const where = "prepare";
  activeCore(where);
  const checked = checkModel(where, model);
  const mapping = checkMapping(where, qconfig);
  const { fuse } = checkOptions(where, options, ["fuse"]);
  return planModel(where, checked, mapping, checkBoolean(where, "options.fuse", fuse, true));
}

/** What is to become of a model. */
export function planModel(
  where: string,
  model: Sequential,
  mapping: QConfigMapping,
  fuse: boolean,
): PreparedModel {
  const { layers } = model;
  checkNames(where, mapping, layers);
  let codesGoBy = false;
  const steps = layers.map(({ name, layer }, i) => {
    try {
      const planned = planFor(
        where,
        layer,
        mapping.qconfigFor(name, layer.typeName),
        mapping.moduleNames.includes(name),
      );
      // What conversion would refuse is refused before batches run for nothing.
      if (planned.method !== "float32" && "weight" in planned.qconfig) {
        weightObserver(where, planned.qconfig);
      }
      const isStatic = planned.method === "static";
      const observers: { input?: Observer; output?: Observer } = {};
      if (isStatic) {
        const make = () =>
          makeObserver(where, "activation", planned.qconfig.activation as ObserverSource);
        if (!codesGoBy) observers.input = make();
        observers.output = make();
      }
      codesGoBy = isStatic || (codesGoBy && computesAs(layer, ReLU));
      const fused = isStatic && fuse && computesAs(layers[i + 1]?.layer, ReLU);
      return { name, layer, plan: planned, observers, fused };
    } catch (error) {
      throw toldIn({ name, layer }, error);
    }
  });
  return new PreparedModel(model, steps);
}
