// Evenly spaced values with torch.linspace's bits: the edges of histograms.
#pragma once

#include <cstddef>

#include "core/fma.h"

namespace zeropoint {

/// linspace(start, end, steps)[i] in float32, fused and from the nearer end, as torch.linspace's
/// AVX2 kernel computes it.
class Linspace {
 public:
  Linspace(float start, float end, std::size_t steps)
      : start_(start),
        end_(end),
        steps_(steps),
        step_((end - start) / static_cast<float>(steps - 1)) {}

  [[nodiscard]] float operator[](std::size_t i) const {
    return i < steps_ / 2 ? fused_multiply_add(step_, static_cast<float>(i), start_)
                          : fused_multiply_add(-step_, static_cast<float>(steps_ - 1 - i), end_);
  }

 private:
  float start_;
  float end_;
  std::size_t steps_;
  float step_;
};

}  // namespace zeropoint
