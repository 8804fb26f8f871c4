// Rows of digits times panels of packed weights, a step of four inputs and up to eight outputs at a
// time: the weights' bytes are read once, each digit is spread over the lanes of four outputs, and
// no lane ever holds sums of two outputs. Integer sums are exact and drained to double every chunk.
// Parity: bit-identical to reference/panels.h in every format of 28 bits.
#include "kernels/panels.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace zeropoint::kernels {
namespace {

// ---- eight bytes or sixteen of a step's codes, times the unit

#if ZEROPOINT_RELAXED
// What keeps a code of the highest bits.
template <int kBits>
v128_t top_bits() {
  return hidden_splat<(kBits == 4 ? -0x0F0F0F10 : -0x3F3F3F40)>();
}

// Both tiles as int8: one vector each.
template <int kBits>
void load_tiles(const std::uint8_t* codes, std::size_t step, [[maybe_unused]] v128_t top,
                v128_t* tiles) {
  for (std::size_t tile = 0; tile < 2; ++tile) {
    if constexpr (kBits == 8) {
      tiles[tile] = wasm_v128_load(codes + step * 32 + tile * 16);
    } else if constexpr (kBits == 4) {
      const v128_t bytes = wasm_v128_load(codes + step * 16);
      tiles[tile] = wasm_v128_and(tile == 0 ? wasm_i16x8_shl(bytes, 4) : bytes, top);
      if (tile == 0) {
        constexpr auto kAdded = static_cast<std::int8_t>(16 * kAddedToLow);
        tiles[tile] = wasm_i8x16_sub(tiles[tile], wasm_i8x16_splat(kAdded));
      }
    } else {
      const v128_t bytes = wasm_v128_load(codes + step / 2 * 16);
      const std::size_t field = step % 2 * 2 + tile;
      tiles[tile] = wasm_v128_and(
          field == 3 ? bytes : wasm_i16x8_shl(bytes, static_cast<std::uint32_t>(6 - 2 * field)),
          top);
    }
  }
}
#endif

#if ZEROPOINT_WIDE
// The codes as int16: outputs 0 and 1 of a tile, then 2 and 3. 16 bits: widened already. Codes of 2
// bits count once.
template <int kBits, std::size_t kFirst, std::size_t kTiles>
void load_wide_tiles(const std::uint8_t* codes, std::size_t step, v128_t (*tiles)[2]) {
  for (std::size_t half = 0; half < 2; ++half) {
    for (std::size_t j = 0; j < kTiles; ++j) {
      const std::size_t tile = kFirst + j;
      if constexpr (kBits == 16) {
        tiles[j][half] = wasm_v128_load(codes + step * 64 + tile * 32 + half * 16);
      } else if constexpr (kBits == 8) {
        tiles[j][half] = wasm_i16x8_load8x8(codes + step * 32 + tile * 16 + half * 8);
      } else {
        const v128_t bytes = opaque(wasm_i16x8_load8x8(codes + step / 2 * 16 + half * 8));
        const std::size_t field = step % 2 * 2 + tile;
        tiles[j][half] =
            field == 3 ? wasm_i16x8_shr(bytes, 6)
                       : wasm_i16x8_shr(
                             wasm_i16x8_shl(bytes, static_cast<std::uint32_t>(14 - 2 * field)), 14);
      }
    }
  }
}

// 4-bit codes as they are stored: the low nibbles of bytes, and the whole bytes.
void load_raw_tiles(const std::uint8_t* codes, std::size_t step, v128_t low_nibbles,
                    v128_t (*tiles)[2]) {
  for (std::size_t half = 0; half < 2; ++half) {
    tiles[1][half] = opaque(wasm_i16x8_load8x8(codes + step * 16 + half * 8));
    tiles[0][half] = wasm_v128_and(tiles[1][half], low_nibbles);
  }
}

v128_t low_nibbles_of_16() { return hidden_splat<0x000F000F>(); }
#endif

// ---- sums of products of kPlanes planes of digits, for kRows rows and kTiles tiles

#if ZEROPOINT_WIDE
// By dot_i16x8: lanes are pairs of inputs of two outputs, so a tile has two vectors of sums.
template <std::size_t kPlanesOf, std::size_t kRowsOf, std::size_t kTilesOf>
struct WideSums {
  static constexpr std::size_t kPlanes = kPlanesOf;
  static constexpr std::size_t kRows = kRowsOf;
  static constexpr std::size_t kTiles = kTilesOf;
  static constexpr std::size_t kStepBytes = kPlanes * 8;
  static constexpr bool kTakeTurns = false;
  v128_t acc[kRows][kPlanes][kTiles][2];
  v128_t low_nibbles;

