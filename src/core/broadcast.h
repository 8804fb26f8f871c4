// Runs an operation over broadcast operands: how quantize, dequantize and fake_quantize meet every
// granularity with the same few kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/slices.h"
#include "zeropoint/quantize.h"

namespace zeropoint {

/// Over a tensor of `size` values with qparams that must broadcast to its shape. Checks them all.
/// @return kShapeMismatch, kSizeOverflow, kInvalidScale, kInvalidZeroPoint; then nothing was run.
[[nodiscard]] Status run_checked(const Pass& pass, std::size_t size, Shape shape,
                                 const QParamsView& qparams, DType dtype, std::size_t out_size);

/// Over a tensor, scales and zero points that nobody has validated and that broadcast with each
/// other, as the notebooks do.
/// @return kShapeMismatch, kSizeOverflow; then nothing was run.
[[nodiscard]] Status run_unchecked(const Pass& pass, std::size_t size, Shape shape,
                                   const TensorView<const float>& scale,
                                   const TensorView<const float>& zero_point, std::int32_t nan_code,
                                   std::size_t out_size);

}  // namespace zeropoint
