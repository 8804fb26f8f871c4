// Block layout of pack_weight(): a header, then the parts that kernels::Panels points to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/panels.h"
#include "zeropoint/linear.h"

namespace zeropoint {

/// Layout of a weight, and the byte offsets of the parts of its block.
struct PackedLayout {
  std::uint32_t n = 0;         ///< rows packed so far
  std::uint32_t capacity = 0;  ///< rows that the block has room for
  std::uint32_t k = 0;
  std::uint32_t group = 1;
  std::uint32_t chunks = 0;
  std::uint32_t steps = 0;
  DType dtype = DType::kInt8;
  WeightGranularity granularity = WeightGranularity::kPerTensor;
  WeightShift shift = WeightShift::kNone;
  std::uint8_t bits = 8;
  bool has_input_scales = false;
  std::uint8_t added_to_low = 0;  ///< see kernels::Panels
  std::uint8_t unused = 0;        ///< instead of padding: equal weights are equal bytes
  float root = 0.0F;              ///< see kernels::Panels
  float norm = 0.0F;
  std::uint32_t codes = 0;
  std::uint32_t scales = 0;
  std::uint32_t zero_points = 0;
  std::uint32_t minus_sums = 0;
  std::uint32_t largest = 0;
  std::uint32_t ordinary = 0;
  std::uint32_t input_scales = 0;
  std::uint32_t input_zero_points = 0;
  std::uint32_t size = 0;
};

static_assert(sizeof(PackedLayout) == 15 * sizeof(std::uint32_t) + 3 * sizeof(DType) +
                                          2 * sizeof(float) + 4 * sizeof(std::uint8_t));

/// The code that is stored as 0; codes are stored as signed integers.
constexpr int stored_center(DType dtype) {
  const DTypeInfo info = dtype_info(dtype);
  return info.is_signed() ? 0 : 1 << (kernels::stored_bits(info.bits) - 1);
}

/// Layout for a shape, with room for zero points of outputs.
/// @return kSizeOverflow, kInvalidGroupSize, kUnsupportedDType.
[[nodiscard]] Status packed_layout(const WeightShape& shape, PackedLayout& out);

/// The header of a block.
inline PackedLayout& layout_of(std::byte* block) { return *reinterpret_cast<PackedLayout*>(block); }
inline const PackedLayout& layout_of(const std::byte* block) {
  return *reinterpret_cast<const PackedLayout*>(block);
}

/// The part of a block at a byte offset from its start.
template <typename T>
T* part(std::byte* block, std::uint32_t at) {
  return reinterpret_cast<T*>(block + at);
}
template <typename T>
const T* part(const std::byte* block, std::uint32_t at) {
  return reinterpret_cast<const T*>(block + at);
}

/// The parts of a packed block.
[[nodiscard]] kernels::Panels panels_of(const std::byte* block);

/// linear() of a packed weight without its checks, in digits of any format. With kI7Short, rows
/// that need more precision use the digits of kI7.
void linear_packed(const float* x, std::size_t m, const kernels::Panels& panels, const float* bias,
                   kernels::Digits format, std::span<std::byte> scratch, std::span<float> out);

}  // namespace zeropoint
