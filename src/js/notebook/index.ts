// zeropoint/notebook: the notebooks' own functions, and the torch and Python they use.

export type { InitOptions, InitResult } from "../init.js";
export { init } from "../start.js";
export type { PythonError, PythonExceptionName } from "./errors.js";
export {
  type ErrorType,
  get_q_scale_and_zero_point,
  get_q_scale_and_zero_point004,
  get_q_scale_symmetric,
  get_q_scale_symmetric004,
  linear_dequantization,
  linear_dequantization_per_group,
  linear_dequantization_per_group004,
  linear_dequantization004,
  linear_q_symmetric,
  linear_q_symmetric_per_channel,
  linear_q_symmetric_per_channel004,
  linear_q_symmetric_per_group,
  linear_q_symmetric_per_group004,
  linear_q_symmetric004,
  linear_q_with_scale_and_zero_point,
  linear_q_with_scale_and_zero_point004,
  linear_quantization,
  linear_quantization004,
  quantization_error,
  quantized_linear_W8A32_without_bias,
  quantized_linear_W8A32_without_bias004,
} from "./functions.js";
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
} from "./observers.js";
export {
  type PlotPanel,
  plot_quantization_errors,
  type QuantizationErrorsPlot,
} from "./plot.js";
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
} from "./python.js";
export type { QDType, QScheme, QuantizedTensor } from "./quantized.js";
export type {
  NestedScalars,
  Tensor,
  TensorOrScalar,
  ValuesAndIndices,
} from "./tensor.js";
export { type TensorData, torch } from "./torch.js";
