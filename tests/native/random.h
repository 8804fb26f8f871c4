// Random numbers that are the same on every machine and in every run.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace zeropoint::testing {

/// Factor for the number of rounds of random tests. Unoptimized builds, which run under sanitizers,
/// do a sixteenth of the work.
#if defined(__OPTIMIZE__)
inline constexpr std::size_t kEffort = 16;
#else
inline constexpr std::size_t kEffort = 1;
#endif

/// SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint32_t bits() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return static_cast<std::uint32_t>((z ^ (z >> 31U)) >> 32U);
  }

  /// 0 .. n - 1.
  std::size_t below(std::size_t n) {
    return static_cast<std::size_t>((std::uint64_t{bits()} * n) >> 32U);
  }

  /// min .. max, both included.
  std::int32_t integer(std::int32_t min, std::int32_t max) {
    const auto span = static_cast<std::uint64_t>(std::int64_t{max} - min) + 1;
    return static_cast<std::int32_t>(min + static_cast<std::int64_t>((bits() * span) >> 32U));
  }

  /// Any float32: every bit pattern is as likely as every other.
  float any_float() { return std::bit_cast<float>(bits()); }

  /// Uniform between lo and hi.
  float uniform(float lo, float hi) {
    return static_cast<float>(lo + (double{hi} - lo) * (bits() * 0x1p-32));
  }

  /// Any sign and mantissa, and an exponent in a range: numbers of all magnitudes.
  float spread(int min_exponent, int max_exponent) {
    const auto exponent = static_cast<std::uint32_t>(integer(min_exponent, max_exponent) + 127);
    return std::bit_cast<float>((bits() & 0x807FFFFFU) | (exponent << 23U));
  }

  std::vector<float> uniforms(std::size_t n, float lo, float hi) {
    std::vector<float> values(n);
    for (float& value : values) value = uniform(lo, hi);
    return values;
  }

  std::vector<float> any_floats(std::size_t n) {
    std::vector<float> values(n);
    for (float& value : values) value = any_float();
    return values;
  }

 private:
  std::uint64_t state_;
};

}  // namespace zeropoint::testing
