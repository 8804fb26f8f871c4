#include "reference/quantize_reciprocal_f32.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "compare.h"
#include "random.h"

namespace zeropoint {
namespace {

using kernels::AddZeroPoint;
using kernels::CodeRule;
using kernels::ElementwiseQParams;
using kernels::UniformQParams;
using reference::TorchRule;
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

// A storage, and where the zero point is added.
template <typename CodeType, AddZeroPoint kAddAt>
struct Variant {
  using Code = CodeType;
  static constexpr AddZeroPoint kAdd = kAddAt;
};

template <typename Code, AddZeroPoint kAdd>
void quantize_reciprocal_f32(const float* x, std::size_t n, const kernels::AnyQParams& qparams,
                             const TorchRule& rule, Code* out) {
  kernels::run(kernels::reciprocal_quantization(kAdd, kStorageOf<Code>), x, n, qparams,
               CodeRule(rule), out);
}

template <AddZeroPoint kAdd>
void fake_quantize_reciprocal_f32(const float* x, std::size_t n, kernels::AnyQParams qparams,
                                  const float* scales, const TorchRule& rule, float* out) {
  qparams.each.scales = scales;
  kernels::run(kernels::fake_reciprocal_quantization(kAdd), x, n, qparams, CodeRule(rule), out);
}

// Qparams per value; the arrays end with their last element.
struct ElementwiseArrays {
  ElementwiseArrays(std::size_t n, const TorchRule& rule, bool whole, Random& random)
      : scales(n), reciprocals(n), zero_points(n), nan_codes(n) {
    for (std::size_t i = 0; i < n; ++i) {
      scales[i] = random.below(8) == 0 ? random.any_float() : random.spread(-12, 12);
      reciprocals[i] = 1.0F / scales[i];
      nan_codes[i] = random.integer(rule.qmin, rule.qmax);
      zero_points[i] = static_cast<float>(nan_codes[i]);
      if (!whole && random.below(4) != 0) zero_points[i] = random.uniform(-300.0F, 300.0F);
      if (!whole && random.below(16) == 0) zero_points[i] = random.any_float();
    }
  }

  std::vector<float> scales;
  std::vector<float> reciprocals;
  std::vector<float> zero_points;
  std::vector<std::int32_t> nan_codes;
};

// Calls f with blocks of values: all bit patterns, a stride apart.
template <typename Visit>
void for_blocks_of_bit_patterns(std::uint64_t stride, Visit visit) {
  constexpr std::size_t kBlock = 1 << 13;
  std::uint64_t pattern = 0;
  for (std::size_t block = 0; pattern <= UINT32_MAX; ++block) {
    std::vector<float> values;
    for (; values.size() < kBlock && pattern <= UINT32_MAX; pattern += stride) {
      values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(pattern)));
    }
    visit(block, values);
  }
}

// Reciprocals and zero points without validation.
constexpr std::array kOddQParams = {
    UniformQParams{1.0F, 0.0F, 0},          UniformQParams{10.0F, 3.0F, 3},
    UniformQParams{0.0F, 1.0F, 1},          UniformQParams{-0.37F, 1.0F, 1},
    UniformQParams{kInfinity, 2.0F, 2},     UniformQParams{kNan, 1.0F, 1},
    UniformQParams{FLT_MAX, 0.0F, 0},       UniformQParams{kSmallest, 1.0F, 1},
    UniformQParams{0.5F, 0.5F, 0},          UniformQParams{1.0F, 16777216.0F, 1},
    UniformQParams{1.0F, kNan, 1},          UniformQParams{1.0F, -kInfinity, 1},
    UniformQParams{1.0F, 2147483648.0F, 1}, UniformQParams{1.0F, -2147483648.0F, 0}};

template <typename V>
class QuantizeReciprocalF32 : public ::testing::Test {
 protected:
  using Code = typename V::Code;

  static std::vector<TorchRule> rules() {
    constexpr std::int32_t kMin = std::numeric_limits<Code>::min();
    constexpr std::int32_t kMax = std::numeric_limits<Code>::max();
    return {{kMin, kMax, true}, {kMin, kMax, false}, {0, 127, true}, {0, 127, false}};
  }

