#include "zeropoint/dequantize.h"

#include "core/for_runs.h"
#include "kernels/kernels.h"

namespace zeropoint {

template <typename Code>
Status dequantize(TensorView<const Code> codes, const QParamsView& qparams, DType dtype,
                  std::span<float> out) {
  if (dtype_info(dtype).storage != kStorageOf<Code>) return Status::kUnsupportedDType;
  return for_runs(codes, qparams, dtype, out.size(),
                  [&](std::size_t position, std::size_t length, auto run_qparams) {
                    kernels::dequantize_f32(codes.values.data() + position, length, run_qparams,
                                            out.data() + position);
                  });
}

template <typename Code>
Status linear_dequantization(TensorView<const Code> codes, TensorView<const float> scale,
                             TensorView<const float> zero_point, std::span<float> out) {
  return for_runs(
      codes, scale, zero_point, 0, out.size(),
      [&](std::size_t position, const Code* from, std::size_t length, auto run_qparams) {
        kernels::dequantize_f32(from, length, run_qparams, out.data() + position);
      });
}

Status fake_quantize(TensorView<const float> x, const QParamsView& qparams, DType dtype,
                     std::span<float> out) {
  const DTypeInfo info = dtype_info(dtype);
  const kernels::CodeRule rule{info.qmin, info.qmax, info.qmax};
  return for_runs(x, qparams, dtype, out.size(),
                  [&](std::size_t position, std::size_t length, auto run_qparams) {
                    kernels::fake_quantize_f32(x.values.data() + position, length, run_qparams,
                                               rule, out.data() + position);
                  });
}

#define ZEROPOINT_INSTANTIATE(Code)                                                                \
  template Status dequantize(TensorView<const Code>, const QParamsView&, DType, std::span<float>); \
  template Status linear_dequantization(TensorView<const Code>, TensorView<const float>,           \
                                        TensorView<const float>, std::span<float>);
ZEROPOINT_INSTANTIATE(std::int8_t)
ZEROPOINT_INSTANTIATE(std::uint8_t)
ZEROPOINT_INSTANTIATE(std::int16_t)
ZEROPOINT_INSTANTIATE(std::uint16_t)
ZEROPOINT_INSTANTIATE(std::int32_t)
#undef ZEROPOINT_INSTANTIATE

}  // namespace zeropoint
