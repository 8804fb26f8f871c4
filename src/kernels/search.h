// Contract of the kernels of search.h. Behind a row's codes are 16 readable bytes; what is read
// beyond a row is multiplied by 0. Sums are exact: the caller bounds the query's codes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zeropoint::kernels {

/// Rows at any places, and the query in the layout of their kernel.
struct RowDots {
  const std::uint8_t* const* rows;
  const void* query;
  std::size_t steps;       ///< of 16 bytes, the last one may be short
  std::size_t offset = 0;  ///< of the codes from a row's place
  /// From the query to a second one, in bytes; 0: there is one. Of dot_rows_s8() and dot_rows_s4().
  std::size_t to_second = 0;
};

/// out[r] = sum of rows[r][i] * query[i], and of a second query out[count + r].
/// query: int16[steps * 16], padded with 0.
void dot_rows_s8(const RowDots& dots, std::size_t count, std::int32_t* out);

/// The same for codes of four bits. query: four_bit_query_size() bytes of 0, to which
/// place_four_bits() has added each code.
void dot_rows_s4(const RowDots& dots, std::size_t count, std::int32_t* out);

constexpr std::size_t four_bit_query_size(std::size_t steps) { return 16 + steps * 64; }

/// The largest code of a query of dot_rows_s4(): 17 times it fits in int16.
inline constexpr std::int32_t kMostFourBits = 1927;

/// Adds code q of value i to a query of dot_rows_s4().
///
/// A word of 16 bits of a row, with the highest bit of all values but the last one inverted, is
///   w = 4096 c3 + 256 (c2 + 8) + 16 (c1 + 8) + (c0 + 8),
/// and c0 q0 + c1 q1 + c2 q2 + c3 q3 is
///   w q0 + (w >> 4) (q1 - 16 q0) + (w >> 8) (q2 - 16 q1) + (w >> 12) (q3 - 16 q2)
///   - 8 (q0 + q1 + q2),
/// so that no value has to be separated from those above it. The query has the last sum for all
/// words in its first int32, then for each step four vectors of the words' factors. Products are
/// summed modulo 2^32, and their sum fits in int32.
void place_four_bits(std::int32_t q, std::size_t i, void* query);

/// Bits of the query's codes, in two's complement, for rows of signs.
inline constexpr std::size_t kPlanes = 6;

/// out[r] = sum of query codes where the row's bit is 1. query: uint8[kPlanes][steps * 16], plane p
/// with bit p of all codes, padded with 0.
void sum_signed_b1(const RowDots& dots, std::size_t count, std::int32_t* out);

/// Rows of signs one behind the other, `stride` bytes each, and a query's: uint8[steps * 16],
/// padded with 0. Bits behind the last value are 0 in both.
struct SignRows {
  const std::uint8_t* rows;
  std::size_t stride;
  const std::uint8_t* query;
};

/// out[r] = number of bits in which row r and the query differ.
void sign_distances_b1(const SignRows& signs, std::size_t count, std::uint16_t* out);

/// Bit r % 8 of marks[r / 8] = distances[r] <= most; bits behind the last row are 0. Returns their
/// number.
std::size_t mark_up_to_u16(const std::uint16_t* distances, std::size_t count, std::uint16_t most,
                           std::uint8_t* marks);

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
