// Helpers of the functions that work slice by slice.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "core/even_parts.h"
#include "kernels/kernels.h"
#include "zeropoint/qparams.h"

namespace zeropoint {

inline bool is_finite(const Range& range) {
  return std::isfinite(range.min) && std::isfinite(range.max);
}

/// The kernels' form of the options.
inline kernels::ChoiceRule choice_rule(const QParamsOptions& options) {
  const DTypeInfo info = dtype_info(options.dtype);
  return {static_cast<double>(info.qmin), static_cast<double>(info.qmax),
          options.scheme == Scheme::kSymmetric, options.include_zero};
}

/// Whether the dtype can be used with the scheme.
inline bool fits_dtype(const QParamsOptions& options) {
  return options.scheme != Scheme::kSymmetric || dtype_info(options.dtype).is_signed();
}

/// One slice of a part whose slices all have the same number of values.
struct Slice {
  const Granularity& part_granularity;
  std::size_t index;   ///< among the part's slices
  std::size_t length;  ///< number of values
  std::size_t most;    ///< maximum `count` of part(): the whole slice if it needs no copy

  /// Values begin .. begin + count in row-major order: a view, or a copy in the buffer.
  [[nodiscard]] std::span<const float> part(std::span<const float> x, std::size_t begin,
                                            std::size_t count,
                                            float (&buffer)[kernels::kPiece]) const {
    const Granularity& g = part_granularity;
    if (g.outer == 1) return x.subspan(index * g.inner + begin, count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = begin + i;
      buffer[i] = x[(at / g.inner * g.slices + index) * g.inner + at % g.inner];
    }
    return {buffer, count};
  }
};

/// Calls f(position of the part, index of the slice, slice) for each slice.
template <typename F>
void for_slices(const Granularity& g, F f) {
  for_even_parts(g, [&](std::size_t position, std::size_t first, const Granularity& part) {
    const std::size_t length = part.outer * part.inner;
    const std::size_t most = part.outer == 1 ? std::max<std::size_t>(length, 1) : kernels::kPiece;
    for (std::size_t i = 0; i < part.slices; ++i)
      f(position, first + i, Slice{part, i, length, most});
  });
}

}  // namespace zeropoint
