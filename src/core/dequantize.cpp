#include "zeropoint/dequantize.h"

#include "core/broadcast.h"
#include "kernels/kernels.h"

namespace zeropoint {

Status dequantize(const AnyCodes<const void>& codes, Shape shape, const QParamsView& qparams,
                  DType dtype, std::span<float> out) {
  if (dtype_info(dtype).storage != codes.storage) return Status::kUnsupportedDType;
  // Codes of 16 bits and fewer have exact differences by either.
  const bool is_wide = qparams.rule != Rule::kCourse && codes.storage == Storage::kInt32;
  const kernels::Operation& operation = !qparams.offsets.empty()
                                            ? kernels::offset_dequantization(codes.storage)
                                        : is_wide ? kernels::wide_dequantization()
                                                  : kernels::dequantization(codes.storage);
  const Pass pass{operation, {}, codes.data, out.data()};
  return run_checked(pass, codes.size, shape, qparams, dtype, out.size());
}

Status linear_dequantization(const AnyCodes<const void>& codes, Shape shape,
                             const TensorView<const float>& scale,
                             const TensorView<const float>& zero_point, std::span<float> out) {
  const Pass pass{kernels::dequantization(codes.storage), {}, codes.data, out.data()};
  return run_unchecked(pass, codes.size, shape, scale, zero_point, 0, out.size());
}

Status fake_quantize(const TensorView<const float>& x, const QParamsView& qparams, DType dtype,
                     std::span<float> out) {
  const DTypeInfo info = dtype_info(dtype);
  const kernels::Operation& operation =
      qparams.rule != Rule::kCourse ? kernels::fake_rounded_quantization()
      : qparams.offsets.empty()     ? kernels::fake_quantization()
                                    : kernels::offset_fake_quantization();
  const Pass pass{operation,
                  {info.qmin, info.qmax, info.qmax, qparams.rule == Rule::kTorch},
                  x.values.data(),
                  out.data()};
  return run_checked(pass, x.values.size(), x.shape, qparams, dtype, out.size());
}

}  // namespace zeropoint
