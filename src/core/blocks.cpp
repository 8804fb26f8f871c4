#include "zeropoint/blocks.h"

#include <algorithm>
#include <iterator>

#include "kernels/blocks.h"

namespace zeropoint {
namespace {

struct Kernels {
  kernels::QuantizeBlocks quantize;
  kernels::DequantizeBlocks dequantize;
};

/// Indexed by BlockType.
constexpr Kernels kKernels[] = {
    {kernels::quantize_f16, kernels::dequantize_f16},
    {kernels::quantize_bf16, kernels::dequantize_bf16},
    {kernels::quantize_q8_0, kernels::dequantize_q8_0},
    {kernels::quantize_q4_0, kernels::dequantize_q4_0},
    {kernels::quantize_q4_1, kernels::dequantize_q4_1},
    {kernels::quantize_q5_0, kernels::dequantize_q5_0},
    {kernels::quantize_q5_1, kernels::dequantize_q5_1},
    {kernels::quantize_q2_k, kernels::dequantize_q2_k},
    {kernels::quantize_q3_k, kernels::dequantize_q3_k},
    {kernels::quantize_q4_k, kernels::dequantize_q4_k},
    {kernels::quantize_q5_k, kernels::dequantize_q5_k},
    {kernels::quantize_q6_k, kernels::dequantize_q6_k},
    {kernels::quantize_iq4_nl, kernels::dequantize_iq4_nl},
    {kernels::quantize_iq4_xs, kernels::dequantize_iq4_xs},
    {kernels::quantize_tq1_0, kernels::dequantize_tq1_0},
    {kernels::quantize_tq2_0, kernels::dequantize_tq2_0},
    {kernels::quantize_mxfp4, kernels::dequantize_mxfp4},
    {kernels::quantize_nvfp4, kernels::dequantize_nvfp4},
    {kernels::quantize_q1_0, kernels::dequantize_q1_0},
    {kernels::quantize_q2_0, kernels::dequantize_q2_0},
};
static_assert(std::size(kKernels) == kBlockTypes);

/// Values checked and then quantized per run, so that they stay in the first-level cache.
constexpr std::size_t kTile = 4096;

bool takes_importance(BlockType type) {
  switch (type) {
    case BlockType::kQ4_0:
    case BlockType::kQ4_1:
    case BlockType::kQ5_0:
    case BlockType::kQ5_1:
    case BlockType::kQ2_K:
    case BlockType::kQ3_K:
    case BlockType::kQ4_K:
    case BlockType::kQ5_K:
    case BlockType::kQ6_K:
    case BlockType::kIQ4_NL:
    case BlockType::kIQ4_XS:
      return true;
    default:
      return false;
  }
}

float mean_square(std::span<const float> x) {
  float sum = 0.0F;
  for (const float value : x) sum += value * value;
  return sum / static_cast<float>(x.size());
}

}  // namespace

Status quantize_blocks(std::span<const float> x, std::size_t row_length, BlockType type,
                       std::span<const float> importance, std::span<std::uint8_t> out) {
  const BlockInfo info = block_info(type);
  if (x.empty()) return out.empty() ? Status::kOk : Status::kShapeMismatch;
  if (row_length == 0 || row_length % info.values != 0 || x.size() % row_length != 0 ||
      out.size() != x.size() / info.values * info.bytes ||
      (!importance.empty() && importance.size() != row_length)) {
    return Status::kShapeMismatch;
  }
  if (!kernels::all_finite_f32(importance.data(), importance.size())) return Status::kNonFinite;
  const bool has_weights = !importance.empty() && takes_importance(type);
  for (std::size_t start = 0; start < x.size(); start += row_length) {
    const std::span<const float> row = x.subspan(start, row_length);
    // 32-value types use the mean square of the whole row in their weights.
    float square = 0.0F;
    if (has_weights && info.values == 32) square = mean_square(row);
    for (std::size_t i = 0; i < row_length; i += kTile) {
      const std::span<const float> tile = row.subspan(i, std::min(kTile, row_length - i));
      if (!kernels::all_finite_f32(tile.data(), tile.size())) return Status::kNonFinite;
      kKernels[static_cast<std::size_t>(type)].quantize({
          tile.data(),
          has_weights ? importance.data() + i : nullptr,
          square,
          tile.size() / info.values,
          out.data() + (start + i) / info.values * info.bytes,
      });
    }
  }
  return Status::kOk;
}

Status dequantize_blocks(std::span<const std::uint8_t> blocks, BlockType type,
                         std::span<float> out) {
  const BlockInfo info = block_info(type);
  const std::size_t count = blocks.size() / info.bytes;
  if (blocks.size() % info.bytes != 0 || out.size() % info.values != 0 ||
      out.size() / info.values != count) {
    return Status::kShapeMismatch;
  }
  kKernels[static_cast<std::size_t>(type)].dequantize(blocks.data(), count, out.data());
  return Status::kOk;
}

}  // namespace zeropoint
