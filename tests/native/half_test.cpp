#include "zeropoint/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "compare.h"
#include "random.h"
#include "reference/half.h"
#include "vectors.h"

namespace zeropoint {
namespace {

using reference::HalfFormat;
using testing::Input;
using testing::kLengths;
using testing::Output;
using testing::Random;
using testing::same;

struct Type {
  HalfType type;
  HalfFormat format;
  const char* name;
};

constexpr Type kTypes[] = {{HalfType::kFloat16, reference::kFloat16, "f16"},
                           {HalfType::kBfloat16, reference::kBfloat16, "bf16"}};

std::vector<std::uint16_t> all_halves() {
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  return halves;
}

std::vector<std::uint16_t> rounded(std::span<const float> x, HalfType type) {
  std::vector<std::uint16_t> halves(x.size());
  EXPECT_EQ(from_float32(x, type, halves), Status::kOk);
  return halves;
}

bool is_nan(std::uint16_t half, const HalfFormat& format) {
  return std::isnan(reference::half_value(half, format));
}

void expect_nearest(const std::vector<float>& x, const Type& type) {
  const std::vector<std::uint16_t> halves = rounded(x, type.type);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i])) {
      ASSERT_TRUE(is_nan(halves[i], type.format)) << type.name << " of " << x[i];
      ASSERT_EQ(halves[i] >> 15 != 0, std::signbit(x[i]));
    } else {
      ASSERT_EQ(halves[i], reference::nearest_half(x[i], type.format))
          << type.name << " of " << x[i];
    }
  }
}

TEST(ToFloat32, IsExactForEveryBitPattern) {
  const std::vector<std::uint16_t> halves = all_halves();
  for (const Type& type : kTypes) {
    Output<float> values(halves.size());
    ASSERT_EQ(to_float32(halves, type.type, values.span()), Status::kOk);
    for (std::size_t i = 0; i < halves.size(); ++i) {
      const auto expected = static_cast<float>(reference::half_value(halves[i], type.format));
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(values.values()[i])) << type.name << " " << i;
      } else {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(values.values()[i]),
                  std::bit_cast<std::uint32_t>(expected))
            << type.name << " " << i;
      }
    }
    EXPECT_TRUE(values.guards_intact());
  }
}

TEST(ToFloat32, TakesAnyLengthAndAlignment) {
  Random random(320);
  for (const Type& type : kTypes) {
    for (const std::size_t length : kLengths) {
      for (const std::size_t offset : {0U, 1U, 3U}) {
        std::vector<std::uint16_t> halves;
        std::vector<float> expected;
        for (std::size_t i = 0; i < length; ++i) {
          halves.push_back(static_cast<std::uint16_t>(random.below(65536)));
          const double value = reference::half_value(halves.back(), type.format);
          expected.push_back(static_cast<float>(value));
        }
        const Input input(halves, offset);
        Output<float> values(length, offset);
        ASSERT_EQ(to_float32(input.span(), type.type, values.span()), Status::kOk);
        EXPECT_TRUE(same(values.values(), expected));
        EXPECT_TRUE(values.guards_intact());
      }
    }
  }
}

TEST(ToFloat32, TakesHalvesInTheSecondHalfOfItsOutput) {
  Random random(321);
  for (const Type& type : kTypes) {
    for (const std::size_t length : kLengths) {
      std::vector<std::uint16_t> halves;
      for (std::size_t i = 0; i < length; ++i) {
        halves.push_back(static_cast<std::uint16_t>(random.below(65536)));
      }
      std::vector<float> apart(length);
      ASSERT_EQ(to_float32(halves, type.type, apart), Status::kOk);
      Output<float> values(length);
      auto* second = reinterpret_cast<std::uint16_t*>(values.data()) + length;
      if (length > 0) std::memcpy(second, halves.data(), length * sizeof(*second));
      ASSERT_EQ(to_float32({second, length}, type.type, values.span()), Status::kOk);
      EXPECT_TRUE(same(values.values(), apart));
      EXPECT_TRUE(values.guards_intact());
    }
  }
}

