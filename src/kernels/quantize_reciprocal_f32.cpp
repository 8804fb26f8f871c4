// 16 values a step: multiply by the reciprocal, round half to even, add the zero point (or the
// other way round), clamp, narrow. Parity: bit-identical to reference/quantize_reciprocal_f32.h for
// every float, NaN included.
#include <cmath>

#include "kernels/qparams_lanes.h"

namespace zeropoint::kernels {
namespace {

constexpr float kTwo31 = 2147483648.0F;
constexpr float kTwo63 = 9223372036854775808.0F;

// PyTorch's portable kernel beyond int32, one value at a time: rare enough not to matter.
// With integer zero points the sum is taken as int64 and clamped; what int64 cannot hold is its
// minimum.
std::int32_t torch_code_after(float t, const TorchRule& rule) {
  if (!(t < kTwo63)) return rule.qmin;
  if (t >= kTwo31) return rule.qmax;
  return rule.qmin;
}

// With floating ones it is taken as int64, truncated to 32 bits, and then clamped.
std::int32_t torch_code_before(float t, const TorchRule& rule) {
  const bool held = t >= -kTwo63 && t < kTwo63;
  const auto wide = held ? static_cast<std::int64_t>(t) : INT64_MIN;
  const auto low = static_cast<std::int32_t>(static_cast<std::uint32_t>(wide));
  return low < rule.qmin ? rule.qmin : (low > rule.qmax ? rule.qmax : low);
}

template <AddZeroPoint kAdd>
class ReciprocalQuantizer {
 public:
  explicit ReciprocalQuantizer(const TorchRule& rule)
      : rule_(rule), qmin_(wasm_i32x4_splat(rule.qmin)), qmax_(wasm_i32x4_splat(rule.qmax)) {}

  [[nodiscard]] v128_t quantize(v128_t x, const QParamsLanes& q) const {
    v128_t t = wasm_f32x4_mul(x, q.scale);
    if constexpr (kAdd == AddZeroPoint::kAfterRounding) {
      t = wasm_f32x4_add(q.zero_point, wasm_f32x4_nearest(t));
    } else {
      t = wasm_f32x4_nearest(wasm_f32x4_add(t, q.zero_point));
    }
    const v128_t saturated = wasm_i32x4_trunc_sat_f32x4(t);
    const v128_t code = wasm_i32x4_min(wasm_i32x4_max(saturated, qmin_), qmax_);
    if (rule_.saturate) return wasm_v128_bitselect(code, q.nan_code, wasm_f32x4_eq(t, t));
    const v128_t held = wasm_f32x4_lt(wasm_f32x4_abs(t), wasm_f32x4_splat(kTwo31));
    if (wasm_i32x4_all_true(held)) return code;
    return torch_codes(t, code);
  }

 private:
  [[nodiscard]] v128_t torch_codes(v128_t t, v128_t code) const {
    float values[4];
    std::int32_t codes[4];
    wasm_v128_store(values, t);
    wasm_v128_store(codes, code);
    for (std::size_t lane = 0; lane < 4; ++lane) {
      if (std::fabs(values[lane]) < kTwo31) continue;
      codes[lane] = kAdd == AddZeroPoint::kAfterRounding ? torch_code_after(values[lane], rule_)
                                                         : torch_code_before(values[lane], rule_);
    }
    return wasm_v128_load(codes);
  }

