#include "reference/dequantize_f32.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <limits>
#include <string>
#include <vector>

#include "columns.h"
#include "compare.h"
#include "random.h"

namespace zeropoint {
namespace {

using kernels::ElementwiseQParams;
using kernels::UniformQParams;
using testing::Columns;
using testing::Input;
using testing::kInfinity;
using testing::kLengths;
using testing::kNan;
using testing::kSmallest;
using testing::Output;
using testing::Random;
using testing::same;

template <typename Code>
void dequantize_f32(const Code* codes, std::size_t n, const kernels::AnyQParams& qparams,
                    float* out) {
  kernels::run(kernels::dequantization(kStorageOf<Code>), codes, n, qparams, {}, out);
}

template <typename Code>
class DequantizeF32 : public ::testing::Test {
 protected:
  static constexpr std::int32_t kMin = std::numeric_limits<Code>::min();
  static constexpr std::int32_t kMax = std::numeric_limits<Code>::max();

  // All codes of 8 and 16 bits; for 32 bits both ends, codes around 2^24, and random ones.
  static std::vector<Code> codes() {
    std::vector<Code> codes;
    if constexpr (sizeof(Code) < 4) {
      for (std::int32_t code = kMin; code <= kMax; ++code) codes.push_back(static_cast<Code>(code));
    } else {
      for (const std::int64_t first :
           {std::int64_t{INT32_MIN}, std::int64_t{-16777216 - 300}, std::int64_t{-300},
            std::int64_t{16777216 - 300}, std::int64_t{INT32_MAX} - 600}) {
        for (std::int64_t i = 0; i <= 600; ++i) codes.push_back(static_cast<Code>(first + i));
      }
      Random random(10);
      for (int i = 0; i < 100000; ++i) codes.push_back(random.integer(kMin, kMax));
    }
    return codes;
  }

  template <typename QParams>
  static void expect_reference(const std::vector<Code>& values, QParams qparams,
                               std::size_t offset) {
    const Input codes(values, offset);
    Output<float> actual(codes.size(), offset);
    std::vector<float> expected(codes.size());
    dequantize_f32(codes.data(), codes.size(), qparams, actual.data());
    reference::dequantize_f32(codes.data(), codes.size(), qparams, expected.data());
    EXPECT_TRUE(same(actual.values(), expected));
    EXPECT_TRUE(actual.guards_intact());
  }

  static void expect_reference_elementwise(const std::vector<Code>& values, std::size_t offset,
                                           Random& random) {
    const std::size_t n = values.size();
    std::vector<float> scales(n);
    std::vector<float> float_zero_points(n);
    for (std::size_t i = 0; i < n; ++i) {
      scales[i] = random.below(4) == 0 ? random.any_float() : random.spread(-12, 12);
      float_zero_points[i] =
          random.below(16) == 0 ? random.any_float() : random.uniform(-300.0F, 300.0F);
    }
    const Input s(scales, (offset + 1) % 4);
    const Input f(float_zero_points, (offset + 3) % 4);
    const Input<std::int32_t> c(std::vector<std::int32_t>(n), 0);
    expect_reference(values, ElementwiseQParams{s.data(), f.data(), c.data()}, offset);
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

TYPED_TEST_SUITE(DequantizeF32, Codes, CodeNames);

TYPED_TEST(DequantizeF32, MatchesReferenceForRowsThatShareColumns) {
  Random random(25);
  const std::vector<TypeParam> codes = this->codes();
  for (const std::size_t rows : {0U, 1U, 3U, 4U, 5U, 8U, 14U}) {
    for (const std::size_t n : {1U, 3U, 4U, 7U, 16U, 21U}) {
      SCOPED_TRACE(::testing::Message() << rows << " rows of " << n);
      const Columns columns(n, -100, 100, true, random);
      const std::size_t pitch = n + random.below(3);
      std::vector<TypeParam> x(rows * pitch);
      for (TypeParam& code : x) code = codes[random.below(codes.size())];
      std::vector<float> actual(x.size(), 99.0F);
      std::vector<float> expected = actual;
      dequantize_f32(x.data(), n, {columns.qparams(), rows, pitch}, actual.data());
      for (std::size_t row = 0; row < rows; ++row) {
        reference::dequantize_f32(x.data() + row * pitch, n, columns.qparams(),
                                  expected.data() + row * pitch);
      }
      EXPECT_TRUE(same(actual, expected));
    }
  }
}

TYPED_TEST(DequantizeF32, MatchesReferenceForEveryCode) {
  Random random(11);
  const std::vector<TypeParam> codes = this->codes();
  for (const float scale :
       {1.0F, 0.1F, 3.5F, -2.0F, 0.0F, -0.0F, FLT_MIN, kSmallest, 1e38F, kInfinity, kNan}) {
    for (const float zero_point :
         {0.0F, -0.0F, 1.0F, -70.0F, 255.0F, 0.3F, 16777216.0F, 2147483648.0F, kInfinity, kNan}) {
      SCOPED_TRACE(::testing::Message() << scale << ", " << zero_point);
      this->expect_reference(codes, UniformQParams{scale, zero_point, 0}, 0);
    }
  }
  this->expect_reference_elementwise(codes, 0, random);
}

TYPED_TEST(DequantizeF32, MatchesReferenceAtEveryLengthAndAlignment) {
  Random random(12);
  for (const std::size_t n : kLengths) {
    for (std::size_t offset = 0; offset < 4; ++offset) {
      SCOPED_TRACE(n);
      std::vector<TypeParam> codes(n);
      for (TypeParam& code : codes) {
        code = static_cast<TypeParam>(random.integer(this->kMin, this->kMax));
      }
      this->expect_reference(codes, UniformQParams{0.3F, -7.0F, 0}, offset);
      this->expect_reference_elementwise(codes, offset, random);
    }
  }
}

}  // namespace
}  // namespace zeropoint
