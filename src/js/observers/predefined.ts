// PyTorch's predefined observers and QConfigs.

import { checkChoice } from "../base/check.js";
import { HistogramObserver } from "./histogram.js";
import {
  MinMaxObserver,
  MovingAverageMinMaxObserver,
  MovingAveragePerChannelMinMaxObserver,
  PerChannelMinMaxObserver,
} from "./min-max.js";
import {
  FixedQParamsObserver,
  NoopObserver,
  PlaceholderObserver,
  RecordingObserver,
  ReuseInputObserver,
} from "./placeholders.js";
import { type ObserverSource, QConfig } from "./qconfig.js";
import { FakeQuantize, FusedMovingAvgObsFakeQuantize, Identity } from "./training-only.js";
import { type ObserverConstructor, type ObserverFactory, partial } from "./with-args.js";

/** A QConfig from an activation observer and a weight observer. */
function pair(activation: ObserverSource | null, weight: ObserverSource | null): QConfig {
  return new QConfig({ activation, weight });
}

/** The keyword arguments of FakeQuantize in PyTorch. */
type FakeQuantizeOptions = Readonly<Record<string, unknown>>;

function fake(options: FakeQuantizeOptions): ObserverFactory<object, FakeQuantizeOptions> {
  const made = FakeQuantize as ObserverConstructor<object, FakeQuantizeOptions>;
  return partial(made, options);
}

function fused(options: FakeQuantizeOptions): ObserverFactory<object, FakeQuantizeOptions> {
  const made = FusedMovingAvgObsFakeQuantize as ObserverConstructor<object, FakeQuantizeOptions>;
  return partial(made, options);
}

/** 2⁻¹², the smallest scale that XNNPACK supports. */
const QNNPACK_EPS = 2 ** -12;

/** `default_observer`: activations, in 7 bits. */
const defaultObserver = MinMaxObserver.withArgs({ quantMin: 0, quantMax: 127 });

/** `default_placeholder_observer`. */
const defaultPlaceholderObserver = PlaceholderObserver;

/** `default_debug_observer`. */
const defaultDebugObserver = RecordingObserver;

/** `default_reuse_input_observer`. */
const defaultReuseInputObserver = ReuseInputObserver;

/** `default_weight_observer`: one scale for all weights. */
const defaultWeightObserver = MinMaxObserver.withArgs({
  dtype: "qint8",
  qscheme: "per_tensor_symmetric",
});

/** `weight_observer_range_neg_127_to_127`. */
const weightObserverRangeNeg127To127 = MinMaxObserver.withArgs({
  dtype: "qint8",
  qscheme: "per_tensor_symmetric",
  quantMin: -127,
  quantMax: 127,
  eps: QNNPACK_EPS,
});

/** `default_histogram_observer`: activations, in 7 bits. */
const defaultHistogramObserver = HistogramObserver.withArgs({ quantMin: 0, quantMax: 127 });

/** `default_per_channel_weight_observer`: one scale for each output of a layer. */
const defaultPerChannelWeightObserver = PerChannelMinMaxObserver.withArgs({
  dtype: "qint8",
  qscheme: "per_channel_symmetric",
});

/** `per_channel_weight_observer_range_neg_127_to_127`. */
const perChannelWeightObserverRangeNeg127To127 = PerChannelMinMaxObserver.withArgs({
  dtype: "qint8",
  qscheme: "per_channel_symmetric",
  quantMin: -127,
  quantMax: 127,
  eps: QNNPACK_EPS,
});

/** `default_dynamic_quant_observer`: activations whose qparams are chosen on the fly. */
const defaultDynamicQuantObserver = PlaceholderObserver.withArgs({
  dtype: "quint8",
  quantMin: 0,
  quantMax: 255,
  isDynamic: true,
});

/** `default_float_qparams_observer`: embeddings. */
const defaultFloatQParamsObserver = PerChannelMinMaxObserver.withArgs({
  dtype: "quint8",
  qscheme: "per_channel_affine_float_qparams",
  chAxis: 0,
});

/** `default_float_qparams_observer_4bit`: embeddings in 4 bits. */
const defaultFloatQParamsObserver4Bit = PerChannelMinMaxObserver.withArgs({
  dtype: "quint4x2",
  qscheme: "per_channel_affine_float_qparams",
  chAxis: 0,
});

/** `default_fixed_qparams_range_neg1to1_observer`: tanh. */
const defaultFixedQParamsRangeNeg1To1Observer = FixedQParamsObserver.withArgs({
  scale: 2 / 256,
  zeroPoint: 128,
  dtype: "quint8",
  quantMin: 0,
  quantMax: 255,
});

