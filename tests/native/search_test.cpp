#include "zeropoint/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "compare.h"
#include "core/parallel.h"
#include "core/search_bounds.h"
#include "random.h"

namespace zeropoint {
namespace {

using testing::kEffort;
using testing::kInfinity;
using testing::kNan;
using testing::Random;

// An index of one or more segments, in memory of its own.
class Index {
 public:
  Index(VectorFormat format, const std::vector<float>& x, std::size_t segment_rows)
      : format_(format) {
    const std::size_t n = format.dimensions;
    const std::size_t rows = x.size() / n;
    for (std::size_t first = 0; first < rows; first += segment_rows) {
      const std::size_t count = std::min(segment_rows, rows - first);
      Block& block = *blocks_.emplace_back(std::make_unique<Block>());
      block.codes.resize(count * vector_bytes(format) + kVectorSlack);
      block.scales.resize(count * vector_groups(format));
      block.errors.resize(count);
      block.squares.resize(count);
      block.floats.resize(count * n);
      block.halves.resize(count * n);
      block.original_errors.resize(count);
      block.restored.resize(count);
      void* originals = nullptr;
      if (format.originals == Originals::kFloat32) originals = block.floats.data();
      if (format.originals == Originals::kFloat16) originals = block.halves.data();
      segments_.push_back({block.codes.data(), block.scales.data(), block.errors.data(),
                           block.squares.data(), originals, block.original_errors.data(), nullptr,
                           first, count, nullptr,
                           vector_groups(format) > 1 ? block.restored.data() : nullptr});
      EXPECT_EQ(add_vectors({x.data() + first * n, count * n}, format, segments_.back(), 0, most_),
                Status::kOk);
    }
  }

  [[nodiscard]] std::vector<std::byte> prepare(std::span<const float> query) const {
    std::vector<std::byte> prepared(prepared_query_size(format_));
    EXPECT_EQ(prepare_query(query, format_, most_, prepared), Status::kOk);
    return prepared;
  }

  // Candidates of each prepared query.
  [[nodiscard]] std::vector<std::vector<Candidate>> scan(
      const std::vector<std::byte>& queries, std::size_t k,
      const std::vector<std::uint8_t>& mask = {}) const {
    const std::size_t rows = segments_.back().first + segments_.back().rows;
    const std::size_t count = queries.size() / prepared_query_size(format_);
    const std::size_t parts = scan_parts(format_, rows);
    for (std::size_t capacity = k + 8;; capacity *= 4) {
      std::vector<Candidate> found(count * parts * capacity);
      std::vector<std::uint32_t> counts(count * (1 + parts));
      EXPECT_EQ(scan_vectors(segments_, format_, queries, k, mask, capacity, found, counts),
                Status::kOk);
      const std::span<const std::uint32_t> found_counts(counts.data(), count);
      if (std::ranges::find(found_counts, kNoRoom) != found_counts.end()) {
        EXPECT_LT(capacity, 4 * (rows + k + 8));
        continue;
      }
      std::vector<std::vector<Candidate>> all;
      for (std::size_t q = 0; q < count; ++q) {
        const auto from = found.begin() + static_cast<std::ptrdiff_t>(q * parts * capacity);
        all.emplace_back(from, from + counts[q]);
      }
      return all;
    }
  }

  [[nodiscard]] std::vector<Candidate> refine(std::span<const float> query, std::size_t k,
                                              std::vector<Candidate> candidates) const {
    candidates.resize(refine_candidates(segments_, format_, query, k, candidates));
    return candidates;
  }

  [[nodiscard]] const std::vector<VectorSegment>& segments() const { return segments_; }

