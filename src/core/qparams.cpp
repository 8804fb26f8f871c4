#include "zeropoint/qparams.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace zeropoint {
namespace {

// Qparams of finite ranges, for a scheme that fits the dtype.
class Chooser {
 public:
  explicit Chooser(const QParamsOptions& options)
      : info_(dtype_info(options.dtype)),
        qmin_(info_.qmin),
        qmax_(info_.qmax),
        symmetric_(options.scheme == Scheme::kSymmetric),
        include_zero_(options.include_zero) {}

  [[nodiscard]] bool serves() const { return !symmetric_ || info_.is_signed(); }

  [[nodiscard]] QParams choose(Range range) const {
    double min = range.min;
    double max = range.max;
    if (symmetric_) {
      const double largest = std::max(std::fabs(min), std::fabs(max));
      return {largest == 0.0 ? 1.0 : at_least_normal(largest / qmax_), 0};
    }
    if (include_zero_ || min == max) {
      min = std::min(min, 0.0);
      max = std::max(max, 0.0);
    }
    if (min == max) return {1.0, std::clamp(0, info_.qmin, info_.qmax)};
    const double scale = at_least_normal((max - min) / (qmax_ - qmin_));
    // nearbyint rounds half to even, as Python's round() does.
    const double zero_point = std::clamp(std::nearbyint(qmin_ - min / scale), qmin_, qmax_);
    return {scale, static_cast<std::int32_t>(zero_point)};
  }

 private:
  // A scale float32 can hold as a normal number.
  static double at_least_normal(double scale) {
    return std::max(scale, static_cast<double>(FLT_MIN));
  }

  DTypeInfo info_;
  double qmin_;
  double qmax_;
  bool symmetric_;
  bool include_zero_;
};

}  // namespace

Status choose_qparams(Range range, const QParamsOptions& options, QParams& out) {
  if (!std::isfinite(range.min) || !std::isfinite(range.max)) return Status::kNonFinite;
  const Chooser chooser(options);
  if (!chooser.serves()) return Status::kUnsignedSymmetric;
  out = chooser.choose(range);
  return Status::kOk;
}

Status choose_qparams(std::span<const float> x, const Granularity& granularity,
                      NonFinite non_finite, const QParamsOptions& options, std::span<Range> ranges,
                      std::span<double> scales, std::span<std::int32_t> zero_points) {
  if (scales.size() != granularity.slices || zero_points.size() != granularity.slices) {
    return Status::kShapeMismatch;
  }
  const Chooser chooser(options);
  if (!chooser.serves()) return Status::kUnsignedSymmetric;
  const Status status = range(x, granularity, non_finite, ranges);
  if (status != Status::kOk) return status;
  if (ranges.empty()) return Status::kOk;
  const Range bounds = min_max({&ranges.front().min, 2 * ranges.size()});
  if (!std::isfinite(bounds.min) || !std::isfinite(bounds.max)) return Status::kNonFinite;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const QParams qparams = chooser.choose(ranges[i]);
    scales[i] = qparams.scale;
    zero_points[i] = qparams.zero_point;
  }
  return Status::kOk;
}

}  // namespace zeropoint
