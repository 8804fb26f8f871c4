// Dots of one or two queries with rows of codes, 16 bytes a step, four rows at a time: each load of
// a query serves four rows, and each widening of codes both queries. The rows are a quarter of the
// rows apart: processors read ahead in each of four parts of memory, but hardly in neighbouring
// rows, which are in the same page. Parity: integers, equal to the plain sums of
// reference/search.h.
#include <cassert>

#include "kernels/search.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

std::int32_t total(v128_t v) {
  v = add_pairs(v, v);
  return wasm_i32x4_extract_lane(v, 0) + wasm_i32x4_extract_lane(v, 1);
}

v128_t add_dot(v128_t codes, const std::uint8_t* query, v128_t sum) {
  return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(codes, wasm_v128_load(query)));
}

// 16 bytes of rows of 8 and of 4 bits: part(bytes, p) has the codes that meet vector p of a query.
struct EightBits {
  static constexpr std::size_t kParts = 2;
  static v128_t part(const std::uint8_t* bytes, std::size_t p) {
    return wasm_i16x8_load8x8(bytes + 8 * p);
  }
};
struct FourBits {
  static constexpr std::size_t kParts = 4;
  static v128_t part(const std::uint8_t* bytes, std::size_t p) {
    const auto above = static_cast<std::uint32_t>(12 - 4 * p);
    return wasm_i16x8_shr(wasm_i16x8_shl(wasm_v128_load(bytes), above), 12);
  }
};

// kRows rows, `apart` rows from each other.
template <typename Codes, std::size_t kRows, std::size_t kQueries>
void dot_some(const RowDots& dots, std::size_t row, std::size_t apart, std::int32_t* const* out) {
  const std::uint8_t* from[kRows];
  const std::uint8_t* query[kQueries];
  v128_t sums[kQueries][kRows];
  for (std::size_t r = 0; r < kRows; ++r) from[r] = dots.rows + (row + r * apart) * dots.stride;
  for (std::size_t q = 0; q < kQueries; ++q) {
    query[q] = static_cast<const std::uint8_t*>(dots.query) + q * dots.to_second;
    for (std::size_t r = 0; r < kRows; ++r) sums[q][r] = wasm_i32x4_splat(0);
  }
  for (std::size_t i = 0; i < dots.steps; ++i) {
    for (std::size_t p = 0; p < Codes::kParts; ++p) {
      for (std::size_t r = 0; r < kRows; ++r) {
        const v128_t codes = Codes::part(from[r], p);
        for (std::size_t q = 0; q < kQueries; ++q) {
          sums[q][r] = add_dot(codes, query[q] + 16 * p, sums[q][r]);
        }
      }
    }
    for (std::size_t r = 0; r < kRows; ++r) from[r] = ahead(from[r], 16);
    for (std::size_t q = 0; q < kQueries; ++q) query[q] = ahead(query[q], 16 * Codes::kParts);
  }
  for (std::size_t q = 0; q < kQueries; ++q) {
    for (std::size_t r = 0; r < kRows; ++r) out[q][row + r * apart] = total(sums[q][r]);
  }
}

template <typename Codes, std::size_t kQueries>
void dot_all(const RowDots& dots, std::size_t count, std::int32_t* out) {
  std::int32_t* const outs[] = {out, out + count};
  const std::size_t quarter = count / 4;
  for (std::size_t row = 0; row < quarter; ++row) {
    dot_some<Codes, 4, kQueries>(dots, row, quarter, outs);
  }
  for (std::size_t row = 4 * quarter; row < count; ++row) {
    dot_some<Codes, 1, kQueries>(dots, row, 1, outs);
  }
}

template <typename Codes>
void dot_rows(const RowDots& dots, std::size_t count, std::int32_t* out) {
  if (dots.to_second == 0) return dot_all<Codes, 1>(dots, count, out);
  dot_all<Codes, 2>(dots, count, out);
}

// The next 16 bytes; zeros behind the last one.
v128_t load_bytes(const std::uint8_t* from, std::size_t left) {
  if (left >= 16) return wasm_v128_load(from);
  std::uint8_t rest[16] = {};
  for (std::size_t i = 0; i < left; ++i) rest[i] = from[i];
  return wasm_v128_load(rest);
}

}  // namespace

void dot_rows_s8(const RowDots& dots, std::size_t count, std::int32_t* out) {
  dot_rows<EightBits>(dots, count, out);
}

void dot_rows_s4(const RowDots& dots, std::size_t count, std::int32_t* out) {
  dot_rows<FourBits>(dots, count, out);
}

