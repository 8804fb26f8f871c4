// Counting values into equal bins as torch.histc does, one at a time.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace zeropoint::reference {

inline void histogram_f32(const float* x, std::size_t n, float lo, float hi, std::uint32_t* counts,
                          std::size_t bins) {
  const float width = hi - lo;
  for (std::size_t i = 0; i < n; ++i) {
    const bool inside = x[i] >= lo && x[i] <= hi;
    if (!inside) continue;
    const float offset = x[i] - lo;
    const float scaled = offset * static_cast<float>(bins);
    const float position = scaled / width;
    std::size_t bin = 0;  // where the product overflows float32
    if (std::isfinite(position)) bin = static_cast<std::size_t>(position);
    if (bin >= bins) bin = bins - 1;
    ++counts[bin];
  }
}

}  // namespace zeropoint::reference
