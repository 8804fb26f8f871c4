#include "zeropoint/search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "core/exact_score.h"
#include "core/parallel.h"
#include "core/search_bounds.h"
#include "core/search_groups.h"
#include "core/search_query.h"
#include "kernels/kernels.h"
#include "kernels/search.h"

namespace zeropoint {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Rows that are scanned at a time, so that several queries read them from the cache.
constexpr std::size_t kTileRows = 64;

// The bits of a double as an integer of the same order.
std::uint64_t ordered(double v) {
  const auto bits = std::bit_cast<std::uint64_t>(v);
  return bits ^ (bits >> 63 != 0 ? ~std::uint64_t{0} : std::uint64_t{1} << 63);
}

// The k-th largest lower bound, 1 <= k <= count: its bits eight at a time, the highest ones first,
// by the number of bounds that begin with each.
double largest_lower(const Candidate* all, std::size_t count, std::size_t k) {
  std::uint64_t prefix = 0;
  std::uint64_t known = 0;
  for (int shift = 56; shift >= 0; shift -= 8) {
    std::uint32_t sizes[256] = {};
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t bits = ordered(all[i].lower);
      if ((bits & known) == prefix) ++sizes[bits >> shift & 255];
    }
    std::uint64_t digit = 255;
    while (sizes[digit] < k) k -= sizes[digit--];
    prefix |= digit << shift;
    known |= std::uint64_t{255} << shift;
  }
  const bool is_negative = prefix >> 63 == 0;
  const std::uint64_t sign = std::uint64_t{1} << 63;
  return std::bit_cast<double>(is_negative ? ~prefix : prefix ^ sign);
}

// Candidates of one query in one part of the rows.
class Collector {
 public:
  Collector() = default;
  Collector(Candidate* place, std::size_t capacity, std::size_t k)
      : place_(place), capacity_(capacity), k_(k) {}

  [[nodiscard]] double threshold() const { return threshold_; }

  void add(const Candidate& candidate) {
    if (count_ == capacity_) make_room();
    if (count_ < capacity_ && candidate.upper >= threshold_) place_[count_++] = candidate;
  }

  [[nodiscard]] std::uint32_t count() const {
    return has_failed_ ? kNoRoom : static_cast<std::uint32_t>(count_);
  }

  // Keeps candidates that can be among the k best, in their order.
  static std::size_t keep(Candidate* all, std::size_t count, std::size_t k, double& threshold) {
    if (count <= k) return count;
    if (k == 0) return 0;
    threshold = std::max(threshold, largest_lower(all, count, k));
    const double least = threshold;
    Candidate* const end =
        std::remove_if(all, all + count, [=](const Candidate& c) { return c.upper < least; });
    return static_cast<std::size_t>(end - all);
  }

 private:
  void make_room() {
    count_ = keep(place_, count_, k_, threshold_);
    // Making room again after a few rows would take longer than the scan.
    if (count_ > capacity_ - capacity_ / 4) {
      has_failed_ = true;
      threshold_ = kInfinity;
    }
  }

  Candidate* place_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t k_ = 0;
  std::size_t count_ = 0;
  double threshold_ = -kInfinity;
  bool has_failed_ = false;
};

// The bounds of a row's score.
// @param product  of the query's codes and the row's restored values
Candidate bounds_of(const Query& query, Similarity similarity, const VectorSegment& segment,
                    std::size_t i, double product) {
  const bool has_groups = segment.restored != nullptr;
  const double error = segment.errors[i];
  product *= query.scale;
  if (similarity != Similarity::kEuclidean) {
    const double size = has_groups ? std::sqrt(segment.restored[i]) : segment.scales[i];
    const double width = query.error_factor * error + query.size_factor * size;
    return {product, product - width, product + width, 0, 0};
  }
  const double scale = has_groups ? 0.0 : segment.scales[i];
  const double row = has_groups ? segment.restored[i] : scale * scale * segment.squares[i];
  const double square = query.square + row - 2.0 * product;
  const double slack = (query.square + row) * query.slack;
  const double width = error + query.size_factor;
  const double nearest = std::sqrt(std::max(square - slack, 0.0)) * (1.0 - kEight);
  const double farthest = std::sqrt(std::max(square, 0.0) + slack) * (1.0 + kEight);
  const double upper = -std::max(nearest - width * (1.0 + kEight), 0.0) * (1.0 - kEight);
  const double lower = -(farthest + width) * (1.0 + kEight);
  return {-std::sqrt(std::max(square, 0.0)), lower, upper, 0, 0};
}

