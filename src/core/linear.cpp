#include "zeropoint/linear.h"

#include <algorithm>
#include <cmath>

#include "core/dot_choice.h"
#include "core/linear_work.h"
#include "core/matrix.h"
#include "core/packed_weight.h"
#include "core/parallel.h"
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

// @tparam Sum  type of the products and of their sums
template <typename Sum>
void linear_float(std::span<const float> x, std::size_t m, std::size_t k, std::span<const float> w,
                  std::size_t n, std::span<const float> bias, std::span<float> out,
                  std::size_t stride) {
  const std::size_t parts = part_count(n, std::uint64_t{m} * n * k);
  parallel_for(parts, [=](std::size_t part) {
    const std::size_t last = part_start(n, part + 1, parts);
    for (std::size_t row = 0; row < m; row += kernels::kDotRows) {
      const std::size_t rows = std::min(kernels::kDotRows, m - row);
      for (std::size_t first = part_start(n, part, parts); first < last;
           first += kernels::kDotColumns) {
        const std::size_t columns = std::min(kernels::kDotColumns, last - first);
        Sum sums[kernels::kDotColumns * kernels::kDotRows];
        kernels::dots(x.data() + row * k, rows, k, w.data() + first * k, columns, k, sums);
        for (std::size_t r = 0; r < rows; ++r) {
          for (std::size_t c = 0; c < columns; ++c) {
            const Sum sum = sums[c * kernels::kDotRows + r];
            const Sum y = bias.empty() ? sum : sum + bias[first + c];
            out[(row + r) * stride + first + c] = static_cast<float>(y);
          }
        }
      }
    }
  });
}

// Largest error, relative to sum |x w|, that rounding activations to digits may cause. The kernels
// compare it with a multiple of the error, so that other rounding stays within the bound, too.
double tolerance(std::size_t k) {
  return static_cast<double>(std::min(k, std::size_t{1} << 16)) * 0x1p-24;
}

// a / b, rounded up, without overflow for any a.
std::size_t quotient_up(std::size_t a, std::size_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// List of rows of a block. It is in scratch memory, where a late thread can still read it: see
// parallel.h.
struct Rows {
  std::uint16_t* places;
  std::size_t count = 0;

  void add(std::size_t row) { places[count++] = static_cast<std::uint16_t>(row); }
};

// Multiplies rows of a block by the panels, in digits of one format.
class BlockProduct {
 public:
  /// @param x, out  the block's rows
  BlockProduct(const kernels::Panels& panels, const float* bias, const RowBlock& block,
               std::span<std::byte> scratch, const float* x, float* out)
      : panels_(panels),
        digits_(block.lines(scratch)),
        scales_(block.scales(scratch)),
        sums_(block.sums(scratch)),
        x_(x),
        tolerance_(tolerance(panels.k)),
        bias_(bias),
        out_(out) {}

  void write(const Rows& rows, Digits format) const {
    // Writing digits costs about as much as multiplying by 32 outputs.
    const std::size_t parts = part_count(rows.count, std::uint64_t{32} * rows.count * panels_.k);
    parallel_for(parts, [=, panels = panels_, digits = digits_, scales = scales_, sums = sums_,
                         x = x_](std::size_t part) {
      const std::size_t last = part_start(rows.count, part + 1, parts);
      for (std::size_t r = part_start(rows.count, part, parts); r < last; ++r) {
        scales[r] = kernels::digits_f32(x + rows.places[r] * panels.k, panels, format, rows.count,
                                        r, digits, sums + r * panels.chunks);
      }
    });
  }

  /// Whether short digits are precise enough for a row written in them.
  [[nodiscard]] bool is_enough(std::size_t row) const {
    return kernels::is_enough(panels_, scales_[row], tolerance_);
  }

  /// Multiplies rows written by write().
  void multiply(const Rows& rows, Digits format) const {
    // Short rows have passed is_enough() already, so the kernel does not check them again.
    const double tolerance = format == Digits::kI7Short ? INFINITY : tolerance_;
    const kernels::PanelProduct product{panels_, rows.count, x_,    digits_, scales_,
                                        sums_,   tolerance,  bias_, out_,    rows.places};
    const std::size_t count = panels_.count();
    const std::size_t parts = part_count(count, std::uint64_t{rows.count} * panels_.n * panels_.k);
    parallel_for(parts, [=](std::size_t part) {
      kernels::multiply_panels(product, format, part_start(count, part, parts),
                               part_start(count, part + 1, parts));
    });
  }

 private:
  const kernels::Panels& panels_;
  std::uint8_t* digits_;
  kernels::RowScale* scales_;
  double* sums_;
  const float* x_;
  double tolerance_;
  const float* bias_;
  float* out_;
};

}  // namespace

