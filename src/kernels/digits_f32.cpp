// Rows of float32 to fixed point: find the largest magnitude, scale by a power of two, round to
// integers and store their digits, four values per step.
// Parity: bit-identical to reference/panels.h.
#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

#include "kernels/panels.h"
#include "kernels/relaxed.h"

namespace zeropoint::kernels {
namespace {

// Largest magnitude; infinity for infinities. NaN is ignored here and reported in `finite`.
float largest_magnitude(const float* x, std::size_t n, bool& finite) {
  v128_t max[4];
  for (v128_t& lanes : max) lanes = wasm_f32x4_splat(0.0F);
  // A sum of differences x - x is 0, or NaN if any value is not finite.
  v128_t zero[2] = {wasm_f32x4_splat(0.0F), wasm_f32x4_splat(0.0F)};
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    for (std::size_t j = 0; j < 4; ++j) {
      const v128_t values = wasm_v128_load(x + i + 4 * j);
      max[j] = wasm_f32x4_pmax(max[j], wasm_f32x4_abs(values));
      zero[j % 2] = wasm_f32x4_add(zero[j % 2], wasm_f32x4_sub(values, values));
    }
  }
  const v128_t all =
      wasm_f32x4_pmax(wasm_f32x4_pmax(max[0], max[1]), wasm_f32x4_pmax(max[2], max[3]));
  float lanes[4];
  float zeros[4];
  wasm_v128_store(lanes, all);
  wasm_v128_store(zeros, wasm_f32x4_add(zero[0], zero[1]));
  float largest = 0.0F;
  float rest = 0.0F;
  for (std::size_t j = 0; j < 4; ++j) {
    largest = std::max(largest, lanes[j]);
    rest += zeros[j];
  }
  for (; i < n; ++i) {
    largest = std::max(largest, std::fabs(x[i]));
    rest += x[i] - x[i];
  }
  finite = rest == 0.0F;
  return largest;
}

double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}
float float_power_of_two(int exponent) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(127 + exponent) << 23);
}

// The exponent e with 2^(e - 1) <= largest < 2^e; 0 for 0.
int exponent_above(double largest) {
  if (largest == 0.0) return 0;
  const auto bits = std::bit_cast<std::uint64_t>(largest);
  return static_cast<int>(bits >> 52) - 1022;
}

// Writes a row's digits, four integers at a time.
template <Digits kFormat>
class Writer {
 public:
  // NOLINTNEXTLINE(readability-non-const-parameter): lines_ are written through it
  Writer(std::uint8_t* digits, std::size_t rows, std::size_t row, std::size_t steps) {
    if constexpr (kFormat == Digits::kI16) {
      lines_[0] = digits + row * digit_row_bytes(steps);
    } else {
      for (std::size_t i = 0; i < kLines; ++i) {
        const LinePlace place = line_place(kLines * rows, kLines * row + i, steps);
        lines_[i] = digits + place.at;
        step_bytes_ = place.step_bytes;
      }
    }
  }

  void write(v128_t integers) {
    if constexpr (kFormat == Digits::kI16) {
      const v128_t low = wasm_v128_and(integers, wasm_i32x4_splat(0x3FFF));
      wasm_v128_store(lines_[0] + at_, wasm_i16x8_narrow_i32x4(low, wasm_i32x4_shr(integers, 14)));
    } else {
      const v128_t v = wasm_i32x4_add(integers, wasm_i32x4_splat(1 << (digit_bits(kFormat) - 1)));
      // Seven bits to each byte, then the digits of one place side by side.
      const v128_t bytes = wasm_v128_or(
          wasm_v128_or(wasm_v128_and(v, wasm_i32x4_splat(0x7F)),
                       wasm_v128_and(wasm_i32x4_shl(v, 1), wasm_i32x4_splat(0x7F00))),
          wasm_v128_or(wasm_v128_and(wasm_i32x4_shl(v, 2), wasm_i32x4_splat(0x7F0000)),
                       wasm_v128_and(wasm_i32x4_shl(v, 3), wasm_i32x4_splat(0x7F000000))));
      const v128_t planes =
          wasm_i8x16_shuffle(bytes, bytes, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
      wasm_v128_store32_lane(lines_[0] + at_, planes, 0);
      wasm_v128_store32_lane(lines_[1] + at_, planes, 1);
      wasm_v128_store32_lane(lines_[2] + at_, planes, 2);
      if constexpr (kLines == 4) wasm_v128_store32_lane(lines_[3] + at_, planes, 3);
    }
    at_ += step_bytes_;
  }

 private:
  static constexpr std::size_t kLines = kFormat == Digits::kI7Short ? 3 : 4;
  std::uint8_t* lines_[kLines] = {};
  std::size_t step_bytes_ = 16;
  std::size_t at_ = 0;
};

// Rounds four values at a time to integers, and sums the rounding errors.
template <Digits kFormat>
class Rounder {
 public:
  /// @param exponent  of the largest magnitude
  explicit Rounder(int exponent) {
    // Two factors, since one float32 power of two is too small for rows of the smallest values.
    const int power = kBits - 1 - exponent;
    const int first = std::min(power, 126);
    first_ = wasm_f32x4_splat(float_power_of_two(first));
    second_ = wasm_f32x4_splat(float_power_of_two(power - first));
  }

