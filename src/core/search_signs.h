// Signs of vectors, one bit a value, shared by the files of search.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace zeropoint {

/// Bytes of a row's signs.
inline std::size_t sign_bytes(std::size_t dimensions) { return (dimensions + 7) / 8; }

/// Bit i % 8 of byte i / 8 is x[i] > 0; bits behind the last value are 0.
inline void write_signs(std::span<const float> x, std::uint8_t* out) {
  for (std::size_t i = 0; i < x.size(); i += 8) {
    const std::span<const float> some = x.subspan(i, x.size() - i < 8 ? x.size() - i : 8);
    std::uint8_t byte = 0;
    for (std::size_t j = 0; j < some.size(); ++j) {
      byte = static_cast<std::uint8_t>(byte | (some[j] > 0.0F ? 1 << j : 0));
    }
    out[i / 8] = byte;
  }
}

}  // namespace zeropoint