  template <int kBits>
  void prepare() {
    if constexpr (kBits == 4) low_nibbles = low_nibbles_of_16();
  }

  template <int kBits, std::size_t kFirst>
  void add(const std::uint8_t* codes, std::size_t step, const std::uint8_t* x,
           std::size_t row_bytes) {
    v128_t tiles[kTiles][2];
    if constexpr (kBits == 4) {
      load_raw_tiles(codes, step, low_nibbles, tiles);
    } else {
      load_wide_tiles<kBits, kFirst, kTiles>(codes, step, tiles);
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t p = 0; p < kPlanes; ++p) {
        const v128_t digits = wasm_v128_load64_splat(x + r * row_bytes + step * kStepBytes + p * 8);
        for (std::size_t j = 0; j < kTiles; ++j) {
          for (std::size_t half = 0; half < 2; ++half) {
            acc[r][p][j][half] =
                wasm_i32x4_add(acc[r][p][j][half], wasm_i32x4_dot_i16x8(tiles[j][half], digits));
          }
        }
      }
    }
  }

  [[nodiscard]] v128_t plane(std::size_t r, std::size_t p, std::size_t j) const {
    const v128_t* halves = acc[r][p][j];
    return add_pairs(halves[0], halves[1]);
  }
};
#endif

#if ZEROPOINT_RELAXED
// By the relaxed dot: a lane is an output, and a row is a line, see line_place().
template <std::size_t kRowsOf>
struct ByteSums {
  static constexpr std::size_t kPlanes = 1;
  static constexpr std::size_t kRows = kRowsOf;
  static constexpr std::size_t kTiles = 2;
  static constexpr std::size_t kStepBytes = kStepInputs;
  static constexpr bool kTakeTurns = true;
  v128_t acc[kRows][kTiles];
  v128_t top;

  template <int kBits>
  void prepare() {
    if constexpr (kBits < 8) top = top_bits<kBits>();
  }

  template <int kBits, std::size_t kFirst>
  void add(const std::uint8_t* codes, std::size_t step, const std::uint8_t* x, std::size_t) {
    v128_t tiles[kTiles];
    load_tiles<kBits>(codes, step, top, tiles);
    for (std::size_t r = 0; r < kRows; ++r) {
      const v128_t digits = wasm_v128_load32_splat(x + (step * kRows + r) * kStepInputs);
      for (std::size_t j = 0; j < kTiles; ++j) {
        acc[r][j] = dot_i8x16_i7x16_add(tiles[j], digits, acc[r][j]);
      }
    }
  }

  [[nodiscard]] v128_t plane(std::size_t r, std::size_t, std::size_t j) const { return acc[r][j]; }
};
#endif

template <int kBits, std::size_t kFirst, typename Sums>
void add_steps(Sums& sums, const std::uint8_t* codes, std::size_t steps, const std::uint8_t* x,
               std::size_t row_bytes) {
  constexpr std::size_t kAtATime = kBits == 2 ? 2 : 1;
  constexpr std::size_t kCodeBytes = kAtATime * kPanel * kStepInputs * kBits / 8;
  constexpr std::size_t kRowsInTurn = Sums::kTakeTurns ? Sums::kRows : 1;
  const std::uint8_t* const end = codes + (steps + kAtATime - 1) / kAtATime * kCodeBytes;
  while (codes != end) {
    for (std::size_t i = 0; i < kAtATime; ++i) {
      sums.template add<kBits, kFirst>(codes, i, x, row_bytes);
    }
    codes = ahead(codes, kCodeBytes);
    x = ahead(x, kAtATime * kRowsInTurn * Sums::kStepBytes);
  }
}

// ---- a panel's sums of several rows: [row][plane][8]

// Of Sums::kRows rows, for Sums::kTiles tiles from kFirst on.
template <int kBits, typename Sums, std::size_t kFirst>
void multiply_tiles(const std::uint8_t* codes, std::size_t steps, const std::uint8_t* x,
                    std::size_t row_bytes, std::int32_t* sums) {
  Sums acc;
  acc.template prepare<kBits>();
  std::fill_n(reinterpret_cast<v128_t*>(&acc.acc), sizeof(acc.acc) / sizeof(v128_t),
              wasm_i32x4_splat(0));
  add_steps<kBits, kFirst>(acc, codes, steps, x, row_bytes);
  for (std::size_t r = 0; r < Sums::kRows; ++r) {
    for (std::size_t p = 0; p < Sums::kPlanes; ++p) {
      std::int32_t* to = sums + (r * Sums::kPlanes + p) * kPanel + kFirst * kTile;
      for (std::size_t j = 0; j < Sums::kTiles; ++j) {
        v128_t sum = acc.plane(r, p, j);
        if constexpr (!Sums::kTakeTurns && kBits == 4) {
          // Of whole bytes, less what their low nibbles make of it.
          if (j == 1) sum = wasm_i32x4_sub(sum, acc.plane(r, p, 0));
        } else if constexpr (!Sums::kTakeTurns && kBits == 2) {
          sum = wasm_i32x4_shl(sum, 6);
        }
        wasm_v128_store(to + j * kTile, sum);
      }
    }
  }
}