/** `default_fixed_qparams_range_0to1_observer`: sigmoid, softmax. */
const defaultFixedQParamsRange0To1Observer = FixedQParamsObserver.withArgs({
  scale: 1 / 256,
  zeroPoint: 0,
  dtype: "quint8",
  quantMin: 0,
  quantMax: 255,
});

/** `default_symmetric_fixed_qparams_observer`, the older name. */
const defaultSymmetricFixedQParamsObserver = defaultFixedQParamsRangeNeg1To1Observer;

/** `default_affine_fixed_qparams_observer`, the older name. */
const defaultAffineFixedQParamsObserver = defaultFixedQParamsRange0To1Observer;

const defaultFakeQuant = fake({
  observer: MovingAverageMinMaxObserver,
  quantMin: 0,
  quantMax: 255,
  dtype: "quint8",
  qscheme: "per_tensor_affine",
  reduceRange: true,
});

const defaultWeightFakeQuant = fake({
  observer: MovingAverageMinMaxObserver,
  quantMin: -128,
  quantMax: 127,
  dtype: "qint8",
  qscheme: "per_tensor_symmetric",
  reduceRange: false,
});

const defaultDynamicFakeQuant = fake({
  observer: MovingAverageMinMaxObserver,
  quantMin: 0,
  quantMax: 255,
  isDynamic: true,
  dtype: "quint8",
  averagingConstant: 1,
});

const defaultEmbeddingFakeQuant = fake({
  observer: MovingAveragePerChannelMinMaxObserver,
  qscheme: "per_channel_affine_float_qparams",
  dtype: "quint8",
  quantMin: 0,
  quantMax: 255,
  chAxis: 0,
  averagingConstant: 1,
});

const defaultEmbeddingFakeQuant4Bit = fake({
  observer: MovingAveragePerChannelMinMaxObserver,
  qscheme: "per_channel_affine_float_qparams",
  chAxis: 0,
  dtype: "quint4x2",
  averagingConstant: 1,
});

const defaultFusedActivationFakeQuant = fused({
  observer: MovingAverageMinMaxObserver,
  quantMin: 0,
  quantMax: 255,
  dtype: "quint8",
});

const defaultFusedWeightFakeQuant = fused({
  observer: MovingAverageMinMaxObserver,
  quantMin: -128,
  quantMax: 127,
  dtype: "qint8",
  qscheme: "per_tensor_symmetric",
});

const defaultFusedPerChannelWeightFakeQuant = fused({
  observer: MovingAveragePerChannelMinMaxObserver,
  quantMin: -128,
  quantMax: 127,
  dtype: "qint8",
  qscheme: "per_channel_symmetric",
});

const fusedWeightFakeQuantRangeNeg127To127 = fused({
  observer: MovingAverageMinMaxObserver,
  quantMin: -127,
  quantMax: 127,
  dtype: "qint8",
  qscheme: "per_tensor_symmetric",
  eps: QNNPACK_EPS,
});

const fusedPerChannelWeightFakeQuantRangeNeg127To127 = fused({
  observer: MovingAveragePerChannelMinMaxObserver,
  quantMin: -127,
  quantMax: 127,
  dtype: "qint8",
  qscheme: "per_channel_symmetric",
  eps: QNNPACK_EPS,
});

const qnnpackActivationFakeQuant = fused({
  observer: MovingAverageMinMaxObserver,
  quantMin: -128,
  quantMax: 127,
  dtype: "qint8",
  reduceRange: false,
  eps: QNNPACK_EPS,
});

/** `default_qconfig`: static, one scale per tensor. */
const defaultQConfig = pair(defaultObserver, defaultWeightObserver);

/** `default_debug_qconfig`: keeps all activations. */
const defaultDebugQConfig = pair(defaultDebugObserver, defaultWeightObserver);

/** `default_per_channel_qconfig`: static, one scale for each output of a layer. */
const defaultPerChannelQConfig = pair(defaultObserver, defaultPerChannelWeightObserver);

/** `default_dynamic_qconfig`: activations quantized on the fly. */
export const defaultDynamicQConfig = pair(defaultDynamicQuantObserver, defaultWeightObserver);

/** `per_channel_dynamic_qconfig`: the same, with one weight scale for each output. */
const perChannelDynamicQConfig = pair(defaultDynamicQuantObserver, defaultPerChannelWeightObserver);

const float16Observer = PlaceholderObserver.withArgs({ dtype: "float16" });

/** `float16_dynamic_qconfig`. Data only: no layer here computes with float16. */
const float16DynamicQConfig = pair(
  PlaceholderObserver.withArgs({ dtype: "float16", isDynamic: true }),
  float16Observer,
);

/** `float16_static_qconfig`. Data only: no layer here computes with float16. */
const float16StaticQConfig = pair(float16Observer, float16Observer);

