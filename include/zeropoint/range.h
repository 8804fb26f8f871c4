// tensor -> {min, max} of each slice.
#pragma once

#include <span>

#include "zeropoint/granularity.h"
#include "zeropoint/status.h"

namespace zeropoint {

/// Smallest and largest value of a slice, in the tensor's units.
struct Range {
  float min;
  float max;
};

/// Treatment of NaN and infinities in a range.
enum class NonFinite {
  kThrow,   ///< refuse them with kNonFinite
  kIgnore,  ///< skip them; kEmpty for a slice without finite values
  kKeep,    ///< take them as values: a slice with a NaN has the range {NaN, NaN}, as in PyTorch
};

/// Smallest and largest value of x; NaN and infinities are allowed.
/// @param x  float32[n], n >= 0.
/// @return {NaN, NaN} if any value is NaN; infinities count. A bound of mixed zeros may have either
///         sign. {inf, -inf} for no values (PyTorch throws).
/// Source: torch.min and torch.max.
[[nodiscard]] Range min_max(std::span<const float> x);

/// The range of every slice.
///
/// @param x            float32, row-major, of as many values as the granularity has.
/// @param granularity  partition of x.
/// @param ranges       Range[slices], written unless the result is kShapeMismatch; valid only if it
///                     is kOk or kEmpty.
/// @return kShapeMismatch if a length does not fit; kEmpty if a slice has no element (zero slices
///         are valid), or no finite one under NonFinite::kIgnore: the range of such a slice is
///         {inf, -inf}, the identity for joining ranges, and all other ranges are valid; kNonFinite
///         for NaN or an infinity under NonFinite::kThrow.
/// Source: min() and max() of each sub-tensor that notebooks 2, 3 and 5 select.
[[nodiscard]] Status range(std::span<const float> x, const Granularity& granularity,
                           NonFinite non_finite, std::span<Range> ranges);

}  // namespace zeropoint
