#include "zeropoint/row_errors.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/parallel.h"
#include "core/ranges.h"
#include "kernels/kernels.h"
#include "zeropoint/dequantize.h"

namespace zeropoint {
namespace {

// Values, and slices with qparams, that are quantized at a time: they stay in the first-level
// cache.
constexpr std::size_t kPieceValues = 4096;
constexpr std::size_t kPieceSlices = 512;

// Partial sums of one row at a time, while pieces of rows come in order.
class RowSums {
 public:
  // @param values  place for the dequantized values, or null
  RowSums(std::size_t row_length, const double* weights, float* values, RowError* out)
      : row_length_(row_length), weights_(weights), values_(values), out_(out) {}

  // Adds n values, of one row or of several.
  void add(const float* w, const float* v, std::size_t n) {
    if (values_ != nullptr) values_ = std::copy_n(v, n, values_);
    while (n > 0) {
      const std::size_t count = std::min(n, row_length_ - at_);
      const double* weights = weights_ == nullptr ? nullptr : weights_ + at_;
      kernels::compare_f64(w, v, weights, at_, count, state_);
      advance(count);
      w += count;
      v += count;
      n -= count;
    }
  }

  // Skips n values; their rows get NaN.
  void skip(std::size_t n) {
    if (values_ != nullptr) values_ += n;
    while (n > 0) {
      const std::size_t count = std::min(n, row_length_ - at_);
      state_.noise[0] = std::numeric_limits<double>::quiet_NaN();
      advance(count);
      n -= count;
    }
  }

 private:
  static double total(const double (&p)[4]) { return (p[0] + p[2]) + (p[1] + p[3]); }

  void advance(std::size_t count) {
    at_ += count;
    if (at_ < row_length_) return;
    *out_++ = {total(state_.noise),    total(state_.energy), total(state_.product),
               total(state_.absolute), state_.largest,       total(state_.weighted)};
    // An infinity saturates with one scale for all rows. Values of blocks may overflow to
    // infinities.
    const bool is_infinite = std::isinf(out_[-1].noise) && std::isfinite(out_[-1].energy);
    if (std::isnan(out_[-1].noise) || is_infinite) {
      constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
      out_[-1] = {kNan, kNan, kNan, kNan, kNan, kNan};
    }
    state_ = {};
    at_ = 0;
  }

