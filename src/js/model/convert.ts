/// <reference lib="esnext.disposable" preserve="true" />

// convert: from a float model to a quantized one, as PyTorch's eager mode does it.

import { type AsyncOptions, checkAsyncOptions, runAway } from "../async/background.js";
import { checkBoolean, checkOptions, type TensorInput, wrongKind } from "../check.js";
import type { Core } from "../core.js";
import { makeDisposable } from "../disposable.js";
import { rangeError, typeError } from "../errors.js";
import { activeCore } from "../init.js";
import type { Observer } from "../observer.js";
import { defaultDynamicQConfig } from "../qconfig.js";
import { QConfigMapping, WeightOnlyQConfig } from "../qconfig-mapping.js";
import { checkScale, type QuantizedTensor } from "../qparams.js";
import type { TensorQParams } from "../qtensor.js";
import { INSPECT, OWN } from "../show.js";
import type { Tensor } from "../tensor.js";
import { UniformObserver } from "../uniform.js";
import { type Procedure, workHere } from "../work.js";
import { Embedding, Linear } from "./layer.js";
import {
  checkMapping,
  checkModel,
  type ModelQConfig,
  PreparedModel,
  type PreparedStep,
  planModel,
} from "./prepare.js";
import {
  type ConvertedLayer,
  dynamicLinear,
  FloatStep,
  type Flow,
  floatsOf,
  packedInt8,
  QuantizedEmbedding,
  StaticLinear,
  weightOnlyLinear,
} from "./quantized.js";
import { inputsOf, type ModelReport, reporting, reportTotal } from "./report.js";
import {
  modelText,
  outputOf,
  runLayers,
  runLayersAsync,
  type Sequential,
  toldIn,
} from "./sequential.js";
import { int8Weight, observedCodes, observedTable, quantizeOnly } from "./weights.js";

/**
 * A model with quantized layers. It owns core memory: `dispose()` frees it. Made by `convert` and
 * `quantizeDynamic`.
 */
export class QuantizedModel {
  /** The float model that it was made from. */
  declare readonly model: Sequential;
  readonly #steps: readonly ConvertedLayer[];
  readonly #core: Core;
  #isDisposed = false;

  /** @internal */
  constructor(core: Core, model: Sequential, steps: readonly ConvertedLayer[]) {
    this.#core = core;
    this.model = model;
    this.#steps = steps;
  }

