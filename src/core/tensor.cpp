#include "zeropoint/tensor.h"

#include <cstdint>

namespace zeropoint {

Status element_count(Shape shape, std::size_t& count) {
  if (shape.size() > kMaxRank) return Status::kShapeMismatch;
  // A zero anywhere makes the tensor empty, however long the other axes are.
  bool empty = false;
  for (const std::uint32_t length : shape) empty = empty || length == 0;
  std::uint64_t product = empty ? 0 : 1;
  for (const std::uint32_t length : shape) {
    product *= length;
    if (product > UINT32_MAX) return Status::kSizeOverflow;
  }
  count = static_cast<std::size_t>(product);
  return Status::kOk;
}

Status check(std::size_t size, Shape shape) {
  std::size_t count = 0;
  const Status status = element_count(shape, count);
  if (status != Status::kOk) return status;
  return count == size ? Status::kOk : Status::kShapeMismatch;
}

}  // namespace zeropoint
