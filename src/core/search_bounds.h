// Rounding of bounds, shared by the files of search.h.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace zeropoint {

/// 2^-53, the largest relative rounding error of an operation in double.
inline constexpr double kRounding = 0x1p-53;

/// Relative error of up to eight operations.
inline constexpr double kEight = 8.0 * kRounding;

/// Bound of the relative error of a sum in double of n squares, or of its root: each partial sum
/// has at most n/4 + 3 additions, or n + 4 where groups are summed one by one, each value at most
/// four operations before; twice that for the products of these errors.
inline double sum_error(std::size_t n) { return static_cast<double>(n + 32) * kRounding; }

/// The least float32 >= v, for v >= 0 within float32.
inline float round_up(double v) {
  const auto nearest = static_cast<float>(v);
  if (static_cast<double>(nearest) >= v) return nearest;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) + 1);
}

}  // namespace zeropoint
