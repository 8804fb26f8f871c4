// range.h and qparams.h: the range of every slice, and the qparams that fit it.
#include "fuzz.h"
#include "reference/groups.h"
#include "zeropoint/qparams.h"
#include "zeropoint/range.h"

namespace zeropoint::fuzz {
namespace {

/// The slice of each element, counted index by index.
struct Slices {
  std::size_t count;
  std::vector<std::size_t> of;
};

Slices per_channel_by_hand(const ShapeVector& shape, std::size_t axis) {
  Slices slices{shape[axis], std::vector<std::size_t>(count_of(shape))};
  for (std::size_t i = 0; i < slices.of.size(); ++i) {
    std::size_t position = i;
    for (std::size_t d = shape.size() - 1; d > axis; --d) position /= shape[d];
    slices.of[i] = position % shape[axis];
  }
  return slices;
}

Slices per_group_by_hand(const ShapeVector& shape, std::size_t group_size) {
  const std::size_t row = shape.back();
  const std::size_t rows = row == 0 ? 0 : count_of(shape) / row;
  Slices slices{rows * reference::groups_of_row(row, group_size),
                std::vector<std::size_t>(count_of(shape))};
  for (std::size_t i = 0; i < slices.of.size(); ++i) {
    slices.of[i] = reference::group_at(i, row, group_size);
  }
  return slices;
}

struct Expected {
  Status status = Status::kOk;
  std::vector<Range> ranges;
};

Expected ranges_by_hand(const std::vector<float>& x, const Slices& slices, NonFinite non_finite) {
  Expected expected;
  for (std::size_t slice = 0; slice < slices.count; ++slice) {
    Range range{INFINITY, -INFINITY};
    bool has_nan = false;
    bool is_empty = true;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (slices.of[i] != slice) continue;
      if (!std::isfinite(x[i])) {
        if (non_finite == NonFinite::kIgnore) continue;
        if (non_finite == NonFinite::kThrow) expected.status = Status::kNonFinite;
      }
      is_empty = false;
      has_nan = has_nan || std::isnan(x[i]);
      range = {std::min(range.min, x[i]), std::max(range.max, x[i])};
    }
    if (is_empty) expected.status = Status::kEmpty;
    if (has_nan) range = {NAN, NAN};
    expected.ranges.push_back(range);
  }
  return expected;
}

void check_range(const Range& actual, const Range& expected) {
  if (std::isnan(expected.min)) {
    check(std::isnan(actual.min) && std::isnan(actual.max), "NaN stays");
  } else {
    // A zero may have either sign.
    check(actual.min == expected.min && actual.max == expected.max, "the range is the slice's");
  }
}

/// Checks the guarantees of qparams.h for one range.
void check_qparams(Range range, const QParamsOptions& options, double scale,
                   std::int32_t zero_point) {
  const DTypeInfo info = dtype_info(options.dtype);
  const auto largest = static_cast<double>(std::max(std::fabs(range.min), std::fabs(range.max)));
  const double smallest = FLT_MIN;
  check(std::isfinite(scale) && scale >= smallest, "a scale is a normal float32 or more");
  check(zero_point >= info.qmin && zero_point <= info.qmax, "a zero point is a code");
  if (options.scheme == Scheme::kSymmetric) {
    check(zero_point == 0, "a symmetric zero point is 0");
    const double exact = largest == 0 ? 1 : std::max(largest / info.qmax, smallest);
    check(scale == exact, "a symmetric scale is max|x| / qmax");
    return;
  }
  double min = range.min;
  double max = range.max;
  if (options.include_zero || min == max) {
    min = std::min(min, 0.0);
    max = std::max(max, 0.0);
  }
  const double steps = static_cast<double>(info.qmax) - info.qmin;
  const double exact = max == min ? 1 : std::max((max - min) / steps, smallest);
  check(scale == exact, "an affine scale is the range over the steps");
  if (max == min) {
    check(zero_point == std::clamp(0, info.qmin, info.qmax), "nothing but 0 has zero point 0");
    return;
  }
  const double wanted = std::clamp(info.qmin - min / scale, static_cast<double>(info.qmin),
                                   static_cast<double>(info.qmax));
  check(std::fabs(zero_point - wanted) <= 0.5, "the zero point is the nearest code to the real 0");
  const bool tie = std::fabs(zero_point - wanted) == 0.5;
  check(!tie || zero_point % 2 == 0, "ties go to even zero points");
}

}  // namespace

