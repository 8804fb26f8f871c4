// The only file that includes SIMD intrinsics: WebAssembly's, or natively SIMDe's portable ones, so
// that tests and sanitizers run the code that ships.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__wasm_simd128__)
#include <wasm_simd128.h>
#else
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/wasm/simd128.h>
#endif

namespace zeropoint::kernels {

/// Returns v unchanged, hidden from the optimizer. Otherwise the compiler turns a shift of widened
/// bytes into a shift of bytes, which x86 lacks.
inline v128_t opaque(v128_t v) {
#if defined(__wasm__)
  __asm__("" : "+r"(v));
#endif
  return v;
}

/// Returns p + bytes, hidden from the optimizer. Otherwise the compiler replaces the pointer by a
/// loop counter and recomputes all addresses in each iteration.
inline const std::uint8_t* ahead(const std::uint8_t* p, std::size_t bytes) {
  p += bytes;
#if defined(__wasm__)
  __asm__("" : "+r"(p));
#endif
  return p;
}

/// Returns n, hidden from the optimizer: a loop of n iterations is not unrolled.
inline std::size_t hidden(std::size_t n) {
#if defined(__wasm__)
  __asm__("" : "+r"(n));
#endif
  return n;
}

/// kBits in every lane, read from memory so that the vector stays in a register: engines rebuild a
/// constant vector at every use.
template <std::int32_t kBits>
v128_t hidden_splat() {
  static const volatile std::int32_t bits = kBits;
  return wasm_i32x4_splat(bits);
}

/// Sums of neighbouring int32: of a's pairs, then of b's.
inline v128_t add_pairs(v128_t a, v128_t b) {
  return wasm_i32x4_add(wasm_i32x4_shuffle(a, b, 0, 2, 4, 6), wasm_i32x4_shuffle(a, b, 1, 3, 5, 7));
}

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

}  // namespace zeropoint::kernels

/// Whether code for relaxed SIMD is compiled: in the relaxed build, and natively, for its tests.
#if defined(__wasm_relaxed_simd__) || !defined(__wasm__)
#define ZEROPOINT_RELAXED 1
#else
#define ZEROPOINT_RELAXED 0
#endif

#if ZEROPOINT_RELAXED
namespace zeropoint::kernels {

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

}  // namespace zeropoint::kernels
#endif
