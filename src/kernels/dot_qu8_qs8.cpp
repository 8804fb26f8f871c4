// Sixteen products of uint8 and int8 a step, in pairs that fit int32, drained to 64 bits before an
// int32 could overflow. Parity: the exact sum, as reference/dot.h computes it.
#include <algorithm>

#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

// A lane gains at most 4 * 255 * 128 < 2^17 a step of 16, so 2^13 steps stay below 2^31 / 2.
constexpr std::size_t kDrain = std::size_t{16} * 8192;

}  // namespace

std::int64_t dot_qu8_qs8(const std::uint8_t* x, const std::int8_t* w, std::size_t k) {
  std::int64_t total = 0;
  std::size_t i = 0;
  while (i + 16 <= k) {
    const std::size_t end = i + std::min(kDrain, (k - i) / 16 * 16);
    v128_t acc = wasm_i32x4_splat(0);
    for (; i < end; i += 16) {
      const v128_t low = wasm_i32x4_dot_i16x8(wasm_u16x8_load8x8(x + i), wasm_i16x8_load8x8(w + i));
      const v128_t high =
          wasm_i32x4_dot_i16x8(wasm_u16x8_load8x8(x + i + 8), wasm_i16x8_load8x8(w + i + 8));
      acc = wasm_i32x4_add(acc, wasm_i32x4_add(low, high));
    }
    std::int32_t lanes[4];
    wasm_v128_store(lanes, acc);
    for (const std::int32_t lane : lanes) total += lane;
  }
  for (; i < k; ++i) total += std::int64_t{x[i]} * w[i];
  return total;
}

}  // namespace zeropoint::kernels
