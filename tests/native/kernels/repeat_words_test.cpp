#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/kernels.h"

namespace zeropoint {
namespace {

constexpr std::size_t kMostBeyond = 15;
constexpr std::uint32_t kGuard = 0xABABABABU;

void expect_repeated(std::size_t count, std::size_t times, std::size_t copies) {
  SCOPED_TRACE(::testing::Message() << count << " words, " << times << " times, " << copies);
  std::vector<std::uint32_t> words(count);
  for (std::size_t i = 0; i < count; ++i) words[i] = static_cast<std::uint32_t>(1000 + i);
  const std::size_t size = count * times * copies;
  std::vector<std::uint32_t> out(size + kMostBeyond + 16, kGuard);
  kernels::repeat_words(words.data(), count, times, copies, out.data());
  for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(out[i], words[i / times % count]) << "at " << i;
  for (std::size_t i = size + kMostBeyond; i < out.size(); ++i) ASSERT_EQ(out[i], kGuard) << i;
}

TEST(RepeatWords, RepeatsEveryWordAndAllOfThemAndWritesAtMost15More) {
  for (const std::size_t count : {0U, 1U, 2U, 7U}) {
    for (const std::size_t times : {1U, 2U, 15U, 16U, 17U, 33U}) {
      for (const std::size_t copies : {0U, 1U, 3U}) expect_repeated(count, times, copies);
    }
  }
}

}  // namespace
}  // namespace zeropoint
