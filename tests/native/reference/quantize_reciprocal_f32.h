// Quantizing one value as the torch family does: multiply by the reciprocal, round, add.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "reference/quantize_f32.h"

namespace zeropoint::reference {

/// x86's conversion to 64 bits: INT64_MIN for NaN and for values outside int64.
inline std::int64_t x86_int64(float value) {
  const bool fits = value >= -0x1p63F && value < 0x1p63F;
  return fits ? static_cast<std::int64_t>(value) : INT64_MIN;
}

/// Limits of the torch family, and its treatment of values beyond int32.
struct TorchRule {
  std::int32_t qmin;
  std::int32_t qmax;
  bool saturate;

  explicit operator kernels::CodeRule() const {
    return {qmin, qmax, saturate ? qmax : kernels::kTorchOverflow};
  }
};

inline std::int32_t clamp_int64(std::int64_t value, const TorchRule& rule) {
  if (value < rule.qmin) return rule.qmin;
  if (value > rule.qmax) return rule.qmax;
  return static_cast<std::int32_t>(value);
}

/// Whether the result is the code, or its dequantized value.
enum class Codes { kKept, kFake };

/// q.factor is the reciprocal.
template <kernels::AddZeroPoint kAdd>
std::int32_t quantize_reciprocal_value(float x, const ValueQParams& q, const TorchRule& rule,
                                       Codes codes = Codes::kKept) {
  const float scaled = x * q.factor;
  float t = 0.0F;
  if constexpr (kAdd == kernels::AddZeroPoint::kAfterRounding) {
    const float rounded = round_half_even(scaled);
    t = rounded + q.zero_point;
  } else {
    const float shifted = scaled + q.zero_point;
    t = round_half_even(shifted);
  }
  if (rule.saturate) {
    if (std::isnan(t)) return q.nan_code;
    if (double{t} >= static_cast<double>(rule.qmax)) return rule.qmax;
    if (double{t} <= static_cast<double>(rule.qmin)) return rule.qmin;
    return static_cast<std::int32_t>(t);
  }
  std::int64_t code = x86_int64(t);
  if (kAdd == kernels::AddZeroPoint::kBeforeRounding && codes == Codes::kKept) {
    // PyTorch keeps the low 32 bits of it here.
    code = static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(code)));
  }
  return clamp_int64(code, rule);
}

template <typename Code, kernels::AddZeroPoint kAdd, typename QParams>
void quantize_reciprocal_f32(const float* x, std::size_t n, QParams qparams, TorchRule rule,
                             Code* out) {
  for (std::size_t i = 0; i < n; ++i) {
    out[i] =
        static_cast<Code>(quantize_reciprocal_value<kAdd>(x[i], value_qparams(qparams, i), rule));
  }
}

/// The zero point for dequantization: an integer one exactly, from nan_code.
template <kernels::AddZeroPoint kAdd>
double exact_zero_point(const ValueQParams& q) {
  return kAdd == kernels::AddZeroPoint::kAfterRounding ? static_cast<double>(q.nan_code)
                                                       : double{q.zero_point};
}

inline float value_scale(const kernels::UniformQParams&, const float* scales, std::size_t) {
  return *scales;
}
inline float value_scale(const kernels::ElementwiseQParams&, const float* scales, std::size_t i) {
  return scales[i];
}

template <kernels::AddZeroPoint kAdd, typename QParams>
void fake_quantize_reciprocal_f32(const float* x, std::size_t n, QParams qparams,
                                  const float* scales, TorchRule rule, float* out) {
  for (std::size_t i = 0; i < n; ++i) {
    const ValueQParams q = value_qparams(qparams, i);
    const double code = quantize_reciprocal_value<kAdd>(x[i], q, rule, Codes::kFake);
    const double steps = code - exact_zero_point<kAdd>(q);
    const double value = steps * double{value_scale(qparams, scales, i)};
    out[i] = static_cast<float>(value);
  }
}

}  // namespace zeropoint::reference
