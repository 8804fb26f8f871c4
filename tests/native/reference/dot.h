// Dot products in the order that kernels.h states, one product at a time.
#pragma once

#include <array>
#include <cstddef>

namespace zeropoint::reference {

inline double join(const std::array<double, 8>& p) {
  const double even = (p[0] + p[2]) + (p[4] + p[6]);
  const double odd = (p[1] + p[3]) + (p[5] + p[7]);
  return even + odd;
}

inline float join(const std::array<float, 8>& p) {
  const float first = (p[0] + p[4]) + (p[2] + p[6]);
  const float second = (p[1] + p[5]) + (p[3] + p[7]);
  return first + second;
}

/// One row of x; Sum is float or double.
template <typename Sum>
Sum dot(const float* x, const float* w, std::size_t k) {
  const std::size_t whole = k - k % 8;
  std::array<Sum, 8> partial{};
  for (std::size_t i = 0; i < whole; ++i) {
    const Sum product = static_cast<Sum>(x[i]) * static_cast<Sum>(w[i]);
    partial[i % 8] += product;
  }
  Sum sum = join(partial);
  for (std::size_t i = whole; i < k; ++i) {
    const Sum product = static_cast<Sum>(x[i]) * static_cast<Sum>(w[i]);
    sum += product;
  }
  return sum;
}

}  // namespace zeropoint::reference
