#include "zeropoint/linear.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "compare.h"
#include "core/parallel.h"
#include "layers.h"
#include "packed.h"
#include "reference/dot.h"

namespace zeropoint {
namespace {

using testing::for_all_weights;
using testing::kBoth;
using testing::kGranularities;
using testing::Layer;
using testing::Random;
using testing::random_weights;
using testing::run;
using testing::same;
using testing::Weights;

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

// A loop over these rows would take minutes, and on 32 bits never end.
TEST(Linear, SkipsRowsWithoutOutputs) {
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

// Large enough to use threads for writing digits and for multiplying.
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

TEST(LinearQuantized, EqualsTheWholeTensorForOneOutputOrOneGroup) {
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

}  // namespace
}  // namespace zeropoint
