// Quantizing one value as ONNX and PyTorch do: round, then add the zero point.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "reference/quantize_f32.h"

namespace zeropoint::reference {

/// q.factor is the scale, q.nan_code the integer zero point.
inline std::int32_t quantize_rounded_value(float x, const ValueQParams& q,
                                           const kernels::CodeRule& rule) {
  double sum = 0.0;  // holds every sum of two int32, and every float32
  if (rule.multiplies) {
    const float reciprocal = 1.0F / q.factor;
    const float product = x * reciprocal;
    const float rounded = round_half_even(product);
    if (std::isnan(rounded)) return q.nan_code;
    const float shifted = rounded + q.zero_point;
    sum = double{shifted};
  } else {
    const float quotient = x / q.factor;
    const double rounded = round_half_even(quotient);
    if (std::isnan(rounded)) return q.nan_code;
    sum = std::clamp(rounded, -2147483648.0, 2147483647.0) + q.nan_code;
  }
  const auto qmin = static_cast<double>(rule.qmin);
  const auto qmax = static_cast<double>(rule.qmax);
  return static_cast<std::int32_t>(std::clamp(sum, qmin, qmax));
}

template <typename Code, typename QParams>
void quantize_rounded_f32(const float* x, std::size_t n, QParams qparams, kernels::CodeRule rule,
                          Code* out) {
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = static_cast<Code>(quantize_rounded_value(x[i], value_qparams(qparams, i), rule));
  }
}

/// Values of the codes.
template <typename QParams>
void fake_quantize_rounded_f32(const float* x, std::size_t n, QParams qparams,
                               kernels::CodeRule rule, float* out) {
  for (std::size_t i = 0; i < n; ++i) {
    const ValueQParams q = value_qparams(qparams, i);
    const double code = quantize_rounded_value(x[i], q, rule);
    // Exact, then rounded once.
    const auto steps = static_cast<float>(code - q.nan_code);
    out[i] = q.factor * steps;
  }
}

}  // namespace zeropoint::reference
