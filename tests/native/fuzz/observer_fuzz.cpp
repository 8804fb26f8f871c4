// observer.h: ranges joined over time, the qparams made of them, and histograms.
#include "fuzz.h"
#include "reference/histogram_f32.h"
#include "reference/quantize_f32.h"
#include "zeropoint/observer.h"

namespace zeropoint::fuzz {
namespace {

std::vector<Range> take_ranges(Source& source, std::size_t n) {
  const std::vector<float> ends = source.floats(2 * n);
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < n; ++i) {
    const float a = ends[2 * i];
    const float b = ends[2 * i + 1];
    ranges.push_back(a > b && !source.rarely(8) ? Range{b, a} : Range{a, b});
  }
  return ranges;
}

void check_updates(Source& source) {
  const std::size_t n = source.below(20);
  const std::vector<Range> before = take_ranges(source, n);
  const std::vector<Range> batch = take_ranges(source, n);
  std::vector<Range> joined = before;
  check(update_min_max(batch, joined), Status::kOk);
  const auto constant = source.flag() ? 0.01 : static_cast<double>(source.special());
  const auto c = static_cast<float>(constant);
  std::vector<Range> moved = before;
  check(update_moving_average(batch, constant, moved), Status::kOk);
  for (std::size_t i = 0; i < n; ++i) {
    const auto join = [](float a, float b, bool smaller) {
      if (std::isnan(a) || std::isnan(b)) return NAN;
      return smaller ? std::min(a, b) : std::max(a, b);
    };
    const float min = join(before[i].min, batch[i].min, true);
    const float max = join(before[i].max, batch[i].max, false);
    check(std::isnan(min) ? std::isnan(joined[i].min) : joined[i].min == min, "minimum of minima");
    check(std::isnan(max) ? std::isnan(joined[i].max) : joined[i].max == max, "maximum of maxima");
    const auto move = [c](float old, float next) {
      const float difference = next - old;
      const float step = c * difference;
      return old + step;
    };
    check(same_value(moved[i].min, move(before[i].min, batch[i].min)), "a moving minimum");
    check(same_value(moved[i].max, move(before[i].max, batch[i].max)), "a moving maximum");
  }
  std::vector<Range> longer(n + 1);
  check(update_min_max(batch, longer), Status::kShapeMismatch);
  check(update_moving_average(batch, constant, longer), Status::kShapeMismatch);
}

void check_qparams(Source& source) {
  const std::size_t n = source.below(20);
  const std::vector<Range> ranges = take_ranges(source, n);
  constexpr QScheme kSchemes[] = {QScheme::kAffine, QScheme::kSymmetric, QScheme::kFloatQParams};
  ObserverOptions options;
  options.qscheme = source.pick(kSchemes);
  constexpr std::int32_t kLimits[][2] = {
      {0, 255}, {-128, 127}, {0, 127}, {-64, 63}, {-127, 127}, {0, 15}, {INT32_MIN, INT32_MAX}};
  const auto& limits = kLimits[source.below(std::size(kLimits))];
  options.quant_min = limits[0];
  options.quant_max = limits[1];
  options.symmetric_zero_point = source.integer(limits[0], limits[1]);
  if (source.flag()) options.eps = source.scale();
  bool ordered = true;
  for (const Range& range : ranges) ordered = ordered && range.min <= range.max;

  const double steps = static_cast<double>(options.quant_max) - options.quant_min;
  Output<float> scales(n);
  Output<float> float_zero_points(n);
  const Status floats =
      calculate_float_qparams(ranges, options, scales.span(), float_zero_points.span());
  check(floats, ordered ? Status::kOk : Status::kNonFinite);
  if (!ordered) scales.check_untouched();
  for (std::size_t i = 0; ordered && i < n; ++i) {
    const float width = ranges[i].max - ranges[i].min;
    const float scale = width / static_cast<float>(steps);
    const float chosen = scale > options.eps ? scale : 1.0F;
    check(same_value(scales.values()[i], chosen), "a scale of float qparams");
    check(same_value(float_zero_points.values()[i], -ranges[i].min / chosen), "a float zero point");
  }

  Output<float> integer_scales(n);
  Output<std::int32_t> zero_points(n);
  const Status status =
      calculate_qparams(ranges, options, integer_scales.span(), zero_points.span());
  if (options.qscheme == QScheme::kFloatQParams) {
    check(status, Status::kUnsupportedDType);
  } else {
    check(status, ordered ? Status::kOk : Status::kNonFinite);
  }
  if (status != Status::kOk) {
    integer_scales.check_untouched();
    return zero_points.check_untouched();
  }
  for (std::size_t i = 0; i < n; ++i) {
    const float neg = std::min(ranges[i].min, 0.0F);
    const float pos = std::max(ranges[i].max, 0.0F);
    const float scale = integer_scales.values()[i];
    const std::int32_t zero_point = zero_points.values()[i];
    if (options.qscheme == QScheme::kSymmetric) {
      const float wanted = std::max(-neg, pos) / static_cast<float>(steps / 2);
      check(same_value(scale, std::max(wanted, options.eps)), "a symmetric scale");
      check(zero_point == options.symmetric_zero_point, "a symmetric zero point");
      continue;
    }
    const float width = pos - neg;
    check(same_value(scale, std::max(width / static_cast<float>(steps), options.eps)),
          "an affine scale");
    check(zero_point >= options.quant_min && zero_point <= options.quant_max, "a code");
    const float offset = reference::round_half_even(neg / scale);
    const std::int64_t exact = std::int64_t{options.quant_min} - reference::x86_int32(offset);
    if (exact >= INT32_MIN && exact <= INT32_MAX) {
      check(zero_point == std::clamp<std::int64_t>(exact, options.quant_min, options.quant_max),
            "an affine zero point");
    }
  }
}

/// linspace(start, end, steps)[i], the product and the sum rounded once.
float linspace(float start, float end, std::size_t steps, std::size_t i) {
  const float step = (end - start) / static_cast<float>(steps - 1);
  if (i < steps / 2) return std::fma(step, static_cast<float>(i), start);
  return std::fma(-step, static_cast<float>(steps - 1 - i), end);
}

/// Counts as torch.histc does.
std::vector<std::uint32_t> count_by_hand(const std::vector<float>& x, float lo, float hi,
                                         std::size_t bins) {
  std::vector<std::uint32_t> counts(bins);
  if (lo == hi) {
    const double middle = lo;
    lo = static_cast<float>(middle - 1);
    hi = static_cast<float>(middle + 1);
  }
  if (std::isfinite(hi - lo)) {
    reference::histogram_f32(x.data(), x.size(), lo, hi, counts.data(), bins);
  }
  return counts;
}

/// HistogramObserver._combine_histograms, literally.
std::vector<float> merge_by_hand(const std::vector<float>& batch, Range batch_range,
                                 const std::vector<float>& held, Range held_range,
                                 float batch_sum) {
  const std::size_t bins = held.size();
  std::vector<float> spread(bins);
  if (batch_range.min == held_range.min && batch_range.max == held_range.max) {
    spread = held;
  } else if (held_range.min == held_range.max) {
    const auto counts = count_by_hand({held_range.min}, batch_range.min, batch_range.max, bins);
    for (std::size_t i = 0; i < bins; ++i) {
      spread[i] = static_cast<float>(counts[i]) * batch_sum;
    }
  } else {
    const std::size_t parts = bins * kUpsampling;
    const float part_width = (held_range.max - held_range.min) / static_cast<float>(parts);
    for (std::size_t part = 0; part < parts; ++part) {
      const float middle =
          linspace(held_range.min, held_range.max, parts + 1, part) + 0.5F * part_width;
      // torch.bucketize(right=True): a binary search, also where the edges do not ascend.
      std::size_t bin = 0;
      std::size_t end = bins + 1;
      while (bin < end) {
        const std::size_t half = bin + (end - bin) / 2;
        const bool beyond = linspace(batch_range.min, batch_range.max, bins + 1, half) > middle;
        (beyond ? end : bin) = beyond ? half : half + 1;
      }
      bin = std::clamp<std::size_t>(bin, 1, bins) - 1;
      spread[bin] += held[part / kUpsampling] / static_cast<float>(kUpsampling);
    }
  }
  for (std::size_t i = 0; i < bins; ++i) spread[i] = batch[i] + spread[i];
  return spread;
}

void check_histogram(Source& source) {
  const std::size_t bins = 1 + source.below(source.flag() ? 8 : 70);
  const std::vector<float> x = source.floats(source.below(300));
  std::vector<float> ends = source.finite_floats(4);
  if (source.rarely(4)) ends[1] = ends[0];  // a single value was held
  if (source.rarely(4)) ends[2] = -FLT_MAX;
  if (source.rarely(4)) ends[3] = FLT_MAX;
  const Range held_range{std::min(ends[0], ends[1]), std::max(ends[0], ends[1])};
  const Range wider{std::min({held_range.min, ends[2], ends[3]}),
                    std::max({held_range.max, ends[2], ends[3]})};
  const Range batch_range = source.flag() ? held_range : wider;

  std::vector<std::uint32_t> counts(bins, 3);
  Status status = count_into_bins(x, batch_range.min, batch_range.max, counts);
  const bool widened_is_finite =
      batch_range.min != batch_range.max || std::isfinite(batch_range.min);
  check(status, widened_is_finite ? Status::kOk : Status::kNonFinite);
  std::vector<std::uint32_t> expected = count_by_hand(x, batch_range.min, batch_range.max, bins);
  for (std::uint32_t& count : expected) count += 3;
  check_same(std::span<const std::uint32_t>(counts), expected);
  check(count_into_bins(x, batch_range.min, INFINITY, counts), Status::kNonFinite);

  std::vector<float> batch(bins);
  if (source.rarely(8)) counts[source.below(bins)] = source.take<std::uint32_t>();
  check(to_histogram(counts, batch), Status::kOk);
  float batch_sum = 0;
  for (std::size_t i = 0; i < bins; ++i) {
    check(batch[i] == static_cast<float>(std::min<std::uint32_t>(counts[i], 1U << 24)),
          "counts stop growing at 2^24");
    batch_sum += batch[i];
  }
  // Whole numbers up to 2^24 add exactly in any order; beyond that the order would matter.
  if (batch_sum >= 0x1p24F) return;

  Random more = source.random();
  std::vector<float> held(bins);
  for (float& count : held) count = static_cast<float>(more.below(1000));
  const std::vector<float> expected_held =
      merge_by_hand(batch, batch_range, held, held_range, batch_sum);
  std::vector<float> scratch(histogram_scratch(bins));
  const std::vector<float> before = held;
  status = merge_histogram(batch, batch_range, held, held_range, scratch);
  check(status, Status::kOk);
  check_same(std::span<const float>(held), expected_held);

  Range found{91, 91};
  constexpr double kLevels[] = {256, 4294967296.0};
  const double levels = source.pick(kLevels);
  check(search_histogram(held, batch_range, levels, scratch, found), Status::kOk);
  if (std::isfinite(batch_range.max - batch_range.min)) {
    // Its ends are bins' edges: start and start + width * bins, rounded.
    const float width = (batch_range.max - batch_range.min) / static_cast<float>(bins);
    check(found.min >= batch_range.min && found.min <= found.max, "the range found is a range");
    check(found.max <= batch_range.min + width * static_cast<float>(bins), "and lies in the old");
  }
  check(search_histogram({}, batch_range, levels, scratch, found), Status::kEmpty);
  scratch.pop_back();
  check(search_histogram(held, batch_range, levels, scratch, found), Status::kShapeMismatch);
  held = before;
  check(merge_histogram(batch, batch_range, held, held_range, scratch), Status::kShapeMismatch);
  check_same(std::span<const float>(held), before);
}

}  // namespace

void run(Source source) {
  switch (source.below(4)) {
    case 0:
      check_updates(source);
      break;
    case 1:
      check_qparams(source);
      break;
    default:
      check_histogram(source);
  }
}

}  // namespace zeropoint::fuzz
