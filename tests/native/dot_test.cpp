#include "reference/dot.h"

#include <gtest/gtest.h>

#include <vector>

#include "compare.h"
#include "random.h"

namespace zeropoint {
namespace {

using kernels::CodeWeights;
using kernels::FloatWeights;
using kernels::kRows;
using kernels::ScaledCodeWeights;
using testing::Input;
using testing::kEffort;
using testing::kLengths;
using testing::kSpecialFloats;
using testing::Output;
using testing::Random;
using testing::same;

// Rows of x with something between them, the last one ending with its last value.
std::vector<float> random_rows(std::size_t rows, std::size_t stride, std::size_t k, bool odd,
                               Random& random) {
  std::vector<float> x(k == 0 ? 0 : (rows - 1) * stride + k);
  for (float& value : x) {
    value = odd ? random.any_float() : random.spread(-6, 6);
  }
  return x;
}

template <typename Weights>
void expect_reference(const Input<float>& x, std::size_t rows, std::size_t stride, Weights w,
                      std::size_t k) {
  std::vector<double> doubles;
  std::vector<float> floats;
  for (std::size_t r = 0; r < rows; ++r) {
    doubles.push_back(reference::dot<double>(x.data() + r * stride, w, k));
    floats.push_back(reference::dot<float>(x.data() + r * stride, w, k));
  }
  Output<double> actual_doubles(rows);
  Output<float> actual_floats(rows);
  kernels::dot_f64(x.data(), rows, stride, w, k, actual_doubles.data());
  kernels::dot_f32(x.data(), rows, stride, w, k, actual_floats.data());
  EXPECT_TRUE(same(actual_doubles.values(), doubles)) << "dot_f64";
  EXPECT_TRUE(same(actual_floats.values(), floats)) << "dot_f32";
  EXPECT_TRUE(actual_doubles.guards_intact());
  EXPECT_TRUE(actual_floats.guards_intact());
}

template <typename Code>
void expect_reference_codes(const Input<float>& x, std::size_t rows, std::size_t stride,
                            std::size_t k, std::size_t offset, Random& random) {
  std::vector<Code> codes(k);
  std::vector<float> scales(k);
  std::vector<std::int32_t> zero_points(k);
  for (std::size_t i = 0; i < k; ++i) {
    codes[i] = static_cast<Code>(random.bits());
    scales[i] = random.spread(-9, 3);
    zero_points[i] = static_cast<Code>(random.bits());
  }
  const Input c(codes, offset);
  const Input s(scales, (offset + 1) % 4);
  const Input z(zero_points, (offset + 2) % 4);
  const auto zero_point = static_cast<std::int32_t>(static_cast<Code>(random.bits()));
  expect_reference(x, rows, stride, CodeWeights<Code>{c.data(), zero_point}, k);
  expect_reference(x, rows, stride, ScaledCodeWeights<Code>{c.data(), s.data(), z.data()}, k);
}

void expect_reference_everywhere(bool odd, Random& random) {
  for (const std::size_t k : kLengths) {
    for (std::size_t rows = 1; rows <= kRows; ++rows) {
      for (const std::size_t stride : {k, k + 3}) {
        SCOPED_TRACE(::testing::Message() << rows << " rows of " << k);
        const std::size_t offset = random.below(4);
        const Input x(random_rows(rows, stride, k, odd, random), offset);
        const Input w(random_rows(1, k, k, odd, random), (offset + 1) % 4);
        expect_reference(x, rows, stride, FloatWeights{w.data()}, k);
        expect_reference_codes<std::int8_t>(x, rows, stride, k, offset, random);
        expect_reference_codes<std::uint8_t>(x, rows, stride, k, offset, random);
      }
    }
  }
}

TEST(Dot, MatchesReferenceAtEveryLengthAndNumberOfRows) {
  Random random(22);
  for (std::size_t round = 0; round < kEffort; ++round) expect_reference_everywhere(false, random);
}

TEST(Dot, MatchesReferenceForAllKindsOfValues) {
  Random random(23);
  for (std::size_t round = 0; round < kEffort; ++round) expect_reference_everywhere(true, random);
}

TEST(Dot, MatchesReferenceForSpecialValuesInEveryPlace) {
  for (std::size_t at = 0; at < 19; ++at) {
    for (const float value : kSpecialFloats) {
      SCOPED_TRACE(::testing::Message() << value << " at " << at);
      std::vector<float> values(19, 1.25F);
      values[at] = value;
      const Input x(values);
      const std::vector<float> w(19, 0.5F);
      const std::vector<std::int8_t> codes(19, 3);
      const std::vector<std::int8_t> zeros(19, -5);
      expect_reference(x, 1, 19, FloatWeights{w.data()}, 19);
      expect_reference(x, 1, 19, CodeWeights<std::int8_t>{codes.data(), 2}, 19);
      expect_reference(x, 1, 19, CodeWeights<std::int8_t>{zeros.data(), -5}, 19);
      // As a weight, too.
      const Input ones(w);
      expect_reference(ones, 1, 19, FloatWeights{x.data()}, 19);
    }
  }
}

TEST(Dot, TakesEveryCodeWithEveryZeroPoint) {
  std::vector<std::int8_t> codes(256);
  for (std::size_t i = 0; i < 256; ++i) codes[i] = static_cast<std::int8_t>(i);
  std::vector<std::uint8_t> unsigned_codes(codes.begin(), codes.end());
  Random random(24);
  const Input x(random.uniforms(256, -1.0F, 1.0F));
  for (std::int32_t zero_point = 0; zero_point < 256; ++zero_point) {
    SCOPED_TRACE(zero_point);
    expect_reference(x, 1, 256, CodeWeights<std::int8_t>{codes.data(), zero_point - 128}, 256);
    expect_reference(x, 1, 256, CodeWeights<std::uint8_t>{unsigned_codes.data(), zero_point}, 256);
  }
}

}  // namespace
}  // namespace zeropoint
