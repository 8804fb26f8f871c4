// Four values per step: quantize and dequantize, shrink the error, add the codes and targets, their
// squares and products in double.
// Parity: bit-identical to reference/half_quadratic_f32.h; value i always goes to partial sum i
// % 4.
#include <cmath>

#include "kernels/doubles.h"
#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

// a^(-5/16): 1 over the product of the fourth and the sixteenth root. Infinity for 0.
v128_t inverse_power(v128_t a) {
  const v128_t fourth = wasm_f32x4_sqrt(wasm_f32x4_sqrt(a));
  const v128_t sixteenth = wasm_f32x4_sqrt(wasm_f32x4_sqrt(fourth));
  return wasm_f32x4_div(wasm_f32x4_splat(1.0F), wasm_f32x4_mul(fourth, sixteenth));
}

class Sums {
 public:
  explicit Sums(const HalfQuadraticSums& sums)
      : codes_(load(sums.codes)),
        squares_(load(sums.squares)),
        targets_(load(sums.targets)),
        products_(load(sums.products)),
        counts_(load(sums.counts)) {}

  // @param counted  all ones in the lanes that count
  void add(v128_t code, v128_t target, v128_t counted) {
    const Doubles q = widen_f32(wasm_v128_and(code, counted));
    const Doubles t = widen_f32(wasm_v128_and(target, counted));
    codes_ = codes_ + q;
    squares_ = squares_ + q * q;
    targets_ = targets_ + t;
    products_ = products_ + q * t;
    counts_ = counts_ + widen_f32(wasm_v128_and(wasm_f32x4_splat(1.0F), counted));
  }

  void store(HalfQuadraticSums& sums) const {
    save(codes_, sums.codes);
    save(squares_, sums.squares);
    save(targets_, sums.targets);
    save(products_, sums.products);
    save(counts_, sums.counts);
  }

 private:
  static Doubles load(const double* from) {
    return {wasm_v128_load(from), wasm_v128_load(from + 2)};
  }
  static void save(const Doubles& sums, double* to) {
    wasm_v128_store(to, sums.low);
    wasm_v128_store(to + 2, sums.high);
  }

  Doubles codes_;
  Doubles squares_;
  Doubles targets_;
  Doubles products_;
  Doubles counts_;
};

}  // namespace

void half_quadratic_f32(const float* x, std::size_t n, float scale, float offset, float threshold,
                        const CodeRule& rule, HalfQuadraticSums& sums) {
  const v128_t scales = wasm_f32x4_splat(scale);
  const v128_t offsets = wasm_f32x4_splat(offset);
  const v128_t thresholds = wasm_f32x4_splat(threshold);
  const v128_t low = wasm_f32x4_splat(static_cast<float>(rule.qmin));
  const v128_t high = wasm_f32x4_splat(static_cast<float>(rule.qmax));
  const v128_t zero = wasm_f32x4_splat(0.0F);
  const v128_t infinity = wasm_f32x4_splat(INFINITY);
  Sums total(sums);
  for (std::size_t i = 0; i < n; i += 4) {
    v128_t four = wasm_f32x4_splat(NAN);  // NaN does not count
    if (i + 4 <= n) {
      four = wasm_v128_load(x + i);
    } else {
      float last[4];
      wasm_v128_store(last, four);
      for (std::size_t lane = 0; i + lane < n; ++lane) last[lane] = x[i + lane];
      four = wasm_v128_load(last);
    }
    const v128_t steps = wasm_f32x4_div(wasm_f32x4_sub(four, offsets), scales);
    const v128_t code = wasm_f32x4_nearest(wasm_f32x4_pmax(wasm_f32x4_pmin(steps, high), low));
    const v128_t error =
        wasm_f32x4_sub(four, wasm_f32x4_add(wasm_f32x4_mul(scales, code), offsets));
    const v128_t size = wasm_f32x4_div(wasm_f32x4_abs(error), scales);
    const v128_t shrunk = wasm_f32x4_sub(size, wasm_f32x4_mul(inverse_power(size), thresholds));
    const v128_t kept = wasm_f32x4_mul(wasm_f32x4_pmax(shrunk, zero), scales);
    const v128_t sign = wasm_v128_and(error, wasm_i32x4_splat(INT32_MIN));
    const v128_t target = wasm_f32x4_sub(four, wasm_v128_xor(kept, sign));
    const v128_t counted = wasm_v128_and(wasm_f32x4_lt(wasm_f32x4_abs(four), infinity),
                                         wasm_f32x4_lt(wasm_f32x4_abs(target), infinity));
    total.add(code, target, counted);
  }
  total.store(sums);
}

}  // namespace zeropoint::kernels
