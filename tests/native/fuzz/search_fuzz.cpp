// search.h, against bounds and orders by exact scores.
#include <memory>
#include <utility>

#include "fuzz.h"
#include "zeropoint/search.h"

namespace zeropoint::fuzz {
namespace {

constexpr Similarity kSimilarities[] = {Similarity::kCosine, Similarity::kDot,
                                        Similarity::kEuclidean};
constexpr VectorCodes kCodes[] = {VectorCodes::kInt8, VectorCodes::kInt4, VectorCodes::kBinary};

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "search: %s\n", what);
  std::abort();
}

}  // namespace

void run(Source source) {
  const Similarity similarity = source.pick(kSimilarities);
  const std::size_t n = 1 + source.below(40);
  const std::size_t rows = 1 + source.below(60);
  const std::size_t k = source.below(rows + 3);
  VectorFormat format{n, similarity, source.pick(kCodes), Originals::kFloat32};
  if (format.codes != VectorCodes::kBinary) format.group_size = source.below(n + 2);
  std::vector<float> x(rows * n);
  std::vector<float> query(n);
  for (float& v : x) v = source.special();
  for (float& v : query) v = source.special();
  const auto is_finite = [](const std::vector<float>& values) {
    return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
  };

  std::vector<std::uint8_t> codes(rows * vector_bytes(format) + kVectorSlack);
  std::vector<float> scales(rows * vector_groups(format));
  std::vector<float> errors(rows);
  std::vector<std::int32_t> squares(rows);
  std::vector<float> originals(rows * n);
  std::vector<double> restored(rows);
  const VectorSegment segment{codes.data(),
                              scales.data(),
                              errors.data(),
                              squares.data(),
                              originals.data(),
                              nullptr,
                              nullptr,
                              0,
                              rows,
                              nullptr,
                              vector_groups(format) > 1 ? restored.data() : nullptr};
  std::int32_t most = 0;
  const Status added = add_vectors(x, format, segment, 0, most);
  if (added != Status::kOk) {
    // A norm of 40 values beyond float32, or NaN or an infinity.
    const bool is_large =
        std::any_of(x.begin(), x.end(), [](float v) { return std::abs(v) > FLT_MAX / 8; });
    expect(added == Status::kNonFinite && (is_large || !is_finite(x)), "a row is refused");
  } else {
    expect(is_finite(x), "a row is not refused");
  }
  std::vector<std::byte> prepared(prepared_query_size(format));
  const Status ready = prepare_query(query, format, most, prepared);
  check(ready, is_finite(query) ? Status::kOk : Status::kNonFinite);
  if (added != Status::kOk || ready != Status::kOk) return;

  const std::size_t capacity = std::max(rows, k) + 1;
  std::vector<Candidate> found(capacity);
  std::vector<std::uint32_t> counts(2);
  check(scan_vectors({&segment, 1}, format, prepared, k, {}, capacity, found, counts), Status::kOk);
  found.resize(counts[0]);
  std::vector<std::pair<double, std::size_t>> best;
  for (std::size_t row = 0; row < rows; ++row) {
    const double score = exact_score(query, {&x[row * n], n}, similarity);
    best.emplace_back(-score, row);
    for (const Candidate& c : found) {
      if (c.row != row) continue;
      expect(c.lower <= score && score <= c.upper, "a score is outside its bounds");
    }
  }
  std::sort(best.begin(), best.end());
  found.resize(refine_candidates({&segment, 1}, format, query, k, found));
  for (std::size_t i = 0; i < std::min(k, rows); ++i) {
    expect(i < found.size() && found[i].row == best[i].second, "a nearest row is missing");
    expect(found[i].score == -best[i].first, "a score is not exact");
  }
}

}  // namespace zeropoint::fuzz
