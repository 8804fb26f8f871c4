// rows of a weight + a way to quantize them -> the error of each row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "zeropoint/blocks.h"
#include "zeropoint/qparams.h"
#include "zeropoint/range.h"
#include "zeropoint/status.h"

namespace zeropoint {

/// Sums over one row of a weight w and its quantized and dequantized values v, in double.
///
/// Value i of the row goes to partial sum i % 4; a sum is (p0 + p2) + (p1 + p3). So it has the same
/// bits for every number of rows per call, of threads, and in every build.
struct RowError {
  double noise;     ///< sum of (w - v)^2
  double energy;    ///< sum of v^2
  double product;   ///< sum of w v
  double absolute;  ///< sum of |w - v|: times the largest |x| it bounds the error of an output
  double largest;   ///< max |w - v|
  double weighted;  ///< sum of weight[i] (w - v)^2; 0 without weights
};

/// A linear scheme of rows.
struct RowScheme {
  QParamsOptions qparams;  ///< include_zero must be true

  /// Consecutive values of a run that share a scale; the last group of a run may be short. 0: one
  /// scale for all rows, from `range`.
  std::size_t group_size = 0;

  /// Values of a run; no group crosses the end of a run. Divides the row's length.
  std::size_t run_length = 0;

  /// Whether to take the range of least squared error instead of that of the smallest and largest
  /// value; see search_ranges(). Ignored if group_size is 0.
  bool searches = false;

  Range range{};  ///< of the whole tensor, if group_size is 0
};

/// Quantizes and dequantizes rows by a linear scheme and sums the errors, piece by piece in the
/// cache. The values are those of choose_qparams(), search_ranges() and fake_quantize().
///
/// @param w        float32[rows * row_length], row_length > 0.
/// @param weights  double[row_length], or empty.
/// @param values   float32[rows * row_length] for the quantized and dequantized values, or empty;
///                 must not overlap w. Unspecified for rows with NaN in out.
/// @param out      RowError[rows], written only on kOk. Rows of a piece with NaN or an infinity get
///                 NaN in all fields.
/// @return kShapeMismatch, kUnsignedSymmetric; kNonFinite for a range that is not finite.
[[nodiscard]] Status row_errors(std::span<const float> w, std::size_t row_length,
                                const RowScheme& scheme, std::span<const double> weights,
                                std::span<float> values, std::span<RowError> out);

/// The same for a block type: quantize_blocks(), then dequantize_blocks().
/// @return kShapeMismatch, also if row_length is not a multiple of the block's.
[[nodiscard]] Status row_errors(std::span<const float> w, std::size_t row_length, BlockType type,
                                std::span<const double> weights, std::span<float> values,
                                std::span<RowError> out);

/// The same for v = 0: noise is sum w^2, and weighted is sum weight[i] w^2. NaN and infinities are
/// treated as values.
[[nodiscard]] Status row_energies(std::span<const float> w, std::size_t row_length,
                                  std::span<const double> weights, std::span<RowError> out);

/// 10 log10(signal / noise) in decibels: Infinity if noise is 0, NaN if either is NaN. In the core,
/// because engines' logarithms differ in the last bit.
[[nodiscard]] double decibels(double signal, double noise);

}  // namespace zeropoint
