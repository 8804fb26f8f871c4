#include "zeropoint/quantize.h"

#include <cmath>

#include "core/for_runs.h"
#include "kernels/kernels.h"

namespace zeropoint {

Status check(const QParamsView& qparams, DType dtype) {
  std::size_t count = 0;
  const Status status = element_count(qparams.shape, count);
  if (status != Status::kOk) return status;
  if (qparams.scales.size() != count || qparams.zero_points.size() != count) {
    return Status::kShapeMismatch;
  }
  if (count == 0) return Status::kOk;
  // Any NaN makes both NaN.
  const Range scales = kernels::minmax_f32(qparams.scales.data(), count);
  if (!(scales.min > 0.0F && std::isfinite(scales.max))) return Status::kInvalidScale;
  const DTypeInfo info = dtype_info(dtype);
  if (!kernels::all_within_s32(qparams.zero_points.data(), count, info.qmin, info.qmax)) {
    return Status::kInvalidZeroPoint;
  }
  return Status::kOk;
}

template <typename Code>
Status quantize(TensorView<const float> x, const QParamsView& qparams, DType dtype,
                std::span<Code> codes) {
  const DTypeInfo info = dtype_info(dtype);
  if (info.storage != kStorageOf<Code>) return Status::kUnsupportedDType;
  const kernels::CodeRule rule{info.qmin, info.qmax, info.qmax};
  return for_runs(x, qparams, dtype, codes.size(),
                  [&](std::size_t position, std::size_t length, auto run_qparams) {
                    kernels::quantize_f32(x.values.data() + position, length, run_qparams, rule,
                                          codes.data() + position);
                  });
}

template <typename Code>
Status linear_q(TensorView<const float> x, TensorView<const float> scale,
                TensorView<const float> zero_point, DType dtype, std::span<Code> codes) {
  const DTypeInfo info = dtype_info(dtype);
  if (info.storage != kStorageOf<Code>) return Status::kUnsupportedDType;
  // x86's float to int conversion gives INT32_MIN for whatever int32 cannot hold; the narrower
  // dtypes keep its low bits, which are 0.
  const kernels::CodeRule rule{info.qmin, info.qmax, INT32_MIN};
  const std::int32_t nan_code = sizeof(Code) == 4 ? INT32_MIN : 0;
  return for_runs(
      x, scale, zero_point, nan_code, codes.size(),
      [&](std::size_t position, const float* from, std::size_t length, auto run_qparams) {
        kernels::quantize_f32(from, length, run_qparams, rule, codes.data() + position);
      });
}

#define ZEROPOINT_INSTANTIATE(Code)                                                              \
  template Status quantize(TensorView<const float>, const QParamsView&, DType, std::span<Code>); \
  template Status linear_q(TensorView<const float>, TensorView<const float>,                     \
                           TensorView<const float>, DType, std::span<Code>);
ZEROPOINT_INSTANTIATE(std::int8_t)
ZEROPOINT_INSTANTIATE(std::uint8_t)
ZEROPOINT_INSTANTIATE(std::int16_t)
ZEROPOINT_INSTANTIATE(std::uint16_t)
ZEROPOINT_INSTANTIATE(std::int32_t)
#undef ZEROPOINT_INSTANTIATE

}  // namespace zeropoint
