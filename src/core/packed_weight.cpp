#include "core/packed_weight.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "core/dot_choice.h"
#include "core/matrix.h"
#include "zeropoint/qparams.h"

namespace zeropoint {
namespace {

using kernels::kPanel;

constexpr std::size_t kAlignment = 16;

// Upper bound of linear()'s memory per row besides digits and sums: see RowBlock.
constexpr std::size_t kRowExtraBytes = 64;

// Places parts one after the other, each aligned; overflow is checked at the end.
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

// Number of scales for a granularity.
std::size_t scale_count(const WeightShape& shape) {
  switch (shape.granularity) {
    case WeightGranularity::kPerTensor:
      return 1;
    case WeightGranularity::kPerOutput:
      return shape.n;
    case WeightGranularity::kPerInput:
      return shape.k;
    case WeightGranularity::kPerGroup:
      break;
  }
  return shape.k == 0 ? 0 : shape.n * kernels::groups_of(shape.k, shape.group_size);
}

// The index of the scale of an output's group.
std::size_t scale_index(const WeightShape& shape, std::size_t output, std::size_t group) {
  switch (shape.granularity) {
    case WeightGranularity::kPerOutput:
      return output;
    case WeightGranularity::kPerGroup:
      return output * kernels::groups_of(shape.k, shape.group_size) + group;
    default:
      return 0;
  }
}

template <typename T>
T* part(std::byte* block, std::uint32_t at) {
  return reinterpret_cast<T*>(block + at);
}

template <typename T>
const T* part(const std::byte* block, std::uint32_t at) {
  return reinterpret_cast<const T*>(block + at);
}

// Rounds up, so that the result stays a bound.
float at_least(double value) {
  const auto rounded = static_cast<float>(value);
  return static_cast<double>(rounded) < value ? std::nextafter(rounded, INFINITY) : rounded;
}

// Largest distance of a code between smallest and largest from zero.
double distance(int smallest, int largest, int zero_point) {
  return std::max(std::abs(smallest - zero_point), std::abs(largest - zero_point));
}

// Codes as raw bytes; the dtype tells their sign.
using WeightBytes = QuantizedWeight<std::uint8_t>;

// Codes are packed as signed: the unsigned code that is packed as 0.
int center_of(DType dtype) {
  const DTypeInfo info = dtype_info(dtype);
  return info.is_signed() ? 0 : 1 << (info.bits - 1);
}

// Start of a panel's scales and zero points in the block; groups of inputs share them.
struct PanelScales {
  std::size_t groups;
  float* scales;
  std::int32_t* zero_points;

