#include "zeropoint/range.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "core/even_parts.h"
#include "kernels/kernels.h"

namespace zeropoint {
namespace {

static_assert(sizeof(Range) == 2 * sizeof(float));

// The range of no values.
constexpr Range kNoRange{std::numeric_limits<float>::infinity(),
                         -std::numeric_limits<float>::infinity()};

// This form of the comparisons keeps a NaN.
void widen(Range& range, const Range& by) {
  if (!(by.min >= range.min)) range.min = std::isnan(range.min) ? range.min : by.min;
  if (!(by.max <= range.max)) range.max = std::isnan(range.max) ? range.max : by.max;
}

// Columns per kernel call; their ranges are then joined slice by slice.
constexpr std::size_t kColumns = 1024;

// Reads short slices as columns of [outer][slices * inner]. Several rows side by side, as many as
// fit, are read as one.
void column_ranges(const float* x, const Granularity& g, bool finite_only,
                   std::span<Range> ranges) {
  const std::size_t period = g.slices * g.inner;
  assert(period > 0);
  const std::size_t copies = std::clamp<std::size_t>(kColumns / period, 1, g.outer);
  const auto add = [&](std::size_t first_row, std::size_t rows, std::size_t width) {
    for (std::size_t first = 0; first < width; first += kColumns) {
      const std::size_t columns = std::min(kColumns, width - first);
      Range found[kColumns];
      kernels::minmax_columns_f32(x + first_row * period + first, rows, width, columns, finite_only,
                                  found);
      for (std::size_t c = 0; c < columns; ++c) {
        widen(ranges[(first + c) % period / g.inner], found[c]);
      }
    }
  };
  const std::size_t left = g.outer % copies;
  add(0, g.outer / copies, copies * period);
  if (left != 0) add(g.outer - left, 1, left * period);
}

void run_ranges(const float* x, const Granularity& g, bool finite_only, std::span<Range> ranges) {
  kernels::minmax_runs_f32(x, g.slices, g.inner, finite_only, ranges.data());
  constexpr std::size_t kRuns = 64;
  Range found[kRuns];
  for (std::size_t outer = 1; outer < g.outer; ++outer) {
    for (std::size_t first = 0; first < g.slices; first += kRuns) {
      const std::size_t runs = std::min(kRuns, g.slices - first);
      kernels::minmax_runs_f32(x + (outer * g.slices + first) * g.inner, runs, g.inner, finite_only,
                               found);
      for (std::size_t i = 0; i < runs; ++i) widen(ranges[first + i], found[i]);
    }
  }
}

// Ranges of slices that all have the same number of values.
void even_ranges(const float* x, const Granularity& g, bool finite_only, std::span<Range> ranges) {
  // Slices of a single value each: columns of one row instead of runs.
  const bool has_single = g.inner == 1 && g.slices > 1;
  if (g.inner >= 16 || (g.outer == 1 && !has_single)) {
    run_ranges(x, g, finite_only, ranges);
  } else if (g.inner == 1 && g.slices >= kColumns) {
    kernels::minmax_columns_f32(x, g.outer, g.slices, g.slices, finite_only, ranges.data());
  } else {
    std::fill(ranges.begin(), ranges.end(), kNoRange);
    column_ranges(x, g, finite_only, ranges);
  }
}

}  // namespace

Range min_max(std::span<const float> x) { return kernels::minmax_f32(x.data(), x.size()); }

Status range(std::span<const float> x, const Granularity& granularity, NonFinite non_finite,
             std::span<Range> ranges) {
  const Granularity& g = granularity;
  if (ranges.size() != g.slices || !has_size(g, x.size())) return Status::kShapeMismatch;
  if (g.slices == 0) return Status::kOk;
  if (x.empty()) {
    std::fill(ranges.begin(), ranges.end(), kNoRange);
    return Status::kEmpty;
  }
  const bool finite_only = non_finite == NonFinite::kIgnore;
  for_even_parts(g, [&](std::size_t position, std::size_t slice, const Granularity& part) {
    even_ranges(x.data() + position, part, finite_only, ranges.subspan(slice, part.slices));
  });
  if (non_finite == NonFinite::kKeep) return Status::kOk;
  // Checks all bounds at once, as one array of floats.
  const Range bounds = kernels::minmax_f32(&ranges.front().min, 2 * ranges.size());
  if (std::isfinite(bounds.min) && std::isfinite(bounds.max)) return Status::kOk;
  // Over finite values only, an infinite bound means an empty slice: {+inf, -inf}.
  return finite_only ? Status::kEmpty : Status::kNonFinite;
}

}  // namespace zeropoint
