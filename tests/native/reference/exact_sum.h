// Sums of products far more exact than double, as the reference for rounding errors.
#pragma once

#include <cmath>

namespace zeropoint::reference {

/// A sum kept as an unevaluated pair of doubles. Products enter without rounding, so the error
/// stays below terms * 2^-104 * (sum of their magnitudes), if nothing overflows or underflows
/// double.
class ExactSum {
 public:
  void add_product(double a, double b) {
    const double product = a * b;
    const double rest = std::fma(a, b, -product);
    add(product);
    add(rest);
  }

  void add(double term) {
    const double sum = high_ + term;
    const double term_part = sum - high_;
    const double error = (high_ - (sum - term_part)) + (term - term_part);
    const double low = low_ + error;
    high_ = sum + low;
    low_ = low - (high_ - sum);
  }

  [[nodiscard]] double value() const { return high_; }

  /// The difference between a number and the sum.
  [[nodiscard]] double distance(double number) const { return std::fabs((number - high_) - low_); }

 private:
  double high_ = 0.0;
  double low_ = 0.0;
};

}  // namespace zeropoint::reference
