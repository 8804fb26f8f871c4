// two tensors -> how far apart they are.
#pragma once

#include <cstddef>
#include <span>

#include "zeropoint/granularity.h"
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

/// Sum of float32 values in PyTorch's single-threaded order, for every size: eight lanes, four rows
/// per step, partial sums cascaded over four levels. 0 for no values. Source: torch.sum
/// (aten/src/ATen/native/cpu/SumKernel.cpp, cascade_sum).
[[nodiscard]] float sum(std::span<const float> x);

/// sum(x) / float(n); NaN for no values. Source: torch.mean.
[[nodiscard]] float mean(std::span<const float> x);

/// Measures the error of b relative to a.
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

/// quantization_error of every slice, with the values of a slice in row-major order.
///
/// @param a, b         float32, row-major, of as many values as the granularity has.
/// @param granularity  partition of a and b.
/// @param out          double[slices], written only on kOk.
/// @return kShapeMismatch if a length does not fit.
[[nodiscard]] Status quantization_errors(std::span<const float> a, std::span<const float> b,
                                         const Granularity& granularity, Metric metric,
                                         std::span<double> out);

/// Alignment, in values, of pieces in a piecewise measurement: each piece begins at a multiple.
inline constexpr std::size_t kErrorPiece = 4096;

/// State of a piecewise measurement between two pieces. The first piece initializes it.
struct ErrorState {
  alignas(16) float cascade[3][32];
  alignas(16) double energies[4][4];
  double max;
};

/// quantization_error of two tensors of n values, given in pieces, in order. The result has the
/// same bits as quantization_error of the whole tensors.
///
/// @param a, b   float32[count]: values begin .. begin + count of the tensors.
/// @param begin  a multiple of kErrorPiece; so is count, except for the last piece. count is 0 only
///               if n is 0.
/// @param state  not modified by the caller between calls.
/// @param out    the result, written only with the last piece, where begin + count = n.
/// @return kShapeMismatch if the lengths differ or a piece breaks these rules; kSizeOverflow if
///         n > 2^36 and the tensors come in more than one piece; state is unchanged in both cases.
[[nodiscard]] Status quantization_error_piece(std::span<const float> a, std::span<const float> b,
                                              Metric metric, std::size_t begin, std::size_t n,
                                              ErrorState& state, double& out);

}  // namespace zeropoint