 private:
  struct Block {
    std::vector<std::uint8_t> codes;
    std::vector<float> scales, errors, floats, original_errors;
    std::vector<std::int32_t> squares;
    std::vector<std::uint16_t> halves;
    std::vector<double> restored;
  };
  VectorFormat format_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<VectorSegment> segments_;
  std::int32_t most_ = 0;
};

constexpr std::array kSimilarities = {Similarity::kCosine, Similarity::kDot,
                                      Similarity::kEuclidean};
constexpr std::array kCodes = {VectorCodes::kInt8, VectorCodes::kInt4, VectorCodes::kBinary};

// What a row's codes stand for.
std::vector<long double> restored_row(const VectorFormat& format, const VectorSegment& segment,
                                      std::size_t row) {
  const std::size_t n = format.dimensions;
  const std::size_t size = vector_groups(format) == 1 ? n : format.group_size;
  const std::size_t group_bytes = format.codes == VectorCodes::kInt8 ? size : (size + 1) / 2;
  const std::uint8_t* const own = segment.codes + row * vector_bytes(format);
  std::vector<long double> x;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint8_t* const group = own + i / size * group_bytes;
    const std::size_t place = i % size;
    int code = 0;
    if (format.codes == VectorCodes::kInt8) {
      code = static_cast<std::int8_t>(group[place]);
    } else if (format.codes == VectorCodes::kInt4) {
      const int byte = group[place / 2];
      code = static_cast<std::int8_t>(place % 2 == 0 ? byte << 4 : byte) >> 4;
    } else {
      code = (own[i / 8] >> (i % 8) & 1) != 0 ? 1 : -1;
    }
    const float scale = segment.scales[row * vector_groups(format) + i / size];
    x.push_back(static_cast<long double>(scale) * code);
  }
  return x;
}

// Scores of 1 ... 40 rows around some centers, so that many are close, and some equal.
std::vector<float> clustered(Random& random, std::size_t rows, std::size_t n, float size) {
  std::vector<float> x;
  const std::vector<float> centers = random.uniforms(3 * n, -size, size);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t center = random.below(3) * n;
    const float spread = row % 4 == 0 ? 0.0F : size / 16;
    for (std::size_t i = 0; i < n; ++i) {
      x.push_back(centers[center + i] + (spread == 0 ? 0 : random.uniforms(1, -spread, spread)[0]));
    }
  }
  return x;
}

// Long double has 64 bits: 2^11 times the precision of the bounds' own arithmetic.
long double score_of(const float* q, const float* x, std::size_t n, Similarity similarity) {
  long double product = 0;
  long double qq = 0;
  long double xx = 0;
  long double distance = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const long double a = q[i];
    const long double b = x[i];
    product += a * b;
    qq += a * a;
    xx += b * b;
    distance += (a - b) * (a - b);
  }
  if (similarity == Similarity::kDot) return product;
  if (similarity == Similarity::kEuclidean) return -std::sqrt(distance);
  return qq == 0 || xx == 0 ? 0 : product / (std::sqrt(qq) * std::sqrt(xx));
}

TEST(Search, BoundsHoldTheScoreOfEveryRowAndKeepTheNearest) {
  Random random(61);
  for (std::size_t round = 0; round < 600 * kEffort; ++round) {
    const Similarity similarity = kSimilarities[round % 3];
    const VectorCodes codes = kCodes[round / 3 % 3];
    const std::size_t n = 1 + random.below(70);
    const std::size_t rows = 1 + random.below(150);
    const std::size_t k = random.below(12);
    const float size = std::ldexp(1.0F, static_cast<int>(random.below(60)) - 30);
    const std::vector<float> x = clustered(random, rows, n, size);
    VectorFormat format{n, similarity, codes, Originals::kNone};
    if (codes != VectorCodes::kBinary && round / 9 % 2 != 0)
      format.group_size = 1 + random.below(40);
    const Index index(format, x, 1 + random.below(80));
    std::vector<float> query = random.uniforms(n, -size, size);
    if (random.below(3) == 0) std::copy_n(x.data() + (rows / 2) * n, n, query.begin());
    const auto prepared = index.prepare(query);
    // All rows are candidates of as many as there are.
    const std::vector<Candidate> all = index.scan(prepared, rows)[0];
    EXPECT_EQ(all.size(), rows);
    for (const Candidate& c : all) {
      const long double score = score_of(query.data(), &x[c.row * n], n, similarity);
      EXPECT_LE(c.lower, score) << round;
      EXPECT_GE(c.upper, score) << round;
      EXPECT_LE(c.lower, c.score);
      EXPECT_GE(c.upper, c.score);
    }
    std::vector<long double> scores;
    for (std::size_t row = 0; row < rows; ++row) {
      scores.push_back(score_of(query.data(), &x[row * n], n, similarity));
    }
    std::vector<std::size_t> best(rows);
    std::iota(best.begin(), best.end(), 0);
    std::stable_sort(best.begin(), best.end(),
                     [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    best.resize(std::min(k, rows));
    const std::vector<Candidate> found = index.scan(prepared, k)[0];
    for (const std::size_t row : best) {
      EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](auto& c) { return c.row == row; }))
          << round << " lost row " << row;
    }
  }
}

