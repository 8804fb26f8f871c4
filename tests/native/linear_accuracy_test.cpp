// Bounds of linear.h for float32 activations, and NaN and infinities.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <vector>

#include "compare.h"
#include "layers.h"
#include "reference/exact_sum.h"
#include "zeropoint/linear.h"

namespace zeropoint {
namespace {

using testing::for_all_weights;
using testing::kBoth;
using testing::kEffort;
using testing::kInfinity;
using testing::kNan;
using testing::Layer;
using testing::Random;
using testing::run;
using testing::same;
using testing::weight_value;
using testing::Weights;

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

// Magnitudes over 2^120: a few terms determine the result.
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

/// A row of activations. Kind 0: values of similar size; 1: of all sizes; 2: one far larger value;
/// 3: one value larger than the sum of all others; 4: products with the scales of similar size.
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

// 8 * scale overflows float32; and inputs are so small that half an integer is a large error.
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
        // In two of three rounds no zero points, which other bounds apply to.
        const DTypeInfo info = dtype_info(w.dtype);
        const std::int32_t center = info.is_signed() ? 0 : 1 << (info.bits - 1);
        if (random.below(3) != 0) std::fill(w.zero_points.begin(), w.zero_points.end(), center);
        using Code = std::decay_t<decltype(w.codes[0])>;
        if (random.below(2) == 0) {
          std::fill(w.codes.begin(), w.codes.end(), static_cast<Code>(info.qmax));
        }
        // In half of the rounds an input with weight 0.
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

// Digits and codes of the largest magnitude, over more inputs than int32 could sum. Codes that
// share bytes (outputs 0 and 4) have equal signs, and then different ones.
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

// The outlier has weight 0, so the result consists of values that 28 bits lose.
TEST(LinearQuantized, KeepsTinyInputsNextToHugeOnes) {
  // Rows with values from 2^27 on are scaled down, which turns the smallest float into 0.
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

}  // namespace
}  // namespace zeropoint
