// Ranges, histograms and quantization parameters of observers.
#include "bindings/marshal.h"
#include "bindings/register.h"
#include "zeropoint/zeropoint.h"

namespace zeropoint::bindings {
namespace {

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

}  // namespace

EMSCRIPTEN_BINDINGS(observers) {
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
}

}  // namespace zeropoint::bindings
