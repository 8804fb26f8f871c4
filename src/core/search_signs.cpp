#include "core/search_signs.h"

#include <algorithm>
#include <array>

#include "core/parallel.h"
#include "kernels/search.h"
#include "zeropoint/search.h"

namespace zeropoint {
namespace {

bool is_wanted(const std::uint8_t* mask, std::size_t row) {
  return mask == nullptr || (mask[row / 8] >> (row % 8) & 1) != 0;
}

void measure_rows(const VectorSegment* segments, std::size_t count, std::size_t dimensions,
                  const std::uint8_t* signs, std::size_t begin, std::size_t end,
                  std::uint16_t* distances) {
  const std::size_t stride = sign_bytes(dimensions);
  for (std::size_t s = 0; s < count; ++s) {
    const VectorSegment& segment = segments[s];
    const std::size_t from = std::max(begin, segment.first);
    const std::size_t to = std::min(end, segment.first + segment.rows);
    if (from >= to) continue;
    kernels::sign_distances_b1({segment.signs + (from - segment.first) * stride, stride, signs,
                                query_signs_size(dimensions) / 16},
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

  // The distance of the last row that is taken, by the number of rows at each distance: first in
  // steps of 256, then within one.
  const std::uint8_t* const chosen = mask.empty() ? nullptr : mask.data();
  std::array<std::uint32_t, 256> high{};
  std::array<std::uint32_t, 256> low{};
  const auto take = [](const std::array<std::uint32_t, 256>& sizes, std::size_t& left) {
    std::size_t place = 0;
    while (place < 255 && sizes[place] < left) left -= sizes[place++];
    return place;
  };
  std::size_t left = count;
  for (std::size_t row = 0; row < rows; ++row) {
    if (is_wanted(chosen, row)) ++high[all[row] / 256];
  }
  const std::size_t step = take(high, left);
  for (std::size_t row = 0; row < rows; ++row) {
    if (is_wanted(chosen, row) && all[row] / 256 == step) ++low[all[row] % 256];
  }
  const std::size_t last = step * 256 + take(low, left);
  std::fill(out.begin(), out.end(), std::uint8_t{0});
  for (std::size_t row = 0; row < rows && count > 0; ++row) {
    if (all[row] > last || !is_wanted(chosen, row)) continue;
    out[row / 8] = static_cast<std::uint8_t>(out[row / 8] | 1 << (row % 8));
  }
  return Status::kOk;
}

}  // namespace zeropoint
