// Rows of digits times panels of packed weights: the integer sums of panel_sums.h, added to double
// totals after every chunk.
// Parity: bit-identical to reference/panels.h in every format of 28 bits.
#include <algorithm>
#include <cassert>
#include <cstring>

#include "kernels/doubles.h"
#include "kernels/panel_sums.h"
#include "kernels/panels.h"
#include "kernels/relaxed.h"

namespace zeropoint::kernels {
namespace {

// ---- widening of narrow codes

// Widens up to kChunk inputs of a panel. @param added  to the 4-bit codes of the first tile
using Widen = void (*)(const std::uint8_t* codes, std::size_t steps, int added, std::uint8_t* wide);

// To int16.
void widen_nibbles_to_16(const std::uint8_t* codes, std::size_t steps, int added,
                         std::uint8_t* wide) {
  const v128_t low_nibbles = low_nibbles_of_16();
  // The sign of nibbles without 8 added: (16 n ^ 128) - 128, n being the low nibble.
  const v128_t flip = wasm_i16x8_splat(static_cast<std::int16_t>(128 - 16 * added));
  const v128_t bias = wasm_i16x8_splat(128);
  for (std::size_t step = 0; step < steps; ++step) {
    v128_t tiles[2][2];
    load_raw_tiles(codes, step, low_nibbles, tiles);
    for (std::size_t half = 0; half < 2; ++half) {
      const v128_t low = tiles[0][half];
      tiles[0][half] = wasm_i16x8_sub(wasm_v128_xor(wasm_i16x8_shl(low, 4), flip), bias);
      tiles[1][half] = wasm_i16x8_sub(tiles[1][half], low);
    }
    store_pairs(tiles[0][0], tiles[0][1], wide + step * 64);
    store_pairs(tiles[1][0], tiles[1][1], wide + step * 64 + 16);
  }
}

template <int kBits>
void widen_to_16(const std::uint8_t* codes, std::size_t steps, int, std::uint8_t* wide) {
  constexpr std::size_t kAtATime = kBits == 2 ? 2 : 1;
  for (std::size_t step = 0; step < steps; step += kAtATime) {
    for (std::size_t i = 0; i < kAtATime; ++i) {
      v128_t tiles[2][2];
      load_wide_tiles<kBits, 0, 2>(codes, step + i, tiles);
      for (std::size_t j = 0; j < 2; ++j) {
        for (v128_t& half : tiles[j]) half = kBits == 2 ? wasm_i16x8_shl(half, 6) : half;
        store_pairs(tiles[j][0], tiles[j][1], wide + (step + i) * 64 + j * 16);
      }
    }
  }
}

// To int8, the code in the highest bits.
template <int kBits>
void widen_to_8(const std::uint8_t* codes, std::size_t steps, int added, std::uint8_t* wide) {
  constexpr std::size_t kAtATime = kBits == 2 ? 2 : 1;
  const v128_t top = top_bits<kBits>();
  const v128_t added_to_low = wasm_i8x16_splat(static_cast<std::int8_t>(16 * added));
  for (std::size_t step = 0; step < steps; step += kAtATime) {
    for (std::size_t i = 0; i < kAtATime; ++i) {
      v128_t tiles[2];
      load_tiles<kBits>(codes, step + i, top, tiles);
      wasm_v128_store(wide + (step + i) * 32, wasm_v128_xor(tiles[0], added_to_low));
      wasm_v128_store(wide + (step + i) * 32 + 16, tiles[1]);
    }
  }
}

// ---- conversion of sums to results

// Pointers to a panel's parts.
struct PanelParts {
  const std::uint8_t* codes;
  const float* scales;
  const std::int32_t* zero_points;
  const float* offsets;
  const std::int32_t* minus_sums;
  const float* largest;
  const float* ordinary;

