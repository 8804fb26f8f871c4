// pack_weight() and pack_rows() of linear.h: write codes, scales and bounds of rows to a block.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/matrix.h"
#include "core/packed_weight.h"
#include "zeropoint/qparams.h"

namespace zeropoint {
namespace {

using kernels::kPanel;

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

// Rounds up, so that the result stays a bound.
float at_least(double value) {
  const auto rounded = static_cast<float>(value);
  return static_cast<double>(rounded) < value ? std::nextafter(rounded, INFINITY) : rounded;
}

// Largest |code - zero_point| for codes in [smallest, largest].
double distance(int smallest, int largest, int zero_point) {
  return std::max(std::abs(smallest - zero_point), std::abs(largest - zero_point));
}

// Codes as raw bytes; the dtype tells their sign.
using WeightBytes = QuantizedWeight<std::uint8_t>;

// A panel's scales and zero points, or offsets, in the block: one of each per group and output.
struct PanelScales {
  std::size_t groups;
  float* scales;
  std::int32_t* zero_points;  // null unless outputs have them
  float* offsets;             // the same

  PanelScales(const PackedLayout& layout, std::size_t panel, std::byte* block)
      : groups(kernels::groups_of(layout.k, layout.group)),
        scales(part<float>(block, layout.scales) + panel * groups * kPanel),
        zero_points(has(layout, WeightShift::kZeroPoints)
                        ? part<std::int32_t>(block, layout.zero_points) + panel * groups * kPanel
                        : nullptr),
        offsets(has(layout, WeightShift::kOffsets)
                    ? part<float>(block, layout.zero_points) + panel * groups * kPanel
                    : nullptr) {}

