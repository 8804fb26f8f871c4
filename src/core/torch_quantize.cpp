// The torch family of quantize.h and dequantize.h: per tensor and per channel as torch.quantize_*,
// dequantize() and torch.fake_quantize_* compute them.
#include <algorithm>
#include <cmath>

#include "core/channels.h"
#include "kernels/kernels.h"
#include "zeropoint/dequantize.h"
#include "zeropoint/quantize.h"

namespace zeropoint {
namespace {

using kernels::AddZeroPoint;

bool is_torch(DType dtype) {
  return dtype == DType::kQint8 || dtype == DType::kQuint8 || dtype == DType::kQint32;
}

template <typename Code>
Status check_torch_dtype(DType dtype) {
  return is_torch(dtype) && dtype_info(dtype).storage == kStorageOf<Code>
             ? Status::kOk
             : Status::kUnsupportedDType;
}

bool holds(std::int32_t zero_point, std::int32_t qmin, std::int32_t qmax) {
  return zero_point >= qmin && zero_point <= qmax;
}

// A scale of 0 counts as 1 where zero points are floating; elsewhere its reciprocal is infinite.
float reciprocal(AddZeroPoint add, float scale) {
  return add == AddZeroPoint::kBeforeRounding && scale == 0.0F ? 1.0F : 1.0F / scale;
}

// A scale without a finite reciprocal leaves nothing to saturate: PyTorch's own rule then holds.
kernels::TorchRule rule_for(std::int32_t qmin, std::int32_t qmax, Overflow overflow,
                            float inverse) {
  return {qmin, qmax, overflow == Overflow::kSaturate && std::isfinite(inverse)};
}

// The code NaN becomes: the zero point, as far as the range holds it.
template <typename ZeroPoint>
std::int32_t nan_code(ZeroPoint zero_point, QuantRange range) {
  if constexpr (std::is_same_v<ZeroPoint, float>) {
    if (!(zero_point > static_cast<float>(range.min))) return range.min;
    if (zero_point >= static_cast<float>(range.max)) return range.max;
    return static_cast<std::int32_t>(std::nearbyint(zero_point));
  } else {
    return std::clamp(zero_point, range.min, range.max);
  }
}

// Walks a tensor channel by channel: run(position, length, the kernels' qparams, their scales,
// rule), for runs of a channel or, where channels alternate value by value, for rows of a tile of
// channels.
template <AddZeroPoint kAdd, typename Scale, typename ZeroPoint, typename Run>
void for_channels(const Granularity& g, std::span<const Scale> scales,
                  std::span<const ZeroPoint> zero_points, QuantRange range, Overflow overflow,
                  Run run) {
  // One rule serves a tile, so a channel that needs another is walked by itself.
  const bool alike = std::all_of(scales.begin(), scales.end(), [](Scale scale) {
    return std::isfinite(reciprocal(kAdd, static_cast<float>(scale)));
  });
  if (g.inner != 1 || !alike) {
    for_channel_runs(g, [&](std::size_t position, std::size_t channel, std::size_t length) {
      const auto scale = static_cast<float>(scales[channel]);
      const kernels::UniformQParams qparams{reciprocal(kAdd, scale),
                                            static_cast<float>(zero_points[channel]),
                                            nan_code(zero_points[channel], range)};
      run(position, length, qparams, &scale,
          rule_for(range.min, range.max, overflow, qparams.scale));
    });
    return;
  }
  float tile_inverses[kChannelTile];
  float tile_scales[kChannelTile];
  float tile_zero_points[kChannelTile];
  std::int32_t tile_nan_codes[kChannelTile];
  for_channel_tiles(
      g,
      [&](std::size_t first, std::size_t count) {
        for (std::size_t c = 0; c < count; ++c) {
          tile_scales[c] = static_cast<float>(scales[first + c]);
          tile_inverses[c] = reciprocal(kAdd, tile_scales[c]);
          tile_zero_points[c] = static_cast<float>(zero_points[first + c]);
          tile_nan_codes[c] = nan_code(zero_points[first + c], range);
        }
      },
      [&](std::size_t position, std::size_t, std::size_t count) {
        const kernels::ElementwiseFloatQParams qparams{tile_inverses, tile_zero_points,
                                                       tile_nan_codes};
        run(position, count, qparams, tile_scales, rule_for(range.min, range.max, overflow, 1.0F));
      });
}

template <AddZeroPoint kAdd, typename Code, typename Scale, typename ZeroPoint>
Status quantize_channels(TensorView<const float> x, std::span<const Scale> scales,
                         std::span<const ZeroPoint> zero_points, std::int32_t axis, DType dtype,
                         Overflow overflow, std::span<Code> codes) {
  Status status = check_torch_dtype<Code>(dtype);
  if (status == Status::kOk) status = check(x);
  Granularity g;
  if (status == Status::kOk) status = channels_of(x.shape, axis, scales.size(), g);
  if (status != Status::kOk) return status;
  if (zero_points.size() != scales.size() || codes.size() != x.values.size()) {
    return Status::kShapeMismatch;
  }
  const DTypeInfo info = dtype_info(dtype);
  if constexpr (kAdd == AddZeroPoint::kAfterRounding) {
    for (const ZeroPoint zero_point : zero_points) {
      if (!holds(zero_point, info.qmin, info.qmax)) return Status::kInvalidZeroPoint;
    }
  }
  for_channels<kAdd>(g, scales, zero_points, {info.qmin, info.qmax}, overflow,
                     [&](std::size_t position, std::size_t length, auto qparams, const float*,
                         kernels::TorchRule rule) {
                       kernels::quantize_reciprocal_f32<Code, kAdd>(x.values.data() + position,
                                                                    length, qparams, rule,
                                                                    codes.data() + position);
                     });
  return Status::kOk;
}

template <AddZeroPoint kAdd, typename ZeroPoint>
Status fake_quantize_channels(TensorView<const float> x, std::span<const float> scales,
                              std::span<const ZeroPoint> zero_points, std::int32_t axis,
                              QuantRange quant_range, Overflow overflow, std::span<float> out) {
  Status status = check(x);
  Granularity g;
  if (status == Status::kOk) status = channels_of(x.shape, axis, scales.size(), g);
  if (status != Status::kOk) return status;
  if (zero_points.size() != scales.size() || out.size() != x.values.size()) {
    return Status::kShapeMismatch;
  }
  if constexpr (kAdd == AddZeroPoint::kAfterRounding) {
    for (const ZeroPoint zero_point : zero_points) {
      if (!holds(zero_point, quant_range.min, quant_range.max)) return Status::kInvalidZeroPoint;
    }
  }
  for_channels<kAdd>(g, scales, zero_points, quant_range, overflow,
                     [&](std::size_t position, std::size_t length, auto qparams,
                         const float* run_scales, kernels::TorchRule rule) {
                       kernels::fake_quantize_reciprocal_f32<kAdd>(x.values.data() + position,
                                                                   length, qparams, run_scales,
                                                                   rule, out.data() + position);
                     });
  return Status::kOk;
}

}  // namespace

template <typename Code>
Status quantize_per_tensor(std::span<const float> x, double scale, std::int32_t zero_point,
                           DType dtype, Overflow overflow, std::span<Code> codes) {
  const Status status = check_torch_dtype<Code>(dtype);
  if (status != Status::kOk) return status;
  const DTypeInfo info = dtype_info(dtype);
  if (!holds(zero_point, info.qmin, info.qmax)) return Status::kInvalidZeroPoint;
  if (codes.size() != x.size()) return Status::kShapeMismatch;
  const kernels::UniformQParams qparams{1.0F / static_cast<float>(scale),
                                        static_cast<float>(zero_point), zero_point};
  const kernels::TorchRule rule = rule_for(info.qmin, info.qmax, overflow, qparams.scale);
  kernels::quantize_reciprocal_f32<Code, AddZeroPoint::kAfterRounding>(x.data(), x.size(), qparams,
                                                                       rule, codes.data());
  return Status::kOk;
}

template <typename Code>
Status quantize_per_channel(TensorView<const float> x, std::span<const double> scales,
                            std::span<const std::int32_t> zero_points, std::int32_t axis,
                            DType dtype, Overflow overflow, std::span<Code> codes) {
  return quantize_channels<AddZeroPoint::kAfterRounding>(x, scales, zero_points, axis, dtype,
                                                         overflow, codes);
}

template <typename Code>
Status quantize_per_channel_float_qparams(TensorView<const float> x, std::span<const float> scales,
                                          std::span<const float> zero_points, std::int32_t axis,
                                          DType dtype, Overflow overflow, std::span<Code> codes) {
  if constexpr (sizeof(Code) == 4) {
    return Status::kUnsupportedDType;
  } else {
    return quantize_channels<AddZeroPoint::kBeforeRounding>(x, scales, zero_points, axis, dtype,
                                                            overflow, codes);
  }
}

template <typename Code>
Status dequantize_per_tensor(std::span<const Code> codes, double scale, std::int32_t zero_point,
                             std::span<float> out) {
  if (codes.size() != out.size()) return Status::kShapeMismatch;
  const auto scale32 = static_cast<float>(scale);
  if constexpr (sizeof(Code) == 4) {
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const std::uint32_t steps =
          static_cast<std::uint32_t>(codes[i]) - static_cast<std::uint32_t>(zero_point);
      out[i] = scale32 * static_cast<float>(static_cast<std::int32_t>(steps));
    }
  } else {
    // Differences of 8-bit codes and their zero points are exact in float32.
    const kernels::UniformQParams qparams{scale32, static_cast<float>(zero_point), zero_point};
    kernels::dequantize_f32(codes.data(), codes.size(), qparams, out.data());
  }
  return Status::kOk;
}

