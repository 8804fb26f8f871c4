#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

#include "compare.h"
#include "random.h"
#include "reference/half_quadratic_f32.h"
#include "zeropoint/dequantize.h"
#include "zeropoint/qparams.h"

namespace zeropoint {
namespace {

using testing::kNan;
using testing::Random;

constexpr DType kSmallDTypes[] = {DType::kInt2,  DType::kInt3,  DType::kInt8,
                                  DType::kUint1, DType::kUint4, DType::kUint8};
constexpr Scheme kSchemes[] = {Scheme::kSymmetric, Scheme::kAffine, Scheme::kOffset};

bool serves(Scheme scheme, DType dtype) {
  return scheme != Scheme::kSymmetric || dtype_info(dtype).is_signed();
}

// Values with a few far from the others.
std::vector<float> weights(std::size_t n, Random& random) {
  std::vector<float> x(n);
  for (float& value : x) {
    value = random.uniform(-1.0F, 1.05F) * random.uniform(-1.0F, 1.0F);
    if (random.below(40) == 0) value *= 5.0F;
  }
  return x;
}

std::vector<Range> whole_ranges(const std::vector<float>& x, const Granularity& g) {
  std::vector<Range> ranges(g.slices);
  EXPECT_EQ(range(x, g, NonFinite::kIgnore, ranges), Status::kOk);
  return ranges;
}

std::vector<ChosenQParams> choose(const std::vector<float>& x, const Granularity& g,
                                  const QParamsOptions& options) {
  std::vector<ChosenQParams> chosen(g.slices);
  EXPECT_EQ(half_quadratic(x, g, whole_ranges(x, g), options, chosen), Status::kOk);
  return chosen;
}

void expect_same(const ChosenQParams& actual, const ChosenQParams& expected) {
  EXPECT_EQ(actual.scale, expected.scale);
  EXPECT_EQ(actual.zero_point, expected.zero_point);
  EXPECT_EQ(actual.offset, expected.offset);
}

TEST(HalfQuadratic, MatchesReferenceForEveryDTypeSchemeAndLength) {
  Random random(51);
  for (const DType dtype : kSmallDTypes) {
    for (const Scheme scheme : kSchemes) {
      if (!serves(scheme, dtype)) continue;
      for (const std::size_t n : {1U, 3U, 16U, 33U, 128U, 1000U}) {
        for (const bool include_zero : {true, false}) {
          std::vector<float> x = weights(n, random);
          const float shift = random.below(2) == 0 ? 0.0F : 3.0F;
          for (float& value : x) value += shift;
          if (n > 3 && random.below(3) == 0) x[n / 2] = kNan;
          const Granularity g{1, 1, n};
          const QParamsOptions options{dtype, scheme, include_zero};
          SCOPED_TRACE(::testing::Message() << dtype_info(dtype).name << " " << n << " scheme "
                                            << static_cast<int>(scheme));
          expect_same(choose(x, g, options)[0],
                      reference::half_quadratic(x, whole_ranges(x, g)[0], options));
        }
      }
    }
  }
}

TEST(HalfQuadratic, GivesTheSameBitsForSlicesOfEveryGranularityAndInPieces) {
  Random random(52);
  const std::vector<float> x = weights(std::size_t{6} * 5 * 24, random);
  const QParamsOptions options{DType::kUint4, Scheme::kOffset, false};
  const Granularity channels{6, 5, 24};
  const std::vector<ChosenQParams> chosen = choose(x, channels, options);
  for (std::size_t slice = 0; slice < 5; ++slice) {
    std::vector<float> own;
    for (std::size_t o = 0; o < 6; ++o) {
      for (std::size_t i = 0; i < 24; ++i) own.push_back(x[(o * 5 + slice) * 24 + i]);
    }
    const Granularity one{1, 1, own.size()};
    expect_same(choose(own, one, options)[0], chosen[slice]);
    HalfQuadraticState state{};
    ChosenQParams pieces{};
    const Range whole = whole_ranges(own, one)[0];
    for (std::size_t pass = 0; pass < half_quadratic_passes(); ++pass) {
      for (std::size_t at = 0; at < own.size(); at += 32) {
        const std::size_t count = std::min<std::size_t>(32, own.size() - at);
        ASSERT_EQ(
            half_quadratic_piece(std::span<const float>(own).subspan(at, count), whole, options,
                                 pass + at == 0, at + count == own.size(), state, pieces),
            Status::kOk);
      }
    }
    expect_same(pieces, chosen[slice]);
  }
}

TEST(HalfQuadratic, KeepsTheQParamsOfTheRangeWhereTheyAreExact) {
  const std::vector<float> same(8, 3.3F);
  const ChosenQParams offset = choose(same, {1, 1, 8}, {DType::kUint4, Scheme::kOffset, false})[0];
  EXPECT_EQ(offset.scale, 1.0);
  EXPECT_EQ(offset.offset, 3.3F);
  const std::vector<float> zeros(8, 0.0F);
  const ChosenQParams zero = choose(zeros, {1, 1, 8}, {DType::kInt4, Scheme::kSymmetric, true})[0];
  EXPECT_EQ(zero.scale, 1.0);
}

TEST(HalfQuadratic, RefusesRangesThatAreNotFiniteAndUnsignedSymmetric) {
  const std::vector<float> x(4, 1.0F);
  std::vector<ChosenQParams> chosen(1);
  const std::vector<Range> nan = {{kNan, kNan}};
  const std::vector<Range> one = {{1.0F, 1.0F}};
  const Granularity g{1, 1, 4};
  EXPECT_EQ(half_quadratic(x, g, nan, {DType::kInt4, Scheme::kSymmetric, true}, chosen),
            Status::kNonFinite);
  EXPECT_EQ(half_quadratic(x, g, one, {DType::kUint4, Scheme::kSymmetric, true}, chosen),
            Status::kUnsignedSymmetric);
  EXPECT_EQ(half_quadratic(x, {1, 2, 4}, one, {DType::kInt4, Scheme::kSymmetric, true}, chosen),
            Status::kShapeMismatch);
}

}  // namespace
}  // namespace zeropoint
