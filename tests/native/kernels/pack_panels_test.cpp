#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "kernels/panels.h"
#include "random.h"

namespace zeropoint {
namespace {

using kernels::kPanel;
using testing::Random;

/// The code of an output and input, read from the layout that panels.h states.
int packed_code(const std::vector<std::uint8_t>& packed, int bits, int added_to_low,
                std::size_t output, std::size_t input) {
  const std::size_t step = input / 4;
  const std::size_t tile = output / 4;
  const std::size_t byte = output % 4 * 4 + input % 4;
  if (bits == 8) return static_cast<std::int8_t>(packed[step * 32 + tile * 16 + byte]);
  const std::size_t at = bits == 4 ? step * 16 + byte : step / 2 * 16 + byte;
  const std::size_t field = bits == 4 ? tile : step % 2 * 2 + tile;
  const int levels = 1 << bits;
  const int code = packed[at] >> (field * static_cast<std::size_t>(bits)) & (levels - 1);
  if (bits == 4 && tile == 0 && added_to_low != 0) return code - added_to_low;
  return code >= levels / 2 ? code - levels : code;
}

/// Packs random codes in the layout of a format of activations, and checks every byte.
void expect_codes_in_place(kernels::Digits format) {
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
          kernels::CodeSizes sizes;
          const int added_to_low = bits == 4 ? kernels::added_to_low(format) : 0;
          kernels::pack_chunk(rows, outputs, inputs, bits, is_signed, added_to_low, packed.data(),
                              minus_sums, sizes);
          const int unit = 1 << (8 - bits);
          for (std::size_t i = 0; i < kPanel; ++i) {
            int sum = 0;
            int low = 0;
            int high = 0;
            int below = 0;
            int squares = 0;
            for (std::size_t j = 0; j < steps * 4; ++j) {
              int code = 0;
              if (i < outputs && j < inputs) {
                code = is_signed ? static_cast<std::int8_t>(codes[i][j]) : codes[i][j] - half;
              }
              ASSERT_EQ(packed_code(packed, bits, added_to_low, i, j), code) << i << ", " << j;
              sum += code;
              low = std::min(low, code);
              high = std::max(high, code);
              squares += code * unit * code * unit;
              if (std::abs(code) * unit < kernels::ordinary_code(bits)) ++below;
            }
            EXPECT_EQ(minus_sums[i], -64 * unit * sum);
            EXPECT_EQ(sizes.smallest[i], unit * low);
            EXPECT_EQ(sizes.largest[i], unit * high);
            EXPECT_EQ(sizes.squares[i], squares);
            // Inputs are read sixteen at a time; those beyond the row are 0.
            const std::size_t taken = (inputs + 15) / 16 * 16;
            const std::size_t padding = taken > steps * 4 ? taken - steps * 4 : 0;
            EXPECT_EQ(sizes.small[i], below + static_cast<int>(padding));
          }
        }
      }
    }
  }
}

TEST(PackChunk, PutsEveryCodeWhereTheLayoutOf16BitDigitsSays) {
  expect_codes_in_place(kernels::Digits::kI16);
}

TEST(PackChunk, PutsEveryCodeWhereTheLayoutOf7BitDigitsSays) {
  expect_codes_in_place(kernels::Digits::kI7);
}

TEST(UnpackChunk, IsTheInverseOfPackChunk) {
  Random random(121);
  for (const kernels::Digits format : {kernels::Digits::kI16, kernels::Digits::kI7}) {
    for (const int bits : {8, 4, 2}) {
      for (const bool is_signed : {true, false}) {
        for (const std::size_t inputs : {0U, 1U, 3U, 4U, 5U, 15U, 16U, 17U, 33U, 1024U}) {
          const int half = 1 << (bits - 1);
          std::vector<std::vector<std::uint8_t>> codes(kPanel);
          const std::uint8_t* rows[kPanel];
          for (std::size_t i = 0; i < kPanel; ++i) {
            for (std::size_t j = 0; j < inputs; ++j) {
              const int code = random.integer(-half, half - 1) + (is_signed ? 0 : half);
              codes[i].push_back(static_cast<std::uint8_t>(code));
            }
            rows[i] = codes[i].data();
          }
          std::vector<std::uint8_t> packed(kernels::steps_of(inputs, bits) *
                                           static_cast<std::size_t>(bits) * 4);
          std::int32_t minus_sums[kPanel];
          kernels::CodeSizes sizes;
          const int added_to_low = bits == 4 ? kernels::added_to_low(format) : 0;
          kernels::pack_chunk(rows, kPanel, inputs, bits, is_signed, added_to_low, packed.data(),
                              minus_sums, sizes);
          for (std::size_t i = 0; i < kPanel; ++i) {
            std::vector<std::uint8_t> unpacked(inputs);
            kernels::unpack_chunk(packed.data(), i, inputs, bits, is_signed, added_to_low,
                                  unpacked.data());
            EXPECT_EQ(unpacked, codes[i]) << bits << " bits, " << inputs << " inputs, " << i;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace zeropoint
