// The torch family of quantize.h and dequantize.h: per tensor and per channel as torch.quantize_*,
// dequantize() and torch.fake_quantize_* compute them.
#include <algorithm>
#include <cmath>

#include "core/slices.h"
#include "kernels/kernels.h"
#include "zeropoint/dequantize.h"
#include "zeropoint/granularity.h"
#include "zeropoint/quantize.h"

namespace zeropoint {
namespace {

using kernels::AddZeroPoint;

// Whether the storage is that of qint8, quint8 or qint32.
bool is_torch(Storage storage) {
  return storage == Storage::kInt8 || storage == Storage::kUint8 || storage == Storage::kInt32;
}

Status check_torch_dtype(DType dtype, Storage storage) {
  const bool is_torch =
      dtype == DType::kQint8 || dtype == DType::kQuint8 || dtype == DType::kQint32;
  return is_torch && dtype_info(dtype).storage == storage ? Status::kOk : Status::kUnsupportedDType;
}

bool holds(QuantRange range, std::int32_t zero_point) {
  return zero_point >= range.min && zero_point <= range.max;
}

// Rule for a range and a reciprocal. Saturation needs a finite reciprocal; otherwise PyTorch's rule
// applies.
kernels::CodeRule rule_for(QuantRange range, Overflow overflow, float reciprocal) {
  const bool saturate = overflow == Overflow::kSaturate && std::isfinite(reciprocal);
  return {range.min, range.max, saturate ? range.max : kernels::kTorchOverflow};
}

// The reciprocal of a scale of 0.
enum class ZeroScale { kInfinite, kCountsAsOne };

// A scale and a zero point per channel, in the types that PyTorch's functions accept.
class Channels {
 public:
  Channels(std::span<const double> scales, std::span<const std::int32_t> zero_points)
      : doubles_(scales.data()),
        integers_(zero_points.data()),
        add_(AddZeroPoint::kAfterRounding),
        count_(scales.size()),
        is_complete_(zero_points.size() == scales.size()) {}
  Channels(std::span<const float> scales, std::span<const std::int32_t> zero_points)
      : floats_(scales.data()),
        integers_(zero_points.data()),
        add_(AddZeroPoint::kAfterRounding),
        count_(scales.size()),
        is_complete_(zero_points.size() == scales.size()) {}
  Channels(std::span<const float> scales, std::span<const float> zero_points,
           ZeroScale zero_scale = ZeroScale::kInfinite)
      : floats_(scales.data()),
        fractions_(zero_points.data()),
        add_(AddZeroPoint::kBeforeRounding),
        zero_scale_(zero_scale),
        count_(scales.size()),
        is_complete_(zero_points.size() == scales.size()) {}

  [[nodiscard]] AddZeroPoint add() const { return add_; }
  [[nodiscard]] std::size_t count() const { return count_; }

  // @return kInvalidAxis, kSizeOverflow, kShapeMismatch
  [[nodiscard]] Status check(std::size_t size, Shape shape, std::int32_t axis, std::size_t out_size,
                             Granularity& out) const {
    Status status = zeropoint::check(size, shape);
    // PyTorch accepts no negative axis.
    if (status == Status::kOk && axis < 0) status = Status::kInvalidAxis;
    if (status == Status::kOk) status = per_channel(shape, axis, out);
    if (status != Status::kOk) return status;
    const bool fits = out.slices == count_ && is_complete_ && out_size == size;
    return fits ? Status::kOk : Status::kShapeMismatch;
  }

  [[nodiscard]] bool zero_points_within(QuantRange range) const {
    return integers_ == nullptr || kernels::all_within_s32(integers_, count_, range.min, range.max);
  }

  [[nodiscard]] float scale(std::size_t i) const {
    return doubles_ != nullptr ? static_cast<float>(doubles_[i]) : floats_[i];
  }

  // Whether zero points, and so scales, are float32; then floats() returns both unchanged.
  [[nodiscard]] bool are_floats() const { return integers_ == nullptr; }
  [[nodiscard]] kernels::ElementwiseQParams floats() const {
    return {floats_, fractions_, nullptr};
  }

