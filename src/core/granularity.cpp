#include "zeropoint/granularity.h"

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
    // Channels of an empty tensor have no elements, and so no range.
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
  if (group_size == 0) return Status::kInvalidGroupSize;
  const std::size_t row = shape.back();
  if (row % group_size == 0) {
    out = {1, count / group_size, group_size};
  } else if (row < group_size) {
    out = {1, count / row, row};
  } else {
    out = {1, count / row * (row / group_size + 1), group_size, row};
  }
  return Status::kOk;
}

}  // namespace zeropoint
