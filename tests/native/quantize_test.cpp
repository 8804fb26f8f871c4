#include "zeropoint/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "compare.h"
#include "random.h"
#include "reference/quantize_f32.h"
#include "tensors.h"
#include "zeropoint/qparams.h"

namespace zeropoint {
namespace {

using testing::broadcast_position;
using testing::broadcast_shapes;
using testing::count_of;
using testing::kInfinity;
using testing::kNan;
using testing::kSpecialFloats;
using testing::Output;
using testing::per_tensor_qparams;
using testing::QParamsTensor;
using testing::Random;
using testing::random_operand;
using testing::random_shape;
using testing::same;
using testing::scalar;
using testing::ShapeVector;
using testing::Tensor;
using testing::vector_of;

const Tensor<float> kNotebook = {
    {191.6F, -13.5F, 728.6F, 92.14F, 295.5F, -184.0F, 0.0F, 684.6F, 245.5F}, {3, 3}};

template <typename Code>
std::vector<Code> quantized(const Tensor<float>& x, const QParamsTensor& qparams, DType dtype) {
  std::vector<Code> codes(x.values.size());
  EXPECT_EQ(quantize<Code>(x.view(), qparams.view(), dtype, codes), Status::kOk);
  return codes;
}

template <typename Code>
void expect_codes(const Tensor<float>& x, const QParamsTensor& qparams, DType dtype,
                  const std::vector<Code>& expected) {
  EXPECT_TRUE(same(quantized<Code>(x, qparams, dtype), expected));
}

template <typename Code>
void expect_refused(const Tensor<float>& x, const QParamsTensor& qparams, DType dtype,
                    Status status) {
  Output<Code> codes(x.values.size());
  EXPECT_EQ(quantize<Code>(x.view(), qparams.view(), dtype, codes.span()), status);
  EXPECT_TRUE(codes.untouched());
}

// ---- quantize

TEST(Quantize, MatchesTheNotebooks) {
  expect_codes<std::int8_t>(kNotebook, per_tensor_qparams(3.5F, -70), DType::kInt8,
                            {-15, -74, 127, -44, 14, -123, -70, 126, 0});
}

TEST(Quantize, RoundsTiesToEven) {
  expect_codes<std::int8_t>(vector_of<float>({0.5F, 1.5F, 2.5F, -0.5F, -1.5F, -2.5F}),
                            per_tensor_qparams(1.0F, 0), DType::kInt8, {0, 2, 2, 0, -2, -2});
}

TEST(Quantize, AddsTheZeroPointBeforeRounding) {
  // 2.5 + 1 = 3.5 rounds to 4; rounding first would give 2 + 1.
  expect_codes<std::int8_t>(scalar(2.5F), per_tensor_qparams(1.0F, 1), DType::kInt8, {4});
}

TEST(Quantize, DividesInsteadOfMultiplyingByTheReciprocal) {
  // The quotient is just below 127.5; times the rounded reciprocal it would be 127.5, and round up.
  expect_codes<std::uint8_t>(scalar(0.273939937F), per_tensor_qparams(0.00214854861F, 0),
                             DType::kUint8, {127});
}

// Codes of one value by a rule, with scale 1 unless given.
template <typename Code>
std::vector<Code> by_rule(Rule rule, const std::vector<float>& x, DType dtype,
                          std::int32_t zero_point, float scale = 1.0F) {
  const QParamsTensor given = per_tensor_qparams(scale, zero_point);
  QParamsView view = given.view();
  view.rule = rule;
  std::vector<Code> codes(x.size());
  EXPECT_EQ(quantize<Code>(vector_of<float>(x).view(), view, dtype, codes), Status::kOk);
  return codes;
}

TEST(Quantize, RoundsBeforeAddingByTheOtherRules) {
  const std::vector<float> x = {0.5F, 1.5F, 2.5F, kNan, kInfinity, -kInfinity};
  const std::vector<std::int8_t> course = {2, 2, 4, 1, 127, -128};
  const std::vector<std::int8_t> rounded = {1, 3, 3, 1, 127, -128};
  EXPECT_EQ(by_rule<std::int8_t>(Rule::kCourse, x, DType::kInt8, 1), course);
  EXPECT_EQ(by_rule<std::int8_t>(Rule::kOnnx, x, DType::kInt8, 1), rounded);
  EXPECT_EQ(by_rule<std::int8_t>(Rule::kTorch, x, DType::kInt8, 1), rounded);
}

TEST(Quantize, DividesByTheRuleOfOnnxAndMultipliesByThatOfTorch) {
  // The quotient is just below 127.5; times the rounded reciprocal it is 127.5, and rounds up.
  const std::vector<float> x = {0.273939937F};
  EXPECT_EQ(by_rule<std::uint8_t>(Rule::kOnnx, x, DType::kUint8, 0, 0.00214854861F)[0], 127);
  EXPECT_EQ(by_rule<std::uint8_t>(Rule::kTorch, x, DType::kUint8, 0, 0.00214854861F)[0], 128);
}

TEST(Quantize, AddsIntegersByTheRuleOfOnnx) {
  const std::vector<float> x = {2.0F, 3e9F, -3e9F};
  constexpr std::int32_t kZero = 16777217;
  const std::vector<std::int32_t> onnx = {16777219, INT32_MAX, INT32_MIN + kZero};
  EXPECT_EQ(by_rule<std::int32_t>(Rule::kOnnx, x, DType::kInt32, kZero), onnx);
  EXPECT_EQ(by_rule<std::int32_t>(Rule::kTorch, x, DType::kInt32, kZero)[0], 16777218);
}

TEST(Quantize, TakesAnyScaleByTheOtherRules) {
  const std::vector<float> x = {-3.0F, 0.0F, 3.0F};
  const std::vector<std::int8_t> negative = {4, 1, -2};
  const std::vector<std::int8_t> zero = {-128, 1, 127};
  for (const Rule rule : {Rule::kOnnx, Rule::kTorch}) {
    EXPECT_EQ(by_rule<std::int8_t>(rule, x, DType::kInt8, 1, -1.0F), negative);
    EXPECT_EQ(by_rule<std::int8_t>(rule, x, DType::kInt8, 1, 0.0F), zero);
  }
}

TEST(Quantize, RefusesOffsetsByTheOtherRules) {
  const std::vector<float> scale = {1.0F};
  std::vector<std::int8_t> codes(1);
  const QParamsView view{scale, {}, {}, 0, scale, Rule::kOnnx};
  EXPECT_EQ(quantize<std::int8_t>(scalar(1.0F).view(), view, DType::kInt8, codes),
            Status::kInvalidOffset);
}

TEST(Quantize, AddsTheZeroPointInFloat32) {
  // 2^24 + 1 is not a float32.
  expect_codes<std::int32_t>(vector_of<float>({0.0F, 2.0F}), per_tensor_qparams(1.0F, 16777217),
                             DType::kInt32, {16777216, 16777218});
}

TEST(Quantize, ClampsToTheDType) {
  const Tensor<float> x = vector_of<float>({-1e9F, -20.0F, -3.0F, 0.0F, 2.0F, 20.0F, 1e9F});
  const QParamsTensor qparams = per_tensor_qparams(1.0F, 1);
  expect_codes<std::int8_t>(x, qparams, DType::kInt2, {-2, -2, -2, 1, 1, 1, 1});
  expect_codes<std::int8_t>(x, qparams, DType::kInt4, {-8, -8, -2, 1, 3, 7, 7});
  expect_codes<std::int8_t>(x, qparams, DType::kInt8, {-128, -19, -2, 1, 3, 21, 127});
  expect_codes<std::uint8_t>(x, qparams, DType::kUint2, {0, 0, 0, 1, 3, 3, 3});
  expect_codes<std::uint8_t>(x, qparams, DType::kUint4, {0, 0, 0, 1, 3, 15, 15});
  expect_codes<std::uint8_t>(x, qparams, DType::kUint8, {0, 0, 0, 1, 3, 21, 255});
  expect_codes<std::int16_t>(x, qparams, DType::kInt16, {-32768, -19, -2, 1, 3, 21, 32767});
  expect_codes<std::uint16_t>(x, qparams, DType::kUint16, {0, 0, 0, 1, 3, 21, 65535});
}

TEST(Quantize, SaturatesInfinities) {
  const Tensor<float> x = vector_of<float>({kInfinity, -kInfinity});
  const QParamsTensor qparams = per_tensor_qparams(0.1F, 1);
  expect_codes<std::int8_t>(x, qparams, DType::kInt2, {1, -2});
  expect_codes<std::int8_t>(x, qparams, DType::kInt8, {127, -128});
  expect_codes<std::uint8_t>(x, qparams, DType::kUint8, {255, 0});
  expect_codes<std::int16_t>(x, qparams, DType::kInt16, {32767, -32768});
  expect_codes<std::uint16_t>(x, qparams, DType::kUint16, {65535, 0});
  expect_codes<std::int32_t>(x, qparams, DType::kInt32, {INT32_MAX, INT32_MIN});
}

TEST(Quantize, QuantizesNanToTheZeroPoint) {
  const Tensor<float> x = vector_of<float>({kNan, -kNan});
  expect_codes<std::int8_t>(x, per_tensor_qparams(1.0F, -128), DType::kInt8, {-128, -128});
  expect_codes<std::uint8_t>(x, per_tensor_qparams(1.0F, 3), DType::kUint2, {3, 3});
  expect_codes<std::uint16_t>(x, per_tensor_qparams(1.0F, 65535), DType::kUint16, {65535, 65535});
  // Exactly, even where float32 cannot hold it.
  expect_codes<std::int32_t>(x, per_tensor_qparams(1.0F, 16777217), DType::kInt32,
                             {16777217, 16777217});
  expect_codes<std::int8_t>({{kNan, kNan}, {2}}, {{1.0F, 2.0F}, {5, -6}, {2}}, DType::kInt8,
                            {5, -6});
}

TEST(Quantize, SaturatesInt32At2147483647) {
  expect_codes<std::int32_t>(
      vector_of<float>({2147483520.0F, 2147483648.0F, 3e9F, -2147483648.0F, -3e9F, 1e38F}),
      per_tensor_qparams(1.0F, 0), DType::kInt32,
      {2147483520, INT32_MAX, INT32_MAX, INT32_MIN, INT32_MIN, INT32_MAX});
}

TEST(Quantize, TakesTensorsOfAnyShape) {
  const QParamsTensor qparams = per_tensor_qparams(1.0F, 0);
  expect_codes<std::int8_t>(scalar(3.0F), qparams, DType::kInt8, {3});
  expect_codes<std::int8_t>({{}, {2, 0, 3}}, qparams, DType::kInt8, {});
  expect_codes<std::int8_t>({{1.0F, 2.0F}, {1, 1, 2, 1}}, qparams, DType::kInt8, {1, 2});
}

TEST(Quantize, TakesQParamsPerChannelOfAnyAxis) {
  const Tensor<float> x = {{1, 2, 3, 4, 5, 6}, {2, 3}};
  expect_codes<std::int8_t>(x, {{1.0F, 0.5F}, {0, 1}, {2, 1}}, DType::kInt8, {1, 2, 3, 9, 11, 13});
  expect_codes<std::int8_t>(x, {{1.0F, 0.5F, 2.0F}, {0, 0, 10}, {1, 3}}, DType::kInt8,
                            {1, 4, 12, 4, 10, 13});
  expect_codes<std::int8_t>(x, {{1.0F, 0.5F, 2.0F}, {0, 0, 10}, {3}}, DType::kInt8,
                            {1, 4, 12, 4, 10, 13});
}

TEST(Quantize, TakesQParamsPerGroupAsAViewOfGroups) {
  const Tensor<float> groups = {{1, 2, 3, 4, 5, 6}, {3, 2}};  // of a [1, 6] tensor
  expect_codes<std::int8_t>(groups, {{1.0F, 0.5F, 0.25F}, {0, 0, 1}, {3, 1}}, DType::kInt8,
                            {1, 2, 6, 8, 21, 25});
}

TEST(Quantize, TakesQParamsPerElement) {
  expect_codes<std::int8_t>({{1, 2, 3, 4}, {2, 2}},
                            {{1.0F, 0.5F, 2.0F, 4.0F}, {1, 2, 3, 4}, {2, 2}}, DType::kInt8,
                            {2, 6, 4, 5});
}

TEST(Quantize, LeavesCodesUntouchedOnInvalidScale) {
  for (const float scale : {0.0F, -1.0F, kNan, kInfinity}) {
    expect_refused<std::int8_t>(kNotebook, per_tensor_qparams(scale, 0), DType::kInt8,
                                Status::kInvalidScale);
    expect_refused<std::int8_t>(kNotebook, {{1.0F, 1.0F, scale}, {0, 0, 0}, {3, 1}}, DType::kInt8,
                                Status::kInvalidScale);
  }
}

TEST(Quantize, LeavesCodesUntouchedOnInvalidZeroPoint) {
  expect_refused<std::int8_t>(kNotebook, per_tensor_qparams(1.0F, 128), DType::kInt8,
                              Status::kInvalidZeroPoint);
  expect_refused<std::uint8_t>(kNotebook, per_tensor_qparams(1.0F, -1), DType::kUint8,
                               Status::kInvalidZeroPoint);
  expect_refused<std::int8_t>(kNotebook, {{1.0F, 1.0F, 1.0F}, {0, 0, 8}, {3, 1}}, DType::kInt4,
                              Status::kInvalidZeroPoint);
}

TEST(Quantize, LeavesCodesUntouchedOnShapeMismatch) {
  const QParamsTensor per_tensor = per_tensor_qparams(1.0F, 0);
  // A wrong number of values; qparams that do not broadcast; a wrong number of codes.
  expect_refused<std::int8_t>({{1.0F, 2.0F}, {3}}, per_tensor, DType::kInt8,
                              Status::kShapeMismatch);
  expect_refused<std::int8_t>(kNotebook, {{1.0F, 1.0F}, {0, 0}, {2, 1}}, DType::kInt8,
                              Status::kShapeMismatch);
  expect_refused<std::int8_t>(kNotebook, {{1.0F, 1.0F}, {0, 0}, {3}}, DType::kInt8,
                              Status::kShapeMismatch);
  for (const std::size_t n : {0U, 8U, 10U}) {
    Output<std::int8_t> codes(n);
    EXPECT_EQ(
        quantize<std::int8_t>(kNotebook.view(), per_tensor.view(), DType::kInt8, codes.span()),
        Status::kShapeMismatch);
    EXPECT_TRUE(codes.untouched());
  }
}

TEST(Quantize, LeavesCodesUntouchedIfTheirLengthIsNotTheTensorsPerChannel) {
  const QParamsTensor per_row = {{1.0F, 2.0F, 3.0F}, {0, 0, 0}, {3, 1}};
  for (const std::size_t n : {0U, 8U, 10U}) {
    Output<std::int8_t> codes(n);
    EXPECT_EQ(quantize<std::int8_t>(kNotebook.view(), per_row.view(), DType::kInt8, codes.span()),
              Status::kShapeMismatch);
    EXPECT_TRUE(codes.untouched());
  }
}

TEST(Quantize, RefusesQParamsThatWouldEnlargeTheTensorOrAddAnAxis) {
  const QParamsTensor two = {{1.0F, 1.0F}, {0, 0}, {2, 1}};
  expect_refused<std::int8_t>(vector_of<float>({1.0F, 2.0F}), two, DType::kInt8,
                              Status::kShapeMismatch);
  expect_refused<std::int8_t>(scalar(1.0F), two, DType::kInt8, Status::kShapeMismatch);
  expect_refused<std::int8_t>(vector_of<float>({1.0F, 2.0F}), {{1.0F}, {0}, {1, 1}}, DType::kInt8,
                              Status::kShapeMismatch);
  // Also for an empty tensor.
  expect_refused<std::int8_t>(vector_of<float>({}), two, DType::kInt8, Status::kShapeMismatch);
  expect_refused<std::int8_t>({{}, {0, 1}}, {{}, {}, {0, 5}}, DType::kInt8, Status::kShapeMismatch);
}

TEST(Quantize, LeavesCodesUntouchedOnSizeOverflow) {
  expect_refused<std::int8_t>({{}, {65536, 65536}}, per_tensor_qparams(1.0F, 0), DType::kInt8,
                              Status::kSizeOverflow);
}

template <typename Code>
void expect_refuses_other_storages() {
  for (const DType dtype : {DType::kInt2, DType::kInt4, DType::kInt8, DType::kUint2, DType::kUint4,
                            DType::kUint8, DType::kInt16, DType::kUint16, DType::kInt32}) {
    if (dtype_info(dtype).storage == kStorageOf<Code>) continue;
    expect_refused<Code>(kNotebook, per_tensor_qparams(1.0F, 0), dtype, Status::kUnsupportedDType);
    Output<Code> codes(9);
    EXPECT_EQ(linear_q<Code>(kNotebook.view(), scalar(1.0F).view(), scalar(0.0F).view(), dtype,
                             codes.span()),
              Status::kUnsupportedDType);
    EXPECT_TRUE(codes.untouched());
  }
}

TEST(Quantize, LeavesCodesUntouchedIfTheyAreNotOfTheDTypesStorage) {
  expect_refuses_other_storages<std::int8_t>();
  expect_refuses_other_storages<std::uint8_t>();
  expect_refuses_other_storages<std::int16_t>();
  expect_refuses_other_storages<std::uint16_t>();
  expect_refuses_other_storages<std::int32_t>();
}

// Random values within and beyond the codes' range, every tenth one from kSpecialFloats.
Tensor<float> random_tensor(const ShapeVector& shape, Random& random) {
  Tensor<float> x = {random.uniforms(count_of(shape), -300.0F, 300.0F), shape};
  for (float& value : x.values) {
    if (random.below(10) == 0) value = kSpecialFloats[random.below(kSpecialFloats.size())];
  }
  return x;
}

template <typename Code>
void expect_broadcasts_index_by_index(DType dtype, Random& random) {
  const DTypeInfo info = dtype_info(dtype);
  const Tensor<float> x = random_tensor(random_shape(random), random);
  QParamsTensor qparams = {{}, {}, random_operand(x.shape, random)};
  for (std::size_t i = 0; i < count_of(qparams.shape); ++i) {
    qparams.scales.push_back(std::fabs(random.spread(-8, 4)));
    qparams.zero_points.push_back(random.integer(info.qmin, info.qmax));
  }
  std::vector<Code> expected;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const std::size_t own = broadcast_position(i, x.shape, qparams.shape);
    const std::int32_t zero_point = qparams.zero_points[own];
    expected.push_back(static_cast<Code>(reference::quantize_value(
        x.values[i], {qparams.scales[own], static_cast<float>(zero_point), zero_point},
        {info.qmin, info.qmax, info.qmax})));
  }
  Output<Code> codes(x.values.size());
  ASSERT_EQ(quantize<Code>(x.view(), qparams.view(), dtype, codes.span()), Status::kOk);
  ASSERT_TRUE(same(codes.values(), expected)) << info.name;
  ASSERT_TRUE(codes.guards_intact());
}

TEST(Quantize, BroadcastsQParamsIndexByIndex) {
  Random random(50);
  for (int round = 0; round < 150; ++round) {
    expect_broadcasts_index_by_index<std::int8_t>(DType::kInt2, random);
    expect_broadcasts_index_by_index<std::int8_t>(DType::kInt4, random);
    expect_broadcasts_index_by_index<std::int8_t>(DType::kInt8, random);
    expect_broadcasts_index_by_index<std::uint8_t>(DType::kUint2, random);
    expect_broadcasts_index_by_index<std::uint8_t>(DType::kUint4, random);
    expect_broadcasts_index_by_index<std::uint8_t>(DType::kUint8, random);
    expect_broadcasts_index_by_index<std::int16_t>(DType::kInt16, random);
    expect_broadcasts_index_by_index<std::uint16_t>(DType::kUint16, random);
    expect_broadcasts_index_by_index<std::int32_t>(DType::kInt32, random);
  }
}

TEST(Quantize, EqualsTheWholeTensorForOneChannelOrOneGroup) {
  Random random(51);
  for (std::uint32_t n = 1; n < 70; ++n) {
    const std::vector<float> values = random.uniforms(n, -3.0F, 5.0F);
    const QParamsTensor whole = per_tensor_qparams(0.021F, 17);
    const auto expected = quantized<std::int8_t>({values, {n}}, whole, DType::kInt8);
    const QParamsTensor one = {whole.scales, whole.zero_points, {1, 1}};
    expect_codes<std::int8_t>({values, {1, n}}, one, DType::kInt8, expected);
    expect_codes<std::int8_t>({values, {n, 1}}, one, DType::kInt8, expected);
  }
}

// ---- linear_q

template <typename Code>
std::vector<Code> linear_q_codes(const Tensor<float>& x, const Tensor<float>& scale,
                                 const Tensor<float>& zero_point, DType dtype, std::size_t count) {
  std::vector<Code> codes(count);
  EXPECT_EQ(linear_q<Code>(x.view(), scale.view(), zero_point.view(), dtype, codes), Status::kOk);
  return codes;
}

template <typename Code>
void expect_linear_q(const Tensor<float>& x, const Tensor<float>& scale,
                     const Tensor<float>& zero_point, DType dtype,
                     const std::vector<Code>& expected) {
  EXPECT_TRUE(same(linear_q_codes<Code>(x, scale, zero_point, dtype, expected.size()), expected));
}

TEST(LinearQ, MatchesTheNotebooks) {
  expect_linear_q<std::int8_t>(kNotebook, scalar(3.5F), scalar(-70.0F), DType::kInt8,
                               {-15, -74, 127, -44, 14, -123, -70, 126, 0});
}

TEST(LinearQ, AddsAFractionalZeroPoint) {
  expect_linear_q<std::int8_t>(vector_of<float>({0.0F, 1.0F, 2.0F}), scalar(1.0F), scalar(0.5F),
                               DType::kInt8, {0, 2, 2});
}

TEST(LinearQ, CastsNanTo0) {
  const Tensor<float> x = scalar(kNan);
  expect_linear_q<std::int8_t>(x, scalar(1.0F), scalar(7.0F), DType::kInt8, {0});
  expect_linear_q<std::uint8_t>(x, scalar(1.0F), scalar(7.0F), DType::kUint8, {0});
  expect_linear_q<std::int16_t>(x, scalar(1.0F), scalar(7.0F), DType::kInt16, {0});
  expect_linear_q<std::uint16_t>(x, scalar(1.0F), scalar(7.0F), DType::kUint16, {0});
}

TEST(LinearQ, CastsNanToTheSmallestInt32) {
  expect_linear_q<std::int32_t>(scalar(kNan), scalar(1.0F), scalar(7.0F), DType::kInt32,
                                {INT32_MIN});
}

TEST(LinearQ, WrapsInt32FromTwoToThe31On) {
  expect_linear_q<std::int32_t>(
      vector_of<float>({2147483520.0F, 2147483648.0F, 1e30F, kInfinity, -2147483648.0F, -1e30F}),
      scalar(1.0F), scalar(0.0F), DType::kInt32,
      {2147483520, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN});
}

TEST(LinearQ, ValidatesNoScale) {
  const Tensor<float> x = vector_of<float>({1.0F, -1.0F, 0.0F});
  const Tensor<float> zero_point = scalar(5.0F);
  expect_linear_q<std::int8_t>(x, scalar(0.0F), zero_point, DType::kInt8, {127, -128, 0});
  expect_linear_q<std::int8_t>(x, scalar(-0.25F), zero_point, DType::kInt8, {1, 9, 5});
  expect_linear_q<std::int8_t>(x, scalar(kInfinity), zero_point, DType::kInt8, {5, 5, 5});
  expect_linear_q<std::int8_t>(x, scalar(kNan), zero_point, DType::kInt8, {0, 0, 0});
}

TEST(LinearQ, ValidatesNoZeroPoint) {
  const Tensor<float> x = scalar(1.0F);
  expect_linear_q<std::int8_t>(x, scalar(1.0F), scalar(1000.0F), DType::kInt8, {127});
  expect_linear_q<std::uint8_t>(x, scalar(1.0F), scalar(-1000.0F), DType::kUint8, {0});
  expect_linear_q<std::int8_t>(x, scalar(1.0F), scalar(kNan), DType::kInt8, {0});
}

// Zero points around -1.5 * 2^23, which cancels the rounding constant of the 8-bit kernels; the
// next float bits there are those of the largest codes.
TEST(LinearQ, GivesTheSmallestCodeWhereTheZeroPointIsFarBelow) {
  const Tensor<float> x = vector_of(std::vector<float>(64, 0.0F));
  for (const float zero_point : {-12582000.0F, -12582913.0F, -20000000.0F, -25165820.0F, -1e30F}) {
    expect_linear_q<std::int8_t>(x, scalar(1.0F), scalar(zero_point), DType::kInt8,
                                 std::vector<std::int8_t>(64, -128));
    expect_linear_q<std::uint8_t>(x, scalar(1.0F), scalar(zero_point), DType::kUint8,
                                  std::vector<std::uint8_t>(64, 0));
  }
}

TEST(LinearQ, MayGiveAResultLargerThanTheTensor) {
  const Tensor<float> x = {{1, 2, 3}, {3}};
  const Tensor<float> scale = {{1.0F, 0.5F}, {2, 1}};
  const Tensor<float> zero_point = {{0.0F, 10.0F}, {2, 1, 1}};
  expect_linear_q<std::int8_t>(x, scale, zero_point, DType::kInt8,
                               {1, 2, 3, 2, 4, 6, 11, 12, 13, 12, 14, 16});
}

TEST(LinearQ, LeavesCodesUntouchedOnShapeMismatch) {
  const Tensor<float> x = {{1, 2, 3}, {3}};
  const auto expect_mismatch = [](const Tensor<float>& x, const Tensor<float>& scale,
                                  const Tensor<float>& zero_point, std::size_t count) {
    Output<std::int8_t> codes(count);
    EXPECT_EQ(linear_q<std::int8_t>(x.view(), scale.view(), zero_point.view(), DType::kInt8,
                                    codes.span()),
              Status::kShapeMismatch);
    EXPECT_TRUE(codes.untouched());
  };
  expect_mismatch(x, vector_of<float>({1, 1}), scalar(0.0F), 3);
  expect_mismatch(x, scalar(1.0F), vector_of<float>({1, 1}), 3);
  expect_mismatch(x, scalar(1.0F), scalar(0.0F), 4);
  expect_mismatch(x, {{1.0F, 1.0F}, {2, 1}}, scalar(0.0F), 3);
  expect_mismatch({{1, 2, 3}, {4}}, scalar(1.0F), scalar(0.0F), 3);
  expect_mismatch(x, {{1, 1}, {}}, scalar(0.0F), 3);
  expect_mismatch(x, scalar(1.0F), {{}, {1}}, 3);
}

TEST(LinearQ, LeavesCodesUntouchedOnSizeOverflow) {
  const Tensor<float> x = {std::vector<float>(65536), {65536, 1}};
  const Tensor<float> scale = {std::vector<float>(65536), {65536}};
  Output<std::int8_t> codes(1);
  EXPECT_EQ(linear_q<std::int8_t>(x.view(), scale.view(), scalar(0.0F).view(), DType::kInt8,
                                  codes.span()),
            Status::kSizeOverflow);
  EXPECT_TRUE(codes.untouched());
}

template <typename Code>
void expect_linear_q_index_by_index(DType dtype, Random& random) {
  const DTypeInfo info = dtype_info(dtype);
  const ShapeVector full = random_shape(random);
  const Tensor<float> x = random_tensor(random_operand(full, random), random);
  Tensor<float> scale = {{}, random_operand(full, random)};
  Tensor<float> zero_point = {{}, random_operand(full, random)};
  for (std::size_t i = 0; i < count_of(scale.shape); ++i) {
    scale.values.push_back(random.below(8) == 0 ? random.any_float() : random.spread(-8, 4));
  }
  for (std::size_t i = 0; i < count_of(zero_point.shape); ++i) {
    zero_point.values.push_back(random.below(8) == 0 ? random.any_float()
                                                     : random.uniform(-200.0F, 200.0F));
  }
  const auto result = broadcast_shapes({x.shape, scale.shape, zero_point.shape});
  ASSERT_TRUE(result);
  std::vector<Code> expected;
  for (std::size_t i = 0; i < count_of(*result); ++i) {
    expected.push_back(reference::linear_q_value<Code>(
        x.values[broadcast_position(i, *result, x.shape)],
        scale.values[broadcast_position(i, *result, scale.shape)],
        zero_point.values[broadcast_position(i, *result, zero_point.shape)], info.qmin, info.qmax));
  }
  Output<Code> codes(expected.size());
  ASSERT_EQ(linear_q<Code>(x.view(), scale.view(), zero_point.view(), dtype, codes.span()),
            Status::kOk);
  ASSERT_TRUE(same(codes.values(), expected)) << info.name;
  ASSERT_TRUE(codes.guards_intact());
}

TEST(LinearQ, BroadcastsAllThreeOperandsIndexByIndex) {
  Random random(52);
  for (int round = 0; round < 200; ++round) {
    expect_linear_q_index_by_index<std::int8_t>(DType::kInt4, random);
    expect_linear_q_index_by_index<std::int8_t>(DType::kInt8, random);
    expect_linear_q_index_by_index<std::uint8_t>(DType::kUint2, random);
    expect_linear_q_index_by_index<std::uint8_t>(DType::kUint8, random);
    expect_linear_q_index_by_index<std::int16_t>(DType::kInt16, random);
    expect_linear_q_index_by_index<std::uint16_t>(DType::kUint16, random);
    expect_linear_q_index_by_index<std::int32_t>(DType::kInt32, random);
  }
}

template <typename Code>
void expect_x86_cast_of_bit_patterns(DType dtype) {
  constexpr std::uint64_t kStride = 65521;
  const DTypeInfo info = dtype_info(dtype);
  std::vector<float> values;
  for (std::uint64_t pattern = 0; pattern <= UINT32_MAX; pattern += kStride) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(pattern)));
  }
  for (const float scale : {1.0F, 3.5F, 1e-6F}) {
    std::vector<Code> expected(values.size());
    std::transform(values.begin(), values.end(), expected.begin(), [&](float value) {
      return reference::linear_q_value<Code>(value, scale, 3.0F, info.qmin, info.qmax);
    });
    expect_linear_q<Code>(vector_of(values), scalar(scale), scalar(3.0F), dtype, expected);
  }
}

TEST(LinearQ, CastsAllBitPatternsAsX86Does) {
  expect_x86_cast_of_bit_patterns<std::int8_t>(DType::kInt8);
  expect_x86_cast_of_bit_patterns<std::uint8_t>(DType::kUint8);
  expect_x86_cast_of_bit_patterns<std::int16_t>(DType::kInt16);
  expect_x86_cast_of_bit_patterns<std::uint16_t>(DType::kUint16);
  expect_x86_cast_of_bit_patterns<std::int32_t>(DType::kInt32);
}

}  // namespace
}  // namespace zeropoint
