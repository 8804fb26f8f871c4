#include "kernels/panels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "compare.h"
#include "core/linear_work.h"
#include "packed.h"
#include "random.h"
#include "reference/panels.h"

namespace zeropoint {
namespace {

using kernels::kPanel;
using testing::AlignedBytes;
using testing::Input;
using testing::kInfinity;
using testing::kNan;
using testing::Output;
using testing::Random;
using testing::same;

enum class Scales { kPerTensor, kPerOutput, kPerGroup, kPerInput };

/// A weight, plain and packed.
struct PackedLayer {
  reference::PlainWeight plain;
  AlignedBytes block{0};
  kernels::Panels panels{};

  PackedLayer(std::size_t n, std::size_t k, int bits, Scales form, std::size_t group, bool affine,
              Random& random)
      : plain{n, k, bits, form == Scales::kPerGroup ? group : std::max(k, std::size_t{1})} {
    const int half = 1 << (bits - 1);
    std::vector<std::int8_t> codes;
    for (std::size_t i = 0; i < n * k; ++i) {
      codes.push_back(static_cast<std::int8_t>(random.integer(-half, half - 1)));
      plain.codes.push_back(codes.back());
    }
    const std::size_t groups = plain.groups();
    const std::size_t count = form == Scales::kPerTensor   ? 1
                              : form == Scales::kPerOutput ? n
                              : form == Scales::kPerGroup  ? n * groups
                                                           : k;
    std::vector<float> scales;
    std::vector<std::int32_t> zero_points;
    for (std::size_t i = 0; i < count; ++i) {
      scales.push_back(std::fabs(random.spread(-9, 1)));
      zero_points.push_back(affine ? random.integer(-half, half - 1) : 0);
    }
    for (std::size_t i = 0; i < n * groups; ++i) {
      const std::size_t at = form == Scales::kPerTensor   ? 0
                             : form == Scales::kPerOutput ? i / groups
                                                          : i;
      plain.scales.push_back(form == Scales::kPerInput ? 1.0F : scales[at]);
      plain.zero_points.push_back(form == Scales::kPerInput ? 0 : zero_points[at]);
    }
    if (form == Scales::kPerInput) {
      plain.input_scales = scales;
      plain.input_zero_points.assign(zero_points.begin(), zero_points.end());
    }
    const DType dtype = bits == 8 ? DType::kInt8 : bits == 4 ? DType::kInt4 : DType::kInt2;
    constexpr WeightGranularity kGranularity[] = {
        WeightGranularity::kPerTensor, WeightGranularity::kPerOutput, WeightGranularity::kPerGroup,
        WeightGranularity::kPerInput};
    const QuantizedWeight<std::int8_t> w{codes, dtype,  kGranularity[static_cast<int>(form)],
                                         group, scales, zero_points};
    EXPECT_EQ(testing::pack(w, n, k, block), Status::kOk);
    panels = panels_of(block.data());
  }

