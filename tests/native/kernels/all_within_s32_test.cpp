#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "compare.h"
#include "kernels/kernels.h"

namespace zeropoint {
namespace {

using testing::Input;

TEST(AllWithinS32, FindsOneValueOutsideWhereverItIs) {
  for (const std::size_t n : {0U, 1U, 3U, 4U, 5U, 15U, 16U, 17U, 33U}) {
    std::vector<std::int32_t> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = i % 2 == 0 ? -8 : 7;
    const Input inside(values, n % 4);
    EXPECT_TRUE(kernels::all_within_s32(inside.data(), n, -8, 7)) << n;
    for (std::size_t at = 0; at < n; ++at) {
      for (const std::int32_t value : {INT32_MIN, -9, 8, INT32_MAX}) {
        std::vector<std::int32_t> changed = values;
        changed[at] = value;
        const Input outside(changed, n % 4);
        EXPECT_FALSE(kernels::all_within_s32(outside.data(), n, -8, 7)) << value << " at " << at;
      }
    }
  }
}

}  // namespace
}  // namespace zeropoint
