// Factors and zero points four at a time, whether one serves all values or each has its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/codes.h"
#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {

/// What load(i) gives: factor and zero point (float32) of values i .. i + 3.
struct QParamsLanes {
  v128_t factor;
  v128_t zero_point;
};

/// One group's, for all its values.
class UniformLanes {
 public:
  UniformLanes(const ElementwiseQParams& each, std::size_t group)
      : lanes_{wasm_v128_load32_splat(each.factors + group),
               wasm_v128_load32_splat(each.zero_points + group)} {}
  [[nodiscard]] QParamsLanes load(std::size_t) const { return lanes_; }

 private:
  QParamsLanes lanes_;
};

/// 0 if words[n] are all alike, as symmetric zero points are, else all bits: i & mask is where the
/// four of columns i .. i + 3 stand. So one place serves them all, and what it does not take of the
/// first-level cache is left to values. 4 divides n.
inline std::size_t mask_unless_alike(const float* words, std::size_t n) {
  const v128_t first = wasm_v128_load32_splat(words);
  v128_t differ = wasm_i32x4_splat(0);
  for (std::size_t i = 0; i < n; i += 4) {
    differ = wasm_v128_or(differ, wasm_v128_xor(wasm_v128_load(words + i), first));
  }
  return wasm_v128_any_true(differ) ? SIZE_MAX : 0;
}

/// Each column's own.
class ElementwiseLanes {
 public:
  /// For one row.
  explicit ElementwiseLanes(const ElementwiseQParams& each)
      : factors_(each.factors), zero_points_(each.zero_points) {}
  /// For rows of n values, which 4 divides.
  ElementwiseLanes(const ElementwiseQParams& each, std::size_t n)
      : factors_(each.factors),
        zero_points_(each.zero_points),
        mask_(mask_unless_alike(each.zero_points, n)) {}
  [[nodiscard]] QParamsLanes load(std::size_t i) const {
    return {wasm_v128_load(factors_ + i), wasm_v128_load(zero_points_ + (i & mask_))};
  }

 private:
  const float* factors_;
  const float* zero_points_;
  std::size_t mask_ = SIZE_MAX;
};

/// Qparams of four values at a time: those of vector j of a step start at each.skip(j * stride).
struct FourByFour {
  ElementwiseQParams each;
  std::size_t stride;
};

/// One group's qparams, each four times over.
class FourAlike {
 public:
  FourAlike(const ElementwiseQParams& each, std::size_t group) {
    wasm_v128_store(factors_, wasm_v128_load32_splat(each.factors + group));
    wasm_v128_store(zero_points_, wasm_v128_load32_splat(each.zero_points + group));
    wasm_v128_store(nan_codes_, wasm_v128_load32_splat(each.nan_codes + group));
  }
  [[nodiscard]] FourByFour qparams() const { return {{factors_, zero_points_, nan_codes_}, 0}; }

 private:
  float factors_[4];
  float zero_points_[4];
  std::int32_t nan_codes_[4];
};

/// Calls steps(position, count, UniformLanes, group) for every group of n values.
template <typename Steps>
inline void for_groups(std::size_t n, const AnyQParams& q, Steps steps) {
  // Of its own, so that it stays in registers: a vector's store may change anything in memory.
  const ElementwiseQParams each = q.each;
  const std::size_t length = std::min(q.length, n);
  for (std::size_t first = 0, group = 0; first < n; first += length, ++group) {
    steps(first, std::min(length, n - first), UniformLanes(each, group), group);
  }
}

/// Rows that Operation::rows takes together.
inline constexpr std::size_t kRowsTogether = 4;

/// Calls some(position of the first row, how far the next ones are apart) for kCount rows at a
/// time, which divides kRowsTogether, one from each of so many parts, so that every stream of
/// memory goes on where its last row ended.
template <std::size_t kCount, typename Some>
inline void for_rows(const AnyQParams& q, Some some) {
  const std::size_t band = q.rows / kCount;
  const std::size_t apart = band * q.pitch;
  for (std::size_t row = 0; row < band; ++row) some(row * q.pitch, apart);
}

/// The operation of a storage, from those of all of them.
template <template <typename> typename OperationOf>
const Operation& operation_of(Storage storage) {
  static constexpr Operation kOperations[] = {
      OperationOf<std::int8_t>::kOperation, OperationOf<std::uint8_t>::kOperation,
      OperationOf<std::int16_t>::kOperation, OperationOf<std::uint16_t>::kOperation,
      OperationOf<std::int32_t>::kOperation};
  return kOperations[static_cast<std::size_t>(storage)];
}

}  // namespace zeropoint::kernels
