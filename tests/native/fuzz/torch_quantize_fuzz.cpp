// The torch family of quantize.h and dequantize.h, against one value at a time.
#include "fuzz.h"
#include "reference/quantize_reciprocal_f32.h"
#include "zeropoint/dequantize.h"
#include "zeropoint/quantize.h"

namespace zeropoint::fuzz {
namespace {

using kernels::AddZeroPoint;
using reference::Codes;

/// The scale, zero point and rule of one value.
struct Channel {
  float scale;
  float inverse;
  float zero_point;
  std::int32_t nan_code;
};

/// A channel. For codes with floating zero points, a scale of 0 has the reciprocal 1.
template <AddZeroPoint kAdd>
Channel channel(float scale, double zero_point, QuantRange range, Codes codes) {
  const bool counts_as_one =
      kAdd == AddZeroPoint::kBeforeRounding && codes == Codes::kKept && scale == 0.0F;
  const double rounded = std::isnan(zero_point) ? range.min : std::nearbyint(zero_point);
  const double code = std::clamp<double>(rounded, range.min, range.max);
  return {scale, counts_as_one ? 1.0F : 1.0F / scale, static_cast<float>(zero_point),
          static_cast<std::int32_t>(code)};
}

template <AddZeroPoint kAdd>
std::int32_t code_of(float x, const Channel& c, QuantRange range, Overflow overflow,
                     Codes codes = Codes::kKept) {
  // Without a finite reciprocal, PyTorch's rule applies.
  const bool saturate = overflow == Overflow::kSaturate && std::isfinite(c.inverse);
  return reference::quantize_reciprocal_value<kAdd>(x, {c.inverse, c.zero_point, c.nan_code},
                                                    {range.min, range.max, saturate}, codes);
}

template <AddZeroPoint kAdd>
float fake_of(float x, const Channel& c, double zero_point, QuantRange range, Overflow overflow) {
  const double steps = code_of<kAdd>(x, c, range, overflow, Codes::kFake) - zero_point;
  return static_cast<float>(steps * double{c.scale});
}

Overflow take_overflow(Source& source) {
  return source.flag() ? Overflow::kSaturate : Overflow::kTorch;
}

/// Any scale: PyTorch does not validate scales.
double take_scale(Source& source) {
  switch (source.below(4)) {
    case 0:
      return source.special();
    case 1:
      return source.take<double>();
    default:
      return source.scale();
  }
}

template <typename Code>
void run_per_tensor(Source& source, DType dtype) {
  const DTypeInfo info = dtype_info(dtype);
  const std::vector<float> x = source.floats(source.below(source.flag() ? 40 : 600));
  const double scale = take_scale(source);
  const bool unsound = info.bits == 8 && source.rarely(8);
  const std::int32_t zero_point = unsound ? info.qmax + 1 : source.zero_point(dtype);
  const Overflow overflow = take_overflow(source);
  Output<Code> codes(x.size());
  const Status status = quantize_per_tensor(x, scale, zero_point, dtype, overflow, codes.span());
  check(status, unsound ? Status::kInvalidZeroPoint : Status::kOk);
  if (unsound) return codes.check_untouched();

  const auto scale32 = static_cast<float>(scale);
  const QuantRange all{info.qmin, info.qmax};
  const Channel c = channel<AddZeroPoint::kAfterRounding>(scale32, zero_point, all, Codes::kKept);
  std::vector<Code> expected;
  for (const float value : x) {
    expected.push_back(
        static_cast<Code>(code_of<AddZeroPoint::kAfterRounding>(value, c, all, overflow)));
  }
  check_same(codes.values(), expected);

  Output<float> values(x.size());
  check(dequantize_per_tensor(codes.values(), scale, zero_point, values.span()), Status::kOk);
  std::vector<float> expected_values;
  for (const Code code : codes.values()) {
    const std::uint32_t steps =
        static_cast<std::uint32_t>(std::int32_t{code}) - static_cast<std::uint32_t>(zero_point);
    expected_values.push_back(scale32 * static_cast<float>(static_cast<std::int32_t>(steps)));
  }
  check_same(values.values(), expected_values);
}

/// A range of codes, and a zero point.
struct FakeRange {
  QuantRange range;
  std::int32_t zero_point;
};

FakeRange take_fake_range(Source& source) {
  constexpr QuantRange kRanges[] = {
      {-128, 127}, {0, 255}, {0, 15}, {-7, 7}, {INT32_MIN, INT32_MAX}};
  QuantRange range = source.pick(kRanges);
  if (source.rarely(4)) {
    range.min = source.take<std::int32_t>();
    range.max = std::max(range.min, source.take<std::int32_t>());
  }
  return {range, source.integer(range.min, range.max)};
}

void run_fake_per_tensor(Source& source) {
  std::vector<float> x = source.floats(source.below(300));
  const double scale = take_scale(source);
  auto [range, zero_point] = take_fake_range(source);
  const Overflow overflow = take_overflow(source);
  Output<float> y(x.size());
  if (range.max < INT32_MAX && source.rarely(8)) {
    check(fake_quantize_per_tensor(x, scale, range.max + 1, range, overflow, y.span()),
          Status::kInvalidZeroPoint);
    return y.check_untouched();
  }
  check(fake_quantize_per_tensor(x, scale, zero_point, range, overflow, y.span()), Status::kOk);
  const Channel c = channel<AddZeroPoint::kAfterRounding>(static_cast<float>(scale), zero_point,
                                                          range, Codes::kFake);
  std::vector<float> expected;
  for (const float value : x) {
    expected.push_back(
        fake_of<AddZeroPoint::kAfterRounding>(value, c, zero_point, range, overflow));
  }
  check_same(y.values(), expected);
  check(fake_quantize_per_tensor(x, scale, zero_point, range, overflow, x), Status::kOk);
  check_same(std::span<const float>(x), expected);
}

/// A tensor, an axis, and the channel of each element.
struct Channels {
  ShapeVector shape;
  std::vector<float> x;
  std::int32_t axis = 0;
  std::size_t count = 0;

