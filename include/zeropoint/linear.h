// The linear layer: y = x . w^T + bias, with float32 activations and float or quantized weights, or
// with both quantized (W8A8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "zeropoint/dtype.h"
#include "zeropoint/qparams.h"
#include "zeropoint/range.h"
#include "zeropoint/status.h"

namespace zeropoint {

/// Accuracy of a layer's sums.
enum class Accumulate {
  /// Exact sums of activations rounded to 28 bits, or double precision where the rounded sums could
  /// exceed the bound below: the same bits in every build, on every engine and for every batch
  /// size.
  ///   |y - exact| <= (K + 1) 2^-24 sum|x w| + 2^-24 |bias|, for every finite input whose result
  ///   float32 can hold as a normal number; usually one rounding from exact.
  /// Float weights: multiplied and added in double, in a fixed order.
  kExact,
  /// Float weights: faster, with float32 sums:
  ///   |y - exact| <= (K + 2) FLT_EPSILON (sum|x w| + |bias|)
  /// as long as float32 holds every product and partial sum as a normal number.
  /// Quantized weights: faster with relaxed SIMD. Activations are rounded to 21 bits if this is
  /// certain to keep the bound of kExact; otherwise the same as kExact.
  kFloat32,
};

/// Mapping from weights to scales and zero points.
enum class WeightGranularity {
  kPerTensor,  ///< scales[1]
  kPerOutput,  ///< scales[N]: per channel, axis 0
  kPerInput,   ///< scales[K]: per channel, axis 1
  kPerGroup,   ///< scales[N * ceil(K / group_size)]: runs of group_size inputs; the last may be
               ///< short
};

/// Quantized weights of a linear layer: w[n][k] = (codes[n][k] - zero_point) * scale, or
/// codes[n][k] * scale + offset.
/// Code: int8 or uint8.
template <CodeType Code>
requires(sizeof(Code) == 1) struct QuantizedWeight {
  std::span<const Code> codes;  ///< [N][K], one per byte; bits beyond the stored ones are dropped
  DType dtype = DType::kInt8;   ///< 1 to 8 bits
  WeightGranularity granularity = WeightGranularity::kPerTensor;
  std::size_t group_size = 0;  ///< for kPerGroup: 1 to 2^32 - 1
  std::span<const float> scales;
  std::span<const std::int32_t> zero_points;  ///< as many as scales; none with offsets
  std::span<const float> offsets = {};        ///< as many as scales, finite; none with zero points
};

/// y = x . w^T + bias with float weights.
///
/// @param x     float32[M][K]. @param w  float32[N][K]. @param bias  float32[N], or empty for none.
/// @param out   float32[M][N], written only on kOk; must not overlap the inputs. M, N, K >= 0.
/// @param stride  values from one row of out to the next, for weights that are the rows of a larger
///                one: at least N; out then ends with the last row's N values.
/// @return kShapeMismatch, kSizeOverflow.
/// NaN and infinities propagate as in torch.nn.functional.linear.
/// Source: torch.nn.functional.linear.
[[nodiscard]] Status linear(std::span<const float> x, std::size_t m, std::size_t k,
                            std::span<const float> w, std::size_t n, std::span<const float> bias,
                            Accumulate accumulate, std::span<float> out, std::size_t stride);

/// The same for whole rows of out.
[[nodiscard]] inline Status linear(std::span<const float> x, std::size_t m, std::size_t k,
                                   std::span<const float> w, std::size_t n,
                                   std::span<const float> bias, Accumulate accumulate,
                                   std::span<float> out) {
  return linear(x, m, k, w, n, bias, accumulate, out, n);
}

/// Shape and layout of a quantized weight to be packed.
struct WeightShape {
  std::size_t n = 0;  ///< outputs
  std::size_t k = 0;  ///< inputs
  DType dtype = DType::kInt8;
  WeightGranularity granularity = WeightGranularity::kPerTensor;
  std::size_t group_size = 0;  ///< for kPerGroup
};

/// Bytes that pack_weight() writes: a header; the codes at 2, 4 or 8 bits each, the smallest width
/// that holds the dtype's codes; and for every eight outputs 96 bytes, 64 bytes per group of inputs
/// that share a scale, and 32 bytes per 1024 inputs of a group, rounded up. Scales per input take
/// another 8 bytes each. Codes are padded to a multiple of eight outputs and, at the end of each
/// group, to a multiple of four inputs (2 bits: eight). 0 if the shape cannot be packed.
[[nodiscard]] std::size_t packed_weight_size(const WeightShape& shape);

/// Correction that a packed weight adds to its codes.
enum class WeightShift {
  kNone,        ///< nothing: every zero point is the code that is stored as 0
  kZeroPoints,  ///< integer zero points
  kOffsets,     ///< real offsets
};

/// Packs a quantized weight for linear(): panels of eight outputs, four inputs of an output at a
/// time, in one block that may be copied to any address aligned to 16.
///
/// @param w     codes [N][K], scales and zero points or offsets. @param n, k  N and K, >= 0.
/// @param out   [packed_weight_size()] bytes, aligned to 16, written only on kOk.
/// @return kShapeMismatch, kInvalidScale, kInvalidZeroPoint, kInvalidOffset, kInvalidGroupSize;
///         kSizeOverflow also if the bytes of the block, or of a row of activations in linear(),
///         exceed 32 bits; kUnsupportedDType for a dtype of more than 8 bits or codes of another
///         type.
/// Source: this library's own layout; torch.ao.nn.quantized.Linear packs its weight, too.
template <typename Code>
[[nodiscard]] Status pack_weight(const QuantizedWeight<Code>& w, std::size_t n, std::size_t k,
                                 std::span<std::byte> out);

/// Begins a packed weight without rows, for pack_rows(). Rows may arrive in pieces, so that memory
/// has to hold the packed weight and one piece, but never the whole weight as well.
///
/// @param shape   shape.n is the capacity in rows.
/// @param shift   kNone if every zero point is the code that is stored as 0: 0 if signed; 128 for
///                uint5 to uint8, 8 for uint3 and uint4, 2 for uint1 and uint2. With scales per
///                input, kNone and kZeroPoints are the same.
/// @param out     [packed_weight_size()] bytes, aligned to 16.
/// @return as pack_weight().
[[nodiscard]] Status begin_weight(const WeightShape& shape, WeightShift shift,
                                  std::span<std::byte> out);

/// Packs rows first ... first + rows - 1 of a weight. Rows may be packed again; the rows after them
/// do not change.
/// The bytes equal those of pack_weight() with all rows at once.
///
/// @param w       the rows' codes [rows][K]; scales and zero points of these rows, or those of all
///                rows where they are shared (kPerTensor, kPerInput).
/// @param first   a multiple of 8, at most the number of rows packed so far.
/// @param rows    a multiple of 8, except for the last rows.
/// @param weight  a block of begin_weight(). After a failure its new rows are unspecified.
/// @return kShapeMismatch, also beyond the capacity; kInvalidScale; kInvalidZeroPoint;
///         kInvalidOffset; kUnsupportedDType.
template <typename Code>
[[nodiscard]] Status pack_rows(const QuantizedWeight<Code>& w, std::size_t first, std::size_t rows,
                               std::byte* weight);

/// Copies a packed weight to a block with room for more rows.
/// @param out  [packed_weight_size()] bytes for `capacity` rows, aligned to 16.
/// @return kShapeMismatch, also if the capacity is below the rows packed so far.
[[nodiscard]] Status grow_weight(const std::byte* weight, std::size_t capacity,
                                 std::span<std::byte> out);

/// Keeps the first `rows` rows of a packed weight and drops the others, for example those of an
/// append that failed.
void keep_rows(std::byte* weight, std::size_t rows);

/// Writes the codes of the packed rows from `first` on, one per byte, as they were passed to
/// pack_rows(), without bits beyond the stored ones.
/// @param codes  [rows][K]; its length gives the number of rows.
/// @return kShapeMismatch.
[[nodiscard]] Status unpack_rows(const std::byte* weight, std::size_t first,
                                 std::span<std::uint8_t> codes);

/// The shape [N][K] of a weight.
struct MatrixShape {
  std::size_t n;
  std::size_t k;
};

/// The shape of a packed weight.
/// @param weight  a block written by pack_weight(); not validated.
[[nodiscard]] MatrixShape packed_weight_shape(const std::byte* weight);

/// Scratch bytes for linear(), linear_dynamic() and linear_static() with m rows of activations.
/// @param weight  a packed weight.
[[nodiscard]] std::size_t linear_scratch_size(const std::byte* weight, std::size_t m);

/// y = x . w^T + bias with a packed weight, which is never expanded.
///
/// @param x        float32[M][K].
/// @param weight   a block written by pack_weight(); not validated.
/// @param bias     float32[N], or empty for none.
/// @param scratch  [linear_scratch_size()] bytes, aligned to 16.
/// @param out      float32[M][N], written only on kOk; must not overlap the inputs.
/// @return kShapeMismatch, also for too little scratch; kSizeOverflow.
/// NaN and infinities propagate as in torch.nn.functional.linear.
/// Source: quantized_linear_W8A32_without_bias of notebook 5 with w = s * (q - z), the correct
///         form; the notebook itself adds z.
[[nodiscard]] Status linear(std::span<const float> x, std::size_t m, const std::byte* weight,
                            std::span<const float> bias, Accumulate accumulate,
                            std::span<std::byte> scratch, std::span<float> out);

// ---- W8A8: activations quantized too

/// Scale and zero point of activations, chosen from their range.
///
/// Computed in double from the range widened to 0, with PyTorch's edge cases: a scale whose float32
/// value is 0 or has an infinite reciprocal becomes 0.1; a scale below 6.1e-5 is raised to 6.1e-5,
/// and the range is widened to match.
///
/// @param range         min <= max, finite.
/// @param qmin, qmax    the codes; halved (toward zero) by reduce_range.
/// @return kNonFinite unless min <= max and both are finite; kInvalidZeroPoint unless qmin < qmax,
///         after halving as well.
/// Source: quant_utils::ChooseQuantizationParams, torch._choose_qparams_per_tensor. Not the same
///         function as an observer's calculate_qparams() (float32, other limits).
[[nodiscard]] Status choose_quantization_params(Range range, std::int32_t qmin, std::int32_t qmax,
                                                bool reduce_range, QParams& out);

/// y = x . w^T + bias with x quantized on the fly to quint8, one scale for the whole input.
///
///   acc[m][n] = sum_k (qx[m][k] - zero_point) * w[n][k]                      exact
///   y = float(acc) * (float(scale) * w_scale[n]) + bias[n]                   in float32
///
/// With one scale per group of inputs, acc[m][n][g] being the sum over group g:
///
///   y = float(sum_g double(acc[m][n][g]) * w_scale[n][g]) * float(scale) + bias[n]
///
/// The groups are added in double, in order, in parts of at most 1024 inputs; the rest is float32.
///
/// @param qx          uint8[M][K], made by quantize_per_tensor() with `activation`.
/// @param activation  zero point in [0, 255]; the scale is not validated.
/// @param weight      packed: 2 to 8 bits, per tensor, per output or per group, all zero points 0.
/// @param bias        float32[N] or empty.
/// @param scratch     [linear_scratch_size()] bytes, aligned to 16.
/// @param out         float32[M][N], written only on kOk.
/// @return kShapeMismatch, also for too little scratch; kSizeOverflow; kInvalidZeroPoint;
///         kUnsupportedDType for another weight.
/// Source: torch.ao.nn.quantized.dynamic.Linear (qnnpack's bits) for 8 bits, per tensor or output;
///         this library's extension of it for fewer bits and for groups.
[[nodiscard]] Status linear_dynamic(std::span<const std::uint8_t> qx, std::size_t m,
                                    QParams activation, const std::byte* weight,
                                    std::span<const float> bias, std::span<std::byte> scratch,
                                    std::span<float> out);

/// q = x . w^T + bias with quantized input and output.
///
///   acc[m][n] = sum_k (qx[m][k] - zero_point_x) * w[n][k]                    exact
///   q = clamp(round_half_even(float(acc + bias[n]) * multiplier[n]) + zero_point_y, 0, 255)
///   multiplier[n] = float(scale_x * w_scale[n] / scale_y)          in double, rounded once
///
/// The same bits in every build; PyTorch's engines differ from one another here.
///
/// @param input            scale_x, not validated (a product that is NaN becomes the code 0), and
///                         zero_point_x in [0, 255].
/// @param weight           packed: 8 bits, per tensor or per output, all zero points 0.
/// @param scratch          as above.
/// @param bias             float32[N] in units of scale_x * w_scale[n], or empty: quantize_bias().
/// @param output           scale_y, finite and > 0, and zero_point_y in [0, 255].
/// @param out              uint8[M][N], written only on kOk.
/// @param relu             clamp to zero_point_y ... 255: the codes of max(y, 0).
/// @return kShapeMismatch, also for too little scratch; kSizeOverflow; kInvalidScale;
///         kInvalidZeroPoint; kUnsupportedDType for another weight.
/// Source: Jacob et al. 2018, section 2.2; torch.ao.nn.quantized.Linear, and LinearReLU of
///         torch.ao.nn.intrinsic.quantized.
[[nodiscard]] Status linear_static(std::span<const std::uint8_t> qx, std::size_t m, QParams input,
                                   const std::byte* weight, std::span<const float> bias,
                                   QParams output, std::span<std::byte> scratch,
                                   std::span<std::uint8_t> out, bool relu = false);

/// Bias for linear_static(): out[n] = round_half_even(bias[n] / (scale_x * w_scale[n])), the
/// quotient in double. The result is float32: int32 would saturate where an output's weights are
/// tiny next to its bias, because the step is then smaller than |bias| / 2^31. A NaN quotient
/// becomes 0.
/// @param bias  float32[N]. @param w_scales  float32[N], or one for all. @param out  float32[N].
/// @return kShapeMismatch.
/// Source: Jacob et al. 2018, section 2.4, which uses int32.
[[nodiscard]] Status quantize_bias(std::span<const float> bias, double scale_x,
                                   std::span<const float> w_scales, std::span<float> out);

}  // namespace zeropoint
