// linear.h with float activations, against sums far more exact than double.
#include <utility>

#include "core/packed_weight.h"
#include "fuzz.h"
#include "reference/exact_sum.h"
#include "reference/groups.h"
#include "zeropoint/linear.h"

namespace zeropoint::fuzz {
namespace {

/// A layer's arguments without its weights. weight(n, k) gives these exactly, in double.
struct Layer {
  std::size_t m;
  std::size_t k;
  std::size_t n;
  std::vector<float> x;
  std::vector<float> bias;
  Accumulate accumulate;
};

Layer take_layer(Source& source) {
  Layer layer{};
  layer.m = source.below(7);
  layer.k = source.below(source.flag() ? 20 : 300);
  layer.n = source.below(11);
  layer.x = source.floats(layer.m * layer.k);
  if (source.flag()) layer.bias = source.floats(layer.n);
  layer.accumulate = source.flag() ? Accumulate::kExact : Accumulate::kFloat32;
  return layer;
}

/// The exact terms of one output, before any rounding.
struct Terms {
  reference::ExactSum sum;
  double magnitude = 0;  ///< of the products
  double bias = 0;
  bool is_finite = true;
  double non_finite = 0;  ///< the sum of terms that are not finite: NaN or an infinity
  bool in_float32_range = true;

  void add(double term) {
    if (std::isfinite(term)) return;
    is_finite = false;
    non_finite += term;
  }
};

template <typename Weight>
Terms terms_of(const Layer& layer, Weight weight, std::size_t row, std::size_t column) {
  Terms terms;
  for (std::size_t i = 0; i < layer.k; ++i) {
    const double x = layer.x[row * layer.k + i];
    const double w = weight(column, i);
    terms.add(x * w);
    if (!std::isfinite(x * w)) continue;
    terms.sum.add_product(x, w);
    terms.magnitude += std::fabs(x * w);
  }
  if (!layer.bias.empty()) {
    const double bias = layer.bias[column];
    terms.add(bias);
    if (std::isfinite(bias)) {
      terms.sum.add(bias);
      terms.bias = std::fabs(bias);
    }
  }
  return terms;
}

/// Checks the header's bound for one output; for the float32 path only if its condition holds.
void check_output(float y, const Terms& terms, const Layer& layer, bool float32_is_normal) {
  if (layer.accumulate == Accumulate::kFloat32 && !float32_is_normal) return;
  if (!terms.is_finite) {
    check(std::isnan(terms.non_finite) ? std::isnan(y) : y == static_cast<float>(terms.non_finite),
          "NaN and infinities propagate");
    return;
  }
  const auto k = static_cast<double>(layer.k);
  const double bound =
      layer.accumulate == Accumulate::kExact
          ? (k + 1) * 0x1p-24 * terms.magnitude + 0x1p-24 * terms.bias
          : (k + 2) * static_cast<double>(FLT_EPSILON) * (terms.magnitude + terms.bias);
  const double exact = std::fabs(terms.sum.value());
  if (exact + bound >= static_cast<double>(FLT_MAX)) return;
  // A result below the normal numbers is rounded to float32's smallest steps.
  const double rounding = exact < 2 * static_cast<double>(FLT_MIN) ? 0x1p-149 : 0;
  check(std::isfinite(y) && terms.sum.distance(y) <= bound + rounding,
        "the sum is within its bound");
}

/// The largest and the smallest magnitude of finite, non-zero numbers.
class Magnitudes {
 public:
  void add(double value) {
    const double magnitude = std::fabs(value);
    if (magnitude == 0 || !std::isfinite(magnitude)) return;
    largest_ = std::max(largest_, magnitude);
    smallest_ = std::min(smallest_, magnitude);
  }
  [[nodiscard]] double largest() const { return largest_; }
  [[nodiscard]] double smallest() const { return smallest_; }

