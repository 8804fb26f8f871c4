#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/search_bounds.h"
#include "core/search_groups.h"
#include "core/search_signs.h"
#include "kernels/kernels.h"
#include "kernels/search.h"
#include "zeropoint/half.h"
#include "zeropoint/search.h"

namespace zeropoint {
namespace {

// Values that are quantized at a time; a multiple of 8, for whole bytes of bits.
constexpr std::size_t kPieceValues = 256;

double total(const double (&p)[4]) { return (p[0] + p[2]) + (p[1] + p[3]); }

// A row's error bound.
// @param noise   computed sum of squares of the difference; of several groups, the sum of theirs
// @param norms   |x| + |x'|: each difference has at most four roundings of its terms
float error_bound(double noise, double norms, std::size_t n) {
  const double error = sum_error(n);
  return round_up(std::sqrt(noise) * (1.0 + error) + norms * error);
}

void pack_nibbles(const std::int8_t* codes, std::size_t n, std::uint8_t* out) {
  for (std::size_t i = 0; i < n; i += 2) {
    const int high = i + 1 < n ? codes[i + 1] : 0;
    out[i / 2] = static_cast<std::uint8_t>((codes[i] & 15) | (high << 4));
  }
}

// Writes bits, and returns the sum of (x factor -+ stored)^2, as encode_row_f32().
double encode_signs(const float* x, std::size_t n, double factor, double stored,
                    std::uint8_t* out) {
  double sums[4] = {};
  for (std::size_t i = 0; i < n; i += 8) {
    std::uint8_t byte = 0;
    for (std::size_t j = i; j < std::min(i + 8, n); ++j) {
      const bool bit = x[j] > 0.0F;
      byte = static_cast<std::uint8_t>(byte | (bit ? 1 << (j - i) : 0));
      const double difference = x[j] * factor - (bit ? stored : -stored);
      sums[j % 4] += difference * difference;
    }
    out[i / 8] = byte;
  }
  return total(sums);
}

// The values of one scale, quantized.
struct Encoded {
  double noise;          // sum of squares of the difference
  std::int32_t squares;  // |c|^2
};

// Quantizes the n values of one scale.
Encoded encode_values(const float* x, std::size_t n, bool is_int8, const kernels::RowSums& row,
                      double factor, std::uint8_t* out, float& scale) {
  const double most = is_int8 ? 127.0 : 7.0;
  const auto step = static_cast<float>(row.largest / most);
  if (step == 0.0F) {
    // Zeros, or values whose scale underflows: restored as zeros.
    std::fill_n(out, is_int8 ? n : (n + 1) / 2, std::uint8_t{0});
    scale = 0.0F;
    return {row.square * factor * factor, 0};
  }
  scale = static_cast<float>(step * factor);
  kernels::CodeSums sums{};
  std::int8_t piece[kPieceValues];
  const kernels::RowScale how{step, static_cast<float>(most), factor, scale};
  for (std::size_t i = 0; i < n; i += kPieceValues) {
    const std::size_t count = std::min(kPieceValues, n - i);
    auto* codes = is_int8 ? reinterpret_cast<std::int8_t*>(out) + i : piece;
    kernels::encode_row_f32(x + i, count, how, codes, sums);
    if (!is_int8) pack_nibbles(codes, count, out + i / 2);
  }
  return {total(sums.noise), static_cast<std::int32_t>(total(sums.squares))};
}

double restored_square(float scale, std::int32_t squares) {
  return static_cast<double>(scale) * scale * squares;
}

// Quantizes one row of finite values to row `at` of a segment. Returns |c|^2 of a row with one
// scale.
std::int32_t quantize_row(const float* x, const VectorFormat& format, const kernels::RowSums& row,
                          const VectorSegment& segment, std::size_t at) {
  const std::size_t n = format.dimensions;
  const double norm = std::sqrt(row.square);
  const bool is_cosine = format.similarity == Similarity::kCosine;
  const double factor = is_cosine && norm > 0.0 ? 1.0 / norm : 1.0;
  const VectorGroups groups(format);
  std::uint8_t* const out = segment.codes + at * groups.row_bytes;
  float* const scales = segment.scales + at * groups.count;
  double noise = 0.0;
  double restored = 0.0;
  std::int32_t squares = 0;
  if (format.codes == VectorCodes::kBinary) {
    *scales = static_cast<float>(row.absolute / static_cast<double>(n) * factor);
    noise = encode_signs(x, n, factor, *scales, out);
    squares = static_cast<std::int32_t>(n);
    restored = restored_square(*scales, squares);
  } else {
    for (std::size_t g = 0; g < groups.count; ++g) {
      const float* const values = x + g * groups.size;
      const std::size_t size = groups.size_of(g);
      const kernels::RowSums own = groups.count == 1 ? row : kernels::sum_row_f32(values, size);
      const Encoded codes = encode_values(values, size, format.codes == VectorCodes::kInt8, own,
                                          factor, out + g * groups.bytes, scales[g]);
      noise += codes.noise;
      squares = codes.squares;
      restored += restored_square(scales[g], squares);
    }
  }
  segment.errors[at] = error_bound(noise, norm * factor + std::sqrt(restored), n);
  if (groups.count == 1) return squares;
  segment.restored[at] = restored;
  return 0;
}

// Writes the float16 original of a row, and the bound of its error. False if it is not finite.
bool keep_half(const float* x, const VectorFormat& format, const kernels::RowSums& row,
               std::uint16_t* out, float& error) {
  const std::size_t n = format.dimensions;
  kernels::convert_f32_f16(x, n, out);
  float back[kPieceValues];
  double noise[4] = {};
  double square = 0.0;
  for (std::size_t i = 0; i < n; i += kPieceValues) {
    const std::size_t count = std::min(kPieceValues, n - i);
    kernels::convert_f16_f32(out + i, count, back);
    for (std::size_t j = 0; j < count; ++j) {
      const double difference = static_cast<double>(x[i + j]) - back[j];
      noise[j % 4] += difference * difference;
      square += static_cast<double>(back[j]) * back[j];
    }
  }
  if (!std::isfinite(square)) return false;
  double distance = std::sqrt(total(noise));
  // |x/|x| - y/|y|| <= |x - y| / sqrt(|x| |y|), and at most 2.
  if (format.similarity == Similarity::kCosine && distance > 0.0) {
    const double norms = std::sqrt(std::sqrt(row.square) * std::sqrt(square));
    distance = norms > 0.0 ? std::min(distance / norms, 2.0) : 2.0;
  }
  error = round_up(distance * (1.0 + 4.0 * sum_error(n)));
  return true;
}

}  // namespace

std::size_t vector_groups(const VectorFormat& format) { return VectorGroups(format).count; }

std::size_t vector_bytes(const VectorFormat& format) { return VectorGroups(format).row_bytes; }

Status add_vectors(std::span<const float> x, const VectorFormat& format,
                   const VectorSegment& segment, std::size_t first, std::int32_t& most_squares) {
  const std::size_t n = format.dimensions;
  if (n == 0 || n > kMostDimensions || x.size() % n != 0) return Status::kShapeMismatch;
  const std::size_t count = x.size() / n;
  if (first > segment.rows || count > segment.rows - first) return Status::kShapeMismatch;
  for (std::size_t i = 0; i < count; ++i) {
    const float* const row = x.data() + i * n;
    const std::size_t at = first + i;
    const kernels::RowSums sums = kernels::sum_row_f32(row, n);
    if (!std::isfinite(sums.square)) return Status::kNonFinite;
    const std::int32_t squares = quantize_row(row, format, sums, segment, at);
    if (!std::isfinite(segment.errors[at])) return Status::kNonFinite;
    if (segment.signs != nullptr) write_signs({row, n}, segment.signs + at * sign_bytes(n));
    if (segment.squares != nullptr) segment.squares[at] = squares;
    most_squares = std::max(most_squares, squares);
    if (format.originals == Originals::kFloat32) {
      auto* to = static_cast<float*>(segment.originals) + at * n;
      if (to != row) std::memcpy(to, row, n * sizeof(float));
    } else if (format.originals == Originals::kFloat16) {
      auto* to = static_cast<std::uint16_t*>(segment.originals) + at * n;
      if (!keep_half(row, format, sums, to, segment.original_errors[at])) {
        return Status::kNonFinite;
      }
    }
  }
  return Status::kOk;
}

namespace {

bool is_bound(float v) { return std::isfinite(v) && v >= 0.0F; }

// |c|^2 of the n codes of one scale, or -1 if one is a code that add_vectors() does not write.
std::int32_t squares_of(const std::uint8_t* codes, std::size_t n, VectorCodes type) {
  const std::size_t bytes = code_bytes(n, type);
  if (type == VectorCodes::kInt8) return kernels::sum_squares_s8(codes, bytes);
  if (type == VectorCodes::kBinary) {
    const bool is_padded = n % 8 == 0 || codes[bytes - 1] >> (n % 8) == 0;
    return is_padded ? static_cast<std::int32_t>(n) : -1;
  }
  if (n % 2 != 0 && codes[bytes - 1] >> 4 != 0) return -1;
  return kernels::sum_squares_s4(codes, bytes);
}

// Whether the original of row i is finite, as its norm.
bool has_finite_original(const VectorSegment& segment, const VectorFormat& format, std::size_t i) {
  const std::size_t n = format.dimensions;
  if (format.originals == Originals::kNone) return true;
  if (format.originals == Originals::kFloat32) {
    const auto* const x = static_cast<const float*>(segment.originals) + i * n;
    return std::isfinite(kernels::sum_row_f32(x, n).square);
  }
  const auto* const halves = static_cast<const std::uint16_t*>(segment.originals) + i * n;
  return std::none_of(halves, halves + n, [](auto half) { return (half & 0x7c00) == 0x7c00; });
}

}  // namespace

Status check_vectors(const VectorFormat& format, const VectorSegment& segment,
                     std::int32_t& most_squares) {
  const VectorGroups groups(format);
  for (std::size_t i = 0; i < segment.rows; ++i) {
    const float* const scales = segment.scales + i * groups.count;
    if (!is_bound(segment.errors[i])) return Status::kInvalidScale;
    const bool is_half = format.originals == Originals::kFloat16;
    if (is_half && !is_bound(segment.original_errors[i])) return Status::kInvalidScale;
    if (!has_finite_original(segment, format, i)) return Status::kNonFinite;
    std::int32_t squares = 0;
    double restored = 0.0;
    for (std::size_t g = 0; g < groups.count; ++g) {
      const std::uint8_t* const codes = segment.codes + i * groups.row_bytes + g * groups.bytes;
      if (!is_bound(scales[g])) return Status::kInvalidScale;
      squares = squares_of(codes, groups.size_of(g), format.codes);
      if (squares < 0) return Status::kSizeOverflow;
      restored += restored_square(scales[g], squares);
    }
    if (groups.count > 1) {
      segment.restored[i] = restored;
      continue;
    }
    if (segment.squares != nullptr) segment.squares[i] = squares;
    most_squares = std::max(most_squares, squares);
  }
  return Status::kOk;
}

}  // namespace zeropoint