struct Scan {
  const VectorSegment* segments;
  std::size_t segment_count;
  VectorFormat format;
  VectorGroups groups;
  const std::byte* queries;
  std::size_t query_count;
  const std::uint8_t* mask;
  std::size_t k;
  std::size_t capacity;
};

// Rows whose groups are multiplied one after the other, so that memory is read in few streams.
constexpr std::size_t kGroupedRows = 4;

// Queries that are multiplied together: rows are read and widened once for both.
constexpr std::size_t kPairedQueries = 2;

// At most kTileRows rows of a segment, by their place in it.
struct Tile {
  std::size_t count = 0;
  std::size_t rows[kTileRows];
};

// Products of the codes of one or two queries and of the rows' restored values: exact integers
// times scales. out[q * kTileRows + r].
void multiply_rows(const Scan& scan, const VectorSegment& segment, const Tile& tile,
                   const std::byte* query, std::size_t queries, double* out) {
  const VectorGroups& groups = scan.groups;
  const VectorCodes type = scan.format.codes;
  const std::size_t query_bytes = prepared_query_size(scan.format);
  const std::size_t group_step = group_query_size(groups, type);
  const std::size_t most = groups.count == 1 ? kTileRows : kGroupedRows;
  for (std::size_t done = 0; done < tile.count; done += most) {
    const std::size_t count = std::min(most, tile.count - done);
    const std::size_t* const rows = tile.rows + done;
    const std::uint8_t* codes[kTileRows];
    for (std::size_t r = 0; r < count; ++r) codes[r] = segment.codes + rows[r] * groups.row_bytes;
    for (std::size_t q = 0; q < queries; ++q) std::fill_n(out + q * kTileRows + done, count, 0.0);
    for (std::size_t g = 0; g < groups.count; ++g) {
      std::int32_t dots[kPairedQueries * kTileRows];
      kernels::RowDots own{codes, query + sizeof(Query) + g * group_step,
                           steps_of(code_bytes(groups.size_of(g), type)), g * groups.bytes};
      if (queries > 1) own.to_second = query_bytes;
      if (type == VectorCodes::kInt8) {
        kernels::dot_rows_s8(own, count, dots);
      } else if (type == VectorCodes::kInt4) {
        kernels::dot_rows_s4(own, count, dots);
      } else {
        kernels::sum_signed_b1(own, count, dots);
        const auto sum = static_cast<std::int32_t>(query_at(query).sum);
        for (std::size_t r = 0; r < count; ++r) dots[r] = 2 * dots[r] - sum;
      }
      for (std::size_t q = 0; q < queries; ++q) {
        for (std::size_t r = 0; r < count; ++r) {
          const auto scale = static_cast<double>(segment.scales[rows[r] * groups.count + g]);
          out[q * kTileRows + done + r] += scale * dots[q * count + r];
        }
      }
    }
  }
}

// The next rows of a segment that the mask has, from `next` on and before `end`.
Tile next_tile(const std::uint8_t* mask, std::size_t first, std::size_t end, std::size_t& next) {
  Tile tile;
  for (; next < end && tile.count < kTileRows; ++next) {
    const std::size_t row = first + next;
    const unsigned bits = mask == nullptr ? 0xff : mask[row / 8];
    if (bits == 0) next += 7 - row % 8;
    if ((bits >> (row % 8) & 1) != 0) tile.rows[tile.count++] = next;
  }
  return tile;
}

