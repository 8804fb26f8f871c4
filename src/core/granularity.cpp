#include "zeropoint/granularity.h"

#include <algorithm>

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

template <std::size_t kOperands>
Status broadcast(const std::array<Shape, kOperands>& shapes, Broadcast<kOperands>& out) {
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
  const Status status = element_count(Shape(lengths.data(), rank), out.count);
  if (status != Status::kOk) return status;

  // From the last axis outwards: an axis joins the one inside it if every operand steps through
  // both as through one longer axis.
  std::array<std::size_t, kOperands> size;  // elements of each operand inside the axis
  size.fill(1);
  std::size_t merged = 0;  // axes so far, innermost first
  for (std::size_t axis = rank; axis-- > 0;) {
    if (lengths[axis] == 1) continue;
    std::array<std::size_t, kOperands> stride{};
    bool joins = merged > 0;
    for (std::size_t k = 0; k < kOperands; ++k) {
      const bool repeated = length_of(shapes[k], axis) == 1;
      stride[k] = repeated ? 0 : size[k];
      if (!repeated) size[k] *= lengths[axis];
      joins = joins && stride[k] == out.strides[k][merged - 1] * out.lengths[merged - 1];
    }
    if (joins) {
      out.lengths[merged - 1] *= lengths[axis];
      continue;
    }
    out.lengths[merged] = lengths[axis];
    for (std::size_t k = 0; k < kOperands; ++k) out.strides[k][merged] = stride[k];
    ++merged;
  }
  if (merged == 0) {
    out.lengths[0] = 1;
    for (auto& strides : out.strides) strides[0] = 0;
    merged = 1;
  }
  out.rank = merged;
  std::reverse(out.lengths.begin(), out.lengths.begin() + static_cast<std::ptrdiff_t>(merged));
  for (auto& strides : out.strides) {
    std::reverse(strides.begin(), strides.begin() + static_cast<std::ptrdiff_t>(merged));
  }
  return Status::kOk;
}

template Status broadcast(const std::array<Shape, 2>&, Broadcast<2>&);
template Status broadcast(const std::array<Shape, 3>&, Broadcast<3>&);

}  // namespace zeropoint
