// Every case of tests/vectors of the torch family that the core can run, against PyTorch's bits.
// Each test counts the cases run and the cases left out, by reason, so that no case can vanish.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "compare.h"
#include "core/linspace.h"
#include "packed.h"
#include "vectors.h"
#include "zeropoint/zeropoint.h"

namespace zeropoint {
namespace {

using testing::count_of;
using testing::is_tensor;
using testing::Json;
using testing::kInfinity;
using testing::read_codes;
using testing::read_doubles;
using testing::read_dtype;
using testing::read_floats;
using testing::read_number;
using testing::same;
using testing::ShapeVector;
using testing::Tensor;
using testing::vector_cases;

using Counts = std::map<std::string, int>;

// ---- reading and comparing

// A scale: a number, or a tensor of one.
double read_scale(const Json& json) {
  return is_tensor(json, "f32") ? double{read_floats(json).values.at(0)} : read_number(json);
}

std::int32_t read_zero_point(const Json& json) {
  return json.is_object() ? read_codes<std::int32_t>(json).at(0) : json.get<std::int32_t>();
}

std::vector<double> read_scales(const Json& json) {
  if (is_tensor(json, "f64")) return read_doubles(json);
  const std::vector<float> scales = read_floats(json).values;
  return {scales.begin(), scales.end()};
}

// A JSON number, or the name of an infinity.
float read_limit(const Json& json) {
  if (json == "Infinity") return kInfinity;
  if (json == "-Infinity") return -kInfinity;
  return json.get<float>();
}

bool has_nan(const std::vector<float>& values) {
  return std::any_of(values.begin(), values.end(), [](float v) { return std::isnan(v); });
}

void expect_floats(const std::vector<float>& actual, const Json& expected) {
  EXPECT_TRUE(same(actual, read_floats(expected).values));
}

template <typename Code>
void expect_codes(const std::vector<Code>& actual, const Json& expected) {
  EXPECT_TRUE(same(actual, read_codes<Code>(expected)));
}

// Calls visit with a code of qint8, quint8 or qint32.
template <typename Visit>
void with_torch_code(DType dtype, Visit visit) {
  if (dtype == DType::kQint8) return visit(std::int8_t{});
  if (dtype == DType::kQuint8) return visit(std::uint8_t{});
  ASSERT_EQ(dtype, DType::kQint32);
  visit(std::int32_t{});
}

constexpr std::array kBothOverflows = {Overflow::kSaturate, Overflow::kTorch};

// ---- quantize_per_tensor, quantize_per_channel

void expect_per_tensor(const std::vector<float>& x, double scale, std::int32_t zero_point,
                       DType dtype, Overflow overflow, const Json& expected) {
  with_torch_code(dtype, [&](auto code) {
    using Code = decltype(code);
    std::vector<Code> codes(x.size());
    ASSERT_EQ(quantize_per_tensor<Code>(x, scale, zero_point, dtype, overflow, codes), Status::kOk);
    expect_codes(codes, expected);
  });
}

void expect_dequantized_per_tensor(const Json& codes_json, double scale, std::int32_t zero_point,
                                   DType dtype, const Json& expected) {
  with_torch_code(dtype, [&](auto code) {
    using Code = decltype(code);
    const auto codes = read_codes<Code>(codes_json);
    std::vector<float> values(codes.size());
    ASSERT_EQ(dequantize_per_tensor<Code>(codes, scale, zero_point, values), Status::kOk);
    expect_floats(values, expected);
  });
}

Status status_per_tensor(const std::vector<float>& x, const Json& in, DType dtype) {
  Status status = Status::kOk;
  with_torch_code(dtype, [&](auto code) {
    using Code = decltype(code);
    std::vector<Code> codes(x.size());
    status = quantize_per_tensor<Code>(x, read_scale(in["scale"]), in["zero_point"], dtype,
                                       Overflow::kTorch, codes);
  });
  return status;
}

TEST(TorchVectors, QuantizePerTensorMatchesPyTorchBitForBit) {
  Counts counts;
  for (const Json& item : vector_cases("torch_quantize")) {
    SCOPED_TRACE(item["id"]);
    const std::string op = item["op"];
    const Json& in = item["in"];
    const Json& out = item["out"];
    const DType dtype = read_dtype(in["dtype"]).value();
    const std::vector<float> x = read_floats(in["x"]).values;
    if (op == "quantize_per_tensor" && out.contains("raises")) {
      EXPECT_EQ(status_per_tensor(x, in, dtype), Status::kInvalidZeroPoint);
      ++counts["refused"];
    } else if (op == "quantize_per_tensor") {
      const double scale = read_scale(in["scale"]);
      const std::int32_t zero_point = read_zero_point(in["zero_point"]);
      for (const Overflow overflow : kBothOverflows) {
        expect_per_tensor(x, scale, zero_point, dtype, overflow, out["int_repr"]);
      }
      expect_dequantized_per_tensor(out["int_repr"], scale, zero_point, dtype, out["dequantize"]);
      ++counts["ran"];
    } else if (op == "quantize_per_tensor_special") {
      const double scale = read_scale(in["scale"]);
      const std::int32_t zero_point = read_zero_point(in["zero_point"]);
      expect_per_tensor(x, scale, zero_point, dtype, Overflow::kTorch, out["portable"]);
      expect_per_tensor(x, scale, zero_point, dtype, Overflow::kSaturate, out["ref_saturating"]);
      ++counts["special"];
    } else if (op == "quantize_per_tensor_dynamic") {
      const Range range = x.empty() ? Range{0.0F, 0.0F} : min_max(x);
      const DTypeInfo info = dtype_info(dtype);
      QParams qparams{};
      ASSERT_EQ(
          choose_quantization_params(range, info.qmin, info.qmax, in["reduce_range"], qparams),
          Status::kOk);
      EXPECT_EQ(qparams.scale, read_number(out["scale"]));
      EXPECT_EQ(qparams.zero_point, out["zero_point"].get<std::int32_t>());
      expect_per_tensor(x, qparams.scale, qparams.zero_point, dtype, Overflow::kTorch,
                        out["int_repr"]);
      expect_dequantized_per_tensor(out["int_repr"], qparams.scale, qparams.zero_point, dtype,
                                    out["dequantize"]);
      ++counts["dynamic"];
    } else {
      ++counts["per channel"];
    }
  }
  EXPECT_EQ(
      counts,
      (Counts{{"ran", 43}, {"refused", 2}, {"special", 16}, {"dynamic", 16}, {"per channel", 91}}));
}

void expect_per_channel(const Tensor<float>& x, const Json& in, DType dtype, const Json& out) {
  with_torch_code(dtype, [&](auto code) {
    using Code = decltype(code);
    const std::vector<double> scales = read_scales(in["scales"]);
    const auto zero_points = read_codes<std::int32_t>(in["zero_points"]);
    const std::int32_t axis = in["axis"];
    Tensor<Code> codes = {std::vector<Code>(x.values.size()), x.shape};
    for (const Overflow overflow : kBothOverflows) {
      ASSERT_EQ(quantize_per_channel<Code>(x.view(), scales, zero_points, axis, dtype, overflow,
                                           codes.values),
                Status::kOk);
      expect_codes(codes.values, out["int_repr"]);
    }
    std::vector<float> values(x.values.size());
    ASSERT_EQ(dequantize_per_channel<Code>(codes.view(), scales, zero_points, axis, values),
              Status::kOk);
    expect_floats(values, out["dequantize"]);
  });
}

template <typename Code>
void expect_per_channel_float_qparams(const Tensor<float>& x, const Json& in, DType dtype,
                                      bool ordinary, const Json& out) {
  const std::vector<float> scales = read_floats(in["scales"]).values;
  const std::vector<float> zero_points = read_floats(in["zero_points"]).values;
  const std::int32_t axis = in["axis"];
  Tensor<Code> codes = {std::vector<Code>(x.values.size()), x.shape};
  for (const Overflow overflow : kBothOverflows) {
    if (overflow == Overflow::kSaturate && !ordinary) continue;
    ASSERT_EQ(quantize_per_channel_float_qparams<Code>(x.view(), scales, zero_points, axis, dtype,
                                                       overflow, codes.values),
              Status::kOk);
    expect_codes(codes.values, out["int_repr"]);
  }
  if (!ordinary) return;
  std::vector<float> values(x.values.size());
  ASSERT_EQ(
      dequantize_per_channel_float_qparams<Code>(codes.view(), scales, zero_points, axis, values),
      Status::kOk);
  expect_floats(values, out["dequantize"]);
}

TEST(TorchVectors, QuantizePerChannelMatchesPyTorchBitForBit) {
  const std::map<std::string, Status> refusals = {
      {"negative axis rejected", Status::kInvalidAxis},
      {"axis out of range", Status::kInvalidAxis},
      {"length mismatch", Status::kShapeMismatch},
      {"scales/zero_points mismatch", Status::kShapeMismatch},
      {"zero point out of range", Status::kInvalidZeroPoint}};
  Counts counts;
  for (const Json& item : vector_cases("torch_quantize")) {
    SCOPED_TRACE(item["id"]);
    const std::string op = item["op"];
    const Json& in = item["in"];
    const Json& out = item["out"];
    if (op.rfind("quantize_per_channel", 0) != 0) continue;
    const DType dtype = read_dtype(in["dtype"]).value();
    const Tensor<float> x = read_floats(in["x"]);
    if (out.contains("raises")) {
      if (item["note"] == "scales must be 1-d") {
        ++counts["has no shape in the core"];
        continue;
      }
      std::vector<std::int8_t> codes(x.values.size());
      EXPECT_EQ(quantize_per_channel<std::int8_t>(x.view(), read_scales(in["scales"]),
                                                  read_codes<std::int32_t>(in["zero_points"]),
                                                  in["axis"], dtype, Overflow::kTorch, codes),
                refusals.at(item["note"]));
      ++counts["refused"];
    } else if (is_tensor(in["zero_points"], "f32")) {
      const bool ordinary = op == "quantize_per_channel";
      if (dtype == DType::kQint8) {
        expect_per_channel_float_qparams<std::int8_t>(x, in, dtype, ordinary, out);
      } else {
        ASSERT_EQ(dtype, DType::kQuint8);
        expect_per_channel_float_qparams<std::uint8_t>(x, in, dtype, ordinary, out);
      }
      ++counts[ordinary ? "float zero points" : "special"];
    } else {
      expect_per_channel(x, in, dtype, out);
      ++counts["integer zero points"];
    }
  }
  EXPECT_EQ(counts, (Counts{{"integer zero points", 49},
                            {"float zero points", 34},
                            {"special", 2},
                            {"refused", 5},
                            {"has no shape in the core", 1}}));
}

// ---- ranges, observers and their qparams

// The observer's options as its constructor settles them from keyword arguments.
ObserverOptions observer_options(const Json& in) {
  ObserverOptions options;
  const std::string dtype = in.value("dtype", "quint8");
  const std::string qscheme = in.value("qscheme", "per_tensor_affine");
  if (qscheme.find("float_qparams") != std::string::npos) {
    options.qscheme = QScheme::kFloatQParams;
  } else if (qscheme.find("symmetric") != std::string::npos) {
    options.qscheme = QScheme::kSymmetric;
  }
  const bool customized = in.contains("quant_min") && in.contains("quant_max");
  if (customized) {
    options.quant_min = in["quant_min"];
    options.quant_max = in["quant_max"];
  } else if (const auto known = read_dtype(dtype)) {
    const int shift = in.value("reduce_range", false) ? 2 : 1;
    options.quant_min = dtype_info(*known).qmin / shift;
    options.quant_max = dtype_info(*known).qmax / shift;
  }
  options.eps = in.value("eps", 0x1p-23F);
  if (dtype == "quint8" || dtype == "uint8") {
    options.symmetric_zero_point = customized ? (options.quant_min + options.quant_max) / 2 : 128;
  } else if (dtype == "uint16") {
    options.symmetric_zero_point = 32768;
  }
  return options;
}

void expect_qparams(const std::vector<Range>& ranges, const ObserverOptions& options,
                    const Json& scale, const Json& zero_point) {
  std::vector<float> scales(ranges.size());
  if (options.qscheme == QScheme::kFloatQParams) {
    std::vector<float> zero_points(ranges.size());
    ASSERT_EQ(calculate_float_qparams(ranges, options, scales, zero_points), Status::kOk);
    expect_floats(zero_points, zero_point);
  } else {
    std::vector<std::int32_t> zero_points(ranges.size());
    ASSERT_EQ(calculate_qparams(ranges, options, scales, zero_points), Status::kOk);
    if (zero_point.is_number()) {
      EXPECT_EQ(zero_points.at(0), zero_point.get<std::int32_t>());
    } else {
      expect_codes(zero_points, zero_point);
    }
  }
  expect_floats(scales, scale);
}

std::vector<Range> zip(const std::vector<float>& min, const std::vector<float>& max) {
  std::vector<Range> ranges(min.size());
  for (std::size_t i = 0; i < min.size(); ++i) ranges[i] = {min[i], max.at(i)};
  return ranges;
}

TEST(TorchVectors, CalculateQParamsMatchesPyTorchBitForBit) {
  Counts counts;
  for (const Json& item : vector_cases("calculate_qparams")) {
    SCOPED_TRACE(item["id"]);
    const Json& in = item["in"];
    const Json& out = item["out"];
    if (out.contains("raises")) {
      ++counts["has no constructor in the core"];
      continue;
    }
    ObserverOptions options = observer_options(in);
    options.quant_min = out["quant_min"];
    options.quant_max = out["quant_max"];
    if (!out.contains("rows")) {
      expect_qparams(zip(read_floats(out["min"]).values, read_floats(out["max"]).values), options,
                     out["scale"], out["zero_point"]);
      ++counts["several channels"];
      continue;
    }
    for (const Json& row : out["rows"]) {
      expect_qparams({{read_limit(row["min"]), read_limit(row["max"])}}, options, row["scale"],
                     row["zero_point"]);
      ++counts["rows"];
    }
  }
  EXPECT_EQ(
      counts,
      (Counts{{"rows", 1239}, {"several channels", 3}, {"has no constructor in the core", 5}}));
}

// What an observer of ranges remembers: per tensor or per index of an axis, and how it joins.
class RangeObserver {
 public:
  RangeObserver(const std::string& name, const Json& in)
      : per_channel_(name.find("PerChannel") != std::string::npos),
        moving_(name.rfind("MovingAverage", 0) == 0),
        axis_(in.value("ch_axis", 0)),
        averaging_constant_(
            in.contains("averaging_constant") ? read_number(in["averaging_constant"]) : 0.01) {}

