#include "reference/quantize_rounded_f32.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "compare.h"
#include "random.h"

namespace zeropoint {
namespace {

using kernels::AnyQParams;
using kernels::CodeRule;
using kernels::ElementwiseQParams;
using kernels::UniformQParams;
using testing::Input;
using testing::kEffort;
using testing::kInfinity;
using testing::kLengths;
using testing::kNan;
using testing::kSmallest;
using testing::kSpecialFloats;
using testing::Output;
using testing::Random;
using testing::same;

template <typename CodeType>
class QuantizeRoundedF32 : public ::testing::Test {
 protected:
  using Code = CodeType;

  // Dividing and multiplying, with all codes of the type and with fewer.
  static std::vector<CodeRule> rules() {
    constexpr std::int32_t kMin = std::numeric_limits<Code>::min();
    constexpr std::int32_t kMax = std::numeric_limits<Code>::max();
    return {{kMin, kMax, kMax, false}, {kMin, kMax, kMax, true}, {0, 7, 7, false}, {0, 7, 7, true}};
  }

  // Codes and their values, apart and in place.
  template <typename QParams>
  static void expect_reference(const std::vector<float>& values, const QParams& qparams,
                               const CodeRule& rule, std::size_t offset) {
    SCOPED_TRACE(::testing::Message() << "qmin " << rule.qmin << ", qmax " << rule.qmax
                                      << ", multiplies " << rule.multiplies);
    const Input x(values, offset);
    Output<Code> actual(x.size(), offset);
    std::vector<Code> expected(x.size());
    kernels::run(kernels::rounded_quantization(kStorageOf<Code>), x.data(), x.size(), qparams, rule,
                 actual.data());
    reference::quantize_rounded_f32<Code>(x.data(), x.size(), qparams, rule, expected.data());
    EXPECT_TRUE(same(actual.values(), expected));
    EXPECT_TRUE(actual.guards_intact());

    std::vector<float> fake(x.size());
    reference::fake_quantize_rounded_f32(x.data(), x.size(), qparams, rule, fake.data());
    Output<float> apart(x.size(), offset);
    kernels::run(kernels::fake_rounded_quantization(), x.data(), x.size(), qparams, rule,
                 apart.data());
    EXPECT_TRUE(same(apart.values(), fake));
    EXPECT_TRUE(apart.guards_intact());
    std::vector<float> in_place = values;
    kernels::run(kernels::fake_rounded_quantization(), in_place.data(), in_place.size(), qparams,
                 rule, in_place.data());
    EXPECT_TRUE(same(in_place, fake));
    if constexpr (sizeof(Code) == sizeof(std::int32_t)) {
      Output<float> dequantized(x.size(), offset);
      kernels::run(kernels::wide_dequantization(), expected.data(), x.size(), qparams, rule,
                   dequantized.data());
      EXPECT_TRUE(same(dequantized.values(), fake));
      EXPECT_TRUE(dequantized.guards_intact());
    }
  }

