// The W8A8 functions of linear.h: exact integer sums, then the formulas that the header states.
#include "fuzz.h"
#include "reference/quantize_f32.h"
#include "zeropoint/linear.h"

namespace zeropoint::fuzz {
namespace {

void check_activation_qparams(Source& source) {
  const std::vector<float> ends = source.floats(2);
  const bool reduce_range = source.flag();
  const bool is_signed = source.flag();
  QParams qparams{91, 91};
  const std::int32_t qmin = is_signed ? -128 : 0;
  const std::int32_t qmax = is_signed ? 127 : 255;
  const Range range{ends[0], ends[1]};
  const Status status = choose_quantization_params(range, qmin, qmax, reduce_range, qparams);
  const bool sound = std::isfinite(range.min) && std::isfinite(range.max) && range.min <= range.max;
  check(status, sound ? Status::kOk : Status::kNonFinite);
  if (!sound) {
    check(qparams.scale == 91 && qparams.zero_point == 91, "nothing is written unless kOk");
    return;
  }
  const std::int32_t low = reduce_range ? qmin / 2 : qmin;
  const std::int32_t high = reduce_range ? qmax / 2 : qmax;
  check(qparams.zero_point >= low && qparams.zero_point <= high, "the zero point is a code");
  const double min = std::min(range.min, 0.0F);
  const double max = std::max(range.max, 0.0F);
  const double steps = high - low;
  const double plain = (max - min) / steps;
  const auto plain32 = static_cast<float>(plain);
  const bool degenerate = plain32 == 0.0F || std::isinf(1.0F / plain32);
  const double raised = std::max(degenerate ? 0.1 : plain, double{6.1e-5F});
  check(qparams.scale == raised, "the scale is the range's, raised where PyTorch raises it");
  if (raised == plain) {
    // The zero point comes from either end of the range; 0 is within a step of it in both cases.
    check(std::fabs(qparams.zero_point - (low - min / plain)) <= 1, "0 lies at the zero point");
  }
}

struct Layer {
  std::size_t m;
  std::size_t k;
  std::size_t n;
  std::vector<std::uint8_t> qx;
  std::vector<std::int8_t> codes;
  std::vector<float> scales;
};

Layer take_layer(Source& source) {
  Layer layer{};
  layer.m = source.below(6);
  layer.k = source.below(source.flag() ? 20 : 400);
  layer.n = source.below(9);
  Random more = source.random();
  const bool extreme = source.rarely(4);
  for (std::size_t i = 0; i < layer.m * layer.k; ++i) {
    layer.qx.push_back(extreme ? 255 : static_cast<std::uint8_t>(more.bits()));
  }
  for (std::size_t i = 0; i < layer.n * layer.k; ++i) {
    layer.codes.push_back(static_cast<std::int8_t>(extreme ? -128 : more.integer(-128, 127)));
  }
  const std::size_t scale_count = source.flag() ? 1 : layer.n;
  for (std::size_t i = 0; i < scale_count; ++i) layer.scales.push_back(source.scale());
  return layer;
}

std::int64_t exact_sum(const Layer& layer, std::int32_t zero_point, std::size_t row,
                       std::size_t column) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < layer.k; ++i) {
    sum +=
        std::int64_t{layer.qx[row * layer.k + i] - zero_point} * layer.codes[column * layer.k + i];
  }
  return sum;
}

/// The layer's weight, packed.
AlignedBytes packed_weight(const Layer& layer) {
  QuantizedWeight<std::int8_t> w;
  const std::vector<std::int32_t> zero_points(layer.scales.size());
  w.codes = layer.codes;
  w.granularity =
      layer.scales.size() == 1 ? WeightGranularity::kPerTensor : WeightGranularity::kPerOutput;
  w.scales = layer.scales;
  w.zero_points = zero_points;
  AlignedBytes packed(packed_weight_size({layer.n, layer.k, w.dtype, w.granularity, 0}));
  check(pack_weight(w, layer.n, layer.k, packed.span()), Status::kOk);
  return packed;
}

