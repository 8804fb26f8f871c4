#include "core/dot_choice.h"

#include <algorithm>

#if ZEROPOINT_RELAXED

namespace zeropoint {
namespace {

using kernels::ByteFormat;
using kernels::Bytes;
using kernels::Digits;

#if defined(__wasm__)
LayerKernels used = LayerKernels::kRelaxed;
#else
LayerKernels used = LayerKernels::kBaseline;
#endif

}  // namespace

void set_layer_kernels(LayerKernels layer_kernels) { used = layer_kernels; }

Digits digits_format(Accumulate accumulate) {
  if (used != LayerKernels::kRelaxed) return Digits::kI16;
  return accumulate == Accumulate::kExact ? Digits::kI7 : Digits::kI7Short;
}

ByteFormat byte_format(const std::uint8_t* qx, std::size_t m, const kernels::Panels& w,
                       std::int32_t zero_point, bool may_list) {
  if (used == LayerKernels::kBaseline) return {Bytes::kI16};
  // With one row the sums of short groups cost more than their dots.
  if (used == LayerKernels::kMixed && m == 1 && w.groups() > 1) return {Bytes::kI16};
  // Largest number of activations outside base ... base + 127 in a row.
  const auto most_outside = [=](std::int32_t base) {
    std::size_t most = 0;
    for (std::size_t row = 0; row < m; ++row) {
      most = std::max(most, kernels::count_outside(qx + row * w.k, w.k, base));
    }
    return most;
  };
  const std::size_t above = most_outside(0);
  if (above == 0) return {Bytes::kI7};
  if (may_list) {
    const std::size_t limit = kernels::most_outside(w.steps);
    if (above <= limit) return {Bytes::kI7Most};
    // Most activations are near 0, and so their codes near the zero point.
    const std::int32_t base = std::clamp(zero_point - 64, 0, 128);
    if (base > 0 && most_outside(base) <= limit) return {Bytes::kI7Most, base};
  }
  return {used == LayerKernels::kRelaxed ? Bytes::kI7x2 : Bytes::kI16};
}

}  // namespace zeropoint

#endif