// The estimated product with a row of signs. Their scale is of least error, so |x|^2 is
// |s c|^2 + e^2, and s c is shorter along x than x is: scaled by |x|^2 / |s c|^2.
// @param product  q' . (s c)
double sign_product(const VectorSegment& segment, std::size_t i, std::size_t dimensions,
                    double product) {
  const double scale = segment.scales[i];
  const double error = segment.errors[i];
  const double restored = scale * scale * static_cast<double>(dimensions);
  return restored > 0.0 ? product * (1.0 + error * error / restored) : product;
}

// Collects candidates of a query among rows of a segment.
void collect_rows(const Scan& scan, const VectorSegment& segment, const Tile& tile,
                  const Query& query, const double* products, Collector& found) {
  const bool has_signs =
      scan.format.codes == VectorCodes::kBinary && scan.format.similarity != Similarity::kEuclidean;
  for (std::size_t r = 0; r < tile.count; ++r) {
    const std::size_t i = tile.rows[r];
    Candidate candidate = bounds_of(query, scan.format.similarity, segment, i, products[r]);
    if (candidate.upper < found.threshold()) continue;
    if (has_signs) {
      const double score = sign_product(segment, i, scan.format.dimensions, candidate.score);
      candidate.score = std::clamp(score, candidate.lower, candidate.upper);
    }
    candidate.row = static_cast<std::uint32_t>(segment.first + i);
    candidate.order = segment.orders == nullptr ? candidate.row : segment.orders[i];
    found.add(candidate);
  }
}

// Scans rows of a segment for one or two queries.
void scan_tile(const Scan& scan, const VectorSegment& segment, const Tile& tile,
               const std::byte* query, std::size_t queries, Collector* found) {
  double products[kPairedQueries * kTileRows];
  multiply_rows(scan, segment, tile, query, queries, products);
  for (std::size_t q = 0; q < queries; ++q) {
    const Query& own = query_at(query + q * prepared_query_size(scan.format));
    collect_rows(scan, segment, tile, own, products + q * kTileRows, found[q]);
  }
}

// Scans rows begin ... end - 1 for some of the queries: as many as collectors fit on the stack.
void scan_rows(const Scan& scan, std::size_t begin, std::size_t end, std::size_t first_query,
               std::size_t count, std::size_t query_bytes, Collector* found) {
  const std::size_t together = scan.format.codes == VectorCodes::kBinary ? 1 : kPairedQueries;
  for (std::size_t s = 0; s < scan.segment_count; ++s) {
    const VectorSegment& segment = scan.segments[s];
    const std::size_t from = std::max(begin, segment.first) - segment.first;
    const std::size_t to = std::min(end, segment.first + segment.rows);
    if (to <= segment.first) continue;
    for (std::size_t i = from; i < to - segment.first;) {
      const Tile tile = next_tile(scan.mask, segment.first, to - segment.first, i);
      for (std::size_t q = 0; q < count; q += together) {
        const std::byte* query = scan.queries + (first_query + q) * query_bytes;
        scan_tile(scan, segment, tile, query, std::min(together, count - q), found + q);
      }
    }
  }
}

std::size_t rows_of(std::span<const VectorSegment> segments) {
  return segments.empty() ? 0 : segments.back().first + segments.back().rows;
}

constexpr std::size_t kQueriesTogether = 16;

}  // namespace

std::size_t scan_parts(const VectorFormat& format, std::size_t rows) {
  return std::max<std::size_t>(
      1, part_count(rows / kTileRows + 1, std::uint64_t{rows} * format.dimensions));
}

