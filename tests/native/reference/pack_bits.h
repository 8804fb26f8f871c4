// Packing as a stream of bits: bit b of code i is bit i * width + b of the stream, and bit s of the
// stream is bit s % 8 of byte s / 8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace zeropoint::reference {

inline std::vector<std::uint8_t> pack_bits(std::span<const std::uint8_t> codes, std::size_t width) {
  const std::size_t bits = codes.size() * width;
  std::vector<std::uint8_t> bytes((bits + 7) / 8);
  for (std::size_t s = 0; s < bits; ++s) {
    const bool bit = (codes[s / width] >> (s % width) & 1U) != 0;
    if (bit) bytes[s / 8] = static_cast<std::uint8_t>(bytes[s / 8] + (1U << (s % 8)));
  }
  return bytes;
}

/// The highest bit counts as negative where is_signed, as in two's complement.
inline std::vector<std::uint8_t> unpack_bits(std::span<const std::uint8_t> bytes, std::size_t n,
                                             std::size_t width, bool is_signed) {
  std::vector<std::uint8_t> codes(n);
  for (std::size_t i = 0; i < n; ++i) {
    int code = 0;
    for (std::size_t b = 0; b < width; ++b) {
      const std::size_t s = i * width + b;
      if ((bytes[s / 8] >> (s % 8) & 1U) == 0) continue;
      const int weight = 1 << b;
      code += is_signed && b == width - 1 ? -weight : weight;
    }
    codes[i] = static_cast<std::uint8_t>(code);
  }
  return codes;
}

}  // namespace zeropoint::reference
