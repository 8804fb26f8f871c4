// Dot products of up to four rows of x with one row of weights, eight values a step: the weights
// are widened once for all rows. The order of additions is the same whatever the number of rows.
// Parity: dot_f64 and dot_f32 are bit-identical to reference/dot.h.
#include <cassert>

#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

constexpr std::size_t kEight = 8;

// ---- eight weights as two vectors of float32; exact, but for scaled codes, which round once

struct Floats8 {
  v128_t low;
  v128_t high;
};

Floats8 load8(FloatWeights w, std::size_t k) {
  return {wasm_v128_load(w.values + k), wasm_v128_load(w.values + k + 4)};
}

template <typename Code>
Floats8 load8_codes(const Code* codes, v128_t zero_low, v128_t zero_high) {
  const v128_t wide = Code(-1) < 0 ? wasm_i16x8_load8x8(codes) : wasm_u16x8_load8x8(codes);
  return {wasm_f32x4_convert_i32x4(wasm_i32x4_sub(wasm_i32x4_extend_low_i16x8(wide), zero_low)),
          wasm_f32x4_convert_i32x4(wasm_i32x4_sub(wasm_i32x4_extend_high_i16x8(wide), zero_high))};
}

template <typename Code>
Floats8 load8(CodeWeights<Code> w, std::size_t k) {
  const v128_t zero = wasm_i32x4_splat(w.zero_point);
  return load8_codes(w.codes + k, zero, zero);
}

template <typename Code>
Floats8 load8(ScaledCodeWeights<Code> w, std::size_t k) {
  return load8_codes(w.codes + k, wasm_v128_load(w.zero_points + k),
                     wasm_v128_load(w.zero_points + k + 4));
}

// ---- the same eight as four vectors of double; scales are multiplied in here, exactly

struct Doubles8 {
  v128_t pairs[4];
};

Doubles8 widen(Floats8 v) {
  return {{wasm_f64x2_promote_low_f32x4(v.low),
           wasm_f64x2_promote_low_f32x4(wasm_i64x2_shuffle(v.low, v.low, 1, 1)),
           wasm_f64x2_promote_low_f32x4(v.high),
           wasm_f64x2_promote_low_f32x4(wasm_i64x2_shuffle(v.high, v.high, 1, 1))}};
}

template <typename Weights>
Doubles8 load8_f64(Weights w, std::size_t k) {
  return widen(load8(w, k));
}

template <typename Code>
Doubles8 load8_f64(ScaledCodeWeights<Code> w, std::size_t k) {
  Doubles8 codes = widen(load8(w, k));
  const Doubles8 scales = widen(load8(FloatWeights{w.scales}, k));
  for (std::size_t j = 0; j < 4; ++j) {
    codes.pairs[j] = wasm_f64x2_mul(codes.pairs[j], scales.pairs[j]);
  }
  return codes;
}

template <typename Weights>
Floats8 load8_f32(Weights w, std::size_t k) {
  return load8(w, k);
}

template <typename Code>
Floats8 load8_f32(ScaledCodeWeights<Code> w, std::size_t k) {
  const Floats8 codes = load8(w, k);
  const Floats8 scales = load8(FloatWeights{w.scales}, k);
  return {wasm_f32x4_mul(codes.low, scales.low), wasm_f32x4_mul(codes.high, scales.high)};
}

// ---- one weight, for the tail

template <typename T>
T load1(FloatWeights w, std::size_t k) {
  return w.values[k];
}

template <typename T, typename Code>
T load1(CodeWeights<Code> w, std::size_t k) {
  return static_cast<T>(static_cast<std::int32_t>(w.codes[k]) - w.zero_point);
}

template <typename T, typename Code>
T load1(ScaledCodeWeights<Code> w, std::size_t k) {
  return static_cast<T>(static_cast<std::int32_t>(w.codes[k]) - w.zero_points[k]) * w.scales[k];
}

// ---- the loops

