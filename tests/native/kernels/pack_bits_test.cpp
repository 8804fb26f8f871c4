#include "reference/pack_bits.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "compare.h"
#include "kernels/kernels.h"
#include "random.h"

namespace zeropoint {
namespace {

using testing::Input;
using testing::Output;
using testing::Random;
using testing::same;

constexpr std::size_t kWidths[] = {1, 2, 3, 4, 5, 6, 7};

std::vector<std::uint8_t> random_bytes(std::size_t n, Random& random) {
  std::vector<std::uint8_t> bytes(n);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.bits());
  return bytes;
}

// Random bytes also hold bits beyond the width, which packing drops.
TEST(PackBits, MatchesReferenceAtEveryLengthUpTo300) {
  Random random(20);
  for (const std::size_t width : kWidths) {
    for (std::size_t n = 0; n <= 300; ++n) {
      SCOPED_TRACE(::testing::Message() << n << " codes of " << width << " bits");
      const Input codes(random_bytes(n, random), n % 16);
      const std::vector<std::uint8_t> expected = reference::pack_bits(codes.span(), width);
      Output<std::uint8_t> actual(expected.size(), n % 16);
      kernels::pack_bits(codes.data(), n, static_cast<int>(width), actual.data());
      EXPECT_TRUE(same(actual.values(), expected));
      EXPECT_TRUE(actual.guards_intact());
    }
  }
}

TEST(UnpackBits, MatchesReferenceAtEveryLengthUpTo300) {
  Random random(21);
  for (const std::size_t width : kWidths) {
    for (std::size_t n = 0; n <= 300; ++n) {
      for (const bool is_signed : {false, true}) {
        SCOPED_TRACE(::testing::Message() << n << " codes of " << width << " bits");
        const Input bytes(random_bytes((n * width + 7) / 8, random), n % 16);
        const std::vector<std::uint8_t> expected =
            reference::unpack_bits(bytes.span(), n, width, is_signed);
        Output<std::uint8_t> actual(n, n % 16);
        kernels::unpack_bits(bytes.data(), n, static_cast<int>(width), is_signed, actual.data());
        EXPECT_TRUE(same(actual.values(), expected));
        EXPECT_TRUE(actual.guards_intact());
      }
    }
  }
}

TEST(UnpackBits, MatchesReferenceForEveryByteInEveryPlace) {
  for (const std::size_t width : kWidths) {
    for (const bool is_signed : {false, true}) {
      std::vector<std::uint8_t> bytes(256 + 17);
      std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
      const std::size_t n = bytes.size() * 8 / width;
      Output<std::uint8_t> actual(n);
      kernels::unpack_bits(bytes.data(), n, static_cast<int>(width), is_signed, actual.data());
      EXPECT_TRUE(same(actual.values(), reference::unpack_bits(bytes, n, width, is_signed)));
    }
  }
}

}  // namespace
}  // namespace zeropoint