// Steps first ... first + steps - 1 of rows that have row_steps of them.
struct Span {
  std::size_t row_steps;
  std::size_t first;
  std::size_t steps;
};

// Rows of digits or bytes times a panel's codes, which begin with the span's first step.
using MultiplyRows = void (*)(const std::uint8_t* codes, const Span& span, const std::uint8_t* x,
                              std::size_t rows, std::int32_t* sums);

// Of as many rows at a time as Sums has, from `row` on, while there are so many; the next row.
// Their steps take Sums::kStepBytes each, one row after the other or, of lines, in turns.
template <int kBits, typename Sums>
std::size_t multiply_blocks(const std::uint8_t* codes, const Span& span, const std::uint8_t* x,
                            std::size_t row, std::size_t rows, std::int32_t* sums) {
  const std::size_t row_bytes = span.row_steps * Sums::kStepBytes;
  for (; row + Sums::kRows <= rows; row += Sums::kRows) {
    const std::uint8_t* from =
        x + row * row_bytes + span.first * Sums::kStepBytes * (Sums::kTakeTurns ? Sums::kRows : 1);
    std::int32_t* to = sums + row * Sums::kPlanes * kPanel;
    multiply_tiles<kBits, Sums, 0>(codes, span.steps, from, row_bytes, to);
    if constexpr (Sums::kTiles == 1) {
      multiply_tiles<kBits, Sums, 1>(codes, span.steps, from, row_bytes, to);
    }
  }
  return row;
}

#if ZEROPOINT_WIDE
// Digits in int16; 16 bits: times codes that are widened already.
template <int kBits>
void multiply_wide_digits(const std::uint8_t* codes, const Span& span, const std::uint8_t* x,
                          std::size_t rows, std::int32_t* sums) {
  multiply_blocks<kBits, WideSums<2, 1, 2>>(codes, span, x, 0, rows, sums);
}

void multiply_wide_bytes(const std::uint8_t* codes, const Span& span, const std::uint8_t* x,
                         std::size_t rows, std::int32_t* sums) {
  const std::size_t row = multiply_blocks<8, WideSums<1, 4, 1>>(codes, span, x, 0, rows, sums);
  multiply_blocks<8, WideSums<1, 1, 2>>(codes, span, x, row, rows, sums);
}
#endif

#if ZEROPOINT_RELAXED
// A single line: two sums would wait for themselves, so four steps have sums of their own.
void multiply_line(const std::uint8_t* codes, std::size_t steps, const std::uint8_t* x,
                   std::int32_t* sums) {
  constexpr std::size_t kSteps = 4;
  v128_t acc[kSteps][2];
  for (auto& tiles : acc) tiles[0] = tiles[1] = wasm_i32x4_splat(0);
  const auto add = [&](std::size_t step, v128_t(&to)[2]) {
    const v128_t digits = wasm_v128_load32_splat(x + step * kStepInputs);
    for (std::size_t j = 0; j < 2; ++j) {
      to[j] = dot_i8x16_i7x16_add(wasm_v128_load(codes + step * 32 + j * 16), digits, to[j]);
    }
  };
  const std::uint8_t* const end = codes + steps / kSteps * kSteps * 32;
  while (codes != end) {
    for (std::size_t i = 0; i < kSteps; ++i) add(i, acc[i]);
    codes = ahead(codes, kSteps * 32);
    x = ahead(x, kSteps * kStepInputs);
  }
  for (std::size_t step = 0; step < steps % kSteps; ++step) add(step, acc[0]);
  for (std::size_t j = 0; j < 2; ++j) {
    wasm_v128_store(sums + j * kTile, wasm_i32x4_add(wasm_i32x4_add(acc[0][j], acc[1][j]),
                                                     wasm_i32x4_add(acc[2][j], acc[3][j])));
  }
}

