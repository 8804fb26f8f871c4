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

/// What to do with NaN and infinities where a range is taken.
enum class NonFinite {
  kThrow,   ///< refuse them: the answer is kNonFinite
  kIgnore,  ///< skip them; a slice of nothing else is kEmpty
  kKeep,    ///< take them as values: a slice with a NaN has the range {NaN, NaN}, as in PyTorch
};

/// Smallest and largest value of all of x, without judging them.
/// @param x  float32[n], n >= 0.
/// @return {NaN, NaN} if any value is NaN; infinities count. For a mix of zeros either sign; for no
///         values, which PyTorch refuses, {inf, -inf}.
/// Source: torch.min and torch.max.
[[nodiscard]] Range min_max(std::span<const float> x);

/// The range of every slice.
///
/// @param x            float32[outer * slices * inner], row-major.
/// @param granularity  how x is cut.
/// @param ranges       Range[slices], written unless the answer is kShapeMismatch; without meaning
///                     unless it is kOk or kEmpty.
/// @return kShapeMismatch if a length does not fit; kEmpty if a slice has no element (no slices at
///         all is fine), or no finite one under NonFinite::kIgnore: its range then is {inf, -inf},
///         which joins those of other parts of it, and all other ranges are as said; kNonFinite for
///         NaN or an infinity under NonFinite::kThrow.
/// Source: min() and max() of each sub-tensor that notebooks 2, 3 and 5 select.
[[nodiscard]] Status range(std::span<const float> x, const Granularity& granularity,
                           NonFinite non_finite, std::span<Range> ranges);

}  // namespace zeropoint
