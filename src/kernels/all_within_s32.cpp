// Four values per step, without early exit.
// Parity: std::all_of.
#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {

bool all_within_s32(const std::int32_t* values, std::size_t n, std::int32_t low,
                    std::int32_t high) {
  v128_t outside = wasm_i32x4_splat(0);
  const auto add = [&](v128_t four) {
    outside = wasm_v128_or(outside, wasm_v128_or(wasm_i32x4_lt(four, wasm_i32x4_splat(low)),
                                                 wasm_i32x4_gt(four, wasm_i32x4_splat(high))));
  };
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) add(wasm_v128_load(values + i));
  for (; i < n; ++i) add(wasm_i32x4_splat(values[i]));
  return !wasm_v128_any_true(outside);
}

}  // namespace zeropoint::kernels
