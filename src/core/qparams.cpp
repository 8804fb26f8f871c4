#include "zeropoint/qparams.h"

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

Status check(const QParamsView& qparams, DType dtype) {
  std::size_t count = 0;
  const Status status = element_count(qparams.shape, count);
  if (status != Status::kOk) return status;
  if (qparams.scales.size() != count || qparams.zero_points.size() != count) {
    return Status::kShapeMismatch;
  }
  if (count == 0) return Status::kOk;
  // Either one being NaN makes both NaN.
  const Range scales = kernels::minmax_f32(qparams.scales.data(), count);
  if (!(scales.min > 0.0F && std::isfinite(scales.max))) return Status::kInvalidScale;
  const DTypeInfo info = dtype_info(dtype);
  if (!kernels::all_within_s32(qparams.zero_points.data(), count, info.qmin, info.qmax)) {
    return Status::kInvalidZeroPoint;
  }
  return Status::kOk;
}

}  // namespace zeropoint
