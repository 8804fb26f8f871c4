#include "kernels/panels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "compare.h"
#include "random.h"

namespace zeropoint {
namespace {

using kernels::Bytes;
using kernels::kPanel;
using testing::Output;
using testing::Random;

// ---- packing

/// The code of an output and input, read from the layout that panels.h states.
int packed_code(const std::vector<std::uint8_t>& packed, int bits, std::size_t output,
                std::size_t input) {
  const std::size_t step = input / 4;
  const std::size_t tile = output / 4;
  const std::size_t byte = output % 4 * 4 + input % 4;
  if (bits == 8) return static_cast<std::int8_t>(packed[step * 32 + tile * 16 + byte]);
  const std::size_t at = bits == 4 ? step * 16 + byte : step / 2 * 16 + byte;
  const std::size_t field = bits == 4 ? tile : step % 2 * 2 + tile;
  const int levels = 1 << bits;
  const int code = packed[at] >> (field * static_cast<std::size_t>(bits)) & (levels - 1);
  return code >= levels / 2 ? code - levels : code;
}

TEST(PackChunk, PutsEveryCodeWhereTheLayoutSays) {
  Random random(120);
  for (const int bits : {8, 4, 2}) {
    for (const bool is_signed : {true, false}) {
      for (const std::size_t inputs : {1U, 3U, 4U, 5U, 15U, 16U, 17U, 40U}) {
        for (const std::size_t outputs : {1U, 4U, 7U, 8U}) {
          SCOPED_TRACE(::testing::Message() << bits << " bits, " << outputs << " x " << inputs);
          const int half = 1 << (bits - 1);
          std::vector<std::vector<std::uint8_t>> codes(outputs);
          const std::uint8_t* rows[kPanel];
          for (std::size_t i = 0; i < outputs; ++i) {
            for (std::size_t j = 0; j < inputs; ++j) {
              const int code = random.integer(-half, half - 1) + (is_signed ? 0 : half);
              codes[i].push_back(static_cast<std::uint8_t>(code));
            }
            rows[i] = codes[i].data();
          }
          const std::size_t steps = kernels::steps_of(inputs, bits);
          std::vector<std::uint8_t> packed(steps * static_cast<std::size_t>(bits) * 4);
          std::int32_t minus_sums[kPanel];
          std::int8_t smallest[kPanel];
          std::int8_t largest[kPanel];
          std::int32_t small[kPanel];
          kernels::pack_chunk(rows, outputs, inputs, bits, is_signed, packed.data(), minus_sums,
                              smallest, largest, small);
          const int unit = 1 << (8 - bits);
          for (std::size_t i = 0; i < kPanel; ++i) {
            int sum = 0;
            int low = 0;
            int high = 0;
            int below = 0;
            for (std::size_t j = 0; j < steps * 4; ++j) {
              int code = 0;
              if (i < outputs && j < inputs) {
                code = is_signed ? static_cast<std::int8_t>(codes[i][j]) : codes[i][j] - half;
              }
              ASSERT_EQ(packed_code(packed, bits, i, j), code) << i << ", " << j;
              sum += code;
              low = std::min(low, code);
              high = std::max(high, code);
              if (std::abs(code) * unit < kernels::ordinary_code(bits)) ++below;
            }
            EXPECT_EQ(minus_sums[i], -64 * unit * sum);
            EXPECT_EQ(smallest[i], unit * low);
            EXPECT_EQ(largest[i], unit * high);
            // Vectors take sixteen inputs at a time; what they add to them is 0.
            const std::size_t taken = (inputs + 15) / 16 * 16;
            const std::size_t padding = taken > steps * 4 ? taken - steps * 4 : 0;
            EXPECT_EQ(small[i], below + static_cast<int>(padding));
          }
        }
      }
    }
  }
}

// ---- bytes

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
  const std::size_t row_bytes = steps * kernels::step_bytes(format);
  std::vector<std::uint8_t> spread(rows.size() * row_bytes);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    kernels::spread_bytes(rows[r].data(), layer.k, format, spread.data() + r * row_bytes);
  }
  Output<std::int32_t> sums(rows.size() * kPanel);
  kernels::multiply_bytes(layer.packed.data(), steps, format, spread.data(), row_bytes, rows.size(),
                          sums.data());
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
    for (std::size_t rows = 0; rows <= 9; ++rows) {
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
