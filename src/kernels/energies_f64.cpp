// Four values per step, widened to double: sums of products, and the largest difference.
// Parity: bit-identical to reference/energies_f64.h; value i always goes to partial sum i % 4.
#include <cassert>
#include <limits>

#include "kernels/doubles.h"
#include "kernels/kernels.h"
#include "kernels/relaxed.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

class PartialSums {
 public:
  void load(const double (&sums)[4]) { sums_ = {wasm_v128_load(sums), wasm_v128_load(sums + 2)}; }
  void store(double (&sums)[4]) const {
    wasm_v128_store(sums, sums_.low);
    wasm_v128_store(sums + 2, sums_.high);
  }
  // a and b are widened float32, so that their product is exact.
  void add_product(const Doubles& a, const Doubles& b) { sums_ = add_exact_product(a, b, sums_); }
  void add_square(const Doubles& a) { sums_ = sums_ + a * a; }
  void add_scalar(std::size_t lane, double value) { tail_[lane] = value; }
  [[nodiscard]] double total() const {
    double p[4];
    store(p);
    return ((p[0] + tail_[0]) + (p[2] + tail_[2])) + ((p[1] + tail_[1]) + p[3]);
  }

 private:
  Doubles sums_ = splat(0.0);
  double tail_[3] = {0.0, 0.0, 0.0};  // the last n % 4 values, each the last of its partial sum
};

}  // namespace

double max_absolute_difference_f64(const float* a, const float* b, std::size_t n) {
  v128_t max = wasm_f64x2_splat(0.0);
  v128_t nan = wasm_i64x2_splat(0);
  const auto add = [&](v128_t x, v128_t y) {
    const v128_t difference = wasm_f64x2_abs(wasm_f64x2_sub(x, y));
    max = wasm_f64x2_pmax(max, difference);
    nan = wasm_v128_or(nan, wasm_f64x2_ne(difference, difference));
  };
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const Doubles x = load_doubles(a + i);
    const Doubles y = load_doubles(b + i);
    add(x.low, y.low);
    add(x.high, y.high);
  }
  for (; i < n; ++i) add(wasm_f64x2_splat(a[i]), wasm_f64x2_splat(b[i]));
  if (wasm_v128_any_true(nan)) return std::numeric_limits<double>::quiet_NaN();
  double lanes[2];
  wasm_v128_store(lanes, max);
  return lanes[0] > lanes[1] ? lanes[0] : lanes[1];
}

Energies energies_f64(const float* a, const float* b, Piece piece, EnergyState& state) {
  const auto [begin, count, n] = piece;
  assert(begin % kPiece == 0 && (begin + count == n || count % kPiece == 0));
  PartialSums aa;
  PartialSums bb;
  PartialSums ab;
  PartialSums noise;
  if (begin > 0) {
    aa.load(state.sums[0]);
    bb.load(state.sums[1]);
    ab.load(state.sums[2]);
    noise.load(state.sums[3]);
  }
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const Doubles x = load_doubles(a + i);
    const Doubles y = load_doubles(b + i);
    const Doubles d = x - y;
    aa.add_product(x, x);
    bb.add_product(y, y);
    ab.add_product(x, y);
    noise.add_square(d);
  }
  if (begin + count < n) {
    aa.store(state.sums[0]);
    bb.store(state.sums[1]);
    ab.store(state.sums[2]);
    noise.store(state.sums[3]);
    return {};
  }
  for (std::size_t lane = 0; i < count; ++i, ++lane) {
    const double x = a[i];
    const double y = b[i];
    aa.add_scalar(lane, x * x);
    bb.add_scalar(lane, y * y);
    ab.add_scalar(lane, x * y);
    noise.add_scalar(lane, (x - y) * (x - y));
  }
  return {aa.total(), bb.total(), ab.total(), noise.total()};
}

}  // namespace zeropoint::kernels
