#include "zeropoint/error.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "core/ranges.h"
#include "kernels/kernels.h"

namespace zeropoint {
namespace {

static_assert(kErrorPiece == kernels::kPiece);
static_assert(sizeof(ErrorState::cascade) == sizeof(kernels::SumState));
static_assert(sizeof(ErrorState::energies) == sizeof(kernels::EnergyState));

// Cascade sum of a piece, with its state in ErrorState.
float sum_piece(decltype(kernels::sum_squared_difference_f32)* sum, const float* a, const float* b,
                kernels::Piece piece, ErrorState& state) {
  kernels::SumState lanes;
  std::memcpy(&lanes, state.cascade, sizeof lanes);
  const float result = sum(a, b, piece, lanes);
  std::memcpy(state.cascade, &lanes, sizeof lanes);
  return result;
}

kernels::Energies energies_piece(const float* a, const float* b, kernels::Piece piece,
                                 ErrorState& state) {
  kernels::EnergyState sums;
  std::memcpy(&sums, state.energies, sizeof sums);
  const kernels::Energies result = kernels::energies_f64(a, b, piece, sums);
  std::memcpy(state.energies, &sums, sizeof sums);
  return result;
}

// The metric of all values so far; the result is final after the last piece.
double measure(const float* a, const float* b, kernels::Piece piece, Metric metric,
               ErrorState& state) {
  if (piece.n == 0) return std::numeric_limits<double>::quiet_NaN();
  switch (metric) {
    case Metric::kMse:
      return sum_piece(kernels::sum_squared_difference_f32, a, b, piece, state) /
             static_cast<float>(piece.n);
    case Metric::kMae:
      return sum_piece(kernels::sum_absolute_difference_f32, a, b, piece, state) /
             static_cast<float>(piece.n);
    case Metric::kMax: {
      const double max = kernels::max_absolute_difference_f64(a, b, piece.count);
      // This form of the comparison keeps a NaN.
      if (piece.begin == 0 || std::isnan(max) || max > state.max) state.max = max;
      return state.max;
    }
    case Metric::kSqnr: {
      const kernels::Energies e = energies_piece(a, b, piece, state);
      if (e.noise == 0.0) return std::numeric_limits<double>::infinity();
      return 10.0 * std::log10(e.aa / e.noise);
    }
    case Metric::kCosine:
      break;
  }
  const kernels::Energies e = energies_piece(a, b, piece, state);
  // Sums of squares of float32 values are far inside double's range, and so is their product: only
  // zero vectors divide 0 by 0, and equal vectors give exactly 1.
  return e.ab / std::sqrt(e.aa * e.bb);
}

}  // namespace

float sum(std::span<const float> x) { return kernels::sum_f32(x.data(), x.size()); }

float mean(std::span<const float> x) { return sum(x) / static_cast<float>(x.size()); }

Status quantization_error(std::span<const float> a, std::span<const float> b, Metric metric,
                          double& out) {
  ErrorState state{};
  return quantization_error_piece(a, b, metric, 0, a.size(), state, out);
}

Status quantization_errors(std::span<const float> a, std::span<const float> b,
                           const Granularity& granularity, Metric metric, std::span<double> out) {
  const bool are_alike = a.size() == b.size() && out.size() == granularity.slices;
  if (!are_alike || !has_size(granularity, a.size())) return Status::kShapeMismatch;
  Status status = Status::kOk;
  for_slices(granularity, [&](std::size_t position, std::size_t index, const Slice& slice) {
    float a_buffer[kernels::kPiece];
    float b_buffer[kernels::kPiece];
    ErrorState state{};
    std::size_t begin = 0;
    do {
      const std::size_t count = std::min(slice.length - begin, slice.most);
      status = quantization_error_piece(slice.part(a.subspan(position), begin, count, a_buffer),
                                        slice.part(b.subspan(position), begin, count, b_buffer),
                                        metric, begin, slice.length, state, out[index]);
      begin += count;
    } while (begin < slice.length);
  });
  return status;
}

Status quantization_error_piece(std::span<const float> a, std::span<const float> b, Metric metric,
                                std::size_t begin, std::size_t n, ErrorState& state, double& out) {
  const std::size_t count = a.size();
  if (b.size() != count || begin > n || count > n - begin) return Status::kShapeMismatch;
  const bool is_last = begin + count == n;
  // Also refuses an empty piece after the last one.
  const bool is_nothing = count == 0 && n != 0;
  if (begin % kErrorPiece != 0 || (!is_last && count % kErrorPiece != 0) || is_nothing) {
    return Status::kShapeMismatch;
  }
  if (count < n && std::uint64_t{n} > kernels::kMostInPieces) return Status::kSizeOverflow;
  const double result = measure(a.data(), b.data(), {begin, count, n}, metric, state);
  if (is_last) out = result;
  return Status::kOk;
}

}  // namespace zeropoint