// Lines. Twelve sums are what hides the latency of the dot, and what the registers hold; the four
// lines of a single row of digits make eight, three make six.
template <int kBits>
void multiply_lines(const std::uint8_t* codes, const Span& span, const std::uint8_t* x,
                    std::size_t rows, std::int32_t* sums) {
  std::size_t row = 0;
  if constexpr (kBits == 8) {
    row = multiply_blocks<8, ByteSums<6>>(codes, span, x, 0, lines_in_sixes(rows), sums);
  }
  row = multiply_blocks<kBits, ByteSums<4>>(codes, span, x, row, rows, sums);
  row = multiply_blocks<kBits, ByteSums<3>>(codes, span, x, row, rows, sums);
  if constexpr (kBits == 8) {
    for (; row < rows; ++row) {
      multiply_line(codes, span.steps, x + (row * span.row_steps + span.first) * kStepInputs,
                    sums + row * kPanel);
    }
  }
}
#endif

// ---- narrow codes widened

#if ZEROPOINT_WIDE
// Up to kChunk inputs of a panel to int16.
void widen_nibbles_to_16(const std::uint8_t* codes, std::size_t steps, std::uint8_t* wide) {
  const v128_t low_nibbles = low_nibbles_of_16();
  const v128_t added = hidden_splat<kAddedToLow * 0x00100010>();
  for (std::size_t step = 0; step < steps; ++step) {
    v128_t tiles[2][2];
    load_raw_tiles(codes, step, low_nibbles, tiles);
    for (std::size_t half = 0; half < 2; ++half) {
      const v128_t low = tiles[0][half];
      wasm_v128_store(wide + step * 64 + half * 16, wasm_i16x8_sub(wasm_i16x8_shl(low, 4), added));
      wasm_v128_store(wide + step * 64 + 32 + half * 16, wasm_i16x8_sub(tiles[1][half], low));
    }
  }
}

template <int kBits>
void widen_to_16(const std::uint8_t* codes, std::size_t steps, std::uint8_t* wide) {
  constexpr std::size_t kAtATime = kBits == 2 ? 2 : 1;
  for (std::size_t step = 0; step < steps; step += kAtATime) {
    for (std::size_t i = 0; i < kAtATime; ++i) {
      v128_t tiles[2][2];
      load_wide_tiles<kBits, 0, 2>(codes, step + i, tiles);
      for (std::size_t j = 0; j < 4; ++j) {
        const v128_t tile = tiles[j / 2][j % 2];
        wasm_v128_store(wide + (step + i) * 64 + j * 16,
                        kBits == 2 ? wasm_i16x8_shl(tile, 6) : tile);
      }
    }
  }
}
#endif

#if ZEROPOINT_RELAXED
// To int8, the code in the highest bits.
template <int kBits>
void widen_to_8(const std::uint8_t* codes, std::size_t steps, std::uint8_t* wide) {
  constexpr std::size_t kAtATime = kBits == 2 ? 2 : 1;
  const v128_t top = top_bits<kBits>();
  for (std::size_t step = 0; step < steps; step += kAtATime) {
    for (std::size_t i = 0; i < kAtATime; ++i) {
      v128_t tiles[2];
      load_tiles<kBits>(codes, step + i, top, tiles);
      wasm_v128_store(wide + (step + i) * 32, tiles[0]);
      wasm_v128_store(wide + (step + i) * 32 + 16, tiles[1]);
    }
  }
}
#endif

// ---- from integers to results

v128_t upper(v128_t v) { return wasm_i64x2_shuffle(v, v, 1, 1); }

// Sums of four outputs of a row in double.
struct Doubles {
  v128_t low;
  v128_t high;
};

Doubles widen_i32(v128_t v) {
  return {wasm_f64x2_convert_low_i32x4(v), wasm_f64x2_convert_low_i32x4(upper(v))};
}

Doubles widen_f32(v128_t v) {
  return {wasm_f64x2_promote_low_f32x4(v), wasm_f64x2_promote_low_f32x4(upper(v))};
}

Doubles operator*(Doubles a, Doubles b) {
  return {wasm_f64x2_mul(a.low, b.low), wasm_f64x2_mul(a.high, b.high)};
}
Doubles operator+(Doubles a, Doubles b) {
  return {wasm_f64x2_add(a.low, b.low), wasm_f64x2_add(a.high, b.high)};
}
Doubles operator-(Doubles a, Doubles b) {
  return {wasm_f64x2_sub(a.low, b.low), wasm_f64x2_sub(a.high, b.high)};
}
Doubles splat(double value) { return {wasm_f64x2_splat(value), wasm_f64x2_splat(value)}; }

v128_t narrow(Doubles v) {
  const v128_t low = wasm_f32x4_demote_f64x2_zero(v.low);
  const v128_t high = wasm_f32x4_demote_f64x2_zero(v.high);
  return wasm_i64x2_shuffle(low, high, 0, 2);
}