TEST(FromFloat32, GivesEveryValueItsOwnBits) {
  for (const Type& type : kTypes) {
    std::vector<float> values(65536);
    const std::vector<std::uint16_t> halves = all_halves();
    ASSERT_EQ(to_float32(halves, type.type, values), Status::kOk);
    const std::vector<std::uint16_t> back = rounded(values, type.type);
    for (std::size_t i = 0; i < halves.size(); ++i) {
      if (is_nan(halves[i], type.format)) continue;
      ASSERT_EQ(back[i], halves[i]) << type.name;
    }
    expect_nearest(values, type);
  }
}

TEST(FromFloat32, RoundsTiesToEvenBetweenAllNeighbours) {
  for (const Type& type : kTypes) {
    std::vector<float> x;
    for (int half = 0; half < type.format.top_exponent() << type.format.mantissa_bits; ++half) {
      const double low = reference::half_value(static_cast<std::uint16_t>(half), type.format);
      const double high = reference::half_value(static_cast<std::uint16_t>(half + 1), type.format);
      // The largest value and infinity have a middle, too: the next value of a wider exponent.
      const double middle =
          std::isinf(high) ? low + (low - reference::half_value(
                                              static_cast<std::uint16_t>(half - 1), type.format)) /
                                       2
                           : (low + high) / 2;
      const auto tie = static_cast<float>(middle);
      for (const float value :
           {tie, std::nextafter(tie, 0.0F), std::nextafter(tie, testing::kInfinity)}) {
        x.push_back(value);
        x.push_back(-value);
      }
    }
    expect_nearest(x, type);
  }
}

TEST(FromFloat32, IsTheNearestForAnyBits) {
  Random random(322);
  for (const Type& type : kTypes) {
    std::vector<float> x(testing::kSpecialFloats.begin(), testing::kSpecialFloats.end());
    for (int i = 0; i < 100000; ++i) {
      x.push_back(
          std::bit_cast<float>(static_cast<std::uint32_t>(random.integer(INT32_MIN, INT32_MAX))));
    }
    expect_nearest(x, type);
    for (const std::size_t length : kLengths) {
      for (const std::size_t offset : {0U, 1U, 3U}) {
        const Input input(std::vector<float>(x.begin(), x.begin() + static_cast<int>(length)),
                          offset);
        Output<std::uint16_t> halves(length, offset);
        ASSERT_EQ(from_float32(input.span(), type.type, halves.span()), Status::kOk);
        EXPECT_TRUE(same(halves.values(), rounded(input.span(), type.type)));
        EXPECT_TRUE(halves.guards_intact());
      }
    }
  }
}

TEST(FromFloat32, HasTheBitsOfNumPyAndMlDtypes) {
  std::size_t cases = 0;
  for (const testing::Json& item : testing::vector_cases("half")) {
    const auto x = testing::from_bytes<float>(testing::base64_bytes(item["x"].get<std::string>()));
    const auto bits =
        testing::from_bytes<std::uint16_t>(testing::base64_bytes(item["bits"].get<std::string>()));
    const Type& type = kTypes[item["to"] == "f16" ? 0 : 1];
    const std::vector<std::uint16_t> halves = rounded(x, type.type);
    const auto nan_from = item["nan_from"].get<std::size_t>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i < nan_from) {
        EXPECT_EQ(halves[i], bits[i]) << type.name << " of " << x[i];
      } else {
        EXPECT_TRUE(is_nan(halves[i], type.format));
      }
    }
    cases += x.size();
  }
  EXPECT_EQ(cases, 2682U);
}

TEST(Half, LeavesOutputUntouchedIfTheLengthsDiffer) {
  const std::vector<std::uint16_t> halves(9);
  const std::vector<float> x(9);
  for (const std::size_t wrong : {0U, 8U, 10U}) {
    for (const Type& type : kTypes) {
      Output<float> values(wrong);
      EXPECT_EQ(to_float32(halves, type.type, values.span()), Status::kShapeMismatch);
      EXPECT_TRUE(values.untouched());
      Output<std::uint16_t> out(wrong);
      EXPECT_EQ(from_float32(x, type.type, out.span()), Status::kShapeMismatch);
      EXPECT_TRUE(out.untouched());
    }
  }
}

}  // namespace
}  // namespace zeropoint
