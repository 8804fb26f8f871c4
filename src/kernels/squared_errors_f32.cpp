// Four values per step: divide, add the zero point, clamp, round half to even,
// dequantize, then add the square of the difference in double.
// Parity: bit-identical to reference/squared_errors_f32.h; value i always goes to partial sum i
// % 4.
#include <cmath>

#include "kernels/doubles.h"
#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

// The quantization by one candidate.
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
    const v128_t d = wasm_f32x4_sub(x, wasm_f32x4_mul(scale_, steps));
    return wasm_v128_and(d, wasm_f32x4_lt(wasm_f32x4_abs(d), wasm_f32x4_splat(INFINITY)));
  }

 private:
  v128_t scale_;
  v128_t zero_point_;
  v128_t low_;
  v128_t high_;
};

}  // namespace

void squared_errors_f32(const float* x, std::size_t n, const UniformQParams& qparams,
                        const CodeRule& rule, double (&sums)[4]) {
  const Candidate candidate(qparams.factor, qparams.zero_point, rule);
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

}  // namespace zeropoint::kernels
