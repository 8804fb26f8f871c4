// float32 to q8_0, q4_0, q4_1, q5_0 and q5_1 with scales from a block's extremes: scales of four
// blocks side by side, one per lane, then the codes of each block. Parity: byte-identical to ggml's
// quantize_row_*_ref(), for every finite float.
#include <algorithm>
#include <cmath>

#include "kernels/block_bytes.h"
#include "kernels/blocks.h"

namespace zeropoint::kernels {
namespace {

constexpr std::size_t kLanes = 4;
constexpr std::size_t kValues = 32;
/// Blocks whose scales are chosen before their codes are written: enough to keep the dependent
/// steps of many scales in flight, few enough that their values stay in the first-level cache.
constexpr std::size_t kTogether = 32;

v128_t magnitudes(v128_t v) { return wasm_v128_and(v, wasm_i32x4_splat(0x7fffffff)); }

// Extremes of floats by their bits. As signed integers, positive floats are in order and above all
// negative ones; as unsigned integers, negative floats are above all positive ones, the largest
// magnitude on top.
v128_t most_signed(v128_t a, v128_t b) { return wasm_i32x4_max(a, b); }
v128_t most_unsigned(v128_t a, v128_t b) { return wasm_u32x4_max(a, b); }
v128_t least_unsigned(v128_t a, v128_t b) { return wasm_u32x4_min(a, b); }
v128_t most_magnitude(v128_t a, v128_t b) { return wasm_i32x4_max(magnitudes(a), magnitudes(b)); }

/// Combines the values of four blocks in each of several ways: lane j belongs to block j.
template <typename... Combine>
auto reduce(const float* x, Combine... combine) {
  struct {
    v128_t of[sizeof...(combine)];
  } all[kLanes], result;
  // Not unrolled: engines would load the values of all blocks first, with too few registers.
  const std::size_t blocks = hidden(kLanes);
  for (std::size_t j = 0; j < blocks; ++j) {
    const float* from = x + kValues * j;
    std::size_t way = 0;
    ((all[j].of[way++] = combine(wasm_v128_load(from), wasm_v128_load(from + 4))), ...);
    for (std::size_t i = 8; i < kValues; i += 4) {
      const v128_t v = wasm_v128_load(from + i);
      way = 0;
      ((all[j].of[way] = combine(all[j].of[way], v), ++way), ...);
    }
  }
  std::size_t way = 0;
  const auto join = [&](auto own) {
    v128_t a = all[0].of[way];
    v128_t b = all[1].of[way];
    v128_t c = all[2].of[way];
    v128_t d = all[3].of[way];
    transpose(a, b, c, d);
    result.of[way++] = own(own(a, b), own(c, d));
  };
  (join(combine), ...);
  return result;
}

/// Inverses; 0 where they are infinite: x86-64 gives codes of 0 there.
v128_t inverses(v128_t d) {
  const v128_t inverse = wasm_f32x4_div(wasm_f32x4_splat(1.0F), d);
  const v128_t is_finite = wasm_f32x4_lt(wasm_f32x4_abs(inverse), wasm_f32x4_splat(INFINITY));
  return wasm_v128_and(inverse, is_finite);
}

/// Truncates 16 converted values in -2^22 ... 2^22 to integers, and returns their low bytes: adding
/// 1.5 * 2^23 puts an integer into a float's low bits, in two's complement.
template <typename Convert>
v128_t codes16(const float* x, Convert convert) {
  const auto bits = [&](std::size_t i) {
    const v128_t whole = wasm_f32x4_trunc(convert(wasm_v128_load(x + i)));
    return wasm_v128_and(wasm_f32x4_add(whole, wasm_f32x4_splat(12582912.0F)),
                         wasm_i32x4_splat(255));
  };
  return narrow(bits(0), bits(4), bits(8), bits(12));
}

/// Stores 32 codes of 4 bits; or of 5 bits, with the fifth bits first.
inline void store_codes(v128_t low, v128_t high, bool has_fifth, std::uint8_t* out) {
  if (has_fifth) {
    const auto fifth = [](v128_t v) {
      return static_cast<std::uint16_t>(wasm_i8x16_bitmask(wasm_i16x8_shl(v, 3)));
    };
    store_u16(out, fifth(low));
    store_u16(out + 2, fifth(high));
    wasm_v128_store(out + 4, nibbles(low_nibbles(low), low_nibbles(high)));
  } else {
    wasm_v128_store(out, nibbles(low, high));
  }
}

/// Parameters of each block, written by choose() and read by write().
struct Scales {
  alignas(16) float factor[kTogether];
  alignas(16) float shift[kTogether];
  alignas(16) float limit[kTogether];
  alignas(16) std::uint32_t scale[kTogether];    // halves
  alignas(16) std::uint32_t minimum[kTogether];  // halves
};

/// Calls choose(x, block, scales) for four blocks at a time, the last ones filled up with zeros,
/// and then write(x, block, scales, out) for each block.
template <typename Choose, typename Write>
void quantize(const BlockRow& row, std::size_t bytes, Choose choose, Write write) {
  Scales scales;
  for (std::size_t first = 0; first < row.blocks; first += kTogether) {
    const std::size_t count = std::min(kTogether, row.blocks - first);
    const float* x = row.x + kValues * first;
    std::uint8_t* out = row.out + bytes * first;
    for (std::size_t b = 0; b < count; b += kLanes) {
      const float* four = x + kValues * b;
      float filled[kLanes * kValues];
      if (count - b < kLanes) {
        std::memset(filled, 0, sizeof filled);
        std::memcpy(filled, four, (count - b) * kValues * sizeof(float));
        four = filled;
      }
      choose(four, b, scales);
    }
    for (std::size_t b = 0; b < count; ++b, x += kValues, out += bytes) write(x, b, scales, out);
  }
}

void store_halves(std::uint32_t* to, v128_t floats) { wasm_v128_store(to, f32_to_f16(floats)); }
void store_half(std::uint8_t* out, std::uint32_t half) {
  store_u16(out, static_cast<std::uint16_t>(half));
}

/// Four floats as an array.
struct Four {
  alignas(16) float at[kLanes];

