#include "zeropoint/qparams.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace zeropoint {
namespace {

// A scale float32 can hold as a normal number.
double at_least_normal(double scale) { return std::max(scale, static_cast<double>(FLT_MIN)); }

}  // namespace

Status choose_qparams(Range range, const QParamsOptions& options, QParams& out) {
  if (!std::isfinite(range.min) || !std::isfinite(range.max)) return Status::kNonFinite;
  const DTypeInfo info = dtype_info(options.dtype);
  double min = range.min;
  double max = range.max;

  if (options.scheme == Scheme::kSymmetric) {
    if (!info.is_signed()) return Status::kUnsignedSymmetric;
    const double largest = std::max(std::fabs(min), std::fabs(max));
    out = {largest == 0.0 ? 1.0 : at_least_normal(largest / info.qmax), 0};
    return Status::kOk;
  }

  if (options.include_zero || min == max) {
    min = std::min(min, 0.0);
    max = std::max(max, 0.0);
  }
  if (min == max) {
    out = {1.0, std::clamp(0, info.qmin, info.qmax)};
    return Status::kOk;
  }
  const double qmin = info.qmin;
  const double qmax = info.qmax;
  const double scale = at_least_normal((max - min) / (qmax - qmin));
  // nearbyint rounds half to even, as Python's round() does.
  const double zero_point = std::clamp(std::nearbyint(qmin - min / scale), qmin, qmax);
  out = {scale, static_cast<std::int32_t>(zero_point)};
  return Status::kOk;
}

Status choose_qparams(std::span<const float> x, const Granularity& granularity,
                      NonFinite non_finite, const QParamsOptions& options, std::span<Range> ranges,
                      std::span<double> scales, std::span<std::int32_t> zero_points) {
  if (scales.size() != granularity.slices || zero_points.size() != granularity.slices) {
    return Status::kShapeMismatch;
  }
  const bool is_signed = dtype_info(options.dtype).is_signed();
  if (options.scheme == Scheme::kSymmetric && !is_signed) return Status::kUnsignedSymmetric;
  const Status status = range(x, granularity, non_finite, ranges);
  if (status != Status::kOk) return status;
  if (ranges.empty()) return Status::kOk;
  const Range bounds = min_max({&ranges.front().min, 2 * ranges.size()});
  if (!std::isfinite(bounds.min) || !std::isfinite(bounds.max)) return Status::kNonFinite;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    QParams qparams{};
    // Cannot refuse: the ranges are finite and the scheme fits the dtype.
    static_cast<void>(choose_qparams(ranges[i], options, qparams));
    scales[i] = qparams.scale;
    zero_points[i] = qparams.zero_point;
  }
  return Status::kOk;
}

}  // namespace zeropoint
