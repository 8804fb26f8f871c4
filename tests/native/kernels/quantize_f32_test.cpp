#include "reference/quantize_f32.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "columns.h"
#include "compare.h"
#include "random.h"
#include "reference/dequantize_f32.h"
#include "zeropoint/dtype.h"

namespace zeropoint {
namespace {

using kernels::CodeRule;
using kernels::ElementwiseQParams;
using kernels::UniformQParams;
using testing::Columns;
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

template <typename Code>
void quantize_f32(const float* x, std::size_t n, const kernels::AnyQParams& qparams,
                  const CodeRule& rule, Code* out) {
  kernels::run(kernels::quantization(kStorageOf<Code>), x, n, qparams, rule, out);
}

void fake_quantize_f32(const float* x, std::size_t n, const kernels::AnyQParams& qparams,
                       const CodeRule& rule, float* out) {
  kernels::run(kernels::fake_quantization(), x, n, qparams, rule, out);
}

// Floats around the codes' boundaries. All values of a list are equally far from a boundary,
// because one value in doubt makes the kernel compute a whole step exactly. The values of the last
// list are farther away, where rounding the sum with the zero point may still reach a boundary.
std::vector<std::vector<float>> around_boundaries(float scale, std::int32_t zero_point,
                                                  const CodeRule& rule) {
  constexpr std::size_t kNear = 7;
  std::vector<std::vector<float>> lists(kNear + 1);
  const double limit = std::min(400, rule.qmax);
  for (double code = -limit; code <= limit; ++code) {
    const double boundary = (code + 0.5 - zero_point) * double{scale};
    auto value = static_cast<float>(boundary);
    for (int step = 0; step < 3; ++step) value = std::nextafter(value, -kInfinity);
    for (std::size_t i = 0; i < kNear; ++i) {
      lists[i].push_back(value);
      value = std::nextafter(value, kInfinity);
    }
    for (int bits = 10; bits < 20; ++bits) {
      for (const double sign : {-1.0, 1.0}) {
        lists.back().push_back(
            static_cast<float>(boundary * (1.0 + sign * std::ldexp(1.0, -bits))));
      }
    }
  }
  return lists;
}

template <typename Code>
class QuantizeF32 : public ::testing::Test {
 protected:
  // Saturating rules for every dtype of this storage, and linear_q's for int32.
  static std::vector<CodeRule> rules() {
    std::vector<CodeRule> rules;
    for (const DType dtype :
         {DType::kInt2, DType::kInt4, DType::kInt8, DType::kUint2, DType::kUint4, DType::kUint8,
          DType::kInt16, DType::kUint16, DType::kInt32}) {
      const DTypeInfo info = dtype_info(dtype);
      if (info.storage == kStorageOf<Code>) rules.push_back({info.qmin, info.qmax, info.qmax});
    }
    if (sizeof(Code) == 4) rules.push_back({INT32_MIN, INT32_MAX, INT32_MIN});
    return rules;
  }

  // Kernels accept any scale and any float zero point.
  static std::vector<UniformQParams> odd_qparams() {
    return {{1.0F, 0.0F, 0},        {0.1F, 0.0F, 0},          {3.5F, -70.0F, 1},
            {1e-3F, 0.5F, 0},       {0.25F, -0.25F, 1},       {FLT_MIN, 3.0F, 1},
            {kSmallest, 0.0F, 0},   {1e30F, 1.0F, 1},         {0.0F, 0.0F, 0},
            {-0.0F, 1.0F, 1},       {-0.37F, 1.0F, 0},        {kInfinity, 2.0F, 1},
            {kNan, 0.0F, 1},        {1.0F, kNan, 1},          {1.0F, kInfinity, 0},
            {1.0F, 16777216.0F, 0}, {1.0F, 2147483648.0F, 0}, {1.0F, -2147483648.0F, 1}};
  }

