#include "zeropoint/dequantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "compare.h"
#include "reference/dequantize_f32.h"
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
using testing::random_codes;
using testing::random_operand;
using testing::random_shape;
using testing::same;
using testing::scalar;
using testing::ShapeVector;
using testing::Tensor;
using testing::vector_of;

template <typename Code>
void expect_values(const Tensor<Code>& codes, const QParamsTensor& qparams, DType dtype,
                   const std::vector<float>& expected) {
  std::vector<float> values(codes.values.size());
  EXPECT_EQ(dequantize<Code>(codes.view(), qparams.view(), dtype, values), Status::kOk);
  EXPECT_TRUE(same(values, expected));
}

template <typename Code>
void expect_refused(const Tensor<Code>& codes, const QParamsTensor& qparams, DType dtype,
                    Status status) {
  Output<float> values(codes.values.size());
  EXPECT_EQ(dequantize<Code>(codes.view(), qparams.view(), dtype, values.span()), status);
  EXPECT_TRUE(values.untouched());
}

const Tensor<std::int8_t> kNotebook = {{-15, -74, 127, -44, 14, -123, -70, 126, 0}, {3, 3}};

// ---- dequantize

TEST(Dequantize, MatchesTheNotebooks) {
  expect_values(kNotebook, per_tensor_qparams(3.5F, -70), DType::kInt8,
                {192.5F, -14.0F, 689.5F, 91.0F, 294.0F, -185.5F, 0.0F, 686.0F, 245.0F});
}

TEST(Dequantize, SubtractsWithoutWrapping) {
  expect_values<std::int8_t>({{127, -128}, {2}}, per_tensor_qparams(1.0F, -128), DType::kInt8,
                             {255.0F, 0.0F});
  expect_values<std::uint8_t>({{0, 255}, {2}}, per_tensor_qparams(1.0F, 255), DType::kUint8,
                              {-255.0F, 0.0F});
  expect_values<std::int32_t>({{INT32_MAX, INT32_MIN}, {2}}, per_tensor_qparams(1.0F, INT32_MIN),
                              DType::kInt32, {4294967296.0F, 0.0F});
}

TEST(Dequantize, RoundsInt32CodesAndZeroPointsToFloat32First) {
  // 2^24 + 1 is rounded to 2^24 on either side of the subtraction.
  expect_values<std::int32_t>({{16777217, 16777219}, {2}}, per_tensor_qparams(1.0F, 0),
                              DType::kInt32, {16777216.0F, 16777220.0F});
  expect_values<std::int32_t>({{16777218}, {1}}, per_tensor_qparams(1.0F, 16777217), DType::kInt32,
                              {2.0F});
}

TEST(Dequantize, GivesPositiveZeroForTheZeroPoint) {
  expect_values<std::int8_t>({{-7, 5}, {2}}, {{0.1F, 3.0F}, {-7, 5}, {2}}, DType::kInt8,
                             {0.0F, 0.0F});
}

TEST(Dequantize, TakesTensorsOfAnyShape) {
  expect_values<std::int8_t>(scalar<std::int8_t>(4), per_tensor_qparams(0.5F, 0), DType::kInt8,
                             {2.0F});
  expect_values<std::int8_t>({{}, {3, 0}}, per_tensor_qparams(0.5F, 0), DType::kInt8, {});
}

TEST(Dequantize, TakesQParamsPerChannelAndPerGroup) {
  const Tensor<std::int8_t> codes = {{1, 2, 3, 4, 5, 6}, {2, 3}};
  expect_values<std::int8_t>(codes, {{1.0F, 0.5F}, {0, 2}, {2, 1}}, DType::kInt8,
                             {1.0F, 2.0F, 3.0F, 1.0F, 1.5F, 2.0F});
  expect_values<std::int8_t>(codes, {{1.0F, 0.5F, 2.0F}, {0, 2, 1}, {3}}, DType::kInt8,
                             {1.0F, 0.0F, 4.0F, 4.0F, 1.5F, 10.0F});
  expect_values<std::int8_t>({codes.values, {3, 2}}, {{1.0F, 0.5F, 2.0F}, {0, 2, 1}, {3, 1}},
                             DType::kInt8, {1.0F, 2.0F, 0.5F, 1.0F, 8.0F, 10.0F});
}

