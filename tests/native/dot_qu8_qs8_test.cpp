#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "compare.h"
#include "kernels/kernels.h"
#include "random.h"

namespace zeropoint {
namespace {

using testing::Input;
using testing::kLengths;
using testing::Random;

// Around the kernel's 131072 products between drains to 64 bits, and well beyond them.
constexpr std::array<std::size_t, 9> kLongLengths = {65536,  131071, 131072, 131073, 131088,
                                                     131089, 262144, 262161, 300000};

std::int64_t exact_dot(const std::vector<std::uint8_t>& x, const std::vector<std::int8_t>& w) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += std::int64_t{x[i]} * std::int64_t{w[i]};
  return sum;
}

void expect_exact(const std::vector<std::uint8_t>& x, const std::vector<std::int8_t>& w,
                  std::size_t offset) {
  const Input input(x, offset);
  const Input weights(w, (offset + 3) % 8);
  EXPECT_EQ(kernels::dot_qu8_qs8(input.data(), weights.data(), input.size()), exact_dot(x, w))
      << "K " << x.size() << ", offset " << offset;
}

std::vector<std::uint8_t> random_inputs(std::size_t k, Random& random) {
  std::vector<std::uint8_t> x(k);
  for (std::uint8_t& value : x) value = static_cast<std::uint8_t>(random.bits());
  return x;
}

std::vector<std::int8_t> random_weights(std::size_t k, Random& random) {
  std::vector<std::int8_t> w(k);
  for (std::int8_t& value : w) value = static_cast<std::int8_t>(random.integer(-128, 127));
  return w;
}

TEST(DotQu8Qs8, IsExactAtEveryLengthAndAlignment) {
  Random random(30);
  for (const std::size_t k : kLengths) {
    for (std::size_t offset = 0; offset < 8; ++offset) {
      expect_exact(random_inputs(k, random), random_weights(k, random), offset);
    }
  }
}

TEST(DotQu8Qs8, IsExactForEveryPairOfCodes) {
  std::vector<std::uint8_t> x(256);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint8_t>(i);
  for (int code = -128; code <= 127; ++code) {
    expect_exact(x, std::vector<std::int8_t>(x.size(), static_cast<std::int8_t>(code)), 0);
  }
}

// Each pair alone, where no other could make up for it.
TEST(DotQu8Qs8, IsExactForASingleProductInEveryPlaceOfAStep) {
  for (std::size_t place = 0; place < 33; ++place) {
    std::vector<std::uint8_t> x(33);
    std::vector<std::int8_t> w(33);
    x[place] = 255;
    w[place] = -128;
    EXPECT_EQ(kernels::dot_qu8_qs8(x.data(), w.data(), x.size()), -32640) << place;
  }
}

TEST(DotQu8Qs8, IsExactAtFullScaleForMoreThanInt32CanHold) {
  for (const std::size_t k : kLongLengths) {
    const std::vector<std::uint8_t> x(k, 255);
    const auto terms = static_cast<std::int64_t>(k);
    for (const int code : {-128, 127}) {
      const std::vector<std::int8_t> w(k, static_cast<std::int8_t>(code));
      EXPECT_EQ(kernels::dot_qu8_qs8(x.data(), w.data(), k), terms * 255 * code) << k;
    }
  }
}

TEST(DotQu8Qs8, IsExactForLongRandomRows) {
  Random random(31);
  for (const std::size_t k : kLongLengths) {
    expect_exact(random_inputs(k, random), random_weights(k, random), 1);
  }
}

}  // namespace
}  // namespace zeropoint