  TorchRule rule_;
  v128_t qmin_;
  v128_t qmax_;
};

// (double(code) - zero_point) * scale for four codes, each product rounded to double, then to
// float32. Integer zero points are taken from their int32, which float32 may not hold.
template <AddZeroPoint kAdd>
v128_t dequantize_f64(v128_t code, const QParamsLanes& q, v128_t scale) {
  const auto high = [](v128_t v) { return wasm_i64x2_shuffle(v, v, 1, 1); };
  const auto half = [](v128_t codes, v128_t zero_points, v128_t scales) {
    const v128_t steps = wasm_f64x2_sub(wasm_f64x2_convert_low_i32x4(codes), zero_points);
    return wasm_f32x4_demote_f64x2_zero(
        wasm_f64x2_mul(steps, wasm_f64x2_promote_low_f32x4(scales)));
  };
  const auto zero_point = [&](auto of) {
    return kAdd == AddZeroPoint::kAfterRounding ? wasm_f64x2_convert_low_i32x4(of(q.nan_code))
                                                : wasm_f64x2_promote_low_f32x4(of(q.zero_point));
  };
  const v128_t low_half = half(code, zero_point([](v128_t v) { return v; }), scale);
  const v128_t high_half = half(high(code), zero_point(high), high(scale));
  return wasm_i64x2_shuffle(low_half, high_half, 0, 2);
}

}  // namespace

template <typename Code, AddZeroPoint kAdd, typename QParams>
void quantize_reciprocal_f32(const float* x, std::size_t n, QParams qparams, TorchRule rule,
                             Code* out) {
  const ReciprocalQuantizer<kAdd> quantizer(rule);
  for_steps(x, n, qparams, out, [&](const float* from, std::size_t count, QParams q, Code* to) {
    const auto q_lanes = lanes(q);
    for (std::size_t i = 0; i < count; i += kStep) {
      Int32x16 codes;
      for (std::size_t j = 0; j < 4; ++j) {
        codes.lanes[j] =
            quantizer.quantize(wasm_v128_load(from + i + 4 * j), q_lanes.load(i + 4 * j));
      }
      store_codes(codes, to + i);
    }
  });
}

template <AddZeroPoint kAdd, typename QParams>
void fake_quantize_reciprocal_f32(const float* x, std::size_t n, QParams qparams,
                                  const float* scales, TorchRule rule, float* out) {
  constexpr bool kUniform = std::is_same_v<QParams, UniformQParams>;
  const ReciprocalQuantizer<kAdd> quantizer(rule);
  const auto step = [&](v128_t value, const QParamsLanes& q, v128_t scale) {
    return dequantize_f64<kAdd>(quantizer.quantize(value, q), q, scale);
  };
  const auto q_lanes = lanes(qparams);
  const v128_t one_scale = wasm_f32x4_splat(*scales);
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const v128_t scale = kUniform ? one_scale : wasm_v128_load(scales + i);
    wasm_v128_store(out + i, step(wasm_v128_load(x + i), q_lanes.load(i), scale));
  }
  if (i == n) return;
  Tail<float> rest(x + i, n - i);
  const auto rest_qparams = tail(skip(qparams, i), n - i);
  const Tail<float> rest_scales(kUniform ? scales : scales + i, kUniform ? 1 : n - i);
  const v128_t scale = kUniform ? one_scale : wasm_v128_load(rest_scales.values);
  wasm_v128_store(rest.values,
                  step(wasm_v128_load(rest.values), lanes(rest_qparams.qparams).load(0), scale));
  std::copy_n(rest.values, n - i, out + i);
}

#define ZEROPOINT_INSTANTIATE_CODE(Code, kAdd, QParams)                                            \
  template void quantize_reciprocal_f32<Code, kAdd>(const float*, std::size_t, QParams, TorchRule, \
                                                    Code*);
#define ZEROPOINT_INSTANTIATE(kAdd, QParams)                                           \
  ZEROPOINT_INSTANTIATE_CODE(std::int8_t, kAdd, QParams)                               \
  ZEROPOINT_INSTANTIATE_CODE(std::uint8_t, kAdd, QParams)                              \
  template void fake_quantize_reciprocal_f32<kAdd>(const float*, std::size_t, QParams, \
                                                   const float*, TorchRule, float*);
ZEROPOINT_INSTANTIATE(AddZeroPoint::kAfterRounding, UniformQParams)
ZEROPOINT_INSTANTIATE(AddZeroPoint::kAfterRounding, ElementwiseFloatQParams)
ZEROPOINT_INSTANTIATE(AddZeroPoint::kBeforeRounding, UniformQParams)
ZEROPOINT_INSTANTIATE(AddZeroPoint::kBeforeRounding, ElementwiseFloatQParams)
ZEROPOINT_INSTANTIATE_CODE(std::int32_t, AddZeroPoint::kAfterRounding, UniformQParams)
ZEROPOINT_INSTANTIATE_CODE(std::int32_t, AddZeroPoint::kAfterRounding, ElementwiseFloatQParams)
#undef ZEROPOINT_INSTANTIATE
#undef ZEROPOINT_INSTANTIATE_CODE

}  // namespace zeropoint::kernels
