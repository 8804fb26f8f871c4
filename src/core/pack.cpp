#include "zeropoint/pack.h"

#include "kernels/kernels.h"

namespace zeropoint {

Status pack(std::span<const std::uint8_t> codes, DType dtype, std::span<std::uint8_t> out) {
  const DTypeInfo info = dtype_info(dtype);
  if (info.bits > 7) return Status::kUnsupportedDType;
  if (out.size() != packed_size(codes.size(), dtype)) return Status::kShapeMismatch;
  kernels::pack_bits(codes.data(), codes.size(), info.bits, out.data());
  return Status::kOk;
}

Status unpack(std::span<const std::uint8_t> bytes, DType dtype, std::span<std::uint8_t> codes) {
  const DTypeInfo info = dtype_info(dtype);
  if (info.bits > 7) return Status::kUnsupportedDType;
  if (bytes.size() != packed_size(codes.size(), dtype)) return Status::kShapeMismatch;
  kernels::unpack_bits(bytes.data(), codes.size(), info.bits, info.is_signed(), codes.data());
  return Status::kOk;
}

}  // namespace zeropoint
