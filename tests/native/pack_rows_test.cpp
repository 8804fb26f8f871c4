#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "aligned_bytes.h"
#include "compare.h"
#include "core/packed_weight.h"
#include "random.h"
#include "zeropoint/linear.h"

namespace zeropoint {
namespace {

using testing::AlignedBytes;
using testing::Random;

/// A weight of N x K with scales and zero points of any granularity; codes as raw bytes.
WeightShift shift_of(bool affine) { return affine ? WeightShift::kZeroPoints : WeightShift::kNone; }

struct Layer {
  WeightShape shape;
  std::vector<std::uint8_t> codes;
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;

  Layer(const WeightShape& of, bool affine, std::uint32_t seed) : shape(of) {
    Random random(seed);
    const DTypeInfo info = dtype_info(shape.dtype);
    for (std::size_t i = 0; i < shape.n * shape.k; ++i) {
      codes.push_back(static_cast<std::uint8_t>(random.integer(info.qmin, info.qmax)));
    }
    const int center = info.is_signed() ? 0 : 1 << (info.bits - 1);
    for (std::size_t i = 0; i < per_row() * shape.n + shared(); ++i) {
      scales.push_back(0.01F * static_cast<float>(random.integer(1, 100)));
      zero_points.push_back(affine ? random.integer(info.qmin, info.qmax) : center);
    }
  }

  [[nodiscard]] std::size_t per_row() const {
    if (shape.granularity == WeightGranularity::kPerOutput) return 1;
    return shape.granularity == WeightGranularity::kPerGroup
               ? (shape.k + shape.group_size - 1) / shape.group_size
               : 0;
  }
  [[nodiscard]] std::size_t shared() const {
    if (shape.granularity == WeightGranularity::kPerTensor) return 1;
    return shape.granularity == WeightGranularity::kPerInput ? shape.k : 0;
  }

  /// Calls f with rows first ... first + rows - 1 as a weight of their code's type.
  template <typename F>
  [[nodiscard]] Status with_rows(std::size_t first, std::size_t rows, F f) const {
    const std::size_t count = per_row() * rows + shared();
    const std::size_t at = per_row() * first;
    const auto of = [&](auto* data) {
      return f(QuantizedWeight<std::remove_const_t<std::remove_pointer_t<decltype(data)>>>{
          {data + first * shape.k, rows * shape.k},
          shape.dtype,
          shape.granularity,
          shape.group_size,
          {scales.data() + at, count},
          {zero_points.data() + at, count}});
    };
    return dtype_info(shape.dtype).is_signed()
               ? of(reinterpret_cast<const std::int8_t*>(codes.data()))
               : of(codes.data());
  }

