// Aligns shapes and runs an operation over operands that broadcast. With this, quantize, dequantize
// and fake_quantize need the same few kernels for every granularity.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/slices.h"
#include "zeropoint/quantize.h"
#include "zeropoint/tensor.h"

namespace zeropoint {

/// Merged axes of several tensors that are walked together.
struct BroadcastAxes {
  std::size_t rank = 0;                         ///< axes left after merging, at least 1
  std::array<std::size_t, kMaxRank> lengths{};  ///< of each merged axis, outermost first
  std::size_t count = 0;                        ///< elements of the result
};

/// Maximum number of tensors walked together: values, scales and zero points.
inline constexpr std::size_t kMaxOperands = 3;

/// Step of an operand, in elements, when axis d advances; 0 if the operand is repeated.
using BroadcastStrides = std::array<std::size_t, kMaxRank>;

/// Several tensors walked together under PyTorch's broadcasting rules: shapes are aligned at their
/// last axis, and an axis of length 1 is repeated. Adjacent axes are merged if all operands step
/// through them alike, so qparams per channel need at most three axes.
template <std::size_t kOperands>
requires(kOperands <= kMaxOperands) struct Broadcast : BroadcastAxes {
  std::array<BroadcastStrides, kOperands> strides{};
};

/// Aligns shapes. @return kShapeMismatch if two lengths differ and neither is 1; kSizeOverflow.
/// Source: torch.broadcast_shapes.
[[nodiscard]] Status broadcast(std::span<const Shape> shapes, BroadcastAxes& axes,
                               std::span<BroadcastStrides> strides);

template <std::size_t kOperands>
[[nodiscard]] Status broadcast(const std::array<Shape, kOperands>& shapes,
                               Broadcast<kOperands>& out) {
  return broadcast(shapes, out, out.strides);
}

/// Runs over a tensor of `size` values with qparams that must broadcast to its shape. Checks all
/// arguments.
/// @return kShapeMismatch, kSizeOverflow, kInvalidScale, kInvalidZeroPoint, kInvalidOffset,
///         kInvalidAxis (groups of a 0-d tensor); then the operation has not run.
[[nodiscard]] Status run_checked(const Pass& pass, std::size_t size, Shape shape,
                                 const QParamsView& qparams, DType dtype, std::size_t out_size);

/// Runs over a tensor with unvalidated scales and zero points that broadcast with each other, as in
/// the notebooks.
/// @return kShapeMismatch, kSizeOverflow; then the operation has not run.
[[nodiscard]] Status run_unchecked(const Pass& pass, std::size_t size, Shape shape,
                                   const TensorView<const float>& scale,
                                   const TensorView<const float>& zero_point, std::int32_t nan_code,
                                   std::size_t out_size);

}  // namespace zeropoint