// Where a panel's parts are.
struct PanelParts {
  const std::uint8_t* codes;
  const float* scales;
  const std::int32_t* zero_points;
  const std::int32_t* minus_sums;
  const float* largest;
  const float* ordinary;

  PanelParts(const Panels& w, std::size_t panel)
      : codes(w.codes + panel * w.bytes()),
        scales(w.scales + panel * w.groups() * kPanel),
        zero_points(w.affine ? w.zero_points + panel * w.groups() * kPanel : nullptr),
        minus_sums(w.minus_sums + panel * w.chunks * kPanel),
        largest(w.largest + panel * kPanel),
        ordinary(w.ordinary + panel * 2 * kPanel) {}
};

// The four codes of an output of a panel in a step, times the unit: one in each byte.
std::uint32_t codes_at(const Panels& w, const std::uint8_t* codes, std::size_t step,
                       std::size_t output) {
  const std::size_t tile = output / kTile;
  const std::size_t at = output % kTile * kStepInputs;
  const std::size_t vector = w.bits == 8 ? 2 * step + tile : (w.bits == 4 ? step : step / 2);
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, codes + 16 * vector + at, sizeof(bytes));
  // What comes in from a byte's neighbour goes away with the bits of other tiles and steps.
  if (w.bits == 4) {
    return tile == 0 ? (bytes << 4 & 0xF0F0F0F0U) ^ (0x10101010U * kAddedToLow)
                     : bytes & 0xF0F0F0F0U;
  }
  if (w.bits == 2) return bytes << (6 - 2 * (step % 2 * 2 + tile)) & 0xC0C0C0C0U;
  return bytes;
}

// One output from the float32 row itself, in double: for rows with NaN or infinities, and where
// the digits cannot assure the bound. Rare, but for a few outputs in a hundred of 2-bit weights.
[[gnu::noinline]] double multiply_in_double(const Panels& w, const PanelParts& parts,
                                            std::size_t output, const float* x) {
  double total = 0.0;
  double sum = 0.0;
  std::size_t step = 0;
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
      if (w.input_scales != nullptr) {
        value *= static_cast<double>(w.input_scales[input]);
        code -= w.input_zero_points[input] * (1 << (8 - w.bits));
      }
      sum += value * code;
    }
    // A chunk of an odd number of steps ends with one that is padding, in pairs of them.
    if (w.bits == 2) step += step % 2;
    if ((first + inputs) % w.group == 0) {
      total += sum * static_cast<double>(parts.scales[group * kPanel + output]);
      sum = 0.0;
    }
  });
  return total / w.unit();
}

// Whether a sum that nearly cancels is good enough all the same. The bound is on sum |x w|, which
// is at least what ordinary weights w0 and more make of it: with n weights below w0,
//   sum |x w| >= w0 (sum |x| - sum of n of them) >= w0 (sum |x| - sqrt(n) sqrt(sum x^2)).
bool is_certain(const PanelProduct& product, const PanelParts& parts, std::size_t output,
                const RowScale& row) {
  const auto magnitude = static_cast<double>(parts.ordinary[output]);
  const auto root = static_cast<double>(parts.ordinary[kPanel + output]);
  const double sum = magnitude * (row.sum - root * row.norm);
  const double error = 2.0 * row.error * static_cast<double>(parts.largest[output]);
  return error <= product.tolerance * sum;
}

// Four results of a row, from their sums: certified or computed again, plus bias, rounded once.
void finish_tile(const PanelProduct& product, const PanelParts& parts, std::size_t panel,
                 std::size_t tile, std::size_t row, Doubles sums) {
  const Panels& w = product.panels;
  const RowScale& scale = product.scales[row];
  const std::size_t column = panel * kPanel + tile * kTile;
  if (column >= w.n) return;
  const Doubles values = sums * splat(scale.unit / w.unit());
  const Doubles error =
      widen_f32(wasm_v128_load(parts.largest + tile * kTile)) * splat(scale.error);
  // Twice the error, for all that rounds in double: see digits_f32 and RowScale.
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
    if (!scale.finite || (fails[i] != 0 && !is_certain(product, parts, tile * kTile + i, scale))) {
      results[i] = multiply_in_double(w, parts, tile * kTile + i, product.x + place * w.k);
    }
    if (product.bias != nullptr) results[i] += static_cast<double>(product.bias[column + i]);
    out[i] = static_cast<float>(results[i]);
  }
}

// ---- formats of digits

// Calls of(tile) for both tiles of a panel. What a loop would index goes through memory.
template <typename Of>
void for_tiles(Of of) {
  of(std::size_t{0});
  of(std::size_t{1});
}

