// 16 codes a step: widen, convert, subtract the zero point, multiply by the scale.
// Parity: bit-identical to reference/dequantize_f32.h for every code and every scale.
#include "kernels/qparams_lanes.h"

namespace zeropoint::kernels {

template <typename Code, typename QParams>
void dequantize_f32(const Code* codes, std::size_t n, QParams qparams, float* out) {
  for_steps(codes, n, qparams, out, [](const Code* from, std::size_t count, auto q, float* to) {
    const auto q_lanes = lanes(q);
    for (std::size_t i = 0; i < count; i += kStep) {
      const Int32x16 widened = load_codes(from + i);
      for (std::size_t j = 0; j < 4; ++j) {
        const QParamsLanes four = q_lanes.load(i + 4 * j);
        const v128_t steps =
            wasm_f32x4_sub(wasm_f32x4_convert_i32x4(widened.lanes[j]), four.zero_point);
        wasm_v128_store(to + i + 4 * j, wasm_f32x4_mul(four.scale, steps));
      }
    }
  });
}

#define ZEROPOINT_INSTANTIATE(Code)                                               \
  template void dequantize_f32(const Code*, std::size_t, GroupedQParams, float*); \
  template void dequantize_f32(const Code*, std::size_t, ElementwiseFloatQParams, float*);
ZEROPOINT_INSTANTIATE(std::int8_t)
ZEROPOINT_INSTANTIATE(std::uint8_t)
ZEROPOINT_INSTANTIATE(std::int16_t)
ZEROPOINT_INSTANTIATE(std::uint16_t)
ZEROPOINT_INSTANTIATE(std::int32_t)
#undef ZEROPOINT_INSTANTIATE

}  // namespace zeropoint::kernels
