// Squared error of quantization, and the search for the range of least error, one value at a time.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <span>

#include "reference/choose_qparams_f64.h"
#include "reference/dequantize_f32.h"

namespace zeropoint::reference {

/// Adds the squared errors of values to four partial sums.
inline void squared_errors_f32(std::span<const float> x, const ValueQParams& q,
                               const kernels::CodeRule& rule, std::array<double, 4>& sums) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float difference = x[i] - dequantize_value(quantize_value(x[i], q, rule), q);
    if (!std::isfinite(difference)) continue;
    const double wide = difference;
    sums[i % 4] += wide * wide;
  }
}

/// The range of least squared error, from 64 / 64 of `whole` to 16 / 64; `whole` contains 0.
inline Range range_of_least_error(std::span<const float> x, Range whole,
                                  const kernels::ChoiceRule& rule, const kernels::CodeRule& codes) {
  Range best{};
  double least = INFINITY;
  for (int part = 64; part >= 16; --part) {
    const Range range{static_cast<float>(double{whole.min} * part / 64),
                      static_cast<float>(double{whole.max} * part / 64)};
    double scale = 0.0;
    std::int32_t zero_point = 0;
    reference::choose_qparams_f64(&range, 1, rule, &scale, &zero_point);
    std::array<double, 4> p{};
    squared_errors_f32(x, {static_cast<float>(scale), static_cast<float>(zero_point), zero_point},
                       codes, p);
    const double error = (p[0] + p[2]) + (p[1] + p[3]);
    if (error < least) {
      best = range;
      least = error;
    }
  }
  return best;
}

}  // namespace zeropoint::reference