  PanelScales(const PackedLayout& layout, std::size_t panel, std::byte* block)
      : groups(kernels::groups_of(layout.k, layout.group)),
        scales(part<float>(block, layout.scales) + panel * groups * kPanel),
        zero_points(part<std::int32_t>(block, layout.zero_points) + panel * groups * kPanel) {}
};

// Writes the scales of a panel's outputs; they are 1 if inputs have scales.
void write_scales(const WeightBytes& w, const WeightShape& shape, std::size_t first,
                  std::size_t outputs, const PackedLayout& layout, const PanelScales& to) {
  std::fill_n(to.scales, to.groups * kPanel, 0.0F);
  if (layout.affine) std::fill_n(to.zero_points, to.groups * kPanel, 0);
  if (layout.has_input_scales) {
    std::fill_n(to.scales, outputs, 1.0F);
    return;
  }
  if (w.scales.empty()) return;
  const int center = center_of(w.dtype);
  for (std::size_t group = 0; group < to.groups; ++group) {
    for (std::size_t i = 0; i < outputs; ++i) {
      const std::size_t index = scale_index(shape, first + i, group);
      to.scales[group * kPanel + i] = w.scales[index];
      if (layout.affine) to.zero_points[group * kPanel + i] = w.zero_points[index] - center;
    }
  }
}

// Sums and maxima behind the bounds of a panel's outputs.
struct PanelTotals {
  double largest[kPanel] = {};
  double squares[kPanel] = {};
  double small_codes[kPanel] = {};
};

// Writes a panel's codes and their sums. @param input_zero  largest magnitude of an input's zero
// point
PanelTotals write_codes(const WeightBytes& w, std::size_t panel, std::size_t outputs,
                        int input_zero, const PackedLayout& layout, const PanelScales& own,
                        std::byte* block) {
  PanelTotals totals;
  const int unit = 1 << (8 - layout.bits);
  const bool is_signed = dtype_info(w.dtype).is_signed();
  std::uint8_t* codes = part<std::uint8_t>(block, layout.codes) +
                        panel * layout.steps * static_cast<std::size_t>(layout.bits) * 4;
  std::int32_t* minus_sums =
      part<std::int32_t>(block, layout.minus_sums) + panel * layout.chunks * kPanel;
  const std::uint8_t* source = w.codes.data() + panel * kPanel * layout.k;
  kernels::for_chunks(
      layout.k, layout.group, [&](std::size_t input, std::size_t inputs, std::size_t group) {
        const std::uint8_t* rows[kPanel];
        for (std::size_t i = 0; i < outputs; ++i) rows[i] = source + i * layout.k + input;
        kernels::CodeSizes sizes;
        kernels::pack_chunk(rows, outputs, inputs, layout.bits, is_signed, layout.added_to_low,
                            codes, minus_sums, sizes);
        for (std::size_t i = 0; i < outputs; ++i) {
          const int zero_point = layout.affine ? own.zero_points[group * kPanel + i] : 0;
          const double codes_of_unit =
              distance(sizes.smallest[i], sizes.largest[i], zero_point * unit) + input_zero * unit;
          const auto scale = static_cast<double>(own.scales[group * kPanel + i]);
          totals.largest[i] = std::max(totals.largest[i], codes_of_unit * scale);
          totals.squares[i] += sizes.squares[i] * scale * scale;
          totals.small_codes[i] += sizes.small[i];
        }
        codes += kernels::steps_of(inputs, layout.bits) * static_cast<std::size_t>(layout.bits) * 4;
        minus_sums += kPanel;
      });
  return totals;
}

// Writes a panel's bounds, and raises the layout's bounds to match.
// @param plain  whether codes are magnitudes of weights: only if all zero points are 0
void write_bounds(const PanelTotals& totals, std::size_t panel, std::size_t outputs, bool plain,
                  const PanelScales& own, PackedLayout& layout, std::byte* block) {
  float* largest = part<float>(block, layout.largest) + panel * kPanel;
  float* ordinary = part<float>(block, layout.ordinary) + panel * 2 * kPanel;
  for (std::size_t i = 0; i < kPanel; ++i) {
    largest[i] = at_least(totals.largest[i]);
    float smallest_scale = own.scales[i];
    for (std::size_t group = 1; group < own.groups; ++group) {
      smallest_scale = std::min(smallest_scale, own.scales[group * kPanel + i]);
    }
    const auto code = static_cast<float>(kernels::ordinary_code(layout.bits));
    const float magnitude = smallest_scale * code * 0.99F;
    // An infinite magnitude would allow any error.
    const bool tells = plain && magnitude > 0.0F && std::isfinite(magnitude);
    ordinary[i] = tells ? magnitude : 0.0F;
    ordinary[kPanel + i] = at_least(std::sqrt(totals.small_codes[i]));
    if (i >= outputs) continue;
    layout.root = std::max(layout.root, ordinary[kPanel + i]);
    const double norm =
        tells ? std::sqrt(totals.squares[i]) / static_cast<double>(ordinary[i]) : INFINITY;
    layout.norm = std::max(layout.norm, at_least(norm));
  }
}

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
  layout.k = lengths[1];
  layout.bits = static_cast<std::uint8_t>(info.bits);
  layout.has_input_scales = shape.granularity == WeightGranularity::kPerInput;
  if (info.bits == 4) {
    const kernels::Digits format = digits_format(Accumulate::kExact);
    layout.added_to_low = static_cast<std::uint8_t>(kernels::added_to_low(format));
  }
  layout.group = std::max(layout.k, std::uint32_t{1});
  if (shape.granularity == WeightGranularity::kPerGroup) {
    if (shape.group_size == 0 || shape.group_size > UINT32_MAX) return Status::kInvalidGroupSize;
    layout.group = std::min(layout.group, static_cast<std::uint32_t>(shape.group_size));
  }
  const std::uint64_t scale_groups = kernels::groups_of(layout.k, layout.group);
  const Work group = work_of(layout.group, info.bits);
  const Work last = work_of(layout.k % layout.group, info.bits);
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
  layout.codes = placer.place(panels * steps * static_cast<std::uint64_t>(info.bits) * 4);
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
  const auto& layout = *part<PackedLayout>(block, 0);
  const bool per_input = layout.has_input_scales;
  return {layout.n,
          layout.k,
          layout.bits,
          layout.group,
          layout.chunks,
          layout.steps,
          layout.affine,
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
          per_input ? part<std::int32_t>(block, layout.input_zero_points) : nullptr};
}

std::size_t packed_weight_size(const WeightShape& shape) {
  PackedLayout layout;
  return packed_layout(shape, layout) == Status::kOk ? layout.size : 0;
}

MatrixShape packed_weight_shape(const std::byte* weight) {
  const auto& layout = *part<PackedLayout>(weight, 0);
  return {layout.n, layout.k};
}

namespace {

Status pack_bytes(const WeightBytes& w, std::size_t n, std::size_t k, std::span<std::byte> out) {
  const WeightShape shape{n, k, w.dtype, w.granularity, w.group_size};
  PackedLayout layout;
  Status status = check_matrix(n, k, w.codes.size());
  if (status == Status::kOk) status = packed_layout(shape, layout);
  if (status != Status::kOk) return status;
  if (out.size() != layout.size) return Status::kShapeMismatch;
  const auto count = static_cast<std::uint32_t>(scale_count(shape));
  status = check(QParamsView{w.scales, w.zero_points, Shape(&count, 1)}, w.dtype);
  if (status != Status::kOk) return status;

  const int center = center_of(w.dtype);
  const bool per_input = layout.has_input_scales;
  int farthest_zero = 0;
  for (const std::int32_t zero_point : w.zero_points) {
    farthest_zero = std::max(farthest_zero, std::abs(zero_point - center));
  }
  // Zero points are left out if all of them are 0 as signed codes.
  layout.affine = !per_input && farthest_zero != 0;
  const int input_zero = per_input ? farthest_zero : 0;
  const bool plain = farthest_zero == 0 && !w.scales.empty();
  std::byte* block = out.data();
  for (std::size_t panel = 0; panel * kPanel < layout.n; ++panel) {
    const std::size_t first = panel * kPanel;
    const std::size_t outputs = std::min(kPanel, layout.n - first);
    const PanelScales own(layout, panel, block);
    write_scales(w, shape, first, outputs, layout, own);
    const PanelTotals totals = write_codes(w, panel, outputs, input_zero, layout, own, block);
    write_bounds(totals, panel, outputs, plain, own, layout, block);
  }
  std::memcpy(block, &layout, sizeof(layout));
  if (per_input) {
    std::copy_n(w.scales.begin(), k, part<float>(block, layout.input_scales));
    auto* zero_points = part<std::int32_t>(block, layout.input_zero_points);
    for (std::size_t i = 0; i < k; ++i) zero_points[i] = w.zero_points[i] - center;
  }
  return Status::kOk;
}

}  // namespace

template <typename Code>
Status pack_weight(const QuantizedWeight<Code>& w, std::size_t n, std::size_t k,
                   std::span<std::byte> out) {
  const DTypeInfo info = dtype_info(w.dtype);
  if (info.bits > 8 || info.storage != kStorageOf<Code>) return Status::kUnsupportedDType;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(w.codes.data());
  return pack_bytes(
      {{bytes, w.codes.size()}, w.dtype, w.granularity, w.group_size, w.scales, w.zero_points}, n,
      k, out);
}

template Status pack_weight(const QuantizedWeight<std::int8_t>&, std::size_t, std::size_t,
                            std::span<std::byte>);
template Status pack_weight(const QuantizedWeight<std::uint8_t>&, std::size_t, std::size_t,
                            std::span<std::byte>);

}  // namespace zeropoint
