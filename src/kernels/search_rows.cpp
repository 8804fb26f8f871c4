// Quantizes a row, four values a step, and sums its error in double.
// Parity: bit-identical to reference/search.h; value i always goes to partial sum i % 4.
#include "kernels/doubles.h"
#include "kernels/relaxed.h"
#include "kernels/search.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

// The next n <= 4 values, then zeros.
v128_t load_some(const float* x, std::size_t n) {
  if (n == 4) return wasm_v128_load(x);
  float rest[4] = {};
  for (std::size_t i = 0; i < n; ++i) rest[i] = x[i];
  return wasm_v128_load(rest);
}

double sum_of(const Doubles& v) {
  double p[4];
  wasm_v128_store(p, v.low);
  wasm_v128_store(p + 2, v.high);
  return (p[0] + p[2]) + (p[1] + p[3]);
}

}  // namespace

RowSums sum_row_f32(const float* x, std::size_t n) {
  Doubles square = splat(0.0);
  Doubles absolute = splat(0.0);
  v128_t largest = wasm_f32x4_splat(0.0F);
  for (std::size_t i = 0; i < n; i += 4) {
    const v128_t v = load_some(x + i, n - i < 4 ? n - i : 4);
    const v128_t magnitude = wasm_f32x4_abs(v);
    largest = wasm_f32x4_pmax(largest, magnitude);
    const Doubles wide = widen_f32(magnitude);
    square = add_exact_product(wide, wide, square);
    absolute = absolute + wide;
  }
  float lanes[4];
  wasm_v128_store(lanes, largest);
  const float a = lanes[0] > lanes[1] ? lanes[0] : lanes[1];
  const float b = lanes[2] > lanes[3] ? lanes[2] : lanes[3];
  return {sum_of(square), sum_of(absolute), a > b ? a : b};
}

void encode_row_f32(const float* x, std::size_t n, const RowScale& scale, std::int8_t* codes,
                    CodeSums& sums) {
  const v128_t divisor = wasm_f32x4_splat(scale.scale);
  const v128_t most = wasm_f32x4_splat(scale.most);
  const v128_t least = wasm_f32x4_neg(most);
  const Doubles factor = splat(scale.factor);
  const Doubles stored = splat(scale.stored);
  Doubles noise = load_doubles(sums.noise);
  Doubles squares = load_doubles(sums.squares);
  for (std::size_t i = 0; i < n; i += 4) {
    const std::size_t count = n - i < 4 ? n - i : 4;
    const v128_t v = load_some(x + i, count);
    const v128_t steps = wasm_f32x4_nearest(wasm_f32x4_div(v, divisor));
    const v128_t code = to_integers(wasm_f32x4_pmax(least, wasm_f32x4_pmin(most, steps)));
    const Doubles wide = widen_i32(code);
    const Doubles difference = widen_f32(v) * factor - wide * stored;
    noise = noise + difference * difference;
    squares = squares + wide * wide;
    const v128_t words = wasm_i16x8_narrow_i32x4(code, code);
    const v128_t bytes = wasm_i8x16_narrow_i16x8(words, words);
    if (count == 4) {
      wasm_v128_store32_lane(codes + i, bytes, 0);
    } else {
      std::int8_t rest[16];
      wasm_v128_store(rest, bytes);
      for (std::size_t j = 0; j < count; ++j) codes[i + j] = rest[j];
    }
  }
  wasm_v128_store(sums.noise, noise.low);
  wasm_v128_store(sums.noise + 2, noise.high);
  wasm_v128_store(sums.squares, squares.low);
  wasm_v128_store(sums.squares + 2, squares.high);
}

}  // namespace zeropoint::kernels
