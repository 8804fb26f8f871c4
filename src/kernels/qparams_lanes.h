// Scales and zero points four at a time, whether one serves all values or each has its own.
#pragma once

#include <cstddef>

#include "kernels/codes.h"
#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {

/// What load(i) gives: scale and zero point (float32) of values i .. i + 3.
struct QParamsLanes {
  v128_t scale;
  v128_t zero_point;
};

/// One group's, for all its values.
class UniformLanes {
 public:
  UniformLanes(const ElementwiseFloatQParams& each, std::size_t group)
      : lanes_{wasm_v128_load32_splat(each.scales + group),
               wasm_v128_load32_splat(each.zero_points + group)} {}
  [[nodiscard]] QParamsLanes load(std::size_t) const { return lanes_; }

 private:
  QParamsLanes lanes_;
};

/// Each column's own.
class ElementwiseLanes {
 public:
  explicit ElementwiseLanes(const ElementwiseFloatQParams& each)
      : scales_(each.scales), zero_points_(each.zero_points) {}
  [[nodiscard]] QParamsLanes load(std::size_t i) const {
    return {wasm_v128_load(scales_ + i), wasm_v128_load(zero_points_ + i)};
  }

 private:
  const float* scales_;
  const float* zero_points_;
};

/// Qparams of four values at a time: those of vector j of a step start at each.skip(j * stride).
struct FourByFour {
  ElementwiseFloatQParams each;
  std::size_t stride;
};

/// One group's qparams, each four times over.
class FourAlike {
 public:
  FourAlike(const ElementwiseFloatQParams& each, std::size_t group) {
    wasm_v128_store(scales_, wasm_v128_load32_splat(each.scales + group));
    wasm_v128_store(zero_points_, wasm_v128_load32_splat(each.zero_points + group));
    wasm_v128_store(nan_codes_, wasm_v128_load32_splat(each.nan_codes + group));
  }
  [[nodiscard]] FourByFour qparams() const { return {{scales_, zero_points_, nan_codes_}, 0}; }

 private:
  float scales_[4];
  float zero_points_[4];
  std::int32_t nan_codes_[4];
};

/// Calls steps(position, count, UniformLanes, group) for every group of n values.
template <typename Steps>
inline void for_groups(std::size_t n, const QParams& q, Steps steps) {
  // Of its own, so that it stays in registers: a vector's store may change anything in memory.
  const ElementwiseFloatQParams each = q.each;
  const std::size_t length = std::min(q.length, n);
  for (std::size_t first = 0, group = 0; first < n; first += length, ++group) {
    steps(first, std::min(length, n - first), UniformLanes(each, group), group);
  }
}

/// Rows that Operation::rows takes together.
inline constexpr std::size_t kRowsTogether = 4;

/// Calls four(position of the first row, how far the next ones are apart) for kRowsTogether rows at
/// a time, one from each quarter, so that every stream of memory goes on where its last row ended.
template <typename Four>
inline void for_rows(const QParams& q, Four four) {
  const std::size_t band = q.rows / kRowsTogether;
  const std::size_t apart = band * q.pitch;
  for (std::size_t row = 0; row < band; ++row) four(row * q.pitch, apart);
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
