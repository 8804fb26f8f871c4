// Invalid arguments of linear.h: each is refused, and the output stays untouched.
#include <gtest/gtest.h>

#include <cstdint>
#include <tuple>
#include <vector>

#include "compare.h"
#include "layers.h"
#include "packed.h"
#include "zeropoint/linear.h"

namespace zeropoint {
namespace {

using testing::kBoth;
using testing::kInfinity;
using testing::kNan;
using testing::linear_quantized;
using testing::Output;
using testing::Weights;

/// A layer with replaceable parts, to make any one of them invalid.
struct Call {
  std::size_t m = 2;
  std::size_t k = 4;
  std::size_t n = 3;
  std::size_t x = 8;
  std::size_t w = 12;
  std::size_t bias = 3;
  std::size_t out = 6;
};

void expect_refused(const Call& call, Status status) {
  for (const Accumulate accumulate : kBoth) {
    Output<float> y(call.out);
    EXPECT_EQ(linear(std::vector<float>(call.x), call.m, call.k, std::vector<float>(call.w), call.n,
                     std::vector<float>(call.bias), accumulate, y.span()),
              status);
    EXPECT_TRUE(y.untouched());
    const Weights<std::int8_t> w = {std::vector<std::int8_t>(call.w),
                                    DType::kInt8,
                                    WeightGranularity::kPerTensor,
                                    0,
                                    {1.0F},
                                    {0}};
    EXPECT_EQ(
        linear_quantized<std::int8_t>(std::vector<float>(call.x), call.m, call.k, w.view(), call.n,
                                      std::vector<float>(call.bias), accumulate, y.span()),
        status);
    EXPECT_TRUE(y.untouched());
  }
}

TEST(Linear, LeavesOutputUntouchedOnShapeMismatch) {
  for (const std::size_t x : {0U, 7U, 9U}) {
    Call call;
    call.x = x;
    expect_refused(call, Status::kShapeMismatch);
  }
  for (const std::size_t w : {0U, 11U, 13U}) {
    Call call;
    call.w = w;
    expect_refused(call, Status::kShapeMismatch);
  }
  for (const std::size_t bias : {1U, 2U, 4U}) {
    Call call;
    call.bias = bias;
    expect_refused(call, Status::kShapeMismatch);
  }
  for (const std::size_t out : {0U, 5U, 7U}) {
    Call call;
    call.out = out;
    expect_refused(call, Status::kShapeMismatch);
  }
}

TEST(Linear, LeavesOutputUntouchedOnSizeOverflow) {
  constexpr std::size_t kHalf = 65536;
  expect_refused({kHalf, kHalf, 0, 0, 0, 0, 0}, Status::kSizeOverflow);
  expect_refused({0, kHalf, kHalf, 0, 0, 0, 0}, Status::kSizeOverflow);
  expect_refused({kHalf, 0, kHalf, 0, 0, 0, 0}, Status::kSizeOverflow);
  if constexpr (sizeof(std::size_t) > 4) {
    constexpr std::size_t kTooLong = std::size_t{UINT32_MAX} + 1;
    expect_refused({kTooLong, 0, 0, 0, 0, 0, 0}, Status::kSizeOverflow);
    expect_refused({0, kTooLong, 0, 0, 0, 0, 0}, Status::kSizeOverflow);
    expect_refused({0, 0, kTooLong, 0, 0, 0, 0}, Status::kSizeOverflow);
  }
}

template <typename Code>
void expect_weights_refused(const Weights<Code>& w, Status status) {
  for (const Accumulate accumulate : kBoth) {
    Output<float> y(6);
    EXPECT_EQ(
        linear_quantized<Code>(std::vector<float>(8), 2, 4, w.view(), 3, {}, accumulate, y.span()),
        status);
    EXPECT_TRUE(y.untouched());
  }
}

Weights<std::int8_t> weights_3x4(WeightGranularity granularity, std::size_t group_size,
                                 std::size_t slices) {
  return {std::vector<std::int8_t>(12),
          DType::kInt8,
          granularity,
          group_size,
          std::vector<float>(slices, 1.0F),
          std::vector<std::int32_t>(slices)};
}

TEST(LinearQuantized, LeavesOutputUntouchedOnAWrongNumberOfScales) {
  const auto expect_needs = [](WeightGranularity granularity, std::size_t group_size,
                               std::size_t slices) {
    for (const std::size_t wrong : {std::size_t{0}, slices - 1, slices + 1}) {
      expect_weights_refused(weights_3x4(granularity, group_size, wrong), Status::kShapeMismatch);
    }
    auto w = weights_3x4(granularity, group_size, slices);
    w.zero_points.push_back(0);
    expect_weights_refused(w, Status::kShapeMismatch);
    w.zero_points.resize(slices - 1);
    expect_weights_refused(w, Status::kShapeMismatch);
    w.zero_points.resize(slices);
    std::vector<float> y(6);
    EXPECT_EQ(linear_quantized<std::int8_t>(std::vector<float>(8), 2, 4, w.view(), 3, {},
                                            Accumulate::kExact, y),
              Status::kOk);
  };
  expect_needs(WeightGranularity::kPerTensor, 0, 1);
  expect_needs(WeightGranularity::kPerOutput, 0, 3);
  expect_needs(WeightGranularity::kPerInput, 0, 4);
  expect_needs(WeightGranularity::kPerGroup, 2, 6);
  expect_needs(WeightGranularity::kPerGroup, 4, 3);
  expect_needs(WeightGranularity::kPerGroup, 1, 12);
  expect_needs(WeightGranularity::kPerGroup, 3, 6);
  expect_needs(WeightGranularity::kPerGroup, 5, 3);
}

TEST(LinearQuantized, LeavesOutputUntouchedIfScratchIsTooSmall) {
  testing::AlignedBytes block(0);
  const auto w = weights_3x4(WeightGranularity::kPerTensor, 0, 1);
  ASSERT_EQ(testing::pack(w.view(), 3, 4, block), Status::kOk);
  const std::size_t needed = linear_scratch_size(block.data(), 2);
  const testing::AlignedBytes scratch(needed);
  Output<float> y(6);
  const auto run_with = [&](std::size_t size) {
    return linear(std::vector<float>(8), 2, block.data(), {}, Accumulate::kExact,
                  scratch.span().first(size), y.span());
  };
  for (const std::size_t size : {std::size_t{0}, needed - 1}) {
    EXPECT_EQ(run_with(size), Status::kShapeMismatch);
    EXPECT_TRUE(y.untouched());
  }
  EXPECT_EQ(run_with(needed), Status::kOk);
}

TEST(PackWeight, TakesExactlyPackedWeightSizeBytes) {
  const auto w = weights_3x4(WeightGranularity::kPerTensor, 0, 1);
  const std::size_t size = packed_weight_size({3, 4});
  const testing::AlignedBytes out(size + 1);
  for (const std::size_t wrong : {std::size_t{0}, size - 1, size + 1}) {
    EXPECT_EQ(pack_weight(w.view(), 3, 4, out.span().first(wrong)), Status::kShapeMismatch);
  }
  EXPECT_EQ(pack_weight(w.view(), 3, 4, out.span().first(size)), Status::kOk);
  const auto [n, k] = packed_weight_shape(out.data());
  EXPECT_EQ(n, 3U);
  EXPECT_EQ(k, 4U);
}

TEST(PackedWeightSize, Is0ForShapesThatCannotBePacked) {
  EXPECT_EQ(packed_weight_size({3, 4, DType::kInt16}), 0U);
  EXPECT_EQ(packed_weight_size({3, 4, DType::kInt8, WeightGranularity::kPerGroup, 0}), 0U);
  // The codes alone would take 2^32 bytes or more.
  EXPECT_EQ(packed_weight_size({65536, 65536}), 0U);
  EXPECT_EQ(packed_weight_size({UINT32_MAX, UINT32_MAX}), 0U);
  // A valid shape, but its codes take 2^32 bytes when padded to whole panels.
  EXPECT_EQ(packed_weight_size({65535, 65535}), 0U);
  // Too many elements for a shape, although the packed codes would fit.
  EXPECT_EQ(packed_weight_size({131072, 65536, DType::kInt2}), 0U);
  // No outputs, but a row of activations would take more than 2^32 bytes.
  EXPECT_EQ(packed_weight_size({0, UINT32_MAX}), 0U);
  EXPECT_EQ(packed_weight_size({0, UINT32_MAX, DType::kInt2, WeightGranularity::kPerGroup, 1}), 0U);
  if constexpr (sizeof(std::size_t) > 4) {
    EXPECT_EQ(packed_weight_size({std::size_t{UINT32_MAX} + 1, 1}), 0U);
    EXPECT_EQ(packed_weight_size({1, std::size_t{UINT32_MAX} + 1}), 0U);
    // A group size with 32 low bits of 0.
    EXPECT_EQ(packed_weight_size(
                  {1, 0, DType::kInt8, WeightGranularity::kPerGroup, std::size_t{UINT32_MAX} + 1}),
              0U);
  }
}

TEST(PackedWeightSize, MatchesTheHeadersFormula) {
  constexpr std::size_t kHeader = (sizeof(PackedLayout) + 15) / 16 * 16;
  EXPECT_EQ(packed_weight_size({4096, 4096, DType::kInt4, WeightGranularity::kPerGroup, 32}),
            kHeader + 4096UL * 4096 / 2 + 512UL * (96 + 128UL * (64 + 32)));
  // A group of all inputs, in five pieces; codes for 16 outputs and 4100 inputs.
  EXPECT_EQ(packed_weight_size({9, 4099}), kHeader + 16UL * 4100 + 2UL * (96 + 64 + 5UL * 32));
  // Groups of 32, 32 and 6 inputs; the last one is padded to 8.
  EXPECT_EQ(packed_weight_size({8, 70, DType::kInt4, WeightGranularity::kPerGroup, 32}),
            kHeader + 8UL * 72 / 2 + 96 + 3UL * (64 + 32));
  EXPECT_EQ(packed_weight_size({8, 64, DType::kInt2, WeightGranularity::kPerInput}),
            kHeader + 8UL * 64 / 4 + 96 + 64 + 32 + 64UL * 8);
}

TEST(LinearQuantized, LeavesOutputUntouchedOnInvalidGroupSize) {
  expect_weights_refused(weights_3x4(WeightGranularity::kPerGroup, 0, 6),
                         Status::kInvalidGroupSize);
}

TEST(LinearQuantized, LeavesOutputUntouchedOnInvalidScale) {
  for (const float scale : {0.0F, -1.0F, kNan, kInfinity}) {
    for (const auto& [granularity, group_size, slices] :
         {std::tuple{WeightGranularity::kPerTensor, 0U, 1U},
          std::tuple{WeightGranularity::kPerOutput, 0U, 3U},
          std::tuple{WeightGranularity::kPerInput, 0U, 4U},
          std::tuple{WeightGranularity::kPerGroup, 2U, 6U}}) {
      auto w = weights_3x4(granularity, group_size, slices);
      w.scales.back() = scale;
      expect_weights_refused(w, Status::kInvalidScale);
    }
  }
}

TEST(LinearQuantized, LeavesOutputUntouchedOnInvalidZeroPoint) {
  auto w = weights_3x4(WeightGranularity::kPerOutput, 0, 3);
  for (const std::int32_t zero_point : {-129, 128, INT32_MIN, INT32_MAX}) {
    w.zero_points.back() = zero_point;
    expect_weights_refused(w, Status::kInvalidZeroPoint);
  }
  w.dtype = DType::kInt4;
  w.zero_points.back() = 8;
  expect_weights_refused(w, Status::kInvalidZeroPoint);
}

TEST(LinearQuantized, LeavesOutputUntouchedOnDTypesOfMoreThan8BitsOrAnotherStorage) {
  for (const DType dtype : {DType::kInt16, DType::kUint16, DType::kInt32, DType::kQint32,
                            DType::kUint8, DType::kUint4, DType::kUint2, DType::kQuint8}) {
    auto w = weights_3x4(WeightGranularity::kPerTensor, 0, 1);
    w.dtype = dtype;
    expect_weights_refused(w, Status::kUnsupportedDType);
  }
  for (const DType dtype : {DType::kInt8, DType::kInt4, DType::kInt2, DType::kQint8}) {
    const Weights<std::uint8_t> w = {
        std::vector<std::uint8_t>(12), dtype, WeightGranularity::kPerTensor, 0, {1.0F}, {0}};
    expect_weights_refused(w, Status::kUnsupportedDType);
  }
}

}  // namespace
}  // namespace zeropoint
