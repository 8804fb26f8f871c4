#include "zeropoint/blocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "compare.h"
#include "core/parallel.h"
#include "random.h"
#include "reference/blocks.h"
#include "vectors.h"

namespace zeropoint {
namespace {

using testing::base64_bytes;
using testing::from_bytes;
using testing::Json;
using testing::Output;
using testing::Random;

using Bytes = std::vector<std::uint8_t>;
using Floats = std::vector<float>;

std::vector<BlockType> all_types() {
  std::vector<BlockType> types;
  types.reserve(kBlockTypes);
  for (int t = 0; t < kBlockTypes; ++t) types.push_back(static_cast<BlockType>(t));
  return types;
}

BlockType type_named(const std::string& name) {
  for (const BlockType type : all_types()) {
    if (block_info(type).name == name) return type;
  }
  ADD_FAILURE() << name;
  return BlockType::kF16;
}

Bytes quantized(const Floats& x, std::size_t row_length, BlockType type,
                const Floats& importance = {}) {
  const BlockInfo info = block_info(type);
  Output<std::uint8_t> out(x.size() / info.values * info.bytes);
  EXPECT_EQ(quantize_blocks(x, row_length, type, importance, out.span()), Status::kOk);
  EXPECT_TRUE(out.guards_intact());
  return {out.values().begin(), out.values().end()};
}

Floats dequantized(const Bytes& blocks, BlockType type) {
  const BlockInfo info = block_info(type);
  Output<float> out(blocks.size() / info.bytes * info.values);
  EXPECT_EQ(dequantize_blocks(blocks, type, out.span()), Status::kOk);
  EXPECT_TRUE(out.guards_intact());
  return {out.values().begin(), out.values().end()};
}

/// Values of the kinds that weights have: rows of normal values, of few levels, of zeros, of
/// extremes.
Floats random_row(Random& random, std::size_t n) {
  Floats x(n);
  const std::size_t kind = random.below(8);
  const float scale = random.spread(-40, 20);
  for (float& value : x) {
    switch (kind) {
      case 0:
        value = scale * random.uniform(-1.0F, 1.0F);
        break;
      case 1:
        value = scale * static_cast<float>(random.integer(-3, 3));
        break;
      case 2:
        value = random.below(8) == 0 ? scale : 0.0F;
        break;
      case 3:
        value = random.spread(-126, 126);
        break;
      case 4:
        value = random.spread(-8, 0);
        break;
      case 5:
        value = scale * random.uniform(0.0F, 1.0F);
        break;
      case 6:
        value = std::bit_cast<float>(random.bits() & 0x807fffffU);
        break;  // subnormal
      default:
        value = scale * (random.uniform(-1, 1) + random.uniform(-1, 1) + random.uniform(-1, 1));
    }
  }
  return x;
}

TEST(BlockInfo, HasGgmlsNumbersAndSizes) {
  EXPECT_EQ(block_info(BlockType::kQ4_K).name, "q4_k");
  EXPECT_EQ(block_info(BlockType::kQ4_K).ggml_type, 12);
  EXPECT_EQ(block_info(BlockType::kQ4_K).values, 256);
  EXPECT_EQ(block_info(BlockType::kQ4_K).bytes, 144);
}

TEST(QuantizeBlocks, MatchesGgmlByteForByte) {
  std::ifstream file(std::string(ZEROPOINT_VECTORS_DIR) + "/blocks.json");
  const Json content = Json::parse(file);
  std::size_t count = 0;
  for (const Json& c : content["cases"]) {
    const BlockType type = type_named(c["type"].get<std::string>());
    const auto id = c["id"].get<std::string>();
    const Bytes expected = base64_bytes(c["q"].get<std::string>());
    if (c.contains("row")) {
      const Json& row = content["rows"][c["row"].get<std::size_t>()];
      const auto x = from_bytes<float>(base64_bytes(row["x"].get<std::string>()));
      Floats importance;
      if (c.contains("imatrix")) {
        const Json& weights = content["importance"][c["imatrix"].get<std::size_t>()];
        const auto once = from_bytes<float>(base64_bytes(weights.get<std::string>()));
        for (std::size_t i = 0; i < x.size(); ++i) importance.push_back(once[i % once.size()]);
      }
      EXPECT_EQ(quantized(x, x.size(), type, importance), expected) << id;
    }
    Floats y = dequantized(expected, type);
    for (float& value : y) {
      if (std::isnan(value)) value = std::bit_cast<float>(0x7fc00000U);
    }
    EXPECT_EQ(testing::crc32(y), c["y_crc32"].get<std::string>()) << id;
    ++count;
  }
  EXPECT_EQ(count, 1155);
}

// The logarithm of a value just below a power of two rounds up to that of the power.
TEST(QuantizeBlocks, ChoosesPowersOfTwoAsTheReferenceJustBelowThem) {
  for (int exponent = -120; exponent <= 120; ++exponent) {
    float largest = std::ldexp(1.0F, exponent);
    for (int below = 0; below < 12; ++below) {
      Floats x(32);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = largest * static_cast<float>(i + 1) / 32.0F;
      ASSERT_EQ(quantized(x, 32, BlockType::kMXFP4),
                reference::quantize_row(x, BlockType::kMXFP4, {}))
          << largest;
      largest = std::nextafter(largest, 0.0F);
    }
  }
}

TEST(QuantizeBlocks, EqualsTheReferenceForRandomRows) {
  Random random(1);
  for (std::size_t round = 0; round < 12 * testing::kEffort; ++round) {
    const std::size_t n = 256 * (1 + random.below(3));
    const Floats x = random_row(random, n);
    Floats importance(n);
    for (float& weight : importance) weight = random.below(9) == 0 ? 0.0F : random.spread(-10, 3);
    for (float& weight : importance) weight = std::fabs(weight);
    for (const BlockType type : all_types()) {
      const std::string where =
          std::string(block_info(type).name) + ", round " + std::to_string(round);
      ASSERT_EQ(quantized(x, n, type), reference::quantize_row(x, type, {})) << where;
      const bool takes_importance = type >= BlockType::kQ4_0 && type <= BlockType::kIQ4_XS;
      if (!takes_importance) continue;
      ASSERT_EQ(quantized(x, n, type, importance), reference::quantize_row(x, type, importance))
          << where << ", with importance";
    }
  }
}

TEST(QuantizeBlocks, TakesTheSignOfTheFirstZero) {
  Random random(2);
  for (std::size_t round = 0; round < 20 * testing::kEffort; ++round) {
    Floats x(256);
    const bool has_values = random.below(2) == 0;
    for (float& value : x) {
      value = random.below(2) == 0 ? 0.0F : -0.0F;
      if (has_values && random.below(4) == 0) value = random.uniform(0.0F, 1.0F);
    }
    for (const BlockType type : all_types()) {
      ASSERT_EQ(quantized(x, 256, type), reference::quantize_row(x, type, {}))
          << block_info(type).name << ", round " << round;
    }
  }
}

TEST(QuantizeBlocks, TakesTheFirstOfOppositeExtremes) {
  Random random(3);
  for (std::size_t round = 0; round < 20 * testing::kEffort; ++round) {
    Floats x(256);
    for (float& value : x) value = static_cast<float>(random.integer(-2, 2));
    for (const BlockType type : all_types()) {
      ASSERT_EQ(quantized(x, 256, type), reference::quantize_row(x, type, {}))
          << block_info(type).name << ", round " << round;
    }
  }
}

TEST(QuantizeBlocks, QuantizesEachRowAlone) {
  Random random(2);
  for (const BlockType type : all_types()) {
    Floats rows;
    Bytes expected;
    Floats importance = random.uniforms(512, 0.1F, 1.0F);
    for (int r = 0; r < 3; ++r) {
      const Floats row = random.uniforms(512, -1.0F, 1.0F);
      const Bytes bytes = quantized(row, 512, type, importance);
      rows.insert(rows.end(), row.begin(), row.end());
      expected.insert(expected.end(), bytes.begin(), bytes.end());
    }
    EXPECT_EQ(quantized(rows, 512, type, importance), expected) << block_info(type).name;
  }
}

TEST(QuantizeBlocks, TakesRowsLongerThanATileOfAnyNumberOfBlocks) {
  Random random(3);
  for (const BlockType type : all_types()) {
    for (const std::size_t blocks : {1U, 2U, 3U, 5U, 33U}) {
      const std::size_t n = blocks * block_info(type).values;
      const Floats x = random.uniforms(n, -1.0F, 1.0F);
      EXPECT_EQ(quantized(x, n, type), reference::quantize_row(x, type, {}))
          << block_info(type).name;
    }
    const Floats x = random.uniforms(4096 + 256, -1.0F, 1.0F);
    const Floats importance = random.uniforms(x.size(), 0.1F, 1.0F);
    const bool takes_importance = type >= BlockType::kQ4_0 && type <= BlockType::kIQ4_XS;
    EXPECT_EQ(quantized(x, x.size(), type, importance),
              reference::quantize_row(x, type, takes_importance ? importance : Floats()))
        << block_info(type).name;
  }
}

TEST(QuantizeBlocks, RefusesNanAndInfinities) {
  for (const BlockType type : all_types()) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
          -std::numeric_limits<float>::infinity()}) {
      Floats x(256, 1.0F);
      x[255] = bad;
      Bytes out(256 / block_info(type).values * block_info(type).bytes);
      EXPECT_EQ(quantize_blocks(x, 256, type, {}, out), Status::kNonFinite);
      const Floats good(256, 1.0F);
      EXPECT_EQ(quantize_blocks(good, 256, type, x, out), Status::kNonFinite);
    }
  }
}

