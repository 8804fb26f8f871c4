// Layers: float weights, packed weights, W8A8.
#include "bindings/marshal.h"
#include "bindings/register.h"
#include "core/dot_choice.h"
#include "kernels/relaxed.h"
#include "zeropoint/zeropoint.h"

namespace zeropoint::bindings {
namespace {

std::span<const float> bias_at(Offset bias, std::size_t n) {
  return span_at<const float>(bias, bias == 0 ? 0 : n);
}

const std::byte* block_at(Offset block) { return reinterpret_cast<const std::byte*>(block); }

std::span<std::byte> scratch_at(Offset scratch, Offset weight, std::size_t m) {
  return span_at<std::byte>(scratch, zeropoint::linear_scratch_size(block_at(weight), m));
}

Status linear(Offset x, std::size_t m, std::size_t k, Offset w, std::size_t n, Offset bias,
              Accumulate accumulate, Offset out, std::size_t stride) {
  const std::size_t size = m == 0 ? 0 : (m - 1) * stride + n;
  return zeropoint::linear(span_at<const float>(x, m * k), m, k, span_at<const float>(w, n * k), n,
                           bias_at(bias, n), accumulate, span_at<float>(out, size), stride);
}

std::size_t packed_weight_size(DType dtype, std::size_t n, std::size_t k,
                               WeightGranularity granularity, std::size_t group_size) {
  return zeropoint::packed_weight_size({n, k, dtype, granularity, group_size});
}

Status begin_weight(DType dtype, std::size_t n, std::size_t k, WeightGranularity granularity,
                    std::size_t group_size, WeightShift shift, Offset out) {
  const std::size_t size = packed_weight_size(dtype, n, k, granularity, group_size);
  return zeropoint::begin_weight({n, k, dtype, granularity, group_size}, shift,
                                 span_at<std::byte>(out, size));
}

// Zero points or offsets: JavaScript passes either at the same address.
std::span<const std::int32_t> zeros_at(WeightShift shift, Offset place, std::size_t n) {
  return span_at<const std::int32_t>(place, shift == WeightShift::kOffsets ? 0 : n);
}
std::span<const float> offsets_at(WeightShift shift, Offset place, std::size_t n) {
  return span_at<const float>(place, shift == WeightShift::kOffsets ? n : 0);
}

Status pack_rows(Offset codes, DType dtype, std::size_t first, std::size_t rows,
                 WeightGranularity granularity, std::size_t group_size, Offset scales,
                 Offset zero_points, std::size_t scale_count, WeightShift shift, Offset weight) {
  auto* const block = reinterpret_cast<std::byte*>(weight);
  const std::size_t k = packed_weight_shape(block).k;
  const auto run = [&](auto code) {
    const QuantizedWeight<decltype(code)> w{span_at<const decltype(code)>(codes, rows * k),
                                            dtype,
                                            granularity,
                                            group_size,
                                            span_at<const float>(scales, scale_count),
                                            zeros_at(shift, zero_points, scale_count),
                                            offsets_at(shift, zero_points, scale_count)};
    return zeropoint::pack_rows(w, first, rows, block);
  };
  return dtype_info(dtype).is_signed() ? run(std::int8_t{}) : run(std::uint8_t{});
}

Status grow_weight(Offset weight, std::size_t capacity, Offset out, std::size_t size) {
  return zeropoint::grow_weight(block_at(weight), capacity, span_at<std::byte>(out, size));
}

void keep_rows(Offset weight, std::size_t rows) {
  zeropoint::keep_rows(reinterpret_cast<std::byte*>(weight), rows);
}

Status unpack_rows(Offset weight, std::size_t first, std::size_t rows, Offset codes) {
  const std::size_t size = rows * packed_weight_shape(block_at(weight)).k;
  return zeropoint::unpack_rows(block_at(weight), first, span_at<std::uint8_t>(codes, size));
}

std::size_t linear_scratch_size(Offset weight, std::size_t m) {
  return zeropoint::linear_scratch_size(block_at(weight), m);
}

Status linear_packed(Offset x, std::size_t m, Offset weight, Offset bias, Accumulate accumulate,
                     Offset scratch, Offset out) {
  const auto [n, k] = packed_weight_shape(block_at(weight));
  return zeropoint::linear(span_at<const float>(x, m * k), m, block_at(weight), bias_at(bias, n),
                           accumulate, scratch_at(scratch, weight, m), span_at<float>(out, m * n));
}

Status choose_quantization_params(float min, float max, std::int32_t qmin, std::int32_t qmax,
                                  bool reduce_range, Offset scale, Offset zero_point) {
  QParams qparams{};
  const Status status =
      zeropoint::choose_quantization_params({min, max}, qmin, qmax, reduce_range, qparams);
  span_at<double>(scale, 1)[0] = qparams.scale;
  span_at<std::int32_t>(zero_point, 1)[0] = qparams.zero_point;
  return status;
}

Status linear_dynamic(Offset qx, std::size_t m, double scale, std::int32_t zero_point,
                      Offset weight, Offset bias, Offset scratch, Offset out) {
  const auto [n, k] = packed_weight_shape(block_at(weight));
  return zeropoint::linear_dynamic(span_at<const std::uint8_t>(qx, m * k), m, {scale, zero_point},
                                   block_at(weight), bias_at(bias, n),
                                   scratch_at(scratch, weight, m), span_at<float>(out, m * n));
}

Status linear_static(Offset qx, std::size_t m, double scale, std::int32_t zero_point, Offset weight,
                     Offset bias, double out_scale, std::int32_t out_zero_point, bool relu,
                     Offset scratch, Offset out) {
  const auto [n, k] = packed_weight_shape(block_at(weight));
  return zeropoint::linear_static(span_at<const std::uint8_t>(qx, m * k), m, {scale, zero_point},
                                  block_at(weight), bias_at(bias, n), {out_scale, out_zero_point},
                                  scratch_at(scratch, weight, m), span_at<std::uint8_t>(out, m * n),
                                  relu);
}

Status quantize_bias(Offset bias, std::size_t n, double scale_x, Offset scales,
                     std::size_t scale_count, Offset out) {
  return zeropoint::quantize_bias(span_at<const float>(bias, n), scale_x,
                                  span_at<const float>(scales, scale_count),
                                  span_at<float>(out, n));
}

#if ZEROPOINT_RELAXED

std::int32_t run_dots(bool relaxed, std::size_t rounds) {
  return relaxed ? kernels::run_relaxed_dots(rounds) : kernels::run_wide_dots(rounds);
}

#endif

}  // namespace

EMSCRIPTEN_BINDINGS(linear) {
  function("linear" PARAMETERS(x, m, k, w, n, bias, accumulate, out, stride), &linear);
  function("packedWeightSize" PARAMETERS(dtype, n, k, granularity, groupSize), &packed_weight_size);
  function("beginWeight" PARAMETERS(dtype, n, k, granularity, groupSize, shift, out),
           &begin_weight);
  function("packRows" PARAMETERS(codes, dtype, first, rows, granularity, groupSize, scales,
                                 zeroPoints, scaleCount, shift, weight),
           &pack_rows);
  function("growWeight" PARAMETERS(weight, capacity, out, size), &grow_weight);
  function("keepRows" PARAMETERS(weight, rows), &keep_rows);
  function("unpackRows" PARAMETERS(weight, first, rows, codes), &unpack_rows);
  function("linearScratchSize" PARAMETERS(weight, m), &linear_scratch_size);
  function("linearPacked" PARAMETERS(x, m, weight, bias, accumulate, scratch, out), &linear_packed);

  function(
      "chooseQuantizationParams" PARAMETERS(min, max, qmin, qmax, reduceRange, scale, zeroPoint),
      &choose_quantization_params);
  function("linearDynamic" PARAMETERS(qx, m, scale, zeroPoint, weight, bias, scratch, out),
           &linear_dynamic);
  function("linearStatic" PARAMETERS(qx, m, scale, zeroPoint, weight, bias, outScale, outZeroPoint,
                                     relu, scratch, out),
           &linear_static);
  function("quantizeBias" PARAMETERS(bias, n, scaleX, scales, scaleCount, out), &quantize_bias);

#if ZEROPOINT_RELAXED
  function("runDots" PARAMETERS(relaxed, rounds), &run_dots);
  function("setLayerKernels" PARAMETERS(kernels), &set_layer_kernels);
#endif
}

}  // namespace zeropoint::bindings