  template <typename QParams>
  static void expect_reference(const std::vector<float>& values, QParams qparams, CodeRule rule,
                               std::size_t offset) {
    const Input x(values, offset);
    Output<Code> actual(x.size(), offset);
    std::vector<Code> expected(x.size());
    quantize_f32(x.data(), x.size(), qparams, rule, actual.data());
    reference::quantize_f32(x.data(), x.size(), qparams, rule, expected.data());
    EXPECT_TRUE(same(actual.values(), expected)) << "qmin " << rule.qmin << ", qmax " << rule.qmax;
    EXPECT_TRUE(actual.guards_intact());
  }

  // With qparams of their own for every value; the arrays end with their last element.
  static void expect_reference_elementwise(const std::vector<float>& values, CodeRule rule,
                                           std::size_t offset, Random& random) {
    const std::size_t n = values.size();
    std::vector<float> scales(n);
    std::vector<float> float_zero_points(n);
    std::vector<std::int32_t> nan_codes(n);
    for (std::size_t i = 0; i < n; ++i) {
      scales[i] = random.below(4) == 0 ? random.any_float() : random.spread(-12, 12);
      float_zero_points[i] =
          random.below(16) == 0 ? random.any_float() : random.uniform(-300.0F, 300.0F);
      nan_codes[i] = random.integer(rule.qmin, rule.qmax);
    }
    const Input s(scales, (offset + 1) % 4);
    const Input f(float_zero_points, (offset + 3) % 4);
    const Input c(nan_codes, offset);
    expect_reference(values, ElementwiseQParams{s.data(), f.data(), c.data()}, rule, offset);
  }
};

using Codes =
    ::testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t>;

class CodeNames {
 public:
  template <typename Code>
  static std::string GetName(int) {
    return std::string(std::is_signed_v<Code> ? "int" : "uint") + std::to_string(8 * sizeof(Code));
  }
};

TYPED_TEST_SUITE(QuantizeF32, Codes, CodeNames);

TYPED_TEST(QuantizeF32, MatchesReferenceAtEveryLengthAndAlignment) {
  Random random(3);
  for (const CodeRule rule : this->rules()) {
    for (const std::size_t n : kLengths) {
      for (std::size_t offset = 0; offset < 4; ++offset) {
        SCOPED_TRACE(n);
        const std::vector<float> values = random.uniforms(n, -200.0F, 200.0F);
        for (const float zero_point : {1.0F, 0.25F}) {
          this->expect_reference(values, UniformQParams{0.75F, zero_point, 1}, rule, offset);
        }
        this->expect_reference_elementwise(values, rule, offset, random);
      }
    }
  }
}

TYPED_TEST(QuantizeF32, MatchesReferenceForRowsThatShareColumns) {
  Random random(23);
  for (const CodeRule rule : this->rules()) {
    for (const std::size_t rows : {0U, 1U, 3U, 4U, 5U, 8U, 14U}) {
      for (const std::size_t n : {1U, 3U, 4U, 7U, 16U, 21U, 64U}) {
        for (const bool is_odd : {false, true}) {
          SCOPED_TRACE(::testing::Message() << rows << " rows of " << n);
          const std::int32_t limit = std::min(rule.qmax, 255);
          const Columns columns(n, std::max(rule.qmin, -limit), limit, is_odd, random);
          const std::size_t pitch = n + random.below(3);
          const std::vector<float> x = columns.values(rows, pitch, random);
          std::vector<TypeParam> actual(x.size(), 77);
          std::vector<TypeParam> expected = actual;
          quantize_f32(x.data(), n, {columns.qparams(), rows, pitch}, rule, actual.data());
          for (std::size_t row = 0; row < rows; ++row) {
            reference::quantize_f32(x.data() + row * pitch, n, columns.qparams(), rule,
                                    expected.data() + row * pitch);
          }
          EXPECT_TRUE(same(actual, expected));
        }
      }
    }
  }
}

TYPED_TEST(QuantizeF32, MatchesReferenceForSpecialValuesInEveryPlace) {
  Random random(4);
  // Every value meets every place of a step, and the tail.
  for (std::size_t shift = 0; shift < 16; ++shift) {
    std::vector<float> values(shift, 0.0F);
    values.insert(values.end(), kSpecialFloats.begin(), kSpecialFloats.end());
    for (const CodeRule rule : this->rules()) {
      for (const UniformQParams qparams : this->odd_qparams()) {
        SCOPED_TRACE(::testing::Message() << qparams.factor << ", " << qparams.zero_point);
        this->expect_reference(values, qparams, rule, 0);
      }
      this->expect_reference_elementwise(values, rule, 0, random);
    }
  }
}

TYPED_TEST(QuantizeF32, MatchesReferenceAroundTies) {
  std::vector<float> values;
  for (int code = -70000; code <= 70000; code += code > -300 && code < 300 ? 1 : 97) {
    for (const float scale : {1.0F, 0.1F, 3.5F}) {
      const float tie = (static_cast<float>(code) + 0.5F) * scale;
      values.push_back(tie);
      values.push_back(std::nextafter(tie, kInfinity));
      values.push_back(std::nextafter(tie, -kInfinity));
    }
  }
  for (const CodeRule rule : this->rules()) {
    for (const float scale : {1.0F, 0.1F, 3.5F}) {
      for (const float zero_point : {0.0F, 1.0F, -1.0F, 100.0F}) {
        this->expect_reference(values, UniformQParams{scale, zero_point, 0}, rule, 0);
      }
    }
  }
}

// Values whose product with the reciprocal and whose quotient often round to different codes.
TYPED_TEST(QuantizeF32, MatchesReferenceAroundTheBoundariesOfManyScales) {
  Random random(22);
  for (std::size_t round = 0; round < 48 * kEffort; ++round) {
    const float scale = std::fabs(random.spread(-10, 10));
    for (const CodeRule rule : this->rules()) {
      const std::int32_t zero_point = round % 3 == 0 ? 0 : random.integer(rule.qmin, rule.qmax);
      const UniformQParams qparams{scale, static_cast<float>(zero_point), zero_point};
      for (const std::vector<float>& values :
           around_boundaries(scale, round % 2 == 0 ? zero_point : 0, rule)) {
        this->expect_reference(values, qparams, rule, 0);
      }
    }
  }
}

// Columns with equal scales or equal zero points; in half of the rounds the last four zero points
// differ, so that a kernel must not use the first ones for all. Some values are so near a boundary
// that rounding the sum with the zero point can reach it.
TYPED_TEST(QuantizeF32, MatchesReferenceForColumnsThatAreMostlyAlike) {
  constexpr std::size_t kRows = 8;
  Random random(25);
  for (const CodeRule rule : this->rules()) {
    for (const std::size_t n : {4U, 8U, 24U}) {
      for (std::size_t round = 0; round < 60; ++round) {
        const std::int32_t limit = std::min(rule.qmax, 255);
        Columns columns(n, std::max(rule.qmin, -limit), limit, false, random);
        if (round % 3 != 0) std::fill(columns.scales.begin(), columns.scales.end(), 0.37F);
        if (round % 3 != 1) std::fill(columns.zero_points.begin(), columns.zero_points.end(), 1.0F);
        if (round % 2 == 0) std::fill_n(columns.zero_points.end() - 4, 4, 0.0F);
        // One value in doubt makes a whole step be computed exactly, so some rounds have none.
        const bool is_near = round % 4 < 2;
        std::vector<float> x(kRows * n);
        for (std::size_t i = 0; i < x.size(); ++i) {
          const double steps = is_near ? random.integer(-3, 3) + 0.5 + random.uniform(-1e-5F, 1e-5F)
                                       : random.integer(-99, 99) + 0.25;
          x[i] = static_cast<float>(steps * double{columns.scales[i % n]});
        }
        Output<TypeParam> actual(x.size());
        std::vector<TypeParam> expected(x.size());
        quantize_f32(x.data(), n, {columns.qparams(), kRows, n}, rule, actual.data());
        for (std::size_t row = 0; row < kRows; ++row) {
          reference::quantize_f32(x.data() + row * n, n, columns.qparams(), rule,
                                  expected.data() + row * n);
        }
        EXPECT_TRUE(same(actual.values(), expected)) << n << " columns, round " << round;
      }
    }
  }
}

// The last group is short, and the fast loop is restarted after each NaN.
TYPED_TEST(QuantizeF32, MatchesReferenceAfterNanInAGroupAndForAShortGroup) {
  constexpr std::size_t kLength = 64;
  Random random(26);
  for (const CodeRule rule : this->rules()) {
    for (const std::size_t groups : {2U, 5U, 40U}) {
      const std::size_t n = (groups - 1) * kLength + 16;
      const Columns of_groups(groups, std::max(rule.qmin, -9), std::min(rule.qmax, 9), false,
                              random);
      std::vector<float> x(n);
      for (std::size_t i = 0; i < n; ++i) {
        const bool is_nan = i % kLength == 3 || i % (3 * kLength) == 40;
        const auto steps = static_cast<float>(random.integer(-9, 9)) + 0.25F;
        x[i] = is_nan ? kNan : steps * of_groups.scales[i / kLength];
      }
      Output<TypeParam> actual(n);
      quantize_f32(x.data(), n, kernels::AnyQParams::groups(of_groups.qparams(), kLength), rule,
                   actual.data());
      std::vector<TypeParam> expected(n);
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t g = i / kLength;
        reference::quantize_f32(
            &x[i], 1,
            UniformQParams{of_groups.scales[g], of_groups.zero_points[g], of_groups.nan_codes[g]},
            rule, &expected[i]);
      }
      EXPECT_TRUE(same(actual.values(), expected)) << groups << " groups";
      EXPECT_TRUE(actual.guards_intact());
    }
  }
}

// Scales with reciprocals that are subnormal or infinite, and scales around the limits of brackets.
TYPED_TEST(QuantizeF32, MatchesReferenceForTheSmallestAndTheLargestScales) {
  for (const CodeRule rule : this->rules()) {
    for (const float scale :
         {kSmallest, 0x1p-140F, 0x1.8p-130F, 0x1p-129F, 0x1p-128F, 0x1.1p-127F, FLT_MIN, 0x1p-101F,
          0x1p-100F, 0x1p100F, 0x1.3p100F, 0x1.7p126F, 0x1.7p127F, FLT_MAX}) {
      for (const double code : {0.0, 0.5, 1.0, 1.5, 2.5, 7.5, 100.5}) {
        for (const double sign : {-1.0, 1.0}) {
          // One value per step, so that no step is computed exactly because of another value.
          for (int ulps = -2; ulps <= 2; ++ulps) {
            auto value = static_cast<float>(sign * code * double{scale});
            if (!std::isfinite(value)) continue;
            for (int i = 0; i < std::abs(ulps); ++i) {
              value = std::nextafter(value, ulps < 0 ? -kInfinity : kInfinity);
            }
            SCOPED_TRACE(::testing::Message() << value << " / " << scale);
            this->expect_reference(std::vector<float>(32, value), UniformQParams{scale, 0.0F, 0},
                                   rule, 0);
          }
        }
      }
    }
  }
}

// Values far beyond the codes. Far below them, the sum with the rounding constant is negative.
TYPED_TEST(QuantizeF32, MatchesReferenceFarBeyondTheCodes) {
  for (const CodeRule rule : this->rules()) {
    for (const float scale : {1.0F, 0.37F, 3.0F}) {
      std::vector<float> values;
      for (float code = 4e6F; code < 5e7F; code *= 1.0003F) {
        values.push_back(-code * scale);
        values.push_back(code * scale);
      }
      for (const std::int32_t zero_point : {rule.qmin, 0, 1, 3, rule.qmax}) {
        this->expect_reference(
            values, UniformQParams{scale, static_cast<float>(zero_point), zero_point}, rule, 0);
      }
    }
  }
}

// Groups that share qparams equal separately quantized groups.
TYPED_TEST(QuantizeF32, MatchesReferenceGroupByGroup) {
  Random random(23);
  constexpr std::size_t kGroups = 5;
  for (const std::size_t length : {16U, 32U, 48U, 128U}) {
    for (const CodeRule rule : this->rules()) {
      std::vector<float> scales(kGroups);
      std::vector<float> zero_points(kGroups);
      std::vector<std::int32_t> codes(kGroups);
      for (std::size_t g = 0; g < kGroups; ++g) {
        scales[g] = g == 2 ? random.any_float() : std::fabs(random.spread(-3, 3));
        codes[g] = random.integer(rule.qmin, rule.qmax);
        zero_points[g] = static_cast<float>(codes[g]);
      }
      const std::vector<float> values = random.uniforms(kGroups * length, -200.0F, 200.0F);
      Output<TypeParam> actual(values.size(), 0);
      quantize_f32(
          values.data(), values.size(),
          kernels::AnyQParams::groups({scales.data(), zero_points.data(), codes.data()}, length),
          rule, actual.data());
      std::vector<TypeParam> expected(values.size());
      for (std::size_t g = 0; g < kGroups; ++g) {
        reference::quantize_f32(values.data() + g * length, length,
                                UniformQParams{scales[g], zero_points[g], codes[g]}, rule,
                                expected.data() + g * length);
      }
      EXPECT_TRUE(same(actual.values(), expected)) << length;
      EXPECT_TRUE(actual.guards_intact());
    }
  }
}

// Every 509th or 8147th bit pattern: all signs, exponents and kinds of NaN.
TYPED_TEST(QuantizeF32, MatchesReferenceAcrossAllBitPatterns) {
  constexpr std::uint64_t kStride = kEffort > 1 ? 509 : 8147;
  constexpr std::size_t kBlock = 1 << 13;
  Random random(5);
  const std::vector<CodeRule> rules = this->rules();
  std::uint64_t pattern = 0;
  for (std::size_t block = 0; pattern <= UINT32_MAX; ++block) {
    std::vector<float> values;
    for (; values.size() < kBlock && pattern <= UINT32_MAX; pattern += kStride) {
      values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(pattern)));
    }
    const CodeRule rule = rules[block % rules.size()];
    const auto zero_point = static_cast<float>(random.integer(-128, 127));
    const UniformQParams qparams{random.spread(-20, 20), zero_point, 1};
    this->expect_reference(values, qparams, rule, 0);
    this->expect_reference_elementwise(values, rule, 0, random);
  }
}

