// Nearest vectors. Formats and segments are structures in the heap, which src/js/search/memory.ts
// writes.
#include "zeropoint/search.h"

#include "bindings/marshal.h"
#include "bindings/register.h"

namespace zeropoint::bindings {
namespace {

// The fields' order and size in JavaScript.
static_assert(sizeof(VectorFormat) == 20 && sizeof(VectorSegment) == 44 && sizeof(Candidate) == 32);

const VectorFormat& format_at(Offset format) {
  return *reinterpret_cast<const VectorFormat*>(format);
}

std::span<const VectorSegment> segments_at(Offset segments, std::size_t count) {
  return span_at<const VectorSegment>(segments, count);
}

std::size_t rows_of(std::span<const VectorSegment> segments) {
  return segments.empty() ? 0 : segments.back().first + segments.back().rows;
}

std::span<const std::uint8_t> mask_at(Offset mask, std::size_t rows) {
  return span_at<const std::uint8_t>(mask, mask == 0 ? 0 : (rows + 7) / 8);
}

void vector_format(std::size_t dimensions, Similarity similarity, VectorCodes codes,
                   Originals originals, std::size_t group_size, Offset out) {
  span_at<VectorFormat>(out, 1)[0] = {dimensions, similarity, codes, originals, group_size};
}

std::size_t vector_bytes(Offset format) { return zeropoint::vector_bytes(format_at(format)); }

Status add_vectors(Offset format, Offset x, std::size_t count, Offset segment, std::size_t first,
                   Offset most_squares) {
  const VectorFormat& own = format_at(format);
  return zeropoint::add_vectors(span_at<const float>(x, count * own.dimensions), own,
                                segments_at(segment, 1)[0], first,
                                span_at<std::int32_t>(most_squares, 1)[0]);
}

Status check_vectors(Offset format, Offset segment, Offset most_squares) {
  return zeropoint::check_vectors(format_at(format), segments_at(segment, 1)[0],
                                  span_at<std::int32_t>(most_squares, 1)[0]);
}

std::size_t prepared_query_size(Offset format) {
  return zeropoint::prepared_query_size(format_at(format));
}

Status prepare_query(Offset format, Offset query, std::int32_t most_squares, Offset out) {
  const VectorFormat& own = format_at(format);
  return zeropoint::prepare_query(span_at<const float>(query, own.dimensions), own, most_squares,
                                  span_at<std::byte>(out, prepared_query_size(format)));
}

std::size_t query_signs_size(std::size_t dimensions) {
  return zeropoint::query_signs_size(dimensions);
}

Status pack_signs(Offset query, std::size_t dimensions, Offset out) {
  return zeropoint::pack_signs(span_at<const float>(query, dimensions),
                               span_at<std::uint8_t>(out, query_signs_size(dimensions)));
}

Status nearest_signs(Offset segments, std::size_t segment_count, std::size_t dimensions,
                     Offset signs, std::size_t count, Offset mask, Offset distances, Offset out) {
  const auto all = segments_at(segments, segment_count);
  const std::size_t rows = rows_of(all);
  return zeropoint::nearest_signs(
      all, dimensions, span_at<const std::uint8_t>(signs, query_signs_size(dimensions)), count,
      mask_at(mask, rows), span_at<std::uint16_t>(distances, rows),
      span_at<std::uint8_t>(out, (rows + 7) / 8));
}

std::size_t scan_parts(Offset format, std::size_t rows) {
  return zeropoint::scan_parts(format_at(format), rows);
}

Status scan_vectors(Offset format, Offset segments, std::size_t segment_count, Offset queries,
                    std::size_t count, std::size_t k, Offset mask, std::size_t capacity,
                    Offset candidates, Offset counts) {
  const auto all = segments_at(segments, segment_count);
  const std::size_t rows = rows_of(all);
  const std::size_t parts = scan_parts(format, rows);
  return zeropoint::scan_vectors(
      all, format_at(format),
      span_at<const std::byte>(queries, count * prepared_query_size(format)), k,
      mask_at(mask, rows), capacity, span_at<Candidate>(candidates, count * parts * capacity),
      span_at<std::uint32_t>(counts, count * (1 + parts)));
}

std::size_t refine_candidates(Offset format, Offset segments, std::size_t segment_count,
                              Offset query, std::size_t k, Offset candidates, std::size_t count) {
  const VectorFormat& own = format_at(format);
  return zeropoint::refine_candidates(segments_at(segments, segment_count), own,
                                      span_at<const float>(query, own.dimensions), k,
                                      span_at<Candidate>(candidates, count));
}

void sort_candidates(Offset candidates, std::size_t count, std::size_t k) {
  zeropoint::sort_candidates(span_at<Candidate>(candidates, count), k);
}

}  // namespace

EMSCRIPTEN_BINDINGS(search) {
  function("vectorFormat" PARAMETERS(dimensions, similarity, codes, originals, groupSize, out),
           &vector_format);
  function("vectorBytes" PARAMETERS(format), &vector_bytes);
  function("addVectors" PARAMETERS(format, x, count, segment, first, mostSquares), &add_vectors);
  function("checkVectors" PARAMETERS(format, segment, mostSquares), &check_vectors);
  function("preparedQuerySize" PARAMETERS(format), &prepared_query_size);
  function("prepareQuery" PARAMETERS(format, query, mostSquares, out), &prepare_query);
  function("querySignsSize" PARAMETERS(dimensions), &query_signs_size);
  function("packSigns" PARAMETERS(query, dimensions, out), &pack_signs);
  function("nearestSigns" PARAMETERS(segments, segmentCount, dimensions, signs, count, mask,
                                     distances, out),
           &nearest_signs);
  function("scanParts" PARAMETERS(format, rows), &scan_parts);
  function("scanVectors" PARAMETERS(format, segments, segmentCount, queries, count, k, mask,
                                    capacity, candidates, counts),
           &scan_vectors);
  function(
      "refineCandidates" PARAMETERS(format, segments, segmentCount, query, k, candidates, count),
      &refine_candidates);
  function("sortCandidates" PARAMETERS(candidates, count, k), &sort_candidates);
}

}  // namespace zeropoint::bindings