  [[nodiscard]] float largest(std::size_t output) const {
    return panels.largest[output / kPanel * kPanel + output % kPanel];
  }
  [[nodiscard]] float ordinary(std::size_t output) const {
    return panels.ordinary[output / kPanel * 2 * kPanel + output % kPanel];
  }
  [[nodiscard]] float root(std::size_t output) const {
    return panels.ordinary[(output / kPanel * 2 + 1) * kPanel + output % kPanel];
  }
};

/// Calls f(layer) for every form that weights have, with `k` inputs or a few more.
template <typename F>
void for_layers(std::size_t k, Random& random, F f) {
  for (const int bits : {8, 4, 2}) {
    for (const bool affine : {false, true}) {
      for (const Scales form :
           {Scales::kPerTensor, Scales::kPerOutput, Scales::kPerGroup, Scales::kPerInput}) {
        for (const std::size_t group : {5U, 32U}) {
          const bool grouped = form == Scales::kPerGroup;
          if (grouped ? k == 0 : group != 5) continue;
          // Rounded up to whole groups half of the time.
          const bool whole = grouped && random.below(2) == 0;
          const std::size_t inputs = whole ? (k + group - 1) / group * group : k;
          // Only 4-bit codes have a layout for each dot product.
          for (const LayerKernels packed_for : {LayerKernels::kBaseline, LayerKernels::kRelaxed}) {
            if (bits != 4 && packed_for == LayerKernels::kRelaxed) continue;
            SCOPED_TRACE(::testing::Message() << bits << " bits, form " << static_cast<int>(form)
                                              << ", affine " << affine << ", K " << inputs
                                              << ", packed for " << static_cast<int>(packed_for));
            const testing::UsedKernels used(packed_for);
            const std::size_t n = 1 + random.below(19);
            f(PackedLayer(n, inputs, bits, form, group, affine, random));
          }
        }
      }
    }
  }
}

/// A row of one of a few kinds for the weights of output 0.
std::vector<float> row_for(const PackedLayer& layer, std::size_t kind, Random& random) {
  const std::size_t k = layer.plain.k;
  std::vector<float> x(k);
  for (float& value : x) value = random.uniform(-1, 1) + random.uniform(-1, 1);
  if (k == 0) return x;
  const std::size_t at = random.below(k);
  switch (kind) {
    case 0:  // ordinary
      break;
    case 1:  // all magnitudes
      for (float& value : x) value = random.spread(-40, 40);
      break;
    case 2:  // one value, far larger than all others
      x[at] = random.spread(25, 60);
      break;
    case 3:  // its terms of output 0 cancel, except for what float32 cannot hold
      if (const int code = layer.plain.codes[at] - layer.plain.zero_point(0, at); code != 0) {
        x[at] = 0.0F;
        const double unit = layer.plain.unit() * static_cast<double>(code) *
                            static_cast<double>(layer.plain.scales[at / layer.plain.group]);
        const double rest = reference::float_sum(x.data(), layer.plain, 0) * layer.plain.unit();
        const double own = layer.plain.per_input() ? double{layer.plain.input_scales[at]} : 1.0;
        x[at] = static_cast<float>(-rest / unit / own);
      }
      break;
    case 4:  // below the normal numbers
      for (float& value : x) value *= 0x1p-140F;
      break;
    case 5:  // near the largest number
      for (float& value : x) value *= 0x1p126F;
      break;
    case 6:
      std::fill(x.begin(), x.end(), 0.0F);
      break;
    case 7:
      x[at] = kNan;
      break;
    default:
      x[at] = -kInfinity;
      break;
  }
  return x;
}
constexpr std::size_t kRowKinds = 9;

constexpr kernels::Digits kAllDigits[] = {kernels::Digits::kI16, kernels::Digits::kI7,
                                          kernels::Digits::kI7Short};

/// Rows' digits, as digits_f32 writes them.
struct DigitRows {
  std::size_t rows;
  std::size_t steps;
  kernels::Digits format;
  std::vector<std::uint8_t> digits;
  std::vector<double> sums;
  std::vector<kernels::RowScale> scales;

  DigitRows(const std::vector<std::vector<float>>& x, const kernels::Panels& panels,
            kernels::Digits digits_format)
      : rows(x.size()),
        steps(panels.steps),
        format(digits_format),
        digits(rows * kernels::digit_row_bytes(steps)),
        sums(rows * panels.chunks) {
    Output<std::uint8_t> out(digits.size());
    for (std::size_t row = 0; row < rows; ++row) {
      const Input<float> input(x[row]);
      scales.push_back(kernels::digits_f32(input.data(), panels, format, rows, row, out.data(),
                                           sums.data() + row * panels.chunks));
    }
    EXPECT_TRUE(out.guards_intact());
    std::copy(out.values().begin(), out.values().end(), digits.begin());
  }