// Values of the codes' own magnitude, where rounding decides.
TYPED_TEST(QuantizeF32, MatchesReferenceForMillionsOfRandomValues) {
  Random random(6);
  const std::vector<CodeRule> rules = this->rules();
  for (std::size_t block = 0; block < 32 * kEffort; ++block) {
    const CodeRule rule = rules[block % rules.size()];
    const float scale = std::fabs(random.spread(-10, 10));
    const auto limit = static_cast<float>(1.2 * scale * rule.qmax);
    const std::vector<float> values = random.uniforms(1 << 13, -limit, limit);
    const std::int32_t zero_point = random.integer(rule.qmin, rule.qmax);
    const UniformQParams qparams{scale, static_cast<float>(zero_point), zero_point};
    this->expect_reference(values, qparams, rule, 0);
    this->expect_reference_elementwise(values, rule, 0, random);
  }
}

// ---- fake_quantize_f32

constexpr std::array kFakeRules = {CodeRule{-2, 1, 1},
                                   CodeRule{0, 15, 15},
                                   CodeRule{-128, 127, 127},
                                   CodeRule{0, 255, 255},
                                   CodeRule{-32768, 32767, 32767},
                                   CodeRule{0, 65535, 65535},
                                   CodeRule{INT32_MIN, INT32_MAX, INT32_MAX}};

