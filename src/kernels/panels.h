// How packed weights and the digits of activations lie in memory, and the kernels that make and
// multiply them.
//
// Weights. Eight outputs make a panel, of two tiles of four outputs. A step is four inputs; its 16
// bytes of a tile hold, for each of the four outputs, the codes of the four inputs. A row of K
// inputs is cut into groups that share a scale, and those into chunks of at most kChunk inputs,
// whose products an int32 can add; every chunk is padded with zeros to whole steps. Codes are kept
// at their own width:
//
//   8 bits   32 bytes a step, one tile after the other
//   4 bits   16 bytes a step, the first tile in the low nibbles, the second in the high ones; where
//            kI16 is what is multiplied, 8 is added to the first: see kAddedToLow
//   2 bits   16 bytes two steps: bits 0-1 first tile, 2-3 second tile, 4-7 those of the next step
//
// Sums of products take 4- and 2-bit codes 16 and 64 times (Panels::unit), as they stand in the
// highest bits of an int8, which is undone by an exact power of two at the end.
//
// Activations. A row, scaled by a power of two, is rounded to 28-bit integers X; products of X and
// codes are exact. With X = 2^14 high + low, 0 <= low < 2^14, a row is
//
//   kI16  in each step four int16 of low, then four of high, for i32x4.dot_i16x8
//   kI7   four lines of digits of X + 2^27 in base 128, the least significant first, for the dot
//         of relaxed SIMD, which multiplies lines and knows nothing of rows: see line_place()
//
// In both of them high * 2^14 + low comes out as the same integer, whatever the build. Where 21
// bits are enough, three lines of X + 2^20 are multiplied in three quarters of the time: kI7Short.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/simd.h"

namespace zeropoint::kernels {

inline constexpr std::size_t kPanel = 8;  ///< outputs of a panel
inline constexpr std::size_t kTile = 4;   ///< outputs of a tile
inline constexpr std::size_t kStepInputs = 4;
/// The most inputs whose products are added in int32: 2^14 * 2^7 * 2^10 = 2^31, not quite reached.
inline constexpr std::size_t kChunk = 1024;

/// What is added to the 4-bit codes of a panel's first tile. A row of int16 is multiplied by whole
/// bytes, 16 * second + first, and by their low nibbles alone, so that only these need to be made;
/// a difference of sums is what the second tile makes. Lines of bytes have no use for it.
inline constexpr int kAddedToLow = ZEROPOINT_WIDE ? 8 : 0;

/// Packed weights, as the kernels read them.
struct Panels {
  std::size_t n;                    ///< outputs
  std::size_t k;                    ///< inputs
  int bits;                         ///< 8, 4 or 2
  std::size_t group;                ///< inputs that share a scale; at least 1
  std::size_t chunks;               ///< of a row
  std::size_t steps;                ///< of a row
  bool affine;                      ///< whether any zero point is not 0
  const std::uint8_t* codes;        ///< [panels][bytes of a row]
  const float* scales;              ///< [panels][groups][8]
  const std::int32_t* zero_points;  ///< [panels][groups][8], in units of codes; if affine
  const std::int32_t* minus_sums;   ///< [panels][chunks][8]: -64 times the sum of a chunk's codes
  const float* largest;             ///< [panels][8]: at least |w| / (scale of inputs), times unit
  /// [panels][2][8]: a magnitude of weights (times unit; 0 if there is none to tell), and the root
  /// of how many of an output's weights are below it.
  const float* ordinary;
  /// The largest roots in `ordinary`, and at least |w| of any output, the root of its sum of
  /// squares, in ordinary magnitudes: see is_enough(). Infinity if there are no such magnitudes.
  float root;
  float norm;
  const float* input_scales;              ///< [k], or null
  const std::int32_t* input_zero_points;  ///< [k], or null

