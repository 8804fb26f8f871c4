#include <algorithm>
#include <bit>
#include <cmath>

#include "core/ranges.h"
#include "kernels/kernels.h"
#include "zeropoint/qparams.h"

namespace zeropoint {
namespace {

// ---- least squared error

// Candidate i: (64 - i) / 64 of the whole range.
Range shrunk_range(Range whole, const QParamsOptions& options, std::size_t i) {
  double min = whole.min;
  double max = whole.max;
  if (options.scheme == Scheme::kSymmetric) {
    max = std::max(-min, max);
    min = -max;
  } else if (options.scheme == Scheme::kAffine && options.include_zero) {
    min = std::min(min, 0.0);
    max = std::max(max, 0.0);
  }
  const double middle = min <= 0.0 && max >= 0.0 ? 0.0 : (min + max) / 2;
  const double part = static_cast<double>(64 - i) / 64;
  return {static_cast<float>(middle + (min - middle) * part),
          static_cast<float>(middle + (max - middle) * part)};
}

void add_errors(std::span<const float> x, const QParamsOptions& options, Range whole,
                SearchState& state) {
  const DTypeInfo info = dtype_info(options.dtype);
  for (std::size_t i = 0; i < kShrunkRanges; ++i) {
    const Range range = shrunk_range(whole, options, i);
    const kernels::CodeRule rule{info.qmin, info.qmax, info.qmax};
    double scale = 0.0;
    if (options.scheme == Scheme::kOffset) {
      float offset = 0.0F;
      if (choose_offset(range, options.dtype, scale, offset) != Status::kOk) continue;
      kernels::squared_offset_errors_f32(x.data(), x.size(), static_cast<float>(scale), offset,
                                         rule, state.errors[i]);
      continue;
    }
    std::int32_t zero_point = 0;
    kernels::choose_qparams_f64(&range, 1, choice_rule(options), &scale, &zero_point);
    kernels::squared_errors_f32(
        x.data(), x.size(), {static_cast<float>(scale), static_cast<float>(zero_point), zero_point},
        rule, state.errors[i]);
  }
}

std::size_t least_error(const SearchState& state) {
  std::size_t best = 0;
  double least = INFINITY;
  for (std::size_t i = 0; i < kShrunkRanges; ++i) {
    const double* p = state.errors[i];
    const double error = (p[0] + p[2]) + (p[1] + p[3]);
    if (error < least) {
      best = i;
      least = error;
    }
  }
  return best;
}

// ---- percentiles

// A pass finds one bit of the wanted values' sort keys, the highest first.
constexpr std::size_t kBits = 32;

// Sort key: the unsigned order of keys is the order of values.
std::uint32_t key_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return bits ^ (bits >> 31 != 0 ? UINT32_MAX : 0x80000000U);
}

double value_of(std::uint32_t key) {
  return std::bit_cast<float>(key ^ (key >> 31 != 0 ? 0x80000000U : UINT32_MAX));
}

void count_keys(std::span<const float> x, bool magnitudes, SearchState& state) {
  for (const float value : x) {
    if (!std::isfinite(value)) continue;
    const std::uint32_t key = key_of(magnitudes ? std::fabs(value) : value);
    ++state.count;
    for (std::size_t i = 0; i < 4; ++i) state.below[i] += key < (state.keys[i] | state.bit) ? 1 : 0;
  }
}

// Ranks of the two neighbours of each percentile, as numpy.percentile finds them.
void set_ranks(double percentile, SearchState& state) {
  // At least 1: another thread may have changed the values since their range was taken.
  const double last = std::max(static_cast<double>(state.count), 1.0) - 1;
  for (std::size_t end = 0; end < 2; ++end) {
    const double place = last * ((end == 0 ? 100 - percentile : percentile) / 100);
    const double rank = std::floor(place);
    state.ranks[2 * end] = rank;
    state.ranks[2 * end + 1] = std::min(rank + 1, last);
    state.fractions[end] = place - rank;
  }
}

// The wanted value of rank r has the largest key with at most r keys below it.
void find_bits(SearchState& state) {
  for (std::size_t i = 0; i < 4; ++i) {
    if (static_cast<double>(state.below[i]) <= state.ranks[i]) state.keys[i] |= state.bit;
    state.below[i] = 0;
  }
  state.bit >>= 1;
}

float percentile_of(const SearchState& state, std::size_t end) {
  const double low = value_of(state.keys[2 * end]);
  const double high = value_of(state.keys[2 * end + 1]);
  const double t = state.fractions[end];
  return static_cast<float>(t < 0.5 ? low + (high - low) * t : high - (high - low) * (1 - t));
}

}  // namespace

std::size_t search_passes(const RangeSearch& search) {
  return search.percentile == 0.0 ? 1 : kBits;
}

Status search_range_piece(std::span<const float> x, const RangeSearch& search, bool is_first,
                          bool is_last, SearchState& state, Range& range) {
  const QParamsOptions& options = search.qparams;
  if (!fits_dtype(options)) return Status::kUnsignedSymmetric;
  if (!is_finite(range)) return Status::kOk;
  if (is_first) {
    state = {};
    state.bit = 0x80000000U;
  }
  if (search.percentile == 0.0) {
    add_errors(x, options, range, state);
    if (is_last) range = shrunk_range(range, options, least_error(state));
    return Status::kOk;
  }
  const bool symmetric = options.scheme == Scheme::kSymmetric;
  count_keys(x, symmetric, state);
  if (!is_last) return Status::kOk;
  if (state.bit == 0x80000000U) set_ranks(search.percentile, state);
  find_bits(state);
  if (state.bit != 0) return Status::kOk;
  const float high = percentile_of(state, 1);
  range = {symmetric ? -high : percentile_of(state, 0), high};
  return Status::kOk;
}

Status search_ranges(std::span<const float> x, const Granularity& granularity,
                     const RangeSearch& search, std::span<Range> ranges) {
  if (ranges.size() != granularity.slices || !has_size(granularity, x.size())) {
    return Status::kShapeMismatch;
  }
  SearchState state{};
  Status status = Status::kOk;
  for_slices(granularity, [&](std::size_t position, std::size_t index, const Slice& slice) {
    float buffer[kernels::kPiece];
    for (std::size_t pass = 0; pass < search_passes(search); ++pass) {
      for (std::size_t begin = 0; begin < slice.length; begin += slice.most) {
        const std::size_t count = std::min(slice.length - begin, slice.most);
        status = search_range_piece(slice.part(x.subspan(position), begin, count, buffer), search,
                                    pass + begin == 0, begin + count == slice.length, state,
                                    ranges[index]);
      }
    }
  });
  return status;
}

}  // namespace zeropoint
