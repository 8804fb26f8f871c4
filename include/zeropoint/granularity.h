// Maps elements to qparams: one scale and zero point per tensor, per channel or per group.
#pragma once

#include <cstddef>
#include <cstdint>

#include "zeropoint/status.h"
#include "zeropoint/tensor.h"

namespace zeropoint {

/// Partition of a tensor into slices; each slice has one range, one scale and one zero point.
///
/// In row-major order every granularity is three nested loops: element (o, s, i) of
/// [outer][slices][inner] belongs to slice s.
///
///   per tensor          outer = 1                 slices = 1            inner = all
///   per channel (axis)  outer = axes before it    slices = shape[axis]  inner = axes after it
///   per group           outer = 1                 slices = all / size   inner = size
///
/// Where the group size does not divide the rows, each row of `row` values ends with a short slice
/// of row % inner values; `row` > `inner`, and `slices` counts the short ones, too.
struct Granularity {
  std::size_t outer = 1;
  std::size_t slices = 1;
  std::size_t inner = 0;
  std::size_t row = 0;  ///< 0: every slice has `inner` values per index of `outer`
};

/// Number of values; not checked for overflow.
[[nodiscard]] constexpr std::size_t value_count(const Granularity& g) {
  return g.row == 0 ? g.outer * g.slices * g.inner : g.slices / (g.row / g.inner + 1) * g.row;
}

/// One slice. @return kSizeOverflow.
[[nodiscard]] Status per_tensor(Shape shape, Granularity& out);

/// One slice per index of `axis`; a negative axis counts from the end.
/// @return kInvalidAxis if -rank <= axis < rank does not hold (so always for a 0-d tensor);
///         kSizeOverflow.
/// Source: linear_q_symmetric_per_channel(tensor, dim) of notebooks 2, 3 and 5.
[[nodiscard]] Status per_channel(Shape shape, std::int32_t axis, Granularity& out);

/// One slice per run of `group_size` values along the last axis, in row-major order. If it does not
/// divide the last axis, the last slice of every row is short; if it exceeds the last axis, a row
/// is one slice.
/// @return kInvalidGroupSize if it is 0; kInvalidAxis for a 0-d tensor; kSizeOverflow.
/// Source: linear_q_symmetric_per_group(tensor, group_size) of notebook 5, here for any rank >= 1;
///         the notebook refuses a group size that does not divide the last axis.
[[nodiscard]] Status per_group(Shape shape, std::uint32_t group_size, Granularity& out);

}  // namespace zeropoint