 private:
  double largest_ = 0;
  double smallest_ = INFINITY;
};

/// Runs the whole batch and its single rows, and checks all outputs. `call(x, m, bias, out)`.
template <typename Call, typename Weight>
void check_layer(const Layer& layer, Weight weight, bool float32_is_normal, Call call) {
  Output<float> y(layer.m * layer.n);
  check(
      call(std::span<const float>(layer.x), layer.m, std::span<const float>(layer.bias), y.span()),
      Status::kOk);
  for (std::size_t row = 0; row < layer.m; ++row) {
    for (std::size_t column = 0; column < layer.n; ++column) {
      check_output(y.values()[row * layer.n + column], terms_of(layer, weight, row, column), layer,
                   float32_is_normal);
    }
    Output<float> alone(layer.n);
    check(call(std::span<const float>(layer.x).subspan(row * layer.k, layer.k), 1,
               std::span<const float>(layer.bias), alone.span()),
          Status::kOk);
    const auto batched = y.values().subspan(row * layer.n, layer.n);
    check_same(alone.values(), std::vector<float>(batched.begin(), batched.end()));
  }
  // Wrong lengths of each argument are refused.
  Output<float> longer(layer.m * layer.n + 1);
  check(call(std::span<const float>(layer.x), layer.m, std::span<const float>(layer.bias),
             longer.span()),
        Status::kShapeMismatch);
  longer.check_untouched();
  const std::vector<float> too_much(layer.n + 1, 1.0F);
  Output<float> untouched(layer.m * layer.n);
  check(call(std::span<const float>(layer.x), layer.m, std::span<const float>(too_much),
             untouched.span()),
        Status::kShapeMismatch);
  untouched.check_untouched();
}

/// Whether float32 certainly holds every weight, product and partial sum as a normal number.
bool stays_normal(const Magnitudes& x, const Magnitudes& w, const Magnitudes& bias, std::size_t k) {
  const double most = x.largest() * w.largest() * static_cast<double>(k) + bias.largest();
  const double least = std::min(x.smallest() * w.smallest(), bias.smallest());
  const double limit = static_cast<double>(FLT_MAX) / 2;
  const double normal = FLT_MIN;
  // If partial sums cancel, at least an ulp of the smallest term remains.
  return most < limit && w.largest() < limit && least > normal * 0x1p24 && w.smallest() > normal;
}

void run_float(Source& source) {
  const Layer layer = take_layer(source);
  const std::vector<float> w = source.floats(layer.n * layer.k);
  Magnitudes x_size;
  Magnitudes w_size;
  Magnitudes bias_size;
  for (const float value : layer.x) x_size.add(value);
  for (const float value : w) w_size.add(value);
  for (const float value : layer.bias) bias_size.add(value);
  check_layer(
      layer, [&](std::size_t n, std::size_t i) { return double{w[n * layer.k + i]}; },
      stays_normal(x_size, w_size, bias_size, layer.k),
      [&](std::span<const float> x, std::size_t m, std::span<const float> bias,
          std::span<float> out) {
        return linear(x, m, layer.k, w, layer.n, bias, layer.accumulate, out);
      });
}

template <typename Code>
void run_quantized(Source& source, DType dtype) {
  Layer layer = take_layer(source);
  // Quantized weights have the same bound in both cases.
  const Accumulate accumulate = std::exchange(layer.accumulate, Accumulate::kExact);
  const std::size_t k = layer.k;
  const std::vector<Code> codes = source.codes<Code>(layer.n * k, dtype);
  QuantizedWeight<Code> w;
  w.codes = codes;
  w.dtype = dtype;
  constexpr WeightGranularity kGranularities[] = {
      WeightGranularity::kPerTensor, WeightGranularity::kPerOutput, WeightGranularity::kPerInput,
      WeightGranularity::kPerGroup};
  w.granularity = source.pick(kGranularities);
  std::size_t count = 1;
  if (w.granularity == WeightGranularity::kPerOutput) count = layer.n;
  if (w.granularity == WeightGranularity::kPerInput) count = k;
  if (w.granularity == WeightGranularity::kPerGroup) {
    w.group_size = 1 + source.below(40);
    count = layer.n * reference::groups_of_row(k, w.group_size);
  }
  std::vector<float> scales(count);
  std::vector<std::int32_t> zero_points(count);
  Random more = source.random();
  const bool tame = source.flag();
  const bool symmetric = source.flag() && dtype_info(dtype).is_signed();
  for (std::size_t i = 0; i < count; ++i) {
    scales[i] = tame || i > 8 ? std::fabs(more.spread(-12, 2)) : source.scale();
    zero_points[i] = symmetric ? 0 : source.zero_point(dtype);
  }
  w.scales = scales;
  w.zero_points = zero_points;
  const bool unsound = count > 0 && source.rarely(8);
  const bool unsound_scale = source.flag();
  if (unsound && unsound_scale) {
    constexpr float kBad[] = {0.0F, -1.0F, INFINITY, NAN};
    scales[source.below(count)] = source.pick(kBad);
  } else if (unsound) {
    zero_points[source.below(count)] = dtype_info(dtype).qmax + 1;
  }
  const AlignedBytes packed(packed_weight_size({layer.n, k, dtype, w.granularity, w.group_size}));
  const Status status = pack_weight(w, layer.n, k, packed.span());
  if (unsound) {
    check(status, unsound_scale ? Status::kInvalidScale : Status::kInvalidZeroPoint);
    return;
  }
  check(status, Status::kOk);
  const MatrixShape shape = packed_weight_shape(packed.data());
  check(shape.n == layer.n && shape.k == k, "a packed weight knows its shape");
  const auto call = [&](std::span<const float> x, std::size_t m, std::span<const float> bias,
                        std::span<float> out) {
    const AlignedBytes scratch(linear_scratch_size(packed.data(), m));
    const Status answer = linear(x, m, packed.data(), bias, accumulate, scratch.span(), out);
    // With the short digits, which only the relaxed build uses.
    if (answer == Status::kOk && accumulate == Accumulate::kFloat32) {
      linear_packed(x.data(), m, panels_of(packed.data()), bias.empty() ? nullptr : bias.data(),
                    kernels::Digits::kI7Short, scratch.span(), out);
    }
    return answer;
  };

  const auto slice_of = [&](std::size_t n, std::size_t i) {
    switch (w.granularity) {
      case WeightGranularity::kPerTensor:
        return std::size_t{0};
      case WeightGranularity::kPerOutput:
        return n;
      case WeightGranularity::kPerInput:
        return i;
      case WeightGranularity::kPerGroup:
        break;
    }
    return reference::group_at(n * k + i, k, w.group_size);
  };
  check_layer(
      layer,
      [&](std::size_t n, std::size_t i) {
        const std::size_t slice = slice_of(n, i);
        return double{scales[slice]} * (int{codes[n * k + i]} - zero_points[slice]);
      },
      true, call);
}

}  // namespace

void run(Source source) {
  if (source.flag()) {
    run_float(source);
    return;
  }
  const DType dtype = source.pick(kByteDTypes);
  if (dtype_info(dtype).is_signed()) {
    run_quantized<std::int8_t>(source, dtype);
  } else {
    run_quantized<std::uint8_t>(source, dtype);
  }
}

}  // namespace zeropoint::fuzz
