// Four float32 or int32 values side by side, with operators: the notation of block_search.h, with
// one sub-block per lane. Every operation rounds once; none is relaxed or fused.
#pragma once

#include "kernels/simd.h"

namespace zeropoint::kernels {

/// All bits of a lane are 1 where a comparison holds, else 0.
struct Mask {
  v128_t v;
};

inline Mask operator&(Mask a, Mask b) { return {wasm_v128_and(a.v, b.v)}; }
inline Mask operator|(Mask a, Mask b) { return {wasm_v128_or(a.v, b.v)}; }
inline bool any(Mask m) { return wasm_v128_any_true(m.v); }

// Implicit conversions between vectors, lanes and numbers keep the arithmetic readable.
// NOLINTBEGIN(google-explicit-constructor)

/// float32 in four lanes.
struct F4 {
  v128_t v;

  F4() = default;
  F4(v128_t vector) : v(vector) {}
  F4(float value) : v(wasm_f32x4_splat(value)) {}
};

inline F4 operator+(F4 a, F4 b) { return wasm_f32x4_add(a.v, b.v); }
inline F4 operator-(F4 a, F4 b) { return wasm_f32x4_sub(a.v, b.v); }
inline F4 operator*(F4 a, F4 b) { return wasm_f32x4_mul(a.v, b.v); }
inline F4 operator/(F4 a, F4 b) { return wasm_f32x4_div(a.v, b.v); }
inline F4 operator-(F4 a) { return wasm_f32x4_neg(a.v); }
inline Mask operator<(F4 a, F4 b) { return {wasm_f32x4_lt(a.v, b.v)}; }
inline Mask operator<=(F4 a, F4 b) { return {wasm_f32x4_le(a.v, b.v)}; }
inline Mask operator>(F4 a, F4 b) { return {wasm_f32x4_gt(a.v, b.v)}; }
inline Mask operator>=(F4 a, F4 b) { return {wasm_f32x4_ge(a.v, b.v)}; }
inline Mask operator!=(F4 a, F4 b) { return {wasm_f32x4_ne(a.v, b.v)}; }
inline F4 abs(F4 a) { return wasm_f32x4_abs(a.v); }
inline F4 sqrt(F4 a) { return wasm_f32x4_sqrt(a.v); }
/// b < a ? b : a, and a < b ? b : a: C's comparisons.
inline F4 smaller(F4 a, F4 b) { return wasm_f32x4_pmin(a.v, b.v); }
inline F4 larger(F4 a, F4 b) { return wasm_f32x4_pmax(a.v, b.v); }
inline F4 select(Mask m, F4 yes, F4 no) { return wasm_v128_bitselect(yes.v, no.v, m.v); }

/// int32 in four lanes.
struct I4 {
  v128_t v;

  I4() = default;
  I4(v128_t vector) : v(vector) {}
  I4(std::int32_t value) : v(wasm_i32x4_splat(value)) {}
};

inline I4 operator+(I4 a, I4 b) { return wasm_i32x4_add(a.v, b.v); }
inline I4 operator-(I4 a, I4 b) { return wasm_i32x4_sub(a.v, b.v); }
inline I4 operator&(I4 a, I4 b) { return wasm_v128_and(a.v, b.v); }
inline I4 smaller(I4 a, I4 b) { return wasm_i32x4_min(a.v, b.v); }
inline I4 larger(I4 a, I4 b) { return wasm_i32x4_max(a.v, b.v); }
inline Mask operator!=(I4 a, I4 b) { return {wasm_i32x4_ne(a.v, b.v)}; }
inline I4 select(Mask m, I4 yes, I4 no) { return wasm_v128_bitselect(yes.v, no.v, m.v); }
/// Hidden from the compiler: lanes known to be >= 0 would be converted as unsigned, eight
/// instructions instead of one on x86.
inline F4 to_float(I4 a) { return wasm_f32x4_convert_i32x4(opaque(a.v)); }

/// Rounds half to even, by adding 1.5 * 2^23 and reading the low 23 bits: beyond 2^22 they wrap,
/// and infinities give -2^22. Source: nearest_int() of ggml-quants.c, wrapping included.
inline I4 nearest(F4 a) {
  const I4 bits = (a + F4(12582912.0F)).v;
  return (bits & I4(0x007fffff)) - I4(0x00400000);
}

/// Rounds half away from zero, as roundf().
inline F4 away(F4 a) {
  const v128_t whole = wasm_f32x4_trunc(a.v);
  const v128_t rest = wasm_f32x4_abs(wasm_f32x4_sub(a.v, whole));
  const v128_t sign = wasm_v128_and(a.v, wasm_i32x4_splat(INT32_MIN));
  const v128_t one = wasm_v128_or(wasm_f32x4_splat(1.0F), sign);
  return wasm_f32x4_add(whole, wasm_v128_and(one, wasm_f32x4_ge(rest, wasm_f32x4_splat(0.5F))));
}

/// The transposed 4 x 4 matrix of four rows.
inline void transpose(v128_t& a, v128_t& b, v128_t& c, v128_t& d) {
  const v128_t ab_low = wasm_i32x4_shuffle(a, b, 0, 4, 1, 5);
  const v128_t ab_high = wasm_i32x4_shuffle(a, b, 2, 6, 3, 7);
  const v128_t cd_low = wasm_i32x4_shuffle(c, d, 0, 4, 1, 5);
  const v128_t cd_high = wasm_i32x4_shuffle(c, d, 2, 6, 3, 7);
  a = wasm_i64x2_shuffle(ab_low, cd_low, 0, 2);
  b = wasm_i64x2_shuffle(ab_low, cd_low, 1, 3);
  c = wasm_i64x2_shuffle(ab_high, cd_high, 0, 2);
  d = wasm_i64x2_shuffle(ab_high, cd_high, 1, 3);
}

// NOLINTEND(google-explicit-constructor)

}  // namespace zeropoint::kernels
