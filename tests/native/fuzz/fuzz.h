// Shared parts of the fuzz targets: arguments made from a fuzzer's bytes, and checks that end the
// run.
//
// A target reads its arguments from the bytes, calls public functions of include/zeropoint, and
// compares with the scalar references or with the formula that the header states. In a few runs one
// argument is invalid: the result must then be the status that the header names, and the output
// unchanged. Every buffer has exactly the required size, so that a sanitizer detects access beyond
// it.
#pragma once

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "aligned_bytes.h"
#include "random.h"
#include "same_value.h"
#include "tensors.h"
#include "zeropoint/dtype.h"
#include "zeropoint/status.h"

namespace zeropoint::fuzz {

using testing::AlignedBytes;
using testing::count_of;
using testing::Random;
using testing::same_value;
using testing::ShapeVector;

/// Reads arguments from bytes; once they are used up, everything is 0.
class Source {
 public:
  Source(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {}

  template <typename T>
  T take() {
    T value{};
    const std::size_t count = std::min(sizeof(T), bytes_.size());
    if (count > 0) std::memcpy(&value, bytes_.data(), count);
    bytes_ = bytes_.subspan(count);
    return value;
  }

  /// 0 .. n - 1.
  std::size_t below(std::size_t n) {
    return n <= 256 ? take<std::uint8_t>() % n : take<std::uint32_t>() % n;
  }
  bool flag() { return (take<std::uint8_t>() & 1U) != 0; }

  /// True once in n, for rare cases.
  bool rarely(std::size_t n) { return below(n) == n - 1; }

  /// min .. max, both included.
  std::int32_t integer(std::int32_t min, std::int32_t max) {
    const auto span = static_cast<std::uint64_t>(std::int64_t{max} - min) + 1;
    return static_cast<std::int32_t>(min + static_cast<std::int64_t>(take<std::uint32_t>() % span));
  }

  template <typename T, std::size_t kCount>
  T pick(const T (&items)[kCount]) {
    return items[below(kCount)];
  }

  /// Numbers that continue after the end of the bytes.
  Random random() { return Random(take<std::uint32_t>()); }

  /// A number at a boundary of arithmetic, a number of few bits, or any bits at all.
  float special() {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr float kValues[] = {
        0.0F,          -0.0F,         kNan,        kInfinity,   -kInfinity,    FLT_MAX,
        -FLT_MAX,      FLT_MIN,       -FLT_MIN,    0x1p-149F,   -0x1p-149F,    0.5F,
        -0.5F,         1.5F,          0.49999997F, 127.5F,      -128.5F,       255.5F,
        32767.5F,      65535.5F,      8388609.0F,  16777216.0F, 2147483520.0F, 2147483648.0F,
        -2147483648.F, 9.2233720e18F, 1e-40F,      1e30F};
    switch (below(3)) {
      case 0:
        return pick(kValues);
      case 1:
        return static_cast<float>(take<std::int8_t>()) * 0.5F;
      default:
        return take<float>();
    }
  }

  /// n values of one kind, a few of them replaced by special ones.
  std::vector<float> floats(std::size_t n) {
    std::vector<float> values(n);
    Random more = random();
    switch (below(6)) {
      case 0:
        for (float& value : values) value = take<float>();
        break;
      case 1:
        for (float& value : values) value = more.any_float();
        break;
      case 2: {  // multiples of one half, so that ties are frequent
        const float unit = std::ldexp(0.5F, integer(-30, 30));
        for (float& value : values) value = static_cast<float>(more.integer(-300, 300)) * unit;
        break;
      }
      case 3: {
        const float size = std::ldexp(1.0F, integer(-140, 120));
        for (float& value : values) value = more.uniform(-size, size);
        break;
      }
      case 4:
        for (float& value : values) value = more.spread(-120, 120);
        break;
      default:
        std::fill(values.begin(), values.end(), special());
    }
    for (std::size_t count = n == 0 ? 0 : below(4); count > 0; --count) {
      values[below(n)] = special();
    }
    return values;
  }

  /// The same without NaN and infinities.
  std::vector<float> finite_floats(std::size_t n) {
    std::vector<float> values = floats(n);
    for (float& value : values) value = std::isfinite(value) ? value : 1.0F;
    return values;
  }

  /// A finite scale > 0, rarely a subnormal one.
  float scale() {
    const float value = std::fabs(special());
    if (value > 0.0F && std::isfinite(value)) return value;
    return std::ldexp(1.0F, integer(-126, 127));
  }

  template <typename Code>
  std::vector<Code> codes(std::size_t n, DType dtype) {
    Random more = random();
    return testing::random_codes<Code>(n, dtype, more);
  }

  std::int32_t zero_point(DType dtype) {
    const DTypeInfo info = dtype_info(dtype);
    constexpr std::int32_t kEnds[] = {0, INT32_MIN, INT32_MAX};
    const std::int32_t wanted = flag() ? pick(kEnds) : integer(info.qmin, info.qmax);
    return std::clamp(wanted, info.qmin, info.qmax);
  }

  /// A shape of few values, so that each run is short.
  ShapeVector shape() {
    Random more = random();
    ShapeVector shape = testing::random_shape(more);
    while (count_of(shape) > 3000) shape.erase(shape.begin());
    return shape;
  }

  /// A shape that broadcasts to another.
  ShapeVector operand(const ShapeVector& of) {
    Random more = random();
    return testing::random_operand(of, more);
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

/// Runs a target on one input; every *_fuzz.cpp defines it.
void run(Source source);

/// Ends the run if a condition does not hold; libFuzzer then reports the input.
inline void check(bool holds, std::string_view what, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  if (holds) return;
  std::fprintf(stderr, "%s:%d: %.*s\n", file, line, static_cast<int>(what.size()), what.data());
  std::abort();
}

inline void check(Status actual, Status expected, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  if (actual == expected) return;
  const std::string_view got = status_name(actual);
  const std::string_view wanted = status_name(expected);
  std::fprintf(stderr, "%s:%d: got %.*s instead of %.*s\n", file, line,
               static_cast<int>(got.size()), got.data(), static_cast<int>(wanted.size()),
               wanted.data());
  std::abort();
}

template <typename T>
void check_same(std::span<const T> actual, const std::vector<T>& expected,
                const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  check(actual.size() == expected.size(), "as many values as expected", file, line);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (same_value(actual[i], expected[i])) continue;
    std::fprintf(stderr, "value %zu of %zu: got %.17g instead of %.17g\n", i, actual.size(),
                 static_cast<double>(actual[i]), static_cast<double>(expected[i]));
    check(false, "the values agree", file, line);
  }
}

/// Room for n results, filled with a marker to begin with.
template <typename T>
class Output {
 public:
  explicit Output(std::size_t n) : values_(n, kMarker) {}
  [[nodiscard]] std::span<T> span() { return values_; }
  [[nodiscard]] std::span<const T> values() const { return values_; }
  void check_untouched(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
    check(std::all_of(values_.begin(), values_.end(), [](T value) { return value == kMarker; }),
          "nothing is written unless the status is kOk", file, line);
  }

 private:
  static constexpr T kMarker = static_cast<T>(91);
  std::vector<T> values_;
};

inline constexpr DType kAllDTypes[] = {
    DType::kInt2,  DType::kInt4,   DType::kInt8,  DType::kUint2, DType::kUint4,  DType::kUint8,
    DType::kInt16, DType::kUint16, DType::kInt32, DType::kQint8, DType::kQuint8, DType::kQint32};
inline constexpr DType kTorchDTypes[] = {DType::kQint8, DType::kQuint8, DType::kQint32};
inline constexpr DType kByteDTypes[] = {DType::kInt2,  DType::kInt4,  DType::kInt8,
                                        DType::kUint2, DType::kUint4, DType::kUint8,
                                        DType::kQint8, DType::kQuint8};

}  // namespace zeropoint::fuzz