TEST(QuantizeBlocks, GivesTheSameBytesOnThreads) {
  Random random(11);
  constexpr std::size_t kRows = 130;
  const Floats x = random.uniforms(kRows * 512, -2.0F, 2.0F);
  const Floats weights = random.uniforms(512, 0.0F, 1.0F);
  for (const BlockType type : all_types()) {
    for (const Floats& importance : {Floats(), weights}) {
      const auto run = [&] {
        Bytes out(x.size() / block_info(type).values * block_info(type).bytes);
        EXPECT_EQ(quantize_blocks(x, 512, type, importance, out), Status::kOk);
        return out;
      };
      const Bytes expected = run();
      for (const std::size_t threads : {2U, 5U}) {
        set_thread_count(threads);
        EXPECT_EQ(run(), expected) << block_info(type).name << " on " << threads << " threads";
        set_thread_count(1);
      }
    }
  }
}

// 2^17 values: as many as JavaScript passes at a time.
TEST(QuantizeBlocks, UsesThreadsOnlyForEnoughWork) {
  const Floats x(std::size_t{1} << 17, 1.0F);
  const Floats weights(512, 1.0F);
  const auto takes_threads = [&](BlockType type, std::span<const float> importance) {
    Bytes out(x.size() / block_info(type).values * block_info(type).bytes);
    const std::uint32_t jobs = detail::job_count();
    EXPECT_EQ(quantize_blocks(x, 512, type, importance, out), Status::kOk);
    return detail::job_count() > jobs;
  };
  set_thread_count(2);
  EXPECT_FALSE(takes_threads(BlockType::kF16, {}));
  EXPECT_FALSE(takes_threads(BlockType::kQ8_0, {}));
  EXPECT_FALSE(takes_threads(BlockType::kQ4_0, {}));
  EXPECT_TRUE(takes_threads(BlockType::kQ4_0, weights));
  EXPECT_TRUE(takes_threads(BlockType::kQ4_K, {}));
  EXPECT_TRUE(takes_threads(BlockType::kIQ4_NL, {}));
  EXPECT_TRUE(takes_threads(BlockType::kMXFP4, {}));
  set_thread_count(1);
}

