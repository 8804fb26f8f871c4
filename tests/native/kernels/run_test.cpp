// Common part of operations in run(): groups, and values left after whole steps.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "columns.h"
#include "compare.h"
#include "kernels/kernels.h"

namespace zeropoint {
namespace {

using testing::Columns;
using testing::Output;
using testing::Random;
using testing::same;

/// Groups of one length, each with separate qparams.
struct Groups {
  std::size_t length;
  Columns qparams;
  std::vector<float> x;

  Groups(std::size_t count, std::size_t length_of_one, Random& random)
      : length(length_of_one),
        qparams(count, -128, 127, false, random),
        x(random.uniforms(count * length_of_one, -300.0F, 300.0F)) {}

  [[nodiscard]] std::size_t count() const { return qparams.scales.size(); }
  [[nodiscard]] kernels::UniformQParams own(std::size_t group) const {
    return {qparams.scales[group], qparams.zero_points[group], qparams.nan_codes[group]};
  }
};

constexpr kernels::CodeRule kInt8 = {-128, 127, 127};

template <typename From, typename To>
void expect_group_by_group(const kernels::Operation& operation, const Groups& groups,
                           std::span<const From> from) {
  Output<To> together(from.size());
  kernels::run(operation, from.data(), from.size(),
               kernels::AnyQParams::groups(groups.qparams.qparams(), groups.length), kInt8,
               together.data());
  Output<To> apart(from.size());
  for (std::size_t group = 0; group < groups.count(); ++group) {
    const std::size_t first = group * groups.length;
    kernels::run(operation, from.data() + first, groups.length, groups.own(group), kInt8,
                 apart.data() + first);
  }
  EXPECT_TRUE(same(together.values(), apart.values()));
  EXPECT_TRUE(together.guards_intact());
}

void expect_all_group_by_group(const Groups& groups) {
  SCOPED_TRACE(::testing::Message() << groups.count() << " groups of " << groups.length);
  const std::span<const float> x(groups.x);
  expect_group_by_group<float, std::int8_t>(kernels::quantization(Storage::kInt8), groups, x);
  expect_group_by_group<float, std::int32_t>(kernels::quantization(Storage::kInt32), groups, x);
  expect_group_by_group<float, float>(kernels::fake_quantization(), groups, x);
  std::vector<std::int8_t> codes;
  for (std::size_t i = 0; i < x.size(); ++i) codes.push_back(static_cast<std::int8_t>(i * 7));
  expect_group_by_group<std::int8_t, float>(kernels::dequantization(Storage::kInt8), groups, codes);
}

// Brackets are made for 32 groups at a time.
TEST(Run, GivesEveryGroupItsOwnQParams) {
  Random random(140);
  for (const std::size_t count : {2U, 3U, 31U, 32U, 33U, 70U}) {
    for (const std::size_t length : {16U, 32U, 48U}) {
      expect_all_group_by_group(Groups(count, length, random));
    }
  }
}

TEST(Run, TakesASingleGroupOfAnyLength) {
  Random random(141);
  for (const std::size_t length : {1U, 15U, 16U, 17U, 33U}) {
    expect_all_group_by_group(Groups(1, length, random));
  }
}

}  // namespace
}  // namespace zeropoint
