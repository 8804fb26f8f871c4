#include "reference/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "compare.h"
#include "random.h"

namespace zeropoint {
namespace {

using testing::kEffort;
using testing::kLengths;
using testing::Random;

std::vector<std::uint8_t> random_bytes(Random& random, std::size_t n) {
  std::vector<std::uint8_t> bytes(n);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.bits());
  return bytes;
}

// A query in the layout of its kernel.
std::vector<std::uint8_t> placed_query(const std::vector<std::int16_t>& query, int bits,
                                       std::size_t steps) {
  std::vector<std::uint8_t> placed(bits == 1   ? steps * kernels::kPlanes * 16
                                   : bits == 8 ? steps * 32
                                               : kernels::four_bit_query_size(steps));
  for (std::size_t i = 0; i < query.size(); ++i) {
    if (bits == 8) std::memcpy(placed.data() + 2 * i, &query[i], 2);
    if (bits == 4) kernels::place_four_bits(query[i], i, placed.data());
    for (std::size_t p = 0; bits == 1 && p < kernels::kPlanes; ++p) {
      std::uint8_t& byte = placed[p * steps * 16 + i / 8];
      byte = static_cast<std::uint8_t>(byte | (query[i] >> p & 1) << (i % 8));
    }
  }
  return placed;
}

// Rows of n values, in a descending order and with bytes before each; the last one read ends 16
// bytes before the end of their allocation.
void expect_dots(Random& random, std::size_t n, std::size_t count, int bits, std::int32_t most) {
  const std::size_t offset = n % 3;
  const std::size_t bytes = (n * static_cast<std::size_t>(bits) + 7) / 8;
  const std::vector<std::uint8_t> all = random_bytes(random, count * (offset + bytes) + 16);
  std::vector<const std::uint8_t*> rows(count);
  for (std::size_t r = 0; r < count; ++r) {
    rows[r] = all.data() + (count - 1 - r) * (offset + bytes);
  }
  const std::size_t steps = (bytes + 15) / 16;
  std::vector<std::vector<std::int16_t>> queries(2, std::vector<std::int16_t>(n));
  std::vector<std::uint8_t> placed;
  std::size_t to_second = 0;
  for (std::vector<std::int16_t>& query : queries) {
    for (std::int16_t& q : query) q = static_cast<std::int16_t>(random.integer(-most, most));
    // Also with codes that are all as large as they may be.
    if (n % 5 == 0) std::fill(query.begin(), query.end(), static_cast<std::int16_t>(most));
    if (n % 5 == 1) std::fill(query.begin(), query.end(), static_cast<std::int16_t>(-most));
    to_second = placed.size();
    const std::vector<std::uint8_t> own = placed_query(query, bits, steps);
    placed.insert(placed.end(), own.begin(), own.end());
  }
  for (const std::size_t together : {std::size_t{1}, std::size_t{2}}) {
    if (bits == 1 && together > 1) continue;
    std::vector<std::int32_t> out(together * count);
    const kernels::RowDots dots{rows.data(), placed.data(), steps, offset,
                                together > 1 ? to_second : 0};
    if (bits == 8) kernels::dot_rows_s8(dots, count, out.data());
    if (bits == 4) kernels::dot_rows_s4(dots, count, out.data());
    if (bits == 1) kernels::sum_signed_b1(dots, count, out.data());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::uint8_t* const from = rows[i % count] + offset;
      const std::int16_t* const query = queries[i / count].data();
      EXPECT_EQ(out[i], bits == 1 ? reference::sum_signed(from, query, n)
                                  : reference::dot_row(from, query, n, bits))
          << n << " values of " << bits << " bits, row " << i % count << " of " << count
          << ", query " << i / count;
    }
  }
}

TEST(SearchDots, EqualPlainSumsAtEveryLength) {
  Random random(51);
  for (const std::size_t n : kLengths) {
    if (n == 0) continue;
    for (const std::size_t count : {1U, 3U, 4U, 5U, 9U}) {
      expect_dots(random, n, count, 8, n < 500 ? 32767 : 255);
      expect_dots(random, n, count, 4, kernels::kMostFourBits);
      expect_dots(random, n, count, 1, 31);
    }
  }
}

TEST(SearchDots, EqualPlainSumsForTheLongestRows) {
  Random random(52);
  expect_dots(random, 65535, 5, 8, 255);
  expect_dots(random, 65535, 5, 4, kernels::kMostFourBits);
  expect_dots(random, 65535, 5, 1, 31);
}

