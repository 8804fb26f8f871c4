// The half-quadratic choice of qparams as qparams.h states it, one value at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <span>

#include "kernels/kernels.h"
#include "reference/choose_qparams_f64.h"
#include "zeropoint/qparams.h"

namespace zeropoint::reference {

/// Four partial sums; value i goes to sum i % 4.
struct Partial {
  std::array<double, 4> p{};
  void add(std::size_t i, double value) { p[i % 4] += value; }
  [[nodiscard]] double total() const { return (p[0] + p[2]) + (p[1] + p[3]); }
};

inline float half_quadratic_code(float x, float scale, float offset, const DTypeInfo& info) {
  const float shifted = x - offset;
  const float steps = std::nearbyint(shifted / scale);
  return std::clamp(steps, static_cast<float>(info.qmin), static_cast<float>(info.qmax));
}

inline float half_quadratic_target(float x, float scale, float offset, float threshold,
                                   float code) {
  const float product = scale * code;
  const float error = x - (product + offset);
  const float size = std::fabs(error) / scale;
  const float fourth = std::sqrt(std::sqrt(size));
  const float sixteenth = std::sqrt(std::sqrt(fourth));
  const float power = 1.0F / (fourth * sixteenth);
  const float cut = power * threshold;
  const float kept = std::max(size - cut, 0.0F) * scale;
  return x - std::copysign(kept, error);
}

inline ChosenQParams half_quadratic(std::span<const float> x, Range range,
                                    const QParamsOptions& options) {
  const DTypeInfo info = dtype_info(options.dtype);
  const bool has_offset = options.scheme == Scheme::kOffset;
  const bool is_symmetric = options.scheme == Scheme::kSymmetric;
  float scale = 1.0F;
  float offset = 0.0F;
  double wide = 0.0;
  if (has_offset) {
    EXPECT_EQ(choose_offset(range, options.dtype, wide, offset), Status::kOk);
    scale = static_cast<float>(wide);
  } else {
    std::int32_t zero = 0;
    const kernels::ChoiceRule rule{double(info.qmin), double(info.qmax), is_symmetric,
                                   options.include_zero};
    reference::choose_qparams_f64(&range, 1, rule, &wide, &zero);
    scale = static_cast<float>(wide);
    offset = static_cast<float>(-double{scale} * zero);
  }
  ChosenQParams best{};
  double least = INFINITY;
  double beta = 10.0;
  for (int pass = 0; pass <= 20; ++pass, beta *= 1.01) {
    // The error of the iterate with its zero point rounded.
    ChosenQParams own{scale, 0, 0.0F};
    if (has_offset) own.offset = offset;
    if (options.scheme == Scheme::kAffine) {
      const double zero = std::nearbyint(-double{offset} / double{scale});
      own.zero_point =
          static_cast<std::int32_t>(std::clamp(zero, double(info.qmin), double(info.qmax)));
    }
    Partial error;
    Partial codes;
    Partial squares;
    Partial targets;
    Partial products;
    double count = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!std::isfinite(x[i])) continue;
      float y = 0.0F;
      if (has_offset) {
        y = scale * half_quadratic_code(x[i], scale, offset, info);
        y += offset;
      } else {
        const auto zero = static_cast<float>(own.zero_point);
        const float quotient = x[i] / scale;
        const float steps = std::nearbyint(quotient + zero);
        y = scale *
            (std::clamp(steps, static_cast<float>(info.qmin), static_cast<float>(info.qmax)) -
             zero);
      }
      const double difference = x[i] - y;
      error.add(i, difference * difference);
      const double code = half_quadratic_code(x[i], scale, offset, info);
      const double target = half_quadratic_target(
          x[i], scale, offset, static_cast<float>(1.0 / beta), static_cast<float>(code));
      codes.add(i, code);
      squares.add(i, code * code);
      targets.add(i, target);
      products.add(i, code * target);
      count += 1;
    }
    if (error.total() < least) {
      least = error.total();
      best = own;
    }
    const double divisor =
        is_symmetric ? squares.total() : count * squares.total() - codes.total() * codes.total();
    const double dividend = is_symmetric
                                ? products.total()
                                : count * products.total() - codes.total() * targets.total();
    if (divisor > 0 && dividend / divisor > 0) {
      scale = static_cast<float>(std::max(dividend / divisor, double{FLT_MIN}));
    }
    if (!is_symmetric) {
      offset = static_cast<float>((targets.total() - double{scale} * codes.total()) / count);
    }
  }
  return best;
}

}  // namespace zeropoint::reference
