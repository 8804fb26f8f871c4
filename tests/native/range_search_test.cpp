#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "compare.h"
#include "random.h"
#include "reference/squared_errors_f32.h"
#include "zeropoint/qparams.h"

namespace zeropoint {
namespace {

using testing::kInfinity;
using testing::kNan;
using testing::Random;

constexpr DType kSmallDTypes[] = {DType::kInt2,  DType::kInt4,  DType::kInt8,
                                  DType::kUint2, DType::kUint4, DType::kUint8};

RangeSearch least_error(DType dtype, Scheme scheme) { return {{dtype, scheme, true}, 0.0}; }

// Values with a few far from the others.
std::vector<float> weights(std::size_t n, Random& random) {
  std::vector<float> x(n);
  for (float& value : x) {
    value = 0.0F;
    for (int i = 0; i < 4; ++i) value += random.uniform(-1.0F, 1.05F);
  }
  return x;
}

// The values of one slice, in row-major order.
std::vector<float> slice_of(const std::vector<float>& x, const Granularity& g, std::size_t slice) {
  std::vector<float> values;
  for (std::size_t o = 0; o < g.outer; ++o) {
    for (std::size_t i = 0; i < g.inner; ++i) {
      values.push_back(x[(o * g.slices + slice) * g.inner + i]);
    }
  }
  return values;
}

std::vector<Range> whole_ranges(const std::vector<float>& x, const Granularity& g) {
  std::vector<Range> ranges(g.slices);
  EXPECT_EQ(range(x, g, NonFinite::kKeep, ranges), Status::kOk);
  return ranges;
}

Range search_one(const std::vector<float>& x, const RangeSearch& search) {
  const Granularity g{1, 1, x.size()};
  std::vector<Range> ranges(1);
  EXPECT_EQ(range(x, g, NonFinite::kIgnore, ranges), Status::kOk);
  EXPECT_EQ(search_ranges(x, g, search, ranges), Status::kOk);
  return ranges[0];
}

TEST(SearchRanges, FindsTheLeastErrorOfTheReferenceInEveryGranularity) {
  Random random(41);
  const Granularity granularities[] = {{1, 1, 10007}, {1, 40, 32}, {1, 7, 3},
                                       {5, 6, 1},     {9, 4, 7},   {4100, 3, 1}};
  for (const Granularity& g : granularities) {
    const std::vector<float> x = weights(g.outer * g.slices * g.inner, random);
    for (const DType dtype : kSmallDTypes) {
      for (const Scheme scheme : {Scheme::kSymmetric, Scheme::kAffine}) {
        const DTypeInfo info = dtype_info(dtype);
        const bool symmetric = scheme == Scheme::kSymmetric;
        if (symmetric && !info.is_signed()) continue;
        const std::vector<Range> whole = whole_ranges(x, g);
        std::vector<Range> found = whole;
        ASSERT_EQ(search_ranges(x, g, least_error(dtype, scheme), found), Status::kOk);
        for (std::size_t s = 0; s < g.slices; ++s) {
          Range widest{std::min(whole[s].min, 0.0F), std::max(whole[s].max, 0.0F)};
          if (symmetric) widest.max = std::max(-widest.min, widest.max);
          if (symmetric) widest.min = -widest.max;
          const Range expected = reference::range_of_least_error(
              slice_of(x, g, s), widest,
              {static_cast<double>(info.qmin), static_cast<double>(info.qmax), symmetric, true},
              {info.qmin, info.qmax, info.qmax});
          EXPECT_EQ(found[s].min, expected.min) << info.name << " " << s;
          EXPECT_EQ(found[s].max, expected.max) << info.name << " " << s;
        }
      }
    }
  }
}

TEST(SearchRanges, TakesTheWidestOfRangesWithEqualErrors) {
  // All values are codes of the widest range, and of no narrower one.
  const Range found =
      search_one({-7.0F, 3.0F, 7.0F}, least_error(DType::kInt4, Scheme::kSymmetric));
  EXPECT_EQ(found.min, -7.0F);
  EXPECT_EQ(found.max, 7.0F);
  const Range zeros = search_one({0.0F, 0.0F}, least_error(DType::kInt4, Scheme::kSymmetric));
  EXPECT_EQ(zeros.max, 0.0F);
}

TEST(SearchRanges, NarrowsToAQuarterAtMost) {
  std::vector<float> x(1000, 14.0F);
  x[5] = 100.0F;
  EXPECT_EQ(search_one(x, least_error(DType::kInt2, Scheme::kSymmetric)).max, 25.0F);
}

TEST(SearchRanges, KeepsTheMiddleOfARangeThatExcludesZero) {
  std::vector<float> x(100000, 10.1F);
  x[5] = 6.0F;
  x[6] = 14.0F;
  const RangeSearch search{{DType::kUint2, Scheme::kAffine, false}, 0.0};
  const Range found = search_one(x, search);
  EXPECT_EQ(found.min + found.max, 20.0F);
}

TEST(SearchRanges, SkipsNanAndInfinities) {
  Random random(42);
  const std::vector<float> x = weights(999, random);
  std::vector<float> with = x;
  with.insert(with.end(), {kNan, kInfinity, -kInfinity});
  for (const double percentile : {0.0, 97.5}) {
    const RangeSearch search{{DType::kInt4, Scheme::kAffine, true}, percentile};
    const Range expected = search_one(x, search);
    const Range found = search_one(with, search);
    EXPECT_EQ(found.min, expected.min);
    EXPECT_EQ(found.max, expected.max);
  }
}

TEST(SearchRanges, LeavesARangeThatIsNotFinite) {
  const float x[] = {1.0F, kNan};
  Range ranges[] = {{kNan, kNan}};
  const RangeSearch search = least_error(DType::kInt4, Scheme::kSymmetric);
  EXPECT_EQ(search_ranges(x, {1, 1, 2}, search, ranges), Status::kOk);
  EXPECT_TRUE(std::isnan(ranges[0].min));
}

// numpy.percentile(values, p), by sorting.
double percentile_of(std::vector<float> values, double p) {
  std::sort(values.begin(), values.end());
  const double place = static_cast<double>(values.size() - 1) * (p / 100);
  const auto below = static_cast<std::size_t>(place);
  const double low = values[below];
  const double high = values[std::min(below + 1, values.size() - 1)];
  const double t = place - std::floor(place);
  return t < 0.5 ? low + (high - low) * t : high - (high - low) * (1 - t);
}

TEST(SearchRanges, InterpolatesPercentilesAsNumpy) {
  // numpy.percentile([0, 1, 2, 10], [10, 90]) is [0.3, 7.6].
  const RangeSearch affine{{DType::kInt8, Scheme::kAffine, true}, 90.0};
  const Range found = search_one({10.0F, 0.0F, 2.0F, 1.0F}, affine);
  EXPECT_EQ(found.min, 0.3F);
  EXPECT_EQ(found.max, 7.6F);
  const RangeSearch symmetric{{DType::kInt8, Scheme::kSymmetric, true}, 90.0};
  const Range magnitudes = search_one({-10.0F, 0.0F, 2.0F, 1.0F}, symmetric);
  EXPECT_EQ(magnitudes.min, -7.6F);
  EXPECT_EQ(magnitudes.max, 7.6F);
}

TEST(SearchRanges, FindsEveryPercentileOfEverySlice) {
  Random random(43);
  const Granularity granularities[] = {
      {1, 1, 1}, {1, 1, 4099}, {1, 20, 32}, {6, 5, 1}, {70, 2, 67}};
  for (const Granularity& g : granularities) {
    std::vector<float> x = weights(g.outer * g.slices * g.inner, random);
    for (float& value : x) value *= random.spread(-20, 20);
    for (const double p : {50.0, 66.6, 99.0, 99.99, 100.0}) {
      for (const Scheme scheme : {Scheme::kSymmetric, Scheme::kAffine}) {
        std::vector<Range> found = whole_ranges(x, g);
        ASSERT_EQ(search_ranges(x, g, {{DType::kInt8, scheme, true}, p}, found), Status::kOk);
        for (std::size_t s = 0; s < g.slices; ++s) {
          std::vector<float> values = slice_of(x, g, s);
          const bool symmetric = scheme == Scheme::kSymmetric;
          if (symmetric) {
            for (float& value : values) value = std::fabs(value);
          }
          const auto high = static_cast<float>(percentile_of(values, p));
          const auto low = static_cast<float>(percentile_of(values, 100 - p));
          EXPECT_EQ(found[s].max, high) << p;
          EXPECT_EQ(found[s].min, symmetric ? -high : low) << p;
        }
      }
    }
  }
}

TEST(SearchRangePiece, GivesTheBitsOfTheWholeSlice) {
  Random random(44);
  const std::vector<float> x = weights(1001, random);
  for (const double percentile : {0.0, 98.7}) {
    const RangeSearch search{{DType::kInt4, Scheme::kAffine, true}, percentile};
    const Range expected = search_one(x, search);
    Range found = whole_ranges(x, {1, 1, x.size()})[0];
    SearchState state{};
    for (std::size_t pass = 0; pass < search_passes(search); ++pass) {
      for (std::size_t begin = 0; begin < x.size(); begin += 400) {
        const std::size_t count = std::min<std::size_t>(400, x.size() - begin);
        const std::span<const float> piece(x.data() + begin, count);
        EXPECT_EQ(search_range_piece(piece, search, pass == 0 && begin == 0,
                                     begin + count == x.size(), state, found),
                  Status::kOk);
      }
    }
    EXPECT_EQ(found.min, expected.min);
    EXPECT_EQ(found.max, expected.max);
  }
}

TEST(SearchRanges, SearchesTheShortGroupsOfRows) {
  const std::vector<float> x = {1.0F, 3.0F, -5.0F, 2.0F, 4.0F, 7.0F};
  const Granularity g{1, 4, 2, 3};
  std::vector<Range> ranges = whole_ranges(x, g);
  const RangeSearch median{{DType::kInt8, Scheme::kSymmetric, true}, 50.0};
  ASSERT_EQ(search_ranges(x, g, median, ranges), Status::kOk);
  EXPECT_EQ(ranges[0].max, 2.0F);
  EXPECT_EQ(ranges[1].max, 5.0F);
  EXPECT_EQ(ranges[2].max, 3.0F);
  EXPECT_EQ(ranges[3].max, 7.0F);
}

TEST(SearchRanges, RefusesUnsignedSymmetricAndLengthsThatDoNotFit) {
  const float x[] = {1.0F, 2.0F};
  Range ranges[] = {{1.0F, 2.0F}};
  const RangeSearch search = least_error(DType::kUint4, Scheme::kSymmetric);
  EXPECT_EQ(search_ranges(x, {1, 1, 2}, search, ranges), Status::kUnsignedSymmetric);
  EXPECT_EQ(search_ranges(x, {1, 1, 3}, search, ranges), Status::kShapeMismatch);
  EXPECT_EQ(search_ranges(x, {1, 2, 1}, search, ranges), Status::kShapeMismatch);
}

}  // namespace
}  // namespace zeropoint
