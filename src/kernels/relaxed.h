// Operations for which relaxed SIMD has instructions of its own, and whether code for them is
// compiled. The only header whose code differs between the baseline and the relaxed build: a file
// that includes it, directly or not, is compiled for each of them, all others once for both.
#pragma once

#include "kernels/doubles.h"
#include "kernels/simd.h"

#if defined(ZEROPOINT_SHARED)
#error \
    "compiled once for the baseline and the relaxed build: add this file to compiled_twice in CMakeLists.txt"
#endif

/// Whether code for relaxed SIMD is compiled: in the relaxed build, and natively, for its tests.
#if defined(__wasm_relaxed_simd__) || !defined(__wasm__)
#define ZEROPOINT_RELAXED 1
#else
#define ZEROPOINT_RELAXED 0
#endif

namespace zeropoint::kernels {

/// a * b + c, rounded once or twice: with relaxed SIMD the engine decides.
inline v128_t multiply_add(v128_t a, v128_t b, v128_t c) {
#if defined(__wasm_relaxed_simd__)
  return wasm_f32x4_relaxed_madd(a, b, c);
#else
  return wasm_f32x4_add(wasm_f32x4_mul(a, b), c);
#endif
}

/// a * b + c in double, for products that double holds exactly (of two float32, for example), so
/// that the fused form gives the same bits.
inline v128_t add_exact_product(v128_t a, v128_t b, v128_t c) {
#if defined(__wasm_relaxed_simd__)
  return wasm_f64x2_relaxed_madd(a, b, c);
#else
  return wasm_f64x2_add(wasm_f64x2_mul(a, b), c);
#endif
}

/// Converts integral floats within int32, in one instruction where possible.
inline v128_t to_integers(v128_t v) {
#if defined(__wasm_relaxed_simd__)
  return wasm_i32x4_relaxed_trunc_f32x4(v);
#else
  return wasm_i32x4_trunc_sat_f32x4(v);
#endif
}

inline Doubles add_exact_product(Doubles a, Doubles b, Doubles c) {
  return {add_exact_product(a.low, b.low, c.low), add_exact_product(a.high, b.high, c.high)};
}

#if ZEROPOINT_RELAXED
/// i32x4.relaxed_dot_i8x16_i7x16_add_s: c[lane] + the sum of four products a * b, a being int8.
/// Only for b in 0 ... 127, where every engine computes the same.
inline v128_t dot_i8x16_i7x16_add(v128_t a, v128_t b, v128_t c) {
#if defined(__wasm_relaxed_simd__)
  return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(a, b, c);
#else
  const v128_t low = wasm_i16x8_mul(wasm_i16x8_extend_low_i8x16(a), wasm_i16x8_extend_low_i8x16(b));
  const v128_t high =
      wasm_i16x8_mul(wasm_i16x8_extend_high_i8x16(a), wasm_i16x8_extend_high_i8x16(b));
  const v128_t low_pairs = wasm_i32x4_extadd_pairwise_i16x8(low);
  const v128_t high_pairs = wasm_i32x4_extadd_pairwise_i16x8(high);
  const v128_t even = wasm_i32x4_shuffle(low_pairs, high_pairs, 0, 2, 4, 6);
  const v128_t odd = wasm_i32x4_shuffle(low_pairs, high_pairs, 1, 3, 5, 7);
  return wasm_i32x4_add(c, wasm_i32x4_add(even, odd));
#endif
}
#endif

}  // namespace zeropoint::kernels
