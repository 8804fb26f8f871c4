#include "zeropoint/range.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

#include "compare.h"
#include "reference/groups.h"
#include "tensors.h"

namespace zeropoint {
namespace {

using testing::count_of;
using testing::kInfinity;
using testing::kNan;
using testing::kSpecialFloats;
using testing::Random;
using testing::random_shape;
using testing::ShapeVector;

constexpr float kNotebook[] = {191.6F,  -13.5F, 728.6F, 92.14F, 295.5F,
                               -184.0F, 0.0F,   684.6F, 245.5F};

bool same_range(const Range& a, const Range& b) {
  const auto same = [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  return same(a.min, b.min) && same(a.max, b.max);
}

::testing::AssertionResult same_ranges(const std::vector<Range>& actual,
                                       const std::vector<Range>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (actual.size() == expected.size() && same_range(actual[i], expected[i])) continue;
    return ::testing::AssertionFailure()
           << "slice " << i << ": {" << actual[i].min << ", " << actual[i].max << "} instead of {"
           << expected[i].min << ", " << expected[i].max << "}";
  }
  return ::testing::AssertionSuccess();
}

std::vector<Range> ranges_of(std::span<const float> x, const Granularity& g,
                             NonFinite non_finite = NonFinite::kThrow) {
  std::vector<Range> ranges(g.slices);
  EXPECT_EQ(range(x, g, non_finite, ranges), Status::kOk);
  return ranges;
}

Status status_of(std::span<const float> x, const Granularity& g, NonFinite non_finite) {
  std::vector<Range> ranges(g.slices);
  return range(x, g, non_finite, ranges);
}

// ---- min_max

TEST(MinMax, IsTheSmallestAndTheLargestValue) {
  EXPECT_TRUE(same_range(min_max(kNotebook), {-184.0F, 728.6F}));
  const float one[] = {-3.0F};
  EXPECT_TRUE(same_range(min_max(one), {-3.0F, -3.0F}));
}

TEST(MinMax, IncludesInfinities) {
  const float values[] = {1.0F, kInfinity, -2.0F, -kInfinity};
  EXPECT_TRUE(same_range(min_max(values), {-kInfinity, kInfinity}));
  const float positive[] = {1.0F, kInfinity};
  EXPECT_TRUE(same_range(min_max(positive), {1.0F, kInfinity}));
}

TEST(MinMax, OfNoValuesIsTheIdentityForJoining) {
  EXPECT_TRUE(same_range(min_max({}), {kInfinity, -kInfinity}));
}

TEST(MinMax, IsNanIfAnyValueIsNan) {
  const float values[] = {1.0F, kNan, -kInfinity};
  EXPECT_TRUE(same_range(min_max(values), {kNan, kNan}));
}

TEST(MinMax, TakesEitherZeroForAMixOfZeros) {
  const float values[] = {0.0F, -0.0F};
  EXPECT_EQ(min_max(values).min, 0.0F);
  EXPECT_EQ(min_max(values).max, 0.0F);
}

// ---- range

TEST(RangeOfSlices, PerTensorIsTheRangeOfAllValues) {
  EXPECT_TRUE(same_ranges(ranges_of(kNotebook, {1, 1, 9}), {{-184.0F, 728.6F}}));
}

TEST(RangeOfSlices, PerChannelIsTheRangeOfEachIndex) {
  EXPECT_TRUE(same_ranges(ranges_of(kNotebook, {1, 3, 3}),
                          {{-13.5F, 728.6F}, {-184.0F, 295.5F}, {0.0F, 684.6F}}));
  EXPECT_TRUE(same_ranges(ranges_of(kNotebook, {3, 3, 1}),
                          {{0.0F, 191.6F}, {-13.5F, 684.6F}, {-184.0F, 728.6F}}));
}

TEST(RangeOfSlices, PerChannelOfAMiddleAxisGathersFromAllOuterIndices) {
  const float x[] = {1, 2, 3, 4, 5, 6, -7, 8, -9, 10, -11, 12};  // [2, 3, 2]
  EXPECT_TRUE(same_ranges(ranges_of(x, {2, 3, 2}), {{-7, 8}, {-9, 10}, {-11, 12}}));
}

TEST(RangeOfSlices, PerGroupIsTheRangeOfEachRun) {
  const float x[] = {1, -2, 3, 4, -5, -6};
  EXPECT_TRUE(same_ranges(ranges_of(x, {1, 3, 2}), {{-2, 1}, {3, 4}, {-6, -5}}));
}

TEST(RangeOfSlices, PerGroupEndsARowWithTheRangeOfItsLastValues) {
  const float x[] = {1, -2, 3, 4, -5, -6};  // [2, 3] in groups of 2
  EXPECT_TRUE(same_ranges(ranges_of(x, {1, 4, 2, 3}), {{-2, 1}, {3, 3}, {-5, 4}, {-6, -6}}));
}

TEST(RangeOfSlices, RefusesValuesOrSlicesThatAreNotWholeRows) {
  const float x[7] = {};
  EXPECT_EQ(status_of(std::span(x, 6), {1, 4, 2, 3}, NonFinite::kThrow), Status::kOk);
  for (const Granularity g :
       {Granularity{1, 3, 2, 3}, Granularity{1, 5, 2, 3}, Granularity{2, 4, 2, 3},
        Granularity{1, 6, 2, 3}, Granularity{1, 4, 0, 3}, Granularity{1, 2, 3, 3},
        Granularity{1, 2, 4, 3}}) {
    EXPECT_EQ(status_of(std::span(x, 6), g, NonFinite::kThrow), Status::kShapeMismatch);
  }
  EXPECT_EQ(status_of(x, {1, 4, 2, 3}, NonFinite::kThrow), Status::kShapeMismatch);
}

TEST(RangeOfSlices, RefusesOneValueMoreOrLessThanTheSlicesHave) {
  // 2 x 3 slices of 4 values. 25 values also make slices of 4, with one value left over.
  const Granularity g{2, 3, 4};
  std::vector<Range> ranges(3);
  for (const std::size_t n : {23U, 25U, 26U}) {
    const std::vector<float> x(n);
    EXPECT_EQ(range(x, g, NonFinite::kThrow, ranges), Status::kShapeMismatch) << n;
  }
  EXPECT_EQ(range(std::vector<float>(24), g, NonFinite::kThrow, ranges), Status::kOk);
}

TEST(RangeOfSlices, AcceptsNoSlicesAtAll) {
  EXPECT_EQ(range({}, {1, 0, 3}, NonFinite::kThrow, {}), Status::kOk);
  EXPECT_EQ(range({}, {0, 0, 0}, NonFinite::kIgnore, {}), Status::kOk);
}

TEST(RangeOfSlices, RefusesSlicesWithoutElements) {
  for (const NonFinite non_finite : {NonFinite::kThrow, NonFinite::kIgnore, NonFinite::kKeep}) {
    EXPECT_EQ(status_of({}, {1, 1, 0}, non_finite), Status::kEmpty);
    EXPECT_EQ(status_of({}, {0, 3, 0}, non_finite), Status::kEmpty);
  }
}

TEST(RangeOfSlices, GivesSlicesWithoutElementsTheIdentityForJoining) {
  for (const NonFinite non_finite : {NonFinite::kThrow, NonFinite::kIgnore, NonFinite::kKeep}) {
    std::vector<Range> ranges(3, {1.0F, 2.0F});
    EXPECT_EQ(range({}, {0, 3, 0}, non_finite, ranges), Status::kEmpty);
    EXPECT_TRUE(same_ranges(ranges, std::vector<Range>(3, {kInfinity, -kInfinity})));
  }
}

TEST(RangeOfSlices, GivesSlicesWithoutFiniteValuesTheIdentityForJoining) {
  const float x[] = {kNan, kInfinity, 2.0F, -3.0F};
  std::vector<Range> ranges(2, {1.0F, 2.0F});
  EXPECT_EQ(range(x, {1, 2, 2}, NonFinite::kIgnore, ranges), Status::kEmpty);
  EXPECT_TRUE(same_ranges(ranges, {{kInfinity, -kInfinity}, {-3.0F, 2.0F}}));
}

// (2^63 + 1) * 2 wraps to 2.
TEST(RangeOfSlices, RefusesLengthsWhoseProductWraps) {
  constexpr std::size_t kHalf = SIZE_MAX / 2 + 1;
  const std::vector<float> x(2, 1.0F);
  std::vector<Range> ranges(2, {1.0F, 2.0F});
  for (const Granularity g : {Granularity{kHalf + 1, 2, 1}, Granularity{1, 2, kHalf + 1}}) {
    EXPECT_EQ(range(x, g, NonFinite::kThrow, ranges), Status::kShapeMismatch);
  }
  EXPECT_EQ(range({}, {kHalf, 2, 1}, NonFinite::kThrow, ranges), Status::kShapeMismatch);
  EXPECT_TRUE(same_ranges(ranges, std::vector<Range>(2, {1.0F, 2.0F})));
}

TEST(RangeOfSlices, RefusesLengthsThatDoNotFit) {
  const std::vector<float> x(6, 1.0F);
  std::vector<Range> ranges(3);
  EXPECT_EQ(range(x, {1, 2, 3}, NonFinite::kThrow, ranges), Status::kShapeMismatch);
  EXPECT_EQ(range(x, {1, 3, 3}, NonFinite::kThrow, ranges), Status::kShapeMismatch);
  EXPECT_EQ(range(x, {1, 3, 1}, NonFinite::kThrow, ranges), Status::kShapeMismatch);
}

// One value more than all slices hold; and a value if slices hold none.
TEST(RangeOfSlices, RefusesValuesThatAreLeftOver) {
  const std::vector<float> x(7, 1.0F);
  for (const Granularity g : {Granularity{2, 1, 3}, Granularity{1, 2, 3}, Granularity{0, 1, 7},
                              Granularity{7, 0, 1}, Granularity{1, 7, 0}}) {
    std::vector<Range> ranges(g.slices, {1.0F, 2.0F});
    EXPECT_EQ(range(x, g, NonFinite::kKeep, ranges), Status::kShapeMismatch);
    EXPECT_TRUE(same_ranges(ranges, std::vector<Range>(g.slices, {1.0F, 2.0F})));
  }
}

TEST(RangeOfSlices, RefusesNanAndInfinitiesWhenTheyThrow) {
  for (const float value : {kNan, kInfinity, -kInfinity}) {
    for (const Granularity g : {Granularity{1, 1, 12}, Granularity{2, 3, 2}, Granularity{1, 3, 4},
                                Granularity{4, 3, 1}}) {
      for (std::size_t at = 0; at < 12; ++at) {
        std::vector<float> x(12, 1.0F);
        x[at] = value;
        EXPECT_EQ(status_of(x, g, NonFinite::kThrow), Status::kNonFinite) << value << " at " << at;
      }
    }
  }
}

TEST(RangeOfSlices, SkipsNanAndInfinitiesWhenTheyAreIgnored) {
  const float x[] = {kNan, 2.0F, -kInfinity, 3.0F, kInfinity, -4.0F};
  EXPECT_TRUE(same_ranges(ranges_of(x, {1, 3, 2}, NonFinite::kIgnore),
                          {{2.0F, 2.0F}, {3.0F, 3.0F}, {-4.0F, -4.0F}}));
}

TEST(RangeOfSlices, IsEmptyIfNonFiniteValuesAreIgnoredAndNoOthersExist) {
  const float x[] = {kNan, 2.0F, -kInfinity, 3.0F, kInfinity, -4.0F};
  EXPECT_EQ(status_of(x, {3, 2, 1}, NonFinite::kIgnore), Status::kEmpty);
  const float y[] = {1.0F, 2.0F, kNan, kInfinity};
  EXPECT_EQ(status_of(y, {1, 2, 2}, NonFinite::kIgnore), Status::kEmpty);
}

TEST(RangeOfSlices, KeepsNanAndInfinitiesAsValuesWhenAsked) {
  const float x[] = {kNan, 2.0F, -kInfinity, 3.0F, 1.0F, kInfinity, -1.0F, -2.0F};
  EXPECT_TRUE(same_ranges(ranges_of(x, {1, 4, 2}, NonFinite::kKeep),
                          {{kNan, kNan}, {-kInfinity, 3.0F}, {1.0F, kInfinity}, {-2.0F, -1.0F}}));
}

// Expected ranges, from a loop over all elements.
std::vector<Range> naive_ranges(std::span<const float> x, const Granularity& g,
                                NonFinite non_finite) {
  std::vector<Range> ranges(g.slices, {kInfinity, -kInfinity});
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t slice =
        g.row == 0 ? i / g.inner % g.slices : reference::group_at(i, g.row, g.inner);
    Range& range = ranges[slice];
    if (non_finite == NonFinite::kIgnore && !std::isfinite(x[i])) continue;
    if (std::isnan(x[i])) {
      range = {kNan, kNan};
    } else if (!std::isnan(range.min)) {
      range = {std::fmin(range.min, x[i]), std::fmax(range.max, x[i])};
    }
  }
  return ranges;
}

void expect_naive_ranges(std::span<const float> x, const Granularity& g) {
  bool finite = true;
  for (const float value : x) finite = finite && std::isfinite(value);
  if (g.slices == 0) return;
  EXPECT_EQ(status_of(x, g, NonFinite::kThrow), finite ? Status::kOk : Status::kNonFinite);
  EXPECT_TRUE(same_ranges(ranges_of(x, g, NonFinite::kKeep), naive_ranges(x, g, NonFinite::kKeep)));
  const std::vector<Range> expected = naive_ranges(x, g, NonFinite::kIgnore);
  bool empty = false;
  for (const Range& range : expected) empty = empty || range.min > range.max;
  if (empty) {
    EXPECT_EQ(status_of(x, g, NonFinite::kIgnore), Status::kEmpty);
  } else {
    EXPECT_TRUE(same_ranges(ranges_of(x, g, NonFinite::kIgnore), expected));
  }
}

TEST(RangeOfSlices, MatchesAScanOfEveryElement) {
  Random random(33);
  int cuts = 0;
  for (int round = 0; round < 400; ++round) {
    ShapeVector shape = random_shape(random);
    // Also more channels than the core takes at a time.
    if (random.below(3) == 0) shape.push_back(static_cast<std::uint32_t>(1 + random.below(40)));
    const std::size_t count = count_of(shape);
    if (count == 0) continue;
    std::vector<float> x = random.uniforms(count, -5.0F, 5.0F);
    if (random.below(2) == 0) {
      x[random.below(count)] = kSpecialFloats[random.below(kSpecialFloats.size())];
      x[random.below(count)] = kSpecialFloats[random.below(kSpecialFloats.size())];
    }
    Granularity g;
    ASSERT_EQ(per_tensor(shape, g), Status::kOk);
    expect_naive_ranges(x, g);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      ASSERT_EQ(per_channel(shape, static_cast<std::int32_t>(axis), g), Status::kOk);
      expect_naive_ranges(x, g);
      ++cuts;
    }
    for (std::uint32_t size = 1; !shape.empty() && size <= shape.back(); ++size) {
      ASSERT_EQ(per_group(shape, size, g), Status::kOk);
      expect_naive_ranges(x, g);
      ++cuts;
    }
  }
  EXPECT_GT(cuts, 4000);
}

}  // namespace
}  // namespace zeropoint
