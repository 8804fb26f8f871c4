#include "core/exact_score.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace zeropoint {
namespace {

// The largest number is |q|^2 |x|^2 times the square of 54 bits and a shift.
constexpr std::size_t kMostDigits = 2 * ExactSum::kDigits + 5;

// A natural number times 2^(32 exponent).
struct Natural {
  std::uint32_t digits[kMostDigits] = {};
  std::size_t size = 0;  // without leading zeros
  std::int32_t exponent = 0;

  // Removes zeros at both ends: most numbers then have a few digits.
  void trim() {
    while (size > 0 && digits[size - 1] == 0) --size;
    std::size_t low = 0;
    while (low < size && digits[low] == 0) ++low;
    std::copy(digits + low, digits + size, digits);
    size -= low;
    exponent += static_cast<std::int32_t>(low);
  }
};

// The unit of sums is 2^-298; here 2^-320, by a factor of 2^22, for whole digits.
constexpr std::int32_t kUnit = -10;
constexpr unsigned kUnitShift = 22;

int natural_of(const ExactSum& sum, Natural& out) {
  std::uint32_t digits[ExactSum::kDigits];
  const int sign = sum.magnitude(digits);
  std::copy_n(digits, ExactSum::kDigits, out.digits);
  out.size = ExactSum::kDigits;
  out.exponent = kUnit;
  out.trim();
  return sign;
}

Natural multiply(const Natural& a, const Natural& b) {
  Natural product;
  product.size = a.size + b.size;
  product.exponent = a.exponent + b.exponent;
  for (std::size_t i = 0; i < a.size; ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < b.size; ++j) {
      carry += std::uint64_t{a.digits[i]} * b.digits[j] + product.digits[i + j];
      product.digits[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    product.digits[i + b.size] = static_cast<std::uint32_t>(carry);
  }
  product.trim();
  return product;
}

// -1, 0 or 1, as a < b, a == b or a > b.
int compare(const Natural& a, const Natural& b) {
  const auto top = [](const Natural& n) { return n.exponent + static_cast<std::int32_t>(n.size); };
  if (a.size == 0 || b.size == 0) return (a.size > 0 ? 1 : 0) - (b.size > 0 ? 1 : 0);
  if (top(a) != top(b)) return top(a) < top(b) ? -1 : 1;
  const auto digit = [](const Natural& n, std::int32_t position) {
    const std::int32_t i = position - n.exponent;
    return i < 0 ? 0U : n.digits[i];
  };
  for (std::int32_t p = top(a) - 1; p >= std::min(a.exponent, b.exponent); --p) {
    if (digit(a, p) != digit(b, p)) return digit(a, p) < digit(b, p) ? -1 : 1;
  }
  return 0;
}

// mantissa * 2^exponent
Natural natural_of(std::uint64_t mantissa, std::int32_t exponent) {
  Natural n;
  n.exponent = exponent >> 5;  // towards -infinity
  const auto shift = static_cast<unsigned>(exponent & 31);
  n.digits[0] = static_cast<std::uint32_t>(mantissa << shift);
  n.digits[1] = static_cast<std::uint32_t>(mantissa << shift >> 32);
  n.digits[2] = shift == 0 ? 0 : static_cast<std::uint32_t>(mantissa >> 32 >> (32 - shift));
  n.size = 3;
  n.trim();
  return n;
}

// Rounded to nearest, ties to even; > 0 and within the normal doubles.
double to_double(const Natural& n) {
  if (n.size == 0) return 0.0;
  const auto leading = static_cast<unsigned>(std::countl_zero(n.digits[n.size - 1]));
  // The highest 64 bits, and whether any lower bit is 1.
  const auto digit = [&](std::size_t from_top) {
    return from_top < n.size ? std::uint64_t{n.digits[n.size - 1 - from_top]} : 0U;
  };
  std::uint64_t bits = digit(0) << 32 | digit(1);
  std::uint64_t rest = digit(2) << 32;
  if (leading > 0) {
    bits = bits << leading | rest >> (64 - leading);
    rest <<= leading;
  }
  bool has_rest = rest != 0;
  for (std::size_t i = 3; i < n.size; ++i) has_rest = has_rest || digit(i) != 0;
  // A 1 in the lowest of 64 bits stands for the rest: it is far below the 53rd.
  bits |= has_rest ? 1U : 0U;
  const std::uint64_t kept = bits >> 11;
  const std::uint64_t below = bits & 0x7ff;
  const bool up = below > 0x400 || (below == 0x400 && (kept & 1) != 0);
  const std::int32_t exponent = 32 * (n.exponent + static_cast<std::int32_t>(n.size) - 2) -
                                static_cast<std::int32_t>(leading);
  return std::ldexp(static_cast<double>(kept + (up ? 1 : 0)), exponent + 11);
}

// sqrt(numerator / denominator), rounded once, ties to even. `guess` is within a few steps of it.
double rounded_root(const Natural& numerator, const Natural& denominator, double guess) {
  // Compares the root with the number halfway between `low` and the next double.
  const auto is_above_half = [&](double low) {
    int exponent = 0;
    const auto mantissa = static_cast<std::uint64_t>(std::ldexp(std::frexp(low, &exponent), 53));
    const Natural half = natural_of(2 * mantissa + 1, exponent - 54);
    const int order = compare(numerator, multiply(multiply(half, half), denominator));
    return order > 0 || (order == 0 && (mantissa & 1) != 0);
  };
  const double infinity = std::numeric_limits<double>::infinity();
  while (is_above_half(guess)) guess = std::nextafter(guess, infinity);
  for (double below = std::nextafter(guess, 0.0); !is_above_half(below);
       below = std::nextafter(guess, 0.0)) {
    guess = below;
  }
  return guess;
}

}  // namespace

void ExactSum::add(float a, float b, int sign, unsigned doublings) {
  const auto split = [](float v, std::uint32_t& exponent) {
    const auto bits = std::bit_cast<std::uint32_t>(v);
    exponent = bits >> 23 & 0xff;
    const std::uint32_t fraction = bits & 0x7fffff;
    if (exponent == 0) return fraction;  // subnormal: the exponent counts as 1
    --exponent;
    return fraction | 0x800000;
  };
  std::uint32_t exponent_a = 0;
  std::uint32_t exponent_b = 0;
  const std::uint64_t mantissa = std::uint64_t{split(a, exponent_a)} * split(b, exponent_b);
  if (mantissa == 0) return;
  const unsigned shift = exponent_a + exponent_b + doublings + kUnitShift;
  const std::size_t digit = shift / 32;
  const std::uint64_t low = (mantissa & 0xffffffff) << (shift % 32);
  const std::uint64_t high = (mantissa >> 32) << (shift % 32);
  const bool is_negative = std::signbit(a) != std::signbit(b);
  const std::int64_t factor = is_negative ? -sign : sign;
  digits_[digit] += factor * static_cast<std::int64_t>(low & 0xffffffff);
  digits_[digit + 1] += factor * static_cast<std::int64_t>((low >> 32) + (high & 0xffffffff));
  digits_[digit + 2] += factor * static_cast<std::int64_t>(high >> 32);
}

int ExactSum::magnitude(std::uint32_t (&digits)[kDigits]) const {
  // Carries of a two's complement number; the last one is its sign.
  std::int64_t carry = 0;
  bool is_zero = true;
  for (std::size_t i = 0; i < kDigits; ++i) {
    carry += digits_[i];
    digits[i] = static_cast<std::uint32_t>(carry);
    is_zero = is_zero && digits[i] == 0;
    carry >>= 32;
  }
  if (is_zero) return 0;
  if (carry >= 0) return 1;
  std::uint64_t borrow = 1;
  for (std::uint32_t& digit : digits) {
    borrow += static_cast<std::uint32_t>(~digit);
    digit = static_cast<std::uint32_t>(borrow);
    borrow >>= 32;
  }
  return -1;
}

void ExactScore::add(const float* query, const float* row, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float q = query[i];
    const float x = row[i];
    if (similarity_ != Similarity::kEuclidean) product_.add(q, x);
    if (similarity_ == Similarity::kDot) continue;
    ExactSum& rows = similarity_ == Similarity::kCosine ? row_ : product_;
    ExactSum& queries = similarity_ == Similarity::kCosine ? query_ : product_;
    rows.add(x, x);
    queries.add(q, q);
    if (similarity_ == Similarity::kEuclidean) product_.add(q, x, -1, 1);
  }
}

double ExactScore::value() const {
  Natural product;
  const int sign = natural_of(product_, product);
  if (sign == 0) return 0.0;
  const double rounded = to_double(product);
  if (similarity_ == Similarity::kDot) return sign * rounded;
  if (similarity_ == Similarity::kEuclidean) {
    return -rounded_root(product, natural_of(1, 0), std::sqrt(rounded));
  }
  Natural query;
  Natural row;
  if (natural_of(query_, query) == 0 || natural_of(row_, row) == 0) return 0.0;
  const double guess = rounded / (std::sqrt(to_double(query)) * std::sqrt(to_double(row)));
  return sign * rounded_root(multiply(product, product), multiply(query, row), guess);
}

double exact_score(std::span<const float> query, std::span<const float> row,
                   Similarity similarity) {
  ExactScore score(similarity);
  score.add(query.data(), row.data(), query.size());
  return score.value();
}

}  // namespace zeropoint
