// Conversions between float32 and 16-bit floats, four lanes at a time, in the low 16 bits of 32-bit
// lanes. Rounding is to nearest, ties to even; subnormals are kept; magnitudes above the largest
// 16-bit float are rounded to it or become infinity (for float16 from 65520 on).
#pragma once

#include "kernels/simd.h"

namespace zeropoint::kernels {

/// float32 to IEEE half. NaN becomes sign | 0x7e00, as in ggml.
inline v128_t f32_to_f16(v128_t x) {
  const v128_t sign = wasm_v128_and(x, wasm_i32x4_splat(INT32_MIN));
  const v128_t bits = wasm_v128_xor(x, sign);
  // Below 2^-14: adding 0.5 rounds to multiples of 2^-24, the step of subnormal halves.
  const v128_t subnormal =
      wasm_i32x4_sub(wasm_f32x4_add(bits, wasm_f32x4_splat(0.5F)), wasm_i32x4_splat(0x3f000000));
  const v128_t odd = wasm_v128_and(wasm_u32x4_shr(bits, 13), wasm_i32x4_splat(1));
  const v128_t rebias = wasm_i32x4_splat(((15 - 127) * (1 << 23)) + 0xfff);
  const v128_t normal = wasm_u32x4_shr(wasm_i32x4_add(wasm_i32x4_add(bits, rebias), odd), 13);
  const v128_t is_nan = wasm_i32x4_gt(bits, wasm_i32x4_splat(0x7f800000));
  const v128_t special =
      wasm_v128_bitselect(wasm_i32x4_splat(0x7e00), wasm_i32x4_splat(0x7c00), is_nan);
  v128_t half =
      wasm_v128_bitselect(subnormal, normal, wasm_i32x4_lt(bits, wasm_i32x4_splat(0x38800000)));
  half = wasm_v128_bitselect(special, half, wasm_i32x4_ge(bits, wasm_i32x4_splat(0x47800000)));
  return wasm_v128_or(half, wasm_u32x4_shr(sign, 16));
}

/// IEEE half to float32, exact; NaN keeps its payload.
inline v128_t f16_to_f32(v128_t half) {
  // The sign stays the highest bit; the other bits move to those of a float32.
  const v128_t bits = wasm_v128_and(wasm_i32x4_shr(wasm_i32x4_shl(half, 16), 3),
                                    wasm_i32x4_splat(static_cast<std::int32_t>(0x8fffe000)));
  // Multiplying by 2^112 moves the exponent and normalizes subnormals.
  const v128_t scaled = wasm_f32x4_mul(bits, wasm_f32x4_splat(0x1p112F));
  const v128_t top = wasm_i32x4_splat(0x0f800000);
  const v128_t is_special = wasm_i32x4_eq(wasm_v128_and(bits, top), top);
  return wasm_v128_or(scaled, wasm_v128_and(is_special, wasm_i32x4_splat(0x7f800000)));
}

/// float32 to bfloat16. NaN keeps its high bits and becomes quiet, as in ggml.
inline v128_t f32_to_bf16(v128_t x) {
  const v128_t odd = wasm_v128_and(wasm_u32x4_shr(x, 16), wasm_i32x4_splat(1));
  const v128_t rounded = wasm_i32x4_add(wasm_i32x4_add(x, wasm_i32x4_splat(0x7fff)), odd);
  const v128_t quiet = wasm_v128_or(x, wasm_i32x4_splat(0x00400000));
  return wasm_u32x4_shr(wasm_v128_bitselect(quiet, rounded, wasm_f32x4_ne(x, x)), 16);
}

/// bfloat16 to float32, exact.
inline v128_t bf16_to_f32(v128_t bits) { return wasm_i32x4_shl(bits, 16); }

/// One value.
inline std::uint16_t f32_to_f16(float x) {
  return static_cast<std::uint16_t>(wasm_i32x4_extract_lane(f32_to_f16(wasm_f32x4_splat(x)), 0));
}
inline float f16_to_f32(std::uint16_t half) {
  return wasm_f32x4_extract_lane(f16_to_f32(wasm_i32x4_splat(half)), 0);
}

}  // namespace zeropoint::kernels
