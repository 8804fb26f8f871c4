#include "reference/dot.h"

#include <gtest/gtest.h>

#include <vector>

#include "compare.h"
#include "kernels/kernels.h"
#include "random.h"

namespace zeropoint {
namespace {

using kernels::kDotRows;
using testing::Input;
using testing::kEffort;
using testing::kLengths;
using testing::kSpecialFloats;
using testing::Output;
using testing::Random;
using testing::same;

// Rows of x with a gap between them, the last one ending with its last value.
std::vector<float> random_rows(std::size_t rows, std::size_t stride, std::size_t k, bool odd,
                               Random& random) {
  std::vector<float> x(k == 0 ? 0 : (rows - 1) * stride + k);
  for (float& value : x) {
    value = odd ? random.any_float() : random.spread(-6, 6);
  }
  return x;
}

void expect_reference(const Input<float>& x, std::size_t rows, std::size_t stride, const float* w,
                      std::size_t k) {
  std::vector<double> doubles;
  std::vector<float> floats;
  for (std::size_t r = 0; r < rows; ++r) {
    doubles.push_back(reference::dot<double>(x.data() + r * stride, w, k));
    floats.push_back(reference::dot<float>(x.data() + r * stride, w, k));
  }
  Output<double> actual_doubles(rows);
  Output<float> actual_floats(rows);
  kernels::dots(x.data(), rows, stride, w, 1, k, actual_doubles.data());
  kernels::dots(x.data(), rows, stride, w, 1, k, actual_floats.data());
  EXPECT_TRUE(same(actual_doubles.values(), doubles)) << "in double";
  EXPECT_TRUE(same(actual_floats.values(), floats)) << "in float32";
  EXPECT_TRUE(actual_doubles.guards_intact());
  EXPECT_TRUE(actual_floats.guards_intact());
}

void expect_reference_everywhere(bool odd, Random& random) {
  for (const std::size_t k : kLengths) {
    for (std::size_t rows = 1; rows <= kDotRows; ++rows) {
      for (const std::size_t stride : {k, k + 3}) {
        SCOPED_TRACE(::testing::Message() << rows << " rows of " << k);
        const std::size_t offset = random.below(4);
        const Input x(random_rows(rows, stride, k, odd, random), offset);
        const Input w(random_rows(1, k, k, odd, random), (offset + 1) % 4);
        expect_reference(x, rows, stride, w.data(), k);
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
      expect_reference(x, 1, 19, w.data(), 19);
      // The same value as a weight.
      const Input ones(w);
      expect_reference(ones, 1, 19, x.data(), 19);
    }
  }
}

// Rows longer than a piece of widened inputs, and every number of columns.
TEST(Dot, MatchesReferenceForSeveralRowsOfLongWeights) {
  Random random(24);
  for (const std::size_t k : {3U, 512U, 519U, 1300U}) {
    for (const std::size_t columns : {1U, 2U, 3U, 5U, 32U}) {
      const Input x(random_rows(kDotRows, k, k, false, random), 1);
      const Input w(random_rows(columns, k, k, false, random), 2);
      for (std::size_t rows = 1; rows <= kDotRows; ++rows) {
        std::vector<double> doubles(columns * kDotRows);
        std::vector<float> floats(columns * kDotRows);
        kernels::dots(x.data(), rows, k, w.data(), columns, k, doubles.data());
        kernels::dots(x.data(), rows, k, w.data(), columns, k, floats.data());
        for (std::size_t c = 0; c < columns; ++c) {
          for (std::size_t r = 0; r < rows; ++r) {
            const float* row = x.data() + r * k;
            const float* weights = w.data() + c * k;
            EXPECT_EQ(doubles[c * kDotRows + r], reference::dot<double>(row, weights, k));
            EXPECT_EQ(floats[c * kDotRows + r], reference::dot<float>(row, weights, k));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace zeropoint
