// float32 to the block types with scales from a block's extremes: 4 values per vector, 16 codes per
// store. Parity: byte-identical to ggml's quantize_row_*_ref(), for every finite float.
#include <cmath>

#include "kernels/block_bytes.h"
#include "kernels/blocks.h"

namespace zeropoint::kernels {
namespace {

constexpr std::int32_t kMagnitude = 0x7fffffff;

/// Toward zero as int32. Never the relaxed instruction: NaN becomes 0 in every build.
v128_t truncate(v128_t v) { return wasm_i32x4_trunc_sat_f32x4(v); }

/// The largest magnitude of n values, n a multiple of 4.
float absmax(const float* x, std::size_t n) {
  v128_t most = wasm_i32x4_splat(0);
  for (std::size_t i = 0; i < n; i += 4) {
    // Magnitudes of floats are ordered as integers are.
    const v128_t magnitude = wasm_v128_and(wasm_v128_load(x + i), wasm_i32x4_splat(kMagnitude));
    most = wasm_i32x4_max(most, magnitude);
  }
  most = wasm_i32x4_max(most, wasm_i32x4_shuffle(most, most, 2, 3, 0, 1));
  most = wasm_i32x4_max(most, wasm_i32x4_shuffle(most, most, 1, 0, 3, 2));
  return wasm_f32x4_extract_lane(most, 0);
}

float inverse(float d) { return d != 0.0F ? 1.0F / d : 0.0F; }

/// Codes of 16 values: convert(vector of 4 values) gives vectors of int32.
template <typename Convert>
v128_t codes16(const float* x, Convert convert) {
  return narrow(convert(wasm_v128_load(x)), convert(wasm_v128_load(x + 4)),
                convert(wasm_v128_load(x + 8)), convert(wasm_v128_load(x + 12)));
}

/// away(x * id) as int32; `otherwise`, the x86-64 result, if id is infinite.
auto rounding_away(float id, std::int32_t otherwise) {
  return [id, otherwise](v128_t v) {
    if (std::isinf(id)) return wasm_i32x4_splat(otherwise);
    return truncate(away(F4(v) * F4(id)).v);
  };
}

/// Levels -1, 0 and 1 of 256 values as codes 0, 1, 2. @return the scale
float trits(const float* x, std::uint8_t* codes) {
  const float d = absmax(x, 256);
  const auto round = rounding_away(inverse(d), 0);
  const auto convert = [&](v128_t v) { return wasm_i32x4_add(round(v), wasm_i32x4_splat(1)); };
  for (std::size_t i = 0; i < 256; i += 16) wasm_v128_store(codes + i, codes16(x + i, convert));
  return d;
}

/// floor(log2f(a)) for a > 0, with log2f() rounded to float32: just below a power of two the
/// logarithm rounds up to that of the power.
int floor_log2(float a) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &a, sizeof bits);
  int exponent = static_cast<int>(bits >> 23) - 127;
  std::uint32_t mantissa = (bits & 0x007fffffU) | 0x00800000U;
  if (bits < 0x00800000U) {
    const int shift = __builtin_clz(bits) - 8;
    mantissa = bits << shift;
    exponent = -126 - shift;
  }
  // With a = 2^(exponent + 1) * (1 - missing * 2^-24) the logarithm is missing * 2^-24 / ln 2 below
  // the integer `next`, and is rounded to it within half the step of float32 there.
  const int next = exponent + 1;
  if (next == 0) return exponent;
  const auto distance = static_cast<unsigned>(next < 0 ? -next : next);
  int power = 31 - __builtin_clz(distance);
  if (next > 0 && (distance & (distance - 1)) == 0) --power;
  const std::uint32_t missing = 0x01000000U - mantissa;
  const double half_step = power < 0 ? 0.5 : static_cast<double>(1U << power);
  return static_cast<double>(missing) < half_step * 0.69314718055994531 ? next : exponent;
}

