// tensor + qparams -> integer values.
#pragma once

#include <cstdint>
#include <span>

#include "zeropoint/dtype.h"
#include "zeropoint/qparams.h"
#include "zeropoint/status.h"
#include "zeropoint/tensor.h"

namespace zeropoint {

/// Quantizes a tensor.
///
///   codes[i] = clamp(round_half_even(x[i] / scale + zero_point), qmin, qmax)
///
/// in separately rounded float32 operations. Infinities saturate, NaN becomes the zero point; int32
/// saturates at 2147483647. With offsets in place of zero points:
///
///   codes[i] = clamp(round_half_even((x[i] - offset) / scale), qmin, qmax)
///
/// and NaN becomes the code of 0. By the other rules of qparams.rule:
///
///   kOnnx    codes[i] = clamp(round_half_even(x[i] / scale) + zero_point, qmin, qmax)
///   kTorch   codes[i] = clamp(round_half_even(x[i] * (1 / scale)) + zero_point, qmin, qmax)
///
/// where kOnnx rounds to int32, saturating, and adds integers, and kTorch adds in float32. Scales
/// may then be any float, negative ones and 0 included; NaN becomes the zero point.
///
/// @param x        float32, any shape.
/// @param qparams  see QParamsView; the shape must broadcast to x's own.
/// @param codes    Code[x.size()], of the dtype's storage; written only on kOk; must not overlap x.
/// @return kShapeMismatch, kSizeOverflow, kInvalidScale, kInvalidZeroPoint, kInvalidOffset,
///         kUnsupportedDType; kInvalidAxis for groups of a 0-d tensor.
/// Source: linear_q_with_scale_and_zero_point of the notebooks, which divides, then adds, then
///         rounds; ONNX's QuantizeLinear; torch.quantize_per_tensor.
[[nodiscard]] Status quantize(const TensorView<const float>& x, const QParamsView& qparams,
                              DType dtype, const AnyCodes<void>& codes);
template <typename Code>
[[nodiscard]] Status quantize(const TensorView<const float>& x, const QParamsView& qparams,
                              DType dtype, std::span<Code> codes) {
  return quantize(x, qparams, dtype, AnyCodes<void>(codes));
}

/// The notebooks' function as PyTorch runs it on x86, quirks included.
///
///   codes[i] = cast(clamp(round_half_even(x / scale + zero_point), float(qmin), float(qmax)))
///
/// The result has the broadcast shape of all three operands, so it may be larger than x. Nothing is
/// validated but shapes: a scale may be 0, negative, infinite or NaN, a zero point fractional. NaN
/// is cast to 0 (int32: to -2147483648), and int32 values of 2^31 and more wrap to -2147483648.
///
/// @param scale, zero_point  float32, of shapes that broadcast with x.
/// @param codes  Code[count of the broadcast shape], written only on kOk; must not overlap the
///               others.
/// @return kShapeMismatch, kSizeOverflow, kUnsupportedDType.
/// Source: linear_q_with_scale_and_zero_point of notebooks 1 to 5 in PyTorch 2.6 on x86-64.
[[nodiscard]] Status linear_q(const TensorView<const float>& x,
                              const TensorView<const float>& scale,
                              const TensorView<const float>& zero_point, DType dtype,
                              const AnyCodes<void>& codes);
template <typename Code>
[[nodiscard]] Status linear_q(const TensorView<const float>& x,
                              const TensorView<const float>& scale,
                              const TensorView<const float>& zero_point, DType dtype,
                              std::span<Code> codes) {
  return linear_q(x, scale, zero_point, dtype, AnyCodes<void>(codes));
}

// ---- the torch family: multiply by the reciprocal, round, then add the zero point

/// Treatment of NaN, infinities and values outside int32.
enum class Overflow {
  kSaturate,  ///< too large: qmax; too small: qmin; NaN: the zero point. A scale whose float32
              ///< reciprocal is not finite (NaN, or |scale| <= 2^-128) gives the codes of kTorch
  kTorch,     ///< as PyTorch 2.6's portable kernel; stated with each function
};

/// Quantizes with one scale and zero point for the whole tensor.
///
///   codes[i] = clamp(round_half_even(x[i] * (1 / scale)) + zero_point, qmin, qmax)
///
/// in separately rounded float32 operations; the zero point is added in float32, so a qint32 loses
/// low bits beyond 2^24.
///
/// @param x           float32[n].
/// @param scale       units per step, rounded to float32 first; not validated, as in PyTorch.
/// @param zero_point  a code of the dtype.
/// @param dtype       qint8, quint8 or qint32.
/// @param overflow    kTorch: NaN, infinities and |t| >= 2^63 become qmin.
/// @param codes       Code[n], written only on kOk; must not overlap x.
/// @return kUnsupportedDType, kInvalidZeroPoint, kShapeMismatch.
/// Source: torch.quantize_per_tensor. The notebooks divide, and add before rounding: quantize().
[[nodiscard]] Status quantize_per_tensor(std::span<const float> x, double scale,
                                         std::int32_t zero_point, DType dtype, Overflow overflow,
                                         const AnyCodes<void>& codes);
template <typename Code>
[[nodiscard]] Status quantize_per_tensor(std::span<const float> x, double scale,
                                         std::int32_t zero_point, DType dtype, Overflow overflow,
                                         std::span<Code> codes) {
  return quantize_per_tensor(x, scale, zero_point, dtype, overflow, AnyCodes<void>(codes));
}

/// Quantizes with one scale and integer zero point per index of an axis, by the formula of
/// quantize_per_tensor().
///
/// @param x            float32, rank >= 1.
/// @param scales       float64[shape[axis]], rounded to float32.
/// @param zero_points  int32[shape[axis]].
/// @param axis         0 <= axis < rank; PyTorch accepts no negative axis.
/// @param dtype, overflow, codes  as quantize_per_tensor().
/// @return kUnsupportedDType, kInvalidZeroPoint, kShapeMismatch, kInvalidAxis, kSizeOverflow.
/// Source: torch.quantize_per_channel with integer zero points (per_channel_affine).
[[nodiscard]] Status quantize_per_channel(const TensorView<const float>& x,
                                          std::span<const double> scales,
                                          std::span<const std::int32_t> zero_points,
                                          std::int32_t axis, DType dtype, Overflow overflow,
                                          const AnyCodes<void>& codes);
template <typename Code>
[[nodiscard]] Status quantize_per_channel(const TensorView<const float>& x,
                                          std::span<const double> scales,
                                          std::span<const std::int32_t> zero_points,
                                          std::int32_t axis, DType dtype, Overflow overflow,
                                          std::span<Code> codes) {
  return quantize_per_channel(x, scales, zero_points, axis, dtype, overflow, AnyCodes<void>(codes));
}

/// Quantizes with one scale and floating zero point per index of an axis.
///
///   codes = clamp(round_half_even(x * (1 / scale) + zero_point), qmin, qmax)
///
/// The zero point is added before rounding; a scale of 0 counts as 1.
///
/// @param x, axis, codes       as quantize_per_channel().
/// @param scales, zero_points  float32[shape[axis]].
/// @param dtype     qint8 or quint8; qint32 divides by zero in PyTorch itself.
/// @param overflow  kTorch: the rounded value is taken as a 64-bit integer and truncated to 32 bits
///                  before clamping, so NaN and infinities become clamp(0, qmin, qmax).
/// @return kUnsupportedDType, kShapeMismatch, kInvalidAxis, kSizeOverflow; zero points are not
///         validated.
/// Source: torch.quantize_per_channel with floating zero points (per_channel_affine_float_qparams).
[[nodiscard]] Status quantize_per_channel_float_qparams(const TensorView<const float>& x,
                                                        std::span<const float> scales,
                                                        std::span<const float> zero_points,
                                                        std::int32_t axis, DType dtype,
                                                        Overflow overflow,
                                                        const AnyCodes<void>& codes);
template <typename Code>
[[nodiscard]] Status quantize_per_channel_float_qparams(const TensorView<const float>& x,
                                                        std::span<const float> scales,
                                                        std::span<const float> zero_points,
                                                        std::int32_t axis, DType dtype,
                                                        Overflow overflow, std::span<Code> codes) {
  return quantize_per_channel_float_qparams(x, scales, zero_points, axis, dtype, overflow,
                                            AnyCodes<void>(codes));
}

}  // namespace zeropoint
