// Four bins per step in vectors, counted one by one.
// Parity: the counts of reference/histogram_f32.h for every float, NaN included (in no bin).
#include <cmath>

#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

// Bin of each lane; lanes outside [lo, hi] get `bins`, one past the last.
class Binning {
 public:
  Binning(float lo, float hi, std::size_t bins)
      : lo_(wasm_f32x4_splat(lo)),
        hi_(wasm_f32x4_splat(hi)),
        width_(wasm_f32x4_splat(hi - lo)),
        count_(wasm_f32x4_splat(static_cast<float>(bins))),
        last_(wasm_i32x4_splat(static_cast<std::int32_t>(bins) - 1)),
        none_(wasm_i32x4_splat(static_cast<std::int32_t>(bins))) {}

  [[nodiscard]] v128_t bins(v128_t v) const {
    const v128_t inside = wasm_v128_and(wasm_f32x4_ge(v, lo_), wasm_f32x4_le(v, hi_));
    const v128_t position = wasm_f32x4_div(wasm_f32x4_mul(wasm_f32x4_sub(v, lo_), count_), width_);
    const v128_t rounded = wasm_i32x4_min(wasm_i32x4_trunc_sat_f32x4(position), last_);
    // PyTorch's index of an infinite position wraps to the first bin.
    const v128_t bin = wasm_v128_and(rounded, wasm_f32x4_lt(position, wasm_f32x4_splat(INFINITY)));
    return wasm_v128_bitselect(bin, none_, inside);
  }

 private:
  v128_t lo_;
  v128_t hi_;
  v128_t width_;
  v128_t count_;
  v128_t last_;
  v128_t none_;
};

void count(std::uint32_t bin, std::uint32_t* counts, std::size_t bins) {
  if (bin < bins) ++counts[bin];
}

}  // namespace

void histogram_f32(const float* x, std::size_t n, float lo, float hi, std::uint32_t* counts,
                   std::size_t bins) {
  const Binning binning(lo, hi, bins);
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const v128_t bin = binning.bins(wasm_v128_load(x + i));
    count(static_cast<std::uint32_t>(wasm_i32x4_extract_lane(bin, 0)), counts, bins);
    count(static_cast<std::uint32_t>(wasm_i32x4_extract_lane(bin, 1)), counts, bins);
    count(static_cast<std::uint32_t>(wasm_i32x4_extract_lane(bin, 2)), counts, bins);
    count(static_cast<std::uint32_t>(wasm_i32x4_extract_lane(bin, 3)), counts, bins);
  }
  for (; i < n; ++i) {
    const v128_t bin = binning.bins(wasm_f32x4_splat(x[i]));
    count(static_cast<std::uint32_t>(wasm_i32x4_extract_lane(bin, 0)), counts, bins);
  }
}

}  // namespace zeropoint::kernels
