// Block types to float32: sixteen codes per vector, widened, multiplied, stored.
// Parity: bit-identical to ggml's dequantize_row_*(), for every byte.
#include "kernels/block_bytes.h"
#include "kernels/blocks.h"

namespace zeropoint::kernels {
namespace {

/// Writes convert(value) of 16 codes of int8.
template <typename Convert>
void widen16(v128_t codes, float* out, Convert convert) {
  // Hidden from the compiler: codes known to be >= 0 would be converted as unsigned, eight
  // instructions instead of one on x86.
  codes = opaque(codes);
  const v128_t low = wasm_i16x8_extend_low_i8x16(codes);
  const v128_t high = wasm_i16x8_extend_high_i8x16(codes);
  const auto store = [&](v128_t lanes, float* to) {
    wasm_v128_store(to, convert(F4(wasm_f32x4_convert_i32x4(lanes))).v);
  };
  store(wasm_i32x4_extend_low_i16x8(low), out);
  store(wasm_i32x4_extend_high_i16x8(low), out + 4);
  store(wasm_i32x4_extend_low_i16x8(high), out + 8);
  store(wasm_i32x4_extend_high_i16x8(high), out + 12);
}

/// code * scale
void scale16(v128_t codes, float scale, float* out) {
  const F4 d(scale);
  widen16(codes, out, [d](F4 code) { return code * d; });
}

/// code * scale + offset
void scale_and_add16(v128_t codes, F4 d, F4 m, float* out) {
  widen16(codes, out, [d, m](F4 code) { return code * d + m; });
}

v128_t subtract(v128_t codes, std::int8_t offset) {
  return wasm_i8x16_sub(codes, wasm_i8x16_splat(offset));
}

/// Expands 16 bits to 16 bytes: `byte` where the bit is set, else 0.
v128_t spread_bits(std::uint16_t bits, std::int8_t byte) {
  const v128_t both = wasm_i16x8_splat(static_cast<std::int16_t>(bits));
  // Bytes 0-7 are the low byte, bytes 8-15 the high one.
  const v128_t halves =
      wasm_i8x16_shuffle(both, both, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
  const v128_t mask = wasm_i8x16_make(1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128);
  const v128_t is_set = wasm_i8x16_eq(wasm_v128_and(halves, mask), mask);
  return wasm_v128_and(is_set, wasm_i8x16_splat(byte));
}

/// 32 codes of 5 bits: the low nibbles of 16 bytes, then the high ones; 16 is added where the fifth
/// bit is set.
struct FiveBits {
  v128_t low;
  v128_t high;
};
FiveBits five_bits(const std::uint8_t* fifth, const std::uint8_t* others) {
  const v128_t bytes = wasm_v128_load(others);
  return {wasm_v128_or(low_nibbles(bytes), spread_bits(load_u16(fifth), 16)),
          wasm_v128_or(high_nibbles(bytes), spread_bits(load_u16(fifth + 2), 16))};
}

/// Bits 2k and 2k + 1 of bytes. Bits that cross bytes are masked: shifts of 16-bit lanes are one
/// instruction each.
v128_t crumb(v128_t bytes, std::size_t k) {
  return wasm_v128_and(wasm_u16x8_shr(bytes, static_cast<std::uint32_t>(2 * k)),
                       wasm_i8x16_splat(3));
}

/// Bit k of bytes, moved to bit `to`.
v128_t bit(v128_t bytes, std::size_t k, std::uint32_t to) {
  const v128_t lowest =
      wasm_v128_and(wasm_u16x8_shr(bytes, static_cast<std::uint32_t>(k)), wasm_i8x16_splat(1));
  return wasm_i16x8_shl(lowest, to);
}

/// Two consecutive halves, the first in all lanes of `low`, the second in those of `high`.
struct TwoHalves {
  F4 low;
  F4 high;
};
TwoHalves load_two_f16(const std::uint8_t* in) {
  const v128_t both = f16_to_f32(wasm_u32x4_extend_low_u16x8(wasm_v128_load32_zero(in)));
  return {wasm_i32x4_shuffle(both, both, 0, 0, 0, 0), wasm_i32x4_shuffle(both, both, 1, 1, 1, 1)};
}

/// Table values of 32 nibbles, times the scale.
void look_up32(const std::uint8_t* bytes, const std::int8_t* values, float scale, float* out) {
  const v128_t table = wasm_v128_load(values);
  const v128_t packed = wasm_v128_load(bytes);
  scale16(wasm_i8x16_swizzle(table, low_nibbles(packed)), scale, out);
  scale16(wasm_i8x16_swizzle(table, high_nibbles(packed)), scale, out + 16);
}

/// q4_k and q5_k; bit 4 of the codes comes from `fifth`, if it is not null.
void dequantize_q45_k(const std::uint8_t* block, const std::uint8_t* fifth,
                      const std::uint8_t* nibble_bytes, float* out) {
  const float d = load_f16(block);
  const float dmin = load_f16(block + 2);
  std::uint8_t scales[8];
  std::uint8_t minimums[8];
  unpack_scales(block + 4, scales, minimums);
  for (std::size_t j = 0; j < 8; ++j) {
    const F4 scale(d * static_cast<float>(scales[j]));
    const F4 minimum(dmin * static_cast<float>(minimums[j]));
    for (std::size_t l = 0; l < 32; l += 16) {
      const v128_t bytes = wasm_v128_load(nibble_bytes + 32 * (j / 2) + l);
      v128_t codes = j % 2 == 0 ? low_nibbles(bytes) : high_nibbles(bytes);
      if (fifth != nullptr) codes = wasm_v128_or(codes, bit(wasm_v128_load(fifth + l), j, 4));
      widen16(codes, out + 32 * j + l, [&](F4 code) { return scale * code - minimum; });
    }
  }
}

/// First trit of each byte, minus 1: floor(3 * byte / 256) - 1.
v128_t trit16(v128_t bytes) {
  const v128_t is_one = wasm_u8x16_ge(bytes, wasm_i8x16_splat(86));
  const v128_t is_two = wasm_u8x16_ge(bytes, wasm_i8x16_splat(static_cast<std::int8_t>(171)));
  return wasm_i8x16_sub(wasm_i8x16_sub(wasm_i8x16_splat(-1), is_one), is_two);
}
/// Makes the next trit of each byte the first: 3 * byte, modulo 256. Hidden from the compiler,
/// which would multiply byte by byte.
v128_t next_trit(v128_t bytes) {
  return wasm_i8x16_add(opaque(wasm_i8x16_add(bytes, bytes)), bytes);
}

}  // namespace

void dequantize_f16(const std::uint8_t* blocks, std::size_t count, float* out) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    wasm_v128_store(out + i, f16_to_f32(wasm_u32x4_load16x4(blocks + 2 * i)));
    wasm_v128_store(out + i + 4, f16_to_f32(wasm_u32x4_load16x4(blocks + 2 * i + 8)));
  }
  for (; i < count; ++i) out[i] = load_f16(blocks + 2 * i);
}