template <typename Code>
Status dequantize_per_channel(TensorView<const Code> codes, std::span<const double> scales,
                              std::span<const std::int32_t> zero_points, std::int32_t axis,
                              std::span<float> out) {
  Status status = check(codes);
  Granularity g;
  if (status == Status::kOk) status = channels_of(codes.shape, axis, scales.size(), g);
  if (status != Status::kOk) return status;
  if (zero_points.size() != scales.size() || out.size() != codes.values.size()) {
    return Status::kShapeMismatch;
  }
  for_channel_runs(g, [&](std::size_t position, std::size_t channel, std::size_t length) {
    const double scale = scales[channel];
    const auto zero_point = static_cast<float>(zero_points[channel]);
    for (std::size_t i = position; i < position + length; ++i) {
      const float steps = static_cast<float>(codes.values[i]) - zero_point;
      out[i] = static_cast<float>(static_cast<double>(steps) * scale);
    }
  });
  return Status::kOk;
}

template <typename Code>
Status dequantize_per_channel_float_qparams(TensorView<const Code> codes,
                                            std::span<const float> scales,
                                            std::span<const float> zero_points, std::int32_t axis,
                                            std::span<float> out) {
  Status status = check(codes);
  Granularity g;
  if (status == Status::kOk) status = channels_of(codes.shape, axis, scales.size(), g);
  if (status != Status::kOk) return status;
  if (zero_points.size() != scales.size() || out.size() != codes.values.size()) {
    return Status::kShapeMismatch;
  }
  if (g.inner != 1) {
    for_channel_runs(g, [&](std::size_t position, std::size_t channel, std::size_t length) {
      const kernels::UniformQParams qparams{scales[channel], zero_points[channel], 0};
      kernels::dequantize_f32(codes.values.data() + position, length, qparams,
                              out.data() + position);
    });
    return Status::kOk;
  }
  constexpr std::int32_t kUnused[kChannelTile] = {};
  for_channel_tiles(
      g, [](std::size_t, std::size_t) {},
      [&](std::size_t position, std::size_t first, std::size_t count) {
        const kernels::ElementwiseFloatQParams qparams{scales.data() + first,
                                                       zero_points.data() + first, kUnused};
        kernels::dequantize_f32(codes.values.data() + position, count, qparams,
                                out.data() + position);
      });
  return Status::kOk;
}

