#include "reference/squared_errors_f32.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "compare.h"
#include "random.h"

namespace zeropoint {
namespace {

using testing::Input;
using testing::kEffort;
using testing::kLengths;
using testing::kSpecialFloats;
using testing::Random;
using testing::same;

constexpr kernels::CodeRule kRules[] = {{-2, 1, 1},  {0, 3, 3},        {-8, 7, 7},
                                        {0, 15, 15}, {-128, 127, 127}, {0, 255, 255}};

void expect_reference(const std::vector<float>& values, std::size_t offset, Random& random) {
  const Input x(values, offset);
  for (const kernels::CodeRule& rule : kRules) {
    const std::int32_t zero_point = random.integer(rule.qmin, rule.qmax);
    const float scale = std::fabs(random.spread(-8, 2));
    const auto zero = static_cast<float>(zero_point);
    std::array<double, 4> expected{1.5, 0.0, 0.25, 7.0};
    reference::squared_errors_f32(x.span(), {scale, zero, zero_point}, rule, expected);
    double actual[] = {1.5, 0.0, 0.25, 7.0};
    kernels::squared_errors_f32(x.data(), x.size(), {scale, zero, zero_point}, rule, actual);
    EXPECT_TRUE(same(actual, expected)) << rule.qmax;
  }
}

TEST(SquaredErrorsF32, MatchesReferenceAtEveryLengthAndAlignment) {
  Random random(31);
  for (const std::size_t n : kLengths) {
    for (std::size_t offset = 0; offset < 4; ++offset) {
      SCOPED_TRACE(n);
      expect_reference(random.uniforms(n, -3.0F, 2.0F), offset, random);
    }
  }
  expect_reference(random.uniforms(9001, -3.0F, 2.0F), 1, random);
}

TEST(SquaredErrorsF32, RoundsTiesToEven) {
  std::vector<float> ties;
  for (int i = -40; i <= 40; ++i) ties.push_back(static_cast<float>(i) * 0.5F);
  double actual[4] = {};
  kernels::squared_errors_f32(ties.data(), ties.size(), {1.0F, 0.0F, 0}, kRules[4], actual);
  std::array<double, 4> expected{};
  reference::squared_errors_f32(ties, {1.0F, 0.0F, 0}, kRules[4], expected);
  EXPECT_TRUE(same(actual, expected));
  EXPECT_EQ((expected[0] + expected[1]) + (expected[2] + expected[3]), 40 * 0.25);
}

TEST(SquaredErrorsF32, SkipsNanAndInfinities) {
  Random random(33);
  for (std::size_t round = 0; round < 20 * kEffort; ++round) {
    std::vector<float> x = random.uniforms(1 + random.below(70), -1.0F, 1.0F);
    x[random.below(x.size())] = kSpecialFloats[random.below(kSpecialFloats.size())];
    x[random.below(x.size())] = kSpecialFloats[random.below(3)];
    expect_reference(x, 0, random);
  }
  expect_reference(random.any_floats(500), 0, random);
}

}  // namespace
}  // namespace zeropoint
