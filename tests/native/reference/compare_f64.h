// Sums of errors and products of two rows, in double, one value at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/kernels.h"

namespace zeropoint::reference {

inline void compare_f64(const float* a, const float* b, const double* weights, std::size_t begin,
                        std::size_t count, kernels::ComparisonState& state) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t lane = (begin + i) % 4;
    const double x = a[i];
    const double y = b[i];
    const double difference = x - y;
    const double square = difference * difference;
    state.noise[lane] += square;
    state.energy[lane] += y * y;
    state.product[lane] += x * y;
    state.absolute[lane] += std::fabs(difference);
    if (weights != nullptr) state.weighted[lane] += weights[i] * square;
    state.largest = std::max(state.largest, std::fabs(difference));
  }
}

}  // namespace zeropoint::reference