void dequantize_bf16(const std::uint8_t* blocks, std::size_t count, float* out) {
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    wasm_v128_store(out + i, bf16_to_f32(wasm_u32x4_load16x4(blocks + 2 * i)));
  }
  for (; i < count; ++i) {
    const v128_t bits = wasm_i32x4_splat(load_u16(blocks + 2 * i));
    wasm_v128_store32_lane(out + i, bf16_to_f32(bits), 0);
  }
}

void dequantize_q8_0(const std::uint8_t* blocks, std::size_t count, float* out) {
  for (std::size_t b = 0; b < count; ++b, blocks += 34, out += 32) {
    const float d = load_f16(blocks);
    scale16(wasm_v128_load(blocks + 2), d, out);
    scale16(wasm_v128_load(blocks + 18), d, out + 16);
  }
}

void dequantize_q4_0(const std::uint8_t* blocks, std::size_t count, float* out) {
  for (std::size_t b = 0; b < count; ++b, blocks += 18, out += 32) {
    const float d = load_f16(blocks);
    const v128_t bytes = wasm_v128_load(blocks + 2);
    scale16(subtract(low_nibbles(bytes), 8), d, out);
    scale16(subtract(high_nibbles(bytes), 8), d, out + 16);
  }
}

void dequantize_q4_1(const std::uint8_t* blocks, std::size_t count, float* out) {
  for (std::size_t b = 0; b < count; ++b, blocks += 20, out += 32) {
    const auto [d, m] = load_two_f16(blocks);
    const v128_t bytes = wasm_v128_load(blocks + 4);
    scale_and_add16(low_nibbles(bytes), d, m, out);
    scale_and_add16(high_nibbles(bytes), d, m, out + 16);
  }
}

void dequantize_q5_0(const std::uint8_t* blocks, std::size_t count, float* out) {
  for (std::size_t b = 0; b < count; ++b, blocks += 22, out += 32) {
    const float d = load_f16(blocks);
    const FiveBits codes = five_bits(blocks + 2, blocks + 6);
    scale16(subtract(codes.low, 16), d, out);
    scale16(subtract(codes.high, 16), d, out + 16);
  }
}

