#include "core/broadcast.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "core/even_parts.h"
#include "kernels/kernels.h"
#include "zeropoint/granularity.h"

namespace zeropoint {
namespace {

// Calls run(position in the result, offset of each operand) once per combination of all but the
// `inner_axes` innermost axes of a broadcast.
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

// Whether `from` broadcasts to `to`, and the result has the shape `to`.
bool broadcasts_to(Shape from, Shape to) {
  if (from.size() > to.size()) return false;
  const Shape aligned = to.last(from.size());
  return std::equal(
      from.begin(), from.end(), aligned.begin(),
      [](std::uint32_t own, std::uint32_t other) { return own == 1 || own == other; });
}

// Scales and zero points, or offsets, given as arrays. Zero points are also the codes for NaN, if
// the operation needs these.
class GivenSlices final : public Slices {
 public:
  /// @param first  index of the first slice
  GivenSlices(const QParamsView& qparams, std::size_t first, bool asks_nan_codes)
      : scales_(qparams.scales.data() + first),
        zero_points_(qparams.zero_points.data() + (qparams.offsets.empty() ? first : 0)),
        offsets_(qparams.offsets.empty() ? nullptr : qparams.offsets.data() + first),
        asks_nan_codes_(asks_nan_codes) {}

  [[nodiscard]] kernels::ElementwiseQParams load(std::size_t first, std::size_t count) override {
    if (offsets_ != nullptr) return {scales_ + first, offsets_ + first, nullptr};
    for (std::size_t i = 0; i < count; ++i) {
      floats_[i] = static_cast<float>(zero_points_[first + i]);
    }
    return {scales_ + first, floats_, asks_nan_codes_ ? zero_points_ + first : nullptr};
  }

 private:
  const float* scales_;
  const std::int32_t* zero_points_;
  const float* offsets_;
  bool asks_nan_codes_;
  float floats_[kSliceTile];
};

// Runs over a tensor with one pair of qparams per group. The shape, the number of values and the
// qparams' own shape are checked.
Status run_groups(const Pass& pass, Shape shape, const QParamsView& qparams, std::size_t out_size) {
  Granularity g;
  const Status status = per_group(shape, qparams.group_size, g);
  if (status != Status::kOk) return status;
  if (qparams.scales.size() != g.slices || !has_size(g, out_size)) return Status::kShapeMismatch;
  for_even_parts(g, [&](std::size_t position, std::size_t slice, const Granularity& part) {
    GivenSlices slices(qparams, slice, pass.operation.asks_nan_codes);
    run_slices(pass, position, part, slices);
  });
  return Status::kOk;
}

// Contiguous view of up to 256 values of an operand: the operand itself for step 1, a filled copy
// if the operand is repeated.
class Tile {
 public:
  static constexpr std::size_t kLength = 256;

  const void* load(const void* from, std::size_t size, std::size_t stride) {
    if (stride == 1) return from;
    // Fills one word with copies of the value, then repeats the word.
    alignas(4) std::byte word[4];
    for (std::size_t i = 0; i < sizeof word; i += size) std::memcpy(word + i, from, size);
    kernels::repeat_words(word, 1, kLength * size / 4, 1, words_);
    return words_;
  }
  const float* load(const float* from, std::size_t stride) {
    return static_cast<const float*>(load(from, sizeof(float), stride));
  }

 private:
  alignas(16) std::uint32_t words_[kLength];
};

}  // namespace

Status broadcast(std::span<const Shape> shapes, BroadcastAxes& axes,
                 std::span<BroadcastStrides> strides) {
  assert(shapes.size() <= kMaxOperands && strides.size() == shapes.size());
  std::size_t rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.size());
  if (rank > kMaxRank) return Status::kShapeMismatch;

  // Lengths, aligned at the last axis.
  std::array<std::uint32_t, kMaxRank> lengths{};
  const auto length_of = [&](const Shape& shape, std::size_t axis) -> std::uint32_t {
    const std::size_t missing = rank - shape.size();
    return axis < missing ? 1 : shape[axis - missing];
  };
  for (std::size_t axis = 0; axis < rank; ++axis) {
    std::uint32_t length = 1;
    for (const Shape& shape : shapes) {
      const std::uint32_t own = length_of(shape, axis);
      if (own == 1) continue;
      if (length != 1 && length != own) return Status::kShapeMismatch;
      length = own;
    }
    lengths[axis] = length;
  }
  const Status status = element_count(Shape(lengths.data(), rank), axes.count);
  if (status != Status::kOk) return status;