/// For each of 16 values the index of the nearest kFp4Values[i] * d, the first of equals, in a
/// byte.
v128_t fp4_codes16(const float* x, float d) {
  const auto convert = [&](v128_t v) {
    const v128_t sign = wasm_u32x4_shr(wasm_v128_and(v, wasm_i32x4_splat(INT32_MIN)), 28);
    const v128_t magnitude = wasm_f32x4_abs(v);
    v128_t best = magnitude;
    v128_t index = wasm_i32x4_splat(0);
    for (int i = 1; i < 8; ++i) {
      const v128_t candidate = wasm_f32x4_splat(static_cast<float>(kFp4Values[i]) * d);
      const v128_t error = wasm_f32x4_abs(wasm_f32x4_sub(candidate, magnitude));
      const v128_t is_nearer = wasm_f32x4_lt(error, best);
      best = wasm_v128_bitselect(error, best, is_nearer);
      // Negative values have indices 8 higher; index 0 has no sign.
      const v128_t signed_index = wasm_v128_or(wasm_i32x4_splat(i), sign);
      index = wasm_v128_bitselect(signed_index, index, is_nearer);
    }
    return index;
  };
  return codes16(x, convert);
}

/// The scale of nvfp4 that is nearest to a. Source: ggml_fp32_to_ue4m3().
std::uint8_t ue4m3(float a) {
  if (!(a > 0.0F)) return 0;
  if (a > 448.0F) a = 448.0F;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &a, sizeof bits);
  int exponent = static_cast<int>(bits >> 23 & 255) - 127 + 7;
  if (exponent <= 0) {
    // NOLINTNEXTLINE(bugprone-incorrect-roundings): rounds as the source does, bit for bit.
    const int code = static_cast<int>(a * 512.0F + 0.5F);
    return static_cast<std::uint8_t>(code < 7 ? code : 7);
  }
  auto mantissa = static_cast<int>((bits >> 20 & 7) + (bits >> 19 & 1));
  if (mantissa > 7) {
    mantissa = 0;
    ++exponent;
  }
  return static_cast<std::uint8_t>(exponent >= 15 ? 0x7e : exponent << 3 | mantissa);
}

}  // namespace

void quantize_f16(const BlockRow& row) {
  std::size_t i = 0;
  for (; i + 8 <= row.blocks; i += 8) {
    const v128_t low = f32_to_f16(wasm_v128_load(row.x + i));
    const v128_t high = f32_to_f16(wasm_v128_load(row.x + i + 4));
    wasm_v128_store(row.out + 2 * i, wasm_u16x8_narrow_i32x4(low, high));
  }
  for (; i < row.blocks; ++i) store_f16(row.out + 2 * i, row.x[i]);
}

void quantize_bf16(const BlockRow& row) {
  std::size_t i = 0;
  for (; i + 8 <= row.blocks; i += 8) {
    const v128_t low = f32_to_bf16(wasm_v128_load(row.x + i));
    const v128_t high = f32_to_bf16(wasm_v128_load(row.x + i + 4));
    wasm_v128_store(row.out + 2 * i, wasm_u16x8_narrow_i32x4(low, high));
  }
  for (; i < row.blocks; ++i) {
    const v128_t bits = f32_to_bf16(wasm_f32x4_splat(row.x[i]));
    store_u16(row.out + 2 * i, static_cast<std::uint16_t>(wasm_i32x4_extract_lane(bits, 0)));
  }
}

void quantize_tq1_0(const BlockRow& row) {
  for (std::size_t block = 0; block < row.blocks; ++block) {
    std::uint8_t codes[256];
    std::uint8_t* out = row.out + 54 * block;
    const float d = trits(row.x + 256 * block, codes);
    // Bytes of five trits, each `stride` codes from the next.
    const auto pack = [](const std::uint8_t* from, std::size_t stride, std::size_t count,
                         std::uint8_t* to) {
      for (std::size_t m = 0; m < stride; ++m) {
        unsigned value = 0;
        for (std::size_t n = 0; n < 5; ++n)
          value = 3 * value + (n < count ? from[stride * n + m] : 0U);
        to[m] = static_cast<std::uint8_t>((value * 256 + 242) / 243);
      }
    };
    pack(codes, 32, 5, out);
    pack(codes + 160, 16, 5, out + 32);
    pack(codes + 240, 4, 4, out + 48);
    store_f16(out + 52, d);
  }
}

