// Scales and zero points four at a time, whether one serves all values or each has its own.
#pragma once

#include <cstddef>

#include "kernels/codes.h"
#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {

/// What load(i) gives: scale, zero point (float32) and NaN's code of values i .. i + 3.
struct QParamsLanes {
  v128_t scale;
  v128_t zero_point;
  v128_t nan_code;
};

class UniformLanes {
 public:
  explicit UniformLanes(UniformQParams q)
      : lanes_{wasm_f32x4_splat(q.scale), wasm_f32x4_splat(q.zero_point),
               wasm_i32x4_splat(q.nan_code)} {}
  [[nodiscard]] QParamsLanes load(std::size_t) const { return lanes_; }

 private:
  QParamsLanes lanes_;
};

class ElementwiseLanes {
 public:
  explicit ElementwiseLanes(ElementwiseQParams q) : q_(q) {}
  [[nodiscard]] QParamsLanes load(std::size_t i) const {
    const v128_t zero_point = wasm_v128_load(q_.zero_points + i);
    return {wasm_v128_load(q_.scales + i), wasm_f32x4_convert_i32x4(zero_point), zero_point};
  }

 private:
  ElementwiseQParams q_;
};

class ElementwiseFloatLanes {
 public:
  explicit ElementwiseFloatLanes(ElementwiseFloatQParams q) : q_(q) {}
  [[nodiscard]] QParamsLanes load(std::size_t i) const {
    return {wasm_v128_load(q_.scales + i), wasm_v128_load(q_.zero_points + i),
            wasm_v128_load(q_.nan_codes + i)};
  }

 private:
  ElementwiseFloatQParams q_;
};

inline UniformLanes lanes(UniformQParams q) { return UniformLanes(q); }
inline ElementwiseLanes lanes(ElementwiseQParams q) { return ElementwiseLanes(q); }
inline ElementwiseFloatLanes lanes(ElementwiseFloatQParams q) { return ElementwiseFloatLanes(q); }

/// The qparams of values i and later.
inline UniformQParams skip(UniformQParams q, std::size_t) { return q; }
inline ElementwiseQParams skip(ElementwiseQParams q, std::size_t i) {
  return {q.scales + i, q.zero_points + i};
}
inline ElementwiseFloatQParams skip(ElementwiseFloatQParams q, std::size_t i) {
  return {q.scales + i, q.zero_points + i, q.nan_codes + i};
}

/// The qparams of the last values, each array copied to a full step.
struct UniformTail {
  UniformQParams qparams;
  UniformTail(UniformQParams q, std::size_t) : qparams(q) {}
};
struct ElementwiseTail {
  Tail<float> scales;
  Tail<std::int32_t> zero_points;
  ElementwiseQParams qparams{scales.values, zero_points.values};
  ElementwiseTail(ElementwiseQParams q, std::size_t count)
      : scales(q.scales, count), zero_points(q.zero_points, count) {}
};
struct ElementwiseFloatTail {
  Tail<float> scales;
  Tail<float> zero_points;
  Tail<std::int32_t> nan_codes;
  ElementwiseFloatQParams qparams{scales.values, zero_points.values, nan_codes.values};
  ElementwiseFloatTail(ElementwiseFloatQParams q, std::size_t count)
      : scales(q.scales, count), zero_points(q.zero_points, count), nan_codes(q.nan_codes, count) {}
};
inline UniformTail tail(UniformQParams q, std::size_t count) { return {q, count}; }
inline ElementwiseTail tail(ElementwiseQParams q, std::size_t count) { return {q, count}; }
inline ElementwiseFloatTail tail(ElementwiseFloatQParams q, std::size_t count) {
  return {q, count};
}

/// Runs `steps(from, count, qparams, to)` once over all full steps, then once over the tail, copied
/// to a full step: vector code for every value, so that no result can depend on its place, and one
/// compiled loop for both.
template <typename From, typename To, typename QParams, typename Steps>
inline void for_steps(const From* from, std::size_t n, QParams q, To* to, Steps steps) {
  const std::size_t whole = n - n % kStep;
  const std::size_t rest = n - whole;
  Tail<From> values(from + whole, rest);
  const auto rest_qparams = tail(skip(q, whole), rest);
  To results[kStep];
  const From* sources[] = {from, values.values};
  const QParams qparams[] = {q, rest_qparams.qparams};
  To* targets[] = {to, results};
  const std::size_t counts[] = {whole, rest == 0 ? 0 : kStep};
  for (std::size_t part = 0; part < 2; ++part) {
    steps(sources[part], counts[part], qparams[part], targets[part]);
  }
  std::copy_n(results, rest, to + whole);
}

/// clamp(round_half_even(x / scale + zero_point), qmin, qmax) as int32, four values at a time.
class Quantizer {
 public:
  explicit Quantizer(CodeRule rule)
      : qmin_(wasm_i32x4_splat(rule.qmin)),
        qmax_(wasm_i32x4_splat(rule.qmax)),
        overflow_(wasm_i32x4_splat(rule.overflow)) {}

  /// Clamping integers instead of floats gives the same codes (trunc_sat saturates at int32) and
  /// leaves NaN alone, which the select then replaces.
  template <bool kInt32>
  [[nodiscard]] v128_t quantize(v128_t x, const QParamsLanes& q) const {
    const v128_t rounded =
        wasm_f32x4_nearest(wasm_f32x4_add(wasm_f32x4_div(x, q.scale), q.zero_point));
    v128_t code = wasm_i32x4_trunc_sat_f32x4(rounded);
    if constexpr (kInt32) {
      const v128_t overflows = wasm_f32x4_ge(rounded, wasm_f32x4_splat(2147483648.0F));
      code = wasm_v128_bitselect(overflow_, code, overflows);
    } else {
      code = wasm_i32x4_min(wasm_i32x4_max(code, qmin_), qmax_);
    }
    return wasm_v128_bitselect(code, q.nan_code, wasm_f32x4_eq(rounded, rounded));
  }

 private:
  v128_t qmin_;
  v128_t qmax_;
  v128_t overflow_;
};

}  // namespace zeropoint::kernels
