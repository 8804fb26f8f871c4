// Dots with rows of codes, 16 bytes a step: of a query with four rows at a time, or of two queries,
// so that codes are unpacked once for both; with two rows of int4 then. The rows are a quarter or
// half of all rows apart: processors read ahead in each of these parts of memory, but hardly in
// neighbouring rows, which are in the same page. Parity: integers, equal to the plain sums of
// reference/search.h.
#include <algorithm>
#include <bit>

#include "kernels/search.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

// The sum of the lanes, modulo 2^32.
std::int32_t total(v128_t v) {
  v = add_pairs(v, v);
  return wasm_i32x4_extract_lane(add_pairs(v, v), 0);
}

v128_t add_dot(v128_t codes, const std::uint8_t* query, v128_t sum) {
  return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(codes, wasm_v128_load(query)));
}

// 16 bytes of rows of 8 and of 4 bits: part(p) has the words that meet vector p of a query.
struct EightBits {
  static constexpr std::size_t kParts = 2;
  static constexpr std::size_t kPairedRows = 4;
  static constexpr std::size_t kStart = 0;
  explicit EightBits(const std::uint8_t* bytes) : bytes_(bytes) {}
  [[nodiscard]] v128_t part(std::size_t p) const { return wasm_i16x8_load8x8(bytes_ + 8 * p); }

 private:
  const std::uint8_t* bytes_;
};
struct FourBits {
  static constexpr std::size_t kParts = 4;
  static constexpr std::size_t kPairedRows = 2;
  static constexpr std::size_t kStart = 16;
  explicit FourBits(const std::uint8_t* bytes)
      : words_(wasm_v128_xor(wasm_v128_load(bytes), hidden_splat<0x08880888>())) {}
  [[nodiscard]] v128_t part(std::size_t p) const {
    return wasm_i16x8_shr(words_, static_cast<std::uint32_t>(4 * p));
  }

 private:
  v128_t words_;
};

// Four rows at a time, or with two queries Codes::kPairedRows; a row several times at the end.
template <typename Codes, std::size_t kQueries>
void dot_rows(const RowDots& dots, std::size_t count, std::int32_t* out) {
  constexpr std::size_t kRows = kQueries == 1 ? 4 : Codes::kPairedRows;
  const std::size_t apart = (count + kRows - 1) / kRows;
  for (std::size_t row = 0; row < apart; ++row) {
    std::size_t places[kRows];
    const std::uint8_t* from[kRows];
    for (std::size_t r = 0; r < kRows; ++r) {
      places[r] = std::min(row + r * apart, count - 1);
      from[r] = dots.rows[places[r]] + dots.offset;
    }
    const std::uint8_t* query[kQueries];
    v128_t sums[kQueries][kRows];
    for (std::size_t q = 0; q < kQueries; ++q) {
      query[q] = static_cast<const std::uint8_t*>(dots.query) + q * dots.to_second;
      const v128_t start = Codes::kStart == 0 ? wasm_i32x4_splat(0) : wasm_v128_load(query[q]);
      for (v128_t& sum : sums[q]) sum = start;
      query[q] += Codes::kStart;
    }
    for (std::size_t i = 0; i < dots.steps; ++i) {
      for (std::size_t r = 0; r < kRows; ++r) {
        const Codes codes(from[r]);
        for (std::size_t p = 0; p < Codes::kParts; ++p) {
          const v128_t words = codes.part(p);
          for (std::size_t q = 0; q < kQueries; ++q) {
            sums[q][r] = add_dot(words, query[q] + 16 * p, sums[q][r]);
          }
        }
      }
      for (std::size_t r = 0; r < kRows; ++r) from[r] = ahead(from[r], 16);
      for (std::size_t q = 0; q < kQueries; ++q) query[q] = ahead(query[q], 16 * Codes::kParts);
    }
    for (std::size_t q = 0; q < kQueries; ++q) {
      std::int32_t* const own = out + q * count;
      for (std::size_t r = 0; r < kRows; ++r) own[places[r]] = total(sums[q][r]);
    }
  }
}

template <typename Codes>
void dot_rows(const RowDots& dots, std::size_t count, std::int32_t* out) {
  if (dots.to_second == 0) return dot_rows<Codes, 1>(dots, count, out);
  dot_rows<Codes, 2>(dots, count, out);
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

void place_four_bits(std::int32_t q, std::size_t i, void* query) {
  auto* const start = static_cast<std::int32_t*>(query);
  auto* const factors = reinterpret_cast<std::int16_t*>(start + 4) + i / 32 * 32 + i % 32 / 4;
  const std::size_t part = i % 4;
  factors[part * 8] = static_cast<std::int16_t>(factors[part * 8] + q);
  if (part == 3) return;
  factors[part * 8 + 8] = static_cast<std::int16_t>(factors[part * 8 + 8] - 16 * q);
  *start -= 8 * q;
}

void sum_signed_b1(const RowDots& dots, std::size_t count, std::int32_t* out) {
  const auto* planes = static_cast<const std::uint8_t*>(dots.query);
  const std::size_t plane_bytes = dots.steps * 16;
  for (std::size_t row = 0; row < count; ++row) {
    const std::uint8_t* bits = dots.rows[row] + dots.offset;
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

void sign_distances_b1(const SignRows& signs, std::size_t count, std::uint16_t* out) {
  const std::size_t steps = (signs.stride + 15) / 16;
  // Bytes of the last step that belong to the row.
  std::uint8_t own[16];
  for (std::size_t i = 0; i < 16; ++i) own[i] = (steps - 1) * 16 + i < signs.stride ? 0xff : 0;
  const v128_t last = wasm_v128_load(own);
  for (std::size_t row = 0; row < count; ++row) {
    const std::uint8_t* bits = signs.rows + row * signs.stride;
    v128_t sum = wasm_i32x4_splat(0);
    for (std::size_t step = 0; step < steps;) {
      // Counts of 16 bytes, at most 8 each: 31 steps fit in a byte.
      const std::size_t end = step + 31 < steps ? step + 31 : steps;
      v128_t counts = wasm_i32x4_splat(0);
      for (; step < end; ++step) {
        v128_t differ = wasm_v128_xor(wasm_v128_load(bits + step * 16),
                                      wasm_v128_load(signs.query + step * 16));
        if (step + 1 == steps) differ = wasm_v128_and(differ, last);
        counts = wasm_i8x16_add(counts, wasm_i8x16_popcnt(differ));
      }
      sum = wasm_i32x4_add(
          sum, wasm_u32x4_extadd_pairwise_u16x8(wasm_u16x8_extadd_pairwise_u8x16(counts)));
    }
    out[row] = static_cast<std::uint16_t>(total(sum));
  }
}

std::size_t mark_up_to_u16(const std::uint16_t* distances, std::size_t count, std::uint16_t most,
                           std::uint8_t* marks) {
  const v128_t limit = wasm_i16x8_splat(static_cast<std::int16_t>(most));
  std::size_t marked = 0;
  for (std::size_t i = 0; i < count; i += 8) {
    const std::size_t own = std::min<std::size_t>(8, count - i);
    std::uint16_t rest[8] = {};
    if (own < 8) std::copy_n(distances + i, own, rest);
    const v128_t some = wasm_v128_load(own < 8 ? rest : distances + i);
    const std::uint32_t bits = wasm_i16x8_bitmask(wasm_u16x8_le(some, limit)) & ((1U << own) - 1);
    marks[i / 8] = static_cast<std::uint8_t>(bits);
    marked += static_cast<std::size_t>(std::popcount(bits));
  }
  return marked;
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
