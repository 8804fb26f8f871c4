// float32 to q8_0, q4_0, q4_1, q5_0 and q5_1 with scales from a block's extremes: scales of four
// blocks side by side, one per lane, then the codes of each block. Parity: byte-identical to ggml's
// quantize_row_*_ref(), for every finite float.
#include <cmath>

#include "kernels/block_bytes.h"
#include "kernels/blocks.h"

namespace zeropoint::kernels {
namespace {

constexpr std::size_t kLanes = 4;
constexpr std::size_t kValues = 32;
constexpr std::size_t kMostBytes = 34;

v128_t smaller_of(v128_t a, v128_t b) { return wasm_f32x4_pmin(a, b); }
v128_t larger_of(v128_t a, v128_t b) { return wasm_f32x4_pmax(a, b); }

/// Combines the values of four blocks: lane j belongs to block j.
template <typename Load, typename Combine>
v128_t reduce(const float* x, Load load, Combine combine) {
  v128_t all[kLanes];
  for (std::size_t j = 0; j < kLanes; ++j) {
    const float* from = x + kValues * j;
    all[j] = load(from);
    for (std::size_t i = 4; i < kValues; i += 4) all[j] = combine(all[j], load(from + i));
  }
  transpose(all[0], all[1], all[2], all[3]);
  return combine(combine(all[0], all[1]), combine(all[2], all[3]));
}

v128_t values_at(const float* x) { return wasm_v128_load(x); }
v128_t magnitudes_at(const float* x) {
  return wasm_v128_and(wasm_v128_load(x), wasm_i32x4_splat(0x7fffffff));
}

/// Inverses; 0 where they are infinite: x86-64 gives codes of 0 there.
v128_t inverses(v128_t d) {
  const v128_t inverse = wasm_f32x4_div(wasm_f32x4_splat(1.0F), d);
  const v128_t is_finite = wasm_f32x4_lt(wasm_f32x4_abs(inverse), wasm_f32x4_splat(INFINITY));
  return wasm_v128_and(inverse, is_finite);
}

/// Low bytes of 16 whole floats of -2^22 ... 2^22, two's complement: added to 1.5 * 2^23 they are
/// the low bits.
template <typename Convert>
v128_t codes16(const float* x, Convert convert) {
  const auto bits = [&](std::size_t i) {
    const v128_t whole = wasm_f32x4_trunc(convert(wasm_v128_load(x + i)));
    return wasm_v128_and(wasm_f32x4_add(whole, wasm_f32x4_splat(12582912.0F)),
                         wasm_i32x4_splat(255));
  };
  return narrow(bits(0), bits(4), bits(8), bits(12));
}

/// Stores 32 codes of 4 bits, or of 5 bits with the fifth ones apart.
inline void store_codes(v128_t low, v128_t high, bool has_fifth, std::uint8_t* out) {
  if (has_fifth) {
    const auto fifth = [](v128_t v) {
      return static_cast<std::uint16_t>(wasm_i8x16_bitmask(wasm_i8x16_shl(v, 3)));
    };
    store_u16(out, fifth(low));
    store_u16(out + 2, fifth(high));
    wasm_v128_store(out + 4, nibbles(low_nibbles(low), low_nibbles(high)));
  } else {
    wasm_v128_store(out, nibbles(low, high));
  }
}

/// Calls quantize(x, out) for four blocks at a time; the last ones are filled up with zeros.
/// @param bytes  of a block, at most kMostBytes
template <typename Quantize>
void each_four(const BlockRow& row, std::size_t bytes, Quantize quantize) {
  float filled[kLanes * kValues];
  std::uint8_t codes[kLanes * kMostBytes];
  for (std::size_t block = 0; block < row.blocks; block += kLanes) {
    const float* x = row.x + kValues * block;
    std::uint8_t* out = row.out + bytes * block;
    const std::size_t rest = row.blocks - block;
    const bool is_last = rest < kLanes;
    if (is_last) {
      std::memset(filled, 0, sizeof filled);
      std::memcpy(filled, x, rest * kValues * sizeof(float));
    }
    // One call for both, so that it is compiled once.
    quantize(is_last ? filled : x, is_last ? codes : out);
    if (is_last) std::memcpy(out, codes, rest * bytes);
  }
}

/// Four floats as an array.
struct Four {
  alignas(16) float at[kLanes];