TEST(Search, ErrorOfARowIsTheNormOfWhatItsCodesLose) {
  Random random(62);
  const std::size_t n = 33;
  std::vector<VectorFormat> formats;
  for (const VectorCodes codes : kCodes) {
    formats.push_back({n, Similarity::kDot, codes, Originals::kNone});
    for (const std::size_t size : {1U, 7U, 16U, 32U}) {
      if (codes == VectorCodes::kBinary) continue;
      formats.push_back({n, Similarity::kDot, codes, Originals::kNone, size});
    }
  }
  for (const VectorFormat& format : formats) {
    const std::vector<float> x = random.uniforms(20 * n, -2.0F, 3.0F);
    const Index index(format, x, 64);
    const VectorSegment& segment = index.segments()[0];
    for (std::size_t row = 0; row < 20; ++row) {
      const std::vector<long double> restored = restored_row(format, segment, row);
      long double noise = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const long double lost = x[row * n + i] - restored[i];
        noise += lost * lost;
      }
      EXPECT_GE(segment.errors[row], std::sqrt(noise));
      // Rounded up to float32: one step at most, and less than 2^-40 of the norm.
      EXPECT_LE(segment.errors[row], std::sqrt(noise) * (1 + 0x1p-22L) + 0x1p-30L);
    }
  }
}

TEST(Search, EstimatesAreProductsWithWhatCodesStandFor) {
  Random random(72);
  for (const VectorCodes codes : {VectorCodes::kInt8, VectorCodes::kInt4}) {
    for (const std::size_t size : {1U, 5U, 16U, 25U, 64U, 99U}) {
      const std::size_t n = 100;
      const VectorFormat format{n, Similarity::kDot, codes, Originals::kNone, size};
      EXPECT_EQ(vector_groups(format), (n + size - 1) / size);
      const Index index(format, random.uniforms(70 * n, -2.0F, 3.0F), 33);
      const std::vector<float> query = random.uniforms(n, -1.0F, 1.0F);
      const std::vector<Candidate> all = index.scan(index.prepare(query), 70)[0];
      EXPECT_EQ(all.size(), 70U);
      for (const Candidate& c : all) {
        const VectorSegment& segment = index.segments()[c.row / 33];
        const std::vector<long double> x = restored_row(format, segment, c.row - segment.first);
        long double product = 0;
        for (std::size_t i = 0; i < n; ++i) product += x[i] * query[i];
        // The query has 14 or more bits.
        EXPECT_NEAR(c.score, static_cast<double>(product), 0.01) << size;
        EXPECT_GT(c.upper - c.lower, 0.0);
      }
    }
  }
}

TEST(Search, HoldsOneScaleARowWhereGroupsAreAtLeastAsLarge) {
  for (const std::size_t size : {0U, 8U, 9U, 1000U}) {
    const VectorFormat format{8, Similarity::kDot, VectorCodes::kInt4, Originals::kNone, size};
    EXPECT_EQ(vector_groups(format), 1U);
    EXPECT_EQ(vector_bytes(format), 4U);
  }
  // A group of 3 codes has two bytes.
  const VectorFormat format{8, Similarity::kDot, VectorCodes::kInt4, Originals::kNone, 3};
  EXPECT_EQ(vector_groups(format), 3U);
  EXPECT_EQ(vector_bytes(format), 5U);
}

// Also shows that the bounds are no wider than needed: shrunk by 1 %, they would exclude the score.
TEST(Search, BoundsAreReachedByAQueryAlongARowsError) {
  Random random(68);
  const std::size_t n = 32;
  for (const Similarity similarity : {Similarity::kCosine, Similarity::kDot}) {
    for (std::size_t round = 0; round < 20; ++round) {
      std::vector<float> x = random.uniforms(n, -1.0F, 1.0F);
      const Index index({n, similarity, VectorCodes::kInt4, Originals::kNone}, x, 1);
      const VectorSegment& segment = index.segments()[0];
      const double norm = similarity == Similarity::kDot
                              ? 1.0
                              : std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
      std::vector<float> query(n);
      for (std::size_t i = 0; i < n; ++i) {
        const int byte = segment.codes[i / 2];
        const int code = static_cast<std::int8_t>(i % 2 == 0 ? byte << 4 : byte) >> 4;
        query[i] = static_cast<float>(x[i] / norm - double{segment.scales[0]} * code);
      }
      const Candidate c = index.scan(index.prepare(query), 1)[0][0];
      const double score = exact_score(query, x, similarity);
      EXPECT_LE(score, c.upper);
      EXPECT_GT(score, c.score + 0.99 * (c.upper - c.score));
    }
  }
}

