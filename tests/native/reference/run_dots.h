// Rounds of dot products, one lane at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/panels.h"

namespace zeropoint::reference {

using DotLanes = std::array<std::uint32_t, 4>;

/// @param dot  gives a lane's next sum: (four codes, four digits, sum)
template <typename Dot>
std::int32_t run_dots(std::size_t rounds, Dot dot) {
  std::array<DotLanes, 4> sums{};
  for (DotLanes& lanes : sums) lanes.fill(0x01010101U);
  for (std::size_t round = 0; round < rounds; ++round) {
    const DotLanes digits = sums[0];
    for (std::size_t i = 0; i < kernels::kDotsOfRound; ++i) {
      for (std::size_t lane = 0; lane < 4; ++lane) {
        std::int8_t codes[4];
        for (std::size_t j = 0; j < 4; ++j) {
          codes[j] = static_cast<std::int8_t>(37 * (16 * i + 4 * lane + j) + i);
        }
        sums[i % 4][lane] = dot(codes, digits[lane] & 0x7F7F7F7FU, sums[i % 4][lane]);
      }
    }
  }
  std::uint32_t all = 0;
  for (std::size_t lane = 0; lane < 4; ++lane) {
    all ^= sums[0][lane] + sums[1][lane] + sums[2][lane] + sums[3][lane];
  }
  return static_cast<std::int32_t>(all);
}

/// sum + the two products of int16.
inline std::uint32_t wide_dot(const std::int8_t (&codes)[4], std::uint32_t digits,
                              std::uint32_t sum) {
  std::int16_t a[2];
  std::int16_t b[2];
  std::memcpy(a, codes, sizeof(a));
  std::memcpy(b, &digits, sizeof(b));
  return sum + static_cast<std::uint32_t>(a[0] * b[0]) + static_cast<std::uint32_t>(a[1] * b[1]);
}

/// sum ^ (digits + the four products of int8 and 7 bits).
inline std::uint32_t relaxed_dot(const std::int8_t (&codes)[4], std::uint32_t digits,
                                 std::uint32_t sum) {
  std::uint32_t dot = digits;
  for (std::size_t j = 0; j < 4; ++j) {
    const auto digit = static_cast<std::int32_t>(digits >> (8 * j) & 127U);
    dot += static_cast<std::uint32_t>(codes[j] * digit);
  }
  return sum ^ dot;
}

}  // namespace zeropoint::reference