  // The float64 scales if float32 cannot hold all of them exactly, else null.
  [[nodiscard]] const double* wider_scales() const {
    const auto is_float = [](double own) {
      return static_cast<double>(static_cast<float>(own)) == own;
    };
    const bool are_floats =
        doubles_ == nullptr || std::all_of(doubles_, doubles_ + count_, is_float);
    return are_floats ? nullptr : doubles_;
  }

  [[nodiscard]] float zero_point(std::size_t i) const {
    return integers_ != nullptr ? static_cast<float>(integers_[i]) : fractions_[i];
  }

  [[nodiscard]] float reciprocal(std::size_t i) const {
    const float own = scale(i);
    return zero_scale_ == ZeroScale::kCountsAsOne && own == 0.0F ? 1.0F : 1.0F / own;
  }

  // Code for NaN: an integer zero point, which lies in the range; a floating one rounded and
  // clamped to the range.
  [[nodiscard]] std::int32_t nan_code(std::size_t i, QuantRange range) const {
    if (integers_ != nullptr) return integers_[i];
    const float own = fractions_[i];
    if (!(own > static_cast<float>(range.min))) return range.min;
    if (own >= static_cast<float>(range.max)) return range.max;
    return static_cast<std::int32_t>(std::nearbyint(own));
  }

 private:
  // Scales: exactly one of the two is set.
  const double* doubles_ = nullptr;
  const float* floats_ = nullptr;
  // Zero points: exactly one of the two is set.
  const std::int32_t* integers_ = nullptr;
  const float* fractions_ = nullptr;
  AddZeroPoint add_;
  ZeroScale zero_scale_ = ZeroScale::kInfinite;
  std::size_t count_;
  bool is_complete_;
};

// Channels for quantization: factors are reciprocals of scales.
class ReciprocalSlices final : public Slices {
 public:
  ReciprocalSlices(const Channels& channels, QuantRange range)
      : channels_(channels), range_(range) {}

  [[nodiscard]] kernels::ElementwiseQParams load(std::size_t first, std::size_t count) override {
    for (std::size_t i = 0; i < count; ++i) {
      reciprocals_[i] = channels_.reciprocal(first + i);
      zero_points_[i] = channels_.zero_point(first + i);
      nan_codes_[i] = channels_.nan_code(first + i, range_);
      scales_[i] = channels_.scale(first + i);
    }
    return {reciprocals_, zero_points_, nan_codes_, scales_};
  }

 private:
  const Channels& channels_;
  QuantRange range_;
  float reciprocals_[kSliceTile];
  float zero_points_[kSliceTile];
  std::int32_t nan_codes_[kSliceTile];
  float scales_[kSliceTile];
};

// Channels for dequantization: factors are scales, or 1 if scales are applied later.
class ScaleSlices final : public Slices {
 public:
  ScaleSlices(const Channels& channels, bool has_scales)
      : channels_(channels), has_scales_(has_scales) {}

  [[nodiscard]] kernels::ElementwiseQParams load(std::size_t first, std::size_t count) override {
    if (channels_.are_floats()) return channels_.floats().skip(first);
    for (std::size_t i = 0; i < count; ++i) {
      scales_[i] = has_scales_ ? channels_.scale(first + i) : 1.0F;
      zero_points_[i] = channels_.zero_point(first + i);
    }
    return {scales_, zero_points_, nullptr};
  }

