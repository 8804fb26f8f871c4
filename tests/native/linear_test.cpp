#include "zeropoint/linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "compare.h"
#include "core/parallel.h"
#include "packed.h"
#include "reference/dot.h"
#include "reference/exact_sum.h"
#include "reference/groups.h"
#include "tensors.h"

namespace zeropoint {
namespace {

using testing::kEffort;
using testing::kInfinity;
using testing::kNan;
using testing::linear_quantized;
using testing::Output;
using testing::Random;
using testing::random_codes;
using testing::same;

constexpr Accumulate kBoth[] = {Accumulate::kExact, Accumulate::kFloat32};

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

std::vector<float> run(const Layer& layer, const std::vector<float>& w, Accumulate accumulate) {
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

double weight_value(const std::vector<float>& w, std::size_t n, std::size_t i, std::size_t k) {
  return w[n * k + i];
}
template <typename Code>
double weight_value(const Weights<Code>& w, std::size_t n, std::size_t i, std::size_t k) {
  return w.value(n, i, k);
}

constexpr WeightGranularity kGranularities[] = {
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

// ---- by hand

TEST(Linear, MultipliesByTheTransposedWeightAndAddsTheBias) {
  const Layer layer = {2, 3, 2, {1, 2, 3, 4, 5, 6}, {10, 20}};
  for (const Accumulate accumulate : kBoth) {
    EXPECT_TRUE(
        same(run(layer, {1, 0, -1, 0.5F, 1, 0}, accumulate), std::vector<float>{8, 22.5F, 8, 27}));
  }
}

TEST(Linear, NeedsNoBias) {
  const Layer layer = {1, 3, 2, {1, 2, 3}, {}};
  for (const Accumulate accumulate : kBoth) {
    EXPECT_TRUE(same(run(layer, {1, 0, -1, 0.5F, 1, 0}, accumulate), std::vector<float>{-2, 2.5F}));
  }
}

TEST(Linear, GivesTheBiasWithoutInputs) {
  const Layer with_bias = {2, 0, 2, {}, {1.5F, -2.5F}};
  const Layer without = {2, 0, 2, {}, {}};
  for (const Accumulate accumulate : kBoth) {
    EXPECT_TRUE(same(run(with_bias, std::vector<float>(), accumulate),
                     std::vector<float>{1.5F, -2.5F, 1.5F, -2.5F}));
    EXPECT_TRUE(
        same(run(without, std::vector<float>(), accumulate), std::vector<float>{0, 0, 0, 0}));
  }
}

TEST(Linear, TakesNoRowsAndNoOutputs) {
  for (const Accumulate accumulate : kBoth) {
    EXPECT_TRUE(run({0, 2, 1, {}, {1}}, {1, 2}, accumulate).empty());
    EXPECT_TRUE(run({2, 2, 0, {1, 2, 3, 4}, {}}, std::vector<float>(), accumulate).empty());
  }
}

// Rows that one by one would take minutes, and on 32 bits forever.
TEST(Linear, WalksNoRowsWithoutOutputs) {
  const testing::AlignedBytes weight(packed_weight_size({0, 0}));
  const Weights<std::int8_t> w = {{}, DType::kInt8, WeightGranularity::kPerTensor, 0, {1.0F}, {0}};
  ASSERT_EQ(pack_weight(w.view(), 0, 0, weight.span()), Status::kOk);
  const testing::AlignedBytes scratch(linear_scratch_size(weight.data(), UINT32_MAX));
  for (const Accumulate accumulate : kBoth) {
    EXPECT_EQ(linear({}, UINT32_MAX, 0, {}, 0, {}, accumulate, {}), Status::kOk);
    EXPECT_EQ(linear({}, UINT32_MAX, weight.data(), {}, accumulate, scratch.span(), {}),
              Status::kOk);
  }
}

TEST(LinearQuantized, SubtractsTheZeroPointAndMultipliesByTheScale) {
  const Layer layer = {1, 2, 2, {1, 10}, {}};
  const Weights<std::int8_t> w = {{3, -1, 0, 5}, DType::kInt8, WeightGranularity::kPerTensor, 0,
                                  {0.5F},        {1}};
  for (const Accumulate accumulate : kBoth) {
    // w = {1, -1, -0.5, 2}
    EXPECT_TRUE(same(run(layer, w, accumulate), std::vector<float>{-9, 19.5F}));
  }
}

TEST(LinearQuantized, TakesAScalePerOutput) {
  const Layer layer = {1, 2, 2, {1, 10}, {0.25F, 0}};
  const Weights<std::uint8_t> w = {{3, 1, 0, 5}, DType::kUint4, WeightGranularity::kPerOutput, 0,
                                   {0.5F, 2.0F}, {1, 4}};
  for (const Accumulate accumulate : kBoth) {
    // w = {1, 0, -8, 2}
    EXPECT_TRUE(same(run(layer, w, accumulate), std::vector<float>{1.25F, 12}));
  }
}

TEST(LinearQuantized, TakesAScalePerInput) {
  const Layer layer = {1, 2, 2, {1, 10}, {}};
  const Weights<std::int8_t> w = {{3, 1, 0, 5}, DType::kInt8, WeightGranularity::kPerInput, 0,
                                  {0.5F, 2.0F}, {1, 4}};
  for (const Accumulate accumulate : kBoth) {
    // w = {1, -6, -0.5, 2}
    EXPECT_TRUE(same(run(layer, w, accumulate), std::vector<float>{-59, 19.5F}));
  }
}

TEST(LinearQuantized, TakesAScalePerGroupOfInputs) {
  const Layer layer = {1, 4, 2, {1, 10, 100, 1000}, {}};
  const Weights<std::int8_t> w = {{1, 2, 3, -4, 5, 6, 7, -8},   DType::kInt4,
                                  WeightGranularity::kPerGroup, 2,
                                  {1.0F, 0.5F, 2.0F, 0.25F},    {0, 0, 4, -8}};
  for (const Accumulate accumulate : kBoth) {
    // w = {1, 2, 1.5, -2}, {2, 4, 3.75, 0}
    EXPECT_TRUE(same(run(layer, w, accumulate), std::vector<float>{-1829, 417}));
  }
}

TEST(LinearQuantized, TakesAShortLastGroupOfInputs) {
  const Layer layer = {1, 3, 2, {1, 10, 100}, {}};
  const Weights<std::int8_t> w = {{1, 2, 3, -4, 5, 6},          DType::kInt4,
                                  WeightGranularity::kPerGroup, 2,
                                  {1.0F, 0.5F, 2.0F, 0.25F},    {0, 0, 4, -8}};
  for (const Accumulate accumulate : kBoth) {
    // w = {1, 2, 1.5}, {-16, 2, 3.5}
    EXPECT_TRUE(same(run(layer, w, accumulate), std::vector<float>{171, 354}));
  }
}

TEST(LinearQuantized, TakesNoRowsNoInputsAndNoOutputs) {
  Random random(90);
  for (const Accumulate accumulate : kBoth) {
    for_all_weights(3, 5, random, [&](const auto& w) {
      EXPECT_TRUE(run({0, 5, 3, {}, {1, 2, 3}}, w, accumulate).empty());
    });
    for_all_weights(0, 5, random, [&](const auto& w) {
      EXPECT_TRUE(run({2, 5, 0, std::vector<float>(10), {}}, w, accumulate).empty());
    });
    for_all_weights(2, 0, random, [&](const auto& w) {
      EXPECT_TRUE(same(run({2, 0, 2, {}, {1.5F, -2.5F}}, w, accumulate),
                       std::vector<float>{1.5F, -2.5F, 1.5F, -2.5F}));
    });
  }
}

// ---- order

TEST(Linear, AddsInDoubleInTheOrderOfTheKernels) {
  Random random(91);
  for (std::size_t k = 0; k < 70; ++k) {
    const std::size_t m = 1 + random.below(6);
    const std::size_t n = 1 + random.below(9);
    const Layer layer = {m, k, n, random.uniforms(m * k, -2.0F, 2.0F),
                         random.uniforms(n, -2.0F, 2.0F)};
    const std::vector<float> w = random.uniforms(n * k, -2.0F, 2.0F);
    std::vector<float> expected;
    for (std::size_t row = 0; row < m; ++row) {
      for (std::size_t output = 0; output < n; ++output) {
        const auto dot = reference::dot<double>(layer.x.data() + row * k, w.data() + output * k, k);
        expected.push_back(static_cast<float>(dot + layer.bias[output]));
      }
    }
    EXPECT_TRUE(same(run(layer, w, Accumulate::kExact), expected)) << k;
  }
}

TEST(Linear, AddsInFloat32InTheOrderOfTheKernelsIfAsked) {
  Random random(101);
  for (std::size_t k = 0; k < 40; ++k) {
    const Layer layer = {5, k, 3, random.uniforms(5 * k, -2.0F, 2.0F),
                         random.uniforms(3, -2.0F, 2.0F)};
    const std::vector<float> w = random.uniforms(3 * k, -2.0F, 2.0F);
    std::vector<float> expected;
    for (std::size_t row = 0; row < layer.m; ++row) {
      for (std::size_t output = 0; output < layer.n; ++output) {
        const auto dot = reference::dot<float>(layer.x.data() + row * k, w.data() + output * k, k);
        expected.push_back(dot + layer.bias[output]);
      }
    }
    EXPECT_TRUE(same(run(layer, w, Accumulate::kFloat32), expected)) << k;
  }
}

template <typename W>
void expect_batch_invariant(const Layer& layer, const W& w) {
  const std::vector<float> together = run(layer, w, Accumulate::kExact);
  for (std::size_t rows = 1; rows <= layer.m; ++rows) {
    for (std::size_t first = 0; first + rows <= layer.m; ++first) {
      const auto begin = layer.x.begin() + static_cast<std::ptrdiff_t>(first * layer.k);
      const Layer part = {rows,
                          layer.k,
                          layer.n,
                          {begin, begin + static_cast<std::ptrdiff_t>(rows * layer.k)},
                          layer.bias};
      const auto expected = std::span(together).subspan(first * layer.n, rows * layer.n);
      ASSERT_TRUE(same(run(part, w, Accumulate::kExact), expected))
          << rows << " rows from row " << first;
    }
  }
}

TEST(Linear, GivesTheSameBitsForEveryBatchSize) {
  Random random(92);
  for (const std::size_t k : {1U, 7U, 24U, 45U}) {
    const Layer layer = {7, k, 3, random.uniforms(7 * k, -2.0F, 2.0F),
                         random.uniforms(3, -2.0F, 2.0F)};
    expect_batch_invariant(layer, random.uniforms(3 * k, -2.0F, 2.0F));
    for_all_weights(3, k, random, [&](const auto& w) { expect_batch_invariant(layer, w); });
  }
}

// Large enough for the threads to be called, for writing digits as well as for multiplying.
TEST(LinearQuantized, GivesTheSameBitsOnThreads) {
  Random random(102);
  constexpr std::size_t kRows = 64;
  constexpr std::size_t kInputs = 1100;
  const Layer layer = {kRows, kInputs, 64, random.uniforms(kRows * kInputs, -2.0F, 2.0F), {}};
  for (const WeightGranularity granularity : kGranularities) {
    const auto w =
        random_weights<std::int8_t>(DType::kInt8, granularity, 100, layer.n, layer.k, random);
    for (const Accumulate accumulate : kBoth) {
      const std::vector<float> expected = run(layer, w, accumulate);
      for (const std::size_t threads : {2U, 5U}) {
        set_thread_count(threads);
        EXPECT_TRUE(same(run(layer, w, accumulate), expected)) << threads << " threads";
        set_thread_count(1);
      }
    }
  }
}

TEST(LinearQuantized, OneOutputOrOneGroupIsAsForTheWholeTensor) {
  Random random(93);
  for (const std::size_t k : {1U, 16U, 29U}) {
    const Layer layer = {3, k, 1, random.uniforms(3 * k, -2.0F, 2.0F), {0.5F}};
    auto w =
        random_weights<std::int8_t>(DType::kInt8, WeightGranularity::kPerTensor, 0, 1, k, random);
    for (const Accumulate accumulate : kBoth) {
      w.granularity = WeightGranularity::kPerTensor;
      const std::vector<float> expected = run(layer, w, accumulate);
      w.granularity = WeightGranularity::kPerOutput;
      EXPECT_TRUE(same(run(layer, w, accumulate), expected));
      w.granularity = WeightGranularity::kPerGroup;
      w.group_size = k;
      EXPECT_TRUE(same(run(layer, w, accumulate), expected));
    }
  }
}

// ---- accuracy

/// Checks every output against the header's bound, and counts the results to which the bound
/// applies: normal float32 numbers.
template <typename W>
int expect_within_bound(const Layer& layer, const W& w, Accumulate accumulate) {
  int checked = 0;
  const std::vector<float> y = run(layer, w, accumulate);
  for (std::size_t row = 0; row < layer.m; ++row) {
    for (std::size_t output = 0; output < layer.n; ++output) {
      reference::ExactSum exact;
      double magnitudes = 0.0;
      for (std::size_t i = 0; i < layer.k; ++i) {
        const double x = layer.x[row * layer.k + i];
        const double weight = weight_value(w, output, i, layer.k);
        exact.add_product(x, weight);
        magnitudes += std::fabs(x * weight);
      }
      const double bias = layer.bias.empty() ? 0.0 : layer.bias[output];
      exact.add(bias);
      const double size = std::fabs(exact.value());
      if (size < double{FLT_MIN} || size > double{FLT_MAX}) continue;
      const auto k = static_cast<double>(layer.k);
      const double bound = accumulate == Accumulate::kExact
                               ? (k + 1.0) * 0x1p-24 * magnitudes + 0x1p-24 * std::fabs(bias)
                               : (k + 2.0) * double{FLT_EPSILON} * (magnitudes + std::fabs(bias));
      // The bound's own sum is in double: K roundings of 2^-53 each.
      EXPECT_LE(exact.distance(y[row * layer.n + output]), bound * (1.0 + 0x1p-40))
          << "row " << row << ", output " << output << ", K " << layer.k;
      ++checked;
    }
  }
  return checked;
}

TEST(Linear, IsWithinTheBoundOfTheExactResult) {
  Random random(94);
  int checked = 0;
  for (std::size_t round = 0; round < 40 * kEffort; ++round) {
    const std::size_t k = random.below(200);
    const Layer layer = {5, k, 3, random.uniforms(5 * k, -2.0F, 2.0F),
                         round % 2 == 0 ? std::vector<float>() : random.uniforms(3, -9.0F, 9.0F)};
    const std::vector<float> w = random.uniforms(3 * k, -2.0F, 2.0F);
    for (const Accumulate accumulate : kBoth) checked += expect_within_bound(layer, w, accumulate);
  }
  EXPECT_GT(checked, 1000);
}

TEST(LinearQuantized, IsWithinTheBoundOfTheExactResult) {
  Random random(95);
  int checked = 0;
  for (std::size_t round = 0; round < kEffort; ++round) {
    for (const std::size_t k : {1U, 2U, 8U, 9U, 48U, 130U}) {
      const Layer layer = {5, k, 3, random.uniforms(5 * k, -2.0F, 2.0F),
                           round % 2 == 0 ? std::vector<float>() : random.uniforms(3, -9.0F, 9.0F)};
      for_all_weights(3, k, random, [&](const auto& w) {
        for (const Accumulate accumulate : kBoth) {
          checked += expect_within_bound(layer, w, accumulate);
        }
      });
    }
  }
  EXPECT_GT(checked, 1000);
}

// Magnitudes over 2^120, where a few terms are everything.
TEST(Linear, IsWithinTheBoundDespiteHugeOutliers) {
  Random random(96);
  int checked = 0;
  for (std::size_t round = 0; round < 20 * kEffort; ++round) {
    const std::size_t k = 1 + random.below(60);
    Layer layer = {4, k, 2, {}, {random.spread(-60, 60), random.spread(-60, 60)}};
    std::vector<float> w(2 * k);
    for (std::size_t i = 0; i < 4 * k; ++i) layer.x.push_back(random.spread(-60, 60));
    for (float& value : w) value = random.spread(-60, 60);
    checked += expect_within_bound(layer, w, Accumulate::kExact);
    for_all_weights(2, k, random, [&](const auto& codes) {
      checked += expect_within_bound(layer, codes, Accumulate::kExact);
    });
  }
  EXPECT_GT(checked, 1000);
}

// Terms come in pairs that cancel up to their last bits.
TEST(Linear, IsWithinTheBoundDespiteCancellation) {
  Random random(97);
  int checked = 0;
  for (std::size_t round = 0; round < 40 * kEffort; ++round) {
    const std::size_t pairs = 1 + random.below(40);
    Layer layer = {1, 2 * pairs, 1, {}, {random.spread(-30, 0)}};
    std::vector<float> w;
    for (std::size_t i = 0; i < pairs; ++i) {
      const float value = random.spread(-5, 30);
      layer.x.push_back(value);
      layer.x.push_back(-std::nextafter(value, kInfinity));
      const float weight = random.spread(-5, 5);
      w.push_back(weight);
      w.push_back(weight);
    }
    for (const Accumulate accumulate : kBoth) checked += expect_within_bound(layer, w, accumulate);
  }
  EXPECT_GT(checked, 50);
}

/// Checks every output against the bound of kExact. Beyond normal float32 numbers, expects the
/// rounded exact value: an infinity, or a subnormal number.
template <typename W>
void expect_within_exact_bound(const Layer& layer, const W& w, Accumulate accumulate) {
  const std::vector<float> y = run(layer, w, accumulate);
  for (std::size_t row = 0; row < layer.m; ++row) {
    for (std::size_t output = 0; output < layer.n; ++output) {
      SCOPED_TRACE(::testing::Message() << "row " << row << ", output " << output << ", K "
                                        << layer.k << ", dtype " << static_cast<int>(w.dtype)
                                        << ", granularity " << static_cast<int>(w.granularity));
      reference::ExactSum exact;
      double magnitudes = 0.0;
      for (std::size_t i = 0; i < layer.k; ++i) {
        const double x = layer.x[row * layer.k + i];
        const double weight = w.value(output, i, layer.k);
        exact.add_product(x, weight);
        magnitudes += std::fabs(x * weight);
      }
      const double bias = layer.bias.empty() ? 0.0 : layer.bias[output];
      exact.add(bias);
      const auto k = static_cast<double>(layer.k);
      const double bound = (k + 1.0) * 0x1p-24 * magnitudes + 0x1p-24 * std::fabs(bias);
      const float actual = y[row * layer.n + output];
      const double size = std::fabs(exact.value());
      if (size - bound >= 0x1p128) {
        EXPECT_EQ(actual, exact.value() > 0.0 ? kInfinity : -kInfinity);
      } else if (size + bound < double{FLT_MAX}) {
        const double rounding = size < 2.0 * double{FLT_MIN} ? 0x1p-149 : 0.0;
        EXPECT_LE(exact.distance(actual), bound * (1.0 + 0x1p-40) + rounding);
      }
    }
  }
}

/// Scales of one magnitude, or of random magnitudes over float32's whole range.
std::vector<float> extreme_scales(std::size_t count, std::size_t kind, Random& random) {
  std::vector<float> scales(count);
  for (float& scale : scales) {
    switch (kind) {
      case 0:
        scale = std::fabs(random.spread(120, 127));
        break;
      case 1:
        scale = static_cast<float>(random.integer(1, 200)) * testing::kSmallest;
        break;
      case 2:
        scale = std::fabs(random.spread(-126, -120));
        break;
      case 3:
        scale = std::fabs(random.spread(-60, 60));
        break;
      default:
        scale = std::fabs(random.spread(-126, 127));
        break;
    }
  }
  return scales;
}

/// Random value with a magnitude inverse to the scale, so that products are of similar size.
float balanced(float scale, Random& random) {
  const int exponent = std::ilogb(scale);
  return random.spread(std::clamp(-exponent - 4, -126, 124), std::clamp(-exponent, -122, 127));
}

constexpr std::size_t kExtremeRows = 5;

/// A row of activations of a kind: of one size; of all sizes; with one far larger value; with one
/// value larger than the sum of all others; or with products with the scales of one size.
std::vector<float> extreme_row(std::size_t k, std::size_t kind, const std::vector<float>& scales,
                               Random& random) {
  std::vector<float> x = random.uniforms(k, -2.0F, 2.0F);
  if (kind == 1) {
    for (float& value : x) value = random.spread(-120, 120);
  } else if (kind == 2) {
    for (float& value : x) value = random.spread(-40, -25);
    x[0] = 1.0F;
  } else if (kind == 3) {
    x.assign(k, random.uniform(0.004F, 0.06F) * 0x1p-9F / static_cast<float>(k));
    x[0] = 0x1p-9F;
  } else if (kind == 4) {
    for (std::size_t i = 0; i < k; ++i) x[i] = balanced(scales[i], random);
  }
  return x;
}

// A scale that a code of 8 makes overflow float32, and inputs of which half an integer is much.
TEST(LinearQuantized, IsWithinTheBoundForTheLargestScales) {
  constexpr std::size_t kInputs = 4096;
  Weights<std::int8_t> w = {std::vector<std::int8_t>(kInputs, 100),
                            DType::kInt8,
                            WeightGranularity::kPerTensor,
                            0,
                            {1e38F},
                            {0}};
  w.codes[0] = 0;
  for (const float part : {0.004F, 0.01F, 0.03F}) {
    Layer layer = {1, kInputs, 1, std::vector<float>(kInputs, part * 0x1p-21F), {}};
    layer.x[0] = 0x1p-9F;
    for (const Accumulate accumulate : kBoth) expect_within_exact_bound(layer, w, accumulate);
  }
}

// Normal inputs, and tiny ones with squared errors below float32 that dominate the result through
// their scale.
TEST(LinearQuantized, IsWithinTheBoundWhereScalesMakeUpForTinyInputs) {
  constexpr std::size_t kGroup = 16;
  const Weights<std::int8_t> w = {std::vector<std::int8_t>(2 * kGroup, 127),
                                  DType::kInt8,
                                  WeightGranularity::kPerGroup,
                                  kGroup,
                                  {0x1p-60F, 0x1p60F},
                                  {0, 0}};
  for (const float tiny : {0x1p-90F, 0x1p-96F, 0x1p-100F, 0x1p-110F}) {
    Layer layer = {1, 2 * kGroup, 1, std::vector<float>(2 * kGroup, 1.0F), {}};
    std::fill_n(layer.x.begin() + kGroup, kGroup, tiny);
    for (const Accumulate accumulate : kBoth) expect_within_exact_bound(layer, w, accumulate);
  }
}

TEST(LinearQuantized, IsWithinTheBoundForScalesOfEveryMagnitude) {
  Random random(99);
  for (std::size_t round = 0; round < 4 * kEffort; ++round) {
    for (const std::size_t k : {1U, 2U, 24U, 96U, 1088U}) {
      if (k > 200 && round % 8 != 0) continue;
      for_all_weights(3, k, random, [&](auto w) {
        w.scales = extreme_scales(w.scales.size(), random.below(6), random);
        // The terms of the bounds of weights without zero points.
        const DTypeInfo info = dtype_info(w.dtype);
        const std::int32_t center = info.is_signed() ? 0 : 1 << (info.bits - 1);
        if (random.below(3) != 0) std::fill(w.zero_points.begin(), w.zero_points.end(), center);
        using Code = std::decay_t<decltype(w.codes[0])>;
        if (random.below(2) == 0) {
          std::fill(w.codes.begin(), w.codes.end(), static_cast<Code>(info.qmax));
        }
        // An input that does not count, at any size.
        if (w.offsets.empty() && random.below(2) == 0) {
          for (std::size_t output = 0; output < 3; ++output) {
            w.codes[output * k] = static_cast<Code>(w.zero_points[w.slice(output, 0, k)]);
          }
        }
        std::vector<float> scales(k);
        for (std::size_t i = 0; i < k; ++i) scales[i] = w.scales[w.slice(0, i, k)];
        Layer layer = {kExtremeRows, k, 3, {}, {}};
        for (std::size_t kind = 0; kind < kExtremeRows; ++kind) {
          const std::vector<float> row = extreme_row(k, kind, scales, random);
          layer.x.insert(layer.x.end(), row.begin(), row.end());
        }
        for (const Accumulate accumulate : kBoth) expect_within_exact_bound(layer, w, accumulate);
      });
    }
  }
}

TEST(Linear, RoundsOnceForASingleInput) {
  Random random(98);
  for (int round = 0; round < 1000; ++round) {
    const float x = random.spread(-20, 20);
    const float w = random.spread(-20, 20);
    for (const Accumulate accumulate : kBoth) {
      EXPECT_TRUE(same(run({1, 1, 1, {x}, {}}, {w}, accumulate), std::vector<float>{x * w}));
    }
  }
}

TEST(Linear, KeepsInDoubleWhatFloat32WouldLoseNextToALargerTerm) {
  const Layer layer = {1, 3, 1, {1e10F, 1.0F, -1e10F}, {}};
  EXPECT_TRUE(same(run(layer, {0.5F, 0.5F, 0.5F}, Accumulate::kExact), std::vector<float>{0.5F}));
}

TEST(Linear, HoldsSumsInDoubleThatFloat32CannotHold) {
  const Layer layer = {1, 3, 1, {FLT_MAX, FLT_MAX, 3.0F}, {}};
  EXPECT_TRUE(
      same(run(layer, {FLT_MAX, -FLT_MAX, 1.0F}, Accumulate::kExact), std::vector<float>{3.0F}));
  const Layer tiny = {1, 2, 1, {1e-30F, 1e-30F}, {}};
  EXPECT_TRUE(same(run(tiny, {1e-8F, 1e-10F}, Accumulate::kExact),
                   std::vector<float>{static_cast<float>(1.01e-38)}));
}

TEST(Linear, OverflowsToInfinityWhereTheResultDoes) {
  const Layer layer = {1, 1, 2, {FLT_MAX}, {}};
  for (const Accumulate accumulate : kBoth) {
    EXPECT_TRUE(
        same(run(layer, {2.0F, -2.0F}, accumulate), std::vector<float>{kInfinity, -kInfinity}));
  }
}

// Every digit and every code as large as it can be, over more inputs than an int32 could sum; codes
// that share bytes, those of outputs 0 and 4, of the same sign and of different ones.
TEST(LinearQuantized, SumsFullScaleInputsExactly) {
  constexpr std::size_t kInputs = 300000;
  constexpr std::size_t kOutputs = 5;
  const float nearly_one = std::nextafter(1.0F, 0.0F);
  for (const DType dtype : {DType::kInt8, DType::kInt4, DType::kInt2}) {
    const DTypeInfo info = dtype_info(dtype);
    for (const std::int32_t last : {info.qmin, info.qmax}) {
      for (const std::int32_t code : {info.qmin, info.qmax}) {
        std::vector<std::int8_t> codes(kOutputs * kInputs, static_cast<std::int8_t>(code));
        std::fill_n(codes.end() - kInputs, kInputs, static_cast<std::int8_t>(last));
        for (const float x : {nearly_one, -nearly_one, 1.0F, -1.0F}) {
          SCOPED_TRACE(::testing::Message() << code << ", " << last << ", " << x);
          Weights<std::int8_t> w = {codes, dtype, WeightGranularity::kPerTensor, 0, {1.0F}, {0}};
          const Layer layer = {1, kInputs, kOutputs, std::vector<float>(kInputs, x), {}};
          const auto expected = [&](std::int32_t zero_point) {
            const auto exact = [&](std::int32_t of) {
              return static_cast<float>(static_cast<double>(x) * (of - zero_point) * kInputs);
            };
            std::vector<float> all(kOutputs, exact(code));
            all.back() = exact(last);
            return all;
          };
          EXPECT_TRUE(same(run(layer, w, Accumulate::kExact), expected(0)));
          w.granularity = WeightGranularity::kPerGroup;
          w.group_size = kInputs / 3;
          w.scales.assign(3 * kOutputs, 1.0F);
          w.zero_points.assign(3 * kOutputs, std::max(code, last) == 1 ? -1 : 1);
          EXPECT_TRUE(same(run(layer, w, Accumulate::kExact), expected(w.zero_points[0])));
        }
      }
    }
  }
}

// With an outlier of weight 0, the result consists of values that 28 bits lose.
TEST(LinearQuantized, KeepsTinyInputsNextToHugeOnes) {
  // From 2^27 on rows are scaled down, which alone makes the smallest number 0.
  for (const float huge : {0x1p26F, 0x1p27F, 1e9F, 1e20F, FLT_MAX}) {
    for (const float tiny : {1.0F, 1e-20F, FLT_MIN, testing::kSmallest}) {
      const Layer layer = {1, 3, 3, {huge, tiny, tiny}, {}};
      const Weights<std::int8_t> w = {
          {0, 1, 1, 0, 0, 0, 1, 0, 0}, DType::kInt8, WeightGranularity::kPerTensor, 0, {1.0F}, {0}};
      EXPECT_TRUE(same(run(layer, w, Accumulate::kExact), std::vector<float>{2 * tiny, 0, huge}))
          << huge << " beside " << tiny;
    }
  }
}

TEST(LinearQuantized, TakesInputsBelowTheSmallestNormalNumber) {
  const float small = 1000 * testing::kSmallest;
  const Layer layer = {1, 2, 1, {small, -3 * testing::kSmallest}, {}};
  const Weights<std::int8_t> w = {{2, 1}, DType::kInt8, WeightGranularity::kPerTensor,
                                  0,      {1.0F},       {0}};
  EXPECT_TRUE(
      same(run(layer, w, Accumulate::kExact), std::vector<float>{1997 * testing::kSmallest}));
}

// ---- NaN and infinities

/// F.linear's result where it is not finite: NaN, an infinity, or a finite value (as 0).
float kind(double value) {
  if (std::isnan(value)) return kNan;
  if (std::isinf(value)) return value > 0.0 ? kInfinity : -kInfinity;
  return 0.0F;
}

template <typename W>
void expect_propagates(const Layer& layer, const W& w) {
  std::vector<float> expected;
  for (std::size_t row = 0; row < layer.m; ++row) {
    for (std::size_t output = 0; output < layer.n; ++output) {
      double sum = layer.bias.empty() ? 0.0 : layer.bias[output];
      for (std::size_t i = 0; i < layer.k; ++i) {
        sum += layer.x[row * layer.k + i] * weight_value(w, output, i, layer.k);
      }
      expected.push_back(kind(sum));
    }
  }
  for (const Accumulate accumulate : kBoth) {
    std::vector<float> y = run(layer, w, accumulate);
    std::transform(y.begin(), y.end(), y.begin(), kind);
    ASSERT_TRUE(same(y, expected));
  }
}

TEST(Linear, PropagatesNanAndInfinitiesAsTorchDoes) {
  constexpr float kOdd[] = {kNan, kInfinity, -kInfinity, 0.0F, -0.0F};
  Random random(99);
  for (std::size_t round = 0; round < 60 * kEffort; ++round) {
    const std::size_t k = 1 + random.below(40);
    Layer layer = {5, k, 3, random.uniforms(5 * k, -2.0F, 2.0F), random.uniforms(3, -2.0F, 2.0F)};
    std::vector<float> w = random.uniforms(3 * k, -2.0F, 2.0F);
    for (std::size_t i = 0; i < 3; ++i) {
      layer.x[random.below(layer.x.size())] = kOdd[random.below(std::size(kOdd))];
      w[random.below(w.size())] = kOdd[random.below(std::size(kOdd))];
    }
    if (random.below(4) == 0) layer.bias[random.below(3)] = kOdd[random.below(std::size(kOdd))];
    expect_propagates(layer, w);
  }
}

TEST(LinearQuantized, PropagatesNanAndInfinitiesAsTorchDoes) {
  constexpr float kOdd[] = {kNan, kInfinity, -kInfinity};
  Random random(100);
  for (std::size_t round = 0; round < 2 * kEffort; ++round) {
    const std::size_t k = 1 + random.below(40);
    Layer layer = {5, k, 3, random.uniforms(5 * k, -2.0F, 2.0F), random.uniforms(3, -2.0F, 2.0F)};
    for (std::size_t i = 0; i < 3; ++i) {
      layer.x[random.below(layer.x.size())] = kOdd[random.below(std::size(kOdd))];
    }
    if (random.below(4) == 0) layer.bias[random.below(3)] = kOdd[random.below(std::size(kOdd))];
    for_all_weights(3, k, random, [&](const auto& w) { expect_propagates(layer, w); });
  }
}

TEST(LinearQuantized, GivesNanForAnInfinityTimesAWeightOf0) {
  const Layer layer = {1, 2, 2, {kInfinity, 1.0F}, {}};
  const Weights<std::int8_t> w = {{5, 1, 6, 1}, DType::kInt8, WeightGranularity::kPerTensor, 0,
                                  {1.0F},       {5}};
  for (const Accumulate accumulate : kBoth) {
    EXPECT_TRUE(same(run(layer, w, accumulate), std::vector<float>{kNan, kInfinity}));
  }
}

// ---- refused arguments

/// A layer with replaceable parts, to make any one of them invalid.
struct Call {
  std::size_t m = 2;
  std::size_t k = 4;
  std::size_t n = 3;
  std::size_t x = 8;
  std::size_t w = 12;
  std::size_t bias = 3;
  std::size_t out = 6;
};

void expect_refused(const Call& call, Status status) {
  for (const Accumulate accumulate : kBoth) {
    Output<float> y(call.out);
    EXPECT_EQ(linear(std::vector<float>(call.x), call.m, call.k, std::vector<float>(call.w), call.n,
                     std::vector<float>(call.bias), accumulate, y.span()),
              status);
    EXPECT_TRUE(y.untouched());
    const Weights<std::int8_t> w = {std::vector<std::int8_t>(call.w),
                                    DType::kInt8,
                                    WeightGranularity::kPerTensor,
                                    0,
                                    {1.0F},
                                    {0}};
    EXPECT_EQ(
        linear_quantized<std::int8_t>(std::vector<float>(call.x), call.m, call.k, w.view(), call.n,
                                      std::vector<float>(call.bias), accumulate, y.span()),
        status);
    EXPECT_TRUE(y.untouched());
  }
}

TEST(Linear, LeavesOutputUntouchedOnShapeMismatch) {
  for (const std::size_t x : {0U, 7U, 9U}) {
    Call call;
    call.x = x;
    expect_refused(call, Status::kShapeMismatch);
  }
  for (const std::size_t w : {0U, 11U, 13U}) {
    Call call;
    call.w = w;
    expect_refused(call, Status::kShapeMismatch);
  }
  for (const std::size_t bias : {1U, 2U, 4U}) {
    Call call;
    call.bias = bias;
    expect_refused(call, Status::kShapeMismatch);
  }
  for (const std::size_t out : {0U, 5U, 7U}) {
    Call call;
    call.out = out;
    expect_refused(call, Status::kShapeMismatch);
  }
}

TEST(Linear, LeavesOutputUntouchedOnSizeOverflow) {
  constexpr std::size_t kHalf = 65536;
  expect_refused({kHalf, kHalf, 0, 0, 0, 0, 0}, Status::kSizeOverflow);
  expect_refused({0, kHalf, kHalf, 0, 0, 0, 0}, Status::kSizeOverflow);
  expect_refused({kHalf, 0, kHalf, 0, 0, 0, 0}, Status::kSizeOverflow);
  if constexpr (sizeof(std::size_t) > 4) {
    constexpr std::size_t kTooLong = std::size_t{UINT32_MAX} + 1;
    expect_refused({kTooLong, 0, 0, 0, 0, 0, 0}, Status::kSizeOverflow);
    expect_refused({0, kTooLong, 0, 0, 0, 0, 0}, Status::kSizeOverflow);
    expect_refused({0, 0, kTooLong, 0, 0, 0, 0}, Status::kSizeOverflow);
  }
}

template <typename Code>
void expect_weights_refused(const Weights<Code>& w, Status status) {
  for (const Accumulate accumulate : kBoth) {
    Output<float> y(6);
    EXPECT_EQ(
        linear_quantized<Code>(std::vector<float>(8), 2, 4, w.view(), 3, {}, accumulate, y.span()),
        status);
    EXPECT_TRUE(y.untouched());
  }
}

Weights<std::int8_t> weights_3x4(WeightGranularity granularity, std::size_t group_size,
                                 std::size_t slices) {
  return {std::vector<std::int8_t>(12),
          DType::kInt8,
          granularity,
          group_size,
          std::vector<float>(slices, 1.0F),
          std::vector<std::int32_t>(slices)};
}

TEST(LinearQuantized, LeavesOutputUntouchedOnAWrongNumberOfScales) {
  const auto expect_needs = [](WeightGranularity granularity, std::size_t group_size,
                               std::size_t slices) {
    for (const std::size_t wrong : {std::size_t{0}, slices - 1, slices + 1}) {
      expect_weights_refused(weights_3x4(granularity, group_size, wrong), Status::kShapeMismatch);
    }
    auto w = weights_3x4(granularity, group_size, slices);
    w.zero_points.push_back(0);
    expect_weights_refused(w, Status::kShapeMismatch);
    w.zero_points.resize(slices - 1);
    expect_weights_refused(w, Status::kShapeMismatch);
    w.zero_points.resize(slices);
    std::vector<float> y(6);
    EXPECT_EQ(linear_quantized<std::int8_t>(std::vector<float>(8), 2, 4, w.view(), 3, {},
                                            Accumulate::kExact, y),
              Status::kOk);
  };
  expect_needs(WeightGranularity::kPerTensor, 0, 1);
  expect_needs(WeightGranularity::kPerOutput, 0, 3);
  expect_needs(WeightGranularity::kPerInput, 0, 4);
  expect_needs(WeightGranularity::kPerGroup, 2, 6);
  expect_needs(WeightGranularity::kPerGroup, 4, 3);
  expect_needs(WeightGranularity::kPerGroup, 1, 12);
  expect_needs(WeightGranularity::kPerGroup, 3, 6);
  expect_needs(WeightGranularity::kPerGroup, 5, 3);
}

TEST(LinearQuantized, LeavesOutputUntouchedIfScratchIsTooSmall) {
  testing::AlignedBytes block(0);
  const auto w = weights_3x4(WeightGranularity::kPerTensor, 0, 1);
  ASSERT_EQ(testing::pack(w.view(), 3, 4, block), Status::kOk);
  const std::size_t needed = linear_scratch_size(block.data(), 2);
  const testing::AlignedBytes scratch(needed);
  Output<float> y(6);
  const auto run_with = [&](std::size_t size) {
    return linear(std::vector<float>(8), 2, block.data(), {}, Accumulate::kExact,
                  scratch.span().first(size), y.span());
  };
  for (const std::size_t size : {std::size_t{0}, needed - 1}) {
    EXPECT_EQ(run_with(size), Status::kShapeMismatch);
    EXPECT_TRUE(y.untouched());
  }
  EXPECT_EQ(run_with(needed), Status::kOk);
}

TEST(PackWeight, TakesExactlyTheBytesThatItAskedFor) {
  const auto w = weights_3x4(WeightGranularity::kPerTensor, 0, 1);
  const std::size_t size = packed_weight_size({3, 4});
  const testing::AlignedBytes out(size + 1);
  for (const std::size_t wrong : {std::size_t{0}, size - 1, size + 1}) {
    EXPECT_EQ(pack_weight(w.view(), 3, 4, out.span().first(wrong)), Status::kShapeMismatch);
  }
  EXPECT_EQ(pack_weight(w.view(), 3, 4, out.span().first(size)), Status::kOk);
  const auto [n, k] = packed_weight_shape(out.data());
  EXPECT_EQ(n, 3U);
  EXPECT_EQ(k, 4U);
}

TEST(PackedWeightSize, Is0ForShapesThatCannotBePacked) {
  EXPECT_EQ(packed_weight_size({3, 4, DType::kInt16}), 0U);
  EXPECT_EQ(packed_weight_size({3, 4, DType::kInt8, WeightGranularity::kPerGroup, 0}), 0U);
  // Codes alone would fill 2^32 bytes, or many times as many.
  EXPECT_EQ(packed_weight_size({65536, 65536}), 0U);
  EXPECT_EQ(packed_weight_size({UINT32_MAX, UINT32_MAX}), 0U);
  // Codes that a shape may hold fill them, too, once there are eight outputs to a panel.
  EXPECT_EQ(packed_weight_size({65535, 65535}), 0U);
  // More codes than a shape may hold, though packed they would fit.
  EXPECT_EQ(packed_weight_size({131072, 65536, DType::kInt2}), 0U);
  // So would a row of activations, even if there is nothing to multiply it by.
  EXPECT_EQ(packed_weight_size({0, UINT32_MAX}), 0U);
  EXPECT_EQ(packed_weight_size({0, UINT32_MAX, DType::kInt2, WeightGranularity::kPerGroup, 1}), 0U);
  if constexpr (sizeof(std::size_t) > 4) {
    EXPECT_EQ(packed_weight_size({std::size_t{UINT32_MAX} + 1, 1}), 0U);
    EXPECT_EQ(packed_weight_size({1, std::size_t{UINT32_MAX} + 1}), 0U);
    // A group size with 32 low bits of 0.
    EXPECT_EQ(packed_weight_size(
                  {1, 0, DType::kInt8, WeightGranularity::kPerGroup, std::size_t{UINT32_MAX} + 1}),
              0U);
  }
}

TEST(PackedWeightSize, MatchesTheHeadersFormula) {
  constexpr std::size_t kHeader = (sizeof(PackedLayout) + 15) / 16 * 16;
  EXPECT_EQ(packed_weight_size({4096, 4096, DType::kInt4, WeightGranularity::kPerGroup, 32}),
            kHeader + 4096UL * 4096 / 2 + 512UL * (96 + 128UL * (64 + 32)));
  // A group of all inputs, in five pieces; codes for 16 outputs and 4100 inputs.
  EXPECT_EQ(packed_weight_size({9, 4099}), kHeader + 16UL * 4100 + 2UL * (96 + 64 + 5UL * 32));
  // Groups of 32, 32 and 6 inputs; the last one is padded to 8.
  EXPECT_EQ(packed_weight_size({8, 70, DType::kInt4, WeightGranularity::kPerGroup, 32}),
            kHeader + 8UL * 72 / 2 + 96 + 3UL * (64 + 32));
  EXPECT_EQ(packed_weight_size({8, 64, DType::kInt2, WeightGranularity::kPerInput}),
            kHeader + 8UL * 64 / 4 + 96 + 64 + 32 + 64UL * 8);
}

TEST(LinearQuantized, LeavesOutputUntouchedOnInvalidGroupSize) {
  expect_weights_refused(weights_3x4(WeightGranularity::kPerGroup, 0, 6),
                         Status::kInvalidGroupSize);
}

TEST(LinearQuantized, LeavesOutputUntouchedOnInvalidScale) {
  for (const float scale : {0.0F, -1.0F, kNan, kInfinity}) {
    for (const auto& [granularity, group_size, slices] :
         {std::tuple{WeightGranularity::kPerTensor, 0U, 1U},
          std::tuple{WeightGranularity::kPerOutput, 0U, 3U},
          std::tuple{WeightGranularity::kPerInput, 0U, 4U},
          std::tuple{WeightGranularity::kPerGroup, 2U, 6U}}) {
      auto w = weights_3x4(granularity, group_size, slices);
      w.scales.back() = scale;
      expect_weights_refused(w, Status::kInvalidScale);
    }
  }
}

TEST(LinearQuantized, LeavesOutputUntouchedOnInvalidZeroPoint) {
  auto w = weights_3x4(WeightGranularity::kPerOutput, 0, 3);
  for (const std::int32_t zero_point : {-129, 128, INT32_MIN, INT32_MAX}) {
    w.zero_points.back() = zero_point;
    expect_weights_refused(w, Status::kInvalidZeroPoint);
  }
  w.dtype = DType::kInt4;
  w.zero_points.back() = 8;
  expect_weights_refused(w, Status::kInvalidZeroPoint);
}

TEST(LinearQuantized, LeavesOutputUntouchedOnDTypesOfMoreThan8BitsOrAnotherStorage) {
  for (const DType dtype : {DType::kInt16, DType::kUint16, DType::kInt32, DType::kQint32,
                            DType::kUint8, DType::kUint4, DType::kUint2, DType::kQuint8}) {
    auto w = weights_3x4(WeightGranularity::kPerTensor, 0, 1);
    w.dtype = dtype;
    expect_weights_refused(w, Status::kUnsupportedDType);
  }
  for (const DType dtype : {DType::kInt8, DType::kInt4, DType::kInt2, DType::kQint8}) {
    const Weights<std::uint8_t> w = {
        std::vector<std::uint8_t>(12), dtype, WeightGranularity::kPerTensor, 0, {1.0F}, {0}};
    expect_weights_refused(w, Status::kUnsupportedDType);
  }
}

}  // namespace
}  // namespace zeropoint
