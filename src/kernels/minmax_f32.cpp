// Smallest and largest of float32, sixteen values per step. Parity: the values of
// reference/minmax_f32.h; mixed zeros may give either sign.
//
// The first pass assumes finite values: pmin and pmax are much cheaper than min and max, but may
// lose a NaN. So it also adds up all values: a NaN, or infinities of both signs, make the sum NaN.
// Then the values are read again with exact operations.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

bool is_finite(const Range& range) { return range.min > -kInfinity && range.max < kInfinity; }

v128_t smaller(v128_t a, v128_t b) { return wasm_f32x4_pmin(a, b); }
v128_t larger(v128_t a, v128_t b) { return wasm_f32x4_pmax(a, b); }
v128_t sum(v128_t a, v128_t b) { return wasm_f32x4_add(a, b); }

template <std::size_t kCount, typename Pick>
v128_t of(const v128_t* x, Pick pick) {
  if constexpr (kCount == 1) {
    return *x;
  } else {
    return pick(of<kCount / 2>(x, pick), of<kCount / 2>(x + kCount / 2, pick));
  }
}

// Running minima and maxima of values assumed finite, with sums that detect a wrong assumption.
struct Quick {
  v128_t min = wasm_f32x4_splat(kInfinity);
  v128_t max = wasm_f32x4_splat(-kInfinity);
  v128_t sums = wasm_f32x4_splat(0.0F);

  template <std::size_t kCount>
  void watch(const v128_t (&x)[kCount]) {
    sums = sum(sums, of<kCount>(x, sum));
  }

  template <std::size_t kCount>
  void add(const v128_t (&x)[kCount]) {
    min = smaller(min, of<kCount>(x, smaller));
    max = larger(max, of<kCount>(x, larger));
    watch(x);
  }

  // Vectors `stride` values apart.
  template <std::size_t kCount>
  void add_at(const float* x, std::size_t stride) {
    v128_t values[kCount];
    for (std::size_t i = 0; i < kCount; ++i) values[i] = wasm_v128_load(x + i * stride);
    add(values);
  }
};

// Running minima and maxima of arbitrary values.
struct Exact {
  bool finite_only;
  v128_t min = wasm_f32x4_splat(kInfinity);
  v128_t max = wasm_f32x4_splat(-kInfinity);

  void add(const v128_t (&values)[1]) {
    v128_t x = values[0];
    if (finite_only) {
      // Turns infinities into NaN, which pmin and pmax ignore in this operand.
      const v128_t infinite = wasm_f32x4_eq(wasm_f32x4_abs(x), wasm_f32x4_splat(kInfinity));
      x = wasm_v128_or(x, infinite);
      min = smaller(min, x);
      max = larger(max, x);
    } else {
      min = wasm_f32x4_min(min, x);
      max = wasm_f32x4_max(max, x);
    }
  }
};

bool has_nan(v128_t x) { return wasm_v128_any_true(wasm_f32x4_ne(x, x)); }

Range of_lanes(v128_t min, v128_t max) {
  if (has_nan(min)) return {kNan, kNan};
  float mins[4];
  float maxs[4];
  wasm_v128_store(mins, min);
  wasm_v128_store(maxs, max);
  return {*std::min_element(mins, mins + 4), *std::max_element(maxs, maxs + 4)};
}

// Reads all values four at a time; the last four, read again from before the end, change nothing.
template <typename Add>
void for_quads(const float* x, std::size_t n, Add add) {
  if (n < 4) {
    for (std::size_t i = 0; i < n; ++i) add(wasm_f32x4_splat(x[i]));
    return;
  }
  for (std::size_t i = 0; i < n; i += 4) add(wasm_v128_load(x + std::min(i, n - 4)));
}

[[gnu::noinline]] Range exact_run(const float* x, std::size_t n, bool finite_only) {
  Exact exact{finite_only};
  for_quads(x, n, [&](v128_t four) { exact.add({four}); });
  return of_lanes(exact.min, exact.max);
}

