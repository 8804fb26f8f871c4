// 16 values a step: divide by the scale, add the zero point, round half to even, clamp, narrow.
// Parity: bit-identical to reference/quantize_f32.h for every float, NaN included.
#include "kernels/qparams_lanes.h"

namespace zeropoint::kernels {

template <typename Code, typename QParams>
void quantize_f32(const float* x, std::size_t n, QParams qparams, CodeRule rule, Code* out) {
  const Quantizer quantizer(rule);
  for_steps(x, n, qparams, out, [&](const float* from, std::size_t count, QParams q, Code* to) {
    const auto q_lanes = lanes(q);
    for (std::size_t i = 0; i < count; i += kStep) {
      Int32x16 codes;
      for (std::size_t j = 0; j < 4; ++j) {
        codes.lanes[j] = quantizer.template quantize<sizeof(Code) == 4>(
            wasm_v128_load(from + i + 4 * j), q_lanes.load(i + 4 * j));
      }
      store_codes(codes, to + i);
    }
  });
}

#define ZEROPOINT_INSTANTIATE(Code)                                                           \
  template void quantize_f32(const float*, std::size_t, UniformQParams, CodeRule, Code*);     \
  template void quantize_f32(const float*, std::size_t, ElementwiseQParams, CodeRule, Code*); \
  template void quantize_f32(const float*, std::size_t, ElementwiseFloatQParams, CodeRule, Code*);
ZEROPOINT_INSTANTIATE(std::int8_t)
ZEROPOINT_INSTANTIATE(std::uint8_t)
ZEROPOINT_INSTANTIATE(std::int16_t)
ZEROPOINT_INSTANTIATE(std::uint16_t)
ZEROPOINT_INSTANTIATE(std::int32_t)
#undef ZEROPOINT_INSTANTIATE

}  // namespace zeropoint::kernels
