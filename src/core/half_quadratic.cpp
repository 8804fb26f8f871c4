// The half-quadratic part of qparams.h.
#include <algorithm>
#include <cfloat>
#include <cmath>

#include "core/ranges.h"
#include "kernels/kernels.h"
#include "zeropoint/qparams.h"

namespace zeropoint {
namespace {

constexpr std::size_t kIterations = 20;
constexpr double kFirstBeta = 10.0;
constexpr double kBetaGrowth = 1.01;

double total(const double (&p)[4]) { return (p[0] + p[2]) + (p[1] + p[3]); }

kernels::CodeRule rule_of(const QParamsOptions& options) {
  const DTypeInfo info = dtype_info(options.dtype);
  return {info.qmin, info.qmax, info.qmax};
}

// The iterate as usable qparams: for the affine scheme with a rounded zero point.
ChosenQParams usable(const HalfQuadraticState& state, const QParamsOptions& options) {
  ChosenQParams qparams{static_cast<double>(state.scale), 0, 0.0F};
  if (options.scheme == Scheme::kOffset) qparams.offset = state.offset;
  if (options.scheme != Scheme::kAffine) return qparams;
  const DTypeInfo info = dtype_info(options.dtype);
  const double zero =
      std::nearbyint(-static_cast<double>(state.offset) / static_cast<double>(state.scale));
  const auto low = static_cast<double>(info.qmin);
  qparams.zero_point =
      static_cast<std::int32_t>(std::clamp(zero, low, static_cast<double>(info.qmax)));
  return qparams;
}

// Initializes the state with the qparams of the whole range.
void begin(Range range, const QParamsOptions& options, HalfQuadraticState& state) {
  state = {};
  state.beta = kFirstBeta;
  state.least = INFINITY;
  if (options.scheme == Scheme::kOffset) {
    double scale = 0.0;
    // The range is finite.
    static_cast<void>(choose_offset(range, options.dtype, scale, state.offset));
    state.scale = static_cast<float>(scale);
    return;
  }
  double scale = 0.0;
  std::int32_t zero_point = 0;
  kernels::choose_qparams_f64(&range, 1, choice_rule(options), &scale, &zero_point);
  state.scale = static_cast<float>(scale);
  const double offset = -static_cast<double>(zero_point) * static_cast<double>(state.scale);
  state.offset = static_cast<float>(offset);
}

void add_piece(std::span<const float> x, const QParamsOptions& options, HalfQuadraticState& state) {
  const kernels::CodeRule rule = rule_of(options);
  const ChosenQParams own = usable(state, options);
  const auto scale = static_cast<float>(own.scale);
  if (options.scheme == Scheme::kOffset) {
    kernels::squared_offset_errors_f32(x.data(), x.size(), scale, own.offset, rule, state.errors);
  } else {
    kernels::squared_errors_f32(x.data(), x.size(),
                                {scale, static_cast<float>(own.zero_point), own.zero_point}, rule,
                                state.errors);
  }
  if (state.pass == kIterations) return;
  kernels::half_quadratic_f32(x.data(), x.size(), state.scale, state.offset,
                              static_cast<float>(1.0 / state.beta), rule, state.sums);
}

// Fits scale and offset to codes and targets by least squares. Values that have no solution, or one
// outside float32, stay those of the iterate.
void update(const QParamsOptions& options, HalfQuadraticState& state) {
  const HalfQuadraticSums& s = state.sums;
  const double n = total(s.counts);
  const double codes = total(s.codes);
  const double squares = total(s.squares);
  const double targets = total(s.targets);
  const double products = total(s.products);
  const bool is_symmetric = options.scheme == Scheme::kSymmetric;
  const double divisor = is_symmetric ? squares : n * squares - codes * codes;
  const double dividend = is_symmetric ? products : n * products - codes * targets;
  const double scale = dividend / divisor;
  if (divisor > 0.0 && scale > 0.0 && scale <= static_cast<double>(FLT_MAX)) {
    state.scale = static_cast<float>(std::max(scale, static_cast<double>(FLT_MIN)));
  }
  if (is_symmetric) return;
  const double offset = (targets - static_cast<double>(state.scale) * codes) / n;
  if (std::fabs(offset) <= static_cast<double>(FLT_MAX)) state.offset = static_cast<float>(offset);
}

void end_pass(const QParamsOptions& options, HalfQuadraticState& state) {
  const double error = total(state.errors);
  if (error < state.least) {
    state.least = error;
    state.best = usable(state, options);
  }
  if (state.pass < kIterations) update(options, state);
  ++state.pass;
  state.beta *= kBetaGrowth;
  state.sums = {};
  std::fill_n(state.errors, 4, 0.0);
}

}  // namespace

std::size_t half_quadratic_passes() { return kIterations + 1; }

Status half_quadratic_piece(std::span<const float> x, Range range, const QParamsOptions& options,
                            bool is_first, bool is_last, HalfQuadraticState& state,
                            ChosenQParams& out) {
  if (!fits_dtype(options)) return Status::kUnsignedSymmetric;
  if (!is_finite(range)) return Status::kNonFinite;
  if (is_first) begin(range, options, state);
  add_piece(x, options, state);
  if (is_last) end_pass(options, state);
  if (is_last && state.pass > kIterations) out = state.best;
  return Status::kOk;
}

Status half_quadratic(std::span<const float> x, const Granularity& granularity,
                      std::span<const Range> ranges, const QParamsOptions& options,
                      std::span<ChosenQParams> out) {
  if (ranges.size() != granularity.slices || out.size() != granularity.slices ||
      !has_size(granularity, x.size())) {
    return Status::kShapeMismatch;
  }
  HalfQuadraticState state{};
  Status status = Status::kOk;
  for_slices(granularity, [&](std::size_t position, std::size_t index, const Slice& slice) {
    float buffer[kernels::kPiece];
    for (std::size_t pass = 0; pass <= kIterations; ++pass) {
      for (std::size_t begin = 0; begin < slice.length; begin += slice.most) {
        const std::size_t count = std::min(slice.length - begin, slice.most);
        const Status own = half_quadratic_piece(
            slice.part(x.subspan(position), begin, count, buffer), ranges[index], options,
            pass + begin == 0, begin + count == slice.length, state, out[index]);
        if (own != Status::kOk) status = own;
      }
    }
  });
  return status;
}

}  // namespace zeropoint