template <typename QParams>
void expect_fake_reference(const std::vector<float>& values, QParams qparams, CodeRule rule,
                           std::size_t offset) {
  const Input x(values, offset);
  std::vector<float> expected(x.size());
  reference::fake_quantize_f32(x.data(), x.size(), qparams, rule, expected.data());

  Output<float> apart(x.size(), offset);
  fake_quantize_f32(x.data(), x.size(), qparams, rule, apart.data());
  EXPECT_TRUE(same(apart.values(), expected)) << "qmin " << rule.qmin << ", qmax " << rule.qmax;
  EXPECT_TRUE(apart.guards_intact());

  Output<float> in_place(x.size(), offset);
  std::copy_n(x.data(), x.size(), in_place.data());
  fake_quantize_f32(in_place.data(), x.size(), qparams, rule, in_place.data());
  EXPECT_TRUE(same(in_place.values(), expected)) << "in place";
  EXPECT_TRUE(in_place.guards_intact());
}

void expect_fake_reference_elementwise(const std::vector<float>& values, CodeRule rule,
                                       std::size_t offset, Random& random) {
  std::vector<float> scales(values.size());
  std::vector<std::int32_t> zero_points(values.size());
  for (float& scale : scales) scale = random.spread(-12, 12);
  for (std::int32_t& zero_point : zero_points) zero_point = random.integer(rule.qmin, rule.qmax);
  const Input s(scales, (offset + 1) % 4);
  const std::vector<float> float_zero_points(zero_points.begin(), zero_points.end());
  const Input z(float_zero_points, (offset + 2) % 4);
  const Input c(zero_points, (offset + 3) % 4);
  expect_fake_reference(values, ElementwiseQParams{s.data(), z.data(), c.data()}, rule, offset);
}

