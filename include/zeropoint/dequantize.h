// integer values + qparams -> tensor.
#pragma once

#include <cstdint>
#include <span>

#include "zeropoint/quantize.h"

namespace zeropoint {

/// Dequantizes codes.
///
///   out[i] = scale * (float(codes[i]) - float(zero_point))
///
/// in separately rounded float32 operations (int32 codes are rounded to float32 first; by the rules
/// kOnnx and kTorch only their exact difference is). With offsets in place of zero points:
///
///   out[i] = scale * float(codes[i]) + offset
///
/// the product rounded before the sum.
///
/// @param codes    of the dtype's storage, any shape.
/// @param qparams  see QParamsView; the shape must broadcast to the codes' own.
/// @param out      float32[codes.size()], written only on kOk; must not overlap the codes.
/// @return kShapeMismatch, kSizeOverflow, kInvalidScale, kInvalidZeroPoint, kInvalidOffset,
///         kUnsupportedDType; kInvalidAxis for groups of a 0-d tensor.
/// Source: linear_dequantization of the notebooks.
[[nodiscard]] Status dequantize(const AnyCodes<const void>& codes, Shape shape,
                                const QParamsView& qparams, DType dtype, std::span<float> out);
template <typename Code>
[[nodiscard]] Status dequantize(const TensorView<const Code>& codes, const QParamsView& qparams,
                                DType dtype, std::span<float> out) {
  return dequantize(AnyCodes<const void>(codes.values), codes.shape, qparams, dtype, out);
}

/// The notebooks' function for qparams of any kind and any broadcasting shape; only shapes are
/// validated.
///
///   out[i] = scale * (float(codes) - zero_point)
///
/// @param scale, zero_point  float32, of shapes that broadcast with the codes.
/// @param out  float32[count of the broadcast shape], written only on kOk; must not overlap the
///             others.
/// @return kShapeMismatch, kSizeOverflow.
/// Source: linear_dequantization of notebooks 1 to 5 in PyTorch 2.6.
[[nodiscard]] Status linear_dequantization(const AnyCodes<const void>& codes, Shape shape,
                                           const TensorView<const float>& scale,
                                           const TensorView<const float>& zero_point,
                                           std::span<float> out);
template <typename Code>
[[nodiscard]] Status linear_dequantization(const TensorView<const Code>& codes,
                                           const TensorView<const float>& scale,
                                           const TensorView<const float>& zero_point,
                                           std::span<float> out) {
  return linear_dequantization(AnyCodes<const void>(codes.values), codes.shape, scale, zero_point,
                               out);
}

/// Quantizes and dequantizes in one pass.
///
///   out[i] = scale * (float(quantize(x[i])) - float(zero_point))       as in dequantize()
///   out[i] = scale * float(quantize(x[i])) + offset                    with offsets
///
/// Bit-identical to dequantize(quantize(x)), without storing codes.
///
/// @param x    float32, any shape. @param qparams, dtype  as quantize().
/// @param out  float32[x.size()], written only on kOk; may be x itself.
/// @return the same statuses as quantize().
/// Source: linear_q_with_scale_and_zero_point, then linear_dequantization. torch.fake_quantize_*
///         rounds before adding the zero point and multiplies by the reciprocal.
[[nodiscard]] Status fake_quantize(const TensorView<const float>& x, const QParamsView& qparams,
                                   DType dtype, std::span<float> out);

// ---- the torch family

/// out[i] = scale * float(codes[i] - zero_point), the difference in wrapping int32 arithmetic.
/// @param codes       of a qint8, quint8 or qint32, here and below.
/// @param scale       units per step, rounded to float32 first; not validated, as in PyTorch.
/// @param zero_point  a code of the dtype; not validated either.
/// @param out         float32[codes.size()], written only on kOk; must not overlap the codes.
/// @return kShapeMismatch, kUnsupportedDType.
/// Source: Tensor.dequantize() of a per_tensor_affine tensor.
[[nodiscard]] Status dequantize_per_tensor(const AnyCodes<const void>& codes, double scale,
                                           std::int32_t zero_point, std::span<float> out);
template <typename Code>
[[nodiscard]] Status dequantize_per_tensor(std::span<const Code> codes, double scale,
                                           std::int32_t zero_point, std::span<float> out) {
  return dequantize_per_tensor(AnyCodes<const void>(codes), scale, zero_point, out);
}

/// out = float(double(float(code) - float(zero_point)) * scale), the product in double.
/// @param codes        of any shape of rank >= 1.
/// @param scales       float64[shape[axis]].
/// @param zero_points  int32[shape[axis]].
/// @param axis         0 <= axis < rank.
/// @param out          float32[codes.size()], written only on kOk; must not overlap the codes.
/// @return kInvalidAxis, kShapeMismatch, kSizeOverflow, kUnsupportedDType.
/// Source: Tensor.dequantize() of a per_channel_affine tensor.
[[nodiscard]] Status dequantize_per_channel(const AnyCodes<const void>& codes, Shape shape,
                                            std::span<const double> scales,
                                            std::span<const std::int32_t> zero_points,
                                            std::int32_t axis, std::span<float> out);
template <typename Code>
[[nodiscard]] Status dequantize_per_channel(const TensorView<const Code>& codes,
                                            std::span<const double> scales,
                                            std::span<const std::int32_t> zero_points,
                                            std::int32_t axis, std::span<float> out) {
  return dequantize_per_channel(AnyCodes<const void>(codes.values), codes.shape, scales,
                                zero_points, axis, out);
}

/// out = (float(code) - zero_point) * scale, all in float32.
/// @param codes, axis, out     as dequantize_per_channel().
/// @param scales, zero_points  float32[shape[axis]].
/// @return kInvalidAxis, kShapeMismatch, kSizeOverflow, kUnsupportedDType.
/// Source: Tensor.dequantize() of a per_channel_affine_float_qparams tensor.
[[nodiscard]] Status dequantize_per_channel_float_qparams(const AnyCodes<const void>& codes,
                                                          Shape shape,
                                                          std::span<const float> scales,
                                                          std::span<const float> zero_points,
                                                          std::int32_t axis, std::span<float> out);
template <typename Code>
[[nodiscard]] Status dequantize_per_channel_float_qparams(const TensorView<const Code>& codes,
                                                          std::span<const float> scales,
                                                          std::span<const float> zero_points,
                                                          std::int32_t axis, std::span<float> out) {
  return dequantize_per_channel_float_qparams(AnyCodes<const void>(codes.values), codes.shape,
                                              scales, zero_points, axis, out);
}

/// The range of codes for a fake quantization; min <= max.
struct QuantRange {
  std::int32_t min;
  std::int32_t max;
};

/// Quantizes and dequantizes as quantization-aware training does in its forward pass.
///
///   n = round_half_even(x[i] * (1 / scale)) + zero_point
///   out[i] = float((double(clamp(n, quant_min, quant_max)) - zero_point) * double(float(scale)))
///
/// @param x         float32, of any length.
/// @param scale     units per step, rounded to float32 first; not validated, as in PyTorch.
/// @param overflow  kTorch: NaN, infinities and |n| >= 2^63 become quant_min.
/// @param out       float32[x.size()], written only on kOk; may be x itself.
/// @return kInvalidZeroPoint if the zero point is not in the range, kShapeMismatch.
/// Source: torch.fake_quantize_per_tensor_affine.
[[nodiscard]] Status fake_quantize_per_tensor(std::span<const float> x, double scale,
                                              std::int32_t zero_point, QuantRange quant_range,
                                              Overflow overflow, std::span<float> out);

/// The same with qparams per index of an axis.
/// @param x            float32, rank >= 1.
/// @param scales       float32[shape[axis]].
/// @param zero_points  int32[shape[axis]], in the range.
/// @param axis         0 <= axis < rank.
/// @param out          float32[x.size()], written only on kOk; may be x itself.
/// @return kInvalidZeroPoint, also if the range holds no code; kShapeMismatch, kInvalidAxis,
///         kSizeOverflow.
/// Source: torch.fake_quantize_per_channel_affine with int32 zero points.
[[nodiscard]] Status fake_quantize_per_channel(const TensorView<const float>& x,
                                               std::span<const float> scales,
                                               std::span<const std::int32_t> zero_points,
                                               std::int32_t axis, QuantRange quant_range,
                                               Overflow overflow, std::span<float> out);

/// The same with floating zero points: n = round_half_even(zero_point + x * (1 / scale)), never
/// fused. PyTorch's AVX2 build fuses at some positions, so its results may differ within an ulp of
/// a tie. A scale of 0 is used unchanged; quantize_per_channel_float_qparams() replaces it by 1.
/// @param zero_points  float32[shape[axis]], not validated.
/// @return kInvalidZeroPoint if the range holds no code; kShapeMismatch, kInvalidAxis,
///         kSizeOverflow.
/// Source: torch.fake_quantize_per_channel_affine with float32 zero points.
[[nodiscard]] Status fake_quantize_per_channel_float_qparams(
    const TensorView<const float>& x, std::span<const float> scales,
    std::span<const float> zero_points, std::int32_t axis, QuantRange quant_range,
    Overflow overflow, std::span<float> out);

}  // namespace zeropoint
