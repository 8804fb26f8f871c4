// range -> {scale, zero point}, for one slice or for all slices of a tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "zeropoint/dtype.h"
#include "zeropoint/granularity.h"
#include "zeropoint/range.h"
#include "zeropoint/status.h"
#include "zeropoint/tensor.h"

namespace zeropoint {

/// Mapping from a range to codes.
enum class Scheme {
  kSymmetric,  ///< zero point 0; the range is [-max|x|, max|x|]
  kAffine,     ///< zero point chosen so that the range's ends meet qmin and qmax
  kOffset,     ///< affine with a real offset in place of the zero point: x = scale * code + offset
};

/// The order of operations from value to code, and the formulas that choose qparams.
enum class Rule {
  kCourse,  ///< the notebooks: clamp(round(x / scale + zero_point))
  kOnnx,    ///< ONNX's QuantizeLinear: clamp(round(x / scale) + zero_point)
  kTorch,   ///< torch.quantize_per_tensor: clamp(round(x * (1 / scale)) + zero_point)
};

/// The scale, in units per step, and the code of 0.
/// In double precision, as in the notebooks; quantization uses the scale rounded to float32.
struct QParams {
  double scale;
  std::int32_t zero_point;
};

/// Options of choose_qparams().
struct QParamsOptions {
  DType dtype = DType::kInt8;
  Scheme scheme = Scheme::kSymmetric;
  bool include_zero = true;  ///< affine: widen the range to contain 0, so that 0 is exact
  Rule rule = Rule::kCourse;
};

/// Chooses a scale and a zero point that fit a range, in double precision:
///
///   symmetric   scale = max(|min|, |max|) / qmax            zero_point = 0
///   affine      scale = (max - min) / (qmax - qmin)
///               zero_point = clamp(round_half_even(qmin - min / scale), qmin, qmax)
///
/// kOffset is for choose_offsets(). Edge cases that the notebooks leave undefined: a range of zero
/// width is widened to contain 0 (even if include_zero is false); {0, 0} gives scale 1 and zero
/// point clamp(0, qmin, qmax); a scale below the smallest normal float32 is raised to it, because a
/// subnormal float32 is imprecise or flushed to 0; a scale above the largest float32 (possible with
/// uint1 only, which has a single step) is lowered to it.
///
/// Rule kOnnx, each operation rounded to float32, with lo = min(0, min), hi = max(0, max):
///
///   symmetric   scale = max(-lo, hi) / qmax                zero_point = 0
///   affine      scale = (hi - lo) / (qmax - qmin)
///               zero_point = round_half_even(clamp(qmin - lo / scale, qmin, qmax))
///
/// A scale that is rounded to 0, as for all-zero values, becomes 1 with zero point
/// clamp(0, qmin, qmax). Rule kTorch: calculate_qparams() with PyTorch's eps, 2^-23. Both rules
/// ignore include_zero: their range always contains 0.
///
/// @param range  finite, min <= max. @param out  written only on kOk.
/// @return kNonFinite if the range is not finite; kUnsignedSymmetric; kOk.
/// Source: get_q_scale_symmetric and get_q_scale_and_zero_point of notebooks 2 and 5, honouring
///         dtype as notebook 2 does. The notebook's own affine range is include_zero = false.
///         ONNX's DynamicQuantizeLinear for uint8; ONNX Runtime's quantizer for the symmetric
///         scheme and for all-zero values, where the standard divides by 0.
[[nodiscard]] Status choose_qparams(Range range, const QParamsOptions& options, QParams& out);

/// Takes the range of every slice of x and chooses its qparams.
///
/// @param x            float32, row-major, of as many values as the granularity has.
/// @param ranges       Range[slices], room for the ranges.
/// @param scales       float64[slices], written only on kOk.
/// @param zero_points  int32[slices], written only on kOk.
/// @return the statuses of range() and choose_qparams(); kShapeMismatch.
/// Source: linear_q_symmetric_per_channel and ..._per_group, which choose slice by slice.
[[nodiscard]] Status choose_qparams(std::span<const float> x, const Granularity& granularity,
                                    NonFinite non_finite, const QParamsOptions& options,
                                    std::span<Range> ranges, std::span<double> scales,
                                    std::span<std::int32_t> zero_points);

/// Scale and real offset that fit a range, in double precision:
///
///   scale = (max - min) / (qmax - qmin)           raised to the smallest normal float32, and
///                                                  lowered to the largest
///   offset = min - scale * qmin                    rounded to float32
///
/// so that min and max meet qmin and qmax; the range is not widened to 0. A range of zero width
/// {c, c} gives scale 1 and offset c: every value c then has the code 0, and is exact.
///
/// @param range  finite, min <= max. @param scale, offset  written only on kOk.
/// @return kNonFinite.
/// Source: q4_1 of ggml and the affine mode of MLX, whose codes are unsigned: offset = min.
[[nodiscard]] Status choose_offset(Range range, DType dtype, double& scale, float& offset);

/// The same for every slice of x.
/// @param ranges, scales  as above. @param offsets  float32[slices], written only on kOk.
/// @return the statuses of range(); kNonFinite; kShapeMismatch.
[[nodiscard]] Status choose_offsets(std::span<const float> x, const Granularity& granularity,
                                    NonFinite non_finite, DType dtype, std::span<Range> ranges,
                                    std::span<double> scales, std::span<float> offsets);

/// A rule that takes a narrower range than that of the smallest and largest value.
struct RangeSearch {
  QParamsOptions qparams;  ///< what the range is for