TEST(QuantizeBlocks, RefusesNanOnThreads) {
  Floats x(std::size_t{512} * 512, 1.0F);
  x[x.size() - 3] = std::numeric_limits<float>::quiet_NaN();
  Bytes out(x.size() / 256 * 144);
  set_thread_count(3);
  EXPECT_EQ(quantize_blocks(x, 512, BlockType::kQ4_K, {}, out), Status::kNonFinite);
  set_thread_count(1);
}

TEST(QuantizeBlocks, RefusesLengthsThatDoNotFit) {
  const Floats x(512, 1.0F);
  Bytes out(std::size_t{2} * 144);
  EXPECT_EQ(quantize_blocks(x, 100, BlockType::kQ4_K, {}, out), Status::kShapeMismatch);
  EXPECT_EQ(quantize_blocks(x, 0, BlockType::kQ4_K, {}, out), Status::kShapeMismatch);
  EXPECT_EQ(quantize_blocks(x, 256, BlockType::kQ4_K, x, out), Status::kShapeMismatch);
  EXPECT_EQ(quantize_blocks(x, 256, BlockType::kQ4_K, {}, std::span(out).first(144)),
            Status::kShapeMismatch);
  EXPECT_EQ(quantize_blocks({}, 0, BlockType::kQ4_K, {}, {}), Status::kOk);
  EXPECT_EQ(out, Bytes(std::size_t{2} * 144));
}

TEST(DequantizeBlocks, RefusesLengthsThatDoNotFit) {
  const Bytes blocks(std::size_t{2} * 144);
  Floats out(512);
  EXPECT_EQ(dequantize_blocks(std::span(blocks).first(143), BlockType::kQ4_K, out),
            Status::kShapeMismatch);
  EXPECT_EQ(dequantize_blocks(blocks, BlockType::kQ4_K, std::span(out).first(256)),
            Status::kShapeMismatch);
  EXPECT_EQ(dequantize_blocks({}, BlockType::kQ4_K, {}), Status::kOk);
}

TEST(DequantizeBlocks, RestoresValuesThatBlocksHoldExactly) {
  for (const BlockType type : all_types()) {
    const Floats zeros(256, 0.0F);
    EXPECT_EQ(dequantized(quantized(zeros, 256, type), type), zeros) << block_info(type).name;
  }
  EXPECT_EQ(dequantized(quantized({1.0F, -2.5F, 65504.0F}, 3, BlockType::kF16), BlockType::kF16),
            (Floats{1.0F, -2.5F, 65504.0F}));
}

}  // namespace
}  // namespace zeropoint
