#include "zeropoint/row_errors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "compare.h"
#include "random.h"
#include "zeropoint/dequantize.h"
#include "zeropoint/error.h"

namespace zeropoint {
namespace {

using testing::kInfinity;
using testing::kNan;
using testing::Random;

// Values quantized and dequantized group by group with public functions.
std::vector<float> fake(const std::vector<float>& w, std::size_t run, const RowScheme& scheme) {
  std::vector<float> out(w.size());
  const auto quantize_one = [&](std::size_t start, std::size_t count) {
    const std::span<const float> x(w.data() + start, count);
    Range range = scheme.group_size == 0 ? scheme.range : min_max(x);
    if (scheme.searches && scheme.group_size != 0) {
      EXPECT_EQ(search_ranges(x, {1, 1, count}, {scheme.qparams, 0.0}, {&range, 1}), Status::kOk);
    }
    QParams q{};
    EXPECT_EQ(choose_qparams(range, scheme.qparams, q), Status::kOk);
    const auto scale = static_cast<float>(q.scale);
    const std::uint32_t shape[] = {static_cast<std::uint32_t>(count)};
    const QParamsView view{{&scale, 1}, {&q.zero_point, 1}, {}, 0};
    EXPECT_EQ(
        fake_quantize({x, Shape(shape)}, view, scheme.qparams.dtype, {out.data() + start, count}),
        Status::kOk);
  };
  const std::size_t group = scheme.group_size == 0 ? run : scheme.group_size;
  for (std::size_t start = 0; start < w.size(); start += run) {
    for (std::size_t at = 0; at < run; at += group) {
      quantize_one(start + at, std::min(group, run - at));
    }
  }
  return out;
}

void expect_rows(std::size_t rows, std::size_t row_length, const RowScheme& scheme) {
  Random random(rows * 1000 + row_length);
  const std::vector<float> w = random.uniforms(rows * row_length, -2.0F, 3.0F);
  RowScheme own = scheme;
  if (own.run_length == 0) own.run_length = row_length;
  own.range = min_max(w);
  const std::vector<float> v = fake(w, own.run_length, own);
  std::vector<RowError> errors(rows);
  std::vector<float> values(w.size());
  ASSERT_EQ(row_errors(w, row_length, own, {}, values, errors), Status::kOk);
  EXPECT_EQ(values, v);
  std::vector<RowError> signals(rows);
  ASSERT_EQ(row_energies(w, row_length, {}, signals), Status::kOk);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::span<const float> a(w.data() + row * row_length, row_length);
    const std::span<const float> b(v.data() + row * row_length, row_length);
    double max = 0.0;
    double sqnr = 0.0;
    double cosine = 0.0;
    ASSERT_EQ(quantization_error(a, b, Metric::kMax, max), Status::kOk);
    ASSERT_EQ(quantization_error(a, b, Metric::kSqnr, sqnr), Status::kOk);
    ASSERT_EQ(quantization_error(a, b, Metric::kCosine, cosine), Status::kOk);
    const RowError& e = errors[row];
    EXPECT_EQ(e.largest, max);
    EXPECT_EQ(decibels(signals[row].noise, e.noise), sqnr);
    EXPECT_EQ(e.product / std::sqrt(signals[row].noise * e.energy), cosine);
    double absolute = 0.0;
    for (std::size_t i = 0; i < row_length; ++i) absolute += std::fabs(double{a[i]} - double{b[i]});
    EXPECT_NEAR(e.absolute, absolute, absolute * 1e-12);
    EXPECT_EQ(e.weighted, 0.0);
  }
}

constexpr QParamsOptions kInt4{DType::kInt4, Scheme::kSymmetric, true};
constexpr QParamsOptions kAffine{DType::kInt4, Scheme::kAffine, true};

TEST(RowErrors, EqualTheErrorsOfQuantizedAndDequantizedValues) {
  for (const QParamsOptions& qparams : {kInt4, kAffine}) {
    for (const bool searches : {false, true}) {
      // Groups within a piece, and longer than one; whole, short and single ones; a range of all.
      expect_rows(5, 64, {qparams, 32, 0, searches});
      expect_rows(3, 100, {qparams, 32, 0, searches});
      expect_rows(3, 7, {qparams, 32, 0, searches});
      expect_rows(2, 9, {qparams, 1, 0, searches});
      expect_rows(300, 17, {qparams, 17, 0, searches});
      expect_rows(2, 10000, {qparams, 10000, 0, searches});
      expect_rows(2, 10000, {qparams, 5001, 0, searches});
      expect_rows(2, 5000, {qparams, 16, 0, searches});
      expect_rows(4, 60, {qparams, 7, 20, searches});
      expect_rows(4, 60, {qparams, 32, 3, searches});
    }
    expect_rows(3, 5000, {qparams, 0, 0, false});
  }
}

TEST(RowErrors, OfBlocksEqualTheErrorsOfQuantizedAndDequantizedValues) {
  Random random(5);
  const std::vector<float> w = random.uniforms(std::size_t{9} * 512, -2.0F, 3.0F);
  for (int i = 0; i < kBlockTypes; ++i) {
    const auto type = static_cast<BlockType>(i);
    const BlockInfo info = block_info(type);
    std::vector<std::uint8_t> bytes(w.size() / info.values * info.bytes);
    std::vector<float> v(w.size());
    ASSERT_EQ(quantize_blocks(w, 512, type, {}, bytes), Status::kOk);
    ASSERT_EQ(dequantize_blocks(bytes, type, v), Status::kOk);
    std::vector<RowError> errors(9);
    std::vector<float> values(w.size());
    ASSERT_EQ(row_errors(w, 512, type, {}, values, errors), Status::kOk);
    EXPECT_EQ(values, v) << info.name;
    for (std::size_t row = 0; row < 9; ++row) {
      double max = 0.0;
      ASSERT_EQ(quantization_error({w.data() + row * 512, 512}, {v.data() + row * 512, 512},
                                   Metric::kMax, max),
                Status::kOk);
      EXPECT_EQ(errors[row].largest, max) << info.name;
    }
  }
}

TEST(RowErrors, WeighsSquaredErrorsByInput) {
  const std::vector<float> w = {1.0F, 0.25F, -1.0F, 0.1F};
  const std::vector<double> weights = {0.0, 16.0};
  std::vector<RowError> errors(2);
  // int2: codes -2 to 1, so 0.25 and 0.1 become 0.
  const RowScheme scheme{{DType::kInt2, Scheme::kSymmetric, true}, 2, 2};
  ASSERT_EQ(row_errors(w, 2, scheme, weights, {}, errors), Status::kOk);
  EXPECT_EQ(errors[0].weighted, 1.0);
  EXPECT_EQ(errors[0].noise, 0.0625);
  std::vector<RowError> signals(2);
  ASSERT_EQ(row_energies(w, 2, weights, signals), Status::kOk);
  EXPECT_EQ(signals[0].weighted, 1.0);
  EXPECT_EQ(signals[0].noise, 1.0625);
}

TEST(RowErrors, AreNanForRowsOfAPieceWithNanOrInfinity) {
  for (const float value : {kNan, kInfinity}) {
    std::vector<float> w(64, 1.0F);
    w[40] = value;
    std::vector<RowError> errors(2);
    ASSERT_EQ(row_errors(w, 32, {kInt4, 32, 32}, {}, {}, errors), Status::kOk);
    EXPECT_TRUE(std::isnan(errors[1].noise));
    EXPECT_TRUE(std::isnan(errors[1].largest));
    ASSERT_EQ(row_errors(w, 32, BlockType::kQ8_0, {}, {}, errors), Status::kOk);
    EXPECT_TRUE(std::isnan(errors[1].absolute));
  }
}

TEST(RowErrors, AreNanForRowsWithNanOrInfinityAndOneScaleForAllRows) {
  for (const float value : {kNan, kInfinity, -kInfinity}) {
    std::vector<float> w(64, 1.0F);
    w[40] = value;
    std::vector<RowError> errors(2);
    const RowScheme scheme{kInt4, 0, 0, false, {-1.0F, 1.0F}};
    ASSERT_EQ(row_errors(w, 32, scheme, {}, {}, errors), Status::kOk);
    EXPECT_TRUE(std::isfinite(errors[0].noise));
    for (const double field : {errors[1].noise, errors[1].energy, errors[1].product,
                               errors[1].absolute, errors[1].largest, errors[1].weighted}) {
      EXPECT_TRUE(std::isnan(field)) << value;
    }
  }
}

TEST(RowErrors, RefusesLengthsThatDoNotFit) {
  const std::vector<float> w(64);
  std::vector<RowError> errors(2);
  const RowScheme scheme{kInt4, 32, 32};
  EXPECT_EQ(row_errors(w, 0, scheme, {}, {}, errors), Status::kShapeMismatch);
  EXPECT_EQ(row_errors(w, 30, scheme, {}, {}, errors), Status::kShapeMismatch);
  EXPECT_EQ(row_errors(w, 32, scheme, std::vector<double>(31), {}, errors), Status::kShapeMismatch);
  EXPECT_EQ(row_errors(w, 32, {kInt4, 32, 30}, {}, {}, errors), Status::kShapeMismatch);
  EXPECT_EQ(row_errors(w, 32, BlockType::kQ4_K, {}, {}, errors), Status::kShapeMismatch);
  EXPECT_EQ(row_energies(w, 32, {}, {errors.data(), 1}), Status::kShapeMismatch);
}

TEST(RowErrors, RefusesUnsignedSymmetricCodesAndRangesThatAreNotFinite) {
  const std::vector<float> w(64);
  std::vector<RowError> errors(2);
  const QParamsOptions unsigned_symmetric{DType::kUint4, Scheme::kSymmetric, true};
  EXPECT_EQ(row_errors(w, 32, {unsigned_symmetric, 32, 32}, {}, {}, errors),
            Status::kUnsignedSymmetric);
  const RowScheme scheme{kInt4, 0, 0, false, {0.0F, kInfinity}};
  EXPECT_EQ(row_errors(w, 32, scheme, {}, {}, errors), Status::kNonFinite);
}

TEST(Decibels, AreInfiniteWithoutNoise) {
  EXPECT_EQ(decibels(100.0, 1.0), 20.0);
  EXPECT_EQ(decibels(0.0, 0.0), kInfinity);
}

}  // namespace
}  // namespace zeropoint
