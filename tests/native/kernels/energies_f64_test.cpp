#include "reference/energies_f64.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <vector>

#include "compare.h"
#include "random.h"

namespace zeropoint {
namespace {

using testing::Input;
using testing::kEffort;
using testing::kInfinity;
using testing::kLengths;
using testing::kNan;
using testing::kSpecialFloats;
using testing::Random;
using testing::same_value;

void expect_reference(const std::vector<float>& a_values, const std::vector<float>& b_values,
                      std::size_t offset) {
  const Input a(a_values, offset);
  const Input b(b_values, (offset + 1) % 4);
  const std::size_t n = a.size();
  kernels::EnergyState state;
  const kernels::Energies actual = kernels::energies_f64(a.data(), b.data(), {0, n, n}, state);
  const kernels::Energies expected = reference::energies_f64(a.data(), b.data(), n);
  EXPECT_PRED2(same_value<double>, actual.aa, expected.aa);
  EXPECT_PRED2(same_value<double>, actual.bb, expected.bb);
  EXPECT_PRED2(same_value<double>, actual.ab, expected.ab);
  EXPECT_PRED2(same_value<double>, actual.noise, expected.noise);
  EXPECT_PRED2(same_value<double>, kernels::max_absolute_difference_f64(a.data(), b.data(), n),
               reference::max_absolute_difference_f64(a.data(), b.data(), n));
}

TEST(EnergiesF64, MatchesReferenceAtEveryLengthAndAlignment) {
  Random random(18);
  for (const std::size_t n : kLengths) {
    for (std::size_t offset = 0; offset < 4; ++offset) {
      SCOPED_TRACE(n);
      expect_reference(random.uniforms(n, -3.0F, 2.0F), random.uniforms(n, -1.0F, 4.0F), offset);
    }
  }
}

TEST(EnergiesF64, MatchesReferenceForAllKindsOfValues) {
  Random random(19);
  for (std::size_t round = 0; round < 50 * kEffort; ++round) {
    const std::size_t n = random.below(100);
    expect_reference(random.any_floats(n), random.any_floats(n), 0);
    std::vector<float> a = random.uniforms(n, -1.0F, 1.0F);
    std::vector<float> b = a;
    if (n > 0) {
      a[random.below(n)] = kSpecialFloats[random.below(kSpecialFloats.size())];
      b[random.below(n)] = kSpecialFloats[random.below(kSpecialFloats.size())];
    }
    expect_reference(a, b, 0);
  }
}

TEST(EnergiesF64, HoldsTheSquaresOfFloat32sLargestAndSmallest) {
  const float largest[] = {FLT_MAX};
  const float smallest[] = {testing::kSmallest};
  kernels::EnergyState state;
  const kernels::Energies e = kernels::energies_f64(largest, smallest, {0, 1, 1}, state);
  EXPECT_EQ(e.aa, double{FLT_MAX} * double{FLT_MAX});
  EXPECT_EQ(e.bb, 0x1p-298);
  EXPECT_EQ(e.ab, double{FLT_MAX} * 0x1p-149);
}

TEST(MaxAbsoluteDifferenceF64, FindsTheLargestWhereverItIs) {
  for (std::size_t n = 1; n < 20; ++n) {
    for (std::size_t at = 0; at < n; ++at) {
      std::vector<float> a(n, 1.0F);
      const std::vector<float> b(n, 1.5F);
      a[at] = -7.0F;
      EXPECT_EQ(kernels::max_absolute_difference_f64(a.data(), b.data(), n), 8.5) << at;
    }
  }
}

TEST(MaxAbsoluteDifferenceF64, IsNanIfAnyDifferenceIsNan) {
  for (std::size_t at = 0; at < 11; ++at) {
    std::vector<float> a(11, 1.0F);
    std::vector<float> b(11, 2.0F);
    a[(at + 5) % 11] = kInfinity;
    a[at] = kNan;
    EXPECT_TRUE(std::isnan(kernels::max_absolute_difference_f64(a.data(), b.data(), 11))) << at;
    a[at] = kInfinity;
    b[at] = kInfinity;
    EXPECT_TRUE(std::isnan(kernels::max_absolute_difference_f64(a.data(), b.data(), 11))) << at;
  }
}

TEST(MaxAbsoluteDifferenceF64, IsZeroForNoValues) {
  EXPECT_EQ(kernels::max_absolute_difference_f64(nullptr, nullptr, 0), 0.0);
}

}  // namespace
}  // namespace zeropoint
