// Scales and zero points of two ranges per step, in double precision.
// Parity: bit-identical to reference/choose_qparams_f64.h for every finite range.
#include <cfloat>

#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

v128_t all(double value) { return wasm_f64x2_splat(value); }

// Raises the scale to the smallest normal float32, and lowers it to the largest.
v128_t to_normal(v128_t scales) {
  return wasm_f64x2_pmin(wasm_f64x2_pmax(scales, all(FLT_MIN)), all(FLT_MAX));
}

template <bool kSymmetric>
void choose_all(const Range* ranges, std::size_t n, const ChoiceRule& rule, double* scales,
                std::int32_t* zero_points) {
  const v128_t zero = all(0.0);
  const v128_t low = all(rule.qmin);
  const v128_t high = all(rule.qmax);
  const v128_t steps = wasm_f64x2_sub(high, low);
  const v128_t always = wasm_i64x2_splat(rule.include_zero ? -1 : 0);
  const auto clamp = [&](v128_t codes) {
    return wasm_f64x2_pmin(wasm_f64x2_pmax(codes, low), high);
  };
  for (std::size_t i = 0; i < n; i += 2) {
    const bool is_pair = i + 2 <= n;
    const v128_t ends = is_pair ? wasm_v128_load(ranges + i) : wasm_v128_load64_splat(ranges + i);
    v128_t min = wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(ends, ends, 0, 2, 0, 2));
    v128_t max = wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(ends, ends, 1, 3, 1, 3));
    v128_t scale;
    v128_t code = zero;
    if constexpr (kSymmetric) {
      const v128_t largest = wasm_f64x2_pmax(wasm_f64x2_abs(min), wasm_f64x2_abs(max));
      scale = wasm_v128_bitselect(all(1.0), to_normal(wasm_f64x2_div(largest, high)),
                                  wasm_f64x2_eq(largest, zero));
    } else {
      const v128_t is_widened = wasm_v128_or(always, wasm_f64x2_eq(min, max));
      min = wasm_v128_bitselect(wasm_f64x2_pmin(min, zero), min, is_widened);
      max = wasm_v128_bitselect(wasm_f64x2_pmax(max, zero), max, is_widened);
      const v128_t is_zero = wasm_f64x2_eq(min, max);
      scale = to_normal(wasm_f64x2_div(wasm_f64x2_sub(max, min), steps));
      // Rounds half to even, as Python's round().
      code = wasm_f64x2_nearest(wasm_f64x2_sub(low, wasm_f64x2_div(min, scale)));
      scale = wasm_v128_bitselect(all(1.0), scale, is_zero);
      code = clamp(wasm_v128_andnot(code, is_zero));
    }
    const v128_t codes = wasm_i32x4_trunc_sat_f64x2_zero(code);
    if (is_pair) {
      wasm_v128_store(scales + i, scale);
      wasm_v128_store64_lane(zero_points + i, codes, 0);
    } else {
      wasm_v128_store64_lane(scales + i, scale, 0);
      wasm_v128_store32_lane(zero_points + i, codes, 0);
    }
  }
}

}  // namespace

void choose_qparams_f64(const Range* ranges, std::size_t n, const ChoiceRule& rule, double* scales,
                        std::int32_t* zero_points) {
  const auto choose = rule.symmetric ? choose_all<true> : choose_all<false>;
  choose(ranges, n, rule, scales, zero_points);
}

}  // namespace zeropoint::kernels