 private:
  const Channels& channels_;
  bool has_scales_;
  float scales_[kSliceTile];
  float zero_points_[kSliceTile];
};

// Runs an operation of the torch family channel by channel. @return the statuses of
// Channels::check(), kInvalidZeroPoint.
Status run_channels(const kernels::Operation& operation, const TensorView<const float>& x,
                    const Channels& channels, std::int32_t axis, QuantRange range,
                    Overflow overflow, void* out, std::size_t out_size) {
  Granularity g;
  const Status status = channels.check(x.values.size(), x.shape, axis, out_size, g);
  if (status != Status::kOk) return status;
  if (range.min > range.max || !channels.zero_points_within(range)) {
    return Status::kInvalidZeroPoint;
  }
  ReciprocalSlices slices(channels, range);
  // One rule for all channels, unless some have no finite reciprocal.
  const auto is_finite = [&](std::size_t i) { return std::isfinite(channels.reciprocal(i)); };
  bool alike = true;
  for (std::size_t i = 0; i < channels.count(); ++i) alike = alike && is_finite(i);
  if (alike || overflow == Overflow::kTorch) {
    run_slices({operation, rule_for(range, overflow, 1.0F), x.values.data(), out}, 0, g, slices);
    return Status::kOk;
  }
  for (std::size_t i = 0; i < g.outer * g.slices; ++i) {
    const kernels::ElementwiseQParams own = slices.load(i % g.slices, 1);
    const Pass pass{operation, rule_for(range, overflow, *own.factors), x.values.data(), out};
    pass.run(i * g.inner, g.inner, kernels::AnyQParams::groups(own, g.inner));
  }
  return Status::kOk;
}

Status quantize_channels(const TensorView<const float>& x, const Channels& channels,
                         std::int32_t axis, DType dtype, Overflow overflow,
                         const AnyCodes<void>& codes) {
  const Status status = check_torch_dtype(dtype, codes.storage);
  if (status != Status::kOk) return status;
  const DTypeInfo info = dtype_info(dtype);
  return run_channels(kernels::reciprocal_quantization(channels.add(), codes.storage), x, channels,
                      axis, {info.qmin, info.qmax}, overflow, codes.data, codes.size);
}

Status fake_quantize_channels(const TensorView<const float>& x, const Channels& channels,
                              std::int32_t axis, QuantRange range, Overflow overflow,
                              std::span<float> out) {
  return run_channels(kernels::fake_reciprocal_quantization(channels.add()), x, channels, axis,
                      range, overflow, out.data(), out.size());
}

// Differences of codes and integer zero points wrap in int32.
void dequantize_s32(const std::int32_t* codes, std::size_t n, float scale, std::int32_t zero_point,
                    float* out) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t steps =
        static_cast<std::uint32_t>(codes[i]) - static_cast<std::uint32_t>(zero_point);
    out[i] = scale * static_cast<float>(static_cast<std::int32_t>(steps));
  }
}

// Multiplies values by their channel's scale; products are rounded to double, then to float32.
void multiply_channels(const Granularity& g, const double* scales, float* values) {
  for (std::size_t outer = 0; outer < g.outer; ++outer) {
    for (std::size_t channel = 0; channel < g.slices; ++channel) {
      for (std::size_t i = 0; i < g.inner; ++i, ++values) {
        *values = static_cast<float>(static_cast<double>(*values) * scales[channel]);
      }
    }
  }
}

// Dequantizes codes per channel. @return the statuses of Channels::check(), kUnsupportedDType
Status dequantize_channels(const AnyCodes<const void>& codes, Shape shape, const Channels& channels,
                           std::int32_t axis, std::span<float> out) {
  if (!is_torch(codes.storage)) return Status::kUnsupportedDType;
  Granularity g;
  const Status status = channels.check(codes.size, shape, axis, out.size(), g);
  if (status != Status::kOk) return status;
  // The product of two float32 values is exact in double, so it is rounded once in either type.
  const double* wider = channels.wider_scales();
  ScaleSlices slices(channels, wider == nullptr);
  run_slices({kernels::dequantization(codes.storage), {}, codes.data, out.data()}, 0, g, slices);
  if (wider != nullptr) multiply_channels(g, wider, out.data());
  return Status::kOk;
}

}  // namespace

Status quantize_per_tensor(std::span<const float> x, double scale, std::int32_t zero_point,
                           DType dtype, Overflow overflow, const AnyCodes<void>& codes) {
  const Status status = check_torch_dtype(dtype, codes.storage);
  if (status != Status::kOk) return status;
  const DTypeInfo info = dtype_info(dtype);
  const QuantRange range{info.qmin, info.qmax};
  if (!holds(range, zero_point)) return Status::kInvalidZeroPoint;
  if (codes.size != x.size()) return Status::kShapeMismatch;
  const kernels::UniformQParams qparams{1.0F / static_cast<float>(scale),
                                        static_cast<float>(zero_point), zero_point};
  kernels::run(kernels::reciprocal_quantization(AddZeroPoint::kAfterRounding, codes.storage),
               x.data(), x.size(), qparams, rule_for(range, overflow, qparams.factor), codes.data);
  return Status::kOk;
}

