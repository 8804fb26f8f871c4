// Choice between two dot products for quantized layers: the relaxed dot of 16 products or the
// 16-bit dot of 8. Engines compile the relaxed dot to one instruction or to several, so the faster
// one depends on the processor. Sums are the same integers in both cases.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/panels.h"
#include "kernels/relaxed.h"
#include "zeropoint/linear.h"

namespace zeropoint {

#if ZEROPOINT_RELAXED

/// Dots of either kind for 16 weights and one row:
///
///   activations             relaxed    16-bit
///   quint8 of 7 bits        1          2
///   quint8 of 8 bits        2          2    (relaxed: 1 and a list if few inputs need the 8th bit)
///   float32                 4          4
///   float32, short digits   3          4
enum class LayerKernels {
  kRelaxed,  ///< the relaxed dot for every layer
  kMixed,    ///< the relaxed dot only where it replaces two 16-bit dots: quint8 of 7 bits, or of 8
             ///< bits with a list; not for one row with groups. For engines on which it takes up to
             ///< twice as long as the other
  kBaseline,  ///< the 16-bit dot for every layer, as in the baseline build
};

/// Sets the kernels of all layers. Not to be called while a layer is computed. 4-bit weights keep
/// the layout that was current when they were packed; other kernels take longer with it.
void set_layer_kernels(LayerKernels layer_kernels);

/// The digits of float32 activations.
[[nodiscard]] kernels::Digits digits_format(Accumulate accumulate);

/// The format of quint8 activations qx[m][k].
/// @param zero_point  of the activations. @param may_list  whether kI7Most is possible
[[nodiscard]] kernels::ByteFormat byte_format(const std::uint8_t* qx, std::size_t m,
                                              const kernels::Panels& w, std::int32_t zero_point,
                                              bool may_list);

#else

constexpr kernels::Digits digits_format(Accumulate) { return kernels::Digits::kI16; }
constexpr kernels::ByteFormat byte_format(const std::uint8_t*, std::size_t, const kernels::Panels&,
                                          std::int32_t, bool) {
  return {kernels::Bytes::kI16};
}

#endif

}  // namespace zeropoint