TEST(Dequantize, LeavesValuesUntouchedOnInvalidScale) {
  for (const float scale : {0.0F, -1.0F, kNan, kInfinity}) {
    expect_refused(kNotebook, per_tensor_qparams(scale, 0), DType::kInt8, Status::kInvalidScale);
  }
}

TEST(Dequantize, LeavesValuesUntouchedOnInvalidZeroPoint) {
  expect_refused(kNotebook, per_tensor_qparams(1.0F, 128), DType::kInt8, Status::kInvalidZeroPoint);
  expect_refused(kNotebook, per_tensor_qparams(1.0F, -9), DType::kInt4, Status::kInvalidZeroPoint);
}

TEST(Dequantize, LeavesValuesUntouchedOnShapeMismatch) {
  const QParamsTensor per_tensor = per_tensor_qparams(1.0F, 0);
  expect_refused<std::int8_t>({{1, 2}, {3}}, per_tensor, DType::kInt8, Status::kShapeMismatch);
  expect_refused<std::int8_t>(kNotebook, {{1.0F, 1.0F}, {0, 0}, {2, 1}}, DType::kInt8,
                              Status::kShapeMismatch);
  expect_refused<std::int8_t>({{1, 2}, {2}}, {{1.0F, 1.0F}, {0, 0}, {2, 1}}, DType::kInt8,
                              Status::kShapeMismatch);
  expect_refused<std::int8_t>(kNotebook, {{1.0F}, {0, 0}, {}}, DType::kInt8,
                              Status::kShapeMismatch);
  for (const std::size_t n : {0U, 8U, 10U}) {
    Output<float> values(n);
    EXPECT_EQ(
        dequantize<std::int8_t>(kNotebook.view(), per_tensor.view(), DType::kInt8, values.span()),
        Status::kShapeMismatch);
    EXPECT_TRUE(values.untouched());
  }
}

TEST(Dequantize, LeavesValuesUntouchedOnSizeOverflow) {
  expect_refused<std::int8_t>({{}, {65536, 65536}}, per_tensor_qparams(1.0F, 0), DType::kInt8,
                              Status::kSizeOverflow);
}

template <typename Code>
void expect_refuses_other_storages() {
  for (const DType dtype : {DType::kInt4, DType::kInt8, DType::kUint4, DType::kUint8, DType::kInt16,
                            DType::kUint16, DType::kInt32}) {
    if (dtype_info(dtype).storage == kStorageOf<Code>) continue;
    expect_refused<Code>({{1, 2}, {2}}, per_tensor_qparams(1.0F, 0), dtype,
                         Status::kUnsupportedDType);
  }
}

TEST(Dequantize, LeavesValuesUntouchedIfTheCodesAreNotOfTheDTypesStorage) {
  expect_refuses_other_storages<std::int8_t>();
  expect_refuses_other_storages<std::uint8_t>();
  expect_refuses_other_storages<std::int16_t>();
  expect_refuses_other_storages<std::uint16_t>();
  expect_refuses_other_storages<std::int32_t>();
}

QParamsTensor random_qparams(const ShapeVector& shape, DType dtype, Random& random) {
  const DTypeInfo info = dtype_info(dtype);
  QParamsTensor qparams = {{}, {}, shape};
  for (std::size_t i = 0; i < count_of(shape); ++i) {
    qparams.scales.push_back(std::fabs(random.spread(-8, 4)));
    qparams.zero_points.push_back(random.integer(info.qmin, info.qmax));
  }
  return qparams;
}

