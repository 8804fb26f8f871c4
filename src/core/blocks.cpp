#include "zeropoint/blocks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "core/parallel.h"
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

/// Time to quantize a value, in multiplications of a layer (ten per nanosecond and thread).
std::uint64_t products_per_value(BlockType type, bool has_weights) {
  switch (type) {
    case BlockType::kF16:
    case BlockType::kBF16:
    case BlockType::kQ8_0:
    case BlockType::kTQ1_0:
    case BlockType::kTQ2_0:
    case BlockType::kQ1_0:
    case BlockType::kQ2_0:
      return 4;
    case BlockType::kQ4_0:
    case BlockType::kQ4_1:
    case BlockType::kQ5_0:
    case BlockType::kQ5_1:
      return has_weights ? 128 : 4;
    default:
      return 128;  // searches for scales, or for codes of 4-bit floats
  }
}

/// Rows to quantize, copied by each thread.
struct Rows {
  const float* x;
  std::size_t row_length;
  BlockType type;
  const float* weights;  ///< one for each column, or null
  std::uint8_t* out;
};

/// Quantizes `count` values of one row, tile by tile.
/// @return false if a value is not finite; tiles before it have been quantized
bool quantize_values(const Rows& rows, const float* x, std::size_t count, float square) {
  const BlockInfo info = block_info(rows.type);
  const auto start = static_cast<std::size_t>(x - rows.x);
  for (std::size_t i = 0; i < count; i += kTile) {
    const std::size_t size = std::min(kTile, count - i);
    if (!kernels::all_finite_f32(x + i, size)) return false;
    kKernels[static_cast<std::size_t>(rows.type)].quantize({
        x + i,
        rows.weights == nullptr ? nullptr : rows.weights + i,
        square,
        size / info.values,
        rows.out + (start + i) / info.values * info.bytes,
    });
  }
  return true;
}

/// Quantizes values [first, last): whole blocks or, with weights, whole rows.
/// @return false if a value is not finite; values before it may have been quantized
bool quantize_range(const Rows& rows, std::size_t first, std::size_t last) {
  if (rows.weights == nullptr) {
    return quantize_values(rows, rows.x + first, last - first, 0.0F);
  }
  for (std::size_t start = first; start < last; start += rows.row_length) {
    const float* row = rows.x + start;
    // 32-value types use the mean square of the whole row in their weights.
    const bool needs_square = block_info(rows.type).values == 32;
    const float square = needs_square ? mean_square({row, rows.row_length}) : 0.0F;
    if (!quantize_values(rows, row, rows.row_length, square)) return false;
  }
  return true;
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
  const Rows rows{x.data(), row_length, type, has_weights ? importance.data() : nullptr,
                  out.data()};
  const std::size_t unit = has_weights ? row_length : info.values;
  const std::size_t units = x.size() / unit;
  const std::size_t parts = part_count(units, products_per_value(type, has_weights) * x.size());
  if (parts == 1) {
    return quantize_range(rows, 0, x.size()) ? Status::kOk : Status::kNonFinite;
  }
  if (!kernels::all_finite_f32(x.data(), x.size())) return Status::kNonFinite;
  parallel_for(parts, [=](std::size_t part) {
    quantize_range(rows, part_start(units, part, parts) * unit,
                   part_start(units, part + 1, parts) * unit);
  });
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
