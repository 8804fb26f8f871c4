// Quantization of one value: as documented for quantize(), and as PyTorch's linear_q on x86.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/kernels.h"

namespace zeropoint::reference {

/// Rounds to the nearest integer, ties to even, in any rounding mode of the processor.
inline float round_half_even(float value) {
  if (!(std::fabs(value) < 8388608.0F)) return value;  // an integer, infinite or NaN
  const double below = std::floor(double{value});
  const double part = value - below;
  const bool below_is_odd = std::fmod(below, 2.0) != 0.0;
  const bool up = part > 0.5 || (part == 0.5 && below_is_odd);
  return std::copysign(static_cast<float>(up ? below + 1.0 : below), value);
}

/// A factor (see kernels::ElementwiseQParams) and a zero point, and the code that NaN becomes.
struct ValueQParams {
  float factor;
  float zero_point;
  std::int32_t nan_code;
};

inline ValueQParams value_qparams(const kernels::UniformQParams& q, std::size_t) {
  return {q.factor, q.zero_point, q.nan_code};
}
inline ValueQParams value_qparams(const kernels::ElementwiseQParams& q, std::size_t i) {
  return {q.factors[i], q.zero_points[i], q.nan_codes[i]};
}

/// Code with saturation: infinities and values out of range become the rule's limits.
inline std::int32_t quantize_value(float x, const ValueQParams& q, const kernels::CodeRule& rule) {
  const float quotient = x / q.factor;
  const float shifted = quotient + q.zero_point;
  const double rounded = round_half_even(shifted);
  if (std::isnan(rounded)) return q.nan_code;
  if (rule.qmax == INT32_MAX && rounded >= 2147483648.0) return rule.overflow;
  if (rounded > rule.qmax) return rule.qmax;
  if (rounded < rule.qmin) return rule.qmin;
  return static_cast<std::int32_t>(rounded);
}

template <typename Code, typename QParams>
void quantize_f32(const float* x, std::size_t n, QParams qparams, kernels::CodeRule rule,
                  Code* out) {
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = static_cast<Code>(quantize_value(x[i], value_qparams(qparams, i), rule));
  }
}

/// x86's conversion: toward zero; INT32_MIN for NaN and for values outside int32.
inline std::int32_t x86_int32(float value) {
  const bool fits = value >= -2147483648.0F && value < 2147483648.0F;
  return fits ? static_cast<std::int32_t>(value) : INT32_MIN;
}

/// torch.clamp in float32, which keeps NaN, then Tensor.to(): through int32 and its low bits.
template <typename Code>
Code linear_q_value(float x, float scale, float zero_point, std::int32_t qmin, std::int32_t qmax) {
  const auto low = static_cast<float>(qmin);
  const auto high = static_cast<float>(qmax);  // 2^31 for int32
  const float quotient = x / scale;
  const float shifted = quotient + zero_point;
  float clamped = round_half_even(shifted);
  if (clamped < low) clamped = low;
  if (clamped > high) clamped = high;
  const auto bits = static_cast<std::uint32_t>(x86_int32(clamped));
  return static_cast<Code>(static_cast<std::make_unsigned_t<Code>>(bits));
}

}  // namespace zeropoint::reference