  /// 50 to 100: the range between two percentiles of the finite values. 0: of 49 ranges, the one of
  /// least squared error.
  double percentile = 0.0;
};

/// Ranges compared by the search for the least squared error.
inline constexpr std::size_t kShrunkRanges = 49;

/// State of a search between two pieces of a slice. The first piece initializes it.
struct SearchState {
  alignas(16) double errors[kShrunkRanges][4];  ///< partial sums of each range's squared error
  double ranks[4];         ///< ranks of the values that percentiles lie between
  double fractions[2];     ///< positions of the percentiles between these values, 0 to 1
  std::uint64_t below[4];  ///< number of values below each candidate key
  std::uint64_t count;     ///< number of finite values
  std::uint32_t keys[4];   ///< sort keys of the values with these ranks: the bits found so far
  std::uint32_t bit;       ///< the bit that this pass finds
};

/// Narrows the range of every slice.
///
/// Least squared error: the ranges compared are 64/64, 63/64, ... 16/64 of the whole range. Both
/// ends approach 0, or the middle of a range that excludes 0 (include_zero = false, or kOffset), in
/// double, rounded to float32. The error of a range is the sum of (x - y)^2, y being x quantized
/// and dequantized with the qparams of choose_qparams() or choose_offset(): differences in float32,
/// their squares and sums in double. Value i of a slice, in row-major order, goes to partial sum i
/// % 4; the error is (p0 + p2) + (p1 + p3). Of equal errors the wider range wins.
///
/// Percentile p: {percentile 100 - p, percentile p} of the values, or {-v, v} with v = percentile p
/// of |x| for the symmetric scheme; linear interpolation between neighbours, in double, rounded to
/// float32.
///
/// NaN and infinities are skipped.
///
/// @param x            float32, row-major, of as many values as the granularity has.
/// @param granularity  partition of x.
/// @param ranges       Range[slices]: in, the results of range(); out, the narrower ranges. A range
///                     that is not finite is left as it is.
/// @return kShapeMismatch, kUnsignedSymmetric; then ranges is unchanged.
/// Source: numpy.percentile of float64 for percentiles.
[[nodiscard]] Status search_ranges(std::span<const float> x, const Granularity& granularity,
                                   const RangeSearch& search, std::span<Range> ranges);

/// Number of passes of search_range_piece() over all values.
[[nodiscard]] std::size_t search_passes(const RangeSearch& search);

/// search_ranges() of one slice, given in pieces, in order, in search_passes() passes. The result
/// has the same bits.
///
/// @param x         a piece; 4 divides its length, except for the last piece of a pass.
/// @param is_first  whether this is the first piece of the first pass.
/// @param is_last   whether this is the last piece of a pass.
/// @param range     in, the range of the slice; out, with the last piece of the last pass, the
///                  narrower one. The same value in every call.
/// @return kUnsignedSymmetric; then nothing has been changed.
[[nodiscard]] Status search_range_piece(std::span<const float> x, const RangeSearch& search,
                                        bool is_first, bool is_last, SearchState& state,
                                        Range& range);

/// Qparams that a search has chosen.
struct ChosenQParams {
  double scale;             ///< a float32
  std::int32_t zero_point;  ///< of the affine scheme
  float offset;             ///< of kOffset
};

/// Sums of an iteration of half_quadratic(); value i adds to sums i % 4.
struct HalfQuadraticSums {
  alignas(16) double codes[4];  ///< of q
  double squares[4];            ///< of q^2
  double targets[4];            ///< of t
  double products[4];           ///< of q t
  double counts[4];             ///< of 1
};

/// State of a half-quadratic choice between two pieces of a slice. The first piece initializes it.
struct HalfQuadraticState {
  alignas(16) double errors[4];  ///< partial sums of the iterate's squared error
  HalfQuadraticSums sums;        ///< of the iterate
  double beta;
  double least;        ///< the least squared error so far
  ChosenQParams best;  ///< with that error
  float scale;         ///< the iterate
  float offset;
  std::size_t pass;
};

/// Chooses the qparams of every slice by half-quadratic splitting: minimizes sum |e|^p with
/// p = 11/16 over scale, offset and sparse errors w, in twenty iterations that start from the
/// qparams of the range. Iteration j, with beta = 10 * 1.01^j:
///
///   q = clamp(round_half_even((x - offset) / scale), qmin, qmax)
///   e = (x - (scale q + offset)) / scale
///   w = scale sign(e) max(|e| - |e|^(p - 1) / beta, 0)
///   t = x - w
///   scale, offset = least-squares fit of scale q + offset to t: with n finite values
///     scale  = (n sum q t - sum q sum t) / (n sum q^2 - sum q sum q)
///     offset = (sum t - scale sum q) / n
///     symmetric: scale = sum q t / sum q^2, offset = 0
///
/// Values, codes and errors are float32, each operation rounded; |e|^(-5/16) is 1 / (fourth root *
/// sixteenth root), by square roots, so that it has the same bits everywhere. Sums are double:
/// value i of a slice goes to partial sum i % 4, their total is (p0 + p2) + (p1 + p3). scale and
/// offset are rounded to float32; if the new scale would not be positive and finite, or its divisor
/// is 0, the old scale is kept.
///
/// The result is, of the range's qparams and the twenty iterates, the first one of least squared
/// error, an affine one with its zero point rounded: clamp(round_half_even(-offset / scale), qmin,
/// qmax). So no slice gets a larger squared error than by its range. NaN and infinities are
/// skipped.
///
/// @param x            float32, row-major, of as many values as the granularity has.
/// @param ranges       Range[slices]: the results of range().
/// @param out          ChosenQParams[slices], written only on kOk.
/// @return kShapeMismatch, kUnsignedSymmetric, kNonFinite for a range that is not finite.
/// Source: H. Badri and A. Shaji, Half-Quadratic Quantization of Large Machine Learning Models
///         (2023), for the splitting, the shrinkage and the schedule of beta. It has p = 0.7, keeps
///         the scale of the range, measures errors in units of the values, and stops when sum |e|
///         grows.
[[nodiscard]] Status half_quadratic(std::span<const float> x, const Granularity& granularity,
                                    std::span<const Range> ranges, const QParamsOptions& options,
                                    std::span<ChosenQParams> out);

/// Number of passes of half_quadratic_piece() over all values.
[[nodiscard]] std::size_t half_quadratic_passes();

/// half_quadratic() of one slice, given in pieces, in order, in half_quadratic_passes() passes. The
/// result has the same bits.
/// @param x         a piece; 4 divides its length, except for the last piece of a pass.
/// @param is_first  whether this is the first piece of the first pass.
/// @param is_last   whether this is the last piece of a pass.
/// @param out       written with the last piece of the last pass.
/// @return kUnsignedSymmetric, kNonFinite; then nothing has been changed.
[[nodiscard]] Status half_quadratic_piece(std::span<const float> x, Range range,
                                          const QParamsOptions& options, bool is_first,
                                          bool is_last, HalfQuadraticState& state,
                                          ChosenQParams& out);

/// The qparams of a whole tensor: scales and zero points, or scales and offsets, of one shape,
/// which broadcasts against the tensor's. One value: per tensor. [1, .., n, .., 1]: per channel.
/// Per group: one value per slice of per_group(), in any shape, with the group size.
struct QParamsView {
  std::span<const float> scales;              ///< units per step; finite and > 0
  std::span<const std::int32_t> zero_points;  ///< codes the dtype holds; none with offsets
  Shape shape;                                ///< of both
  std::uint32_t group_size = 0;               ///< 0: not per group, the shape broadcasts
  std::span<const float> offsets = {};  ///< values of the code 0; finite. None with zero points
  Rule rule = Rule::kCourse;            ///< kOnnx, kTorch: scales may be any float; no offsets
};

/// Checks qparams against a dtype: lengths, scales finite and > 0 for the rule kCourse, zero points
/// in [qmin, qmax], offsets finite and of the rule kCourse.
/// @return kShapeMismatch, kSizeOverflow, kInvalidScale, kInvalidZeroPoint, kInvalidOffset.
[[nodiscard]] Status check(const QParamsView& qparams, DType dtype);

}  // namespace zeropoint
