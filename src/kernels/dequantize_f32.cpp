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

template <typename Code>
void dequantize_f32(const Code* codes, std::size_t n, ColumnsQParams qparams, float* out) {
  const ElementwiseFloatLanes q_lanes(qparams.columns);
  for_rows(
      qparams, n, sizeof(Code) == 1 ? n / 4 * 4 : 0,
      [&](std::size_t position, std::size_t apart) {
        if constexpr (sizeof(Code) == 1) {
          for (std::size_t i = 0; i + 4 <= n; i += 4) {
            const QParamsLanes four = q_lanes.load(i);
            for (std::size_t r = 0; r < kRowsTogether; ++r) {
              const std::size_t at = position + r * apart + i;
              const v128_t steps =
                  wasm_f32x4_sub(wasm_f32x4_convert_i32x4(load_four(codes + at)), four.zero_point);
              wasm_v128_store(out + at, wasm_f32x4_mul(four.scale, steps));
            }
          }
        }
      },
      [&](std::size_t position, std::size_t count, ElementwiseFloatQParams rest) {
        dequantize_f32(codes + position, count, rest, out + position);
      });
}

#define ZEROPOINT_INSTANTIATE(Code)                                                        \
  template void dequantize_f32(const Code*, std::size_t, GroupedQParams, float*);          \
  template void dequantize_f32(const Code*, std::size_t, ElementwiseFloatQParams, float*); \
  template void dequantize_f32(const Code*, std::size_t, ColumnsQParams, float*);
ZEROPOINT_INSTANTIATE(std::int8_t)
ZEROPOINT_INSTANTIATE(std::uint8_t)
ZEROPOINT_INSTANTIATE(std::int16_t)
ZEROPOINT_INSTANTIATE(std::uint16_t)
ZEROPOINT_INSTANTIATE(std::int32_t)
#undef ZEROPOINT_INSTANTIATE

}  // namespace zeropoint::kernels