  // The zero point added to codes of 8 bits after rounding is itself a code.
  static bool takes(float zero_point) {
    if (V::kAdd == AddZeroPoint::kBeforeRounding || sizeof(Code) != 1) return true;
    return std::trunc(zero_point) == zero_point && std::fabs(zero_point) < 256.0F;
  }

  template <typename QParams>
  static void expect_reference(const std::vector<float>& values, QParams qparams, TorchRule rule,
                               std::size_t offset) {
    const Input x(values, offset);
    Output<Code> actual(x.size(), offset);
    std::vector<Code> expected(x.size());
    quantize_reciprocal_f32<Code, V::kAdd>(x.data(), x.size(), qparams, rule, actual.data());
    reference::quantize_reciprocal_f32<Code, V::kAdd>(x.data(), x.size(), qparams, rule,
                                                      expected.data());
    EXPECT_TRUE(same(actual.values(), expected))
        << "qmin " << rule.qmin << ", qmax " << rule.qmax << ", saturate " << rule.saturate;
    EXPECT_TRUE(actual.guards_intact());
  }

  static void expect_reference_elementwise(const std::vector<float>& values, TorchRule rule,
                                           std::size_t offset, Random& random) {
    const ElementwiseArrays arrays(values.size(), rule, !takes(0.5F), random);
    const Input s(arrays.reciprocals, (offset + 1) % 4);
    const Input z(arrays.zero_points, (offset + 2) % 4);
    const Input c(arrays.nan_codes, (offset + 3) % 4);
    expect_reference(values, ElementwiseQParams{s.data(), z.data(), c.data()}, rule, offset);
  }
};

using Variants = ::testing::Types<Variant<std::int8_t, AddZeroPoint::kAfterRounding>,
                                  Variant<std::uint8_t, AddZeroPoint::kAfterRounding>,
                                  Variant<std::int32_t, AddZeroPoint::kAfterRounding>,
                                  Variant<std::int8_t, AddZeroPoint::kBeforeRounding>,
                                  Variant<std::uint8_t, AddZeroPoint::kBeforeRounding>>;

class VariantNames {
 public:
  template <typename V>
  static std::string GetName(int) {
    const std::string sign = std::is_signed_v<typename V::Code> ? "int" : "uint";
    return sign + std::to_string(8 * sizeof(typename V::Code)) +
           (V::kAdd == AddZeroPoint::kAfterRounding ? "AddedAfter" : "AddedBefore");
  }
};

TYPED_TEST_SUITE(QuantizeReciprocalF32, Variants, VariantNames);

