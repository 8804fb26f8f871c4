// Matrix check shared by all linear layers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "zeropoint/tensor.h"

namespace zeropoint {

/// Checks that a [rows][columns] matrix is countable and holds `size` values.
/// @return kSizeOverflow, kShapeMismatch.
[[nodiscard]] inline Status check_matrix(std::size_t rows, std::size_t columns, std::size_t size) {
  if (rows > UINT32_MAX || columns > UINT32_MAX) return Status::kSizeOverflow;
  const std::uint32_t shape[] = {static_cast<std::uint32_t>(rows),
                                 static_cast<std::uint32_t>(columns)};
  std::size_t count = 0;
  const Status status = element_count(shape, count);
  if (status != Status::kOk) return status;
  return count == size ? Status::kOk : Status::kShapeMismatch;
}

}  // namespace zeropoint