Status quantize_per_channel(const TensorView<const float>& x, std::span<const double> scales,
                            std::span<const std::int32_t> zero_points, std::int32_t axis,
                            DType dtype, Overflow overflow, const AnyCodes<void>& codes) {
  return quantize_channels(x, {scales, zero_points}, axis, dtype, overflow, codes);
}

Status quantize_per_channel_float_qparams(const TensorView<const float>& x,
                                          std::span<const float> scales,
                                          std::span<const float> zero_points, std::int32_t axis,
                                          DType dtype, Overflow overflow,
                                          const AnyCodes<void>& codes) {
  if (codes.storage == Storage::kInt32) return Status::kUnsupportedDType;
  const Channels channels(scales, zero_points, ZeroScale::kCountsAsOne);
  return quantize_channels(x, channels, axis, dtype, overflow, codes);
}

Status dequantize_per_tensor(const AnyCodes<const void>& codes, double scale,
                             std::int32_t zero_point, std::span<float> out) {
  if (!is_torch(codes.storage)) return Status::kUnsupportedDType;
  if (codes.size != out.size()) return Status::kShapeMismatch;
  const auto scale32 = static_cast<float>(scale);
  if (codes.storage == Storage::kInt32 && zero_point != 0) {
    dequantize_s32(static_cast<const std::int32_t*>(codes.data), codes.size, scale32, zero_point,
                   out.data());
    return Status::kOk;
  }
  // Differences of 8-bit codes and their zero points are exact in float32. Differences of any code
  // and 0 are the code rounded to float32.
  const kernels::UniformQParams qparams{scale32, static_cast<float>(zero_point), zero_point};
  kernels::run(kernels::dequantization(codes.storage), codes.data, codes.size, qparams, {},
               out.data());
  return Status::kOk;
}

Status dequantize_per_channel(const AnyCodes<const void>& codes, Shape shape,
                              std::span<const double> scales,
                              std::span<const std::int32_t> zero_points, std::int32_t axis,
                              std::span<float> out) {
  return dequantize_channels(codes, shape, {scales, zero_points}, axis, out);
}

Status dequantize_per_channel_float_qparams(const AnyCodes<const void>& codes, Shape shape,
                                            std::span<const float> scales,
                                            std::span<const float> zero_points, std::int32_t axis,
                                            std::span<float> out) {
  return dequantize_channels(codes, shape, {scales, zero_points}, axis, out);
}

Status fake_quantize_per_tensor(std::span<const float> x, double scale, std::int32_t zero_point,
                                QuantRange quant_range, Overflow overflow, std::span<float> out) {
  if (!holds(quant_range, zero_point)) return Status::kInvalidZeroPoint;
  if (x.size() != out.size()) return Status::kShapeMismatch;
  const auto scale32 = static_cast<float>(scale);
  const kernels::UniformQParams qparams{1.0F / scale32, static_cast<float>(zero_point), zero_point};
  kernels::run(kernels::fake_reciprocal_quantization(AddZeroPoint::kAfterRounding), x.data(),
               x.size(), {qparams, &scale32}, rule_for(quant_range, overflow, qparams.factor),
               out.data());
  return Status::kOk;
}

Status fake_quantize_per_channel(const TensorView<const float>& x, std::span<const float> scales,
                                 std::span<const std::int32_t> zero_points, std::int32_t axis,
                                 QuantRange quant_range, Overflow overflow, std::span<float> out) {
  return fake_quantize_channels(x, {scales, zero_points}, axis, quant_range, overflow, out);
}

Status fake_quantize_per_channel_float_qparams(const TensorView<const float>& x,
                                               std::span<const float> scales,
                                               std::span<const float> zero_points,
                                               std::int32_t axis, QuantRange quant_range,
                                               Overflow overflow, std::span<float> out) {
  return fake_quantize_channels(x, {scales, zero_points}, axis, quant_range, overflow, out);
}

}  // namespace zeropoint