  void observe(const Tensor<float>& x) {
    if (x.values.empty()) return;
    Granularity g;
    ASSERT_EQ(per_channel_ ? per_channel(x.shape, axis_, g) : per_tensor(x.shape, g), Status::kOk);
    std::vector<Range> batch(g.slices);
    ASSERT_EQ(range(x.values, g, NonFinite::kKeep, batch), Status::kOk);
    if (ranges_.empty()) {
      ranges_ = batch;
    } else if (moving_) {
      ASSERT_EQ(update_moving_average(batch, averaging_constant_, ranges_), Status::kOk);
    } else {
      ASSERT_EQ(update_min_max(batch, ranges_), Status::kOk);
    }
  }

  [[nodiscard]] const std::vector<Range>& ranges() const { return ranges_; }

 private:
  bool per_channel_;
  bool moving_;
  std::int32_t axis_;
  double averaging_constant_;
  std::vector<Range> ranges_;
};

void expect_ranges(const std::vector<Range>& ranges, const Json& step) {
  std::vector<float> min;
  std::vector<float> max;
  for (const Range& range : ranges) {
    min.push_back(range.min);
    max.push_back(range.max);
  }
  expect_floats(min, step["min_val"]);
  expect_floats(max, step["max_val"]);
}

TEST(TorchVectors, ObserversMatchPyTorchBitForBit) {
  Counts counts;
  for (const Json& item : vector_cases("observers")) {
    SCOPED_TRACE(item["id"]);
    const Json& in = item["in"];
    Json single = item["out"];
    if (in.contains("x")) single["x"] = in["x"];
    const Json steps = single.contains("steps") ? single["steps"] : Json::array({single});
    RangeObserver observer(item["op"], in);
    const ObserverOptions options = observer_options(in);
    for (const Json& step : steps) {
      observer.observe(read_floats(step["x"]));
      if (observer.ranges().empty()) {
        ++counts["nothing observed"];
        continue;
      }
      expect_ranges(observer.ranges(), step);
      if (step.contains("raises")) {
        std::vector<float> scales(observer.ranges().size());
        std::vector<std::int32_t> zero_points(scales.size());
        EXPECT_EQ(calculate_qparams(observer.ranges(), options, scales, zero_points),
                  Status::kNonFinite);
        ++counts["refused"];
      } else {
        expect_qparams(observer.ranges(), options, step["scale"], step["zero_point"]);
        ++counts["batches"];
      }
    }
  }
  EXPECT_EQ(counts, (Counts{{"batches", 212}, {"refused", 4}, {"nothing observed", 4}}));
}

// ---- fake quantization

TEST(TorchVectors, FakeQuantizePerTensorMatchesPyTorchBitForBit) {
  Counts counts;
  for (const Json& item : vector_cases("fake_quantize")) {
    SCOPED_TRACE(item["id"]);
    const Json& in = item["in"];
    const Json& out = item["out"];
    if (item["op"] != "fake_quantize_per_tensor_affine") continue;
    const std::vector<float> x = read_floats(in["x"]).values;
    const QuantRange quant_range = {in["quant_min"], in["quant_max"]};
    std::vector<float> y(x.size());
    const Status status =
        fake_quantize_per_tensor(x, read_scale(in["scale"]), read_zero_point(in["zero_point"]),
                                 quant_range, Overflow::kTorch, y);
    if (out.contains("raises")) {
      EXPECT_EQ(status, Status::kInvalidZeroPoint);
      ++counts["refused"];
      continue;
    }
    ASSERT_EQ(status, Status::kOk);
    expect_floats(y, out["y"]);
    ++counts["ran"];
  }
  EXPECT_EQ(counts, (Counts{{"ran", 26}, {"refused", 2}}));
}

Status fake_quantize_channels(const Tensor<float>& x, const Json& in, std::vector<float>& y) {
  const std::vector<float> scales = read_floats(in["scale"]).values;
  const QuantRange quant_range = {in["quant_min"], in["quant_max"]};
  if (is_tensor(in["zero_point"], "f32")) {
    return fake_quantize_per_channel_float_qparams(x.view(), scales,
                                                   read_floats(in["zero_point"]).values, in["axis"],
                                                   quant_range, Overflow::kTorch, y);
  }
  return fake_quantize_per_channel(x.view(), scales, read_codes<std::int32_t>(in["zero_point"]),
                                   in["axis"], quant_range, Overflow::kTorch, y);
}

TEST(TorchVectors, FakeQuantizePerChannelMatchesPyTorchBitForBit) {
  const std::map<std::string, Status> refusals = {
      {"length mismatch", Status::kShapeMismatch},
      {"zero_point out of range", Status::kInvalidZeroPoint},
      {"negative axis", Status::kInvalidAxis}};
  Counts counts;
  for (const Json& item : vector_cases("fake_quantize")) {
    SCOPED_TRACE(item["id"]);
    const Json& in = item["in"];
    const Json& out = item["out"];
    if (item["op"] != "fake_quantize_per_channel_affine") continue;
    const Tensor<float> x = read_floats(in["x"]);
    std::vector<float> y(x.values.size());
    if (item.value("note", "") == "zero_point must be int32/float") {
      ++counts["has no int64 in the core"];
      continue;
    }
    const Status status = fake_quantize_channels(x, in, y);
    if (out.contains("raises")) {
      EXPECT_EQ(status, refusals.at(item["note"]));
      ++counts["refused"];
      continue;
    }
    ASSERT_EQ(status, Status::kOk);
    expect_floats(y, out["y"]);
    ++counts[is_tensor(in["zero_point"], "f32") ? "float zero points" : "integer zero points"];
  }
  EXPECT_EQ(counts, (Counts{{"integer zero points", 12},
                            {"float zero points", 12},
                            {"refused", 3},
                            {"has no int64 in the core", 1}}));
}

TEST(TorchVectors, FakeQuantizeModulesMatchPyTorchBitForBit) {
  Counts counts;
  for (const Json& item : vector_cases("fake_quantize")) {
    SCOPED_TRACE(item["id"]);
    if (item["op"] != "FakeQuantize") continue;
    const std::string name = item["in"]["name"];
    const bool channels = name == "default_per_channel_weight_fake_quant";
    ObserverOptions options = {QScheme::kAffine, item["in"]["quant_min"], item["in"]["quant_max"]};
    if (name != "default_fake_quant") options.qscheme = QScheme::kSymmetric;
    RangeObserver observer(
        channels ? "MovingAveragePerChannelMinMaxObserver" : "MovingAverageMinMaxObserver",
        Json::object());
    for (const Json& step : item["out"]["steps"]) {
      const Tensor<float> x = read_floats(step["x"]);
      observer.observe(x);
      const std::size_t slices = observer.ranges().size();
      std::vector<float> scales(slices);
      std::vector<std::int32_t> zero_points(slices);
      ASSERT_EQ(calculate_qparams(observer.ranges(), options, scales, zero_points), Status::kOk);
      expect_floats(scales, step["scale"]);
      expect_codes(zero_points, step["zero_point"]);
      std::vector<float> y(x.values.size());
      const QuantRange quant_range = {options.quant_min, options.quant_max};
      const Status status = channels ? fake_quantize_per_channel(x.view(), scales, zero_points, 0,
                                                                 quant_range, Overflow::kTorch, y)
                                     : fake_quantize_per_tensor(x.values, scales[0], zero_points[0],
                                                                quant_range, Overflow::kTorch, y);
      ASSERT_EQ(status, Status::kOk);
      expect_floats(y, step["y"]);
      ++counts["batches"];
    }
  }
  EXPECT_EQ(counts, (Counts{{"batches", 9}}));
}

// ---- histogram

std::vector<float> histogram_of(const std::vector<float>& x, Range range, std::size_t bins) {
  std::vector<std::uint32_t> counts(bins);
  std::vector<float> histogram(bins);
  EXPECT_EQ(count_into_bins(x, range.min, range.max, counts), Status::kOk);
  EXPECT_EQ(to_histogram(counts, histogram), Status::kOk);
  return histogram;
}

// HistogramObserver.forward, which drops infinities and ignores a batch of nothing else.
class HistogramState {
 public:
  explicit HistogramState(std::size_t bins)
      : held_(bins), scratch_(histogram_scratch(bins)), range_{kInfinity, -kInfinity} {}

