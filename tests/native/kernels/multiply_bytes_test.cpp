#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "compare.h"
#include "kernels/panels.h"
#include "random.h"
#include "reference/finish_bytes.h"

namespace zeropoint {
namespace {

using kernels::Bytes;
using kernels::kPanel;
using testing::Input;
using testing::kInfinity;
using testing::kNan;
using testing::Output;
using testing::Random;
using testing::same;

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
                 Bytes format, std::int32_t base = 0) {
  const std::size_t steps = kernels::steps_of(layer.k, 8);
  Output<std::uint8_t> spread(rows.size() * kernels::byte_row_bytes(steps));
  kernels::Panels panels{};
  panels.k = layer.k;
  panels.bits = 8;
  panels.group = std::max<std::size_t>(layer.k, 1);
  panels.steps = steps;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Input<std::uint8_t> row(rows[r]);
    kernels::spread_bytes(row.data(), panels, {format, base}, rows.size(), r, spread.data());
  }
  EXPECT_TRUE(spread.guards_intact());
  Output<std::int32_t> sums(rows.size() * kPanel);
  const kernels::ByteProduct product{layer.packed.data(), steps, spread.data(), rows.size()};
  kernels::multiply_bytes(product, format, 0, steps, sums.data());
  if (format != Bytes::kI7Most) {
    // The same in two parts.
    const std::size_t half = steps / 2;
    Output<std::int32_t> first(sums.values().size());
    Output<std::int32_t> second(sums.values().size());
    kernels::multiply_bytes(product, format, 0, half, first.data());
    kernels::multiply_bytes(product, format, half, steps - half, second.data());
    for (std::size_t i = 0; i < sums.values().size(); ++i) {
      ASSERT_EQ(first.values()[i] + second.values()[i], sums.values()[i]);
    }
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < kPanel; ++i) {
      std::int64_t expected = 0;
      for (std::size_t j = 0; j < layer.k; ++j)
        expected += (std::int64_t{rows[r][j]} - base) * layer.codes[i][j];
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

TEST(MultiplyBytes, SumsFullScaleProductsOfTheMaximumNumberOfInputs) {
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

TEST(MultiplyBytes, IsExactWithListsOfInputsOfMoreThanSevenBits) {
  Random random(122);
  for (const std::size_t k : {1U, 4U, 5U, 8U, 33U, 100U, 128U}) {
    std::vector<std::vector<std::int8_t>> codes(kPanel);
    for (auto& row : codes) {
      for (std::size_t j = 0; j < k; ++j) {
        row.push_back(static_cast<std::int8_t>(random.integer(-128, 127)));
      }
    }
    const ByteLayer layer(codes, k);
    const std::size_t most = kernels::most_outside(kernels::steps_of(k, 8));
    for (std::size_t rows = 1; rows <= 15; ++rows) {
      for (const std::int32_t base : {0, 1, 64, 127, 128}) {
        std::vector<std::vector<std::uint8_t>> x(rows);
        for (auto& row : x) {
          for (std::size_t j = 0; j < k; ++j) {
            row.push_back(static_cast<std::uint8_t>(base + random.integer(0, 127)));
          }
          // Any values at random places, at most as many as a list holds.
          for (std::size_t outside = random.below(most + 1); outside > 0; --outside) {
            row[random.below(k)] = static_cast<std::uint8_t>(random.below(256));
          }
        }
        expect_sums(layer, x, Bytes::kI7Most, base);
      }
    }
  }
}

// Sums of a panel and their results: random ones, and some with overflow, NaN or ties.
struct PanelResults {
  std::vector<std::int32_t> sums;
  std::vector<double> more;
  std::vector<double> correction;
  std::vector<float> multiplier;
  std::vector<float> bias;

  PanelResults(std::size_t rows, Random& random) : sums(rows * kPanel), more(rows * kPanel) {
    const float specials[] = {kInfinity, -kInfinity, kNan, 0.0F, -0.0F, 0.5F, 1e30F, -1e30F};
    const auto special = [&](float otherwise) {
      return random.below(6) == 0 ? specials[random.below(std::size(specials))] : otherwise;
    };
    for (std::int32_t& sum : sums) {
      sum = random.below(8) == 0 ? static_cast<std::int32_t>(random.bits())
                                 : random.integer(-2000, 2000);
    }
    for (double& sum : more) sum = random.integer(-300, 300) * 0x1p8;
    for (std::size_t i = 0; i < kPanel; ++i) {
      correction.push_back(random.integer(-1000, 1000));
      multiplier.push_back(special(random.below(2) == 0 ? 0.5F : random.uniform(0.001F, 0.2F)));
      bias.push_back(special(static_cast<float>(random.integer(-900, 900))));
    }
  }

  [[nodiscard]] double sum(std::size_t row, std::size_t i, bool is_long) const {
    return sums[row * kPanel + i] + correction[i] + (is_long ? more[row * kPanel + i] : 0.0);
  }
};

// For both kernels: every number of rows and columns, with and without sums of earlier inputs.
template <typename Value, typename Run, typename Expected>
void expect_results(std::uint64_t seed, Run run, Expected expected_of) {
  Random random(seed);
  for (std::size_t rows = 0; rows <= 5; ++rows) {
    for (std::size_t columns = 1; columns <= kPanel; ++columns) {
      for (const bool is_long : {false, true}) {
        const PanelResults panel(rows, random);
        const std::size_t stride = columns + random.below(3);
        Output<Value> out(rows * stride);
        Output<Value> expected(rows * stride);
        for (std::size_t row = 0; row < rows; ++row) {
          for (std::size_t i = 0; i < columns; ++i) {
            expected.data()[row * stride + i] = expected_of(panel.sum(row, i, is_long), panel, i);
          }
        }
        const Input<std::int32_t> sums(panel.sums);
        run(kernels::ByteSums{sums.data(), is_long ? panel.more.data() : nullptr,
                              panel.correction.data()},
            panel, rows, out.data(), stride, columns);
        // Memory between rows is not written.
        ASSERT_TRUE(same(out.values(), expected.values())) << rows << " x " << columns;
        ASSERT_TRUE(out.guards_intact());
      }
    }
  }
}

TEST(FinishBytes, MatchesItsReferenceForEveryNumberOfRowsAndColumns) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    expect_results<float>(
        seed,
        [](const auto& sums, const auto& panel, auto rows, auto* out, auto stride, auto columns) {
          kernels::finish_bytes(sums, panel.multiplier.data(), panel.bias.data(), rows, out, stride,
                                columns);
        },
        [](double sum, const auto& panel, std::size_t i) {
          return reference::finish_byte(sum, panel.multiplier[i], panel.bias[i]);
        });
  }
}

TEST(RequantizeBytes, MatchesItsReferenceForEveryNumberOfRowsAndColumns) {
  for (const std::int32_t zero_point : {0, 1, 2, 9, 77, 100, 127, 128, 200, 255}) {
    for (const std::int32_t lowest : {0, zero_point}) {
      expect_results<std::uint8_t>(
          static_cast<std::uint64_t>(zero_point),
          [=](const auto& sums, const auto& panel, auto rows, auto* out, auto stride,
              auto columns) {
            kernels::requantize_bytes(sums, panel.multiplier.data(), panel.bias.data(), zero_point,
                                      lowest, rows, out, stride, columns);
          },
          [=](double sum, const auto& panel, std::size_t i) {
            return reference::requantize_byte(sum, panel.multiplier[i], panel.bias[i], zero_point,
                                              lowest);
          });
    }
  }
}

TEST(CountOutside, CountsBytesOutsideOfARangeOf128Anywhere) {
  for (const std::size_t n : {0U, 1U, 15U, 16U, 17U, 50U}) {
    for (const std::int32_t base : {0, 1, 64, 128}) {
      std::vector<std::uint8_t> x(n, static_cast<std::uint8_t>(base + 127));
      EXPECT_EQ(kernels::count_outside(x.data(), n, base), 0U);
      for (std::size_t i = 0; i < n; ++i) {
        // Above, and for a base of 128 below.
        x[i] = static_cast<std::uint8_t>(base + 128);
        EXPECT_EQ(kernels::count_outside(x.data(), n, base), i + 1) << n << " from " << base;
        if (base > 0) x[i] = static_cast<std::uint8_t>(base - 1);
        EXPECT_EQ(kernels::count_outside(x.data(), n, base), i + 1) << n << " from " << base;
      }
    }
  }
}

}  // namespace
}  // namespace zeropoint