template <typename Code>
void expect_broadcasts_index_by_index(DType dtype, Random& random) {
  const ShapeVector shape = random_shape(random);
  const Tensor<Code> codes = {random_codes<Code>(count_of(shape), dtype, random), shape};
  const QParamsTensor qparams = random_qparams(random_operand(shape, random), dtype, random);
  std::vector<float> expected;
  for (std::size_t i = 0; i < codes.values.size(); ++i) {
    const std::size_t own = broadcast_position(i, shape, qparams.shape);
    expected.push_back(reference::dequantize_value(
        codes.values[i], {qparams.scales[own], static_cast<float>(qparams.zero_points[own]), 0}));
  }
  Output<float> values(codes.values.size());
  ASSERT_EQ(dequantize<Code>(codes.view(), qparams.view(), dtype, values.span()), Status::kOk);
  ASSERT_TRUE(same(values.values(), expected)) << dtype_info(dtype).name;
  ASSERT_TRUE(values.guards_intact());
}

TEST(Dequantize, BroadcastsQParamsIndexByIndex) {
  Random random(60);
  for (int round = 0; round < 150; ++round) {
    expect_broadcasts_index_by_index<std::int8_t>(DType::kInt2, random);
    expect_broadcasts_index_by_index<std::int8_t>(DType::kInt8, random);
    expect_broadcasts_index_by_index<std::uint8_t>(DType::kUint4, random);
    expect_broadcasts_index_by_index<std::uint8_t>(DType::kUint8, random);
    expect_broadcasts_index_by_index<std::int16_t>(DType::kInt16, random);
    expect_broadcasts_index_by_index<std::uint16_t>(DType::kUint16, random);
    expect_broadcasts_index_by_index<std::int32_t>(DType::kInt32, random);
  }
}

// ---- quantize and dequantize

// With u = 2^-24, for n = largest |x / scale| <= 2^bits: choose_qparams' double scale rounded to
// float32 moves a quotient by n u, the division by n u, adding the zero point by (n + |z|) u; the
// integer is half a step away at most, and one more step if clamping reverts these rounding errors.
// code - zero_point is exact below 2^24, and the product with the scale rounds by n u.
double half_a_step(double scale, int bits) {
  const double n = std::ldexp(1.0, bits) + 1.0;
  return scale * (0.5 + 6.0 * n * 0x1p-24);
}

template <typename Code>
void expect_within_half_a_step(DType dtype, Scheme scheme, Random& random) {
  const float low = random.uniform(-10.0F, 2.0F);
  const std::vector<float> x = random.uniforms(257, low, low + random.uniform(0.1F, 20.0F));
  Range range[1];
  double scale[1];
  std::int32_t zero_point[1];
  ASSERT_EQ(choose_qparams(x, {1, 1, x.size()}, NonFinite::kThrow, {dtype, scheme}, range, scale,
                           zero_point),
            Status::kOk);
  const QParamsTensor qparams = per_tensor_qparams(static_cast<float>(scale[0]), zero_point[0]);
  const Tensor<float> tensor = vector_of(x);
  std::vector<Code> codes(x.size());
  std::vector<float> values(x.size());
  ASSERT_EQ(quantize<Code>(tensor.view(), qparams.view(), dtype, codes), Status::kOk);
  ASSERT_EQ(dequantize<Code>({codes, tensor.shape}, qparams.view(), dtype, values), Status::kOk);
  const double limit = half_a_step(scale[0], dtype_info(dtype).bits);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_LE(std::fabs(double{values[i]} - x[i]), limit)
        << dtype_info(dtype).name << ": " << x[i] << " came back as " << values[i];
  }
}

TEST(Dequantize, RestoresEveryValueWithinHalfAStep) {
  Random random(61);
  for (int round = 0; round < 100; ++round) {
    expect_within_half_a_step<std::int8_t>(DType::kInt2, Scheme::kAffine, random);
    expect_within_half_a_step<std::int8_t>(DType::kInt4, Scheme::kSymmetric, random);
    expect_within_half_a_step<std::int8_t>(DType::kInt4, Scheme::kAffine, random);
    expect_within_half_a_step<std::int8_t>(DType::kInt8, Scheme::kSymmetric, random);
    expect_within_half_a_step<std::int8_t>(DType::kInt8, Scheme::kAffine, random);
    expect_within_half_a_step<std::uint8_t>(DType::kUint2, Scheme::kAffine, random);
    expect_within_half_a_step<std::uint8_t>(DType::kUint4, Scheme::kAffine, random);
    expect_within_half_a_step<std::uint8_t>(DType::kUint8, Scheme::kAffine, random);
    expect_within_half_a_step<std::int16_t>(DType::kInt16, Scheme::kSymmetric, random);
    expect_within_half_a_step<std::int16_t>(DType::kInt16, Scheme::kAffine, random);
    expect_within_half_a_step<std::uint16_t>(DType::kUint16, Scheme::kAffine, random);
  }
}