void check_dynamic(Source& source, const Layer& layer, const AlignedBytes& weight) {
  const std::vector<float> bias = source.flag() ? source.floats(layer.n) : std::vector<float>{};
  const QParams activation{double{source.special()}, source.integer(-1, 256)};
  Output<float> y(layer.m * layer.n);
  const AlignedBytes scratch(linear_scratch_size(weight.data(), layer.m));
  const Status status =
      linear_dynamic(layer.qx, layer.m, activation, weight.data(), bias, scratch.span(), y.span());
  const bool sound = activation.zero_point >= 0 && activation.zero_point <= 255;
  check(status, sound ? Status::kOk : Status::kInvalidZeroPoint);
  if (!sound) return y.check_untouched();
  const auto scale = static_cast<float>(activation.scale);
  std::vector<float> expected;
  for (std::size_t row = 0; row < layer.m; ++row) {
    for (std::size_t column = 0; column < layer.n; ++column) {
      const float multiplier = scale * layer.scales[layer.scales.size() == 1 ? 0 : column];
      const auto sum = static_cast<float>(exact_sum(layer, activation.zero_point, row, column));
      const float product = sum * multiplier;
      expected.push_back(bias.empty() ? product : product + bias[column]);
    }
  }
  check_same(y.values(), expected);
}

void check_static(Source& source, const Layer& layer, const AlignedBytes& weight) {
  std::vector<float> bias(source.flag() ? layer.n : 0);
  for (float& value : bias) value = static_cast<float>(source.take<std::int32_t>());
  const QParams input{double{source.special()}, source.integer(0, 255)};
  const QParams output{double{source.special()}, source.integer(-1, 256)};
  Output<std::uint8_t> q(layer.m * layer.n);
  const AlignedBytes scratch(linear_scratch_size(weight.data(), layer.m));
  const Status status = linear_static(layer.qx, layer.m, input, weight.data(), bias, output,
                                      scratch.span(), q.span());
  if (output.zero_point < 0 || output.zero_point > 255) {
    check(status, Status::kInvalidZeroPoint);
    return q.check_untouched();
  }
  if (!(output.scale > 0) || !std::isfinite(output.scale)) {
    check(status, Status::kInvalidScale);
    return q.check_untouched();
  }
  check(status, Status::kOk);
  std::vector<std::uint8_t> expected;
  for (std::size_t row = 0; row < layer.m; ++row) {
    for (std::size_t column = 0; column < layer.n; ++column) {
      const double w_scale = layer.scales[layer.scales.size() == 1 ? 0 : column];
      const auto multiplier = static_cast<float>(input.scale * w_scale / output.scale);
      auto sum = static_cast<double>(exact_sum(layer, input.zero_point, row, column));
      if (!bias.empty()) sum += bias[column];
      const float steps = reference::round_half_even(static_cast<float>(sum) * multiplier);
      const float code = steps + static_cast<float>(output.zero_point);
      const float clamped = std::isnan(code) ? 0.0F : std::clamp(code, 0.0F, 255.0F);
      expected.push_back(static_cast<std::uint8_t>(clamped));
    }
  }
  check_same(q.values(), expected);
}

void check_bias(Source& source, const Layer& layer) {
  const std::vector<float> bias = source.floats(layer.n);
  const double scale = source.special();
  Output<float> q(layer.n);
  check(quantize_bias(bias, scale, layer.scales, q.span()), Status::kOk);
  for (std::size_t i = 0; i < layer.n; ++i) {
    const double w_scale = layer.scales[layer.scales.size() == 1 ? 0 : i];
    const double exact = double{bias[i]} / (scale * w_scale);
    const auto steps = static_cast<float>(std::nearbyint(exact));
    check(q.values()[i] == (std::isnan(exact) ? 0.0F : steps),
          "a bias is rounded to the nearest step");
  }
}

}  // namespace

void run(Source source) {
  check_activation_qparams(source);
  const Layer layer = take_layer(source);
  const AlignedBytes weight = packed_weight(layer);
  check_dynamic(source, layer, weight);
  check_static(source, layer, weight);
  check_bias(source, layer);
}

}  // namespace zeropoint::fuzz
