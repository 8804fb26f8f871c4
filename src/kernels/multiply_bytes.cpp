// Rows of bytes times panels of packed weights: integer sums, and their conversion to outputs, four
// at a time. Parity: integer sums are exact; conversions round as stated in panels.h.
#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "kernels/doubles.h"
#include "kernels/panel_sums.h"
#include "kernels/panels.h"
#include "kernels/relaxed.h"

namespace zeropoint::kernels {

namespace {

void multiply_wide_bytes(const std::uint8_t* codes, const StepSpan& span, const std::uint8_t* x,
                         std::size_t rows, std::int32_t* sums) {
  const std::size_t row = multiply_blocks<8, WideSums<1, 4, 1>>(codes, span, x, 0, rows, sums);
  multiply_blocks<8, WideSums<1, 1, 2>>(codes, span, x, row, rows, sums);
}

// Bytes of the codes of a step.
constexpr std::size_t kStepCodes = kPanel * kStepInputs;

#if ZEROPOINT_RELAXED
// A row's list in kI7Most, in words of 32 bits: the number of listed steps, then two words for
// each: the byte offset of its codes, and 1 + ((x - base) >> 7) of its four inputs, a byte each.
// The shift gives -1, 0 or 1.
template <typename Byte>
Byte* list_of(Byte* lines, std::size_t rows, std::size_t row, std::size_t steps) {
  return lines + (rows + row) * steps * kStepInputs;
}

// Writes a row's list.
void list_outside(const std::uint8_t* qx, std::size_t k, std::int32_t base, std::uint8_t* list) {
  constexpr std::size_t kBlock = 16;
  std::uint32_t count = 0;
  for (std::size_t block = 0; block < k; block += kBlock) {
    if (k - block >= kBlock && count_outside(qx + block, kBlock, base) == 0) continue;
    for (std::size_t at = block; at < std::min(block + kBlock, k); at += kStepInputs) {
      std::uint8_t bits[kStepInputs] = {1, 1, 1, 1};
      const std::size_t inputs = std::min(kStepInputs, k - at);
      if (count_outside(qx + at, inputs, base) == 0) continue;
      for (std::size_t i = 0; i < inputs; ++i) {
        bits[i] = static_cast<std::uint8_t>(1 + ((qx[at + i] - base) >> 7));
      }
      const auto codes_at = static_cast<std::uint32_t>(at / kStepInputs * kStepCodes);
      std::uint8_t* const entry = list + 4 + 8 * std::size_t{count++};
      std::memcpy(entry, &codes_at, 4);
      std::memcpy(entry + 4, bits, 4);
    }
  }
  std::memcpy(list, &count, 4);
}

// Adds the products of codes and bits above the low seven: 128 * ((x - base) >> 7).
void add_listed(const std::uint8_t* codes, const std::uint8_t* lines, std::size_t rows,
                std::size_t steps, std::int32_t* sums) {
  const v128_t one = hidden_splat<0x01010101>();
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint8_t* entry = list_of(lines, rows, row, steps);
    std::uint32_t count = 0;
    std::memcpy(&count, entry, 4);
    if (count == 0) continue;
    entry += 4;
    // Dots of 1 + the bits, and of 1: the relaxed dot's second operand must be 0 ... 127.
    v128_t plus[2] = {wasm_i32x4_splat(0), wasm_i32x4_splat(0)};
    v128_t minus[2] = {wasm_i32x4_splat(0), wasm_i32x4_splat(0)};
    for (; count > 0; --count, entry += 8) {
      std::uint32_t at = 0;
      std::memcpy(&at, entry, 4);
      const v128_t bits = wasm_v128_load32_splat(entry + 4);
      for (std::size_t j = 0; j < 2; ++j) {
        const v128_t tile = wasm_v128_load(codes + at + j * 16);
        plus[j] = dot_i8x16_i7x16_add(tile, bits, plus[j]);
        minus[j] = dot_i8x16_i7x16_add(tile, one, minus[j]);
      }
    }
    for (std::size_t j = 0; j < 2; ++j) {
      std::int32_t* to = sums + row * kPanel + j * kTile;
      const v128_t more = wasm_i32x4_shl(wasm_i32x4_sub(plus[j], minus[j]), 7);
      wasm_v128_store(to, wasm_i32x4_add(wasm_v128_load(to), more));
    }
  }
}
#endif

#if ZEROPOINT_RELAXED
// The format kI7x2: lines of the low seven bits, then lines of the highest one.
void multiply_both_lines(const std::uint8_t* codes, const StepSpan& span, const std::uint8_t* x,
                         std::size_t rows, std::int32_t* sums) {
  multiply_lines<8>(codes, span, x, rows, sums);
  std::int32_t high[kMaxRows * kPanel];
  multiply_lines<8>(codes, span, x + rows * span.row_steps * kStepInputs, rows, high);
  for (std::size_t i = 0; i < rows * kPanel; i += kTile) {
    wasm_v128_store(sums + i, wasm_i32x4_add(wasm_v128_load(sums + i),
                                             wasm_i32x4_shl(wasm_v128_load(high + i), 7)));
  }
}
#endif

// The inputs of a panel that share scales, or a chunk of them.
struct Chunk {
  const std::int32_t* minus_sums;  // [8]: as in Panels
  const float* scales;             // [8], or null: all 1
};

// totals[row][i] += (sums[row][i] + minus_sums[i] * (zero_point / 64)) * scales[i] / unit
void add_chunk(const std::int32_t* sums, const Chunk& chunk, std::int32_t zero_point, double unit,
               std::size_t rows, double* totals) {
  const Doubles zero = splat(zero_point / 64.0);
  // The unit is a power of two: its inverse is exact.
  const Doubles inverse = splat(1.0 / unit);
  for (std::size_t i = 0; i < kPanel; i += kTile) {
    const Doubles correction = widen_i32(wasm_v128_load(chunk.minus_sums + i)) * zero;
    const Doubles scale =
        chunk.scales == nullptr ? inverse : load_doubles(chunk.scales + i) * inverse;
    for (std::size_t row = 0; row < rows; ++row) {
      double* to = totals + row * kPanel + i;
      const Doubles sum = widen_i32(wasm_v128_load(sums + row * kPanel + i)) + correction;
      const Doubles total = load_doubles(to) + sum * scale;
      wasm_v128_store(to, total.low);
      wasm_v128_store(to + 2, total.high);
    }
  }
}

// multiply_groups() for one format, whose sums kMultiply makes.
template <auto kMultiply>
void multiply_chunks(const Panels& w, std::size_t panel, const std::uint8_t* x, std::size_t rows,
                     std::int32_t zero_point, double* totals) {
  const std::uint8_t* const codes = w.codes + panel * w.bytes();
  const float* const scales = w.groups() > 1 ? w.scales + panel * w.groups() * kPanel : nullptr;
  const std::int32_t* minus_sums = w.minus_sums + panel * w.chunks * kPanel;
  const bool is_narrow = w.bits < 8;
  const double unit = w.unit();
  // Narrow codes of steps wide_first ... wide_end - 1, widened.
  constexpr std::size_t kWideSteps = kChunk / kStepInputs;
  alignas(16) std::uint8_t wide[kWideSteps * kStepCodes];
  std::size_t wide_first = 0;
  std::size_t wide_end = 0;
  std::size_t step = 0;
  for_chunks(w.k, w.group, [&](std::size_t, std::size_t inputs, std::size_t group) {
    const std::size_t steps = steps_of(inputs, w.bits);
    if (is_narrow && step + steps > wide_end) {
      wide_first = step;
      wide_end = std::min(step + kWideSteps, w.steps);
      widen_codes(codes + step * static_cast<std::size_t>(w.bits) * 4, wide_end - step, w.bits,
                  w.added_to_low, wide);
    }
    std::int32_t sums[kMaxRows * kPanel];
    const std::uint8_t* own =
        is_narrow ? wide + (step - wide_first) * kStepCodes : codes + step * kStepCodes;
    kMultiply(own, StepSpan{w.steps, step, steps}, x, rows, sums);
    const Chunk chunk{minus_sums, scales == nullptr ? nullptr : scales + group * kPanel};
    add_chunk(sums, chunk, zero_point, unit, rows, totals);
    step += steps;
    minus_sums += kPanel;
  });
}

// Sums of four outputs of a row, from output `i` on.
Doubles total_of(const ByteSums& sums, std::size_t row, std::size_t i) {
  const Doubles total =
      widen_i32(wasm_v128_load(sums.sums + row * kPanel + i)) + load_doubles(sums.correction + i);
  return sums.more == nullptr ? total : total + load_doubles(sums.more + row * kPanel + i);
}

}  // namespace

