#include "zeropoint/granularity.h"

#include <gtest/gtest.h>

#include <vector>

#include "tensors.h"

namespace zeropoint {
namespace {

using testing::broadcast_position;
using testing::count_of;
using testing::Random;
using testing::random_shape;
using testing::ShapeVector;

void expect_cut(Status status, const Granularity& actual, const Granularity& expected) {
  EXPECT_EQ(status, Status::kOk);
  EXPECT_EQ(actual.outer, expected.outer);
  EXPECT_EQ(actual.slices, expected.slices);
  EXPECT_EQ(actual.inner, expected.inner);
  EXPECT_EQ(actual.row, expected.row);
}

void expect_untouched(const Granularity& granularity) {
  EXPECT_EQ(granularity.outer, 71);
  EXPECT_EQ(granularity.slices, 72);
  EXPECT_EQ(granularity.inner, 73);
  EXPECT_EQ(granularity.row, 74);
}

constexpr Granularity kUntouched = {71, 72, 73, 74};

// ---- per tensor

TEST(PerTensor, IsOneSliceOfEverything) {
  Granularity g;
  expect_cut(per_tensor(ShapeVector{2, 3, 4}, g), g, {1, 1, 24});
  expect_cut(per_tensor(ShapeVector{}, g), g, {1, 1, 1});
  expect_cut(per_tensor(ShapeVector{0, 3}, g), g, {1, 1, 0});
}

TEST(PerTensor, LeavesOutputUntouchedOnSizeOverflow) {
  Granularity g = kUntouched;
  EXPECT_EQ(per_tensor(ShapeVector{65536, 65536}, g), Status::kSizeOverflow);
  expect_untouched(g);
}

// ---- per channel

TEST(PerChannel, HasOneSlicePerIndexOfTheAxis) {
  Granularity g;
  const ShapeVector shape = {2, 3, 4, 5};
  expect_cut(per_channel(shape, 0, g), g, {1, 2, 60});
  expect_cut(per_channel(shape, 1, g), g, {2, 3, 20});
  expect_cut(per_channel(shape, 2, g), g, {6, 4, 5});
  expect_cut(per_channel(shape, 3, g), g, {24, 5, 1});
}

TEST(PerChannel, CountsNegativeAxesFromTheEnd) {
  Granularity g;
  const ShapeVector shape = {2, 3, 4, 5};
  expect_cut(per_channel(shape, -1, g), g, {24, 5, 1});
  expect_cut(per_channel(shape, -4, g), g, {1, 2, 60});
}

TEST(PerChannel, HasNoSlicesOnAnEmptyAxis) {
  Granularity g;
  EXPECT_EQ(per_channel(ShapeVector{0, 3}, 0, g), Status::kOk);
  EXPECT_EQ(g.slices, 0);
  EXPECT_EQ(g.outer * g.slices * g.inner, 0);
}

TEST(PerChannel, KeepsSlicesWithoutElements) {
  Granularity g;
  EXPECT_EQ(per_channel(ShapeVector{3, 0}, 0, g), Status::kOk);
  EXPECT_EQ(g.slices, 3);
  EXPECT_EQ(g.outer * g.slices * g.inner, 0);
}

TEST(PerChannel, LeavesOutputUntouchedOnInvalidAxis) {
  for (const std::int32_t axis : {2, -3, INT32_MAX, INT32_MIN}) {
    Granularity g = kUntouched;
    EXPECT_EQ(per_channel(ShapeVector{2, 3}, axis, g), Status::kInvalidAxis) << axis;
    expect_untouched(g);
  }
}

TEST(PerChannel, RefusesEveryAxisOfA0DTensor) {
  for (const std::int32_t axis : {0, -1, 1}) {
    Granularity g = kUntouched;
    EXPECT_EQ(per_channel(ShapeVector{}, axis, g), Status::kInvalidAxis) << axis;
    expect_untouched(g);
  }
}

TEST(PerChannel, LeavesOutputUntouchedOnSizeOverflow) {
  Granularity g = kUntouched;
  EXPECT_EQ(per_channel(ShapeVector{65536, 65536}, 0, g), Status::kSizeOverflow);
  expect_untouched(g);
}

TEST(PerChannel, PutsEveryElementIntoTheSliceOfItsIndex) {
  Random random(30);
  for (int round = 0; round < 300; ++round) {
    const ShapeVector shape = random_shape(random);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      Granularity g;
      ASSERT_EQ(per_channel(shape, static_cast<std::int32_t>(axis), g), Status::kOk);
      ASSERT_EQ(g.outer * g.slices * g.inner, count_of(shape));
      EXPECT_EQ(g.slices, shape[axis]);
      // A tensor that holds nothing but its index along the axis.
      ShapeVector only_axis(shape.size(), 1);
      only_axis[axis] = shape[axis];
      for (std::size_t position = 0; position < count_of(shape); ++position) {
        ASSERT_EQ(position / g.inner % g.slices, broadcast_position(position, shape, only_axis));
      }
    }
  }
}

// ---- per group

TEST(PerGroup, HasOneSlicePerRunOfTheLastAxis) {
  Granularity g;
  expect_cut(per_group(ShapeVector{4, 6}, 3, g), g, {1, 8, 3});
  expect_cut(per_group(ShapeVector{4, 6}, 6, g), g, {1, 4, 6});
  expect_cut(per_group(ShapeVector{4, 6}, 1, g), g, {1, 24, 1});
}

TEST(PerGroup, TakesAnyRankOfOneOrMore) {
  Granularity g;
  expect_cut(per_group(ShapeVector{6}, 2, g), g, {1, 3, 2});
  expect_cut(per_group(ShapeVector{2, 2, 4}, 2, g), g, {1, 8, 2});
}

TEST(PerGroup, HasNoSlicesInAnEmptyTensor) {
  Granularity g;
  expect_cut(per_group(ShapeVector{4, 0}, 3, g), g, {1, 0, 3});
  expect_cut(per_group(ShapeVector{0, 6}, 3, g), g, {1, 0, 3});
}

TEST(PerGroup, EndsEveryRowWithAShortSliceIfTheSizeDoesNotDivideIt) {
  Granularity g;
  expect_cut(per_group(ShapeVector{4, 6}, 4, g), g, {1, 8, 4, 6});
  expect_cut(per_group(ShapeVector{4, 6}, 5, g), g, {1, 8, 5, 6});
  expect_cut(per_group(ShapeVector{2, 5, 70}, 32, g), g, {1, 30, 32, 70});
  EXPECT_EQ(value_count(g), 700U);
  expect_cut(per_group(ShapeVector{0, 70}, 32, g), g, {1, 0, 32, 70});
  EXPECT_EQ(value_count(g), 0U);
}

TEST(PerGroup, TakesARowAsOneSliceIfTheSizeExceedsIt) {
  Granularity g;
  expect_cut(per_group(ShapeVector{4, 6}, 7, g), g, {1, 4, 6});
  expect_cut(per_group(ShapeVector{8, 4, 3}, 32, g), g, {1, 32, 3});
  expect_cut(per_group(ShapeVector{4, 6}, UINT32_MAX, g), g, {1, 4, 6});
}

TEST(PerGroup, LeavesOutputUntouchedOnInvalidGroupSize) {
  Granularity g = kUntouched;
  EXPECT_EQ(per_group(ShapeVector{4, 6}, 0, g), Status::kInvalidGroupSize);
  expect_untouched(g);
}

TEST(PerGroup, RefusesA0DTensor) {
  Granularity g = kUntouched;
  EXPECT_EQ(per_group(ShapeVector{}, 1, g), Status::kInvalidAxis);
  expect_untouched(g);
}

TEST(PerGroup, LeavesOutputUntouchedOnSizeOverflow) {
  Granularity g = kUntouched;
  EXPECT_EQ(per_group(ShapeVector{65536, 65536}, 2, g), Status::kSizeOverflow);
  expect_untouched(g);
}

}  // namespace
}  // namespace zeropoint
