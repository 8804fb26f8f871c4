#include "zeropoint/qparams.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <span>
#include <vector>

#include "compare.h"
#include "tensors.h"

namespace zeropoint {
namespace {

using testing::count_of;
using testing::kInfinity;
using testing::kNan;
using testing::kSmallest;
using testing::Output;
using testing::per_tensor_qparams;
using testing::QParamsTensor;
using testing::Random;
using testing::random_shape;
using testing::same;
using testing::ShapeVector;

constexpr float kNotebook[] = {191.6F,  -13.5F, 728.6F, 92.14F, 295.5F,
                               -184.0F, 0.0F,   684.6F, 245.5F};

constexpr DType kAllDTypes[] = {DType::kInt2,  DType::kInt4,   DType::kInt8,
                                DType::kUint2, DType::kUint4,  DType::kUint8,
                                DType::kInt16, DType::kUint16, DType::kInt32};

constexpr QParamsOptions symmetric(DType dtype) { return {dtype, Scheme::kSymmetric, true}; }
constexpr QParamsOptions affine(DType dtype) { return {dtype, Scheme::kAffine, true}; }
constexpr QParamsOptions notebook_affine(DType dtype) { return {dtype, Scheme::kAffine, false}; }

void expect_qparams(Range range, const QParamsOptions& options, double scale,
                    std::int32_t zero_point) {
  QParams qparams{};
  EXPECT_EQ(choose_qparams(range, options, qparams), Status::kOk);
  EXPECT_EQ(qparams.scale, scale);
  EXPECT_EQ(qparams.zero_point, zero_point);
}

void expect_refused(Range range, const QParamsOptions& options, Status status) {
  QParams qparams{12.0, 34};
  EXPECT_EQ(choose_qparams(range, options, qparams), status);
  EXPECT_EQ(qparams.scale, 12.0) << "the scale was written";
  EXPECT_EQ(qparams.zero_point, 34) << "the zero point was written";
}

// ---- from a range

TEST(ChooseQParams, SymmetricDividesTheLargestMagnitudeByQmax) {
  expect_qparams({-254.0F, 100.0F}, symmetric(DType::kInt8), 2.0, 0);
  expect_qparams({-100.0F, 254.0F}, symmetric(DType::kInt8), 2.0, 0);
  expect_qparams({-3.0F, 14.0F}, symmetric(DType::kInt4), 2.0, 0);
  expect_qparams({-3.0F, 2.0F}, symmetric(DType::kInt2), 3.0, 0);
  expect_qparams({0.0F, 32767.0F}, symmetric(DType::kInt16), 1.0, 0);
  expect_qparams({-1.0F, 1.0F}, symmetric(DType::kInt32), 1.0 / 2147483647.0, 0);
}

TEST(ChooseQParams, SymmetricMatchesTheNotebooks) {
  expect_qparams({-184.0F, 728.6F}, symmetric(DType::kInt8), 5.737007681779035, 0);
}

TEST(ChooseQParams, AffineMatchesTheNotebooks) {
  expect_qparams({-184.0F, 728.6F}, affine(DType::kInt8), 3.578823433670343, -77);
  expect_qparams({-184.0F, 728.6F}, notebook_affine(DType::kInt8), 3.578823433670343, -77);
}

TEST(ChooseQParams, AffineMapsTheRangeOntoAllCodes) {
  expect_qparams({-1.0F, 2.0F}, affine(DType::kUint2), 1.0, 1);
  expect_qparams({-5.0F, 10.0F}, affine(DType::kInt4), 1.0, -3);
  expect_qparams({-100.0F, 410.0F}, affine(DType::kUint8), 2.0, 50);
  expect_qparams({-65535.0F, 0.0F}, affine(DType::kUint16), 1.0, 65535);
}

TEST(ChooseQParams, AffineRoundsTheZeroPointHalfToEven) {
  expect_qparams({-123.5F, 131.5F}, affine(DType::kInt8), 1.0, -4);  // -4.5
  expect_qparams({-122.5F, 132.5F}, affine(DType::kInt8), 1.0, -6);  // -5.5
}

TEST(ChooseQParams, AffineWidensTheRangeToZero) {
  expect_qparams({2.0F, 510.0F}, affine(DType::kUint8), 2.0, 0);
  expect_qparams({-510.0F, -2.0F}, affine(DType::kUint8), 2.0, 255);
}

TEST(ChooseQParams, AffineClampsTheZeroPointIfTheRangeExcludesZero) {
  expect_qparams({255.0F, 510.0F}, notebook_affine(DType::kUint8), 1.0, 0);     // -255
  expect_qparams({-510.0F, -255.0F}, notebook_affine(DType::kInt8), 1.0, 127);  // 382
}

TEST(ChooseQParams, WidensARangeOfZeroWidthEvenWithoutIncludeZero) {
  for (const bool include_zero : {false, true}) {
    const QParamsOptions options = {DType::kInt8, Scheme::kAffine, include_zero};
    expect_qparams({510.0F, 510.0F}, options, 2.0, -128);
    expect_qparams({-510.0F, -510.0F}, options, 2.0, 127);
  }
}

TEST(ChooseQParams, GivesScale1AndZeroPoint0ForZeros) {
  for (const DType dtype : kAllDTypes) {
    for (const Range zeros : {Range{0.0F, 0.0F}, Range{-0.0F, 0.0F}, Range{-0.0F, -0.0F}}) {
      expect_qparams(zeros, affine(dtype), 1.0, 0);
      expect_qparams(zeros, notebook_affine(dtype), 1.0, 0);
      if (dtype_info(dtype).is_signed()) expect_qparams(zeros, symmetric(dtype), 1.0, 0);
    }
  }
}

TEST(ChooseQParams, RaisesAScaleBelowTheSmallestNormalFloat32ToIt) {
  expect_qparams({-1e-40F, 1e-40F}, symmetric(DType::kInt8), double{FLT_MIN}, 0);
  expect_qparams({-1e-40F, 1e-40F}, affine(DType::kUint8), double{FLT_MIN}, 0);
  expect_qparams({testing::kSmallest, 2 * testing::kSmallest}, notebook_affine(DType::kInt8),
                 double{FLT_MIN}, -128);
  // Just large enough to stay unchanged: 2^-126 and 2^-126 (1 + 2^-23).
  expect_qparams({0.0F, 127 * FLT_MIN}, symmetric(DType::kInt8), double{FLT_MIN}, 0);
  const float above = std::nextafter(127 * FLT_MIN, 1.0F);
  expect_qparams({0.0F, above}, symmetric(DType::kInt8), double{above} / 127, 0);
}

TEST(ChooseQParams, HoldsRangesWiderThanFloat32) {
  expect_qparams({-FLT_MAX, FLT_MAX}, affine(DType::kUint8), double{FLT_MAX} * 2 / 255, 128);
}

TEST(ChooseQParams, FollowsDynamicQuantizeLinearByTheRuleOfOnnx) {
  QParams out{};
  const auto choose = [&](Range range, DType dtype, Scheme scheme = Scheme::kAffine) {
    EXPECT_EQ(choose_qparams(range, {dtype, scheme, true, Rule::kOnnx}, out), Status::kOk);
  };
  // ONNX's node tests test_dynamicquantizelinear, _max_adjusted and _min_adjusted.
  choose({-3.0F, 2.0F}, DType::kUint8);
  EXPECT_EQ(out.scale, double{0.019607844F});
  EXPECT_EQ(out.zero_point, 153);
  choose({-4.0F, -1.0F}, DType::kUint8);
  EXPECT_EQ(out.scale, double{0.015686275F});
  EXPECT_EQ(out.zero_point, 255);
  choose({1.0F, 4.0F}, DType::kUint8);
  EXPECT_EQ(out.zero_point, 0);
  // All zero, and a scale that float32 rounds to 0.
  for (const float high : {0.0F, 1e-45F}) {
    for (const DType dtype : {DType::kInt8, DType::kUint8, DType::kInt32}) {
      choose({0.0F, high}, dtype);
      EXPECT_EQ(out.scale, 1.0);
      EXPECT_EQ(out.zero_point, 0);
    }
  }
  choose({-1.1F, 0.3F}, DType::kInt8, Scheme::kSymmetric);
  EXPECT_EQ(out.scale, double{1.1F / 127.0F});
  EXPECT_EQ(out.zero_point, 0);
  // The range of int32 ends above the largest float32 below 2^31.
  choose({-1.0F, 0.0F}, DType::kInt32);
  EXPECT_EQ(out.zero_point, INT32_MAX);
}

TEST(ChooseQParams, FollowsTheObserversByTheRuleOfTorch) {
  QParams out{};
  EXPECT_EQ(
      choose_qparams({-3.0F, 2.0F}, {DType::kUint8, Scheme::kAffine, true, Rule::kTorch}, out),
      Status::kOk);
  EXPECT_EQ(out.scale, double{5.0F / 255.0F});
  EXPECT_EQ(out.zero_point, 153);
  EXPECT_EQ(
      choose_qparams({-3.0F, 2.0F}, {DType::kInt8, Scheme::kSymmetric, true, Rule::kTorch}, out),
      Status::kOk);
  EXPECT_EQ(out.scale, double{3.0F / 127.5F});
  EXPECT_EQ(
      choose_qparams({0.0F, 0.0F}, {DType::kInt8, Scheme::kSymmetric, true, Rule::kTorch}, out),
      Status::kOk);
  EXPECT_EQ(out.scale, 0x1p-23);
}

TEST(ChooseQParams, LeavesOutputUntouchedOnNonFiniteRanges) {
  for (const Range range : {Range{kNan, kNan}, Range{-kInfinity, 1.0F}, Range{1.0F, kInfinity},
                            Range{-kInfinity, kInfinity}, Range{kInfinity, -kInfinity}}) {
    expect_refused(range, symmetric(DType::kInt8), Status::kNonFinite);
    expect_refused(range, affine(DType::kUint8), Status::kNonFinite);
    expect_refused(range, notebook_affine(DType::kUint8), Status::kNonFinite);
  }
}

TEST(ChooseQParams, LeavesOutputUntouchedOnUnsignedSymmetric) {
  for (const DType dtype : {DType::kUint2, DType::kUint4, DType::kUint8, DType::kUint16}) {
    expect_refused({-1.0F, 1.0F}, symmetric(dtype), Status::kUnsignedSymmetric);
    expect_refused({0.0F, 0.0F}, symmetric(dtype), Status::kUnsignedSymmetric);
  }
}

TEST(ChooseQParams, KeepsTheRangeWithinHalfAStepOfTheCodes) {
  Random random(40);
  for (int round = 0; round < 20000; ++round) {
    const DType dtype = kAllDTypes[random.below(std::size(kAllDTypes))];
    const DTypeInfo info = dtype_info(dtype);
    const float a = random.spread(-30, 30);
    const float b = random.spread(-30, 30);
    const Range range = {std::fmin(a, b), std::fmax(a, b)};
    QParams qparams{};
    ASSERT_EQ(choose_qparams(range, affine(dtype), qparams), Status::kOk);
    ASSERT_GE(qparams.zero_point, info.qmin);
    ASSERT_LE(qparams.zero_point, info.qmax);
    // The zero point is rounded by at most half a step; 2^-18 covers double's own rounding of
    // quotients up to 2^32.
    constexpr double kHalf = 0.5 + 0x1p-18;
    ASSERT_GE(range.min / qparams.scale + qparams.zero_point, info.qmin - kHalf) << info.name;
    ASSERT_LE(range.max / qparams.scale + qparams.zero_point, info.qmax + kHalf) << info.name;
  }
}

// ---- from values, slice by slice

struct Chosen {
  std::vector<double> scales;
  std::vector<std::int32_t> zero_points;
};

Chosen choose(std::span<const float> x, const Granularity& g, const QParamsOptions& options,
              NonFinite non_finite = NonFinite::kThrow) {
  std::vector<Range> ranges(g.slices);
  Chosen chosen{std::vector<double>(g.slices), std::vector<std::int32_t>(g.slices)};
  EXPECT_EQ(choose_qparams(x, g, non_finite, options, ranges, chosen.scales, chosen.zero_points),
            Status::kOk);
  return chosen;
}

void expect_same(const Chosen& actual, const Chosen& expected) {
  EXPECT_TRUE(same(actual.scales, expected.scales));
  EXPECT_TRUE(same(actual.zero_points, expected.zero_points));
}

void expect_slices_refused(std::span<const float> x, const Granularity& g, NonFinite non_finite,
                           const QParamsOptions& options, Status status) {
  std::vector<Range> ranges(g.slices);
  Output<double> scales(g.slices);
  Output<std::int32_t> zero_points(g.slices);
  EXPECT_EQ(choose_qparams(x, g, non_finite, options, ranges, scales.span(), zero_points.span()),
            status);
  EXPECT_TRUE(scales.untouched());
  EXPECT_TRUE(zero_points.untouched());
}

TEST(ChooseQParamsOfSlices, ChoosesForEachSliceAsForItsRange) {
  const Chosen chosen = choose(kNotebook, {1, 3, 3}, symmetric(DType::kInt8));
  const double expected[] = {double{728.6F} / 127, double{295.5F} / 127, double{684.6F} / 127};
  EXPECT_TRUE(same(chosen.scales, expected));
  EXPECT_TRUE(same(chosen.zero_points, std::vector<std::int32_t>{0, 0, 0}));

  const float two_slices[] = {-100.0F, 410.0F, 2.0F, 510.0F};
  expect_same(choose(two_slices, {1, 2, 2}, affine(DType::kUint8)), {{2.0, 2.0}, {50, 0}});
}

TEST(ChooseQParamsOfSlices, GivesASliceOfZerosScale1) {
  const float x[] = {0.0F, 0.0F, 127.0F, -254.0F};
  expect_same(choose(x, {1, 2, 2}, symmetric(DType::kInt8)), {{1.0, 2.0}, {0, 0}});
}

TEST(ChooseQParamsOfSlices, IgnoresNanAndInfinitiesWhenAsked) {
  const float x[] = {kNan, 254.0F, -kInfinity, 127.0F};
  expect_same(choose(x, {1, 2, 2}, symmetric(DType::kInt8), NonFinite::kIgnore),
              {{2.0, 1.0}, {0, 0}});
}

TEST(ChooseQParamsOfSlices, AcceptsNoSlicesAtAll) {
  EXPECT_EQ(choose_qparams({}, {1, 0, 4}, NonFinite::kThrow, symmetric(DType::kInt8), {}, {}, {}),
            Status::kOk);
}

TEST(ChooseQParamsOfSlices, LeavesOutputUntouchedOnNonFinite) {
  for (const float value : {kNan, kInfinity, -kInfinity}) {
    const float x[] = {1.0F, 2.0F, 3.0F, value};
    expect_slices_refused(x, {1, 2, 2}, NonFinite::kThrow, symmetric(DType::kInt8),
                          Status::kNonFinite);
    expect_slices_refused(x, {1, 2, 2}, NonFinite::kThrow, affine(DType::kUint8),
                          Status::kNonFinite);
  }
}

// With kKeep, the range is not finite, and no qparams fit it.
TEST(ChooseQParamsOfSlices, LeavesOutputUntouchedOnNonFiniteValuesThatAreKept) {
  for (const float value : {kNan, kInfinity, -kInfinity}) {
    const float x[] = {1.0F, 2.0F, 3.0F, value};
    expect_slices_refused(x, {1, 2, 2}, NonFinite::kKeep, symmetric(DType::kInt8),
                          Status::kNonFinite);
    expect_slices_refused(x, {1, 2, 2}, NonFinite::kKeep, affine(DType::kUint8),
                          Status::kNonFinite);
  }
}

TEST(ChooseQParamsOfSlices, LeavesOutputUntouchedOnEmptySlices) {
  expect_slices_refused({}, {1, 1, 0}, NonFinite::kThrow, symmetric(DType::kInt8), Status::kEmpty);
  expect_slices_refused({}, {0, 3, 0}, NonFinite::kThrow, affine(DType::kInt8), Status::kEmpty);
  const float x[] = {1.0F, 2.0F, kNan, kInfinity};
  expect_slices_refused(x, {1, 2, 2}, NonFinite::kIgnore, symmetric(DType::kInt8), Status::kEmpty);
}

TEST(ChooseQParamsOfSlices, LeavesOutputUntouchedOnUnsignedSymmetric) {
  const float x[] = {1.0F, 2.0F, 3.0F, 4.0F};
  expect_slices_refused(x, {1, 2, 2}, NonFinite::kThrow, symmetric(DType::kUint8),
                        Status::kUnsignedSymmetric);
  expect_slices_refused({}, {1, 0, 2}, NonFinite::kThrow, symmetric(DType::kUint8),
                        Status::kUnsignedSymmetric);
}

TEST(ChooseQParamsOfSlices, LeavesOutputUntouchedOnShapeMismatch) {
  const std::vector<float> x(6, 1.0F);
  const Granularity g = {1, 3, 2};
  std::vector<Range> ranges(4);
  Output<double> scales(4);
  Output<std::int32_t> zero_points(4);
  const auto choose_with = [&](std::size_t values, std::size_t range_count, std::size_t scale_count,
                               std::size_t zero_point_count) {
    return choose_qparams(std::span(x).first(values), g, NonFinite::kThrow, symmetric(DType::kInt8),
                          std::span(ranges).first(range_count), scales.span().first(scale_count),
                          zero_points.span().first(zero_point_count));
  };
  EXPECT_EQ(choose_with(5, 3, 3, 3), Status::kShapeMismatch);
  EXPECT_EQ(choose_with(6, 4, 3, 3), Status::kShapeMismatch);
  EXPECT_EQ(choose_with(6, 2, 3, 3), Status::kShapeMismatch);
  EXPECT_EQ(choose_with(6, 3, 4, 3), Status::kShapeMismatch);
  EXPECT_EQ(choose_with(6, 3, 2, 3), Status::kShapeMismatch);
  EXPECT_EQ(choose_with(6, 3, 3, 4), Status::kShapeMismatch);
  EXPECT_EQ(choose_with(6, 3, 3, 2), Status::kShapeMismatch);
  EXPECT_TRUE(scales.untouched());
  EXPECT_TRUE(zero_points.untouched());
  EXPECT_EQ(choose_with(6, 3, 3, 3), Status::kOk);
}

TEST(ChooseQParamsOfSlices, EqualsTheWholeTensorForOneChannelOrOneGroup) {
  Random random(41);
  for (int round = 0; round < 200; ++round) {
    const auto n = static_cast<std::uint32_t>(1 + random.below(100));
    const std::vector<float> x = random.uniforms(n, -3.0F, 5.0F);
    Granularity whole;
    Granularity channel;
    Granularity group;
    ASSERT_EQ(per_tensor(ShapeVector{1, n}, whole), Status::kOk);
    ASSERT_EQ(per_channel(ShapeVector{1, n}, 0, channel), Status::kOk);
    ASSERT_EQ(per_group(ShapeVector{1, n}, n, group), Status::kOk);
    for (const DType dtype : kAllDTypes) {
      const Chosen expected = choose(x, whole, affine(dtype));
      expect_same(choose(x, channel, affine(dtype)), expected);
      expect_same(choose(x, group, affine(dtype)), expected);
      if (!dtype_info(dtype).is_signed()) continue;
      expect_same(choose(x, channel, symmetric(dtype)), choose(x, whole, symmetric(dtype)));
      expect_same(choose(x, group, symmetric(dtype)), choose(x, whole, symmetric(dtype)));
    }
  }
}

TEST(ChooseQParamsOfSlices, ChoosesForEachSliceAsForATensor) {
  Random random(42);
  for (int round = 0; round < 200; ++round) {
    const ShapeVector shape = random_shape(random);
    const std::size_t count = count_of(shape);
    if (count == 0 || shape.empty()) continue;
    const std::vector<float> x = random.uniforms(count, -3.0F, 5.0F);
    const DType dtype = kAllDTypes[random.below(std::size(kAllDTypes))];
    Granularity g;
    const auto axis = static_cast<std::int32_t>(random.below(shape.size()));
    ASSERT_EQ(per_channel(shape, axis, g), Status::kOk);
    const Chosen chosen = choose(x, g, affine(dtype));
    for (std::size_t slice = 0; slice < g.slices; ++slice) {
      std::vector<float> own;
      for (std::size_t i = 0; i < count; ++i) {
        if (i / g.inner % g.slices == slice) own.push_back(x[i]);
      }
      expect_same({{chosen.scales[slice]}, {chosen.zero_points[slice]}},
                  choose(own, {1, 1, own.size()}, affine(dtype)));
    }
  }
}

// ---- check

TEST(CheckQParams, AcceptsFinitePositiveScalesAndCodesTheDTypeHolds) {
  EXPECT_EQ(check(per_tensor_qparams(1.0F, 0).view(), DType::kInt8), Status::kOk);
  EXPECT_EQ(check(per_tensor_qparams(kSmallest, -128).view(), DType::kInt8), Status::kOk);
  EXPECT_EQ(check(per_tensor_qparams(FLT_MAX, 127).view(), DType::kInt8), Status::kOk);
  EXPECT_EQ(check(per_tensor_qparams(1.0F, INT32_MIN).view(), DType::kInt32), Status::kOk);
  EXPECT_EQ(check(QParamsTensor{{}, {}, {0}}.view(), DType::kInt8), Status::kOk);
}

TEST(CheckQParams, RefusesScalesThatAreNotFiniteOrNotPositive) {
  for (const float scale : {0.0F, -0.0F, -1.0F, kNan, kInfinity, -kInfinity, -kSmallest}) {
    EXPECT_EQ(check(per_tensor_qparams(scale, 0).view(), DType::kInt8), Status::kInvalidScale);
    const QParamsTensor second = {{1.0F, scale}, {0, 0}, {2}};
    EXPECT_EQ(check(second.view(), DType::kInt8), Status::kInvalidScale) << scale;
  }
}

TEST(CheckQParams, RefusesZeroPointsOutsideTheDType) {
  for (const DType dtype : {DType::kInt2, DType::kInt4, DType::kInt8, DType::kUint2, DType::kUint4,
                            DType::kUint8, DType::kInt16, DType::kUint16}) {
    const DTypeInfo info = dtype_info(dtype);
    EXPECT_EQ(check(per_tensor_qparams(1.0F, info.qmin).view(), dtype), Status::kOk) << info.name;
    EXPECT_EQ(check(per_tensor_qparams(1.0F, info.qmax).view(), dtype), Status::kOk) << info.name;
    for (const std::int32_t zero_point : {info.qmin - 1, info.qmax + 1, INT32_MIN, INT32_MAX}) {
      EXPECT_EQ(check(per_tensor_qparams(1.0F, zero_point).view(), dtype),
                Status::kInvalidZeroPoint)
          << info.name << ", " << zero_point;
    }
    const QParamsTensor second = {{1.0F, 1.0F}, {0, info.qmax + 1}, {2}};
    EXPECT_EQ(check(second.view(), dtype), Status::kInvalidZeroPoint);
  }
}

TEST(CheckQParams, RefusesLengthsThatDoNotMatchTheShape) {
  EXPECT_EQ(check(QParamsTensor{{1.0F, 1.0F}, {0, 0}, {3}}.view(), DType::kInt8),
            Status::kShapeMismatch);
  EXPECT_EQ(check(QParamsTensor{{1.0F, 1.0F}, {0}, {2}}.view(), DType::kInt8),
            Status::kShapeMismatch);
  EXPECT_EQ(check(QParamsTensor{{1.0F}, {0, 0}, {2}}.view(), DType::kInt8), Status::kShapeMismatch);
  EXPECT_EQ(check(QParamsTensor{{}, {}, {}}.view(), DType::kInt8), Status::kShapeMismatch);
}

TEST(CheckQParams, RefusesShapesThatCannotBeCounted) {
  EXPECT_EQ(check(QParamsTensor{{1.0F}, {0}, {65536, 65536}}.view(), DType::kInt8),
            Status::kSizeOverflow);
  EXPECT_EQ(check(QParamsTensor{{1.0F}, {0}, ShapeVector(kMaxRank + 1, 1)}.view(), DType::kInt8),
            Status::kShapeMismatch);
}

}  // namespace
}  // namespace zeropoint
