// Factors and zero points four at a time, shared by all values or one per value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/codes.h"
#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {

/// Result of load(i): factors and zero points (float32) of values i .. i + 3.
struct QParamsLanes {
  v128_t factor;
  v128_t zero_point;
};

/// Qparams of one group, for all its values.
class UniformLanes {
 public:
  UniformLanes(const ElementwiseQParams& each, std::size_t group)
      : lanes_{wasm_v128_load32_splat(each.factors + group),
               wasm_v128_load32_splat(each.zero_points + group)} {}
  [[nodiscard]] QParamsLanes load(std::size_t) const { return lanes_; }

 private:
  QParamsLanes lanes_;
};

/// Index mask: 0 if all n words are equal (as symmetric zero points are), else all ones. Loading
/// from i & mask then reads one place for all columns, which leaves the first-level cache to
/// values. 4 divides n.
inline std::size_t mask_unless_alike(const float* words, std::size_t n) {
  const v128_t first = wasm_v128_load32_splat(words);
  v128_t differ = wasm_i32x4_splat(0);
  for (std::size_t i = 0; i < n; i += 4) {
    differ = wasm_v128_or(differ, wasm_v128_xor(wasm_v128_load(words + i), first));
  }
  return wasm_v128_any_true(differ) ? SIZE_MAX : 0;
}

/// Qparams per column.
class ElementwiseLanes {
 public:
  /// For one row.
  explicit ElementwiseLanes(const ElementwiseQParams& each)
      : factors_(each.factors), zero_points_(each.zero_points) {}
  /// For rows of n values; 4 divides n.
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

/// Qparams of four values at a time; the qparams of vector j of a step are each.skip(j * stride).
struct FourByFour {
  ElementwiseQParams each;
  std::size_t stride;
};

/// Qparams of one group, each repeated four times.
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
  // A local copy stays in registers: a vector store may change anything in memory.
  const ElementwiseQParams each = q.each;
  const std::size_t length = std::min(q.length, n);
  for (std::size_t first = 0, group = 0; first < n; first += length, ++group) {
    steps(first, std::min(length, n - first), UniformLanes(each, group), group);
  }
}

/// Rows per call of Operation::rows.
inline constexpr std::size_t kRowsTogether = 4;

/// Calls some(position of the first row, distance of the next rows) for kCount rows at a time.
/// kCount divides kRowsTogether. The rows come from kCount bands, one each, so that every memory
/// stream is sequential.
template <std::size_t kCount, typename Some>
inline void for_rows(const AnyQParams& q, Some some) {
  const std::size_t band = q.rows / kCount;
  const std::size_t apart = band * q.pitch;
  for (std::size_t row = 0; row < band; ++row) some(row * q.pitch, apart);
}

/// The operation for a storage type.
template <template <typename> typename OperationOf>
const Operation& operation_of(Storage storage) {
  static constexpr Operation kOperations[] = {
      OperationOf<std::int8_t>::kOperation, OperationOf<std::uint8_t>::kOperation,
      OperationOf<std::int16_t>::kOperation, OperationOf<std::uint16_t>::kOperation,
      OperationOf<std::int32_t>::kOperation};
  return kOperations[static_cast<std::size_t>(storage)];
}

}  // namespace zeropoint::kernels
