// Plain sums of kernels/search.h: one value at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/search.h"

namespace zeropoint::reference {

/// Code i of a row of 8 or 4 bits.
inline int row_code(const std::uint8_t* row, std::size_t i, int bits) {
  if (bits == 8) return static_cast<std::int8_t>(row[i]);
  const int nibble = row[i / 2] >> (i % 2 * 4) & 15;
  return nibble < 8 ? nibble : nibble - 16;
}

inline std::int32_t dot_row(const std::uint8_t* row, const std::int16_t* query, std::size_t n,
                            int bits) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += std::int64_t{row_code(row, i, bits)} * query[i];
  return static_cast<std::int32_t>(sum);
}

/// The sum of query codes where the row's bit is 1.
inline std::int32_t sum_signed(const std::uint8_t* row, const std::int16_t* query, std::size_t n) {
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if ((row[i / 8] >> (i % 8) & 1) != 0) sum += query[i];
  }
  return sum;
}

/// The number of bits in which two rows of `bytes` bytes differ.
inline std::size_t sign_distance(const std::uint8_t* a, const std::uint8_t* b, std::size_t bytes) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < 8 * bytes; ++i) {
    if (((a[i / 8] ^ b[i / 8]) >> (i % 8) & 1) != 0) ++count;
  }
  return count;
}

/// The sum of squares of n codes; -1 if one is the least of its bits.
inline std::int32_t sum_squares(const std::uint8_t* row, std::size_t n, int bits) {
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const int code = row_code(row, i, bits);
    if (code == -(1 << (bits - 1))) return -1;
    sum += code * code;
  }
  return sum;
}

inline double total(const double (&p)[4]) { return (p[0] + p[2]) + (p[1] + p[3]); }

inline kernels::RowSums sum_row_f32(const float* x, std::size_t n) {
  double square[4] = {};
  double absolute[4] = {};
  float largest = 0.0F;
  for (std::size_t i = 0; i < n; ++i) {
    square[i % 4] += static_cast<double>(x[i]) * x[i];
    absolute[i % 4] += std::abs(static_cast<double>(x[i]));
    largest = std::max(largest, std::abs(x[i]));
  }
  return {total(square), total(absolute), largest};
}

inline void encode_row_f32(const float* x, std::size_t n, const kernels::RowScale& scale,
                           std::int8_t* codes, kernels::CodeSums& sums) {
  for (std::size_t i = 0; i < n; ++i) {
    const float step = std::nearbyint(x[i] / scale.scale);
    codes[i] = static_cast<std::int8_t>(std::clamp(step, -scale.most, scale.most));
    const double difference = x[i] * scale.factor - codes[i] * scale.stored;
    sums.noise[i % 4] += difference * difference;
    sums.squares[i % 4] += static_cast<double>(codes[i]) * codes[i];
  }
}

}  // namespace zeropoint::reference
