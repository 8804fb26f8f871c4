// 16 values a step: quantize to int32 lanes and straight back to float32.
// Parity: bit-identical to reference/dequantize_f32.h of reference/quantize_f32.h, for every float.
#include "kernels/qparams_lanes.h"

namespace zeropoint::kernels {

template <typename QParams>
void fake_quantize_f32(const float* x, std::size_t n, QParams qparams, CodeRule rule, float* out) {
  const Quantizer quantizer(rule);
  const bool int32 = rule.qmax == INT32_MAX;
  for_steps(x, n, qparams, out, [&](const float* from, std::size_t count, QParams q, float* to) {
    const auto q_lanes = lanes(q);
    for (std::size_t i = 0; i < count; i += 4) {
      const v128_t value = wasm_v128_load(from + i);
      const QParamsLanes four = q_lanes.load(i);
      const v128_t code =
          int32 ? quantizer.quantize<true>(value, four) : quantizer.quantize<false>(value, four);
      const v128_t steps = wasm_f32x4_sub(wasm_f32x4_convert_i32x4(code), four.zero_point);
      wasm_v128_store(to + i, wasm_f32x4_mul(four.scale, steps));
    }
  });
}

template void fake_quantize_f32(const float*, std::size_t, UniformQParams, CodeRule, float*);
template void fake_quantize_f32(const float*, std::size_t, ElementwiseQParams, CodeRule, float*);

}  // namespace zeropoint::kernels
