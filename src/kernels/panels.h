// Memory layout of packed weights and of activations' digits, and the kernels that write and
// multiply them.
//
// Weights. Eight outputs make a panel of two tiles, four outputs each. A step is four inputs; its
// 16 bytes of a tile hold the codes of the four inputs for each of the four outputs. A row of K
// inputs is cut into groups that share a scale, and groups into chunks of at most kChunk inputs, so
// that int32 can hold a chunk's sum of products. Every chunk is padded with zeros to whole steps.
// Codes keep their width where it is 8, 4 or 2 bits; others are stored as the next wider of these:
//
//   8 bits   32 bytes a step, one tile after the other
//   4 bits   16 bytes a step, the first tile in the low nibbles, the second in the high ones; for
//            kI16, 8 is added to the first: see added_to_low()
//   2 bits   16 bytes two steps: bits 0-1 first tile, 2-3 second tile, 4-7 those of the next step
//
// Sums of products contain 4- and 2-bit codes times 16 and 64 (Panels::unit), because the codes are
// in the highest bits of an int8. An exact power of two at the end removes this factor.
//
// Activations. A row, scaled by a power of two, is rounded to 28-bit integers X; products of X and
// codes are exact. With X = 2^14 high + low, 0 <= low < 2^14, a row is
//
//   kI16  in each step four int16 of low, then four of high, for i32x4.dot_i16x8
//   kI7   four lines of digits of X + 2^27 in base 128, the least significant first, for the dot
//         of relaxed SIMD, which multiplies lines independently of rows: see line_place()
//
// In both formats high * 2^14 + low is the same integer in every build. If 21 bits are enough,
// three lines of X + 2^20 take three quarters of the time: kI7Short.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/simd.h"

namespace zeropoint::kernels {

inline constexpr std::size_t kPanel = 8;  ///< outputs of a panel
inline constexpr std::size_t kTile = 4;   ///< outputs of a tile
inline constexpr std::size_t kStepInputs = 4;
/// Maximum number of inputs with products added in int32: the sum is below 2^14 * 2^7 * 2^10 =
/// 2^31.
inline constexpr std::size_t kChunk = 1024;

/// Number of groups with a scale; at least 1, even without inputs. The last one may be short.
constexpr std::size_t groups_of(std::size_t k, std::size_t group) {
  return k == 0 ? 1 : (k - 1) / group + 1;
}

/// Packed weights, as the kernels read them.
struct Panels {
  std::size_t n;                    ///< outputs
  std::size_t k;                    ///< inputs
  int bits;                         ///< 8, 4 or 2
  std::size_t group;                ///< inputs that share a scale; at least 1, at most k or 1
  std::size_t chunks;               ///< of a row
  std::size_t steps;                ///< of a row
  bool affine;                      ///< whether any zero point is not 0
  int added_to_low;                 ///< see added_to_low(); 0 except for 4 bits
  const std::uint8_t* codes;        ///< [panels][bytes of a row]
  const float* scales;              ///< [panels][groups][8]
  const std::int32_t* zero_points;  ///< [panels][groups][8], in units of codes; if affine
  const std::int32_t* minus_sums;   ///< [panels][chunks][8]: -64 * unit * sum of a chunk's codes
  const float* largest;             ///< [panels][8]: at least |w| / (scale of inputs), times unit
  /// [panels][2][8]: a magnitude of weights (times unit; 0 if unknown), and the square root of the
  /// number of an output's weights below it.
  const float* ordinary;
  /// Upper bounds for all outputs: the largest root in `ordinary`, and the root of the sum of
  /// squared weights in units of the ordinary magnitude: see is_enough(). Infinity without such
  /// magnitudes.
  float root;
  float norm;
  const float* input_scales;              ///< [k], or null
  const std::int32_t* input_zero_points;  ///< [k], or null
  const float* offsets;        ///< [panels][groups][8], or null: w = scale (code + center) + offset
  const float* input_offsets;  ///< [k], or null: the same with scales of inputs
  int center;                  ///< the code stored as 0; counts only with offsets

