// 16-bit floats <-> float32.
#pragma once

#include <cstdint>
#include <span>

#include "zeropoint/status.h"

namespace zeropoint {

/// Types of 16-bit floats.
enum class HalfType {
  kFloat16,   ///< IEEE 754 binary16: 5 bits of exponent, 10 of mantissa
  kBfloat16,  ///< the upper half of a float32: 8 bits of exponent, 7 of mantissa
};

/// Converts to float32, exactly; subnormals are kept, and NaN stays NaN.
///
/// @param halves  uint16[n], bit patterns. They may be the second half of the memory of `out`;
///                otherwise the two must not overlap.
/// @param out     float32[n], written only on kOk.
/// @return kShapeMismatch if the lengths differ.
/// Source: IEEE 754-2019, section 3.4; torch.Tensor.float().
[[nodiscard]] Status to_float32(std::span<const std::uint16_t> halves, HalfType type,
                                std::span<float> out);

/// Converts from float32: to nearest, ties to even. Subnormals are kept, too large values become
/// infinities, NaN stays NaN.
///
/// @param x    float32[n].
/// @param out  uint16[n], bit patterns, written only on kOk; must not overlap x.
/// @return kShapeMismatch if the lengths differ.
/// Source: IEEE 754-2019, section 4.3.1; torch.Tensor.half() and bfloat16().
[[nodiscard]] Status from_float32(std::span<const float> x, HalfType type,
                                  std::span<std::uint16_t> out);

}  // namespace zeropoint
