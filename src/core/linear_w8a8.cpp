// The W8A8 functions of linear.h: activations quantized to quint8, exact integer sums.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/dot_choice.h"
#include "core/linear_work.h"
#include "core/matrix.h"
#include "core/packed_weight.h"
#include "core/parallel.h"
#include "kernels/panels.h"
#include "zeropoint/linear.h"

namespace zeropoint {
namespace {

using kernels::ByteSums;
using kernels::kPanel;
using kernels::Panels;

// Smallest scale of quant_utils::ChooseQuantizationParams.
constexpr float kSmallScale = 6.1e-5F;

bool is_quint8(std::int32_t zero_point) { return zero_point >= 0 && zero_point <= 255; }

// Whether all inputs of an output share one integer sum: 8-bit codes without groups.
bool is_plain(const Panels& w) { return w.bits == 8 && w.groups() <= 1; }

Status check_w8a8(std::size_t qx, std::size_t m, const Panels& w, std::size_t bias, std::size_t out,
                  std::size_t scratch) {
  for (const Status status : {check_matrix(m, w.k, qx), check_matrix(m, w.n, out)}) {
    if (status != Status::kOk) return status;
  }
  const bool fits = !w.affine && w.offsets == nullptr && w.input_scales == nullptr;
  if (!fits) return Status::kUnsupportedDType;
  if (bias != 0 && bias != w.n) return Status::kShapeMismatch;
  return scratch < RowBlock::bytes_of(w, m).bytes() ? Status::kShapeMismatch : Status::kOk;
}

// For each output of a panel: -64 times the sum of its codes, exact in double.
std::array<double, kPanel> minus_sums(const Panels& w, std::size_t panel) {
  std::array<double, kPanel> totals{};
  const std::int32_t* sums = w.minus_sums + panel * w.chunks * kPanel;
  for (std::size_t chunk = 0; chunk < w.chunks; ++chunk) {
    for (std::size_t i = 0; i < kPanel; ++i) totals[i] += sums[chunk * kPanel + i];
  }
  return totals;
}

// Output of a layer: values or codes.
struct Outputs {
  double scale_x;               // input scale
  double scale_y;               // output scale, for codes
  std::span<const float> bias;  // [N] or empty; in steps of the sums for codes
  float* values;                // [M][N], or null for codes
  std::uint8_t* codes;          // [M][N]
  std::int32_t zero_point;      // output zero point, for codes
  std::int32_t lowest;          // smallest code of an output, for codes

