// 16 values a step: divide, add the zero point, clamp, round half to even, and straight back.
// Parity: bit-identical to reference/dequantize_f32.h of reference/quantize_f32.h, for every float.
#include "kernels/qparams_lanes.h"

namespace zeropoint::kernels {

template <typename QParams>
void fake_quantize_f32(const float* x, std::size_t n, QParams qparams, CodeRule rule, float* out) {
  // In float32, where every code the result can tell apart is exact: int32's largest is 2^31 there,
  // which is also what the code 2^31 - 1 dequantizes as.
  const v128_t low = wasm_f32x4_splat(static_cast<float>(rule.qmin));
  const v128_t high = wasm_f32x4_splat(static_cast<float>(rule.qmax));
  for_steps(x, n, qparams, out, [&](const float* from, std::size_t count, auto q, float* to) {
    const auto q_lanes = lanes(q);
    for (std::size_t i = 0; i < count; i += kStep) {
      for (std::size_t j = i; j < i + kStep; j += 4) {
        const QParamsLanes four = q_lanes.load(j);
        const v128_t quotient = wasm_f32x4_div(wasm_v128_load(from + j), four.scale);
        // NaN becomes 0, and so the zero point.
        const v128_t number = wasm_v128_and(quotient, wasm_f32x4_eq(quotient, quotient));
        const v128_t shifted = wasm_f32x4_add(number, four.zero_point);
        const v128_t clamped = wasm_f32x4_pmax(wasm_f32x4_pmin(shifted, high), low);
        // 0 - zero_point, not its negation, so that -0 becomes +0.
        const v128_t offset = wasm_f32x4_sub(wasm_f32x4_splat(0.0F), four.zero_point);
        const v128_t steps = wasm_f32x4_add(wasm_f32x4_nearest(clamped), offset);
        wasm_v128_store(to + j, wasm_f32x4_mul(four.scale, steps));
      }
    }
  });
}

template void fake_quantize_f32(const float*, std::size_t, GroupedQParams, CodeRule, float*);
template void fake_quantize_f32(const float*, std::size_t, ElementwiseFloatQParams, CodeRule,
                                float*);

}  // namespace zeropoint::kernels