TEST(Search, RefusesARowWhoseErrorFloat32CannotHold) {
  const std::vector<float> x(16, FLT_MAX);
  std::vector<std::uint8_t> codes(2 + kVectorSlack);
  float scale = 0.0F;
  float error = 0.0F;
  std::vector<float> mixed = x;
  for (std::size_t i = 0; i < 8; ++i) mixed[i] = -FLT_MIN;
  const VectorSegment segment{codes.data(), &scale,  &error, nullptr, nullptr,
                              nullptr,      nullptr, 0,      1};
  std::int32_t most = 0;
  const VectorFormat format{16, Similarity::kDot, VectorCodes::kBinary, Originals::kNone};
  EXPECT_EQ(add_vectors(x, format, segment, 0, most), Status::kOk);
  EXPECT_EQ(add_vectors(mixed, format, segment, 0, most), Status::kNonFinite);
}

TEST(Search, IsTheSameForAnyNumberOfThreadsSegmentsAndQueries) {
  Random random(63);
  const std::size_t n = 100;
  const std::size_t rows = 5000;
  const std::vector<float> x = random.uniforms(rows * n, -1.0F, 1.0F);
  const std::vector<float> queries = random.uniforms(20 * n, -1.0F, 1.0F);
  for (const auto& [codes, group_size] :
       {std::pair{VectorCodes::kInt8, 0U}, std::pair{VectorCodes::kInt4, 0U},
        std::pair{VectorCodes::kBinary, 0U}, std::pair{VectorCodes::kInt8, 32U},
        std::pair{VectorCodes::kInt4, 25U}}) {
    for (const Similarity similarity : kSimilarities) {
      const VectorFormat format{n, similarity, codes, Originals::kFloat32, group_size};
      const Index whole(format, x, rows);
      const Index split(format, x, 777);
      std::vector<std::byte> all;
      for (std::size_t q = 0; q < 20; ++q) {
        const auto one = whole.prepare({&queries[q * n], n});
        all.insert(all.end(), one.begin(), one.end());
      }
      const auto expected = whole.scan(all, 10);
      set_thread_count(3);
      const auto found = split.scan(all, 10);
      set_thread_count(1);
      for (std::size_t q = 0; q < 20; ++q) {
        ASSERT_EQ(found[q].size(), expected[q].size());
        for (std::size_t i = 0; i < found[q].size(); ++i) {
          const Candidate& a = found[q][i];
          const Candidate& b = expected[q][i];
          EXPECT_EQ(std::bit_cast<std::uint64_t>(a.score), std::bit_cast<std::uint64_t>(b.score));
          EXPECT_EQ(std::bit_cast<std::uint64_t>(a.lower), std::bit_cast<std::uint64_t>(b.lower));
          EXPECT_EQ(std::bit_cast<std::uint64_t>(a.upper), std::bit_cast<std::uint64_t>(b.upper));
          EXPECT_EQ(a.row, b.row);
          EXPECT_EQ(a.order, b.order);
        }
      }
    }
  }
}

TEST(Search, FollowsAMask) {
  Random random(64);
  const std::size_t n = 24;
  const std::vector<float> x = random.uniforms(300 * n, -1.0F, 1.0F);
  // Also with segments that begin within a byte of the mask, and with bytes of 0.
  for (const std::size_t segment_rows : {128U, 100U, 13U}) {
    const Index index({n, Similarity::kDot, VectorCodes::kInt8, Originals::kFloat32}, x,
                      segment_rows);
    const auto prepared = index.prepare({x.data(), n});
    for (const std::size_t step : {1U, 7U, 29U, 299U}) {
      std::vector<std::uint8_t> mask((300 + 7) / 8);
      for (std::size_t row = 0; row < 300; row += step) {
        mask[row / 8] = static_cast<std::uint8_t>(mask[row / 8] | 1 << row % 8);
      }
      const std::vector<Candidate> found = index.scan(prepared, 300, mask)[0];
      ASSERT_EQ(found.size(), 299 / step + 1);
      for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].row, step * i);
    }
    EXPECT_TRUE(index.scan(prepared, 5, std::vector<std::uint8_t>((300 + 7) / 8))[0].empty());
  }
}