  PanelParts(const Panels& w, std::size_t panel)
      : codes(w.codes + panel * w.bytes()),
        scales(w.scales + panel * w.groups() * kPanel),
        zero_points(w.affine ? w.zero_points + panel * w.groups() * kPanel : nullptr),
        offsets(w.offsets != nullptr ? w.offsets + panel * w.groups() * kPanel : nullptr),
        minus_sums(w.minus_sums + panel * w.chunks * kPanel),
        largest(w.largest + panel * kPanel),
        ordinary(w.ordinary + panel * 2 * kPanel) {}
};

// The four codes of an output of a panel in a step, times the unit: one per byte.
std::uint32_t codes_at(const Panels& w, const std::uint8_t* codes, std::size_t step,
                       std::size_t output) {
  const std::size_t tile = output / kTile;
  const std::size_t at = output % kTile * kStepInputs;
  const std::size_t vector = w.bits == 8 ? 2 * step + tile : (w.bits == 4 ? step : step / 2);
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, codes + 16 * vector + at, sizeof(bytes));
  // The mask for other tiles and steps also clears bits shifted in from neighbouring bytes.
  if (w.bits == 4) {
    return tile == 0 ? (bytes << 4 & 0xF0F0F0F0U) ^
                           (0x10101010U * static_cast<std::uint32_t>(w.added_to_low))
                     : bytes & 0xF0F0F0F0U;
  }
  if (w.bits == 2) return bytes << (6 - 2 * (step % 2 * 2 + tile)) & 0xC0C0C0C0U;
  return bytes;
}

// Computes one output from the float32 row itself, in double: for rows with NaN or infinities, and
// if the digits cannot guarantee the bound. Rare, except for a few percent of outputs with 2-bit
// weights.
[[gnu::noinline]] double multiply_in_double(const Panels& w, const PanelParts& parts,
                                            std::size_t output, const float* x) {
  double total = 0.0;
  double sum = 0.0;
  std::size_t step = 0;
  const bool has_offsets = w.offsets != nullptr || w.input_offsets != nullptr;
  for_chunks(w.k, w.group, [&](std::size_t first, std::size_t inputs, std::size_t group) {
    const int zero_point =
        w.affine ? parts.zero_points[group * kPanel + output] * (1 << (8 - w.bits)) : 0;
    std::uint32_t codes = 0;
    for (std::size_t i = 0; i < inputs; ++i) {
      if (i % kStepInputs == 0) codes = codes_at(w, parts.codes, step++, output);
      int code = static_cast<std::int8_t>(codes) - zero_point;
      codes >>= 8;
      const std::size_t input = first + i;
      auto value = static_cast<double>(x[input]);
      if (has_offsets) {
        // The weight first, so that cancellation of code and offset is exact.
        const bool per_input = w.input_offsets != nullptr;
        const std::size_t at = group * kPanel + output;
        const auto scale =
            static_cast<double>(per_input ? w.input_scales[input] : parts.scales[at]);
        const auto offset =
            static_cast<double>(per_input ? w.input_offsets[input] : parts.offsets[at]);
        const int unit = 1 << (8 - w.bits);
        sum += value * ((code + w.center * unit) * scale + offset * unit);
        continue;
      }
      if (w.input_scales != nullptr) {
        value *= static_cast<double>(w.input_scales[input]);
        code -= w.input_zero_points[input] * (1 << (8 - w.bits));
      }
      sum += value * code;
    }
    // 2-bit steps come in pairs; a chunk of an odd number of steps ends with a padding step.
    if (w.bits == 2) step += step % 2;
    if ((first + inputs) % w.group == 0 || first + inputs == w.k) {
      total += has_offsets ? sum : sum * static_cast<double>(parts.scales[group * kPanel + output]);
      sum = 0.0;
    }
  });
  return total / w.unit();
}

// Whether a sum with heavy cancellation still meets the bound. The bound is relative to sum |x w|.
// With w0 the ordinary magnitude and n weights below it,
//   sum |x w| >= w0 (sum |x| - sum |x| over these n) >= w0 (sum |x| - sqrt(n) sqrt(sum x^2)).
bool is_certain(const PanelProduct& product, const PanelParts& parts, std::size_t output,
                const RowScale& row) {
  const auto magnitude = static_cast<double>(parts.ordinary[output]);
  const auto root = static_cast<double>(parts.ordinary[kPanel + output]);
  const double sum = magnitude * (row.sum - root * row.norm);
  const double error = 2.0 * row.error * static_cast<double>(parts.largest[output]);
  return error <= product.tolerance * sum;
}

// Four results of a row: sums that meet the bound, or results recomputed in double; plus bias,
// rounded once.
inline void finish_tile(const PanelProduct& product, const PanelParts& parts, std::size_t panel,
                        std::size_t tile, std::size_t row, Doubles sums) {
  const Panels& w = product.panels;
  const RowScale& scale = product.scales[row];
  const std::size_t column = panel * kPanel + tile * kTile;
  if (column >= w.n) return;
  const Doubles values = sums * splat(scale.unit / w.unit());
  // With offsets, codes and offset may nearly cancel. `largest` has 2^-20 of their magnitudes for
  // this case, so that 2^-30 of sum |X| covers the four roundings of a chunk in double.
  const bool has_offsets = w.offsets != nullptr || w.input_offsets != nullptr;
  const Doubles error = widen_f32(wasm_v128_load(parts.largest + tile * kTile)) *
                        splat(has_offsets ? scale.error + 0x1p-30 * scale.sum : scale.error);
  // Twice the error, to cover all rounding in double.
  const v128_t low =
      wasm_f64x2_gt(wasm_f64x2_mul(error.low, wasm_f64x2_splat(2.0)),
                    wasm_f64x2_mul(wasm_f64x2_abs(sums.low), wasm_f64x2_splat(product.tolerance)));
  const v128_t high =
      wasm_f64x2_gt(wasm_f64x2_mul(error.high, wasm_f64x2_splat(2.0)),
                    wasm_f64x2_mul(wasm_f64x2_abs(sums.high), wasm_f64x2_splat(product.tolerance)));
  double results[kTile];
  const bool uncertain = !scale.finite || wasm_v128_any_true(wasm_v128_or(low, high));
  const std::size_t count = std::min(kTile, w.n - column);
  const std::size_t place = product.places[row];
  float* out = product.out + place * w.n + column;
  if (!uncertain && count == kTile) {
    Doubles total = values;
    if (product.bias != nullptr) {
      total = total + widen_f32(wasm_v128_load(product.bias + column));
    }
    wasm_v128_store(out, narrow(total));
    return;
  }
  std::int64_t fails[kTile];
  wasm_v128_store(results, values.low);
  wasm_v128_store(results + 2, values.high);
  wasm_v128_store(fails, low);
  wasm_v128_store(fails + 2, high);
  for (std::size_t i = 0; i < count; ++i) {
    // Rows with NaN or infinities have no sums, and none are read.
    const bool fits =
        scale.finite &&
        (fails[i] == 0 || (!has_offsets && is_certain(product, parts, tile * kTile + i, scale)));
    if (!fits) {
      results[i] = multiply_in_double(w, parts, tile * kTile + i, product.x + place * w.k);
    }
    if (product.bias != nullptr) results[i] += static_cast<double>(product.bias[column + i]);
    out[i] = static_cast<float>(results[i]);
  }
}

// All results of a panel: one function for all formats, called once for all rows.
[[gnu::noinline]] void finish_panel(const PanelProduct& product, const PanelParts& parts,
                                    std::size_t panel, const Doubles (*totals)[2]) {
  for (std::size_t row = 0; row < product.rows; ++row) {
    for (std::size_t tile = 0; tile < 2; ++tile) {
      finish_tile(product, parts, panel, tile, row, totals[row][tile]);
    }
  }
}

// ---- formats of digits

// Calls of(tile) for both tiles of a panel, unrolled: arrays indexed in a loop would go through
// memory.
template <typename Of>
void for_tiles(Of of) {
  of(std::size_t{0});
  of(std::size_t{1});
}

// Factors that turn a chunk's sums into totals, for a panel.
struct ChunkScales {
  Doubles scales[2];
  Doubles zero_points[2];
  Doubles offsets[2];  // times the unit
  v128_t minus_sums[2];
  bool subtracts;  // whether zero points count
  bool adds;       // whether offsets count

