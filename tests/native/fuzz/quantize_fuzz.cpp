// The notebook family of quantize.h and dequantize.h, against one value at a time.
#include "fuzz.h"
#include "reference/dequantize_f32.h"
#include "reference/quantize_f32.h"
#include "zeropoint/dequantize.h"
#include "zeropoint/quantize.h"

namespace zeropoint::fuzz {
namespace {

using testing::broadcast_position;
using testing::broadcast_shapes;
using testing::QParamsTensor;

/// Defects of a call.
enum class Fault {
  kNone,
  kOutLength,
  kDataLength,
  kScaleCount,
  kScale,
  kZeroPoint,
  kLength,
  kTooManyAxes,
  kCodeType,
};

constexpr Fault kFaults[] = {Fault::kOutLength,   Fault::kDataLength, Fault::kScaleCount,
                             Fault::kScale,       Fault::kZeroPoint,  Fault::kLength,
                             Fault::kTooManyAxes, Fault::kCodeType};

Status refusal(Fault fault) {
  switch (fault) {
    case Fault::kScale:
      return Status::kInvalidScale;
    case Fault::kZeroPoint:
      return Status::kInvalidZeroPoint;
    case Fault::kCodeType:
      return Status::kUnsupportedDType;
    default:
      return Status::kShapeMismatch;
  }
}

template <typename Code>
void run(Source& source, DType dtype) {
  const DTypeInfo info = dtype_info(dtype);
  const ShapeVector shape = source.shape();
  const std::size_t n = count_of(shape);
  std::vector<float> x = source.floats(n);
  QParamsTensor qparams;
  qparams.shape = source.operand(shape);
  const std::size_t pairs = count_of(qparams.shape);
  Random more = source.random();
  for (std::size_t i = 0; i < pairs; ++i) {
    const bool given = i < 8;
    qparams.scales.push_back(given ? source.scale() : std::fabs(more.spread(-20, 20)));
    qparams.zero_points.push_back(given ? source.zero_point(dtype)
                                        : more.integer(info.qmin, info.qmax));
  }

  // One run in eight has one invalid argument.
  Fault fault = source.rarely(8) ? source.pick(kFaults) : Fault::kNone;
  std::size_t out_length = n;
  switch (fault) {
    case Fault::kOutLength:
      out_length = n + 1;
      break;
    case Fault::kDataLength:
      x.push_back(1.0F);
      break;
    case Fault::kScaleCount:
      qparams.scales.push_back(1.0F);
      break;
    case Fault::kScale: {
      constexpr float kBad[] = {0.0F, -0.0F, -1.0F, INFINITY, -INFINITY, NAN};
      if (pairs == 0) return;
      qparams.scales[source.below(pairs)] = source.pick(kBad);
      break;
    }
    case Fault::kZeroPoint:
      if (pairs == 0 || info.bits == 32) return;
      qparams.zero_points[source.below(pairs)] = source.flag() ? info.qmin - 1 : info.qmax + 1;
      break;
    case Fault::kLength: {
      // A length one above that of the tensor's last axis.
      if (shape.empty() || shape.back() <= 1) return;
      qparams.shape = {shape.back() + 1};
      qparams.scales.assign(shape.back() + 1, 1.0F);
      qparams.zero_points.assign(shape.back() + 1, 0);
      break;
    }
    case Fault::kTooManyAxes:
      qparams.shape.assign(shape.size() + 1, 1);
      qparams.scales = {1.0F};
      qparams.zero_points = {0};
      break;
    default:
      break;
  }

  const TensorView<const float> x_view{x, shape};
  Output<Code> codes(out_length);
  Output<float> values(out_length);
  Output<float> fake(out_length);
  if (fault == Fault::kCodeType) {
    Output<std::int32_t> wide(out_length);
    Output<std::int8_t> narrow(out_length);
    const bool is_wide = info.storage == Storage::kInt32;
    check(is_wide ? quantize(x_view, qparams.view(), dtype, narrow.span())
                  : quantize(x_view, qparams.view(), dtype, wide.span()),
          Status::kUnsupportedDType);
    wide.check_untouched();
    narrow.check_untouched();
    return;
  }
  const Status status = quantize(x_view, qparams.view(), dtype, codes.span());
  const Status faked = fake_quantize(x_view, qparams.view(), dtype, fake.span());
  if (fault != Fault::kNone) {
    check(status, refusal(fault));
    check(faked, refusal(fault));
    codes.check_untouched();
    fake.check_untouched();
    return;
  }
  check(status, Status::kOk);
  check(faked, Status::kOk);
  const TensorView<const Code> code_view{codes.values(), shape};
  check(dequantize(code_view, qparams.view(), dtype, values.span()), Status::kOk);

  const kernels::CodeRule rule{info.qmin, info.qmax, info.qmax};
  std::vector<Code> expected_codes(n);
  std::vector<float> expected_values(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t at = broadcast_position(i, shape, qparams.shape);
    const std::int32_t zero_point = qparams.zero_points[at];
    const reference::ValueQParams q{qparams.scales[at], static_cast<float>(zero_point), zero_point};
    const std::int32_t code = reference::quantize_value(x[i], q, rule);
    expected_codes[i] = static_cast<Code>(code);
    expected_values[i] = reference::dequantize_value(code, q);
  }
  check_same(codes.values(), expected_codes);
  check_same(values.values(), expected_values);
  check_same(fake.values(), expected_values);

  check(fake_quantize(x_view, qparams.view(), dtype, x), Status::kOk);
  check_same(std::span<const float>(x), expected_values);
}

/// linear_q and linear_dequantization: any qparams, any shapes that broadcast.
template <typename Code>
void run_unchecked(Source& source, DType dtype) {
  const DTypeInfo info = dtype_info(dtype);
  const ShapeVector result = source.shape();
  const std::vector<ShapeVector> shapes = {
      source.rarely(4) ? source.shape() : source.operand(result), source.operand(result),
      source.operand(result)};
  const std::vector<float> x = source.floats(count_of(shapes[0]));
  const std::vector<float> scales = source.floats(count_of(shapes[1]));
  const std::vector<float> zero_points = source.floats(count_of(shapes[2]));
  const auto joint = broadcast_shapes(shapes);
  constexpr std::size_t kMost = 1U << 16;
  if (joint && count_of(*joint) > kMost) return;
  const std::size_t n = joint ? count_of(*joint) : 1;
  const TensorView<const float> scale_view{scales, shapes[1]};
  const TensorView<const float> zero_point_view{zero_points, shapes[2]};

  Output<Code> codes(n);
  const Status status = linear_q({x, shapes[0]}, scale_view, zero_point_view, dtype, codes.span());
  check(status, joint ? Status::kOk : Status::kShapeMismatch);
  std::vector<Code> own(x.size());
  Random more = source.random();
  for (Code& code : own) code = static_cast<Code>(more.integer(info.qmin, info.qmax));
  Output<float> values(n);
  const TensorView<const Code> own_view{own, shapes[0]};
  check(linear_dequantization(own_view, scale_view, zero_point_view, values.span()), status);
  if (!joint) {
    codes.check_untouched();
    values.check_untouched();
    return;
  }
  std::vector<Code> expected_codes(n);
  std::vector<float> expected_values(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t at = broadcast_position(i, *joint, shapes[0]);
    const float scale = scales[broadcast_position(i, *joint, shapes[1])];
    const float zero_point = zero_points[broadcast_position(i, *joint, shapes[2])];
    expected_codes[i] =
        reference::linear_q_value<Code>(x[at], scale, zero_point, info.qmin, info.qmax);
    expected_values[i] = reference::dequantize_value(own[at], {scale, zero_point, 0});
  }
  check_same(codes.values(), expected_codes);
  check_same(values.values(), expected_values);
}

}  // namespace

void run(Source source) {
  const DType dtype = source.pick(kAllDTypes);
  const bool checked = source.flag();
  testing::with_code(dtype, [&](auto code) {
    if (checked) {
      run<decltype(code)>(source, dtype);
    } else {
      run_unchecked<decltype(code)>(source, dtype);
    }
  });
}

}  // namespace zeropoint::fuzz
