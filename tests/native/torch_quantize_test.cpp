// The torch family of quantize.h and dequantize.h. PyTorch's own results are in
// torch_vectors_test.cpp.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "compare.h"
#include "tensors.h"
#include "zeropoint/dequantize.h"
#include "zeropoint/quantize.h"

namespace zeropoint {
namespace {

using testing::count_of;
using testing::kInfinity;
using testing::kNan;
using testing::kSmallest;
using testing::Output;
using testing::Random;
using testing::random_codes;
using testing::random_shape;
using testing::same;
using testing::ShapeVector;
using testing::Tensor;
using testing::with_code;

// ---- quantize_per_channel

// The first channel's scale has no finite reciprocal; the outer axis repeats the channels.
TEST(QuantizePerChannel, AppliesTheRuleOfEachChannelIfOneScaleIs0) {
  const Tensor<float> x = {{kInfinity, 1.0F, kInfinity, 2.0F, kInfinity, 3.0F,  //
                            kInfinity, 4.0F, kInfinity, 5.0F, kInfinity, 6.0F},
                           {2, 3, 2}};
  const std::vector<double> scales = {1.0, 0.0, 0.5};
  const std::vector<std::int32_t> zero_points = {1, 2, 3};
  Output<std::int8_t> codes(12);
  ASSERT_EQ(quantize_per_channel(x.view(), scales, zero_points, 1, DType::kQint8,
                                 Overflow::kSaturate, codes.span()),
            Status::kOk);
  EXPECT_TRUE(same(codes.values(), std::vector<std::int8_t>{127, 2, -128, -128, 127, 9,  //
                                                            127, 5, -128, -128, 127, 15}));
}

// ---- dequantize_per_tensor

// 2^24 + 1 steps count as 2^24 before they are scaled, not after.
TEST(DequantizePerTensor, RoundsInt32StepsToFloat32BeforeScaling) {
  const std::vector<std::int32_t> codes = {16777217, -16777217};
  std::vector<float> values(2);
  ASSERT_EQ(dequantize_per_tensor<std::int32_t>(codes, 3.0, 0, values), Status::kOk);
  EXPECT_EQ(values, (std::vector<float>{50331648.0F, -50331648.0F}));
}

TEST(DequantizePerTensor, SubtractsInInt32WhichWraps) {
  const std::vector<std::int32_t> codes = {INT32_MIN, INT32_MAX};
  std::vector<float> values(2);
  ASSERT_EQ(dequantize_per_tensor<std::int32_t>(codes, 1.0, 1, values), Status::kOk);
  EXPECT_EQ(values, (std::vector<float>{2147483648.0F, 2147483648.0F}));
}

// Without a zero point another loop is used.
TEST(DequantizePerTensor, MatchesTheFormulaForInt32) {
  Random random(63);
  const std::vector<std::int32_t> codes = random_codes<std::int32_t>(75, DType::kQint32, random);
  for (const float scale : {0.1F, -3.5F, 0.0F, kSmallest, 1e30F, kInfinity, kNan}) {
    for (const std::int32_t zero_point : {0, 1, -70, INT32_MIN}) {
      std::vector<float> expected;
      for (const std::int32_t code : codes) {
        const auto steps = static_cast<std::int32_t>(static_cast<std::uint32_t>(code) -
                                                     static_cast<std::uint32_t>(zero_point));
        expected.push_back(scale * static_cast<float>(steps));
      }
      Output<float> values(codes.size());
      ASSERT_EQ(dequantize_per_tensor<std::int32_t>(codes, scale, zero_point, values.span()),
                Status::kOk);
      EXPECT_TRUE(same(values.values(), expected)) << scale << ", " << zero_point;
      EXPECT_TRUE(values.guards_intact());
    }
  }
}

// ---- dequantize_per_channel

// @param scale_of  gives the scale of each channel
template <typename Code>
void expect_channels(DType dtype, const ShapeVector& shape, std::size_t axis,
                     const std::function<double()>& scale_of, Random& random) {
  const Tensor<Code> codes = {random_codes<Code>(count_of(shape), dtype, random), shape};
  std::vector<double> scales(shape[axis]);
  for (double& scale : scales) scale = scale_of();
  const auto zero_points = random_codes<Code>(shape[axis], dtype, random);
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  std::vector<float> expected;
  for (std::size_t i = 0; i < codes.values.size(); ++i) {
    const std::size_t channel = i / inner % shape[axis];
    const float steps =
        static_cast<float>(codes.values[i]) - static_cast<float>(zero_points[channel]);
    expected.push_back(static_cast<float>(double{steps} * scales[channel]));
  }
  Output<float> values(expected.size());
  ASSERT_EQ(
      dequantize_per_channel<Code>(
          codes.view(), scales, std::vector<std::int32_t>(zero_points.begin(), zero_points.end()),
          static_cast<std::int32_t>(axis), values.span()),
      Status::kOk);
  ASSERT_TRUE(same(values.values(), expected));
  ASSERT_TRUE(values.guards_intact());
}

void expect_all_channels(const std::function<double()>& scale_of, Random& random) {
  for (int round = 0; round < 100; ++round) {
    const ShapeVector shape = random_shape(random);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      expect_channels<std::int8_t>(DType::kQint8, shape, axis, scale_of, random);
      expect_channels<std::uint8_t>(DType::kQuint8, shape, axis, scale_of, random);
      expect_channels<std::int32_t>(DType::kQint32, shape, axis, scale_of, random);
    }
  }
}

TEST(DequantizePerChannel, RoundsProductsOfFloat32ScalesOnce) {
  Random random(64);
  expect_all_channels([&] { return double{random.any_float()}; }, random);
}

TEST(DequantizePerChannel, RoundsProductsOfWiderScalesToDoubleThenToFloat32) {
  Random random(65);
  expect_all_channels(
      [&] { return double{random.spread(-126, 120)} * (1.0 + random.bits() * 0x1p-40); }, random);
}

TEST(DequantizePerChannel, TakesScalesThatFloat32CannotHold) {
  Random random(66);
  using Doubles = std::numeric_limits<double>;
  for (const double scale : {1e300, -1e300, 1e-300, 1e-45, Doubles::infinity(),
                             Doubles::quiet_NaN(), Doubles::denorm_min(), 0.0}) {
    // One scale of two is exact in float32.
    bool is_first = true;
    expect_channels<std::int8_t>(
        DType::kQint8, {2, 40}, 0,
        [&] {
          const double own = is_first ? 0.5 : scale;
          is_first = false;
          return own;
        },
        random);
  }
}

// ---- fake_quantize_per_channel_float_qparams

// NaN becomes the zero point, rounded and clamped to the codes.
TEST(FakeQuantizePerChannelFloatQParams, ClampsAndRoundsTheCodeOfNan) {
  const Tensor<float> x = {std::vector<float>(6, kNan), {6}};
  const std::vector<float> scales(6, 1.0F);
  const std::vector<float> zero_points = {300.0F, 3e9F, -7.0F, 3.5F, 100.0F, kNan};
  std::vector<float> y(6);
  ASSERT_EQ(fake_quantize_per_channel_float_qparams(x.view(), scales, zero_points, 0, {-5, 100},
                                                    Overflow::kSaturate, y),
            Status::kOk);
  // (code - zero_point) * scale, of the codes 100, 100, -5, 4, 100 and -5.
  EXPECT_TRUE(same(y, std::vector<float>{-200.0F, -3e9F + 100.0F, 2.0F, 0.5F, 0.0F, kNan}));
}

// As torch.fake_quantize_per_channel_affine gives them: sums are clamped as int64, where
// torch.quantize_per_channel truncates them to 32 bits first.
TEST(FakeQuantizePerChannelFloatQParams, ClampsValuesBeyondInt32AsPyTorchDoes) {
  const Tensor<float> x = {
      {1e30F, -1e30F, kInfinity, -kInfinity, kNan, 3e9F, -3e9F, 1e18F, 1e19F, 4294967296.0F},
      {1, 10}};
  const std::vector<float> scales = {0.5F};
  const std::vector<float> zero_points = {20.25F};
  const auto faked = [&](Overflow overflow) {
    std::vector<float> y(10);
    EXPECT_EQ(fake_quantize_per_channel_float_qparams(x.view(), scales, zero_points, 0, {-74, 258},
                                                      overflow, y),
              Status::kOk);
    return y;
  };
  const float low = -47.125F;
  const float high = 118.875F;
  EXPECT_EQ(faked(Overflow::kTorch),
            (std::vector<float>{low, low, low, low, low, high, low, high, low, high}));
  EXPECT_EQ(faked(Overflow::kSaturate),
            (std::vector<float>{high, low, high, low, -0.125F, high, low, high, high, high}));
}

TEST(FakeQuantizePerChannelFloatQParams, RefusesARangeWithoutCodes) {
  const Tensor<float> x = {{1.0F, 50.0F}, {1, 2}};
  const std::vector<float> scales = {1.0F};
  const std::vector<float> zero_points = {0.25F};
  Output<float> y(2);
  EXPECT_EQ(fake_quantize_per_channel_float_qparams(x.view(), scales, zero_points, 0, {5, -5},
                                                    Overflow::kSaturate, y.span()),
            Status::kInvalidZeroPoint);
  EXPECT_TRUE(y.untouched());
}

// The reciprocal of 0 is infinite, and the sign of the zeros is that of the lowest code.
TEST(FakeQuantizePerChannelFloatQParams, TakesAScaleOfZeroUnchanged) {
  const Tensor<float> x = {{1.0F, 50.0F, -1.0F, 0.0F}, {1, 4}};
  const std::vector<float> scales = {0.0F};
  const std::vector<float> zero_points = {20.25F};
  for (const Overflow overflow : {Overflow::kTorch, Overflow::kSaturate}) {
    std::vector<float> y(4);
    ASSERT_EQ(fake_quantize_per_channel_float_qparams(x.view(), scales, zero_points, 0, {0, 255},
                                                      overflow, y),
              Status::kOk);
    EXPECT_TRUE(same(y, std::vector<float>{-0.0F, -0.0F, -0.0F, -0.0F}));
  }
}

// ---- refused arguments, and empty tensors

// Arguments valid for all functions per channel; functions per tensor use the first scale.
struct Arguments {
  ShapeVector shape = {2, 3};
  std::size_t size = 6;
  std::size_t out_size = 6;
  std::size_t scales = 3;
  std::size_t zero_points = 3;
  std::int32_t zero_point = 0;
  std::int32_t axis = 1;
  DType dtype = DType::kQint8;
};

// Statuses of each function; outputs may be written only on kOk.
struct Function {
  const char* name;
  bool has_channels;
  bool has_zero_point_codes;
  bool has_dtype;
  std::function<Status(const Arguments&)> run;
};

template <typename Code>
Status written_on_ok(std::size_t size, const std::function<Status(std::span<Code>)>& run) {
  Output<Code> out(size);
  const Status status = run(out.span());
  EXPECT_TRUE(status == Status::kOk || out.untouched());
  EXPECT_TRUE(out.guards_intact());
  return status;
}

template <typename ZeroPoint>
std::vector<ZeroPoint> zero_points_of(const Arguments& a) {
  return std::vector<ZeroPoint>(a.zero_points, static_cast<ZeroPoint>(a.zero_point));
}

std::vector<Function> functions() {
  const auto floats = [](const Arguments& a) { return std::vector<float>(a.size, 1.0F); };
  const auto scales = [](const Arguments& a) { return std::vector<float>(a.scales, 0.5F); };
  const auto doubles = [](const Arguments& a) { return std::vector<double>(a.scales, 0.5); };
  constexpr auto kRule = Overflow::kSaturate;
  constexpr QuantRange kRange{-128, 127};
  // Codes to quantize to, of the dtype, and codes to dequantize.
  const auto to_codes = [](const Arguments& a, auto run) {
    return with_code(a.dtype, [&](auto code) {
      using Code = decltype(code);
      return written_on_ok<Code>(a.out_size, [&](std::span<Code> out) { return run(out); });
    });
  };
  const auto to_values = [](const Arguments& a, auto run) {
    return with_code(a.dtype, [&](auto code) {
      const std::vector<decltype(code)> codes(a.size, 1);
      return written_on_ok<float>(a.out_size, [&](std::span<float> out) {
        return run(AnyCodes<const void>(std::span(codes)), out);
      });
    });
  };
  const auto faked = [](const Arguments& a, auto run) {
    return written_on_ok<float>(a.out_size, [&](std::span<float> out) { return run(out); });
  };
  return {
      {"quantize_per_tensor", false, true, true,
       [=](const Arguments& a) {
         return to_codes(a, [&](auto out) {
           return quantize_per_tensor(floats(a), 0.5, a.zero_point, a.dtype, kRule, out);
         });
       }},
      {"quantize_per_channel", true, true, true,
       [=](const Arguments& a) {
         return to_codes(a, [&](auto out) {
           return quantize_per_channel({floats(a), a.shape}, doubles(a),
                                       zero_points_of<std::int32_t>(a), a.axis, a.dtype, kRule,
                                       out);
         });
       }},
      {"quantize_per_channel_float_qparams", true, false, true,
       [=](const Arguments& a) {
         return to_codes(a, [&](auto out) {
           return quantize_per_channel_float_qparams({floats(a), a.shape}, scales(a),
                                                     zero_points_of<float>(a), a.axis, a.dtype,
                                                     kRule, out);
         });
       }},
      {"dequantize_per_tensor", false, false, true,
       [=](const Arguments& a) {
         return to_values(a, [&](const auto& codes, auto out) {
           return dequantize_per_tensor(codes, 0.5, a.zero_point, out);
         });
       }},
      {"dequantize_per_channel", true, false, true,
       [=](const Arguments& a) {
         return to_values(a, [&](const auto& codes, auto out) {
           return dequantize_per_channel(codes, a.shape, doubles(a),
                                         zero_points_of<std::int32_t>(a), a.axis, out);
         });
       }},
      {"dequantize_per_channel_float_qparams", true, false, true,
       [=](const Arguments& a) {
         return to_values(a, [&](const auto& codes, auto out) {
           return dequantize_per_channel_float_qparams(codes, a.shape, scales(a),
                                                       zero_points_of<float>(a), a.axis, out);
         });
       }},
      {"fake_quantize_per_tensor", false, true, false,
       [=](const Arguments& a) {
         return faked(a, [&](auto out) {
           return fake_quantize_per_tensor(floats(a), 0.5, a.zero_point, kRange, kRule, out);
         });
       }},
      {"fake_quantize_per_channel", true, true, false,
       [=](const Arguments& a) {
         return faked(a, [&](auto out) {
           return fake_quantize_per_channel({floats(a), a.shape}, scales(a),
                                            zero_points_of<std::int32_t>(a), a.axis, kRange, kRule,
                                            out);
         });
       }},
      {"fake_quantize_per_channel_float_qparams", true, false, false,
       [=](const Arguments& a) {
         return faked(a, [&](auto out) {
           return fake_quantize_per_channel_float_qparams({floats(a), a.shape}, scales(a),
                                                          zero_points_of<float>(a), a.axis, kRange,
                                                          kRule, out);
         });
       }},
  };
}

TEST(TorchFamily, TakesArgumentsThatFit) {
  for (const Function& function : functions()) {
    EXPECT_EQ(function.run({}), Status::kOk) << function.name;
  }
}

TEST(TorchFamily, TakesEmptyTensors) {
  Arguments empty;
  empty.size = empty.out_size = 0;
  for (const ShapeVector& shape : {ShapeVector{0, 3}, ShapeVector{2, 0}}) {
    empty.shape = shape;
    empty.scales = empty.zero_points = shape[1];
    for (const Function& function : functions()) {
      EXPECT_EQ(function.run(empty), Status::kOk) << function.name;
    }
  }
}

TEST(TorchFamily, RefusesResultsOfAnotherLength) {
  Arguments wrong;
  for (const std::size_t size : {0U, 5U, 7U}) {
    wrong.out_size = size;
    for (const Function& function : functions()) {
      EXPECT_EQ(function.run(wrong), Status::kShapeMismatch) << function.name;
    }
  }
}

TEST(TorchFamily, RefusesDTypesThatAreNotPyTorchsQuantizedOnes) {
  Arguments wrong;
  // 16-bit types: codes to dequantize have a storage type but no dtype, so others are accepted
  // there.
  for (const DType dtype : {DType::kInt16, DType::kUint16}) {
    wrong.dtype = dtype;
    for (const Function& function : functions()) {
      if (!function.has_dtype) continue;
      EXPECT_EQ(function.run(wrong), Status::kUnsupportedDType) << function.name;
    }
  }
  std::vector<std::int8_t> codes(1);
  EXPECT_EQ(quantize_per_tensor<std::int8_t>(std::vector<float>(1), 1.0, 0, DType::kInt8,
                                             Overflow::kSaturate, codes),
            Status::kUnsupportedDType);
}

TEST(TorchFamily, RefusesCodesOfAnotherStorageThanTheDTypes) {
  const std::vector<float> x(1);
  Output<std::uint8_t> codes(1);
  EXPECT_EQ(quantize_per_tensor<std::uint8_t>(x, 1.0, 0, DType::kQint8, Overflow::kSaturate,
                                              codes.span()),
            Status::kUnsupportedDType);
  EXPECT_TRUE(codes.untouched());
}

TEST(TorchFamily, RefusesInt32WithFloatingZeroPoints) {
  Arguments wrong;
  wrong.dtype = DType::kQint32;
  for (const Function& function : functions()) {
    const bool refuses = function.name == std::string_view("quantize_per_channel_float_qparams");
    EXPECT_EQ(function.run(wrong), refuses ? Status::kUnsupportedDType : Status::kOk)
        << function.name;
  }
}

TEST(TorchFamily, RefusesZeroPointsOutsideTheCodes) {
  Arguments wrong;
  for (const std::int32_t zero_point : {-129, 128}) {
    wrong.zero_point = zero_point;
    for (const Function& function : functions()) {
      const Status expected =
          function.has_zero_point_codes ? Status::kInvalidZeroPoint : Status::kOk;
      EXPECT_EQ(function.run(wrong), expected) << function.name;
    }
  }
}

TEST(TorchFamily, RefusesAxesOutsideTheShape) {
  Arguments wrong;
  for (const std::int32_t axis : {-2, -1, 2, INT32_MAX, INT32_MIN}) {
    wrong.axis = axis;
    for (const Function& function : functions()) {
      if (!function.has_channels) continue;
      EXPECT_EQ(function.run(wrong), Status::kInvalidAxis) << function.name << ", " << axis;
    }
  }
}

TEST(TorchFamily, RefusesQParamsOfAnotherNumberOfChannels) {
  Arguments few_scales;
  few_scales.scales = 2;
  Arguments many_zero_points;
  many_zero_points.zero_points = 4;
  Arguments two_of_both;
  two_of_both.scales = two_of_both.zero_points = 2;
  for (const Arguments& wrong : {few_scales, many_zero_points, two_of_both}) {
    for (const Function& function : functions()) {
      if (!function.has_channels) continue;
      EXPECT_EQ(function.run(wrong), Status::kShapeMismatch) << function.name;
    }
  }
}

TEST(TorchFamily, RefusesShapesThatDoNotFitOrCannotBeCounted) {
  Arguments wrong;
  for (const Function& function : functions()) {
    if (!function.has_channels) continue;
    wrong.shape = {2, 2};
    EXPECT_EQ(function.run(wrong), Status::kShapeMismatch) << function.name;
    wrong.shape = {65536, 65536};
    EXPECT_EQ(function.run(wrong), Status::kSizeOverflow) << function.name;
  }
}

}  // namespace
}  // namespace zeropoint
