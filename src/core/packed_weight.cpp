#include "core/packed_weight.h"

#include <algorithm>
#include <cstring>

#include "core/dot_choice.h"
#include "core/matrix.h"

namespace zeropoint {
namespace {

using kernels::kPanel;

constexpr std::size_t kAlignment = 16;

// Upper bound of linear()'s memory per row besides digits and sums: see RowBlock.
constexpr std::size_t kRowExtraBytes = 64;

// Places parts one after the other, each aligned. The caller checks end() for overflow.
class Placer {
 public:
  explicit Placer(std::size_t header) { place(header); }

  std::uint32_t place(std::uint64_t bytes) {
    const std::uint64_t at = end_;
    end_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return static_cast<std::uint32_t>(at);
  }

  [[nodiscard]] std::uint64_t end() const { return end_; }

 private:
  std::uint64_t end_ = 0;
};

// Chunks and steps of a group of inputs.
struct Work {
  std::uint64_t chunks;
  std::uint64_t steps;
};

// All chunks of a group are full except the last one.
Work work_of(std::size_t inputs, int bits) {
  const std::uint64_t whole = inputs / kernels::kChunk;
  const std::size_t rest = inputs % kernels::kChunk;
  return {whole + (rest > 0 ? 1 : 0),
          whole * kernels::steps_of(kernels::kChunk, bits) + kernels::steps_of(rest, bits)};
}

}  // namespace

Status packed_layout(const WeightShape& shape, PackedLayout& out) {
  const DTypeInfo info = dtype_info(shape.dtype);
  if (info.bits > 8) return Status::kUnsupportedDType;
  if (shape.n > UINT32_MAX || shape.k > UINT32_MAX) return Status::kSizeOverflow;
  const std::uint32_t lengths[] = {static_cast<std::uint32_t>(shape.n),
                                   static_cast<std::uint32_t>(shape.k)};
  std::size_t count = 0;
  const Status status = element_count(lengths, count);
  if (status != Status::kOk) return status;
  PackedLayout layout;
  layout.n = lengths[0];
  layout.capacity = lengths[0];
  layout.k = lengths[1];
  const int bits = kernels::stored_bits(info.bits);
  layout.bits = static_cast<std::uint8_t>(bits);
  layout.has_input_scales = shape.granularity == WeightGranularity::kPerInput;
  if (bits == 4) {
    const kernels::Digits format = digits_format(Accumulate::kExact);
    layout.added_to_low = static_cast<std::uint8_t>(kernels::added_to_low(format));
  }
  layout.group = std::max(layout.k, std::uint32_t{1});
  if (shape.granularity == WeightGranularity::kPerGroup) {
    if (shape.group_size == 0 || shape.group_size > UINT32_MAX) return Status::kInvalidGroupSize;
    layout.group = std::min(layout.group, static_cast<std::uint32_t>(shape.group_size));
  }
  const std::uint64_t scale_groups = kernels::groups_of(layout.k, layout.group);
  const Work group = work_of(layout.group, bits);
  const Work last = work_of(layout.k % layout.group, bits);
  const std::uint64_t groups = layout.k / layout.group;
  const std::uint64_t chunks = groups * group.chunks + last.chunks;
  const std::uint64_t steps = groups * group.steps + last.steps;
  // linear()'s memory for a row of activations must be countable, too, even without outputs.
  const std::uint64_t row_bytes =
      steps * kernels::digit_row_bytes(1) + chunks * sizeof(double) + kRowExtraBytes;
  if (row_bytes > UINT32_MAX) return Status::kSizeOverflow;
  const std::uint64_t panels = (std::uint64_t{layout.n} + kPanel - 1) / kPanel;
  layout.chunks = static_cast<std::uint32_t>(chunks);
  layout.steps = static_cast<std::uint32_t>(steps);

  constexpr std::uint64_t kFour = 4;  // bytes per 32-bit number
  Placer placer(sizeof(PackedLayout));
  layout.codes = placer.place(panels * steps * static_cast<std::uint64_t>(bits) * 4);
  layout.scales = placer.place(panels * scale_groups * kPanel * kFour);
  layout.zero_points = placer.place(panels * scale_groups * kPanel * kFour);
  layout.minus_sums = placer.place(panels * chunks * kPanel * kFour);
  layout.largest = placer.place(panels * kPanel * kFour);
  layout.ordinary = placer.place(panels * 2 * kPanel * kFour);
  layout.input_scales = placer.place(layout.has_input_scales ? layout.k * kFour : 0);
  layout.input_zero_points = placer.place(layout.has_input_scales ? layout.k * kFour : 0);
  if (placer.end() > UINT32_MAX) return Status::kSizeOverflow;
  layout.size = static_cast<std::uint32_t>(placer.end());
  out = layout;
  return Status::kOk;
}

kernels::Panels panels_of(const std::byte* block) {
  const PackedLayout& layout = layout_of(block);
  const bool per_input = layout.has_input_scales;
  const bool has_offsets = layout.shift == WeightShift::kOffsets;
  return {layout.n,
          layout.k,
          layout.bits,
          layout.group,
          layout.chunks,
          layout.steps,
          layout.shift == WeightShift::kZeroPoints && !per_input,
          layout.added_to_low,
          part<std::uint8_t>(block, layout.codes),
          part<float>(block, layout.scales),
          part<std::int32_t>(block, layout.zero_points),
          part<std::int32_t>(block, layout.minus_sums),
          part<float>(block, layout.largest),
          part<float>(block, layout.ordinary),
          layout.root,
          layout.norm,
          per_input ? part<float>(block, layout.input_scales) : nullptr,
          per_input ? part<std::int32_t>(block, layout.input_zero_points) : nullptr,
          has_offsets && !per_input ? part<float>(block, layout.zero_points) : nullptr,
          has_offsets && per_input ? part<float>(block, layout.input_zero_points) : nullptr,
          stored_center(layout.dtype)};
}

std::size_t packed_weight_size(const WeightShape& shape) {
  PackedLayout layout;
  return packed_layout(shape, layout) == Status::kOk ? layout.size : 0;
}

MatrixShape packed_weight_shape(const std::byte* weight) {
  const PackedLayout& layout = layout_of(weight);
  return {layout.n, layout.k};
}

Status begin_weight(const WeightShape& shape, WeightShift shift, std::span<std::byte> out) {
  PackedLayout layout;
  const Status status = packed_layout(shape, layout);
  if (status != Status::kOk) return status;
  if (out.size() != layout.size) return Status::kShapeMismatch;
  layout.n = 0;
  layout.granularity = shape.granularity;
  layout.dtype = shape.dtype;
  layout.shift = shift;
  std::memcpy(out.data(), &layout, sizeof(layout));
  return Status::kOk;
}

Status grow_weight(const std::byte* weight, std::size_t capacity, std::span<std::byte> out) {
  const PackedLayout& from = layout_of(weight);
  const Status status =
      begin_weight({capacity, from.k, from.dtype, from.granularity, from.group}, from.shift, out);
  if (status != Status::kOk) return status;
  if (capacity < from.n) return Status::kShapeMismatch;
  PackedLayout& to = layout_of(out.data());
  to.n = from.n;
  to.root = from.root;
  to.norm = from.norm;
  to.added_to_low = from.added_to_low;
  const kernels::Panels panels = panels_of(weight);
  const auto copy = [&](std::uint32_t PackedLayout::*place, std::size_t bytes) {
    std::memcpy(out.data() + to.*place, weight + from.*place, bytes);
  };
  const std::size_t numbers = panels.count() * kPanel * 4;
  copy(&PackedLayout::codes, panels.count() * panels.bytes());
  copy(&PackedLayout::scales, numbers * panels.groups());
  copy(&PackedLayout::zero_points, numbers * panels.groups());
  copy(&PackedLayout::minus_sums, numbers * panels.chunks);
  copy(&PackedLayout::largest, numbers);
  copy(&PackedLayout::ordinary, 2 * numbers);
  if (from.has_input_scales) {
    copy(&PackedLayout::input_scales, 4 * panels.k);
    copy(&PackedLayout::input_zero_points, 4 * panels.k);
  }
  return Status::kOk;
}

void keep_rows(std::byte* weight, std::size_t rows) {
  PackedLayout& layout = layout_of(weight);
  if (rows < layout.n) layout.n = static_cast<std::uint32_t>(rows);
}

Status unpack_rows(const std::byte* weight, std::size_t first, std::span<std::uint8_t> codes) {
  const PackedLayout& layout = layout_of(weight);
  const kernels::Panels panels = panels_of(weight);
  const std::size_t rows = panels.k == 0 ? 0 : codes.size() / panels.k;
  if (rows * panels.k != codes.size() || first > panels.n || rows > panels.n - first) {
    return Status::kShapeMismatch;
  }
  const bool is_signed = dtype_info(layout.dtype).is_signed();
  for (std::size_t r = 0; r < rows; ++r) {
    const std::size_t row = first + r;
    const std::uint8_t* packed = panels.codes + row / kPanel * panels.bytes();
    kernels::for_chunks(
        panels.k, panels.group, [&](std::size_t input, std::size_t inputs, std::size_t /*group*/) {
          kernels::unpack_chunk(packed, row % kPanel, inputs, panels.bits, is_signed,
                                panels.added_to_low, codes.data() + r * panels.k + input);
          packed +=
              kernels::steps_of(inputs, panels.bits) * static_cast<std::size_t>(panels.bits) * 4;
        });
  }
  return Status::kOk;
}

}  // namespace zeropoint
