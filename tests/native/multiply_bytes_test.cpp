#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "compare.h"
#include "kernels/panels.h"
#include "random.h"

namespace zeropoint {
namespace {

using kernels::Bytes;
using kernels::kPanel;
using testing::Input;
using testing::Output;
using testing::Random;

// 8-bit panels of one value each for all inputs of an output, or of random ones.
struct ByteLayer {
  std::size_t k;
  std::vector<std::vector<std::int8_t>> codes;
  std::vector<std::uint8_t> packed;

  ByteLayer(std::vector<std::vector<std::int8_t>> outputs, std::size_t inputs)
      : k(inputs), codes(std::move(outputs)), packed(kernels::steps_of(inputs, 8) * 32) {
    for (std::size_t i = 0; i < kPanel; ++i) {
      for (std::size_t j = 0; j < k; ++j) {
        packed[j / 4 * 32 + i / 4 * 16 + i % 4 * 4 + j % 4] =
            static_cast<std::uint8_t>(codes[i][j]);
      }
    }
  }
};

void expect_sums(const ByteLayer& layer, const std::vector<std::vector<std::uint8_t>>& rows,
                 Bytes format) {
  const std::size_t steps = kernels::steps_of(layer.k, 8);
  Output<std::uint8_t> spread(rows.size() * kernels::byte_row_bytes(steps));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Input<std::uint8_t> row(rows[r]);
    kernels::spread_bytes(row.data(), layer.k, format, rows.size(), r, spread.data());
  }
  EXPECT_TRUE(spread.guards_intact());
  Output<std::int32_t> sums(rows.size() * kPanel);
  const kernels::ByteProduct product{layer.packed.data(), steps, spread.data(), rows.size()};
  kernels::multiply_bytes(product, format, 0, steps, sums.data());
  // The same in two parts.
  const std::size_t half = steps / 2;
  Output<std::int32_t> first(sums.values().size());
  Output<std::int32_t> second(sums.values().size());
  kernels::multiply_bytes(product, format, 0, half, first.data());
  kernels::multiply_bytes(product, format, half, steps - half, second.data());
  for (std::size_t i = 0; i < sums.values().size(); ++i) {
    ASSERT_EQ(first.values()[i] + second.values()[i], sums.values()[i]);
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < kPanel; ++i) {
      std::int64_t expected = 0;
      for (std::size_t j = 0; j < layer.k; ++j)
        expected += std::int64_t{rows[r][j]} * layer.codes[i][j];
      ASSERT_EQ(sums.values()[r * kPanel + i], expected)
          << "row " << r << ", output " << i << ", K " << layer.k;
    }
  }
  EXPECT_TRUE(sums.guards_intact());
}

TEST(MultiplyBytes, IsExactInEveryFormatForEveryNumberOfRowsAndInputs) {
  Random random(121);
  for (const std::size_t k : {0U, 1U, 3U, 4U, 15U, 16U, 33U, 100U}) {
    std::vector<std::vector<std::int8_t>> codes(kPanel);
    for (auto& row : codes) {
      for (std::size_t j = 0; j < k; ++j) {
        row.push_back(static_cast<std::int8_t>(random.integer(-128, 127)));
      }
    }
    const ByteLayer layer(codes, k);
    for (std::size_t rows = 0; rows <= 15; ++rows) {
      for (const Bytes format : {Bytes::kI16, Bytes::kI7, Bytes::kI7x2}) {
        const std::size_t levels = format == Bytes::kI7 ? 128 : 256;
        std::vector<std::vector<std::uint8_t>> x(rows);
        for (auto& row : x) {
          for (std::size_t j = 0; j < k; ++j) {
            row.push_back(static_cast<std::uint8_t>(random.below(levels)));
          }
        }
        expect_sums(layer, x, format);
      }
    }
  }
}

TEST(MultiplyBytes, HoldsFullScaleProductsOfAllTheInputsItTakes) {
  constexpr std::size_t kInputs = kernels::kByteInputs;
  for (const int code : {-128, 127}) {
    const std::vector<std::int8_t> row(kInputs, static_cast<std::int8_t>(code));
    const ByteLayer layer(std::vector<std::vector<std::int8_t>>(kPanel, row), kInputs);
    for (const Bytes format : {Bytes::kI16, Bytes::kI7, Bytes::kI7x2}) {
      const std::uint8_t value = format == Bytes::kI7 ? 127 : 255;
      expect_sums(layer, {std::vector<std::uint8_t>(kInputs, value)}, format);
    }
  }
}

TEST(AllBelow128, SeesTheHighestBitAnywhere) {
  for (const std::size_t n : {0U, 1U, 15U, 16U, 17U, 50U}) {
    std::vector<std::uint8_t> x(n, 127);
    EXPECT_TRUE(kernels::all_below_128(x.data(), n));
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = 128;
      EXPECT_FALSE(kernels::all_below_128(x.data(), n)) << i << " of " << n;
      x[i] = 127;
    }
  }
}

}  // namespace
}  // namespace zeropoint
