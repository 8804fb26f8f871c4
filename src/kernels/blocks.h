// Contract of the kernels behind quantize_blocks() and dequantize_blocks(): one pair per block
// type, over whole blocks. Values are finite. Parity: byte-identical to ggml's scalar code, for
// every finite float.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zeropoint::kernels {

/// Whole blocks of one row, to be quantized.
struct BlockRow {
  const float* x;
  const float* importance;  ///< one weight for each value, or null
  /// Mean of the squares of the whole row, for types of 32 values with importance.
  float mean_square;
  std::size_t blocks;
  std::uint8_t* out;
};

using QuantizeBlocks = void (*)(const BlockRow& row);
using DequantizeBlocks = void (*)(const std::uint8_t* blocks, std::size_t count, float* out);

void quantize_f16(const BlockRow& row);
void quantize_bf16(const BlockRow& row);
void quantize_q8_0(const BlockRow& row);
void quantize_q4_0(const BlockRow& row);
void quantize_q4_1(const BlockRow& row);
void quantize_q5_0(const BlockRow& row);
void quantize_q5_1(const BlockRow& row);
void quantize_q2_k(const BlockRow& row);
void quantize_q3_k(const BlockRow& row);
void quantize_q4_k(const BlockRow& row);
void quantize_q5_k(const BlockRow& row);
void quantize_q6_k(const BlockRow& row);
void quantize_iq4_nl(const BlockRow& row);
void quantize_iq4_xs(const BlockRow& row);
void quantize_tq1_0(const BlockRow& row);
void quantize_tq2_0(const BlockRow& row);
void quantize_mxfp4(const BlockRow& row);
void quantize_nvfp4(const BlockRow& row);
void quantize_q1_0(const BlockRow& row);
void quantize_q2_0(const BlockRow& row);

void dequantize_f16(const std::uint8_t* blocks, std::size_t count, float* out);
void dequantize_bf16(const std::uint8_t* blocks, std::size_t count, float* out);
void dequantize_q8_0(const std::uint8_t* blocks, std::size_t count, float* out);
void dequantize_q4_0(const std::uint8_t* blocks, std::size_t count, float* out);
void dequantize_q4_1(const std::uint8_t* blocks, std::size_t count, float* out);
void dequantize_q5_0(const std::uint8_t* blocks, std::size_t count, float* out);
void dequantize_q5_1(const std::uint8_t* blocks, std::size_t count, float* out);
void dequantize_q2_k(const std::uint8_t* blocks, std::size_t count, float* out);
void dequantize_q3_k(const std::uint8_t* blocks, std::size_t count, float* out);
void dequantize_q4_k(const std::uint8_t* blocks, std::size_t count, float* out);
void dequantize_q5_k(const std::uint8_t* blocks, std::size_t count, float* out);
void dequantize_q6_k(const std::uint8_t* blocks, std::size_t count, float* out);
void dequantize_iq4_nl(const std::uint8_t* blocks, std::size_t count, float* out);
void dequantize_iq4_xs(const std::uint8_t* blocks, std::size_t count, float* out);
void dequantize_tq1_0(const std::uint8_t* blocks, std::size_t count, float* out);
void dequantize_tq2_0(const std::uint8_t* blocks, std::size_t count, float* out);
void dequantize_mxfp4(const std::uint8_t* blocks, std::size_t count, float* out);
void dequantize_nvfp4(const std::uint8_t* blocks, std::size_t count, float* out);
void dequantize_q1_0(const std::uint8_t* blocks, std::size_t count, float* out);
void dequantize_q2_0(const std::uint8_t* blocks, std::size_t count, float* out);

/// Whether all values are finite.
bool all_finite_f32(const float* x, std::size_t n);

}  // namespace zeropoint::kernels
