// vectors -> codes and error bounds -> scan -> candidates -> k best, proven.
//
// A row x is kept as codes c with a scale s, and a bound e >= |x - s c| of the norm of its error.
// With groups s is a scale for each of them, and s c the values that the codes stand for. For a
// query q, quantized as q' = t d with codes d and |q - q'| <= f,
//
//   |q . x  -  q' . (s c)|  <=  |q| e + f |s c|          (Cauchy and Schwarz, twice)
//   | |q - x|  -  |q' - s c| |  <=  f + e                (triangle inequality)
//
// and q' . (s c) is t s times an exact integer, or the sum of these over groups. A row whose upper
// bound is below the k-th largest lower bound is not among the k best of the float32 vectors.
// Bounds include the rounding of every operation on the way; u is 2^-53 in the comments, the
// largest relative error of one in double.
//
// Every function gives the same bits in every build, for every number of threads and of segments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "zeropoint/status.h"

namespace zeropoint {

/// The score of a row x for a query q; larger is nearer.
enum class Similarity {
  kCosine,     ///< q . x / (|q| |x|); 0 if either is zero
  kDot,        ///< q . x
  kEuclidean,  ///< -|q - x|
};

/// How rows are stored. The scale is chosen for a row, or for each group of its values; for kCosine
/// from the normalized row.
enum class VectorCodes {
  kInt8,    ///< round_half_even(x / S), S = float32(max|x| / 127): quantize() with one scale a row
  kInt4,    ///< the same with 7; code 2i in the low four bits of byte i
  kBinary,  ///< bit i % 8 of byte i / 8 is x[i] > 0, for +s or -s; s = mean |x|, of least error
};

/// Which originals a segment keeps.
enum class Originals { kNone, kFloat32, kFloat16 };

struct VectorFormat {
  std::size_t dimensions;  ///< 1 ... kMostDimensions
  Similarity similarity;
  VectorCodes codes;
  Originals originals;
  /// Values of a group that has a scale of its own; the last group of a row may be short. 0, or at
  /// least `dimensions`: one scale a row. Not for kBinary.
  std::size_t group_size = 0;
};

/// Scales of a row.
[[nodiscard]] std::size_t vector_groups(const VectorFormat& format);

/// Products of codes of that many values fit in int32, and distances of signs in uint16.
inline constexpr std::size_t kMostDimensions = 65535;

/// Readable bytes behind the codes and signs of a segment's last row: kernels read 16 at a time.
inline constexpr std::size_t kVectorSlack = 16;

/// Bytes of a row's codes. Each group begins at a byte.
[[nodiscard]] std::size_t vector_bytes(const VectorFormat& format);

/// Rows in memory, each array of `rows` entries. An index has one or several segments.
struct VectorSegment {
  std::uint8_t* codes;    ///< uint8[rows * vector_bytes() + kVectorSlack]
  float* scales;          ///< s: float[rows * vector_groups()]
  float* errors;          ///< e
  std::int32_t* squares;  ///< |c|^2, for kEuclidean with one scale a row; otherwise null
  void* originals;        ///< float[rows * dimensions] or uint16 patterns, or null
  float*
      original_errors;  ///< for kFloat16: bound of |x - original|, of normalized ones for kCosine
  const std::uint32_t* orders;  ///< decide ties, smallest first; null: the row's position
  std::size_t first;  ///< position of the first row: the sum of `rows` of the segments before
  std::size_t rows;
  std::uint8_t* signs = nullptr;  ///< as kBinary's codes, for nearest_signs(); or null
  double* restored = nullptr;     ///< |s c|^2, with several groups; otherwise null
};

/// Quantizes rows into a segment, and writes their originals.
///
/// @param x        float32[count * dimensions]; may be the place of the originals themselves.
/// @param segment  `rows` is at least first + count.
/// @param most_squares  raised to the largest |c|^2 of the rows; unchanged with several groups.
/// @return kNonFinite for NaN or an infinity, for a value that float16 originals cannot hold, or
/// for
///         an error beyond float32; the rows are then unspecified. kShapeMismatch.
[[nodiscard]] Status add_vectors(std::span<const float> x, const VectorFormat& format,
                                 const VectorSegment& segment, std::size_t first,
                                 std::int32_t& most_squares);

/// Checks rows that come from elsewhere, and computes `squares` and `restored`. Whether errors are
/// bounds is not checked.
///
/// @param most_squares  as in add_vectors().
/// @return kInvalidScale for a scale or an error that is negative or not finite; kNonFinite for an
///         original; kSizeOverflow for a code that add_vectors() does not write: -128 or -8, or a
///         bit behind the last value.
[[nodiscard]] Status check_vectors(const VectorFormat& format, const VectorSegment& segment,
                                   std::int32_t& most_squares);

/// Bytes of a prepared query, a multiple of 16.
[[nodiscard]] std::size_t prepared_query_size(const VectorFormat& format);

/// Quantizes a query: for rows of int8 with as many bits as int32 sums of products allow, 16 for up
/// to 516 values with one scale; for rows of int4 with 12 bits, and for signs with 6.
///
/// @param most_squares  the largest |c|^2 of all rows, see add_vectors().
/// @param out      prepared_query_size() bytes, aligned to 16.
/// @return kNonFinite, kShapeMismatch.
[[nodiscard]] Status prepare_query(std::span<const float> query, const VectorFormat& format,
                                   std::int32_t most_squares, std::span<std::byte> out);

/// Bytes of a query's signs, a multiple of 16.
[[nodiscard]] std::size_t query_signs_size(std::size_t dimensions);

/// Writes the signs of a query as kBinary's codes, padded with 0.
/// @return kShapeMismatch.
[[nodiscard]] Status pack_signs(std::span<const float> query, std::span<std::uint8_t> out);

/// Marks the rows whose signs differ from the query's in the fewest values: at least `count` of
/// them, or all; rows that tie with the last one are marked, too.
///
/// @param signs      the query's, query_signs_size() bytes.
/// @param mask       rows to choose from, as in scan_vectors(); empty: all.
/// @param distances  uint16[rows], overwritten.
/// @param out        one bit for each row, in the form of a mask.
/// @return kShapeMismatch if the lengths do not fit.
[[nodiscard]] Status nearest_signs(std::span<const VectorSegment> segments, std::size_t dimensions,
                                   std::span<const std::uint8_t> signs, std::size_t count,
                                   std::span<const std::uint8_t> mask,
                                   std::span<std::uint16_t> distances, std::span<std::uint8_t> out);

/// A row that may be among the k best: lower <= its float score <= upper.
struct Candidate {
  /// Estimated, or exact and rounded once after refine_candidates(). A product with signs is
  /// corrected for their length: q' . (s c) times |x|^2 / |s c|^2.
  double score;
  double lower;
  double upper;
  std::uint32_t row;  ///< position in the index
  std::uint32_t order;
};

/// Count that says that the candidates did not fit.
inline constexpr std::uint32_t kNoRoom = UINT32_MAX;

/// Number of parts that a scan is divided into, each with candidates of its own.
[[nodiscard]] std::size_t scan_parts(const VectorFormat& format, std::size_t rows);

/// Finds all rows whose upper bound is at least the k-th largest lower bound.
///
/// @param queries     prepared queries, one behind the other.
/// @param mask        one bit for each row, bit 0 of byte 0 first: rows to scan; empty: all.
/// @param capacity    candidates of a query and part, > k.
/// @param candidates  Candidate[queries * parts * capacity]; those of query i begin at
///                    i * parts * capacity, in order of position.
/// @param counts      uint32[queries + queries * parts]: the first ones are the numbers of
///                    candidates, or kNoRoom: call again with a larger capacity. A capacity of all
///                    rows always suffices.
/// @return kShapeMismatch if the lengths do not fit.
[[nodiscard]] Status scan_vectors(std::span<const VectorSegment> segments,
                                  const VectorFormat& format, std::span<const std::byte> queries,
                                  std::size_t k, std::span<const std::uint8_t> mask,
                                  std::size_t capacity, std::span<Candidate> candidates,
                                  std::span<std::uint32_t> counts);

/// Decides among candidates by the originals: removes rows that cannot be among the k best, in
/// double with bounds, computes the scores of the rest exactly, rounded once to double (ties to
/// even), and sorts them, best first, ties by order.
///
/// Exact: sums of products are integers times 2^-298; a cosine's and a distance's rounding is
/// decided by comparing their square with that of the number halfway between two doubles.
/// Source of the accumulator: Kulisch, Computer Arithmetic and Validity (2013), chapter 8.
///
/// @return the number of candidates left. Where originals are exact, lower = score = upper.
[[nodiscard]] std::size_t refine_candidates(std::span<const VectorSegment> segments,
                                            const VectorFormat& format,
                                            std::span<const float> query, std::size_t k,
                                            std::span<Candidate> candidates);

/// Moves the k candidates of best scores to the front, best first, ties by order.
void sort_candidates(std::span<Candidate> candidates, std::size_t k);

/// The score of float32 vectors of finite values, exact and rounded once to double.
[[nodiscard]] double exact_score(std::span<const float> query, std::span<const float> row,
                                 Similarity similarity);

}  // namespace zeropoint
