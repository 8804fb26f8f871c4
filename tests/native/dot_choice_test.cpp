#include "core/dot_choice.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "packed.h"

namespace zeropoint {
namespace {

using kernels::Bytes;
using kernels::Digits;
using testing::UsedKernels;

const std::vector<std::uint8_t> kSevenBits(20, 127);
const std::vector<std::uint8_t> kEightBits(20, 128);

Bytes format_of(const std::vector<std::uint8_t>& qx) { return bytes_format(qx.data(), qx.size()); }

TEST(DotChoice, RelaxedKernelsTakeTheRelaxedDotForEveryLayer) {
  const UsedKernels used(LayerKernels::kRelaxed);
  EXPECT_EQ(digits_format(Accumulate::kExact), Digits::kI7);
  EXPECT_EQ(digits_format(Accumulate::kFloat32), Digits::kI7Short);
  EXPECT_EQ(format_of(kSevenBits), Bytes::kI7);
  EXPECT_EQ(format_of(kEightBits), Bytes::kI7x2);
}

TEST(DotChoice, MixedKernelsTakeItForBytesOfSevenBitsAlone) {
  const UsedKernels used(LayerKernels::kMixed);
  EXPECT_EQ(digits_format(Accumulate::kExact), Digits::kI16);
  EXPECT_EQ(digits_format(Accumulate::kFloat32), Digits::kI16);
  EXPECT_EQ(format_of(kSevenBits), Bytes::kI7);
  EXPECT_EQ(format_of(kEightBits), Bytes::kI16);
}

TEST(DotChoice, BaselineKernelsTakeThe16BitDotForEveryLayer) {
  const UsedKernels used(LayerKernels::kBaseline);
  EXPECT_EQ(digits_format(Accumulate::kExact), Digits::kI16);
  EXPECT_EQ(digits_format(Accumulate::kFloat32), Digits::kI16);
  EXPECT_EQ(format_of(kSevenBits), Bytes::kI16);
  EXPECT_EQ(format_of(kEightBits), Bytes::kI16);
}

TEST(DotChoice, DecidesTheLayoutOf4BitWeightsWhenTheyArePacked) {
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
    // Of this weight also with the other kernels.
    set_layer_kernels(LayerKernels::kMixed);
    EXPECT_EQ(panels_of(block.data()).added_to_low, added);
  }
}

}  // namespace
}  // namespace zeropoint
