// Groups of a row's values with a scale each, shared by the files of search.h.
#pragma once

#include <algorithm>
#include <cstddef>

#include "zeropoint/search.h"

namespace zeropoint {

/// Bytes of n codes.
inline std::size_t code_bytes(std::size_t n, VectorCodes codes) {
  if (codes == VectorCodes::kInt8) return n;
  return codes == VectorCodes::kInt4 ? (n + 1) / 2 : (n + 7) / 8;
}

/// The groups of a row; the last one may be short.
struct VectorGroups {
  explicit VectorGroups(const VectorFormat& format)
      : dimensions(format.dimensions),
        size(format.group_size == 0 ? dimensions : std::min(format.group_size, dimensions)),
        count((dimensions + size - 1) / size),
        bytes(code_bytes(size, format.codes)),
        row_bytes((count - 1) * bytes + code_bytes(size_of(count - 1), format.codes)) {}

  /// Values of group g.
  [[nodiscard]] std::size_t size_of(std::size_t g) const {
    return std::min(size, dimensions - g * size);
  }

  std::size_t dimensions;
  std::size_t size;       ///< values of a group
  std::size_t count;      ///< groups of a row
  std::size_t bytes;      ///< of the codes of a group
  std::size_t row_bytes;  ///< of the codes of a row
};

}  // namespace zeropoint