/** `float_qparams_weight_only_qconfig`: embeddings, 8 bits. */
const floatQParamsWeightOnlyQConfig = pair(defaultPlaceholderObserver, defaultFloatQParamsObserver);

/** `float_qparams_weight_only_qconfig_4bit`: embeddings, 4 bits. */
const floatQParamsWeightOnlyQConfig4Bit = pair(
  defaultPlaceholderObserver,
  defaultFloatQParamsObserver4Bit,
);

/** `default_quint8_weight_qconfig`: quint8 weights. */
const defaultQuint8WeightQConfig = pair(HistogramObserver, MinMaxObserver);

/** `default_reuse_input_qconfig`. */
const defaultReuseInputQConfig = pair(defaultReuseInputObserver, NoopObserver);

const qnnpackActivationObserver = HistogramObserver.withArgs({
  dtype: "qint8",
  reduceRange: false,
  eps: QNNPACK_EPS,
});

/** `default_symmetric_qnnpack_qconfig`: qint8 activations. */
const defaultSymmetricQNNPACKQConfig = pair(
  qnnpackActivationObserver,
  weightObserverRangeNeg127To127,
);

/** `default_per_channel_symmetric_qnnpack_qconfig`: qint8 activations. */
const defaultPerChannelSymmetricQNNPACKQConfig = pair(
  qnnpackActivationObserver,
  perChannelWeightObserverRangeNeg127To127,
);

const float32Observer = PlaceholderObserver.withArgs({ dtype: "float32" });

/** `_default_fp32_placeholder_qconfig`. */
const defaultFP32PlaceholderQConfig = pair(float32Observer, float32Observer);

/** `_default_quint8_placeholder_qconfig`. */
const defaultQuint8PlaceholderQConfig = pair(
  PlaceholderObserver.withArgs({ dtype: "quint8" }),
  null,
);

/** `default_qat_qconfig`, for training: data only. */
const defaultQATQConfig = pair(defaultFakeQuant, defaultWeightFakeQuant);

/** `default_qat_qconfig_v2`, for training: data only. */
const defaultQATQConfigV2 = pair(defaultFusedActivationFakeQuant, defaultFusedWeightFakeQuant);

/** `default_dynamic_qat_qconfig`, for training: data only. */
const defaultDynamicQATQConfig = pair(defaultDynamicFakeQuant, defaultWeightFakeQuant);

/** `default_embedding_qat_qconfig`, for training: data only. */
const defaultEmbeddingQATQConfig = pair(
  NoopObserver.withArgs({ dtype: "float32" }),
  defaultEmbeddingFakeQuant,
);

/** `default_embedding_qat_qconfig_4bit`, for training: data only. */
const defaultEmbeddingQATQConfig4Bit = pair(
  NoopObserver.withArgs({ dtype: "float32" }),
  defaultEmbeddingFakeQuant4Bit,
);

/** `default_weight_only_qconfig`, for training: data only. `WeightOnlyQConfig` is for use. */
const defaultWeightOnlyQConfig = pair(Identity, defaultWeightFakeQuant);

/** `default_activation_only_qconfig`, for training: data only. */
const defaultActivationOnlyQConfig = pair(defaultFakeQuant, Identity);

/** `default_symmetric_qnnpack_qat_qconfig`, for training: data only. */
const defaultSymmetricQNNPACKQATQConfig = pair(
  qnnpackActivationFakeQuant,
  fusedWeightFakeQuantRangeNeg127To127,
);

/** `default_per_channel_symmetric_qnnpack_qat_qconfig`, for training: data only. */
const defaultPerChannelSymmetricQNNPACKQATQConfig = pair(
  qnnpackActivationFakeQuant,
  fusedPerChannelWeightFakeQuantRangeNeg127To127,
);

/** The engines with default QConfigs in PyTorch. */
export type QConfigBackend = "x86" | "fbgemm" | "qnnpack" | "onednn";

const BACKENDS: readonly QConfigBackend[] = ["x86", "fbgemm", "qnnpack", "onednn"];

/**
 * The QConfig for static quantization that PyTorch uses with an engine.
 *
 * Source: torch.ao.quantization.get_default_qconfig.
 *
 * @param backend  `"x86"` (default), `"fbgemm"`, `"qnnpack"` or `"onednn"`
 * @throws {TypeError|RangeError} `ZP_INVALID_OPTION` for any other
 * @example
 * // A HistogramObserver in 7 bits for activations, a scale per channel for weights.
 * getDefaultQConfig("x86")
 */
