// 16 codes per step: widen, convert, subtract the zero point, multiply by the scale.
// Parity: bit-identical to reference/dequantize_f32.h for every code and every scale.
#include "kernels/qparams_lanes.h"

namespace zeropoint::kernels {
namespace {

v128_t dequantize(v128_t code, const QParamsLanes& q) {
  return wasm_f32x4_mul(q.factor, wasm_f32x4_sub(wasm_f32x4_convert_i32x4(code), q.zero_point));
}

template <typename Code, typename Lanes>
void dequantize_steps(const Code* codes, std::size_t n, const Lanes& lanes, float* out) {
  for (std::size_t i = 0; i < n; i += kStep) {
    const Int32x16 widened = load_codes(codes + i);
    for (std::size_t j = 0; j < 4; ++j) {
      wasm_v128_store(out + i + 4 * j, dequantize(widened.lanes[j], lanes.load(i + 4 * j)));
    }
  }
}

template <typename Code>
void dequantize_groups(const void* from, std::size_t n, const AnyQParams& q, const CodeRule&,
                       void* to) {
  const auto* codes = static_cast<const Code*>(from);
  auto* out = static_cast<float*>(to);
  for_groups(n, q,
             [&](std::size_t first, std::size_t count, const UniformLanes& lanes, std::size_t) {
               dequantize_steps(codes + first, count, lanes, out + first);
             });
}

template <typename Code>
void dequantize_columns(const void* from, std::size_t n, const AnyQParams& q, const CodeRule&,
                        void* to) {
  dequantize_steps(static_cast<const Code*>(from), n, ElementwiseLanes(q.each),
                   static_cast<float*>(to));
}

template <typename Code>
void dequantize_rows(const void* from, std::size_t n, const AnyQParams& q, const CodeRule&,
                     void* to) {
  const auto* codes = static_cast<const Code*>(from);
  auto* out = static_cast<float*>(to);
  const ElementwiseLanes lanes(q.each, n);
  for_rows<kRowsTogether>(q, [&](std::size_t position, std::size_t apart) {
    for (std::size_t i = 0; i < n; i += 4) {
      const QParamsLanes four = lanes.load(i);
      for (std::size_t r = 0; r < kRowsTogether; ++r) {
        const std::size_t at = position + r * apart + i;
        wasm_v128_store(out + at, dequantize(load_four(codes + at), four));
      }
    }
  });
}

template <typename Code>
constexpr Loop rows_loop() {
  if constexpr (sizeof(Code) == 1) {
    return dequantize_rows<Code>;
  } else {
    return nullptr;
  }
}

template <typename Code>
struct Dequantization {
  static constexpr Operation kOperation{
      sizeof(Code),     sizeof(float), false, dequantize_groups<Code>, dequantize_columns<Code>,
      rows_loop<Code>()};
};

}  // namespace

const Operation& dequantization(Storage codes) { return operation_of<Dequantization>(codes); }

}  // namespace zeropoint::kernels
