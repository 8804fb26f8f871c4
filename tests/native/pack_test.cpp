#include "zeropoint/pack.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "compare.h"
#include "reference/pack_bits.h"
#include "tensors.h"

namespace zeropoint {
namespace {

using testing::Output;
using testing::Random;
using testing::random_codes;

using Bytes = std::vector<std::uint8_t>;

constexpr DType kPackable[] = {DType::kInt2,  DType::kInt3,  DType::kInt4,  DType::kInt5,
                               DType::kInt6,  DType::kInt7,  DType::kUint1, DType::kUint2,
                               DType::kUint3, DType::kUint4, DType::kUint5, DType::kUint6,
                               DType::kUint7};
constexpr DType kUnpackable[] = {DType::kInt8,  DType::kUint8, DType::kInt16,  DType::kUint16,
                                 DType::kInt32, DType::kQint8, DType::kQuint8, DType::kQint32};

Bytes packed(const Bytes& codes, DType dtype) {
  Output<std::uint8_t> out(packed_size(codes.size(), dtype));
  EXPECT_EQ(pack(codes, dtype, out.span()), Status::kOk);
  EXPECT_TRUE(out.guards_intact());
  return {out.values().begin(), out.values().end()};
}

Bytes unpacked(const Bytes& bytes, std::size_t n, DType dtype) {
  Output<std::uint8_t> codes(n);
  EXPECT_EQ(unpack(bytes, dtype, codes.span()), Status::kOk);
  EXPECT_TRUE(codes.guards_intact());
  return {codes.values().begin(), codes.values().end()};
}

TEST(PackedSize, IsTheBitsRoundedUpToBytes) {
  EXPECT_EQ(packed_size(0, DType::kInt4), 0);
  EXPECT_EQ(packed_size(1, DType::kInt4), 1);
  EXPECT_EQ(packed_size(2, DType::kUint4), 1);
  EXPECT_EQ(packed_size(3, DType::kInt4), 2);
  EXPECT_EQ(packed_size(0, DType::kUint2), 0);
  EXPECT_EQ(packed_size(1, DType::kInt2), 1);
  EXPECT_EQ(packed_size(4, DType::kInt2), 1);
  EXPECT_EQ(packed_size(5, DType::kUint2), 2);
  EXPECT_EQ(packed_size(7, DType::kInt8), 7);
  EXPECT_EQ(packed_size(7, DType::kUint16), 14);
  EXPECT_EQ(packed_size(7, DType::kInt32), 28);
}

TEST(PackedSize, DoesNotOverflow) {
  EXPECT_EQ(packed_size(SIZE_MAX, DType::kInt4), SIZE_MAX / 2 + 1);
  EXPECT_EQ(packed_size(SIZE_MAX, DType::kInt2), SIZE_MAX / 4 + 1);
}

TEST(Pack, PutsTheFirstCodeIntoTheLowestBits) {
  EXPECT_EQ(packed({1, 2, 3, 4}, DType::kUint4), (Bytes{0x21, 0x43}));
  EXPECT_EQ(packed({1, 2, 3, 0}, DType::kUint2), (Bytes{0b00'11'10'01}));
}

TEST(Pack, WritesTwosComplement) {
  EXPECT_EQ(packed({0xFF, 0x07, 0xF8, 0x00}, DType::kInt4), (Bytes{0x7F, 0x08}));  // -1 7 -8 0
  EXPECT_EQ(packed({0xFF, 0x01, 0xFE, 0x00}, DType::kInt2), (Bytes{0b00'10'01'11}));
}

TEST(Pack, LeavesTheUnusedHighBitsOfTheLastByte0) {
  EXPECT_EQ(packed({0xFF}, DType::kInt4), (Bytes{0x0F}));
  EXPECT_EQ(packed({1, 2, 0xFF}, DType::kUint4), (Bytes{0x21, 0x0F}));
  EXPECT_EQ(packed({0xFF, 0xFF, 0xFF}, DType::kInt2), (Bytes{0b00'11'11'11}));
  EXPECT_EQ(packed({3, 3, 3, 3, 3}, DType::kUint2), (Bytes{0xFF, 0x03}));
}

TEST(Pack, DropsBitsBeyondTheDTypes) {
  EXPECT_EQ(packed({0x5A, 0xF3}, DType::kUint4), (Bytes{0x3A}));
  EXPECT_EQ(packed({0xF5, 0xF2, 0xF3, 0xFC}, DType::kInt2), (Bytes{0b00'11'10'01}));
}

TEST(Unpack, ExtendsTheSignWhereTheDTypeHasOne) {
  EXPECT_EQ(unpacked({0x7F, 0x08}, 4, DType::kInt4), (Bytes{0xFF, 0x07, 0xF8, 0x00}));
  EXPECT_EQ(unpacked({0x7F, 0x08}, 4, DType::kUint4), (Bytes{0x0F, 0x07, 0x08, 0x00}));
  EXPECT_EQ(unpacked({0b00'10'01'11}, 4, DType::kInt2), (Bytes{0xFF, 0x01, 0xFE, 0x00}));
  EXPECT_EQ(unpacked({0b00'10'01'11}, 4, DType::kUint2), (Bytes{3, 1, 2, 0}));
}

TEST(Unpack, IgnoresTheUnusedBitsOfTheLastByte) {
  EXPECT_EQ(unpacked({0xF1}, 1, DType::kInt4), (Bytes{1}));
  EXPECT_EQ(unpacked({0b11'11'10'01}, 2, DType::kUint2), (Bytes{1, 2}));
}

TEST(Unpack, UndoesPack) {
  Random random(80);
  for (const DType dtype : kPackable) {
    for (std::size_t n = 0; n < 200; ++n) {
      const Bytes codes = [&] {
        if (!dtype_info(dtype).is_signed()) return random_codes<std::uint8_t>(n, dtype, random);
        const auto signed_codes = random_codes<std::int8_t>(n, dtype, random);
        return Bytes(signed_codes.begin(), signed_codes.end());
      }();
      EXPECT_EQ(unpacked(packed(codes, dtype), n, dtype), codes) << dtype_info(dtype).name << n;
    }
  }
}

TEST(Pack, IsTheBitStreamForEveryLength) {
  Random random(81);
  for (const DType dtype : kPackable) {
    for (std::size_t n = 0; n < 200; ++n) {
      const Bytes codes = random_codes<std::uint8_t>(n, DType::kUint8, random);
      const auto width = static_cast<std::size_t>(dtype_info(dtype).bits);
      EXPECT_EQ(packed(codes, dtype), reference::pack_bits(codes, width)) << n;
    }
  }
}

TEST(Pack, LeavesOutputUntouchedOnUnsupportedDTypes) {
  for (const DType dtype : kUnpackable) {
    const Bytes codes = {1, 2, 3, 4};
    Output<std::uint8_t> out(packed_size(4, dtype));
    EXPECT_EQ(pack(codes, dtype, out.span()), Status::kUnsupportedDType);
    EXPECT_TRUE(out.untouched()) << dtype_info(dtype).name;
  }
}

TEST(Unpack, LeavesOutputUntouchedOnUnsupportedDTypes) {
  for (const DType dtype : kUnpackable) {
    const Bytes bytes(packed_size(4, dtype));
    Output<std::uint8_t> codes(4);
    EXPECT_EQ(unpack(bytes, dtype, codes.span()), Status::kUnsupportedDType);
    EXPECT_TRUE(codes.untouched()) << dtype_info(dtype).name;
  }
}

TEST(Pack, LeavesOutputUntouchedOnShapeMismatch) {
  const Bytes codes = {1, 2, 3, 1, 2};
  for (const DType dtype : kPackable) {
    const std::size_t size = packed_size(codes.size(), dtype);
    for (const std::size_t wrong : {std::size_t{0}, size - 1, size + 1}) {
      Output<std::uint8_t> out(wrong);
      EXPECT_EQ(pack(codes, dtype, out.span()), Status::kShapeMismatch);
      EXPECT_TRUE(out.untouched());
    }
  }
}

TEST(Unpack, LeavesOutputUntouchedOnShapeMismatch) {
  for (const DType dtype : kPackable) {
    const std::size_t size = packed_size(5, dtype);
    for (const std::size_t wrong : {std::size_t{0}, size - 1, size + 1}) {
      Output<std::uint8_t> codes(5);
      EXPECT_EQ(unpack(Bytes(wrong), dtype, codes.span()), Status::kShapeMismatch);
      EXPECT_TRUE(codes.untouched());
    }
  }
}

}  // namespace
}  // namespace zeropoint