TEST(Search, MarksTheRowsOfNearestSigns) {
  Random random(69);
  for (std::size_t round = 0; round < 100; ++round) {
    const std::size_t n = round == 0 ? 4000 : 1 + random.below(300);
    const std::size_t rows = 1 + random.below(200);
    const std::vector<float> x = clustered(random, rows, n, 1.0F);
    const std::vector<float> query = random.uniforms(n, -1.0F, 1.0F);
    const Index index({n, Similarity::kDot, VectorCodes::kBinary, Originals::kNone}, x,
                      1 + random.below(80));
    std::vector<VectorSegment> segments = index.segments();
    for (VectorSegment& segment : segments) segment.signs = segment.codes;
    std::vector<std::uint8_t> mask((rows + 7) / 8, 0xff);
    if (round % 2 != 0) {
      for (std::uint8_t& byte : mask) byte = static_cast<std::uint8_t>(random.bits());
    }
    std::vector<std::uint8_t> signs(query_signs_size(n));
    ASSERT_EQ(pack_signs(query, signs), Status::kOk);
    const std::size_t count = random.below(rows + 5);
    std::vector<std::uint16_t> distances(rows);
    std::vector<std::uint8_t> out(mask.size());
    const std::span<const std::uint8_t> chosen = round % 2 != 0 ? mask : std::span<std::uint8_t>();
    set_thread_count(1 + round % 3);
    ASSERT_EQ(nearest_signs(segments, n, signs, count, chosen, distances, out), Status::kOk);
    set_thread_count(1);
    std::vector<std::size_t> expected;
    std::vector<std::size_t> sorted;
    for (std::size_t row = 0; row < rows; ++row) {
      std::size_t distance = 0;
      for (std::size_t i = 0; i < n; ++i) distance += (x[row * n + i] > 0) != (query[i] > 0);
      expected.push_back(distance);
      if ((mask[row / 8] >> (row % 8) & 1) != 0) sorted.push_back(distance);
    }
    std::sort(sorted.begin(), sorted.end());
    const std::size_t taken = std::min(count, sorted.size());
    for (std::size_t row = 0; row < rows; ++row) {
      const bool is_in = (mask[row / 8] >> (row % 8) & 1) != 0;
      const bool is_near = taken > 0 && expected[row] <= sorted[taken - 1];
      EXPECT_EQ((out[row / 8] >> (row % 8) & 1) != 0, is_in && is_near) << round << " " << row;
    }
  }
}

TEST(Search, ChecksRowsFromElsewhere) {
  Random random(70);
  for (const VectorCodes codes : kCodes) {
    const std::size_t n = 33;
    const std::vector<float> x = random.uniforms(9 * n, -2.0F, 3.0F);
    const VectorFormat format{n, Similarity::kEuclidean, codes, Originals::kFloat16};
    const Index index(format, x, 64);
    const VectorSegment& segment = index.segments()[0];
    const std::vector<std::int32_t> squares(segment.squares, segment.squares + 9);
    const std::int32_t largest = *std::max_element(squares.begin(), squares.end());
    std::fill_n(segment.squares, 9, 0);
    std::int32_t most = 0;
    ASSERT_EQ(check_vectors(format, segment, most), Status::kOk);
    EXPECT_EQ(most, largest);
    EXPECT_EQ(std::vector<std::int32_t>(segment.squares, segment.squares + 9), squares);
    for (float* const values : {segment.scales, segment.errors, segment.original_errors}) {
      for (const float bad : {kNan, kInfinity, -1.0F}) {
        const float kept = std::exchange(values[8], bad);
        EXPECT_EQ(check_vectors(format, segment, most), Status::kInvalidScale);
        values[8] = kept;
      }
    }
    auto* const halves = static_cast<std::uint16_t*>(segment.originals);
    for (const std::uint16_t bad : std::initializer_list<std::uint16_t>{0x7c00, 0xfc00, 0x7e00}) {
      const std::uint16_t kept = std::exchange(halves[8 * n + 32], bad);
      EXPECT_EQ(check_vectors(format, segment, most), Status::kNonFinite);
      halves[8 * n + 32] = kept;
    }
    const VectorFormat single{n, Similarity::kDot, codes, Originals::kFloat32};
    const Index floats(single, x, 64);
    auto* const originals = static_cast<float*>(floats.segments()[0].originals);
    EXPECT_EQ(check_vectors(single, floats.segments()[0], most), Status::kOk);
    for (const float bad : {kNan, kInfinity, -kInfinity}) {
      originals[8 * n + 32] = bad;
      EXPECT_EQ(check_vectors(single, floats.segments()[0], most), Status::kNonFinite);
    }
    // The least code, or a bit behind the last value.
    std::uint8_t& last = segment.codes[9 * vector_bytes(format) - 1];
    last = codes == VectorCodes::kInt8 ? 0x80 : codes == VectorCodes::kInt4 ? 0x10 : 0x02;
    EXPECT_EQ(check_vectors(format, segment, most), Status::kSizeOverflow);
  }
}

