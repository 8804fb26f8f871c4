// Contract of the hot loops. Kernels take raw pointers, check only by assert, and neither allocate
// nor throw; core/ has checked the arguments. Pointers need only the alignment of their type.
// Outputs must not overlap inputs unless a kernel says so.
// Parity rule for all kernels: every result is bit-identical to plain scalar code, for every input,
// NaN and infinities included, in every build. The first lines of each kernel's file name this
// code: usually a function of tests/native/reference, which the tests use as the expected value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "zeropoint/dtype.h"
#include "zeropoint/qparams.h"
#include "zeropoint/range.h"

namespace zeropoint::kernels {

// ---- range

/// {+inf, -inf} for no values; {NaN, NaN} if any value is NaN.
Range minmax_f32(const float* x, std::size_t n);

/// minmax_f32 of each of x[runs][length]; with finite_only, over finite values only.
void minmax_runs_f32(const float* x, std::size_t runs, std::size_t length, bool finite_only,
                     Range* out);

/// The same for each of `columns` columns of x[rows][stride].
void minmax_columns_f32(const float* x, std::size_t rows, std::size_t stride, std::size_t columns,
                        bool finite_only, Range* out);

/// Whether low <= v <= high for every value.
bool all_within_s32(const std::int32_t* values, std::size_t n, std::int32_t low, std::int32_t high);

// ---- qparams

/// Rule for qparams; zeropoint/qparams.h has the formulas.
struct ChoiceRule {
  double qmin;
  double qmax;
  bool symmetric;
  bool include_zero;
};

/// Scale and zero point of each of n finite ranges.
void choose_qparams_f64(const Range* ranges, std::size_t n, const ChoiceRule& rule, double* scales,
                        std::int32_t* zero_points);

// ---- operations on every value, with qparams per value or shared

/// One factor and zero point for all values.
struct UniformQParams {
  float factor;           ///< see ElementwiseQParams
  float zero_point;       ///< as added, in float32
  std::int32_t nan_code;  ///< code for NaN
};

/// One factor, possibly fractional zero point and code for NaN per value.
struct ElementwiseQParams {
  /// Scales: values are divided by them, codes multiplied. In the torch family reciprocals of
  /// scales: values are multiplied by them.
  const float* factors;
  const float* zero_points;
  const std::int32_t* nan_codes;  ///< codes for NaN; null if the operation does not use them

  /// For fake quantization of the torch family: factors of codes; otherwise null.
  const float* scales = nullptr;

  /// Qparams of values i and later.
  [[nodiscard]] ElementwiseQParams skip(std::size_t i) const {
    return {factors + i, zero_points + i, nan_codes == nullptr ? nullptr : nan_codes + i,
            scales == nullptr ? nullptr : scales + i};
  }
};

/// Values per step; an operation's loops run whole steps only.
inline constexpr std::size_t kStep = 16;

/// Maximum number of columns with qparams.
inline constexpr std::size_t kMaxColumns = 4096;

/// The qparams of n values: per group of values, or per column of rows of n <= kMaxColumns values.
struct AnyQParams {
  ElementwiseQParams each;  ///< one for each group or column
  /// Values per group; the last group may be shorter. See run() for the conditions on several
  /// groups. 0: qparams per column.
  std::size_t length = 0;
  std::size_t rows = 1;
  std::size_t pitch = 0;  ///< values from one row to the next

  /// One group; refers to `q`.
  // NOLINTNEXTLINE(google-explicit-constructor): a kernel takes any of these as they are.
  AnyQParams(const UniformQParams& q, const float* scale = nullptr)
      : each{&q.factor, &q.zero_point, &q.nan_code, scale}, length(SIZE_MAX) {}

  // NOLINTNEXTLINE(google-explicit-constructor)
  AnyQParams(const ElementwiseQParams& columns, std::size_t row_count = 1,
             std::size_t row_pitch = 0)
      : each(columns), rows(row_count), pitch(row_pitch) {}