void quantize_tq2_0(const BlockRow& row) {
  for (std::size_t block = 0; block < row.blocks; ++block) {
    std::uint8_t codes[256];
    std::uint8_t* out = row.out + 66 * block;
    const float d = trits(row.x + 256 * block, codes);
    pack_crumbs(codes, out);
    store_f16(out + 64, d);
  }
}

void quantize_mxfp4(const BlockRow& row) {
  for (std::size_t block = 0; block < row.blocks; ++block) {
    const float* x = row.x + 32 * block;
    std::uint8_t* out = row.out + 17 * block;
    const float most = absmax(x, 32);
    const auto e = static_cast<std::uint8_t>(most > 0.0F ? floor_log2(most) + 125 : 0);
    out[0] = e;
    const float d = e8m0_half(e);
    wasm_v128_store(out + 1, nibbles(fp4_codes16(x, d), fp4_codes16(x + 16, d)));
  }
}

void quantize_nvfp4(const BlockRow& row) {
  for (std::size_t block = 0; block < row.blocks; ++block) {
    std::uint8_t* out = row.out + 36 * block;
    for (std::size_t j = 0; j < 4; ++j) {
      const float* x = row.x + 64 * block + 16 * j;
      out[j] = ue4m3(absmax(x, 16) / 6.0F);
      const v128_t codes = fp4_codes16(x, ue4m3_half(out[j]));
      const v128_t packed = nibbles(codes, wasm_i64x2_shuffle(codes, codes, 1, 0));
      wasm_v128_store64_lane(out + 4 + 8 * j, packed, 0);
    }
  }
}

void quantize_q1_0(const BlockRow& row) {
  for (std::size_t block = 0; block < row.blocks; ++block) {
    const float* x = row.x + 128 * block;
    std::uint8_t* out = row.out + 18 * block;
    float sum = 0.0F;
    for (std::size_t i = 0; i < 128; ++i) sum += std::fabs(x[i]);
    store_f16(out, sum / 128.0F);
    for (std::size_t i = 0; i < 128; i += 8) {
      const v128_t zero = wasm_f32x4_splat(0.0F);
      const auto bits = [&](std::size_t at) {
        return static_cast<unsigned>(
            wasm_i32x4_bitmask(wasm_f32x4_ge(wasm_v128_load(x + at), zero)));
      };
      out[2 + i / 8] = static_cast<std::uint8_t>(bits(i) | bits(i + 4) << 4);
    }
  }
}

void quantize_q2_0(const BlockRow& row) {
  for (std::size_t block = 0; block < row.blocks; ++block) {
    const float* x = row.x + 64 * block;
    std::uint8_t* out = row.out + 18 * block;
    const float d = absmax(x, 64);
    const auto round = rounding_away(inverse(d), -1);
    const auto convert = [&](v128_t v) {
      const v128_t code = wasm_i32x4_add(round(v), wasm_i32x4_splat(1));
      return wasm_i32x4_max(wasm_i32x4_min(code, wasm_i32x4_splat(3)), wasm_i32x4_splat(0));
    };
    store_f16(out, d);
    for (std::size_t i = 0; i < 64; i += 16) {
      // Four codes in the four bytes of a lane become one byte.
      const v128_t codes = codes16(x + i, convert);
      const v128_t pairs = wasm_v128_or(codes, wasm_u32x4_shr(codes, 6));
      const v128_t all = wasm_v128_or(pairs, wasm_u32x4_shr(pairs, 12));
      alignas(16) std::uint32_t lanes[4];
      wasm_v128_store(lanes, all);
      for (std::size_t j = 0; j < 4; ++j) out[2 + i / 4 + j] = static_cast<std::uint8_t>(lanes[j]);
    }
  }
}

}  // namespace zeropoint::kernels
