// Exact sums of products of float32, and scores of them rounded once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "zeropoint/search.h"

namespace zeropoint {

/// A sum of products of finite float32: an integer times 2^-298, without rounding.
class ExactSum {
 public:
  /// 2^-298 ... 2^256, the doubling of a product, and sums of 2^16 products.
  static constexpr std::size_t kDigits = 19;

  /// Adds a * b * sign * 2^doublings; at most 2^17 times.
  void add(float a, float b, int sign = 1, unsigned doublings = 0);

  /// Writes the magnitude's digits in base 2^32, lowest first. Returns -1, 0 or 1.
  int magnitude(std::uint32_t (&digits)[kDigits]) const;

 private:
  std::int64_t digits_[kDigits] = {};
};

/// The score of vectors that come in pieces.
class ExactScore {
 public:
  explicit ExactScore(Similarity similarity) : similarity_(similarity) {}
  void add(const float* query, const float* row, std::size_t n);
  [[nodiscard]] double value() const;

 private:
  Similarity similarity_;
  ExactSum product_;  // kEuclidean: |q - x|^2
  ExactSum query_;    // |q|^2 and |x|^2, for kCosine
  ExactSum row_;
};

}  // namespace zeropoint
