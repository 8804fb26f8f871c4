#include "zeropoint/dtype.h"

#include <gtest/gtest.h>

namespace zeropoint {
namespace {

void expect_info(DType dtype, std::string_view name, std::int32_t qmin, std::int32_t qmax, int bits,
                 Storage storage) {
  const DTypeInfo info = dtype_info(dtype);
  EXPECT_EQ(info.name, name);
  EXPECT_EQ(info.qmin, qmin) << name;
  EXPECT_EQ(info.qmax, qmax) << name;
  EXPECT_EQ(info.bits, bits) << name;
  EXPECT_EQ(info.storage, storage) << name;
}

TEST(DTypeInfo, HasTheLimitsOfTorchIinfoFor8BitsAndMore) {
  expect_info(DType::kInt8, "int8", -128, 127, 8, Storage::kInt8);
  expect_info(DType::kUint8, "uint8", 0, 255, 8, Storage::kUint8);
  expect_info(DType::kInt16, "int16", -32768, 32767, 16, Storage::kInt16);
  expect_info(DType::kUint16, "uint16", 0, 65535, 16, Storage::kUint16);
  expect_info(DType::kInt32, "int32", -2147483647 - 1, 2147483647, 32, Storage::kInt32);
}

TEST(DTypeInfo, HasTwosComplementLimitsBelow8Bits) {
  expect_info(DType::kInt2, "int2", -2, 1, 2, Storage::kInt8);
  expect_info(DType::kInt3, "int3", -4, 3, 3, Storage::kInt8);
  expect_info(DType::kInt4, "int4", -8, 7, 4, Storage::kInt8);
  expect_info(DType::kInt5, "int5", -16, 15, 5, Storage::kInt8);
  expect_info(DType::kInt6, "int6", -32, 31, 6, Storage::kInt8);
  expect_info(DType::kInt7, "int7", -64, 63, 7, Storage::kInt8);
  expect_info(DType::kUint1, "uint1", 0, 1, 1, Storage::kUint8);
  expect_info(DType::kUint2, "uint2", 0, 3, 2, Storage::kUint8);
  expect_info(DType::kUint3, "uint3", 0, 7, 3, Storage::kUint8);
  expect_info(DType::kUint4, "uint4", 0, 15, 4, Storage::kUint8);
  expect_info(DType::kUint5, "uint5", 0, 31, 5, Storage::kUint8);
  expect_info(DType::kUint6, "uint6", 0, 63, 6, Storage::kUint8);
  expect_info(DType::kUint7, "uint7", 0, 127, 7, Storage::kUint8);
}

TEST(DTypeInfo, GivesTorchsQuantizedTypesTheLimitsOfThePlainTypes) {
  expect_info(DType::kQint8, "qint8", -128, 127, 8, Storage::kInt8);
  expect_info(DType::kQuint8, "quint8", 0, 255, 8, Storage::kUint8);
  expect_info(DType::kQint32, "qint32", -2147483647 - 1, 2147483647, 32, Storage::kInt32);
}

TEST(DTypeInfo, IsSignedWhereNegativeCodesExist) {
  for (const DType dtype : {DType::kInt2, DType::kInt4, DType::kInt8, DType::kInt16, DType::kInt32,
                            DType::kQint8, DType::kQint32}) {
    EXPECT_TRUE(dtype_info(dtype).is_signed()) << dtype_info(dtype).name;
  }
  for (const DType dtype :
       {DType::kUint2, DType::kUint4, DType::kUint8, DType::kUint16, DType::kQuint8}) {
    EXPECT_FALSE(dtype_info(dtype).is_signed()) << dtype_info(dtype).name;
  }
}

TEST(StorageOf, NamesTheCodeType) {
  EXPECT_EQ(kStorageOf<std::int8_t>, Storage::kInt8);
  EXPECT_EQ(kStorageOf<std::uint8_t>, Storage::kUint8);
  EXPECT_EQ(kStorageOf<std::int16_t>, Storage::kInt16);
  EXPECT_EQ(kStorageOf<std::uint16_t>, Storage::kUint16);
  EXPECT_EQ(kStorageOf<std::int32_t>, Storage::kInt32);
}

template <typename T>
constexpr bool kHoldsCodes = std::is_constructible_v<AnyCodes<void>, std::span<T>>;

// Kernels write codes by their storage type, so a type of another size would be overrun or half
// written.
TEST(AnyCodes, AcceptsOnlyTheTypesOfCodes) {
  EXPECT_TRUE(kHoldsCodes<std::int8_t> && kHoldsCodes<std::uint8_t> && kHoldsCodes<std::int16_t> &&
              kHoldsCodes<std::uint16_t> && kHoldsCodes<std::int32_t>);
  EXPECT_FALSE(kHoldsCodes<char> || kHoldsCodes<bool> || kHoldsCodes<std::uint32_t> ||
               kHoldsCodes<std::int64_t> || kHoldsCodes<float> || kHoldsCodes<double>);
}

}  // namespace
}  // namespace zeropoint
