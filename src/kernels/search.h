// Contract of the kernels of search.h. Rows lie one behind the other, `stride` bytes apart, with 16
// readable bytes behind the last one; what is read beyond a row is multiplied by 0. Sums are exact:
// the caller bounds the query's codes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zeropoint::kernels {

/// Rows, and the query in the layout of their kernel.
struct RowDots {
  const std::uint8_t* rows;
  std::size_t stride;
  const void* query;
  std::size_t steps;  ///< of 16 bytes, the last one may be short
  /// From the query to a second one, in bytes; 0: there is one. Of dot_rows_s8() and dot_rows_s4().
  std::size_t to_second = 0;
};

/// out[r] = sum of rows[r][i] * query[i], and of a second query out[count + r].
/// query: int16[steps * 16], padded with 0.
void dot_rows_s8(const RowDots& dots, std::size_t count, std::int32_t* out);

/// The same for codes of four bits; query: int16[steps * 32] in the order of four_bit_place().
void dot_rows_s4(const RowDots& dots, std::size_t count, std::int32_t* out);

/// Index of value i in the query of dot_rows_s4(): lane j of four vectors holds the values 4j,
/// 4j + 1, 4j + 2 and 4j + 3 of a step.
constexpr std::size_t four_bit_place(std::size_t i) { return i / 32 * 32 + i % 4 * 8 + i % 32 / 4; }

/// Bits of the query's codes, in two's complement, for rows of signs.
inline constexpr std::size_t kPlanes = 6;

/// out[r] = sum of query codes where the row's bit is 1. query: uint8[kPlanes][steps * 16], plane p
/// with bit p of all codes, padded with 0.
void sum_signed_b1(const RowDots& dots, std::size_t count, std::int32_t* out);

/// out[r] = number of bits in which row r and the query differ. query: uint8[steps * 16], padded
/// with 0; bits behind the last value are 0 in both.
void sign_distances_b1(const RowDots& dots, std::size_t count, std::uint16_t* out);

/// The sum of squares of the codes of 8 or of 4 bits in these bytes; -1 if one of them is -128 or
/// -8, which rows do not have.
std::int32_t sum_squares_s8(const std::uint8_t* codes, std::size_t bytes);
std::int32_t sum_squares_s4(const std::uint8_t* codes, std::size_t bytes);

/// Sums of a row, in four partial sums as kernels.h's Energies: of x^2 and |x|, and max |x|.
struct RowSums {
  double square;
  double absolute;
  float largest;
};
RowSums sum_row_f32(const float* x, std::size_t n);

/// codes[i] = clamp(round_half_even(x[i] / scale), -most, most); scale > 0. Adds to sums[0] and [1]
/// (x[i] * factor - codes[i] * stored)^2, and the codes' squares, in double; value i to partial
/// sum i % 4. n is a multiple of 4, except in the last call for a row.
struct CodeSums {
  double noise[4];
  double squares[4];
};
struct RowScale {
  float scale;
  float most;
  double factor;
  double stored;
};
void encode_row_f32(const float* x, std::size_t n, const RowScale& scale, std::int8_t* codes,
                    CodeSums& sums);

}  // namespace zeropoint::kernels
