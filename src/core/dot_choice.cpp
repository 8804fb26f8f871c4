#include "core/dot_choice.h"

#if ZEROPOINT_RELAXED

namespace zeropoint {
namespace {

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

Bytes bytes_format(const std::uint8_t* qx, std::size_t n) {
  if (used != LayerKernels::kBaseline && kernels::all_below_128(qx, n)) return Bytes::kI7;
  return used == LayerKernels::kRelaxed ? Bytes::kI7x2 : Bytes::kI16;
}

}  // namespace zeropoint

#endif
