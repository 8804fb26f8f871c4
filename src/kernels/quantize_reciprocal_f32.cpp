// 16 values per step: multiply by the reciprocal, round half to even, add the zero point (or add
// before rounding), clamp, narrow. Parity: bit-identical to reference/quantize_reciprocal_f32.h for
// every float, NaN included.
//
// The fast version of a step assumes ordinary values; otherwise the step is repeated exactly.
#include <cassert>
#include <cmath>

#include "kernels/doubles.h"
#include "kernels/qparams_lanes.h"

namespace zeropoint::kernels {
namespace {

constexpr float kTwo31 = 2147483648.0F;
constexpr float kTwo63 = 9223372036854775808.0F;

// Code of a value beyond int32, as from PyTorch's portable kernel. Rare, so speed is irrelevant.
using TorchCode = std::int32_t (*)(float t, const CodeRule& rule);

// Converts the sum to int64 and clamps it; values outside int64 give its minimum.
std::int32_t torch_code(float t, const CodeRule& rule) {
  if (!(t < kTwo63)) return rule.qmin;
  if (t >= kTwo31) return rule.qmax;
  return rule.qmin;
}

// For codes with floating zero points, truncates to 32 bits before clamping.
std::int32_t truncated_torch_code(float t, const CodeRule& rule) {
  const bool held = t >= -kTwo63 && t < kTwo63;
  const auto wide = held ? static_cast<std::int64_t>(t) : INT64_MIN;
  const auto low = static_cast<std::int32_t>(static_cast<std::uint32_t>(wide));
  return low < rule.qmin ? rule.qmin : (low > rule.qmax ? rule.qmax : low);
}

// Values as multiples of the scale, plus the zero point, not yet clamped.
v128_t rounded(AddZeroPoint add, v128_t x, v128_t reciprocal, v128_t zero_point) {
  const v128_t quotient = wasm_f32x4_mul(x, reciprocal);
  return add == AddZeroPoint::kAfterRounding
             ? wasm_f32x4_add(zero_point, wasm_f32x4_nearest(quotient))
             : wasm_f32x4_nearest(wasm_f32x4_add(quotient, zero_point));
}

v128_t clamped(v128_t codes, const CodeRule& rule) {
  return wasm_i32x4_min(wasm_i32x4_max(codes, wasm_i32x4_splat(rule.qmin)),
                        wasm_i32x4_splat(rule.qmax));
}

// A step with NaN or values outside int32.
[[gnu::noinline]] void quantize_exactly(const float* x, const FourByFour& qparams,
                                        const CodeRule& rule, AddZeroPoint add, TorchCode torch,
                                        Int32x16& codes) {
  assert(qparams.each.nan_codes != nullptr);
  for (std::size_t j = 0; j < 4; ++j) {
    const ElementwiseQParams four = qparams.each.skip(j * qparams.stride);
    const v128_t t = rounded(add, wasm_v128_load(x + 4 * j), wasm_v128_load(four.factors),
                             wasm_v128_load(four.zero_points));
    const v128_t code = clamped(wasm_i32x4_trunc_sat_f32x4(t), rule);
    codes.lanes[j] = wasm_v128_bitselect(code, wasm_v128_load(four.nan_codes), wasm_f32x4_eq(t, t));
    if (rule.overflow != kTorchOverflow) continue;
    float values[4];
    std::int32_t lanes[4];
    wasm_v128_store(values, t);
    wasm_v128_store(lanes, code);
    for (std::size_t lane = 0; lane < 4; ++lane) {
      if (std::fabs(values[lane]) < kTwo31) continue;
      lanes[lane] = torch(values[lane], rule);
    }
    codes.lanes[j] = wasm_v128_load(lanes);
  }
}

// The rule of torch.quantize_*, for quantize_groups() and quantize_columns().
template <AddZeroPoint kAdd>
constexpr TorchCode kKept =
    kAdd == AddZeroPoint::kAfterRounding ? torch_code : truncated_torch_code;

// Computes a step. @return whether all its values are ordinary, so that the codes are right
template <AddZeroPoint kAdd>
class Multiply {
 public:
  explicit Multiply(const CodeRule& rule)
      : rule_(rule),
        // The largest float within int32, or any float.
        ordinary_(wasm_f32x4_splat(rule.overflow == kTorchOverflow ? 2147483520.0F : INFINITY)) {}