TEST(Dequantize, RestoresEveryCode) {
  for (const float scale : {1.0F, 0.1F, 3e-5F, 1e30F}) {
    for (const std::int32_t zero_point : {-128, -77, 0, 127}) {
      Tensor<std::int8_t> codes = {{}, {256}};
      for (int code = -128; code <= 127; ++code) {
        codes.values.push_back(static_cast<std::int8_t>(code));
      }
      const QParamsTensor qparams = per_tensor_qparams(scale, zero_point);
      std::vector<float> values(256);
      ASSERT_EQ(dequantize<std::int8_t>(codes.view(), qparams.view(), DType::kInt8, values),
                Status::kOk);
      std::vector<std::int8_t> again(256);
      ASSERT_EQ(quantize<std::int8_t>({values, codes.shape}, qparams.view(), DType::kInt8, again),
                Status::kOk);
      EXPECT_TRUE(same(again, codes.values)) << scale << ", " << zero_point;
    }
  }
}

// ---- linear_dequantization

template <typename Code>
void expect_linear(const Tensor<Code>& codes, const Tensor<float>& scale,
                   const Tensor<float>& zero_point, const std::vector<float>& expected) {
  std::vector<float> values(expected.size());
  EXPECT_EQ(linear_dequantization<Code>(codes.view(), scale.view(), zero_point.view(), values),
            Status::kOk);
  EXPECT_TRUE(same(values, expected));
}

TEST(LinearDequantization, MatchesTheNotebooks) {
  expect_linear(kNotebook, scalar(3.5F), scalar(-70.0F),
                {192.5F, -14.0F, 689.5F, 91.0F, 294.0F, -185.5F, 0.0F, 686.0F, 245.0F});
}

TEST(LinearDequantization, ValidatesNeitherScaleNorZeroPoint) {
  const Tensor<std::int8_t> codes = {{3, 0, -3}, {3}};
  expect_linear(codes, scalar(-2.0F), scalar(0.5F), {-5.0F, 1.0F, 7.0F});
  expect_linear(codes, scalar(0.0F), scalar(0.0F), {0.0F, 0.0F, -0.0F});
  expect_linear(codes, scalar(kInfinity), scalar(0.0F), {kInfinity, kNan, -kInfinity});
  expect_linear(codes, scalar(1.0F), scalar(1000.0F), {-997.0F, -1000.0F, -1003.0F});
  expect_linear(codes, scalar(kNan), scalar(0.0F), {kNan, kNan, kNan});
}

TEST(LinearDequantization, MayGiveAResultLargerThanTheCodes) {
  const Tensor<std::int16_t> codes = {{1, 2}, {2}};
  expect_linear(codes, {{1.0F, 10.0F}, {2, 1}}, scalar(1.0F), {0.0F, 1.0F, 0.0F, 10.0F});
}

