#include "zeropoint/tensor.h"

#include <gtest/gtest.h>

#include <vector>

#include "compare.h"

namespace zeropoint {
namespace {

using ShapeVector = std::vector<std::uint32_t>;

std::size_t count_of(const ShapeVector& shape) {
  std::size_t count = 12345;
  EXPECT_EQ(element_count(shape, count), Status::kOk);
  return count;
}

void expect_refused(const ShapeVector& shape, Status status) {
  std::size_t count = 12345;
  EXPECT_EQ(element_count(shape, count), status);
  EXPECT_EQ(count, 12345) << "the count was written";
}

TEST(ElementCount, IsTheProductOfTheLengths) {
  EXPECT_EQ(count_of({5}), 5);
  EXPECT_EQ(count_of({2, 3, 4}), 24);
}

TEST(ElementCount, IsOneForTheEmptyShape) { EXPECT_EQ(count_of({}), 1); }

TEST(ElementCount, IsZeroIfAnyLengthIsZero) {
  EXPECT_EQ(count_of({0}), 0);
  EXPECT_EQ(count_of({3, 0, 2}), 0);
}

TEST(ElementCount, IsZeroHoweverLongTheOtherAxesAre) {
  EXPECT_EQ(count_of({UINT32_MAX, UINT32_MAX, UINT32_MAX, 0}), 0);
  EXPECT_EQ(count_of({0, UINT32_MAX, UINT32_MAX, UINT32_MAX}), 0);
}

TEST(ElementCount, ReachesTwoToThe32MinusOne) {
  EXPECT_EQ(count_of({UINT32_MAX}), UINT32_MAX);
  EXPECT_EQ(count_of({65537, 65535}), UINT32_MAX);
}

TEST(ElementCount, RefusesMoreThanTwoToThe32MinusOne) {
  expect_refused({65536, 65536}, Status::kSizeOverflow);
  expect_refused({UINT32_MAX, 2}, Status::kSizeOverflow);
  // 2^64 elements, which would wrap to 0; and a product that wraps to a small number.
  expect_refused({65536, 65536, 65536, 65536}, Status::kSizeOverflow);
  expect_refused({UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}, Status::kSizeOverflow);
}

TEST(ElementCount, TakesUpTo64Axes) {
  EXPECT_EQ(count_of(ShapeVector(kMaxRank, 1)), 1);
  expect_refused(ShapeVector(kMaxRank + 1, 1), Status::kShapeMismatch);
}

TEST(CheckTensor, AcceptsTheShapesNumberOfValues) {
  const std::vector<float> values(6);
  const ShapeVector shape = {2, 3};
  EXPECT_EQ(check(TensorView<const float>{values, shape}), Status::kOk);
  EXPECT_EQ(check(TensorView<const float>{{}, ShapeVector{0, 3}}), Status::kOk);
  EXPECT_EQ(check(TensorView<const float>{std::span(values).first(1), {}}), Status::kOk);
}

TEST(CheckTensor, RefusesAnyOtherNumberOfValues) {
  const std::vector<float> values(6);
  EXPECT_EQ(check(TensorView<const float>{values, ShapeVector{5}}), Status::kShapeMismatch);
  EXPECT_EQ(check(TensorView<const float>{values, ShapeVector{7}}), Status::kShapeMismatch);
  EXPECT_EQ(check(TensorView<const float>{values, {}}), Status::kShapeMismatch);
  EXPECT_EQ(check(TensorView<const float>{{}, {}}), Status::kShapeMismatch);
}

TEST(CheckTensor, RefusesShapesThatCannotBeCounted) {
  EXPECT_EQ(check(TensorView<const float>{{}, ShapeVector{65536, 65536}}), Status::kSizeOverflow);
  EXPECT_EQ(check(TensorView<const float>{{}, ShapeVector(65, 0)}), Status::kShapeMismatch);
}

}  // namespace
}  // namespace zeropoint