// What a chunk's sums become totals by, for a panel.
struct ChunkScales {
  Doubles scales[2];
  Doubles zero_points[2];
  v128_t minus_sums[2];
  bool subtracts;  // whether zero points count

  // @param raw  whether sums are those of 4-bit codes as they are stored
  ChunkScales(const Panels& w, const PanelParts& parts, std::size_t chunk, std::size_t group,
              bool raw)
      : subtracts(w.affine || w.input_scales != nullptr || raw) {
    for_tiles([&](std::size_t j) {
      const std::size_t at = group * kPanel + j * kTile;
      scales[j] = widen_f32(wasm_v128_load(parts.scales + at));
      minus_sums[j] = wasm_v128_load(parts.minus_sums + chunk * kPanel + j * kTile);
    });
    if (!subtracts) return;
    // Where inputs have zero points, the sums have them as factors already.
    zero_points[0] = zero_points[1] = splat(w.affine || !raw ? w.unit() : 0.0);
    if (w.affine) {
      for_tiles([&](std::size_t j) {
        const v128_t codes = wasm_v128_load(parts.zero_points + group * kPanel + j * kTile);
        zero_points[j] = zero_points[j] * widen_i32(codes);
      });
    }
    if (!raw) return;
    // The first tile's codes count once.
    scales[0] = scales[0] * splat(16.0);
    zero_points[0] = zero_points[0] * splat(1.0 / 16.0) + splat(kAddedToLow);
  }
};

// The two halves of a sum, 2^14 * high + low, of four outputs.
struct Halves {
  v128_t low;
  v128_t high;
};

#if ZEROPOINT_WIDE
// Both halves side by side. 4-bit codes are multiplied as they are stored, unless they are widened.
struct WideDigits {
  static constexpr bool kTakesRaw = true;
  static constexpr std::size_t kLines = 1;       // of a row
  static constexpr std::size_t kSums = 2;        // of a row and output
  static constexpr std::size_t kStepBytes = 16;  // of a row
  static constexpr std::size_t kTogether = 24;   // rows that a call multiplies
  static constexpr int kWideBits = 16;
  static constexpr std::size_t kWideRows = 3;  // fewer do not pay for widening
  static constexpr bool kTakesRow = true;      // alone, by multiply_row

  static auto widen(int bits) {
    return bits == 8 ? widen_to_16<8> : (bits == 4 ? widen_nibbles_to_16 : widen_to_16<2>);
  }
  static MultiplyRows multiply(int bits) {
    return bits == 16  ? multiply_wide_digits<16>
           : bits == 8 ? multiply_wide_digits<8>
           : bits == 4 ? multiply_wide_digits<4>
                       : multiply_wide_digits<2>;
  }
  // Of a single row. With what comes next in one function, engines would run out of registers.
  template <int kBits>
  [[gnu::noinline]] static void multiply_one(const std::uint8_t* codes, std::size_t steps,
                                             const std::uint8_t* x, std::int32_t* sums) {
    multiply_tiles<kBits, WideSums<2, 1, 2>, 0>(codes, steps, x, 0, sums);
  }
  static Halves halves(const ChunkScales&, const std::int32_t* sums, std::size_t) {
    return {wasm_v128_load(sums), wasm_v128_load(sums + kPanel)};
  }
};
#endif

#if ZEROPOINT_RELAXED
// Two planes to a half, of three planes one to the high half. The highest plane is made signed by
// taking 64 off every digit.
template <std::size_t kPlanes>
struct SevenBitDigits {
  static constexpr bool kTakesRaw = false;
  static constexpr std::size_t kLines = kPlanes;
  static constexpr std::size_t kSums = kPlanes;
  static constexpr std::size_t kStepBytes = kPlanes * kStepInputs;
  static constexpr std::size_t kTogether = 24;
  static constexpr int kWideBits = 8;
  // Six lines are multiplied at a time by codes of 8 bits alone.
  static constexpr std::size_t kWideRows = kPlanes == 3 ? 2 : 3;
  static constexpr bool kTakesRow = kPlanes == 4;

