#include "zeropoint/observer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/linspace.h"
#include "kernels/kernels.h"

namespace zeropoint {
namespace {

// torch.min and torch.max of two values: NaN if either one is NaN.
float min_keeping_nan(float a, float b) { return std::isnan(a) || a < b ? a : b; }
float max_keeping_nan(float a, float b) { return std::isnan(a) || a > b ? a : b; }

// x86's float to int conversion: values outside int32 give its minimum.
std::int32_t to_int32(float value) {
  return value >= -2147483648.0F && value < 2147483648.0F ? static_cast<std::int32_t>(value)
                                                          : INT32_MIN;
}

bool all_ordered(std::span<const Range> ranges) {
  return std::all_of(ranges.begin(), ranges.end(),
                     [](const Range& range) { return range.min <= range.max; });
}

float quant_steps(const ObserverOptions& options) {
  return static_cast<float>(static_cast<double>(options.quant_max) -
                            static_cast<double>(options.quant_min));
}

}  // namespace

Status update_min_max(std::span<const Range> batch, std::span<Range> state) {
  if (batch.size() != state.size()) return Status::kShapeMismatch;
  for (std::size_t i = 0; i < state.size(); ++i) {
    state[i] = {min_keeping_nan(batch[i].min, state[i].min),
                max_keeping_nan(batch[i].max, state[i].max)};
  }
  return Status::kOk;
}

Status update_moving_average(std::span<const Range> batch, double averaging_constant,
                             std::span<Range> state) {
  if (batch.size() != state.size()) return Status::kShapeMismatch;
  const auto c = static_cast<float>(averaging_constant);
  for (std::size_t i = 0; i < state.size(); ++i) {
    state[i].min = state[i].min + c * (batch[i].min - state[i].min);
    state[i].max = state[i].max + c * (batch[i].max - state[i].max);
  }
  return Status::kOk;
}

Status calculate_qparams(std::span<const Range> ranges, const ObserverOptions& options,
                         std::span<float> scales, std::span<std::int32_t> zero_points) {
  if (options.qscheme == QScheme::kFloatQParams) return Status::kUnsupportedDType;
  if (scales.size() != ranges.size() || zero_points.size() != ranges.size()) {
    return Status::kShapeMismatch;
  }
  if (!all_ordered(ranges)) return Status::kNonFinite;
  if (options.quant_min > options.quant_max) return Status::kInvalidZeroPoint;
  const bool symmetric = options.qscheme == QScheme::kSymmetric;
  const float steps = quant_steps(options);
  // Half of the steps, in double before the one rounding.
  const auto half_steps = static_cast<float>(
      (static_cast<double>(options.quant_max) - static_cast<double>(options.quant_min)) / 2.0);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const float neg = std::min(ranges[i].min, 0.0F);
    const float pos = std::max(ranges[i].max, 0.0F);
    if (symmetric) {
      scales[i] = std::max(std::max(-neg, pos) / half_steps, options.eps);
      zero_points[i] = options.symmetric_zero_point;
      continue;
    }
    scales[i] = std::max((pos - neg) / steps, options.eps);
    // PyTorch subtracts in int32, which wraps.
    const auto offset = static_cast<std::uint32_t>(to_int32(std::nearbyint(neg / scales[i])));
    const auto zero_point =
        static_cast<std::int32_t>(static_cast<std::uint32_t>(options.quant_min) - offset);
    zero_points[i] = std::clamp(zero_point, options.quant_min, options.quant_max);
  }
  return Status::kOk;
}

Status calculate_float_qparams(std::span<const Range> ranges, const ObserverOptions& options,
                               std::span<float> scales, std::span<float> zero_points) {
  if (scales.size() != ranges.size() || zero_points.size() != ranges.size()) {
    return Status::kShapeMismatch;
  }
  if (!all_ordered(ranges)) return Status::kNonFinite;
  if (options.quant_min > options.quant_max) return Status::kInvalidZeroPoint;
  const float steps = quant_steps(options);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const float scale = (ranges[i].max - ranges[i].min) / steps;
    scales[i] = scale > options.eps ? scale : 1.0F;
    zero_points[i] = -ranges[i].min / scales[i];
  }
  return Status::kOk;
}

// ---- histogram

