#include "zeropoint/granularity.h"

#include <algorithm>
#include <cassert>

namespace zeropoint {

Status per_tensor(Shape shape, Granularity& out) {
  std::size_t count = 0;
  const Status status = element_count(shape, count);
  if (status == Status::kOk) out = {1, 1, count};
  return status;
}

Status per_channel(Shape shape, std::int32_t axis, Granularity& out) {
  std::size_t count = 0;
  const Status status = element_count(shape, count);
  if (status != Status::kOk) return status;
  const auto rank = static_cast<std::int32_t>(shape.size());
  if (axis < -rank || axis >= rank) return Status::kInvalidAxis;
  const auto index = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  const std::size_t slices = shape[index];
  if (count == 0) {
    // Channels may exist without elements, and then have no range.
    out = {0, slices, 0};
    return Status::kOk;
  }
  std::size_t inner = 1;
  for (const std::uint32_t length : shape.subspan(index + 1)) inner *= length;
  out = {count / slices / inner, slices, inner};
  return Status::kOk;
}

Status per_group(Shape shape, std::uint32_t group_size, Granularity& out) {
  std::size_t count = 0;
  const Status status = element_count(shape, count);
  if (status != Status::kOk) return status;
  if (shape.empty()) return Status::kInvalidAxis;
  if (group_size == 0 || shape.back() % group_size != 0) return Status::kInvalidGroupSize;
  out = {1, count / group_size, group_size};
  return Status::kOk;
}

Status broadcast(std::span<const Shape> shapes, BroadcastAxes& axes,
                 std::span<BroadcastStrides> strides) {
  assert(shapes.size() <= kMaxOperands && strides.size() == shapes.size());
  std::size_t rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.size());
  if (rank > kMaxRank) return Status::kShapeMismatch;

  // Lengths, aligned at the last axis.
  std::array<std::uint32_t, kMaxRank> lengths{};
  const auto length_of = [&](const Shape& shape, std::size_t axis) -> std::uint32_t {
    const std::size_t missing = rank - shape.size();
    return axis < missing ? 1 : shape[axis - missing];
  };
  for (std::size_t axis = 0; axis < rank; ++axis) {
    std::uint32_t length = 1;
    for (const Shape& shape : shapes) {
      const std::uint32_t own = length_of(shape, axis);
      if (own == 1) continue;
      if (length != 1 && length != own) return Status::kShapeMismatch;
      length = own;
    }
    lengths[axis] = length;
  }
  const Status status = element_count(Shape(lengths.data(), rank), axes.count);
  if (status != Status::kOk) return status;

  // From the last axis outwards: an axis joins the one inside it if every operand steps through
  // both as through one longer axis.
  std::array<std::size_t, kMaxOperands> inside;  // elements of each operand inside the axis
  inside.fill(1);
  std::size_t merged = 0;  // axes so far, innermost first
  for (std::size_t axis = rank; axis-- > 0;) {
    if (lengths[axis] == 1) continue;
    bool joins = merged > 0;
    for (std::size_t k = 0; k < shapes.size(); ++k) {
      const bool repeated = length_of(shapes[k], axis) == 1;
      const std::size_t stride = repeated ? 0 : inside[k];
      if (!repeated) inside[k] *= lengths[axis];
      joins = joins && stride == strides[k][merged - 1] * axes.lengths[merged - 1];
      strides[k][merged] = stride;
    }
    if (joins) {
      axes.lengths[merged - 1] *= lengths[axis];
    } else {
      axes.lengths[merged++] = lengths[axis];
    }
  }
  if (merged == 0) {
    axes.lengths[0] = 1;
    for (auto& own : strides) own[0] = 0;
    merged = 1;
  }
  axes.rank = merged;
  const auto end = static_cast<std::ptrdiff_t>(merged);
  std::reverse(axes.lengths.begin(), axes.lengths.begin() + end);
  for (auto& own : strides) std::reverse(own.begin(), own.begin() + end);
  return Status::kOk;
}

}  // namespace zeropoint