TEST(Search, ChecksGroupsFromElsewhere) {
  Random random(73);
  const std::size_t n = 33;
  for (const VectorCodes codes : {VectorCodes::kInt8, VectorCodes::kInt4}) {
    const VectorFormat format{n, Similarity::kEuclidean, codes, Originals::kNone, 7};
    const Index index(format, random.uniforms(9 * n, -2.0F, 3.0F), 64);
    const VectorSegment& segment = index.segments()[0];
    const std::vector<double> restored(segment.restored, segment.restored + 9);
    std::fill_n(segment.restored, 9, 0.0);
    std::int32_t most = 0;
    ASSERT_EQ(check_vectors(format, segment, most), Status::kOk);
    EXPECT_EQ(std::vector<double>(segment.restored, segment.restored + 9), restored);
    float& scale = segment.scales[9 * vector_groups(format) - 1];
    for (const float bad : {kNan, kInfinity, -1.0F}) {
      const float kept = std::exchange(scale, bad);
      EXPECT_EQ(check_vectors(format, segment, most), Status::kInvalidScale);
      scale = kept;
    }
    // The least code, or the unused half of the second group's last byte.
    segment.codes[7] = codes == VectorCodes::kInt8 ? 0x80 : 0x10;
    EXPECT_EQ(check_vectors(format, segment, most), Status::kSizeOverflow);
  }
}

TEST(Search, RefinesToTheExactOrderWithTiesByPosition) {
  Random random(65);
  for (std::size_t round = 0; round < 60; ++round) {
    const Similarity similarity = kSimilarities[round % 3];
    const std::size_t n = 1 + random.below(40);
    const std::size_t rows = 60;
    const std::size_t k = 1 + random.below(20);
    const std::vector<float> x = clustered(random, rows, n, 1.0F);
    const std::vector<float> query = random.uniforms(n, -1.0F, 1.0F);
    for (const Originals originals : {Originals::kFloat32, Originals::kFloat16}) {
      const VectorFormat format{n, similarity, kCodes[round / 3 % 3], originals};
      const Index index(format, x, 32);
      const auto found = index.refine(query, k, index.scan(index.prepare(query), k)[0]);
      ASSERT_GE(found.size(), k);
      for (std::size_t i = 0; i < found.size(); ++i) {
        const float* row = &x[found[i].row * n];
        const double exact = exact_score(query, {row, n}, similarity);
        if (originals == Originals::kFloat32) {
          EXPECT_EQ(found[i].score, exact);
        }
        EXPECT_LE(found[i].lower, exact);
        EXPECT_GE(found[i].upper, exact);
        if (i == 0) continue;
        EXPECT_GE(found[i - 1].score, found[i].score);
        if (found[i - 1].score == found[i].score) {
          EXPECT_LT(found[i - 1].row, found[i].row);
        }
      }
      if (originals == Originals::kFloat16) continue;
      std::vector<std::pair<double, std::size_t>> scores;
      for (std::size_t row = 0; row < rows; ++row) {
        scores.emplace_back(-exact_score(query, {&x[row * n], n}, similarity), row);
      }
      std::sort(scores.begin(), scores.end());
      for (std::size_t i = 0; i < k; ++i) EXPECT_EQ(found[i].row, scores[i].second);
    }
  }
}

