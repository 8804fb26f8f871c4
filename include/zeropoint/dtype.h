// The integer types that values are quantized to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace zeropoint {

/// A quantized dtype. Those of less than 8 bits hold one value per byte until packed (pack.h).
/// qint8, quint8 and qint32 have the codes of int8, uint8 and int32; their values follow
/// torch.quantize_* and its dequantize() instead of the notebooks.
enum class DType {
  kInt2,
  kInt3,
  kInt4,
  kInt5,
  kInt6,
  kInt7,
  kInt8,
  kUint1,
  kUint2,
  kUint3,
  kUint4,
  kUint5,
  kUint6,
  kUint7,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kQint8,
  kQuint8,
  kQint32,
};

/// The C++ type that holds one code.
enum class Storage { kInt8, kUint8, kInt16, kUint16, kInt32 };

/// Name, code range and width of a dtype.
struct DTypeInfo {
  std::string_view name;  ///< "int8", as in JavaScript and, where PyTorch has it, in PyTorch
  std::int32_t qmin;      ///< the smallest code
  std::int32_t qmax;      ///< the largest code
  int bits;               ///< bits of a packed code: 1 to 8, 16 or 32
  Storage storage;

  [[nodiscard]] constexpr bool is_signed() const { return qmin < 0; }
};

/// Source: torch.iinfo for 8 bits and more; two's complement for fewer.
[[nodiscard]] constexpr DTypeInfo dtype_info(DType dtype) {
  switch (dtype) {
    case DType::kInt2:
      return {"int2", -2, 1, 2, Storage::kInt8};
    case DType::kInt3:
      return {"int3", -4, 3, 3, Storage::kInt8};
    case DType::kInt4:
      return {"int4", -8, 7, 4, Storage::kInt8};
    case DType::kInt5:
      return {"int5", -16, 15, 5, Storage::kInt8};
    case DType::kInt6:
      return {"int6", -32, 31, 6, Storage::kInt8};
    case DType::kInt7:
      return {"int7", -64, 63, 7, Storage::kInt8};
    case DType::kInt8:
      return {"int8", -128, 127, 8, Storage::kInt8};
    case DType::kUint1:
      return {"uint1", 0, 1, 1, Storage::kUint8};
    case DType::kUint2:
      return {"uint2", 0, 3, 2, Storage::kUint8};
    case DType::kUint3:
      return {"uint3", 0, 7, 3, Storage::kUint8};
    case DType::kUint4:
      return {"uint4", 0, 15, 4, Storage::kUint8};
    case DType::kUint5:
      return {"uint5", 0, 31, 5, Storage::kUint8};
    case DType::kUint6:
      return {"uint6", 0, 63, 6, Storage::kUint8};
    case DType::kUint7:
      return {"uint7", 0, 127, 7, Storage::kUint8};
    case DType::kUint8:
      return {"uint8", 0, 255, 8, Storage::kUint8};
    case DType::kInt16:
      return {"int16", -32768, 32767, 16, Storage::kInt16};
    case DType::kUint16:
      return {"uint16", 0, 65535, 16, Storage::kUint16};
    case DType::kInt32:
      return {"int32", INT32_MIN, INT32_MAX, 32, Storage::kInt32};
    case DType::kQint8:
      return {"qint8", -128, 127, 8, Storage::kInt8};
    case DType::kQuint8:
      return {"quint8", 0, 255, 8, Storage::kUint8};
    case DType::kQint32:
      break;
  }
  return {"qint32", INT32_MIN, INT32_MAX, 32, Storage::kInt32};
}

/// The C++ types that hold codes.
template <typename T>
concept CodeType = std::is_same_v<T, std::int8_t> || std::is_same_v<T, std::uint8_t> ||
    std::is_same_v<T, std::int16_t> || std::is_same_v<T, std::uint16_t> ||
    std::is_same_v<T, std::int32_t>;

/// The storage enumerator for a C++ code type.
template <CodeType Code>
constexpr Storage kStorageOf = Storage::kInt32;
template <>
inline constexpr Storage kStorageOf<std::int8_t> = Storage::kInt8;
template <>
inline constexpr Storage kStorageOf<std::uint8_t> = Storage::kUint8;
template <>
inline constexpr Storage kStorageOf<std::int16_t> = Storage::kInt16;
template <>
inline constexpr Storage kStorageOf<std::uint16_t> = Storage::kUint16;

/// Codes with a storage type known only at run time; built from typed spans. Data: void or const
/// void.
template <typename Data>
struct AnyCodes {
  Data* data;
  std::size_t size;  ///< in codes
  Storage storage;

  AnyCodes(Data* first, std::size_t count, Storage type)
      : data(first), size(count), storage(type) {}

  template <typename Code>
  requires CodeType<std::remove_const_t<Code>>
  explicit AnyCodes(std::span<Code> codes)
      : AnyCodes(codes.data(), codes.size(), kStorageOf<std::remove_const_t<Code>>) {}
};

}  // namespace zeropoint
