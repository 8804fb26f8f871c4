#include "core/dot_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "packed.h"

namespace zeropoint {
namespace {

using kernels::Bytes;
using kernels::Digits;
using testing::UsedKernels;

const std::vector<std::uint8_t> kSevenBits(20, 127);
const std::vector<std::uint8_t> kEightBits(20, 128);

// Of two rows.
kernels::ByteFormat format_of(const std::vector<std::uint8_t>& qx, std::int32_t zero_point,
                              bool may_list) {
  kernels::Panels w{};
  w.k = qx.size() / 2;
  w.steps = kernels::steps_of(w.k, 8);
  return byte_format(qx.data(), 2, w, zero_point, may_list);
}

Bytes format_of(const std::vector<std::uint8_t>& qx) { return format_of(qx, 0, true).format; }

TEST(DotChoice, RelaxedKernelsTakeTheRelaxedDotForEveryLayer) {
  const UsedKernels used(LayerKernels::kRelaxed);
  EXPECT_EQ(digits_format(Accumulate::kExact), Digits::kI7);
  EXPECT_EQ(digits_format(Accumulate::kFloat32), Digits::kI7Short);
  EXPECT_EQ(format_of(kSevenBits), Bytes::kI7);
  EXPECT_EQ(format_of(kEightBits), Bytes::kI7x2);
}

TEST(DotChoice, MixedKernelsTakeTheRelaxedDotForSevenBitInputsOnly) {
  const UsedKernels used(LayerKernels::kMixed);
  EXPECT_EQ(digits_format(Accumulate::kExact), Digits::kI16);
  EXPECT_EQ(digits_format(Accumulate::kFloat32), Digits::kI16);
  EXPECT_EQ(format_of(kSevenBits), Bytes::kI7);
  EXPECT_EQ(format_of(kEightBits), Bytes::kI16);
}

TEST(DotChoice, MixedKernelsTakeThe16BitDotForOneRowWithGroups) {
  const UsedKernels used(LayerKernels::kMixed);
  kernels::Panels w{};
  w.k = 10;
  w.group = 5;
  w.steps = 2 * kernels::steps_of(w.group, 8);
  EXPECT_EQ(byte_format(kSevenBits.data(), 1, w, 0, false).format, Bytes::kI16);
  EXPECT_EQ(byte_format(kSevenBits.data(), 2, w, 0, false).format, Bytes::kI7);
  w.group = w.k;
  EXPECT_EQ(byte_format(kSevenBits.data(), 1, w, 0, false).format, Bytes::kI7);
}

TEST(DotChoice, BaselineKernelsTakeThe16BitDotForEveryLayer) {
  const UsedKernels used(LayerKernels::kBaseline);
  EXPECT_EQ(digits_format(Accumulate::kExact), Digits::kI16);
  EXPECT_EQ(digits_format(Accumulate::kFloat32), Digits::kI16);
  EXPECT_EQ(format_of(kSevenBits), Bytes::kI16);
  EXPECT_EQ(format_of(kEightBits), Bytes::kI16);
}

TEST(DotChoice, ListsInputsOfMoreThanSevenBitsIfEveryRowHasFew) {
  std::vector<std::uint8_t> few(160, 127);
  const std::size_t most = kernels::most_outside(20);
  // The second row has as many as a list holds.
  std::fill_n(few.begin() + 100, most, 200);
  std::vector<std::uint8_t> more = few;
  more[99] = 128;
  for (const LayerKernels kernels : {LayerKernels::kRelaxed, LayerKernels::kMixed}) {
    const UsedKernels used(kernels);
    const Bytes otherwise = kernels == LayerKernels::kRelaxed ? Bytes::kI7x2 : Bytes::kI16;
    EXPECT_EQ(format_of(few, 0, true).format, Bytes::kI7Most);
    EXPECT_EQ(format_of(few, 0, false).format, otherwise);
    EXPECT_EQ(format_of(more, 0, true).format, otherwise);
    EXPECT_EQ(format_of(more, 0, true).base, 0);
  }
}

TEST(DotChoice, SubtractsABaseBelowTheZeroPointIfMostInputsAreNearIt) {
  std::vector<std::uint8_t> qx(160, 140);
  const UsedKernels used(LayerKernels::kRelaxed);
  for (const auto& [zero_point, base] : {std::pair{128, 64}, {100, 36}, {255, 128}}) {
    EXPECT_EQ(format_of(qx, zero_point, true).format, Bytes::kI7Most);
    EXPECT_EQ(format_of(qx, zero_point, true).base, base);
  }
  EXPECT_EQ(format_of(qx, 64, true).format, Bytes::kI7x2);
  std::fill_n(qx.begin(), kernels::most_outside(20) + 1, 60);
  EXPECT_EQ(format_of(qx, 128, true).format, Bytes::kI7x2);
}

TEST(DotChoice, ChoosesTheLayoutOf4BitWeightsWhenTheyArePacked) {
  const std::vector<std::int8_t> codes(8, -3);
  const std::vector<float> scales{0.5F};
  const std::vector<std::int32_t> zero_points{0};
  const QuantizedWeight<std::int8_t> w{codes, DType::kInt4, WeightGranularity::kPerTensor,
                                       1,     scales,       zero_points};
  for (const LayerKernels packed_for : {LayerKernels::kBaseline, LayerKernels::kRelaxed}) {
    const UsedKernels used(packed_for);
    testing::AlignedBytes block(0);
    ASSERT_EQ(testing::pack(w, 1, 8, block), Status::kOk);
    const int added = packed_for == LayerKernels::kBaseline ? 8 : 0;
    EXPECT_EQ(panels_of(block.data()).added_to_low, added);
    // The packed weight keeps its layout when the kernels change.
    set_layer_kernels(LayerKernels::kMixed);
    EXPECT_EQ(panels_of(block.data()).added_to_low, added);
  }
}

}  // namespace
}  // namespace zeropoint