Status scan_vectors(std::span<const VectorSegment> segments, const VectorFormat& format,
                    std::span<const std::byte> queries, std::size_t k,
                    std::span<const std::uint8_t> mask, std::size_t capacity,
                    std::span<Candidate> candidates, std::span<std::uint32_t> counts) {
  const std::size_t query_bytes = prepared_query_size(format);
  const std::size_t count = queries.size() / query_bytes;
  const std::size_t rows = rows_of(segments);
  const std::size_t parts = scan_parts(format, rows);
  if (queries.size() != count * query_bytes || capacity <= k ||
      candidates.size() != count * parts * capacity || counts.size() != count * (1 + parts) ||
      (!mask.empty() && mask.size() != (rows + 7) / 8)) {
    return Status::kShapeMismatch;
  }
  const Scan scan{segments.data(),
                  segments.size(),
                  format,
                  VectorGroups(format),
                  queries.data(),
                  count,
                  mask.empty() ? nullptr : mask.data(),
                  k,
                  capacity};
  Candidate* const places = candidates.data();
  std::uint32_t* const part_counts = counts.data() + count;
  parallel_for(parts, [=](std::size_t part) {
    const std::size_t begin = part_start(rows, part, parts);
    const std::size_t end = part_start(rows, part + 1, parts);
    for (std::size_t first = 0; first < scan.query_count; first += kQueriesTogether) {
      const std::size_t some = std::min(kQueriesTogether, scan.query_count - first);
      Collector found[kQueriesTogether];
      for (std::size_t q = 0; q < some; ++q) {
        found[q] = {places + ((first + q) * parts + part) * scan.capacity, scan.capacity, scan.k};
      }
      scan_rows(scan, begin, end, first, some, query_bytes, found);
      for (std::size_t q = 0; q < some; ++q) {
        part_counts[(first + q) * parts + part] = found[q].count();
      }
    }
  });
  // Parts kept all rows that their own thresholds allow, which are no higher than the common one.
  for (std::size_t q = 0; q < count; ++q) {
    Candidate* const own = places + q * parts * capacity;
    std::size_t total = 0;
    bool has_failed = false;
    for (std::size_t part = 0; part < parts; ++part) {
      const std::uint32_t more = part_counts[q * parts + part];
      has_failed = has_failed || more == kNoRoom;
      if (has_failed) break;
      std::copy_n(own + part * capacity, more, own + total);
      total += more;
    }
    double threshold = -kInfinity;
    counts[q] = has_failed ? kNoRoom
                           : static_cast<std::uint32_t>(Collector::keep(own, total, k, threshold));
  }
  return Status::kOk;
}

namespace {

bool is_better(const Candidate& a, const Candidate& b) {
  return a.score != b.score ? a.score > b.score : a.order < b.order;
}

// Moves candidate i down in a heap whose root is the worst.
void sift_down(std::span<Candidate> heap, std::size_t i) {
  for (std::size_t child = 2 * i + 1; child < heap.size(); child = 2 * i + 1) {
    if (child + 1 < heap.size() && is_better(heap[child], heap[child + 1])) ++child;
    if (!is_better(heap[i], heap[child])) return;
    std::swap(heap[i], heap[child]);
    i = child;
  }
}

}  // namespace

void sort_candidates(std::span<Candidate> candidates, std::size_t k) {
  const std::span<Candidate> best = candidates.first(std::min(k, candidates.size()));
  if (best.empty()) return;
  for (std::size_t i = best.size() / 2; i-- > 0;) sift_down(best, i);
  for (Candidate& other : candidates.subspan(best.size())) {
    if (!is_better(other, best[0])) continue;
    std::swap(other, best[0]);
    sift_down(best, 0);
  }
  for (std::size_t end = best.size() - 1; end > 0; --end) {
    std::swap(best[0], best[end]);
    sift_down(best.first(end), 0);
  }
}

