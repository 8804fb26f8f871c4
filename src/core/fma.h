// Float32 fused multiply-add with one rounding, for linspace() only: PyTorch's AVX2 kernel fuses
// there. WebAssembly has no such instruction, and musl's fmaf needs rounding modes that WebAssembly
// lacks.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace zeropoint {

/// float32(a * b + c), rounded once.
inline float fused_multiply_add(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b);  // exact: 48 bits
  const double addend = c;
  double sum = product + addend;
  // Rounding error of the addition (Knuth's two-sum). Rounding the sum to odd keeps its trace; with
  // more than 24 + 2 bits the second rounding is then correct (Boldo and Melquiond 2008).
  const double virtual_addend = sum - product;
  const double lost = (product - (sum - virtual_addend)) + (addend - virtual_addend);
  if (lost != 0.0 && std::isfinite(sum)) {
    const auto bits = std::bit_cast<std::uint64_t>(sum);
    if ((bits & 1U) == 0) sum = std::nextafter(sum, lost > 0.0 ? INFINITY : -INFINITY);
  }
  return static_cast<float>(sum);
}

}  // namespace zeropoint