void sum_signed_b1(const RowDots& dots, std::size_t count, std::int32_t* out) {
  const auto* planes = static_cast<const std::uint8_t*>(dots.query);
  const std::size_t plane_bytes = dots.steps * 16;
  for (std::size_t row = 0; row < count; ++row) {
    const std::uint8_t* bits = dots.rows + row * dots.stride;
    std::int32_t sum = 0;
    v128_t totals[kPlanes];
    for (v128_t& t : totals) t = wasm_i32x4_splat(0);
    // Counts of 16 bytes, at most 8 each: 31 steps fit in a byte.
    for (std::size_t step = 0; step < dots.steps;) {
      const std::size_t end = step + 31 < dots.steps ? step + 31 : dots.steps;
      v128_t counts[kPlanes];
      for (v128_t& c : counts) c = wasm_i32x4_splat(0);
      for (; step < end; ++step) {
        const v128_t v = wasm_v128_load(bits + step * 16);
        for (std::size_t p = 0; p < kPlanes; ++p) {
          const v128_t both =
              wasm_v128_and(v, wasm_v128_load(planes + p * plane_bytes + step * 16));
          counts[p] = wasm_i8x16_add(counts[p], wasm_i8x16_popcnt(both));
        }
      }
      for (std::size_t p = 0; p < kPlanes; ++p) {
        totals[p] = wasm_i32x4_add(totals[p], wasm_u32x4_extadd_pairwise_u16x8(
                                                  wasm_u16x8_extadd_pairwise_u8x16(counts[p])));
      }
    }
    for (std::size_t p = 0; p < kPlanes; ++p) {
      const std::int32_t weight = 1 << p;
      sum += (p + 1 == kPlanes ? -weight : weight) * total(totals[p]);
    }
    out[row] = sum;
  }
}

void sign_distances_b1(const RowDots& dots, std::size_t count, std::uint16_t* out) {
  const auto* query = static_cast<const std::uint8_t*>(dots.query);
  // Bytes of the last step that belong to the row.
  std::uint8_t own[16];
  for (std::size_t i = 0; i < 16; ++i) own[i] = (dots.steps - 1) * 16 + i < dots.stride ? 0xff : 0;
  const v128_t last = wasm_v128_load(own);
  for (std::size_t row = 0; row < count; ++row) {
    const std::uint8_t* bits = dots.rows + row * dots.stride;
    v128_t sum = wasm_i32x4_splat(0);
    for (std::size_t step = 0; step < dots.steps;) {
      // Counts of 16 bytes, at most 8 each: 31 steps fit in a byte.
      const std::size_t end = step + 31 < dots.steps ? step + 31 : dots.steps;
      v128_t counts = wasm_i32x4_splat(0);
      for (; step < end; ++step) {
        v128_t differ =
            wasm_v128_xor(wasm_v128_load(bits + step * 16), wasm_v128_load(query + step * 16));
        if (step + 1 == dots.steps) differ = wasm_v128_and(differ, last);
        counts = wasm_i8x16_add(counts, wasm_i8x16_popcnt(differ));
      }
      sum = wasm_i32x4_add(
          sum, wasm_u32x4_extadd_pairwise_u16x8(wasm_u16x8_extadd_pairwise_u8x16(counts)));
    }
    out[row] = static_cast<std::uint16_t>(total(sum));
  }
}

std::int32_t sum_squares_s8(const std::uint8_t* codes, std::size_t bytes) {
  const v128_t least = wasm_i8x16_splat(-128);
  v128_t sum = wasm_i32x4_splat(0);
  v128_t bad = wasm_i32x4_splat(0);
  for (std::size_t i = 0; i < bytes; i += 16) {
    const v128_t v = load_bytes(codes + i, bytes - i);
    bad = wasm_v128_or(bad, wasm_i8x16_eq(v, least));
    const v128_t low = wasm_i16x8_extend_low_i8x16(v);
    const v128_t high = wasm_i16x8_extend_high_i8x16(v);
    sum = wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(low, low));
    sum = wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(high, high));
  }
  return wasm_v128_any_true(bad) ? -1 : total(sum);
}

std::int32_t sum_squares_s4(const std::uint8_t* codes, std::size_t bytes) {
  const v128_t least = wasm_i16x8_splat(-8);
  v128_t sum = wasm_i32x4_splat(0);
  v128_t bad = wasm_i32x4_splat(0);
  const auto add = [&](v128_t v) {
    bad = wasm_v128_or(bad, wasm_i16x8_eq(v, least));
    sum = wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(v, v));
  };
  for (std::size_t i = 0; i < bytes; i += 16) {
    const v128_t v = load_bytes(codes + i, bytes - i);
    add(wasm_i16x8_shr(wasm_i16x8_shl(v, 12), 12));
    add(wasm_i16x8_shr(wasm_i16x8_shl(v, 8), 12));
    add(wasm_i16x8_shr(wasm_i16x8_shl(v, 4), 12));
    add(wasm_i16x8_shr(v, 12));
  }
  return wasm_v128_any_true(bad) ? -1 : total(sum);
}

}  // namespace zeropoint::kernels
