#include "core/search_signs.h"

#include <algorithm>
#include <cstdint>

#include "core/parallel.h"
#include "kernels/search.h"
#include "zeropoint/search.h"

namespace zeropoint {
namespace {

void measure_rows(const VectorSegment* segments, std::size_t count, std::size_t dimensions,
                  const std::uint8_t* signs, std::size_t begin, std::size_t end,
                  std::uint16_t* distances) {
  const std::size_t stride = sign_bytes(dimensions);
  for (std::size_t s = 0; s < count; ++s) {
    const VectorSegment& segment = segments[s];
    const std::size_t from = std::max(begin, segment.first);
    const std::size_t to = std::min(end, segment.first + segment.rows);
    if (from >= to) continue;
    kernels::sign_distances_b1({segment.signs + (from - segment.first) * stride, stride, signs},
                               to - from, distances + from);
  }
}

}  // namespace

std::size_t query_signs_size(std::size_t dimensions) {
  return (sign_bytes(dimensions) + 15) / 16 * 16;
}

Status pack_signs(std::span<const float> query, std::span<std::uint8_t> out) {
  const std::size_t n = query.size();
  if (n == 0 || n > kMostDimensions || out.size() != query_signs_size(n)) {
    return Status::kShapeMismatch;
  }
  std::fill(out.begin(), out.end(), std::uint8_t{0});
  write_signs(query, out.data());
  return Status::kOk;
}

Status nearest_signs(std::span<const VectorSegment> segments, std::size_t dimensions,
                     std::span<const std::uint8_t> signs, std::size_t count,
                     std::span<const std::uint8_t> mask, std::span<std::uint16_t> distances,
                     std::span<std::uint8_t> out) {
  const std::size_t rows = segments.empty() ? 0 : segments.back().first + segments.back().rows;
  if (dimensions == 0 || dimensions > kMostDimensions ||
      signs.size() != query_signs_size(dimensions) || distances.size() != rows ||
      out.size() != (rows + 7) / 8 || (!mask.empty() && mask.size() != out.size())) {
    return Status::kShapeMismatch;
  }
  const VectorSegment* const first = segments.data();
  const std::size_t segment_count = segments.size();
  const std::uint8_t* const query = signs.data();
  std::uint16_t* const all = distances.data();
  const std::size_t parts = std::max<std::size_t>(
      1, part_count(rows / 64 + 1, std::uint64_t{rows} * sign_bytes(dimensions)));
  parallel_for(parts, [=](std::size_t part) {
    measure_rows(first, segment_count, dimensions, query, part_start(rows, part, parts),
                 part_start(rows, part + 1, parts), all);
  });

  for (std::size_t row = 0; row < rows && !mask.empty(); ++row) {
    if ((mask[row / 8] >> (row % 8) & 1) == 0) all[row] = UINT16_MAX;
  }
  // The least distance that enough rows have at most.
  std::size_t last = count == 0 ? 0 : dimensions;
  for (std::size_t low = 0; low < last;) {
    const std::size_t middle = (low + last) / 2;
    const std::size_t found =
        kernels::mark_up_to_u16(all, rows, static_cast<std::uint16_t>(middle), out.data());
    if (found < count) {
      low = middle + 1;
    } else {
      last = middle;
    }
  }
  kernels::mark_up_to_u16(all, rows, static_cast<std::uint16_t>(last), out.data());
  // The mask again: a row that it leaves out has the distance 65535, and so may a wanted row.
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint8_t allowed = mask.empty() ? 0xff : mask[i];
    out[i] = static_cast<std::uint8_t>(count == 0 ? 0 : out[i] & allowed);
  }
  return Status::kOk;
}

}  // namespace zeropoint
