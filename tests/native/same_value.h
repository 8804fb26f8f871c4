// Equality of two results, for tests and fuzz targets.
#pragma once

#include <cmath>
#include <type_traits>

namespace zeropoint::testing {

/// Equal bits; any NaN equals any NaN.
template <typename T>
bool same_value(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return a == b && std::signbit(a) == std::signbit(b);
  } else {
    return a == b;
  }
}

}  // namespace zeropoint::testing
