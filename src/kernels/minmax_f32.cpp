// Smallest and largest of 16 values a step. pmin and pmax drop a NaN in their second operand, so
// NaN is collected in a mask of its own: cheaper than the min and max that propagate it. All values
// are taken as finite at first; where they were not, and only finite ones count, they are read
// again. Parity: the values of reference/minmax_f32.h; for a mix of zeros either sign.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Values past the end of a run are read again from before it: they change nothing.
constexpr std::size_t kStep = 16;

bool is_finite(const MinMax& range) { return range.min > -kInfinity && range.max < kInfinity; }

// Four running minima and maxima, and which lanes have met a NaN.
struct Lanes {
  v128_t min = wasm_f32x4_splat(kInfinity);
  v128_t max = wasm_f32x4_splat(-kInfinity);
  v128_t nan = wasm_i32x4_splat(0);

  void add(v128_t x) {
    min = wasm_f32x4_pmin(min, x);
    max = wasm_f32x4_pmax(max, x);
    nan = wasm_v128_or(nan, wasm_f32x4_ne(x, x));
  }

  void add_finite(v128_t x) {
    // As NaN, which neither pmin nor pmax takes from there, and which is not collected.
    const v128_t infinite = wasm_f32x4_eq(wasm_f32x4_abs(x), wasm_f32x4_splat(kInfinity));
    x = wasm_v128_or(x, infinite);
    min = wasm_f32x4_pmin(min, x);
    max = wasm_f32x4_pmax(max, x);
  }

  [[nodiscard]] MinMax result() const {
    if (wasm_v128_any_true(nan)) return {kNan, kNan};
    float mins[4];
    float maxs[4];
    wasm_v128_store(mins, min);
    wasm_v128_store(maxs, max);
    return {*std::min_element(mins, mins + 4), *std::max_element(maxs, maxs + 4)};
  }
};

template <typename Add>
void for_quads(const float* x, std::size_t n, Add add) {
  if (n < 4) {
    for (std::size_t i = 0; i < n; ++i) add(wasm_f32x4_splat(x[i]));
    return;
  }
  for (std::size_t i = 0; i < n; i += 4) add(wasm_v128_load(x + std::min(i, n - 4)));
}

MinMax finite_run(const float* x, std::size_t n) {
  Lanes lanes;
  for_quads(x, n, [&](v128_t four) { lanes.add_finite(four); });
  return lanes.result();
}

MinMax any_run(const float* x, std::size_t n) {
  Lanes lanes[4];
  std::size_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    for (std::size_t j = 0; j < 4; ++j) lanes[j].add(wasm_v128_load(x + i + 4 * j));
  }
  for_quads(x + i, n - i, [&](v128_t four) { lanes[0].add(four); });
  for (std::size_t j = 1; j < 4; ++j) {
    lanes[0].min = wasm_f32x4_pmin(lanes[0].min, lanes[j].min);
    lanes[0].max = wasm_f32x4_pmax(lanes[0].max, lanes[j].max);
    lanes[0].nan = wasm_v128_or(lanes[0].nan, lanes[j].nan);
  }
  return lanes[0].result();
}

MinMax one_run(const float* x, std::size_t n, bool finite_only) {
  const MinMax range = any_run(x, n);
  return finite_only && !is_finite(range) ? finite_run(x, n) : range;
}

// Lane r of the result is `pick`ed from all lanes of rows[r].
template <typename Pick>
v128_t across(const v128_t* rows, Pick pick) {
  const v128_t ab = pick(wasm_i32x4_shuffle(rows[0], rows[1], 0, 4, 1, 5),
                         wasm_i32x4_shuffle(rows[0], rows[1], 2, 6, 3, 7));
  const v128_t cd = pick(wasm_i32x4_shuffle(rows[2], rows[3], 0, 4, 1, 5),
                         wasm_i32x4_shuffle(rows[2], rows[3], 2, 6, 3, 7));
  return pick(wasm_i64x2_shuffle(ab, cd, 0, 2), wasm_i64x2_shuffle(ab, cd, 1, 3));
}

