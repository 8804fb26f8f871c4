// The W8A8 functions of linear.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "compare.h"
#include "core/linear_work.h"
#include "core/packed_weight.h"
#include "core/parallel.h"
#include "kernels/panels.h"
#include "packed.h"
#include "random.h"
#include "reference/quantize_f32.h"
#include "zeropoint/linear.h"

namespace zeropoint {
namespace {

using testing::kInfinity;
using testing::kNan;
using testing::Output;
using testing::Random;
using testing::same;

// ---- choose_quantization_params

QParams choose(Range range, bool reduce_range = false) {
  QParams qparams{};
  EXPECT_EQ(choose_quantization_params(range, 0, 255, reduce_range, qparams), Status::kOk);
  return qparams;
}

TEST(ChooseQuantizationParams, MapsTheRangeOntoAllCodesInDouble) {
  EXPECT_EQ(choose({-1.0F, 2.0F}).scale, 3.0 / 255.0);
  EXPECT_EQ(choose({-1.0F, 2.0F}).zero_point, 85);
}

TEST(ChooseQuantizationParams, WidensTheRangeToZero) {
  EXPECT_EQ(choose({2.0F, 5.0F}).scale, 5.0 / 255.0);
  EXPECT_EQ(choose({2.0F, 5.0F}).zero_point, 0);
  EXPECT_EQ(choose({-5.0F, -2.0F}).scale, 5.0 / 255.0);
  EXPECT_EQ(choose({-5.0F, -2.0F}).zero_point, 255);
}

TEST(ChooseQuantizationParams, HalvesTheCodesTowardZeroForAReducedRange) {
  EXPECT_EQ(choose({0.0F, 127.0F}, true).scale, 1.0);
  QParams qparams{};
  ASSERT_EQ(choose_quantization_params({-64.0F, 63.0F}, -128, 127, true, qparams), Status::kOk);
  EXPECT_EQ(qparams.scale, 1.0);
  EXPECT_EQ(qparams.zero_point, 0);
}

TEST(ChooseQuantizationParams, RoundsTheZeroPointHalfToEven) {
  EXPECT_EQ(choose({-0.5F, 254.5F}).zero_point, 0);
  EXPECT_EQ(choose({-1.5F, 253.5F}).zero_point, 2);
  EXPECT_EQ(choose({-2.5F, 252.5F}).zero_point, 2);
}

TEST(ChooseQuantizationParams, TakesScale0Point1IfTheReciprocalIsInfinite) {
  for (const float max : {0.0F, testing::kSmallest, 1e-37F}) {
    EXPECT_EQ(choose({0.0F, max}).scale, 0.1) << max;
    EXPECT_EQ(choose({0.0F, max}).zero_point, 0) << max;
  }
}

TEST(ChooseQuantizationParams, RaisesSmallScalesAndTheRangeWithThem) {
  const auto smallest = double{6.1e-5F};
  EXPECT_EQ(choose({0.0F, 1e-5F}).scale, smallest);
  EXPECT_EQ(choose({0.0F, 1e-5F}).zero_point, 0);
  EXPECT_EQ(choose({-1e-5F, 0.0F}).scale, smallest);
  EXPECT_EQ(choose({-1e-5F, 0.0F}).zero_point, 255);
  // Widened on both sides alike, so zero stays at two thirds.
  EXPECT_EQ(choose({-2e-5F, 1e-5F}).scale, smallest);
  EXPECT_EQ(choose({-2e-5F, 1e-5F}).zero_point, 170);
  // The limit is a float32, a little below 6.1e-5; this scale lies between the two.
  EXPECT_EQ(choose({0.0F, 0.015555F}).scale, double{0.015555F} / 255.0);
}

TEST(ChooseQuantizationParams, RefusesRangesThatAreNotFiniteOrNotOrdered) {
  for (const Range range : {Range{kNan, kNan}, Range{0.0F, kNan}, Range{0.0F, kInfinity},
                            Range{-kInfinity, 0.0F}, Range{1.0F, 0.0F}}) {
    QParams qparams = {7.0, 7};
    EXPECT_EQ(choose_quantization_params(range, 0, 255, false, qparams), Status::kNonFinite);
    EXPECT_EQ(qparams.scale, 7.0);
    EXPECT_EQ(qparams.zero_point, 7);
  }
}

TEST(ChooseQuantizationParams, RefusesARangeOfFewerThanTwoCodes) {
  struct Codes {
    std::int32_t qmin;
    std::int32_t qmax;
    bool reduce_range;
  };
  for (const auto [qmin, qmax, reduce_range] :
       {Codes{0, 0, false}, Codes{5, 4, false}, Codes{0, 1, true}, Codes{-1, 1, true}}) {
    QParams qparams = {7.0, 7};
    EXPECT_EQ(choose_quantization_params({-1.0F, 1.0F}, qmin, qmax, reduce_range, qparams),
              Status::kInvalidZeroPoint);
    EXPECT_EQ(qparams.scale, 7.0);
    EXPECT_EQ(qparams.zero_point, 7);
  }
}

// ---- quantize_bias

TEST(QuantizeBias, DividesByTheProductOfTheScalesAndRoundsHalfToEven) {
  const std::vector<float> bias = {1.0F, 0.5F, -1.5F, 0.25F};
  const std::vector<float> one = {0.5F};
  std::vector<float> out(4);
  ASSERT_EQ(quantize_bias(bias, 2.0, one, out), Status::kOk);
  EXPECT_EQ(out, (std::vector<float>{1.0F, 0.0F, -2.0F, 0.0F}));
  const std::vector<float> each = {0.5F, 0.25F, 0.125F, 1.0F};
  ASSERT_EQ(quantize_bias(bias, 1.0, each, out), Status::kOk);
  EXPECT_EQ(out, (std::vector<float>{2.0F, 2.0F, -12.0F, 0.0F}));
}

TEST(QuantizeBias, DoesNotSaturateAtInt32) {
  const std::vector<float> bias = {1e20F, -1e20F, kInfinity, -kInfinity};
  const std::vector<float> one = {1.0F};
  std::vector<float> out(4);
  ASSERT_EQ(quantize_bias(bias, 1.0, one, out), Status::kOk);
  EXPECT_EQ(out, bias);
}

TEST(QuantizeBias, TurnsNaNInto0) {
  const std::vector<float> bias = {0.0F};
  const std::vector<float> zero = {0.0F};
  std::vector<float> out(1, 7.0F);
  ASSERT_EQ(quantize_bias(bias, 1.0, zero, out), Status::kOk);
  EXPECT_EQ(out, std::vector<float>(1));
}

TEST(QuantizeBias, RefusesLengthsThatDoNotFit) {
  const std::vector<float> bias(3);
  const std::vector<float> two(2, 1.0F);
  const std::vector<float> one(1, 1.0F);
  Output<float> three(3);
  Output<float> four(4);
  EXPECT_EQ(quantize_bias(bias, 1.0, two, three.span()), Status::kShapeMismatch);
  EXPECT_EQ(quantize_bias(bias, 1.0, one, four.span()), Status::kShapeMismatch);
  EXPECT_TRUE(three.untouched());
  EXPECT_TRUE(four.untouched());
}

// ---- a layer and its expected results

struct Layer {
  std::size_t m = 0;
  std::size_t k = 0;
  std::size_t n = 0;
  std::vector<std::uint8_t> qx;
  std::vector<std::int8_t> codes;
  std::vector<float> scales;
  DType dtype = DType::kInt8;
  std::int32_t zero_point = 0;  // of the weight
  std::optional<WeightGranularity> granularity = std::nullopt;
  std::size_t group = 2;