  // Merges axes from the last one outwards: an axis joins the next inner one if every operand steps
  // through both as through one longer axis.
  std::array<std::size_t, kMaxOperands> inside;  // elements of each operand inside the axis
  inside.fill(1);
  std::size_t merged = 0;  // axes so far, innermost first
  for (std::size_t axis = rank; axis-- > 0;) {
    if (lengths[axis] == 1) continue;
    bool joins = merged > 0;
    for (std::size_t k = 0; k < shapes.size(); ++k) {
      const bool repeated = length_of(shapes[k], axis) == 1;
      const std::size_t stride = repeated ? 0 : inside[k];
      if (!repeated) inside[k] *= lengths[axis];
      joins = joins && stride == strides[k][merged - 1] * axes.lengths[merged - 1];
      strides[k][merged] = stride;
    }
    if (joins) {
      axes.lengths[merged - 1] *= lengths[axis];
    } else {
      axes.lengths[merged++] = lengths[axis];
    }
  }
  if (merged == 0) {
    axes.lengths[0] = 1;
    for (auto& own : strides) own[0] = 0;
    merged = 1;
  }
  axes.rank = merged;
  const auto end = static_cast<std::ptrdiff_t>(merged);
  std::reverse(axes.lengths.begin(), axes.lengths.begin() + end);
  for (auto& own : strides) std::reverse(own.begin(), own.begin() + end);
  return Status::kOk;
}

Status run_checked(const Pass& pass, std::size_t size, Shape shape, const QParamsView& qparams,
                   DType dtype, std::size_t out_size) {
  Status status = check(size, shape);
  if (status == Status::kOk) status = check(qparams, dtype);
  if (status != Status::kOk) return status;
  if (qparams.group_size != 0) return run_groups(pass, shape, qparams, out_size);
  if (qparams.scales.size() == 1 && qparams.shape.size() <= shape.size()) {
    // One scale and zero point for all values. For a small tensor, merging axes would take longer
    // than the operation.
    if (out_size != size) return Status::kShapeMismatch;
    const bool has_offset = !qparams.offsets.empty();
    const std::int32_t zero_point = has_offset ? 0 : qparams.zero_points[0];
    const kernels::UniformQParams all{
        qparams.scales[0], has_offset ? qparams.offsets[0] : static_cast<float>(zero_point),
        zero_point};
    pass.run(0, size, all);
    return Status::kOk;
  }
  Broadcast<2> plan;
  status = broadcast<2>({shape, qparams.shape}, plan);
  if (status != Status::kOk) return status;
  if (!broadcasts_to(qparams.shape, shape)) return Status::kShapeMismatch;
  if (out_size != plan.count) return Status::kShapeMismatch;
  // Axes that repeat the qparams alternate with axes that step through them. The axes inside the
  // last stepping axis make up one slice. A missing axis has length 1.
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
    GivenSlices slices(qparams, offsets[1], pass.operation.asks_nan_codes);
    run_slices(pass, position, g, slices);
  });
  return Status::kOk;
}

Status run_unchecked(const Pass& pass, std::size_t size, Shape shape,
                     const TensorView<const float>& scale,
                     const TensorView<const float>& zero_point, std::int32_t nan_code,
                     std::size_t out_size) {
  Broadcast<3> plan;
  Status status = check(size, shape);
  if (status == Status::kOk) status = check(scale);
  if (status == Status::kOk) status = check(zero_point);
  if (status == Status::kOk) status = broadcast<3>({shape, scale.shape, zero_point.shape}, plan);
  if (status != Status::kOk) return status;
  if (out_size != plan.count) return Status::kShapeMismatch;
  Tile values;
  Tile scales;
  Tile zero_points;
  std::int32_t nan_codes[Tile::kLength];
  std::fill_n(nan_codes, Tile::kLength, nan_code);
  const std::size_t last = plan.rank - 1;
  const std::size_t length = plan.lengths[last];
  const std::array strides = {plan.strides[0][last], plan.strides[1][last], plan.strides[2][last]};
  for_outer(plan, 1, [&](std::size_t position, const auto& offsets) {
    const float* s = scale.values.data() + offsets[1];
    const float* z = zero_point.values.data() + offsets[2];
    if (strides[0] == 1 && strides[1] == 0 && strides[2] == 0) {
      pass.run(position, pass.from_at(offsets[0]), length,
               kernels::UniformQParams{*s, *z, nan_code});
      return;
    }
    for (std::size_t i = 0; i < length; i += Tile::kLength) {
      const void* from = values.load(pass.from_at(offsets[0] + i * strides[0]),
                                     pass.operation.from_size, strides[0]);
      const kernels::ElementwiseQParams each{scales.load(s + i * strides[1], strides[1]),
                                             zero_points.load(z + i * strides[2], strides[2]),
                                             nan_codes};
      pass.run(position + i, from, std::min(Tile::kLength, length - i), each);
    }
  });
  return Status::kOk;
}

}  // namespace zeropoint