  v128_t round(v128_t x) {
    const v128_t scaled = wasm_f32x4_mul(wasm_f32x4_mul(x, first_), second_);
    v128_t rounded = wasm_f32x4_nearest(scaled);
    if constexpr (kBits <= 24) {
      // With 24 bits or fewer, float32 can round up to one integer too many.
      rounded =
          wasm_f32x4_pmin(rounded, wasm_f32x4_splat(static_cast<float>((1 << (kBits - 1)) - 1)));
    }
    const v128_t error = wasm_f32x4_sub(scaled, rounded);
    error_ = wasm_f32x4_add(
        error_, kFormat == Digits::kI7Short ? wasm_f32x4_mul(error, error) : wasm_f32x4_abs(error));
    sum_ = wasm_f32x4_add(sum_, wasm_f32x4_abs(rounded));
    squares_ = wasm_f32x4_add(squares_, wasm_f32x4_mul(rounded, rounded));
    return to_integers(rounded);
  }

  /// Adds the sums since the last call to a row's, and resets them.
  void take(RowScale& row, double& squares) {
    row.error += drain(error_);
    row.sum += drain(sum_);
    squares += drain(squares_);
  }

 private:
  static double drain(v128_t& lanes) {
    float values[4];
    wasm_v128_store(values, lanes);
    lanes = wasm_f32x4_splat(0.0F);
    return static_cast<double>(values[0] + values[1] + values[2] + values[3]);
  }

