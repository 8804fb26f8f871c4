// Rows of digits times panels of packed weights, a step of four inputs and up to eight outputs at a
// time: the weights' bytes are read once, each digit is spread over the lanes of four outputs, and
// no lane ever holds sums of two outputs. Integer sums are exact and drained to double every chunk.
// Parity: bit-identical to reference/panels.h in every format of 28 bits.
#include "kernels/panels.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace zeropoint::kernels {
namespace {

// ---- eight bytes or sixteen of a step's codes, the code in the highest bits

// kTiles tiles from kFirst on, as int8: one vector each.
template <int kBits, std::size_t kFirst, std::size_t kTiles>
void load_tiles(const std::uint8_t* codes, std::size_t step, v128_t* tiles) {
  for (std::size_t j = 0; j < kTiles; ++j) {
    const std::size_t tile = kFirst + j;
    if constexpr (kBits == 8) {
      tiles[j] = wasm_v128_load(codes + step * 32 + tile * 16);
    } else if constexpr (kBits == 4) {
      const v128_t bytes = wasm_v128_load(codes + step * 16);
      tiles[j] = wasm_v128_and(tile == 0 ? wasm_i16x8_shl(bytes, 4) : bytes, wasm_i8x16_splat(-16));
    } else {
      const v128_t bytes = wasm_v128_load(codes + step / 2 * 16);
      const std::size_t field = step % 2 * 2 + tile;
      tiles[j] = wasm_v128_and(
          field == 3 ? bytes : wasm_i16x8_shl(bytes, static_cast<std::uint32_t>(6 - 2 * field)),
          wasm_i8x16_splat(-64));
    }
  }
}

// The codes themselves as int16: outputs 0 and 1 of a tile, then 2 and 3. 16 bits: widened already.
template <int kBits, std::size_t kFirst, std::size_t kTiles>
void load_wide_tiles(const std::uint8_t* codes, std::size_t step, v128_t (*tiles)[2]) {
  for (std::size_t half = 0; half < 2; ++half) {
    for (std::size_t j = 0; j < kTiles; ++j) {
      const std::size_t tile = kFirst + j;
      if constexpr (kBits == 16) {
        tiles[j][half] = wasm_v128_load(codes + step * 64 + tile * 32 + half * 16);
      } else if constexpr (kBits == 8) {
        tiles[j][half] = wasm_i16x8_load8x8(codes + step * 32 + tile * 16 + half * 8);
      } else if constexpr (kBits == 4) {
        const v128_t bytes = opaque(wasm_i16x8_load8x8(codes + step * 16 + half * 8));
        tiles[j][half] =
            wasm_i16x8_shr(tile == 0 ? wasm_i16x8_shl(bytes, 12) : bytes, tile == 0 ? 12 : 4);
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

// ---- sums of products of kPlanes planes of digits, for kRows rows and kTiles tiles

// By dot_i16x8: lanes are pairs of inputs of two outputs, so a tile has two vectors of sums.
template <std::size_t kPlanesOf, std::size_t kRowsOf, std::size_t kTilesOf>
struct WideSums {
  static constexpr std::size_t kPlanes = kPlanesOf;
  static constexpr std::size_t kRows = kRowsOf;
  static constexpr std::size_t kTiles = kTilesOf;
  static constexpr std::size_t kStepBytes = kPlanes * 8;
  v128_t acc[kRows][kPlanes][kTiles][2];

  template <int kBits, std::size_t kFirst>
  void add(const std::uint8_t* codes, std::size_t step, const std::uint8_t* x,
           std::size_t row_bytes) {
    v128_t tiles[kTiles][2];
    load_wide_tiles<kBits, kFirst, kTiles>(codes, step, tiles);
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
    return wasm_i32x4_add(wasm_i32x4_shuffle(halves[0], halves[1], 0, 2, 4, 6),
                          wasm_i32x4_shuffle(halves[0], halves[1], 1, 3, 5, 7));
  }
};

#if ZEROPOINT_RELAXED
// By the relaxed dot: a lane is an output.
template <std::size_t kPlanesOf, std::size_t kRowsOf, std::size_t kTilesOf>
struct ByteSums {
  static constexpr std::size_t kPlanes = kPlanesOf;
  static constexpr std::size_t kRows = kRowsOf;
  static constexpr std::size_t kTiles = kTilesOf;
  static constexpr std::size_t kStepBytes = kPlanes * 4;
  v128_t acc[kRows][kPlanes][kTiles];

  template <int kBits, std::size_t kFirst>
  void add(const std::uint8_t* codes, std::size_t step, const std::uint8_t* x,
           std::size_t row_bytes) {
    v128_t tiles[kTiles];
    load_tiles<kBits, kFirst, kTiles>(codes, step, tiles);
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t p = 0; p < kPlanes; ++p) {
        const v128_t digits = wasm_v128_load32_splat(x + r * row_bytes + step * kStepBytes + p * 4);
        for (std::size_t j = 0; j < kTiles; ++j) {
          acc[r][p][j] = dot_i8x16_i7x16_add(tiles[j], digits, acc[r][p][j]);
        }
      }
    }
  }

  [[nodiscard]] v128_t plane(std::size_t r, std::size_t p, std::size_t j) const {
    return acc[r][p][j];
  }
};
#endif

template <int kBits, std::size_t kFirst, typename Sums>
void add_steps(Sums& sums, const std::uint8_t* codes, std::size_t steps, const std::uint8_t* x,
               std::size_t row_bytes) {
  constexpr std::size_t kAtATime = kBits == 2 ? 2 : 1;
  for (std::size_t step = 0; step < steps; step += kAtATime) {
    for (std::size_t i = 0; i < kAtATime; ++i) {
      sums.template add<kBits, kFirst>(codes, step + i, x, row_bytes);
    }
  }
}

// ---- the two halves of a chunk's sum, 2^14 * high + low, of four outputs

// Digits in int16: low and high are planes of their own. Codes count once, and shift makes them
// count as often as the unit says.
struct WideHalves : WideSums<2, 1, 2> {
  std::uint32_t shift;

  WideHalves(const Panels& w, const std::int32_t*) : shift(static_cast<std::uint32_t>(8 - w.bits)) {
    std::fill_n(&acc[0][0][0][0], sizeof(acc) / sizeof(v128_t), wasm_i32x4_splat(0));
  }
  [[nodiscard]] v128_t low(std::size_t j) const { return wasm_i32x4_shl(plane(0, 0, j), shift); }
  [[nodiscard]] v128_t high(std::size_t j) const { return wasm_i32x4_shl(plane(0, 1, j), shift); }
};

#if ZEROPOINT_RELAXED
// Digits in base 128: two planes to a half; the highest one is made signed by taking 64 off every
// digit, which starts its sum at -64 times the sum of the codes.
struct DigitHalves : ByteSums<4, 1, 2> {
  DigitHalves(const Panels&, const std::int32_t* minus_sums) {
    for (std::size_t p = 0; p < kPlanes; ++p) {
      for (std::size_t j = 0; j < 2; ++j) {
        acc[0][p][j] =
            p + 1 == kPlanes ? wasm_v128_load(minus_sums + kTile * j) : wasm_i32x4_splat(0);
      }
    }
  }
  [[nodiscard]] v128_t low(std::size_t j) const {
    return wasm_i32x4_add(plane(0, 0, j), wasm_i32x4_shl(plane(0, 1, j), 7));
  }
  [[nodiscard]] v128_t high(std::size_t j) const {
    return wasm_i32x4_add(plane(0, 2, j), wasm_i32x4_shl(plane(0, 3, j), 7));
  }
};
#endif

// ---- from integers to results

v128_t upper(v128_t v) { return wasm_i64x2_shuffle(v, v, 1, 1); }

// Sums of four outputs of a row in double.
struct Doubles {
  v128_t low = wasm_f64x2_splat(0.0);
  v128_t high = wasm_f64x2_splat(0.0);
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

// The code of output 0 ... 7 and input `step` * 4 + lane of a panel, times the unit.
int code_at(const Panels& w, const std::uint8_t* codes, std::size_t step, std::size_t output,
            std::size_t lane) {
  const std::size_t byte = output % kTile * kStepInputs + lane;
  const std::size_t tile = output / kTile;
  unsigned bits = 0;
  if (w.bits == 8) {
    bits = codes[step * 32 + tile * 16 + byte];
  } else if (w.bits == 4) {
    bits = static_cast<unsigned>(codes[step * 16 + byte]) << (tile == 0 ? 4 : 0);
  } else {
    bits = static_cast<unsigned>(codes[step / 2 * 16 + byte]) << (6 - 2 * (step % 2 * 2 + tile));
    bits &= 0xC0;
  }
  if (w.bits == 4) bits &= 0xF0;
  return static_cast<std::int8_t>(bits);
}

// One output from the float32 row itself, in double: for rows with NaN or infinities, and where
// the digits cannot assure the bound. Rare, so small rather than fast.
[[gnu::noinline]] double multiply_in_double(const Panels& w, const PanelParts& parts,
                                            std::size_t output, const float* x) {
  double total = 0.0;
  double sum = 0.0;
  std::size_t step = 0;
  for_chunks(w.k, w.group, [&](std::size_t first, std::size_t inputs, std::size_t group) {
    for (std::size_t i = 0; i < inputs; ++i) {
      const std::size_t input = first + i;
      const int code = code_at(w, parts.codes, step + i / kStepInputs, output, i % kStepInputs);
      int zero_point = w.affine ? parts.zero_points[group * kPanel + output] : 0;
      auto value = static_cast<double>(x[input]);
      if (w.input_scales != nullptr) {
        value *= static_cast<double>(w.input_scales[input]);
        zero_point = w.input_zero_points[input];
      }
      sum += value * (code - zero_point * (1 << (8 - w.bits)));
    }
    step += steps_of(inputs, w.bits);
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
  float* out = product.out + row * w.n + column;
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
      results[i] = multiply_in_double(w, parts, tile * kTile + i, product.x + row * w.k);
    }
    if (product.bias != nullptr) results[i] += static_cast<double>(product.bias[column + i]);
    out[i] = static_cast<float>(results[i]);
  }
}

// Hides from the compiler what a variable holds, so that it stays in memory: engines that run out
// of registers spill those of the innermost loop as readily as these.
template <typename T>
void keep_in_memory(T& variable) {
  __asm__ volatile("" : : "r"(&variable) : "memory");
}

// Adds a chunk's products with one row to the row's totals.
template <int kBits, typename Halves>
void add_chunk(const PanelProduct& product, const PanelParts& parts, const std::uint8_t* codes,
               std::size_t steps, const std::uint8_t* x, std::size_t row, std::size_t chunk,
               std::size_t group, Doubles* totals) {
  const Panels& w = product.panels;
  Halves sums(w, parts.minus_sums + chunk * kPanel);
  add_steps<kBits, 0>(sums, codes, steps, x, 0);
  for (std::size_t j = 0; j < 2; ++j) {
    const std::size_t at = group * kPanel + j * kTile;
    Doubles exact = widen_i32(sums.high(j)) * splat(16384.0) + widen_i32(sums.low(j));
    const double sum = product.sums[row * w.chunks + chunk] * w.unit();
    if (w.affine) {
      exact = exact - widen_i32(wasm_v128_load(parts.zero_points + at)) * splat(sum);
    } else if (w.input_scales != nullptr) {
      exact = exact - splat(sum);
    }
    totals[j] = totals[j] + exact * widen_f32(wasm_v128_load(parts.scales + at));
  }
}

void finish_row(const PanelProduct& product, const PanelParts& parts, std::size_t panel,
                std::size_t row, const Doubles* totals) {
  for (std::size_t tile = 0; tile < 2; ++tile) {
    finish_tile(product, parts, panel, tile, row, totals[tile]);
  }
}

// What computes a row, and a panel, is reached through a pointer, so that it stays a function of
// its own: engines start with slow code and change to fast code at a call, which a function with
// all the loops in it would put off to the next product.

// One row, straight from the packed codes.
template <int kBits, typename Halves>
void multiply_row(const PanelProduct& product, const PanelParts& parts, std::size_t panel,
                  std::size_t row) {
  const Panels& w = product.panels;
  Doubles totals[2];
  const std::uint8_t* codes = parts.codes;
  const std::uint8_t* x = product.digits + row * product.row_bytes;
  std::size_t chunk = 0;
  for_chunks(w.k, w.group, [&](std::size_t, std::size_t inputs, std::size_t group) {
    keep_in_memory(totals);
    const std::size_t steps = steps_of(inputs, kBits);
    add_chunk<kBits, Halves>(product, parts, codes, steps, x, row, chunk, group, totals);
    ++chunk;
    codes += steps * static_cast<std::size_t>(kBits) * 4;
    x += steps * kDigitStepBytes;
  });
  finish_row(product, parts, panel, row, totals);
}

template <typename Halves>
auto row_function(int bits) {
  return bits == 8 ? multiply_row<8, Halves>
                   : (bits == 4 ? multiply_row<4, Halves> : multiply_row<2, Halves>);
}

template <typename Halves>
void multiply_rows(const PanelProduct& product, std::size_t panel, const PanelParts& parts) {
  const auto multiply = row_function<Halves>(product.panels.bits);
  for (std::size_t row = 0; row < product.rows; ++row) multiply(product, parts, panel, row);
}

#if ZEROPOINT_WIDE
// Fewer rows than this do not pay for widening the codes first.
constexpr std::size_t kWideRows = 4;
// Rows whose totals are held at a time.
constexpr std::size_t kRowsHeld = 128;

// Widens a chunk of up to kChunk inputs to int16.
template <int kBits>
void widen_chunk(const std::uint8_t* codes, std::size_t steps, std::uint8_t* wide) {
  constexpr std::size_t kAtATime = kBits == 2 ? 2 : 1;
  for (std::size_t step = 0; step < steps; step += kAtATime) {
    for (std::size_t i = 0; i < kAtATime; ++i) {
      v128_t tiles[2][2];
      load_wide_tiles<kBits, 0, 2>(codes, step + i, tiles);
      for (std::size_t j = 0; j < 4; ++j) {
        wasm_v128_store(wide + (step + i) * 64 + j * 16, tiles[j / 2][j % 2]);
      }
    }
  }
}

auto widen_function(int bits) {
  return bits == 8 ? widen_chunk<8> : (bits == 4 ? widen_chunk<4> : widen_chunk<2>);
}

// Chunk by chunk, each widened once for all rows, on the stack and so in the first-level cache.
void multiply_widened(const PanelProduct& product, std::size_t panel, const PanelParts& parts) {
  const Panels& w = product.panels;
  const auto widen = widen_function(w.bits);
  for (std::size_t first = 0; first < product.rows; first += kRowsHeld) {
    const std::size_t last = std::min(first + kRowsHeld, product.rows);
    Doubles totals[kRowsHeld][2];
    const std::uint8_t* codes = parts.codes;
    std::size_t step = 0;
    std::size_t chunk = 0;
    for_chunks(w.k, w.group, [&](std::size_t, std::size_t inputs, std::size_t group) {
      const std::size_t steps = steps_of(inputs, w.bits);
      alignas(16) std::uint8_t wide[kChunk * kPanel * 2];
      widen(codes, steps, wide);
      for (std::size_t row = first; row < last; ++row) {
        const std::uint8_t* x = product.digits + row * product.row_bytes + step * kDigitStepBytes;
        keep_in_memory(totals);
        add_chunk<16, WideHalves>(product, parts, wide, steps, x, row, chunk, group,
                                  totals[row - first]);
      }
      ++chunk;
      step += steps;
      codes += steps * static_cast<std::size_t>(w.bits) * 4;
    });
    for (std::size_t row = first; row < last; ++row) {
      finish_row(product, parts, panel, row, totals[row - first]);
    }
  }
}

#endif

// What multiplies a panel by all rows.
auto panel_function(const PanelProduct& product, Digits format) {
#if ZEROPOINT_WIDE
  const auto wide = product.rows >= kWideRows ? multiply_widened : multiply_rows<WideHalves>;
#endif
#if ZEROPOINT_RELAXED && ZEROPOINT_WIDE
  return format == Digits::kI7 ? multiply_rows<DigitHalves> : wide;
#elif ZEROPOINT_RELAXED
  assert(format == Digits::kI7);
  static_cast<void>(product);
  static_cast<void>(format);
  return multiply_rows<DigitHalves>;
#else
  assert(format == Digits::kI16);
  static_cast<void>(format);
  return wide;
#endif
}

// ---- bytes

// A tile's sums of Sums::kRows rows; Sums::kTiles tiles from kFirst on.
template <typename Sums, std::size_t kFirst>
void multiply_byte_tiles(const std::uint8_t* codes, std::size_t steps, const std::uint8_t* x,
                         std::size_t row_bytes, std::int32_t* sums) {
  Sums acc;
  std::fill_n(reinterpret_cast<v128_t*>(&acc.acc), sizeof(acc.acc) / sizeof(v128_t),
              wasm_i32x4_splat(0));
  add_steps<8, kFirst>(acc, codes, steps, x, row_bytes);
  for (std::size_t r = 0; r < Sums::kRows; ++r) {
    for (std::size_t j = 0; j < Sums::kTiles; ++j) {
      v128_t sum = acc.plane(r, 0, j);
      if constexpr (Sums::kPlanes == 2) {
        sum = wasm_i32x4_add(sum, wasm_i32x4_shl(acc.plane(r, 1, j), 7));
      }
      wasm_v128_store(sums + r * kPanel + (kFirst + j) * kTile, sum);
    }
  }
}

template <typename Sums>
std::size_t multiply_byte_rows(const std::uint8_t* codes, std::size_t steps, const std::uint8_t* x,
                               std::size_t row_bytes, std::size_t row, std::size_t rows,
                               std::int32_t* sums) {
  for (; row + Sums::kRows <= rows; row += Sums::kRows) {
    multiply_byte_tiles<Sums, 0>(codes, steps, x + row * row_bytes, row_bytes, sums + row * kPanel);
    if constexpr (Sums::kTiles == 1) {
      multiply_byte_tiles<Sums, 1>(codes, steps, x + row * row_bytes, row_bytes,
                                   sums + row * kPanel);
    }
  }
  return row;
}

}  // namespace

void multiply_panels(const PanelProduct& product, Digits format, std::size_t first,
                     std::size_t last) {
  const auto multiply = panel_function(product, format);
  for (std::size_t panel = first; panel < last; ++panel) {
    multiply(product, panel, PanelParts(product.panels, panel));
  }
}

void multiply_bytes(const std::uint8_t* codes, std::size_t steps, [[maybe_unused]] Bytes format,
                    const std::uint8_t* x, std::size_t row_bytes, std::size_t rows,
                    std::int32_t* sums) {
  std::size_t row = 0;
#if ZEROPOINT_RELAXED
  if (format == Bytes::kI7) {
    row = multiply_byte_rows<ByteSums<1, 4, 2>>(codes, steps, x, row_bytes, row, rows, sums);
    multiply_byte_rows<ByteSums<1, 1, 2>>(codes, steps, x, row_bytes, row, rows, sums);
    return;
  }
  if (format == Bytes::kI7x2) {
    row = multiply_byte_rows<ByteSums<2, 2, 2>>(codes, steps, x, row_bytes, row, rows, sums);
    multiply_byte_rows<ByteSums<2, 1, 2>>(codes, steps, x, row_bytes, row, rows, sums);
    return;
  }
#endif
  assert(format == Bytes::kI16);
  row = multiply_byte_rows<WideSums<1, 4, 1>>(codes, steps, x, row_bytes, row, rows, sums);
  multiply_byte_rows<WideSums<1, 1, 2>>(codes, steps, x, row_bytes, row, rows, sums);
}

void finish_bytes(const std::int32_t* sums, const double* more, const double* correction,
                  const float* multiplier, const float* bias, std::size_t rows, float* out,
                  std::size_t stride, std::size_t columns) {
  for (std::size_t row = 0; row < rows; ++row) {
    float results[kPanel];
    for (std::size_t i = 0; i < kPanel; i += kTile) {
      Doubles total = widen_i32(wasm_v128_load(sums + row * kPanel + i));
      total = total + Doubles{wasm_v128_load(correction + i), wasm_v128_load(correction + i + 2)};
      if (more != nullptr) {
        const double* from = more + row * kPanel + i;
        total = total + Doubles{wasm_v128_load(from), wasm_v128_load(from + 2)};
      }
      const v128_t scaled = wasm_f32x4_mul(narrow(total), wasm_v128_load(multiplier + i));
      wasm_v128_store(results + i, wasm_f32x4_add(scaled, wasm_v128_load(bias + i)));
    }
    if (columns == kPanel) {
      std::copy_n(results, kPanel, out + row * stride);
    } else {
      std::copy_n(results, columns, out + row * stride);
    }
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

void spread_bytes(const std::uint8_t* qx, std::size_t k, Bytes format, std::uint8_t* out) {
  for (std::size_t i = 0; i < k; i += kStepInputs) {
    std::uint8_t step[kStepInputs] = {};
    std::copy_n(qx + i, std::min(kStepInputs, k - i), step);
    for (const std::uint8_t value : step) {
      if (format == Bytes::kI16) {
        *out++ = value;
        *out++ = 0;
      } else {
        *out++ = value & 127;
      }
    }
    if (format != Bytes::kI7x2) continue;
    for (const std::uint8_t value : step) *out++ = value >> 7;
  }
}

}  // namespace zeropoint::kernels