  // Scales per value, some of them any float.
  static void expect_reference_elementwise(const std::vector<float>& values, const CodeRule& rule,
                                           std::size_t offset, Random& random) {
    const std::size_t n = values.size();
    std::vector<float> scales(n);
    std::vector<float> zero_points(n);
    std::vector<std::int32_t> codes(n);
    for (std::size_t i = 0; i < n; ++i) {
      scales[i] = random.below(8) == 0 ? random.any_float() : random.spread(-12, 12);
      codes[i] = random.integer(rule.qmin, rule.qmax);
      zero_points[i] = static_cast<float>(codes[i]);
    }
    const Input s(scales, (offset + 1) % 4);
    const Input z(zero_points, (offset + 2) % 4);
    const Input c(codes, (offset + 3) % 4);
    expect_reference(values, ElementwiseQParams{s.data(), z.data(), c.data()}, rule, offset);
  }
};

using Codes =
    ::testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t>;
TYPED_TEST_SUITE(QuantizeRoundedF32, Codes);

// Negative scales, 0, infinities and NaN follow the formula.
constexpr std::array kScales = {1.0F,      0.1F,  -0.37F, 0.0F,   -0.0F,     kNan,
                                kInfinity, 3e38F, 1e-38F, 1e-42F, kSmallest, -kSmallest};

TYPED_TEST(QuantizeRoundedF32, MatchesReferenceAtEveryLengthAndAlignment) {
  Random random(43);
  for (const CodeRule& rule : this->rules()) {
    for (const std::size_t n : kLengths) {
      for (std::size_t offset = 0; offset < 4; ++offset) {
        SCOPED_TRACE(n);
        const std::vector<float> values = random.uniforms(n, -200.0F, 200.0F);
        this->expect_reference(values, UniformQParams{1.25F, 1.0F, 1}, rule, offset);
        this->expect_reference_elementwise(values, rule, offset, random);
      }
    }
  }
}

TYPED_TEST(QuantizeRoundedF32, MatchesReferenceForSpecialValuesAndScales) {
  Random random(44);
  const std::vector<float> values(kSpecialFloats.begin(), kSpecialFloats.end());
  for (const CodeRule& rule : this->rules()) {
    for (const float scale : kScales) {
      for (const std::int32_t zero_point : {rule.qmin, 0, 1, 7, rule.qmax}) {
        SCOPED_TRACE(::testing::Message() << scale << ", " << zero_point);
        const UniformQParams all{scale, static_cast<float>(zero_point), zero_point};
        this->expect_reference(values, all, rule, 0);
      }
    }
    this->expect_reference_elementwise(values, rule, 0, random);
  }
}

TYPED_TEST(QuantizeRoundedF32, MatchesReferenceAroundTies) {
  for (const float scale : {1.0F, 0.1F, -3.5F}) {
    std::vector<float> values;
    for (int code = -300; code <= 300; ++code) {
      const float tie = (static_cast<float>(code) + 0.5F) * scale;
      values.push_back(tie);
      values.push_back(std::nextafter(tie, kInfinity));
      values.push_back(std::nextafter(tie, -kInfinity));
    }
    for (const CodeRule& rule : this->rules()) {
      for (const std::int32_t zero_point : {0, 1, 7}) {
        const UniformQParams all{scale, static_cast<float>(zero_point), zero_point};
        this->expect_reference(values, all, rule, 0);
      }
    }
  }
}

TYPED_TEST(QuantizeRoundedF32, MatchesReferenceAcrossAllBitPatterns) {
  Random random(45);
  const std::vector<CodeRule> rules = this->rules();
  const std::uint64_t stride = kEffort > 1 ? 1021 : 65521;
  std::size_t block = 0;
  for (std::uint64_t pattern = 0; pattern <= UINT32_MAX; ++block) {
    std::vector<float> values;
    for (; values.size() < 8192 && pattern <= UINT32_MAX; pattern += stride) {
      values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(pattern)));
    }
    const CodeRule& rule = rules[block % rules.size()];
    const std::int32_t zero_point = random.integer(rule.qmin, rule.qmax);
    const UniformQParams all{random.spread(-20, 20), static_cast<float>(zero_point), zero_point};
    this->expect_reference(values, all, rule, 0);
    this->expect_reference_elementwise(values, rule, 0, random);
  }
}

TYPED_TEST(QuantizeRoundedF32, TakesQParamsPerGroup) {
  Random random(46);
  constexpr std::size_t kLength = 48;
  const std::vector<float> values = random.uniforms(5 * kLength, -20.0F, 20.0F);
  const std::vector<float> scales = {0.5F, -0.25F, 0.0F, 3.0F, 1e-3F};
  const std::vector<std::int32_t> codes = {0, 1, 2, 3, 7};
  const std::vector<float> zero_points(codes.begin(), codes.end());
  for (const CodeRule& rule : this->rules()) {
    Output<TypeParam> actual(values.size());
    kernels::run(kernels::rounded_quantization(kStorageOf<TypeParam>), values.data(), values.size(),
                 AnyQParams::groups({scales.data(), zero_points.data(), codes.data()}, kLength),
                 rule, actual.data());
    std::vector<TypeParam> expected(values.size());
    for (std::size_t group = 0; group < scales.size(); ++group) {
      reference::quantize_rounded_f32<TypeParam>(
          values.data() + group * kLength, kLength,
          UniformQParams{scales[group], zero_points[group], codes[group]}, rule,
          expected.data() + group * kLength);
    }
    EXPECT_TRUE(same(actual.values(), expected));
    EXPECT_TRUE(actual.guards_intact());
  }
}

}  // namespace
}  // namespace zeropoint
