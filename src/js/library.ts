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
export {
  type BlockType,
  dequantizeBlocks,
  type QuantizeBlocksOptions,
  quantizeBlocks,
} from "./quantize/blocks.js";
export { dequantize } from "./quantize/dequantize.js";
export { fakeQuantize } from "./quantize/fake-quantize.js";
export type {
  FloatCodesDType,
  FloatCodesOptions,
  FloatQuantizedTensor,
} from "./quantize/float-codes.js";
export { type ErrorOptions, type Metric, quantizationError } from "./quantize/metrics.js";
export type {
  AnyQuantizeOptions,
  BlockShape,
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