  // @param raw  whether sums are of 4-bit codes as stored
  ChunkScales(const Panels& w, const PanelParts& parts, std::size_t chunk, std::size_t group,
              bool raw)
      : subtracts(w.affine || w.input_scales != nullptr || raw || w.offsets != nullptr),
        adds(w.offsets != nullptr) {
    for_tiles([&](std::size_t j) {
      const std::size_t at = group * kPanel + j * kTile;
      scales[j] = widen_f32(wasm_v128_load(parts.scales + at));
      minus_sums[j] = wasm_v128_load(parts.minus_sums + chunk * kPanel + j * kTile);
    });
    if (!subtracts) return;
    // If inputs have zero points, the sums already contain them as factors.
    zero_points[0] = zero_points[1] = splat(w.affine || !raw ? w.unit() : 0.0);
    if (adds) {
      // The sums become those of X * (code + center), exact in either layout; add_sums() then adds
      // offset * sum of X.
      zero_points[0] = zero_points[1] = splat(-w.center * w.unit());
      for_tiles([&](std::size_t j) {
        offsets[j] =
            widen_f32(wasm_v128_load(parts.offsets + group * kPanel + j * kTile)) * splat(w.unit());
      });
    }
    if (w.affine) {
      for_tiles([&](std::size_t j) {
        const v128_t codes = wasm_v128_load(parts.zero_points + group * kPanel + j * kTile);
        zero_points[j] = zero_points[j] * widen_i32(codes);
      });
    }
    if (!raw) return;
    // Raw codes of the first tile have unit 1, not 16.
    scales[0] = scales[0] * splat(16.0);
    zero_points[0] = zero_points[0] * splat(1.0 / 16.0) + splat(w.added_to_low);
  }
};

// Multiplies lines (or rows, in formats without lines) by a panel's codes from the span's first
// step.
using MultiplyRows = void (*)(const std::uint8_t* codes, const StepSpan& span,
                              const std::uint8_t* x, std::size_t rows, std::int32_t* sums);

// The two halves of a sum, 2^14 * high + low, of four outputs.
struct Halves {
  v128_t low;
  v128_t high;
};

// Digits in int16. kBits = 16: times codes already widened.
template <int kBits>
void multiply_wide_digits(const std::uint8_t* codes, const StepSpan& span, const std::uint8_t* x,
                          std::size_t rows, std::int32_t* sums) {
  if constexpr (kBits == 16) {
    const std::size_t row = multiply_blocks<16, PairSums<2>>(codes, span, x, 0, rows, sums);
    multiply_blocks<16, PairSums<1>>(codes, span, x, row, rows, sums);
  } else {
    multiply_blocks<kBits, WideSums<2, 1, 2>>(codes, span, x, 0, rows, sums);
  }
}

// Both halves side by side. 4-bit codes are multiplied as stored, unless they are widened.
struct WideDigits {
  static constexpr bool kTakesRaw = true;
  static constexpr int kAddedToLow = added_to_low(Digits::kI16);
  static constexpr std::size_t kLines = 1;       // per row
  static constexpr std::size_t kSums = 2;        // per row and output
  static constexpr std::size_t kStepBytes = 16;  // per row
  static constexpr std::size_t kTogether = 24;   // rows per call
  static constexpr int kWideBits = 16;
  static constexpr std::size_t kWideRows = 3;  // minimum number of rows for widening
  static constexpr bool kTakesRow = true;      // whether multiply_row computes a single row