  void observe(std::vector<float> x) {
    x.erase(std::remove_if(x.begin(), x.end(), [](float v) { return std::isinf(v); }), x.end());
    if (x.empty()) return;
    const Range batch = min_max(x);
    const Range joint = {std::min(batch.min, range_.min), std::max(batch.max, range_.max)};
    const std::vector<float> histogram = histogram_of(x, joint, held_.size());
    if (range_.min > range_.max) {
      held_ = histogram;
    } else {
      ASSERT_EQ(merge_histogram(histogram, joint, held_, range_, scratch_), Status::kOk);
    }
    range_ = joint;
  }

  [[nodiscard]] Range search(double levels) {
    Range found{};
    EXPECT_EQ(search_histogram(held_, range_, levels, scratch_, found), Status::kOk);
    return found;
  }

  [[nodiscard]] bool empty() const { return range_.min > range_.max; }
  [[nodiscard]] Range range() const { return range_; }
  [[nodiscard]] const std::vector<float>& histogram() const { return held_; }

 private:
  std::vector<float> held_;
  std::vector<float> scratch_;
  Range range_;
};

void expect_histogram_step(HistogramState& state, const Json& in, const Json& step,
                           Counts& counts) {
  state.observe(read_floats(step["x"]).values);
  if (step.contains("histogram")) expect_floats(state.histogram(), step["histogram"]);
  expect_ranges({state.range()}, step);
  if (state.empty()) {
    ++counts["nothing observed"];
    return;
  }
  const Range found = state.search(in.value("dtype", "quint8") == "qint32" ? 0x1p32 : 256.0);
  if (step.contains("search_min")) {
    EXPECT_EQ(found.min, static_cast<float>(read_scale(step["search_min"])));
    EXPECT_EQ(found.max, static_cast<float>(read_scale(step["search_max"])));
    ++counts["searches"];
  }
  const ObserverOptions options = observer_options(in);
  if (step.contains("raises")) {
    float scale = 0.0F;
    std::int32_t zero_point = 0;
    EXPECT_EQ(calculate_qparams({&found, 1}, options, {&scale, 1}, {&zero_point, 1}),
              Status::kNonFinite);
    ++counts["refused"];
    return;
  }
  expect_qparams({found}, options, step["scale"], step["zero_point"]);
  ++counts["batches"];
}

TEST(TorchVectors, HistogramsMatchPyTorchBitForBit) {
  Counts counts;
  for (const Json& item : vector_cases("histogram")) {
    SCOPED_TRACE(item["id"]);
    const Json& in = item["in"];
    if (item["op"] == "histc") {
      const Range range = {in["min"].get<float>(), in["max"].get<float>()};
      expect_floats(histogram_of(read_floats(in["x"]).values, range, in["bins"]),
                    item["out"]["hist"]);
      ++counts["histc"];
      continue;
    }
    if (item["op"] == "linspace") {
      const Linspace values(in["start"].get<float>(), in["end"].get<float>(), in["steps"]);
      const std::vector<float> expected = read_floats(item["out"]["y"]).values;
      ASSERT_EQ(expected.size(), in["steps"].get<std::size_t>());
      for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(values[i], expected[i]) << i;
      ++counts["linspace"];
      continue;
    }
    Json single = item["out"];
    if (in.contains("x")) single["x"] = in["x"];
    const Json steps = single.contains("steps") ? single["steps"] : Json::array({single});
    HistogramState state(in["bins"]);
    for (const Json& step : steps) {
      const std::vector<float> x = read_floats(step["x"]).values;
      if (has_nan(x)) {
        std::vector<std::uint32_t> bins(in["bins"].get<std::size_t>());
        const Range range = min_max(x);
        EXPECT_EQ(count_into_bins(x, range.min, range.max, bins), Status::kNonFinite);
        ++counts["NaN"];
        continue;
      }
      expect_histogram_step(state, in, step, counts);
    }
  }
  EXPECT_EQ(counts, (Counts{{"batches", 58},
                            {"searches", 52},
                            {"histc", 4},
                            {"refused", 1},
                            {"NaN", 1},
                            {"nothing observed", 2},
                            {"linspace", 4}}));
}

// ---- dynamic linear

Range observed(const std::vector<float>& x) { return x.empty() ? Range{0.0F, 0.0F} : min_max(x); }

TEST(TorchVectors, ChooseQuantizationParamsMatchesPyTorchBitForBit) {
  Counts counts;
  for (const Json& item : vector_cases("dynamic_linear")) {
    SCOPED_TRACE(item["id"]);
    const Json& in = item["in"];
    const Json& out = item["out"];
    if (item["op"] != "choose_qparams") continue;
    const Range range = observed(read_floats(in["x"]).values);
    QParams qparams{};
    const Status status =
        choose_quantization_params(range, 0, 255, in["reduce_range"].get<bool>(), qparams);
    if (!std::isfinite(range.min) || !std::isfinite(range.max)) {
      // PyTorch refuses NaN alone, and chooses an infinite scale for infinities.
      EXPECT_EQ(status, Status::kNonFinite);
      ++counts[out.contains("raises") ? "refused as in PyTorch" : "infinite"];
      continue;
    }
    ASSERT_EQ(status, Status::kOk);
    EXPECT_EQ(qparams.scale, read_number(out["scale"]));
    EXPECT_EQ(qparams.zero_point, out["zero_point"].get<std::int32_t>());
    ++counts["ran"];
  }
  EXPECT_EQ(counts, (Counts{{"ran", 44}, {"infinite", 6}, {"refused as in PyTorch", 2}}));
}

TEST(TorchVectors, DynamicLinearMatchesQnnpackBitForBit) {
  Counts counts;
  for (const Json& item : vector_cases("dynamic_linear")) {
    SCOPED_TRACE(item["id"]);
    const Json& in = item["in"];
    const Json& out = item["out"];
    if (item["op"] != "dynamic_linear") continue;
    const std::vector<float> x = read_floats(in["x"]).values;
    const auto w_shape = out["q_weight"]["shape"].get<ShapeVector>();
    const std::size_t n = w_shape[0];
    const std::size_t k = w_shape[1];
    const std::size_t m = count_of(in["x"]["shape"].get<ShapeVector>()) / k;
    const auto codes = read_codes<std::int8_t>(out["q_weight"]);
    const std::vector<float> scales = read_floats(out["w_scale"]).values;
    const std::vector<float> bias =
        in["bias"].is_null() ? std::vector<float>() : read_floats(in["bias"]).values;
    const std::vector<std::int32_t> zeros(scales.size());
    const QuantizedWeight<std::int8_t> weight = {
        codes,
        DType::kInt8,
        scales.size() == 1 ? WeightGranularity::kPerTensor : WeightGranularity::kPerOutput,
        0,
        scales,
        zeros};
    testing::AlignedBytes block(0);
    ASSERT_EQ(testing::pack(weight, n, k, block), Status::kOk);
    const testing::AlignedBytes scratch(linear_scratch_size(block.data(), m));
    for (const bool reduce_range : {true, false}) {
      const Json& expected = out[reduce_range ? "reduce_range_true" : "reduce_range_false"];
      QParams activation{};
      ASSERT_EQ(choose_quantization_params(observed(x), 0, 255, reduce_range, activation),
                Status::kOk);
      EXPECT_EQ(activation.scale, read_number(expected["act_scale"]));
      EXPECT_EQ(activation.zero_point, expected["act_zero_point"].get<std::int32_t>());
      std::vector<std::uint8_t> qx(x.size());
      ASSERT_EQ(quantize_per_tensor<std::uint8_t>(x, activation.scale, activation.zero_point,
                                                  DType::kQuint8, Overflow::kSaturate, qx),
                Status::kOk);
      expect_codes(qx, expected["ref_qx"]);
      std::vector<float> y(m * n);
      ASSERT_EQ(linear_dynamic(qx, m, activation, block.data(), bias, scratch.span(), y),
                Status::kOk);
      expect_floats(y, expected["ref_y"]);
      ++counts["ran"];
      if (in["engine"] != "qnnpack" || reduce_range) continue;
      expect_floats(y, out["engine_y_reduce_range_false"]);
      ++counts["measured on qnnpack"];
    }
  }
  EXPECT_EQ(counts, (Counts{{"ran", 64}, {"measured on qnnpack", 16}}));
}

// ---- random bits

TEST(TorchVectors, RandomBitPatternsAndRangesMatchPyTorchBitForBit) {
  Counts counts;
  for (const Json& item : vector_cases("fuzz")) {
    SCOPED_TRACE(item["id"]);
    const Json& in = item["in"];
    const Json& out = item["out"];
    if (item["op"] == "quantize_per_tensor_portable") {
      const std::vector<float> x = read_floats(in["x"]).values;
      const double scale = read_scale(in["scale"]);
      const std::int32_t zero_point = read_zero_point(in["zero_point"]);
      for (const DType dtype : {DType::kQint8, DType::kQuint8, DType::kQint32}) {
        const std::string name(dtype_info(dtype).name);
        expect_per_tensor(x, scale, zero_point, dtype, Overflow::kTorch, out[name]);
        expect_per_tensor(x, scale, zero_point, dtype, Overflow::kSaturate,
                          out["ref_saturating_" + name]);
      }
      std::vector<float> y(x.size());
      ASSERT_EQ(fake_quantize_per_tensor(x, scale, zero_point, {0, 127}, Overflow::kTorch, y),
                Status::kOk);
      expect_floats(y, out["fake_quantize_0_127"]);
      ++counts["quantize_per_tensor"];
    } else if (item["op"] == "calculate_qparams") {
      expect_qparams(zip(read_floats(in["min"]).values, read_floats(in["max"]).values),
                     observer_options(in), out["scale"], out["zero_point"]);
      ++counts["calculate_qparams"];
    } else if (item["op"] == "choose_qparams_rows") {
      const std::vector<Range> ranges =
          zip(read_floats(in["min"]).values, read_floats(in["max"]).values);
      for (const bool reduce_range : {false, true}) {
        const std::string suffix = reduce_range ? "_reduce_range" : "";
        const std::vector<double> scales = read_doubles(out["scale" + suffix]);
        const auto zero_points = read_codes<std::int32_t>(out["zero_point" + suffix]);
        for (std::size_t i = 0; i < ranges.size(); ++i) {
          QParams qparams{};
          ASSERT_EQ(choose_quantization_params(ranges[i], 0, 255, reduce_range, qparams),
                    Status::kOk);
          EXPECT_EQ(qparams.scale, scales.at(i)) << i;
          EXPECT_EQ(qparams.zero_point, zero_points.at(i)) << i;
          ++counts["choose_qparams"];
        }
      }
    } else {
      ++counts["notebooks"];
    }
  }
  EXPECT_EQ(counts, (Counts{{"quantize_per_tensor", 10},
                            {"calculate_qparams", 12},
                            {"choose_qparams", 320},
                            {"notebooks", 10}}));
}

}  // namespace
}  // namespace zeropoint