// Runs of at least this length are read at two places at once, which is faster in memory. For
// shorter consecutive runs it is not, because the hardware prefetcher follows neither place.
constexpr std::size_t kLongRun = std::size_t{1} << 16;

// Adds a run's values to running minima and maxima.
void join_run(const float* x, std::size_t n, Quick& quick) {
  std::size_t i = 0;
  if (n >= kLongRun) {
    const std::size_t half = n / 64 * 32;
    for (; i < half; i += 32) {
      quick.add_at<8>(x + i, 4);
      quick.add_at<8>(x + half + i, 4);
    }
    i += half;
  }
  for (; i + 32 <= n; i += 32) quick.add_at<8>(x + i, 4);
  for_quads(x + i, n - i, [&](v128_t four) { quick.add({four}); });
}

Range one_run(const float* x, std::size_t n, bool finite_only) {
  Quick quick;
  join_run(x, n, quick);
  const Range range = of_lanes(quick.min, quick.max);
  const bool certain = !has_nan(quick.sums) && (!finite_only || is_finite(range));
  return certain ? range : exact_run(x, n, finite_only);
}

// Lane r of the result is `pick` applied to all lanes of rows[r].
template <typename Pick>
v128_t across(const v128_t* rows, Pick pick) {
  const v128_t ab = pick(wasm_i32x4_shuffle(rows[0], rows[1], 0, 4, 1, 5),
                         wasm_i32x4_shuffle(rows[0], rows[1], 2, 6, 3, 7));
  const v128_t cd = pick(wasm_i32x4_shuffle(rows[2], rows[3], 0, 4, 1, 5),
                         wasm_i32x4_shuffle(rows[2], rows[3], 2, 6, 3, 7));
  return pick(wasm_i64x2_shuffle(ab, cd, 0, 2), wasm_i64x2_shuffle(ab, cd, 1, 3));
}

// {min, max} of four slices, side by side.
void store_pairs(v128_t min, v128_t max, Range* out) {
  wasm_v128_store(out, wasm_i32x4_shuffle(min, max, 0, 4, 1, 5));
  wasm_v128_store(out + 2, wasm_i32x4_shuffle(min, max, 2, 6, 3, 7));
}

// Shorter runs are read side by side, longer runs one after another.
constexpr std::size_t kShortRun = 32;

// Four runs of at least four values. @return whether all are finite; else nothing is written
bool four_runs(const float* x, std::size_t length, Range* out) {
  v128_t min[4];
  v128_t max[4];
  Quick quick;
  if (length < kShortRun) {
    for (std::size_t r = 0; r < 4; ++r) min[r] = max[r] = wasm_v128_load(x + r * length);
    quick.watch(min);
    for (std::size_t i = 4; i < length; i += 4) {
      const float* from = x + std::min(i, length - 4);
      v128_t four[4];
      for (std::size_t r = 0; r < 4; ++r) {
        four[r] = wasm_v128_load(from + r * length);
        min[r] = smaller(min[r], four[r]);
        max[r] = larger(max[r], four[r]);
      }
      quick.watch(four);
    }
  } else {
    for (std::size_t r = 0; r < 4; ++r) {
      quick.min = wasm_f32x4_splat(kInfinity);
      quick.max = wasm_f32x4_splat(-kInfinity);
      join_run(x + r * length, length, quick);
      min[r] = quick.min;
      max[r] = quick.max;
    }
  }
  const v128_t mins = across(min, smaller);
  const v128_t maxs = across(max, larger);
  const v128_t finite = wasm_v128_and(wasm_f32x4_gt(mins, wasm_f32x4_splat(-kInfinity)),
                                      wasm_f32x4_lt(maxs, wasm_f32x4_splat(kInfinity)));
  if (has_nan(quick.sums) || !wasm_i32x4_all_true(finite)) return false;
  store_pairs(mins, maxs, out);
  return true;
}

// ---- columns

// Running minima and maxima of four columns, stored in the place of their four result pairs: first
// the four minima, then the four maxima.
struct Block {
  Range* at;