  [[nodiscard]] Status pack(std::size_t first, std::size_t rows, std::span<std::byte> block) const {
    return with_rows(first, rows,
                     [&](const auto& w) { return pack_rows(w, first, rows, block.data()); });
  }
};

AlignedBytes zeros(std::size_t size) {
  AlignedBytes bytes(size);
  std::memset(bytes.span().data(), 0, size);
  return bytes;
}

AlignedBytes packed_at_once(const Layer& layer) {
  AlignedBytes block = zeros(packed_weight_size(layer.shape));
  EXPECT_EQ(layer.with_rows(0, layer.shape.n,
                            [&](const auto& w) {
                              return pack_weight(w, layer.shape.n, layer.shape.k, block.span());
                            }),
            Status::kOk);
  return block;
}

std::vector<WeightShape> shapes(std::size_t n, std::size_t k, std::size_t group_size) {
  std::vector<WeightShape> all;
  for (const DType dtype :
       {DType::kInt8, DType::kUint8, DType::kInt4, DType::kUint4, DType::kInt2, DType::kUint2}) {
    for (const WeightGranularity granularity :
         {WeightGranularity::kPerTensor, WeightGranularity::kPerOutput,
          WeightGranularity::kPerInput, WeightGranularity::kPerGroup}) {
      all.push_back(
          {n, k, dtype, granularity, granularity == WeightGranularity::kPerGroup ? group_size : 0});
    }
  }
  return all;
}

bool same_bytes(const AlignedBytes& a, const AlignedBytes& b) {
  return std::equal(a.span().begin(), a.span().end(), b.span().begin(), b.span().end());
}

TEST(PackRows, WritesTheBytesOfPackWeightInPiecesOfAnySize) {
  for (const WeightShape& shape : shapes(21, 42, 8)) {
    for (const bool affine : {false, true}) {
      const Layer layer(shape, affine, 7);
      const AlignedBytes expected = packed_at_once(layer);
      for (const std::size_t piece : {8U, 16U}) {
        AlignedBytes block = zeros(packed_weight_size(shape));
        ASSERT_EQ(begin_weight(shape, shift_of(affine), block.span()), Status::kOk);
        for (std::size_t row = 0; row < shape.n; row += piece) {
          ASSERT_EQ(layer.pack(row, std::min(piece, shape.n - row), block.span()), Status::kOk);
        }
        EXPECT_TRUE(same_bytes(block, expected));
      }
    }
  }
}

TEST(PackRows, AppendsToAGrownWeight) {
  for (const WeightShape& shape : shapes(21, 42, 8)) {
    for (const bool affine : {false, true}) {
      const Layer layer(shape, affine, 8);
      const AlignedBytes expected = packed_at_once(layer);
      WeightShape part = shape;
      part.n = 13;
      AlignedBytes small = zeros(packed_weight_size(part));
      ASSERT_EQ(begin_weight(part, shift_of(affine), small.span()), Status::kOk);
      ASSERT_EQ(layer.pack(0, 13, small.span()), Status::kOk);
      AlignedBytes block = zeros(packed_weight_size(shape));
      ASSERT_EQ(grow_weight(small.data(), shape.n, block.span()), Status::kOk);
      EXPECT_EQ(packed_weight_shape(block.data()).n, 13U);
      ASSERT_EQ(layer.pack(8, 13, block.span()), Status::kOk);
      EXPECT_TRUE(same_bytes(block, expected));
    }
  }
}

TEST(PackRows, RefusesRowsThatDoNotFit) {
  const WeightShape shape{12, 4, DType::kInt8, WeightGranularity::kPerGroup, 2};
  const Layer layer(shape, false, 9);
  AlignedBytes block = zeros(packed_weight_size(shape));
  ASSERT_EQ(begin_weight(shape, WeightShift::kNone, block.span()), Status::kOk);
  EXPECT_EQ(layer.pack(4, 8, block.span()), Status::kShapeMismatch);
  EXPECT_EQ(layer.pack(8, 4, block.span()), Status::kShapeMismatch);  // rows before are missing
  ASSERT_EQ(layer.pack(0, 12, block.span()), Status::kOk);
  const Layer longer({16, 4, DType::kInt8, WeightGranularity::kPerGroup, 2}, false, 9);
  EXPECT_EQ(longer.pack(8, 8, block.span()), Status::kShapeMismatch);
  for (const WeightShape& other :
       {WeightShape{12, 4, DType::kInt4, WeightGranularity::kPerGroup, 2},
        WeightShape{12, 4, DType::kInt8, WeightGranularity::kPerGroup, 4},
        WeightShape{12, 4, DType::kInt8, WeightGranularity::kPerOutput, 0}}) {
    EXPECT_EQ(Layer(other, false, 9).pack(0, 12, block.span()), Status::kShapeMismatch);
  }
}

TEST(PackRows, RefusesZeroPointsInAWeightBegunWithoutThem) {
  const WeightShape shape{8, 4, DType::kUint4, WeightGranularity::kPerOutput, 0};
  AlignedBytes block = zeros(packed_weight_size(shape));
  ASSERT_EQ(begin_weight(shape, WeightShift::kNone, block.span()), Status::kOk);
  EXPECT_EQ(Layer(shape, true, 10).pack(0, 8, block.span()), Status::kInvalidZeroPoint);
  EXPECT_EQ(Layer(shape, false, 10).pack(0, 8, block.span()), Status::kOk);
}

TEST(GrowWeight, RefusesLessRoomThanRowsAndBlocksOfAnotherSize) {
  const WeightShape shape{12, 4, DType::kInt8, WeightGranularity::kPerOutput, 0};
  const Layer layer(shape, false, 11);
  const AlignedBytes block = packed_at_once(layer);
  AlignedBytes out = zeros(packed_weight_size({8, 4, DType::kInt8, shape.granularity}));
  EXPECT_EQ(grow_weight(block.data(), 8, out.span()), Status::kShapeMismatch);
  EXPECT_EQ(grow_weight(block.data(), 20, out.span()), Status::kShapeMismatch);
}

TEST(KeepRows, DropsTheRowsBehind) {
  const Layer layer({12, 4, DType::kInt8, WeightGranularity::kPerOutput, 0}, false, 12);
  const AlignedBytes block = packed_at_once(layer);
  keep_rows(block.span().data(), 20);
  EXPECT_EQ(packed_weight_shape(block.data()).n, 12U);
  keep_rows(block.span().data(), 9);
  EXPECT_EQ(packed_weight_shape(block.data()).n, 9U);
}

TEST(UnpackRows, GivesTheCodesThatWerePacked) {
  for (const WeightShape& shape : shapes(21, 1042, 600)) {
    const Layer layer(shape, true, 13);
    const AlignedBytes block = packed_at_once(layer);
    for (const std::size_t first : {0U, 5U, 20U, 21U}) {
      for (const std::size_t rows : {std::size_t{0}, std::size_t{1}, shape.n - first}) {
        if (first + rows > shape.n) continue;
        std::vector<std::uint8_t> codes(rows * shape.k);
        ASSERT_EQ(unpack_rows(block.data(), first, codes), Status::kOk);
        EXPECT_TRUE(std::equal(codes.begin(), codes.end(),
                               layer.codes.begin() + static_cast<std::ptrdiff_t>(first * shape.k)));
      }
    }
  }
}

TEST(UnpackRows, RefusesRowsThatAreNotThere) {
  const Layer layer({12, 4, DType::kInt8, WeightGranularity::kPerOutput, 0}, false, 14);
  const AlignedBytes block = packed_at_once(layer);
  std::vector<std::uint8_t> codes(8);
  EXPECT_EQ(unpack_rows(block.data(), 11, codes), Status::kShapeMismatch);
  EXPECT_EQ(unpack_rows(block.data(), 13, {}), Status::kShapeMismatch);
  codes.resize(7);
  EXPECT_EQ(unpack_rows(block.data(), 0, codes), Status::kShapeMismatch);
}

}  // namespace
}  // namespace zeropoint
