#include "reference/choose_qparams_f64.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "compare.h"
#include "random.h"

namespace zeropoint {
namespace {

using testing::Random;

constexpr kernels::ChoiceRule kRules[] = {
    {-128, 127, true, true},     {-2, 1, true, false},
    {-128, 127, false, true},    {-128, 127, false, false},
    {0, 255, false, true},       {0, 255, false, false},
    {0, 3, false, true},         {-2147483648.0, 2147483647.0, false, true},
    {-32768, 32767, true, true}, {-2147483648.0, 2147483647.0, false, false},
};

void expect_reference(const std::vector<Range>& ranges) {
  for (const kernels::ChoiceRule& rule : kRules) {
    SCOPED_TRACE(::testing::Message() << rule.qmin << " to " << rule.qmax << ", symmetric "
                                      << rule.symmetric << ", include_zero " << rule.include_zero);
    // One element more, which must stay unchanged.
    std::vector<double> scales(ranges.size() + 1, -7.0);
    std::vector<std::int32_t> zero_points(ranges.size() + 1, -7);
    std::vector<double> expected_scales = scales;
    std::vector<std::int32_t> expected_zero_points = zero_points;
    kernels::choose_qparams_f64(ranges.data(), ranges.size(), rule, scales.data(),
                                zero_points.data());
    reference::choose_qparams_f64(ranges.data(), ranges.size(), rule, expected_scales.data(),
                                  expected_zero_points.data());
    EXPECT_EQ(scales, expected_scales);
    EXPECT_EQ(zero_points, expected_zero_points);
  }
}

TEST(ChooseQParamsF64, MatchesReferenceForAnyFiniteRangesAndCounts) {
  Random random(1);
  for (std::size_t n = 0; n <= 17; ++n) {
    for (int round = 0; round < 50; ++round) {
      std::vector<float> ends = random.any_floats(2 * n);
      std::vector<Range> ranges;
      for (std::size_t i = 0; i < n; ++i) {
        const float a = std::isfinite(ends[2 * i]) ? ends[2 * i] : 1.0F;
        const float b = std::isfinite(ends[2 * i + 1]) ? ends[2 * i + 1] : a;
        ranges.push_back({std::min(a, b), std::max(a, b)});
      }
      expect_reference(ranges);
    }
  }
}

TEST(ChooseQParamsF64, MatchesReferenceAtTheEdges) {
  constexpr float kEnds[] = {0.0F,    -0.0F,    1e-45F, -1e-45F, 1.5e-36F, -1.5e-36F, 0.5F,
                             -0.5F,   1.0F,     -1.0F,  127.5F,  -127.5F,  FLT_MAX,   -FLT_MAX,
                             FLT_MIN, -FLT_MIN, 63.5F,  -63.5F,  255.0F,   -128.0F,   127.0F};
  std::vector<Range> ranges;
  for (const float min : kEnds) {
    for (const float max : kEnds) {
      if (min <= max) ranges.push_back({min, max});
    }
  }
  expect_reference(ranges);
  ranges.pop_back();
  expect_reference(ranges);
}

}  // namespace
}  // namespace zeropoint
