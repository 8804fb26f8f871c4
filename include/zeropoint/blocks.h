// tensor <-> ggml's block types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "zeropoint/status.h"

namespace zeropoint {

/// ggml's fixed block layouts of 1 to 256 values: codes and scales in one byte sequence.
/// The names are ggml's.
// NOLINTBEGIN(readability-identifier-naming)
enum class BlockType : std::uint8_t {
  kF16,
  kBF16,
  kQ8_0,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kIQ4_XS,
  kTQ1_0,
  kTQ2_0,
  kMXFP4,
  kNVFP4,
  kQ1_0,
  kQ2_0,
};
// NOLINTEND(readability-identifier-naming)

inline constexpr int kBlockTypes = 20;

/// A block type's name, its number in GGUF files, and its size.
struct BlockInfo {
  std::string_view name;  ///< ggml's name, in lower case
  int ggml_type;
  std::size_t values;  ///< values per block
  std::size_t bytes;   ///< bytes per block
};

[[nodiscard]] constexpr BlockInfo block_info(BlockType type) {
  switch (type) {
    case BlockType::kF16:
      return {"f16", 1, 1, 2};
    case BlockType::kBF16:
      return {"bf16", 30, 1, 2};
    case BlockType::kQ8_0:
      return {"q8_0", 8, 32, 34};
    case BlockType::kQ4_0:
      return {"q4_0", 2, 32, 18};
    case BlockType::kQ4_1:
      return {"q4_1", 3, 32, 20};
    case BlockType::kQ5_0:
      return {"q5_0", 6, 32, 22};
    case BlockType::kQ5_1:
      return {"q5_1", 7, 32, 24};
    case BlockType::kQ2_K:
      return {"q2_k", 10, 256, 84};
    case BlockType::kQ3_K:
      return {"q3_k", 11, 256, 110};
    case BlockType::kQ4_K:
      return {"q4_k", 12, 256, 144};
    case BlockType::kQ5_K:
      return {"q5_k", 13, 256, 176};
    case BlockType::kQ6_K:
      return {"q6_k", 14, 256, 210};
    case BlockType::kIQ4_NL:
      return {"iq4_nl", 20, 32, 18};
    case BlockType::kIQ4_XS:
      return {"iq4_xs", 23, 256, 136};
    case BlockType::kTQ1_0:
      return {"tq1_0", 34, 256, 54};
    case BlockType::kTQ2_0:
      return {"tq2_0", 35, 256, 66};
    case BlockType::kMXFP4:
      return {"mxfp4", 39, 32, 17};
    case BlockType::kNVFP4:
      return {"nvfp4", 40, 64, 36};
    case BlockType::kQ1_0:
      return {"q1_0", 41, 128, 18};
    case BlockType::kQ2_0:
      return {"q2_0", 42, 64, 18};
  }
  return {};
}

/// Quantizes rows to blocks.
///
/// Each row is cut into blocks of block_info(type).values values; the bytes of consecutive blocks
/// are contiguous. All arithmetic is float32, one rounding per operation, sums from left to right.
///
/// @param x           float32[rows * row_length], finite.
/// @param row_length  values of a row: a multiple of the block's.
/// @param importance  float32[row_length], one weight for each column, finite and not negative, or
///                    empty. f16, bf16, q8_0, tq1_0, tq2_0, mxfp4, nvfp4, q1_0 and q2_0 ignore it.
/// @param out         uint8[x.size() / values * bytes], must not overlap.
/// @return kShapeMismatch if a length does not fit: nothing is written. kNonFinite for NaN or an
///         infinity in x or importance: part of out may have been written.
/// Source: ggml_quantize_chunk() of ggml 0.27.0, compiled without contraction. Where 1 / scale
///         overflows (blocks of subnormal values only), codes match the x86-64 build.
[[nodiscard]] Status quantize_blocks(std::span<const float> x, std::size_t row_length,
                                     BlockType type, std::span<const float> importance,
                                     std::span<std::uint8_t> out);

/// Dequantizes blocks to float32 values.
/// @param blocks  uint8[blocks * bytes], any bytes.
/// @param out     float32[blocks * values], written only on kOk; must not overlap.
/// @return kShapeMismatch if a length does not fit.
/// Source: ggml_get_type_traits(type)->to_float; q1_0 and q2_0 included.
[[nodiscard]] Status dequantize_blocks(std::span<const std::uint8_t> blocks, BlockType type,
                                       std::span<float> out);

}  // namespace zeropoint
