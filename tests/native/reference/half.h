// 16-bit floats by their definition: sign, exponent and mantissa as numbers.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace zeropoint::reference {

/// Layout of a 16-bit float.
struct HalfFormat {
  int exponent_bits;
  int mantissa_bits;

  [[nodiscard]] int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  [[nodiscard]] int top_exponent() const { return (1 << exponent_bits) - 1; }
};

inline constexpr HalfFormat kFloat16{5, 10};
inline constexpr HalfFormat kBfloat16{8, 7};

/// The value of a bit pattern.
inline double half_value(std::uint16_t half, const HalfFormat& format) {
  const int exponent = half >> format.mantissa_bits & format.top_exponent();
  const int mantissa = half & ((1 << format.mantissa_bits) - 1);
  const double sign = half >> 15 != 0 ? -1.0 : 1.0;
  if (exponent == format.top_exponent()) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * INFINITY;
  }
  const double fraction = std::ldexp(mantissa, -format.mantissa_bits);
  return sign * (exponent == 0 ? std::ldexp(fraction, 1 - format.bias())
                               : std::ldexp(1.0 + fraction, exponent - format.bias()));
}

/// The bit pattern of the nearest value, ties to even; a quiet NaN for NaN.
inline std::uint16_t nearest_half(float x, const HalfFormat& format) {
  const int sign = std::signbit(x) ? 0x8000 : 0;
  const int infinity = format.top_exponent() << format.mantissa_bits;
  if (std::isnan(x)) {
    return static_cast<std::uint16_t>(sign | infinity | 1 << (format.mantissa_bits - 1));
  }
  const double magnitude = std::fabs(static_cast<double>(x));
  if (magnitude == 0.0) return static_cast<std::uint16_t>(sign);
  if (std::isinf(magnitude)) return static_cast<std::uint16_t>(sign | infinity);
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  // The step between neighbours: constant below the smallest normal value.
  const int least = 1 - format.bias();
  const int step = (exponent - 1 < least ? least : exponent - 1) - format.mantissa_bits;
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, -step)));
  // Steps of subnormals count from 0, others from the start of their binade. A carry into the
  // exponent is right, up to infinity.
  const int binade = step + format.mantissa_bits - least;
  const int bits = steps + (binade << format.mantissa_bits);
  return static_cast<std::uint16_t>(sign | (bits < infinity ? bits : infinity));
}

}  // namespace zeropoint::reference