TEST(Search, SortsTheBestCandidatesToTheFront) {
  Random random(71);
  for (std::size_t round = 0; round < 200; ++round) {
    const std::size_t count = random.below(50);
    std::vector<Candidate> candidates(count);
    for (std::size_t i = 0; i < count; ++i) {
      candidates[i].score = static_cast<double>(random.below(9)) - 4.0;
      candidates[i].order = static_cast<std::uint32_t>((i * 7 + 3) % 53);
      candidates[i].row = static_cast<std::uint32_t>(i);
    }
    std::vector<Candidate> expected = candidates;
    std::sort(expected.begin(), expected.end(), [](const Candidate& a, const Candidate& b) {
      return a.score != b.score ? a.score > b.score : a.order < b.order;
    });
    const std::size_t k = random.below(60);
    sort_candidates(candidates, k);
    std::vector<bool> seen(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (i < k) {
        EXPECT_EQ(candidates[i].row, expected[i].row);
      }
      EXPECT_FALSE(seen[candidates[i].row]);
      seen[candidates[i].row] = true;
    }
  }
}

TEST(Search, RefusesNanInfinitiesAndValuesBeyondFloat16) {
  const VectorFormat format{2, Similarity::kDot, VectorCodes::kInt8, Originals::kFloat16};
  const Index index(format, {1.0F, 2.0F}, 1);
  VectorSegment segment = index.segments()[0];
  std::int32_t most = 0;
  std::vector<std::byte> prepared(prepared_query_size(format));
  for (const float bad : {kNan, kInfinity, -kInfinity, 65520.0F}) {
    const std::vector<float> x = {1.0F, bad};
    EXPECT_EQ(add_vectors(x, format, segment, 0, most), Status::kNonFinite);
    if (bad == 65520.0F) continue;
    EXPECT_EQ(prepare_query(x, format, 1, prepared), Status::kNonFinite);
  }
}

TEST(Search, RefusesSizesThatDoNotFit) {
  const VectorFormat format{2, Similarity::kDot, VectorCodes::kInt8, Originals::kNone};
  const Index index(format, {1.0F, 2.0F}, 1);
  std::int32_t most = 0;
  const std::vector<float> x = {1.0F, 2.0F, 3.0F};
  EXPECT_EQ(add_vectors(x, format, index.segments()[0], 0, most), Status::kShapeMismatch);
  EXPECT_EQ(add_vectors({x.data(), 2}, format, index.segments()[0], 1, most),
            Status::kShapeMismatch);
  std::vector<std::byte> prepared(prepared_query_size(format));
  EXPECT_EQ(prepare_query(x, format, 1, prepared), Status::kShapeMismatch);
  std::vector<Candidate> found(10);
  std::vector<std::uint32_t> counts(2);
  EXPECT_EQ(scan_vectors(index.segments(), format, prepared, 10, {}, 10, found, counts),
            Status::kShapeMismatch);
}

TEST(Search, GivesZeroVectorsAScoreOfZero) {
  const std::vector<float> x = {0.0F, 0.0F, 3.0F, 4.0F, 1e-45F, 0.0F};
  for (const auto& [codes, group_size] :
       {std::pair{VectorCodes::kInt8, 0U}, std::pair{VectorCodes::kInt4, 0U},
        std::pair{VectorCodes::kBinary, 0U}, std::pair{VectorCodes::kInt8, 1U}}) {
    const Index index({2, Similarity::kCosine, codes, Originals::kFloat32, group_size}, x, 8);
    const std::vector<float> query = {1.0F, 0.0F};
    const auto found = index.refine(query, 3, index.scan(index.prepare(query), 3)[0]);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].row, 2U);
    EXPECT_EQ(found[0].score, 1.0);
    EXPECT_EQ(found[1].score, 0.6);
    EXPECT_EQ(found[2].row, 0U);
    EXPECT_EQ(found[2].score, 0.0);
    const std::vector<float> zero = {0.0F, 0.0F};
    for (const Candidate& c : index.refine(zero, 3, index.scan(index.prepare(zero), 3)[0])) {
      EXPECT_EQ(c.score, 0.0);
    }
  }
}

