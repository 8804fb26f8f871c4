// Four values per step: divide, add the zero point, clamp, round half to even,
// dequantize, then add the square of the difference in double.
// With a real offset: subtract it, divide, clamp, round, multiply, add it.
// Parity: bit-identical to reference/squared_errors_f32.h; value i always goes to partial sum i
// % 4.
#include <cmath>

#include "kernels/doubles.h"
#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

// d, or 0 where it is NaN or infinite.
v128_t finite(v128_t d) {
  return wasm_v128_and(d, wasm_f32x4_lt(wasm_f32x4_abs(d), wasm_f32x4_splat(INFINITY)));
}

// Quantization with the qparams of one candidate.
class Candidate {
 public:
  Candidate(float scale, float zero_point, const CodeRule& rule)
      : scale_(wasm_f32x4_splat(scale)),
        zero_point_(wasm_f32x4_splat(zero_point)),
        low_(wasm_f32x4_splat(static_cast<float>(rule.qmin))),
        high_(wasm_f32x4_splat(static_cast<float>(rule.qmax))) {}

  // x minus its dequantized code; 0 where that is not finite.
  [[nodiscard]] v128_t difference(v128_t x) const {
    const v128_t shifted = wasm_f32x4_add(wasm_f32x4_div(x, scale_), zero_point_);
    const v128_t clamped = wasm_f32x4_pmax(wasm_f32x4_pmin(shifted, high_), low_);
    const v128_t steps = wasm_f32x4_sub(wasm_f32x4_nearest(clamped), zero_point_);
    return finite(wasm_f32x4_sub(x, wasm_f32x4_mul(scale_, steps)));
  }

 private:
  v128_t scale_;
  v128_t zero_point_;
  v128_t low_;
  v128_t high_;
};

// The same with a real offset.
class OffsetCandidate {
 public:
  OffsetCandidate(float scale, float offset, const CodeRule& rule)
      : scale_(wasm_f32x4_splat(scale)),
        offset_(wasm_f32x4_splat(offset)),
        low_(wasm_f32x4_splat(static_cast<float>(rule.qmin))),
        high_(wasm_f32x4_splat(static_cast<float>(rule.qmax))) {}

  [[nodiscard]] v128_t difference(v128_t x) const {
    const v128_t steps = wasm_f32x4_div(wasm_f32x4_sub(x, offset_), scale_);
    const v128_t code = wasm_f32x4_nearest(wasm_f32x4_pmax(wasm_f32x4_pmin(steps, high_), low_));
    return finite(wasm_f32x4_sub(x, wasm_f32x4_add(wasm_f32x4_mul(scale_, code), offset_)));
  }

 private:
  v128_t scale_;
  v128_t offset_;
  v128_t low_;
  v128_t high_;
};

template <typename AnyCandidate>
void add_errors(const float* x, std::size_t n, const AnyCandidate& candidate, double (&sums)[4]) {
  Doubles total{wasm_v128_load(sums), wasm_v128_load(sums + 2)};
  for (std::size_t i = 0; i < n; i += 4) {
    v128_t four = wasm_f32x4_splat(NAN);  // NaN adds nothing
    if (i + 4 <= n) {
      four = wasm_v128_load(x + i);
    } else {
      float last[4];
      wasm_v128_store(last, four);
      for (std::size_t lane = 0; i + lane < n; ++lane) last[lane] = x[i + lane];
      four = wasm_v128_load(last);
    }
    const Doubles d = widen_f32(candidate.difference(four));
    total = total + d * d;
  }
  wasm_v128_store(sums, total.low);
  wasm_v128_store(sums + 2, total.high);
}

}  // namespace

void squared_errors_f32(const float* x, std::size_t n, const UniformQParams& qparams,
                        const CodeRule& rule, double (&sums)[4]) {
  add_errors(x, n, Candidate(qparams.factor, qparams.zero_point, rule), sums);
}

void squared_offset_errors_f32(const float* x, std::size_t n, float scale, float offset,
                               const CodeRule& rule, double (&sums)[4]) {
  add_errors(x, n, OffsetCandidate(scale, offset, rule), sums);
}

}  // namespace zeropoint::kernels
