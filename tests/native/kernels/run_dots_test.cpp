#include "reference/run_dots.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>

#include "kernels/panels.h"

namespace zeropoint {
namespace {

TEST(RunWideDots, MatchesItsReferenceForEveryNumberOfRounds) {
  for (const std::size_t rounds : {0U, 1U, 2U, 7U}) {
    EXPECT_EQ(kernels::run_wide_dots(rounds), reference::run_dots(rounds, reference::wide_dot));
  }
}

TEST(RunRelaxedDots, MatchesItsReferenceForEveryNumberOfRounds) {
  for (const std::size_t rounds : {0U, 1U, 2U, 7U}) {
    EXPECT_EQ(kernels::run_relaxed_dots(rounds),
              reference::run_dots(rounds, reference::relaxed_dot));
  }
}

TEST(RunRelaxedDots, GivesAnotherChecksumForEveryNumberOfRounds) {
  std::set<std::int32_t> checksums;
  for (std::size_t rounds = 0; rounds < 8; ++rounds) {
    checksums.insert(kernels::run_relaxed_dots(rounds));
  }
  EXPECT_EQ(checksums.size(), 8U);
}

}  // namespace
}  // namespace zeropoint
