// 16 values a step: divide by the scale, add the zero point, round half to even, clamp, narrow.
// Parity: bit-identical to reference/quantize_f32.h for every float, NaN included.
//
// A step is first taken the fast way, which either gives the right codes or says that it may not
// have; then it is taken again, operation by operation. Where values share a scale and codes have 8
// or 16 bits, the fast way does not divide. It multiplies by a number a little below the scale's
// reciprocal and by one a little above it; the true quotient lies between the products, so where
// both lead to the same code, that is the code.
#include <cmath>

#include "kernels/qparams_lanes.h"

namespace zeropoint::kernels {
namespace {

// Adding 1.5 * 2^23 leaves a float no bits for fractions: it rounds half to even, and then its bits
// are those of the constant plus the integer, in order even where the float is far from there.
constexpr float kMagic = 12582912.0F;
constexpr std::int32_t kMagicBits = 0x4B400000;

// What a fast step leaves: codes yet to be narrowed, which saturates, and a mask that is 0 if they
// are right.
struct Step {
  Int32x16 codes;
  v128_t doubt;
};

// Multiplies by both bounds of the reciprocal: one scale for all values, codes of 8 or 16 bits.
//
// Let p and q be the two products, rounded, and a = fl(x / scale) the quotient that is asked for.
// Rounding is monotonic, so a is between p and q, fl(a + z) between fl(p + z) and fl(q + z), and if
// those two round to the same integer, so does fl(a + z). NaN never equals NaN, so it is in doubt;
// infinities saturate. One thing is left: where the sum with the constant is negative and small,
// its bits are no longer in order. There |p| > 2^23; p and q lie 2^-21 * |p| apart or more,
// which is at least four units in their last place, and so the sums, which are integers, differ.
class Bracket {
 public:
  // Bounds are the reciprocal times 1 -+ kMargin, within 2^-23 of that for two roundings. Scales
  // that nobody has validated may have no such bounds; all is in doubt then.
  Bracket(UniformQParams q, CodeRule rule) : zero_point_(wasm_f32x4_splat(q.zero_point)) {
    constexpr float kMargin = 0x1p-21F;
    const bool serves = q.scale > 0x1p-100F && q.scale < 0x1p100F &&
                        q.zero_point >= static_cast<float>(rule.qmin) &&
                        q.zero_point <= static_cast<float>(rule.qmax);
    const float reciprocal = serves ? 1.0F / q.scale : NAN;
    below_ = wasm_f32x4_splat(reciprocal * (1.0F - kMargin));
    above_ = wasm_f32x4_splat(reciprocal * (1.0F + kMargin));
  }

  [[nodiscard]] Step step(const float* x) const {
    const v128_t magic = wasm_f32x4_splat(kMagic);
    Step result;
    for (std::size_t j = 0; j < 4; ++j) {
      const v128_t value = wasm_v128_load(x + 4 * j);
      const v128_t p = wasm_f32x4_add(wasm_f32x4_mul(value, below_), zero_point_);
      const v128_t q = wasm_f32x4_add(wasm_f32x4_mul(value, above_), zero_point_);
      const v128_t low = wasm_f32x4_add(p, magic);
      const v128_t differ = wasm_f32x4_ne(low, wasm_f32x4_add(q, magic));
      result.doubt = j == 0 ? differ : wasm_v128_or(result.doubt, differ);
      result.codes.lanes[j] = wasm_i32x4_sub(low, wasm_i32x4_splat(kMagicBits));
    }
    return result;
  }

 private:
  v128_t below_;
  v128_t above_;
  v128_t zero_point_;
};

// Divides, and leaves NaN (for int32 also what is too large) in doubt.
template <typename Code>
class Divide {
 public:
  explicit Divide(CodeRule rule)
      : low_(wasm_f32x4_splat(static_cast<float>(rule.qmin))),
        high_(wasm_f32x4_splat(static_cast<float>(rule.qmax))) {}

  template <typename Lanes>
  [[nodiscard]] Step step(const float* x, const Lanes& lanes, std::size_t i) const {
    Step result;
    for (std::size_t j = 0; j < 4; ++j) {
      const QParamsLanes four = lanes.load(i + 4 * j);
      const v128_t quotient = wasm_f32x4_div(wasm_v128_load(x + i + 4 * j), four.scale);
      v128_t shifted = wasm_f32x4_add(quotient, four.zero_point);
      v128_t doubt;
      if constexpr (sizeof(Code) == 4) {
        doubt = wasm_v128_not(wasm_f32x4_lt(shifted, high_));
        result.codes.lanes[j] = wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_nearest(shifted));
      } else {
        doubt = wasm_f32x4_ne(shifted, shifted);
        shifted = wasm_f32x4_pmax(wasm_f32x4_pmin(shifted, high_), low_);
        result.codes.lanes[j] = wasm_i32x4_sub(wasm_f32x4_add(shifted, wasm_f32x4_splat(kMagic)),
                                               wasm_i32x4_splat(kMagicBits));
      }
      result.doubt = j == 0 ? doubt : wasm_v128_or(result.doubt, doubt);
    }
    return result;
  }

 private:
  v128_t low_;
  v128_t high_;
};

}  // namespace

template <typename Code, typename QParams>
void quantize_f32(const float* x, std::size_t n, QParams qparams, CodeRule rule, Code* out) {
  constexpr bool kBracketed = std::is_same_v<QParams, GroupedQParams> && sizeof(Code) < 4;
  const Quantizer quantizer(rule);
  for_steps(x, n, qparams, out, [&](const float* from, std::size_t count, auto q, Code* to) {
    const auto q_lanes = lanes(q);
    const auto fast = [&] {
      if constexpr (kBracketed)
        return Bracket(q, rule);
      else
        return Divide<Code>(rule);
    }();
    const auto exact = [&](std::size_t i) {
      Int32x16 codes;
      for (std::size_t j = 0; j < 4; ++j) {
        codes.lanes[j] = quantizer.template quantize<sizeof(Code) == 4>(
            wasm_v128_load(from + i + 4 * j), q_lanes.load(i + 4 * j));
      }
      store_codes(codes, to + i);
    };
    // The inner loop is free of calls, so that its constants stay in registers.
    for (std::size_t i = 0; i < count;) {
      v128_t doubt;
      do {
        Step step;
        if constexpr (kBracketed) {
          step = fast.step(from + i);
          store_codes(step.codes, rule, to + i);
        } else {
          step = fast.step(from, q_lanes, i);
          store_codes(step.codes, to + i);
        }
        doubt = step.doubt;
        i += kStep;
      } while (i < count && !wasm_v128_any_true(doubt));
      if (wasm_v128_any_true(doubt)) exact(i - kStep);
    }
  });
}

#define ZEROPOINT_INSTANTIATE(Code)                                                       \
  template void quantize_f32(const float*, std::size_t, GroupedQParams, CodeRule, Code*); \
  template void quantize_f32(const float*, std::size_t, ElementwiseFloatQParams, CodeRule, Code*);
ZEROPOINT_INSTANTIATE(std::int8_t)
ZEROPOINT_INSTANTIATE(std::uint8_t)
ZEROPOINT_INSTANTIATE(std::int16_t)
ZEROPOINT_INSTANTIATE(std::uint16_t)
ZEROPOINT_INSTANTIATE(std::int32_t)
#undef ZEROPOINT_INSTANTIATE

}  // namespace zeropoint::kernels