  std::size_t row_length_;
  std::size_t at_ = 0;
  const double* weights_;
  float* values_;
  RowError* out_;
  kernels::ComparisonState state_{};
};

// Quantizes with one scale and zero point, piece by piece.
void add_uniform(const float* w, std::size_t n, const QParams& qparams, DType dtype,
                 RowSums& sums) {
  const DTypeInfo info = dtype_info(dtype);
  const kernels::UniformQParams uniform{static_cast<float>(qparams.scale),
                                        static_cast<float>(qparams.zero_point), qparams.zero_point};
  float v[kPieceValues];
  for (std::size_t start = 0; start < n; start += kPieceValues) {
    const std::size_t count = std::min(kPieceValues, n - start);
    kernels::run(kernels::fake_quantization(), w + start, count, uniform,
                 {info.qmin, info.qmax, info.qmax}, v);
    sums.add(w + start, v, count);
  }
}

// Adds a slice longer than a piece.
void add_slice(std::span<const float> w, const RowScheme& scheme, RowSums& sums) {
  Range own = min_max(w);
  QParams qparams{};
  if (scheme.searches && is_finite(own)) {
    const Status status =
        search_ranges(w, {1, 1, w.size()}, {scheme.qparams, 0.0}, std::span(&own, 1));
    if (status != Status::kOk) return sums.skip(w.size());
  }
  if (choose_qparams(own, scheme.qparams, qparams) != Status::kOk) return sums.skip(w.size());
  add_uniform(w.data(), w.size(), qparams, scheme.qparams.dtype, sums);
}

// Adds whole slices that together fit in a piece.
void add_piece(std::span<const float> w, const Granularity& granularity, const RowScheme& scheme,
               RowSums& sums) {
  const std::size_t slices = granularity.slices;
  Range ranges[kPieceSlices];
  double scales[kPieceSlices];
  float floats[kPieceSlices];
  std::int32_t zero_points[kPieceSlices];
  float v[kPieceValues];
  const std::span own{ranges, slices};
  if (range(w, granularity, NonFinite::kThrow, own) != Status::kOk) return sums.skip(w.size());
  if (scheme.searches && search_ranges(w, granularity, {scheme.qparams, 0.0}, own) != Status::kOk) {
    return sums.skip(w.size());
  }
  kernels::choose_qparams_f64(ranges, slices, choice_rule(scheme.qparams), scales, zero_points);
  for (std::size_t i = 0; i < slices; ++i) floats[i] = static_cast<float>(scales[i]);
  const std::uint32_t length[] = {static_cast<std::uint32_t>(w.size())};
  const std::uint32_t count[] = {static_cast<std::uint32_t>(slices)};
  const QParamsView view{{floats, slices},
                         {zero_points, slices},
                         count,
                         static_cast<std::uint32_t>(granularity.inner)};
  const Status status =
      fake_quantize({w, Shape(length)}, view, scheme.qparams.dtype, {v, w.size()});
  if (status != Status::kOk) return sums.skip(w.size());
  sums.add(w.data(), v, w.size());
}

// Adds slices of equal length, in pieces of whole slices.
void add_slices(std::span<const float> w, std::size_t length, const RowScheme& scheme,
                RowSums& sums) {
  if (length > kPieceValues) {
    for (std::size_t start = 0; start < w.size(); start += length) {
      add_slice(w.subspan(start, length), scheme, sums);
    }
    return;
  }
  const std::size_t most = std::min(kPieceValues / length, kPieceSlices) * length;
  for (std::size_t start = 0; start < w.size(); start += most) {
    const std::size_t count = std::min(most, w.size() - start);
    add_piece(w.subspan(start, count), {1, count / length, length}, scheme, sums);
  }
}

void add_runs(std::span<const float> w, const RowScheme& scheme, RowSums& sums) {
  const std::size_t length = scheme.run_length;
  const std::size_t group = std::min(scheme.group_size, length);
  const std::size_t short_group = length % group;
  if (short_group == 0) return add_slices(w, group, scheme, sums);
  for (std::size_t start = 0; start < w.size(); start += length) {
    const std::size_t whole = length - short_group;
    add_slices(w.subspan(start, whole), group, scheme, sums);
    add_slices(w.subspan(start + whole, short_group), short_group, scheme, sums);
  }
}

void add_blocks(std::span<const float> w, BlockType type, RowSums& sums) {
  // A block has at most 256 values, and a value takes at most 2 bytes.
  constexpr std::size_t kValues = 2048;
  const BlockInfo info = block_info(type);
  std::uint8_t blocks[2 * kValues];
  float v[kValues];
  for (std::size_t start = 0; start < w.size(); start += kValues) {
    const std::span<const float> part = w.subspan(start, std::min(kValues, w.size() - start));
    const std::span bytes{blocks, part.size() / info.values * info.bytes};
    if (quantize_blocks(part, part.size(), type, {}, bytes) == Status::kOk &&
        dequantize_blocks(bytes, type, {v, part.size()}) == Status::kOk) {
      sums.add(part.data(), v, part.size());
    } else {
      sums.skip(part.size());
    }
  }
}

bool are_rows(std::span<const float> w, std::size_t row_length, std::span<const double> weights,
              std::span<const float> values, std::span<RowError> out) {
  return row_length > 0 && (values.empty() || values.size() == w.size()) &&
         w.size() % row_length == 0 && out.size() == w.size() / row_length &&
         (weights.empty() || weights.size() == row_length);
}

// Divides the rows among the threads, and calls add(values of some rows, their sums).
// @param products  work per value, in multiplications of a layer
template <typename F>
void for_rows(std::span<const float> w, std::size_t row_length, std::span<const double> weights,
              std::span<float> values, std::span<RowError> out, std::uint64_t products,
              const F& add) {
  const std::size_t rows = out.size();
  const std::size_t parts = part_count(rows, products * w.size());
  const float* from = w.data();
  float* to = values.empty() ? nullptr : values.data();
  RowError* errors = out.data();
  const double* own_weights = weights.empty() ? nullptr : weights.data();
  parallel_for(parts, [=](std::size_t part) {
    const std::size_t first = part_start(rows, part, parts);
    const std::size_t count = part_start(rows, part + 1, parts) - first;
    float* own_values = to == nullptr ? nullptr : to + first * row_length;
    RowSums sums(row_length, own_weights, own_values, errors + first);
    add(std::span(from + first * row_length, count * row_length), sums);
  });
}

}  // namespace

Status row_errors(std::span<const float> w, std::size_t row_length, const RowScheme& scheme,
                  std::span<const double> weights, std::span<float> values,
                  std::span<RowError> out) {
  if (!are_rows(w, row_length, weights, values, out)) return Status::kShapeMismatch;
  if (!fits_dtype(scheme.qparams)) return Status::kUnsignedSymmetric;
  if (scheme.group_size == 0) {
    QParams qparams{};
    const Status status = choose_qparams(scheme.range, scheme.qparams, qparams);
    if (status != Status::kOk) return status;
    const DType dtype = scheme.qparams.dtype;
    for_rows(w, row_length, weights, values, out, 16,
             [=](std::span<const float> part, RowSums& sums) {
               add_uniform(part.data(), part.size(), qparams, dtype, sums);
             });
    return Status::kOk;
  }
  if (scheme.run_length == 0 || row_length % scheme.run_length != 0) return Status::kShapeMismatch;
  const RowScheme own = scheme;
  const std::uint64_t products = scheme.searches ? 400 : 32;
  for_rows(w, row_length, weights, values, out, products,
           [=](std::span<const float> part, RowSums& sums) { add_runs(part, own, sums); });
  return Status::kOk;
}

Status row_errors(std::span<const float> w, std::size_t row_length, BlockType type,
                  std::span<const double> weights, std::span<float> values,
                  std::span<RowError> out) {
  if (!are_rows(w, row_length, weights, values, out) || row_length % block_info(type).values != 0) {
    return Status::kShapeMismatch;
  }
  for_rows(w, row_length, weights, values, out, 64,
           [=](std::span<const float> part, RowSums& sums) { add_blocks(part, type, sums); });
  return Status::kOk;
}

Status row_energies(std::span<const float> w, std::size_t row_length,
                    std::span<const double> weights, std::span<RowError> out) {
  if (!are_rows(w, row_length, weights, {}, out)) return Status::kShapeMismatch;
  for_rows(w, row_length, weights, {}, out, 16, [=](std::span<const float> part, RowSums& sums) {
    constexpr float kZeros[1024] = {};
    for (std::size_t start = 0; start < part.size(); start += std::size(kZeros)) {
      const std::size_t count = std::min(std::size(kZeros), part.size() - start);
      sums.add(part.data() + start, kZeros, count);
    }
  });
  return Status::kOk;
}

double decibels(double signal, double noise) {
  if (noise == 0.0) return std::numeric_limits<double>::infinity();
  return 10.0 * std::log10(signal / noise);
}

}  // namespace zeropoint
