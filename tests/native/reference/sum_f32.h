// PyTorch's float32 sum, lane by lane: 4 x 8 chains of values are each summed in a cascade of four
// levels, then joined.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace zeropoint::reference {

/// ceil(log2(n)), which the cascade takes to be 1 up to 2.
inline std::size_t ceil_log2(std::size_t n) {
  std::size_t power = 1;
  while ((std::size_t{1} << power) < n) ++power;
  return power;
}

/// Sums term(0) .. term(size - 1) through four levels: a level's sum moves up at each multiple of
/// the level's count of values.
template <typename Term>
float cascade_sum(std::size_t size, Term term) {
  const std::size_t power = ceil_log2(size) / 4 < 4 ? 4 : ceil_log2(size) / 4;
  const std::size_t step = std::size_t{1} << power;
  const std::size_t whole = size - size % step;
  std::array<float, 4> levels{};
  for (std::size_t i = 0; i < whole; ++i) {
    levels[0] += term(i);
    const std::size_t done = i + 1;
    if (done % step != 0) continue;
    std::size_t period = step;
    for (std::size_t level = 1; level < 4; ++level) {
      levels[level] += levels[level - 1];
      levels[level - 1] = 0.0F;
      period *= step;
      if (done % period != 0) break;
    }
  }
  for (std::size_t i = whole; i < size; ++i) levels[0] += term(i);
  float sum = levels[0];
  for (std::size_t level = 1; level < 4; ++level) sum += levels[level];
  return sum;
}

/// The sum of one lane: value r of the lane is term(r). Every fourth row belongs to the same chain.
template <typename Term>
float lane_sum(std::size_t rows, Term term) {
  const std::size_t steps = rows / 4;
  std::array<float, 4> chains{};
  for (std::size_t j = 0; j < 4; ++j) {
    chains[j] = cascade_sum(steps, [&](std::size_t i) { return term(4 * i + j); });
  }
  for (std::size_t row = 4 * steps; row < rows; ++row) chains[0] += term(row);
  return ((chains[0] + chains[1]) + chains[2]) + chains[3];
}

template <typename Term>
float sum_of(std::size_t n, Term term) {
  if (n < 8) return lane_sum(n, term);
  const std::size_t rows = n / 8;
  float sum = 0.0F;
  for (std::size_t i = 8 * rows; i < n; ++i) sum += term(i);
  for (std::size_t lane = 0; lane < 8; ++lane) {
    sum += lane_sum(rows, [&](std::size_t row) { return term(8 * row + lane); });
  }
  return sum;
}

inline float sum_f32(const float* x, std::size_t n) {
  return sum_of(n, [&](std::size_t i) { return x[i]; });
}

inline float sum_squared_difference_f32(const float* a, const float* b, std::size_t n) {
  return sum_of(n, [&](std::size_t i) {
    const float difference = a[i] - b[i];
    return difference * difference;
  });
}

inline float sum_absolute_difference_f32(const float* a, const float* b, std::size_t n) {
  return sum_of(n, [&](std::size_t i) { return std::fabs(a[i] - b[i]); });
}

}  // namespace zeropoint::reference
