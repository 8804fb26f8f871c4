// The layout of a prepared query, shared by the files of search.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/search_groups.h"
#include "kernels/search.h"

namespace zeropoint {

/// Head of a prepared query; its codes follow.
struct alignas(16) Query {
  double scale;         ///< t: q' = t d
  double error_factor;  ///< a row's bound is error_factor e + size_factor s; euclidean: e + f
  double size_factor;   ///< with groups of |s c| in place of s; euclidean: f
  double square;        ///< |q'|^2
  double slack;         ///< euclidean: error of a squared distance, relative to |q'|^2 + |s c|^2
  std::int64_t sum;     ///< of the codes, for rows of signs
};
static_assert(sizeof(Query) == 48);

/// Runs of 16 bytes.
inline std::size_t steps_of(std::size_t bytes) { return (bytes + 15) / 16; }

/// Bytes of a query's codes for a group of a row.
inline std::size_t group_query_size(const VectorGroups& groups, VectorCodes codes) {
  const std::size_t steps = steps_of(groups.bytes);
  if (codes == VectorCodes::kBinary) return steps * kernels::kPlanes * 16;
  return codes == VectorCodes::kInt8 ? steps * 32 : kernels::four_bit_query_size(steps);
}

/// The head of prepared queries.
inline const Query& query_at(const std::byte* queries) {
  return *reinterpret_cast<const Query*>(queries);
}

}  // namespace zeropoint
