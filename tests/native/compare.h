// Comparisons of results, and the buffers passed to kernels.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cfloat>
#include <cstddef>
#include <limits>
#include <ostream>
#include <span>
#include <type_traits>
#include <vector>

#include "same_value.h"
#include "zeropoint/status.h"

namespace zeropoint {

/// Prints a Status in failures of GoogleTest.
inline void PrintTo(Status status, std::ostream* out) { *out << status_name(status); }

}  // namespace zeropoint

namespace zeropoint::testing {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kSmallest = std::numeric_limits<float>::denorm_min();

/// Lengths around every step and tail of the kernels.
inline constexpr std::array<std::size_t, 17> kLengths = {0,  1,  3,  4,  7,  8,  15,  16,  17,
                                                         31, 32, 33, 63, 64, 65, 127, 1000};

/// Values at the boundaries of rounding, clamping and casting.
inline constexpr std::array kSpecialFloats = {
    kNan,          kInfinity,     -kInfinity,    0.0F,          -0.0F,          kSmallest,
    -kSmallest,    FLT_MIN,       -FLT_MIN,      FLT_MAX,       -FLT_MAX,       0.5F,
    -0.5F,         0.49999997F,   -0.49999997F,  0.50000006F,   1.5F,           -1.5F,
    2.5F,          -2.5F,         126.5F,        127.5F,        127.49999F,     128.0F,
    -128.5F,       -128.50002F,   -129.0F,       254.5F,        255.5F,         256.0F,
    32766.5F,      32767.5F,      -32768.5F,     65534.5F,      65535.5F,       65536.0F,
    8388607.5F,    8388609.0F,    16777215.0F,   16777216.0F,   2147483520.0F,  2147483648.0F,
    -2147483648.F, -2147483904.F, 4294967296.0F, 9.2233720e18F, -9.2233720e18F, 1e-40F};

/// same_value() for every element; reports the first difference.
template <typename T>
::testing::AssertionResult same_values(std::span<const T> actual, std::span<const T> expected) {
  if (actual.size() != expected.size()) {
    return ::testing::AssertionFailure()
           << actual.size() << " values instead of " << expected.size();
  }
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (same_value(actual[i], expected[i])) continue;
    return ::testing::AssertionFailure()
           << "at " << i << " of " << actual.size() << ": " << ::testing::PrintToString(actual[i])
           << " instead of " << ::testing::PrintToString(expected[i]);
  }
  return ::testing::AssertionSuccess();
}

template <typename A, typename B>
::testing::AssertionResult same(const A& actual, const B& expected) {
  using T = std::remove_const_t<typename decltype(std::span(actual))::element_type>;
  return same_values<T>(std::span<const T>(actual), std::span<const T>(expected));
}

/// A copy of values that starts `offset` elements into its allocation and ends with it, so that a
/// sanitizer sees a read past the end.
template <typename T>
class Input {
 public:
  explicit Input(std::span<const T> values, std::size_t offset = 0)
      : storage_(offset + values.size()), offset_(offset) {
    for (std::size_t i = 0; i < values.size(); ++i) storage_[offset + i] = values[i];
  }
  [[nodiscard]] const T* data() const { return storage_.data() + offset_; }
  [[nodiscard]] std::size_t size() const { return storage_.size() - offset_; }
  [[nodiscard]] std::span<const T> span() const { return {data(), size()}; }

 private:
  std::vector<T> storage_;
  std::size_t offset_;
};

template <typename T>
Input(const std::vector<T>&, std::size_t) -> Input<T>;
template <typename T>
Input(const std::vector<T>&) -> Input<T>;

/// Room for n results between guards that must stay unchanged. Initially filled with a marker.
template <typename T>
class Output {
 public:
  explicit Output(std::size_t n, std::size_t offset = 0)
      : storage_(2 * kGuard + offset + n, kMarker), first_(kGuard + offset), size_(n) {}
  [[nodiscard]] T* data() { return storage_.data() + first_; }
  [[nodiscard]] std::span<T> span() { return {data(), size_}; }
  [[nodiscard]] std::span<const T> values() const { return {storage_.data() + first_, size_}; }

  /// Checks that no byte before or after the results was written.
  [[nodiscard]] ::testing::AssertionResult guards_intact() const {
    for (std::size_t i = 0; i < storage_.size(); ++i) {
      const bool guard = i < first_ || i >= first_ + size_;
      if (guard && storage_[i] != kMarker) {
        return ::testing::AssertionFailure()
               << "wrote at " << static_cast<std::ptrdiff_t>(i - first_) << " of " << size_;
      }
    }
    return ::testing::AssertionSuccess();
  }

  /// Checks that no byte was written.
  [[nodiscard]] ::testing::AssertionResult untouched() const {
    for (const T value : storage_) {
      if (value != kMarker) return ::testing::AssertionFailure() << "the output was written";
    }
    return ::testing::AssertionSuccess();
  }

 private:
  static constexpr std::size_t kGuard = 32;
  static constexpr T kMarker = static_cast<T>(91);
  std::vector<T> storage_;
  std::size_t first_;
  std::size_t size_;
};

}  // namespace zeropoint::testing
