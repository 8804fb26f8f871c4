// Searches for the scale, and the minimum, of short sub-blocks, as in ggml's quantizers: four
// sub-blocks of n values side by side, one per lane. Sums run from the first value to the last.
// Parity: bit-identical to ggml-quants.c compiled without contraction; each function names its
// source there. x and weights are n vectors; lane j holds the values of sub-block j, all finite.
#pragma once

#include <cstddef>

#include "kernels/block_bytes.h"
#include "kernels/lanes.h"

namespace zeropoint::kernels {

/// Sub-blocks with a smaller largest magnitude are treated as all zero.
constexpr float kGroupMaxEps = 1e-15F;

/// Index of the nearest of kIq4Values; ties go to the upper value, NaN to the last one.
/// Source: best_index_int8().
inline I4 iq4_index(F4 x) {
  const F4 twice = x + x;
  I4 index(15);
  for (std::size_t i = 0; i + 1 < 16; ++i) {
    const F4 limit(static_cast<float>(kIq4Values[i] + kIq4Values[i + 1]));
    index = index + I4((twice < limit).v);
  }
  return index;
}

/// Scale of the symmetric levels -count ... count - 1: the best of 19 tries around -count / signed
/// maximum.
/// @param levels  receives level + count; 0 in lanes that are all zero.
/// Source: make_qx_quants() with rmse_type 1.
F4 symmetric_scale(const F4* x, const F4* weights, std::size_t n, int count, F4* levels);

/// Scale of the symmetric levels -count ... count - 1 with weights x * x, by descent from one try.
/// @param levels  receives level + count; 0 in lanes that are all zero.
/// Source: make_q3_quants() with do_rmse.
F4 descended_scale(const F4* x, std::size_t n, int count, F4* levels);

/// Scale of the levels 0 ... count of values that are not negative: the best of nine tries, then
/// descent.
/// @param levels  receives the levels; 0 in lanes without a positive value.
/// Source: make_qp_quants().
F4 positive_scale(const F4* x, const F4* weights, std::size_t n, int count, F4* levels);

/// Search parameters of affine_scale(): tries s = (first + step * k + count) / (max - min) for k =
/// 0 ... tries.
struct AffineTries {
  float first;
  float step;
  int tries;
  bool is_absolute;  ///< the error is sum w * |d| instead of sum w * (d * d)
};

/// Scale, and distance of the smallest level below zero: x ~ scale * level - minimum.
struct AffineScale {
  F4 scale;
  F4 minimum;
};

/// Scale and minimum of the levels 0 ... count; the minimum is <= 0 before its sign is flipped.
/// @param levels  receives the levels.
/// Source: make_qkx2_quants(), make_qkx3_quants().
AffineScale affine_scale(const F4* x, const F4* weights, std::size_t n, int count,
                         const AffineTries& search, F4* levels);

/// Scale of values of kIq4Values: the best of 16 tries.
/// Source: quantize_row_iq4_nl_impl() with ntry 7.
F4 iq4_scale(const F4* x, const F4* weights, std::size_t n);

}  // namespace zeropoint::kernels
