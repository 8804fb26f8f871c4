// Dots of a query with rows of codes, 16 bytes a step, four rows at a time: each load of the query
// serves four rows. They are a quarter of the rows apart: processors read ahead in each of four
// parts of memory, but hardly in neighbouring rows, which are in the same page.
// Parity: integers, equal to the plain sums of reference/search.h.
#include <cassert>

#include "kernels/search.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

std::int32_t total(v128_t v) {
  v = add_pairs(v, v);
  return wasm_i32x4_extract_lane(v, 0) + wasm_i32x4_extract_lane(v, 1);
}

// Runs Step over kRows rows, `apart` rows from each other: step(bytes of a row, query of the step,
// sum) -> sum.
template <std::size_t kRows, typename Step>
void dot_some(const RowDots& dots, std::size_t row, std::size_t apart, Step step,
              std::size_t query_bytes, std::int32_t* out) {
  const std::uint8_t* from[kRows];
  v128_t sums[kRows];
  for (std::size_t r = 0; r < kRows; ++r) {
    from[r] = dots.rows + (row + r * apart) * dots.stride;
    sums[r] = wasm_i32x4_splat(0);
  }
  const auto* query = static_cast<const std::uint8_t*>(dots.query);
  for (std::size_t i = 0; i < dots.steps; ++i) {
    for (std::size_t r = 0; r < kRows; ++r) sums[r] = step(from[r], query, sums[r]);
    for (std::size_t r = 0; r < kRows; ++r) from[r] = ahead(from[r], 16);
    query += query_bytes;
  }
  for (std::size_t r = 0; r < kRows; ++r) out[row + r * apart] = total(sums[r]);
}

template <typename Step>
void dot_rows(const RowDots& dots, std::size_t count, Step step, std::size_t query_bytes,
              std::int32_t* out) {
  const std::size_t quarter = count / 4;
  for (std::size_t row = 0; row < quarter; ++row) {
    dot_some<4>(dots, row, quarter, step, query_bytes, out);
  }
  for (std::size_t row = 4 * quarter; row < count; ++row) {
    dot_some<1>(dots, row, 1, step, query_bytes, out);
  }
}

// The next 16 bytes; zeros behind the last one.
v128_t load_bytes(const std::uint8_t* from, std::size_t left) {
  if (left >= 16) return wasm_v128_load(from);
  std::uint8_t rest[16] = {};
  for (std::size_t i = 0; i < left; ++i) rest[i] = from[i];
  return wasm_v128_load(rest);
}

v128_t add_dot(v128_t codes, const std::uint8_t* query, v128_t sum) {
  return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(codes, wasm_v128_load(query)));
}

}  // namespace

void dot_rows_s8(const RowDots& dots, std::size_t count, std::int32_t* out) {
  const auto step = [](const std::uint8_t* row, const std::uint8_t* query, v128_t sum) {
    sum = add_dot(wasm_i16x8_load8x8(row), query, sum);
    return add_dot(wasm_i16x8_load8x8(row + 8), query + 16, sum);
  };
  dot_rows(dots, count, step, 32, out);
}

void dot_rows_s4(const RowDots& dots, std::size_t count, std::int32_t* out) {
  const auto step = [](const std::uint8_t* row, const std::uint8_t* query, v128_t sum) {
    const v128_t v = wasm_v128_load(row);
    sum = add_dot(wasm_i16x8_shr(wasm_i16x8_shl(v, 12), 12), query, sum);
    sum = add_dot(wasm_i16x8_shr(wasm_i16x8_shl(v, 8), 12), query + 16, sum);
    sum = add_dot(wasm_i16x8_shr(wasm_i16x8_shl(v, 4), 12), query + 32, sum);
    return add_dot(wasm_i16x8_shr(v, 12), query + 48, sum);
  };
  dot_rows(dots, count, step, 64, out);
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