TEST(SearchSigns, AreAsManyAsBitsDiffer) {
  Random random(54);
  for (const std::size_t n : kLengths) {
    for (const std::size_t stride : {n, 16 * n}) {
      if (stride == 0 || stride > 8192) continue;
      const std::size_t count = 5;
      std::vector<std::uint8_t> rows = random_bytes(random, count * stride + 16);
      if (n % 2 == 0) std::fill_n(rows.begin(), stride, std::uint8_t{0xff});
      const std::size_t steps = (stride + 15) / 16;
      std::vector<std::uint8_t> query(steps * 16);
      const std::vector<std::uint8_t> own = random_bytes(random, stride);
      if (n % 2 != 0) std::copy(own.begin(), own.end(), query.begin());
      std::vector<std::uint16_t> out(count);
      kernels::sign_distances_b1({rows.data(), stride, query.data()}, count, out.data());
      for (std::size_t row = 0; row < count; ++row) {
        EXPECT_EQ(out[row],
                  reference::sign_distance(rows.data() + row * stride, query.data(), stride));
      }
    }
  }
}

TEST(SearchSigns, MarksDistancesUpToALimit) {
  Random random(56);
  for (const std::size_t n : kLengths) {
    std::vector<std::uint16_t> distances(n);
    for (std::uint16_t& v : distances) v = static_cast<std::uint16_t>(random.bits());
    for (const std::uint16_t most : {std::uint16_t{0}, n == 0 ? std::uint16_t{1} : distances[n / 2],
                                     std::uint16_t{32768}, std::uint16_t{65535}}) {
      std::vector<std::uint8_t> marks((n + 7) / 8, 0xff);
      std::size_t expected = 0;
      const std::size_t found = kernels::mark_up_to_u16(distances.data(), n, most, marks.data());
      for (std::size_t i = 0; i < 8 * marks.size(); ++i) {
        const bool is_marked = i < n && distances[i] <= most;
        EXPECT_EQ((marks[i / 8] >> (i % 8) & 1) != 0, is_marked);
        expected += is_marked ? 1 : 0;
      }
      EXPECT_EQ(found, expected);
    }
  }
}

TEST(SearchSquares, EqualPlainSumsAndFindTheLeastCode) {
  Random random(55);
  for (const std::size_t n : kLengths) {
    std::vector<std::uint8_t> bytes = random_bytes(random, n);
    EXPECT_EQ(kernels::sum_squares_s8(bytes.data(), n), reference::sum_squares(bytes.data(), n, 8));
    EXPECT_EQ(kernels::sum_squares_s4(bytes.data(), n),
              reference::sum_squares(bytes.data(), 2 * n, 4));
    for (std::uint8_t& byte : bytes) {
      if (byte == 0x80) byte = 0x81;
    }
    const std::int32_t sum = kernels::sum_squares_s8(bytes.data(), n);
    EXPECT_EQ(sum, reference::sum_squares(bytes.data(), n, 8));
    EXPECT_GE(sum, 0);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(byte & 0x77);
    EXPECT_EQ(kernels::sum_squares_s4(bytes.data(), n),
              reference::sum_squares(bytes.data(), 2 * n, 4));
    if (n == 0) continue;
    bytes[n / 2] = 0x80;
    EXPECT_EQ(kernels::sum_squares_s8(bytes.data(), n), -1);
    EXPECT_EQ(kernels::sum_squares_s4(bytes.data(), n), -1);
  }
}

TEST(SearchRows, EqualTheReference) {
  Random random(53);
  for (std::size_t round = 0; round < 30 * kEffort; ++round) {
    for (const std::size_t n : kLengths) {
      const int exponent = random.integer(-120, 120);
      std::vector<float> x(n);
      for (float& v : x) v = random.spread(exponent - 5, exponent);
      const kernels::RowSums sums = kernels::sum_row_f32(x.data(), n);
      const kernels::RowSums expected = reference::sum_row_f32(x.data(), n);
      EXPECT_EQ(sums.square, expected.square);
      EXPECT_EQ(sums.absolute, expected.absolute);
      EXPECT_EQ(sums.largest, expected.largest);
      if (n == 0) continue;
      const double most = round % 2 == 0 ? 127.0 : 7.0;
      const kernels::RowScale scale{static_cast<float>(sums.largest / most),
                                    static_cast<float>(most), 1.0 / std::sqrt(sums.square),
                                    random.uniform(0.001F, 0.1F)};
      if (scale.scale == 0.0F) continue;
      std::vector<std::int8_t> codes(n);
      std::vector<std::int8_t> expected_codes(n);
      kernels::CodeSums noise{};
      kernels::CodeSums expected_noise{};
      kernels::encode_row_f32(x.data(), n, scale, codes.data(), noise);
      reference::encode_row_f32(x.data(), n, scale, expected_codes.data(), expected_noise);
      EXPECT_EQ(codes, expected_codes);
      for (int lane = 0; lane < 4; ++lane) {
        EXPECT_EQ(std::bit_cast<std::uint64_t>(noise.noise[lane]),
                  std::bit_cast<std::uint64_t>(expected_noise.noise[lane]));
        EXPECT_EQ(std::bit_cast<std::uint64_t>(noise.squares[lane]),
                  std::bit_cast<std::uint64_t>(expected_noise.squares[lane]));
      }
    }
  }
}

}  // namespace
}  // namespace zeropoint