export function getDefaultQConfig(backend?: QConfigBackend): QConfig {
  const where = "getDefaultQConfig";
  const name = checkChoice(where, "backend", backend, BACKENDS, "x86");
  const reduceRange = name === "x86" || name === "fbgemm";
  return pair(
    HistogramObserver.withArgs({ reduceRange }),
    name === "qnnpack" ? defaultWeightObserver : defaultPerChannelWeightObserver,
  );
}

/**
 * The QConfig for quantization-aware training that PyTorch uses with an engine: data only.
 *
 * Source: torch.ao.quantization.get_default_qat_qconfig.
 *
 * @param backend  `"x86"` (default), `"fbgemm"`, `"qnnpack"` or `"onednn"`
 * @throws {TypeError|RangeError} `ZP_INVALID_OPTION` for any other
 * @example String(getDefaultQATQConfig("qnnpack"))
 */
export function getDefaultQATQConfig(backend?: QConfigBackend): QConfig {
  const where = "getDefaultQATQConfig";
  const name = checkChoice(where, "backend", backend, BACKENDS, "x86");
  const common = { observer: MovingAverageMinMaxObserver, quantMin: 0, quantMax: 255 };
  return pair(
    name === "onednn" ? fused(common) : fused({ ...common, reduceRange: name !== "qnnpack" }),
    name === "qnnpack" ? defaultFusedWeightFakeQuant : defaultFusedPerChannelWeightFakeQuant,
  );
}

/** Every predefined QConfig by its name in PyTorch. */
export const predefinedQConfigs = /* @__PURE__ */ Object.freeze({
  _default_fp32_placeholder_qconfig: defaultFP32PlaceholderQConfig,
  _default_quint8_placeholder_qconfig: defaultQuint8PlaceholderQConfig,
  default_activation_only_qconfig: defaultActivationOnlyQConfig,
  default_debug_qconfig: defaultDebugQConfig,
  default_dynamic_qat_qconfig: defaultDynamicQATQConfig,
  default_dynamic_qconfig: defaultDynamicQConfig,
  default_embedding_qat_qconfig: defaultEmbeddingQATQConfig,
  default_embedding_qat_qconfig_4bit: defaultEmbeddingQATQConfig4Bit,
  default_per_channel_qconfig: defaultPerChannelQConfig,
  default_per_channel_symmetric_qnnpack_qat_qconfig: defaultPerChannelSymmetricQNNPACKQATQConfig,
  default_per_channel_symmetric_qnnpack_qconfig: defaultPerChannelSymmetricQNNPACKQConfig,
  default_qat_qconfig: defaultQATQConfig,
  default_qat_qconfig_v2: defaultQATQConfigV2,
  default_qconfig: defaultQConfig,
  default_quint8_weight_qconfig: defaultQuint8WeightQConfig,
  default_reuse_input_qconfig: defaultReuseInputQConfig,
  default_symmetric_qnnpack_qat_qconfig: defaultSymmetricQNNPACKQATQConfig,
  default_symmetric_qnnpack_qconfig: defaultSymmetricQNNPACKQConfig,
  default_weight_only_qconfig: defaultWeightOnlyQConfig,
  float16_dynamic_qconfig: float16DynamicQConfig,
  float16_static_qconfig: float16StaticQConfig,
  float_qparams_weight_only_qconfig: floatQParamsWeightOnlyQConfig,
  float_qparams_weight_only_qconfig_4bit: floatQParamsWeightOnlyQConfig4Bit,
  per_channel_dynamic_qconfig: perChannelDynamicQConfig,
});

/** Every predefined observer, class or factory, by its name in PyTorch. */
export const predefinedObservers = /* @__PURE__ */ Object.freeze({
  default_affine_fixed_qparams_observer: defaultAffineFixedQParamsObserver,
  default_debug_observer: defaultDebugObserver,
  default_dynamic_quant_observer: defaultDynamicQuantObserver,
  default_fixed_qparams_range_0to1_observer: defaultFixedQParamsRange0To1Observer,
  default_fixed_qparams_range_neg1to1_observer: defaultFixedQParamsRangeNeg1To1Observer,
  default_float_qparams_observer: defaultFloatQParamsObserver,
  default_float_qparams_observer_4bit: defaultFloatQParamsObserver4Bit,
  default_histogram_observer: defaultHistogramObserver,
  default_observer: defaultObserver,
  default_per_channel_weight_observer: defaultPerChannelWeightObserver,
  default_placeholder_observer: defaultPlaceholderObserver,
  default_reuse_input_observer: defaultReuseInputObserver,
  default_symmetric_fixed_qparams_observer: defaultSymmetricFixedQParamsObserver,
  default_weight_observer: defaultWeightObserver,
  per_channel_weight_observer_range_neg_127_to_127: perChannelWeightObserverRangeNeg127To127,
  weight_observer_range_neg_127_to_127: weightObserverRangeNeg127To127,
});
