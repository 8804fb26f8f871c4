// Transfers sixteen codes at a time between memory and four vectors of int32. Shared by all loops
// over codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {

/// 1.5 * 2^23. Adding it leaves a float no fraction bits, so the sum is rounded half to even, and
/// its bits are those of the constant plus the integer. The order of the bits is kept even for
/// floats far outside this range.
inline constexpr float kMagic = 12582912.0F;
inline constexpr std::int32_t kMagicBits = 0x4B400000;

struct Int32x16 {
  v128_t lanes[4];
};

/// Narrows 16 int32 within Code's range, and stores them.
template <typename Code>
inline void store_codes(const Int32x16& v, Code* out) {
  if constexpr (sizeof(Code) == 4) {
    for (std::size_t j = 0; j < 4; ++j) wasm_v128_store(out + 4 * j, v.lanes[j]);
  } else if constexpr (std::is_same_v<Code, std::uint16_t>) {
    wasm_v128_store(out, wasm_u16x8_narrow_i32x4(v.lanes[0], v.lanes[1]));
    wasm_v128_store(out + 8, wasm_u16x8_narrow_i32x4(v.lanes[2], v.lanes[3]));
  } else {
    const v128_t low = wasm_i16x8_narrow_i32x4(v.lanes[0], v.lanes[1]);
    const v128_t high = wasm_i16x8_narrow_i32x4(v.lanes[2], v.lanes[3]);
    if constexpr (std::is_same_v<Code, std::int16_t>) {
      wasm_v128_store(out, low);
      wasm_v128_store(out + 8, high);
    } else if constexpr (std::is_same_v<Code, std::int8_t>) {
      wasm_v128_store(out, wasm_i8x16_narrow_i16x8(low, high));
    } else {
      wasm_v128_store(out, wasm_u8x16_narrow_i16x8(low, high));
    }
  }
}

/// Narrows 16 arbitrary int32 to codes of 8 bits within the rule's limits.
template <typename Code>
inline v128_t narrow_codes(const Int32x16& v, const CodeRule& rule) {
  static_assert(sizeof(Code) == 1);
  const v128_t low = wasm_i16x8_narrow_i32x4(v.lanes[0], v.lanes[1]);
  const v128_t high = wasm_i16x8_narrow_i32x4(v.lanes[2], v.lanes[3]);
  const v128_t qmin = wasm_i8x16_splat(static_cast<std::int8_t>(rule.qmin));
  const v128_t qmax = wasm_i8x16_splat(static_cast<std::int8_t>(rule.qmax));
  if constexpr (std::is_signed_v<Code>) {
    return wasm_i8x16_max(wasm_i8x16_min(wasm_i8x16_narrow_i16x8(low, high), qmax), qmin);
  } else {
    return wasm_u8x16_max(wasm_u8x16_min(wasm_u8x16_narrow_i16x8(low, high), qmax), qmin);
  }
}

/// Loads 16 codes and widens them to int32, hidden from the compiler where they are >= 0: it would
/// convert them to float as unsigned, eight instructions instead of one on x86.
template <typename Code>
inline Int32x16 load_codes(const Code* codes) {
  Int32x16 v;
  if constexpr (sizeof(Code) == 4) {
    for (std::size_t j = 0; j < 4; ++j) v.lanes[j] = wasm_v128_load(codes + 4 * j);
  } else {
    for (std::size_t j = 0; j < 2; ++j) {
      v128_t half;
      if constexpr (std::is_same_v<Code, std::int8_t>) {
        half = wasm_i16x8_load8x8(codes + 8 * j);
      } else if constexpr (std::is_same_v<Code, std::uint8_t>) {
        half = opaque(wasm_u16x8_load8x8(codes + 8 * j));
      } else {
        half = wasm_v128_load(codes + 8 * j);
      }
      if constexpr (std::is_same_v<Code, std::uint16_t>) {
        v.lanes[2 * j] = opaque(wasm_u32x4_extend_low_u16x8(half));
        v.lanes[2 * j + 1] = opaque(wasm_u32x4_extend_high_u16x8(half));
      } else {
        v.lanes[2 * j] = wasm_i32x4_extend_low_i16x8(half);
        v.lanes[2 * j + 1] = wasm_i32x4_extend_high_i16x8(half);
      }
    }
  }
  return v;
}

/// Loads four codes of 8 bits and widens them to int32, as load_codes().
template <typename Code>
inline v128_t load_four(const Code* codes) {
  static_assert(sizeof(Code) == 1);
  const v128_t bytes = wasm_v128_load32_zero(codes);
  if constexpr (std::is_signed_v<Code>) {
    return wasm_i32x4_extend_low_i16x8(wasm_i16x8_extend_low_i8x16(bytes));
  } else {
    return opaque(wasm_u32x4_extend_low_u16x8(wasm_u16x8_extend_low_u8x16(bytes)));
  }
}

}  // namespace zeropoint::kernels
