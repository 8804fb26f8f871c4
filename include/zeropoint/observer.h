// tensors over time -> range or histogram -> qparams, as torch.ao.quantization.observer computes
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "zeropoint/range.h"
#include "zeropoint/status.h"

namespace zeropoint {

/// Mapping from an observer's range to codes.
enum class QScheme {
  kAffine,        ///< per_tensor_affine, per_channel_affine
  kSymmetric,     ///< per_tensor_symmetric, per_channel_symmetric
  kFloatQParams,  ///< per_channel_affine_float_qparams
};

/// Parameters of calculate_qparams() besides the ranges.
struct ObserverOptions {
  QScheme qscheme = QScheme::kAffine;
  std::int32_t quant_min = 0;
  std::int32_t quant_max = 255;           ///< not below quant_min; equal, they make scales infinite
  float eps = 0x1p-23F;                   ///< the smallest scale
  std::int32_t symmetric_zero_point = 0;  ///< kSymmetric: 0 if signed, 128 for 8 unsigned bits, ...
};

/// Joins a batch's ranges to the ranges of earlier batches, slice by slice: minimum of minima,
/// maximum of maxima. A NaN persists.
/// @param state  Range[slices], updated. @param batch  Range[slices].
/// @return kShapeMismatch.
/// Source: MinMaxObserver.forward, PerChannelMinMaxObserver._forward.
[[nodiscard]] Status update_min_max(std::span<const Range> batch, std::span<Range> state);

/// Moves the ranges towards a batch's ranges: old + c * (batch - old), each operation rounded to
/// float32.
/// @param batch, state        Range[slices], of which state is updated.
/// @param averaging_constant  c, rounded to float32.
/// @return kShapeMismatch.
/// Source: MovingAverageMinMaxObserver.forward.
[[nodiscard]] Status update_moving_average(std::span<const Range> batch, double averaging_constant,
                                           std::span<Range> state);

/// Chooses scales and integer zero points for observed ranges, in float32:
///
///   neg = min(min, 0), pos = max(max, 0)
///   symmetric   scale = max(max(-neg, pos) / ((quant_max - quant_min) / 2), eps)
///   affine      scale = max((pos - neg) / (quant_max - quant_min), eps)
///               zero_point = clamp(quant_min - int32(round_half_even(neg / scale)),
///                                  quant_min, quant_max)
///
/// For 8 symmetric bits the divisor is 127.5; the notebooks divide by 127. The range always
/// contains 0.
///
/// @param ranges  Range[n]. @param scales  float32[n]. @param zero_points  int32[n].
/// @return kNonFinite unless min <= max in every range (so also for any NaN); kShapeMismatch;
///         kInvalidZeroPoint if quant_min > quant_max; kUnsupportedDType for kFloatQParams.
/// Source: UniformQuantizationObserverBase._calculate_qparams.
[[nodiscard]] Status calculate_qparams(std::span<const Range> ranges,
                                       const ObserverOptions& options, std::span<float> scales,
                                       std::span<std::int32_t> zero_points);

/// The same with floating zero points, for kFloatQParams:
///
///   scale = (max - min) / (quant_max - quant_min), or 1 if that is not > eps
///   zero_point = -min / scale
///
/// The range is not widened to 0.
/// @param ranges  Range[n]. @param scales  float32[n]. @param zero_points  float32[n].
/// @return kNonFinite unless min <= max in every range; kShapeMismatch; kInvalidZeroPoint if
///         quant_min > quant_max.
/// Source: UniformQuantizationObserverBase._calculate_qparams, per_channel_affine_float_qparams.
[[nodiscard]] Status calculate_float_qparams(std::span<const Range> ranges,
                                             const ObserverOptions& options,
                                             std::span<float> scales, std::span<float> zero_points);

// ---- histogram

/// Parts per bin when old bins are redistributed over a grown range.
inline constexpr std::size_t kUpsampling = 16;

/// Counts the values of x into equal bins of [lo, hi]; values outside are not counted.
///
///   bin = trunc(((v - lo) * bins) / (hi - lo)), the last bin taking hi
///
/// in float32. For lo == hi the range is [lo - 1, hi + 1]. If hi - lo overflows float32, nothing is
/// counted; if only the product overflows, the value counts in the first bin. Both as in PyTorch.
///
/// @param counts  uint32[bins], added to; a batch may come in pieces.
/// @return kNonFinite if the range is not finite.
/// Source: torch.histc. Its float32 counts stop growing at 2^24; to_histogram() applies this limit.
[[nodiscard]] Status count_into_bins(std::span<const float> x, float lo, float hi,
                                     std::span<std::uint32_t> counts);

/// Counts as float32, at most 2^24: the limit of repeatedly adding 1 in float32.
/// @param counts  uint32[bins]. @param histogram  float32[bins].
/// @return kShapeMismatch.
/// Source: torch.histc, which adds a float32 1 for every value.
[[nodiscard]] Status to_histogram(std::span<const std::uint32_t> counts,
                                  std::span<float> histogram);

/// Joins the histogram of a batch to the held one. The caller has widened the batch's range to
/// contain the held range.
///
/// Old bins are redistributed over the new range: each is cut into 16 equal parts, and each part
/// goes to the bin that contains its middle. A held histogram of a single value gets the batch's
/// count, as in PyTorch 2.6 (PyTorch issue 156414; later releases keep its own count).
///
/// @param batch, batch_range  float32[bins] of the new values, and the joint range.
/// @param held, held_range    float32[bins], updated to the sum; its range is then batch_range.
/// @param scratch             float32[histogram_scratch(bins)].
/// @return kShapeMismatch, also unless batch_range contains held_range; kNonFinite.
/// Source: HistogramObserver._combine_histograms in PyTorch 2.6.
[[nodiscard]] Status merge_histogram(std::span<const float> batch, Range batch_range,
                                     std::span<float> held, Range held_range,
                                     std::span<float> scratch);

/// Scratch floats for merge_histogram and search_histogram.
[[nodiscard]] constexpr std::size_t histogram_scratch(std::size_t bins) { return 2 * bins + 1; }

/// Searches the range with the smallest estimated quantization error over a histogram: narrows
/// [min, max] by quantiles of 1e-5, each time on the side where this removes more bins (the right
/// one on ties), until the estimated error rises.
///
/// @param histogram  float32[bins] over `range`.
/// @param levels     codes, at least 1: 256 for 8 bits, 2^32 for 32.
/// @param scratch    float32[histogram_scratch(bins)].
/// @param out        the range found, written only on kOk.
/// @return kShapeMismatch; kEmpty for no bins; kInvalidZeroPoint for no levels.
/// Source: HistogramObserver._non_linear_param_search, after Caffe2's norm minimization.
[[nodiscard]] Status search_histogram(std::span<const float> histogram, Range range, double levels,
                                      std::span<float> scratch, Range& out);

}  // namespace zeropoint
