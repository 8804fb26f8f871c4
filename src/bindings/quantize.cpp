// Quantization parameters, quantization and its errors, packed codes.
#include "bindings/marshal.h"
#include "bindings/register.h"
#include "zeropoint/zeropoint.h"

namespace zeropoint::bindings {
namespace {

// The fields' order and size in JavaScript.
static_assert(sizeof(Granularity) == 16);

const Granularity& granularity_at(Offset granularity) {
  return span_at<const Granularity>(granularity, 1)[0];
}

// @param scales  float64[slices], then the same as float32[slices], the type used by quantization
Status choose_qparams(Offset x, Offset own_slices, DType dtype, Scheme scheme, bool include_zero,
                      Rule rule, NonFinite non_finite, Offset ranges, Offset scales,
                      Offset zero_points) {
  const Granularity& granularity = granularity_at(own_slices);
  const std::size_t slices = granularity.slices;
  const auto doubles = span_at<double>(scales, slices);
  const auto values = span_at<const float>(x, value_count(granularity));
  const auto own_ranges = span_at<Range>(ranges, slices);
  const Status status =
      scheme == Scheme::kOffset
          ? zeropoint::choose_offsets(values, granularity, non_finite, dtype, own_ranges, doubles,
                                      span_at<float>(zero_points, slices))
          : zeropoint::choose_qparams(values, granularity, non_finite,
                                      {dtype, scheme, include_zero, rule}, own_ranges, doubles,
                                      span_at<std::int32_t>(zero_points, slices));
  if (status != Status::kOk) return status;
  const auto floats = span_at<float>(scales + doubles.size_bytes(), slices);
  for (std::size_t i = 0; i < slices; ++i) floats[i] = static_cast<float>(doubles[i]);
  return status;
}

std::size_t search_state_bytes() { return sizeof(SearchState); }

// Whole slices, or a piece of one.
Status search_ranges(Offset x, Offset own_slices, DType dtype, Scheme scheme, bool include_zero,
                     double percentile, bool is_first, bool is_last, Offset state, Offset ranges) {
  const Granularity& granularity = granularity_at(own_slices);
  const auto values = span_at<const float>(x, value_count(granularity));
  const RangeSearch search{{dtype, scheme, include_zero}, percentile};
  const auto all = span_at<Range>(ranges, granularity.slices);
  return is_first && is_last
             ? zeropoint::search_ranges(values, granularity, search, all)
             : zeropoint::search_range_piece(values, search, is_first, is_last,
                                             span_at<SearchState>(state, 1)[0], all[0]);
}

std::size_t half_quadratic_state_bytes() { return sizeof(HalfQuadraticState); }
std::size_t half_quadratic_passes() { return zeropoint::half_quadratic_passes(); }

// Whole slices, or a piece of one.
// @param state   for a piece: HalfQuadraticState; for whole slices: scratch, ChosenQParams[slices]
// @param shifts  zero points, or offsets of the scheme kOffset
Status half_quadratic(Offset x, Offset own_slices, DType dtype, Scheme scheme, bool include_zero,
                      bool is_first, bool is_last, Offset state, Offset ranges, Offset scales,
                      Offset shifts) {
  const Granularity& granularity = granularity_at(own_slices);
  const std::size_t slices = granularity.slices;
  const auto values = span_at<const float>(x, value_count(granularity));
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
  const auto out = span_at<ChosenQParams>(state, slices);
  const Status status = zeropoint::half_quadratic(values, granularity, all, options, out);
  if (status != Status::kOk) return status;
  for (std::size_t i = 0; i < slices; ++i) write(i, out[i]);
  return status;
}

// @param has_offsets  whether the zero points are offsets, float32
QParamsView qparams_at(Offset scales, Offset zero_points, Shape shape, std::uint32_t group_size,
                       bool has_offsets, Rule rule) {
  QParamsView view{tensor_at<const float>(scales, shape).values, {}, shape, group_size, {}, rule};
  if (has_offsets) {
    view.offsets = tensor_at<const float>(zero_points, shape).values;
  } else {
    view.zero_points = tensor_at<const std::int32_t>(zero_points, shape).values;
  }
  return view;
}

Status quantize(Offset x, Offset shape, std::size_t rank, Offset scales, Offset zero_points,
                Offset qparams_shape, std::size_t qparams_rank, std::uint32_t group_size,
                DType dtype, bool has_offsets, Rule rule, Offset out) {
  const auto values = tensor_at<const float>(x, shape_at(shape, rank));
  const auto qparams = qparams_at(scales, zero_points, shape_at(qparams_shape, qparams_rank),
                                  group_size, has_offsets, rule);
  return zeropoint::quantize(values, qparams, dtype, codes_at(out, values.values.size(), dtype));
}

Status dequantize(Offset codes, Offset shape, std::size_t rank, Offset scales, Offset zero_points,
                  Offset qparams_shape, std::size_t qparams_rank, std::uint32_t group_size,
                  DType dtype, bool has_offsets, Rule rule, Offset out) {
  const auto values = codes_at<const void>(codes, count_of(shape_at(shape, rank)), dtype);
  const auto qparams = qparams_at(scales, zero_points, shape_at(qparams_shape, qparams_rank),
                                  group_size, has_offsets, rule);
  return zeropoint::dequantize(values, shape_at(shape, rank), qparams, dtype,
                               span_at<float>(out, values.size));
}

Status fake_quantize(Offset x, Offset shape, std::size_t rank, Offset scales, Offset zero_points,
                     Offset qparams_shape, std::size_t qparams_rank, std::uint32_t group_size,
                     DType dtype, bool has_offsets, Rule rule, Offset out) {
  const auto values = tensor_at<const float>(x, shape_at(shape, rank));
  const auto qparams = qparams_at(scales, zero_points, shape_at(qparams_shape, qparams_rank),
                                  group_size, has_offsets, rule);
  return zeropoint::fake_quantize(values, qparams, dtype,
                                  span_at<float>(out, values.values.size()));
}

std::size_t error_state_bytes() { return sizeof(ErrorState); }

Status quantization_error(Offset a, Offset b, std::size_t count, Metric metric, std::size_t begin,
                          std::size_t n, Offset state, Offset out) {
  return zeropoint::quantization_error_piece(
      span_at<const float>(a, count), span_at<const float>(b, count), metric, begin, n,
      span_at<ErrorState>(state, 1)[0], span_at<double>(out, 1)[0]);
}

Status quantization_errors(Offset a, Offset b, Offset own_slices, Metric metric, Offset out) {
  const Granularity& granularity = granularity_at(own_slices);
  const std::size_t n = value_count(granularity);
  return zeropoint::quantization_errors(span_at<const float>(a, n), span_at<const float>(b, n),
                                        granularity, metric,
                                        span_at<double>(out, granularity.slices));
}

Status pack(Offset codes, std::size_t n, DType dtype, Offset out) {
  return zeropoint::pack(span_at<const std::uint8_t>(codes, n), dtype,
                         span_at<std::uint8_t>(out, packed_size(n, dtype)));
}

Status unpack(Offset bytes, std::size_t n, DType dtype, Offset out) {
  return zeropoint::unpack(span_at<const std::uint8_t>(bytes, packed_size(n, dtype)), dtype,
                           span_at<std::uint8_t>(out, n));
}

}  // namespace

EMSCRIPTEN_BINDINGS(quantize) {
  function("chooseQParams" PARAMETERS(x, slices, dtype, scheme, includeZero, rule, nonFinite,
                                      ranges, scales, zeroPoints),
           &choose_qparams);
  function("halfQuadraticStateBytes" PARAMETERS(), &half_quadratic_state_bytes);
  function("halfQuadraticPasses" PARAMETERS(), &half_quadratic_passes);
  function("halfQuadratic" PARAMETERS(x, slices, dtype, scheme, includeZero, isFirst, isLast, state,
                                      ranges, scales, shifts),
           &half_quadratic);
  function("searchStateBytes" PARAMETERS(), &search_state_bytes);
  function("searchRanges" PARAMETERS(x, slices, dtype, scheme, includeZero, percentile, isFirst,
                                     isLast, state, ranges),
           &search_ranges);
  function("quantize" PARAMETERS(x, shape, rank, scales, zeroPoints, qparamsShape, qparamsRank,
                                 groupSize, dtype, hasOffsets, rule, out),
           &quantize);
  function("dequantize" PARAMETERS(codes, shape, rank, scales, zeroPoints, qparamsShape,
                                   qparamsRank, groupSize, dtype, hasOffsets, rule, out),
           &dequantize);
  function("fakeQuantize" PARAMETERS(x, shape, rank, scales, zeroPoints, qparamsShape, qparamsRank,
                                     groupSize, dtype, hasOffsets, rule, out),
           &fake_quantize);
  function("errorStateBytes" PARAMETERS(), &error_state_bytes);
  function("quantizationError" PARAMETERS(a, b, count, metric, begin, n, state, out),
           &quantization_error);
  function("quantizationErrors" PARAMETERS(a, b, slices, metric, out), &quantization_errors);
  function("pack" PARAMETERS(codes, n, dtype, out), &pack);
  function("unpack" PARAMETERS(bytes, n, dtype, out), &unpack);
}

}  // namespace zeropoint::bindings
