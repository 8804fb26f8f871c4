// Group sizes that do not divide the rows: results equal those of each group as a separate tensor.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "compare.h"
#include "tensors.h"
#include "zeropoint/dequantize.h"
#include "zeropoint/qparams.h"
#include "zeropoint/quantize.h"

namespace zeropoint {
namespace {

using testing::Output;
using testing::Random;
using testing::same;
using testing::ShapeVector;
using testing::Tensor;
using testing::with_code;

/// Qparams of groups.
struct GroupQParams {
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;
  ShapeVector shape;

  [[nodiscard]] QParamsView view(std::uint32_t group_size) const {
    return {scales, zero_points, shape, group_size};
  }
};

/// Calls visit(first value, count) for each group of a tensor, in order.
template <typename Visit>
void for_groups(const ShapeVector& shape, std::size_t size, Visit visit) {
  const std::size_t row = shape.back();
  for (std::size_t start = 0; start < testing::count_of(shape); start += row) {
    for (std::size_t i = 0; i < row; i += size) visit(start + i, std::min(size, row - i));
  }
}

GroupQParams random_qparams(std::size_t count, DType dtype, Random& random) {
  const DTypeInfo info = dtype_info(dtype);
  GroupQParams qparams;
  for (std::size_t i = 0; i < count; ++i) {
    qparams.scales.push_back(random.uniform(0.01F, 0.5F));
    qparams.zero_points.push_back(random.integer(info.qmin, info.qmax));
  }
  qparams.shape = {static_cast<std::uint32_t>(count), 1};
  return qparams;
}

template <typename Code>
void expect_groups_alone(const ShapeVector& shape, std::uint32_t size, DType dtype,
                         Random& random) {
  Granularity g;
  ASSERT_EQ(per_group(shape, size, g), Status::kOk);
  const GroupQParams qparams = random_qparams(g.slices, dtype, random);
  Tensor<float> x = {random.uniforms(testing::count_of(shape), -40.0F, 40.0F), shape};
  x.values[random.below(x.values.size())] = testing::kNan;
  x.values[random.below(x.values.size())] = -testing::kInfinity;
  const std::size_t n = x.values.size();
  Output<Code> codes(n);
  ASSERT_EQ(quantize<Code>(x.view(), qparams.view(size), dtype, codes.span()), Status::kOk);
  EXPECT_TRUE(codes.guards_intact());
  Output<float> values(n);
  const std::vector<Code> made(codes.values().begin(), codes.values().end());
  ASSERT_EQ(dequantize<Code>({made, shape}, qparams.view(size), dtype, values.span()), Status::kOk);
  EXPECT_TRUE(values.guards_intact());
  Output<float> faked(n);
  ASSERT_EQ(fake_quantize(x.view(), qparams.view(size), dtype, faked.span()), Status::kOk);
  EXPECT_TRUE(faked.guards_intact());

  std::size_t group = 0;
  for_groups(shape, size, [&](std::size_t start, std::size_t count) {
    const ShapeVector own = {static_cast<std::uint32_t>(count)};
    const std::span<const float> part = std::span(x.values).subspan(start, count);
    const QParamsView one = {std::span(qparams.scales).subspan(group, 1),
                             std::span(qparams.zero_points).subspan(group, 1),
                             {}};
    std::vector<Code> own_codes(count);
    ASSERT_EQ(quantize<Code>({part, own}, one, dtype, own_codes), Status::kOk);
    EXPECT_TRUE(same(std::span<const Code>(made).subspan(start, count), own_codes));
    std::vector<float> own_values(count);
    ASSERT_EQ(dequantize<Code>({own_codes, own}, one, dtype, own_values), Status::kOk);
    EXPECT_TRUE(same(values.values().subspan(start, count), own_values));
    EXPECT_TRUE(same(faked.values().subspan(start, count), own_values));
    ++group;
  });
  EXPECT_EQ(group, g.slices);
}

TEST(ShortGroups, AreQuantizedAndDequantizedAsSeparateTensors) {
  Random random(310);
  for (const ShapeVector& shape : {ShapeVector{3, 70}, ShapeVector{2, 2, 7}, ShapeVector{41},
                                   ShapeVector{5, 1030}, ShapeVector{300, 3}}) {
    for (const std::uint32_t size : {2U, 5U, 16U, 32U, 48U, 100U, 129U, 1024U, 5000U}) {
      for (const DType dtype : {DType::kInt4, DType::kUint8, DType::kInt32}) {
        SCOPED_TRACE(::testing::Message() << shape.size() << " axes, the last of " << shape.back()
                                          << ", in groups of " << size);
        with_code(dtype, [&](auto code) {
          expect_groups_alone<decltype(code)>(shape, size, dtype, random);
        });
      }
    }
  }
}

TEST(ShortGroups, GetTheQParamsOfSeparateTensors) {
  Random random(311);
  for (const ShapeVector& shape : {ShapeVector{3, 70}, ShapeVector{2, 2, 7}, ShapeVector{41}}) {
    for (const std::uint32_t size : {2U, 5U, 16U, 32U, 100U}) {
      Granularity g;
      ASSERT_EQ(per_group(shape, size, g), Status::kOk);
      const std::vector<float> x = random.uniforms(testing::count_of(shape), -3.0F, 5.0F);
      const QParamsOptions options = {DType::kUint8, Scheme::kAffine};
      std::vector<Range> ranges(g.slices);
      std::vector<double> scales(g.slices);
      std::vector<std::int32_t> zero_points(g.slices);
      ASSERT_EQ(choose_qparams(x, g, NonFinite::kThrow, options, ranges, scales, zero_points),
                Status::kOk);
      std::size_t group = 0;
      for_groups(shape, size, [&](std::size_t start, std::size_t count) {
        QParams own{};
        const Range range = min_max(std::span(x).subspan(start, count));
        ASSERT_EQ(choose_qparams(range, options, own), Status::kOk);
        EXPECT_EQ(scales[group], own.scale);
        EXPECT_EQ(zero_points[group], own.zero_point);
        ++group;
      });
    }
  }
}

TEST(ShortGroups, LeaveOutputUntouchedOnAWrongNumberOfQParamsOrCodes) {
  Random random(312);
  const Tensor<float> x = {random.uniforms(14, -1.0F, 1.0F), {2, 7}};
  for (const std::size_t count : {0U, 1U, 2U, 3U, 5U, 14U}) {
    Output<std::int8_t> codes(14);
    const GroupQParams qparams = random_qparams(count, DType::kInt8, random);
    EXPECT_EQ(quantize<std::int8_t>(x.view(), qparams.view(4), DType::kInt8, codes.span()),
              Status::kShapeMismatch);
    EXPECT_TRUE(codes.untouched());
  }
  for (const std::size_t length : {13U, 15U, 7U}) {
    Output<std::int8_t> codes(length);
    const GroupQParams qparams = random_qparams(4, DType::kInt8, random);
    EXPECT_EQ(quantize<std::int8_t>(x.view(), qparams.view(4), DType::kInt8, codes.span()),
              Status::kShapeMismatch);
    EXPECT_TRUE(codes.untouched());
  }
}

TEST(ShortGroups, RefuseTensorsWithoutAxes) {
  Random random(313);
  Output<std::int8_t> codes(1);
  const GroupQParams qparams = random_qparams(1, DType::kInt8, random);
  EXPECT_EQ(quantize<std::int8_t>(testing::scalar(1.0F).view(), qparams.view(4), DType::kInt8,
                                  codes.span()),
            Status::kInvalidAxis);
  EXPECT_TRUE(codes.untouched());
}

}  // namespace
}  // namespace zeropoint
