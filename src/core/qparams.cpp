#include "zeropoint/qparams.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "core/ranges.h"
#include "kernels/kernels.h"
#include "zeropoint/observer.h"

namespace zeropoint {
namespace {

// The formulas of the rule kOnnx.
void choose_onnx(Range range, const QParamsOptions& options, double& scale,
                 std::int32_t& zero_point) {
  const DTypeInfo info = dtype_info(options.dtype);
  const auto qmin = static_cast<float>(info.qmin);
  const auto qmax = static_cast<float>(info.qmax);
  const float lo = std::min(range.min, 0.0F);
  const float hi = std::max(range.max, 0.0F);
  const bool is_symmetric = options.scheme == Scheme::kSymmetric;
  const float step = is_symmetric ? std::max(-lo, hi) / qmax : (hi - lo) / (qmax - qmin);
  scale = step == 0.0F ? 1.0 : static_cast<double>(step);
  zero_point = std::max(0, info.qmin);
  if (is_symmetric || step == 0.0F) return;
  const float zero = std::nearbyint(std::clamp(qmin - lo / step, qmin, qmax));
  // qmax of int32 is no float32: 2^31 is.
  zero_point = zero < qmax ? static_cast<std::int32_t>(zero) : info.qmax;
}

// The observers' formulas.
void choose_torch(Range range, const QParamsOptions& options, double& scale,
                  std::int32_t& zero_point) {
  const DTypeInfo info = dtype_info(options.dtype);
  const bool is_symmetric = options.scheme == Scheme::kSymmetric;
  float step = 1.0F;
  // The range is finite and the limits are ordered: nothing can be refused.
  static_cast<void>(calculate_qparams(
      {&range, 1},
      {is_symmetric ? QScheme::kSymmetric : QScheme::kAffine, info.qmin, info.qmax, FLT_EPSILON, 0},
      {&step, 1}, {&zero_point, 1}));
  scale = static_cast<double>(step);
}

// Chooses the qparams of n finite ranges.
void choose_all(const Range* ranges, std::size_t n, const QParamsOptions& options, double* scales,
                std::int32_t* zero_points) {
  if (options.rule == Rule::kCourse) {
    kernels::choose_qparams_f64(ranges, n, choice_rule(options), scales, zero_points);
    return;
  }
  const auto choose = options.rule == Rule::kOnnx ? choose_onnx : choose_torch;
  for (std::size_t i = 0; i < n; ++i) choose(ranges[i], options, scales[i], zero_points[i]);
}

}  // namespace

Status choose_qparams(Range range, const QParamsOptions& options, QParams& out) {
  if (!is_finite(range)) return Status::kNonFinite;
  if (!fits_dtype(options)) return Status::kUnsignedSymmetric;
  choose_all(&range, 1, options, &out.scale, &out.zero_point);
  return Status::kOk;
}

Status choose_qparams(std::span<const float> x, const Granularity& granularity,
                      NonFinite non_finite, const QParamsOptions& options, std::span<Range> ranges,
                      std::span<double> scales, std::span<std::int32_t> zero_points) {
  if (scales.size() != granularity.slices || zero_points.size() != granularity.slices) {
    return Status::kShapeMismatch;
  }
  if (!fits_dtype(options)) return Status::kUnsignedSymmetric;
  const Status status = range(x, granularity, non_finite, ranges);
  if (status != Status::kOk) return status;
  if (ranges.empty()) return Status::kOk;
  if (!is_finite(min_max({&ranges.front().min, 2 * ranges.size()}))) return Status::kNonFinite;
  choose_all(ranges.data(), ranges.size(), options, scales.data(), zero_points.data());
  return Status::kOk;
}

Status choose_offset(Range range, DType dtype, double& scale, float& offset) {
  if (!is_finite(range)) return Status::kNonFinite;
  const DTypeInfo info = dtype_info(dtype);
  if (range.min == range.max) {
    scale = 1.0;
    offset = range.min;
    return Status::kOk;
  }
  const double min = range.min;
  const auto steps = static_cast<double>(info.qmax) - static_cast<double>(info.qmin);
  const double step = (static_cast<double>(range.max) - min) / steps;
  scale = std::clamp(step, static_cast<double>(FLT_MIN), static_cast<double>(FLT_MAX));
  offset = static_cast<float>(min - scale * info.qmin);
  return Status::kOk;
}

Status choose_offsets(std::span<const float> x, const Granularity& granularity,
                      NonFinite non_finite, DType dtype, std::span<Range> ranges,
                      std::span<double> scales, std::span<float> offsets) {
  if (scales.size() != granularity.slices || offsets.size() != granularity.slices) {
    return Status::kShapeMismatch;
  }
  const Status status = range(x, granularity, non_finite, ranges);
  if (status != Status::kOk || ranges.empty()) return status;
  if (!is_finite(min_max({&ranges.front().min, 2 * ranges.size()}))) return Status::kNonFinite;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const Status own = choose_offset(ranges[i], dtype, scales[i], offsets[i]);
    if (own != Status::kOk) return own;
  }
  return Status::kOk;
}

Status check(const QParamsView& qparams, DType dtype) {
  std::size_t count = 0;
  const Status status = element_count(qparams.shape, count);
  if (status != Status::kOk) return status;
  const bool has_offsets = !qparams.offsets.empty();
  const std::size_t shifts = has_offsets ? qparams.offsets.size() : qparams.zero_points.size();
  if (qparams.scales.size() != count || shifts != count) return Status::kShapeMismatch;
  if (has_offsets && !qparams.zero_points.empty()) return Status::kShapeMismatch;
  if (count == 0) return Status::kOk;
  // Either one being NaN makes both NaN.
  const Range scales = kernels::minmax_f32(qparams.scales.data(), count);
  const bool is_course = qparams.rule == Rule::kCourse;
  if (is_course && !(scales.min > 0.0F && std::isfinite(scales.max))) return Status::kInvalidScale;
  if (has_offsets) {
    if (!is_course) return Status::kInvalidOffset;
    const Range offsets = kernels::minmax_f32(qparams.offsets.data(), count);
    return is_finite(offsets) ? Status::kOk : Status::kInvalidOffset;
  }
  const DTypeInfo info = dtype_info(dtype);
  if (!kernels::all_within_s32(qparams.zero_points.data(), count, info.qmin, info.qmax)) {
    return Status::kInvalidZeroPoint;
  }
  return Status::kOk;
}

}  // namespace zeropoint