TEST(FakeQuantizeF32, MatchesReferenceAtEveryLengthAndAlignmentAndInPlace) {
  Random random(7);
  for (const CodeRule rule : kFakeRules) {
    for (const std::size_t n : kLengths) {
      for (std::size_t offset = 0; offset < 4; ++offset) {
        SCOPED_TRACE(n);
        const std::vector<float> values = random.uniforms(n, -200.0F, 200.0F);
        expect_fake_reference(values, UniformQParams{0.75F, 1.0F, 1}, rule, offset);
        expect_fake_reference_elementwise(values, rule, offset, random);
      }
    }
  }
}

TEST(FakeQuantizeF32, MatchesReferenceAroundTheBoundariesOfManyScales) {
  Random random(25);
  for (std::size_t round = 0; round < 8 * kEffort; ++round) {
    const float scale = std::fabs(random.spread(-10, 10));
    for (const CodeRule rule : kFakeRules) {
      const std::int32_t zero_point = round % 3 == 0 ? 0 : random.integer(rule.qmin, rule.qmax);
      const UniformQParams qparams{scale, static_cast<float>(zero_point), zero_point};
      for (const std::vector<float>& values :
           around_boundaries(scale, round % 2 == 0 ? zero_point : 0, rule)) {
        expect_fake_reference(values, qparams, rule, 0);
      }
    }
  }
}

