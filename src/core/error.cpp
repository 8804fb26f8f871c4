#include "zeropoint/error.h"

#include <cmath>
#include <limits>

#include "kernels/kernels.h"

namespace zeropoint {
namespace {

double measure(const float* a, const float* b, std::size_t n, Metric metric) {
  if (n == 0) return std::numeric_limits<double>::quiet_NaN();
  switch (metric) {
    case Metric::kMse:
      return kernels::sum_squared_difference_f32(a, b, n) / static_cast<float>(n);
    case Metric::kMae:
      return kernels::sum_absolute_difference_f32(a, b, n) / static_cast<float>(n);
    case Metric::kMax:
      return kernels::max_absolute_difference_f64(a, b, n);
    case Metric::kSqnr: {
      const kernels::Energies e = kernels::energies_f64(a, b, n);
      if (e.noise == 0.0) return std::numeric_limits<double>::infinity();
      return 10.0 * std::log10(e.aa / e.noise);
    }
    case Metric::kCosine:
      break;
  }
  const kernels::Energies e = kernels::energies_f64(a, b, n);
  // Sums of squares of float32 stay so far inside double's range that their product does too: only
  // zero vectors divide 0 by 0, and equal ones give exactly 1.
  return e.ab / std::sqrt(e.aa * e.bb);
}

}  // namespace

float sum(std::span<const float> x) { return kernels::sum_f32(x.data(), x.size()); }

float mean(std::span<const float> x) { return sum(x) / static_cast<float>(x.size()); }

Status quantization_error(std::span<const float> a, std::span<const float> b, Metric metric,
                          double& out) {
  if (a.size() != b.size()) return Status::kShapeMismatch;
  out = measure(a.data(), b.data(), a.size(), metric);
  return Status::kOk;
}

}  // namespace zeropoint