namespace {

struct Limits {
  float lo;
  float hi;
};

// torch.histc's range: a range of zero width is widened by 1 on either side, in double.
Limits bin_limits(float lo, float hi) {
  if (lo != hi) return {lo, hi};
  return {static_cast<float>(static_cast<double>(lo) - 1.0),
          static_cast<float>(static_cast<double>(hi) + 1.0)};
}

// torch.div(a, b, rounding_mode="floor") for b > 0. Negative results are not exact: they only stay
// <= 0, and the caller clamps them to 0.
float floor_divide(float a, float b) {
  const float quotient = (a - std::fmod(a, b)) / b;
  float floored = std::floor(quotient);
  if (quotient - floored > 0.5F) floored += 1.0F;
  return floored;
}

// Integral of density * t^2 from `from` to `to`: the error of moving a bin's values to the middle
// of a code.
float norm(float density, float from, float to) {
  return density * ((to * to * to - from * from * from) / 3.0F);
}

// Estimated error of mapping bins first .. last to `levels` codes.
// Source: HistogramObserver._compute_quantization_error.
double quantization_error(std::span<const float> histogram, Range range, double levels,
                          std::size_t first, std::size_t last, std::span<float> errors) {
  const double bin_width = (static_cast<double>(range.max) - static_cast<double>(range.min)) /
                           static_cast<double>(histogram.size());
  const double code_width = bin_width * static_cast<double>(last - first + 1) / levels;
  if (code_width == 0.0) return 0.0;
  const auto width = static_cast<float>(bin_width);
  const auto code = static_cast<float>(code_width);
  const auto half = static_cast<float>(code_width / 2.0);
  const auto top = static_cast<float>(levels - 1.0);
  for (std::size_t i = 0; i < histogram.size(); ++i) {
    const auto offset =
        static_cast<float>(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(first));
    const float begin = offset * width;
    const float end = begin + width;
    const float begin_code = std::clamp(floor_divide(begin, code), 0.0F, top);
    const float begin_center = (begin_code + 0.5F) * code;
    const float end_code = std::clamp(floor_divide(end, code), 0.0F, top);
    const float end_center = end_code * code + half;
    const float density = histogram[i] / width;
    float error = 0.0F + norm(density, begin - begin_center, half);
    error += ((end_code - begin_code) - 1.0F) * norm(density, -half, half);
    error += norm(density, -half, end - end_center);
    errors[i] = error;
  }
  return kernels::sum_f32(errors.data(), errors.size());
}

// Histogram over `range` of `count` copies of one value.
void spread_value(float value, float count, Range range, std::span<float> spread) {
  std::fill(spread.begin(), spread.end(), 0.0F);
  const std::size_t bins = spread.size();
  const Limits limits = bin_limits(range.min, range.max);
  const float width = limits.hi - limits.lo;
  // As in count_into_bins(): nothing is counted if the width overflows float32; the first bin
  // counts if only the position does.
  if (!std::isfinite(width)) return;
  const float position = ((value - limits.lo) * static_cast<float>(bins)) / width;
  const std::size_t bin = std::isfinite(position) ? static_cast<std::size_t>(position) : 0;
  spread[std::min(bin, bins - 1)] = count;
}

// Redistributes held bins over the bins of a larger range: each is cut into kUpsampling parts, and
// each part goes to the bin that contains its middle. @param edges  float32[bins + 1], scratch for
// the edges of the larger range's bins
void spread_bins(std::span<const float> held, Range held_range, Range range, std::span<float> edges,
                 std::span<float> spread) {
  std::fill(spread.begin(), spread.end(), 0.0F);
  const std::size_t bins = spread.size();
  const Linspace new_edges(range.min, range.max, bins + 1);
  for (std::size_t i = 0; i <= bins; ++i) edges[i] = new_edges[i];
  const std::size_t parts = bins * kUpsampling;
  const Linspace part_edges(held_range.min, held_range.max, parts + 1);
  const float held_width = held_range.max - held_range.min;
  const float half_part = 0.5F * (held_width / static_cast<float>(parts));
  // Edges ascend, except where rounding to few bits makes linspace()'s halves overlap, or where
  // they overflow and the first edge is NaN. There the result of PyTorch's binary search is kept.
  const bool ascending = std::adjacent_find(edges.begin(), edges.end(), [](float a, float b) {
                           return !(a <= b);
                         }) == edges.end();
  std::size_t bin = 0;  // the last bin with a left edge not beyond the middle
  for (std::size_t part = 0; part < parts; ++part) {
    const float middle = part_edges[part] + half_part;
    if (ascending) {
      while (bin + 1 < bins && edges[bin + 1] <= middle) ++bin;
      while (bin > 0 && edges[bin] > middle) --bin;  // linspace steps back an ulp at its middle
    } else {
      const auto beyond = std::upper_bound(edges.begin(), edges.end(), middle);
      const auto found = static_cast<std::size_t>(beyond - edges.begin());
      bin = std::clamp<std::size_t>(found, 1, bins) - 1;
    }
    spread[bin] += held[part / kUpsampling] / static_cast<float>(kUpsampling);
  }
}

}  // namespace