std::size_t count_outside(const std::uint8_t* x, std::size_t n, std::int32_t base) {
  const v128_t bases = wasm_i8x16_splat(static_cast<std::int8_t>(base));
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const v128_t above = wasm_i8x16_sub(wasm_v128_load(x + i), bases);
    count += static_cast<std::size_t>(std::popcount(std::uint32_t{wasm_i8x16_bitmask(above)}));
  }
  for (; i < n; ++i) count += static_cast<std::uint8_t>(x[i] - base) >> 7;
  return count;
}

void spread_bytes(const std::uint8_t* qx, const Panels& panels, ByteFormat format, std::size_t rows,
                  std::size_t row, std::uint8_t* out) {
  const std::size_t steps = panels.steps;
  const bool wide = format.format == Bytes::kI16;
  const bool has_high_lines = format.format == Bytes::kI7x2;
#if ZEROPOINT_RELAXED
  if (format.format == Bytes::kI7Most) {
    assert(panels.group >= panels.k);
    list_outside(qx, panels.k, format.base, list_of(out, rows, row, steps));
  }
#endif
  const LinePlace place =
      wide ? LinePlace{row * byte_row_bytes(steps), 8} : line_place(rows, row, steps);
  const v128_t base = wasm_i8x16_splat(static_cast<std::int8_t>(format.base));
  out += place.at;
  const auto write = [&](const std::uint8_t* from) {
    const v128_t bytes = wasm_i8x16_sub(wasm_v128_load32_zero(from), base);
    if (wide) {
      wasm_v128_store64_lane(out, wasm_u16x8_extend_low_u8x16(bytes), 0);
    } else {
      wasm_v128_store32_lane(out, wasm_v128_and(bytes, wasm_i8x16_splat(127)), 0);
      if (has_high_lines) {
        wasm_v128_store32_lane(out + rows * steps * kStepInputs, wasm_u8x16_shr(bytes, 7), 0);
      }
    }
    out += place.step_bytes;
  };
  for_chunks(panels.k, panels.group, [&](std::size_t first, std::size_t inputs, std::size_t) {
    std::size_t i = 0;
    for (; i + kStepInputs <= inputs; i += kStepInputs) write(qx + first + i);
    for (const std::size_t end = steps_of(inputs, panels.bits) * kStepInputs; i < end;
         i += kStepInputs) {
      std::uint8_t rest[kStepInputs] = {};
      if (i < inputs) std::copy(qx + first + i, qx + first + inputs, rest);
      write(rest);
    }
  });
}