TEST(FakeQuantizeF32, MatchesReferenceGroupByGroupAndInPlace) {
  Random random(26);
  constexpr std::size_t kGroups = 70;
  for (const std::size_t length : {16U, 32U, 48U, 128U}) {
    for (const CodeRule rule : kFakeRules) {
      std::vector<float> scales(kGroups);
      std::vector<float> zero_points(kGroups);
      std::vector<std::int32_t> codes(kGroups);
      for (std::size_t g = 0; g < kGroups; ++g) {
        scales[g] = g % 9 == 2 ? random.any_float() : std::fabs(random.spread(-3, 3));
        codes[g] = random.integer(rule.qmin, rule.qmax);
        zero_points[g] = static_cast<float>(codes[g]);
      }
      std::vector<float> values = random.uniforms(kGroups * length, -200.0F, 200.0F);
      for (std::size_t i = 5; i < values.size(); i += 67) values[i] = random.any_float();
      std::vector<float> expected(values.size());
      for (std::size_t g = 0; g < kGroups; ++g) {
        reference::fake_quantize_f32(values.data() + g * length, length,
                                     UniformQParams{scales[g], zero_points[g], codes[g]}, rule,
                                     expected.data() + g * length);
      }
      fake_quantize_f32(
          values.data(), values.size(),
          kernels::AnyQParams::groups({scales.data(), zero_points.data(), nullptr}, length), rule,
          values.data());
      EXPECT_TRUE(same(values, expected)) << length;
    }
  }
}

