// Eight values a step: 16-bit floats to float32 and back; the tail goes through a buffer.
// Parity: bit-identical to reference/half.h for every value but NaN, which stays NaN.
#include <cstring>

#include "kernels/half.h"
#include "kernels/kernels.h"

namespace zeropoint::kernels {
namespace {

constexpr std::size_t kLanes = 8;

// Converts n values by steps of kLanes.
template <typename From, typename To, typename Step>
void convert(const From* from, std::size_t n, To* to, Step step) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) step(from + i, to + i);
  if (i == n) return;
  From rest[kLanes] = {};
  To converted[kLanes];
  std::memcpy(rest, from + i, (n - i) * sizeof(From));
  step(rest, converted);
  std::memcpy(to + i, converted, (n - i) * sizeof(To));
}

// One loop for both types keeps the download small. A step loads before it stores, so that it may
// overwrite its own input.
[[gnu::noinline]] void to_floats(const std::uint16_t* halves, std::size_t n, bool is_bfloat,
                                 float* out) {
  convert(halves, n, out, [=](const std::uint16_t* from, float* to) {
    const v128_t eight = wasm_v128_load(from);
    for (const v128_t four :
         {wasm_u32x4_extend_low_u16x8(eight), wasm_u32x4_extend_high_u16x8(eight)}) {
      wasm_v128_store(to, is_bfloat ? bf16_to_f32(four) : f16_to_f32(four));
      to += 4;
    }
  });
}

[[gnu::noinline]] void to_halves(const float* x, std::size_t n, bool is_bfloat,
                                 std::uint16_t* out) {
  convert(x, n, out, [=](const float* from, std::uint16_t* to) {
    const v128_t low = wasm_v128_load(from);
    const v128_t high = wasm_v128_load(from + 4);
    wasm_v128_store(to, is_bfloat ? wasm_u16x8_narrow_i32x4(f32_to_bf16(low), f32_to_bf16(high))
                                  : wasm_u16x8_narrow_i32x4(f32_to_f16(low), f32_to_f16(high)));
  });
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
