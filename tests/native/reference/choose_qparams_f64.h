// Scale and zero point of one range after the other, in the order of the notebooks' Python.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace zeropoint::reference {

inline void choose_qparams_f64(const Range* ranges, std::size_t n, const kernels::ChoiceRule& rule,
                               double* scales, std::int32_t* zero_points) {
  const auto to_normal = [](double scale) {
    return std::clamp(scale, static_cast<double>(FLT_MIN), static_cast<double>(FLT_MAX));
  };
  for (std::size_t i = 0; i < n; ++i) {
    double min = ranges[i].min;
    double max = ranges[i].max;
    scales[i] = 1.0;
    zero_points[i] = 0;
    if (rule.symmetric) {
      const double largest = std::max(std::fabs(min), std::fabs(max));
      if (largest != 0.0) scales[i] = to_normal(largest / rule.qmax);
      continue;
    }
    if (rule.include_zero || min == max) {
      min = std::min(min, 0.0);
      max = std::max(max, 0.0);
    }
    double zero_point = 0.0;
    if (min != max) {
      scales[i] = to_normal((max - min) / (rule.qmax - rule.qmin));
      zero_point = std::nearbyint(rule.qmin - min / scales[i]);
    }
    zero_points[i] = static_cast<std::int32_t>(std::clamp(zero_point, rule.qmin, rule.qmax));
  }
}

}  // namespace zeropoint::reference
