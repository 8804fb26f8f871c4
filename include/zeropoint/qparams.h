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
};

/// Chooses a scale and a zero point that fit a range, in double precision:
///
///   symmetric   scale = max(|min|, |max|) / qmax            zero_point = 0
///   affine      scale = (max - min) / (qmax - qmin)
///               zero_point = clamp(round_half_even(qmin - min / scale), qmin, qmax)
///
/// Edge cases that the notebooks leave undefined: a range of zero width is widened to contain 0
/// (even if include_zero is false); {0, 0} gives scale 1 and zero point clamp(0, qmin, qmax); a
/// scale below the smallest normal float32 is raised to it, because a subnormal float32 is
/// imprecise or flushed to 0.
///
/// @param range  finite, min <= max. @param out  written only on kOk.
/// @return kNonFinite if the range is not finite; kUnsignedSymmetric; kOk.
/// Source: get_q_scale_symmetric and get_q_scale_and_zero_point of notebooks 2 and 5, honouring
///         dtype as notebook 2 does. The notebook's own affine range is include_zero = false.
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
  double fractions[2];     ///< where they lie between them
  std::uint64_t below[4];  ///< number of values below a candidate
  std::uint64_t count;     ///< number of finite values
  std::uint32_t keys[4];   ///< bits so far of the wanted values' sort keys
  std::uint32_t bit;       ///< the bit that this pass finds
};

/// Narrows the range of every slice.
///
/// Least squared error: the ranges compared are 64/64, 63/64, ... 16/64 of the whole range. Both
/// ends approach 0, or the middle of a range that excludes 0 (include_zero = false), in double,
/// rounded to float32. The error of a range is the sum of (x - y)^2, y being x quantized and
/// dequantized with the qparams of choose_qparams(): differences in float32, their squares and sums
/// in double. Value i of a slice, in row-major order, goes to partial sum i % 4; the error is (p0 +
/// p2) + (p1 + p3). Of equal errors the wider range wins.
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

/// Number of times that search_range_piece() has to be given all values.
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

/// The qparams of a whole tensor: scales and zero points of one shape, which broadcasts against the
/// tensor's. One value: per tensor. [1, .., n, .., 1]: per channel. Per group: one value per slice
/// of per_group(), in any shape, with the group size.
struct QParamsView {
  std::span<const float> scales;              ///< units per step; finite and > 0
  std::span<const std::int32_t> zero_points;  ///< codes the dtype holds
  Shape shape;                                ///< of both
  std::uint32_t group_size = 0;               ///< 0: not per group, the shape broadcasts
};

/// Checks qparams against a dtype: lengths, scales finite and > 0, zero points in [qmin, qmax].
/// @return kShapeMismatch, kSizeOverflow, kInvalidScale, kInvalidZeroPoint.
[[nodiscard]] Status check(const QParamsView& qparams, DType dtype);

}  // namespace zeropoint
