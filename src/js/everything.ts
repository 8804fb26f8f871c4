// The public exports of zeropoint and zeropoint/slim but for init and create, nothing else. Instances
// have all of them.

export type { NumberArray } from "./arrays.js";
export type { AbortSignalLike, AsyncOptions, Progress } from "./async/background.js";
export {
  chooseQParamsAsync,
  dequantizeAsync,
  fakeQuantizeAsync,
  type LinearAsyncOptions,
  linearAsync,
  quantizationErrorAsync,
  quantizeAsync,
} from "./async/functions.js";
export { packAsync, unpackAsync } from "./async/pack.js";
export {
  fakeQuantizePerChannelAsync,
  fakeQuantizePerTensorAsync,
  quantizePerChannelAsync,
  quantizePerTensorAsync,
  quantizePerTensorDynamicAsync,
  type TorchFakeQuantizeAsyncOptions,
  type TorchQuantizeAsyncOptions,
} from "./async/torch.js";
export type { WasmOption, WasmSource } from "./binary.js";
export type { TensorInput } from "./check.js";
export type { Build } from "./core.js";
export type { Zeropoint } from "./create.js";
export { dequantize, fakeQuantize, type OutOption } from "./dequantize.js";
export type { Codes, CodesByDType, CodesByQDType, DType, QDType } from "./dtype.js";
export { type Metric, quantizationError } from "./error.js";
export type { ErrorCode, ZeropointError } from "./errors.js";
export type { ObserverFactory } from "./factory.js";
export type { Granularity } from "./granularity.js";
export { HistogramObserver, type HistogramObserverOptions } from "./histogram.js";
export type { InitOptions, InitResult } from "./init.js";
export { type Accumulate, type LinearOptions, linear } from "./linear.js";
export {
  MinMaxObserver,
  MovingAverageMinMaxObserver,
  type MovingAverageObserverOptions,
  MovingAveragePerChannelMinMaxObserver,
  type MovingAveragePerChannelObserverOptions,
  PerChannelMinMaxObserver,
  type PerChannelObserverOptions,
} from "./min-max.js";
export {
  type ConvertOptions,
  convert,
  convertAsync,
  type QuantizedModel,
  quantizeDynamic,
  quantizeDynamicAsync,
} from "./model/convert.js";
export {
  Embedding,
  type Layer,
  LayerNorm,
  type LayerNormOptions,
  Linear,
  type LinearLayerOptions,
  ReLU,
  Sigmoid,
  Softmax,
  type SoftmaxOptions,
  Tanh,
} from "./model/layer.js";
export {
  type LayerObservers,
  type ModelQConfig,
  type PreparedModel,
  type PrepareOptions,
  prepare,
} from "./model/prepare.js";
export type { LayerMethod } from "./model/quantized.js";
export type { LayerReport, ModelReport } from "./model/report.js";
export { type LayerLike, type NamedLayer, Sequential } from "./model/sequential.js";
export type { ObservedQParams, Observer, ObserverJSON } from "./observer.js";
export type { ObserverDType, QScheme } from "./observer-options.js";
export { pack, type QuantizedTensorMeta, unpack } from "./pack.js";
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
} from "./passive.js";
export * from "./qconfig.js";
export {
  type LayerQConfig,
  type LayerType,
  QConfigMapping,
  type WeightOnlyOptions,
  WeightOnlyQConfig,
} from "./qconfig-mapping.js";
export {
  type AnyQuantizeOptions,
  type ChooseQParamsOptions,
  chooseQParams,
  type GranularityOf,
  type QParamInput,
  type QParams,
  type QParamsFields,
  type QuantizedTensor,
  type QuantizedTensorInput,
  type QuantizeOptions,
  type ScaleTensor,
  type Scheme,
  type ZeroPointTensor,
} from "./qparams.js";
export type {
  ChannelScales,
  ChannelZeroPoints,
  IntegerTensor,
  TensorQScheme,
  TorchQuantizedTensor,
  TorchQuantizedTensorInput,
} from "./qtensor.js";
export { quantize } from "./quantize.js";
export {
  QuantizedLinear,
  type QuantizedLinearOptions,
  quantizedLinearAsync,
} from "./quantized-linear.js";
export { type NestedNumbers, type Tensor, tensor } from "./tensor.js";
export type { ValueRange } from "./tiles.js";
export {
  type CompatOption,
  fakeQuantizePerChannel,
  fakeQuantizePerTensor,
  intRepr,
  quantizePerChannel,
  quantizePerTensor,
  quantizePerTensorDynamic,
  type TorchFakeQuantizeOptions,
  type TorchQuantizeOptions,
  type TorchScale,
  type TorchScales,
  type TorchZeroPoint,
  type TorchZeroPoints,
} from "./torch.js";
export type { UniformObserverOptions } from "./uniform.js";
