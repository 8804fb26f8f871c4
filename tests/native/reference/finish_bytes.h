// Conversion of a W8A8 layer's integer sums to outputs, one output at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "reference/quantize_f32.h"

namespace zeropoint::reference {

/// With dynamic activations. @param sum  all of an output's products, corrected
inline float finish_byte(double sum, float multiplier, float bias) {
  const float product = static_cast<float>(sum) * multiplier;
  return product + bias;
}

/// With static ones. @param bias  in steps, before the zero point
inline std::uint8_t requantize_byte(double sum, float multiplier, float bias,
                                    std::int32_t zero_point, std::int32_t lowest) {
  const double total = sum + static_cast<double>(bias);
  const float product = static_cast<float>(total) * multiplier;
  if (std::isnan(product)) return static_cast<std::uint8_t>(lowest);
  const float code = round_half_even(product) + static_cast<float>(zero_point);
  return static_cast<std::uint8_t>(std::clamp(code, static_cast<float>(lowest), 255.0F));
}

}  // namespace zeropoint::reference