  static Widen widen(int bits) {
    return bits == 8 ? widen_to_16<8> : (bits == 4 ? widen_nibbles_to_16 : widen_to_16<2>);
  }
  static MultiplyRows multiply(int bits) {
    return bits == 16  ? multiply_wide_digits<16>
           : bits == 8 ? multiply_wide_digits<8>
           : bits == 4 ? multiply_wide_digits<4>
                       : multiply_wide_digits<2>;
  }
  // Sums of a single row. Separate from the caller, because engines would run out of registers.
  template <int kBits>
  [[gnu::noinline]] static void multiply_one(const std::uint8_t* codes, std::size_t steps,
                                             const std::uint8_t* x, std::int32_t* sums) {
    multiply_tiles<kBits, WideSums<2, 1, 2>, 0>(codes, steps, x, 0, sums);
  }
  static Halves halves(const ChunkScales&, const std::int32_t* sums, std::size_t) {
    return {wasm_v128_load(sums), wasm_v128_load(sums + kPanel)};
  }
};

#if ZEROPOINT_RELAXED
// Two planes per half; with three planes, one in the high half. Subtracting 64 from every digit
// makes the highest plane signed.
template <std::size_t kPlanes>
struct SevenBitDigits {
  static constexpr bool kTakesRaw = false;
  static constexpr int kAddedToLow = added_to_low(Digits::kI7);
  static constexpr std::size_t kLines = kPlanes;
  static constexpr std::size_t kSums = kPlanes;
  static constexpr std::size_t kStepBytes = kPlanes * kStepInputs;
  static constexpr std::size_t kTogether = 24;
  static constexpr int kWideBits = 8;
  // Six lines are multiplied at a time by codes of 8 bits alone.
  static constexpr std::size_t kWideRows = kPlanes == 3 ? 2 : 3;
  static constexpr bool kTakesRow = kPlanes == 4;

