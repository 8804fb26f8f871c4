// prepare: the method of each layer, and its observers.

import { checkBoolean } from "../base/check.js";
import { rangeError, typeError } from "../base/errors.js";
import { show } from "../base/format-value.js";
import { checkOptions } from "../base/options.js";
import { activeCore } from "../core/init.js";
import { computesAs, type Layer } from "../linear/layer.js";
import { QuantizedLinear } from "../linear/quantized-linear.js";
import { Observer } from "../observers/observer.js";
import {
  FixedQParamsObserver,
  PlaceholderObserver,
  RecordingObserver,
} from "../observers/placeholders.js";
import type { ObserverSource, QConfig } from "../observers/qconfig.js";
import {
  checkQConfig,
  type LayerQConfig,
  namesAround,
  QConfigMapping,
  WeightOnlyQConfig,
} from "../observers/qconfig-mapping.js";
import { RangeObserver } from "../observers/range-observer.js";
import { isFactory } from "../observers/with-args.js";
import { ReLU } from "./layers/activations.js";
import { Embedding } from "./layers/embedding.js";
import { Linear } from "./layers/linear.js";
import { quantizedOf } from "./layers/parameters.js";
import { type Plan, PreparedModel } from "./prepared-model.js";
import { type NamedLayer, Sequential, toldIn } from "./sequential.js";

/** The quantization of a model: one QConfig for all layers, or a mapping. */
export type ModelQConfig = QConfig | WeightOnlyQConfig | QConfigMapping;

export function checkModel(where: string, model: unknown): Sequential {
  if (computesAs(model as Layer, Sequential)) return model as Sequential;
  const what = model instanceof Sequential ? "one with a forward of its own" : show(model);
  throw typeError("ZP_INVALID_MODEL", where, `model must be a Sequential, got ${what}`);
}

export function checkMapping(where: string, qconfig: unknown): QConfigMapping {
  if (qconfig instanceof QConfigMapping) return qconfig;
  return new QConfigMapping().setGlobal(checkQConfig(where, qconfig, "a QConfigMapping"));
}

/** Refuses a mapping with an unknown layer name: a typing error would leave the intended layer float32. */
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

/** Creates an observer of a QConfig. */
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
export function weightObserver(where: string, { weight }: QConfig): RangeObserver {
  const observer = weight && makeObserver(where, "weight", weight);
  if (observer instanceof RangeObserver) return observer;
  return unsupported(
    where,
    `weights must be quantized by an observer that chooses qparams, got ${observer}`,
  );
}

export function unsupported(where: string, problem: string): never {
  throw rangeError("ZP_UNSUPPORTED_QCONFIG", where, problem);
}

/**
 * The plan for a layer under a QConfig.
 * @param isNamed  whether the QConfig was given for this layer by name
 */
function planFor(where: string, layer: Layer, qconfig: LayerQConfig, isNamed: boolean): Plan {
  const isEmbedding = computesAs(layer, Embedding);
  const isQuantized = layer instanceof QuantizedLinear || quantizedOf(layer) !== undefined;
  const isKnown = (isEmbedding || computesAs(layer, Linear)) && !isQuantized;
  if (qconfig === null || !isKnown) {
    const isMeant = qconfig !== null && isNamed;
    if (isMeant && isQuantized) unsupported(where, "the weight of this layer is quantized already");
    if (isMeant && [Linear, Embedding, Sequential].some((type) => layer instanceof type)) {
      unsupported(where, "a layer with a forward of its own cannot be quantized");
    }
    return { method: "float32" };
  }
  if (qconfig instanceof WeightOnlyQConfig) return { method: "weight-only", qconfig };
  const method = isEmbedding ? planEmbedding(where, qconfig) : planLinear(where, qconfig);
  return { method, qconfig };
}

/** The method of a Linear under a QConfig. */
function planLinear(where: string, { activation }: QConfig): "static" | "dynamic" | "weight-only" {
  if (activation === null) return "weight-only";
  const observer = makeObserver(where, "activation", activation);
  const isUniform = observer instanceof RangeObserver;
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
    observer instanceof RangeObserver &&
    observer.qscheme === "per_channel_affine_float_qparams"
  ) {
    return "weight-only";
  }
  return unsupported(
    where,
    "Embedding takes predefinedQConfigs.float_qparams_weight_only_qconfig, its 4-bit sister, a WeightOnlyQConfig, or null " +
      "to stay as it is; a QConfigMapping gives it its own",
  );
}

/** Options of `prepare`. */
export interface PrepareOptions {
  /**
   * Whether a ReLU directly after a static Linear is fused with it, as by PyTorch's `fuse_modules`: the
   * range then excludes the values below 0. As in PyTorch, the observer of a fused module observes every
   * batch twice, which affects a moving average. Default: true.
   */
  fuse?: boolean | undefined;
}

/**
 * Attaches observers to the layers of a model that are to be quantized. Run calibration batches through
 * the result, then `convert` it.
 *
 * The QConfig of a layer selects its conversion:
 *
 * | activation | Linear becomes |
 * | --- | --- |
 * | an observer (MinMax, MovingAverage, Histogram, FixedQParams) | static W8A8 |
 * | a PlaceholderObserver that is dynamic | dynamic W8A8, see `QuantizedLinear` |
 * | a PlaceholderObserver for float32, null, or a `WeightOnlyQConfig` | quantized weights alone |
 *
 * An Embedding takes `predefinedQConfigs.float_qparams_weight_only_qconfig` or a `WeightOnlyQConfig`. All other layers stay
 * float32, also layers of subclasses that override `forward`; but a ReLU between static layers maps codes
 * to codes. Float input of a static layer is quantized with the qparams of a separate input observer,
 * which replaces PyTorch's QuantStub.
 *
 * Source: torch.ao.quantization.prepare.
 *
 * @param model    the float model; not changed; its weights are read when it is converted
 * @param qconfig  for all layers, or a mapping
 * @param options.fuse  default: true, see `PrepareOptions`
 * @throws {TypeError} `ZP_INVALID_MODEL`, `ZP_INVALID_QCONFIG`
 * @throws {RangeError} `ZP_UNSUPPORTED_QCONFIG` if a layer does not support its QConfig;
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

/** Plans the quantization of a model. */
export function planModel(
  where: string,
  model: Sequential,
  mapping: QConfigMapping,
  fuse: boolean,
): PreparedModel {
  const { layers } = model;
  checkNames(where, mapping, layers);
  let codesGoBy = false;
  const prepared = layers.map(({ name, layer }, i) => {
    try {
      const planned = planFor(
        where,
        layer,
        mapping.qconfigFor(name, layer.typeName),
        mapping.moduleNames.includes(name),
      );
      // Refuses here a weight observer that `convert` would refuse after calibration.
      if (planned.method !== "float32" && !(planned.qconfig instanceof WeightOnlyQConfig)) {
        weightObserver(where, planned.qconfig);
      }
      const isStatic = planned.method === "static";
      let input: Observer | undefined;
      let output: Observer | undefined;
      if (isStatic) {
        const make = () =>
          makeObserver(where, "activation", planned.qconfig.activation as ObserverSource);
        if (!codesGoBy) input = make();
        output = make();
      }
      codesGoBy = isStatic || (codesGoBy && computesAs(layer, ReLU));
      const fused = isStatic && fuse && computesAs(layers[i + 1]?.layer, ReLU);
      return { name, layer, plan: planned, input, output, fused };
    } catch (error) {
      throw toldIn({ name, layer }, error);
    }
  });
  return new PreparedModel(model, prepared);
}
