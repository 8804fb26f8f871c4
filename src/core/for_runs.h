// Walks broadcast operands in runs a kernel can take: how quantize, dequantize and fake_quantize
// meet every granularity with the same few kernels.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/slices.h"
#include "kernels/kernels.h"
#include "zeropoint/granularity.h"
#include "zeropoint/quantize.h"

namespace zeropoint {

/// Calls run(position in the result, offset of each operand) once per combination of all but the
/// `inner_axes` innermost axes of a broadcast.
template <std::size_t kOperands, typename Run>
void for_outer(const Broadcast<kOperands>& b, std::size_t inner_axes, Run run) {
  const std::size_t outer_axes = b.rank - inner_axes;
  std::size_t length = 1;
  for (std::size_t axis = outer_axes; axis < b.rank; ++axis) length *= b.lengths[axis];
  std::array<std::size_t, kOperands> offsets{};
  std::array<std::size_t, kMaxRank> index{};
  for (std::size_t position = 0; position < b.count; position += length) {
    run(position, offsets);
    for (std::size_t axis = outer_axes; axis-- > 0;) {
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

/// Given scales and zero points, as for_slices takes them.
class GivenSlices {
 public:
  GivenSlices(const float* scales, const std::int32_t* zero_points)
      : scales_(scales), zero_points_(zero_points) {}

  [[nodiscard]] kernels::ElementwiseFloatQParams load(std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      floats_[i] = static_cast<float>(zero_points_[first + i]);
    }
    return {scales_ + first, floats_, zero_points_ + first};
  }

 private:
  const float* scales_;
  const std::int32_t* zero_points_;
  float floats_[kSliceTile];
};

/// Checks a tensor against qparams that must broadcast to its shape, and calls run(position,
/// length, the kernels' qparams of that run).
/// @return kShapeMismatch, kSizeOverflow, kInvalidScale, kInvalidZeroPoint; then nothing was run.
template <typename T, typename Run>
[[nodiscard]] Status for_runs(const TensorView<T>& tensor, const QParamsView& qparams, DType dtype,
                              std::size_t out_size, Run run) {
  Broadcast<2> plan;
  Status status = check(tensor);
  if (status == Status::kOk) status = check(qparams, dtype);
  if (status == Status::kOk && qparams.scales.size() == 1 &&
      qparams.shape.size() <= tensor.shape.size()) {
    // One pair serves all values. Planning the walk would take longer than a small tensor itself.
    if (out_size != tensor.values.size()) return Status::kShapeMismatch;
    const std::int32_t zero_point = qparams.zero_points[0];
    if (out_size > 0) {
      run(0, out_size,
          kernels::UniformQParams{qparams.scales[0], static_cast<float>(zero_point), zero_point});
    }
    return Status::kOk;
  }
  if (status == Status::kOk) status = broadcast<2>({tensor.shape, qparams.shape}, plan);
  if (status != Status::kOk) return status;
  if (!broadcasts_to(qparams.shape, tensor.shape)) return Status::kShapeMismatch;
  if (out_size != plan.count) return Status::kShapeMismatch;
  // Axes that repeat the qparams alternate with axes that step through them, and those inside the
  // last such axis make up one slice. A missing axis has length 1.
  std::size_t axes = 0;
  const auto take = [&](bool repeats) -> std::size_t {
    if (axes == plan.rank) return 1;
    const std::size_t axis = plan.rank - 1 - axes;
    if ((plan.strides[1][axis] == 0) != repeats) return 1;
    ++axes;
    return plan.lengths[axis];
  };
  Granularity g;
  g.inner = take(true);
  g.slices = take(false);
  g.outer = take(true);
  for_outer(plan, axes, [&](std::size_t position, const auto& offsets) {
    GivenSlices slices(qparams.scales.data() + offsets[1], qparams.zero_points.data() + offsets[1]);
    for_slices(g, slices, [&](std::size_t at, std::size_t length, auto run_qparams, std::size_t) {
      run(position + at, length, run_qparams);
    });
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
  const std::size_t last = plan.rank - 1;
  const std::size_t length = plan.lengths[last];
  const std::array strides = {plan.strides[0][last], plan.strides[1][last], plan.strides[2][last]};
  for_outer(plan, 1, [&](std::size_t position, const auto& offsets) {
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
          kernels::ElementwiseFloatQParams{scales.load(s + i * strides[1], strides[1], count),
                                           zero_points.load(z + i * strides[2], strides[2], count),
                                           all_nan_codes});
    }
  });
  return Status::kOk;
}

}  // namespace zeropoint
