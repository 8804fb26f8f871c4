// row_errors.h, against the same functions group by group, and sums in another order.
#include "fuzz.h"
#include "zeropoint/dequantize.h"
#include "zeropoint/row_errors.h"

namespace zeropoint::fuzz {
namespace {

struct Rows {
  std::vector<float> w;
  std::size_t row_length;
  std::size_t count;
  std::vector<double> weights;
};

// Quantizes and dequantizes values that share a scale. @return whether all of them are finite
bool fake_quantize_group(std::span<const float> x, const RowScheme& scheme, std::span<float> out) {
  Range range = scheme.group_size == 0 ? scheme.range : min_max(x);
  if (!std::isfinite(range.min) || !std::isfinite(range.max)) return false;
  if (scheme.searches && scheme.group_size != 0) {
    check(search_ranges(x, {1, 1, x.size()}, {scheme.qparams, 0.0}, {&range, 1}), Status::kOk);
  }
  QParams qparams{};
  check(choose_qparams(range, scheme.qparams, qparams), Status::kOk);
  const auto scale = static_cast<float>(qparams.scale);
  const std::uint32_t shape[] = {static_cast<std::uint32_t>(x.size())};
  const QParamsView view{{&scale, 1}, {&qparams.zero_point, 1}, {}, 0};
  check(fake_quantize({x, Shape(shape)}, view, scheme.qparams.dtype, out), Status::kOk);
  return true;
}

// The sums in order, of a row in which all values are finite.
void check_row(const RowError& error, std::span<const float> w, std::span<const float> v,
               std::span<const double> weights) {
  RowError sums{};
  double size = 0;  // of the products
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double difference = double{w[i]} - double{v[i]};
    sums.noise += difference * difference;
    sums.energy += double{v[i]} * double{v[i]};
    sums.product += double{w[i]} * double{v[i]};
    size += std::fabs(double{w[i]} * double{v[i]});
    sums.absolute += std::fabs(difference);
    sums.largest = std::max(sums.largest, std::fabs(difference));
    if (!weights.empty()) sums.weighted += weights[i] * (difference * difference);
  }
  // n additions, each rounded to 2^-53 of a partial sum, in two orders; one rounding of each term.
  const double bound = 2 * (static_cast<double>(w.size()) + 2) * 0x1p-53;
  const auto near = [=](double a, double b, double magnitude) {
    // Terms below the normal doubles are rounded to their smallest steps.
    return same_value(a, b) ||
           std::fabs(a - b) <= bound * magnitude + static_cast<double>(w.size()) * 0x1p-1073;
  };
  check(error.largest == sums.largest, "the largest difference");
  check(near(error.noise, sums.noise, sums.noise), "the noise");
  check(near(error.energy, sums.energy, sums.energy), "the energy");
  check(near(error.product, sums.product, size), "the product");
  check(near(error.absolute, sums.absolute, sums.absolute), "the absolute difference");
  check(near(error.weighted, sums.weighted, sums.weighted), "the weighted noise");
}

enum class Kind {
  kFinite,
  kOverflows,  ///< finite values, whose quantized ones are not
  kNonFinite,
};

// Checks all rows against expected values, which rows of finite values have.
template <typename Call>
void check_rows(const Rows& rows, const std::vector<float>& expected,
                const std::vector<Kind>& kinds, Call call) {
  Output<float> values(rows.w.size());
  std::vector<RowError> errors(rows.count);
  check(call(values.span(), std::span<RowError>(errors)), Status::kOk);
  for (std::size_t row = 0; row < rows.count; ++row) {
    if (kinds[row] == Kind::kNonFinite) {
      check(std::isnan(errors[row].noise) && std::isnan(errors[row].largest), "NaN in all fields");
      continue;
    }
    if (kinds[row] == Kind::kOverflows) {
      check(!std::isfinite(errors[row].noise), "the noise of values that are not finite");
      continue;
    }
    const std::span<const float> w(rows.w.data() + row * rows.row_length, rows.row_length);
    const auto own = values.values().subspan(row * rows.row_length, rows.row_length);
    // A row that is finite has NaN if it shares a piece with one that is not.
    if (std::isnan(errors[row].noise)) {
      check(std::find(kinds.begin(), kinds.end(), Kind::kNonFinite) != kinds.end(),
            "finite rows have an error");
      continue;
    }
    const std::span<const float> v(expected.data() + row * rows.row_length, rows.row_length);
    check_same(own, std::vector<float>(v.begin(), v.end()));
    check_row(errors[row], w, v, rows.weights);
  }
  // The same errors without the values, and none of a wrong length.
  std::vector<RowError> again(rows.count);
  check(call({}, std::span<RowError>(again)), Status::kOk);
  for (std::size_t row = 0; row < rows.count; ++row) {
    check(same_value(again[row].noise, errors[row].noise), "the noise without values");
  }
  std::vector<RowError> more(rows.count + 1);
  check(call({}, std::span<RowError>(more)), Status::kShapeMismatch);
}

// Weights of the columns, or none.
std::vector<double> take_weights(Source& source, std::size_t n) {
  std::vector<double> weights;
  if (source.flag()) return weights;
  for (const float weight : source.finite_floats(n)) {
    weights.push_back(std::fabs(double{weight}));
  }
  return weights;
}

void run_scheme(Source& source) {
  constexpr DType kDTypes[] = {DType::kInt2,  DType::kInt4,  DType::kInt8,
                               DType::kUint2, DType::kUint4, DType::kUint8};
  const DType dtype = source.pick(kDTypes);
  RowScheme scheme;
  scheme.qparams = {dtype, source.flag() ? Scheme::kAffine : Scheme::kSymmetric, true};
  scheme.searches = source.rarely(4);
  Rows rows{};
  const std::size_t runs = 1 + source.below(3);
  scheme.run_length = 1 + source.below(source.rarely(8) ? 3000 : 70);
  scheme.group_size = source.below(scheme.run_length + 4);
  rows.row_length = runs * scheme.run_length;
  rows.count = source.below(6);
  rows.w = source.floats(rows.count * rows.row_length);
  rows.weights = take_weights(source, rows.row_length);
  scheme.range = {-std::fabs(source.special()), std::fabs(source.special())};
  const bool is_known = std::isfinite(scheme.range.min) && std::isfinite(scheme.range.max);
  const auto call = [&](std::span<float> values, std::span<RowError> out) {
    return row_errors(rows.w, rows.row_length, scheme, rows.weights, values, out);
  };
  if (!dtype_info(dtype).is_signed() && scheme.qparams.scheme == Scheme::kSymmetric) {
    std::vector<RowError> errors(rows.count);
    check(call({}, errors), Status::kUnsignedSymmetric);
    return;
  }
  if (scheme.group_size == 0 && !is_known) {
    std::vector<RowError> errors(rows.count);
    check(call({}, errors), Status::kNonFinite);
    return;
  }
  std::vector<float> expected(rows.w.size());
  std::vector<Kind> kinds(rows.count, Kind::kFinite);
  for (std::size_t start = 0; start < rows.w.size(); start += scheme.run_length) {
    const std::size_t row = start / rows.row_length;
    const std::size_t group = scheme.group_size == 0 ? scheme.run_length : scheme.group_size;
    for (std::size_t at = 0; at < scheme.run_length; at += group) {
      const std::size_t count = std::min(group, scheme.run_length - at);
      const std::span<const float> x(rows.w.data() + start + at, count);
      const bool has_all =
          std::all_of(x.begin(), x.end(), [](float value) { return std::isfinite(value); }) &&
          fake_quantize_group(x, scheme, {expected.data() + start + at, count});
      if (!has_all) kinds[row] = Kind::kNonFinite;
    }
  }
  check_rows(rows, expected, kinds, call);
}

void run_blocks(Source& source) {
  const auto type = static_cast<BlockType>(source.below(kBlockTypes));
  const BlockInfo info = block_info(type);
  Rows rows{};
  rows.row_length = info.values * (1 + source.below(info.values == 1 ? 100 : 3));
  rows.count = source.below(4);
  rows.w = source.floats(rows.count * rows.row_length);
  rows.weights = take_weights(source, rows.row_length);
  std::vector<float> expected(rows.w.size());
  std::vector<Kind> kinds(rows.count, Kind::kNonFinite);
  std::vector<std::uint8_t> bytes(rows.row_length / info.values * info.bytes);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const std::span<const float> w(rows.w.data() + row * rows.row_length, rows.row_length);
    const std::span<float> v(expected.data() + row * rows.row_length, rows.row_length);
    const Status status = quantize_blocks(w, rows.row_length, type, {}, bytes);
    check(status == Status::kOk || status == Status::kNonFinite, "rows are quantized");
    if (status != Status::kOk) continue;
    check(dequantize_blocks(bytes, type, v), Status::kOk);
    // Scales of a block may overflow float16.
    const bool is_finite =
        std::all_of(v.begin(), v.end(), [](float value) { return std::isfinite(value); });
    kinds[row] = is_finite ? Kind::kFinite : Kind::kOverflows;
  }
  check_rows(rows, expected, kinds, [&](std::span<float> values, std::span<RowError> out) {
    return row_errors(rows.w, rows.row_length, type, rows.weights, values, out);
  });
}

}  // namespace

void run(Source source) {
  if (source.rarely(3)) {
    run_blocks(source);
  } else {
    run_scheme(source);
  }
}

}  // namespace zeropoint::fuzz
