#include "reference/compare_f64.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "compare.h"
#include "random.h"

namespace zeropoint {
namespace {

using testing::Input;
using testing::kEffort;
using testing::kLengths;
using testing::Random;
using testing::same_value;

void expect_same(const kernels::ComparisonState& actual, const kernels::ComparisonState& expected) {
  for (std::size_t lane = 0; lane < 4; ++lane) {
    SCOPED_TRACE(lane);
    EXPECT_PRED2(same_value<double>, actual.noise[lane], expected.noise[lane]);
    EXPECT_PRED2(same_value<double>, actual.energy[lane], expected.energy[lane]);
    EXPECT_PRED2(same_value<double>, actual.product[lane], expected.product[lane]);
    EXPECT_PRED2(same_value<double>, actual.absolute[lane], expected.absolute[lane]);
    EXPECT_PRED2(same_value<double>, actual.weighted[lane], expected.weighted[lane]);
  }
  const bool has_nan =
      std::isnan(expected.noise[0] + expected.noise[1] + expected.noise[2] + expected.noise[3]);
  if (!has_nan) {
    EXPECT_EQ(actual.largest, expected.largest);
  }
}

void expect_reference(const std::vector<float>& a_values, const std::vector<float>& b_values,
                      const double* weights, std::size_t begin, std::size_t offset) {
  const Input a(a_values, offset);
  const Input b(b_values, (offset + 1) % 4);
  kernels::ComparisonState actual{};
  kernels::ComparisonState expected{};
  kernels::compare_f64(a.data(), b.data(), weights, begin, a.size(), actual);
  reference::compare_f64(a.data(), b.data(), weights, begin, a.size(), expected);
  expect_same(actual, expected);
}

TEST(CompareF64, MatchesReferenceAtEveryLengthAlignmentAndBegin) {
  Random random(31);
  for (const std::size_t n : kLengths) {
    const std::vector<double> weights(n, 0.75);
    for (std::size_t offset = 0; offset < 4; ++offset) {
      for (std::size_t begin = 0; begin < 4; ++begin) {
        const std::vector<float> a = random.uniforms(n, -3.0F, 2.0F);
        const std::vector<float> b = random.uniforms(n, -1.0F, 4.0F);
        expect_reference(a, b, nullptr, begin, offset);
        expect_reference(a, b, weights.data(), begin, offset);
      }
    }
  }
}

TEST(CompareF64, MatchesReferenceForAllKindsOfValues) {
  Random random(32);
  for (std::size_t round = 0; round < 50 * kEffort; ++round) {
    const std::size_t n = random.below(100);
    expect_reference(random.any_floats(n), random.any_floats(n), nullptr, random.below(9), 0);
  }
}

TEST(CompareF64, ContinuesFromEveryPosition) {
  Random random(33);
  const std::vector<float> a = random.uniforms(50, -1.0F, 1.0F);
  const std::vector<float> b = random.uniforms(50, -1.0F, 1.0F);
  kernels::ComparisonState whole{};
  kernels::compare_f64(a.data(), b.data(), nullptr, 0, 50, whole);
  for (std::size_t cut = 0; cut <= 50; ++cut) {
    kernels::ComparisonState parts{};
    kernels::compare_f64(a.data(), b.data(), nullptr, 0, cut, parts);
    kernels::compare_f64(a.data() + cut, b.data() + cut, nullptr, cut, 50 - cut, parts);
    expect_same(parts, whole);
  }
}

}  // namespace
}  // namespace zeropoint