  explicit Four(v128_t v) { wasm_v128_store(at, v); }
};

/// The first value of a block with the given magnitude.
float first_of_magnitude(const float* x, float magnitude) {
  while (std::fabs(*x) != magnitude) ++x;
  return *x;
}

/// The first values of the largest magnitude, with their signs; 0 for blocks of zeros.
v128_t signed_max(const float* x) {
  const auto [high, low] = reduce(x, most_signed, most_unsigned).of;
  const v128_t most = magnitudes(high);
  const v128_t negative = magnitudes(low);
  v128_t value = wasm_v128_bitselect(low, high, wasm_i32x4_gt(negative, most));
  const v128_t zero = wasm_i32x4_splat(0);
  const v128_t has_both =
      wasm_v128_and(wasm_v128_and(wasm_i32x4_eq(negative, most), wasm_i32x4_ne(low, high)),
                    wasm_i32x4_ne(most, zero));
  if (wasm_v128_any_true(has_both)) {
    Four values(value);
    const Four magnitude(most);
    const auto lanes = static_cast<unsigned>(wasm_i32x4_bitmask(has_both));
    for (std::size_t j = 0; j < kLanes; ++j) {
      if ((lanes >> j & 1) == 0) continue;
      values.at[j] = first_of_magnitude(x + kValues * j, magnitude.at[j]);
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
  const auto choose = [=](const float* x, std::size_t b, Scales& scales) {
    const v128_t d = wasm_f32x4_div(signed_max(x), wasm_f32x4_splat(-half));
    const v128_t inverse = inverses(d);
    // Without a finite inverse, codes are 0.
    const v128_t zero = wasm_f32x4_splat(0.0F);
    const v128_t has_none = wasm_v128_and(wasm_f32x4_eq(inverse, zero), wasm_f32x4_ne(d, zero));
    store_halves(scales.scale + b, d);
    wasm_v128_store(scales.factor + b, inverse);
    wasm_v128_store(scales.shift + b, wasm_v128_andnot(wasm_f32x4_splat(half + 0.5F), has_none));
  };
  const v128_t most = wasm_i8x16_splat(static_cast<std::int8_t>(2 * levels_below - 1));
  const auto write = [=](const float* x, std::size_t b, const Scales& scales, std::uint8_t* out) {
    const v128_t factor = wasm_f32x4_splat(scales.factor[b]);
    const v128_t shift = wasm_f32x4_splat(scales.shift[b]);
    const auto convert = [=](v128_t v) { return wasm_f32x4_add(wasm_f32x4_mul(v, factor), shift); };
    store_half(out, scales.scale[b]);
    const v128_t low = wasm_u8x16_min(codes16(x, convert), most);
    const v128_t high = wasm_u8x16_min(codes16(x + 16, convert), most);
    store_codes(low, high, has_fifth, out + 2);
  };
  quantize(row, bytes, choose, write);
}

/// The smallest and the largest values. If the smallest is 0, the first zero, with its sign.
struct Ends {
  v128_t min;
  v128_t max;
};
Ends ends(const float* x) {
  const auto [high, low, least] = reduce(x, most_signed, most_unsigned, least_unsigned).of;
  const v128_t zero = wasm_i32x4_splat(0);
  const v128_t max = wasm_v128_bitselect(least, high, wasm_i32x4_lt(high, zero));
  const v128_t min = wasm_v128_bitselect(low, least, wasm_i32x4_lt(low, zero));
  const v128_t is_zero = wasm_f32x4_eq(min, zero);
  if (!wasm_v128_any_true(is_zero)) return {min, max};
  Four values(min);
  for (std::size_t j = 0; j < kLanes; ++j) {
    if (values.at[j] == 0.0F) values.at[j] = first_of_magnitude(x + kValues * j, 0.0F);
  }
  return {wasm_v128_load(values.at), max};
}

/// q4_1 and q5_1: levels 0 ... count from the smallest value to the largest.
[[gnu::noinline]] void quantize_affine(const BlockRow& row, int count) {
  const bool has_fifth = count == 31;
  const std::size_t bytes = has_fifth ? 24 : 20;
  const auto choose = [=](const float* x, std::size_t b, Scales& scales) {
    const auto [min, max] = ends(x);
    const v128_t range = wasm_f32x4_sub(max, min);
    // Adding 0 turns the range -0 into 0.
    const v128_t d = wasm_f32x4_add(
        wasm_f32x4_div(range, wasm_f32x4_splat(static_cast<float>(count))), wasm_f32x4_splat(0.0F));
    // If the range overflows float32, codes are 0, as from ggml's x86-64 build.
    const v128_t is_beyond = wasm_f32x4_eq(d, wasm_f32x4_splat(INFINITY));
    const v128_t most = wasm_i8x16_splat(static_cast<std::int8_t>(count));
    store_halves(scales.scale + b, d);
    store_halves(scales.minimum + b, min);
    wasm_v128_store(scales.factor + b, inverses(d));
    wasm_v128_store(scales.shift + b, min);
    wasm_v128_store(scales.limit + b, wasm_v128_andnot(most, is_beyond));
  };
  const auto write = [=](const float* x, std::size_t b, const Scales& scales, std::uint8_t* out) {
    const v128_t factor = wasm_f32x4_splat(scales.factor[b]);
    const v128_t minimum = wasm_f32x4_splat(scales.shift[b]);
    const auto convert = [=](v128_t v) {
      return wasm_f32x4_add(wasm_f32x4_mul(wasm_f32x4_sub(v, minimum), factor),
                            wasm_f32x4_splat(0.5F));
    };
    const v128_t most = wasm_f32x4_splat(scales.limit[b]);
    store_half(out, scales.scale[b]);
    store_half(out + 2, scales.minimum[b]);
    const v128_t low = wasm_u8x16_min(codes16(x, convert), most);
    const v128_t high = wasm_u8x16_min(codes16(x + 16, convert), most);
    store_codes(low, high, has_fifth, out + 4);
  };
  quantize(row, bytes, choose, write);
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
  const auto choose = [](const float* x, std::size_t b, Scales& scales) {
    const v128_t d = wasm_f32x4_div(reduce(x, most_magnitude).of[0], wasm_f32x4_splat(127.0F));
    store_halves(scales.scale + b, d);
    wasm_v128_store(scales.factor + b, inverses(d));
  };
  const auto write = [](const float* x, std::size_t b, const Scales& scales, std::uint8_t* out) {
    const v128_t factor = wasm_f32x4_splat(scales.factor[b]);
    const v128_t sign = wasm_i32x4_splat(INT32_MIN);
    // The largest float below 0.5: added with the value's sign before truncation, it rounds half
    // away from zero.
    const v128_t half = wasm_f32x4_splat(0x1.fffffep-2F);
    const auto convert = [=](v128_t v) {
      const v128_t scaled = wasm_f32x4_mul(v, factor);
      return wasm_f32x4_add(scaled, wasm_v128_or(wasm_v128_and(scaled, sign), half));
    };
    store_half(out, scales.scale[b]);
    wasm_v128_store(out + 2, codes16(x, convert));
    wasm_v128_store(out + 18, codes16(x + 16, convert));
  };
  quantize(row, 34, choose, write);
}

void quantize_extremes_q4_0(const BlockRow& row) { quantize_symmetric(row, 8); }
void quantize_extremes_q5_0(const BlockRow& row) { quantize_symmetric(row, 16); }
void quantize_extremes_q4_1(const BlockRow& row) { quantize_affine(row, 15); }
void quantize_extremes_q5_1(const BlockRow& row) { quantize_affine(row, 31); }

}  // namespace zeropoint::kernels