TEST(ExactScore, IsRoundedOnceHoweverMuchCancels) {
  const std::vector<float> q = {1e30F, 1.0F, -1e30F, FLT_TRUE_MIN};
  const std::vector<float> x = {1e30F, 3.0F, 1e30F, FLT_TRUE_MIN};
  EXPECT_EQ(exact_score(q, x, Similarity::kDot), 3.0);
  // 2^53 + 1 is halfway between two doubles, and goes to the even one; any more decides.
  const std::vector<float> a = {0x1p53F, 1.0F, 0.0F};
  const std::vector<float> b = {1.0F, 1.0F, 1.0F};
  EXPECT_EQ(exact_score(a, b, Similarity::kDot), 0x1p53);
  EXPECT_EQ(exact_score(std::vector{0x1p53F, 1.0F, FLT_TRUE_MIN}, b, Similarity::kDot), 0x1p53 + 2);
  EXPECT_EQ(exact_score(std::vector{-0x1p53F, -1.0F, -FLT_TRUE_MIN}, b, Similarity::kDot),
            -0x1p53 - 2);
  EXPECT_EQ(
      exact_score(std::vector{FLT_MAX, FLT_MAX}, std::vector{-FLT_MAX, FLT_MAX}, Similarity::kDot),
      0.0);
}

TEST(ExactScore, GivesTheSameCosineForEveryLengthOfARow) {
  Random random(66);
  for (std::size_t round = 0; round < 200; ++round) {
    const std::size_t n = 1 + random.below(30);
    const std::vector<float> q = random.uniforms(n, -1.0F, 1.0F);
    std::vector<float> x = random.uniforms(n, -1.0F, 1.0F);
    const double score = exact_score(q, x, Similarity::kCosine);
    EXPECT_NEAR(score, static_cast<double>(score_of(q.data(), x.data(), n, Similarity::kCosine)),
                0x1p-53);
    for (float& v : x) v *= 0x1p-20F;
    EXPECT_EQ(exact_score(q, x, Similarity::kCosine), score);
    EXPECT_EQ(exact_score(x, q, Similarity::kCosine), score);
  }
  EXPECT_EQ(exact_score(std::vector{3.0F, 4.0F}, std::vector{1.0F, 0.0F}, Similarity::kCosine),
            0.6);
  EXPECT_EQ(exact_score(std::vector{1.0F, 1.0F}, std::vector{1.0F, 0.0F}, Similarity::kCosine),
            std::sqrt(0.5));
  EXPECT_EQ(exact_score(std::vector{-3.0F, 5.0F}, std::vector{-3.0F, 5.0F}, Similarity::kCosine),
            1.0);
}

TEST(ExactScore, RoundsDistancesOnce) {
  EXPECT_EQ(exact_score(std::vector{1.0F, 1e30F}, std::vector{4.0F, 1e30F}, Similarity::kEuclidean),
            -3.0);
  EXPECT_EQ(exact_score(std::vector{1.0F, 1.0F}, std::vector{0.0F, 0.0F}, Similarity::kEuclidean),
            -std::sqrt(2.0));
  EXPECT_EQ(exact_score(std::vector{5.0F}, std::vector{5.0F}, Similarity::kEuclidean), 0.0);
  Random random(67);
  for (std::size_t round = 0; round < 200; ++round) {
    // Halves of 12 bits: the sum of squares is exact in double, and its root is rounded once.
    std::vector<float> q(10);
    std::vector<float> x(10);
    double square = 0.0;
    for (std::size_t i = 0; i < 10; ++i) {
      q[i] = static_cast<float>(random.below(4096)) / 2;
      x[i] = static_cast<float>(random.below(4096)) / 2;
      square += (q[i] - x[i]) * static_cast<double>(q[i] - x[i]);
    }
    EXPECT_EQ(exact_score(q, x, Similarity::kEuclidean), -std::sqrt(square));
  }
}

TEST(SearchBounds, RoundUpNeverGoesBelow) {
  EXPECT_EQ(round_up(0.0), 0.0F);
  EXPECT_EQ(round_up(1.0), 1.0F);
  EXPECT_EQ(round_up(1.0 + 0x1p-50), 1.0F + FLT_EPSILON);
  EXPECT_EQ(round_up(1e-60), FLT_TRUE_MIN);
}

}  // namespace
}  // namespace zeropoint
