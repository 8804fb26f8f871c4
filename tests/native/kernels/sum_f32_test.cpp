#include "reference/sum_f32.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "compare.h"
#include "kernels/kernels.h"
#include "random.h"

namespace zeropoint {
namespace {

using testing::Input;
using testing::kEffort;
using testing::kLengths;
using testing::kSpecialFloats;
using testing::Random;
using testing::same_value;

void expect_reference(std::span<const float> a_values, std::span<const float> b_values,
                      std::size_t offset) {
  const Input<float> a(a_values, offset);
  const Input<float> b(b_values, (offset + 1) % 4);
  const std::size_t n = a.size();
  EXPECT_PRED2(same_value<float>, kernels::sum_f32(a.data(), n), reference::sum_f32(a.data(), n));
  const kernels::Piece all{0, n, n};
  kernels::SumState state;
  EXPECT_PRED2(same_value<float>,
               kernels::sum_squared_difference_f32(a.data(), b.data(), all, state),
               reference::sum_squared_difference_f32(a.data(), b.data(), n));
  EXPECT_PRED2(same_value<float>,
               kernels::sum_absolute_difference_f32(a.data(), b.data(), all, state),
               reference::sum_absolute_difference_f32(a.data(), b.data(), n));
}

TEST(SumF32, MatchesReferenceAtEveryLengthUpTo1100) {
  Random random(13);
  const std::vector<float> a = random.uniforms(1100, -1.0F, 3.0F);
  const std::vector<float> b = random.uniforms(1100, -2.0F, 1.0F);
  for (std::size_t n = 0; n <= a.size(); ++n) {
    SCOPED_TRACE(n);
    expect_reference(std::span(a).first(n), std::span(b).first(n), 0);
  }
}

TEST(SumF32, MatchesReferenceAtEveryAlignment) {
  Random random(14);
  for (const std::size_t n : kLengths) {
    for (std::size_t offset = 0; offset < 4; ++offset) {
      SCOPED_TRACE(n);
      expect_reference(random.uniforms(n, -1.0F, 1.0F), random.uniforms(n, -1.0F, 1.0F), offset);
    }
  }
}

// A level of the cascade takes 16 of the level below; 32 values make one step of the first.
TEST(SumF32, MatchesReferenceWhereALevelOfTheCascadeFills) {
  Random random(15);
  constexpr std::size_t kLongest = 131072 + 8192 + 512 + 64;
  const std::vector<float> a = random.uniforms(kLongest, -1.0F, 3.0F);
  const std::vector<float> b = random.uniforms(kLongest, -2.0F, 1.0F);
  for (const std::size_t full :
       {512U, 1024U, 8192U, 8192U + 512U, 16384U, 32768U, 131072U, 131072U + 8192U + 512U}) {
    for (const std::size_t n : {full - 32, full - 1, full, full + 1, full + 9, full + 32}) {
      SCOPED_TRACE(n);
      expect_reference(std::span(a).first(n), std::span(b).first(n), 0);
    }
  }
}

// Beyond 2^24 values the first level takes 32 instead of 16.
TEST(SumF32, MatchesReferenceWhereTheCascadeTakesLongerSteps) {
  Random random(16);
  constexpr std::size_t kThreshold = (1U << 24U) + 32;
  const std::vector<float> x = random.uniforms(kThreshold + 8192, -1.0F, 3.0F);
  for (const std::size_t n : {kThreshold - 32, kThreshold, x.size() - 3}) {
    EXPECT_PRED2(same_value<float>, kernels::sum_f32(x.data(), n), reference::sum_f32(x.data(), n))
        << n;
  }
}

TEST(SumF32, MatchesReferenceForNanInfinitiesAndExtremes) {
  Random random(17);
  for (std::size_t round = 0; round < 50 * kEffort; ++round) {
    const std::size_t n = random.below(200);
    std::vector<float> a = random.uniforms(n, -1.0F, 1.0F);
    std::vector<float> b = random.uniforms(n, -1.0F, 1.0F);
    for (std::size_t i = 0; i < n; ++i) {
      if (random.below(40) == 0) a[i] = kSpecialFloats[random.below(kSpecialFloats.size())];
      if (random.below(40) == 0) b[i] = kSpecialFloats[random.below(kSpecialFloats.size())];
    }
    expect_reference(a, b, 0);
    expect_reference(random.any_floats(n), random.any_floats(n), 0);
  }
}

TEST(SumF32, OfNegativeZerosIsPositiveZero) {
  const std::vector<float> zeros(9, -0.0F);
  for (const std::size_t n : {0U, 1U, 9U}) {
    EXPECT_PRED2(same_value<float>, kernels::sum_f32(zeros.data(), n), 0.0F) << n;
  }
}

}  // namespace
}  // namespace zeropoint
