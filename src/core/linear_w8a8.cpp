// The W8A8 half of linear.h: activations quantized to quint8, exact integer sums.
#include <algorithm>
#include <cmath>

#include "core/matrix.h"
#include "kernels/kernels.h"
#include "zeropoint/linear.h"

namespace zeropoint {
namespace {

// quant_utils::ChooseQuantizationParams's smallest scale.
constexpr float kSmallScale = 6.1e-5F;

Status check_w8a8(std::span<const std::uint8_t> qx, std::size_t m, std::size_t k,
                  const SymmetricWeight& w, std::size_t n, std::span<const std::int32_t> row_sums,
                  std::size_t bias, std::size_t out) {
  for (const Status status : {check_matrix(m, k, qx.size()), check_matrix(n, k, w.codes.size()),
                              check_matrix(m, n, out)}) {
    if (status != Status::kOk) return status;
  }
  const bool scales_fit = w.scales.size() == 1 || w.scales.size() == n;
  if (!scales_fit || row_sums.size() != n || (bias != 0 && bias != n)) {
    return Status::kShapeMismatch;
  }
  return Status::kOk;
}

bool is_quint8(std::int32_t zero_point) { return zero_point >= 0 && zero_point <= 255; }

// store(index in out, column, sum of (qx - zero_point) * w) for every output.
template <typename Store>
void for_sums(std::span<const std::uint8_t> qx, std::size_t m, std::size_t k,
              std::int32_t zero_point, const SymmetricWeight& w, std::size_t n,
              std::span<const std::int32_t> row_sums, Store store) {
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t column = 0; column < n; ++column) {
      const std::int64_t dot =
          kernels::dot_qu8_qs8(qx.data() + row * k, w.codes.data() + column * k, k);
      store(row * n + column, column,
            dot - static_cast<std::int64_t>(zero_point) * row_sums[column]);
    }
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

Status linear_dynamic(std::span<const std::uint8_t> qx, std::size_t m, std::size_t k,
                      QParams activation, const SymmetricWeight& w, std::size_t n,
                      std::span<const std::int32_t> row_sums, std::span<const float> bias,
                      std::span<float> out) {
  const Status status = check_w8a8(qx, m, k, w, n, row_sums, bias.size(), out.size());
  if (status != Status::kOk) return status;
  if (!is_quint8(activation.zero_point)) return Status::kInvalidZeroPoint;
  const auto scale = static_cast<float>(activation.scale);
  for_sums(qx, m, k, activation.zero_point, w, n, row_sums,
           [&](std::size_t index, std::size_t column, std::int64_t sum) {
             const float multiplier = scale * w.scales[w.scales.size() == 1 ? 0 : column];
             const float y = static_cast<float>(sum) * multiplier;
             out[index] = bias.empty() ? y : y + bias[column];
           });
  return Status::kOk;
}

Status linear_static(std::span<const std::uint8_t> qx, std::size_t m, std::size_t k, QParams input,
                     const SymmetricWeight& w, std::size_t n,
                     std::span<const std::int32_t> row_sums, std::span<const std::int32_t> bias,
                     QParams output, std::span<std::uint8_t> out) {
  const Status status = check_w8a8(qx, m, k, w, n, row_sums, bias.size(), out.size());
  if (status != Status::kOk) return status;
  if (!is_quint8(input.zero_point) || !is_quint8(output.zero_point)) {
    return Status::kInvalidZeroPoint;
  }
  if (!(output.scale > 0.0) || !std::isfinite(output.scale)) return Status::kInvalidScale;
  for_sums(qx, m, k, input.zero_point, w, n, row_sums,
           [&](std::size_t index, std::size_t column, std::int64_t sum) {
             const double weight_scale = w.scales[w.scales.size() == 1 ? 0 : column];
             const auto multiplier = static_cast<float>(input.scale * weight_scale / output.scale);
             const std::int64_t total = bias.empty() ? sum : sum + bias[column];
             const float steps = std::nearbyint(static_cast<float>(total) * multiplier);
             const float q = steps + static_cast<float>(output.zero_point);
             // Written so that a NaN (0 times an infinite multiplier) becomes a code too.
             out[index] = q >= 255.0F ? 255 : (q > 0.0F ? static_cast<std::uint8_t>(q) : 0);
           });
  return Status::kOk;
}

Status weight_row_sums(std::span<const std::int8_t> codes, std::size_t n, std::size_t k,
                       std::span<std::int32_t> sums) {
  const Status status = check_matrix(n, k, codes.size());
  if (status != Status::kOk) return status;
  if (sums.size() != n) return Status::kShapeMismatch;
  for (std::size_t row = 0; row < n; ++row) {
    std::int32_t sum = 0;
    for (const std::int8_t code : codes.subspan(row * k, k)) sum += code;
    sums[row] = sum;
  }
  return Status::kOk;
}

Status quantize_bias(std::span<const float> bias, double scale_x, std::span<const float> w_scales,
                     std::span<std::int32_t> out) {
  const bool scales_fit = w_scales.size() == 1 || w_scales.size() == bias.size();
  if (!scales_fit || out.size() != bias.size()) return Status::kShapeMismatch;
  for (std::size_t i = 0; i < bias.size(); ++i) {
    const double w_scale = w_scales[w_scales.size() == 1 ? 0 : i];
    const double steps = std::nearbyint(static_cast<double>(bias[i]) / (scale_x * w_scale));
    out[i] = steps >= 2147483647.0   ? INT32_MAX
             : steps > -2147483648.0 ? static_cast<std::int32_t>(steps)
             : steps < 0.0           ? INT32_MIN
                                     : 0;  // NaN
  }
  return Status::kOk;
}

}  // namespace zeropoint
