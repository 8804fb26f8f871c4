#include "zeropoint/range.h"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.h"

namespace zeropoint {
namespace {

// Runs too short for a kernel call each are better read as columns of [outer][slices * inner].
void column_ranges(const float* x, const Granularity& g, bool finite_only,
                   std::span<Range> ranges) {
  for (std::size_t slice = 0; slice < g.slices; slice += kernels::kColumns) {
    const std::size_t columns = std::min(kernels::kColumns, g.slices - slice);
    kernels::MinMax found[kernels::kColumns];
    kernels::minmax_columns_f32(x + slice, g.outer, g.slices, columns, finite_only, found);
    for (std::size_t c = 0; c < columns; ++c) ranges[slice + c] = {found[c].min, found[c].max};
  }
}

void run_ranges(const float* x, const Granularity& g, bool finite_only, std::span<Range> ranges) {
  const auto minmax = finite_only ? kernels::minmax_finite_f32 : kernels::minmax_f32;
  for (std::size_t slice = 0; slice < g.slices; ++slice) {
    Range& range = ranges[slice];
    for (std::size_t outer = 0; outer < g.outer; ++outer) {
      const auto run = minmax(x + (outer * g.slices + slice) * g.inner, g.inner);
      if (outer == 0) {
        range = {run.min, run.max};
      } else {
        // Written so that a NaN, once met, stays.
        if (!(run.min >= range.min)) range.min = std::isnan(range.min) ? range.min : run.min;
        if (!(run.max <= range.max)) range.max = std::isnan(range.max) ? range.max : run.max;
      }
    }
  }
}

}  // namespace

Range min_max(std::span<const float> x) {
  const auto found = kernels::minmax_f32(x.data(), x.size());
  return {found.min, found.max};
}

Status range(std::span<const float> x, const Granularity& granularity, NonFinite non_finite,
             std::span<Range> ranges) {
  const Granularity& g = granularity;
  if (ranges.size() != g.slices || x.size() != g.outer * g.slices * g.inner) {
    return Status::kShapeMismatch;
  }
  if (g.slices == 0) return Status::kOk;
  if (x.empty()) return Status::kEmpty;
  const bool finite_only = non_finite == NonFinite::kIgnore;
  if (g.inner == 1 && g.outer > 1) {
    column_ranges(x.data(), g, finite_only, ranges);
  } else {
    run_ranges(x.data(), g, finite_only, ranges);
  }
  if (non_finite == NonFinite::kKeep) return Status::kOk;
  for (const Range& range : ranges) {
    // Without a finite value the range is still the empty one, {+inf, -inf}.
    if (finite_only && range.min > range.max) return Status::kEmpty;
    if (!std::isfinite(range.min) || !std::isfinite(range.max)) return Status::kNonFinite;
  }
  return Status::kOk;
}

}  // namespace zeropoint
