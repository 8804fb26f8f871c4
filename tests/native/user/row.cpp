#include "row.h"

#include <zeropoint/zeropoint.h>

#include <array>
#include <cstdint>
#include <span>

bool quantizes_row() {
  const std::array x = {0.5F, -1.0F, 127.0F};
  const std::array<std::uint32_t, 1> shape = {3};
  const std::array scale = {1.0F};
  const std::array<std::int32_t, 1> zero_point = {0};
  std::array<std::int8_t, 3> codes{};
  const zeropoint::Status status =
      zeropoint::quantize(zeropoint::TensorView<const float>{x, shape}, {scale, zero_point, {}},
                          zeropoint::DType::kInt8, std::span<std::int8_t>(codes));
  return status == zeropoint::Status::kOk && codes == std::array<std::int8_t, 3>{0, -1, 127};
}