void multiply_bytes(const ByteProduct& product, [[maybe_unused]] Bytes format, std::size_t first,
                    std::size_t steps, std::int32_t* sums) {
  const std::size_t rows = product.rows;
  assert(rows <= kMaxRows);
  const StepSpan span{product.row_steps, first, steps};
  const std::uint8_t* codes = product.codes + first * kStepCodes;
  if (format == Bytes::kI16) return multiply_wide_bytes(codes, span, product.x, rows, sums);
#if ZEROPOINT_RELAXED
  if (format == Bytes::kI7x2) return multiply_both_lines(codes, span, product.x, rows, sums);
  multiply_lines<8>(codes, span, product.x, rows, sums);
  if (format == Bytes::kI7Most) {
    assert(first == 0 && steps == product.row_steps);
    add_listed(codes, product.x, rows, steps, sums);
  }
#endif
}

void multiply_groups(const Panels& panels, std::size_t panel, const std::uint8_t* x,
                     std::size_t rows, [[maybe_unused]] Bytes format, std::int32_t zero_point,
                     double* totals) {
  assert(rows <= kMaxRows && format != Bytes::kI7Most);
  // A choice for each chunk would take as long as a short chunk's products.
#if ZEROPOINT_RELAXED
  if (format == Bytes::kI7) {
    return multiply_chunks<multiply_lines<8>>(panels, panel, x, rows, zero_point, totals);
  }
  if (format == Bytes::kI7x2) {
    return multiply_chunks<multiply_both_lines>(panels, panel, x, rows, zero_point, totals);
  }
#endif
  multiply_chunks<multiply_wide_bytes>(panels, panel, x, rows, zero_point, totals);
}