  static auto widen(int bits) { return bits == 4 ? widen_to_8<4> : widen_to_8<2>; }
  static MultiplyRows multiply(int bits) {
    return bits == 8 ? multiply_lines<8> : (bits == 4 ? multiply_lines<4> : multiply_lines<2>);
  }
  template <int kBits>
  static void multiply_one(const std::uint8_t* codes, std::size_t steps, const std::uint8_t* x,
                           std::int32_t* sums) {
    multiply_tiles<kBits, ByteSums<kPlanes>, 0>(codes, steps, x, 0, sums);
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

// Adds a chunk's sums of a row to its totals. @param x_sum  of X
template <typename Format>
void add_sums(const ChunkScales& chunk, const std::int32_t* sums, double x_sum,
              Doubles (&totals)[2]) {
  // From memory, as hidden_splat().
  static const volatile double factor = 16384.0;
  const v128_t two14 = wasm_f64x2_splat(factor);
  Doubles exact[2];
  for_tiles([&](std::size_t j) {
    const Halves halves = Format::halves(chunk, sums + j * kTile, j);
    exact[j] = widen_i32(halves.high) * Doubles{two14, two14} + widen_i32(halves.low);
  });
  if (chunk.subtracts) {
    for_tiles([&](std::size_t j) { exact[j] = exact[j] - chunk.zero_points[j] * splat(x_sum); });
  }
  for_tiles([&](std::size_t j) { totals[j] = totals[j] + exact[j] * chunk.scales[j]; });
}

// The same of several rows. A function of its own, so that what it reads again and again stays in
// registers.
// @param x_sums  of X, of each row `stride` after the one before
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

// Whether codes have to be widened: what 4-bit ones as they are stored need is the sum of a row,
// and where inputs have zero points, these are factors of it.
template <typename Format>
bool must_widen(const Panels& w) {
  return Format::kTakesRaw && w.bits == 4 && w.input_scales != nullptr;
}

// A single row, chunk by chunk: what it computes with has no time to go through memory and calls.
template <typename Format, int kBits>
void multiply_row(const PanelProduct& product, const PanelParts& parts, Doubles (*totals)[2]) {
  const Panels& w = product.panels;
  const std::uint8_t* codes = parts.codes;
  const std::uint8_t* x = product.digits;
  std::size_t chunk = 0;
  for_chunks(w.k, w.group, [&](std::size_t, std::size_t inputs, std::size_t group) {
    const std::size_t steps = steps_of(inputs, kBits);
    std::int32_t sums[Format::kSums * kPanel];
    Format::template multiply_one<kBits>(codes, steps, x, sums);
    const ChunkScales scales(w, parts, chunk, group, Format::kTakesRaw && kBits == 4);
    add_sums<Format>(scales, sums, product.sums[chunk], *totals);
    ++chunk;
    x += steps * Format::kStepBytes;
    codes += steps * kBits * 4;
  });
}

// Several rows, chunk by chunk. Where there are enough of them, codes that are narrower than what
// is multiplied are widened once for all of them, on the stack and so in the first-level cache.
template <typename Format>
void multiply_rows(const PanelProduct& product, const PanelParts& parts, Doubles (*totals)[2]) {
  const Panels& w = product.panels;
  const bool widened =
      w.bits != Format::kWideBits && (product.rows >= Format::kWideRows || must_widen<Format>(w));
  const bool raw = Format::kTakesRaw && w.bits == 4 && !widened;
  const auto widen = Format::widen(w.bits);
  const MultiplyRows multiply = Format::multiply(widened ? Format::kWideBits : w.bits);
  const std::uint8_t* codes = parts.codes;
  Span span{w.steps, 0, 0};
  std::size_t chunk = 0;
  for_chunks(w.k, w.group, [&](std::size_t, std::size_t inputs, std::size_t group) {
    span.steps = steps_of(inputs, w.bits);
    alignas(16) std::uint8_t wide[kChunk * kPanel * Format::kWideBits / 8];
    if (widened) widen(codes, span.steps, wide);
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

// A panel times all rows. What multiplies is reached through a pointer, so that it stays a function
// of its own: engines start with slow code and change to fast code at a call, which a function with
// all the loops in it would put off to the next product.
template <typename Format>
void multiply_panel(const PanelProduct& product, std::size_t panel, const PanelParts& parts) {
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
  Doubles totals[kMaxRows][2];
  // Hidden, since a loop of zeros would become a call into the engine.
  const v128_t zero = opaque(wasm_f64x2_splat(0.0));
  std::fill_n(&totals[0][0], product.rows * 2, Doubles{zero, zero});
  multiply(product, parts, totals);
  for (std::size_t row = 0; row < product.rows; ++row) {
    for (std::size_t tile = 0; tile < 2; ++tile) {
      finish_tile(product, parts, panel, tile, row, totals[row][tile]);
    }
  }
}

// multiply_panel for a format that this build has.
auto multiply_panel_of([[maybe_unused]] Digits format)
    -> void (*)(const PanelProduct&, std::size_t, const PanelParts&) {
#if ZEROPOINT_RELAXED
  if (format == Digits::kI7) return multiply_panel<SevenBitDigits<4>>;
  if (format == Digits::kI7Short) return multiply_panel<SevenBitDigits<3>>;
#endif
#if ZEROPOINT_WIDE
  if (format == Digits::kI16) return multiply_panel<WideDigits>;
#endif
  assert(false);
  return nullptr;
}

}  // namespace

void multiply_panels(const PanelProduct& product, Digits format, std::size_t first,
                     std::size_t last) {
  const auto multiply = multiply_panel_of(format);
  for (std::size_t panel = first; panel < last; ++panel) {
    multiply(product, panel, PanelParts(product.panels, panel));
  }
}

void multiply_bytes(const ByteProduct& product, [[maybe_unused]] Bytes format, std::size_t first,
                    std::size_t steps, std::int32_t* sums) {
  assert(product.rows <= kMaxRows);
  const Span span{product.row_steps, first, steps};
  const std::uint8_t* codes = product.codes + first * 32;
#if ZEROPOINT_WIDE
  if (format == Bytes::kI16) {
    return multiply_wide_bytes(codes, span, product.x, product.rows, sums);
  }
#endif
#if ZEROPOINT_RELAXED
  const std::size_t rows = product.rows;
  multiply_lines<8>(codes, span, product.x, rows, sums);
  if (format == Bytes::kI7) return;
  std::int32_t high[kMaxRows * kPanel];
  multiply_lines<8>(codes, span, product.x + rows * span.row_steps * kStepInputs, rows, high);
  for (std::size_t i = 0; i < rows * kPanel; i += kTile) {
    wasm_v128_store(sums + i, wasm_i32x4_add(wasm_v128_load(sums + i),
                                             wasm_i32x4_shl(wasm_v128_load(high + i), 7)));
  }
#endif
}

void finish_bytes(const std::int32_t* sums, const double* more, const double* correction,
                  const float* multiplier, const float* bias, std::size_t rows, float* out,
                  std::size_t stride, std::size_t columns) {
  for (std::size_t row = 0; row < rows; ++row) {
    float part[kPanel];
    // Not through memory where all are wanted: a copy of 32 bytes is a call into the engine.
    float* to = columns == kPanel ? out + row * stride : part;
    for (std::size_t i = 0; i < kPanel; i += kTile) {
      Doubles total = widen_i32(wasm_v128_load(sums + row * kPanel + i));
      total = total + Doubles{wasm_v128_load(correction + i), wasm_v128_load(correction + i + 2)};
      if (more != nullptr) {
        const double* from = more + row * kPanel + i;
        total = total + Doubles{wasm_v128_load(from), wasm_v128_load(from + 2)};
      }
      const v128_t scaled = wasm_f32x4_mul(narrow(total), wasm_v128_load(multiplier + i));
      wasm_v128_store(to + i, wasm_f32x4_add(scaled, wasm_v128_load(bias + i)));
    }
    if (columns != kPanel) std::copy_n(part, columns, out + row * stride);
  }
}

bool all_below_128(const std::uint8_t* x, std::size_t n) {
  v128_t any = wasm_i8x16_splat(0);
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) any = wasm_v128_or(any, wasm_v128_load(x + i));
  std::uint8_t rest = 0;
  for (; i < n; ++i) rest |= x[i];
  return wasm_i8x16_bitmask(any) == 0 && rest < 128;
}

void spread_bytes(const std::uint8_t* qx, std::size_t k, Bytes format, std::size_t rows,
                  std::size_t row, std::uint8_t* out) {
  const std::size_t steps = steps_of(k, 8);
  const bool wide = ZEROPOINT_WIDE && format == Bytes::kI16;
  const LinePlace place =
      wide ? LinePlace{row * byte_row_bytes(steps), 8} : line_place(rows, row, steps);
  out += place.at;
  const auto write = [&](const std::uint8_t* from) {
    const v128_t bytes = wasm_v128_load32_zero(from);
    if (wide) {
      wasm_v128_store64_lane(out, wasm_u16x8_extend_low_u8x16(bytes), 0);
    } else {
      wasm_v128_store32_lane(out, wasm_v128_and(bytes, wasm_i8x16_splat(127)), 0);
      if (format == Bytes::kI7x2) {
        wasm_v128_store32_lane(out + rows * steps * kStepInputs, wasm_u8x16_shr(bytes, 7), 0);
      }
    }
    out += place.step_bytes;
  };
  std::size_t i = 0;
  for (; i + kStepInputs <= k; i += kStepInputs) write(qx + i);
  if (i == k) return;
  std::uint8_t rest[kStepInputs] = {};
  std::copy(qx + i, qx + k, rest);
  write(rest);
}

}  // namespace zeropoint::kernels