  [[nodiscard]] std::size_t count() const { return (n + kPanel - 1) / kPanel; }
  [[nodiscard]] std::size_t groups() const { return groups_of(k, group); }
  [[nodiscard]] std::size_t bytes() const { return steps * static_cast<std::size_t>(bits) * 4; }
  /// Value of a code of 1 in the sums.
  [[nodiscard]] double unit() const { return 1 << (8 - bits); }
};

/// Bits that a code of 1 to 8 bits takes in a panel.
constexpr int stored_bits(int bits) { return bits > 4 ? 8 : bits > 2 ? 4 : 2; }

/// Steps of a number of inputs: of a chunk, or of several full chunks of one group.
constexpr std::size_t steps_of(std::size_t inputs, int bits) {
  const std::size_t steps = (inputs + kStepInputs - 1) / kStepInputs;
  return bits == 2 ? (steps + 1) / 2 * 2 : steps;
}

/// Calls f(first input, inputs, group) for each chunk of a row.
template <typename F>
void for_chunks(std::size_t k, std::size_t group, F f) {
  for (std::size_t first = 0, g = 0; first < k; first += group, ++g) {
    const std::size_t inputs = k - first < group ? k - first : group;
    for (std::size_t at = 0; at < inputs; at += kChunk) {
      f(first + at, inputs - at < kChunk ? inputs - at : kChunk, g);
    }
  }
}

/// Sizes of a chunk's codes, times the unit, per output.
struct CodeSizes {
  std::int32_t smallest[kPanel];  ///< of the codes and 0
  std::int32_t largest[kPanel];
  std::int32_t small[kPanel];    ///< number of codes and padding below ordinary_code() in size
  std::int32_t squares[kPanel];  ///< sum of squared codes
};

/// Packs a chunk of up to eight rows of one code per byte: rows[outputs], each at its first code.
/// Unsigned codes become signed by subtracting 128, 8 or 2.
/// @param added_to_low  to the 4-bit codes of the first tile, see added_to_low()
/// @param packed        steps_of(inputs) steps of a panel
/// @param minus_sums    [8]
void pack_chunk(const std::uint8_t* const* rows, std::size_t outputs, std::size_t inputs, int bits,
                bool is_signed, int added_to_low, std::uint8_t* packed, std::int32_t* minus_sums,
                CodeSizes& sizes);

/// Codes of one output of a packed chunk, one per byte: the inverse of pack_chunk().
/// @param packed  the chunk's steps. @param output  of the panel, 0 to 7. @param codes  [inputs]
void unpack_chunk(const std::uint8_t* packed, std::size_t output, std::size_t inputs, int bits,
                  bool is_signed, int added_to_low, std::uint8_t* codes);

/// Minimum magnitude, times the unit, of an ordinary code.
constexpr int ordinary_code(int bits) { return bits == 8 ? 8 : 1 << (8 - bits); }

/// Format of activations. kI7Short is for weights without scales per input.
enum class Digits { kI16, kI7, kI7Short };

/// Addend of the 4-bit codes of a panel's first tile, in the layout that is fastest for a format. A
/// row of int16 is multiplied by whole bytes, 16 * second + first, and by their low nibbles, which
/// are unsigned thanks to an addend of 8; the difference gives the second tile's sums. Digits of 7
/// bits are multiplied by signed codes. Every format can multiply either layout: codes in the other
/// layout are widened first, even for a single row.
constexpr int added_to_low(Digits format) { return format == Digits::kI16 ? 8 : 0; }

/// Bits of the integers, their sign included.
constexpr int digit_bits(Digits format) { return format == Digits::kI7Short ? 21 : 28; }

/// Bytes that a row of digits takes, in any format.
constexpr std::size_t digit_row_bytes(std::size_t steps) { return steps * 16; }

/// Position of a line, four bytes per step, among other lines. Lines are multiplied six, four,
/// three or one at a time, and the lines of such a block are interleaved step by step, because
/// hardware prefetchers follow one stream well but not six.
struct LinePlace {
  std::size_t at;          ///< its first step, in bytes
  std::size_t step_bytes;  ///< from step to step
};

/// Number of lines, out of `lines`, that are multiplied six at a time. A remainder of 8 (twice
/// four) is faster than one of 2.
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

/// Scale and bounds of a row of activations, besides its digits.
struct RowScale {
  double unit;   ///< value of X = 1; a power of two
  double error;  ///< at least the sum of |x / unit - X|; of kI7Short, the root of its squares' sum
  double sum;    ///< at most the sum of |X|
  double norm;   ///< at least the root of the sum of X * X
  bool finite;   ///< false: no digits were written
};

/// Writes the digits of row `row` of `rows`, float32[k], chunk by chunk as panels has it.
/// @param digits  [rows][digit_row_bytes(steps)], of all rows
/// @param sums    double[chunks]: of X (times the input's zero point, where inputs have their own)
RowScale digits_f32(const float* x, const Panels& panels, Digits format, std::size_t rows,
                    std::size_t row, std::uint8_t* digits, double* sums);

/// Whether the error of a row of kI7Short is certain to be below `tolerance` of sum |x w|, for
/// every output.
bool is_enough(const Panels& panels, const RowScale& row, double tolerance);

/// Maximum number of rows of digits or bytes per product.
inline constexpr std::size_t kMaxRows = 256;

/// A product to compute.
struct PanelProduct {
  Panels panels;
  std::size_t rows;            ///< at most kMaxRows
  const float* x;              ///< [rows][k]
  const std::uint8_t* digits;  ///< [rows][digit_row_bytes(steps)]
  const RowScale* scales;      ///< [rows]
  const double* sums;          ///< [rows][chunks]
  /// Maximum error from rounding x, relative to sum |x w|. Where more is possible, y is computed
  /// from x itself, in double. Infinity: no check, the digits are known to be precise enough.
  double tolerance;
  const float* bias;  ///< [n], or null
  float* out;         ///< [rows][n]
  /// [rows]: index into x and out of each row of digits, scales and sums.
  const std::uint16_t* places;
};

/// out = x . w^T + bias for panels first ... last - 1:
///   y = unit * sum over groups, in order, of scale * sum of X * (code - zero point) + bias
/// with exact integer sums and everything else in double, rounded to float32 once.
void multiply_panels(const PanelProduct& product, Digits format, std::size_t first,
                     std::size_t last);

/// Format of rows of quint8 activations.
enum class Bytes {
  kI16,    ///< int16, row by row
  kI7,     ///< lines of 7 bits
  kI7x2,   ///< lines of the low seven bits of all rows, then lines of their highest bits
  kI7Most  ///< lines of the low seven bits, then for each row a list of steps that need more bits
};

/// Format and base of quint8 activations.
struct ByteFormat {
  Bytes format;
  /// Subtracted from every activation, modulo 256, so that few or none need more than seven bits; 0
  /// except for kI7Most. The zero point of the sums must be reduced by it.
  std::int32_t base = 0;
};

/// Bytes per row, in any format.
constexpr std::size_t byte_row_bytes(std::size_t steps) { return steps * 8; }

/// Maximum number of inputs with quint8 products added in int32: 255 * 128 * 2^16 < 2^31.
inline constexpr std::size_t kByteInputs = std::size_t{1} << 16;

/// Number of bytes outside base ... base + 127.
std::size_t count_outside(const std::uint8_t* x, std::size_t n, std::int32_t base);

/// Maximum number of inputs per row outside seven bits in kI7Most. The list of a row has space for
/// (steps - 1) / 2 of its steps.
constexpr std::size_t most_outside(std::size_t steps) { return steps / 4; }

/// Writes row `row` of `rows`, qx[k], chunk by chunk as panels has it, padded with zeros to whole
/// steps.
/// @param out  [rows][byte_row_bytes(panels.steps)], of all rows
void spread_bytes(const std::uint8_t* qx, const Panels& panels, ByteFormat format, std::size_t rows,
                  std::size_t row, std::uint8_t* out);

/// Widens the codes of a panel to 8 bits: `steps` steps of `bits` bits to 32 bytes a step, times
/// the unit. @param added_to_low  see added_to_low()
void widen_codes(const std::uint8_t* codes, std::size_t steps, int bits, int added_to_low,
                 std::uint8_t* wide);

/// Operands of multiply_bytes().
struct ByteProduct {
  const std::uint8_t* codes;  ///< of a panel of 8-bit weights
  std::size_t row_steps;      ///< of a row
  const std::uint8_t* x;      ///< [rows][byte_row_bytes(row_steps)]
  std::size_t rows;           ///< at most kMaxRows
};

/// sums[row][8] = sum of (x - base) * code over steps first ... first + steps - 1 of one panel; at
/// most kByteInputs inputs. With kI7Most, over all steps.
void multiply_bytes(const ByteProduct& product, Bytes format, std::size_t first, std::size_t steps,
                    std::int32_t* sums);

/// Sums of a panel with several groups, or with codes of fewer than 8 bits, which are widened. A
/// chunk's sums are exact, and are added in double, in order:
///   totals[row][i] += (sum of (x - base) * code - zero_point * sum of codes) * scale / unit
/// where the scale is 1 with a single group. All formats but kI7Most.
/// @param x       [rows][byte_row_bytes(panels.steps)]. @param rows  at most kMaxRows
/// @param totals  [rows][8]
void multiply_groups(const Panels& panels, std::size_t panel, const std::uint8_t* x,
                     std::size_t rows, Bytes format, std::int32_t zero_point, double* totals);

/// All sums of a panel: the result of multiply_bytes, and addends in double.
struct ByteSums {
  const std::int32_t* sums;  ///< [rows][8]
  const double* more;        ///< [rows][8], or null: sums of the inputs before these
  const double* correction;  ///< [8]
};

/// Conversion of sums in a layer with dynamic activations:
///   out = float(sum + more + correction) * multiplier + bias       in float32
/// @param multiplier  float32[8]. @param bias  float32[8]
/// @param out         [rows][stride]; the first `columns` <= 8 values of each row are written
void finish_bytes(const ByteSums& sums, const float* multiplier, const float* bias,
                  std::size_t rows, float* out, std::size_t stride, std::size_t columns);

/// Conversion of sums in a layer with quint8 outputs:
///   out = clamp(round_half_even(float(sum + more + correction + bias) * multiplier) + zero_point,
///               lowest, 255), and the lowest code for NaN
/// @param bias  float32[8], added in double. @param zero_point, lowest  in [0, 255]
void requantize_bytes(const ByteSums& sums, const float* multiplier, const float* bias,
                      std::int32_t zero_point, std::int32_t lowest, std::size_t rows,
                      std::uint8_t* out, std::size_t stride, std::size_t columns);

/// Dots per round of the two functions below.
inline constexpr std::size_t kDotsOfRound = 16;

/// Runs `rounds` * kDotsOfRound 16-bit dots with one addition each, on data in the first-level
/// cache, for timing. @return a checksum of their sums
std::int32_t run_wide_dots(std::size_t rounds);

/// The same with relaxed dots; not defined in the baseline build.
std::int32_t run_relaxed_dots(std::size_t rounds);

}  // namespace zeropoint::kernels