  // Packs the weight; kOk unless its parts do not fit. The number of scales gives the granularity,
  // unless `granularity` is set.
  Status pack(testing::AlignedBytes& block) const {
    const std::vector<std::int32_t> zero_points(scales.size(), zero_point);
    const WeightGranularity by_scales =
        scales.size() == 1 ? WeightGranularity::kPerTensor : WeightGranularity::kPerOutput;
    const QuantizedWeight<std::int8_t> w = {codes, dtype,  granularity.value_or(by_scales),
                                            group, scales, zero_points};
    return testing::pack(w, n, k, block);
  }

  [[nodiscard]] float scale_of(std::size_t column) const {
    return scales[scales.size() == 1 ? 0 : column];
  }

  // The exact sum of an output.
  [[nodiscard]] std::int64_t sum(std::size_t row, std::size_t column,
                                 std::int32_t input_zero_point) const {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < k; ++i) {
      const int step = int{qx[row * k + i]} - input_zero_point;
      total += std::int64_t{step} * codes[column * k + i];
    }
    return total;
  }
};

Layer random_layer(std::size_t m, std::size_t k, std::size_t n, bool per_output, Random& random) {
  Layer layer = {m, k, n, {}, {}, {}};
  layer.qx.resize(m * k);
  for (std::uint8_t& code : layer.qx) code = static_cast<std::uint8_t>(random.below(256));
  layer.codes.resize(n * k);
  for (std::int8_t& code : layer.codes) {
    code = static_cast<std::int8_t>(random.integer(-128, 127));
  }
  layer.scales = random.uniforms(per_output ? n : 1, 0.001F, 0.1F);
  return layer;
}

struct Size {
  std::size_t m;
  std::size_t k;
  std::size_t n;
};

constexpr std::array kSizes = {Size{1, 1, 1},  Size{1, 16, 3},   Size{2, 15, 1},
                               Size{3, 17, 5}, Size{5, 33, 4},   Size{0, 4, 3},
                               Size{3, 0, 2},  Size{2, 4, 0},    Size{4, 64, 8},
                               Size{7, 31, 9}, Size{1, 1000, 2}, Size{2, kernels::kChunk, 9}};

// Scratch memory of a W8A8 layer. linear_scratch_size() is often larger, because digits take more.
std::size_t scratch_size(const testing::AlignedBytes& block, std::size_t m) {
  const std::size_t needed = RowBlock::bytes_of(panels_of(block.data()), m).bytes();
  EXPECT_LE(needed, linear_scratch_size(block.data(), m));
  return needed;
}

// Packs a layer and calls the function.
// @param missing  bytes of scratch memory too few
Status dynamic(const Layer& layer, QParams activation, std::span<const float> bias,
               std::span<float> y, std::size_t missing = 0) {
  testing::AlignedBytes block(0);
  const Status status = layer.pack(block);
  if (status != Status::kOk) return status;
  const testing::AlignedBytes scratch(scratch_size(block, layer.m) - missing);
  return linear_dynamic(layer.qx, layer.m, activation, block.data(), bias, scratch.span(), y);
}

Status quantized(const Layer& layer, QParams input, std::span<const float> bias, QParams output,
                 std::span<std::uint8_t> q, std::size_t missing = 0, bool relu = false) {
  testing::AlignedBytes block(0);
  const Status status = layer.pack(block);
  if (status != Status::kOk) return status;
  const testing::AlignedBytes scratch(scratch_size(block, layer.m) - missing);
  return linear_static(layer.qx, layer.m, input, block.data(), bias, output, scratch.span(), q,
                       relu);
}

// ---- linear_dynamic

void expect_dynamic(const Layer& layer, QParams activation, const std::vector<float>& bias) {
  Output<float> y(layer.m * layer.n);
  ASSERT_EQ(dynamic(layer, activation, bias, y.span()), Status::kOk);
  std::vector<float> expected;
  for (std::size_t row = 0; row < layer.m; ++row) {
    for (std::size_t column = 0; column < layer.n; ++column) {
      const auto sum = static_cast<float>(layer.sum(row, column, activation.zero_point));
      const float multiplier = static_cast<float>(activation.scale) * layer.scale_of(column);
      const float product = sum * multiplier;
      expected.push_back(bias.empty() ? product : product + bias[column]);
    }
  }
  EXPECT_TRUE(same(y.values(), expected));
  EXPECT_TRUE(y.guards_intact());
}

TEST(LinearDynamic, MatchesTheFormulaForEverySizeScaleAndBias) {
  Random random(50);
  for (const Size size : kSizes) {
    for (const bool per_output : {false, true}) {
      const Layer layer = random_layer(size.m, size.k, size.n, per_output, random);
      for (const std::int32_t zero_point : {0, 100, 255}) {
        SCOPED_TRACE(::testing::Message() << size.m << " x " << size.k << " x " << size.n);
        expect_dynamic(layer, {0.0371, zero_point}, {});
        expect_dynamic(layer, {0.0371, zero_point}, random.uniforms(size.n, -5.0F, 5.0F));
      }
    }
  }
}

// Weights of fewer bits, and groups: exact sums over at most kChunk inputs of a group, then their
// products with scales, added in double and in order.
TEST(LinearDynamic, MatchesTheFormulaForGroupsAndEveryWidth) {
  Random random(58);
  for (const DType dtype : {DType::kInt2, DType::kInt3, DType::kInt4, DType::kInt5, DType::kInt8}) {
    for (const Size size : {Size{1, 64, 9}, Size{3, 70, 8}, Size{9, 33, 17}, Size{5, 2100, 4}}) {
      for (const std::size_t group : {0U, 1U, 5U, 32U, 1500U}) {
        Layer layer = random_layer(size.m, size.k, size.n, true, random);
        const DTypeInfo info = dtype_info(dtype);
        for (std::int8_t& code : layer.codes) {
          code = static_cast<std::int8_t>(random.integer(info.qmin, info.qmax));
        }
        layer.dtype = dtype;
        if (group != 0) {
          layer.granularity = WeightGranularity::kPerGroup;
          layer.group = group;
          const std::size_t groups = (size.k + group - 1) / group;
          layer.scales = random.uniforms(size.n * groups, 0.001F, 0.1F);
        }
        const std::vector<float> bias = random.uniforms(size.n, -5.0F, 5.0F);
        SCOPED_TRACE(::testing::Message()
                     << info.name << ", " << size.k << " in groups of " << group);
        const QParams activation{0.0371, 100};
        if (group == 0 || group >= size.k) {
          if (group != 0) layer.granularity = std::nullopt;
          expect_dynamic(layer, activation, bias);
          continue;
        }
        Output<float> y(layer.m * layer.n);
        ASSERT_EQ(dynamic(layer, activation, bias, y.span()), Status::kOk);
        std::vector<float> expected;
        for (std::size_t row = 0; row < layer.m; ++row) {
          for (std::size_t column = 0; column < layer.n; ++column) {
            double total = 0.0;
            kernels::for_chunks(
                size.k, group, [&](std::size_t first, std::size_t inputs, std::size_t own) {
                  std::int64_t sum = 0;
                  for (std::size_t i = first; i < first + inputs; ++i) {
                    const int step = int{layer.qx[row * size.k + i]} - activation.zero_point;
                    sum += std::int64_t{step} * layer.codes[column * size.k + i];
                  }
                  const std::size_t groups = (size.k + group - 1) / group;
                  total += static_cast<double>(sum) * double{layer.scales[column * groups + own]};
                });
            const float product = static_cast<float>(total) * static_cast<float>(activation.scale);
            expected.push_back(product + bias[column]);
          }
        }
        EXPECT_TRUE(same(y.values(), expected));
      }
    }
  }
}

TEST(LinearDynamic, SumsBeyondInt32Exactly) {
  constexpr std::size_t kInputs = 300000;
  Layer layer = {1, kInputs, 1, {}, {}, {1.0F}};
  layer.qx.assign(kInputs, 255);
  layer.codes.assign(kInputs, -128);
  std::vector<float> y(1);
  ASSERT_EQ(dynamic(layer, {1.0, 0}, {}, y), Status::kOk);
  EXPECT_EQ(y[0], -9792000000.0F);
  ASSERT_EQ(dynamic(layer, {1.0, 255}, {}, y), Status::kOk);
  EXPECT_EQ(y[0], 0.0F);
}

// Many rows: long ones, of which few fit into the cache; the kernels' maximum, and twice that; and
// rows that take more memory as bytes than as digits.
constexpr std::array kTallSizes = {Size{40, 9000, 3}, Size{kernels::kMaxRows, 5, 3},
                                   Size{2 * kernels::kMaxRows, 5, 9}, Size{195, 1000, 2}};

TEST(LinearDynamic, MatchesTheFormulaForMoreRowsThanABlock) {
  Random random(55);
  for (const Size size : kTallSizes) {
    SCOPED_TRACE(::testing::Message() << size.m << " x " << size.k << " x " << size.n);
    const Layer layer = random_layer(size.m, size.k, size.n, true, random);
    expect_dynamic(layer, {0.0371, 100}, random.uniforms(size.n, -5.0F, 5.0F));
  }
}

TEST(LinearDynamic, GivesTheSameBitsOnThreads) {
  Random random(58);
  const Layer layer = random_layer(128, 2100, 40, true, random);
  for (const std::size_t threads : {2U, 5U}) {
    set_thread_count(threads);
    expect_dynamic(layer, {0.0371, 100}, {});
    set_thread_count(1);
  }
}

// Inputs for one sum in int32, one more, and over twice as many.
constexpr std::array kLongSizes = {Size{3, kernels::kByteInputs, 9},
                                   Size{2, kernels::kByteInputs + 1, 5},
                                   Size{3, 2 * kernels::kByteInputs + 7, 9}};

TEST(LinearDynamic, MatchesTheFormulaForRowsThatAreSummedInPieces) {
  Random random(53);
  for (const Size size : kLongSizes) {
    SCOPED_TRACE(size.k);
    const Layer layer = random_layer(size.m, size.k, size.n, true, random);
    expect_dynamic(layer, {0.0371, 100}, random.uniforms(size.n, -5.0F, 5.0F));
  }
}

// A loop over these rows would take minutes, and on 32 bits never end.
TEST(LinearDynamic, SkipsRowsWithoutOutputs) {
  Random random(56);
  EXPECT_EQ(dynamic(random_layer(UINT32_MAX, 0, 0, false, random), {0.5, 10}, {}, {}), Status::kOk);
}

TEST(LinearDynamic, KeepsTheSignOfAProductThatUnderflows) {
  const Layer layer = {1, 1, 2, {1}, {-1, 1}, {testing::kSmallest}};
  std::vector<float> y(2);
  ASSERT_EQ(dynamic(layer, {0.25, 0}, {}, y), Status::kOk);
  EXPECT_EQ(y[0], 0.0F);
  EXPECT_TRUE(std::signbit(y[0]));
  EXPECT_FALSE(std::signbit(y[1]));
}

// Valid arguments, to be changed one by one: M 2, K 3, N 2.
struct Arguments {
  Layer layer;
  QParams input = {0.5, 10};
  QParams output = {0.5, 10};
  std::size_t bias = 2;
  std::size_t out = 4;
  std::size_t missing_scratch = 0;
};

Arguments arguments() {
  Random random(51);
  return {random_layer(2, 3, 2, true, random)};
}

Status run_dynamic(const Arguments& a) {
  const std::vector<float> bias(a.bias);
  Output<float> y(a.out);
  const Layer& layer = a.layer;
  const Status status = dynamic(layer, a.input, bias, y.span(), a.missing_scratch);
  EXPECT_EQ(y.untouched(), status != Status::kOk);
  return status;
}

Status run_static(const Arguments& a) {
  const std::vector<float> bias(a.bias);
  Output<std::uint8_t> q(a.out);
  const Layer& layer = a.layer;
  const Status status = quantized(layer, a.input, bias, a.output, q.span(), a.missing_scratch);
  EXPECT_EQ(q.untouched(), status != Status::kOk);
  return status;
}

// Both kinds of layers refuse the same arguments.
class LinearW8A8 : public ::testing::TestWithParam<Status (*)(const Arguments&)> {};

INSTANTIATE_TEST_SUITE_P(Layers, LinearW8A8, ::testing::Values(&run_dynamic, &run_static),
                         [](const auto& item) {
                           return item.param == &run_dynamic ? "Dynamic" : "Static";
                         });

TEST_P(LinearW8A8, RunsWithLengthsThatFit) {
  EXPECT_EQ(GetParam()(arguments()), Status::kOk);
  Arguments without_bias = arguments();
  without_bias.bias = 0;
  EXPECT_EQ(GetParam()(without_bias), Status::kOk);
}

TEST_P(LinearW8A8, RefusesLengthsThatDoNotFit) {
  Arguments input = arguments();
  input.layer.qx.push_back(0);
  EXPECT_EQ(GetParam()(input), Status::kShapeMismatch);
  Arguments codes = arguments();
  codes.layer.codes.pop_back();
  EXPECT_EQ(GetParam()(codes), Status::kShapeMismatch);
  Arguments scales = arguments();
  scales.layer.scales.push_back(1.0F);
  EXPECT_EQ(GetParam()(scales), Status::kShapeMismatch);
  Arguments bias = arguments();
  bias.bias = 1;
  EXPECT_EQ(GetParam()(bias), Status::kShapeMismatch);
  Arguments out = arguments();
  out.out = 5;
  EXPECT_EQ(GetParam()(out), Status::kShapeMismatch);
}

TEST_P(LinearW8A8, RefusesSizesBeyondTheAddressSpace) {
  Arguments huge = arguments();
  huge.layer.m = SIZE_MAX / 2;
  EXPECT_EQ(GetParam()(huge), Status::kSizeOverflow);
}

TEST_P(LinearW8A8, RefusesInputZeroPointsOutsideTheCodes) {
  for (const std::int32_t zero_point : {-1, 256}) {
    Arguments wrong = arguments();
    wrong.input.zero_point = zero_point;
    EXPECT_EQ(GetParam()(wrong), Status::kInvalidZeroPoint);
  }
}

// M 2, K 4, N 2, with a group of two inputs.
TEST_P(LinearW8A8, RefusesWeightsWithZeroPointsOrWithScalesOfInputs) {
  struct Form {
    WeightGranularity granularity;
    std::size_t scales;
    bool is_taken;
    bool is_static;  // by linear_static(), too
  };
  for (const Form form : {Form{WeightGranularity::kPerTensor, 1, true, true},
                          Form{WeightGranularity::kPerOutput, 2, true, true},
                          Form{WeightGranularity::kPerGroup, 4, true, false},
                          Form{WeightGranularity::kPerInput, 4, false, false}}) {
    for (const DType dtype : {DType::kInt8, DType::kQint8, DType::kInt4, DType::kInt2}) {
      for (const std::int32_t zero_point : {0, 1}) {
        Random random(57);
        Arguments call = {random_layer(2, 4, 2, false, random)};
        call.layer.granularity = form.granularity;
        call.layer.scales.assign(form.scales, 0.5F);
        call.layer.dtype = dtype;
        call.layer.zero_point = zero_point;
        const bool is_static = GetParam() == &run_static;
        const bool takes =
            is_static ? form.is_static && dtype_info(dtype).bits == 8 : form.is_taken;
        const bool fits = takes && zero_point == 0;
        EXPECT_EQ(GetParam()(call), fits ? Status::kOk : Status::kUnsupportedDType)
            << static_cast<int>(form.granularity) << ", " << dtype_info(dtype).name << ", "
            << zero_point;
      }
    }
  }
}

TEST_P(LinearW8A8, RefusesScratchThatIsTooSmall) {
  Arguments small = arguments();
  small.missing_scratch = 1;
  EXPECT_EQ(GetParam()(small), Status::kShapeMismatch);
}

// ---- linear_static

void expect_static(const Layer& layer, QParams input, QParams output,
                   const std::vector<float>& bias) {
  Output<std::uint8_t> q(layer.m * layer.n);
  ASSERT_EQ(quantized(layer, input, bias, output, q.span()), Status::kOk);
  std::vector<std::uint8_t> expected;
  for (std::size_t row = 0; row < layer.m; ++row) {
    for (std::size_t column = 0; column < layer.n; ++column) {
      auto sum = static_cast<double>(layer.sum(row, column, input.zero_point));
      if (!bias.empty()) sum += bias[column];
      const auto multiplier =
          static_cast<float>(input.scale * double{layer.scale_of(column)} / output.scale);
      const float product = static_cast<float>(sum) * multiplier;
      const double code = double{reference::round_half_even(product)} + output.zero_point;
      expected.push_back(static_cast<std::uint8_t>(std::clamp(code, 0.0, 255.0)));
    }
  }
  EXPECT_TRUE(same(q.values(), expected));
  EXPECT_TRUE(q.guards_intact());
}

TEST(LinearStatic, MatchesTheFormulaForEverySizeScaleAndBias) {
  Random random(52);
  for (const Size size : kSizes) {
    for (const bool per_output : {false, true}) {
      const Layer layer = random_layer(size.m, size.k, size.n, per_output, random);
      for (const std::int32_t zero_point : {0, 100, 255}) {
        SCOPED_TRACE(::testing::Message() << size.m << " x " << size.k << " x " << size.n);
        std::vector<float> bias(size.n);
        for (float& value : bias) value = static_cast<float>(random.integer(-20000, 20000));
        expect_static(layer, {0.0371, zero_point}, {1.93, 255 - zero_point}, {});
        expect_static(layer, {0.0371, zero_point}, {1.93, 120}, bias);
      }
    }
  }
}

TEST(LinearStatic, ClampsToTheZeroPointForRelu) {
  Random random(53);
  const Layer layer = random_layer(5, 40, 11, true, random);
  for (const std::int32_t zero_point : {0, 1, 120, 255}) {
    std::vector<std::uint8_t> q(55);
    std::vector<std::uint8_t> clamped(55);
    const QParams output{1.93, zero_point};
    ASSERT_EQ(quantized(layer, {0.0371, 100}, {}, output, q), Status::kOk);
    ASSERT_EQ(quantized(layer, {0.0371, 100}, {}, output, clamped, 0, true), Status::kOk);
    for (std::uint8_t& code : q) code = std::max(code, static_cast<std::uint8_t>(zero_point));
    EXPECT_EQ(clamped, q);
  }
}

TEST(LinearStatic, MatchesTheFormulaForRowsThatAreSummedInPieces) {
  Random random(54);
  for (const Size size : kLongSizes) {
    SCOPED_TRACE(size.k);
    const Layer layer = random_layer(size.m, size.k, size.n, true, random);
    // With this output scale, most sums do not saturate.
    expect_static(layer, {0.0371, 100}, {3000.0, 120}, std::vector<float>(size.n, 99999.0F));
  }
}

TEST(LinearStatic, MatchesTheFormulaForMoreRowsThanABlock) {
  Random random(56);
  for (const Size size : kTallSizes) {
    SCOPED_TRACE(::testing::Message() << size.m << " x " << size.k << " x " << size.n);
    const Layer layer = random_layer(size.m, size.k, size.n, true, random);
    expect_static(layer, {0.0371, 100}, {1.93, 120}, std::vector<float>(size.n, 777.0F));
  }
}

// Products so close to a tie that the rounding of the multiplier decides.
TEST(LinearStatic, RoundsTheMultiplierOnceFromDouble) {
  const auto code_of = [](float sum, double scale_x, float scale_w, double scale_y) {
    const Layer layer = {1, 0, 1, {}, {}, {scale_w}};
    std::vector<std::uint8_t> q(1);
    EXPECT_EQ(quantized(layer, {scale_x, 0}, std::vector<float>{sum}, {scale_y, 0}, q),
              Status::kOk);
    return int{q[0]};
  };
  // In float32 throughout the product would be 109.49999.
  EXPECT_EQ(code_of(125438.0F, 0.424, 0.014F, 6.8), 110);
  // With the two activation scales divided first it would be 31.499999.
  EXPECT_EQ(code_of(3500.0F, 0.45, 0.006F, 0.3), 32);
}

// A bias of 5 with weights of 0: 2^31 steps of the weights' smallest scale would be 2.
TEST(LinearStatic, AddsABiasBeyondInt32) {
  const Layer layer = {1, 1, 1, {127}, {0}, {0x1p-23F}};
  const std::vector<float> bias = {5.0F};
  std::vector<float> steps(1);
  ASSERT_EQ(quantize_bias(bias, 1.0 / 127.0, layer.scales, steps), Status::kOk);
  std::vector<std::uint8_t> q(1);
  ASSERT_EQ(quantized(layer, {1.0 / 127.0, 0}, steps, {5.0 / 127.0, 0}, q), Status::kOk);
  EXPECT_EQ(q, std::vector<std::uint8_t>(1, 127));
}

TEST(LinearStatic, SkipsRowsWithoutOutputs) {
  Random random(57);
  EXPECT_EQ(quantized(random_layer(UINT32_MAX, 0, 0, false, random), {0.5, 10}, {}, {0.5, 10}, {}),
            Status::kOk);
}

TEST(LinearStatic, RoundsTiesToEvenBeforeAddingTheZeroPoint) {
  const Layer layer = {3, 1, 1, {1, 3, 5}, {1}, {1.0F}};
  std::vector<std::uint8_t> q(3);
  ASSERT_EQ(quantized(layer, {1.0, 0}, {}, {2.0, 1}, q), Status::kOk);
  EXPECT_EQ(q, (std::vector<std::uint8_t>{1, 3, 3}));
}

TEST(LinearStatic, SaturatesAtBothEnds) {
  const Layer layer = {1, 1, 2, {255}, {127, -128}, {1e30F}};
  std::vector<std::uint8_t> q(2);
  ASSERT_EQ(quantized(layer, {1e10, 0}, {}, {1.0, 100}, q), Status::kOk);
  EXPECT_EQ(q, (std::vector<std::uint8_t>{255, 0}));
}

TEST(LinearStatic, RefusesOutputQParamsThatAreInvalid) {
  using Doubles = std::numeric_limits<double>;
  for (const double scale : {0.0, -1.0, Doubles::infinity(), Doubles::quiet_NaN()}) {
    Arguments wrong = arguments();
    wrong.output.scale = scale;
    EXPECT_EQ(run_static(wrong), Status::kInvalidScale) << scale;
  }
  for (const std::int32_t zero_point : {-1, 256}) {
    Arguments wrong = arguments();
    wrong.output.zero_point = zero_point;
    EXPECT_EQ(run_static(wrong), Status::kInvalidZeroPoint) << zero_point;
  }
}

}  // namespace
}  // namespace zeropoint
