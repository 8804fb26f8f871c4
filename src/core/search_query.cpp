#include "core/search_query.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/search_bounds.h"
#include "kernels/kernels.h"

namespace zeropoint {
namespace {

// The largest code of a query: sums of products fit in int32.
double most_code(VectorCodes codes, std::size_t group_size) {
  if (codes == VectorCodes::kBinary) return (1 << (kernels::kPlanes - 1)) - 1;
  if (codes == VectorCodes::kInt4) return kernels::kMostFourBits;
  return std::min(32767.0, std::floor(2147483647.0 / (127.0 * static_cast<double>(group_size))));
}
static_assert(7.0 * kernels::kMostFourBits * kMostDimensions < 2147483647.0);

// Places code i of a group.
void place_code(std::int32_t code, std::size_t i, VectorCodes codes, const VectorGroups& groups,
                std::byte* to) {
  if (codes == VectorCodes::kInt4) return kernels::place_four_bits(code, i, to);
  if (codes == VectorCodes::kInt8) {
    reinterpret_cast<std::int16_t*>(to)[i] = static_cast<std::int16_t>(code);
    return;
  }
  auto* planes = reinterpret_cast<std::uint8_t*>(to);
  const std::size_t plane_bytes = steps_of(groups.bytes) * 16;
  for (std::size_t p = 0; p < kernels::kPlanes; ++p) {
    const auto bit = static_cast<std::uint32_t>(code) >> p & 1U;
    std::uint8_t& byte = planes[p * plane_bytes + i / 8];
    byte = static_cast<std::uint8_t>(byte | bit << (i % 8));
  }
}

}  // namespace

std::size_t prepared_query_size(const VectorFormat& format) {
  const VectorGroups groups(format);
  return sizeof(Query) + groups.count * group_query_size(groups, format.codes);
}

Status prepare_query(std::span<const float> query, const VectorFormat& format,
                     std::int32_t most_squares, std::span<std::byte> out) {
  const std::size_t n = format.dimensions;
  if (n == 0 || n > kMostDimensions || query.size() != n ||
      out.size() != prepared_query_size(format)) {
    return Status::kShapeMismatch;
  }
  const kernels::RowSums sums = kernels::sum_row_f32(query.data(), n);
  if (!std::isfinite(sums.square)) return Status::kNonFinite;
  std::fill(out.begin(), out.end(), std::byte{0});
  std::byte* const codes = out.data() + sizeof(Query);
  double norm = std::sqrt(sums.square);
  const bool is_cosine = format.similarity == Similarity::kCosine && norm > 0.0;
  const double factor = is_cosine ? 1.0 / norm : 1.0;
  norm *= factor;
  const VectorGroups groups(format);
  const std::size_t group_step = group_query_size(groups, format.codes);
  const double most = most_code(format.codes, groups.size);
  const double scale = sums.largest * factor / most;
  double noise = 0.0;
  double squares = 0.0;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < n && scale > 0.0; ++i) {
    const double value = query[i] * factor;
    const double code = std::clamp(std::nearbyint(value / scale), -most, most);
    const double difference = value - code * scale;
    noise += difference * difference;
    squares += code * code;
    sum += static_cast<std::int64_t>(code);
    place_code(static_cast<std::int32_t>(code), i % groups.size, format.codes, groups,
               codes + i / groups.size * group_step);
  }
  // One partial sum here: four times the additions of sum_error().
  const double relative = 4.0 * sum_error(n);
  const double own = std::sqrt(squares) * scale;
  const double error = std::sqrt(noise) * (1.0 + relative) + (norm + own) * relative;
  // Roundings of a product, of at most |q'| |s c|: four, and one for each group.
  const double rounding = kEight + static_cast<double>(groups.count) * kRounding;
  // |2 q' . (s c)| is at most the sum of the squares, which have at most four roundings, and one
  // for each group.
  Query head{scale, 0.0, 0.0, squares * scale * scale, 2.0 * rounding, sum};
  if (format.similarity == Similarity::kEuclidean) {
    head.error_factor = 1.0;
    head.size_factor = error;
  } else {
    // |s c| <= s sqrt(most_squares). The rest is for the roundings of the width and of |s c|.
    const double most_size = groups.count > 1 ? 1.0 : std::sqrt(static_cast<double>(most_squares));
    head.error_factor = norm * (1.0 + relative) * (1.0 + kEight);
    head.size_factor = (error + (norm + error) * rounding) * most_size * (1.0 + 2.0 * rounding);
  }
  std::memcpy(out.data(), &head, sizeof(head));
  return Status::kOk;
}

}  // namespace zeropoint
