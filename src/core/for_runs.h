// Walks broadcast operands in runs a kernel can take: how quantize, dequantize and fake_quantize
// meet every granularity with the same few kernels.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "kernels/kernels.h"
#include "zeropoint/granularity.h"
#include "zeropoint/quantize.h"

namespace zeropoint {

/// Calls run(position in the result, offset of each operand, length, stride of each operand) for
/// the innermost axis of a broadcast, once per combination of the outer ones.
template <std::size_t kOperands, typename Run>
void for_runs(const Broadcast<kOperands>& b, Run run) {
  if (b.count == 0) return;
  const std::size_t last = b.rank - 1;
  const std::size_t length = b.lengths[last];
  std::array<std::size_t, kOperands> strides;
  for (std::size_t k = 0; k < kOperands; ++k) strides[k] = b.strides[k][last];
  std::array<std::size_t, kOperands> offsets{};
  std::array<std::size_t, kMaxRank> index{};
  for (std::size_t position = 0; position < b.count; position += length) {
    run(position, offsets, length, strides);
    for (std::size_t axis = last; axis-- > 0;) {
      for (std::size_t k = 0; k < kOperands; ++k) offsets[k] += b.strides[k][axis];
      if (++index[axis] < b.lengths[axis]) break;
      index[axis] = 0;
      for (std::size_t k = 0; k < kOperands; ++k) {
        offsets[k] -= b.strides[k][axis] * b.lengths[axis];
      }
    }
  }
}

/// Whether a shape broadcasts to another without enlarging it.
inline bool broadcasts_to(Shape from, Shape to) {
  if (from.size() > to.size()) return false;
  const Shape aligned = to.last(from.size());
  return std::equal(
      from.begin(), from.end(), aligned.begin(),
      [](std::uint32_t own, std::uint32_t other) { return own == 1 || own == other; });
}

/// Checks a tensor against qparams that must broadcast to its shape, and calls run(position,
/// length, the kernels' qparams of that run).
/// @return kShapeMismatch, kSizeOverflow, kInvalidScale, kInvalidZeroPoint; then nothing was run.
template <typename T, typename Run>
[[nodiscard]] Status for_runs(const TensorView<T>& tensor, const QParamsView& qparams, DType dtype,
                              std::size_t out_size, Run run) {
  Broadcast<2> plan;
  Status status = check(tensor);
  if (status == Status::kOk) status = check(qparams, dtype);
  if (status == Status::kOk) status = broadcast<2>({tensor.shape, qparams.shape}, plan);
  if (status != Status::kOk) return status;
  if (!broadcasts_to(qparams.shape, tensor.shape)) return Status::kShapeMismatch;
  if (out_size != plan.count) return Status::kShapeMismatch;
  for_runs(plan,
           [&](std::size_t position, const auto& offsets, std::size_t length, const auto& strides) {
             const float* scale = qparams.scales.data() + offsets[1];
             const std::int32_t* zero_point = qparams.zero_points.data() + offsets[1];
             if (strides[1] == 0) {
               run(position, length,
                   kernels::UniformQParams{*scale, static_cast<float>(*zero_point), *zero_point});
             } else {
               run(position, length, kernels::ElementwiseQParams{scale, zero_point});
             }
           });
  return Status::kOk;
}

/// Up to 256 values of an operand side by side: the operand itself where it steps by one, a filled
/// copy where it is repeated.
template <typename T>
class Tile {
 public:
  static constexpr std::size_t kLength = 256;

  const T* load(const T* from, std::size_t stride, std::size_t count) {
    if (stride == 1) return from;
    std::fill_n(values_, count, *from);
    return values_;
  }

 private:
  T values_[kLength];
};

/// Broadcasts a tensor, scales and zero points that nobody has validated, as the notebooks do, and
/// calls run(position, the tensor's values, length, the kernels' qparams of that run).
/// @return kShapeMismatch, kSizeOverflow; then nothing was run.
template <typename T, typename Run>
[[nodiscard]] Status for_runs(const TensorView<T>& tensor, const TensorView<const float>& scale,
                              const TensorView<const float>& zero_point, std::int32_t nan_code,
                              std::size_t out_size, Run run) {
  Broadcast<3> plan;
  Status status = check(tensor);
  if (status == Status::kOk) status = check(scale);
  if (status == Status::kOk) status = check(zero_point);
  if (status == Status::kOk) {
    status = broadcast<3>({tensor.shape, scale.shape, zero_point.shape}, plan);
  }
  if (status != Status::kOk) return status;
  if (out_size != plan.count) return Status::kShapeMismatch;
  Tile<std::remove_const_t<T>> values;
  Tile<float> scales;
  Tile<float> zero_points;
  Tile<std::int32_t> nan_codes;
  const std::int32_t* all_nan_codes = nan_codes.load(&nan_code, 0, Tile<float>::kLength);
  for_runs(plan,
           [&](std::size_t position, const auto& offsets, std::size_t length, const auto& strides) {
             const T* from = tensor.values.data() + offsets[0];
             const float* s = scale.values.data() + offsets[1];
             const float* z = zero_point.values.data() + offsets[2];
             if (strides[0] == 1 && strides[1] == 0 && strides[2] == 0) {
               run(position, from, length, kernels::UniformQParams{*s, *z, nan_code});
               return;
             }
             for (std::size_t i = 0; i < length; i += Tile<float>::kLength) {
               const std::size_t count = std::min(Tile<float>::kLength, length - i);
               run(position + i, values.load(from + i * strides[0], strides[0], count), count,
                   kernels::ElementwiseFloatQParams{
                       scales.load(s + i * strides[1], strides[1], count),
                       zero_points.load(z + i * strides[2], strides[2], count), all_nan_codes});
             }
           });
  return Status::kOk;
}

}  // namespace zeropoint