  explicit Four(v128_t v) { wasm_v128_store(at, v); }
};

/// Four halves of floats.
struct FourHalves {
  alignas(16) std::uint32_t at[kLanes];

  explicit FourHalves(v128_t floats) { wasm_v128_store(at, f32_to_f16(floats)); }
  void store(std::size_t j, std::uint8_t* out) const {
    store_u16(out, static_cast<std::uint16_t>(at[j]));
  }
};

/// The first value of a block of a magnitude.
float first_of_magnitude(const float* x, float magnitude) {
  while (std::fabs(*x) != magnitude) ++x;
  return *x;
}

/// The first values of the largest magnitude, with their signs; 0 for blocks of zeros.
v128_t signed_max(const float* x) {
  const v128_t low = reduce(x, values_at, smaller_of);
  const v128_t high = reduce(x, values_at, larger_of);
  const v128_t negated = wasm_f32x4_neg(low);
  v128_t value = wasm_v128_bitselect(low, high, wasm_f32x4_gt(negated, high));
  const v128_t zero = wasm_f32x4_splat(0.0F);
  const v128_t has_both = wasm_v128_and(wasm_f32x4_eq(negated, high), wasm_f32x4_ne(high, zero));
  if (wasm_v128_any_true(has_both)) {
    Four values(value);
    const Four most(high);
    const auto lanes = static_cast<unsigned>(wasm_i32x4_bitmask(has_both));
    for (std::size_t j = 0; j < kLanes; ++j) {
      if ((lanes >> j & 1) == 0) continue;
      values.at[j] = first_of_magnitude(x + kValues * j, most.at[j]);
    }
    value = wasm_v128_load(values.at);
  }
  // -0 becomes 0.
  return wasm_f32x4_add(value, zero);
}

/// q4_0 and q5_0: the first value of largest magnitude becomes level 0 of 2 * levels_below.
[[gnu::noinline]] void quantize_symmetric(const BlockRow& row, int levels_below) {
  const bool has_fifth = levels_below == 16;
  const std::size_t bytes = has_fifth ? 22 : 18;
  const auto half = static_cast<float>(levels_below);
  each_four(row, bytes, [=](const float* x, std::uint8_t* out) {
    const v128_t d = wasm_f32x4_div(signed_max(x), wasm_f32x4_splat(-half));
    const v128_t inverse = inverses(d);
    const FourHalves halves(d);
    const Four factors(inverse);
    const Four scales(d);
    const v128_t most = wasm_i8x16_splat(static_cast<std::int8_t>(2 * levels_below - 1));
    for (std::size_t j = 0; j < kLanes; ++j, x += kValues, out += bytes) {
      const float id = factors.at[j];
      const v128_t factor = wasm_f32x4_splat(id);
      // Without an inverse, codes of 0.
      const v128_t shift =
          wasm_f32x4_splat(id == 0.0F && scales.at[j] != 0.0F ? 0.0F : half + 0.5F);
      const auto convert = [=](v128_t v) {
        return wasm_f32x4_add(wasm_f32x4_mul(v, factor), shift);
      };
      const v128_t low = wasm_u8x16_min(codes16(x, convert), most);
      const v128_t high = wasm_u8x16_min(codes16(x + 16, convert), most);
      halves.store(j, out);
      store_codes(low, high, has_fifth, out + 2);
    }
  });
}

/// The smallest values; of zeros of both signs the first.
v128_t smallest(const float* x) {
  const v128_t low = reduce(x, values_at, smaller_of);
  const v128_t is_zero = wasm_f32x4_eq(low, wasm_f32x4_splat(0.0F));
  if (!wasm_v128_any_true(is_zero)) return low;
  Four values(low);
  for (std::size_t j = 0; j < kLanes; ++j) {
    if (values.at[j] == 0.0F) values.at[j] = first_of_magnitude(x + kValues * j, 0.0F);
  }
  return wasm_v128_load(values.at);
}

/// q4_1 and q5_1: levels 0 ... count from the smallest value to the largest.
[[gnu::noinline]] void quantize_affine(const BlockRow& row, int count) {
  const bool has_fifth = count == 31;
  const std::size_t bytes = has_fifth ? 24 : 20;
  each_four(row, bytes, [=](const float* x, std::uint8_t* out) {
    const v128_t min = smallest(x);
    const v128_t range = wasm_f32x4_sub(reduce(x, values_at, larger_of), min);
    // Of zeros of both signs, 0.
    const v128_t d = wasm_f32x4_add(
        wasm_f32x4_div(range, wasm_f32x4_splat(static_cast<float>(count))), wasm_f32x4_splat(0.0F));
    const FourHalves halves(d);
    const FourHalves minimums(min);
    const Four factors(inverses(d));
    const Four lows(min);
    const Four scales(d);
    const v128_t most = wasm_i8x16_splat(static_cast<std::int8_t>(count));
    for (std::size_t j = 0; j < kLanes; ++j, x += kValues, out += bytes) {
      const v128_t factor = wasm_f32x4_splat(factors.at[j]);
      const v128_t minimum = wasm_f32x4_splat(lows.at[j]);
      const auto convert = [=](v128_t v) {
        return wasm_f32x4_add(wasm_f32x4_mul(wasm_f32x4_sub(v, minimum), factor),
                              wasm_f32x4_splat(0.5F));
      };
      v128_t low = wasm_u8x16_min(codes16(x, convert), most);
      v128_t high = wasm_u8x16_min(codes16(x + 16, convert), most);
      // A range beyond float32: 0 times infinity gives 0 on x86-64.
      if (scales.at[j] == INFINITY) low = high = wasm_i8x16_splat(0);
      halves.store(j, out);
      minimums.store(j, out + 2);
      store_codes(low, high, has_fifth, out + 4);
    }
  });
}

}  // namespace

bool all_finite_f32(const float* x, std::size_t n) {
  // Exponents of all ones: NaN and infinities.
  const v128_t top = wasm_i32x4_splat(0x7f800000);
  const auto is_special = [top](v128_t v) { return wasm_i32x4_eq(wasm_v128_and(v, top), top); };
  v128_t found = wasm_i32x4_splat(0);
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const v128_t low =
        wasm_v128_or(is_special(wasm_v128_load(x + i)), is_special(wasm_v128_load(x + i + 4)));
    const v128_t high =
        wasm_v128_or(is_special(wasm_v128_load(x + i + 8)), is_special(wasm_v128_load(x + i + 12)));
    found = wasm_v128_or(found, wasm_v128_or(low, high));
  }
  bool is_finite = !wasm_v128_any_true(found);
  for (; i < n; ++i) is_finite = is_finite && std::isfinite(x[i]);
  return is_finite;
}

