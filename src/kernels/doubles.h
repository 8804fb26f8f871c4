// Four values in double precision, in a pair of vectors.
#pragma once

#include "kernels/simd.h"

namespace zeropoint::kernels {

struct Doubles {
  v128_t low;   ///< values 0 and 1
  v128_t high;  ///< values 2 and 3
};

inline Doubles operator*(Doubles a, Doubles b) {
  return {wasm_f64x2_mul(a.low, b.low), wasm_f64x2_mul(a.high, b.high)};
}
inline Doubles operator+(Doubles a, Doubles b) {
  return {wasm_f64x2_add(a.low, b.low), wasm_f64x2_add(a.high, b.high)};
}
inline Doubles operator-(Doubles a, Doubles b) {
  return {wasm_f64x2_sub(a.low, b.low), wasm_f64x2_sub(a.high, b.high)};
}

inline Doubles splat(double value) { return {wasm_f64x2_splat(value), wasm_f64x2_splat(value)}; }

/// The upper half of a vector as its lower one.
inline v128_t upper(v128_t v) { return wasm_i64x2_shuffle(v, v, 1, 1); }

inline Doubles widen_i32(v128_t v) {
  return {wasm_f64x2_convert_low_i32x4(v), wasm_f64x2_convert_low_i32x4(upper(v))};
}

inline Doubles widen_f32(v128_t v) {
  return {wasm_f64x2_promote_low_f32x4(v), wasm_f64x2_promote_low_f32x4(upper(v))};
}

/// Loads four float32, two at a time: engines load and widen two in one instruction.
inline Doubles load_doubles(const float* x) {
  return {wasm_f64x2_promote_low_f32x4(wasm_v128_load64_zero(x)),
          wasm_f64x2_promote_low_f32x4(wasm_v128_load64_zero(x + 2))};
}

inline Doubles load_doubles(const double* x) { return {wasm_v128_load(x), wasm_v128_load(x + 2)}; }

/// Rounded to float32.
inline v128_t narrow(Doubles v) {
  const v128_t low = wasm_f32x4_demote_f64x2_zero(v.low);
  const v128_t high = wasm_f32x4_demote_f64x2_zero(v.high);
  return wasm_i64x2_shuffle(low, high, 0, 2);
}

}  // namespace zeropoint::kernels
