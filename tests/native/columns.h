// Matrices with a scale and a zero point per column.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "compare.h"
#include "kernels/kernels.h"
#include "random.h"

namespace zeropoint::testing {

/// Scales and zero points of columns: mostly as chosen for quantization, sometimes arbitrary.
struct Columns {
  std::vector<float> scales;
  std::vector<float> zero_points;
  std::vector<std::int32_t> nan_codes;

  Columns(std::size_t n, std::int32_t qmin, std::int32_t qmax, bool is_odd, Random& random) {
    for (std::size_t i = 0; i < n; ++i) {
      const bool odd = is_odd && random.below(6) == 0;
      scales.push_back(odd ? random.any_float() : std::fabs(random.spread(-6, 6)));
      const auto code = static_cast<float>(random.integer(qmin, qmax));
      zero_points.push_back(odd ? random.uniform(-300.0F, 300.0F) : code);
      nan_codes.push_back(random.integer(qmin, qmax));
    }
  }

  [[nodiscard]] kernels::ElementwiseQParams qparams() const {
    return {scales.data(), zero_points.data(), nan_codes.data()};
  }

  // Rows of values around these columns' boundaries, and some others.
  [[nodiscard]] std::vector<float> values(std::size_t rows, std::size_t pitch,
                                          Random& random) const {
    std::vector<float> values(rows * pitch, 99.0F);
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t c = 0; c < scales.size(); ++c) {
        float& value = values[row * pitch + c];
        value = (static_cast<float>(random.integer(-200, 200)) + 0.5F) * scales[c];
        for (std::size_t step = random.below(4); step > 0; --step) {
          value = std::nextafter(value, random.below(2) == 0 ? kInfinity : -kInfinity);
        }
        if (random.below(9) == 0) value = kSpecialFloats[random.below(kSpecialFloats.size())];
      }
    }
    return values;
  }
};

}  // namespace zeropoint::testing
