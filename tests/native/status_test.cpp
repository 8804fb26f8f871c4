#include "zeropoint/status.h"

#include <gtest/gtest.h>

namespace zeropoint {
namespace {

TEST(StatusName, IsTheEnumerator) {
  EXPECT_EQ(status_name(Status::kOk), "kOk");
  EXPECT_EQ(status_name(Status::kShapeMismatch), "kShapeMismatch");
  EXPECT_EQ(status_name(Status::kSizeOverflow), "kSizeOverflow");
  EXPECT_EQ(status_name(Status::kInvalidScale), "kInvalidScale");
  EXPECT_EQ(status_name(Status::kInvalidZeroPoint), "kInvalidZeroPoint");
  EXPECT_EQ(status_name(Status::kInvalidAxis), "kInvalidAxis");
  EXPECT_EQ(status_name(Status::kInvalidGroupSize), "kInvalidGroupSize");
  EXPECT_EQ(status_name(Status::kNonFinite), "kNonFinite");
  EXPECT_EQ(status_name(Status::kEmpty), "kEmpty");
  EXPECT_EQ(status_name(Status::kUnsignedSymmetric), "kUnsignedSymmetric");
  EXPECT_EQ(status_name(Status::kUnsupportedDType), "kUnsupportedDType");
}

}  // namespace
}  // namespace zeropoint
