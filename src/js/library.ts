// The public exports of zeropoint and zeropoint/slim, except init and create. Instances
// have all of them.

export type { Codes, CodesByDType, CodesByQDType, DType, QDType } from "./base/dtype.js";
export type { ErrorCode, ZeropointError } from "./base/errors.js";
export type { NumberArray } from "./base/typed-arrays.js";
export type { Build } from "./core/builds.js";
export type { InitOptions, InitResult } from "./core/init.js";
export type { Kernels } from "./core/kernels.js";
export type { WasmOption, WasmSource } from "./core/load.js";
export type { Layer } from "./linear/layer.js";
export type {
  DynamicLinearOptions,
  FloatLinearOptions,
  QuantizedLinearOptions,
} from "./linear/layer-options.js";
export { type LinearOptions, linear } from "./linear/linear.js";
export type { Accumulate } from "./linear/multiply.js";
export { type AppendOptions, QuantizedLinear } from "./linear/quantized-linear.js";
export { type UnpackedLinear, unpackLinear } from "./linear/unpack-linear.js";
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
export * from "./observers/predefined.js";
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
  type BlockType,
  dequantizeBlocks,
  type QuantizeBlocksOptions,
  quantizeBlocks,
} from "./quantize/blocks.js";
export { dequantize } from "./quantize/dequantize.js";
export { fakeQuantize } from "./quantize/fake-quantize.js";
export { type ErrorOptions, type Metric, quantizationError } from "./quantize/metrics.js";
export type {
  AnyQuantizeOptions,
  ChooseQParamsOptions,
  GranularityOf,
  QuantizeOptions,
} from "./quantize/options.js";
export { pack, unpack } from "./quantize/pack.js";
export { chooseQParams } from "./quantize/qparams.js";
export { quantize } from "./quantize/quantize.js";
export type {
  AnyQParams,
  AnyQuantizedTensor,
  OffsetQParams,
  OffsetQuantizedTensor,
  OffsetTensor,
  QParamInput,
  QParams,
  QParamsFields,
  QParamsOf,
  QuantizedTensor,
  QuantizedTensorInput,
  QuantizedTensorMeta,
  QuantizedTensorOf,
  ScaleTensor,
  Scheme,
  ZeroPointTensor,
} from "./quantize/quantized-tensor.js";
export type { RangeChoice } from "./quantize/range-search.js";
export type { ElementDType, TensorData, TensorInput } from "./tensor/check.js";
export type { Granularity } from "./tensor/granularity.js";
export type { ValueRange } from "./tensor/range.js";
export type { OutOption } from "./tensor/tensor.js";
export { type NestedNumbers, type Tensor, tensor } from "./tensor/tensor.js";
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
