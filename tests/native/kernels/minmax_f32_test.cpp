#include "reference/minmax_f32.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "compare.h"
#include "random.h"

namespace zeropoint {
namespace {

using testing::Input;
using testing::kInfinity;
using testing::kLengths;
using testing::kNan;
using testing::kSpecialFloats;
using testing::Random;

// Either sign of zero may stand for a mix of zeros, so values are compared, not bits.
::testing::AssertionResult same_range(Range actual, Range expected) {
  const auto same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  if (same(actual.min, expected.min) && same(actual.max, expected.max)) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << "{" << actual.min << ", " << actual.max << "} instead of {" << expected.min << ", "
         << expected.max << "}";
}

// Range of one run's finite values.
Range finite_range(const float* x, std::size_t n) {
  Range range{};
  kernels::minmax_runs_f32(x, 1, n, true, &range);
  return range;
}

void expect_reference(const std::vector<float>& values, std::size_t offset) {
  const Input x(values, offset);
  EXPECT_TRUE(same_range(kernels::minmax_f32(x.data(), x.size()),
                         reference::minmax_f32(x.data(), x.size())));
  EXPECT_TRUE(same_range(finite_range(x.data(), x.size()),
                         reference::minmax_finite_f32(x.data(), x.size())));
}

TEST(MinmaxF32, MatchesReferenceAtEveryLengthAndAlignment) {
  Random random(1);
  for (const std::size_t n : kLengths) {
    for (std::size_t offset = 0; offset < 4; ++offset) {
      SCOPED_TRACE(n);
      expect_reference(random.uniforms(n, -5.0F, 5.0F), offset);
      expect_reference(random.uniforms(n, 1.0F, 2.0F), offset);
      expect_reference(random.any_floats(n), offset);
    }
  }
}

TEST(MinmaxF32, MatchesReferenceForRunsReadAtTwoPlaces) {
  Random random(4);
  for (const std::size_t n : {65535U, 65536U, 65537U, 65599U, 131109U}) {
    std::vector<float> values = random.uniforms(n, -5.0F, 5.0F);
    expect_reference(values, 0);
    for (const std::size_t at : {std::size_t{0}, n / 2 - 1, n / 2, n - 33, n - 1}) {
      for (const float value : {-7.0F, 7.0F, kInfinity, kNan}) {
        SCOPED_TRACE(::testing::Message() << value << " at " << at << " of " << n);
        const float was = std::exchange(values[at], value);
        expect_reference(values, 0);
        values[at] = was;
      }
    }
  }
}

TEST(MinmaxF32, FindsEachExtremeWhereverItIs) {
  for (const std::size_t n : kLengths) {
    if (n > 127) continue;
    for (std::size_t at = 0; at < n; ++at) {
      for (const float value : kSpecialFloats) {
        SCOPED_TRACE(::testing::Message() << value << " at " << at << " of " << n);
        std::vector<float> values(n, 0.75F);
        values[at] = value;
        expect_reference(values, 0);
      }
    }
  }
}

TEST(MinmaxF32, IsTheEmptyRangeForNoValues) {
  EXPECT_TRUE(same_range(kernels::minmax_f32(nullptr, 0), {kInfinity, -kInfinity}));
  EXPECT_TRUE(same_range(finite_range(nullptr, 0), {kInfinity, -kInfinity}));
}

TEST(MinmaxF32, IsNanIfAnyValueIsNan) {
  for (std::size_t at = 0; at < 37; ++at) {
    std::vector<float> values(37, 2.0F);
    values[at] = kNan;
    values[(at + 11) % 37] = -kInfinity;
    const Range range = kernels::minmax_f32(values.data(), values.size());
    EXPECT_TRUE(std::isnan(range.min) && std::isnan(range.max)) << at;
  }
}

TEST(MinmaxRunsF32, SkipsNanAndInfinitiesWhereOnlyFiniteValuesCount) {
  const std::vector<float> values = {kNan, kInfinity, 3.0F, -kInfinity, -2.0F, -kNan};
  EXPECT_TRUE(same_range(finite_range(values.data(), values.size()), {-2.0F, 3.0F}));
  const std::vector<float> nothing(21, kNan);
  EXPECT_TRUE(same_range(finite_range(nothing.data(), nothing.size()), {kInfinity, -kInfinity}));
}

TEST(MinmaxRunsF32, MatchesReferenceForRunsOfEveryLength) {
  Random random(3);
  for (const std::size_t runs : {0U, 1U, 3U, 4U, 5U, 11U}) {
    for (const std::size_t length :
         {0U, 1U, 2U, 3U, 4U, 5U, 7U, 8U, 15U, 16U, 17U, 33U, 64U, 127U, 128U, 129U}) {
      for (const unsigned odds : {0U, 400U, 9U}) {
        SCOPED_TRACE(::testing::Message() << runs << " runs of " << length);
        std::vector<float> values = random.uniforms(runs * length, -9.0F, 9.0F);
        for (float& value : values) {
          if (odds == 0 || random.below(odds) != 0) continue;
          value = kSpecialFloats[random.below(kSpecialFloats.size())];
        }
        const Input x(values, random.below(4));
        for (const bool finite_only : {false, true}) {
          std::vector<Range> actual(runs);
          kernels::minmax_runs_f32(x.data(), runs, length, finite_only, actual.data());
          for (std::size_t r = 0; r < runs; ++r) {
            const float* run = x.data() + r * length;
            EXPECT_TRUE(same_range(actual[r], finite_only
                                                  ? reference::minmax_finite_f32(run, length)
                                                  : reference::minmax_f32(run, length)))
                << "run " << r;
          }
        }
      }
    }
  }
}

TEST(MinmaxColumnsF32, MatchesReferenceForEveryNumberOfColumns) {
  Random random(2);
  for (const std::size_t rows : {0U, 1U, 2U, 5U, 17U, 64U}) {
    for (const std::size_t columns :
         {1U, 2U, 3U, 4U, 5U, 7U, 8U, 15U, 16U, 17U, 33U, 1023U, 1024U}) {
      for (const std::size_t stride : {columns + 0, columns + 1, columns + 19}) {
        for (const bool finite_only : {false, true}) {
          SCOPED_TRACE(::testing::Message() << rows << " rows, " << columns << " columns");
          // The last row ends with its last column, as the last slices of a tensor do.
          const std::size_t size = rows == 0 ? 0 : (rows - 1) * stride + columns;
          std::vector<float> values = random.uniforms(size, -9.0F, 9.0F);
          for (float& value : values) {
            if (random.below(8) == 0) value = kSpecialFloats[random.below(kSpecialFloats.size())];
          }
          const Input x(values, random.below(4));
          std::vector<Range> actual(columns);
          std::vector<Range> expected(columns);
          kernels::minmax_columns_f32(x.data(), rows, stride, columns, finite_only, actual.data());
          reference::minmax_columns_f32(x.data(), rows, stride, columns, finite_only,
                                        expected.data());
          for (std::size_t c = 0; c < columns; ++c) {
            EXPECT_TRUE(same_range(actual[c], expected[c])) << "column " << c;
          }
        }
      }
    }
  }
}

TEST(MinmaxColumnsF32, KeepsNanToItsOwnColumn) {
  for (const std::size_t columns : {std::size_t{5}, std::size_t{1024}}) {
    std::vector<float> values(3 * columns, 1.0F);
    values[columns + 2] = kNan;
    std::vector<Range> ranges(columns);
    kernels::minmax_columns_f32(values.data(), 3, columns, columns, false, ranges.data());
    for (std::size_t c = 0; c < columns; ++c) {
      EXPECT_EQ(std::isnan(ranges[c].min), c == 2) << c;
      EXPECT_EQ(std::isnan(ranges[c].max), c == 2) << c;
    }
  }
}

}  // namespace
}  // namespace zeropoint
