// convert: prepared model -> quantized model, as in PyTorch's eager mode.

import { checkBoolean, isIntegerWithin, wrongKind } from "../base/check.js";
import { rangeError } from "../base/errors.js";
import { checkOptions } from "../base/options.js";
import type { Core } from "../core/core.js";
import { activeCore } from "../core/init.js";
import type { Observer } from "../observers/observer.js";
import { defaultDynamicQConfig } from "../observers/predefined.js";
import { QConfigMapping, WeightOnlyQConfig } from "../observers/qconfig-mapping.js";
import { RangeObserver } from "../observers/range-observer.js";
import { checkScale } from "../quantize/check.js";
import type { QuantizedTensor } from "../quantize/quantized-tensor.js";
import type { TensorQParams } from "../torch/scales.js";
import { type ConvertedLayer, UnchangedLayer } from "./converted/layer.js";
import { QuantizedEmbedding } from "./converted/quantized-embedding.js";
import { dynamicLinear, weightOnlyLinear } from "./converted/quantized-linear.js";
import { packedInt8, StaticLinear } from "./converted/static-linear.js";
import { Embedding } from "./layers/embedding.js";
import { Linear } from "./layers/linear.js";
import { parametersOf } from "./layers/parameters.js";
import { checkMapping, checkModel, type ModelQConfig, planModel } from "./prepare.js";
import { layersOf, type PreparedLayer, PreparedModel } from "./prepared-model.js";
import { QuantizedModel } from "./quantized-model.js";
import { type Sequential, toldIn } from "./sequential.js";
import { int8Weight, observedCodes, observedTable, quantizeOnly } from "./weights.js";

/**
 * Converts a calibrated model to a quantized one.
 *
 * Weights are quantized by the weight observers of the QConfigs; activations get the qparams of their
 * observers. The float model is not changed.
 *
 * Source: torch.ao.quantization.convert.
 *
 * @param prepared  a result of `prepare`, after calibration batches for its static layers
 * @param options.reduceRange  dynamic layers: 7 bits for activations, PyTorch's default; default: true
 * @throws {RangeError} `ZP_EMPTY` if a static layer has seen no batch; `ZP_UNSUPPORTED_QCONFIG` if
 *   weights are not qint8 with zero points 0 in a layer with quantized activations; `ZP_NON_FINITE`
 * @throws {TypeError} `ZP_INVALID_MODEL`, `ZP_NO_QPARAMS` for observers without qparams
 * @example const quantized = convert(prepared);
 */
export function convert(prepared: PreparedModel, options?: ConvertOptions): QuantizedModel {
  const where = "convert";
  const core = activeCore(where);
  const checked = checkPrepared(where, prepared);
  return convertModel(where, core, checked, options);
}

/** Options of `convert`. */
export interface ConvertOptions {
  /**
   * Dynamic layers: 7 bits for activations, as in PyTorch. `false` uses 8 bits, as PyTorch's qnnpack
   * engine does. Default: true.
   */
  reduceRange?: boolean | undefined;
}

function checkPrepared(where: string, prepared: unknown): PreparedModel {
  if (prepared instanceof PreparedModel) return prepared;
  throw wrongKind("ZP_INVALID_MODEL", where, "prepared", "what prepare returned", prepared);
}

/** Converts a checked prepared model. Checks the options. */
function convertModel(
  where: string,
  core: Core,
  prepared: PreparedModel,
  options: unknown,
): QuantizedModel {
  const { model } = prepared;
  const planned = layersOf(prepared);
  const { reduceRange } = checkOptions(where, options, ["reduceRange"]);
  const reduce = checkBoolean(where, "options.reduceRange", reduceRange, true);
  const converted: ConvertedLayer[] = [];
  let codes: TensorQParams | undefined;
  for (const each of planned) {
    try {
      if (each.plan.method !== "static") {
        converted.push(convertLayer(where, core, each, reduce));
        continue;
      }
      const { name, fused, input, output } = each;
      const layer = each.layer as Linear;
      const ownInput = input && activationOf(where, "input", input);
      const into = (ownInput ?? codes) as TensorQParams;
      codes = activationOf(where, "output", output as Observer);
      const weight = int8Weight(where, core, layer, each.plan.qconfig);
      const packed = packedInt8(where, layer, weight);
      const owns = ownInput !== undefined;
      converted.push(new StaticLinear(name, layer, weight, packed, into, codes, owns, fused));
    } catch (error) {
      for (const made of converted) made.dispose();
      throw toldIn(each, error);
    }
  }
  return new QuantizedModel(core, model, converted);
}

