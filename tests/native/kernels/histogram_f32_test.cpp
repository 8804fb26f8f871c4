#include "reference/histogram_f32.h"

#include <gtest/gtest.h>

#include <array>
#include <cfloat>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "compare.h"
#include "kernels/kernels.h"
#include "random.h"

namespace zeropoint {
namespace {

using testing::Input;
using testing::kInfinity;
using testing::kLengths;
using testing::kSpecialFloats;
using testing::Output;
using testing::Random;
using testing::same;

constexpr std::array<std::size_t, 8> kBinCounts = {1, 2, 3, 5, 64, 100, 257, 2048};

void expect_reference(const std::vector<float>& values, float lo, float hi, std::size_t bins,
                      std::size_t offset) {
  const Input x(values, offset);
  Output<std::uint32_t> actual(bins, offset);
  for (std::uint32_t& count : actual.span()) count = 7;  // counts are added to
  std::vector<std::uint32_t> expected(bins, 7);
  kernels::histogram_f32(x.data(), x.size(), lo, hi, actual.data(), bins);
  reference::histogram_f32(x.data(), x.size(), lo, hi, expected.data(), bins);
  EXPECT_TRUE(same(actual.values(), expected)) << lo << " .. " << hi << ", " << bins << " bins";
  EXPECT_TRUE(actual.guards_intact());
}

TEST(HistogramF32, MatchesReferenceAtEveryLengthAndAlignment) {
  Random random(20);
  for (const std::size_t n : kLengths) {
    for (std::size_t offset = 0; offset < 4; ++offset) {
      for (const std::size_t bins : kBinCounts) {
        SCOPED_TRACE(n);
        expect_reference(random.uniforms(n, -3.0F, 3.0F), -2.0F, 2.5F, bins, offset);
      }
    }
  }
}

TEST(HistogramF32, MatchesReferenceForSpecialValuesInEveryPlace) {
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::vector<float> values(shift, 0.0F);
    values.insert(values.end(), kSpecialFloats.begin(), kSpecialFloats.end());
    for (const std::size_t bins : kBinCounts) {
      expect_reference(values, -1.0F, 1.0F, bins, 0);
      expect_reference(values, 0.0F, FLT_MAX, bins, 0);
      expect_reference(values, -FLT_MIN, FLT_MIN, bins, 0);
      expect_reference(values, 0.0F, testing::kSmallest, bins, 0);
      expect_reference(values, -0.25F * FLT_MAX, 0.5F * FLT_MAX, bins, 0);
    }
  }
}

TEST(HistogramF32, MatchesReferenceAroundEveryEdge) {
  for (const std::size_t bins : {std::size_t{3}, std::size_t{100}, std::size_t{2048}}) {
    const float lo = -1.7F;
    const float hi = 3.3F;
    std::vector<float> values;
    for (std::size_t i = 0; i <= bins; ++i) {
      const double part = static_cast<double>(i) / static_cast<double>(bins);
      const auto edge = static_cast<float>(lo + (double{hi} - lo) * part);
      values.push_back(edge);
      values.push_back(std::nextafter(edge, kInfinity));
      values.push_back(std::nextafter(edge, -kInfinity));
    }
    expect_reference(values, lo, hi, bins, 0);
  }
}

TEST(HistogramF32, MatchesReferenceForRandomBitPatternsAndRanges) {
  Random random(21);
  for (std::size_t block = 0; block < 16 * testing::kEffort; ++block) {
    float lo = random.spread(-100, 100);
    float hi = random.spread(-100, 100);
    if (lo == hi) continue;
    if (lo > hi) std::swap(lo, hi);
    std::vector<float> values = random.any_floats(1001);
    for (std::size_t i = 0; i < values.size(); i += 2) values[i] = random.uniform(lo, hi);
    expect_reference(values, lo, hi, kBinCounts[block % kBinCounts.size()], 0);
  }
}

TEST(HistogramF32, PutsBothEndsIntoTheOuterBinsAndNothingBeyondThem) {
  const std::vector<float> x = {0.0F, 1.0F, 4.0F, -1e-30F, 4.0000005F, testing::kNan, kInfinity};
  std::vector<std::uint32_t> counts(4);
  kernels::histogram_f32(x.data(), x.size(), 0.0F, 4.0F, counts.data(), counts.size());
  EXPECT_EQ(counts, (std::vector<std::uint32_t>{1, 1, 0, 1}));
}

TEST(HistogramF32, PutsAnOverflowingPositionIntoTheFirstBin) {
  const std::vector<float> x = {FLT_MAX, 0.6F * FLT_MAX, 1e35F};
  std::vector<std::uint32_t> counts(4);
  kernels::histogram_f32(x.data(), x.size(), 0.0F, FLT_MAX, counts.data(), counts.size());
  EXPECT_EQ(counts, (std::vector<std::uint32_t>{3, 0, 0, 0}));
}

TEST(HistogramF32, CountsEveryValueInsideOnce) {
  Random random(22);
  const std::vector<float> x = random.uniforms(12345, -1.0F, 1.0F);
  std::vector<std::uint32_t> counts(77);
  kernels::histogram_f32(x.data(), x.size(), -1.0F, 1.0F, counts.data(), counts.size());
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}), x.size());
}

}  // namespace
}  // namespace zeropoint
