#include "zeropoint/linear.h"

#include <algorithm>
#include <type_traits>

#include "core/matrix.h"
#include "kernels/kernels.h"
#include "zeropoint/quantize.h"

namespace zeropoint {
namespace {

Status check_layer(std::span<const float> x, std::size_t m, std::size_t k, std::size_t weights,
                   std::size_t n, std::span<const float> bias, std::span<float> out) {
  for (const Status status : {check_matrix(m, k, x.size()), check_matrix(n, k, weights),
                              check_matrix(m, n, out.size())}) {
    if (status != Status::kOk) return status;
  }
  return bias.empty() || bias.size() == n ? Status::kOk : Status::kShapeMismatch;
}

// Sum is the type products are added in. dot(x, rows, row of w, sums) adds a weight row's products.
template <typename Sum, typename Dot>
void for_outputs(std::span<const float> x, std::size_t m, std::size_t k, std::size_t n,
                 std::span<const float> bias, std::span<float> out, Dot dot) {
  for (std::size_t row = 0; row < m; row += kernels::kRows) {
    const std::size_t rows = std::min(kernels::kRows, m - row);
    for (std::size_t column = 0; column < n; ++column) {
      Sum sums[kernels::kRows];
      dot(x.data() + row * k, rows, column, sums);
      for (std::size_t r = 0; r < rows; ++r) {
        const Sum y = bias.empty() ? sums[r] : sums[r] + bias[column];
        out[(row + r) * n + column] = static_cast<float>(y);
      }
    }
  }
}

template <typename Sum, typename Weights>
void dot(const float* x, std::size_t rows, std::size_t stride, Weights w, std::size_t k,
         Sum* sums) {
  if constexpr (std::is_same_v<Sum, double>) {
    kernels::dot_f64(x, rows, stride, w, k, sums);
  } else {
    kernels::dot_f32(x, rows, stride, w, k, sums);
  }
}

template <typename Sum>
void linear_float(std::span<const float> x, std::size_t m, std::size_t k, std::span<const float> w,
                  std::size_t n, std::span<const float> bias, std::span<float> out) {
  for_outputs<Sum>(x, m, k, n, bias, out,
                   [&](const float* rows_of_x, std::size_t rows, std::size_t column, Sum* sums) {
                     const kernels::FloatWeights weights{w.data() + column * k};
                     dot<Sum>(rows_of_x, rows, k, weights, k, sums);
                   });
}

template <typename Sum, typename Code>
void linear_codes(std::span<const float> x, std::size_t m, std::size_t k,
                  const QuantizedWeight<Code>& w, std::size_t n, std::span<const float> bias,
                  std::span<float> out) {
  for_outputs<Sum>(x, m, k, n, bias, out,
                   [&](const float* rows_of_x, std::size_t rows, std::size_t column, Sum* sums) {
                     const Code* codes = w.codes.data() + column * k;
                     if (w.granularity == WeightGranularity::kPerInput) {
                       const kernels::ScaledCodeWeights<Code> weights{codes, w.scales.data(),
                                                                      w.zero_points.data()};
                       dot<Sum>(rows_of_x, rows, k, weights, k, sums);
                       return;
                     }
                     // A row is one or more runs that share a scale.
                     const bool grouped = w.granularity == WeightGranularity::kPerGroup;
                     const std::size_t length = grouped ? w.group_size : k;
                     const std::size_t runs = grouped ? k / length : 1;
                     const std::size_t first =
                         w.granularity == WeightGranularity::kPerTensor ? 0 : column * runs;
                     std::fill_n(sums, rows, Sum{0});
                     for (std::size_t run = 0; run < runs; ++run) {
                       const Sum scale = w.scales[first + run];
                       Sum partial[kernels::kRows];
                       const kernels::CodeWeights<Code> weights{codes + run * length,
                                                                w.zero_points[first + run]};
                       dot<Sum>(rows_of_x + run * length, rows, k, weights, length, partial);
                       for (std::size_t r = 0; r < rows; ++r) sums[r] += scale * partial[r];
                     }
                   });
}

// How many scales a granularity needs; kInvalidGroupSize.
Status scale_count(WeightGranularity granularity, std::size_t group_size, std::size_t n,
                   std::size_t k, std::size_t& count) {
  switch (granularity) {
    case WeightGranularity::kPerTensor:
      count = 1;
      return Status::kOk;
    case WeightGranularity::kPerOutput:
      count = n;
      return Status::kOk;
    case WeightGranularity::kPerInput:
      count = k;
      return Status::kOk;
    case WeightGranularity::kPerGroup:
      break;
  }
  if (group_size == 0 || k % group_size != 0) return Status::kInvalidGroupSize;
  count = n * (k / group_size);
  return Status::kOk;
}

}  // namespace

Status linear(std::span<const float> x, std::size_t m, std::size_t k, std::span<const float> w,
              std::size_t n, std::span<const float> bias, Accumulate accumulate,
              std::span<float> out) {
  const Status status = check_layer(x, m, k, w.size(), n, bias, out);
  if (status != Status::kOk) return status;
  if (accumulate == Accumulate::kFloat64) {
    linear_float<double>(x, m, k, w, n, bias, out);
  } else {
    linear_float<float>(x, m, k, w, n, bias, out);
  }
  return Status::kOk;
}

template <typename Code>
Status linear(std::span<const float> x, std::size_t m, std::size_t k,
              const QuantizedWeight<Code>& w, std::size_t n, std::span<const float> bias,
              Accumulate accumulate, std::span<float> out) {
  const DTypeInfo info = dtype_info(w.dtype);
  if (info.bits > 8 || info.storage != kStorageOf<Code>) return Status::kUnsupportedDType;
  Status status = check_layer(x, m, k, w.codes.size(), n, bias, out);
  std::size_t count = 0;
  if (status == Status::kOk) status = scale_count(w.granularity, w.group_size, n, k, count);
  if (status != Status::kOk) return status;
  const auto count32 = static_cast<std::uint32_t>(count);
  status = check(QParamsView{w.scales, w.zero_points, Shape(&count32, 1)}, w.dtype);
  if (status != Status::kOk) return status;
  if (accumulate == Accumulate::kFloat64) {
    linear_codes<double>(x, m, k, w, n, bias, out);
  } else {
    linear_codes<float>(x, m, k, w, n, bias, out);
  }
  return Status::kOk;
}

template Status linear(std::span<const float>, std::size_t, std::size_t,
                       const QuantizedWeight<std::int8_t>&, std::size_t, std::span<const float>,
                       Accumulate, std::span<float>);
template Status linear(std::span<const float>, std::size_t, std::size_t,
                       const QuantizedWeight<std::uint8_t>&, std::size_t, std::span<const float>,
                       Accumulate, std::span<float>);

}  // namespace zeropoint