void dequantize_q5_1(const std::uint8_t* blocks, std::size_t count, float* out) {
  for (std::size_t b = 0; b < count; ++b, blocks += 24, out += 32) {
    const auto [d, m] = load_two_f16(blocks);
    const FiveBits codes = five_bits(blocks + 4, blocks + 8);
    scale_and_add16(codes.low, d, m, out);
    scale_and_add16(codes.high, d, m, out + 16);
  }
}

void dequantize_q2_k(const std::uint8_t* blocks, std::size_t count, float* out) {
  for (std::size_t b = 0; b < count; ++b, blocks += 84, out += 256) {
    const float d = load_f16(blocks + 80);
    const float dmin = load_f16(blocks + 82);
    for (std::size_t j = 0; j < 16; ++j) {
      const F4 scale(d * static_cast<float>(blocks[j] & 15));
      const F4 minimum(dmin * static_cast<float>(blocks[j] >> 4));
      const v128_t bytes = wasm_v128_load(blocks + 16 + 32 * (j / 8) + 16 * (j % 2));
      widen16(crumb(bytes, j / 2 % 4), out + 16 * j,
              [&](F4 code) { return scale * code - minimum; });
    }
  }
}

void dequantize_q3_k(const std::uint8_t* blocks, std::size_t count, float* out) {
  for (std::size_t b = 0; b < count; ++b, blocks += 110, out += 256) {
    const float d = load_f16(blocks + 108);
    std::int8_t scales[16];
    unpack_q3_scales(blocks + 96, scales);
    for (std::size_t j = 0; j < 16; ++j) {
      const v128_t bytes = wasm_v128_load(blocks + 32 + 32 * (j / 8) + 16 * (j % 2));
      const v128_t high = bit(wasm_v128_load(blocks + 16 * (j % 2)), j / 2, 2);
      const v128_t codes = subtract(wasm_v128_or(crumb(bytes, j / 2 % 4), high), 4);
      scale16(codes, d * static_cast<float>(scales[j]), out + 16 * j);
    }
  }
}

void dequantize_q4_k(const std::uint8_t* blocks, std::size_t count, float* out) {
  for (std::size_t b = 0; b < count; ++b, blocks += 144, out += 256) {
    dequantize_q45_k(blocks, nullptr, blocks + 16, out);
  }
}

void dequantize_q5_k(const std::uint8_t* blocks, std::size_t count, float* out) {
  for (std::size_t b = 0; b < count; ++b, blocks += 176, out += 256) {
    dequantize_q45_k(blocks, blocks + 16, blocks + 48, out);
  }
}

void dequantize_q6_k(const std::uint8_t* blocks, std::size_t count, float* out) {
  for (std::size_t b = 0; b < count; ++b, blocks += 210, out += 256) {
    const float d = load_f16(blocks + 208);
    for (std::size_t j = 0; j < 16; ++j) {
      // Each half has 64 bytes of nibbles; its quarters are the low nibbles of the first 32 bytes
      // and of the others, then the high nibbles.
      const std::size_t half = j / 8;
      const std::size_t quarter = j / 2 % 4;
      const std::size_t l = 16 * (j % 2);
      const v128_t bytes = wasm_v128_load(blocks + 64 * half + 32 * (quarter % 2) + l);
      const v128_t low = quarter < 2 ? low_nibbles(bytes) : high_nibbles(bytes);
      const v128_t high = crumb(wasm_v128_load(blocks + 128 + 32 * half + l), quarter);
      const v128_t codes = subtract(wasm_v128_or(low, wasm_i8x16_shl(high, 4)), 32);
      const auto scale = static_cast<std::int8_t>(blocks[192 + j]);
      scale16(codes, d * static_cast<float>(scale), out + 16 * j);
    }
  }
}

void dequantize_iq4_nl(const std::uint8_t* blocks, std::size_t count, float* out) {
  for (std::size_t b = 0; b < count; ++b, blocks += 18, out += 32) {
    look_up32(blocks + 2, kIq4Values, load_f16(blocks), out);
  }
}

void dequantize_iq4_xs(const std::uint8_t* blocks, std::size_t count, float* out) {
  for (std::size_t b = 0; b < count; ++b, blocks += 136, out += 256) {
    const float d = load_f16(blocks);
    const unsigned high = load_u16(blocks + 2);
    for (std::size_t j = 0; j < 8; ++j) {
      const int low = blocks[4 + j / 2] >> (4 * (j % 2)) & 15;
      const int level = (low | static_cast<int>(high >> (2 * j) & 3) << 4) - 32;
      look_up32(blocks + 8 + 16 * j, kIq4Values, d * static_cast<float>(level), out + 32 * j);
    }
  }
}

