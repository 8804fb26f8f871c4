// Dot products of up to four rows of x with one row of weights, eight values per step: the weights
// are loaded (and widened) once for all rows. The order of additions does not depend on the number
// of rows.
// Parity: bit-identical to reference/dot.h.
#include <cassert>

#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

constexpr std::size_t kEight = 8;

// Eight values, as float32 or as double.
struct Floats8 {
  static constexpr std::size_t kVectors = 2;
  v128_t vectors[kVectors];

  explicit Floats8(const float* values)
      : vectors{wasm_v128_load(values), wasm_v128_load(values + 4)} {}
  static v128_t zero() { return wasm_f32x4_splat(0.0F); }
  static v128_t add(v128_t a, v128_t b) { return wasm_f32x4_add(a, b); }
  static v128_t mul(v128_t a, v128_t b) { return wasm_f32x4_mul(a, b); }
  // Adds up the partial sums of a row.
  static float join(const v128_t* sums) {
    float lanes[4];
    wasm_v128_store(lanes, add(sums[0], sums[1]));
    return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
  }
};

struct Doubles8 {
  static constexpr std::size_t kVectors = 4;
  v128_t vectors[kVectors];

  explicit Doubles8(const float* values) {
    for (std::size_t i = 0; i < 2; ++i) {
      const v128_t four = wasm_v128_load(values + 4 * i);
      vectors[2 * i] = wasm_f64x2_promote_low_f32x4(four);
      vectors[2 * i + 1] = wasm_f64x2_promote_low_f32x4(wasm_i64x2_shuffle(four, four, 1, 1));
    }
  }
  static v128_t zero() { return wasm_f64x2_splat(0.0); }
  static v128_t add(v128_t a, v128_t b) { return wasm_f64x2_add(a, b); }
  static v128_t mul(v128_t a, v128_t b) { return wasm_f64x2_mul(a, b); }
  static double join(const v128_t* sums) {
    const v128_t sum = add(add(sums[0], sums[1]), add(sums[2], sums[3]));
    return wasm_f64x2_extract_lane(sum, 0) + wasm_f64x2_extract_lane(sum, 1);
  }
};

template <std::size_t kCount, typename Eight, typename Sum>
void dot_rows(const float* x, std::size_t stride, const float* w, std::size_t k, Sum* dots) {
  v128_t acc[kCount][Eight::kVectors];
  for (auto& row : acc) {
    for (v128_t& lanes : row) lanes = Eight::zero();
  }
  std::size_t i = 0;
  for (; i + kEight <= k; i += kEight) {
    const Eight weights(w + i);
    for (std::size_t r = 0; r < kCount; ++r) {
      const Eight values(x + r * stride + i);
      for (std::size_t j = 0; j < Eight::kVectors; ++j) {
        acc[r][j] = Eight::add(acc[r][j], Eight::mul(values.vectors[j], weights.vectors[j]));
      }
    }
  }
  for (std::size_t r = 0; r < kCount; ++r) {
    Sum dot = Eight::join(acc[r]);
    for (std::size_t t = i; t < k; ++t) {
      dot += static_cast<Sum>(x[r * stride + t]) * static_cast<Sum>(w[t]);
    }
    dots[r] = dot;
  }
}

template <typename Eight, typename Sum>
void dot_any(const float* x, std::size_t rows, std::size_t stride, const float* w, std::size_t k,
             Sum* dots) {
  assert(rows >= 1 && rows <= kDotRows);
  // Two and three rows are rare, so there are no separate loops for them.
  if (rows == kDotRows) return dot_rows<kDotRows, Eight>(x, stride, w, k, dots);
  for (std::size_t r = 0; r < rows; ++r) {
    dot_rows<1, Eight>(x + r * stride, stride, w, k, dots + r);
  }
}

}  // namespace

void dot(const float* x, std::size_t rows, std::size_t stride, const float* w, std::size_t k,
         double* dots) {
  dot_any<Doubles8>(x, rows, stride, w, k, dots);
}

void dot(const float* x, std::size_t rows, std::size_t stride, const float* w, std::size_t k,
         float* dots) {
  dot_any<Floats8>(x, rows, stride, w, k, dots);
}

}  // namespace zeropoint::kernels
