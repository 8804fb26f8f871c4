// Sums of products and the largest difference, in double, one value at a time.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "kernels/kernels.h"

namespace zeropoint::reference {

inline double max_absolute_difference_f64(const float* a, const float* b, std::size_t n) {
  double largest = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const double difference = std::fabs(double{a[i]} - double{b[i]});
    if (std::isnan(difference)) return std::numeric_limits<double>::quiet_NaN();
    largest = std::fmax(largest, difference);
  }
  return largest;
}

/// Sums term(i) in four partial sums.
template <typename Term>
double sum_in_four(std::size_t n, Term term) {
  std::array<double, 4> partial{};
  for (std::size_t i = 0; i < n; ++i) partial[i % 4] += term(i);
  return (partial[0] + partial[2]) + (partial[1] + partial[3]);
}

inline kernels::Energies energies_f64(const float* a, const float* b, std::size_t n) {
  const auto x = [&](std::size_t i) { return double{a[i]}; };
  const auto y = [&](std::size_t i) { return double{b[i]}; };
  return {sum_in_four(n, [&](std::size_t i) { return x(i) * x(i); }),
          sum_in_four(n, [&](std::size_t i) { return y(i) * y(i); }),
          sum_in_four(n, [&](std::size_t i) { return x(i) * y(i); }),
          sum_in_four(n, [&](std::size_t i) { return (x(i) - y(i)) * (x(i) - y(i)); })};
}

}  // namespace zeropoint::reference