// Four short runs side by side. @return whether all is finite; else nothing was written
bool four_runs(const float* x, std::size_t length, MinMax* out) {
  v128_t min[4];
  v128_t max[4];
  for (std::size_t r = 0; r < 4; ++r) min[r] = max[r] = wasm_v128_load(x + r * length);
  v128_t nan = wasm_i32x4_splat(0);
  for (const v128_t first : min) nan = wasm_v128_or(nan, wasm_f32x4_ne(first, first));
  for (std::size_t i = 4; i < length; i += 4) {
    const std::size_t at = std::min(i, length - 4);
    for (std::size_t r = 0; r < 4; ++r) {
      const v128_t four = wasm_v128_load(x + r * length + at);
      min[r] = wasm_f32x4_pmin(min[r], four);
      max[r] = wasm_f32x4_pmax(max[r], four);
      nan = wasm_v128_or(nan, wasm_f32x4_ne(four, four));
    }
  }
  const v128_t mins = across(min, [](v128_t a, v128_t b) { return wasm_f32x4_pmin(a, b); });
  const v128_t maxs = across(max, [](v128_t a, v128_t b) { return wasm_f32x4_pmax(a, b); });
  const v128_t finite = wasm_v128_and(wasm_f32x4_gt(mins, wasm_f32x4_splat(-kInfinity)),
                                      wasm_f32x4_lt(maxs, wasm_f32x4_splat(kInfinity)));
  if (wasm_v128_any_true(wasm_v128_or(nan, wasm_v128_not(finite)))) return false;
  wasm_v128_store(out, wasm_i32x4_shuffle(mins, maxs, 0, 4, 1, 5));
  wasm_v128_store(out + 2, wasm_i32x4_shuffle(mins, maxs, 2, 6, 3, 7));
  return true;
}

// Runs from here on are long enough to be read one after another.
constexpr std::size_t kLongRun = 128;

}  // namespace

MinMax minmax_f32(const float* x, std::size_t n) { return one_run(x, n, false); }

MinMax minmax_finite_f32(const float* x, std::size_t n) { return one_run(x, n, true); }

void minmax_runs_f32(const float* x, std::size_t runs, std::size_t length, bool finite_only,
                     MinMax* out) {
  std::size_t run = 0;
  while (run < runs) {
    const bool together = length >= 4 && length < kLongRun && runs - run >= 4;
    if (together && four_runs(x + run * length, length, out + run)) {
      run += 4;
      continue;
    }
    for (const std::size_t end = run + (together ? 4 : 1); run < end; ++run) {
      out[run] = one_run(x + run * length, length, finite_only);
    }
  }
}

void minmax_columns_f32(const float* x, std::size_t rows, std::size_t stride, std::size_t columns,
                        bool finite_only, MinMax* out) {
  assert(columns <= kColumns && columns <= stride);
  float min[kColumns + 3];
  float max[kColumns + 3];
  v128_t nan = wasm_i32x4_splat(0);
  std::fill_n(min, columns, kInfinity);
  std::fill_n(max, columns, -kInfinity);
  constexpr std::size_t kRowsPerPass = 4;
  for (std::size_t row = 0; row < rows; row += kRowsPerPass) {
    const float* from = x + row * stride;
    const std::size_t count = std::min(kRowsPerPass, rows - row);
    if (columns < 4) {
      for (std::size_t c = 0; c < columns; ++c) {
        for (std::size_t r = 0; r < count; ++r) {
          const float value = from[r * stride + c];
          min[c] = value < min[c] ? value : min[c];
          max[c] = value > max[c] ? value : max[c];
          if (value != value) nan = wasm_i32x4_splat(-1);
        }
      }
      continue;
    }
    for (std::size_t c = 0; c < columns; c += 4) {
      const std::size_t at = std::min(c, columns - 4);
      v128_t low = wasm_v128_load(min + at);
      v128_t high = wasm_v128_load(max + at);
      for (std::size_t r = 0; r < count; ++r) {
        const v128_t four = wasm_v128_load(from + r * stride + at);
        low = wasm_f32x4_pmin(low, four);
        high = wasm_f32x4_pmax(high, four);
        nan = wasm_v128_or(nan, wasm_f32x4_ne(four, four));
      }
      wasm_v128_store(min + at, low);
      wasm_v128_store(max + at, high);
    }
  }
  const bool any_nan = wasm_v128_any_true(nan);
  for (std::size_t c = 0; c < columns; ++c) {
    out[c] = {min[c], max[c]};
    if (!any_nan && is_finite(out[c])) continue;
    // Rare: each column by itself, in which NaN and infinities have a place.
    out[c] = {kInfinity, -kInfinity};
    for (std::size_t row = 0; row < rows; ++row) {
      const float value = x[row * stride + c];
      if (finite_only && !(std::fabs(value) < kInfinity)) continue;
      if (value != value) out[c] = {kNan, kNan};
      if (value < out[c].min) out[c].min = value;
      if (value > out[c].max) out[c].max = value;
    }
  }
}

}  // namespace zeropoint::kernels
