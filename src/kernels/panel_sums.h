// Rows of digits or bytes times a panel's codes: exact integer sums, which multiply_panels.cpp and
// multiply_bytes.cpp convert to results. One step covers four inputs and up to eight outputs: the
// weights' bytes are read once, each digit is broadcast to the lanes of four outputs, and no lane
// holds sums of two outputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/panels.h"
#include "kernels/relaxed.h"

namespace zeropoint::kernels {

// ---- eight bytes or sixteen of a step's codes, times the unit

/// Mask of the highest bits, where the code is.
template <int kBits>
v128_t top_bits() {
  return hidden_splat<(kBits == 4 ? -0x0F0F0F10 : -0x3F3F3F40)>();
}

/// Both tiles as int8, one vector each, still with the addend of the low nibbles.
template <int kBits>
void load_tiles(const std::uint8_t* codes, std::size_t step, [[maybe_unused]] v128_t top,
                v128_t* tiles) {
  for (std::size_t tile = 0; tile < 2; ++tile) {
    if constexpr (kBits == 8) {
      tiles[tile] = wasm_v128_load(codes + step * 32 + tile * 16);
    } else if constexpr (kBits == 4) {
      const v128_t bytes = wasm_v128_load(codes + step * 16);
      tiles[tile] = wasm_v128_and(tile == 0 ? wasm_i16x8_shl(bytes, 4) : bytes, top);
    } else {
      const v128_t bytes = wasm_v128_load(codes + step / 2 * 16);
      const std::size_t field = step % 2 * 2 + tile;
      tiles[tile] = wasm_v128_and(
          field == 3 ? bytes : wasm_i16x8_shl(bytes, static_cast<std::uint32_t>(6 - 2 * field)),
          top);
    }
  }
}

/// The codes as int16: outputs 0 and 1 of a tile, then 2 and 3. Codes of 2 bits count once.
template <int kBits, std::size_t kFirst, std::size_t kTiles>
void load_wide_tiles(const std::uint8_t* codes, std::size_t step, v128_t (*tiles)[2]) {
  for (std::size_t half = 0; half < 2; ++half) {
    for (std::size_t j = 0; j < kTiles; ++j) {
      const std::size_t tile = kFirst + j;
      if constexpr (kBits == 8) {
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

/// 4-bit codes as stored: the low nibbles of bytes, and the whole bytes.
inline void load_raw_tiles(const std::uint8_t* codes, std::size_t step, v128_t low_nibbles,
                           v128_t (*tiles)[2]) {
  for (std::size_t half = 0; half < 2; ++half) {
    tiles[1][half] = opaque(wasm_i16x8_load8x8(codes + step * 16 + half * 8));
    tiles[0][half] = wasm_v128_and(tiles[1][half], low_nibbles);
  }
}

inline v128_t low_nibbles_of_16() { return hidden_splat<0x000F000F>(); }

// ---- sums of products of kPlanes planes of digits, for kRows rows and kTiles tiles
//
// The adding functions are inlined, so that sums stay in registers and addresses in instructions.

/// By dot_i16x8: lanes are pairs of inputs of two outputs, so a tile has two vectors of sums.
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
  [[gnu::always_inline]] void add(const std::uint8_t* codes, std::size_t step,
                                  const std::uint8_t* x, std::size_t row_bytes) {
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

/// A step of a tile as int16 in the order of load_wide_tiles(), reordered for PairSums: inputs 0
/// and 1 of all four outputs, then 2 and 3.
inline void store_pairs(v128_t outputs01, v128_t outputs23, std::uint8_t* wide) {
  wasm_v128_store(wide, wasm_i32x4_shuffle(outputs01, outputs23, 0, 2, 4, 6));
  wasm_v128_store(wide + 32, wasm_i32x4_shuffle(outputs01, outputs23, 1, 3, 5, 7));
}

/// By dot_i16x8, of two planes and codes in the order of store_pairs(): lanes are pairs of inputs
/// of four outputs, so every lane is the sum of one output.
template <std::size_t kRowsOf>
struct PairSums {
  static constexpr std::size_t kPlanes = 2;
  static constexpr std::size_t kRows = kRowsOf;
  static constexpr std::size_t kTiles = 2;
  static constexpr std::size_t kStepBytes = kPlanes * 8;
  static constexpr bool kTakeTurns = false;
  v128_t acc[kRows][kPlanes][kTiles];

  template <int kBits>
  void prepare() {
    static_assert(kBits == 16);
  }

  template <int kBits, std::size_t kFirst>
  [[gnu::always_inline]] void add(const std::uint8_t* codes, std::size_t step,
                                  const std::uint8_t* x, std::size_t row_bytes) {
    add_step<false>(codes + step * 64, x + step * kStepBytes, row_bytes);
  }

  /// The first step, which initializes the sums.
  [[gnu::always_inline]] void start(const std::uint8_t* codes, const std::uint8_t* x,
                                    std::size_t row_bytes) {
    add_step<true>(codes, x, row_bytes);
  }

  template <bool kStarts>
  [[gnu::always_inline]] void add_step(const std::uint8_t* codes, const std::uint8_t* x,
                                       std::size_t row_bytes) {
    for (std::size_t pair = 0; pair < 2; ++pair) {
      v128_t tiles[kTiles];
      for (std::size_t j = 0; j < kTiles; ++j) {
        tiles[j] = wasm_v128_load(codes + pair * 32 + j * 16);
      }
      for (std::size_t r = 0; r < kRows; ++r) {
        for (std::size_t p = 0; p < kPlanes; ++p) {
          const v128_t digits = wasm_v128_load32_splat(x + r * row_bytes + p * 8 + pair * 4);
          for (std::size_t j = 0; j < kTiles; ++j) {
            const v128_t dot = wasm_i32x4_dot_i16x8(tiles[j], digits);
            acc[r][p][j] = kStarts && pair == 0 ? dot : wasm_i32x4_add(acc[r][p][j], dot);
          }
        }
      }
    }
  }

  [[nodiscard]] v128_t plane(std::size_t r, std::size_t p, std::size_t j) const {
    return acc[r][p][j];
  }
};

#if ZEROPOINT_RELAXED
/// By the relaxed dot: a lane is an output, and a row is a line, see line_place().
template <std::size_t kRowsOf>
struct LineSums {
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
  [[gnu::always_inline]] void add(const std::uint8_t* codes, std::size_t step,
                                  const std::uint8_t* x, std::size_t) {
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

/// Of Sums::kRows rows, for Sums::kTiles tiles from kFirst on.
template <int kBits, typename Sums, std::size_t kFirst>
void multiply_tiles(const std::uint8_t* codes, std::size_t steps, const std::uint8_t* x,
                    std::size_t row_bytes, std::int32_t* sums) {
  Sums acc;
  acc.template prepare<kBits>();
  if constexpr (requires { acc.start(codes, x, row_bytes); }) {
    acc.start(codes, x, row_bytes);
    add_steps<kBits, kFirst>(acc, codes + 64, steps - 1, x + Sums::kStepBytes, row_bytes);
  } else {
    std::fill_n(reinterpret_cast<v128_t*>(&acc.acc), sizeof(acc.acc) / sizeof(v128_t),
                wasm_i32x4_splat(0));
    add_steps<kBits, kFirst>(acc, codes, steps, x, row_bytes);
  }
  for (std::size_t r = 0; r < Sums::kRows; ++r) {
    for (std::size_t p = 0; p < Sums::kPlanes; ++p) {
      std::int32_t* to = sums + (r * Sums::kPlanes + p) * kPanel + kFirst * kTile;
      for (std::size_t j = 0; j < Sums::kTiles; ++j) {
        v128_t sum = acc.plane(r, p, j);
        if constexpr (!Sums::kTakeTurns && kBits == 4) {
          // Sums of whole bytes minus the share of their low nibbles.
          if (j == 1) sum = wasm_i32x4_sub(sum, acc.plane(r, p, 0));
        } else if constexpr (!Sums::kTakeTurns && kBits == 2) {
          sum = wasm_i32x4_shl(sum, 6);
        }
        wasm_v128_store(to + j * kTile, sum);
      }
    }
  }
}

/// Steps first ... first + steps - 1 of rows with row_steps steps.
struct StepSpan {
  std::size_t row_steps;
  std::size_t first;
  std::size_t steps;
};

/// Multiplies rows of digits or bytes by a panel's codes from the span's first step: Sums::kRows
/// rows at a time, from `row` on, while that many are left. Each row has Sums::kStepBytes per step;
/// rows are consecutive, lines interleaved. @return the next row
template <int kBits, typename Sums>
[[gnu::always_inline]] inline std::size_t multiply_blocks(const std::uint8_t* codes,
                                                          const StepSpan& span,
                                                          const std::uint8_t* x, std::size_t row,
                                                          std::size_t rows, std::int32_t* sums) {
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

#if ZEROPOINT_RELAXED
/// A single line. Two sums would be limited by latency, so four steps have separate sums.
inline void multiply_line(const std::uint8_t* codes, std::size_t steps, const std::uint8_t* x,
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

/// Multiplies lines. Twelve sums hide the latency of the dot and fit in the registers; the four
/// lines of a single row of digits make eight sums, three make six.
template <int kBits>
void multiply_lines(const std::uint8_t* codes, const StepSpan& span, const std::uint8_t* x,
                    std::size_t rows, std::int32_t* sums) {
  std::size_t row = 0;
  if constexpr (kBits == 8) {
    row = multiply_blocks<8, LineSums<6>>(codes, span, x, 0, lines_in_sixes(rows), sums);
  }
  row = multiply_blocks<kBits, LineSums<4>>(codes, span, x, row, rows, sums);
  row = multiply_blocks<kBits, LineSums<3>>(codes, span, x, row, rows, sums);
  if constexpr (kBits == 8) {
    for (; row < rows; ++row) {
      multiply_line(codes, span.steps, x + (row * span.row_steps + span.first) * kStepInputs,
                    sums + row * kPanel);
    }
  }
}
#endif

}  // namespace zeropoint::kernels
