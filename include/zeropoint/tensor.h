// A tensor is values in row-major order plus a shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "zeropoint/status.h"

namespace zeropoint {

/// Length of each axis, outermost first; empty for a single value (a 0-dimensional tensor).
using Shape = std::span<const std::uint32_t>;

/// Maximum number of axes, as in PyTorch.
inline constexpr std::size_t kMaxRank = 64;

/// Counts a shape's elements: the product of its lengths, 1 for the empty shape.
/// @return kSizeOverflow if the product exceeds 2^32 - 1;
///         kShapeMismatch for more than kMaxRank axes.
[[nodiscard]] Status element_count(Shape shape, std::size_t& count);

/// Non-owning tensor: values[i] in row-major order, and their shape.
template <typename T>
struct TensorView {
  std::span<T> values;
  Shape shape;
};

/// Checks the number of values against a shape. @return kShapeMismatch, kSizeOverflow.
[[nodiscard]] Status check(std::size_t size, Shape shape);

/// Checks a view's number of values against its shape.
/// @return kShapeMismatch, kSizeOverflow.
template <typename T>
[[nodiscard]] Status check(const TensorView<T>& tensor) {
  return check(tensor.values.size(), tensor.shape);
}

}  // namespace zeropoint
