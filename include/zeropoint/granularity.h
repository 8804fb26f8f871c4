// Which element uses which qparams: one pair per tensor, per channel or per group, or any pair of
// tensors that broadcasts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "zeropoint/status.h"
#include "zeropoint/tensor.h"

namespace zeropoint {

/// How a tensor is cut into slices that have one range, one scale and one zero point each.
///
/// In row-major order every granularity is three nested loops: element (o, s, i) of
/// [outer][slices][inner] belongs to slice s.
///
///   per tensor          outer = 1                 slices = 1            inner = all
///   per channel (axis)  outer = axes before it    slices = shape[axis]  inner = axes after it
///   per group           outer = 1                 slices = all / size   inner = size
struct Granularity {
  std::size_t outer = 1;
  std::size_t slices = 1;
  std::size_t inner = 0;
};

/// One slice. @return kSizeOverflow.
[[nodiscard]] Status per_tensor(Shape shape, Granularity& out);

/// One slice per index of `axis`; a negative axis counts from the end.
/// @return kInvalidAxis if -rank <= axis < rank does not hold (so always for a 0-d tensor);
///         kSizeOverflow.
/// Source: linear_q_symmetric_per_channel(tensor, dim) of notebooks 2, 3 and 5.
[[nodiscard]] Status per_channel(Shape shape, std::int32_t axis, Granularity& out);

/// One slice per run of `group_size` values along the last axis, in row-major order.
/// @return kInvalidGroupSize if it is 0 or does not divide the last axis; kInvalidAxis for a 0-d
///         tensor; kSizeOverflow.
/// Source: linear_q_symmetric_per_group(tensor, group_size) of notebook 5, here for any rank >= 1.
[[nodiscard]] Status per_group(Shape shape, std::uint32_t group_size, Granularity& out);

/// Axes that several tensors are walked along together.
struct BroadcastAxes {
  std::size_t rank = 0;                         ///< axes left after merging, at least 1
  std::array<std::size_t, kMaxRank> lengths{};  ///< of each merged axis, outermost first
  std::size_t count = 0;                        ///< elements of the result
};

/// Tensors that may be walked together: values, scales and zero points.
inline constexpr std::size_t kMaxOperands = 3;

/// Elements to step in an operand when axis d advances; 0 where the operand is repeated.
using BroadcastStrides = std::array<std::size_t, kMaxRank>;

/// Several tensors walked together under PyTorch's broadcasting rules: shapes are aligned at their
/// last axis, and an axis of length 1 is repeated. Axes that all operands walk alike are merged, so
/// qparams per channel end as at most three axes.
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

}  // namespace zeropoint