void run(Source source) {
  const ShapeVector shape = source.shape();
  const std::vector<float> x = source.floats(count_of(shape));
  Granularity granularity;
  Slices slices{1, std::vector<std::size_t>(x.size())};
  switch (source.below(3)) {
    case 0:
      check(per_tensor(shape, granularity), Status::kOk);
      break;
    case 1: {
      const std::int32_t axis = source.integer(-8, 7);
      const auto rank = static_cast<std::int32_t>(shape.size());
      const bool is_axis = axis >= -rank && axis < rank;
      check(per_channel(shape, axis, granularity), is_axis ? Status::kOk : Status::kInvalidAxis);
      if (!is_axis) return;
      slices = per_channel_by_hand(shape, static_cast<std::size_t>(axis < 0 ? axis + rank : axis));
      break;
    }
    default: {
      const auto group_size = static_cast<std::uint32_t>(source.below(64));
      const bool fits = !shape.empty() && group_size != 0;
      const Status status = per_group(shape, group_size, granularity);
      const Status refusal = shape.empty() ? Status::kInvalidAxis : Status::kInvalidGroupSize;
      check(status, fits ? Status::kOk : refusal);
      if (!fits) return;
      slices = per_group_by_hand(shape, group_size);
    }
  }
  check(granularity.slices == slices.count, "as many slices as counted");

  constexpr NonFinite kRules[] = {NonFinite::kThrow, NonFinite::kIgnore, NonFinite::kKeep};
  const NonFinite rule = source.pick(kRules);
  const Expected expected = ranges_by_hand(x, slices, rule);
  std::vector<Range> ranges(slices.count);
  const Status status = range(x, granularity, rule, ranges);
  // If several slices are refused for different reasons, the first one decides.
  const bool refused = expected.status != Status::kOk;
  check((status != Status::kOk) == refused, "a slice is refused for a reason");
  if (rule == NonFinite::kThrow && !x.empty() && refused) check(status, Status::kNonFinite);
  if (rule == NonFinite::kIgnore && refused) check(status, Status::kEmpty);
  for (std::size_t i = 0; !refused && i < ranges.size(); ++i) {
    check_range(ranges[i], expected.ranges[i]);
  }
  if (!x.empty()) {
    const Slices whole{1, std::vector<std::size_t>(x.size())};
    check_range(min_max(x), ranges_by_hand(x, whole, NonFinite::kKeep).ranges[0]);
  }
  std::vector<Range> too_many(slices.count + 1);
  check(range(x, granularity, rule, too_many), Status::kShapeMismatch);

  const QParamsOptions options{source.pick(kAllDTypes),
                               source.flag() ? Scheme::kAffine : Scheme::kSymmetric, source.flag()};
  Output<double> scales(slices.count);
  Output<std::int32_t> zero_points(slices.count);
  const Status chosen =
      choose_qparams(x, granularity, rule, options, ranges, scales.span(), zero_points.span());
  const bool unsound =
      options.scheme == Scheme::kSymmetric && !dtype_info(options.dtype).is_signed();
  bool all_finite = true;
  for (const Range& slice : expected.ranges) {
    all_finite = all_finite && std::isfinite(slice.min) && std::isfinite(slice.max);
  }
  if (unsound) {
    check(chosen, Status::kUnsignedSymmetric);
  } else if (refused) {
    check(chosen, status);
  } else {
    check(chosen, all_finite ? Status::kOk : Status::kNonFinite);
  }
  if (chosen != Status::kOk) {
    scales.check_untouched();
    zero_points.check_untouched();
    return;
  }
  for (std::size_t i = 0; i < slices.count; ++i) {
    check_qparams(expected.ranges[i], options, scales.values()[i], zero_points.values()[i]);
    QParams single{};
    check(choose_qparams(ranges[i], options, single), Status::kOk);
    check(single.scale == scales.values()[i] && single.zero_point == zero_points.values()[i],
          "a slice has the qparams of its range");
  }
  const double percentile = source.flag() ? 0.0 : 50.0 + static_cast<double>(source.below(51));
  check(search_ranges(x, granularity, {options, percentile}, ranges), Status::kOk);
  for (std::size_t i = 0; i < slices.count; ++i) {
    const auto [min, max] = expected.ranges[i];
    const float largest = std::max(std::fabs(min), std::fabs(max));
    check(ranges[i].min >= -largest && ranges[i].max <= largest, "a search never widens a range");
    check(ranges[i].min <= ranges[i].max, "a narrower range is in order");
  }
}

}  // namespace zeropoint::fuzz