RowBlock::RowBlock(std::size_t line_bytes, std::size_t chunk_count, std::size_t m)
    : row_bytes(line_bytes), chunks(chunk_count) {
  // Bytes of rows that stay in a second-level cache while all weights are read.
  constexpr std::size_t kBlockBytes = std::size_t{384} * 1024;
  // Limit for rows too long for the cache: 32-bit sizes must hold the block.
  constexpr std::size_t kMostBytes = std::size_t{1} << 28;
  constexpr std::size_t kFew = 16;
  std::size_t fit = std::clamp(kBlockBytes / (row_bytes + 16), kFew, kernels::kMaxRows);
  if (bytes_of_row() > kMostBytes / kFew) {
    fit = std::max(kMostBytes / bytes_of_row(), std::size_t{1});
  }
  // Blocks of about equal size: few rows take almost as long as many. Most kernels take six lines
  // at a time.
  const std::size_t blocks = std::max(quotient_up(m, fit), std::size_t{1});
  rows = std::min({m, fit, quotient_up(quotient_up(m, blocks), 6) * 6});
}

void linear_packed(const float* x, std::size_t m, const kernels::Panels& panels, const float* bias,
                   Digits format, std::span<std::byte> scratch, std::span<float> out) {
  const RowBlock block = RowBlock::digits_of(panels, m);
  // The norm is infinite for weights with zero points: is_enough() is then false for every row.
  const bool tries_short =
      format == Digits::kI7Short && panels.input_scales == nullptr && std::isfinite(panels.norm);
  if (format == Digits::kI7Short) format = Digits::kI7;
  for (std::size_t row = 0; row < m; row += block.rows) {
    const BlockProduct product(panels, bias, block, scratch, x + row * panels.k,
                               out.data() + row * panels.n);
    Rows rows{block.places(scratch)};
    for (std::size_t r = row; r < std::min(row + block.rows, m); ++r) rows.add(r - row);
    if (tries_short) {
      // Decides row by row, so that no result depends on other rows.
      product.write(rows, Digits::kI7Short);
      Rows short_rows{rows.places + block.rows};
      Rows others{rows.places};  // the other rows, compacted in place
      for (std::size_t r = 0; r < rows.count; ++r) {
        (product.is_enough(r) ? short_rows : others).add(r);
      }
      if (short_rows.count > 0) {
        if (others.count > 0) product.write(short_rows, Digits::kI7Short);
        product.multiply(short_rows, Digits::kI7Short);
      }
      rows = others;
    }
    if (rows.count == 0) continue;
    product.write(rows, format);
    product.multiply(rows, format);
  }
}

std::size_t linear_scratch_size(const std::byte* weight, std::size_t m) {
  const kernels::Panels panels = panels_of(weight);
  return std::max(RowBlock::digits_of(panels, m).bytes(), RowBlock::bytes_of(panels, m).bytes());
}

Status linear(std::span<const float> x, std::size_t m, std::size_t k, std::span<const float> w,
              std::size_t n, std::span<const float> bias, Accumulate accumulate,
              std::span<float> out, std::size_t stride) {
  // Number of values between rows of out, which are not written.
  const std::size_t others = m == 0 || n == 0 || stride < n ? 0 : (m - 1) * (stride - n);
  if (stride < n || out.size() < others) return Status::kShapeMismatch;
  Status status = check_matrix(n, k, w.size());
  if (status == Status::kOk) {
    status = check_layer(x.size(), m, k, n, bias.size(), out.size() - others);
  }
  if (status != Status::kOk || out.empty()) return status;
  const auto run = accumulate == Accumulate::kExact ? linear_float<double> : linear_float<float>;
  run(x, m, k, w, n, bias, out, stride);
  return Status::kOk;
}

Status linear(std::span<const float> x, std::size_t m, const std::byte* weight,
              std::span<const float> bias, Accumulate accumulate, std::span<std::byte> scratch,
              std::span<float> out) {
  const kernels::Panels panels = panels_of(weight);
  const Status status = check_layer(x.size(), m, panels.k, panels.n, bias.size(), out.size());
  if (status != Status::kOk) return status;
  if (scratch.size() < RowBlock::digits_of(panels, m).bytes()) return Status::kShapeMismatch;
  if (out.empty()) return Status::kOk;
  const float* added = bias.empty() ? nullptr : bias.data();
  linear_packed(x.data(), m, panels, added, digits_format(accumulate), scratch, out);
  return Status::kOk;
}

}  // namespace zeropoint
