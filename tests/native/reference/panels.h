// Rows of digits times packed weights as panels.h states it, from the plain codes and with whole
// integers: no planes, no panels, one output at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/panels.h"

namespace zeropoint::reference {

/// Quantized weights, nothing packed.
struct PlainWeight {
  std::size_t n = 0;
  std::size_t k = 0;
  int bits = 8;
  std::size_t group = 1;                 ///< inputs that share a scale; at least 1
  std::vector<int> codes{};              ///< [n][k], signed
  std::vector<float> scales{};           ///< [n][groups]
  std::vector<int> zero_points{};        ///< [n][groups]
  std::vector<float> input_scales{};     ///< [k], or empty
  std::vector<int> input_zero_points{};  ///< [k], or empty

  [[nodiscard]] std::size_t groups() const { return k == 0 ? 1 : (k + group - 1) / group; }
  /// Factor of codes in the sums.
  [[nodiscard]] int unit() const { return 1 << (8 - bits); }
  [[nodiscard]] bool per_input() const { return !input_scales.empty(); }
  [[nodiscard]] int zero_point(std::size_t output, std::size_t input) const {
    return per_input() ? input_zero_points[input] : zero_points[output * groups() + input / group];
  }
  /// A value of a row of activations, times the input's own scale.
  [[nodiscard]] double scaled(const float* x, std::size_t input) const {
    const double value = x[input];
    return per_input() ? value * static_cast<double>(input_scales[input]) : value;
  }
};

/// A row of activations in fixed point.
struct FixedRow {
  bool finite = true;
  double unit = 1.0;
  std::vector<std::int64_t> integers;
  double error = 0.0;  ///< the sum of |x / unit - X|
  double error_squares = 0.0;
  double sum = 0.0;      ///< of |X|
  double squares = 0.0;  ///< of X * X
};

/// @param bits  of the integers, their sign included
inline FixedRow fixed_row(const float* x, const PlainWeight& w, int bits = 28) {
  FixedRow row;
  double largest = 0.0;
  for (std::size_t i = 0; i < w.k; ++i) {
    if (!std::isfinite(x[i])) row.finite = false;
    largest = std::max(largest, std::fabs(w.scaled(x, i)));
  }
  if (!row.finite) return row;
  int exponent = 0;
  if (largest > 0.0) std::frexp(largest, &exponent);
  row.unit = std::ldexp(1.0, exponent - (bits - 1));
  for (std::size_t i = 0; i < w.k; ++i) {
    const double exact = std::ldexp(w.scaled(x, i), bits - 1 - exponent);
    const double integer = std::min(std::nearbyint(exact), std::ldexp(1.0, bits - 1) - 1.0);
    row.integers.push_back(static_cast<std::int64_t>(integer));
    row.error += std::fabs(exact - integer);
    row.error_squares += (exact - integer) * (exact - integer);
    row.sum += std::fabs(integer);
    row.squares += integer * integer;
  }
  return row;
}

/// The sums that digits_f32 leaves, one for each chunk.
inline std::vector<double> chunk_sums(const FixedRow& row, const PlainWeight& w) {
  std::vector<double> sums;
  kernels::for_chunks(w.k, w.group, [&](std::size_t first, std::size_t inputs, std::size_t) {
    std::int64_t sum = 0;
    for (std::size_t i = first; i < first + inputs; ++i) {
      sum += row.integers[i] * (w.per_input() ? w.input_zero_points[i] : 1);
    }
    sums.push_back(static_cast<double>(sum));
  });
  return sums;
}

/// y without its bias, in double, from integers: sum over chunks of scale * exact sum.
inline double fixed_point_sum(const FixedRow& row, const PlainWeight& w, std::size_t output) {
  double total = 0.0;
  kernels::for_chunks(w.k, w.group, [&](std::size_t first, std::size_t inputs, std::size_t group) {
    std::int64_t sum = 0;
    for (std::size_t i = first; i < first + inputs; ++i) {
      sum += row.integers[i] * (w.codes[output * w.k + i] - w.zero_point(output, i)) * w.unit();
    }
    const double scale =
        w.per_input() ? 1.0 : static_cast<double>(w.scales[output * w.groups() + group]);
    total += static_cast<double>(sum) * scale;
  });
  return total;
}

/// y without its bias, in double, from the float32 row itself.
inline double float_sum(const float* x, const PlainWeight& w, std::size_t output) {
  double total = 0.0;
  for (std::size_t group = 0; group < w.groups(); ++group) {
    double sum = 0.0;
    for (std::size_t i = group * w.group; i < std::min((group + 1) * w.group, w.k); ++i) {
      const int code = (w.codes[output * w.k + i] - w.zero_point(output, i)) * w.unit();
      sum += w.scaled(x, i) * code;
    }
    const double scale =
        w.per_input() ? 1.0 : static_cast<double>(w.scales[output * w.groups() + group]);
    total += sum * scale;
  }
  return total / w.unit();
}

/// Way in which an output was computed.
enum class Way { kFixedPoint, kCertified, kDouble };

struct PanelOutput {
  float y;
  Way way;
};

/// One output. The kernels' bounds for the row and the weight decide how it is computed.
inline PanelOutput multiply(const float* x, const FixedRow& fixed, const PlainWeight& w,
                            std::size_t output, const kernels::RowScale& row, float largest,
                            float ordinary, float root, double tolerance, const float* bias) {
  Way way = Way::kDouble;
  double y = 0.0;
  if (row.finite) {
    const double sum = fixed_point_sum(fixed, w, output);
    const double error = 2.0 * (row.error * static_cast<double>(largest));
    const double at_least =
        static_cast<double>(ordinary) * (row.sum - static_cast<double>(root) * row.norm);
    if (error <= std::fabs(sum) * tolerance) {
      way = Way::kFixedPoint;
    } else if (error <= tolerance * at_least) {
      way = Way::kCertified;
    }
    y = sum * (row.unit / w.unit());
  }
  if (way == Way::kDouble) y = float_sum(x, w, output);
  if (bias != nullptr) y += static_cast<double>(bias[output]);
  return {static_cast<float>(y), way};
}

}  // namespace zeropoint::reference