  template <typename Lanes>
  [[nodiscard]] bool step(const float* x, const Lanes& lanes, std::size_t i,
                          Int32x16& codes) const {
    v128_t held = wasm_i32x4_splat(-1);
    for (std::size_t j = 0; j < 4; ++j) {
      const QParamsLanes four = lanes.load(i + 4 * j);
      const v128_t t = rounded(kAdd, wasm_v128_load(x + i + 4 * j), four.factor, four.zero_point);
      held = wasm_v128_and(held, wasm_f32x4_le(wasm_f32x4_abs(t), ordinary_));
      codes.lanes[j] = clamped(wasm_i32x4_trunc_sat_f32x4(t), rule_);
    }
    return wasm_i32x4_all_true(held);
  }

 private:
  CodeRule rule_;
  v128_t ordinary_;
};

// The same for codes of 8 bits, to be narrowed. Adding kMagic rounds half to even and leaves
// integers below 2^21 in the lowest bits; a zero point of 8 bits can still be added to them. All
// other floats, NaN included, have bits outside this range.
template <AddZeroPoint kAdd>
class MultiplyNarrow {
 public:
  template <typename Lanes>
  [[nodiscard]] bool step(const float* x, const Lanes& lanes, std::size_t i,
                          Int32x16& codes) const {
    const v128_t magic = wasm_f32x4_splat(kMagic);
    v128_t farthest = wasm_i32x4_splat(0);
    for (std::size_t j = 0; j < 4; ++j) {
      const QParamsLanes four = lanes.load(i + 4 * j);
      const v128_t quotient = wasm_f32x4_mul(wasm_v128_load(x + i + 4 * j), four.factor);
      constexpr bool kAfter = kAdd == AddZeroPoint::kAfterRounding;
      const v128_t sum = wasm_f32x4_add(wasm_f32x4_add(quotient, kAfter ? magic : four.zero_point),
                                        kAfter ? four.zero_point : magic);
      codes.lanes[j] = wasm_i32x4_sub(sum, magic);
      farthest = wasm_u32x4_max(farthest, wasm_i32x4_abs(codes.lanes[j]));
    }
    return wasm_i32x4_all_true(wasm_u32x4_le(farthest, wasm_i32x4_splat(1 << 21)));
  }
};

// Quantizes 16 values per step, and calls exact(position) for steps with values that are not
// ordinary.
template <AddZeroPoint kAdd, typename Code, typename Lanes, typename Exact>
void quantize_steps(const float* x, std::size_t n, const Lanes& lanes, const CodeRule& limits,
                    Code* out, Exact exact) {
  const CodeRule rule = limits;  // in registers: `out` may be anything in memory
  // The inner loop is free of calls, so that its constants stay in registers.
  for (std::size_t i = 0; i < n;) {
    bool right = false;
    do {
      Int32x16 codes;
      if constexpr (sizeof(Code) == 1) {
        right = MultiplyNarrow<kAdd>().step(x, lanes, i, codes);
        wasm_v128_store(out + i, narrow_codes<Code>(codes, rule));
      } else {
        right = Multiply<kAdd>(rule).step(x, lanes, i, codes);
        store_codes(codes, out + i);
      }
      i += kStep;
    } while (i < n && right);
    if (right) continue;
    Int32x16 codes;
    exact(i - kStep, codes);
    store_codes(codes, out + i - kStep);
  }
}

template <AddZeroPoint kAdd, typename Code>
void quantize_groups(const void* from, std::size_t n, const AnyQParams& q, const CodeRule& rule,
                     void* to) {
  const auto* x = static_cast<const float*>(from);
  auto* out = static_cast<Code*>(to);
  for_groups(
      n, q,
      [&](std::size_t first, std::size_t count, const UniformLanes& lanes, std::size_t group) {
        quantize_steps<kAdd>(x + first, count, lanes, rule, out + first,
                             [&](std::size_t i, Int32x16& codes) {
                               quantize_exactly(x + first + i, FourAlike(q.each, group).qparams(),
                                                rule, kAdd, kKept<kAdd>, codes);
                             });
      });
}

template <AddZeroPoint kAdd, typename Code>
void quantize_columns(const void* from, std::size_t n, const AnyQParams& q, const CodeRule& rule,
                      void* to) {
  const auto* x = static_cast<const float*>(from);
  quantize_steps<kAdd>(
      x, n, ElementwiseLanes(q.each), rule, static_cast<Code*>(to),
      [&](std::size_t i, Int32x16& codes) {
        quantize_exactly(x + i, {q.each.skip(i), 4}, rule, kAdd, kKept<kAdd>, codes);
      });
}

// Zero points for dequantization: int32 if they are added after rounding, else float32.
template <AddZeroPoint kAdd>
const void* zero_points_of(const ElementwiseQParams& each) {
  if constexpr (kAdd == AddZeroPoint::kAfterRounding) {
    return each.nan_codes;
  } else {
    return each.zero_points;
  }
}

// (double(code) - zero_point) * scale for four codes, each product rounded to double, then to
// float32. Integer zero points are read as int32, because float32 may not hold them.
template <AddZeroPoint kAdd>
v128_t dequantize_f64(v128_t code, v128_t zero_point, v128_t scale) {
  constexpr bool kIsInteger = kAdd == AddZeroPoint::kAfterRounding;
  const Doubles zero = kIsInteger ? widen_i32(zero_point) : widen_f32(zero_point);
  return narrow((widen_i32(code) - zero) * widen_f32(scale));
}

template <AddZeroPoint kAdd>
void fake_quantize_groups(const void* from, std::size_t n, const AnyQParams& q,
                          const CodeRule& rule, void* to) {
  const auto* x = static_cast<const float*>(from);
  auto* out = static_cast<float*>(to);
  const Multiply<kAdd> multiply(rule);
  for_groups(
      n, q,
      [&](std::size_t first, std::size_t count, const UniformLanes& lanes, std::size_t group) {
        const v128_t zero_point = wasm_v128_load32_splat(
            static_cast<const std::int32_t*>(zero_points_of<kAdd>(q.each)) + group);
        const v128_t scale = wasm_v128_load32_splat(q.each.scales + group);
        for (std::size_t i = first; i < first + count; i += kStep) {
          Int32x16 codes;
          if (!multiply.step(x, lanes, i, codes)) {
            quantize_exactly(x + i, FourAlike(q.each, group).qparams(), rule, kAdd, torch_code,
                             codes);
          }
          for (std::size_t j = 0; j < 4; ++j) {
            wasm_v128_store(out + i + 4 * j,
                            dequantize_f64<kAdd>(codes.lanes[j], zero_point, scale));
          }
        }
      });
}

template <AddZeroPoint kAdd>
void fake_quantize_columns(const void* from, std::size_t n, const AnyQParams& q,
                           const CodeRule& rule, void* to) {
  const auto* x = static_cast<const float*>(from);
  auto* out = static_cast<float*>(to);
  const Multiply<kAdd> multiply(rule);
  const ElementwiseLanes lanes(q.each);
  const auto* zero_points = static_cast<const std::int32_t*>(zero_points_of<kAdd>(q.each));
  for (std::size_t i = 0; i < n; i += kStep) {
    Int32x16 codes;
    if (!multiply.step(x, lanes, i, codes)) {
      quantize_exactly(x + i, {q.each.skip(i), 4}, rule, kAdd, torch_code, codes);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      const std::size_t at = i + 4 * j;
      wasm_v128_store(out + at,
                      dequantize_f64<kAdd>(codes.lanes[j], wasm_v128_load(zero_points + at),
                                           wasm_v128_load(q.each.scales + at)));
    }
  }
}

template <AddZeroPoint kAdd, typename Code>
constexpr Operation kQuantization{
    sizeof(float), sizeof(Code), true, quantize_groups<kAdd, Code>, quantize_columns<kAdd, Code>,
    nullptr};
template <AddZeroPoint kAdd>
constexpr Operation kFakeQuantization{
    sizeof(float), sizeof(float), true, fake_quantize_groups<kAdd>, fake_quantize_columns<kAdd>,
    nullptr};

}  // namespace

const Operation& reciprocal_quantization(AddZeroPoint add, Storage codes) {
  constexpr auto kAfter = AddZeroPoint::kAfterRounding;
  constexpr auto kBefore = AddZeroPoint::kBeforeRounding;
  const bool is_signed = codes == Storage::kInt8;
  if (add == kBefore) {
    return is_signed ? kQuantization<kBefore, std::int8_t> : kQuantization<kBefore, std::uint8_t>;
  }
  if (codes == Storage::kInt32) return kQuantization<kAfter, std::int32_t>;
  return is_signed ? kQuantization<kAfter, std::int8_t> : kQuantization<kAfter, std::uint8_t>;
}

const Operation& fake_reciprocal_quantization(AddZeroPoint add) {
  return add == AddZeroPoint::kAfterRounding ? kFakeQuantization<AddZeroPoint::kAfterRounding>
                                             : kFakeQuantization<AddZeroPoint::kBeforeRounding>;
}

}  // namespace zeropoint::kernels
