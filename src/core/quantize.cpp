#include "zeropoint/quantize.h"

#include <cstdint>

#include "core/broadcast.h"
#include "kernels/kernels.h"

namespace zeropoint {

Status quantize(const TensorView<const float>& x, const QParamsView& qparams, DType dtype,
                const AnyCodes<void>& codes) {
  const DTypeInfo info = dtype_info(dtype);
  if (info.storage != codes.storage) return Status::kUnsupportedDType;
  const kernels::Operation& operation =
      qparams.rule != Rule::kCourse ? kernels::rounded_quantization(codes.storage)
      : qparams.offsets.empty()     ? kernels::quantization(codes.storage)
                                    : kernels::offset_quantization(codes.storage);
  const Pass pass{operation,
                  {info.qmin, info.qmax, info.qmax, qparams.rule == Rule::kTorch},
                  x.values.data(),
                  codes.data};
  return run_checked(pass, x.values.size(), x.shape, qparams, dtype, codes.size);
}

Status linear_q(const TensorView<const float>& x, const TensorView<const float>& scale,
                const TensorView<const float>& zero_point, DType dtype,
                const AnyCodes<void>& codes) {
  const DTypeInfo info = dtype_info(dtype);
  if (info.storage != codes.storage) return Status::kUnsupportedDType;
  // x86's float to int conversion gives INT32_MIN for values outside int32; the narrower dtypes
  // keep its low bits, which are 0.
  const Pass pass{kernels::quantization(codes.storage),
                  {info.qmin, info.qmax, INT32_MIN},
                  x.values.data(),
                  codes.data};
  const std::int32_t nan_code = codes.storage == Storage::kInt32 ? INT32_MIN : 0;
  return run_unchecked(pass, x.values.size(), x.shape, scale, zero_point, nan_code, codes.size);
}

}  // namespace zeropoint