  static constexpr int kBits = digit_bits(kFormat);
  v128_t first_;
  v128_t second_;
  v128_t error_ = wasm_f32x4_splat(0.0F);
  v128_t sum_ = wasm_f32x4_splat(0.0F);
  v128_t squares_ = wasm_f32x4_splat(0.0F);
};

// The relative error of a chunk's float32 sums is less than 2^-13.
void loosen(RowScale& row, Digits format, double squares) {
  row.sum *= 0.999;
  row.norm = std::sqrt(squares) * 1.001;
  if (format == Digits::kI7Short) row.error = std::sqrt(row.error) * 1.001;
}

template <Digits kFormat>
RowScale write_row(const float* x, const Panels& w, Writer<kFormat> writer, double* sums) {
  constexpr int kDigitBits = digit_bits(kFormat);
  RowScale row{1.0, 0.0, 0.0, 0.0, true};
  const float largest = largest_magnitude(x, w.k, row.finite);
  if (!row.finite) return row;
  const int exponent = exponent_above(static_cast<double>(largest));
  row.unit = power_of_two(exponent - kDigitBits + 1);
  Rounder<kFormat> rounder(exponent);
  double squares = 0.0;
  for_chunks(w.k, w.group, [&](std::size_t first, std::size_t inputs, std::size_t) {
    v128_t low = wasm_i32x4_splat(0);
    v128_t high = wasm_i32x4_splat(0);
    const auto write = [&](const float* from) {
      const v128_t integers = rounder.round(wasm_v128_load(from));
      low = wasm_i32x4_add(low, wasm_v128_and(integers, wasm_i32x4_splat(0x3FFF)));
      high = wasm_i32x4_add(high, wasm_i32x4_shr(integers, 14));
      writer.write(integers);
    };
    std::size_t i = 0;
    for (; i + kStepInputs <= inputs; i += kStepInputs) write(x + first + i);
    for (const std::size_t end = steps_of(inputs, w.bits) * kStepInputs; i < end;
         i += kStepInputs) {
      float rest[kStepInputs] = {};
      if (i < inputs) std::copy(x + first + i, x + first + inputs, rest);
      write(rest);
    }
    std::int32_t lows[4];
    std::int32_t highs[4];
    wasm_v128_store(lows, low);
    wasm_v128_store(highs, high);
    double sum = 0.0;
    for (std::size_t j = 0; j < 4; ++j) sum += highs[j] * 16384.0 + lows[j];
    *sums++ = sum;
    rounder.take(row, squares);
  });
  // Squares of errors may have underflowed float32, each by up to half of its smallest number.
  if (kFormat == Digits::kI7Short && largest > 0.0F) {
    row.error += static_cast<double>(w.k) * 0x1p-149;
  }
  loosen(row, kFormat, squares);
  // Scaling down may have flushed the smallest values to 0 before their rounding error was taken.
  if (exponent >= kDigitBits) row.error += 0x1p-64;
  return row;
}

// The zero point of an input with a scale of its own, as a stored code.
double zero_point_of(const Panels& w, std::size_t input) {
  if (w.input_offsets == nullptr) return w.input_zero_points[input];
  const auto scale = static_cast<double>(w.input_scales[input]);
  return -(static_cast<double>(w.input_offsets[input]) / scale) - w.center;
}

// Inputs with scales: digits of the products of inputs and scales, in double.
template <Digits kFormat>
RowScale write_scaled_row(const float* x, const Panels& w, Writer<kFormat> writer, double* sums) {
  constexpr int kDigitBits = digit_bits(kFormat);
  static_assert(kDigitBits == 28);
  RowScale row{1.0, 0.0, 0.0, 0.0, true};
  double largest = 0.0;
  for (std::size_t i = 0; i < w.k; ++i) {
    const double value =
        std::fabs(static_cast<double>(x[i]) * static_cast<double>(w.input_scales[i]));
    if (!(value <= std::numeric_limits<double>::max())) row.finite = false;
    largest = std::max(largest, value);
  }
  if (!row.finite) return row;
  const int exponent = exponent_above(largest);
  row.unit = power_of_two(exponent - kDigitBits + 1);
  const double inverse = power_of_two(kDigitBits - 1 - exponent);
  double squares = 0.0;
  for_chunks(w.k, w.group, [&](std::size_t first, std::size_t inputs, std::size_t) {
    double sum = 0.0;
    const std::size_t end = steps_of(inputs, w.bits) * kStepInputs;
    for (std::size_t i = 0; i < end; i += kStepInputs) {
      std::int32_t integers[kStepInputs] = {};
      for (std::size_t j = 0; j < kStepInputs && i + j < inputs; ++j) {
        const std::size_t at = first + i + j;
        const double scaled =
            static_cast<double>(x[at]) * static_cast<double>(w.input_scales[at]) * inverse;
        // The largest magnitude itself may round up to a power of two.
        const double integer = std::min(std::nearbyint(scaled), 0x1p27 - 1.0);
        row.error += std::fabs(scaled - integer);
        row.sum += std::fabs(integer);
        squares += integer * integer;
        integers[j] = static_cast<std::int32_t>(integer);
        sum += integer * zero_point_of(w, at);
      }
      writer.write(wasm_v128_load(integers));
    }
    *sums++ = sum;
  });
  loosen(row, kFormat, squares);
  return row;
}

template <Digits kFormat>
RowScale write(const float* x, const Panels& w, const Writer<kFormat>& writer, double* sums) {
  return w.input_scales != nullptr ? write_scaled_row(x, w, writer, sums)
                                   : write_row(x, w, writer, sums);
}

}  // namespace

RowScale digits_f32(const float* x, const Panels& panels, [[maybe_unused]] Digits format,
                    std::size_t rows, std::size_t row, std::uint8_t* digits, double* sums) {
#if ZEROPOINT_RELAXED
  if (format == Digits::kI7) {
    return write(x, panels, Writer<Digits::kI7>(digits, rows, row, panels.steps), sums);
  }
  if (format == Digits::kI7Short) {
    assert(panels.input_scales == nullptr);
    return write_row(x, panels, Writer<Digits::kI7Short>(digits, rows, row, panels.steps), sums);
  }
#endif
  assert(format == Digits::kI16);
  return write(x, panels, Writer<Digits::kI16>(digits, rows, row, panels.steps), sums);
}

// Cauchy-Schwarz: the error from rounding is at most the root of the sum of squared rounding errors
// times the root of the sum of squared weights. For the lower bound of sum |x w| see is_certain()
// in multiply_panels.cpp. The factor 1.25 covers rounding in float32 and double, in the sums and at
// the end.
bool is_enough(const Panels& panels, const RowScale& row, double tolerance) {
  const double error = 1.25 * row.error * static_cast<double>(panels.norm);
  const double sum = row.sum - static_cast<double>(panels.root) * row.norm;
  return row.finite && error <= tolerance * sum;
}

}  // namespace zeropoint::kernels