  [[nodiscard]] std::size_t count() const { return (n + kPanel - 1) / kPanel; }
  /// Groups that have a scale; without inputs there is still one.
  [[nodiscard]] std::size_t groups() const { return k == 0 ? 1 : k / group; }
  [[nodiscard]] std::size_t bytes() const { return steps * static_cast<std::size_t>(bits) * 4; }
  /// What a code of 1 counts.
  [[nodiscard]] double unit() const { return 1 << (8 - bits); }
};

/// Steps that inputs take, of a chunk or of as many whole ones as are in one group.
constexpr std::size_t steps_of(std::size_t inputs, int bits) {
  const std::size_t steps = (inputs + kStepInputs - 1) / kStepInputs;
  return bits == 2 ? (steps + 1) / 2 * 2 : steps;
}

/// Calls f(first input, inputs, group) for each chunk of a row.
template <typename F>
void for_chunks(std::size_t k, std::size_t group, F f) {
  for (std::size_t first = 0, g = 0; first < k; first += group, ++g) {
    for (std::size_t at = 0; at < group; at += kChunk) {
      f(first + at, group - at < kChunk ? group - at : kChunk, g);
    }
  }
}

/// How large the codes of a chunk are, times the unit, output by output.
struct CodeSizes {
  std::int32_t smallest[kPanel];  ///< of the codes and 0
  std::int32_t largest[kPanel];
  std::int32_t small[kPanel];    ///< how many, padding included, are smaller than ordinary_code()
  std::int32_t squares[kPanel];  ///< their sum
};

/// Packs a chunk of up to eight rows of one code a byte: rows[outputs], each at its first code.
/// Unsigned codes become signed: 128, 8 or 2 is taken off each.
/// @param packed      steps_of(inputs) steps of a panel
/// @param minus_sums  [8]
void pack_chunk(const std::uint8_t* const* rows, std::size_t outputs, std::size_t inputs, int bits,
                bool is_signed, std::uint8_t* packed, std::int32_t* minus_sums, CodeSizes& sizes);

/// The magnitude, times the unit, from which on a code counts as ordinary.
constexpr int ordinary_code(int bits) { return bits == 8 ? 8 : 1 << (8 - bits); }

/// How activations are written. kI7Short is for weights whose inputs have no scales of their own.
enum class Digits { kI16, kI7, kI7Short };

/// Bits of the integers, their sign included.
constexpr int digit_bits(Digits format) { return format == Digits::kI7Short ? 21 : 28; }

/// Bytes that a row of digits takes, in any format.
constexpr std::size_t digit_row_bytes(std::size_t steps) { return steps * 16; }

/// Where a line of four bytes a step lies among others. Lines are multiplied six, four, three or
/// one at a time, and those of such a block take turns step by step: processors fetch ahead what is
/// read in one stream, and get lost in six of them.
struct LinePlace {
  std::size_t at;          ///< its first step, in bytes
  std::size_t step_bytes;  ///< from step to step
};

/// How many lines of `lines` are multiplied six at a time: 8 left ones are better than 2.
constexpr std::size_t lines_in_sixes(std::size_t lines) {
  const std::size_t left = lines % 6;
  return lines - (left == 2 && lines > 2 ? 8 : left);
}

constexpr LinePlace line_place(std::size_t lines, std::size_t line, std::size_t steps) {
  const std::size_t sixes = lines_in_sixes(lines);
  const std::size_t fours = sixes + (lines - sixes) / 4 * 4;
  const std::size_t block = line < sixes ? 6 : line < fours ? 4 : lines - fours == 3 ? 3 : 1;
  const std::size_t place = (line < sixes ? line : line - sixes) % block;
  return {((line - place) * steps + place) * kStepInputs, block * kStepInputs};
}

/// What is known of a row of activations beside its digits.
struct RowScale {
  double unit;   ///< what X = 1 stands for; a power of two
  double error;  ///< at least the sum of |x / unit - X|; of kI7Short, the root of its squares' sum
  double sum;    ///< at most the sum of |X|
  double norm;   ///< at least the root of the sum of X * X
  bool finite;   ///< false: there are no digits
};

/// Writes the digits of row `row` of `rows`, float32[k], chunk by chunk as panels has it.
/// @param digits  [rows][digit_row_bytes(steps)], of all rows
/// @param sums    double[chunks]: of X (times the input's zero point, where inputs have their own)
RowScale digits_f32(const float* x, const Panels& panels, Digits format, std::size_t rows,
                    std::size_t row, std::uint8_t* digits, double* sums);

/// Whether a row of kI7Short is certain to err by less than `tolerance` of sum |x w|, whatever the
/// output.
bool is_enough(const Panels& panels, const RowScale& row, double tolerance);

/// The most rows of digits or bytes that are multiplied at a time.
inline constexpr std::size_t kMaxRows = 256;

/// A product to compute.
struct PanelProduct {
  Panels panels;
  std::size_t rows;            ///< at most kMaxRows
  const float* x;              ///< [rows][k]
  const std::uint8_t* digits;  ///< [rows][digit_row_bytes(steps)]
  const RowScale* scales;      ///< [rows]
  const double* sums;          ///< [rows][chunks]
  /// Largest error that may come from rounding x, relative to |y|; where more is possible, y is
  /// computed from x itself, in double. Infinity: it is known to be good enough.
  double tolerance;
  const float* bias;  ///< [n], or null
  float* out;         ///< [rows][n]
  /// [rows]: which rows of x and out those of digits, scales and sums are.
  const std::uint16_t* places;
};

/// out = x . w^T + bias for panels first ... last - 1:
///   y = unit * sum over groups, in order, of scale * sum of X * (code - zero point) + bias
/// with exact integer sums and everything else in double, rounded to float32 once.
void multiply_panels(const PanelProduct& product, Digits format, std::size_t first,
                     std::size_t last);

/// How rows of quint8 activations are written.
enum class Bytes {
  kI16,  ///< int16, row by row
  kI7,   ///< lines, of bytes that are all at most 127
  kI7x2  ///< lines of the low seven bits of all rows, then lines of their highest bits
};

/// Bytes of a row of them, in any format.
constexpr std::size_t byte_row_bytes(std::size_t steps) { return steps * 8; }

/// The most inputs whose products with quint8 an int32 can hold: 255 * 128 * 2^16 < 2^31.
inline constexpr std::size_t kByteInputs = std::size_t{1} << 16;

/// Whether no byte has its highest bit set.
bool all_below_128(const std::uint8_t* x, std::size_t n);

/// Writes row `row` of `rows`, qx[k], padded with zeros to whole steps.
/// @param out  [rows][byte_row_bytes(steps)], of all rows
void spread_bytes(const std::uint8_t* qx, std::size_t k, Bytes format, std::size_t rows,
                  std::size_t row, std::uint8_t* out);

/// Which bytes to multiply by which weights.
struct ByteProduct {
  const std::uint8_t* codes;  ///< of a panel of 8-bit weights
  std::size_t row_steps;      ///< of a row
  const std::uint8_t* x;      ///< [rows][byte_row_bytes(row_steps)]
  std::size_t rows;           ///< at most kMaxRows
};

/// sums[row][8] = sum of x * code over steps first ... first + steps - 1 of one panel; at most
/// kByteInputs inputs.
void multiply_bytes(const ByteProduct& product, Bytes format, std::size_t first, std::size_t steps,
                    std::int32_t* sums);

/// All sums of a panel: multiply_bytes' own, and what is added to them, in double.
struct ByteSums {
  const std::int32_t* sums;  ///< [rows][8]
  const double* more;        ///< [rows][8], or null: sums of the inputs before these
  const double* correction;  ///< [8]
};

/// What they become in a layer with dynamic activations:
///   out = float(sum + more + correction) * multiplier + bias       in float32
/// @param multiplier  float32[8]. @param bias  float32[8]
/// @param out         [rows][stride], of which `columns` <= 8 are written
void finish_bytes(const ByteSums& sums, const float* multiplier, const float* bias,
                  std::size_t rows, float* out, std::size_t stride, std::size_t columns);

/// And in a layer whose outputs are quint8, too:
///   out = clamp(round_half_even(float(sum + more + correction + bias) * multiplier) + zero_point,
///               0, 255), and 0 for NaN
/// @param bias  float32[8], added in double. @param zero_point  in [0, 255]
void requantize_bytes(const ByteSums& sums, const float* multiplier, const float* bias,
                      std::int32_t zero_point, std::size_t rows, std::uint8_t* out,
                      std::size_t stride, std::size_t columns);

}  // namespace zeropoint::kernels