template <std::size_t kCount, typename Weights>
void dot_rows_f64(const float* x, std::size_t stride, Weights w, std::size_t k, double* dots) {
  v128_t acc[kCount][4];
  for (auto& row : acc) {
    for (v128_t& pair : row) pair = wasm_f64x2_splat(0.0);
  }
  std::size_t i = 0;
  for (; i + kEight <= k; i += kEight) {
    const Doubles8 weights = load8_f64(w, i);
    for (std::size_t r = 0; r < kCount; ++r) {
      const Doubles8 values = load8_f64(FloatWeights{x + r * stride}, i);
      for (std::size_t j = 0; j < 4; ++j) {
        const v128_t product = wasm_f64x2_mul(values.pairs[j], weights.pairs[j]);
        acc[r][j] = wasm_f64x2_add(acc[r][j], product);
      }
    }
  }
  for (std::size_t r = 0; r < kCount; ++r) {
    const v128_t sum =
        wasm_f64x2_add(wasm_f64x2_add(acc[r][0], acc[r][1]), wasm_f64x2_add(acc[r][2], acc[r][3]));
    double dot = wasm_f64x2_extract_lane(sum, 0) + wasm_f64x2_extract_lane(sum, 1);
    for (std::size_t t = i; t < k; ++t) {
      dot += static_cast<double>(x[r * stride + t]) * load1<double>(w, t);
    }
    dots[r] = dot;
  }
}

template <std::size_t kCount, typename Weights>
void dot_rows_f32(const float* x, std::size_t stride, Weights w, std::size_t k, float* dots) {
  Floats8 acc[kCount];
  for (Floats8& row : acc) row = {wasm_f32x4_splat(0.0F), wasm_f32x4_splat(0.0F)};
  std::size_t i = 0;
  for (; i + kEight <= k; i += kEight) {
    const Floats8 weights = load8_f32(w, i);
    for (std::size_t r = 0; r < kCount; ++r) {
      const float* values = x + r * stride + i;
      acc[r].low = wasm_f32x4_add(acc[r].low, wasm_f32x4_mul(wasm_v128_load(values), weights.low));
      acc[r].high =
          wasm_f32x4_add(acc[r].high, wasm_f32x4_mul(wasm_v128_load(values + 4), weights.high));
    }
  }
  for (std::size_t r = 0; r < kCount; ++r) {
    float lanes[4];
    wasm_v128_store(lanes, wasm_f32x4_add(acc[r].low, acc[r].high));
    float dot = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
    for (std::size_t t = i; t < k; ++t) dot += x[r * stride + t] * load1<float>(w, t);
    dots[r] = dot;
  }
}

}  // namespace

template <typename Weights>
void dot_f64(const float* x, std::size_t rows, std::size_t stride, Weights w, std::size_t k,
             double* dots) {
  assert(rows >= 1 && rows <= kRows);
  // Two and three rows are too rare to be worth loops of their own.
  if (rows == kRows) return dot_rows_f64<kRows>(x, stride, w, k, dots);
  for (std::size_t r = 0; r < rows; ++r) {
    dot_rows_f64<1>(x + r * stride, stride, w, k, dots + r);
  }
}

template <typename Weights>
void dot_f32(const float* x, std::size_t rows, std::size_t stride, Weights w, std::size_t k,
             float* dots) {
  assert(rows >= 1 && rows <= kRows);
  // Two and three rows are too rare to be worth loops of their own.
  if (rows == kRows) return dot_rows_f32<kRows>(x, stride, w, k, dots);
  for (std::size_t r = 0; r < rows; ++r) {
    dot_rows_f32<1>(x + r * stride, stride, w, k, dots + r);
  }
}

#define ZEROPOINT_INSTANTIATE(Weights)                                                          \
  template void dot_f64(const float*, std::size_t, std::size_t, Weights, std::size_t, double*); \
  template void dot_f32(const float*, std::size_t, std::size_t, Weights, std::size_t, float*);
ZEROPOINT_INSTANTIATE(FloatWeights)
ZEROPOINT_INSTANTIATE(CodeWeights<std::int8_t>)
ZEROPOINT_INSTANTIATE(CodeWeights<std::uint8_t>)
ZEROPOINT_INSTANTIATE(ScaledCodeWeights<std::int8_t>)
ZEROPOINT_INSTANTIATE(ScaledCodeWeights<std::uint8_t>)
#undef ZEROPOINT_INSTANTIATE

}  // namespace zeropoint::kernels
