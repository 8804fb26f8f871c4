#include "zeropoint/status.h"

namespace zeropoint {

std::string_view status_name(Status status) {
  switch (status) {
    case Status::kOk:
      return "kOk";
    case Status::kShapeMismatch:
      return "kShapeMismatch";
    case Status::kSizeOverflow:
      return "kSizeOverflow";
    case Status::kInvalidScale:
      return "kInvalidScale";
    case Status::kInvalidZeroPoint:
      return "kInvalidZeroPoint";
    case Status::kInvalidOffset:
      return "kInvalidOffset";
    case Status::kInvalidAxis:
      return "kInvalidAxis";
    case Status::kInvalidGroupSize:
      return "kInvalidGroupSize";
    case Status::kNonFinite:
      return "kNonFinite";
    case Status::kEmpty:
      return "kEmpty";
    case Status::kUnsignedSymmetric:
      return "kUnsignedSymmetric";
    case Status::kUnsupportedDType:
      return "kUnsupportedDType";
  }
  return "unknown";
}

}  // namespace zeropoint