/** Converts a layer that is not static. */
function convertLayer(
  where: string,
  core: Core,
  { name, layer, plan: planned }: PreparedLayer,
  reduceRange: boolean,
): ConvertedLayer {
  if (planned.method === "dynamic") {
    const weight = int8Weight(where, core, layer as Linear, planned.qconfig);
    return dynamicLinear(name, layer as Linear, weight, reduceRange);
  }
  if (planned.method !== "weight-only") return new UnchangedLayer(core, name, layer);
  const { qconfig } = planned;
  const isEmbedding = layer instanceof Embedding;
  const { q, bits } =
    qconfig instanceof WeightOnlyQConfig
      ? quantizeOnly(parametersOf(layer as Linear | Embedding).weight, qconfig.options)
      : isEmbedding
        ? observedTable(where, core, layer, qconfig)
        : observedCodes(where, core, layer as Linear, qconfig);
  return isEmbedding
    ? new QuantizedEmbedding(name, layer, q, bits)
    : weightOnlyLinear(name, layer as Linear, q as QuantizedTensor, bits);
}

/** Scale and zero point of quint8 codes. Zero points of qint8 are raised by 128: the values are the same. */
function activationOf(where: string, role: string, observer: Observer): TensorQParams {
  if (observer instanceof RangeObserver && observer.isUnobserved) {
    throw rangeError(
      "ZP_EMPTY",
      where,
      `the observer of this layer's ${role} has seen no values; run calibration batches ` +
        `through the prepared model first`,
    );
  }
  const { scale: scales, zeroPoint: zeroPoints } = observer.calculateQParams();
  const [scale, zero] = [scales.data[0], zeroPoints.data[0]];
  const { dtype } = observer as Observer & { readonly dtype: string };
  if (!Number.isFinite(scale)) {
    throw rangeError(
      "ZP_NON_FINITE",
      where,
      `the range of this layer's ${role} is too wide for a float32 scale`,
    );
  }
  const shift = dtype === "qint8" ? 128 : 0;
  checkScale(where, `the scale of this layer's ${role}`, scale);
  if (!isIntegerWithin(zero, -shift, 255 - shift)) {
    throw rangeError(
      "ZP_INVALID_ZERO_POINT",
      where,
      `the zero point of this layer's ${role} must be from ${-shift} to ${255 - shift}, got ` +
        `${zero} of ${observer}`,
    );
  }
  return { scale, zeroPoint: zero + shift };
}

/**
 * Quantizes a model without calibration: in its linear layers, activations are quantized on the fly, or
 * not at all.
 *
 * Source: torch.ao.quantization.quantize_dynamic.
 *
 * @param model    the float model; not changed
 * @param qconfig  for its linear layers, or a mapping; default:
 *   `predefinedQConfigs.default_dynamic_qconfig`
 * @param options  as in `convert`
 * @throws {RangeError} `ZP_UNSUPPORTED_QCONFIG` for a static QConfig, which needs calibration (`prepare`,
 *   then `convert`); and as `prepare` and `convert`
 * @throws {TypeError} `ZP_INVALID_MODEL`, `ZP_INVALID_QCONFIG`
 * @example const quantized = quantizeDynamic(
 *   model,
 *   predefinedQConfigs.per_channel_dynamic_qconfig,
 * );
 */
export function quantizeDynamic(
  model: Sequential,
  qconfig?: ModelQConfig,
  options?: ConvertOptions,
): QuantizedModel {
  const where = "quantizeDynamic";
  const core = activeCore(where);
  const prepared = planDynamic(where, model, qconfig);
  return convertModel(where, core, prepared, options);
}

/** Plans the quantization of a model without calibration. */
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
  const isStatic = layersOf(prepared).find(({ plan }) => plan.method === "static");
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
