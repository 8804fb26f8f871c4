// 16 values per step: divide, add the zero point, clamp, round half to even, dequantize. Groups
// with codes of 8 bits are multiplied (brackets.h) and divided only in steps in doubt.
// Parity: bit-identical to reference/dequantize_f32.h of reference/quantize_f32.h, for every float.
#include "kernels/brackets.h"

namespace zeropoint::kernels {
namespace {

class FakeQuantizer {
 public:
  // Limits in float32. Only int32's largest code, 2^31 - 1, is not exact: it becomes 2^31, the
  // float32 from which it is dequantized anyway.
  explicit FakeQuantizer(const CodeRule& rule)
      : low_(wasm_f32x4_splat(static_cast<float>(rule.qmin))),
        high_(wasm_f32x4_splat(static_cast<float>(rule.qmax))) {}

  [[nodiscard]] v128_t quantize(v128_t x, const QParamsLanes& q) const {
    const v128_t quotient = wasm_f32x4_div(x, q.factor);
    // NaN becomes 0, and the sum the zero point.
    const v128_t number = wasm_v128_and(quotient, wasm_f32x4_eq(quotient, quotient));
    const v128_t shifted = wasm_f32x4_add(number, q.zero_point);
    const v128_t clamped = wasm_f32x4_pmax(wasm_f32x4_pmin(shifted, high_), low_);
    // 0 - zero_point, not its negation, so that -0 becomes +0.
    const v128_t offset = wasm_f32x4_sub(wasm_f32x4_splat(0.0F), q.zero_point);
    const v128_t steps = wasm_f32x4_add(wasm_f32x4_nearest(clamped), offset);
    return wasm_f32x4_mul(q.factor, steps);
  }

 private:
  v128_t low_;
  v128_t high_;
};

template <typename Lanes>
void fake_quantize_steps(const float* x, std::size_t n, const Lanes& lanes,
                         const FakeQuantizer& quantizer, float* out) {
  for (std::size_t i = 0; i < n; i += kStep) {
    for (std::size_t j = i; j < i + kStep; j += 4) {
      wasm_v128_store(out + j, quantizer.quantize(wasm_v128_load(x + j), lanes.load(j)));
    }
  }
}

void divide_groups(const void* from, std::size_t n, const AnyQParams& q, const CodeRule& rule,
                   void* to) {
  const auto* x = static_cast<const float*>(from);
  auto* out = static_cast<float*>(to);
  const FakeQuantizer quantizer(rule);
  for_groups(n, q,
             [&](std::size_t first, std::size_t count, const UniformLanes& lanes, std::size_t) {
               fake_quantize_steps(x + first, count, lanes, quantizer, out + first);
             });
}

void divide_columns(const void* from, std::size_t n, const AnyQParams& q, const CodeRule& rule,
                    void* to) {
  fake_quantize_steps(static_cast<const float*>(from), n, ElementwiseLanes(q.each),
                      FakeQuantizer(rule), static_cast<float*>(to));
}

// Rows per call. Four rows would need eight memory streams.
constexpr std::size_t kTogether = 2;

void divide_rows(const void* from, std::size_t n, const AnyQParams& q, const CodeRule& rule,
                 void* to) {
  const auto* x = static_cast<const float*>(from);
  auto* out = static_cast<float*>(to);
  const FakeQuantizer quantizer(rule);
  const ElementwiseLanes lanes(q.each, n);
  for_rows<kTogether>(q, [&](std::size_t position, std::size_t apart) {
    for (std::size_t i = 0; i < n; i += 4) {
      const QParamsLanes four = lanes.load(i);
      for (std::size_t r = 0; r < kTogether; ++r) {
        const std::size_t at = position + r * apart + i;
        wasm_v128_store(out + at, quantizer.quantize(wasm_v128_load(x + at), four));
      }
    }
  });
}

// ---- codes of 8 bits

// Dequantizes codes plus kMagic.
class Dequantizer {
 public:
  explicit Dequantizer(const CodeRule& rule)
      : low_(wasm_f32x4_splat(kMagic + static_cast<float>(rule.qmin))),
        high_(wasm_f32x4_splat(kMagic + static_cast<float>(rule.qmax))) {}

  [[nodiscard]] v128_t dequantize(v128_t sum, v128_t offset, v128_t scale) const {
    const v128_t clamped = wasm_f32x4_pmax(wasm_f32x4_pmin(sum, high_), low_);
    return wasm_f32x4_mul(scale, wasm_f32x4_sub(clamped, offset));
  }

 private:
  v128_t low_;
  v128_t high_;
};

// Writes nothing for a step in doubt, because `out` may be the values themselves.
[[gnu::noinline]] std::size_t multiply_groups(const float* x, std::size_t step, std::size_t end,
                                              std::size_t steps, const GroupBrackets& brackets,
                                              const CodeRule& rule, std::byte* to) {
  auto* out = reinterpret_cast<float*>(to);
  const Dequantizer dequantizer(rule);
  const float* scales = brackets.scales;
  std::size_t group = step / steps;
  for (std::size_t last = (group + 1) * steps; step < end; last += steps, ++group) {
    const Bracket b = brackets.of(group);
    const v128_t scale = wasm_v128_load32_splat(scales + group);
    for (; step < last; ++step) {
      v128_t sums[4];
      v128_t doubt = wasm_i32x4_splat(0);
      for (std::size_t j = 0; j < 4; ++j) {
        sums[j] = multiply(wasm_v128_load(x + kStep * step + 4 * j), b, doubt);
      }
      if (wasm_v128_any_true(doubt)) return step;
      for (std::size_t j = 0; j < 4; ++j) {
        wasm_v128_store(out + kStep * step + 4 * j,
                        dequantizer.dequantize(sums[j], b.offset, scale));
      }
    }
  }
  return end;
}

void divide_step(const float* x, const ElementwiseQParams& group, const CodeRule& rule,
                 std::byte* out) {
  fake_quantize_steps(x, kStep, UniformLanes(group, 0), FakeQuantizer(rule),
                      reinterpret_cast<float*>(out));
}

void fake_quantize_groups(const void* from, std::size_t n, const AnyQParams& q,
                          const CodeRule& rule, void* to) {
  static constexpr GroupLoops kLoops{multiply_groups, divide_step, sizeof(float)};
  const bool has_8_bits = rule.qmin >= INT8_MIN && rule.qmax <= UINT8_MAX;
  if (!has_8_bits) return divide_groups(from, n, q, rule, to);
  run_groups(kLoops, from, n, q, rule, to);
}

}  // namespace

const Operation& fake_quantization() {
  static constexpr Operation kOperation{sizeof(float),        sizeof(float),  false,
                                        fake_quantize_groups, divide_columns, divide_rows};
  return kOperation;
}

}  // namespace zeropoint::kernels
