// Codes in bytes, sixteen per vector, and the packing of the block types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/half.h"
#include "kernels/lanes.h"

namespace zeropoint::kernels {

inline void store_u16(std::uint8_t* out, std::uint16_t value) {
  std::memcpy(out, &value, sizeof value);
}
inline std::uint16_t load_u16(const std::uint8_t* in) {
  std::uint16_t value = 0;
  std::memcpy(&value, in, sizeof value);
  return value;
}
inline void store_f16(std::uint8_t* out, float value) { store_u16(out, f32_to_f16(value)); }
inline float load_f16(const std::uint8_t* in) { return f16_to_f32(load_u16(in)); }

/// 16 values of int32 as bytes of 0 ... 255.
inline v128_t narrow(v128_t a, v128_t b, v128_t c, v128_t d) {
  return wasm_u8x16_narrow_i16x8(wasm_i16x8_narrow_i32x4(a, b), wasm_i16x8_narrow_i32x4(c, d));
}
/// 16 values of int32 as bytes of -128 ... 127.
inline v128_t narrow_signed(v128_t a, v128_t b, v128_t c, v128_t d) {
  return wasm_i8x16_narrow_i16x8(wasm_i16x8_narrow_i32x4(a, b), wasm_i16x8_narrow_i32x4(c, d));
}

/// low | high << 4 of codes of 4 bits.
inline v128_t nibbles(v128_t low, v128_t high) {
  // Shifts of 16-bit lanes are one instruction each.
  return wasm_v128_or(low, wasm_i16x8_shl(high, 4));
}
inline v128_t low_nibbles(v128_t bytes) { return wasm_v128_and(bytes, wasm_i8x16_splat(15)); }
inline v128_t high_nibbles(v128_t bytes) { return wasm_u8x16_shr(bytes, 4); }

/// 256 codes of 2 bits in 64 bytes: byte 32h + l holds the codes 128h + l + {0, 32, 64, 96}. Bits
/// beyond the lowest two are dropped.
inline void pack_crumbs(const std::uint8_t* codes, std::uint8_t* out) {
  const v128_t mask = wasm_i8x16_splat(3);
  for (std::size_t half = 0; half < 2; ++half) {
    for (std::size_t l = 0; l < 32; l += 16) {
      v128_t packed = wasm_i8x16_splat(0);
      for (std::size_t k = 0; k < 4; ++k) {
        const v128_t crumb = wasm_v128_and(wasm_v128_load(codes + 128 * half + 32 * k + l), mask);
        packed = wasm_v128_or(packed, wasm_i8x16_shl(crumb, static_cast<std::uint32_t>(2 * k)));
      }
      wasm_v128_store(out + 32 * half + l, packed);
    }
  }
}

/// One bit of each of 256 codes in 32 bytes: bit k of byte l belongs to code 32k + l.
inline void pack_bits_of(const std::uint8_t* codes, int bit, std::uint8_t* out) {
  const v128_t one = wasm_i8x16_splat(1);
  for (std::size_t l = 0; l < 32; l += 16) {
    v128_t packed = wasm_i8x16_splat(0);
    for (std::size_t k = 0; k < 8; ++k) {
      const v128_t codes16 = wasm_v128_load(codes + 32 * k + l);
      const v128_t is_set =
          wasm_v128_and(wasm_u8x16_shr(codes16, static_cast<std::uint32_t>(bit)), one);
      packed = wasm_v128_or(packed, wasm_i8x16_shl(is_set, static_cast<std::uint32_t>(k)));
    }
    wasm_v128_store(out + l, packed);
  }
}

/// The low 4 bits of 256 codes in 128 bytes: of each 64 codes the first 32 are low nibbles, the
/// others high nibbles.
inline void pack_nibbles(const std::uint8_t* codes, std::uint8_t* out) {
  for (std::size_t group = 0; group < 4; ++group) {
    for (std::size_t l = 0; l < 32; l += 16) {
      const std::uint8_t* from = codes + 64 * group + l;
      const v128_t packed =
          nibbles(low_nibbles(wasm_v128_load(from)), low_nibbles(wasm_v128_load(from + 32)));
      wasm_v128_store(out + 32 * group + l, packed);
    }
  }
}

/// Eight scales and minimums of 6 bits in 12 bytes. Source: get_scale_min_k4().
inline void pack_scales(const std::uint8_t* scales, const std::uint8_t* minimums,
                        std::uint8_t* out) {
  for (std::size_t j = 0; j < 4; ++j) {
    out[j] = static_cast<std::uint8_t>(scales[j] | (scales[j + 4] >> 4) << 6);
    out[j + 4] = static_cast<std::uint8_t>(minimums[j] | (minimums[j + 4] >> 4) << 6);
    out[j + 8] = static_cast<std::uint8_t>((scales[j + 4] & 15) | (minimums[j + 4] & 15) << 4);
  }
}
inline void unpack_scales(const std::uint8_t* bytes, std::uint8_t* scales, std::uint8_t* minimums) {
  for (std::size_t j = 0; j < 4; ++j) {
    scales[j] = bytes[j] & 63;
    minimums[j] = bytes[j + 4] & 63;
    scales[j + 4] = static_cast<std::uint8_t>((bytes[j + 8] & 15) | (bytes[j] >> 6) << 4);
    minimums[j + 4] = static_cast<std::uint8_t>((bytes[j + 8] >> 4) | (bytes[j + 4] >> 6) << 4);
  }
}

/// Sixteen scales of 6 bits in the 12 bytes of q3_k.
inline void pack_q3_scales(const std::uint8_t* scales, std::uint8_t* out) {
  for (std::size_t j = 0; j < 8; ++j) {
    out[j] = static_cast<std::uint8_t>((scales[j] & 15) | (scales[j + 8] & 15) << 4);
  }
  for (std::size_t j = 0; j < 4; ++j) {
    out[j + 8] = static_cast<std::uint8_t>(scales[j] >> 4 | scales[j + 4] >> 4 << 2 |
                                           scales[j + 8] >> 4 << 4 | scales[j + 12] >> 4 << 6);
  }
}
/// @param scales  receives -32 ... 31
inline void unpack_q3_scales(const std::uint8_t* bytes, std::int8_t* scales) {
  for (std::size_t j = 0; j < 16; ++j) {
    const int low = j < 8 ? bytes[j] & 15 : bytes[j - 8] >> 4;
    const int high = bytes[8 + j % 4] >> (2 * (j / 4)) & 3;
    scales[j] = static_cast<std::int8_t>((low | high << 4) - 32);
  }
}

/// The sixteen values of iq4_nl and iq4_xs. Source: kvalues_iq4nl of ggml-common.h.
constexpr std::int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                        1,    13,   25,  38,  53,  69,  89,  113};

/// 4-bit floats, doubled. Source: kvalues_mxfp4 of ggml-common.h.
constexpr std::int8_t kFp4Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// 2^(e - 128), the scale of mxfp4 for doubled 4-bit floats; 0 and 1 give subnormals.
inline float e8m0_half(std::uint8_t e) {
  const std::uint32_t bits = e < 2 ? 0x00200000U << e : static_cast<std::uint32_t>(e - 1) << 23;
  float value = 0.0F;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Half the value of an unsigned e4m3 scale of nvfp4; 0 for 0 and 0x7f. Source:
/// ggml_ue4m3_to_fp32().
inline float ue4m3_half(std::uint8_t code) {
  if (code == 0 || code == 0x7f) return 0.0F;
  const int exponent = code >> 3 & 15;
  const auto mantissa = static_cast<float>(code & 7);
  if (exponent == 0) return mantissa * 0x1p-10F;
  const std::uint32_t bits = static_cast<std::uint32_t>(exponent - 8 + 127) << 23;
  float power = 0.0F;
  std::memcpy(&power, &bits, sizeof power);
  return (1.0F + mantissa / 8.0F) * power;
}

}  // namespace zeropoint::kernels
