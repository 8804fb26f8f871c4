// Packs 32 codes of 4 bits, or 64 of 2 bits, into 16 bytes per step, and back; the tail, and every
// other width, is scalar: eight codes per step, which take whole bytes, in a 64-bit integer.
// Parity: byte-identical to reference/pack_bits.h.
#include <algorithm>
#include <cassert>

#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

// Codes of one step of the scalar loops: of any width, they take whole bytes.
constexpr std::size_t kEight = 8;

template <int kBits>
void pack_scalar(const std::uint8_t* codes, std::size_t n, std::uint8_t* out) {
  constexpr std::uint64_t kMask = (1U << kBits) - 1U;
  for (std::size_t i = 0; i < n; i += kEight) {
    const std::size_t count = std::min(kEight, n - i);
    std::uint64_t stream = 0;
    for (std::size_t j = count; j-- > 0;) stream = stream << kBits | (codes[i + j] & kMask);
    for (std::size_t bit = 0; bit < count * kBits; bit += 8) {
      *out++ = static_cast<std::uint8_t>(stream >> bit);
    }
  }
}

template <int kBits>
void unpack_scalar(const std::uint8_t* bytes, std::size_t n, bool is_signed, std::uint8_t* codes) {
  constexpr std::uint64_t kMask = (1U << kBits) - 1U;
  const std::uint64_t sign = is_signed ? 1U << (kBits - 1) : 0U;
  for (std::size_t i = 0; i < n; i += kEight) {
    const std::size_t count = std::min(kEight, n - i);
    std::uint64_t stream = 0;
    for (std::size_t bit = 0; bit < count * kBits; bit += 8) {
      stream |= std::uint64_t{*bytes++} << bit;
    }
    for (std::size_t j = 0; j < count; ++j, stream >>= kBits) {
      codes[i + j] = static_cast<std::uint8_t>(((stream & kMask) ^ sign) - sign);
    }
  }
}

// Two vectors of even and odd codes become one of bytes: even | odd << shift.
v128_t join(const std::uint8_t* codes, std::uint32_t shift, v128_t mask) {
  const v128_t a = wasm_v128_and(wasm_v128_load(codes), mask);
  const v128_t b = wasm_v128_and(wasm_v128_load(codes + 16), mask);
  const v128_t even =
      wasm_i8x16_shuffle(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const v128_t odd =
      wasm_i8x16_shuffle(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  return wasm_v128_or(even, wasm_i8x16_shl(odd, shift));
}

// Interleaves bytes of even and odd codes.
void split(v128_t even, v128_t odd, std::uint8_t* codes) {
  wasm_v128_store(
      codes, wasm_i8x16_shuffle(even, odd, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
  wasm_v128_store(codes + 16, wasm_i8x16_shuffle(even, odd, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28,
                                                 13, 29, 14, 30, 15, 31));
}

// Moves a field to the top of its byte and back down, with or without its sign.
v128_t field(v128_t bytes, std::uint32_t left, std::uint32_t right, bool is_signed) {
  const v128_t top = wasm_i8x16_shl(bytes, left);
  return is_signed ? wasm_i8x16_shr(top, right) : wasm_u8x16_shr(top, right);
}

void pack_4bit(const std::uint8_t* codes, std::size_t n, std::uint8_t* out) {
  const v128_t mask = wasm_i8x16_splat(0x0F);
  std::size_t i = 0;
  for (; i + 32 <= n; i += 32) wasm_v128_store(out + i / 2, join(codes + i, 4, mask));
  pack_scalar<4>(codes + i, n - i, out + i / 2);
}

void pack_2bit(const std::uint8_t* codes, std::size_t n, std::uint8_t* out) {
  const v128_t mask = wasm_i8x16_splat(0x03);
  std::size_t i = 0;
  for (; i + 64 <= n; i += 64) {
    std::uint8_t pairs[32];  // two codes in the low four bits of each byte
    wasm_v128_store(pairs, join(codes + i, 2, mask));
    wasm_v128_store(pairs + 16, join(codes + i + 32, 2, mask));
    wasm_v128_store(out + i / 4, join(pairs, 4, wasm_i8x16_splat(0x0F)));
  }
  pack_scalar<2>(codes + i, n - i, out + i / 4);
}

void unpack_4bit(const std::uint8_t* bytes, std::size_t n, bool is_signed, std::uint8_t* codes) {
  std::size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const v128_t packed = wasm_v128_load(bytes + i / 2);
    split(field(packed, 4, 4, is_signed), field(packed, 0, 4, is_signed), codes + i);
  }
  unpack_scalar<4>(bytes + i / 2, n - i, is_signed, codes + i);
}

void unpack_2bit(const std::uint8_t* bytes, std::size_t n, bool is_signed, std::uint8_t* codes) {
  std::size_t i = 0;
  for (; i + 64 <= n; i += 64) {
    const v128_t packed = wasm_v128_load(bytes + i / 4);
    std::uint8_t first[32];   // codes 0 and 2 of each byte, in turn
    std::uint8_t second[32];  // codes 1 and 3
    split(field(packed, 6, 6, is_signed), field(packed, 2, 6, is_signed), first);
    split(field(packed, 4, 6, is_signed), field(packed, 0, 6, is_signed), second);
    split(wasm_v128_load(first), wasm_v128_load(second), codes + i);
    split(wasm_v128_load(first + 16), wasm_v128_load(second + 16), codes + i + 32);
  }
  unpack_scalar<2>(bytes + i / 4, n - i, is_signed, codes + i);
}

}  // namespace

void pack_bits(const std::uint8_t* codes, std::size_t n, int bits, std::uint8_t* out) {
  static constexpr decltype(&pack_2bit) kLoops[] = {pack_scalar<1>, pack_2bit,      pack_scalar<3>,
                                                    pack_4bit,      pack_scalar<5>, pack_scalar<6>,
                                                    pack_scalar<7>};
  assert(bits >= 1 && bits <= 7);
  kLoops[bits - 1](codes, n, out);
}

void unpack_bits(const std::uint8_t* bytes, std::size_t n, int bits, bool is_signed,
                 std::uint8_t* codes) {
  static constexpr decltype(&unpack_2bit) kLoops[] = {
      unpack_scalar<1>, unpack_2bit,      unpack_scalar<3>, unpack_4bit,
      unpack_scalar<5>, unpack_scalar<6>, unpack_scalar<7>};
  assert(bits >= 1 && bits <= 7);
  kLoops[bits - 1](bytes, n, is_signed, codes);
}

}  // namespace zeropoint::kernels
