// Eight values a step: 16-bit floats to float32 and back; the tail goes through a buffer.
// Parity: bit-identical to reference/half.h for every value but NaN, which stays NaN.
#include <cstring>

#include "kernels/half.h"
#include "kernels/kernels.h"

namespace zeropoint::kernels {
namespace {

constexpr std::size_t kLanes = 8;

// One loop for both types keeps the download small. A step loads before it stores, so that it may
// overwrite its own input.
[[gnu::noinline]] void to_floats(const std::uint16_t* halves, std::size_t n, bool is_bfloat,
                                 float* out) {
  for (; n >= kLanes; n -= kLanes, halves += kLanes, out += kLanes) {
    const v128_t eight = wasm_v128_load(halves);
    v128_t low = wasm_u32x4_extend_low_u16x8(eight);
    v128_t high = wasm_u32x4_extend_high_u16x8(eight);
    if (is_bfloat) {
      low = bf16_to_f32(low);
      high = bf16_to_f32(high);
    } else {
      low = f16_to_f32(low);
      high = f16_to_f32(high);
    }
    wasm_v128_store(out, low);
    wasm_v128_store(out + 4, high);
  }
  if (n == 0) return;
  std::uint16_t rest[kLanes] = {};
  float converted[kLanes];
  std::memcpy(rest, halves, n * sizeof(std::uint16_t));
  to_floats(rest, kLanes, is_bfloat, converted);
  std::memcpy(out, converted, n * sizeof(float));
}

[[gnu::noinline]] void to_halves(const float* x, std::size_t n, bool is_bfloat,
                                 std::uint16_t* out) {
  for (; n >= kLanes; n -= kLanes, x += kLanes, out += kLanes) {
    v128_t low = wasm_v128_load(x);
    v128_t high = wasm_v128_load(x + 4);
    if (is_bfloat) {
      low = f32_to_bf16(low);
      high = f32_to_bf16(high);
    } else {
      low = f32_to_f16(low);
      high = f32_to_f16(high);
    }
    wasm_v128_store(out, wasm_u16x8_narrow_i32x4(low, high));
  }
  if (n == 0) return;
  float rest[kLanes] = {};
  std::uint16_t converted[kLanes];
  std::memcpy(rest, x, n * sizeof(float));
  to_halves(rest, kLanes, is_bfloat, converted);
  std::memcpy(out, converted, n * sizeof(std::uint16_t));
}

}  // namespace

void convert_f16_f32(const std::uint16_t* halves, std::size_t n, float* out) {
  to_floats(halves, n, false, out);
}

void convert_bf16_f32(const std::uint16_t* halves, std::size_t n, float* out) {
  to_floats(halves, n, true, out);
}

void convert_f32_f16(const float* x, std::size_t n, std::uint16_t* out) {
  to_halves(x, n, false, out);
}

void convert_f32_bf16(const float* x, std::size_t n, std::uint16_t* out) {
  to_halves(x, n, true, out);
}

}  // namespace zeropoint::kernels
