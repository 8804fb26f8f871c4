// The hot loops' contract. Kernels take raw pointers, check nothing but by assert, allocate nothing
// and throw nothing; core/ has checked the arguments. Pointers need no alignment beyond their
// type's, and outputs must not overlap inputs unless a kernel says so.
//
// Parity rule for all of them: every result is bit for bit that of the scalar function of the same
// name in tests/native/reference, for every input, NaN and infinities included, in every build.
#pragma once

#include <cstddef>
#include <cstdint>

#include "zeropoint/range.h"

namespace zeropoint::kernels {

// ---- range

/// {+inf, -inf} for no values; {NaN, NaN} if any value is NaN.
Range minmax_f32(const float* x, std::size_t n);

/// As minmax_f32 over the finite values alone.
Range minmax_finite_f32(const float* x, std::size_t n);

/// minmax_f32 (or, if finite_only, minmax_finite_f32) of each of x[runs][length].
void minmax_runs_f32(const float* x, std::size_t runs, std::size_t length, bool finite_only,
                     Range* out);

/// The same of each of `columns` columns of x[rows][stride].
void minmax_columns_f32(const float* x, std::size_t rows, std::size_t stride, std::size_t columns,
                        bool finite_only, Range* out);

/// Whether low <= v <= high for every value.
bool all_within_s32(const std::int32_t* values, std::size_t n, std::int32_t low, std::int32_t high);

// ---- quantize: clamp(round_half_even(x / scale + zero_point), qmin, qmax)

/// What rounding and clamping lead to, and what stands for values that no code can hold.
struct CodeRule {
  std::int32_t qmin;
  std::int32_t qmax;
  std::int32_t overflow;  ///< for x >= 2^31 when qmax = 2^31 - 1: 2^31 - 1 saturates
};

/// One scale and zero point for all values.
struct UniformQParams {
  float scale;
  float zero_point;       ///< as added, in float32
  std::int32_t nan_code;  ///< what NaN becomes
};

/// One scale, possibly fractional zero point and code for NaN per group of `length` values, of
/// which only the last group may have fewer. If there are several groups, 16 must divide `length`.
struct GroupedQParams {
  const float* scales;
  const float* zero_points;
  const std::int32_t* nan_codes;
  std::size_t length;

  GroupedQParams(const float* s, const float* z, const std::int32_t* c, std::size_t n)
      : scales(s), zero_points(z), nan_codes(c), length(n) {}