  [[nodiscard]] std::size_t of(std::size_t i) const {
    for (std::size_t d = shape.size() - 1; d > static_cast<std::size_t>(axis); --d) i /= shape[d];
    return i % count;
  }
};

Channels take_channels(Source& source) {
  Channels channels;
  channels.shape = source.shape();
  if (channels.shape.empty()) channels.shape = {3};
  channels.x = source.floats(count_of(channels.shape));
  channels.axis = static_cast<std::int32_t>(source.below(channels.shape.size()));
  channels.count = channels.shape[static_cast<std::size_t>(channels.axis)];
  return channels;
}

template <typename Code>
void run_per_channel(Source& source, DType dtype) {
  const DTypeInfo info = dtype_info(dtype);
  const Channels channels = take_channels(source);
  const TensorView<const float> x{channels.x, channels.shape};
  std::vector<double> scales;
  std::vector<std::int32_t> zero_points;
  for (std::size_t i = 0; i < channels.count; ++i) {
    scales.push_back(take_scale(source));
    zero_points.push_back(source.zero_point(dtype));
  }
  const Overflow overflow = take_overflow(source);
  Output<Code> codes(channels.x.size());
  if (source.rarely(8)) {
    check(quantize_per_channel(x, scales, zero_points, source.flag() ? -1 : 64, dtype, overflow,
                               codes.span()),
          Status::kInvalidAxis);
    scales.push_back(1);
    zero_points.push_back(0);
    check(
        quantize_per_channel(x, scales, zero_points, channels.axis, dtype, overflow, codes.span()),
        Status::kShapeMismatch);
    return codes.check_untouched();
  }
  check(quantize_per_channel(x, scales, zero_points, channels.axis, dtype, overflow, codes.span()),
        Status::kOk);
  Output<float> values(channels.x.size());
  const TensorView<const Code> code_view{codes.values(), channels.shape};
  check(dequantize_per_channel(code_view, scales, zero_points, channels.axis, values.span()),
        Status::kOk);
  const QuantRange all{info.qmin, info.qmax};
  std::vector<Code> expected;
  std::vector<float> expected_values;
  for (std::size_t i = 0; i < channels.x.size(); ++i) {
    const std::size_t own = channels.of(i);
    const auto scale = static_cast<float>(scales[own]);
    const Channel c =
        channel<AddZeroPoint::kAfterRounding>(scale, zero_points[own], all, Codes::kKept);
    const std::int32_t code =
        code_of<AddZeroPoint::kAfterRounding>(channels.x[i], c, all, overflow);
    expected.push_back(static_cast<Code>(code));
    const float steps = static_cast<float>(code) - static_cast<float>(zero_points[own]);
    expected_values.push_back(static_cast<float>(double{steps} * scales[own]));
  }
  check_same(codes.values(), expected);
  check_same(values.values(), expected_values);
}

template <typename Code>
void run_float_qparams(Source& source, DType dtype) {
  const DTypeInfo info = dtype_info(dtype);
  const Channels channels = take_channels(source);
  const TensorView<const float> x{channels.x, channels.shape};
  const std::vector<float> scales = source.floats(channels.count);
  const std::vector<float> zero_points = source.floats(channels.count);
  const Overflow overflow = take_overflow(source);
  Output<Code> codes(channels.x.size());
  const Status status = quantize_per_channel_float_qparams(x, scales, zero_points, channels.axis,
                                                           dtype, overflow, codes.span());
  check(status, dtype == DType::kQint32 ? Status::kUnsupportedDType : Status::kOk);
  if (status != Status::kOk) return codes.check_untouched();
  Output<float> values(channels.x.size());
  const TensorView<const Code> code_view{codes.values(), channels.shape};
  check(dequantize_per_channel_float_qparams(code_view, scales, zero_points, channels.axis,
                                             values.span()),
        Status::kOk);
  const QuantRange all{info.qmin, info.qmax};
  std::vector<Code> expected;
  std::vector<float> expected_values;
  for (std::size_t i = 0; i < channels.x.size(); ++i) {
    const std::size_t own = channels.of(i);
    const Channel c = channel<AddZeroPoint::kBeforeRounding>(scales[own], double{zero_points[own]},
                                                             all, Codes::kKept);
    const std::int32_t code =
        code_of<AddZeroPoint::kBeforeRounding>(channels.x[i], c, all, overflow);
    expected.push_back(static_cast<Code>(code));
    const float steps = static_cast<float>(code) - zero_points[own];
    expected_values.push_back(steps * scales[own]);
  }
  check_same(codes.values(), expected);
  check_same(values.values(), expected_values);
}

void run_fake_per_channel(Source& source) {
  const Channels channels = take_channels(source);
  const TensorView<const float> x{channels.x, channels.shape};
  const std::vector<float> scales = source.floats(channels.count);
  const Overflow overflow = take_overflow(source);
  const QuantRange range = take_fake_range(source).range;
  Output<float> y(channels.x.size());
  std::vector<float> expected;
  if (source.flag()) {
    std::vector<std::int32_t> zero_points;
    for (std::size_t i = 0; i < channels.count; ++i) {
      zero_points.push_back(source.integer(range.min, range.max));
    }
    check(
        fake_quantize_per_channel(x, scales, zero_points, channels.axis, range, overflow, y.span()),
        Status::kOk);
    for (std::size_t i = 0; i < channels.x.size(); ++i) {
      const std::size_t own = channels.of(i);
      const Channel c =
          channel<AddZeroPoint::kAfterRounding>(scales[own], zero_points[own], range, Codes::kFake);
      expected.push_back(fake_of<AddZeroPoint::kAfterRounding>(channels.x[i], c, zero_points[own],
                                                               range, overflow));
    }
  } else {
    const std::vector<float> zero_points = source.floats(channels.count);
    check(fake_quantize_per_channel_float_qparams(x, scales, zero_points, channels.axis, range,
                                                  overflow, y.span()),
          Status::kOk);
    for (std::size_t i = 0; i < channels.x.size(); ++i) {
      const std::size_t own = channels.of(i);
      const double zero_point = zero_points[own];
      const Channel c =
          channel<AddZeroPoint::kBeforeRounding>(scales[own], zero_point, range, Codes::kFake);
      expected.push_back(
          fake_of<AddZeroPoint::kBeforeRounding>(channels.x[i], c, zero_point, range, overflow));
    }
  }
  check_same(y.values(), expected);
}

}  // namespace

void run(Source source) {
  const DType dtype = source.pick(kTorchDTypes);
  const std::size_t function = source.below(5);
  testing::with_code(dtype, [&](auto code) {
    using Code = decltype(code);
    if constexpr (sizeof(Code) == 2) {
      return;  // no torch dtype has 16 bits
    } else if (function == 0) {
      run_per_tensor<Code>(source, dtype);
    } else if (function == 1) {
      run_per_channel<Code>(source, dtype);
    } else if (function == 2) {
      run_float_qparams<Code>(source, dtype);
    } else if (function == 3) {
      run_fake_per_tensor(source);
    } else {
      run_fake_per_channel(source);
    }
  });
}

}  // namespace zeropoint::fuzz