void quantize_q8_0(const BlockRow& row) {
  each_four(row, kMostBytes, [](const float* x, std::uint8_t* out) {
    const v128_t most = reduce(x, magnitudes_at, larger_of);
    const v128_t d = wasm_f32x4_div(most, wasm_f32x4_splat(127.0F));
    const FourHalves halves(d);
    const Four factors(inverses(d));
    const v128_t sign = wasm_i32x4_splat(INT32_MIN);
    // The largest float below 0.5: added with the value's sign before truncation, it rounds half
    // away from zero.
    const v128_t half = wasm_f32x4_splat(0x1.fffffep-2F);
    for (std::size_t j = 0; j < kLanes; ++j, x += kValues, out += 34) {
      const v128_t factor = wasm_f32x4_splat(factors.at[j]);
      const auto convert = [=](v128_t v) {
        const v128_t scaled = wasm_f32x4_mul(v, factor);
        return wasm_f32x4_add(scaled, wasm_v128_or(wasm_v128_and(scaled, sign), half));
      };
      const v128_t low = codes16(x, convert);
      const v128_t high = codes16(x + 16, convert);
      halves.store(j, out);
      wasm_v128_store(out + 2, low);
      wasm_v128_store(out + 18, high);
    }
  });
}

void quantize_extremes_q4_0(const BlockRow& row) { quantize_symmetric(row, 8); }
void quantize_extremes_q5_0(const BlockRow& row) { quantize_symmetric(row, 16); }
void quantize_extremes_q4_1(const BlockRow& row) { quantize_affine(row, 15); }
void quantize_extremes_q5_1(const BlockRow& row) { quantize_affine(row, 31); }

}  // namespace zeropoint::kernels
