// Divides a tensor into parts whose slices all have the same number of values.
#pragma once

#include <cstddef>
#include <utility>

#include "zeropoint/granularity.h"

namespace zeropoint {

/// Whether the granularity has `size` values. If so, value_count() does not overflow.
[[nodiscard]] inline bool has_size(const Granularity& g, std::size_t size) {
  // By division, since the product may overflow.
  if (g.row != 0) {
    if (g.inner == 0 || g.row < g.inner || g.row % g.inner == 0) return false;
    const std::size_t groups = g.row / g.inner + 1;
    return g.outer == 1 && size % g.row == 0 && g.slices == size / g.row * groups;
  }
  if (g.outer == 0 || g.slices == 0 || g.inner == 0) return size == 0;
  const std::size_t period = size / g.outer;
  return size % g.outer == 0 && period % g.slices == 0 && period / g.slices == g.inner;
}

/// Calls f(position of the first value, first slice, granularity) for each part, in order. The
/// whole tensor is one part; if rows end with a short slice, each row has two: its full slices, and
/// the short one.
template <typename F>
void for_even_parts(const Granularity& g, F f) {
  Granularity part = g;
  Granularity next;
  if (g.row != 0) {
    part = {1, g.row / g.inner, g.inner};
    next = {1, 1, g.row % g.inner};
  }
  std::size_t position = 0;
  for (std::size_t slice = 0; slice < g.slices;) {
    f(position, slice, part);
    position += part.slices * part.inner;
    slice += part.slices;
    std::swap(part, next);
  }
}

}  // namespace zeropoint