Status count_into_bins(std::span<const float> x, float lo, float hi,
                       std::span<std::uint32_t> counts) {
  const Limits limits = bin_limits(lo, hi);
  if (!std::isfinite(limits.lo) || !std::isfinite(limits.hi)) return Status::kNonFinite;
  // Beyond float32's range torch.histc has no edges for comparison, and counts nothing.
  if (!std::isfinite(limits.hi - limits.lo)) return Status::kOk;
  kernels::histogram_f32(x.data(), x.size(), limits.lo, limits.hi, counts.data(), counts.size());
  return Status::kOk;
}

Status to_histogram(std::span<const std::uint32_t> counts, std::span<float> histogram) {
  if (counts.size() != histogram.size()) return Status::kShapeMismatch;
  constexpr std::uint32_t kMost = 1U << 24;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    histogram[i] = static_cast<float>(std::min(counts[i], kMost));
  }
  return Status::kOk;
}

Status merge_histogram(std::span<const float> batch, Range batch_range, std::span<float> held,
                       Range held_range, std::span<float> scratch) {
  const std::size_t bins = held.size();
  if (batch.size() != bins || scratch.size() < histogram_scratch(bins)) {
    return Status::kShapeMismatch;
  }
  for (const float limit : {batch_range.min, batch_range.max, held_range.min, held_range.max}) {
    if (!std::isfinite(limit)) return Status::kNonFinite;
  }
  if (!(batch_range.min <= held_range.min && held_range.min <= held_range.max &&
        held_range.max <= batch_range.max)) {
    return Status::kShapeMismatch;
  }
  if (bins == 0) return Status::kOk;

  const std::span<float> spread = scratch.first(bins);
  if (batch_range.min == held_range.min && batch_range.max == held_range.max) {
    std::copy(held.begin(), held.end(), spread.begin());
  } else if (held_range.min == held_range.max) {
    spread_value(held_range.min, kernels::sum_f32(batch.data(), bins), batch_range, spread);
  } else {
    spread_bins(held, held_range, batch_range, scratch.subspan(bins, bins + 1), spread);
  }
  for (std::size_t i = 0; i < bins; ++i) held[i] = batch[i] + spread[i];
  return Status::kOk;
}

Status search_histogram(std::span<const float> histogram, Range range, double levels,
                        std::span<float> scratch, Range& out) {
  const std::size_t bins = histogram.size();
  if (bins == 0) return Status::kEmpty;
  if (scratch.size() < histogram_scratch(bins)) return Status::kShapeMismatch;
  if (!(levels >= 1.0)) return Status::kInvalidZeroPoint;
  const std::span<float> cumulative = scratch.first(bins);
  const std::span<float> errors = scratch.subspan(bins, bins);
  const float bin_width = (range.max - range.min) / static_cast<float>(bins);
  const double total = kernels::sum_f32(histogram.data(), bins);
  double running = 0.0;
  for (std::size_t i = 0; i < bins; ++i) {
    running += static_cast<double>(histogram[i]);
    cumulative[i] = static_cast<float>(running);
  }

  constexpr double kStep = 1e-5;
  double alpha = 0.0;
  double beta = 1.0;
  std::size_t start = 0;
  std::size_t end = bins - 1;
  double best = std::numeric_limits<double>::infinity();
  while (alpha < beta) {
    const double next_alpha = alpha + kStep;
    const double next_beta = beta - kStep;
    const auto low = static_cast<float>(next_alpha * total);
    const auto high = static_cast<float>(next_beta * total);
    std::size_t l = start;
    while (l < end && cumulative[l] < low) ++l;
    std::size_t r = end;
    while (r > start && cumulative[r] > high) --r;
    std::size_t next_start = start;
    std::size_t next_end = end;
    if (l - start > end - r) {
      next_start = l;
      alpha = next_alpha;
    } else {
      next_end = r;
      beta = next_beta;
    }
    if (next_start == start && next_end == end) continue;
    const double error = quantization_error(histogram, range, levels, next_start, next_end, errors);
    if (error > best) break;
    best = error;
    start = next_start;
    end = next_end;
  }
  out = {range.min + bin_width * static_cast<float>(start),
         range.min + bin_width * static_cast<float>(end + 1)};
  return Status::kOk;
}

}  // namespace zeropoint
