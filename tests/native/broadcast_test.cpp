#include "core/broadcast.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "tensors.h"

namespace zeropoint {
namespace {

using testing::broadcast_position;
using testing::broadcast_shapes;
using testing::count_of;
using testing::Random;
using testing::random_operand;
using testing::random_shape;
using testing::ShapeVector;

template <std::size_t kOperands>
void expect_axes(const Broadcast<kOperands>& b, const std::vector<std::size_t>& lengths,
                 const std::vector<std::vector<std::size_t>>& strides) {
  ASSERT_EQ(b.rank, lengths.size());
  for (std::size_t axis = 0; axis < b.rank; ++axis) {
    EXPECT_EQ(b.lengths[axis], lengths[axis]) << "axis " << axis;
    for (std::size_t k = 0; k < kOperands; ++k) {
      EXPECT_EQ(b.strides[k][axis], strides[k][axis]) << "axis " << axis << ", operand " << k;
    }
  }
}

Status broadcast_two(const ShapeVector& a, const ShapeVector& b, Broadcast<2>& out) {
  return broadcast<2>({Shape(a), Shape(b)}, out);
}

TEST(BroadcastShapes, AlignsAtTheLastAxis) {
  Broadcast<2> b;
  ASSERT_EQ(broadcast_two({2, 3}, {3}, b), Status::kOk);
  EXPECT_EQ(b.count, 6);
  expect_axes(b, {2, 3}, {{3, 1}, {0, 1}});
}

TEST(BroadcastShapes, RepeatsAxesOfLength1) {
  Broadcast<2> b;
  ASSERT_EQ(broadcast_two({3, 1}, {1, 4}, b), Status::kOk);
  EXPECT_EQ(b.count, 12);
  expect_axes(b, {3, 4}, {{1, 0}, {0, 1}});
}

TEST(BroadcastShapes, MergesAxesThatAllOperandsStepThroughAlike) {
  Broadcast<2> b;
  ASSERT_EQ(broadcast_two({2, 3, 4, 5}, {2, 3, 4, 5}, b), Status::kOk);
  expect_axes(b, {120}, {{1}, {1}});
  ASSERT_EQ(broadcast_two({2, 3, 4, 5}, {}, b), Status::kOk);
  expect_axes(b, {120}, {{1}, {0}});
}

TEST(BroadcastShapes, LeavesAtMostThreeAxesForQParamsPerChannel) {
  Broadcast<2> b;
  ASSERT_EQ(broadcast_two({2, 3, 4, 5, 6}, {1, 1, 4, 1, 1}, b), Status::kOk);
  expect_axes(b, {6, 4, 30}, {{120, 30, 1}, {0, 1, 0}});
  ASSERT_EQ(broadcast_two({2, 3, 4, 5, 6}, {2, 1, 1, 1, 1}, b), Status::kOk);
  expect_axes(b, {2, 360}, {{360, 1}, {1, 0}});
  ASSERT_EQ(broadcast_two({2, 3, 4, 5, 6}, {6}, b), Status::kOk);
  expect_axes(b, {120, 6}, {{6, 1}, {0, 1}});
}

TEST(BroadcastShapes, KeepsOneAxisForASingleElement) {
  Broadcast<3> b;
  ASSERT_EQ((broadcast<3>({Shape(), Shape(), Shape()}, b)), Status::kOk);
  EXPECT_EQ(b.count, 1);
  expect_axes(b, {1}, {{0}, {0}, {0}});
}

TEST(BroadcastShapes, CountsNothingIfAnAxisIsEmpty) {
  Broadcast<2> b;
  ASSERT_EQ(broadcast_two({2, 0, 3}, {1, 3}, b), Status::kOk);
  EXPECT_EQ(b.count, 0);
  ASSERT_EQ(broadcast_two({1}, {0}, b), Status::kOk);
  EXPECT_EQ(b.count, 0);
}

TEST(BroadcastShapes, LeavesOutputUntouchedOnShapeMismatch) {
  const std::vector<std::pair<ShapeVector, ShapeVector>> mismatches = {
      {{3}, {4}}, {{2, 3}, {2}}, {{0}, {2}}, {{2, 3, 4}, {3, 3, 4}}};
  for (const auto& [first, second] : mismatches) {
    Broadcast<2> b;
    b.count = 7;
    EXPECT_EQ(broadcast_two(first, second, b), Status::kShapeMismatch);
    EXPECT_EQ(broadcast_two(second, first, b), Status::kShapeMismatch);
    EXPECT_EQ(b.count, 7);
    EXPECT_EQ(b.rank, 0);
  }
}

TEST(BroadcastShapes, LeavesOutputUntouchedOnSizeOverflow) {
  Broadcast<2> b;
  b.count = 7;
  EXPECT_EQ(broadcast_two({65536, 1}, {1, 65536}, b), Status::kSizeOverflow);
  EXPECT_EQ(b.count, 7);
  EXPECT_EQ(b.rank, 0);
}

TEST(BroadcastShapes, TakesUpTo64Axes) {
  Broadcast<2> b;
  ShapeVector longest(kMaxRank, 1);
  longest[0] = 2;
  EXPECT_EQ(broadcast_two(longest, {3}, b), Status::kOk);
  EXPECT_EQ(b.count, 6);
  EXPECT_EQ(broadcast_two(ShapeVector(kMaxRank + 1, 1), {3}, b), Status::kShapeMismatch);
}

TEST(BroadcastShapes, KeepsAllAxesThatTheOperandsStepThroughInTurn) {
  ShapeVector even(kMaxRank, 1);
  ShapeVector odd(kMaxRank, 1);
  for (std::size_t axis = 0; axis < 20; ++axis) (axis % 2 == 0 ? even : odd)[axis] = 2;
  Broadcast<2> b;
  ASSERT_EQ(broadcast_two(even, odd, b), Status::kOk);
  EXPECT_EQ(b.rank, 20);
  EXPECT_EQ(b.count, std::size_t{1} << 20U);
}

// Index of the element of operand k at `position` of a broadcast.
template <std::size_t kOperands>
std::size_t walked_position(const Broadcast<kOperands>& b, std::size_t position, std::size_t k) {
  std::size_t own = 0;
  for (std::size_t axis = b.rank; axis-- > 0;) {
    own += position % b.lengths[axis] * b.strides[k][axis];
    position /= b.lengths[axis];
  }
  return own;
}

TEST(BroadcastShapes, FindsEveryElementWhereIndexByIndexBroadcastingDoes) {
  Random random(31);
  int counted = 0;
  for (int round = 0; round < 1500; ++round) {
    const ShapeVector full = random_shape(random);
    const std::array<ShapeVector, 3> shapes = {
        random_operand(full, random), random_operand(full, random), random_operand(full, random)};
    const auto result = broadcast_shapes({shapes[0], shapes[1], shapes[2]});
    ASSERT_TRUE(result);
    Broadcast<3> b;
    ASSERT_EQ((broadcast<3>({Shape(shapes[0]), Shape(shapes[1]), Shape(shapes[2])}, b)),
              Status::kOk);
    ASSERT_EQ(b.count, count_of(*result));
    ASSERT_GE(b.rank, 1);
    for (std::size_t position = 0; position < b.count; ++position) {
      for (std::size_t k = 0; k < 3; ++k) {
        ASSERT_EQ(walked_position(b, position, k), broadcast_position(position, *result, shapes[k]))
            << "round " << round << ", operand " << k;
      }
      ++counted;
    }
  }
  EXPECT_GT(counted, 10000);
}

TEST(BroadcastShapes, RefusesTheShapesThatIndexByIndexBroadcastingRefuses) {
  Random random(32);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    ShapeVector a(random.below(4));
    ShapeVector b(random.below(4));
    for (std::uint32_t& length : a) length = static_cast<std::uint32_t>(random.below(4));
    for (std::uint32_t& length : b) length = static_cast<std::uint32_t>(random.below(4));
    const auto expected = broadcast_shapes({a, b});
    Broadcast<2> out;
    const Status status = broadcast_two(a, b, out);
    if (expected) {
      EXPECT_EQ(status, Status::kOk);
      EXPECT_EQ(out.count, count_of(*expected));
    } else {
      EXPECT_EQ(status, Status::kShapeMismatch);
      ++refused;
    }
  }
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace zeropoint
