// sub-byte values <-> bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "zeropoint/dtype.h"
#include "zeropoint/status.h"

namespace zeropoint {

/// Bytes that n packed codes take: ceil(n * bits / 8).
[[nodiscard]] constexpr std::size_t packed_size(std::size_t n, DType dtype) {
  const auto bits = static_cast<std::size_t>(dtype_info(dtype).bits);
  return n / 8 * bits + (n % 8 * bits + 7) / 8;
}

/// Packs codes of 1 to 7 bits, two's complement where signed, as a little-endian stream of bits:
/// bit b of code i is bit i * bits + b of the stream, and bit s of the stream is bit (s % 8) of
/// byte (s / 8). So the first code takes the lowest bits, and codes of 3, 5, 6 and 7 bits may
/// cross bytes:
///
///   4 bits   byte = code[0] | code[1] << 4
///   2 bits   byte = code[0] | code[1] << 2 | code[2] << 4 | code[3] << 6
///   3 bits   byte[0] = code[0] | code[1] << 3 | (code[2] & 3) << 6, byte[1] = code[2] >> 2 | ...
///
/// Rows are not padded; the unused high bits of the last byte are 0.
///
/// @param codes  one code per byte, int8 or uint8 bits; bits above the dtype's width are dropped.
/// @param out    uint8[packed_size(codes.size(), dtype)], written only on kOk; must not overlap.
/// @return kUnsupportedDType for dtypes of 8 bits and more, which need no packing; kShapeMismatch.
/// Source: the order of ONNX INT4 and INT2 tensors (first element in the low bits).
[[nodiscard]] Status pack(std::span<const std::uint8_t> codes, DType dtype,
                          std::span<std::uint8_t> out);

/// Unpacks pack()'s bytes, with sign extension for signed dtypes.
/// @param bytes  uint8[packed_size(codes.size(), dtype)].
/// @param codes  one code per byte, written only on kOk; must not overlap.
/// @return kUnsupportedDType, kShapeMismatch.
[[nodiscard]] Status unpack(std::span<const std::uint8_t> bytes, DType dtype,
                            std::span<std::uint8_t> codes);

}  // namespace zeropoint
