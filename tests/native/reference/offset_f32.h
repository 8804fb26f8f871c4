// Quantization with a real offset, one value at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/kernels.h"

namespace zeropoint::reference {

struct OffsetQParams {
  float scale;
  float offset;
};

inline std::int32_t offset_code(float x, const OffsetQParams& q, const kernels::CodeRule& rule) {
  const float shifted = (std::isnan(x) ? 0.0F : x) - q.offset;
  const double steps = std::nearbyint(static_cast<double>(shifted / q.scale));
  const auto [low, high] = std::pair{double(rule.qmin), double(rule.qmax)};
  return static_cast<std::int32_t>(std::clamp(steps, low, high));
}

inline float offset_value(std::int32_t code, const OffsetQParams& q) {
  const float product = q.scale * static_cast<float>(code);
  return product + q.offset;
}

}  // namespace zeropoint::reference
