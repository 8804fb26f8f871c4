// One wrapper and one registration per core function: offsets in, Status out. No checks, defaults
// or arithmetic. Parameter names in the registrations serve the generated types only.
#include <emscripten/bind.h>
#include <unistd.h>

#include "bindings/heap.h"
#include "bindings/marshal.h"
#include "core/dot_choice.h"
#include "core/parallel.h"
#include "zeropoint/zeropoint.h"

#if defined(__wasm_atomics__)
#include <emscripten/emscripten.h>

#include <atomic>

// Implemented in JavaScript: called when a silent worker is given up.
extern "C" void zeropoint_worker_lost();

// Entry point of a worker's thread, on a separate stack. JavaScript calls it by name.
extern "C" EMSCRIPTEN_KEEPALIVE void zeropoint_serve(std::size_t worker) {
  zeropoint::detail::serve(worker);
}
#endif

#if defined(ZEROPOINT_TYPES)
#define PARAMETERS(...) "(" #__VA_ARGS__ ")"
#else
#define PARAMETERS(...)
#endif

namespace zeropoint::bindings {
namespace {

// Heap memory behind the program's own data; JavaScript can grow it.
Heap heap([](std::size_t bytes) -> void* {
  void* const more = sbrk(static_cast<std::intptr_t>(bytes));
  return reinterpret_cast<std::intptr_t>(more) == -1 ? nullptr : more;
});

Offset allocate(std::size_t bytes) { return reinterpret_cast<Offset>(heap.allocate(bytes)); }

void release(Offset offset) { heap.release(reinterpret_cast<void*>(offset)); }

Status to_float32(Offset halves, std::size_t n, HalfType type, Offset out) {
  return zeropoint::to_float32(span_at<const std::uint16_t>(halves, n), type,
                               span_at<float>(out, n));
}

Status choose_qparams(Offset x, std::size_t outer, std::size_t slices, std::size_t inner,
                      std::size_t row, DType dtype, Scheme scheme, bool include_zero,
                      NonFinite non_finite, Offset ranges, Offset scales, Offset float_scales,
                      Offset zero_points) {
  const auto doubles = span_at<double>(scales, slices);
  const Granularity granularity{outer, slices, inner, row};
  if (scheme == Scheme::kOffset) {
    const Status status = zeropoint::choose_offsets(
        span_at<const float>(x, value_count(granularity)), granularity, non_finite, dtype,
        span_at<Range>(ranges, slices), doubles, span_at<float>(zero_points, slices));
    if (status != Status::kOk) return status;
    const auto floats = span_at<float>(float_scales, slices);
    for (std::size_t i = 0; i < slices; ++i) floats[i] = static_cast<float>(doubles[i]);
    return status;
  }
  const Status status = zeropoint::choose_qparams(
      span_at<const float>(x, value_count(granularity)), granularity, non_finite,
      {dtype, scheme, include_zero}, span_at<Range>(ranges, slices), doubles,
      span_at<std::int32_t>(zero_points, slices));
  if (status != Status::kOk) return status;
  // Scales as float32, the type used by quantization.
  const auto floats = span_at<float>(float_scales, slices);
  for (std::size_t i = 0; i < slices; ++i) floats[i] = static_cast<float>(doubles[i]);
  return status;
}

std::size_t search_state_bytes() { return sizeof(SearchState); }

// Whole slices, or a piece of one.
Status search_ranges(Offset x, std::size_t outer, std::size_t slices, std::size_t inner,
                     DType dtype, Scheme scheme, bool include_zero, double percentile,
                     bool is_first, bool is_last, Offset state, Offset ranges) {
  const auto values = span_at<const float>(x, outer * slices * inner);
  const RangeSearch search{{dtype, scheme, include_zero}, percentile};
  const auto all = span_at<Range>(ranges, slices);
  return is_first && is_last
             ? zeropoint::search_ranges(values, {outer, slices, inner}, search, all)
             : zeropoint::search_range_piece(values, search, is_first, is_last,
                                             span_at<SearchState>(state, 1)[0], all[0]);
}

std::size_t half_quadratic_state_bytes() { return sizeof(HalfQuadraticState); }
std::size_t half_quadratic_passes() { return zeropoint::half_quadratic_passes(); }

// Whole slices, or a piece of one. @param chosen  ChosenQParams[slices], scratch. @param shifts
// zero points, or offsets of the scheme kOffset
Status half_quadratic(Offset x, std::size_t outer, std::size_t slices, std::size_t inner,
                      DType dtype, Scheme scheme, bool include_zero, bool is_first, bool is_last,
                      Offset state, Offset ranges, Offset scales, Offset shifts) {
  const auto values = span_at<const float>(x, outer * slices * inner);
  const QParamsOptions options{dtype, scheme, include_zero};
  const auto all = span_at<const Range>(ranges, slices);
  const auto write = [&](std::size_t i, const ChosenQParams& chosen) {
    span_at<double>(scales, slices)[i] = chosen.scale;
    if (scheme == Scheme::kOffset) {
      span_at<float>(shifts, slices)[i] = chosen.offset;
    } else {
      span_at<std::int32_t>(shifts, slices)[i] = chosen.zero_point;
    }
  };
  ChosenQParams chosen{};
  if (!is_first || !is_last) {
    const Status status =
        zeropoint::half_quadratic_piece(values, all[0], options, is_first, is_last,
                                        span_at<HalfQuadraticState>(state, 1)[0], chosen);
    if (status == Status::kOk) write(0, chosen);
    return status;
  }
  const Granularity granularity{outer, slices, inner};
  const auto out = span_at<ChosenQParams>(state, slices);
  const Status status = zeropoint::half_quadratic(values, granularity, all, options, out);
  if (status != Status::kOk) return status;
  for (std::size_t i = 0; i < slices; ++i) write(i, out[i]);
  return status;
}

// @param has_offsets  whether the zero points are offsets, float32
QParamsView qparams_at(Offset scales, Offset zero_points, Shape shape, std::uint32_t group_size,
                       bool has_offsets) {
  QParamsView view{tensor_at<const float>(scales, shape).values, {}, shape, group_size};
  if (has_offsets) {
    view.offsets = tensor_at<const float>(zero_points, shape).values;
  } else {
    view.zero_points = tensor_at<const std::int32_t>(zero_points, shape).values;
  }
  return view;
}

// Codes of a dtype as a span of their storage type.
template <typename Data = void>
AnyCodes<Data> codes_at(Offset codes, std::size_t n, DType dtype) {
  return {reinterpret_cast<Data*>(codes), n, dtype_info(dtype).storage};
}

Status quantize(Offset x, Offset shape, std::size_t rank, Offset scales, Offset zero_points,
                Offset qparams_shape, std::size_t qparams_rank, std::uint32_t group_size,
                DType dtype, bool has_offsets, Offset out) {
  const auto values = tensor_at<const float>(x, shape_at(shape, rank));
  const auto qparams = qparams_at(scales, zero_points, shape_at(qparams_shape, qparams_rank),
                                  group_size, has_offsets);
  return zeropoint::quantize(values, qparams, dtype, codes_at(out, values.values.size(), dtype));
}

Status dequantize(Offset codes, Offset shape, std::size_t rank, Offset scales, Offset zero_points,
                  Offset qparams_shape, std::size_t qparams_rank, std::uint32_t group_size,
                  DType dtype, bool has_offsets, Offset out) {
  const auto values = codes_at<const void>(codes, count_of(shape_at(shape, rank)), dtype);
  const auto qparams = qparams_at(scales, zero_points, shape_at(qparams_shape, qparams_rank),
                                  group_size, has_offsets);
  return zeropoint::dequantize(values, shape_at(shape, rank), qparams, dtype,
                               span_at<float>(out, values.size));
}

Status fake_quantize(Offset x, Offset shape, std::size_t rank, Offset scales, Offset zero_points,
                     Offset qparams_shape, std::size_t qparams_rank, std::uint32_t group_size,
                     DType dtype, bool has_offsets, Offset out) {
  const auto values = tensor_at<const float>(x, shape_at(shape, rank));
  const auto qparams = qparams_at(scales, zero_points, shape_at(qparams_shape, qparams_rank),
                                  group_size, has_offsets);
  return zeropoint::fake_quantize(values, qparams, dtype,
                                  span_at<float>(out, values.values.size()));
}

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

std::size_t error_state_bytes() { return sizeof(ErrorState); }

Status quantization_error(Offset a, Offset b, std::size_t count, Metric metric, std::size_t begin,
                          std::size_t n, Offset state, Offset out) {
  return zeropoint::quantization_error_piece(
      span_at<const float>(a, count), span_at<const float>(b, count), metric, begin, n,
      span_at<ErrorState>(state, 1)[0], span_at<double>(out, 1)[0]);
}

Status quantization_errors(Offset a, Offset b, std::size_t outer, std::size_t slices,
                           std::size_t inner, std::size_t row, Metric metric, Offset out) {
  const Granularity granularity{outer, slices, inner, row};
  const std::size_t n = value_count(granularity);
  return zeropoint::quantization_errors(span_at<const float>(a, n), span_at<const float>(b, n),
                                        granularity, metric, span_at<double>(out, slices));
}

Status pack(Offset codes, std::size_t n, DType dtype, Offset out) {
  return zeropoint::pack(span_at<const std::uint8_t>(codes, n), dtype,
                         span_at<std::uint8_t>(out, packed_size(n, dtype)));
}

Status unpack(Offset bytes, std::size_t n, DType dtype, Offset out) {
  return zeropoint::unpack(span_at<const std::uint8_t>(bytes, packed_size(n, dtype)), dtype,
                           span_at<std::uint8_t>(out, n));
}

Status quantize_blocks(Offset x, std::size_t n, std::size_t row_length, BlockType type,
                       Offset importance, Offset out) {
  const BlockInfo info = block_info(type);
  return zeropoint::quantize_blocks(
      span_at<const float>(x, n), row_length, type,
      span_at<const float>(importance, importance == 0 ? 0 : row_length),
      span_at<std::uint8_t>(out, n / info.values * info.bytes));
}

Status dequantize_blocks(Offset blocks, std::size_t bytes, BlockType type, Offset out) {
  const BlockInfo info = block_info(type);
  return zeropoint::dequantize_blocks(span_at<const std::uint8_t>(blocks, bytes), type,
                                      span_at<float>(out, bytes / info.bytes * info.values));
}

std::span<const double> weights_at(Offset weights, std::size_t n) {
  return span_at<const double>(weights, weights == 0 ? 0 : n);
}

Status row_errors(Offset w, std::size_t rows, std::size_t row_length, DType dtype, Scheme scheme,
                  std::size_t group_size, std::size_t run_length, bool searches, float min,
                  float max, Offset weights, Offset values, Offset out) {
  const RowScheme own{{dtype, scheme, true}, group_size, run_length, searches, {min, max}};
  const std::size_t n = rows * row_length;
  return zeropoint::row_errors(
      span_at<const float>(w, n), row_length, own, weights_at(weights, row_length),
      span_at<float>(values, values == 0 ? 0 : n), span_at<RowError>(out, rows));
}

Status block_row_errors(Offset w, std::size_t rows, std::size_t row_length, BlockType type,
                        Offset weights, Offset values, Offset out) {
  const std::size_t n = rows * row_length;
  return zeropoint::row_errors(
      span_at<const float>(w, n), row_length, type, weights_at(weights, row_length),
      span_at<float>(values, values == 0 ? 0 : n), span_at<RowError>(out, rows));
}

Status row_energies(Offset w, std::size_t rows, std::size_t row_length, Offset weights,
                    Offset out) {
  return zeropoint::row_energies(span_at<const float>(w, rows * row_length), row_length,
                                 weights_at(weights, row_length), span_at<RowError>(out, rows));
}

double decibels(double signal, double noise) { return zeropoint::decibels(signal, noise); }

std::span<const float> bias_at(Offset bias, std::size_t n) {
  return span_at<const float>(bias, bias == 0 ? 0 : n);
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

// Zero points or offsets, in the same place.
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

const std::byte* block_at(Offset block) { return reinterpret_cast<const std::byte*>(block); }

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

std::span<std::byte> scratch_at(Offset scratch, Offset weight, std::size_t m) {
  return span_at<std::byte>(scratch, zeropoint::linear_scratch_size(block_at(weight), m));
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

// ---- the torch family

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

// ---- observers

Status ranges(Offset x, std::size_t outer, std::size_t slices, std::size_t inner,
              NonFinite non_finite, Offset out) {
  return range(span_at<const float>(x, outer * slices * inner), {outer, slices, inner}, non_finite,
               span_at<Range>(out, slices));
}

Status update_min_max(Offset batch, Offset state, std::size_t n) {
  return zeropoint::update_min_max(span_at<const Range>(batch, n), span_at<Range>(state, n));
}

Status update_moving_average(Offset batch, Offset state, std::size_t n, double averaging_constant) {
  return zeropoint::update_moving_average(span_at<const Range>(batch, n), averaging_constant,
                                          span_at<Range>(state, n));
}

Status calculate_qparams(Offset ranges, std::size_t n, QScheme qscheme, std::int32_t quant_min,
                         std::int32_t quant_max, float eps, std::int32_t symmetric_zero_point,
                         Offset scales, Offset zero_points) {
  return zeropoint::calculate_qparams(
      span_at<const Range>(ranges, n), {qscheme, quant_min, quant_max, eps, symmetric_zero_point},
      span_at<float>(scales, n), span_at<std::int32_t>(zero_points, n));
}

Status calculate_float_qparams(Offset ranges, std::size_t n, std::int32_t quant_min,
                               std::int32_t quant_max, float eps, Offset scales,
                               Offset zero_points) {
  return zeropoint::calculate_float_qparams(
      span_at<const Range>(ranges, n), {QScheme::kFloatQParams, quant_min, quant_max, eps, 0},
      span_at<float>(scales, n), span_at<float>(zero_points, n));
}

Status count_into_bins(Offset x, std::size_t n, float lo, float hi, Offset counts,
                       std::size_t bins) {
  return zeropoint::count_into_bins(span_at<const float>(x, n), lo, hi,
                                    span_at<std::uint32_t>(counts, bins));
}

Status to_histogram(Offset counts, Offset histogram, std::size_t bins) {
  return zeropoint::to_histogram(span_at<const std::uint32_t>(counts, bins),
                                 span_at<float>(histogram, bins));
}

Status merge_histogram(Offset batch, float batch_min, float batch_max, Offset held, float held_min,
                       float held_max, std::size_t bins, Offset scratch) {
  return zeropoint::merge_histogram(span_at<const float>(batch, bins), {batch_min, batch_max},
                                    span_at<float>(held, bins), {held_min, held_max},
                                    span_at<float>(scratch, histogram_scratch(bins)));
}

Status search_histogram(Offset histogram, std::size_t bins, float min, float max, double levels,
                        Offset scratch, Offset out) {
  return zeropoint::search_histogram(span_at<const float>(histogram, bins), {min, max}, levels,
                                     span_at<float>(scratch, histogram_scratch(bins)),
                                     span_at<Range>(out, 1)[0]);
}

// ---- W8A8

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

// ---- the choice of kernels

#if ZEROPOINT_RELAXED

std::int32_t run_dots(bool relaxed, std::size_t rounds) {
  return relaxed ? kernels::run_relaxed_dots(rounds) : kernels::run_wide_dots(rounds);
}

#endif

// ---- threads

#if defined(__wasm_atomics__)

void start_workers(std::size_t count, bool may_sleep) {
  detail::on_worker_lost(zeropoint_worker_lost);
  detail::set_may_sleep(may_sleep);
  detail::set_worker_count(count);
}

Offset worker_state(std::size_t worker) {
  return reinterpret_cast<Offset>(detail::worker_state(worker));
}

void end_workers() { detail::end_workers(); }

// Work with a result known to JavaScript: each part starts a generator from the part's number and
// runs it `steps` times.
void prove_workers(Offset out, std::size_t parts, std::size_t steps) {
  auto* states = span_at<std::uint32_t>(out, parts).data();
  parallel_for(parts, [=](std::size_t part) {
    auto state = static_cast<std::uint32_t>(part);
    for (std::size_t step = 0; step < steps; ++step) state = state * 1664525U + 1013904223U;
    states[part] = state;
  });
}

// Test of parallel execution: one part per thread; a part ends once all parts have begun, or after
// `looks` checks. out[0] counts the parts that have begun; out[1 + part] tells whether the part saw
// all of them.
void meet_workers(Offset out, std::size_t threads, std::size_t looks) {
  auto* words = span_at<std::uint32_t>(out, 1 + threads).data();
  parallel_for(threads, [=](std::size_t part) {
    const std::atomic_ref<std::uint32_t> begun(words[0]);
    begun.fetch_add(1);
    bool is_met = false;
    for (std::size_t look = 0; !is_met && look < looks; ++look) is_met = begun.load() == threads;
    words[1 + part] = is_met ? 1 : 0;
  });
}

#endif

// Registers a function for direct calls from JavaScript: numbers, booleans and enumerations need no
// generated invoker.
template <typename Result, typename... Parameters>
void function(const char* name, Result (*pointer)(Parameters...)) {
  static_assert(sizeof...(Parameters) <= 13, "bindings.ts passes on thirteen");
  using namespace emscripten::internal;
  const WithPolicies<>::ArgTypeList<Result, Parameters...> types;
  _embind_register_function(name, types.getCount(), types.getTypes(), "", nullptr,
                            reinterpret_cast<GenericFunction>(pointer), false, false);
}

}  // namespace

EMSCRIPTEN_BINDINGS(zeropoint) {
  using emscripten::enum_;
  using emscripten::enum_value_type;

  enum_<Status>("Status", enum_value_type::string)
      .value("kOk", Status::kOk)
      .value("kShapeMismatch", Status::kShapeMismatch)
      .value("kSizeOverflow", Status::kSizeOverflow)
      .value("kInvalidScale", Status::kInvalidScale)
      .value("kInvalidZeroPoint", Status::kInvalidZeroPoint)
      .value("kInvalidOffset", Status::kInvalidOffset)
      .value("kInvalidAxis", Status::kInvalidAxis)
      .value("kInvalidGroupSize", Status::kInvalidGroupSize)
      .value("kNonFinite", Status::kNonFinite)
      .value("kEmpty", Status::kEmpty)
      .value("kUnsignedSymmetric", Status::kUnsignedSymmetric)
      .value("kUnsupportedDType", Status::kUnsupportedDType);
  enum_<DType>("DType", enum_value_type::string)
      .value("int2", DType::kInt2)
      .value("int3", DType::kInt3)
      .value("int4", DType::kInt4)
      .value("int5", DType::kInt5)
      .value("int6", DType::kInt6)
      .value("int7", DType::kInt7)
      .value("int8", DType::kInt8)
      .value("uint1", DType::kUint1)
      .value("uint2", DType::kUint2)
      .value("uint3", DType::kUint3)
      .value("uint4", DType::kUint4)
      .value("uint5", DType::kUint5)
      .value("uint6", DType::kUint6)
      .value("uint7", DType::kUint7)
      .value("uint8", DType::kUint8)
      .value("int16", DType::kInt16)
      .value("uint16", DType::kUint16)
      .value("int32", DType::kInt32)
      .value("qint8", DType::kQint8)
      .value("quint8", DType::kQuint8)
      .value("qint32", DType::kQint32);
  enum_<Scheme>("Scheme", enum_value_type::string)
      .value("symmetric", Scheme::kSymmetric)
      .value("affine", Scheme::kAffine)
      .value("offset", Scheme::kOffset);
  enum_<NonFinite>("NonFinite", enum_value_type::string)
      .value("throw", NonFinite::kThrow)
      .value("ignore", NonFinite::kIgnore)
      .value("keep", NonFinite::kKeep);
  enum_<Metric>("Metric", enum_value_type::string)
      .value("mse", Metric::kMse)
      .value("mae", Metric::kMae)
      .value("max", Metric::kMax)
      .value("sqnr", Metric::kSqnr)
      .value("cosine", Metric::kCosine);
  enum_<Accumulate>("Accumulate", enum_value_type::string)
      .value("exact", Accumulate::kExact)
      .value("float32", Accumulate::kFloat32);
  enum_<WeightGranularity>("WeightGranularity", enum_value_type::string)
      .value("perTensor", WeightGranularity::kPerTensor)
      .value("perOutput", WeightGranularity::kPerOutput)
      .value("perInput", WeightGranularity::kPerInput)
      .value("perGroup", WeightGranularity::kPerGroup);
  enum_<WeightShift>("WeightShift", enum_value_type::string)
      .value("none", WeightShift::kNone)
      .value("zeroPoints", WeightShift::kZeroPoints)
      .value("offsets", WeightShift::kOffsets);

  enum_<HalfType>("HalfType", enum_value_type::string)
      .value("float16", HalfType::kFloat16)
      .value("bfloat16", HalfType::kBfloat16);

  enum_<BlockType> block_types("BlockType", enum_value_type::string);
  for (int i = 0; i < kBlockTypes; ++i) {
    const auto type = static_cast<BlockType>(i);
    block_types.value(block_info(type).name.data(), type);
  }

  enum_<Overflow>("Overflow", enum_value_type::string)
      .value("saturate", Overflow::kSaturate)
      .value("torch", Overflow::kTorch);
  enum_<QScheme>("QScheme", enum_value_type::string)
      .value("affine", QScheme::kAffine)
      .value("symmetric", QScheme::kSymmetric)
      .value("floatQParams", QScheme::kFloatQParams);

  function("allocate" PARAMETERS(bytes), &allocate);
  function("release" PARAMETERS(offset), &release);
  function("toFloat32" PARAMETERS(halves, n, type, out), &to_float32);
  function("chooseQParams" PARAMETERS(x, outer, slices, inner, row, dtype, scheme, includeZero,
                                      nonFinite, ranges, scales, floatScales, zeroPoints),
           &choose_qparams);
  function("halfQuadraticStateBytes" PARAMETERS(), &half_quadratic_state_bytes);
  function("halfQuadraticPasses" PARAMETERS(), &half_quadratic_passes);
  function("halfQuadratic" PARAMETERS(x, outer, slices, inner, dtype, scheme, includeZero, isFirst,
                                      isLast, state, ranges, scales, shifts),
           &half_quadratic);
  function("searchStateBytes" PARAMETERS(), &search_state_bytes);
  function("searchRanges" PARAMETERS(x, outer, slices, inner, dtype, scheme, includeZero,
                                     percentile, isFirst, isLast, state, ranges),
           &search_ranges);
  function("quantize" PARAMETERS(x, shape, rank, scales, zeroPoints, qparamsShape, qparamsRank,
                                 groupSize, dtype, hasOffsets, out),
           &quantize);
  function("dequantize" PARAMETERS(codes, shape, rank, scales, zeroPoints, qparamsShape,
                                   qparamsRank, groupSize, dtype, hasOffsets, out),
           &dequantize);
  function("fakeQuantize" PARAMETERS(x, shape, rank, scales, zeroPoints, qparamsShape, qparamsRank,
                                     groupSize, dtype, hasOffsets, out),
           &fake_quantize);
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
  function("errorStateBytes" PARAMETERS(), &error_state_bytes);
  function("quantizationError" PARAMETERS(a, b, count, metric, begin, n, state, out),
           &quantization_error);
  function("quantizationErrors" PARAMETERS(a, b, outer, slices, inner, row, metric, out),
           &quantization_errors);
  function("pack" PARAMETERS(codes, n, dtype, out), &pack);
  function("unpack" PARAMETERS(bytes, n, dtype, out), &unpack);
  function("quantizeBlocks" PARAMETERS(x, n, rowLength, type, importance, out), &quantize_blocks);
  function("dequantizeBlocks" PARAMETERS(blocks, bytes, type, out), &dequantize_blocks);
  function("rowErrors" PARAMETERS(w, rows, rowLength, dtype, scheme, groupSize, runLength, searches,
                                  min, max, weights, values, out),
           &row_errors);
  function("blockRowErrors" PARAMETERS(w, rows, rowLength, type, weights, values, out),
           &block_row_errors);
  function("rowEnergies" PARAMETERS(w, rows, rowLength, weights, out), &row_energies);
  function("decibels" PARAMETERS(signal, noise), &decibels);
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

  function("ranges" PARAMETERS(x, outer, slices, inner, nonFinite, out), &ranges);
  function("updateMinMax" PARAMETERS(batch, state, n), &update_min_max);
  function("updateMovingAverage" PARAMETERS(batch, state, n, averagingConstant),
           &update_moving_average);
  function("calculateQParams" PARAMETERS(ranges, n, qscheme, quantMin, quantMax, eps,
                                         symmetricZeroPoint, scales, zeroPoints),
           &calculate_qparams);
  function(
      "calculateFloatQParams" PARAMETERS(ranges, n, quantMin, quantMax, eps, scales, zeroPoints),
      &calculate_float_qparams);
  function("countIntoBins" PARAMETERS(x, n, lo, hi, counts, bins), &count_into_bins);
  function("toHistogram" PARAMETERS(counts, histogram, bins), &to_histogram);
  function(
      "mergeHistogram" PARAMETERS(batch, batchMin, batchMax, held, heldMin, heldMax, bins, scratch),
      &merge_histogram);
  function("searchHistogram" PARAMETERS(histogram, bins, min, max, levels, scratch, out),
           &search_histogram);

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
  enum_<LayerKernels>("LayerKernels", enum_value_type::string)
      .value("relaxed", LayerKernels::kRelaxed)
      .value("mixed", LayerKernels::kMixed)
      .value("baseline", LayerKernels::kBaseline);
  function("runDots" PARAMETERS(relaxed, rounds), &run_dots);
  function("setLayerKernels" PARAMETERS(kernels), &set_layer_kernels);
#endif

#if defined(__wasm_atomics__)
  function("startWorkers" PARAMETERS(count, maySleep), &start_workers);
  function("workerState" PARAMETERS(worker), &worker_state);
  function("endWorkers" PARAMETERS(), &end_workers);
  function("proveWorkers" PARAMETERS(out, parts, steps), &prove_workers);
  // For tests alone: results have the same bits on any number of threads, so they do not show how
  // many computed them.
  function("meetWorkers" PARAMETERS(out, threads, looks), &meet_workers);
  function("jobCount" PARAMETERS(), &detail::job_count);
#endif
}

}  // namespace zeropoint::bindings