namespace {

// One original at a time, as float32.
struct Row {
  const VectorSegment* segment;
  std::size_t i;
};

Row find_row(std::span<const VectorSegment> segments, std::size_t row) {
  const auto after = std::upper_bound(
      segments.begin(), segments.end(), row,
      [](std::size_t position, const VectorSegment& segment) { return position < segment.first; });
  const VectorSegment& segment = *std::prev(after);
  return {&segment, row - segment.first};
}

// Values begin ... of an original; float16 is converted to `place`, of kPiece values.
const float* original_at(const Row& row, const VectorFormat& format, std::size_t begin,
                         std::size_t count, float* place) {
  const std::size_t at = row.i * format.dimensions + begin;
  if (format.originals == Originals::kFloat32) {
    return static_cast<const float*>(row.segment->originals) + at;
  }
  kernels::convert_f16_f32(static_cast<const std::uint16_t*>(row.segment->originals) + at, count,
                           place);
  return place;
}

// Bounds of a score by sums in double.
void bound_score(const float* query, const Row& row, const VectorFormat& format,
                 double original_error, Candidate& candidate) {
  float place[kernels::kPiece];
  const std::size_t n = format.dimensions;
  kernels::EnergyState state;
  kernels::Energies sums{};
  for (std::size_t begin = 0; begin < n; begin += kernels::kPiece) {
    const std::size_t count = std::min(kernels::kPiece, n - begin);
    const float* const x = original_at(row, format, begin, count, place);
    sums = kernels::energies_f64(query + begin, x, {begin, count, n}, state);
  }
  const double relative = 4.0 * sum_error(n);
  const double norms = std::sqrt(sums.aa) * std::sqrt(sums.bb);
  double score = sums.ab;
  double width = norms * relative + std::sqrt(sums.aa) * original_error * (1.0 + relative);
  if (format.similarity == Similarity::kCosine) {
    score = norms > 0.0 ? sums.ab / norms : 0.0;
    width = 2.0 * relative + original_error;
  } else if (format.similarity == Similarity::kEuclidean) {
    score = -std::sqrt(sums.noise);
    width = -score * relative + original_error * (1.0 + relative);
  }
  width *= 1.0 + kEight;
  const double last = std::abs(score) * kEight;
  candidate.lower = score - width - last;
  candidate.upper = score + width + last;
}

}  // namespace

std::size_t refine_candidates(std::span<const VectorSegment> segments, const VectorFormat& format,
                              std::span<const float> query, std::size_t k,
                              std::span<Candidate> candidates) {
  const bool is_half = format.originals == Originals::kFloat16;
  double threshold = -kInfinity;
  const auto error_of = [=](const Row& row) {
    return is_half ? double{row.segment->original_errors[row.i]} : 0.0;
  };
  for (Candidate& candidate : candidates) {
    const Row row = find_row(segments, candidate.row);
    bound_score(query.data(), row, format, error_of(row), candidate);
  }
  std::size_t count = Collector::keep(candidates.data(), candidates.size(), k, threshold);
  const std::size_t n = format.dimensions;
  const kernels::RowSums sums = kernels::sum_row_f32(query.data(), n);
  const double norm =
      format.similarity == Similarity::kDot ? std::sqrt(sums.square) * (1.0 + sum_error(n)) : 1.0;
  for (Candidate& candidate : candidates.first(count)) {
    const Row row = find_row(segments, candidate.row);
    float place[kernels::kPiece];
    ExactScore score(format.similarity);
    for (std::size_t begin = 0; begin < n; begin += kernels::kPiece) {
      const std::size_t some = std::min(kernels::kPiece, n - begin);
      score.add(query.data() + begin, original_at(row, format, begin, some, place), some);
    }
    candidate.score = score.value();
    const double error = error_of(row) * norm * (1.0 + kEight);
    // Rounding of the score only matters where something else is not exact.
    const double width = error == 0.0 ? 0.0 : error + std::abs(candidate.score) * kEight;
    candidate.lower = candidate.score - width;
    candidate.upper = candidate.score + width;
  }
  count = Collector::keep(candidates.data(), count, k, threshold);
  sort_candidates(candidates.first(count), count);
  return count;
}

}  // namespace zeropoint