  static Widen widen(int bits) { return bits == 4 ? widen_to_8<4> : widen_to_8<2>; }
  static MultiplyRows multiply(int bits) {
    return bits == 8 ? multiply_lines<8> : (bits == 4 ? multiply_lines<4> : multiply_lines<2>);
  }
  template <int kBits>
  static void multiply_one(const std::uint8_t* codes, std::size_t steps, const std::uint8_t* x,
                           std::int32_t* sums) {
    multiply_tiles<kBits, LineSums<kPlanes>, 0>(codes, steps, x, 0, sums);
  }
  static Halves halves(const ChunkScales& chunk, const std::int32_t* sums, std::size_t tile) {
    const auto plane = [=](std::size_t p) { return wasm_v128_load(sums + p * kPanel); };
    const v128_t low = wasm_i32x4_add(plane(0), wasm_i32x4_shl(plane(1), 7));
    const v128_t highest = wasm_i32x4_add(plane(kPlanes - 1), chunk.minus_sums[tile]);
    if constexpr (kPlanes == 3) return {low, highest};
    return {low, wasm_i32x4_add(plane(2), wasm_i32x4_shl(highest, 7))};
  }
};
#endif

// Adds a chunk's sums of a row to its totals. @param x_sum  sum of X over the chunk
template <typename Format>
void add_sums(const ChunkScales& chunk, const std::int32_t* sums, double x_sum,
              Doubles (&totals)[2]) {
  // Read from memory, for the same reason as hidden_splat().
  static const volatile double factor = 16384.0;
  const v128_t two14 = wasm_f64x2_splat(factor);
  Doubles exact[2];
  for_tiles([&](std::size_t j) {
    const Halves halves = Format::halves(chunk, sums + j * kTile, j);
    exact[j] =
        add_exact_product(widen_i32(halves.high), Doubles{two14, two14}, widen_i32(halves.low));
  });
  if (chunk.subtracts) {
    for_tiles([&](std::size_t j) { exact[j] = exact[j] - chunk.zero_points[j] * splat(x_sum); });
  }
  if (chunk.adds) {
    // One sum per chunk, so that rounding of totals is relative to them: see finish_tile().
    for_tiles([&](std::size_t j) {
      totals[j] = totals[j] + (exact[j] * chunk.scales[j] + chunk.offsets[j] * splat(x_sum));
    });
    return;
  }
  for_tiles([&](std::size_t j) { totals[j] = totals[j] + exact[j] * chunk.scales[j]; });
}

// The same for several rows. A separate function, so that its constants stay in registers.
// @param x_sums  sums of X, `stride` apart for consecutive rows
template <typename Format>
[[gnu::noinline]] void add_chunk(const ChunkScales& chunk, const std::int32_t* sums,
                                 const double* x_sums, std::size_t stride, std::size_t rows,
                                 Doubles (*totals)[2]) {
  for (std::size_t row = 0; row < rows; ++row) {
    add_sums<Format>(chunk, sums, *x_sums, totals[row]);
    sums += Format::kSums * kPanel;
    x_sums += stride;
  }
}

// Whether 4-bit codes must be widened even for a single row: codes in the layout of the other
// format, and for kTakesRaw also codes with zero points per input, since the correction uses the
// plain sum of inputs.
template <typename Format>
bool must_widen(const Panels& w) {
  if (w.bits != 4) return false;
  return w.added_to_low != Format::kAddedToLow || (Format::kTakesRaw && w.input_scales != nullptr);
}

// Prefetch: at each page of codes, reads two lines of the page two pages ahead. Computation with
// narrow codes takes so long that the hardware prefetcher is late at every page.
// @param end  end of all panels' codes
void fetch_ahead(const std::uint8_t* codes, std::size_t bytes, const std::uint8_t* end) {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kLine = 64;
  const auto there = static_cast<std::size_t>(end - codes);
  const std::size_t to_page = -reinterpret_cast<std::uintptr_t>(codes) % kPage;
  for (std::size_t at = to_page; at < bytes && at + 2 * kPage + kLine < there; at += kPage) {
    const volatile std::uint8_t* page = codes + at + 2 * kPage;
    static_cast<void>(page[0]);
    static_cast<void>(page[kLine]);
  }
}

// A single row, chunk by chunk, inlined: passing values through memory and calls would take too
// long.
template <typename Format, int kBits>
void multiply_row(const PanelProduct& product, const PanelParts& parts, Doubles (*totals)[2]) {
  const Panels& w = product.panels;
  const std::uint8_t* codes = parts.codes;
  const std::uint8_t* const end = w.codes + (w.n + kPanel - 1) / kPanel * w.bytes();
  const std::uint8_t* x = product.digits;
  std::size_t chunk = 0;
  for_chunks(w.k, w.group, [&](std::size_t, std::size_t inputs, std::size_t group) {
    const std::size_t steps = steps_of(inputs, kBits);
    if constexpr (kBits < 8) fetch_ahead(codes, steps * kBits * 4, end);
    std::int32_t sums[Format::kSums * kPanel];
    Format::template multiply_one<kBits>(codes, steps, x, sums);
    const ChunkScales scales(w, parts, chunk, group, Format::kTakesRaw && kBits == 4);
    add_sums<Format>(scales, sums, product.sums[chunk], *totals);
    ++chunk;
    x += steps * Format::kStepBytes;
    codes += steps * kBits * 4;
  });
}

// Several rows, chunk by chunk. With enough rows, narrow codes are widened once for all of them, on
// the stack and so in the first-level cache.
template <typename Format>
void multiply_rows(const PanelProduct& product, const PanelParts& parts, Doubles (*totals)[2]) {
  const Panels& w = product.panels;
  const bool widened =
      w.bits != Format::kWideBits && (product.rows >= Format::kWideRows || must_widen<Format>(w));
  const bool raw = Format::kTakesRaw && w.bits == 4 && !widened;
  const auto widen = Format::widen(w.bits);
  const MultiplyRows multiply = Format::multiply(widened ? Format::kWideBits : w.bits);
  const std::uint8_t* codes = parts.codes;
  StepSpan span{w.steps, 0, 0};
  std::size_t chunk = 0;
  for_chunks(w.k, w.group, [&](std::size_t, std::size_t inputs, std::size_t group) {
    span.steps = steps_of(inputs, w.bits);
    alignas(16) std::uint8_t wide[kChunk * kPanel * Format::kWideBits / 8];
    if (widened) widen(codes, span.steps, w.added_to_low, wide);
    const ChunkScales scales(w, parts, chunk, group, raw);
    for (std::size_t row = 0; row < product.rows; row += Format::kTogether) {
      const std::size_t together = std::min(Format::kTogether, product.rows - row);
      std::int32_t sums[Format::kTogether * Format::kSums * kPanel];
      multiply(widened ? wide : codes, span, product.digits + row * w.steps * Format::kStepBytes,
               together * Format::kLines, sums);
      add_chunk<Format>(scales, sums, product.sums + row * w.chunks + chunk, w.chunks, together,
                        totals + row);
    }
    ++chunk;
    span.first += span.steps;
    codes += span.steps * static_cast<std::size_t>(w.bits) * 4;
  });
}

// Panels first ... last - 1 times all rows. Calls the loops through a pointer, so that they stay a
// separate function: engines start with slow code and switch to fast code at a call, so a single
// function with all loops would switch only at the next product.
template <typename Format>
void multiply_all(const PanelProduct& product, std::size_t first, std::size_t last) {
  [[maybe_unused]] const int bits = product.panels.bits;
  assert(bits <= 8);
  auto multiply = multiply_rows<Format>;
  if constexpr (Format::kTakesRow) {
    if (product.rows == 1 && !must_widen<Format>(product.panels)) {
      multiply = bits == 8   ? multiply_row<Format, 8>
                 : bits == 4 ? multiply_row<Format, 4>
                             : multiply_row<Format, 2>;
    }
  }
  for (std::size_t panel = first; panel < last; ++panel) {
    const PanelParts parts(product.panels, panel);
    Doubles totals[kMaxRows][2];
    // opaque(): a loop that stores constant zeros would become a call into the engine.
    const v128_t zero = opaque(wasm_f64x2_splat(0.0));
    std::fill_n(&totals[0][0], product.rows * 2, Doubles{zero, zero});
    multiply(product, parts, totals);
    finish_panel(product, parts, panel, totals);
  }
}

}  // namespace

void widen_codes(const std::uint8_t* codes, std::size_t steps, int bits, int added_to_low,
                 std::uint8_t* wide) {
  const auto widen = bits == 4 ? widen_to_8<4> : widen_to_8<2>;
  widen(codes, steps, added_to_low, wide);
}

// kI7 and kI7Short only with the relaxed dot.
void multiply_panels(const PanelProduct& product, [[maybe_unused]] Digits format, std::size_t first,
                     std::size_t last) {
#if ZEROPOINT_RELAXED
  if (format == Digits::kI7) return multiply_all<SevenBitDigits<4>>(product, first, last);
  if (format == Digits::kI7Short) return multiply_all<SevenBitDigits<3>>(product, first, last);
#endif
  assert(format == Digits::kI16);
  multiply_all<WideDigits>(product, first, last);
}

}  // namespace zeropoint::kernels