void dequantize_tq1_0(const std::uint8_t* blocks, std::size_t count, float* out) {
  for (std::size_t b = 0; b < count; ++b, blocks += 54, out += 256) {
    const float d = load_f16(blocks + 52);
    // Trits of 16 bytes, each `stride` values from the one before.
    const auto unpack = [d](v128_t bytes, std::size_t trits, std::size_t stride, float* to) {
      for (std::size_t n = 0; n < trits; ++n, bytes = next_trit(bytes), to += stride) {
        scale16(trit16(bytes), d, to);
      }
    };
    // The last four bytes hold four trits each. Each step writes 16 values of which 4 count; the
    // next step overwrites the others, and `last` has room for those of the last step.
    alignas(16) float last[28];
    unpack(wasm_v128_load32_zero(blocks + 48), 4, 4, last);
    unpack(wasm_v128_load(blocks), 5, 32, out);
    unpack(wasm_v128_load(blocks + 16), 5, 32, out + 16);
    unpack(wasm_v128_load(blocks + 32), 5, 16, out + 160);
    std::memcpy(out + 240, last, 16 * sizeof(float));
  }
}

void dequantize_tq2_0(const std::uint8_t* blocks, std::size_t count, float* out) {
  for (std::size_t b = 0; b < count; ++b, blocks += 66, out += 256) {
    const float d = load_f16(blocks + 64);
    for (std::size_t j = 0; j < 16; ++j) {
      const v128_t bytes = wasm_v128_load(blocks + 32 * (j / 8) + 16 * (j % 2));
      scale16(subtract(crumb(bytes, j / 2 % 4), 1), d, out + 16 * j);
    }
  }
}

void dequantize_mxfp4(const std::uint8_t* blocks, std::size_t count, float* out) {
  for (std::size_t b = 0; b < count; ++b, blocks += 17, out += 32) {
    look_up32(blocks + 1, kFp4Values, e8m0_half(blocks[0]), out);
  }
}

void dequantize_nvfp4(const std::uint8_t* blocks, std::size_t count, float* out) {
  const v128_t table = wasm_v128_load(kFp4Values);
  for (std::size_t b = 0; b < count; ++b, blocks += 36, out += 64) {
    for (std::size_t j = 0; j < 4; ++j) {
      const v128_t bytes = wasm_v128_load64_zero(blocks + 4 + 8 * j);
      const v128_t codes = wasm_i64x2_shuffle(low_nibbles(bytes), high_nibbles(bytes), 0, 2);
      scale16(wasm_i8x16_swizzle(table, codes), ue4m3_half(blocks[j]), out + 16 * j);
    }
  }
}

void dequantize_q1_0(const std::uint8_t* blocks, std::size_t count, float* out) {
  for (std::size_t b = 0; b < count; ++b, blocks += 18, out += 128) {
    const F4 d(load_f16(blocks));
    for (std::size_t i = 0; i < 128; i += 16) {
      const v128_t bits = spread_bits(load_u16(blocks + 2 + i / 8), 1);
      widen16(bits, out + i, [&](F4 one) { return select(one > F4(0.0F), d, -d); });
    }
  }
}

void dequantize_q2_0(const std::uint8_t* blocks, std::size_t count, float* out) {
  const v128_t shuffled = wasm_i8x16_make(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
  const v128_t mask =
      wasm_i8x16_make(3, 12, 48, -64, 3, 12, 48, -64, 3, 12, 48, -64, 3, 12, 48, -64);
  for (std::size_t b = 0; b < count; ++b, blocks += 18, out += 64) {
    const float d = load_f16(blocks);
    for (std::size_t i = 0; i < 64; i += 16) {
      const v128_t bytes = wasm_i8x16_swizzle(wasm_v128_load32_zero(blocks + 2 + i / 4), shuffled);
      // Each byte keeps its two bits; only one of its shifted copies has them lowest.
      const v128_t kept = wasm_v128_and(bytes, mask);
      const v128_t first = wasm_v128_or(kept, wasm_u8x16_shr(kept, 2));
      const v128_t codes = wasm_v128_and(
          wasm_v128_or(first, wasm_v128_or(wasm_u8x16_shr(kept, 4), wasm_u8x16_shr(kept, 6))),
          wasm_i8x16_splat(3));
      scale16(subtract(codes, 1), d, out + i);
    }
  }
}

}  // namespace zeropoint::kernels
