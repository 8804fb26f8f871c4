// Linear layers with float32 activations: weights of every kind, and their outputs.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "compare.h"
#include "packed.h"
#include "random.h"
#include "reference/groups.h"
#include "tensors.h"
#include "zeropoint/linear.h"

namespace zeropoint::testing {

inline constexpr Accumulate kBoth[] = {Accumulate::kExact, Accumulate::kFloat32};

/// A layer's arguments, except its weights.
struct Layer {
  std::size_t m;
  std::size_t k;
  std::size_t n;
  std::vector<float> x;
  std::vector<float> bias;
};

/// Quantized weights that own their parts.
template <typename Code>
struct Weights {
  std::vector<Code> codes;
  DType dtype;
  WeightGranularity granularity;
  std::size_t group_size;
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;
  std::vector<float> offsets{};

  [[nodiscard]] QuantizedWeight<Code> view() const {
    return {codes, dtype, granularity, group_size, scales, zero_points, offsets};
  }

  /// Index of the scale and zero point of the weight of output n and input i of K.
  [[nodiscard]] std::size_t slice(std::size_t n, std::size_t i, std::size_t k) const {
    switch (granularity) {
      case WeightGranularity::kPerTensor:
        return 0;
      case WeightGranularity::kPerOutput:
        return n;
      case WeightGranularity::kPerInput:
        return i;
      case WeightGranularity::kPerGroup:
        break;
    }
    return reference::group_at(n * k + i, k, group_size);
  }

  /// (code - zero_point) * scale, which double holds exactly, or code * scale + offset.
  [[nodiscard]] double value(std::size_t n, std::size_t i, std::size_t k) const {
    const std::size_t own = slice(n, i, k);
    if (!offsets.empty()) return double{scales[own]} * codes[n * k + i] + double{offsets[own]};
    return double{scales[own]} * (int{codes[n * k + i]} - zero_points[own]);
  }
};

inline std::vector<float> run(const Layer& layer, const std::vector<float>& w,
                              Accumulate accumulate) {
  Output<float> y(layer.m * layer.n);
  EXPECT_EQ(linear(layer.x, layer.m, layer.k, w, layer.n, layer.bias, accumulate, y.span()),
            Status::kOk);
  EXPECT_TRUE(y.guards_intact());
  return {y.values().begin(), y.values().end()};
}

template <typename Code>
std::vector<float> run(const Layer& layer, const Weights<Code>& w, Accumulate accumulate) {
  Output<float> y(layer.m * layer.n);
  EXPECT_EQ(linear_quantized<Code>(layer.x, layer.m, layer.k, w.view(), layer.n, layer.bias,
                                   accumulate, y.span()),
            Status::kOk);
  EXPECT_TRUE(y.guards_intact());
  return {y.values().begin(), y.values().end()};
}

inline double weight_value(const std::vector<float>& w, std::size_t n, std::size_t i,
                           std::size_t k) {
  return w[n * k + i];
}
template <typename Code>
double weight_value(const Weights<Code>& w, std::size_t n, std::size_t i, std::size_t k) {
  return w.value(n, i, k);
}

inline constexpr WeightGranularity kGranularities[] = {
    WeightGranularity::kPerTensor, WeightGranularity::kPerOutput, WeightGranularity::kPerInput,
    WeightGranularity::kPerGroup};

template <typename Code>
Weights<Code> random_weights(DType dtype, WeightGranularity granularity, std::size_t group_size,
                             std::size_t n, std::size_t k, Random& random) {
  const DTypeInfo info = dtype_info(dtype);
  Weights<Code> w = {
      random_codes<Code>(n * k, dtype, random), dtype, granularity, group_size, {}, {}};
  const std::size_t slices = granularity == WeightGranularity::kPerTensor   ? 1
                             : granularity == WeightGranularity::kPerOutput ? n
                             : granularity == WeightGranularity::kPerInput
                                 ? k
                                 : n * reference::groups_of_row(k, group_size);
  for (std::size_t i = 0; i < slices; ++i) {
    w.scales.push_back(std::fabs(random.spread(-12, 2)));
    w.zero_points.push_back(random.integer(info.qmin, info.qmax));
  }
  return w;
}

/// Offsets instead of zero points: within the codes' range, so that codes cancel them, and outside.
template <typename Code>
Weights<Code> with_offsets(Weights<Code> w, Random& random) {
  for (std::size_t i = 0; i < w.scales.size(); ++i) {
    const auto steps = static_cast<float>(w.zero_points[i]);
    const float offset = random.below(4) == 0 ? random.spread(-4, 4) : -steps * w.scales[i];
    w.offsets.push_back(offset);
  }
  w.zero_points.clear();
  return w;
}

/// Calls visit(weights) with every dtype that a layer takes, and every granularity.
template <typename Visit>
void for_all_weights(std::size_t n, std::size_t k, Random& random, Visit visit) {
  for (const WeightGranularity granularity : kGranularities) {
    const std::size_t group_size = 1 + random.below(k + 3);
    for (const DType dtype :
         {DType::kInt2, DType::kInt3, DType::kInt4, DType::kInt6, DType::kInt8, DType::kQint8}) {
      const auto w = random_weights<std::int8_t>(dtype, granularity, group_size, n, k, random);
      visit(w);
      visit(with_offsets(w, random));
    }
    for (const DType dtype : {DType::kUint1, DType::kUint2, DType::kUint3, DType::kUint4,
                              DType::kUint7, DType::kUint8, DType::kQuint8}) {
      const auto w = random_weights<std::uint8_t>(dtype, granularity, group_size, n, k, random);
      visit(w);
      visit(with_offsets(w, random));
    }
  }
}

}  // namespace zeropoint::testing