  /// One group; refers to `q`.
  GroupedQParams(const UniformQParams& q, std::size_t n)
      : GroupedQParams(&q.scale, &q.zero_point, &q.nan_code, n) {}
};

/// One scale, possibly fractional zero point and code for NaN per value.
struct ElementwiseFloatQParams {
  const float* scales;
  const float* zero_points;
  const std::int32_t* nan_codes;
};

/// The most columns of ColumnsQParams.
inline constexpr std::size_t kColumns = 4096;

/// One scale, possibly fractional zero point and code for NaN per column of rows of n <= kColumns
/// values, each `pitch` values after the one before.
struct ColumnsQParams {
  ElementwiseFloatQParams columns;
  std::size_t rows;
  std::size_t pitch;
};

/// Code: int8_t, uint8_t, int16_t, uint16_t, int32_t.
template <typename Code>
void quantize_f32(const float* x, std::size_t n, GroupedQParams qparams, CodeRule rule, Code* out);
template <typename Code>
void quantize_f32(const float* x, std::size_t n, ElementwiseFloatQParams qparams, CodeRule rule,
                  Code* out);
template <typename Code>
void quantize_f32(const float* x, std::size_t n, ColumnsQParams qparams, CodeRule rule, Code* out);

template <typename Code>
void quantize_f32(const float* x, std::size_t n, UniformQParams qparams, CodeRule rule, Code* out) {
  quantize_f32(x, n, GroupedQParams(qparams, n), rule, out);
}

/// Quantizes, then dequantizes, without a code in between. out may be x. NaN becomes the zero
/// point. QParams: GroupedQParams, ElementwiseFloatQParams, ColumnsQParams; scales finite and > 0,
/// zero points codes.
template <typename QParams>
void fake_quantize_f32(const float* x, std::size_t n, QParams qparams, CodeRule rule, float* out);
void fake_quantize_f32(const float* x, std::size_t n, ColumnsQParams qparams, CodeRule rule,
                       float* out);

inline void fake_quantize_f32(const float* x, std::size_t n, UniformQParams qparams, CodeRule rule,
                              float* out) {
  fake_quantize_f32(x, n, GroupedQParams(qparams, n), rule, out);
}

/// Writes every word of from[count] `times` times over, and all of that `copies` times:
/// to[(c * count + i) * times + t] = from[i]. May write 15 words more than that.
void repeat_words(const void* from, std::size_t count, std::size_t times, std::size_t copies,
                  void* to);

// ---- quantize, torch family: clamp(round_half_even(x * inverse) + zero_point, qmin, qmax)

/// Where the zero point is added: after rounding (integer zero points) or before (floating ones).
enum class AddZeroPoint { kAfterRounding, kBeforeRounding };

/// What the torch family clamps to, and what it makes of values beyond int32.
struct TorchRule {
  std::int32_t qmin;
  std::int32_t qmax;
  bool saturate;  ///< false: PyTorch's portable kernel, see quantize.h's Overflow::kTorch
};

/// QParams: UniformQParams, ElementwiseFloatQParams; their `scale` is the reciprocal, 1 / scale.
/// The codes for NaN serve only where the rule saturates.
template <typename Code, AddZeroPoint kAdd, typename QParams>
void quantize_reciprocal_f32(const float* x, std::size_t n, QParams qparams, TorchRule rule,
                             Code* out);

/// Scales, and zero points as doubles, that a fake quantization multiplies codes back with.
/// x, n, qparams, rule as above; out[i] = float((double(code) - zero_point) * double(scale)), scale
/// per value or (uniform) one for all. out may be x.
template <AddZeroPoint kAdd, typename QParams>
void fake_quantize_reciprocal_f32(const float* x, std::size_t n, QParams qparams,
                                  const float* scales, TorchRule rule, float* out);

// ---- histogram

/// Adds 1 to counts[trunc(((v - lo) * float(bins)) / (hi - lo))] for every lo <= v <= hi, the last
/// bin taking what rounds up to `bins`, and the first one what overflows float32.
void histogram_f32(const float* x, std::size_t n, float lo, float hi, std::uint32_t* counts,
                   std::size_t bins);

// ---- dequantize: scale * (float(code) - float(zero_point))

/// QParams: GroupedQParams, ElementwiseFloatQParams, ColumnsQParams (codes for NaN unused).
template <typename Code, typename QParams>
void dequantize_f32(const Code* codes, std::size_t n, QParams qparams, float* out);
template <typename Code>
void dequantize_f32(const Code* codes, std::size_t n, ColumnsQParams qparams, float* out);

template <typename Code>
void dequantize_f32(const Code* codes, std::size_t n, UniformQParams qparams, float* out) {
  dequantize_f32(codes, n, GroupedQParams(qparams, n), out);
}

// ---- error

/// Values begin .. begin + count of n: a sum may come in pieces, in order, that begin at multiples
/// of kPiece. The last piece gives the result, the same bits as one piece of all.
struct Piece {
  std::size_t begin;
  std::size_t count;
  std::size_t n;
};
inline constexpr std::size_t kPiece = 4096;

/// What a sum carries from one piece to the next; set by the first.
struct SumState {
  alignas(16) float lanes[4][32];
};

/// PyTorch's cascade sum of x, of (a - b)^2 and of |a - b|, all in float32.
float sum_f32(const float* x, std::size_t n);
float sum_squared_difference_f32(const float* a, const float* b, Piece piece, SumState& state);
float sum_absolute_difference_f32(const float* a, const float* b, Piece piece, SumState& state);

inline float sum_squared_difference_f32(const float* a, const float* b, std::size_t n) {
  SumState state;
  return sum_squared_difference_f32(a, b, {0, n, n}, state);
}
inline float sum_absolute_difference_f32(const float* a, const float* b, std::size_t n) {
  SumState state;
  return sum_absolute_difference_f32(a, b, {0, n, n}, state);
}

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

/// What the sums carry from one piece to the next; set by the first.
struct EnergyState {
  alignas(16) double sums[4][4];
};
Energies energies_f64(const float* a, const float* b, Piece piece, EnergyState& state);

inline Energies energies_f64(const float* a, const float* b, std::size_t n) {
  EnergyState state;
  return energies_f64(a, b, {0, n, n}, state);
}

// ---- pack

void pack_4bit(const std::uint8_t* codes, std::size_t n, std::uint8_t* out);
void pack_2bit(const std::uint8_t* codes, std::size_t n, std::uint8_t* out);
void unpack_4bit(const std::uint8_t* bytes, std::size_t n, bool is_signed, std::uint8_t* codes);
void unpack_2bit(const std::uint8_t* bytes, std::size_t n, bool is_signed, std::uint8_t* codes);

// ---- linear, float weights; quantized ones are in panels.h

/// Rows of x that dot takes at a time, to share one load of the weights.
inline constexpr std::size_t kRows = 4;

/// dots[r] = sum over k of x[r][k] * w[k] in double, for 1 <= rows <= kRows rows of
/// x[rows][stride]. Order: value i of the first 8 * (k / 8) goes to partial sum i % 8; with q[j] =
/// ((p[j] + p[j + 2])
/// + (p[j + 4] + p[j + 6])) for j = 0, 1 the result is q[0] + q[1], then the last k % 8 in order.
void dot(const float* x, std::size_t rows, std::size_t stride, const float* w, std::size_t k,
         double* dots);

/// The same in float32, partial sums joined as l[j] = p[j] + p[j + 4], then (l[0] + l[2]) + (l[1] +
/// l[3]).
void dot(const float* x, std::size_t rows, std::size_t stride, const float* w, std::size_t k,
         float* dots);

}  // namespace zeropoint::kernels