  /**
   * Runs the quantized model.
   * @param x  what the float model takes
   * @returns float32
   * @throws {TypeError} `ZP_DISPOSED`, and what a layer throws, with its name in the message
   */
  forward(x: TensorInput): Tensor {
    this.#checkAlive("QuantizedModel.forward");
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
    const where = "QuantizedModel.forwardAsync";
    this.#checkAlive(where);
    const { settings } = checkAsyncOptions(where, options);
    return this.#floats(
      await runLayersAsync<ConvertedLayer, Flow>(this.#steps, x, settings, (step, flow, own) =>
        step.runAsync(flow, own),
      ),
    );
  }

  /** Also of layers that have no memory to free. */
  #checkAlive(where: string): void {
    if (!this.#isDisposed) return;
    throw typeError("ZP_DISPOSED", where, "the model is disposed and cannot be used any more");
  }

  #floats(flow: Flow): Tensor {
    return outputOf(this, floatsOf(this.#core, flow));
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
    return workHere(this.#reporting(inputsOf(x)));
  }

  /**
   * `report`, off this thread as far as the layers' `forwardAsync` is; weights are compared there, too.
   * @param x        as in `report`; leave it as it is until the promise settles
   * @param options  `signal` and `onProgress` as in `quantizeAsync`; `total` counts runs of layers, and
   *   weights and outputs to compare
   * @returns a promise of what `report` returns
   * @throws (as a rejection) what `forwardAsync` throws
   * @example console.log(String(await quantized.reportAsync(heldOut)));
   */
  async reportAsync(
    x?: TensorInput | readonly TensorInput[],
    options?: AsyncOptions,
  ): Promise<ModelReport> {
    const where = "QuantizedModel.reportAsync";
    const { settings } = checkAsyncOptions(where, options);
    const inputs = inputsOf(x);
    const total = reportTotal(this.#steps, inputs.length);
    return await runAway(this.#core, where, settings, this.#reporting(inputs), total, true);
  }

  #reporting(inputs: readonly TensorInput[]): Procedure<ModelReport> {
    return reporting(this.#core, this.#steps, inputs);
  }

  /** Frees the layers' memory. Calling it again does nothing; calling `forward` after it throws. */
  dispose(): void {
    this.#isDisposed = true;
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

const runStep = (step: ConvertedLayer, flow: Flow): Flow => step.run(flow);

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
  return convertHere(where, core, checked, options);
}

/** What `convert` takes beside the model. */
export interface ConvertOptions {
  /**
   * Dynamic layers: 7 bits for activations, as PyTorch has it; `false` has the bits of its qnnpack engine,
   * which uses 8. Default: true.
   */
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
 * @example
 * const quantized = await convertAsync(prepared, {
 *   onProgress: ({ done, total }) => console.log(`${done} of ${total}`),
 * });
 */
export async function convertAsync(
  prepared: PreparedModel,
  options?: ConvertOptions & AsyncOptions,
): Promise<QuantizedModel> {
  const where = "convertAsync";
  const core = activeCore(where);
  const checked = checkPrepared(where, prepared);
  return await convertAway(where, core, checked, options);
}

const CONVERT_OPTIONS = ["reduceRange"];

/** What `convert` does with a model that is checked. */
function convertHere(
  where: string,
  core: Core,
  prepared: PreparedModel,
  options: unknown,
): QuantizedModel {
  const given = checkOptions(where, options, CONVERT_OPTIONS);
  return workHere(conversionOf(where, core, prepared, given));
}

/** The same with the work on another thread. */
async function convertAway(
  where: string,
  core: Core,
  prepared: PreparedModel,
  options: unknown,
): Promise<QuantizedModel> {
  const { given, settings } = checkAsyncOptions(where, options, CONVERT_OPTIONS);
  const conversion = conversionOf(where, core, prepared, given);
  const weights = prepared.steps.filter(({ plan: { method } }) => method !== "float32");
  // A weight is gone through twice, to look at it and to quantize it, and that of a Linear is packed.
  const amount = ({ layer }: PreparedStep) =>
    (layer instanceof Linear ? 3 : 2) * (layer as Linear | Embedding).weight.data.length;
  const total = weights.reduce((sum, step) => sum + amount(step), 0);
  return await runAway(core, where, settings, conversion, total);
}

function checkPrepared(where: string, prepared: unknown): PreparedModel {
  if (prepared instanceof PreparedModel) return prepared;
  throw wrongKind("ZP_INVALID_MODEL", where, "prepared", "what prepare returned", prepared);
}

/** What `convert` does. */
function* conversionOf(
  where: string,
  core: Core,
  { steps: planned, model }: PreparedModel,
  { reduceRange }: Readonly<Record<string, unknown>>,
): Procedure<QuantizedModel> {
  const reduce = checkBoolean(where, "options.reduceRange", reduceRange, true);
  const steps: ConvertedLayer[] = [];
  let codes: TensorQParams | undefined;
  for (const step of planned) {
    try {
      if (step.plan.method !== "static") {
        steps.push(yield* convertLayer(where, core, step, reduce));
        continue;
      }
      const { name, fused } = step;
      const layer = step.layer as Linear;
      const { input, output } = step.observers;
      const ownInput = input && activationOf(where, "input", input);
      const into = (ownInput ?? codes) as TensorQParams;
      codes = activationOf(where, "output", output as Observer);
      const weight = yield* int8Weight(where, core, layer, step.plan.qconfig);
      const packed = yield* packedInt8(where, layer, weight);
      const owns = ownInput !== undefined;
      steps.push(new StaticLinear(name, layer, weight, packed, into, codes, owns, fused));
    } catch (error) {
      for (const made of steps) made.dispose();
      throw toldIn(step, error);
    }
  }
  return new QuantizedModel(core, model, steps);
}

/** A layer that is not static. */
function* convertLayer(
  where: string,
  core: Core,
  { name, layer, plan: planned }: PreparedStep,
  reduceRange: boolean,
): Procedure<ConvertedLayer> {
  if (planned.method === "dynamic") {
    const weight = yield* int8Weight(where, core, layer as Linear, planned.qconfig);
    return yield* dynamicLinear(name, layer as Linear, weight, reduceRange);
  }
  if (planned.method !== "weight-only") return new FloatStep(core, name, layer);
  const { qconfig } = planned;
  const isEmbedding = layer instanceof Embedding;
  const { q, bits } =
    qconfig instanceof WeightOnlyQConfig
      ? yield* quantizeOnly((layer as Linear | Embedding).weight, qconfig.options)
      : isEmbedding
        ? yield* observedTable(where, core, layer, qconfig)
        : yield* observedCodes(where, core, layer as Linear, qconfig);
  return isEmbedding
    ? new QuantizedEmbedding(name, layer, q, bits)
    : yield* weightOnlyLinear(name, layer as Linear, q as QuantizedTensor, bits);
}

/** Scale and zero point of quint8 codes; those of qint8 are moved up by 128, which changes nothing. */
function activationOf(where: string, role: string, observer: Observer): TensorQParams {
  if (observer instanceof UniformObserver && observer.isUnobserved) {
    throw rangeError(
      "ZP_EMPTY",
      where,
      `the observer of this layer's ${role} has seen no values; run calibration batches ` +
        `through the prepared model first`,
    );
  }
  const { scale, zeroPoint } = observer.calculateQParams();
  const { dtype } = observer as Observer & { readonly dtype: string };
  if (!Number.isFinite(scale.data[0])) {
    throw rangeError(
      "ZP_NON_FINITE",
      where,
      `the range of this layer's ${role} is too wide for a float32 scale`,
    );
  }
  const shift = dtype === "qint8" ? 128 : 0;
  checkScale(where, `the scale of this layer's ${role}`, scale.data[0]);
  const [zero] = zeroPoint.data;
  if (!(zero >= -shift && zero <= 255 - shift)) {
    throw rangeError(
      "ZP_INVALID_ZERO_POINT",
      where,
      `the zero point of this layer's ${role} must be from ${-shift} to ${255 - shift}, got ` +
        `${zero} of ${observer}`,
    );
  }
  return { scale: scale.data[0], zeroPoint: zero + shift };
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
  return convertHere(where, core, prepared, options);
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
  return await convertAway(where, core, prepared, options);
}

/** What is to become of a model without calibration. */
function planDynamic(
  where: string,
  model: unknown,
  given: unknown = defaultDynamicQConfig,
): PreparedModel {
  const checked = checkModel(where, model);
  const mapping =
    given instanceof QConfigMapping
      ? given
      : new QConfigMapping().setObjectType(Linear, checkMapping(where, given).qconfigFor("", ""));
  const prepared = planModel(where, checked, mapping, false);
  const isStatic = prepared.steps.find((step) => step.plan.method === "static");
  if (isStatic !== undefined) {
    throw rangeError(
      "ZP_UNSUPPORTED_QCONFIG",
      where,
      `layer "${isStatic.name}" has a static QConfig, which takes calibration: prepare the ` +
        `model, run batches, then convert`,
    );
  }
  return prepared;
}
