// PyTorch's functions, and the course's.
#include "bindings/marshal.h"
#include "bindings/register.h"
#include "zeropoint/zeropoint.h"

namespace zeropoint::bindings {
namespace {

Status linear_q(Offset x, Offset shape, std::size_t rank, Offset scale, Offset scale_shape,
                std::size_t scale_rank, Offset zero_point, Offset zero_point_shape,
                std::size_t zero_point_rank, DType dtype, Offset out, std::size_t out_size) {
  return zeropoint::linear_q(
      tensor_at<const float>(x, shape_at(shape, rank)),
      tensor_at<const float>(scale, shape_at(scale_shape, scale_rank)),
      tensor_at<const float>(zero_point, shape_at(zero_point_shape, zero_point_rank)), dtype,
      codes_at(out, out_size, dtype));
}

Status linear_dequantization(Offset codes, Offset shape, std::size_t rank, Offset scale,
                             Offset scale_shape, std::size_t scale_rank, Offset zero_point,
                             Offset zero_point_shape, std::size_t zero_point_rank, DType dtype,
                             Offset out, std::size_t out_size) {
  return zeropoint::linear_dequantization(
      codes_at<const void>(codes, count_of(shape_at(shape, rank)), dtype), shape_at(shape, rank),
      tensor_at<const float>(scale, shape_at(scale_shape, scale_rank)),
      tensor_at<const float>(zero_point, shape_at(zero_point_shape, zero_point_rank)),
      span_at<float>(out, out_size));
}

float sum(Offset x, std::size_t n) { return zeropoint::sum(span_at<const float>(x, n)); }

float mean(Offset x, std::size_t n) { return zeropoint::mean(span_at<const float>(x, n)); }

void min_max(Offset x, std::size_t n, Offset out) {
  span_at<Range>(out, 1)[0] = zeropoint::min_max(span_at<const float>(x, n));
}

Status quantize_per_tensor(Offset x, std::size_t n, double scale, std::int32_t zero_point,
                           DType dtype, Overflow overflow, Offset out) {
  return zeropoint::quantize_per_tensor(span_at<const float>(x, n), scale, zero_point, dtype,
                                        overflow, codes_at(out, n, dtype));
}

Status quantize_per_channel(Offset x, Offset shape, std::size_t rank, Offset scales,
                            Offset zero_points, std::size_t channels, std::int32_t axis,
                            DType dtype, Overflow overflow, Offset out) {
  const auto values = tensor_at<const float>(x, shape_at(shape, rank));
  return zeropoint::quantize_per_channel(values, span_at<const double>(scales, channels),
                                         span_at<const std::int32_t>(zero_points, channels), axis,
                                         dtype, overflow,
                                         codes_at(out, values.values.size(), dtype));
}

Status quantize_per_channel_float_qparams(Offset x, Offset shape, std::size_t rank, Offset scales,
                                          Offset zero_points, std::size_t channels,
                                          std::int32_t axis, DType dtype, Overflow overflow,
                                          Offset out) {
  const auto values = tensor_at<const float>(x, shape_at(shape, rank));
  return zeropoint::quantize_per_channel_float_qparams(
      values, span_at<const float>(scales, channels), span_at<const float>(zero_points, channels),
      axis, dtype, overflow, codes_at(out, values.values.size(), dtype));
}

Status dequantize_per_tensor(Offset codes, std::size_t n, double scale, std::int32_t zero_point,
                             DType dtype, Offset out) {
  return zeropoint::dequantize_per_tensor(codes_at<const void>(codes, n, dtype), scale, zero_point,
                                          span_at<float>(out, n));
}

Status dequantize_per_channel(Offset codes, Offset shape, std::size_t rank, Offset scales,
                              Offset zero_points, std::size_t channels, std::int32_t axis,
                              DType dtype, Offset out) {
  const auto values = codes_at<const void>(codes, count_of(shape_at(shape, rank)), dtype);
  return zeropoint::dequantize_per_channel(
      values, shape_at(shape, rank), span_at<const double>(scales, channels),
      span_at<const std::int32_t>(zero_points, channels), axis, span_at<float>(out, values.size));
}

Status dequantize_per_channel_float_qparams(Offset codes, Offset shape, std::size_t rank,
                                            Offset scales, Offset zero_points, std::size_t channels,
                                            std::int32_t axis, DType dtype, Offset out) {
  const auto values = codes_at<const void>(codes, count_of(shape_at(shape, rank)), dtype);
  return zeropoint::dequantize_per_channel_float_qparams(
      values, shape_at(shape, rank), span_at<const float>(scales, channels),
      span_at<const float>(zero_points, channels), axis, span_at<float>(out, values.size));
}

Status fake_quantize_per_tensor(Offset x, std::size_t n, double scale, std::int32_t zero_point,
                                std::int32_t quant_min, std::int32_t quant_max, Overflow overflow,
                                Offset out) {
  return zeropoint::fake_quantize_per_tensor(span_at<const float>(x, n), scale, zero_point,
                                             {quant_min, quant_max}, overflow,
                                             span_at<float>(out, n));
}

Status fake_quantize_per_channel(Offset x, Offset shape, std::size_t rank, Offset scales,
                                 Offset zero_points, std::size_t channels, std::int32_t axis,
                                 std::int32_t quant_min, std::int32_t quant_max, Overflow overflow,
                                 Offset out) {
  const auto values = tensor_at<const float>(x, shape_at(shape, rank));
  return zeropoint::fake_quantize_per_channel(values, span_at<const float>(scales, channels),
                                              span_at<const std::int32_t>(zero_points, channels),
                                              axis, {quant_min, quant_max}, overflow,
                                              span_at<float>(out, values.values.size()));
}

Status fake_quantize_per_channel_float_qparams(Offset x, Offset shape, std::size_t rank,
                                               Offset scales, Offset zero_points,
                                               std::size_t channels, std::int32_t axis,
                                               std::int32_t quant_min, std::int32_t quant_max,
                                               Overflow overflow, Offset out) {
  const auto values = tensor_at<const float>(x, shape_at(shape, rank));
  return zeropoint::fake_quantize_per_channel_float_qparams(
      values, span_at<const float>(scales, channels), span_at<const float>(zero_points, channels),
      axis, {quant_min, quant_max}, overflow, span_at<float>(out, values.values.size()));
}

}  // namespace

EMSCRIPTEN_BINDINGS(torch) {
  function("linearQ" PARAMETERS(x, shape, rank, scale, scaleShape, scaleRank, zeroPoint,
                                zeroPointShape, zeroPointRank, dtype, out, outSize),
           &linear_q);
  function(
      "linearDequantization" PARAMETERS(codes, shape, rank, scale, scaleShape, scaleRank, zeroPoint,
                                        zeroPointShape, zeroPointRank, dtype, out, outSize),
      &linear_dequantization);
  function("sum" PARAMETERS(x, n), &sum);
  function("mean" PARAMETERS(x, n), &mean);
  function("minMax" PARAMETERS(x, n, out), &min_max);

  function("quantizePerTensor" PARAMETERS(x, n, scale, zeroPoint, dtype, overflow, out),
           &quantize_per_tensor);
  function("quantizePerChannel" PARAMETERS(x, shape, rank, scales, zeroPoints, channels, axis,
                                           dtype, overflow, out),
           &quantize_per_channel);
  function("quantizePerChannelFloatQParams" PARAMETERS(x, shape, rank, scales, zeroPoints, channels,
                                                       axis, dtype, overflow, out),
           &quantize_per_channel_float_qparams);
  function("dequantizePerTensor" PARAMETERS(codes, n, scale, zeroPoint, dtype, out),
           &dequantize_per_tensor);
  function("dequantizePerChannel" PARAMETERS(codes, shape, rank, scales, zeroPoints, channels, axis,
                                             dtype, out),
           &dequantize_per_channel);
  function("dequantizePerChannelFloatQParams" PARAMETERS(codes, shape, rank, scales, zeroPoints,
                                                         channels, axis, dtype, out),
           &dequantize_per_channel_float_qparams);
  function(
      "fakeQuantizePerTensor" PARAMETERS(x, n, scale, zeroPoint, quantMin, quantMax, overflow, out),
      &fake_quantize_per_tensor);
  function("fakeQuantizePerChannel" PARAMETERS(x, shape, rank, scales, zeroPoints, channels, axis,
                                               quantMin, quantMax, overflow, out),
           &fake_quantize_per_channel);
  function(
      "fakeQuantizePerChannelFloatQParams" PARAMETERS(x, shape, rank, scales, zeroPoints, channels,
                                                      axis, quantMin, quantMax, overflow, out),
      &fake_quantize_per_channel_float_qparams);
}

}  // namespace zeropoint::bindings
