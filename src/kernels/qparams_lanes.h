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
inline ElementwiseFloatLanes lanes(ElementwiseFloatQParams q) { return ElementwiseFloatLanes(q); }

/// The qparams of values i and later.
inline UniformQParams skip(UniformQParams q, std::size_t) { return q; }
inline ElementwiseFloatQParams skip(ElementwiseFloatQParams q, std::size_t i) {
  return {q.scales + i, q.zero_points + i, q.nan_codes + i};
}

/// Rows that are taken together where they share qparams column by column.
inline constexpr std::size_t kRowsTogether = 4;

/// Calls four(position of the first row, how far the next ones are apart) for kRowsTogether rows at
/// a time, one from each quarter, so that every stream of memory goes on where its last row ended;
/// then, for the columns from `whole` on of these rows and for the rows that are left,
/// rest(position, count, their qparams).
template <typename Four, typename Rest>
inline void for_rows(const ColumnsQParams& q, std::size_t n, std::size_t whole, Four four,
                     Rest rest) {
  const std::size_t band = whole == 0 ? 0 : q.rows / kRowsTogether;
  const std::size_t apart = band * q.pitch;
  for (std::size_t row = 0; row < band; ++row) four(row * q.pitch, apart);
  for (std::size_t row = 0; row < q.rows; ++row) {
    const std::size_t first = row < kRowsTogether * band ? whole : 0;
    if (first < n) rest(row * q.pitch + first, n - first, skip(q.columns, first));
  }
}

/// The qparams of fewer values than a step takes, each array copied to a full one.
struct UniformTail {
  UniformQParams qparams;
  UniformTail(UniformQParams q, std::size_t) : qparams(q) {}
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
inline ElementwiseFloatTail tail(ElementwiseFloatQParams q, std::size_t count) {
  return {q, count};
}

/// The qparams of a group of values, and how many values it has at most.
inline UniformQParams group_at(const GroupedQParams& q, std::size_t group) {
  return {q.scales[group], q.zero_points[group], q.nan_codes[group]};
}
inline ElementwiseFloatQParams group_at(const ElementwiseFloatQParams& q, std::size_t) { return q; }
inline UniformQParams group_at(const UniformQParams& q, std::size_t) { return q; }
inline std::size_t group_length(const GroupedQParams& q, std::size_t n) {
  return std::min(q.length, n);
}
inline std::size_t group_length(const ElementwiseFloatQParams&, std::size_t n) { return n; }
inline std::size_t group_length(const UniformQParams&, std::size_t n) { return n; }

/// Runs `steps(from, count, qparams, to)` over the full steps of every group and then, if values
/// are left after the only one, over one more step that ends with the last value and computes some
/// values twice: vector code for every value, so that no result can depend on its place, and one
/// compiled loop for all. That last step reads a copy made beforehand, because `to` may be `from`.
template <typename From, typename To, typename QParams, typename Steps>
inline void for_steps(const From* from, std::size_t n, QParams qparams, To* to, Steps steps) {
  const std::size_t length = group_length(qparams, n);
  const std::size_t rest = length % kStep;
  const bool few = n < kStep;
  const std::size_t last_step = few ? 0 : n - kStep;
  if (n == 0) return;
  auto q = group_at(qparams, 0);
  const auto few_qparams = tail(q, few ? n : 0);
  From last[kStep];
  To results[kStep];
  if (few) {
    std::fill_n(last, kStep, From{});
    std::copy_n(from, n, last);
  } else if (rest != 0) {
    std::copy_n(from + last_step, kStep, last);
  }
  std::size_t count = length - rest;
  std::size_t left = n - rest;
  To* target = to;
  for (std::size_t group = 1;; ++group) {
    const bool at_end = left == 0;
    if (at_end) {
      if (rest == 0) break;
      from = last;
      target = few ? results : to + last_step;
      q = few ? few_qparams.qparams : skip(group_at(qparams, 0), last_step);
      count = kStep;
    }
    steps(from, count, q, target);
    if (at_end) break;
    left -= count;
    if (left == 0) continue;
    from += count;
    target += count;
    q = group_at(qparams, group);
  }
  if (few) std::copy_n(results, n, to);
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
