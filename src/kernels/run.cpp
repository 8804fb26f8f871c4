// Common part of all operations: passes whole steps to an operation's loops, and the rest of a row
// as a separate step. So every value goes through vector code, and no result depends on its
// position.
// Parity: that of the operation, for every n.
#include <algorithm>
#include <cassert>
#include <cstring>

#include "kernels/codes.h"
#include "kernels/kernels.h"
#include "kernels/qparams_lanes.h"

namespace zeropoint::kernels {
namespace {

const std::byte* skip(const void* from, std::size_t bytes) {
  return static_cast<const std::byte*>(from) + bytes;
}
std::byte* skip(void* to, std::size_t bytes) { return static_cast<std::byte*>(to) + bytes; }

// Qparams of fewer columns than a step has, each array copied to a full one.
class PaddedQParams {
 public:
  PaddedQParams(const ElementwiseQParams& q, std::size_t count) {
    each_.factors = copy(q.factors, count, factors_);
    each_.zero_points = copy(q.zero_points, count, zero_points_);
    each_.nan_codes = copy(q.nan_codes, count, nan_codes_);
    each_.scales = copy(q.scales, count, scales_);
  }

  [[nodiscard]] const ElementwiseQParams& each() const { return each_; }

 private:
  template <typename T>
  static const T* copy(const T* from, std::size_t count, T (&to)[kStep]) {
    if (from == nullptr) return nullptr;
    std::fill_n(to, kStep, T{1});
    std::copy_n(from, count, to);
    return to;
  }

  ElementwiseQParams each_;
  float factors_[kStep];
  float zero_points_[kStep];
  std::int32_t nan_codes_[kStep];
  float scales_[kStep];
};

// Runs fewer values than a step has, as one padded step.
void run_few(const Operation& operation, Loop loop, const void* from, std::size_t n,
             const AnyQParams& qparams, const CodeRule& rule, void* to) {
  alignas(16) std::byte values[4 * kStep] = {};
  alignas(16) std::byte results[4 * kStep];
  std::memcpy(values, from, n * operation.from_size);
  loop(values, kStep, qparams, rule, results);
  std::memcpy(to, results, n * operation.to_size);
}

// Runs one row of at least a step. The last step ends with the last value, so that it computes some
// values twice; it reads a copy made beforehand, because `to` may be `from`.
void run_row(const Operation& operation, Loop loop, const void* from, std::size_t n,
             const AnyQParams& qparams, const CodeRule& rule, void* to) {
  assert(n >= kStep);
  const std::size_t rest = n % kStep;
  if (rest == 0) return loop(from, n, qparams, rule, to);
  const std::size_t last = n - kStep;
  alignas(16) std::byte values[4 * kStep];
  for (std::size_t i = 0; i < operation.from_size; ++i) {
    wasm_v128_store(values + kStep * i,
                    wasm_v128_load(skip(from, last * operation.from_size + kStep * i)));
  }
  loop(from, n - rest, qparams, rule, to);
  AnyQParams own = qparams;
  if (qparams.length == 0) own.each = qparams.each.skip(last);
  loop(values, kStep, own, rule, skip(to, last * operation.to_size));
}

// Runs the columns from `first` on of rows row ... rows - 1, one row after another.
void run_columns(const Operation& operation, const void* from, std::size_t first, std::size_t n,
                 const AnyQParams& qparams, std::size_t row, std::size_t rows, const CodeRule& rule,
                 void* to) {
  const std::size_t count = n - first;
  if (count == 0 || row == rows) return;
  const auto run_rows = [&](auto run_one, const AnyQParams& own) {
    for (; row < rows; ++row) {
      const std::size_t at = row * qparams.pitch + first;
      run_one(operation, operation.columns, skip(from, at * operation.from_size), count, own, rule,
              skip(to, at * operation.to_size));
    }
  };
  const ElementwiseQParams each = qparams.each.skip(first);
  if (count < kStep) {
    run_rows(run_few, PaddedQParams(each, count).each());
  } else {
    run_rows(run_row, each);
  }
}

}  // namespace

void run(const Operation& operation, const void* from, std::size_t n, const AnyQParams& qparams,
         const CodeRule& rule, void* to) {
  if (n == 0) return;
  if (qparams.length != 0) {
    assert(n <= qparams.length || (qparams.length % kStep == 0 && n % kStep == 0));
    // Fast path for the most common calls, so that small ones stay cheap.
    if (n % kStep == 0) return operation.groups(from, n, qparams, rule, to);
    if (n > kStep) return run_row(operation, operation.groups, from, n, qparams, rule, to);
    return run_few(operation, operation.groups, from, n, AnyQParams::groups(qparams.each, kStep),
                   rule, to);
  }
  std::size_t together = 0;  // rows that are taken kRowsTogether at a time
  if (operation.rows != nullptr && qparams.rows >= kRowsTogether && n >= 4) {
    AnyQParams bands = qparams;
    bands.rows = together = qparams.rows / kRowsTogether * kRowsTogether;
    const std::size_t whole = n / 4 * 4;
    operation.rows(from, whole, bands, rule, to);
    run_columns(operation, from, whole, n, qparams, 0, together, rule, to);
  }
  run_columns(operation, from, 0, n, qparams, together, qparams.rows, rule, to);
}

}  // namespace zeropoint::kernels
