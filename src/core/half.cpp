#include "zeropoint/half.h"

#include "kernels/kernels.h"

namespace zeropoint {

Status to_float32(std::span<const std::uint16_t> halves, HalfType type, std::span<float> out) {
  if (halves.size() != out.size()) return Status::kShapeMismatch;
  const auto convert =
      type == HalfType::kFloat16 ? kernels::convert_f16_f32 : kernels::convert_bf16_f32;
  convert(halves.data(), halves.size(), out.data());
  return Status::kOk;
}

Status from_float32(std::span<const float> x, HalfType type, std::span<std::uint16_t> out) {
  if (x.size() != out.size()) return Status::kShapeMismatch;
  const auto convert =
      type == HalfType::kFloat16 ? kernels::convert_f32_f16 : kernels::convert_f32_bf16;
  convert(x.data(), x.size(), out.data());
  return Status::kOk;
}

}  // namespace zeropoint
