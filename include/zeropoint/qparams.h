// range -> {scale, zero point}, for one slice or for all slices of a tensor.
#pragma once

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