Status fake_quantize_per_tensor(std::span<const float> x, double scale, std::int32_t zero_point,
                                QuantRange quant_range, Overflow overflow, std::span<float> out) {
  if (!holds(zero_point, quant_range.min, quant_range.max)) return Status::kInvalidZeroPoint;
  if (x.size() != out.size()) return Status::kShapeMismatch;
  const auto scale32 = static_cast<float>(scale);
  const kernels::UniformQParams qparams{1.0F / scale32, static_cast<float>(zero_point), zero_point};
  const kernels::TorchRule rule =
      rule_for(quant_range.min, quant_range.max, overflow, qparams.scale);
  kernels::fake_quantize_reciprocal_f32<AddZeroPoint::kAfterRounding>(x.data(), x.size(), qparams,
                                                                      &scale32, rule, out.data());
  return Status::kOk;
}

Status fake_quantize_per_channel(TensorView<const float> x, std::span<const float> scales,
                                 std::span<const std::int32_t> zero_points, std::int32_t axis,
                                 QuantRange quant_range, Overflow overflow, std::span<float> out) {
  return fake_quantize_channels<AddZeroPoint::kAfterRounding>(x, scales, zero_points, axis,
                                                              quant_range, overflow, out);
}

Status fake_quantize_per_channel_float_qparams(TensorView<const float> x,
                                               std::span<const float> scales,
                                               std::span<const float> zero_points,
                                               std::int32_t axis, QuantRange quant_range,
                                               Overflow overflow, std::span<float> out) {
  return fake_quantize_channels<AddZeroPoint::kBeforeRounding>(x, scales, zero_points, axis,
                                                               quant_range, overflow, out);
}

#define ZEROPOINT_INSTANTIATE(Code)                                                          \
  template Status quantize_per_tensor(std::span<const float>, double, std::int32_t, DType,   \
                                      Overflow, std::span<Code>);                            \
  template Status quantize_per_channel(TensorView<const float>, std::span<const double>,     \
                                       std::span<const std::int32_t>, std::int32_t, DType,   \
                                       Overflow, std::span<Code>);                           \
  template Status quantize_per_channel_float_qparams(                                        \
      TensorView<const float>, std::span<const float>, std::span<const float>, std::int32_t, \
      DType, Overflow, std::span<Code>);                                                     \
  template Status dequantize_per_tensor(std::span<const Code>, double, std::int32_t,         \
                                        std::span<float>);                                   \
  template Status dequantize_per_channel(TensorView<const Code>, std::span<const double>,    \
                                         std::span<const std::int32_t>, std::int32_t,        \
                                         std::span<float>);                                  \
  template Status dequantize_per_channel_float_qparams(                                      \
      TensorView<const Code>, std::span<const float>, std::span<const float>, std::int32_t,  \
      std::span<float>);
ZEROPOINT_INSTANTIATE(std::int8_t)
ZEROPOINT_INSTANTIATE(std::uint8_t)
ZEROPOINT_INSTANTIATE(std::int32_t)
#undef ZEROPOINT_INSTANTIATE

}  // namespace zeropoint
