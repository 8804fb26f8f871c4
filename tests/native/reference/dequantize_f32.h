// Dequantizing one code.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reference/quantize_f32.h"

namespace zeropoint::reference {

inline float dequantize_value(std::int32_t code, const ValueQParams& q) {
  const auto value = static_cast<float>(code);
  const float steps = value - q.zero_point;
  return q.factor * steps;
}

template <typename Code, typename QParams>
void dequantize_f32(const Code* codes, std::size_t n, QParams qparams, float* out) {
  for (std::size_t i = 0; i < n; ++i)
    out[i] = dequantize_value(codes[i], value_qparams(qparams, i));
}

/// Quantizes, then dequantizes.
template <typename QParams>
void fake_quantize_f32(const float* x, std::size_t n, QParams qparams, kernels::CodeRule rule,
                       float* out) {
  for (std::size_t i = 0; i < n; ++i) {
    const ValueQParams q = value_qparams(qparams, i);
    out[i] = dequantize_value(quantize_value(x[i], q, rule), q);
  }
}

}  // namespace zeropoint::reference
