// zeropoint/notebook: the notebooks' own functions, and the torch and Python they use.

export type { InitOptions, InitResult } from "../core/init.js";
export { init } from "../core/start.js";
export { type ErrorType, quantization_error } from "./course/error.js";
export { quantized_linear_W8A32_without_bias } from "./course/linear.js";
export { linear_dequantization, linear_q_with_scale_and_zero_point } from "./course/linear-q.js";
export {
  type PlotPanel,
  plot_quantization_errors,
  type QuantizationErrorsPlot,
} from "./course/plot.js";
export {
  get_q_scale_and_zero_point,
  get_q_scale_and_zero_point004,
  get_q_scale_symmetric,
  get_q_scale_symmetric004,
} from "./course/qparams.js";
export {
  linear_dequantization_per_group,
  linear_dequantization_per_group004,
  linear_dequantization004,
  linear_q_symmetric,
  linear_q_symmetric_per_channel,
  linear_q_symmetric_per_channel004,
  linear_q_symmetric_per_group,
  linear_q_symmetric_per_group004,
  linear_q_symmetric004,
  linear_q_with_scale_and_zero_point004,
  linear_quantization,
  linear_quantization004,
  quantized_linear_W8A32_without_bias004,
} from "./course/quantize.js";
export type { Keywords, OtherKeyword } from "./operations/methods/calls.js";
export {
  consolePrint as print,
  display,
  float,
  int,
  isTuple,
  printed,
  repr,
  round,
  type Size,
  str,
  type Tuple,
  tuple,
} from "./python/builtins.js";
export type { PythonError, PythonExceptionName } from "./python/errors.js";
export type { Scalar } from "./tensor/cast.js";
export type { DType, DTypeName, FInfo, IInfo, Storage } from "./tensor/dtype.js";
export type {
  AddKeywords,
  ClampKeywords,
  CloseKeywords,
  DivideKeywords,
  ReduceKeywords,
  RoundKeywords,
  SumKeywords,
} from "./tensor/keywords.js";
export type {
  Index,
  NestedScalars,
  Tensor,
  TensorOrScalar,
  ValuesAndIndices,
} from "./tensor/tensor.js";
export type { CreationKeywords, TensorData } from "./torch/creation.js";
export type { LossKeywords } from "./torch/functional.js";
export type { JoinKeywords } from "./torch/joins.js";
export {
  HistogramObserver,
  MinMaxObserver,
  MovingAverageMinMaxObserver,
  MovingAveragePerChannelMinMaxObserver,
  NoopObserver,
  type Observer,
  type ObserverClass,
  type ObserverKeywords,
  type ObserverSource,
  type PartialObserver,
  PerChannelMinMaxObserver,
  PlaceholderObserver,
  QConfig,
  RecordingObserver,
} from "./torch/observers.js";
export type { QDType, QScheme, QuantizedTensor } from "./torch/quantized.js";
export { type FlattenKeywords, torch } from "./torch/torch.js";