TEST(LinearDequantization, LeavesValuesUntouchedOnShapeMismatch) {
  const auto expect_mismatch = [](const Tensor<std::int8_t>& codes, const Tensor<float>& scale,
                                  const Tensor<float>& zero_point, std::size_t count) {
    Output<float> values(count);
    EXPECT_EQ(linear_dequantization<std::int8_t>(codes.view(), scale.view(), zero_point.view(),
                                                 values.span()),
              Status::kShapeMismatch);
    EXPECT_TRUE(values.untouched());
  };
  const Tensor<std::int8_t> codes = {{1, 2, 3}, {3}};
  expect_mismatch(codes, vector_of<float>({1, 1}), scalar(0.0F), 3);
  expect_mismatch(codes, scalar(1.0F), vector_of<float>({1, 1}), 3);
  expect_mismatch(codes, scalar(1.0F), scalar(0.0F), 2);
  expect_mismatch({{1, 2, 3}, {4}}, scalar(1.0F), scalar(0.0F), 3);
  expect_mismatch(codes, {{1, 1}, {}}, scalar(0.0F), 3);
  expect_mismatch(codes, scalar(1.0F), {{}, {1}}, 3);
}

TEST(LinearDequantization, LeavesValuesUntouchedOnSizeOverflow) {
  const Tensor<std::int8_t> codes = {std::vector<std::int8_t>(65536), {65536, 1}};
  const Tensor<float> scale = {std::vector<float>(65536), {65536}};
  Output<float> values(1);
  EXPECT_EQ(linear_dequantization<std::int8_t>(codes.view(), scale.view(), scalar(0.0F).view(),
                                               values.span()),
            Status::kSizeOverflow);
  EXPECT_TRUE(values.untouched());
}

template <typename Code>
void expect_linear_index_by_index(DType dtype, Random& random) {
  const ShapeVector full = random_shape(random);
  const ShapeVector own = random_operand(full, random);
  const Tensor<Code> codes = {random_codes<Code>(count_of(own), dtype, random), own};
  Tensor<float> scale = {{}, random_operand(full, random)};
  Tensor<float> zero_point = {{}, random_operand(full, random)};
  for (std::size_t i = 0; i < count_of(scale.shape); ++i) {
    scale.values.push_back(random.any_float());
  }
  for (std::size_t i = 0; i < count_of(zero_point.shape); ++i) {
    zero_point.values.push_back(random.spread(-4, 10));
  }
  const auto result = broadcast_shapes({codes.shape, scale.shape, zero_point.shape});
  ASSERT_TRUE(result);
  std::vector<float> expected;
  for (std::size_t i = 0; i < count_of(*result); ++i) {
    expected.push_back(reference::dequantize_value(
        codes.values[broadcast_position(i, *result, codes.shape)],
        {scale.values[broadcast_position(i, *result, scale.shape)],
         zero_point.values[broadcast_position(i, *result, zero_point.shape)], 0}));
  }
  Output<float> values(expected.size());
  ASSERT_EQ(
      linear_dequantization<Code>(codes.view(), scale.view(), zero_point.view(), values.span()),
      Status::kOk);
  ASSERT_TRUE(same(values.values(), expected));
  ASSERT_TRUE(values.guards_intact());
}

TEST(LinearDequantization, BroadcastsAllThreeOperandsIndexByIndex) {
  Random random(62);
  for (int round = 0; round < 200; ++round) {
    expect_linear_index_by_index<std::int8_t>(DType::kInt8, random);
    expect_linear_index_by_index<std::uint8_t>(DType::kUint8, random);
    expect_linear_index_by_index<std::int16_t>(DType::kInt16, random);
    expect_linear_index_by_index<std::uint16_t>(DType::kUint16, random);
    expect_linear_index_by_index<std::int32_t>(DType::kInt32, random);
  }
}

// ---- fake_quantize

void expect_fake_refused(const Tensor<float>& x, const QParamsTensor& qparams, DType dtype,
                         Status status) {
  Output<float> values(x.values.size());
  EXPECT_EQ(fake_quantize(x.view(), qparams.view(), dtype, values.span()), status);
  EXPECT_TRUE(values.untouched());
}

TEST(FakeQuantize, GivesTheDequantizedCodes) {
  const Tensor<float> x = vector_of<float>({0.3F, 1.3F, -700.0F, kNan, kInfinity});
  std::vector<float> values(5);
  ASSERT_EQ(fake_quantize(x.view(), per_tensor_qparams(0.5F, 2).view(), DType::kInt8, values),
            Status::kOk);
  EXPECT_TRUE(same(values, std::vector<float>{0.5F, 1.5F, -65.0F, 0.0F, 62.5F}));
}

