// zeropoint/torch: PyTorch's layers, observers, QConfigs and quantizers. The public exports, nothing else.

export { type ConvertOptions, convert, quantizeDynamic } from "./nn/convert.js";
export type { LayerMethod } from "./nn/converted/layer.js";
export { ReLU, Sigmoid, Tanh } from "./nn/layers/activations.js";
export { Embedding } from "./nn/layers/embedding.js";
export { LayerNorm, type LayerNormOptions } from "./nn/layers/layer-norm.js";
export { Linear, type LinearLayerOptions } from "./nn/layers/linear.js";
export { Softmax, type SoftmaxOptions } from "./nn/layers/softmax.js";
export { type ModelQConfig, type PrepareOptions, prepare } from "./nn/prepare.js";
export type { LayerObservers, PreparedModel } from "./nn/prepared-model.js";
export type { QuantizedLayer, QuantizedModel } from "./nn/quantized-model.js";
export type { LayerReport, ModelReport } from "./nn/report.js";
export { type LayerLike, type NamedLayer, Sequential } from "./nn/sequential.js";
export { HistogramObserver, type HistogramObserverOptions } from "./observers/histogram.js";
export {
  MinMaxObserver,
  MovingAverageMinMaxObserver,
  type MovingAverageObserverOptions,
  MovingAveragePerChannelMinMaxObserver,
  type MovingAveragePerChannelObserverOptions,
  PerChannelMinMaxObserver,
  type PerChannelObserverOptions,
} from "./observers/min-max.js";
export type { ObservedQParams, Observer, ObserverJSON } from "./observers/observer.js";
export type { ObserverDType, QScheme } from "./observers/options.js";
export {
  FixedQParamsObserver,
  type FixedQParamsObserverOptions,
  NoopObserver,
  type NoopObserverOptions,
  type PlaceholderDType,
  PlaceholderObserver,
  type PlaceholderObserverOptions,
  RecordingObserver,
  type RecordingObserverOptions,
  ReuseInputObserver,
} from "./observers/placeholders.js";
export {
  getDefaultQATQConfig,
  getDefaultQConfig,
  predefinedObservers,
  predefinedQConfigs,
  type QConfigBackend,
} from "./observers/predefined.js";
export * from "./observers/qconfig.js";
export {
  type LayerQConfig,
  type LayerType,
  QConfigMapping,
  type WeightOnlyOptions,
  WeightOnlyQConfig,
} from "./observers/qconfig-mapping.js";
export type { RangeObserverOptions } from "./observers/range-observer.js";
export type { ObserverFactory } from "./observers/with-args.js";
export {
  type DequantizeAffineOptions,
  dequantizeAffine,
  fakeQuantizeAffine,
  type QuantizeAffineOptions,
  quantizeAffine,
} from "./torch/ao/affine.js";
export type {
  AffineDType,
  AffineQuantized,
  BlockTensor,
  ZeroPointDomain,
  ZeroPointDType,
} from "./torch/ao/arguments.js";
export { perAxis, perBlock, perGroup, perRow, perTensor } from "./torch/ao/blocks.js";
export { type ChooseAffineOptions, chooseQParamsAffine, type Mapping } from "./torch/ao/choose.js";
export {
  type ChooseFloat8Options,
  chooseScaleFloat8,
  dequantizeFloat8,
  type Float8Quantized,
  type QuantizeFloat8Options,
  quantizeFloat8,
} from "./torch/ao/float8.js";
export type { Float8DType, FloatDType } from "./torch/ao/floats.js";
export { type QuantizeHqqOptions, quantizeHqq } from "./torch/ao/hqq.js";
export {
  float8Row,
  int4Tinygemm,
  int8DynamicActivation,
  int8Weight,
  intx,
} from "./torch/ao/presets.js";
export { fakeQuantizePerChannel, fakeQuantizePerTensor } from "./torch/fake-quantize.js";
export type { IntegerTensor } from "./torch/integer-tensor.js";
export type {
  CompatOption,
  TorchFakeQuantizeOptions,
  TorchQuantizeOptions,
  TorchScale,
  TorchScales,
  TorchZeroPoint,
  TorchZeroPoints,
} from "./torch/options.js";
export { intRepr, quantizePerChannel, quantizePerTensor } from "./torch/quantize.js";
export { quantizePerTensorDynamic } from "./torch/quantize-dynamic.js";
export type {
  ChannelScales,
  ChannelZeroPoints,
  TensorQScheme,
  TorchQuantizedTensor,
  TorchQuantizedTensorInput,
} from "./torch/tensor.js";
