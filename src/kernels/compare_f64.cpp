// Four values per step, widened to double: sums of errors and products, and the largest error.
// Parity: bit-identical to reference/compare_f64.h; value i always goes to partial sum i % 4.
#include <algorithm>
#include <cmath>

#include "kernels/doubles.h"
#include "kernels/kernels.h"
#include "kernels/relaxed.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

Doubles absolute(Doubles a) { return {wasm_f64x2_abs(a.low), wasm_f64x2_abs(a.high)}; }

void store(Doubles sums, double (&to)[4]) {
  wasm_v128_store(to, sums.low);
  wasm_v128_store(to + 2, sums.high);
}

void add_one(float x, float y, const double* weight, std::size_t lane, ComparisonState& state) {
  const double a = x;
  const double b = y;
  const double d = a - b;
  const double magnitude = std::fabs(d);
  state.noise[lane] += d * d;
  state.energy[lane] += b * b;
  state.product[lane] += a * b;
  state.absolute[lane] += magnitude;
  if (weight != nullptr) state.weighted[lane] += *weight * (d * d);
  state.largest = std::max(state.largest, magnitude);
}

// Whole steps, the first value in partial sum 0.
template <bool kWeighted>
void add_steps(const float* a, const float* b, const double* weights, std::size_t count,
               ComparisonState& state) {
  Doubles noise = load_doubles(state.noise);
  Doubles energy = load_doubles(state.energy);
  Doubles product = load_doubles(state.product);
  Doubles sum = load_doubles(state.absolute);
  Doubles weighted = load_doubles(state.weighted);
  v128_t largest = wasm_f64x2_splat(state.largest);
  for (std::size_t i = 0; i < count; i += 4) {
    const Doubles x = load_doubles(a + i);
    const Doubles y = load_doubles(b + i);
    const Doubles d = x - y;
    const Doubles square = d * d;
    const Doubles magnitude = absolute(d);
    noise = noise + square;
    energy = add_exact_product(y, y, energy);
    product = add_exact_product(x, y, product);
    sum = sum + magnitude;
    if constexpr (kWeighted) weighted = weighted + load_doubles(weights + i) * square;
    largest = wasm_f64x2_pmax(wasm_f64x2_pmax(largest, magnitude.low), magnitude.high);
  }
  store(noise, state.noise);
  store(energy, state.energy);
  store(product, state.product);
  store(sum, state.absolute);
  if constexpr (kWeighted) store(weighted, state.weighted);
  double lanes[2];
  wasm_v128_store(lanes, largest);
  state.largest = std::max(lanes[0], lanes[1]);
}

}  // namespace

void compare_f64(const float* a, const float* b, const double* weights, std::size_t begin,
                 std::size_t count, ComparisonState& state) {
  const auto weight = [&](std::size_t i) { return weights == nullptr ? nullptr : weights + i; };
  std::size_t i = 0;
  for (; i < count && (begin + i) % 4 != 0; ++i) {
    add_one(a[i], b[i], weight(i), (begin + i) % 4, state);
  }
  const std::size_t steps = (count - i) / 4 * 4;
  if (weights == nullptr) {
    add_steps<false>(a + i, b + i, nullptr, steps, state);
  } else {
    add_steps<true>(a + i, b + i, weights + i, steps, state);
  }
  for (i += steps; i < count; ++i) add_one(a[i], b[i], weight(i), (begin + i) % 4, state);
}

}  // namespace zeropoint::kernels
