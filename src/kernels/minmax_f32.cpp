// Smallest and largest of 16 values a step. pmin and pmax drop a NaN in their second operand, so
// NaN is collected in a mask of its own: cheaper than the min and max that propagate it. Parity:
// the values of reference/minmax_f32.h; for a mix of zeros either sign.
#include <cassert>
#include <limits>

#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Four running minima and maxima, and which lanes have met a NaN.
struct Lanes {
  v128_t min = wasm_f32x4_splat(kInfinity);
  v128_t max = wasm_f32x4_splat(-kInfinity);
  v128_t nan = wasm_i32x4_splat(0);

  template <bool kFiniteOnly>
  void add(v128_t x) {
    if constexpr (kFiniteOnly) {
      const v128_t finite = wasm_f32x4_lt(wasm_f32x4_abs(x), wasm_f32x4_splat(kInfinity));
      min = wasm_f32x4_pmin(min, wasm_v128_bitselect(x, wasm_f32x4_splat(kInfinity), finite));
      max = wasm_f32x4_pmax(max, wasm_v128_bitselect(x, wasm_f32x4_splat(-kInfinity), finite));
    } else {
      min = wasm_f32x4_pmin(min, x);
      max = wasm_f32x4_pmax(max, x);
      nan = wasm_v128_or(nan, wasm_f32x4_ne(x, x));
    }
  }

  void merge(const Lanes& other) {
    min = wasm_f32x4_pmin(min, other.min);
    max = wasm_f32x4_pmax(max, other.max);
    nan = wasm_v128_or(nan, other.nan);
  }
};

// Scalars behind the same rule.
struct Scalar {
  MinMax range{kInfinity, -kInfinity};
  bool nan = false;

  template <bool kFiniteOnly>
  void add(float x) {
    if (kFiniteOnly && !(x > -kInfinity && x < kInfinity)) return;
    if (x < range.min) range.min = x;
    if (x > range.max) range.max = x;
    if (x != x) nan = true;
  }

  [[nodiscard]] MinMax result() const {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    return nan ? MinMax{kNan, kNan} : range;
  }
};

template <bool kFiniteOnly>
MinMax minmax(const float* x, std::size_t n) {
  Lanes lanes[4];
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    for (std::size_t j = 0; j < 4; ++j) {
      lanes[j].add<kFiniteOnly>(wasm_v128_load(x + i + 4 * j));
    }
  }
  for (; i + 4 <= n; i += 4) lanes[0].add<kFiniteOnly>(wasm_v128_load(x + i));
  lanes[0].merge(lanes[1]);
  lanes[2].merge(lanes[3]);
  lanes[0].merge(lanes[2]);

  float min[4];
  float max[4];
  wasm_v128_store(min, lanes[0].min);
  wasm_v128_store(max, lanes[0].max);
  Scalar scalar;
  scalar.nan = wasm_v128_any_true(lanes[0].nan);
  for (std::size_t j = 0; j < 4; ++j) {
    if (min[j] < scalar.range.min) scalar.range.min = min[j];
    if (max[j] > scalar.range.max) scalar.range.max = max[j];
  }
  for (; i < n; ++i) scalar.add<kFiniteOnly>(x[i]);
  return scalar.result();
}

// All 16 columns stay in registers while the rows pass.
template <bool kFiniteOnly>
void minmax_all_columns(const float* x, std::size_t rows, std::size_t stride, MinMax* out) {
  Lanes lanes[4];
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t j = 0; j < 4; ++j) {
      lanes[j].add<kFiniteOnly>(wasm_v128_load(x + row * stride + 4 * j));
    }
  }
  for (std::size_t j = 0; j < 4; ++j) {
    float min[4];
    float max[4];
    std::uint32_t nan[4];
    wasm_v128_store(min, lanes[j].min);
    wasm_v128_store(max, lanes[j].max);
    wasm_v128_store(nan, lanes[j].nan);
    for (std::size_t lane = 0; lane < 4; ++lane) {
      const Scalar scalar{{min[lane], max[lane]}, nan[lane] != 0};
      out[4 * j + lane] = scalar.result();
    }
  }
}

template <bool kFiniteOnly>
void minmax_columns(const float* x, std::size_t rows, std::size_t stride, std::size_t columns,
                    MinMax* out) {
  if (columns == kColumns) return minmax_all_columns<kFiniteOnly>(x, rows, stride, out);
  Scalar scalars[kColumns];
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t c = 0; c < columns; ++c) scalars[c].add<kFiniteOnly>(x[row * stride + c]);
  }
  for (std::size_t c = 0; c < columns; ++c) out[c] = scalars[c].result();
}

}  // namespace

MinMax minmax_f32(const float* x, std::size_t n) { return minmax<false>(x, n); }

MinMax minmax_finite_f32(const float* x, std::size_t n) { return minmax<true>(x, n); }

void minmax_columns_f32(const float* x, std::size_t rows, std::size_t stride, std::size_t columns,
                        bool finite_only, MinMax* out) {
  assert(columns <= kColumns && columns <= stride);
  if (finite_only) {
    minmax_columns<true>(x, rows, stride, columns, out);
  } else {
    minmax_columns<false>(x, rows, stride, columns, out);
  }
}

}  // namespace zeropoint::kernels