  /// The integer that the digits of an input make, read as panels.h states them.
  [[nodiscard]] std::int64_t integer(std::size_t row, std::size_t step, std::size_t lane) const {
    if (format == kernels::Digits::kI16) {
      const std::uint8_t* at = digits.data() + (row * steps + step) * 16 + 2 * lane;
      std::int16_t parts[2];
      std::memcpy(&parts[0], at, 2);
      std::memcpy(&parts[1], at + 8, 2);
      EXPECT_GE(parts[0], 0);
      EXPECT_LT(parts[0], 1 << 14);
      return parts[1] * std::int64_t{1 << 14} + parts[0];
    }
    const bool is_short = format == kernels::Digits::kI7Short;
    const std::size_t lines = is_short ? 3 : 4;
    // Three rows of four lines, or two of three, are blocks of six lines; a row that is left is a
    // block of its own.
    const std::size_t in_sixes = is_short ? rows / 2 * 2 : rows / 3 * 3;
    std::int64_t value = is_short ? -(1 << 20) : -(1 << 27);
    for (std::size_t line = 0; line < lines; ++line) {
      const std::size_t all = lines * row + line;
      const std::size_t block = row < in_sixes ? 6 : lines;
      const std::size_t first = row < in_sixes ? all / 6 * 6 : lines * row;
      const std::uint8_t digit =
          digits[first * steps * 4 + step * block * 4 + (all - first) * 4 + lane];
      EXPECT_LT(digit, 128);
      value += std::int64_t{digit} << (7 * line);
    }
    return value;
  }
};

void expect_digits(const PackedLayer& layer, const std::vector<float>& x, const DigitRows& actual,
                   std::size_t row) {
  const reference::FixedRow expected =
      reference::fixed_row(x.data(), layer.plain, kernels::digit_bits(actual.format));
  const kernels::RowScale& scale = actual.scales[row];
  ASSERT_EQ(scale.finite, expected.finite);
  if (!expected.finite) return;
  EXPECT_EQ(scale.unit, expected.unit);
  const std::size_t chunks = layer.panels.chunks;
  EXPECT_TRUE(same(std::span(actual.sums).subspan(row * chunks, chunks),
                   reference::chunk_sums(expected, layer.plain)));
  // Bounds, and good ones.
  const bool is_short = actual.format == kernels::Digits::kI7Short;
  const double error = is_short ? std::sqrt(expected.error_squares) : expected.error;
  EXPECT_GE(scale.error, is_short ? error : error * 0.999);
  EXPECT_LE(scale.error, error * 1.002 + 0x1p-60);
  EXPECT_LE(scale.sum, expected.sum);
  EXPECT_GE(scale.sum, expected.sum * 0.998);
  EXPECT_GE(scale.norm, std::sqrt(expected.squares));
  EXPECT_LE(scale.norm, std::sqrt(expected.squares) * 1.002);
  std::size_t step = 0;
  kernels::for_chunks(
      layer.plain.k, layer.plain.group, [&](std::size_t first, std::size_t inputs, std::size_t) {
        const std::size_t steps = kernels::steps_of(inputs, layer.plain.bits);
        for (std::size_t i = 0; i < steps * 4; ++i) {
          const std::int64_t integer = i < inputs ? expected.integers[first + i] : 0;
          ASSERT_EQ(actual.integer(row, step + i / 4, i % 4), integer) << "input " << first + i;
        }
        step += steps;
      });
}

TEST(DigitsF32, AreTheIntegersOfTheReferenceInEveryFormat) {
  Random random(122);
  for (const std::size_t k : {0U, 1U, 6U, 33U, 1029U, 2100U}) {
    for_layers(k, random, [&](const PackedLayer& layer) {
      std::vector<std::vector<float>> rows;
      for (std::size_t kind = 0; kind < kRowKinds + 2; ++kind) {
        rows.push_back(row_for(layer, kind % kRowKinds, random));
      }
      // With 21 bits, these values round to one more than the largest integer.
      for (const float sign : {1.0F, -1.0F}) {
        rows.emplace_back(layer.plain.k, sign * std::nextafter(1.0F, 0.0F));
      }
      for (const kernels::Digits format : kAllDigits) {
        if (format == kernels::Digits::kI7Short && layer.panels.input_scales != nullptr) continue;
        const DigitRows actual(rows, layer.panels, format);
        for (std::size_t row = 0; row < rows.size(); ++row) {
          SCOPED_TRACE(::testing::Message()
                       << "row " << row << ", format " << static_cast<int>(format));
          expect_digits(layer, rows[row], actual, row);
        }
      }
    });
  }
}

// K a multiple of 16, and another: padding counts as small weights.
TEST(PackedWeight, BoundsTheMagnitudesOfItsWeights) {
  Random random(123);
  const auto expect_sizes = [](const PackedLayer& layer) {
    const reference::PlainWeight& w = layer.plain;
    float root = 0.0F;
    for (std::size_t output = 0; output < w.n; ++output) {
      double small = 0;
      double squares = 0;
      for (std::size_t i = 0; i < w.k; ++i) {
        const auto scale = static_cast<double>(w.scales[output * w.groups() + i / w.group]);
        const double weight =
            std::abs(w.codes[output * w.k + i] - w.zero_point(output, i)) * w.unit() * scale;
        EXPECT_GE(static_cast<double>(layer.largest(output)), weight);
        if (weight < static_cast<double>(layer.ordinary(output))) ++small;
        squares += weight * weight;
      }
      EXPECT_GE(static_cast<double>(layer.root(output)) * static_cast<double>(layer.root(output)),
                small * 0.999999);
      // `ordinary` is 0 for weights with zero points, and the norm infinite.
      EXPECT_GE(static_cast<double>(layer.panels.norm),
                std::sqrt(squares) / static_cast<double>(layer.ordinary(output)));
      root = std::max(root, layer.root(output));
    }
    EXPECT_EQ(layer.panels.root, root);
  };
  for (const std::size_t k : {96U, 100U}) for_layers(k, random, expect_sizes);
}

TEST(PackedWeight, BoundsTheDistanceOfUnsignedCodesFromZeroPointsOfInputs) {
  constexpr std::size_t kInputs = 16;
  for (const std::uint8_t code : {std::uint8_t{0}, std::uint8_t{255}}) {
    for (const std::int32_t zero_point : {0, 128, 255}) {
      const std::vector<std::uint8_t> codes(kInputs, code);
      const std::vector<float> scales(kInputs, 1.0F);
      const std::vector<std::int32_t> zero_points(kInputs, zero_point);
      const QuantizedWeight<std::uint8_t> w{codes, DType::kUint8, WeightGranularity::kPerInput,
                                            0,     scales,        zero_points};
      AlignedBytes block(0);
      ASSERT_EQ(testing::pack(w, 1, kInputs, block), Status::kOk);
      EXPECT_GE(panels_of(block.data()).largest[0],
                static_cast<float>(std::abs(code - zero_point)));
    }
  }
}

/// Row numbers in order; more than a test has rows.
constexpr std::uint16_t kPlaces[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,
                                     15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29};

/// Multiplies rows by a layer in every format, and counts the ways in which outputs are computed.
void expect_products(const PackedLayer& layer, const std::vector<std::vector<float>>& rows,
                     const std::vector<float>& bias, double tolerance, std::size_t (&ways)[3]) {
  const reference::PlainWeight& w = layer.plain;
  const float* added = bias.empty() ? nullptr : bias.data();
  std::vector<float> x;
  for (const std::vector<float>& row : rows) x.insert(x.end(), row.begin(), row.end());
  for (const kernels::Digits format : {kernels::Digits::kI16, kernels::Digits::kI7}) {
    const DigitRows digits(rows, layer.panels, format);
    std::vector<float> expected;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const reference::FixedRow fixed = reference::fixed_row(rows[row].data(), w);
      for (std::size_t output = 0; output < w.n; ++output) {
        const auto [y, way] = reference::multiply(
            rows[row].data(), fixed, w, output, digits.scales[row], layer.largest(output),
            layer.ordinary(output), layer.root(output), tolerance, added);
        expected.push_back(y);
        ++ways[static_cast<int>(way)];
      }
    }
    Output<float> out(rows.size() * w.n);
    kernels::multiply_panels(
        {layer.panels, rows.size(), x.data(), digits.digits.data(), digits.scales.data(),
         digits.sums.data(), tolerance, added, out.data(), kPlaces},
        format, 0, layer.panels.count());
    EXPECT_TRUE(same(out.values(), expected)) << "format " << static_cast<int>(format);
    EXPECT_TRUE(out.guards_intact());
  }
}

/// The same with short digits, without recomputed outputs.
void expect_short_products(const PackedLayer& layer, const std::vector<std::vector<float>>& rows) {
  const reference::PlainWeight& w = layer.plain;
  const DigitRows digits(rows, layer.panels, kernels::Digits::kI7Short);
  std::vector<float> expected;
  for (const std::vector<float>& row : rows) {
    const reference::FixedRow fixed = reference::fixed_row(row.data(), w, 21);
    for (std::size_t output = 0; output < w.n; ++output) {
      const double sum = reference::fixed_point_sum(fixed, w, output);
      expected.push_back(static_cast<float>(sum * (fixed.unit / w.unit())));
    }
  }
  Output<float> out(rows.size() * w.n);
  kernels::multiply_panels(
      {layer.panels, rows.size(), nullptr, digits.digits.data(), digits.scales.data(),
       digits.sums.data(), INFINITY, nullptr, out.data(), kPlaces},
      kernels::Digits::kI7Short, 0, layer.panels.count());
  EXPECT_TRUE(same(out.values(), expected));
  EXPECT_TRUE(out.guards_intact());
}

TEST(MultiplyPanels, MatchesTheReferenceForShortDigits) {
  Random random(126);
  for (const std::size_t k : {0U, 1U, 6U, 33U, 1029U, 2100U}) {
    for_layers(k, random, [&](const PackedLayer& layer) {
      if (layer.panels.input_scales != nullptr) return;
      std::vector<std::vector<float>> rows;
      const std::size_t count = 1 + random.below(28);
      for (std::size_t row = 0; row < count; ++row) rows.push_back(row_for(layer, row % 7, random));
      expect_short_products(layer, rows);
    });
  }
}

/// The largest error of a row's outputs with 21 bits, relative to sum |x w|.
double short_error(const PackedLayer& layer, const std::vector<float>& x) {
  const reference::PlainWeight& w = layer.plain;
  const reference::FixedRow fixed = reference::fixed_row(x.data(), w, 21);
  std::vector<float> magnitudes(x);
  for (float& value : magnitudes) value = std::fabs(value);
  reference::PlainWeight weights = w;
  for (int& code : weights.codes) code = std::abs(code);
  double worst = 0.0;
  for (std::size_t output = 0; output < w.n; ++output) {
    const double y = reference::fixed_point_sum(fixed, w, output) * fixed.unit / w.unit();
    const double error = std::fabs(y - reference::float_sum(x.data(), w, output));
    const double all = reference::float_sum(magnitudes.data(), weights, output);
    if (error > 0.0) worst = std::max(worst, error / all);
  }
  return worst;
}

TEST(IsEnough, IsTrueOnlyIfShortDigitsMeetTheTolerance) {
  Random random(127);
  std::size_t promises = 0;
  std::size_t refusals = 0;
  for (const std::size_t k : {1U, 6U, 33U, 300U, 1029U, 3000U}) {
    const double tolerance = static_cast<double>(k) * 0x1p-24;
    for_layers(k, random, [&](const PackedLayer& layer) {
      const reference::PlainWeight& w = layer.plain;
      if (layer.panels.input_scales != nullptr) return;
      for (std::size_t kind = 0; kind < kRowKinds + 1; ++kind) {
        std::vector<float> x = row_for(layer, kind < kRowKinds ? kind : 0, random);
        if (kind == kRowKinds) {
          // All values are rounded in the direction that makes output 0 larger.
          for (std::size_t i = 0; i < w.k; ++i) {
            const float half = w.codes[i] < 0 ? 0.499F : -0.499F;
            x[i] = static_cast<float>(random.integer(-3000, 3000)) + half;
          }
          x[0] = 0x1p20F - 1.0F;
        }
        const DigitRows digits({x}, layer.panels, kernels::Digits::kI7Short);
        if (kernels::is_enough(layer.panels, digits.scales[0], tolerance)) {
          ++promises;
          EXPECT_LE(short_error(layer, x), tolerance) << "kind " << kind;
        } else {
          ++refusals;
        }
      }
    });
  }
  EXPECT_GT(promises, 30U);
  EXPECT_GT(refusals, 300U);
}

// The worst case: weights of one size, and rounding errors of half an integer with their signs. The
// errors of 31 inputs add up to 31 / 2.
TEST(IsEnough, AllowsForErrorsOfEqualSign) {
  constexpr std::size_t kInputs = 32;
  constexpr double kTolerance = kInputs * 0x1p-24;
  const std::vector<std::int8_t> codes(kInputs, 8);
  const std::vector<float> scales = {1.0F};
  const std::vector<std::int32_t> zero_points = {0};
  const QuantizedWeight<std::int8_t> w{codes, DType::kInt8, WeightGranularity::kPerTensor,
                                       0,     scales,       zero_points};
  AlignedBytes block(0);
  ASSERT_EQ(testing::pack(w, 1, kInputs, block), Status::kOk);
  const kernels::Panels panels = panels_of(block.data());
  const auto is_enough = [&](float mean) {
    std::vector<float> x(kInputs, mean - 0.5F);
    x[0] = 0x1p19F;  // so that 1 is one integer
    const DigitRows digits({x}, panels, kernels::Digits::kI7Short);
    return kernels::is_enough(panels, digits.scales[0], kTolerance);
  };
  // (31 / 2) / (31 mean + 2^19) <= 32 * 2^-24 from 245230 on.
  EXPECT_FALSE(is_enough(240000.0F));
  EXPECT_TRUE(is_enough(400000.0F));
}

TEST(LinearPacked, DecidesOnShortDigitsRowByRow) {
  Random random(128);
  const std::size_t k = 1500;
  std::size_t short_rows = 0;
  std::size_t other_rows = 0;
  for_layers(k, random, [&](const PackedLayer& layer) {
    const kernels::Panels& panels = layer.panels;
    const std::size_t n = panels.n;
    const std::size_t count = 1 + random.below(300);
    std::vector<float> x;
    for (std::size_t row = 0; row < count; ++row) {
      const std::size_t kind = random.below(3) == 0 ? random.below(kRowKinds) : 0;
      const std::vector<float> values = row_for(layer, kind, random);
      x.insert(x.end(), values.begin(), values.end());
    }
    const AlignedBytes scratch(linear_scratch_size(layer.block.data(), count));
    const auto run = [&](std::size_t first, std::size_t rows, kernels::Digits format) {
      std::vector<float> y(rows * n);
      linear_packed(x.data() + first * panels.k, rows, panels, nullptr, format, scratch.span(), y);
      return y;
    };
    const std::vector<float> actual = run(0, count, kernels::Digits::kI7Short);
    const std::vector<float> exact = run(0, count, kernels::Digits::kI7);
    for (std::size_t row = 0; row < count; ++row) {
      const auto y = std::span(actual).subspan(row * n, n);
      ASSERT_TRUE(same(y, run(row, 1, kernels::Digits::kI7Short))) << "row " << row;
      (same(y, std::span(exact).subspan(row * n, n)) ? other_rows : short_rows)++;
    }
  });
  EXPECT_GT(short_rows, 100U);
  EXPECT_GT(other_rows, 100U);
}

/// Multiplies a row by int8 weights with scales of any granularity, in digits of a format.
std::vector<float> multiply_row(const std::vector<float>& x, const std::vector<std::int8_t>& codes,
                                WeightGranularity granularity, const std::vector<float>& scales,
                                kernels::Digits format) {
  const std::size_t n = codes.size() / x.size();
  const std::vector<std::int32_t> zero_points(scales.size());
  const QuantizedWeight<std::int8_t> w{codes, DType::kInt8, granularity, 0, scales, zero_points};
  AlignedBytes block(0);
  EXPECT_EQ(testing::pack(w, n, x.size(), block), Status::kOk);
  const AlignedBytes scratch(linear_scratch_size(block.data(), 1));
  std::vector<float> y(n);
  linear_packed(x.data(), 1, panels_of(block.data()), nullptr, format, scratch.span(), y);
  return y;
}

/// The reference's outputs of a row, and the way in which each was computed.
std::vector<reference::PanelOutput> expected_outputs(const PackedLayer& layer,
                                                     const std::vector<float>& x,
                                                     double tolerance) {
  const reference::FixedRow fixed = reference::fixed_row(x.data(), layer.plain);
  const DigitRows digits({x}, layer.panels, kernels::Digits::kI16);
  std::vector<reference::PanelOutput> outputs;
  for (std::size_t output = 0; output < layer.plain.n; ++output) {
    outputs.push_back(reference::multiply(x.data(), fixed, layer.plain, output, digits.scales[0],
                                          layer.largest(output), layer.ordinary(output),
                                          layer.root(output), tolerance, nullptr));
  }
  return outputs;
}

// Half of the header's bound, (K + 1) 2^-24, is for rounding activations. Above 2^16 inputs the
// tolerance stops growing, so that rounding in double remains negligible.
TEST(LinearPacked, RecomputesWhereRoundingMayExceedItsShareOfTheBound) {
  Random random(130);
  std::size_t decided = 0;  // outputs for which twice the tolerance would decide otherwise
  for (const std::size_t k : {1U, 2U, 20U, 300U, 1U << 18}) {
    const double tolerance = static_cast<double>(std::min<std::size_t>(k, 65536)) * 0x1p-24;
    const bool is_long = k > 65536;
    for (std::size_t round = 0; round < (is_long ? 4U : 200U); ++round) {
      const PackedLayer layer(3, k, 8, Scales::kPerOutput, 0, false, random);
      std::vector<float> x = random.uniforms(k, -1, 1);
      x[random.below(k)] = is_long ? random.spread(10, 13) : random.spread(0, 12);
      const auto expected = expected_outputs(layer, x, tolerance);
      const auto looser = expected_outputs(layer, x, 2.0 * tolerance);
      for (std::size_t i = 0; i < 3; ++i) decided += expected[i].way != looser[i].way ? 1 : 0;
      std::vector<float> y(3);
      for (const kernels::Digits format : {kernels::Digits::kI16, kernels::Digits::kI7}) {
        const AlignedBytes scratch(linear_scratch_size(layer.block.data(), 1));
        linear_packed(x.data(), 1, layer.panels, nullptr, format, scratch.span(), y);
        for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(y[i], expected[i].y) << "K " << k;
      }
    }
  }
  EXPECT_GT(decided, 20U);
}

// Around the kernels' maximum number of rows, and around twice that; all rows would fit into the
// cache.
TEST(LinearPacked, CutsManyRowsIntoBlocks) {
  Random random(131);
  const PackedLayer layer(5, 6, 8, Scales::kPerTensor, 0, false, random);
  for (const std::size_t rows : {kernels::kMaxRows - 1, kernels::kMaxRows, kernels::kMaxRows + 1,
                                 2 * kernels::kMaxRows, 2 * kernels::kMaxRows + 1}) {
    const std::vector<float> x = random.uniforms(rows * 6, -1, 1);
    const AlignedBytes scratch(linear_scratch_size(layer.block.data(), rows));
    for (const kernels::Digits format : kAllDigits) {
      std::vector<float> y(rows * 5);
      linear_packed(x.data(), rows, layer.panels, nullptr, format, scratch.span(), y);
      for (std::size_t row = 0; row < rows; ++row) {
        std::vector<float> alone(5);
        linear_packed(x.data() + row * 6, 1, layer.panels, nullptr, format, scratch.span(), alone);
        ASSERT_TRUE(same(std::span(y).subspan(row * 5, 5), alone)) << row << " of " << rows;
      }
    }
  }
}

TEST(RowBlock, FitsIn32BitsForRowsOfAnyLength) {
  kernels::Panels panels{};
  panels.n = 1;
  panels.k = std::size_t{1} << 24;
  panels.bits = 2;
  panels.group = 1;
  // Groups of one input are the worst: a pair of steps and a sum for each.
  panels.chunks = panels.k;
  panels.steps = 2 * panels.k;
  const RowBlock block = RowBlock::digits_of(panels, 1000);
  EXPECT_EQ(block.rows, 1U);
  EXPECT_LT(block.bytes(), std::uint64_t{1} << 32);
  panels.chunks = 1;
  panels.steps = 250;
  EXPECT_GT(RowBlock::digits_of(panels, 1000).rows, 16U);
}

TEST(RowBlock, TakesTheLargestNumberOfRows) {
  kernels::Panels panels{};
  panels.n = 1;
  panels.k = 1;
  panels.steps = 1;
  EXPECT_EQ(RowBlock::digits_of(panels, SIZE_MAX).rows, kernels::kMaxRows);
  EXPECT_EQ(RowBlock::bytes_of(panels, SIZE_MAX).rows, kernels::kMaxRows);
  EXPECT_EQ(RowBlock::digits_of(panels, 0).rows, 0U);
}

TEST(LinearPacked, ClampsAScaledInputThatRoundsUpToAPowerOfTwo) {
  for (const kernels::Digits format : {kernels::Digits::kI16, kernels::Digits::kI7}) {
    // (1 + 2^-14) (1 - 2^-14) = 1 - 2^-28: half an integer above the largest one of 28 bits.
    const std::vector<float> y = multiply_row(
        {1.0F + 0x1p-14F}, {1, -1}, WeightGranularity::kPerInput, {1.0F - 0x1p-14F}, format);
    EXPECT_EQ(y, (std::vector<float>{1.0F, -1.0F})) << "format " << static_cast<int>(format);
  }
}

TEST(LinearPacked, TakesTheSameDigitsForWeightsOfAllMagnitudes) {
  Random random(129);
  constexpr std::size_t kInputs = 1500;
  constexpr std::size_t kOutputs = 3;
  std::size_t short_rows = 0;
  for (std::size_t round = 0; round < 40; ++round) {
    std::vector<std::int8_t> codes(kOutputs * kInputs);
    for (std::int8_t& code : codes) code = static_cast<std::int8_t>(random.integer(-127, 127));
    std::vector<float> x = random.uniforms(kInputs, -1, 1);
    x[0] *= static_cast<float>(1 << round % 20);  // some rows need more digits than others
    const auto run = [&](float scale, kernels::Digits format) {
      std::vector<float> y = multiply_row(x, codes, WeightGranularity::kPerTensor, {scale}, format);
      for (float& value : y) value /= scale;
      return y;
    };
    const std::vector<float> y = run(1.0F, kernels::Digits::kI7Short);
    for (const float scale : {0x1p-20F, 0x1p20F}) {
      EXPECT_EQ(run(scale, kernels::Digits::kI7Short), y) << "round " << round << ", " << scale;
    }
    if (y != run(1.0F, kernels::Digits::kI7)) ++short_rows;
  }
  EXPECT_GT(short_rows, 5U);
  EXPECT_LT(short_rows, 35U);
}

TEST(MultiplyPanels, MatchesTheReferenceInEveryFormForEveryKindOfRow) {
  Random random(124);
  std::size_t ways[3] = {};
  for (const std::size_t k : {0U, 1U, 6U, 33U, 1029U, 2100U}) {
    for_layers(k, random, [&](const PackedLayer& layer) {
      std::vector<std::vector<float>> rows;
      for (std::size_t kind = 0; kind < kRowKinds; ++kind) {
        rows.push_back(row_for(layer, kind, random));
      }
      const std::vector<float> bias = random.uniforms(layer.plain.n, -1, 1);
      // The tolerance of linear.cpp.
      const double tolerance = static_cast<double>(layer.plain.k) * 0x1p-24;
      expect_products(layer, rows, random.below(2) == 0 ? bias : std::vector<float>(), tolerance,
                      ways);
    });
  }
  // Certified and recomputed results are rare; each way must have occurred.
  for (const std::size_t way : ways) EXPECT_GT(way, 30U);
}

TEST(MultiplyPanels, MatchesTheReferenceForEveryNumberOfRows) {
  Random random(125);
  std::size_t ways[3] = {};
  for (std::size_t count = 0; count <= 14; ++count) {
    SCOPED_TRACE(::testing::Message() << count << " rows");
    for_layers(70, random, [&](const PackedLayer& layer) {
      std::vector<std::vector<float>> rows;
      for (std::size_t row = 0; row < count; ++row) rows.push_back(row_for(layer, 0, random));
      expect_products(layer, rows, {}, 0x1p-18, ways);
    });
  }
}

}  // namespace
}  // namespace zeropoint
