// Status codes: every reason for which the core refuses its input.
#pragma once

#include <string_view>

namespace zeropoint {

/// Result of a core function. Outputs are written only on kOk, unless the function states
/// otherwise.
enum class Status {
  kOk,
  kShapeMismatch,      ///< shapes do not agree, do not broadcast, or do not match the data's length
  kSizeOverflow,       ///< a shape has more than 2^32 - 1 elements, or a stated limit is exceeded
  kInvalidScale,       ///< a scale is not finite, or not > 0
  kInvalidZeroPoint,   ///< a zero point lies outside the codes, or there are too few codes
  kInvalidOffset,      ///< an offset is not finite
  kInvalidAxis,        ///< the axis is not one of the shape's
  kInvalidGroupSize,   ///< the group size is 0, or more than 2^32 - 1
  kNonFinite,          ///< NaN or an infinity where qparams are chosen
  kEmpty,              ///< a slice has no (finite) element to choose qparams from
  kUnsignedSymmetric,  ///< the symmetric scheme with an unsigned dtype
  kUnsupportedDType,   ///< the function does not take this dtype, or the codes are of another type
};

/// The enumerator's name, for logs and test failures.
[[nodiscard]] std::string_view status_name(Status status);

}  // namespace zeropoint
