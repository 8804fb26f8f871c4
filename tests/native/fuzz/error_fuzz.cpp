// error.h: sums in PyTorch's order, and the metrics made of them.
#include "fuzz.h"
#include "reference/energies_f64.h"
#include "reference/sum_f32.h"
#include "zeropoint/error.h"

namespace zeropoint::fuzz {
namespace {

double measure(const std::vector<float>& a, const std::vector<float>& b, Metric metric) {
  double value = 91;
  check(quantization_error(a, b, metric, value), Status::kOk);
  return value;
}

}  // namespace

void run(Source source) {
  const std::size_t n = source.below(source.flag() ? 40 : 6000);
  const std::vector<float> a = source.floats(n);
  std::vector<float> b = source.flag() ? source.floats(n) : a;
  const auto count = static_cast<float>(n);
  check(same_value(sum(a), reference::sum_f32(a.data(), n)), "a sum has PyTorch's order");
  check(same_value(mean(a), reference::sum_f32(a.data(), n) / count), "a mean is sum / n");

  if (source.rarely(8)) {
    b.push_back(1.0F);
    double value = 91;
    check(quantization_error(a, b, Metric::kMse, value), Status::kShapeMismatch);
    check(value == 91, "nothing is written unless the status is kOk");
    return;
  }
  const double mse = measure(a, b, Metric::kMse);
  const double mae = measure(a, b, Metric::kMae);
  const double max = measure(a, b, Metric::kMax);
  const double sqnr = measure(a, b, Metric::kSqnr);
  const double cosine = measure(a, b, Metric::kCosine);
  if (n == 0) {
    for (const double value : {mse, mae, max, sqnr, cosine}) {
      check(std::isnan(value), "no values have no error");
    }
    return;
  }
  const float squares = reference::sum_squared_difference_f32(a.data(), b.data(), n);
  const float distances = reference::sum_absolute_difference_f32(a.data(), b.data(), n);
  check(same_value(mse, double{squares / count}), "mse is PyTorch's mean of squares");
  check(same_value(mae, double{distances / count}), "mae is PyTorch's mean of distances");
  check(same_value(max, reference::max_absolute_difference_f64(a.data(), b.data(), n)),
        "max is the largest distance");
  const kernels::Energies e = reference::energies_f64(a.data(), b.data(), n);
  check(same_value(sqnr, e.noise == 0 ? INFINITY : 10 * std::log10(e.aa / e.noise)),
        "sqnr is the ratio of energies");
  check(same_value(cosine, e.ab / std::sqrt(e.aa * e.bb)), "cosine is the normalized product");

  const bool finite = std::isfinite(e.aa) && std::isfinite(e.bb);
  if (!finite) return;
  check(std::isnan(cosine) || std::fabs(cosine) <= 1 + 1e-12, "a cosine lies within -1 .. 1");
  if (a == b) check(mse == 0 && mae == 0 && max == 0 && sqnr == INFINITY, "equal tensors");
  // 2^-20 covers the rounding of at most 6000 float32 additions in chains of chains, and 2^-149
  // that of a mean too small for a normal number.
  if (std::isfinite(mae))
    check(mae <= max * (1 + 0x1p-20) + 0x1p-149, "no mean exceeds the largest");
}

}  // namespace zeropoint::fuzz