TYPED_TEST(QuantizeReciprocalF32, MatchesReferenceAtEveryLengthAndAlignment) {
  Random random(40);
  for (const TorchRule rule : this->rules()) {
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

TYPED_TEST(QuantizeReciprocalF32, MatchesReferenceForSpecialValuesInEveryPlace) {
  Random random(41);
  // Every value meets every place of a step, and the tail.
  for (std::size_t shift = 0; shift < 16; ++shift) {
    std::vector<float> values(shift, 0.0F);
    values.insert(values.end(), kSpecialFloats.begin(), kSpecialFloats.end());
    for (const TorchRule rule : this->rules()) {
      for (const UniformQParams qparams : kOddQParams) {
        if (!this->takes(qparams.zero_point)) continue;
        SCOPED_TRACE(::testing::Message() << qparams.factor << ", " << qparams.zero_point);
        this->expect_reference(values, qparams, rule, 0);
      }
      this->expect_reference_elementwise(values, rule, 0, random);
    }
  }
}

// One value alone, so that a step is not computed exactly because of others.
TYPED_TEST(QuantizeReciprocalF32, MatchesReferenceForASingleSpecialValueInAStep) {
  for (const float special : kSpecialFloats) {
    for (std::size_t place = 0; place < 16; ++place) {
      std::vector<float> values(16, 1.0F);
      values[place] = special;
      for (const TorchRule rule : this->rules()) {
        SCOPED_TRACE(::testing::Message() << special << " at " << place);
        this->expect_reference(values, UniformQParams{1.0F, 0.0F, 0}, rule, 0);
      }
    }
  }
}

TYPED_TEST(QuantizeReciprocalF32, MatchesReferenceAroundTies) {
  for (const float scale : {1.0F, 0.1F, 3.5F}) {
    std::vector<float> values;
    for (int code = -300; code <= 300; ++code) {
      const float tie = (static_cast<float>(code) + 0.5F) * scale;
      values.push_back(tie);
      values.push_back(std::nextafter(tie, kInfinity));
      values.push_back(std::nextafter(tie, -kInfinity));
    }
    for (const TorchRule rule : this->rules()) {
      for (const float zero_point : {0.0F, 1.0F, -1.0F, 0.5F, 100.0F}) {
        if (!this->takes(zero_point)) continue;
        this->expect_reference(values, UniformQParams{1.0F / scale, zero_point, 0}, rule, 0);
      }
    }
  }
}

TYPED_TEST(QuantizeReciprocalF32, MatchesReferenceAcrossAllBitPatterns) {
  Random random(42);
  const std::vector<TorchRule> rules = this->rules();
  for_blocks_of_bit_patterns(
      kEffort > 1 ? 1021 : 16381, [&](std::size_t block, const std::vector<float>& values) {
        const TorchRule rule = rules[block % rules.size()];
        const std::int32_t zero_point = random.integer(rule.qmin, rule.qmax);
        const UniformQParams qparams{random.spread(-20, 20), static_cast<float>(zero_point),
                                     zero_point};
        this->expect_reference(values, qparams, rule, 0);
        this->expect_reference_elementwise(values, rule, 0, random);
      });
}

// ---- fake_quantize_reciprocal_f32

template <typename V>
class FakeQuantizeReciprocalF32 : public ::testing::Test {
 protected:
  static constexpr std::array kRules = {TorchRule{0, 127, true},
                                        TorchRule{0, 127, false},
                                        TorchRule{-128, 127, true},
                                        TorchRule{-128, 127, false},
                                        TorchRule{0, 65535, false},
                                        TorchRule{INT32_MIN, INT32_MAX, true},
                                        TorchRule{INT32_MIN, INT32_MAX, false}};

  template <typename QParams>
  static void expect_reference(const std::vector<float>& values, QParams qparams,
                               const float* scales, TorchRule rule, std::size_t offset) {
    const Input x(values, offset);
    std::vector<float> expected(x.size());
    reference::fake_quantize_reciprocal_f32<V::kAdd>(x.data(), x.size(), qparams, scales, rule,
                                                     expected.data());

    Output<float> apart(x.size(), offset);
    fake_quantize_reciprocal_f32<V::kAdd>(x.data(), x.size(), qparams, scales, rule, apart.data());
    EXPECT_TRUE(same(apart.values(), expected))
        << "qmin " << rule.qmin << ", qmax " << rule.qmax << ", saturate " << rule.saturate;
    EXPECT_TRUE(apart.guards_intact());

    Output<float> in_place(x.size(), offset);
    std::copy_n(x.data(), x.size(), in_place.data());
    fake_quantize_reciprocal_f32<V::kAdd>(in_place.data(), x.size(), qparams, scales, rule,
                                          in_place.data());
    EXPECT_TRUE(same(in_place.values(), expected)) << "in place";
    EXPECT_TRUE(in_place.guards_intact());
  }

  static void expect_reference_uniform(const std::vector<float>& values, float scale,
                                       std::int32_t zero_point, TorchRule rule,
                                       std::size_t offset) {
    const UniformQParams qparams{1.0F / scale, static_cast<float>(zero_point), zero_point};
    expect_reference(values, qparams, &scale, rule, offset);
  }

  static void expect_reference_elementwise(const std::vector<float>& values, TorchRule rule,
                                           std::size_t offset, Random& random) {
    const bool whole = V::kAdd == AddZeroPoint::kAfterRounding;
    // Kernels are handed a scale even where there are no values.
    const ElementwiseArrays arrays(std::max<std::size_t>(values.size(), 1), rule, whole, random);
    const Input r(arrays.reciprocals, (offset + 1) % 4);
    const Input z(arrays.zero_points, (offset + 2) % 4);
    const Input c(arrays.nan_codes, (offset + 3) % 4);
    const Input s(arrays.scales, offset);
    expect_reference(values, ElementwiseQParams{r.data(), z.data(), c.data()}, s.data(), rule,
                     offset);
  }
};

using Additions = ::testing::Types<Variant<float, AddZeroPoint::kAfterRounding>,
                                   Variant<float, AddZeroPoint::kBeforeRounding>>;

class AdditionNames {
 public:
  template <typename V>
  static std::string GetName(int) {
    return V::kAdd == AddZeroPoint::kAfterRounding ? "AddedAfter" : "AddedBefore";
  }
};

TYPED_TEST_SUITE(FakeQuantizeReciprocalF32, Additions, AdditionNames);

TYPED_TEST(FakeQuantizeReciprocalF32, MatchesReferenceAtEveryLengthAndAlignmentAndInPlace) {
  Random random(43);
  for (const TorchRule rule : this->kRules) {
    for (const std::size_t n : kLengths) {
      for (std::size_t offset = 0; offset < 4; ++offset) {
        SCOPED_TRACE(n);
        const std::vector<float> values = random.uniforms(n, -200.0F, 200.0F);
        this->expect_reference_uniform(values, 0.7F, 5, rule, offset);
        this->expect_reference_elementwise(values, rule, offset, random);
      }
    }
  }
}

TYPED_TEST(FakeQuantizeReciprocalF32, MatchesReferenceForSpecialValuesInEveryPlace) {
  Random random(44);
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::vector<float> values(shift, 0.0F);
    values.insert(values.end(), kSpecialFloats.begin(), kSpecialFloats.end());
    for (const TorchRule rule : this->kRules) {
      for (const float scale : {1.0F, 0.1F, FLT_MIN, kSmallest, 1e30F, 0.0F, -1.0F, kNan}) {
        SCOPED_TRACE(scale);
        this->expect_reference_uniform(values, scale, 1, rule, 0);
      }
      this->expect_reference_elementwise(values, rule, 0, random);
    }
  }
}

// One value alone, so that a step is not computed exactly because of others.
TYPED_TEST(FakeQuantizeReciprocalF32, MatchesReferenceForASingleSpecialValueInAStep) {
  for (const float special : kSpecialFloats) {
    for (std::size_t place = 0; place < 16; ++place) {
      std::vector<float> values(16, 1.0F);
      values[place] = special;
      for (const TorchRule rule : this->kRules) {
        SCOPED_TRACE(::testing::Message() << special << " at " << place);
        this->expect_reference_uniform(values, 1.0F, 0, rule, 0);
      }
    }
  }
}

// float32 cannot hold these zero points: they are rounded when added, and exact when subtracted.
TYPED_TEST(FakeQuantizeReciprocalF32, MatchesReferenceForZeroPointsBeyondFloat32) {
  Random random(45);
  const std::vector<float> values = random.uniforms(100, -1000.0F, 1000.0F);
  for (const std::int32_t zero_point : {16777217, -16777217, 123456789, INT32_MAX, INT32_MIN}) {
    for (const bool saturate : {true, false}) {
      this->expect_reference_uniform(values, 0.7F, zero_point, {INT32_MIN, INT32_MAX, saturate}, 0);
    }
  }
}

TYPED_TEST(FakeQuantizeReciprocalF32, MatchesReferenceAcrossAllBitPatterns) {
  Random random(46);
  for_blocks_of_bit_patterns(
      kEffort > 1 ? 1021 : 16381, [&](std::size_t block, const std::vector<float>& values) {
        const TorchRule rule = this->kRules[block % this->kRules.size()];
        this->expect_reference_uniform(values, random.spread(-20, 20),
                                       random.integer(rule.qmin, rule.qmax), rule, 0);
        this->expect_reference_elementwise(values, rule, 0, random);
      });
}

}  // namespace
}  // namespace zeropoint
