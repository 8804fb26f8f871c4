#include "zeropoint/error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "compare.h"
#include "random.h"
#include "reference/sum_f32.h"

namespace zeropoint {
namespace {

using testing::kInfinity;
using testing::kNan;
using testing::Random;
using testing::same_value;

constexpr Metric kAllMetrics[] = {Metric::kMse, Metric::kMae, Metric::kMax, Metric::kSqnr,
                                  Metric::kCosine};

double error_of(const std::vector<float>& a, const std::vector<float>& b, Metric metric) {
  double error = 0.0;
  EXPECT_EQ(quantization_error(a, b, metric, error), Status::kOk);
  return error;
}

// ---- sum and mean

TEST(Sum, AddsAllValues) {
  EXPECT_EQ(sum(std::vector<float>{1.0F, 2.0F, -4.5F}), -1.5F);
  EXPECT_EQ(sum(std::vector<float>(100, 0.25F)), 25.0F);
}

TEST(Sum, IsZeroForNoValues) { EXPECT_PRED2(same_value<float>, sum({}), 0.0F); }

TEST(Sum, AddsInPyTorchsOrder) {
  // Eight lanes and a tail: the tail comes first, then the lanes. 1e8 + 1 is 1e8 in float32, so the
  // 1 is lost, which it would not be from left to right.
  EXPECT_EQ(sum(std::vector<float>{1e8F, 0, 0, 0, 0, 0, 0, -1e8F, 1.0F}), 0.0F);
  // 16 values are two rows of eight lanes, which are added lane by lane: 1e8 meets -1e8 first.
  EXPECT_EQ(sum(std::vector<float>{1e8F, 1, 0, 0, 0, 0, 0, 0, -1e8F, 0, 0, 0, 0, 0, 0, 0}), 1.0F);
}

TEST(Sum, IsTheCascadeAtEverySize) {
  Random random(70);
  const std::vector<float> x = random.uniforms(100003, -1.0F, 3.0F);
  for (const std::size_t n : {1U, 7U, 8U, 9U, 100U, 4096U, 32767U, 32768U, 40000U, 100003U}) {
    const std::span<const float> values = std::span(x).first(n);
    EXPECT_EQ(sum(values), reference::sum_f32(values.data(), n)) << n;
  }
}

TEST(Mean, DividesTheSumByTheCountInFloat32) {
  EXPECT_EQ(mean(std::vector<float>{1.0F, 2.0F, 4.0F}), 7.0F / 3.0F);
  const std::vector<float> x(16777217 / 1024, 0.1F);
  EXPECT_EQ(mean(x), sum(x) / static_cast<float>(x.size()));
}

TEST(Mean, IsNanForNoValues) { EXPECT_TRUE(std::isnan(mean({}))); }

// ---- quantization_error

TEST(QuantizationError, MseIsTheMeanOfSquaresInFloat32) {
  EXPECT_EQ(error_of({1, 2, 3}, {2, 0, 3}, Metric::kMse), double{5.0F / 3.0F});
  // In double it would be 99480.1239...
  EXPECT_EQ(error_of({0.0069630193F}, {-315.39774F}, Metric::kMse), 99480.1171875);
}

TEST(QuantizationError, MaeIsTheMeanOfMagnitudesInFloat32) {
  EXPECT_EQ(error_of({1, 2, 3}, {2, 0, 3}, Metric::kMae), 1.0);
  EXPECT_EQ(error_of({0.0069630193F}, {-315.39774F}, Metric::kMae), 315.4046936035156);
}

TEST(QuantizationError, MseMatchesTheNotebooks) {
  EXPECT_EQ(error_of({191.6F, -13.5F, 728.6F, 92.14F, 295.5F, -184.0F, 0.0F, 684.6F, 245.5F},
                     {192.5F, -14.0F, 689.5F, 91.0F, 294.0F, -185.5F, 0.0F, 686.0F, 245.0F},
                     Metric::kMse),
            double{170.8753F});
}

TEST(QuantizationError, MseOverflowsAndUnderflowsAsFloat32Does) {
  EXPECT_EQ(error_of({1e20F}, {-1e20F}, Metric::kMse), double{kInfinity});
  EXPECT_EQ(error_of({1e-30F}, {0.0F}, Metric::kMse), 0.0);
  EXPECT_EQ(error_of({FLT_MAX}, {-FLT_MAX}, Metric::kMae), double{kInfinity});
}

TEST(QuantizationError, MaxIsTheLargestMagnitudeInDouble) {
  EXPECT_EQ(error_of({1, 2, 3}, {2, -1, 3}, Metric::kMax), 3.0);
  EXPECT_EQ(error_of({16777216.0F}, {0.25F}, Metric::kMax), 16777215.75);
  EXPECT_EQ(error_of({FLT_MAX}, {-FLT_MAX}, Metric::kMax), 2.0 * double{FLT_MAX});
}

TEST(QuantizationError, SqnrIsTheSignalOverTheNoiseInDecibels) {
  EXPECT_DOUBLE_EQ(error_of({3, 4}, {3, 3}, Metric::kSqnr), 10.0 * std::log10(25.0));
  EXPECT_DOUBLE_EQ(error_of({10, 0}, {9, 0}, Metric::kSqnr), 20.0);
  EXPECT_DOUBLE_EQ(error_of({1, 0}, {-9, 0}, Metric::kSqnr), -20.0);
}

TEST(QuantizationError, SqnrHoldsWhatFloat32SquaresCannot) {
  EXPECT_DOUBLE_EQ(error_of({1e30F}, {0.0F}, Metric::kSqnr), 0.0);
  EXPECT_DOUBLE_EQ(error_of({1e-30F}, {0.0F}, Metric::kSqnr), 0.0);
}

TEST(QuantizationError, SqnrOfEqualTensorsIsInfinite) {
  EXPECT_EQ(error_of({1, -2, 3}, {1, -2, 3}, Metric::kSqnr), double{kInfinity});
  EXPECT_EQ(error_of({0, 0}, {0, -0.0F}, Metric::kSqnr), double{kInfinity});
}

TEST(QuantizationError, CosineIsTheSimilarityOfDirections) {
  EXPECT_DOUBLE_EQ(error_of({1, 0}, {1, 1}, Metric::kCosine), std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(error_of({3, 4}, {6, 8}, Metric::kCosine), 1.0);
  EXPECT_DOUBLE_EQ(error_of({3, 4}, {-6, -8}, Metric::kCosine), -1.0);
  EXPECT_EQ(error_of({1, 0}, {0, 5}, Metric::kCosine), 0.0);
  EXPECT_DOUBLE_EQ(error_of({1e30F}, {1e-30F}, Metric::kCosine), 1.0);
}

TEST(QuantizationError, CosineOfEqualTensorsIsExactly1) {
  Random random(72);
  for (std::size_t n = 1; n < 200; ++n) {
    std::vector<float> a(n);
    for (float& value : a) value = random.spread(-126, 127);
    EXPECT_EQ(error_of(a, a, Metric::kCosine), 1.0) << n;
  }
  EXPECT_EQ(error_of({testing::kSmallest}, {testing::kSmallest}, Metric::kCosine), 1.0);
  EXPECT_EQ(error_of({FLT_MAX, FLT_MAX}, {FLT_MAX, FLT_MAX}, Metric::kCosine), 1.0);
}

TEST(QuantizationError, CosineWithAZeroVectorIsNan) {
  EXPECT_TRUE(std::isnan(error_of({0, 0}, {1, 2}, Metric::kCosine)));
  EXPECT_TRUE(std::isnan(error_of({1, 2}, {0, 0}, Metric::kCosine)));
}

TEST(QuantizationError, IsNanInEveryMetricForNoValues) {
  for (const Metric metric : kAllMetrics) EXPECT_TRUE(std::isnan(error_of({}, {}, metric)));
}

TEST(QuantizationError, IsNanInEveryMetricIfEitherTensorHasANan) {
  for (const Metric metric : kAllMetrics) {
    for (std::size_t at = 0; at < 9; ++at) {
      std::vector<float> values(9, 1.0F);
      const std::vector<float> others(9, 2.0F);
      values[at] = kNan;
      EXPECT_TRUE(std::isnan(error_of(values, others, metric))) << at;
      EXPECT_TRUE(std::isnan(error_of(others, values, metric))) << at;
      EXPECT_TRUE(std::isnan(error_of(values, values, metric))) << at;
    }
  }
}

TEST(QuantizationError, IsTheMeanInPyTorchsOrderAtEverySize) {
  Random random(71);
  const std::vector<float> a = random.uniforms(40000, -1.0F, 3.0F);
  const std::vector<float> b = random.uniforms(40000, -1.0F, 3.0F);
  for (const std::size_t n : {1U, 7U, 8U, 31U, 33U, 1000U, 32767U, 32768U, 40000U}) {
    const auto count = static_cast<float>(n);
    const std::vector<float> x(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n));
    const std::vector<float> y(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(n));
    const float squares = reference::sum_squared_difference_f32(x.data(), y.data(), n);
    const float magnitudes = reference::sum_absolute_difference_f32(x.data(), y.data(), n);
    EXPECT_EQ(error_of(x, y, Metric::kMse), double{squares / count}) << n;
    EXPECT_EQ(error_of(x, y, Metric::kMae), double{magnitudes / count}) << n;
  }
}

// Measures a and b in pieces of `piece` values, beginning with a state full of NaN.
double error_in_pieces(const std::vector<float>& a, const std::vector<float>& b, Metric metric,
                       std::size_t piece) {
  ErrorState state;
  std::memset(&state, 0xff, sizeof state);
  double error = 91.0;
  for (std::size_t begin = 0; begin < a.size(); begin += piece) {
    EXPECT_EQ(error, 91.0) << "written before the last piece";
    const std::size_t count = std::min(piece, a.size() - begin);
    EXPECT_EQ(quantization_error_piece(std::span(a).subspan(begin, count),
                                       std::span(b).subspan(begin, count), metric, begin, a.size(),
                                       state, error),
              Status::kOk);
  }
  return error;
}

TEST(QuantizationErrorPiece, GivesTheBitsOfTheWhole) {
  Random random(72);
  for (const std::size_t n : {1U, 5U, 4095U, 4096U, 4097U, 8192U, 8231U, 65536U, 80000U, 90001U,
                              100003U, 120007U, 150000U}) {
    const std::vector<float> a = random.uniforms(n, -1.0F, 3.0F);
    const std::vector<float> b = random.uniforms(n, -1.0F, 3.0F);
    for (const Metric metric : kAllMetrics) {
      for (const std::size_t piece : {kErrorPiece, 3 * kErrorPiece, 16 * kErrorPiece}) {
        EXPECT_EQ(error_in_pieces(a, b, metric, piece), error_of(a, b, metric)) << n;
      }
    }
  }
}

TEST(QuantizationErrorPiece, KeepsANanOfAnyPiece) {
  for (const std::size_t at : {3U, 4096U, 9000U}) {
    std::vector<float> a(9001, 1.0F);
    const std::vector<float> b(9001, 2.0F);
    a[at] = kNan;
    for (const Metric metric : kAllMetrics) {
      EXPECT_TRUE(std::isnan(error_in_pieces(a, b, metric, kErrorPiece))) << at;
    }
  }
}

TEST(QuantizationErrorPiece, RefusesPiecesThatDoNotFit) {
  const std::vector<float> x(kErrorPiece + 1, 1.0F);
  const std::span<const float> all(x);
  ErrorState state{};
  double error = 91.0;
  const auto status = [&](std::size_t count, std::size_t begin, std::size_t n) {
    return quantization_error_piece(all.first(count), all.first(count), Metric::kMse, begin, n,
                                    state, error);
  };
  EXPECT_EQ(status(8, 1, 100), Status::kShapeMismatch);
  EXPECT_EQ(status(8, 92, 100), Status::kShapeMismatch);
  EXPECT_EQ(status(8, 0, 100), Status::kShapeMismatch);
  EXPECT_EQ(status(0, 0, 100), Status::kShapeMismatch);
  EXPECT_EQ(status(0, kErrorPiece, kErrorPiece), Status::kShapeMismatch);
  EXPECT_EQ(status(kErrorPiece, kErrorPiece, kErrorPiece), Status::kShapeMismatch);
  EXPECT_EQ(status(0, 2 * kErrorPiece, kErrorPiece), Status::kShapeMismatch);
  EXPECT_EQ(status(kErrorPiece, 2 * kErrorPiece, kErrorPiece), Status::kShapeMismatch);
  EXPECT_EQ(status(kErrorPiece + 1, 0, 2 * kErrorPiece), Status::kShapeMismatch);
  EXPECT_EQ(quantization_error_piece(all, all.first(3), Metric::kMse, 0, x.size(), state, error),
            Status::kShapeMismatch);
  EXPECT_EQ(error, 91.0);
}

// Beyond 2^36 values, runs of the cascade are longer than a piece.
TEST(QuantizationErrorPiece, RefusesPiecesOfTensorsWithTooManyValues) {
  if constexpr (sizeof(std::size_t) > 4) {
    constexpr std::size_t kMost = std::size_t{1} << 36;
    const std::vector<float> x(kErrorPiece, 1.0F);
    ErrorState state{};
    double error = 91.0;
    EXPECT_EQ(quantization_error_piece(x, x, Metric::kMse, 0, kMost, state, error), Status::kOk);
    EXPECT_EQ(quantization_error_piece(x, x, Metric::kMse, 0, kMost + 1, state, error),
              Status::kSizeOverflow);
    EXPECT_EQ(error, 91.0);
  }
}

TEST(QuantizationError, LeavesOutputUntouchedOnShapeMismatch) {
  const std::vector<float> three = {1, 2, 3};
  const std::vector<float> two = {1, 2};
  for (const Metric metric : kAllMetrics) {
    double error = 91.0;
    EXPECT_EQ(quantization_error(three, two, metric, error), Status::kShapeMismatch);
    EXPECT_EQ(quantization_error(two, three, metric, error), Status::kShapeMismatch);
    EXPECT_EQ(quantization_error({}, two, metric, error), Status::kShapeMismatch);
    EXPECT_EQ(error, 91.0);
  }
}

// ---- slices

TEST(QuantizationErrors, EqualTheErrorOfEachSliceAsATensor) {
  Random random(51);
  const Granularity granularities[] = {{1, 1, 37},  {1, 9, 32},   {1, 2, 5000}, {7, 5, 1},
                                       {3, 4, 129}, {5000, 2, 1}, {1, 3, 0},    {0, 2, 4}};
  for (const Granularity& g : granularities) {
    const std::size_t n = g.outer * g.slices * g.inner;
    const std::vector<float> a = random.uniforms(n, -3.0F, 2.0F);
    const std::vector<float> b = random.uniforms(n, -3.0F, 2.0F);
    for (const Metric metric :
         {Metric::kMse, Metric::kMae, Metric::kMax, Metric::kSqnr, Metric::kCosine}) {
      std::vector<double> errors(g.slices);
      ASSERT_EQ(quantization_errors(a, b, g, metric, errors), Status::kOk);
      for (std::size_t slice = 0; slice < g.slices; ++slice) {
        std::vector<float> x;
        std::vector<float> y;
        for (std::size_t o = 0; o < g.outer; ++o) {
          for (std::size_t i = 0; i < g.inner; ++i) {
            const std::size_t at = (o * g.slices + slice) * g.inner + i;
            x.push_back(a[at]);
            y.push_back(b[at]);
          }
        }
        double expected = 0.0;
        ASSERT_EQ(quantization_error(x, y, metric, expected), Status::kOk);
        EXPECT_PRED2(same_value<double>, errors[slice], expected) << slice;
      }
    }
  }
}

TEST(QuantizationErrors, MeasureTheShortGroupsOfRows) {
  const std::vector<float> a = {0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F};
  const std::vector<float> b = {1.0F, 3.0F, 5.0F, 2.0F, 4.0F, 7.0F};
  std::vector<double> errors(4);
  ASSERT_EQ(quantization_errors(a, b, {1, 4, 2, 3}, Metric::kMae, errors), Status::kOk);
  EXPECT_EQ(errors, (std::vector<double>{2.0, 5.0, 3.0, 7.0}));
}

TEST(QuantizationErrors, RefusesLengthsThatDoNotFit) {
  const std::vector<float> a(6);
  std::vector<double> errors(2, 7.0);
  const auto refused = [&](const std::vector<float>& b, const Granularity& g) {
    return quantization_errors(a, b, g, Metric::kMse, errors) == Status::kShapeMismatch;
  };
  EXPECT_TRUE(refused(std::vector<float>(5), {1, 2, 3}));
  EXPECT_TRUE(refused(a, {1, 2, 2}));
  EXPECT_TRUE(refused(a, {1, 3, 2}));
  EXPECT_EQ(errors, std::vector<double>(2, 7.0));
}

}  // namespace
}  // namespace zeropoint
