// Every case of tests/vectors that the core can run, against PyTorch's bits. Each test counts the
// cases run and the cases left out, by reason, so that no case can vanish unnoticed.
#include "vectors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <map>
#include <optional>

#include "compare.h"
#include "packed.h"
#include "zeropoint/zeropoint.h"

namespace zeropoint {
namespace {

using testing::broadcast_position;
using testing::broadcast_shapes;
using testing::count_of;
using testing::is_tensor;
using testing::Json;
using testing::QParamsTensor;
using testing::read_codes;
using testing::read_doubles;
using testing::read_dtype;
using testing::read_floats;
using testing::read_number;
using testing::same;
using testing::same_value;
using testing::scalar;
using testing::ShapeVector;
using testing::Tensor;
using testing::vector_cases;
using testing::with_code;

using Counts = std::map<std::string, int>;

// ---- comparison with a file's expected values

template <typename T>
void expect_large(const std::vector<T>& actual, const Json& expected) {
  EXPECT_EQ(testing::crc32(actual), expected["crc32"].get<std::string>());
  for (const Json& sample : expected["samples"]) {
    EXPECT_EQ(actual.at(sample[0]), sample[1].get<T>());
  }
}

void expect_floats(const std::vector<float>& actual, const Json& expected) {
  ASSERT_EQ(actual.size(), count_of(expected["shape"].get<ShapeVector>()));
  if (expected.contains("crc32")) return expect_large(actual, expected);
  EXPECT_TRUE(same(actual, read_floats(expected).values));
}

template <typename Code>
void expect_codes(const std::vector<Code>& actual, const Json& expected) {
  ASSERT_EQ(actual.size(), count_of(expected["shape"].get<ShapeVector>()));
  if (expected.contains("crc32")) return expect_large(actual, expected);
  EXPECT_TRUE(same(actual, read_codes<Code>(expected)));
}

void expect_number(double actual, const Json& expected) {
  EXPECT_PRED2(same_value<double>, actual, read_number(expected));
}

void expect_errors(const std::vector<float>& a, const std::vector<float>& b, const Json& expected) {
  for (const auto& [key, metric] : {std::pair{"mse", Metric::kMse}, {"mae", Metric::kMae}}) {
    if (!expected.contains(key)) continue;
    double error = 0.0;
    ASSERT_EQ(quantization_error(a, b, metric, error), Status::kOk);
    const bool is_float = is_tensor(expected[key], "f32");
    expect_number(error,
                  is_float ? Json(double{read_floats(expected[key]).values.at(0)}) : expected[key]);
  }
}

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

// ---- the notebooks' two functions, together

ShapeVector result_shape(const std::vector<ShapeVector>& shapes) {
  const auto shape = broadcast_shapes(shapes);
  EXPECT_TRUE(shape);
  return shape.value_or(ShapeVector());
}

std::vector<float> dequantized(const Json& codes, DType dtype, const Tensor<float>& scale,
                               const Tensor<float>& zero_point) {
  std::vector<float> values;
  with_code(dtype, [&](auto code) {
    using Code = decltype(code);
    const Tensor<Code> tensor = {read_codes<Code>(codes), codes["shape"].get<ShapeVector>()};
    values.resize(count_of(result_shape({tensor.shape, scale.shape, zero_point.shape})));
    EXPECT_EQ(linear_dequantization<Code>(tensor.view(), scale.view(), zero_point.view(), values),
              Status::kOk);
  });
  return values;
}

// Compares the codes of x with `q`, and, if present, dequantized codes with `dq`, `mse` and `mae`.
void expect_round_trip(const Tensor<float>& x, const Tensor<float>& scale,
                       const Tensor<float>& zero_point, DType dtype, const Json& out) {
  with_code(dtype, [&](auto code) {
    using Code = decltype(code);
    const ShapeVector shape = result_shape({x.shape, scale.shape, zero_point.shape});
    Tensor<Code> codes = {std::vector<Code>(count_of(shape)), shape};
    ASSERT_EQ(linear_q<Code>(x.view(), scale.view(), zero_point.view(), dtype, codes.values),
              Status::kOk);
    expect_codes(codes.values, out["q"]);
    EXPECT_EQ(out["q"]["shape"].get<ShapeVector>(), shape);
    if (!out.contains("dq")) return;
    std::vector<float> values(codes.values.size());
    ASSERT_EQ(linear_dequantization<Code>(codes.view(), scale.view(), zero_point.view(), values),
              Status::kOk);
    expect_floats(values, out["dq"]);
    expect_errors(x.values, values, out);
  });
}

// Scales and zero points of one shape if quantize() accepts them; nullopt if only linear_q() does.
std::optional<QParamsTensor> strict_qparams(const Tensor<float>& x, const Tensor<float>& scale,
                                            const Tensor<float>& zero_point, DType dtype) {
  const DTypeInfo info = dtype_info(dtype);
  const auto shape = broadcast_shapes({scale.shape, zero_point.shape});
  if (!shape || broadcast_shapes({x.shape, *shape}) != x.shape) return std::nullopt;
  QParamsTensor qparams = {{}, {}, *shape};
  for (std::size_t i = 0; i < count_of(*shape); ++i) {
    const float s = scale.values[broadcast_position(i, *shape, scale.shape)];
    const float z = zero_point.values[broadcast_position(i, *shape, zero_point.shape)];
    if (!(s > 0.0F) || !std::isfinite(s) || z != std::nearbyint(z)) return std::nullopt;
    if (double{z} < info.qmin || double{z} > info.qmax) return std::nullopt;
    qparams.scales.push_back(s);
    qparams.zero_points.push_back(static_cast<std::int32_t>(z));
  }
  // For NaN, and for int32 values of 2^31 and more, quantize() and linear_q() differ.
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const std::size_t own = broadcast_position(i, x.shape, *shape);
    const float shifted =
        x.values[i] / qparams.scales[own] + static_cast<float>(qparams.zero_points[own]);
    if (std::isnan(shifted) || (info.bits == 32 && shifted >= 2147483648.0F)) return std::nullopt;
  }
  return qparams;
}

// Checks that quantize() and dequantize() agree with the notebooks' functions if they accept the
// qparams. @return whether they do
bool expect_strict_round_trip(const Tensor<float>& x, const Tensor<float>& scale,
                              const Tensor<float>& zero_point, DType dtype, const Json& out) {
  const auto qparams = strict_qparams(x, scale, zero_point, dtype);
  if (!qparams) return false;
  with_code(dtype, [&](auto code) {
    using Code = decltype(code);
    Tensor<Code> codes = {std::vector<Code>(x.values.size()), x.shape};
    ASSERT_EQ(quantize<Code>(x.view(), qparams->view(), dtype, codes.values), Status::kOk);
    expect_codes(codes.values, out["q"]);
    if (!out.contains("dq")) return;
    std::vector<float> values(x.values.size());
    ASSERT_EQ(dequantize<Code>(codes.view(), qparams->view(), dtype, values), Status::kOk);
    expect_floats(values, out["dq"]);
    ASSERT_EQ(fake_quantize(x.view(), qparams->view(), dtype, values), Status::kOk);
    expect_floats(values, out["dq"]);
  });
  return true;
}

TEST(Vectors, LinearQMatchesPyTorchBitForBit) {
  Counts counts;
  for (const Json& item : vector_cases("linear_q")) {
    SCOPED_TRACE(item["id"]);
    const Json& in = item["in"];
    if (item["op"] == "dequantize_without_float_cast") {
      ++counts["wraps in the codes' dtype"];
      continue;
    }
    const auto dtype = read_dtype(in["dtype"]);
    if (!dtype) {
      ++counts["int64"];
      continue;
    }
    const bool promotes = is_tensor(in["scale"], "f64") && !in["scale"]["shape"].empty();
    if (is_tensor(in["x"], "f64") || promotes) {
      ++counts["float64"];
      continue;
    }
    const Tensor<float> x = read_floats(in["x"]);
    const Tensor<float> scale = read_floats(in["scale"]);
    const Tensor<float> zero_point = read_floats(in["zero_point"]);
    expect_round_trip(x, scale, zero_point, *dtype, item["out"]);
    ++counts["ran"];
    if (expect_strict_round_trip(x, scale, zero_point, *dtype, item["out"])) ++counts["strict"];
  }
  EXPECT_EQ(counts, (Counts{{"ran", 71},
                            {"strict", 48},
                            {"wraps in the codes' dtype", 9},
                            {"int64", 8},
                            {"float64", 4}}));
}

// ---- qparams

struct Chosen {
  Status status;
  std::vector<double> scales;
  std::vector<std::int32_t> zero_points;
};

Chosen choose(const Tensor<float>& x, const Granularity& g, const QParamsOptions& options) {
  std::vector<Range> ranges(g.slices);
  Chosen chosen{Status::kOk, std::vector<double>(g.slices), std::vector<std::int32_t>(g.slices)};
  chosen.status = choose_qparams(x.values, g, NonFinite::kThrow, options, ranges, chosen.scales,
                                 chosen.zero_points);
  return chosen;
}

Chosen choose_per_tensor(const Tensor<float>& x, const QParamsOptions& options) {
  Granularity g;
  EXPECT_EQ(per_tensor(x.shape, g), Status::kOk);
  return choose(x, g, options);
}

// The core's scale for a notebook's scale: 1 for 0; scales below the normal float32 are raised.
double sound_scale(double scale) {
  if (scale == 0.0) return 1.0;
  return scale < double{FLT_MIN} ? double{FLT_MIN} : scale;
}

TEST(Vectors, QParamsAndCodesMatchPyTorchBitForBit) {
  Counts counts;
  for (const Json& item : vector_cases("qparams")) {
    SCOPED_TRACE(item["id"]);
    const Json& in = item["in"];
    const Json& out = item["out"];
    const auto dtype = read_dtype(in["dtype"]);
    if (!dtype) {
      ++counts["int64"];
      continue;
    }
    const Tensor<float> x = read_floats(in["x"]);
    const bool symmetric = item["op"] == "linear_q_symmetric";
    // Notebook 5 takes int8's limits for every dtype.
    const DType limits = in.contains("seed004_compat") ? DType::kInt8 : *dtype;
    const Scheme scheme = symmetric ? Scheme::kSymmetric : Scheme::kAffine;
    const Chosen chosen = choose_per_tensor(x, {limits, scheme, false});

    if (out.contains("raises")) {
      const std::string type = out["raises"]["type"];
      ++counts[type];
      if (type == "ZeroDivisionError") {
        EXPECT_EQ(chosen.status, Status::kOk);  // a constant tensor, which the core widens to 0
        EXPECT_GT(chosen.scales.at(0), 0.0);
      } else {
        EXPECT_EQ(chosen.status, x.values.empty() ? Status::kEmpty : Status::kNonFinite);
      }
      continue;
    }
    const double scale = read_number(out["scale"]);
    const std::int32_t zero_point = symmetric ? 0 : out["zero_point"].get<std::int32_t>();
    if (symmetric && !dtype_info(limits).is_signed()) {
      EXPECT_EQ(chosen.status, Status::kUnsignedSymmetric);
      ++counts["unsigned symmetric"];
    } else if (!all_finite(x.values)) {
      EXPECT_EQ(chosen.status, Status::kNonFinite);
      ++counts["non-finite"];
    } else {
      EXPECT_EQ(chosen.status, Status::kOk);
      EXPECT_EQ(chosen.scales.at(0), sound_scale(scale));
      if (scale >= double{FLT_MIN}) {
        EXPECT_EQ(chosen.zero_points.at(0), zero_point);
        ++counts["qparams"];
      } else {
        ++counts["raised scale"];
      }
    }
    const Tensor<float> s = scalar(static_cast<float>(scale));
    const Tensor<float> z = scalar(static_cast<float>(zero_point));
    expect_round_trip(x, s, z, *dtype, out);
    ++counts["ran"];
    if (expect_strict_round_trip(x, s, z, *dtype, out)) ++counts["strict"];
  }
  EXPECT_EQ(counts, (Counts{{"ran", 250},
                            {"strict", 166},
                            {"qparams", 172},
                            {"raised scale", 30},
                            {"non-finite", 21},
                            {"unsigned symmetric", 27},
                            {"ZeroDivisionError", 21},
                            {"ValueError", 9},
                            {"RuntimeError", 6},
                            {"int64", 16}}));
}

TEST(Vectors, PerChannelAndPerGroupMatchPyTorchBitForBit) {
  Counts counts;
  for (const Json& item : vector_cases("channel_group")) {
    SCOPED_TRACE(item["id"]);
    const Json& in = item["in"];
    const Json& out = item["out"];
    const auto dtype = read_dtype(in["dtype"]);
    if (!dtype) {
      ++counts["int64"];
      continue;
    }
    if (in.contains("x_transposed_of")) {
      ++counts["memory layout"];
      continue;
    }
    Tensor<float> x = read_floats(in["x"]);
    const bool grouped = item["op"] == "linear_q_symmetric_per_group";
    Granularity g;
    const Status cut = grouped ? per_group(x.shape, in["group_size"].get<std::uint32_t>(), g)
                               : per_channel(x.shape, in["dim"].get<std::int32_t>(), g);
    if (out.contains("raises")) {
      if (grouped && x.shape.size() != 2) {
        EXPECT_EQ(cut, Status::kOk);  // the core groups tensors of any rank
        ++counts["any rank"];
      } else if (grouped) {
        // The core also takes groups that do not divide the rows.
        const bool is_zero = in["group_size"] == 0;
        EXPECT_EQ(cut, is_zero ? Status::kInvalidGroupSize : Status::kOk);
        ++counts[is_zero ? "refused" : "short groups"];
      } else if (out["raises"]["type"] == "IndexError") {
        EXPECT_EQ(cut, Status::kInvalidAxis);
        ++counts["refused"];
      } else {
        EXPECT_EQ(cut, Status::kOk);
        EXPECT_EQ(choose(x, g, {*dtype}).status, Status::kEmpty);
        ++counts["refused"];
      }
      continue;
    }
    ASSERT_EQ(cut, Status::kOk);
    const Tensor<float> scale = read_floats(out["scale"]);
    const Chosen chosen = choose(x, g, {*dtype, Scheme::kSymmetric});
    if (!dtype_info(*dtype).is_signed()) {
      EXPECT_EQ(chosen.status, Status::kUnsignedSymmetric);
      ++counts["unsigned symmetric"];
    } else if (!all_finite(x.values)) {
      EXPECT_EQ(chosen.status, Status::kNonFinite);
      ++counts["non-finite"];
    } else {
      ASSERT_EQ(chosen.status, Status::kOk);
      ASSERT_EQ(chosen.scales.size(), scale.values.size());
      for (std::size_t i = 0; i < scale.values.size(); ++i) {
        EXPECT_EQ(static_cast<float>(chosen.scales[i]), sound_scale(scale.values[i]));
        EXPECT_EQ(chosen.zero_points[i], 0);
      }
      ++counts["qparams"];
    }
    Json result = out;
    if (grouped) {
      // The tensor is viewed as [groups, group size].
      const auto size = in["group_size"].get<std::uint32_t>();
      x.shape = {static_cast<std::uint32_t>(x.values.size()) / size, size};
      result["q"]["shape"] = x.shape;
      result["dq"]["shape"] = x.shape;
    }
    expect_round_trip(x, scale, scalar(0.0F), *dtype, result);
    ++counts["ran"];
    if (expect_strict_round_trip(x, scale, scalar(0.0F), *dtype, result)) ++counts["strict"];
  }
  EXPECT_EQ(counts, (Counts{{"ran", 79},
                            {"strict", 56},
                            {"qparams", 59},
                            {"non-finite", 1},
                            {"unsigned symmetric", 19},
                            {"refused", 5},
                            {"short groups", 2},
                            {"any rank", 2},
                            {"memory layout", 1},
                            {"int64", 17}}));
}

// ---- error

TEST(Vectors, SumsMeansAndErrorsMatchPyTorchBitForBit) {
  Counts counts;
  for (const Json& item : vector_cases("error")) {
    SCOPED_TRACE(item["id"]);
    const Json& in = item["in"];
    const Json& out = item["out"];
    if (item["op"] == "quantization_error") {
      const std::vector<float> a = read_floats(in["a"]).values;
      const std::vector<float> b = read_floats(in["b"]).values;
      expect_errors(a, b, out);
      if (out.contains("sum_a")) expect_floats({sum(a)}, out["sum_a"]);
      ++counts["quantization_error"];
    } else if (item["op"] == "sum_mean") {
      const std::vector<float> x = read_floats(in["x"]).values;
      expect_floats({sum(x)}, out["sum"]);
      expect_floats({mean(x)}, out["mean"]);
      double mean_of_squares = 0.0;
      ASSERT_EQ(quantization_error(x, std::vector<float>(x.size()), Metric::kMse, mean_of_squares),
                Status::kOk);
      expect_floats({static_cast<float>(mean_of_squares)}, out["mean_sq"]);
      ++counts["sum_mean"];
    } else {
      ++counts["has no input"];
    }
  }
  EXPECT_EQ(counts, (Counts{{"quantization_error", 46}, {"sum_mean", 6}, {"has no input", 5}}));
}

// ---- linear

// Each output within tol_abs of y_exact_f64, in double; within the header's bound in float32.
void expect_outputs(const std::vector<float>& y, const Json& out, std::size_t k,
                    Accumulate accumulate) {
  const std::vector<double> exact = read_doubles(out["y_exact_f64"]);
  const std::vector<double> tolerance = read_doubles(out["tol_abs"]);
  ASSERT_EQ(y.size(), exact.size());
  const auto terms = static_cast<double>(k);
  for (std::size_t i = 0; i < y.size(); ++i) {
    // tol_abs is (K + 1) 2^-24 sum|x w|, and leaves room for the weights' own rounding. float32 may
    // err by (K + 2) 2^-23 sum|x w| besides that rounding, which is at most 2^-24 sum|x w|.
    const double magnitudes = tolerance[i] / ((terms + 1.0) * 0x1p-24);
    const double allowed = accumulate == Accumulate::kExact
                               ? tolerance[i]
                               : ((terms + 2.0) * 0x1p-23 + 0x1p-24) * magnitudes;
    EXPECT_LE(std::fabs(y[i] - exact[i]), allowed) << i;
  }
}

TEST(Vectors, W8A32IsWithinTheBoundOfTheExactResultWithExactWeights) {
  Counts counts;
  for (const Json& item : vector_cases("w8a32")) {
    SCOPED_TRACE(item["id"]);
    const Json& in = item["in"];
    const Json& out = item["out"];
    if (out.contains("raises")) {
      ++counts["has no input"];
      continue;
    }
    const std::vector<float> x = read_floats(in["input"]).values;
    const auto shape = in["q_w"]["shape"].get<ShapeVector>();
    const std::size_t n = shape[0];
    const std::size_t k = shape[1];
    const std::size_t m = x.size() / k;
    const auto codes = read_codes<std::int8_t>(in["q_w"]);
    const Tensor<float> scale = read_floats(in["s_w"]);
    const auto z = static_cast<float>(read_number(in["z_w"]));

    // The notebook's weight adds z in float units: q * s + z.
    std::vector<float> w = dequantized(in["q_w"], DType::kInt8, scale, scalar(0.0F));
    for (float& value : w) value += z;
    expect_floats(w, out["weight"]);
    for (const Accumulate accumulate : {Accumulate::kExact, Accumulate::kFloat32}) {
      std::vector<float> y(m * n);
      ASSERT_EQ(linear(x, m, k, w, n, {}, accumulate, y), Status::kOk);
      expect_outputs(y, out, k, accumulate);
    }
    ++counts["float weight"];

    if (z != 0.0F) continue;
    const std::vector<std::int32_t> zero_points(scale.values.size());
    const bool per_output = !scale.shape.empty();
    const QuantizedWeight<std::int8_t> quantized = {
        codes,
        DType::kInt8,
        per_output ? WeightGranularity::kPerOutput : WeightGranularity::kPerTensor,
        0,
        scale.values,
        zero_points};
    for (const Accumulate accumulate : {Accumulate::kExact, Accumulate::kFloat32}) {
      std::vector<float> y(m * n);
      ASSERT_EQ(testing::linear_quantized<std::int8_t>(x, m, k, quantized, n, {}, accumulate, y),
                Status::kOk);
      expect_outputs(y, out, k, accumulate);
    }
    ++counts[per_output ? "per output" : "per tensor"];
  }
  EXPECT_EQ(
      counts,
      (Counts{{"float weight", 14}, {"per output", 5}, {"per tensor", 1}, {"has no input", 1}}));
}

// ---- random bits

TEST(Vectors, RandomBitPatternsAndRangesMatchPyTorchBitForBit) {
  Counts counts;
  for (const Json& item : vector_cases("fuzz")) {
    SCOPED_TRACE(item["id"]);
    const Json& in = item["in"];
    const Json& out = item["out"];
    if (item["op"] == "linear_q_all_dtypes") {
      const Tensor<float> x = read_floats(in["x"]);
      for (const DType dtype : {DType::kInt8, DType::kUint8, DType::kInt16, DType::kInt32}) {
        const std::string name(dtype_info(dtype).name);
        expect_round_trip(x, read_floats(in["scale"]), read_floats(in["zero_point"]), dtype,
                          Json{{"q", out[name]}});
      }
      ++counts["linear_q"];
    } else if (item["op"] == "choose_qparams_rows") {
      const std::vector<float> min = read_floats(in["min"]).values;
      const std::vector<float> max = read_floats(in["max"]).values;
      const std::vector<double> scales = read_doubles(out["seed_scale_int8"]);
      const auto zero_points = read_codes<std::int32_t>(out["seed_zero_point_int8"]);
      for (std::size_t i = 0; i < min.size(); ++i) {
        QParams qparams{};
        ASSERT_EQ(choose_qparams({min[i], max[i]}, {DType::kInt8, Scheme::kAffine, false}, qparams),
                  Status::kOk);
        EXPECT_EQ(qparams.scale, scales[i]) << i;
        EXPECT_EQ(qparams.zero_point, zero_points[i]) << i;
        ++counts["qparams"];
      }
    } else {
      ++counts["torch family"];
    }
  }
  EXPECT_EQ(counts, (Counts{{"linear_q", 10}, {"qparams", 160}, {"torch family", 22}}));
}

// ---- the notebooks' cells

TEST(Vectors, CellsOfTheNotebooksMatchPyTorchBitForBit) {
  Counts counts;
  for (const Json& item : vector_cases("seeds")) {
    SCOPED_TRACE(item["id"]);
    const std::string op = item["op"];
    const Json& in = item["in"];
    const Json& out = item["out"];
    std::optional<DType> dtype;
    if (in.contains("dtype")) dtype = read_dtype(in["dtype"]);
    if (op == "linear_q_with_scale_and_zero_point" && in.contains("x")) {
      expect_round_trip(read_floats(in["x"]), read_floats(in["scale"]),
                        read_floats(in["zero_point"]), dtype.value(), out);
    } else if (op == "linear_q_with_scale_and_zero_point") {
      // The notebook prints its random input to four decimals. So a quotient may be off by
      // 5e-5 / scale, and by float32's rounding, which 1e-4 covers; rounding adds a half.
      const Tensor<float> x = read_floats(in["x_rounded_to_4_decimals"]);
      const double scale = read_number(in["scale"]);
      const auto codes = read_codes<std::int8_t>(out["q"]);
      ASSERT_EQ(codes.size(), x.values.size());
      for (std::size_t i = 0; i < codes.size(); ++i) {
        const double shifted =
            std::clamp(x.values[i] / scale + read_number(in["zero_point"]), -128.0, 127.0);
        EXPECT_LE(std::fabs(shifted - codes[i]), 0.5 + 5e-5 / scale + 1e-4) << i;
      }
    } else if (op == "linear_dequantization") {
      expect_floats(dequantized(in["q"], DType::kInt8, read_floats(in["scale"]),
                                read_floats(in["zero_point"])),
                    out["dq"]);
    } else if (op == "mse" || op == "quantization_error") {
      expect_errors(read_floats(in["a"]).values, read_floats(in["b"]).values, out);
    } else if (op == "min") {
      expect_number(min_max(read_floats(in["x"]).values).min, out["r_min"]);
    } else if (op == "max") {
      expect_number(min_max(read_floats(in["x"]).values).max, out["r_max"]);
    } else if (op == "get_q_scale_and_zero_point") {
      const Chosen chosen =
          choose_per_tensor(read_floats(in["x"]), {dtype.value(), Scheme::kAffine, false});
      expect_number(chosen.scales.at(0), out["scale"]);
      EXPECT_EQ(chosen.zero_points.at(0), out["zero_point"].get<std::int32_t>());
    } else if (op == "get_q_scale_symmetric" || op == "linear_q_symmetric") {
      const Tensor<float> x = read_floats(in["x"]);
      const Chosen chosen = choose_per_tensor(x, {dtype.value(), Scheme::kSymmetric});
      expect_number(chosen.scales.at(0), out["scale"]);
      if (out.contains("q")) {
        const Tensor<float> scale = scalar(static_cast<float>(chosen.scales.at(0)));
        expect_round_trip(x, scale, scalar(0.0F), dtype.value(), out);
      }
    } else if (op == "linear_q_symmetric_per_channel" || op == "per_channel_scale") {
      const Tensor<float> x = read_floats(in["x"]);
      Granularity g;
      ASSERT_EQ(per_channel(x.shape, in["dim"].get<std::int32_t>(), g), Status::kOk);
      const Chosen chosen = choose(x, g, {DType::kInt8, Scheme::kSymmetric});
      const Tensor<float> scale = {{chosen.scales.begin(), chosen.scales.end()},
                                   out["scale"]["shape"].get<ShapeVector>()};
      expect_floats(scale.values, out["scale"]);
      if (out.contains("q")) expect_round_trip(x, scale, scalar(0.0F), *dtype, out);
    } else if (op == "quantized_linear_W8A32_without_bias" || op == "linear") {
      // Three terms of PyTorch's float32 against the exact sum: at most (K + 1) 2^-24 sum|x w|
      // apart on either side, and |w| <= 2.15.
      const std::vector<float> x = read_floats(in["input"]).values;
      const std::vector<float> w =
          read_floats(op == "linear" ? in["weight"] : out["weight"]).values;
      std::vector<float> y(3);
      ASSERT_EQ(linear(x, 1, 3, w, 3, {}, Accumulate::kExact, y), Status::kOk);
      const std::vector<float> expected = read_floats(out["y"]).values;
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_LE(std::fabs(y[i] - expected[i]), 2 * 4 * 0x1p-24 * (1 + 2 + 3) * 2.15) << i;
      }
    } else {
      ++counts["left out: " + op];
      continue;
    }
    ++counts["ran"];
  }
  EXPECT_EQ(counts, (Counts{{"ran", 31},
                            {"left out: dequantize_without_float_cast", 2},
                            {"left out: sub", 1},
                            {"left out: square", 1},
                            {"left out: true_divide", 2},
                            {"left out: quantize_per_tensor", 1},
                            {"left out: quantize_per_channel", 1},
                            {"left out: MovingAverageMinMaxObserver", 1},
                            {"left out: MovingAveragePerChannelMinMaxObserver", 1},
                            {"left out: HistogramObserver", 1}}));
}

}  // namespace
}  // namespace zeropoint
