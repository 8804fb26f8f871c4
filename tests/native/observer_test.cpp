#include "zeropoint/observer.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <vector>

#include "compare.h"
#include "core/fma.h"
#include "random.h"

namespace zeropoint {
namespace {

using testing::kInfinity;
using testing::kNan;
using testing::kSmallest;
using testing::Output;
using testing::Random;

void expect_range(Range actual, Range expected) {
  EXPECT_PRED2(testing::same_value<float>, actual.min, expected.min);
  EXPECT_PRED2(testing::same_value<float>, actual.max, expected.max);
}

// ---- update_min_max

TEST(UpdateMinMax, WidensEachSliceSeparately) {
  std::vector<Range> state = {{-1.0F, 1.0F}, {0.0F, 5.0F}};
  ASSERT_EQ(update_min_max(std::vector<Range>{{-2.0F, 0.5F}, {1.0F, 6.0F}}, state), Status::kOk);
  expect_range(state[0], {-2.0F, 1.0F});
  expect_range(state[1], {0.0F, 6.0F});
}

TEST(UpdateMinMax, TakesTheFirstBatchIntoAnEmptyRange) {
  std::vector<Range> state = {{kInfinity, -kInfinity}};
  ASSERT_EQ(update_min_max(std::vector<Range>{{3.0F, 4.0F}}, state), Status::kOk);
  expect_range(state[0], {3.0F, 4.0F});
}

TEST(UpdateMinMax, KeepsNanFromEitherSide) {
  std::vector<Range> state = {{kNan, kNan}, {-1.0F, 1.0F}};
  ASSERT_EQ(update_min_max(std::vector<Range>{{-1.0F, 1.0F}, {kNan, kNan}}, state), Status::kOk);
  expect_range(state[0], {kNan, kNan});
  expect_range(state[1], {kNan, kNan});
}

TEST(UpdateMinMax, RefusesABatchOfAnotherLength) {
  std::vector<Range> state = {{-1.0F, 1.0F}};
  EXPECT_EQ(update_min_max(std::vector<Range>(2), state), Status::kShapeMismatch);
  expect_range(state[0], {-1.0F, 1.0F});
}

// ---- update_moving_average

TEST(UpdateMovingAverage, MovesByTheConstantTimesTheDifference) {
  std::vector<Range> state = {{-1.0F, 1.0F}};
  ASSERT_EQ(update_moving_average(std::vector<Range>{{-3.0F, 2.0F}}, 0.25, state), Status::kOk);
  expect_range(state[0], {-1.5F, 1.25F});
}

TEST(UpdateMovingAverage, RoundsEveryOperationToFloat32) {
  const volatile float c = 0.01F;
  const volatile float difference = 0.3F - 0.7F;
  const volatile float step = c * difference;
  std::vector<Range> state = {{0.7F, 0.7F}};
  ASSERT_EQ(update_moving_average(std::vector<Range>{{0.3F, 0.3F}}, 0.01, state), Status::kOk);
  expect_range(state[0], {0.7F + step, 0.7F + step});
}

TEST(UpdateMovingAverage, RefusesABatchOfAnotherLength) {
  std::vector<Range> state = {{-1.0F, 1.0F}};
  EXPECT_EQ(update_moving_average({}, 0.01, state), Status::kShapeMismatch);
  expect_range(state[0], {-1.0F, 1.0F});
}

// ---- calculate_qparams

struct Calculated {
  Status status;
  float scale;
  std::int32_t zero_point;
};

Calculated calculate(Range range, const ObserverOptions& options) {
  Calculated result{Status::kOk, 0.0F, 0};
  result.status =
      calculate_qparams({&range, 1}, options, {&result.scale, 1}, {&result.zero_point, 1});
  return result;
}

TEST(CalculateQParams, MapsAnAffineRangeOntoAllCodes) {
  const Calculated result = calculate({-1.0F, 2.0F}, {});
  EXPECT_EQ(result.scale, 3.0F / 255.0F);
  EXPECT_EQ(result.zero_point, 85);
}

TEST(CalculateQParams, WidensTheRangeToZero) {
  EXPECT_EQ(calculate({2.0F, 5.1F}, {}).scale, 5.1F / 255.0F);
  EXPECT_EQ(calculate({2.0F, 5.1F}, {}).zero_point, 0);
  EXPECT_EQ(calculate({-5.1F, -2.0F}, {}).scale, 5.1F / 255.0F);
  EXPECT_EQ(calculate({-5.1F, -2.0F}, {}).zero_point, 255);
}

TEST(CalculateQParams, DividesASymmetricRangeByHalfTheSteps) {
  const ObserverOptions options = {QScheme::kSymmetric, -128, 127};
  EXPECT_EQ(calculate({-1.0F, 2.0F}, options).scale, 2.0F / 127.5F);
  EXPECT_EQ(calculate({-3.0F, 2.0F}, options).scale, 3.0F / 127.5F);
  EXPECT_EQ(calculate({-3.0F, 2.0F}, options).zero_point, 0);
}

TEST(CalculateQParams, TakesTheGivenZeroPointForTheSymmetricScheme) {
  const ObserverOptions options = {QScheme::kSymmetric, 0, 255, 0x1p-23F, 128};
  EXPECT_EQ(calculate({-1.0F, 2.0F}, options).zero_point, 128);
}

TEST(CalculateQParams, RaisesSmallScalesToEps) {
  const ObserverOptions affine = {QScheme::kAffine, 0, 255, 0.01F};
  const ObserverOptions symmetric = {QScheme::kSymmetric, -128, 127, 0.01F};
  EXPECT_EQ(calculate({-0.1F, 0.1F}, affine).scale, 0.01F);
  EXPECT_EQ(calculate({-0.1F, 0.1F}, affine).zero_point, 10);
  EXPECT_EQ(calculate({-0.1F, 0.1F}, symmetric).scale, 0.01F);
  EXPECT_EQ(calculate({0.0F, 0.0F}, {}).scale, 0x1p-23F);
}

TEST(CalculateQParams, RoundsZeroPointsHalfToEven) {
  const ObserverOptions options = {QScheme::kAffine, 0, 4};
  EXPECT_EQ(calculate({-0.5F, 3.5F}, options).zero_point, 0);
  EXPECT_EQ(calculate({-1.5F, 2.5F}, options).zero_point, 2);
  EXPECT_EQ(calculate({-2.5F, 1.5F}, options).zero_point, 2);
}

TEST(CalculateQParams, ChoosesForEachRangeSeparately) {
  const std::vector<Range> ranges = {{0.0F, 255.0F}, {-255.0F, 0.0F}, {-127.5F, 127.5F}};
  std::vector<float> scales(3);
  std::vector<std::int32_t> zero_points(3);
  ASSERT_EQ(calculate_qparams(ranges, {}, scales, zero_points), Status::kOk);
  EXPECT_EQ(scales, (std::vector<float>{1.0F, 1.0F, 1.0F}));
  EXPECT_EQ(zero_points, (std::vector<std::int32_t>{0, 255, 128}));
}

TEST(CalculateQParams, LeavesOutputsUntouchedUnlessEveryRangeIsOrdered) {
  for (const Range wrong :
       {Range{kNan, kNan}, Range{0.0F, kNan}, Range{1.0F, 0.0F}, Range{kInfinity, -kInfinity}}) {
    const std::vector<Range> ranges = {{0.0F, 1.0F}, wrong};
    Output<float> scales(2);
    Output<std::int32_t> zero_points(2);
    EXPECT_EQ(calculate_qparams(ranges, {}, scales.span(), zero_points.span()), Status::kNonFinite);
    EXPECT_TRUE(scales.untouched());
    EXPECT_TRUE(zero_points.untouched());
  }
}

TEST(CalculateQParams, RefusesOutputsOfAnotherLength) {
  const std::vector<Range> ranges = {{0.0F, 1.0F}};
  std::vector<float> scales(2);
  std::vector<std::int32_t> zero_points(1);
  EXPECT_EQ(calculate_qparams(ranges, {}, scales, zero_points), Status::kShapeMismatch);
  scales.resize(1);
  zero_points.clear();
  EXPECT_EQ(calculate_qparams(ranges, {}, scales, zero_points), Status::kShapeMismatch);
}

TEST(CalculateQParams, RefusesTheSchemeOfFloatZeroPoints) {
  EXPECT_EQ(calculate({0.0F, 1.0F}, {QScheme::kFloatQParams}).status, Status::kUnsupportedDType);
}

TEST(CalculateFloatQParams, DoesNotWidenTheRangeToZero) {
  const std::vector<Range> ranges = {{2.0F, 257.0F}, {-1.0F, 254.0F}};
  std::vector<float> scales(2);
  std::vector<float> zero_points(2);
  ASSERT_EQ(calculate_float_qparams(ranges, {QScheme::kFloatQParams}, scales, zero_points),
            Status::kOk);
  EXPECT_EQ(scales, (std::vector<float>{1.0F, 1.0F}));
  EXPECT_EQ(zero_points, (std::vector<float>{-2.0F, 1.0F}));
}

TEST(CalculateFloatQParams, TakesScale1IfTheScaleIsNotAboveEps) {
  const ObserverOptions options = {QScheme::kFloatQParams, 0, 255, 0.5F};
  const std::vector<Range> ranges = {{3.0F, 3.0F}, {0.0F, 127.5F}, {0.0F, 510.0F}};
  std::vector<float> scales(3);
  std::vector<float> zero_points(3);
  ASSERT_EQ(calculate_float_qparams(ranges, options, scales, zero_points), Status::kOk);
  EXPECT_EQ(scales, (std::vector<float>{1.0F, 1.0F, 2.0F}));
  EXPECT_EQ(zero_points[0], -3.0F);
}

TEST(CalculateFloatQParams, RefusesOutputsOfAnotherLength) {
  const std::vector<Range> ranges = {{0.0F, 1.0F}};
  std::vector<float> one(1);
  std::vector<float> two(2);
  EXPECT_EQ(calculate_float_qparams(ranges, {}, two, one), Status::kShapeMismatch);
  EXPECT_EQ(calculate_float_qparams(ranges, {}, one, two), Status::kShapeMismatch);
}

TEST(CalculateFloatQParams, LeavesOutputsUntouchedForNan) {
  const std::vector<Range> ranges = {{0.0F, 1.0F}, {kNan, kNan}};
  Output<float> scales(2);
  Output<float> zero_points(2);
  EXPECT_EQ(calculate_float_qparams(ranges, {}, scales.span(), zero_points.span()),
            Status::kNonFinite);
  EXPECT_TRUE(scales.untouched());
  EXPECT_TRUE(zero_points.untouched());
}

TEST(CalculateQParams, RefusesAMinimumCodeAboveTheMaximum) {
  for (const QScheme qscheme : {QScheme::kAffine, QScheme::kSymmetric}) {
    EXPECT_EQ(calculate({-1.0F, 2.0F}, {qscheme, 5, -5}).status, Status::kInvalidZeroPoint);
  }
  const Range range{-1.0F, 2.0F};
  Output<float> scales(1);
  Output<float> zero_points(1);
  EXPECT_EQ(calculate_float_qparams({&range, 1}, {QScheme::kFloatQParams, 5, -5}, scales.span(),
                                    zero_points.span()),
            Status::kInvalidZeroPoint);
  EXPECT_TRUE(scales.untouched());
  EXPECT_TRUE(zero_points.untouched());
}

// ---- fused_multiply_add

// (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24 lies halfway between two float32. The addend decides between
// them, but a sum in double loses it.
TEST(FusedMultiplyAdd, RoundsOnce) {
  constexpr float kFactor = 1.0F + 0x1p-12F;
  constexpr float kBelow = 1.0F + 0x1p-11F;
  constexpr float kAbove = kBelow + 0x1p-23F;
  EXPECT_EQ(fused_multiply_add(kFactor, kFactor, 0.0F), kBelow);
  EXPECT_EQ(fused_multiply_add(kFactor, kFactor, 0x1p-80F), kAbove);
  EXPECT_EQ(fused_multiply_add(kFactor, kFactor, -0x1p-80F), kBelow);
  EXPECT_EQ(fused_multiply_add(-kFactor, kFactor, -0x1p-80F), -kAbove);
  EXPECT_EQ(fused_multiply_add(-kFactor, kFactor, 0x1p-80F), -kBelow);
  // The last bit of the sum in double is already 1, and the sum 2^-52 above the middle.
  EXPECT_EQ(fused_multiply_add(kFactor, kFactor, 0x1p-52F * (1.0F - 0x1p-24F)), kAbove);
}

TEST(FusedMultiplyAdd, IsFmaForValuesOfAllMagnitudes) {
  Random random(60);
  for (int round = 0; round < 100000; ++round) {
    const float a = random.spread(-40, 40);
    const float b = random.spread(-40, 40);
    const float c = random.spread(-80, 80);
    ASSERT_EQ(fused_multiply_add(a, b, c), std::fma(a, b, c)) << a << " * " << b << " + " << c;
  }
}

// ---- histogram

using Bins = std::vector<std::uint32_t>;

TEST(CountIntoBins, DoesNotCountValuesOutside) {
  Bins counts(4);
  const std::vector<float> x = {-0.1F, 0.0F, 0.9F, 1.0F, 3.9F, 4.0F, 4.1F, kNan, kInfinity};
  ASSERT_EQ(count_into_bins(x, 0.0F, 4.0F, counts), Status::kOk);
  EXPECT_EQ(counts, (Bins{2, 1, 0, 2}));
}

TEST(CountIntoBins, AddsToTheCountsOfEarlierPieces) {
  Bins counts(2);
  ASSERT_EQ(count_into_bins(std::vector<float>{0.0F, 2.0F}, 0.0F, 2.0F, counts), Status::kOk);
  ASSERT_EQ(count_into_bins(std::vector<float>{2.0F}, 0.0F, 2.0F, counts), Status::kOk);
  EXPECT_EQ(counts, (Bins{1, 2}));
}

TEST(CountIntoBins, WidensARangeOfOneValueByOneOnEitherSide) {
  Bins counts(4);
  ASSERT_EQ(count_into_bins(std::vector<float>{5.0F, 4.0F, 6.0F, 3.9F}, 5.0F, 5.0F, counts),
            Status::kOk);
  EXPECT_EQ(counts, (Bins{1, 0, 1, 1}));
}

TEST(CountIntoBins, CountsNothingWhereTheRangesWidthOverflows) {
  Bins counts(4);
  ASSERT_EQ(count_into_bins(std::vector<float>{0.0F, 1.0F}, -FLT_MAX, FLT_MAX, counts),
            Status::kOk);
  EXPECT_EQ(counts, (Bins{0, 0, 0, 0}));
}

TEST(CountIntoBins, CountsOverflowOfTheProductAloneInTheFirstBin) {
  Bins counts(4);
  ASSERT_EQ(count_into_bins(std::vector<float>{FLT_MAX}, 0.0F, FLT_MAX, counts), Status::kOk);
  EXPECT_EQ(counts, (Bins{1, 0, 0, 0}));
}

TEST(CountIntoBins, RefusesARangeThatIsNotFinite) {
  Bins counts(2);
  const std::vector<float> x = {0.0F};
  EXPECT_EQ(count_into_bins(x, kNan, kNan, counts), Status::kNonFinite);
  EXPECT_EQ(count_into_bins(x, 0.0F, kInfinity, counts), Status::kNonFinite);
  EXPECT_EQ(count_into_bins(x, -kInfinity, 0.0F, counts), Status::kNonFinite);
  EXPECT_EQ(counts, (Bins{0, 0}));
}

TEST(ToHistogram, StopsAt2ToThe24) {
  const Bins counts = {0, 1, 16777215, 16777216, 16777217, UINT32_MAX};
  std::vector<float> histogram(counts.size());
  ASSERT_EQ(to_histogram(counts, histogram), Status::kOk);
  EXPECT_EQ(histogram,
            (std::vector<float>{0.0F, 1.0F, 16777215.0F, 16777216.0F, 16777216.0F, 16777216.0F}));
}

TEST(ToHistogram, RefusesAnotherNumberOfBins) {
  std::vector<float> histogram(3);
  EXPECT_EQ(to_histogram(Bins(2), histogram), Status::kShapeMismatch);
}

TEST(MergeHistogram, AddsBinByBinWhereTheRangeStays) {
  std::vector<float> held = {1.0F, 2.0F};
  std::vector<float> scratch(histogram_scratch(2));
  ASSERT_EQ(
      merge_histogram(std::vector<float>{3.0F, 4.0F}, {0.0F, 2.0F}, held, {0.0F, 2.0F}, scratch),
      Status::kOk);
  EXPECT_EQ(held, (std::vector<float>{4.0F, 6.0F}));
}

// Four bins of 0 .. 4 become two of 0 .. 8, with nothing in the other two.
TEST(MergeHistogram, SpreadsOldBinsOverTheWidenedRange) {
  std::vector<float> held = {1.0F, 2.0F, 4.0F, 8.0F};
  std::vector<float> scratch(histogram_scratch(4));
  ASSERT_EQ(merge_histogram(std::vector<float>(4), {0.0F, 8.0F}, held, {0.0F, 4.0F}, scratch),
            Status::kOk);
  EXPECT_EQ(held, (std::vector<float>{3.0F, 12.0F, 0.0F, 0.0F}));
}

TEST(MergeHistogram, GivesAHeldSingleValueTheCountOfTheBatch) {
  std::vector<float> held = {0.0F, 0.0F, 9.0F, 0.0F};
  std::vector<float> scratch(histogram_scratch(4));
  ASSERT_EQ(merge_histogram(std::vector<float>{1.0F, 1.0F, 0.0F, 1.0F}, {0.0F, 4.0F}, held,
                            {2.5F, 2.5F}, scratch),
            Status::kOk);
  EXPECT_EQ(held, (std::vector<float>{1.0F, 1.0F, 3.0F, 1.0F}));
}

// If the width of the range overflows float32, torch.histc counts nothing.
TEST(MergeHistogram, DropsASingleValueIfTheRangeOverflows) {
  std::vector<float> held = {9.0F, 0.0F};
  std::vector<float> scratch(histogram_scratch(2));
  ASSERT_EQ(merge_histogram(std::vector<float>{1.0F, 2.0F}, {-3e38F, 3e38F}, held, {3e38F, 3e38F},
                            scratch),
            Status::kOk);
  EXPECT_EQ(held, (std::vector<float>{1.0F, 2.0F}));
}

// (3e38 - 0) * 2 is infinite, and so is the position: torch.histc counts it in the first bin.
TEST(MergeHistogram, PutsASingleValueWhosePositionOverflowsIntoTheFirstBin) {
  std::vector<float> held = {0.0F, 9.0F};
  std::vector<float> scratch(histogram_scratch(2));
  ASSERT_EQ(
      merge_histogram(std::vector<float>{1.0F, 2.0F}, {0.0F, 3e38F}, held, {3e38F, 3e38F}, scratch),
      Status::kOk);
  EXPECT_EQ(held, (std::vector<float>{4.0F, 2.0F}));
}

// In units of 2^-149 a fifth of the range 0 .. 3 rounds to 1, so the six edges are 0 1 2 1 2 3. The
// 80 parts of 0 .. 1 begin at 40 zeros and 40 ones. The zeros go to the first bin. For the ones,
// binary search compares with the fourth edge, 1, and the fifth, 2, and so finds the fourth bin.
TEST(MergeHistogram, SearchesEdgesThatDoNotAscendAsBinarySearchDoes) {
  std::vector<float> held(5, 16.0F);
  std::vector<float> scratch(histogram_scratch(5));
  ASSERT_EQ(merge_histogram(std::vector<float>(5), {0.0F, 3 * kSmallest}, held, {0.0F, kSmallest},
                            scratch),
            Status::kOk);
  EXPECT_EQ(held, (std::vector<float>{40.0F, 0.0F, 0.0F, 40.0F, 0.0F}));
}

// In units of 2^-149 a 32nd of the range 0 .. 17 rounds to 1, so the middles of the parts are
// 0 .. 15, counted from the left end, and 1 .. 16, counted from the right end. Middles below the
// edge 9 go to the first bin: 9 of the first half, 8 of the second.
TEST(MergeHistogram, StepsBackWherePartsDoNotAscend) {
  std::vector<float> held = {16.0F, 16.0F};
  std::vector<float> scratch(histogram_scratch(2));
  ASSERT_EQ(merge_histogram(std::vector<float>(2), {0.0F, 18 * kSmallest}, held,
                            {0.0F, 17 * kSmallest}, scratch),
            Status::kOk);
  EXPECT_EQ(held, (std::vector<float>{17.0F, 15.0F}));
}

// Edges and middles are infinite or NaN, and no edge is beyond a middle.
TEST(MergeHistogram, PutsAllIntoTheLastBinIfTheHeldRangeOverflows) {
  std::vector<float> held = {16.0F, 16.0F};
  std::vector<float> scratch(histogram_scratch(2));
  ASSERT_EQ(
      merge_histogram(std::vector<float>(2), {-3.2e38F, 3.2e38F}, held, {-3e38F, 3e38F}, scratch),
      Status::kOk);
  EXPECT_EQ(held, (std::vector<float>{0.0F, 32.0F}));
}

TEST(MergeHistogram, RefusesOtherBinsAndTooLittleScratch) {
  std::vector<float> held = {1.0F, 2.0F};
  std::vector<float> scratch(histogram_scratch(2));
  EXPECT_EQ(merge_histogram(std::vector<float>(3), {0.0F, 1.0F}, held, {0.0F, 1.0F}, scratch),
            Status::kShapeMismatch);
  scratch.pop_back();
  EXPECT_EQ(merge_histogram(std::vector<float>(2), {0.0F, 1.0F}, held, {0.0F, 1.0F}, scratch),
            Status::kShapeMismatch);
  EXPECT_EQ(held, (std::vector<float>{1.0F, 2.0F}));
}

TEST(MergeHistogram, TakesHistogramsWithoutBins) {
  std::vector<float> scratch(histogram_scratch(0));
  EXPECT_EQ(merge_histogram({}, {0.0F, 2.0F}, {}, {0.0F, 1.0F}, scratch), Status::kOk);
}

TEST(MergeHistogram, RefusesRangesThatAreNotFinite) {
  std::vector<float> held = {1.0F, 2.0F};
  std::vector<float> scratch(histogram_scratch(2));
  const std::vector<float> batch(2);
  EXPECT_EQ(merge_histogram(batch, {0.0F, kInfinity}, held, {0.0F, 1.0F}, scratch),
            Status::kNonFinite);
  EXPECT_EQ(merge_histogram(batch, {0.0F, 1.0F}, held, {kNan, kNan}, scratch), Status::kNonFinite);
  EXPECT_EQ(held, (std::vector<float>{1.0F, 2.0F}));
}

TEST(MergeHistogram, RefusesAHeldRangeBeyondTheBatchs) {
  std::vector<float> held = {1.0F, 2.0F};
  std::vector<float> scratch(histogram_scratch(2));
  const std::vector<float> batch(2);
  for (const Range range :
       {Range{-9.0F, -9.0F}, Range{-1.0F, 1.0F}, Range{1.0F, 3.0F}, Range{1.5F, 0.5F}}) {
    EXPECT_EQ(merge_histogram(batch, {0.0F, 2.0F}, held, range, scratch), Status::kShapeMismatch);
  }
  EXPECT_EQ(held, (std::vector<float>{1.0F, 2.0F}));
}

// ---- search_histogram

TEST(SearchHistogram, NarrowsARangeThatOneFarValueStretches) {
  std::vector<float> histogram(2048);
  for (std::size_t i = 0; i < 512; ++i) histogram[i] = 1000.0F;
  histogram.back() = 1.0F;
  std::vector<float> scratch(histogram_scratch(histogram.size()));
  Range found{};
  ASSERT_EQ(search_histogram(histogram, {0.0F, 2048.0F}, 256.0, scratch, found), Status::kOk);
  EXPECT_GE(found.min, 0.0F);
  EXPECT_LE(found.min, 16.0F);
  EXPECT_GE(found.max, 496.0F);
  EXPECT_LE(found.max, 520.0F);
}

// Bins to the left of the kept range are clamped to the lowest code.
TEST(SearchHistogram, NarrowsARangeThatOneFarValueStretchesToTheLeft) {
  std::vector<float> histogram(2048);
  for (std::size_t i = 2048 - 512; i < 2048; ++i) histogram[i] = 1000.0F;
  histogram.front() = 1.0F;
  std::vector<float> scratch(histogram_scratch(histogram.size()));
  Range found{};
  ASSERT_EQ(search_histogram(histogram, {0.0F, 2048.0F}, 256.0, scratch, found), Status::kOk);
  EXPECT_GE(found.min, 1528.0F);
  EXPECT_LE(found.min, 1552.0F);
  EXPECT_GE(found.max, 2032.0F);
  EXPECT_LE(found.max, 2048.0F);
}

Range search(const std::vector<float>& histogram, double levels) {
  std::vector<float> scratch(histogram_scratch(histogram.size()));
  Range found{};
  const auto bins = static_cast<float>(histogram.size());
  EXPECT_EQ(search_histogram(histogram, {0.0F, bins}, levels, scratch, found), Status::kOk);
  return found;
}

// The first quantile of the right side removes the last bin, because the mass of all bins exceeds
// it. The next bin to remove would be the one of 1000; the error would rise, so the search ends.
TEST(SearchHistogram, NarrowsTheRightSideOnTies) {
  expect_range(search({1.0F, 1000.0F, 1.0F}, 4.0), {0.0F, 2.0F});
}

// The right quantile equals the mass of the first two bins, so the second bin is kept.
TEST(SearchHistogram, KeepsABinThatEndsAtItsQuantile) {
  expect_range(search({50000.0F, 49999.0F, 1.0F}, 256.0), {0.0F, 2.0F});
}

// For such a short range, squares are 0 in float32, and so is the error of every part of it. The
// right side, narrowed on ties, ends at the first bin.
TEST(SearchHistogram, ContinuesWhileTheErrorDoesNotRise) {
  const std::vector<float> histogram(4, 1.0F);
  std::vector<float> scratch(histogram_scratch(histogram.size()));
  Range found{};
  ASSERT_EQ(search_histogram(histogram, {0.0F, 0x1p-64F}, 256.0, scratch, found), Status::kOk);
  expect_range(found, {0.0F, 0x1p-66F});
}

TEST(SearchHistogram, RefusesNoBins) {
  Range found = {-7.0F, 7.0F};
  std::vector<float> scratch(1);
  EXPECT_EQ(search_histogram({}, {0.0F, 1.0F}, 256.0, scratch, found), Status::kEmpty);
  expect_range(found, {-7.0F, 7.0F});
}

TEST(SearchHistogram, RefusesLessThanOneLevel) {
  const std::vector<float> histogram(4, 1.0F);
  std::vector<float> scratch(histogram_scratch(4));
  Range found = {-7.0F, 7.0F};
  for (const double levels : {0.0, -1.0, 0.5, static_cast<double>(kNan)}) {
    EXPECT_EQ(search_histogram(histogram, {0.0F, 1.0F}, levels, scratch, found),
              Status::kInvalidZeroPoint);
  }
  expect_range(found, {-7.0F, 7.0F});
}

TEST(SearchHistogram, RefusesTooLittleScratch) {
  const std::vector<float> histogram(4, 1.0F);
  std::vector<float> scratch(histogram_scratch(4) - 1);
  Range found = {-7.0F, 7.0F};
  EXPECT_EQ(search_histogram(histogram, {0.0F, 1.0F}, 256.0, scratch, found),
            Status::kShapeMismatch);
  expect_range(found, {-7.0F, 7.0F});
}

}  // namespace
}  // namespace zeropoint