 private:
  static bool has(const PackedLayout& layout, WeightShift shift) {
    return layout.shift == shift && !layout.has_input_scales;
  }
};

// Writes the scales of a panel's outputs (1 if inputs have scales), and their zero points or
// offsets.
void write_scales(const WeightBytes& w, const WeightShape& shape, std::size_t first,
                  std::size_t outputs, const PackedLayout& layout, const PanelScales& to) {
  std::fill_n(to.scales, to.groups * kPanel, 0.0F);
  if (to.zero_points != nullptr) std::fill_n(to.zero_points, to.groups * kPanel, 0);
  if (to.offsets != nullptr) std::fill_n(to.offsets, to.groups * kPanel, 0.0F);
  if (layout.has_input_scales) {
    std::fill_n(to.scales, outputs, 1.0F);
    return;
  }
  if (w.scales.empty()) return;
  const int center = stored_center(w.dtype);
  for (std::size_t group = 0; group < to.groups; ++group) {
    for (std::size_t i = 0; i < outputs; ++i) {
      const std::size_t index = scale_index(shape, first + i, group);
      to.scales[group * kPanel + i] = w.scales[index];
      if (to.zero_points != nullptr) {
        to.zero_points[group * kPanel + i] = w.zero_points[index] - center;
      }
      if (to.offsets != nullptr) to.offsets[group * kPanel + i] = w.offsets[index];
    }
  }
}

// Upper bound of |code * scale + offset|, times the unit, plus 2^-20 of |code * scale| + |offset|
// for rounding in double: see finish_tile(). Codes as stored, times the unit, are in [smallest,
// largest].
double distance(int smallest, int largest, int center_units, double scale, double offset_units) {
  const double low = (smallest + center_units) * scale;
  const double high = (largest + center_units) * scale;
  const double sizes = std::max(std::fabs(low), std::fabs(high)) + std::fabs(offset_units);
  return std::max(std::fabs(low + offset_units), std::fabs(high + offset_units)) + 0x1p-20 * sizes;
}

// Sums and maxima from which the bounds of a panel's outputs are computed.
struct PanelTotals {
  double largest[kPanel] = {};
  double squares[kPanel] = {};
  double small_codes[kPanel] = {};
};

// Writes a panel's codes and their sums. @param source  [outputs][K]. @param input_zero  largest
// distance of an input's zero point, or offset, from the code stored as 0, in codes
PanelTotals write_codes(const std::uint8_t* source, std::size_t panel, std::size_t outputs,
                        double input_zero, const PackedLayout& layout, const PanelScales& own,
                        std::byte* block) {
  PanelTotals totals;
  const int unit = 1 << (8 - layout.bits);
  const int center = stored_center(layout.dtype);
  const bool is_signed = dtype_info(layout.dtype).is_signed();
  std::uint8_t* codes = part<std::uint8_t>(block, layout.codes) +
                        panel * layout.steps * static_cast<std::size_t>(layout.bits) * 4;
  std::int32_t* minus_sums =
      part<std::int32_t>(block, layout.minus_sums) + panel * layout.chunks * kPanel;
  kernels::for_chunks(
      layout.k, layout.group, [&](std::size_t input, std::size_t inputs, std::size_t group) {
        const std::uint8_t* rows[kPanel];
        for (std::size_t i = 0; i < outputs; ++i) rows[i] = source + i * layout.k + input;
        kernels::CodeSizes sizes;
        kernels::pack_chunk(rows, outputs, inputs, layout.bits, is_signed, layout.added_to_low,
                            codes, minus_sums, sizes);
        for (std::size_t i = 0; i < outputs; ++i) {
          const std::size_t at = group * kPanel + i;
          const auto scale = static_cast<double>(own.scales[at]);
          const int zero_point = own.zero_points == nullptr ? 0 : own.zero_points[at];
          const double size =
              own.offsets == nullptr
                  ? (distance(sizes.smallest[i], sizes.largest[i], zero_point * unit) +
                     input_zero * unit) *
                        scale
                  : distance(sizes.smallest[i], sizes.largest[i], center * unit, scale,
                             static_cast<double>(own.offsets[at]) * unit);
          totals.largest[i] = std::max(totals.largest[i], size);
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

// Packs rows of a weight into a block. w holds the codes of these rows, and their scales or those
// shared by all rows.
Status pack_bytes(const WeightBytes& w, std::size_t first, std::size_t rows, std::byte* block) {
  PackedLayout& layout = layout_of(block);
  const WeightShape shape{rows, layout.k, w.dtype, w.granularity, w.group_size};
  const Status matrix = check_matrix(rows, layout.k, w.codes.size());
  if (matrix != Status::kOk) return matrix;
  const bool fits = first % kPanel == 0 && first <= layout.n && first + rows <= layout.capacity;
  const bool is_alike = w.dtype == layout.dtype && w.granularity == layout.granularity;
  // A group size above the row length counts as the row length.
  const std::size_t longest = std::max(layout.k, std::uint32_t{1});
  const bool has_groups = w.granularity != WeightGranularity::kPerGroup ||
                          std::min(w.group_size, longest) == layout.group;
  if (!fits || !is_alike || !has_groups) return Status::kShapeMismatch;
  const auto count = static_cast<std::uint32_t>(scale_count(shape));
  const Status status =
      check(QParamsView{w.scales, w.zero_points, Shape(&count, 1), 0, w.offsets}, w.dtype);
  if (status != Status::kOk) return status;

  const int center = stored_center(w.dtype);
  const bool has_offsets = layout.shift == WeightShift::kOffsets;
  if (has_offsets ? !w.zero_points.empty() : !w.offsets.empty()) return Status::kShapeMismatch;
  double farthest_zero = 0;
  for (const std::int32_t zero_point : w.zero_points) {
    farthest_zero = std::max(farthest_zero, static_cast<double>(std::abs(zero_point - center)));
  }
  for (std::size_t i = 0; i < w.offsets.size(); ++i) {
    const double steps =
        std::fabs(static_cast<double>(w.offsets[i]) / static_cast<double>(w.scales[i]));
    farthest_zero = std::max(farthest_zero, steps + center);
  }
  const bool per_input = layout.has_input_scales;
  const bool is_shifted = layout.shift != WeightShift::kNone;
  if (farthest_zero != 0 && !per_input && !is_shifted) return Status::kInvalidZeroPoint;
  const double input_zero = per_input ? farthest_zero : 0;
  const bool plain = (per_input || !is_shifted) && farthest_zero == 0 && !w.scales.empty();
  for (std::size_t row = 0; row < rows; row += kPanel) {
    const std::size_t outputs = std::min(kPanel, rows - row);
    const std::size_t panel = (first + row) / kPanel;
    const PanelScales own(layout, panel, block);
    write_scales(w, shape, row, outputs, layout, own);
    const std::uint8_t* codes = w.codes.data() + row * layout.k;
    const PanelTotals totals = write_codes(codes, panel, outputs, input_zero, layout, own, block);
    write_bounds(totals, panel, outputs, plain, own, layout, block);
  }
  if (per_input) {
    std::copy_n(w.scales.begin(), layout.k, part<float>(block, layout.input_scales));
    if (has_offsets) {
      std::copy(w.offsets.begin(), w.offsets.end(), part<float>(block, layout.input_zero_points));
    } else {
      auto* zero_points = part<std::int32_t>(block, layout.input_zero_points);
      for (std::size_t i = 0; i < layout.k; ++i) zero_points[i] = w.zero_points[i] - center;
    }
  }
  layout.n = std::max(layout.n, static_cast<std::uint32_t>(first + rows));
  return Status::kOk;
}

}  // namespace

template <typename Code>
Status pack_rows(const QuantizedWeight<Code>& w, std::size_t first, std::size_t rows,
                 std::byte* weight) {
  const DTypeInfo info = dtype_info(w.dtype);
  if (info.bits > 8 || info.storage != kStorageOf<Code>) return Status::kUnsupportedDType;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(w.codes.data());
  return pack_bytes({{bytes, w.codes.size()},
                     w.dtype,
                     w.granularity,
                     w.group_size,
                     w.scales,
                     w.zero_points,
                     w.offsets},
                    first, rows, weight);
}

template Status pack_rows(const QuantizedWeight<std::int8_t>&, std::size_t, std::size_t,
                          std::byte*);
template Status pack_rows(const QuantizedWeight<std::uint8_t>&, std::size_t, std::size_t,
                          std::byte*);

template <typename Code>
Status pack_weight(const QuantizedWeight<Code>& w, std::size_t n, std::size_t k,
                   std::span<std::byte> out) {
  const DTypeInfo info = dtype_info(w.dtype);
  if (info.bits > 8 || info.storage != kStorageOf<Code>) return Status::kUnsupportedDType;
  const Status matrix = check_matrix(n, k, w.codes.size());
  if (matrix != Status::kOk) return matrix;
  const int center = stored_center(w.dtype);
  const auto is_off = [=](std::int32_t zero_point) { return zero_point != center; };
  const bool affine = std::any_of(w.zero_points.begin(), w.zero_points.end(), is_off);
  const WeightShift shift = !w.offsets.empty() ? WeightShift::kOffsets
                            : affine           ? WeightShift::kZeroPoints
                                               : WeightShift::kNone;
  const Status status = begin_weight({n, k, w.dtype, w.granularity, w.group_size}, shift, out);
  return status == Status::kOk ? pack_rows(w, 0, n, out.data()) : status;
}

template Status pack_weight(const QuantizedWeight<std::int8_t>&, std::size_t, std::size_t,
                            std::span<std::byte>);
template Status pack_weight(const QuantizedWeight<std::uint8_t>&, std::size_t, std::size_t,
                            std::span<std::byte>);

}  // namespace zeropoint
