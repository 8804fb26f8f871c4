// Smallest and largest value, one value at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <vector>

#include "kernels/kernels.h"

namespace zeropoint::reference {

inline Range minmax_f32(const float* x, std::size_t n) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (n == 0) return {kInfinity, -kInfinity};
  for (std::size_t i = 0; i < n; ++i) {
    if (std::isnan(x[i])) return {x[i], x[i]};
  }
  return {*std::min_element(x, x + n), *std::max_element(x, x + n)};
}

inline Range minmax_finite_f32(const float* x, std::size_t n) {
  std::vector<float> finite;
  std::copy_if(x, x + n, std::back_inserter(finite), [](float v) { return std::isfinite(v); });
  return minmax_f32(finite.data(), finite.size());
}

inline void minmax_columns_f32(const float* x, std::size_t rows, std::size_t stride,
                               std::size_t columns, bool finite_only, Range* out) {
  for (std::size_t column = 0; column < columns; ++column) {
    std::vector<float> values;
    for (std::size_t row = 0; row < rows; ++row) values.push_back(x[row * stride + column]);
    out[column] = finite_only ? minmax_finite_f32(values.data(), values.size())
                              : minmax_f32(values.data(), values.size());
  }
}

}  // namespace zeropoint::reference
