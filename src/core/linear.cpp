#include "zeropoint/linear.h"

#include <algorithm>
#include <type_traits>

#include "core/linear_work.h"
#include "core/matrix.h"
#include "core/packed_weight.h"
#include "kernels/kernels.h"
#include "kernels/panels.h"

namespace zeropoint {
namespace {

using kernels::Digits;

Status check_layer(std::size_t x, std::size_t m, std::size_t k, std::size_t n, std::size_t bias,
                   std::size_t out) {
  for (const Status status : {check_matrix(m, k, x), check_matrix(m, n, out)}) {
    if (status != Status::kOk) return status;
  }
  return bias == 0 || bias == n ? Status::kOk : Status::kShapeMismatch;
}

// Sum is the type products are added in.
template <typename Sum>
void linear_float(std::span<const float> x, std::size_t m, std::size_t k, std::span<const float> w,
                  std::size_t n, std::span<const float> bias, std::span<float> out) {
  const std::size_t parts = part_count(n, std::uint64_t{m} * n * k);
  parallel_for(parts, [=](std::size_t part) {
    const std::size_t last = part_start(n, part + 1, parts);
    for (std::size_t row = 0; row < m; row += kernels::kRows) {
      const std::size_t rows = std::min(kernels::kRows, m - row);
      for (std::size_t column = part_start(n, part, parts); column < last; ++column) {
        Sum sums[kernels::kRows];
        kernels::dot(x.data() + row * k, rows, k, w.data() + column * k, k, sums);
        for (std::size_t r = 0; r < rows; ++r) {
          const Sum y = bias.empty() ? sums[r] : sums[r] + bias[column];
          out[(row + r) * n + column] = static_cast<float>(y);
        }
      }
    }
  });
}

// How much of an output digits may cost: rounding activations errs by at most RowScale::error times
// the largest weight, and half of the bound is left for all other rounding.
double tolerance(std::size_t k) {
  return static_cast<double>(std::min(k, std::size_t{1} << 16)) * 0x1p-24;
}

}  // namespace

Digits digits_format() {
#if defined(__wasm_relaxed_simd__)
  return Digits::kI7;
#else
  return Digits::kI16;
#endif
}

void linear_packed(const float* x, std::size_t m, const kernels::Panels& panels, const float* bias,
                   Digits format, std::span<std::byte> scratch, std::span<float> out) {
  const RowBlock block(panels, m);
  const std::size_t n = panels.n;
  const std::size_t k = panels.k;
  std::uint8_t* digits = block.digits(scratch);
  kernels::RowScale* scales = block.scales(scratch);
  double* sums = block.sums(scratch);
  for (std::size_t row = 0; row < m; row += block.rows) {
    const std::size_t rows = std::min(block.rows, m - row);
    const float* from = x + row * k;
    // Writing digits costs about as much as multiplying by 32 outputs.
    const std::size_t row_parts = part_count(rows, std::uint64_t{32} * rows * k);
    parallel_for(row_parts, [=](std::size_t part) {
      const std::size_t last = part_start(rows, part + 1, row_parts);
      for (std::size_t r = part_start(rows, part, row_parts); r < last; ++r) {
        scales[r] = kernels::digits_f32(from + r * k, panels, format, rows, r, digits,
                                        sums + r * block.chunks);
      }
    });
    const kernels::PanelProduct product{
        panels, rows, from, digits, scales, sums, tolerance(k), bias, out.data() + row * n};
    const std::size_t count = panels.count();
    const std::size_t parts = part_count(count, std::uint64_t{rows} * n * k);
    parallel_for(parts, [=](std::size_t part) {
      kernels::multiply_panels(product, format, part_start(count, part, parts),
                               part_start(count, part + 1, parts));
    });
  }
}

std::size_t linear_scratch_size(const std::byte* weight, std::size_t m) {
  return RowBlock(panels_of(weight), m).bytes();
}

Status linear(std::span<const float> x, std::size_t m, std::size_t k, std::span<const float> w,
              std::size_t n, std::span<const float> bias, Accumulate accumulate,
              std::span<float> out) {
  Status status = check_matrix(n, k, w.size());
  if (status == Status::kOk) status = check_layer(x.size(), m, k, n, bias.size(), out.size());
  if (status != Status::kOk) return status;
  const auto run = accumulate == Accumulate::kExact ? linear_float<double> : linear_float<float>;
  run(x, m, k, w, n, bias, out);
  return Status::kOk;
}

Status linear(std::span<const float> x, std::size_t m, const std::byte* weight,
              std::span<const float> bias, Accumulate, std::span<std::byte> scratch,
              std::span<float> out) {
  const kernels::Panels panels = panels_of(weight);
  const Status status = check_layer(x.size(), m, panels.k, panels.n, bias.size(), out.size());
  if (status != Status::kOk) return status;
  if (scratch.size() < RowBlock(panels, m).bytes()) return Status::kShapeMismatch;
  const float* added = bias.empty() ? nullptr : bias.data();
  linear_packed(x.data(), m, panels, added, digits_format(), scratch, out);
  return Status::kOk;
}

}  // namespace zeropoint