  [[nodiscard]] v128_t min() const { return wasm_v128_load(at); }
  [[nodiscard]] v128_t max() const { return wasm_v128_load(at + 2); }
  void store(v128_t min, v128_t max) const {
    wasm_v128_store(at, min);
    wasm_v128_store(at + 2, max);
  }
};

// Adds kRows rows, `apart` values apart, to the columns' minima and maxima.
template <std::size_t kRows, typename Lanes>
void join_rows(const float* x, std::size_t apart, std::size_t columns, Range* out, Lanes& lanes) {
  for (std::size_t c = 0; c < columns; c += 4) {
    const Block block{out + c};
    lanes.min = block.min();
    lanes.max = block.max();
    v128_t rows[kRows];
    for (std::size_t r = 0; r < kRows; ++r) rows[r] = wasm_v128_load(x + r * apart + c);
    lanes.add(rows);
    block.store(lanes.min, lanes.max);
  }
}

// @param columns  a multiple of four
template <typename Lanes>
Lanes blocks_of_columns(const float* x, std::size_t rows, std::size_t stride, std::size_t columns,
                        Lanes lanes, Range* out) {
  for (std::size_t c = 0; c < columns; c += 4) Block{out + c}.store(lanes.min, lanes.max);
  std::size_t row = 0;
  if constexpr (std::is_same_v<Lanes, Quick>) {
    // One row from each quarter, so that each of the four read streams is sequential.
    const std::size_t band = rows / 4;
    for (; row < band; ++row) {
      join_rows<4>(x + row * stride, band * stride, columns, out, lanes);
    }
    row = 4 * band;
  }
  for (; row < rows; ++row) join_rows<1>(x + row * stride, 0, columns, out, lanes);
  return lanes;
}

Range one_column(const float* x, std::size_t rows, std::size_t stride, bool finite_only) {
  Exact exact{finite_only};
  for (std::size_t row = 0; row < rows; ++row) exact.add({wasm_f32x4_splat(x[row * stride])});
  return of_lanes(exact.min, exact.max);
}

}  // namespace

Range minmax_f32(const float* x, std::size_t n) { return one_run(x, n, false); }

void minmax_runs_f32(const float* x, std::size_t runs, std::size_t length, bool finite_only,
                     Range* out) {
  const auto few = [=](std::size_t run, std::size_t count) {
    if (count == 4 && length >= 4 && four_runs(x + run * length, length, out + run)) return;
    for (const std::size_t end = run + count; run < end; ++run) {
      out[run] = one_run(x + run * length, length, finite_only);
    }
  };
  // Alternates between four runs of either half: reading memory at two places is faster.
  const std::size_t half = runs / 8 * 4;
  for (std::size_t run = 0; run < half; run += 4) {
    few(run, 4);
    few(half + run, 4);
  }
  for (std::size_t run = 2 * half; run < runs; run += 4) {
    few(run, std::min<std::size_t>(4, runs - run));
  }
}

void minmax_columns_f32(const float* x, std::size_t rows, std::size_t stride, std::size_t columns,
                        bool finite_only, Range* out) {
  const std::size_t whole = columns / 4 * 4;
  const Quick quick = blocks_of_columns(x, rows, stride, whole, Quick{}, out);
  bool certain = !has_nan(quick.sums);
  for (std::size_t c = 0; c < whole && certain && finite_only; c += 4) {
    const Block block{out + c};
    const v128_t finite = wasm_v128_and(wasm_f32x4_gt(block.min(), wasm_f32x4_splat(-kInfinity)),
                                        wasm_f32x4_lt(block.max(), wasm_f32x4_splat(kInfinity)));
    certain = wasm_i32x4_all_true(finite);
  }
  if (!certain) blocks_of_columns(x, rows, stride, whole, Exact{finite_only}, out);
  for (std::size_t c = 0; c < whole; c += 4) {
    const Block block{out + c};
    store_pairs(block.min(), block.max(), out + c);
  }
  for (std::size_t c = whole; c < columns; ++c) {
    out[c] = one_column(x + c, rows, stride, finite_only);
  }
}

}  // namespace zeropoint::kernels
