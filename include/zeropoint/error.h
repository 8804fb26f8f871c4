// two tensors -> how far apart they are.
#pragma once

#include <cstddef>
#include <span>

#include "zeropoint/status.h"

namespace zeropoint {

/// Ways to measure the distance between a tensor `a` and its approximation `b`.
enum class Metric {
  kMse,     ///< mean((a - b)^2), float32 throughout
  kMae,     ///< mean(|a - b|), float32 throughout
  kMax,     ///< max |a - b|, in double
  kSqnr,    ///< 10 log10(sum(a^2) / sum((a - b)^2)) in dB, in double; a is the signal
  kCosine,  ///< sum(a b) / sqrt(sum(a^2) sum(b^2)), in double
};

/// Sum of float32 values in PyTorch's order, for one thread, at every size: eight lanes, four rows
/// a step, partial sums cascaded over four levels. 0 for no values. Source: torch.sum
/// (aten/src/ATen/native/cpu/SumKernel.cpp, cascade_sum).
[[nodiscard]] float sum(std::span<const float> x);

/// sum(x) / float(n); NaN for no values. Source: torch.mean.
[[nodiscard]] float mean(std::span<const float> x);

/// Measures how far b is from a.
///
/// mse and mae have PyTorch's float32 bits (see sum()). The other three accumulate in double, in
/// four lanes, always in the same order. NaN in either tensor gives NaN. Equal tensors have sqnr
/// Infinity; a zero vector has cosine NaN; no values give NaN in every metric.
///
/// @param a, b  float32[n]. @param out  written only on kOk.
/// @return kShapeMismatch if the lengths differ.
/// Source: quantization_error of notebook 2 (mse, mae); Jacob et al. 2018 and common usage for
/// SQNR.
[[nodiscard]] Status quantization_error(std::span<const float> a, std::span<const float> b,
                                        Metric metric, double& out);

/// Pieces of a tensor that is measured piece by piece begin at multiples of this.
inline constexpr std::size_t kErrorPiece = 4096;

/// What a measurement carries from one piece to the next. The first piece sets it.
struct ErrorState {
  alignas(16) float cascade[3][32];
  alignas(16) double energies[4][4];
  double max;
};

/// quantization_error of two tensors of n values that come in pieces, in order: all the pieces give
/// the very bits that the tensors give at once.
///
/// @param a, b   float32[count]: values begin .. begin + count of the tensors.
/// @param begin  a multiple of kErrorPiece; so is count in all pieces but the last. It is 0 only
///               where n is.
/// @param state  untouched between the calls.
/// @param out    the result, written with the last piece alone, where begin + count = n.
/// @return kShapeMismatch if the lengths differ or a piece is not as said; kSizeOverflow for pieces
///         of more than 2^36 values; state is unchanged then.
[[nodiscard]] Status quantization_error_piece(std::span<const float> a, std::span<const float> b,
                                              Metric metric, std::size_t begin, std::size_t n,
                                              ErrorState& state, double& out);

}  // namespace zeropoint
