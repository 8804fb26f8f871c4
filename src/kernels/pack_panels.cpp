// Codes to packed panels, sixteen inputs of four outputs at a time: a transposition of 4 x 4 blocks
// of four bytes, then the codes of two tiles (and two steps) joined in one byte.
// Parity: integers, read back as panels.h states the layout.
#include <algorithm>
#include <cassert>

#include "kernels/panels.h"

namespace zeropoint::kernels {
namespace {

constexpr std::size_t kBlock = 16;  // inputs of a vector
constexpr std::size_t kBlockSteps = kBlock / kStepInputs;

// Transposes vectors[r], inputs 0 ... 15 of output r, to vectors[s], inputs 4 s ... 4 s + 3 of all
// outputs.
void transpose(v128_t (&v)[kTile]) {
  const v128_t low01 = wasm_i32x4_shuffle(v[0], v[1], 0, 4, 1, 5);
  const v128_t high01 = wasm_i32x4_shuffle(v[0], v[1], 2, 6, 3, 7);
  const v128_t low23 = wasm_i32x4_shuffle(v[2], v[3], 0, 4, 1, 5);
  const v128_t high23 = wasm_i32x4_shuffle(v[2], v[3], 2, 6, 3, 7);
  v[0] = wasm_i64x2_shuffle(low01, low23, 0, 2);
  v[1] = wasm_i64x2_shuffle(low01, low23, 1, 3);
  v[2] = wasm_i64x2_shuffle(high01, high23, 0, 2);
  v[3] = wasm_i64x2_shuffle(high01, high23, 1, 3);
}

// Inputs from `at` on of a row, at most one vector, padded with zeros.
[[gnu::noinline]] v128_t load_last(const std::uint8_t* row, std::size_t at, std::size_t inputs,
                                   v128_t flip) {
  std::uint8_t padded[kBlock] = {};
  std::uint8_t mask[kBlock] = {};
  std::copy(row + at, row + inputs, padded);
  std::fill_n(mask, inputs - at, std::uint8_t{255});
  return wasm_v128_and(wasm_v128_xor(wasm_v128_load(padded), flip), wasm_v128_load(mask));
}

v128_t load_row(const std::uint8_t* row, std::size_t at, std::size_t inputs, v128_t flip) {
  if (row == nullptr) return wasm_i8x16_splat(0);
  if (at + kBlock <= inputs) return wasm_v128_xor(wasm_v128_load(row + at), flip);
  return load_last(row, at, inputs, flip);
}

// Bytes shifted down from the highest bits.
v128_t lower(v128_t bytes, std::uint32_t shift) {
  return wasm_v128_and(wasm_u16x8_shr(bytes, shift),
                       wasm_i8x16_splat(static_cast<std::int8_t>(255 >> shift)));
}

v128_t smaller(v128_t a, v128_t b) { return wasm_i8x16_min(a, b); }
v128_t larger(v128_t a, v128_t b) { return wasm_i8x16_max(a, b); }

// pick (minimum or maximum) of the four bytes of each output, as int32.
template <typename Pick>
v128_t of_bytes(v128_t bytes, Pick pick) {
  bytes = pick(bytes, wasm_i32x4_shl(bytes, 16));
  bytes = pick(bytes, wasm_i32x4_shl(bytes, 8));
  return wasm_i32x4_shr(bytes, 24);
}

template <int kBits>
void pack_rows(const std::uint8_t* const* rows, std::size_t outputs, std::size_t inputs,
               bool is_signed, int added_to_low, std::uint8_t* packed, std::int32_t* minus_sums,
               CodeSizes& sizes) {
  const v128_t flip = wasm_i8x16_splat(static_cast<std::int8_t>(is_signed ? 0 : 1 << (kBits - 1)));
  const v128_t top = wasm_i8x16_splat(static_cast<std::int8_t>(0xFF00U >> kBits));
  const v128_t zero = wasm_i8x16_splat(0);
  v128_t sums[2] = {zero, zero};
  v128_t min[2] = {zero, zero};
  v128_t max[2] = {zero, zero};
  v128_t minus_small[2] = {zero, zero};
  v128_t squares[2][2] = {{zero, zero}, {zero, zero}};  // of outputs 0 and 1 of a tile, 2 and 3
  const v128_t ordinary = wasm_i8x16_splat(static_cast<std::int8_t>(ordinary_code(kBits)));
  const std::size_t steps = steps_of(inputs, kBits);
  for (std::size_t at = 0; at < inputs; at += kBlock) {
    v128_t tiles[2][kTile];
    for (std::size_t tile = 0; tile < 2; ++tile) {
      for (std::size_t r = 0; r < kTile; ++r) {
        const std::size_t output = tile * kTile + r;
        const v128_t codes = load_row(output < outputs ? rows[output] : nullptr, at, inputs, flip);
        // Shifts the code to the byte's highest bits; the mask clears bits from the neighbour.
        tiles[tile][r] = wasm_v128_and(wasm_i16x8_shl(codes, 8 - kBits), top);
      }
      transpose(tiles[tile]);
      for (const v128_t bytes : tiles[tile]) {
        sums[tile] = wasm_i32x4_add(
            sums[tile], wasm_i32x4_extadd_pairwise_i16x8(wasm_i16x8_extadd_pairwise_i8x16(bytes)));
        min[tile] = smaller(min[tile], bytes);
        max[tile] = larger(max[tile], bytes);
        // As unsigned bytes: the magnitude of -128 is 128. A byte of ones is -1.
        const v128_t is_small = wasm_u8x16_lt(wasm_i8x16_abs(bytes), ordinary);
        minus_small[tile] = wasm_i32x4_add(
            minus_small[tile],
            wasm_i32x4_extadd_pairwise_i16x8(wasm_i16x8_extadd_pairwise_i8x16(is_small)));
        const v128_t halves[2] = {wasm_i16x8_extend_low_i8x16(bytes),
                                  wasm_i16x8_extend_high_i8x16(bytes)};
        for (std::size_t j = 0; j < 2; ++j) {
          squares[tile][j] =
              wasm_i32x4_add(squares[tile][j], wasm_i32x4_dot_i16x8(halves[j], halves[j]));
        }
      }
    }
    const std::size_t step = at / kStepInputs;
    const std::size_t count = std::min(kBlockSteps, steps - step);
    for (std::size_t s = 0; s < count; ++s) {
      if constexpr (kBits == 8) {
        wasm_v128_store(packed + (step + s) * 32, tiles[0][s]);
        wasm_v128_store(packed + (step + s) * 32 + 16, tiles[1][s]);
      } else if constexpr (kBits == 4) {
        const v128_t low = wasm_v128_xor(lower(tiles[0][s], 4),
                                         wasm_i8x16_splat(static_cast<std::int8_t>(added_to_low)));
        wasm_v128_store(packed + (step + s) * 16, wasm_v128_or(low, tiles[1][s]));
      } else if (s % 2 == 0) {
        const v128_t even = wasm_v128_or(lower(tiles[0][s], 6), lower(tiles[1][s], 4));
        const v128_t odd = wasm_v128_or(lower(tiles[0][s + 1], 2), tiles[1][s + 1]);
        wasm_v128_store(packed + (step + s) / 2 * 16, wasm_v128_or(even, odd));
      }
    }
  }
  for (std::size_t tile = 0; tile < 2; ++tile) {
    wasm_v128_store(minus_sums + tile * kTile, wasm_i32x4_mul(sums[tile], wasm_i32x4_splat(-64)));
    wasm_v128_store(sizes.small + tile * kTile, wasm_i32x4_neg(minus_small[tile]));
    wasm_v128_store(sizes.squares + tile * kTile, add_pairs(squares[tile][0], squares[tile][1]));
    wasm_v128_store(sizes.smallest + tile * kTile, of_bytes(min[tile], smaller));
    wasm_v128_store(sizes.largest + tile * kTile, of_bytes(max[tile], larger));
  }
}

}  // namespace

void pack_chunk(const std::uint8_t* const* rows, std::size_t outputs, std::size_t inputs, int bits,
                bool is_signed, int added_to_low, std::uint8_t* packed, std::int32_t* minus_sums,
                CodeSizes& sizes) {
  assert(outputs >= 1 && outputs <= kPanel && inputs <= kChunk);
  const auto pack = bits == 8 ? pack_rows<8> : bits == 4 ? pack_rows<4> : pack_rows<2>;
  pack(rows, outputs, inputs, is_signed, added_to_low, packed, minus_sums, sizes);
}

void unpack_chunk(const std::uint8_t* packed, std::size_t output, std::size_t inputs, int bits,
                  bool is_signed, int added_to_low, std::uint8_t* codes) {
  assert(output < kPanel && inputs <= kChunk);
  const std::size_t tile = output / kTile;
  const auto width = static_cast<std::size_t>(bits);
  const auto flip = static_cast<unsigned>(is_signed ? 0 : 1 << (bits - 1)) ^
                    static_cast<unsigned>(tile == 0 && bits == 4 ? added_to_low : 0);
  for (std::size_t i = 0; i < inputs; ++i) {
    const std::size_t step = i / kStepInputs;
    // With 2 bits, two steps share 16 bytes: 0 for the first of them, 1 for the second.
    const std::size_t shared = bits == 2 ? step % 2 : 0;
    const std::size_t at = (step - shared) * width * 4 + (bits == 8 ? tile * 16 : 0);
    const std::size_t shift = bits == 8 ? 0 : bits == 4 ? tile * 4 : shared * 4 + tile * 2;
    const unsigned code = (packed[at + output % kTile * 4 + i % kStepInputs] >> shift) ^ flip;
    // Extends the sign of signed codes; clears the bits above unsigned ones.
    const unsigned bytes = code << (8 - bits);
    codes[i] = static_cast<std::uint8_t>(
        is_signed ? static_cast<unsigned>(static_cast<std::int8_t>(bytes) >> (8 - bits))
                  : (bytes & 0xFFU) >> (8 - bits));
  }
}

}  // namespace zeropoint::kernels