TEST(FakeQuantizeF32, MatchesReferenceForRowsThatShareColumnsAndInPlace) {
  Random random(24);
  for (const std::int32_t limit : {1, 127, 32767, INT32_MAX}) {
    const CodeRule rule{-limit - 1, limit, limit};
    for (const std::size_t rows : {0U, 1U, 3U, 4U, 5U, 8U, 14U}) {
      for (const std::size_t n : {1U, 3U, 4U, 7U, 16U, 21U}) {
        SCOPED_TRACE(::testing::Message() << rows << " rows of " << n);
        const std::int32_t most = std::min(limit, 300);
        Columns columns(n, -most, most, false, random);
        columns.nan_codes.assign(columns.zero_points.begin(), columns.zero_points.end());
        const std::size_t pitch = n + random.below(3);
        std::vector<float> x = columns.values(rows, pitch, random);
        std::vector<float> expected = x;
        for (std::size_t row = 0; row < rows; ++row) {
          reference::fake_quantize_f32(x.data() + row * pitch, n, columns.qparams(), rule,
                                       expected.data() + row * pitch);
        }
        fake_quantize_f32(x.data(), n, {columns.qparams(), rows, pitch}, rule, x.data());
        EXPECT_TRUE(same(x, expected));
      }
    }
  }
}

TEST(FakeQuantizeF32, MatchesReferenceForSpecialValuesInEveryPlace) {
  Random random(8);
  for (std::size_t shift = 0; shift < 16; ++shift) {
    std::vector<float> values(shift, 0.0F);
    values.insert(values.end(), kSpecialFloats.begin(), kSpecialFloats.end());
    for (const CodeRule rule : kFakeRules) {
      for (const float scale : {1.0F, 0.1F, FLT_MIN, kSmallest, 1e30F}) {
        expect_fake_reference(values, UniformQParams{scale, 1.0F, 1}, rule, 0);
      }
      expect_fake_reference_elementwise(values, rule, 0, random);
    }
  }
}

TEST(FakeQuantizeF32, MatchesReferenceAcrossAllBitPatterns) {
  constexpr std::uint64_t kStride = kEffort > 1 ? 1021 : 16381;
  constexpr std::size_t kBlock = 1 << 13;
  Random random(9);
  std::uint64_t pattern = 0;
  for (std::size_t block = 0; pattern <= UINT32_MAX; ++block) {
    std::vector<float> values;
    for (; values.size() < kBlock && pattern <= UINT32_MAX; pattern += kStride) {
      values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(pattern)));
    }
    const CodeRule rule = kFakeRules[block % kFakeRules.size()];
    const std::int32_t zero_point = random.integer(rule.qmin, rule.qmax);
    const float scale = std::fabs(random.spread(-20, 20));
    expect_fake_reference(values, UniformQParams{scale, static_cast<float>(zero_point), zero_point},
                          rule, 0);
    expect_fake_reference_elementwise(values, rule, 0, random);
  }
}

}  // namespace
}  // namespace zeropoint
