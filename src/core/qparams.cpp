#include "zeropoint/qparams.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "core/ranges.h"
#include "kernels/kernels.h"

namespace zeropoint {

Status choose_qparams(Range range, const QParamsOptions& options, QParams& out) {
  if (!is_finite(range)) return Status::kNonFinite;
  if (!fits_dtype(options)) return Status::kUnsignedSymmetric;
  kernels::choose_qparams_f64(&range, 1, choice_rule(options), &out.scale, &out.zero_point);
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
  kernels::choose_qparams_f64(ranges.data(), ranges.size(), choice_rule(options), scales.data(),
                              zero_points.data());
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
  if (!(scales.min > 0.0F && std::isfinite(scales.max))) return Status::kInvalidScale;
  if (has_offsets) {
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
