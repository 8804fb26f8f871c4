#include "reference/offset_f32.h"

#include <gtest/gtest.h>

#include <array>
#include <cfloat>
#include <cmath>
#include <vector>

#include "compare.h"
#include "random.h"
#include "zeropoint/dequantize.h"

namespace zeropoint {
namespace {

using testing::kLengths;
using testing::Random;
using testing::same;

constexpr DType kDTypes[] = {DType::kInt3,  DType::kInt8,   DType::kUint1, DType::kUint4,
                             DType::kUint8, DType::kUint16, DType::kInt16, DType::kInt32};

// Values with ties, NaN and infinities among them.
std::vector<float> values_of(std::size_t n, const reference::OffsetQParams& q, Random& random) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    const float step = static_cast<float>(random.integer(-4, 20)) + 0.5F;
    const float special[] = {NAN, INFINITY, -INFINITY, q.offset, 0.0F, -0.0F, FLT_MAX, -FLT_MAX};
    x[i] = random.below(4) == 0   ? q.scale * step + q.offset
           : random.below(8) == 0 ? special[random.below(8)]
                                  : random.spread(-8, 8);
  }
  return x;
}

template <typename Code>
void expect_same_as_reference(DType dtype, std::size_t slices, std::size_t inner, Random& random) {
  const DTypeInfo info = dtype_info(dtype);
  const kernels::CodeRule rule{info.qmin, info.qmax, info.qmax};
  std::vector<float> scales;
  std::vector<float> offsets;
  std::vector<float> x;
  for (std::size_t i = 0; i < slices; ++i) {
    const reference::OffsetQParams q{std::fabs(random.spread(-6, 2)), random.spread(-4, 8)};
    scales.push_back(q.scale);
    offsets.push_back(q.offset);
    const std::vector<float> own = values_of(inner, q, random);
    x.insert(x.end(), own.begin(), own.end());
  }
  const auto length = static_cast<std::uint32_t>(inner);
  const auto count = static_cast<std::uint32_t>(slices);
  const std::uint32_t shape[] = {count, length};
  const std::uint32_t qshape[] = {count, 1};
  const QParamsView qparams{scales, {}, qshape, 0, offsets};
  std::vector<Code> codes(x.size());
  std::vector<float> restored(x.size());
  std::vector<float> faked(x.size());
  ASSERT_EQ(quantize({x, shape}, qparams, dtype, std::span<Code>(codes)), Status::kOk);
  ASSERT_EQ(dequantize(TensorView<const Code>{codes, shape}, qparams, dtype, restored),
            Status::kOk);
  ASSERT_EQ(fake_quantize({x, shape}, qparams, dtype, faked), Status::kOk);
  std::vector<Code> expected(x.size());
  std::vector<float> values(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const reference::OffsetQParams q{scales[i / inner], offsets[i / inner]};
    const std::int64_t code = reference::offset_code(x[i], q, rule);
    expected[i] = static_cast<Code>(code);
    values[i] = reference::offset_value(static_cast<std::int32_t>(code), q);
  }
  EXPECT_EQ(codes, expected) << info.name;
  EXPECT_TRUE(same(restored, values)) << info.name;
  EXPECT_TRUE(same(faked, values)) << info.name;
}

TEST(OffsetQuantization, MatchesReferenceAtEveryLength) {
  Random random(31);
  for (const std::size_t length : kLengths) {
    if (length == 0) continue;
    for (const std::size_t slices : std::array<std::size_t, 3>{1, 3, 40}) {
      expect_same_as_reference<std::int8_t>(DType::kInt3, slices, length, random);
      expect_same_as_reference<std::int8_t>(DType::kInt8, slices, length, random);
      expect_same_as_reference<std::uint8_t>(DType::kUint1, slices, length, random);
      expect_same_as_reference<std::uint8_t>(DType::kUint4, slices, length, random);
      expect_same_as_reference<std::uint8_t>(DType::kUint8, slices, length, random);
      expect_same_as_reference<std::int16_t>(DType::kInt16, slices, length, random);
      expect_same_as_reference<std::uint16_t>(DType::kUint16, slices, length, random);
      expect_same_as_reference<std::int32_t>(DType::kInt32, slices, length, random);
    }
  }
}

TEST(ChooseOffset, MapsTheEndsToTheFirstAndTheLastCode) {
  double scale = 0.0;
  float offset = 0.0F;
  ASSERT_EQ(choose_offset({1.0F, 2.5F}, DType::kUint4, scale, offset), Status::kOk);
  EXPECT_EQ(scale, 0.1);
  EXPECT_EQ(offset, 1.0F);
  ASSERT_EQ(choose_offset({1.0F, 2.5F}, DType::kInt4, scale, offset), Status::kOk);
  EXPECT_EQ(scale, 0.1);
  EXPECT_EQ(offset, 1.8F);
}

TEST(ChooseOffset, RestoresAConstantSliceExactly) {
  for (const DType dtype : kDTypes) {
    for (const float c : {0.0F, 3.3F, -FLT_MAX, FLT_TRUE_MIN}) {
      double scale = 0.0;
      float offset = 0.0F;
      ASSERT_EQ(choose_offset({c, c}, dtype, scale, offset), Status::kOk);
      const float scales[] = {static_cast<float>(scale)};
      const float offsets[] = {offset};
      const float x[] = {c};
      const std::uint32_t shape[] = {1};
      float out[1];
      ASSERT_EQ(fake_quantize({x, shape}, {scales, {}, {}, 0, offsets}, dtype, out), Status::kOk);
      EXPECT_EQ(out[0], c) << dtype_info(dtype).name;
    }
  }
}

TEST(ChooseOffset, KeepsTheScaleInTheNormalFloats) {
  double scale = 0.0;
  float offset = 0.0F;
  ASSERT_EQ(choose_offset({-FLT_MAX, FLT_MAX}, DType::kUint1, scale, offset), Status::kOk);
  EXPECT_EQ(scale, double{FLT_MAX});
  ASSERT_EQ(choose_offset({0.0F, FLT_TRUE_MIN}, DType::kUint8, scale, offset), Status::kOk);
  EXPECT_EQ(scale, double{FLT_MIN});
}

TEST(ChooseOffset, RefusesARangeThatIsNotFinite) {
  double scale = 0.0;
  float offset = 0.0F;
  EXPECT_EQ(choose_offset({0.0F, INFINITY}, DType::kUint8, scale, offset), Status::kNonFinite);
  EXPECT_EQ(choose_offset({NAN, NAN}, DType::kUint8, scale, offset), Status::kNonFinite);
}

TEST(CheckQParams, RefusesOffsetsThatAreNotFiniteOrBesideZeroPoints) {
  const float scales[] = {1.0F};
  const std::int32_t zeros[] = {0};
  const float finite[] = {1.0F};
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    const float offsets[] = {bad};
    EXPECT_EQ(check({scales, {}, {}, 0, offsets}, DType::kUint4), Status::kInvalidOffset);
  }
  EXPECT_EQ(check({scales, zeros, {}, 0, finite}, DType::kUint4), Status::kShapeMismatch);
  EXPECT_EQ(check({scales, {}, {}, 0, finite}, DType::kUint4), Status::kOk);
}

}  // namespace
}  // namespace zeropoint
