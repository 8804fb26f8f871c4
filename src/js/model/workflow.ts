/// <reference lib="esnext.disposable" preserve="true" />

// prepare, calibrate, convert: from a float model to a quantized one, as PyTorch's eager mode does it.

import { chooseQParamsAsync, quantizeAsync } from "../async.js";
import {
  type AsyncOptions,
  type AsyncSettings,
  checkAsyncOptions,
  loadForms,
  runJob,
  throwIfAborted,
} from "../background.js";
import type { Core } from "../build.js";
import { checkBoolean, checkOptions, type TensorInput } from "../check.js";
import { dequantize } from "../dequantize.js";
import { makeDisposable } from "../disposable.js";
import { type Codes, DTYPES } from "../dtype.js";
import { rangeError, typeError } from "../errors.js";
import { isFactory } from "../factory.js";
import { activeCore, runOn } from "../init.js";
import { type ObservedQParams, Observer, UniformObserver } from "../observer.js";
import { FixedQParamsObserver, PlaceholderObserver, RecordingObserver } from "../passive.js";
import { defaultDynamicQConfig, type ObserverSource, type QConfig } from "../qconfig.js";
import {
  checkLayerQConfig,
  type LayerQConfig,
  QConfigMapping,
  type WeightOnlyOptions,
  WeightOnlyQConfig,
} from "../qconfig-mapping.js";
import { checkScale, chooseQParams, type QuantizedTensor } from "../qparams.js";
import type { QDType, TorchQuantizedTensor } from "../qtensor.js";
import { quantize } from "../quantize.js";
import { INSPECT, show } from "../show.js";
import type { Tensor } from "../tensor.js";
import {
  type Activation,
  checkPerChannel,
  checkPerTensor,
  quantizeChecked,
  type ToQuantize,
} from "../torch.js";
import { Embedding, type Layer, Linear, ReLU } from "./layer.js";
import {
  type ConvertedLayer,
  dynamicLinear,
  FloatStep,
  type Flow,
  isCodes,
  QuantizedEmbedding,
  type QuantizedWeight,
  StaticLinear,
  weightOnlyLinear,
} from "./quantized.js";
import { inputsOf, type LayerReport, ModelReport, SqnrMeter } from "./report.js";
import {
  asTensor,
  inLayer,
  modelText,
  type NamedLayer,
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

interface PreparedStep extends NamedLayer {
  readonly plan: Plan;
  readonly observers: LayerObservers;
  /** Whether the ReLU that follows is part of the layer. */
  readonly fused: boolean;
}

function checkModel(where: string, model: unknown): Sequential {
  if (model instanceof Sequential) return model;
  throw typeError("ZP_INVALID_MODEL", `${where}: model must be a Sequential, got ${show(model)}`);
}

function checkMapping(where: string, argument: string, qconfig: unknown): QConfigMapping {
  if (qconfig instanceof QConfigMapping) return qconfig;
  const checked = checkLayerQConfig(where, argument, qconfig);
  if (checked !== null) return new QConfigMapping().setGlobal(checked);
  throw typeError(
    "ZP_INVALID_QCONFIG",
    `${where}: ${argument} must be a QConfig, a WeightOnlyQConfig or a QConfigMapping, got null`,
  );
}

/** A name that no layer has is a slip that would leave a layer unquantized. */
function checkNames(where: string, mapping: QConfigMapping, layers: readonly NamedLayer[]): void {
  const names = layers.map(({ name }) => name);
  const missing = mapping.moduleNames.find((name) => !names.includes(name));
  if (missing === undefined) return;
  throw rangeError(
    "ZP_INVALID_MODEL",
    `${where}: the model has no layer ${show(missing)}, which the QConfigMapping names; ` +
      `it has ${names.join(", ")}`,
  );
}

/** Makes an observer of a QConfig. */
function makeObserver(where: string, field: string, source: ObserverSource): Observer {
  const made: object = isFactory(source) ? source() : new source();
  if (made instanceof Observer) return made;
  throw typeError(
    "ZP_INVALID_QCONFIG",
    `${where}: qconfig.${field} must make an observer, got ${show(made)}`,
  );
}

function unsupported(where: string, problem: string): never {
  throw rangeError("ZP_UNSUPPORTED_QCONFIG", `${where}: ${problem}`);
}

/** What a QConfig makes of a layer. */
function planFor(where: string, layer: Layer, qconfig: LayerQConfig): Plan {
  if (qconfig === null) return { method: "float32" };
  if (layer instanceof Embedding) return planEmbedding(where, qconfig);
  if (!(layer instanceof Linear)) return { method: "float32" };
  if (qconfig instanceof WeightOnlyQConfig) return { method: "weight-only", qconfig };
  const { activation } = qconfig;
  if (activation === null) return { method: "weight-only", qconfig };
  const observer = makeObserver(where, "activation", activation);
  if (observer instanceof PlaceholderObserver) {
    const { dtype, isDynamic } = observer;
    if (isDynamic && dtype === "quint8") return { method: "dynamic", qconfig };
    if (!isDynamic && dtype === "float32") return { method: "weight-only", qconfig };
    return unsupported(
      where,
      `a placeholder for ${isDynamic ? "dynamic " : ""}${dtype} activations is data only; Linear ` +
        `takes dynamic quint8 or float32`,
    );
  }
  if (observer instanceof UniformObserver && observer.isDynamic) {
    return { method: "dynamic", qconfig };
  }
  const isStatic =
    observer instanceof UniformObserver ||
    observer instanceof FixedQParamsObserver ||
    observer instanceof RecordingObserver;
  if (!isStatic) {
    return unsupported(where, `Linear cannot quantize activations by ${String(observer)}`);
  }
  const { dtype } = observer;
  if (dtype !== "quint8" && dtype !== "qint8") {
    return unsupported(
      where,
      `activations of a static Linear must have dtype quint8 or qint8, got ${dtype}`,
    );
  }
  if (observer instanceof UniformObserver && observer.qscheme.startsWith("per_channel")) {
    return unsupported(where, "activations must have one scale, got a per-channel observer");
  }
  return { method: "static", qconfig };
}

function planEmbedding(where: string, qconfig: QConfig | WeightOnlyQConfig): Plan {
  if (qconfig instanceof WeightOnlyQConfig) return { method: "weight-only", qconfig };
  const { weight } = qconfig;
  const observer = weight === null ? undefined : makeObserver(where, "weight", weight);
  if (
    observer instanceof UniformObserver &&
    observer.qscheme === "per_channel_affine_float_qparams"
  ) {
    return { method: "weight-only", qconfig };
  }
  return unsupported(
    where,
    "Embedding takes floatQParamsWeightOnlyQConfig, its 4-bit sister, a WeightOnlyQConfig, or null " +
      "to stay as it is; a QConfigMapping gives it its own",
  );
}

// ---------------------------------------------------------------------------------------------
// Prepared.

/** What `prepare` takes beside model and QConfig. */
export interface PrepareOptions {
  /**
   * Whether a ReLU right after a static Linear becomes part of it, as `fuse_modules` does in PyTorch:
   * no codes are then spent on values that it cuts off. Default: true.
   */
  fuse?: boolean | undefined;
}

/**
 * A float model with observers at its layers: `forward` computes what the model computes, and lets the
 * observers see it. Made by `prepare`.
 */
export class PreparedModel {
  /** The model that was prepared. */
  readonly model: Sequential;
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
      .filter(({ observers }) => observers.input !== undefined || observers.output !== undefined)
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
    return asTensor(
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
    return asTensor(await runLayersAsync<PreparedStep, TensorInput>(this.#steps, x, settings, run));
  }

  /**
   * Runs several calibration batches.
   * @param batches  a list, or anything else that can be iterated
   * @returns this
   * @example const quantized = convert(prepare(model, qconfig).calibrate(batches));
   */
  calibrate(batches: Iterable<TensorInput>): this {
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
  [INSPECT](): string {
    return this.toString();
  }
}

/** Says of one layer after the other who observes its output: of a fused one, that of the ReLU after it. */
function watch(): (step: PreparedStep) => Observer[] {
  let waiting: Observer | undefined;
  return ({ observers, fused }) => {
    const watching = [waiting, fused ? undefined : observers.output];
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
 * they are, but a ReLU between static layers runs on their codes. Where floats go into a static layer
 * they are quantized by an observer of their own; that is what QuantStub is for in PyTorch.
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
  const mapping = checkMapping(where, "qconfig", qconfig);
  const { fuse } = checkOptions(where, options, ["fuse"]);
  return plan(where, checked, mapping, checkBoolean(where, "options.fuse", fuse, true));
}

function plan(
  where: string,
  model: Sequential,
  mapping: QConfigMapping,
  fuse: boolean,
): PreparedModel {
  const { layers } = model;
  checkNames(where, mapping, layers);
  let codesGoBy = false;
  const steps = layers.map(({ name, layer }, i) => {
    const type = layer.typeName;
    return inLayer({ name, layer }, () => {
      const planned = planFor(where, layer, mapping.qconfigFor(name, type));
      if (planned.method !== "static") {
        codesGoBy = codesGoBy && layer instanceof ReLU;
        return { name, layer, plan: planned, observers: {}, fused: false };
      }
      const make = () =>
        makeObserver(where, "activation", planned.qconfig.activation as ObserverSource);
      const observers = codesGoBy ? { output: make() } : { input: make(), output: make() };
      codesGoBy = true;
      const fused = fuse && layers[i + 1]?.layer instanceof ReLU;
      return { name, layer, plan: planned, observers, fused };
    });
  });
  return new PreparedModel(model, steps);
}

// ---------------------------------------------------------------------------------------------
// Converted.

/**
 * A model with quantized layers. It owns core memory: `dispose()` frees it. Made by `convert` and
 * `quantizeDynamic`.
 */
export class QuantizedModel {
  /** The float model that it was made from. */
  readonly model: Sequential;
  readonly #steps: readonly ConvertedLayer[];
  readonly #core: Core;
  /** Names of the layers that the ReLU after them is part of. */
  readonly #fused: ReadonlySet<string>;

  /** @internal */
  constructor(
    core: Core,
    model: Sequential,
    steps: readonly ConvertedLayer[],
    fused: ReadonlySet<string>,
  ) {
    this.#core = core;
    this.model = model;
    this.#steps = steps;
    this.#fused = fused;
  }

  /**
   * Runs the quantized model.
   * @param x  what the float model takes
   * @returns float32
   * @throws {TypeError} `ZP_DISPOSED`, and what a layer throws, with its name in the message
   */
  forward(x: TensorInput): Tensor {
    return this.#floats(runLayers<ConvertedLayer, Flow>(this.#steps, x, runStep));
  }

  /**
   * `forward`, off this thread as far as its layers are: see `Sequential.forwardAsync`. A worker that has
   * got a layer's quantized weights keeps them until `dispose()`.
   * @param x        what the float model takes
   * @param options  `signal` and `onProgress` as in `Sequential.forwardAsync`
   * @returns a promise of what `forward` returns, to the bit
   * @throws (as a rejection) what `forward` and `quantizeAsync` throw
   * @example const y = await quantized.forwardAsync(x, { signal: AbortSignal.timeout(1000) });
   */
  async forwardAsync(x: TensorInput, options?: AsyncOptions): Promise<Tensor> {
    const { settings } = checkAsyncOptions("QuantizedModel.forwardAsync", options);
    return this.#floats(
      await runLayersAsync<ConvertedLayer, Flow>(this.#steps, x, settings, (step, flow, own) =>
        step.runAsync(flow, own),
      ),
    );
  }

  #floats(flow: Flow): Tensor {
    return asTensor(isCodes(flow) ? runOn(this.#core, () => dequantize(flow)) : flow);
  }

  /** Bytes of all parameters as they would be stored: codes packed, scales, biases, qparams. */
  get sizeInBytes(): number {
    return this.#steps.reduce((bytes, step) => bytes + step.parts.sizeInBytes, 0);
  }

  /**
   * What quantizing cost: the size, and for each layer the SQNR of its weights and, for given inputs,
   * of its outputs against the float model, in dB.
   *
   * A layer's outputs are compared as they come in the quantized model, so with the errors of all
   * layers before it; those of a layer that a ReLU is fused with after the ReLU.
   *
   * @param x  an input, or a list of them; without one there are no figures about outputs
   * @returns plain data that prints as a table
   * @example console.log(String(quantized.report(heldOut)));
   */
  report(x?: TensorInput | readonly TensorInput[]): ModelReport {
    const meters = this.#steps.map(() => new SqnrMeter());
    const inputs = inputsOf(x);
    for (const input of inputs) {
      const expected = this.#floatOutputs(input);
      runLayers<ConvertedLayer, Flow>(this.#steps, input, (step, flow, index) => {
        const output = step.run(flow);
        const fused = this.#fused.has(step.name);
        meters[index].add(expected[fused ? index + 1 : index], this.#floats(output));
        return output;
      });
    }
    const layers = this.#steps.map((step, index): LayerReport => {
      const { name, layer, method, sizeInBytes } = step.parts;
      return {
        name,
        type: layer.typeName,
        method,
        sizeInBytes,
        floatSizeInBytes: layer.sizeInBytes,
        weightSqnr: weightSqnr(step),
        outputSqnr: inputs.length === 0 ? undefined : meters[index].sqnr,
      };
    });
    return new ModelReport(layers);
  }

  #floatOutputs(x: TensorInput): Tensor[] {
    const outputs: Tensor[] = [];
    runLayers<ConvertedLayer, TensorInput>(this.#steps, x, ({ layer }, input) => {
      const output = layer.forward(input);
      outputs.push(output);
      return output;
    });
    return outputs;
  }

  /** Frees the layers' memory. Calling it again does nothing; calling `forward` after it throws. */
  dispose(): void {
    for (const step of this.#steps) step.dispose();
  }

  /** `dispose()`, for `using`. There where the engine has `Symbol.dispose`. */
  declare [Symbol.dispose]: () => void;

  /** The model in the manner of PyTorch's print. */
  toString(): string {
    return modelText(
      "QuantizedModel",
      this.#steps.map((step) => [step.name, String(step)] as const),
    );
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }
}

makeDisposable(QuantizedModel);

const runStep = (step: ConvertedLayer, flow: Flow): Flow => step.run(flow);

function weightSqnr({ layer, weight }: ConvertedLayer): number | undefined {
  if (weight === undefined) return undefined;
  const meter = new SqnrMeter();
  meter.add((layer as Linear | Embedding).weight, weight);
  return meter.sqnr;
}

/**
 * Turns a calibrated model into a quantized one.
 *
 * Weights are quantized here, by the weight observers of the QConfigs; activations get the qparams that
 * their observers have found. The float model stays as it is.
 *
 * Source: torch.ao.quantization.convert.
 *
 * @param prepared  what `prepare` returned, after calibration batches for its static layers
 * @param options.reduceRange  dynamic layers: 7 bits for activations, as PyTorch has it; default: true
 * @throws {RangeError} `ZP_EMPTY` if a static layer has seen no batch; `ZP_UNSUPPORTED_QCONFIG` if
 *   weights are not qint8 with zero points 0 where activations are quantized too; `ZP_NON_FINITE`
 * @throws {TypeError} `ZP_INVALID_MODEL`, `ZP_NO_QPARAMS` for observers that choose nothing
 * @example const quantized = convert(prepared);
 */
export function convert(prepared: PreparedModel, options?: ConvertOptions): QuantizedModel {
  const where = "convert";
  const core = activeCore(where);
  const checked = checkPrepared(where, prepared);
  const { reduceRange } = checkOptions(where, options, ["reduceRange"]);
  return convertHere(conversionOf(where, core, checked, reduceRange));
}

/** What `convert` takes beside the model. */
export interface ConvertOptions {
  /** Dynamic layers: 7 bits for activations, as PyTorch has it. Default: true. */
  reduceRange?: boolean | undefined;
}

/**
 * `convert`, with weights quantized off this thread, layer by layer; `quantizeAsync` says how. What is
 * left to do here, packing them, takes about a nanosecond a weight.
 *
 * @param prepared  what `prepare` returned; leave it and its model as they are until the promise settles
 * @param options   those of `convert`, and `signal` and `onProgress` as in `quantizeAsync`
 * @returns a promise of what `convert` returns
 * @throws {TypeError|RangeError|Error} (as a rejection) what `convert` and `quantizeAsync` throw
 * @example const quantized = await convertAsync(prepared, { onProgress: ({ done, total }) => … });
 */
export async function convertAsync(
  prepared: PreparedModel,
  options?: ConvertOptions & AsyncOptions,
): Promise<QuantizedModel> {
  const where = "convertAsync";
  const core = activeCore(where);
  const checked = checkPrepared(where, prepared);
  const { given, settings } = checkAsyncOptions(where, options, ["reduceRange"]);
  return await convertAway(where, core, checked, given, settings);
}

/** Has what `convert` does done with the work on another thread. */
async function convertAway(
  where: string,
  core: Core,
  prepared: PreparedModel,
  { reduceRange }: Readonly<Record<string, unknown>>,
  settings: AsyncSettings,
): Promise<QuantizedModel> {
  throwIfAborted(settings.signal);
  const conversion = conversionOf(where, core, prepared, reduceRange);
  // Every weight is gone through twice: to look at it, and to quantize it.
  const weights = prepared.steps.filter(({ plan: { method } }) => method !== "float32");
  const size = ({ layer }: PreparedStep) => (layer as Linear | Embedding).weight.data.length;
  const total = weights.reduce((sum, step) => sum + 2 * size(step), 0);
  const { runAway } = await loadForms(where);
  return await runAway(core, conversion, total, settings);
}

function checkPrepared(where: string, prepared: unknown): PreparedModel {
  if (prepared instanceof PreparedModel) return prepared;
  throw typeError(
    "ZP_INVALID_MODEL",
    `${where}: prepared must be what prepare returned, got ${show(prepared)}`,
  );
}

/** Work on the values of a weight. */
export interface Work<T> {
  /** How many values it goes through. */
  readonly amount: number;
  /** Does it on this thread. */
  readonly here: () => T;
  /** Does it on another one. */
  readonly away: (settings: AsyncSettings) => Promise<T>;
}

/** A conversion: it asks for work, and goes on with a function that gives what came of it, or throws. */
export type Conversion<T> = Generator<Work<unknown>, T, () => unknown>;

function* done<T>(work: Work<T>): Conversion<T> {
  return (yield work)() as T;
}

/** Has all work done on this thread. */
function convertHere<T>(conversion: Conversion<T>): T {
  let step = conversion.next();
  while (step.done !== true) step = conversion.next(step.value.here);
  return step.value;
}

/** What `convert` does. */
function* conversionOf(
  where: string,
  core: Core,
  { steps: planned, model }: PreparedModel,
  reduceRange: unknown,
): Conversion<QuantizedModel> {
  const reduce = checkBoolean(where, "options.reduceRange", reduceRange, true);
  const steps: ConvertedLayer[] = [];
  let codes: Activation | undefined;
  try {
    for (const step of planned) {
      const { name } = step;
      try {
        if (step.plan.method !== "static") {
          steps.push(yield* convertLayer(where, core, step, reduce));
          continue;
        }
        const layer = step.layer as Linear;
        const { input, output } = step.observers;
        const ownInput = input === undefined ? undefined : activationOf(where, "input", input);
        const into = ownInput ?? (codes as Activation);
        codes = activationOf(where, "output", output as Observer);
        const weight = yield* int8Weight(where, core, layer, step.plan.qconfig);
        const owns = ownInput !== undefined;
        steps.push(new StaticLinear(name, layer, weight, into, codes, owns, step.fused));
      } catch (error) {
        throw toldIn(step, error);
      }
    }
  } catch (error) {
    for (const step of steps) step.dispose();
    throw error;
  }
  const fused = planned.filter((step) => step.fused).map(({ name }) => name);
  return new QuantizedModel(core, model, steps, new Set(fused));
}

/** A layer that is not static. */
function* convertLayer(
  where: string,
  core: Core,
  { name, layer, plan: planned }: PreparedStep,
  reduceRange: boolean,
): Conversion<ConvertedLayer> {
  if (planned.method === "dynamic") {
    const weight = yield* int8Weight(where, core, layer as Linear, planned.qconfig);
    return dynamicLinear(name, layer as Linear, weight, reduceRange);
  }
  if (planned.method !== "weight-only") return new FloatStep(core, name, layer);
  const { qconfig } = planned;
  if (qconfig instanceof WeightOnlyQConfig) {
    const { weight } = layer as Linear | Embedding;
    const { q, bits } = yield* quantizeOnly(core, weight, qconfig.options);
    return layer instanceof Embedding
      ? new QuantizedEmbedding(name, layer, q, bits)
      : weightOnlyLinear(name, layer as Linear, q, bits);
  }
  if (layer instanceof Embedding) return yield* convertEmbedding(where, core, name, layer, qconfig);
  const q = yield* observedWeight(where, core, layer as Linear, qconfig);
  return weightOnlyLinear(name, layer as Linear, asQuantized(q), 8);
}

/** Quantizes weights alone, in the arithmetic of `quantize`. */
function* quantizeOnly(
  core: Core,
  weight: Tensor,
  { bits, ...options }: WeightOnlyOptions,
): Conversion<{ q: QuantizedTensor; bits: number }> {
  const amount = weight.data.length;
  if (bits === undefined) {
    const q = yield* done({
      amount: 2 * amount,
      here: () => runOn(core, () => quantize(weight, options)),
      away: (own) => quantizeAsync(weight, { ...options, ...own }),
    });
    return { q: q as QuantizedTensor, bits: 32 };
  }
  const dtype = bits <= 2 ? "int2" : bits <= 4 ? "int4" : "int8";
  const most = 2 ** (bits - 1) - 1;
  const chosen = yield* done({
    amount,
    here: () => runOn(core, () => chooseQParams(weight, { ...options, dtype })),
    away: (own) => chooseQParamsAsync(weight, { ...options, dtype, ...own }),
  });
  // The dtype's largest code stands for max|w|; here it is to be the largest code of `bits`.
  const widen = DTYPES[dtype].qmax / most;
  const { scale } = chosen as { scale: number | { data: Float32Array; shape: readonly number[] } };
  const wider =
    typeof scale === "number"
      ? scale * widen
      : { data: scale.data.map((value) => value * widen), shape: scale.shape };
  const { axis, groupSize } = options;
  const applied = { dtype, axis, groupSize, scale: wider } as const;
  const q = yield* done({
    amount,
    here: () => runOn(core, () => quantize(weight, applied)) as QuantizedTensor,
    away: (own) => quantizeAsync(weight, { ...applied, ...own }) as Promise<QuantizedTensor>,
  });
  // Infinities have become the dtype's last codes.
  cutOff(q.data, -most, most);
  return { q, bits };
}

/** Makes codes beyond two limits the nearer one. */
function cutOff(codes: Codes, low: number, high: number): void {
  for (let i = 0; i < codes.length; i++) codes[i] = Math.max(low, Math.min(high, codes[i]));
}

/** Scale and zero point of quint8 codes; those of qint8 are moved up by 128, which changes nothing. */
function activationOf(where: string, role: string, observer: Observer): Activation {
  if (observer instanceof UniformObserver && observer.isUnobserved) {
    throw rangeError(
      "ZP_EMPTY",
      `${where}: the observer of this layer's ${role} has seen no values; run calibration batches ` +
        `through the prepared model first`,
    );
  }
  const { scale, zeroPoint } = observer.calculateQParams();
  const { dtype } = observer as Observer & { readonly dtype: string };
  if (!Number.isFinite(scale.data[0])) {
    throw rangeError(
      "ZP_NON_FINITE",
      `${where}: the range of this layer's ${role} is too wide for a float32 scale`,
    );
  }
  const shift = dtype === "qint8" ? 128 : 0;
  checkScale(where, `the scale of this layer's ${role}`, scale.data[0]);
  return { scale: scale.data[0], zeroPoint: zeroPoint.data[0] + shift };
}

/** Lets a QConfig's weight observer look at the weights. */
function* observeWeight(
  where: string,
  { weight }: Linear | Embedding,
  qconfig: QConfig,
): Conversion<{ observer: UniformObserver; qparams: ObservedQParams }> {
  const source = qconfig.weight;
  const observer = source === null ? undefined : makeObserver(where, "weight", source);
  if (!(observer instanceof UniformObserver)) {
    return unsupported(
      where,
      `weights must be quantized by an observer that chooses qparams, got ${String(observer)}`,
    );
  }
  yield* done({
    amount: weight.data.length,
    here: () => observer.observe(weight),
    away: (own) => observer.observeAsync(weight, own),
  });
  return { observer, qparams: observer.calculateQParams() };
}

/** Quantizes weights as PyTorch's conversion does: quantize_per_tensor, or per_channel on its axis. */
function* observedWeight(
  where: string,
  core: Core,
  layer: Linear,
  qconfig: QConfig,
): Conversion<TorchQuantizedTensor> {
  const { observer, qparams } = yield* observeWeight(where, layer, qconfig);
  const { dtype, qscheme } = observer;
  if (dtype !== "qint8" && dtype !== "quint8") {
    return unsupported(
      where,
      `weights of a Linear must have dtype qint8 or quint8, got ${dtype}; a WeightOnlyQConfig takes ` +
        `other dtypes`,
    );
  }
  const { scale, zeroPoint } = qparams;
  if (qscheme === "per_channel_affine_float_qparams") {
    return unsupported(where, "per_channel_affine_float_qparams is for embeddings, not for Linear");
  }
  const { weight } = layer;
  if (!qscheme.startsWith("per_channel")) {
    return yield* quantized(where, core, checkPerTensor(where, weight, scale, zeroPoint, dtype));
  }
  const axis = (observer as UniformObserver & { chAxis: number }).chAxis;
  const channel = axis < 0 ? axis + 2 : axis;
  // Weights without values leave the observer unobserved, with a single scale.
  const count = weight.shape[channel];
  const scales = scale.data.length === count ? scale : new Float32Array(count).fill(1);
  const zeros = zeroPoint.data.length === count ? zeroPoint.data : new Int32Array(count);
  const task = checkPerChannel(where, weight, scales, zeros, channel, dtype);
  return yield* quantized(where, core, task);
}

/** Quantizes a weight in PyTorch's arithmetic. */
function quantized<D extends QDType>(
  where: string,
  core: Core,
  task: ToQuantize<D>,
): Conversion<TorchQuantizedTensor<D>> {
  return done({
    amount: task.x.size,
    here: () => quantizeChecked(core, where, task),
    away: (own) => runJob(core, where, own, ({ quantizeTorch }, job) => quantizeTorch(job, task)),
  });
}

/** Weights for int8 activations: qint8, zero points 0, one scale or one for each output. */
function* int8Weight(
  where: string,
  core: Core,
  layer: Linear,
  qconfig: QConfig,
): Conversion<QuantizedWeight> {
  const q = yield* observedWeight(where, core, layer, qconfig);
  const { dtype, scale, zeroPoint, axis } = q;
  const zeros = typeof zeroPoint === "number" ? [zeroPoint] : [...zeroPoint.data];
  if (dtype !== "qint8" || zeros.some((zero) => zero !== 0) || (axis ?? 0) !== 0) {
    return unsupported(
      where,
      "weights must be qint8 with zero points 0, one scale or one for each output (axis 0), where " +
        "activations are quantized too; defaultWeightObserver and defaultPerChannelWeightObserver are",
    );
  }
  const scales = typeof scale === "number" ? Float32Array.of(scale) : Float32Array.from(scale.data);
  return { q: q as TorchQuantizedTensor<"qint8">, scales };
}

/** PyTorch's quantized weight as one that `linear` multiplies by: the same values. */
function asQuantized({
  data,
  shape,
  dtype,
  scale,
  zeroPoint,
  axis,
}: TorchQuantizedTensor): QuantizedTensor {
  const name = dtype === "qint8" ? "int8" : "uint8";
  const common = { data, shape, dtype: name, scheme: "affine", scale, zeroPoint } as const;
  return (axis === undefined ? common : { ...common, axis }) as unknown as QuantizedTensor;
}

/** Quantizes a table by rows with floating zero points, as PyTorch does. */
function* convertEmbedding(
  where: string,
  core: Core,
  name: string,
  layer: Embedding,
  qconfig: QConfig,
): Conversion<ConvertedLayer> {
  const { observer, qparams } = yield* observeWeight(where, layer, qconfig);
  const { dtype } = observer;
  const { chAxis } = observer as UniformObserver & { chAxis: number };
  if ((dtype !== "quint8" && dtype !== "quint4x2") || (chAxis !== 0 && chAxis !== -2)) {
    return unsupported(
      where,
      `the weight of an Embedding must have dtype quint8 or quint4x2 and chAxis 0, got ${dtype} and ` +
        `${chAxis}`,
    );
  }
  const { weight } = layer;
  const rows = layer.numEmbeddings;
  const scales =
    qparams.scale.data.length === rows ? qparams.scale.data : new Float32Array(rows).fill(1);
  const zeros = Float32Array.from({ length: rows }, (_, i) => qparams.zeroPoint.data[i] ?? 0);
  const task = checkPerChannel(where, weight, scales, zeros, 0, "quint8");
  const q = yield* quantized(where, core, task);
  if (dtype === "quint8") return new QuantizedEmbedding(name, layer, q, 8);
  // Four bits: the same codes, cut off at 15.
  cutOff(q.data, 0, 15);
  return new QuantizedEmbedding(name, layer, q, 4);
}

/**
 * Quantizes a model without calibration: linear layers whose activations are quantized on the fly, or
 * not at all.
 *
 * Source: torch.ao.quantization.quantize_dynamic.
 *
 * @param model    stays as it is
 * @param qconfig  for its linear layers, or a mapping; default: `defaultDynamicQConfig`
 * @param options  those of `convert`
 * @throws {RangeError} `ZP_UNSUPPORTED_QCONFIG` for a static QConfig, which takes calibration: prepare,
 *   then convert; and what `prepare` and `convert` throw
 * @throws {TypeError} `ZP_INVALID_MODEL`, `ZP_INVALID_QCONFIG`
 * @example const quantized = quantizeDynamic(model, perChannelDynamicQConfig);
 */
export function quantizeDynamic(
  model: Sequential,
  qconfig?: ModelQConfig,
  options?: ConvertOptions,
): QuantizedModel {
  const where = "quantizeDynamic";
  const core = activeCore(where);
  const prepared = planDynamic(where, model, qconfig);
  const { reduceRange } = checkOptions(where, options, ["reduceRange"]);
  return convertHere(conversionOf(where, core, prepared, reduceRange));
}

/**
 * `quantizeDynamic`, with weights quantized off this thread, layer by layer, as `convertAsync` has it.
 *
 * @param model    stays as it is; leave its weights as they are until the promise settles
 * @param qconfig  as in `quantizeDynamic`
 * @param options  those of `convertAsync`
 * @returns a promise of what `quantizeDynamic` returns
 * @throws {TypeError|RangeError|Error} (as a rejection) what `quantizeDynamic` and `quantizeAsync` throw
 * @example const quantized = await quantizeDynamicAsync(model, undefined, { signal });
 */
export async function quantizeDynamicAsync(
  model: Sequential,
  qconfig?: ModelQConfig,
  options?: ConvertOptions & AsyncOptions,
): Promise<QuantizedModel> {
  const where = "quantizeDynamicAsync";
  const core = activeCore(where);
  const prepared = planDynamic(where, model, qconfig);
  const { given, settings } = checkAsyncOptions(where, options, ["reduceRange"]);
  return await convertAway(where, core, prepared, given, settings);
}

/** What is to become of a model without calibration. */
function planDynamic(where: string, model: unknown, qconfig: unknown): PreparedModel {
  const checked = checkModel(where, model);
  const given = qconfig === undefined ? defaultDynamicQConfig : qconfig;
  const mapping =
    given instanceof QConfigMapping
      ? given
      : new QConfigMapping().setObjectType(
          Linear,
          checkMapping(where, "qconfig", given).qconfigFor("", ""),
        );
  const prepared = plan(where, checked, mapping, false);
  const isStatic = prepared.steps.find((step) => step.plan.method === "static");
  if (isStatic !== undefined) {
    throw rangeError(
      "ZP_UNSUPPORTED_QCONFIG",
      `${where}: layer "${isStatic.name}" has a static QConfig, which takes calibration: prepare the ` +
        `model, run batches, then convert`,
    );
  }
  return prepared;
}