TEST(FakeQuantize, LeavesValuesUntouchedOnInvalidScale) {
  for (const float scale : {0.0F, -1.0F, kNan, kInfinity}) {
    expect_fake_refused(scalar(1.0F), per_tensor_qparams(scale, 0), DType::kInt8,
                        Status::kInvalidScale);
  }
}

TEST(FakeQuantize, LeavesValuesUntouchedOnInvalidZeroPoint) {
  expect_fake_refused(scalar(1.0F), per_tensor_qparams(1.0F, 256), DType::kUint8,
                      Status::kInvalidZeroPoint);
}

TEST(FakeQuantize, LeavesValuesUntouchedOnShapeMismatch) {
  expect_fake_refused({{1.0F, 2.0F}, {3}}, per_tensor_qparams(1.0F, 0), DType::kInt8,
                      Status::kShapeMismatch);
  expect_fake_refused({{1.0F, 2.0F}, {2}}, {{1.0F, 1.0F}, {0, 0}, {2, 1}}, DType::kInt8,
                      Status::kShapeMismatch);
  Output<float> values(3);
  EXPECT_EQ(fake_quantize(vector_of<float>({1, 2}).view(), per_tensor_qparams(1.0F, 0).view(),
                          DType::kInt8, values.span()),
            Status::kShapeMismatch);
  EXPECT_TRUE(values.untouched());
}

TEST(FakeQuantize, LeavesValuesUntouchedOnSizeOverflow) {
  expect_fake_refused({{}, {65536, 65536}}, per_tensor_qparams(1.0F, 0), DType::kInt8,
                      Status::kSizeOverflow);
}

template <typename Code>
void expect_fake_is_both(DType dtype, Random& random) {
  Tensor<float> x = {{}, random_shape(random)};
  x.values = random.uniforms(count_of(x.shape), -300.0F, 300.0F);
  for (float& value : x.values) {
    if (random.below(10) == 0) value = kSpecialFloats[random.below(kSpecialFloats.size())];
    if (random.below(10) == 0) value = random.any_float();
  }
  const QParamsTensor qparams = random_qparams(random_operand(x.shape, random), dtype, random);
  std::vector<Code> codes(x.values.size());
  std::vector<float> expected(x.values.size());
  ASSERT_EQ(quantize<Code>(x.view(), qparams.view(), dtype, codes), Status::kOk);
  ASSERT_EQ(dequantize<Code>({codes, x.shape}, qparams.view(), dtype, expected), Status::kOk);

  Output<float> values(x.values.size());
  ASSERT_EQ(fake_quantize(x.view(), qparams.view(), dtype, values.span()), Status::kOk);
  ASSERT_TRUE(same(values.values(), expected)) << dtype_info(dtype).name;
  ASSERT_TRUE(values.guards_intact());

  ASSERT_EQ(fake_quantize(x.view(), qparams.view(), dtype, x.values), Status::kOk);
  ASSERT_TRUE(same(x.values, expected)) << dtype_info(dtype).name << " in place";
}

TEST(FakeQuantize, IsBitForBitDequantizeOfQuantizeAlsoInPlace) {
  Random random(63);
  for (int round = 0; round < 150; ++round) {
    expect_fake_is_both<std::int8_t>(DType::kInt2, random);
    expect_fake_is_both<std::int8_t>(DType::kInt4, random);
    expect_fake_is_both<std::int8_t>(DType::kInt8, random);
    expect_fake_is_both<std::uint8_t>(DType::kUint2, random);
    expect_fake_is_both<std::uint8_t>(DType::kUint4, random);
    expect_fake_is_both<std::uint8_t>(DType::kUint8, random);
    expect_fake_is_both<std::int16_t>(DType::kInt16, random);
    expect_fake_is_both<std::uint16_t>(DType::kUint16, random);
    expect_fake_is_both<std::int32_t>(DType::kInt32, random);
  }
}

}  // namespace
}  // namespace zeropoint