  // Writes a panel's outputs for rows `row` and later.
  void write(const Panels& w, std::size_t panel, std::size_t row, std::size_t rows,
             const ByteSums& sums) const {
    const std::size_t column = panel * kPanel;
    const std::size_t columns = std::min(kPanel, w.n - column);
    const auto float_scale_x = static_cast<float>(scale_x);
    float multipliers[kPanel] = {};
    // No bias: adding -0 leaves every value unchanged.
    float added[kPanel];
    std::fill_n(added, kPanel, -0.0F);
    if (!bias.empty()) std::copy_n(bias.data() + column, columns, added);
    // With groups, the sums have their scales already.
    const bool has_groups = w.groups() > 1;
    const float* scales = w.scales + column;
    const std::size_t at = row * w.n + column;
    // Two loops: in a single one, compilers would compute the quotient for values, too.
    if (values != nullptr) {
      for (std::size_t i = 0; i < columns; ++i) {
        multipliers[i] = has_groups ? float_scale_x : float_scale_x * scales[i];
      }
      kernels::finish_bytes(sums, multipliers, added, rows, values + at, w.n, columns);
    } else {
      for (std::size_t i = 0; i < columns; ++i) {
        multipliers[i] = static_cast<float>(scale_x * scales[i] / scale_y);
      }
      kernels::requantize_bytes(sums, multipliers, added, zero_point, lowest, rows, codes + at, w.n,
                                columns);
    }
  }
};

// Computes all outputs; zero_point is the input zero point.
void run_layer(const std::uint8_t* qx, std::size_t m, std::int32_t zero_point, const Panels& w,
               std::span<std::byte> scratch, const Outputs& outputs) {
  const RowBlock block = RowBlock::bytes_of(w, m);
  const std::size_t k = w.k;
  constexpr std::size_t kSegment = kernels::kByteInputs / kernels::kStepInputs;
  const bool is_long = w.steps > kSegment;
  const kernels::ByteFormat format = byte_format(qx, m, w, zero_point, is_plain(w) && !is_long);
  zero_point -= format.base;
  std::uint8_t* x = block.lines(scratch);
  for (std::size_t first = 0; first < m; first += block.rows) {
    const std::size_t rows = std::min(block.rows, m - first);
    const std::uint8_t* from = qx + first * k;
    // Spreading costs about as much as multiplying by eight outputs.
    const std::size_t row_parts = part_count(rows, std::uint64_t{8} * rows * k);
    parallel_for(row_parts, [=](std::size_t part) {
      const std::size_t last = part_start(rows, part + 1, row_parts);
      for (std::size_t r = part_start(rows, part, row_parts); r < last; ++r) {
        kernels::spread_bytes(from + r * k, w, format, rows, r, x);
      }
    });
    const std::size_t panels = w.count();
    // Bytes multiply four times as fast as digits; two threads were measured to pay off from half
    // as much work.
    const std::size_t parts = part_count(panels, std::uint64_t{rows} * w.n * w.k / 2);
    parallel_for(parts, [=](std::size_t part) {
      const std::size_t last = part_start(panels, part + 1, parts);
      for (std::size_t panel = part_start(panels, part, parts); panel < last; ++panel) {
        std::int32_t sums[kernels::kMaxRows * kPanel];
        double more[kernels::kMaxRows * kPanel];
        if (!is_plain(w)) {
          std::fill_n(more, rows * kPanel, 0.0);
          kernels::multiply_groups(w, panel, x, rows, format.format, zero_point, more);
          const double none[kPanel] = {};
          std::fill_n(sums, rows * kPanel, 0);
          outputs.write(w, panel, first, rows, {sums, more, none});
          continue;
        }
        // Correction for the input zero point.
        std::array<double, kPanel> correction = minus_sums(w, panel);
        for (double& value : correction) value *= zero_point / 64.0;
        const kernels::ByteProduct product{w.codes + panel * w.bytes(), w.steps, x, rows};
        if (is_long) std::fill_n(more, rows * kPanel, 0.0);
        std::size_t step = 0;
        for (; step + kSegment < w.steps; step += kSegment) {
          kernels::multiply_bytes(product, format.format, step, kSegment, sums);
          for (std::size_t i = 0; i < rows * kPanel; ++i) more[i] += sums[i];
        }
        kernels::multiply_bytes(product, format.format, step, w.steps - step, sums);
        outputs.write(w, panel, first, rows, {sums, is_long ? more : nullptr, correction.data()});
      }
    });
  }
}

}  // namespace

Status choose_quantization_params(Range range, std::int32_t qmin, std::int32_t qmax,
                                  bool reduce_range, QParams& out) {
  if (!(range.min <= range.max) || !std::isfinite(range.min) || !std::isfinite(range.max)) {
    return Status::kNonFinite;
  }
  if (reduce_range) {
    qmin /= 2;
    qmax /= 2;
  }
  if (qmin >= qmax) return Status::kInvalidZeroPoint;
  float min = std::min(range.min, 0.0F);
  float max = std::max(range.max, 0.0F);
  const auto steps = static_cast<double>(qmax) - static_cast<double>(qmin);
  double scale = (static_cast<double>(max) - static_cast<double>(min)) / steps;
  const auto scale32 = static_cast<float>(scale);
  if (scale32 == 0.0F || std::isinf(1.0F / scale32)) scale = 0.1;
  if (scale < static_cast<double>(kSmallScale)) {
    const auto original = static_cast<float>(scale);
    scale = static_cast<double>(kSmallScale);
    if (min == 0.0F) {
      max = kSmallScale * static_cast<float>(steps);
    } else if (max == 0.0F) {
      min = -kSmallScale * static_cast<float>(steps);
    } else {
      const float amplifier = kSmallScale / original;
      min *= amplifier;
      max *= amplifier;
    }
  }
  const double low = static_cast<double>(min) / scale;
  const double high = static_cast<double>(max) / scale;
  const double low_error = std::fabs(static_cast<double>(qmin)) - std::fabs(low);
  const double high_error = std::fabs(static_cast<double>(qmax)) - std::fabs(high);
  const double zero_point = low_error < high_error ? qmin - low : qmax - high;
  const double clamped =
      std::clamp(zero_point, static_cast<double>(qmin), static_cast<double>(qmax));
  out = {scale, static_cast<std::int32_t>(std::nearbyint(clamped))};
  return Status::kOk;
}

Status linear_dynamic(std::span<const std::uint8_t> qx, std::size_t m, QParams activation,
                      const std::byte* weight, std::span<const float> bias,
                      std::span<std::byte> scratch, std::span<float> out) {
  const Panels w = panels_of(weight);
  const Status status = check_w8a8(qx.size(), m, w, bias.size(), out.size(), scratch.size());
  if (status != Status::kOk) return status;
  if (!is_quint8(activation.zero_point)) return Status::kInvalidZeroPoint;
  if (out.empty()) return Status::kOk;
  run_layer(qx.data(), m, activation.zero_point, w, scratch,
            {activation.scale, 0.0, bias, out.data(), nullptr, 0, 0});
  return Status::kOk;
}

Status linear_static(std::span<const std::uint8_t> qx, std::size_t m, QParams input,
                     const std::byte* weight, std::span<const float> bias, QParams output,
                     std::span<std::byte> scratch, std::span<std::uint8_t> out, bool relu) {
  const Panels w = panels_of(weight);
  const Status status = check_w8a8(qx.size(), m, w, bias.size(), out.size(), scratch.size());
  if (status != Status::kOk) return status;
  if (!is_plain(w)) return Status::kUnsupportedDType;
  if (!is_quint8(input.zero_point) || !is_quint8(output.zero_point)) {
    return Status::kInvalidZeroPoint;
  }
  if (!(output.scale > 0.0) || !std::isfinite(output.scale)) return Status::kInvalidScale;
  if (out.empty()) return Status::kOk;
  run_layer(qx.data(), m, input.zero_point, w, scratch,
            {input.scale, output.scale, bias, nullptr, out.data(), output.zero_point,
             relu ? output.zero_point : 0});
  return Status::kOk;
}

Status quantize_bias(std::span<const float> bias, double scale_x, std::span<const float> w_scales,
                     std::span<float> out) {
  const bool scales_fit = w_scales.size() == 1 || w_scales.size() == bias.size();
  if (!scales_fit || out.size() != bias.size()) return Status::kShapeMismatch;
  for (std::size_t i = 0; i < bias.size(); ++i) {
    const double w_scale = w_scales[w_scales.size() == 1 ? 0 : i];
    const double steps = std::nearbyint(static_cast<double>(bias[i]) / (scale_x * w_scale));
    out[i] = std::isnan(steps) ? 0.0F : static_cast<float>(steps);
  }
  return Status::kOk;
}

}  // namespace zeropoint
