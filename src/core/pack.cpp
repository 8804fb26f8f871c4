#include "zeropoint/pack.h"

#include "kernels/kernels.h"

namespace zeropoint {

Status pack(std::span<const std::uint8_t> codes, DType dtype, std::span<std::uint8_t> out) {
  const DTypeInfo info = dtype_info(dtype);
  if (info.bits > 4) return Status::kUnsupportedDType;
  if (out.size() != packed_size(codes.size(), dtype)) return Status::kShapeMismatch;
  const auto kernel = info.bits == 4 ? kernels::pack_4bit : kernels::pack_2bit;
  kernel(codes.data(), codes.size(), out.data());
  return Status::kOk;
}

Status unpack(std::span<const std::uint8_t> bytes, DType dtype, std::span<std::uint8_t> codes) {
  const DTypeInfo info = dtype_info(dtype);
  if (info.bits > 4) return Status::kUnsupportedDType;
  if (bytes.size() != packed_size(codes.size(), dtype)) return Status::kShapeMismatch;
  const auto kernel = info.bits == 4 ? kernels::unpack_4bit : kernels::unpack_2bit;
  kernel(bytes.data(), codes.size(), info.is_signed(), codes.data());
  return Status::kOk;
}

}  // namespace zeropoint
