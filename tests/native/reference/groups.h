// The group of a value: groups restart with every row, and the last one of a row may be short.
#pragma once

#include <cstddef>

namespace zeropoint::reference {

/// Number of groups of `size` values in a row.
inline std::size_t groups_of_row(std::size_t row, std::size_t size) {
  std::size_t groups = 0;
  for (std::size_t first = 0; first < row; first += size) ++groups;
  return groups;
}

/// The group of the value at `position` of a tensor with rows of `row` values.
inline std::size_t group_at(std::size_t position, std::size_t row, std::size_t size) {
  return position / row * groups_of_row(row, size) + position % row / size;
}

}  // namespace zeropoint::reference