  static AnyQParams groups(const ElementwiseQParams& each, std::size_t length) {
    AnyQParams q(each);
    q.length = length;
    return q;
  }
};

/// Limits for clamping, and the code for values beyond int32.
struct CodeRule {
  std::int32_t qmin;
  std::int32_t qmax;
  std::int32_t overflow;  ///< code for results >= 2^31 if qmax is 2^31 - 1, which saturates
  /// Of rounded_quantization(): multiply by the scale's reciprocal and add in float32.
  bool multiplies = false;
};

/// Inner loop of an operation, over n values with layout and qparams in `qparams`.
using Loop = void (*)(const void* from, std::size_t n, const AnyQParams& qparams,
                      const CodeRule& rule, void* to);

/// An operation from values of one type to values of another: its inner loops, which take whole
/// steps only. run() handles tails and rows for all operations.
struct Operation {
  std::size_t from_size;  ///< bytes of a value
  std::size_t to_size;
  bool asks_nan_codes;  ///< whether the operation needs the qparams' codes for NaN
  Loop groups;          ///< kStep divides n, and the length of groups if there are several
  Loop columns;         ///< kStep divides n: one row
  Loop rows;            ///< 4 divides n and `rows`, see kRowsTogether; null: row by row
};

/// Runs an operation over n values, or over rows of n. With several groups, kStep divides the
/// length of a group, and n. `to` may be `from` if the operation allows it.
void run(const Operation& operation, const void* from, std::size_t n, const AnyQParams& qparams,
         const CodeRule& rule, void* to);

/// Writes each word of from[count] `times` times in a row, and this sequence `copies` times:
///   to[(c * count + i) * times + t] = from[i]
/// May write up to 15 words beyond the end.
void repeat_words(const void* from, std::size_t count, std::size_t times, std::size_t copies,
                  void* to);

/// float32 to codes: clamp(round_half_even(x / scale + zero_point), qmin, qmax).
const Operation& quantization(Storage codes);

/// Codes to float32: scale * (float(code) - float(zero_point)). Needs no codes for NaN.
const Operation& dequantization(Storage codes);

/// Quantizes and dequantizes without storing codes. `to` may be `from`. NaN becomes the zero point.
/// Scales are finite and > 0, zero points are codes. Needs no codes for NaN.
const Operation& fake_quantization();

// ---- the same with real offsets, in the place of the qparams' zero points

/// float32 to codes: clamp(round_half_even((x - offset) / scale), qmin, qmax); NaN counts as 0.
/// Scales are finite and > 0, offsets finite, here and below.
const Operation& offset_quantization(Storage codes);

/// Codes to float32: scale * float(code) + offset, rounded twice.
const Operation& offset_dequantization(Storage codes);

/// Quantizes and dequantizes without storing codes. `to` may be `from`.
const Operation& offset_fake_quantization();

// ---- the same by rules that round before they add the zero point

/// float32 to codes: clamp(round_half_even(x / scale) + zero_point, qmin, qmax), where the quotient
/// and the sum saturate at int32. If the rule multiplies: x * (1 / scale), each operation in
/// float32. NaN becomes the zero point. Scales may be any float.
const Operation& rounded_quantization(Storage codes);

/// The same, then scale * float(code - zero_point), the difference exact. `to` may be `from`.
const Operation& fake_rounded_quantization();

/// int32 codes to float32: scale * float(code - zero_point), the difference exact.
const Operation& wide_dequantization();

// ---- the torch family: clamp(round_half_even(x * reciprocal) + zero_point, qmin, qmax)

/// Order of the addition: after rounding (integer zero points) or before it (floating ones).
enum class AddZeroPoint { kAfterRounding, kBeforeRounding };

/// Value of a rule's `overflow` that treats NaN and values beyond int32 as PyTorch's portable
/// kernel does, see Overflow::kTorch in quantize.h; any other value saturates.
inline constexpr std::int32_t kTorchOverflow = INT32_MIN;

/// The qparams' factors are reciprocals, 1 / scale. Codes are int8, uint8 and, with integer zero
/// points, int32. For int8 and uint8, integer zero points are codes. Codes for NaN are used only by
/// a rule that saturates.
const Operation& reciprocal_quantization(AddZeroPoint add, Storage codes);

/// The same, then float((double(code) - zero_point) * double(scale)); integer zero points are
/// taken from the codes for NaN. `to` may be `from`.
const Operation& fake_reciprocal_quantization(AddZeroPoint add);

// ---- 16-bit floats

/// Bit patterns to float32, exactly. `out` may end where `halves` ends: each step is loaded before
/// it is stored.
void convert_f16_f32(const std::uint16_t* halves, std::size_t n, float* out);
void convert_bf16_f32(const std::uint16_t* halves, std::size_t n, float* out);

/// float32 to bit patterns: to nearest, ties to even; NaN stays NaN.
void convert_f32_f16(const float* x, std::size_t n, std::uint16_t* out);
void convert_f32_bf16(const float* x, std::size_t n, std::uint16_t* out);

// ---- search for a range

/// Adds the values' squared differences from their fake-quantized values to four sums. The
/// difference is float32, its square and the sum are double. Value i is added to sums[i % 4]; NaN
/// and infinite differences add 0. n is a multiple of 4, except in the last call for a slice.
void squared_errors_f32(const float* x, std::size_t n, const UniformQParams& qparams,
                        const CodeRule& rule, double (&sums)[4]);

/// The same with a real offset.
void squared_offset_errors_f32(const float* x, std::size_t n, float scale, float offset,
                               const CodeRule& rule, double (&sums)[4]);

/// Adds the sums of half_quadratic() over finite values, in double, with float32
///
///   q = clamp(round_half_even((x - offset) / scale), qmin, qmax)
///   e = x - (scale q + offset)        a = |e| / scale
///   t = x - sign(e) scale max(a - threshold / (fourth_root(a) sixteenth_root(a)), 0)
///
/// each operation rounded. n is a multiple of 4, except in the last call for a slice.
void half_quadratic_f32(const float* x, std::size_t n, float scale, float offset, float threshold,
                        const CodeRule& rule, HalfQuadraticSums& sums);

// ---- histogram

/// Adds 1 to counts[trunc(((v - lo) * float(bins)) / (hi - lo))] for every lo <= v <= hi. An index
/// rounded up to `bins` counts in the last bin, a float32 overflow in the first one.
void histogram_f32(const float* x, std::size_t n, float lo, float hi, std::uint32_t* counts,
                   std::size_t bins);

// ---- error

/// Values begin .. begin + count of n. A sum of at most kMostInPieces values may be computed in
/// pieces, in order, that begin at multiples of kPiece. The last piece returns the result, with the
/// same bits as a single piece of all values.
struct Piece {
  std::size_t begin;
  std::size_t count;
  std::size_t n;
};
inline constexpr std::size_t kPiece = 4096;
inline constexpr std::uint64_t kMostInPieces = std::uint64_t{1} << 36;

/// State of a sum between two pieces; initialized by the first piece.
struct SumState {
  alignas(16) float lanes[3][32];
};

/// PyTorch's cascade sum of x, of (a - b)^2 and of |a - b|, all in float32.
float sum_f32(const float* x, std::size_t n);
float sum_squared_difference_f32(const float* a, const float* b, Piece piece, SumState& state);
float sum_absolute_difference_f32(const float* a, const float* b, Piece piece, SumState& state);

/// max |a - b| in double; NaN if any difference is NaN; 0 for no values.
double max_absolute_difference_f64(const float* a, const float* b, std::size_t n);

/// Sums of products in double: sum(a a), sum(b b), sum(a b), sum((a - b)^2).
/// Value i goes to partial sum i % 4; the result is (p0 + p2) + (p1 + p3).
struct Energies {
  double aa;
  double bb;
  double ab;
  double noise;
};

/// State of the sums between two pieces; initialized by the first piece.
struct EnergyState {
  alignas(16) double sums[4][4];
};
Energies energies_f64(const float* a, const float* b, Piece piece, EnergyState& state);

/// Partial sums of a comparison of two rows; value i of the row goes to partial sum i % 4.
struct ComparisonState {
  alignas(16) double noise[4];     ///< (a - b)^2
  alignas(16) double energy[4];    ///< b^2
  alignas(16) double product[4];   ///< a b
  alignas(16) double absolute[4];  ///< |a - b|
  alignas(16) double weighted[4];  ///< weight (a - b)^2
  double largest;                  ///< |a - b|; unspecified if any is NaN
};

/// Adds values begin .. begin + count of a row, all in double.
/// @param a, b, weights  the first of these values; weights may be null.
void compare_f64(const float* a, const float* b, const double* weights, std::size_t begin,
                 std::size_t count, ComparisonState& state);

// ---- pack

/// Codes of 1 to 7 bits, one per byte, to a stream of bits, as pack() has it, and back.
void pack_bits(const std::uint8_t* codes, std::size_t n, int bits, std::uint8_t* out);
void unpack_bits(const std::uint8_t* bytes, std::size_t n, int bits, bool is_signed,
                 std::uint8_t* codes);

// ---- linear, float weights; quantized ones are in panels.h

/// Maximum number of rows of x per call of dots, which share the weights, and of rows of weights.
inline constexpr std::size_t kDotRows = 4;
inline constexpr std::size_t kDotColumns = 32;

/// dots[c][r] = sum over i of x[r][i] * w[c][i] in double, for 1 <= rows <= kDotRows rows of
/// x[rows][stride] and `columns` <= kDotColumns rows of w[columns][k]; dots is [columns][kDotRows].
/// Order: value i of the first 8 * (k / 8) goes to partial sum i % 8; with
///   q[j] = (p[j] + p[j + 2]) + (p[j + 4] + p[j + 6])
/// the sum of these is q[0] + q[1]; the last k % 8 products are then added in order.
void dots(const float* x, std::size_t rows, std::size_t stride, const float* w, std::size_t columns,
          std::size_t k, double* dots);

/// The same in float32, partial sums joined as l[j] = p[j] + p[j + 4], then
/// (l[0] + l[2]) + (l[1] + l[3]).
void dots(const float* x, std::size_t rows, std::size_t stride, const float* w, std::size_t columns,
          std::size_t k, float* dots);

}  // namespace zeropoint::kernels