void finish_bytes(const ByteSums& given, const float* multiplier, const float* bias,
                  std::size_t rows, float* out, std::size_t stride, std::size_t columns) {
  const ByteSums sums = given;  // in registers: `out` may be anything in memory
  for (std::size_t row = 0; row < rows; ++row) {
    float part[kPanel];
    // Stores directly if all eight are wanted: a copy of 32 bytes is a call into the engine.
    float* to = columns == kPanel ? out + row * stride : part;
    for (std::size_t i = 0; i < kPanel; i += kTile) {
      const v128_t scaled =
          wasm_f32x4_mul(narrow(total_of(sums, row, i)), wasm_v128_load(multiplier + i));
      wasm_v128_store(to + i, wasm_f32x4_add(scaled, wasm_v128_load(bias + i)));
    }
    if (columns != kPanel) std::copy_n(part, columns, out + row * stride);
  }
}

void requantize_bytes(const ByteSums& given, const float* multiplier, const float* bias,
                      std::int32_t zero_point, std::int32_t lowest, std::size_t rows,
                      std::uint8_t* out, std::size_t stride, std::size_t columns) {
  const ByteSums sums = given;  // in registers: `out` may be anything in memory
  const v128_t offset = wasm_f32x4_splat(static_cast<float>(zero_point));
  const v128_t least = wasm_f32x4_splat(static_cast<float>(lowest));
  for (std::size_t row = 0; row < rows; ++row) {
    v128_t codes[2];
    for (std::size_t j = 0; j < 2; ++j) {
      const std::size_t i = j * kTile;
      const Doubles total = total_of(sums, row, i) + widen_f32(wasm_v128_load(bias + i));
      const v128_t steps =
          wasm_f32x4_nearest(wasm_f32x4_mul(narrow(total), wasm_v128_load(multiplier + i)));
      // A NaN (0 times an infinite multiplier) becomes the lowest code: pmax(a, NaN) is a.
      const v128_t code = wasm_f32x4_pmax(least, wasm_f32x4_add(steps, offset));
      codes[j] = wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_pmin(code, wasm_f32x4_splat(255.0F)));
    }
    const v128_t words = wasm_i16x8_narrow_i32x4(codes[0], codes[1]);
    std::uint8_t part[kPanel];
    std::uint8_t* to = columns == kPanel ? out + row * stride : part;
    wasm_v128_store64_lane(to, wasm_u8x16_narrow_i16x8(words, words), 0);
    if (columns != kPanel) std::copy_n(part, columns, out + row * stride);
  }
}

}  // namespace zeropoint::kernels
