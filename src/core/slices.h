// Runs an operation over slices that share a scale and a zero point: long slices one call each,
// short ones together, with qparams expanded to one per value.
#pragma once

#include <cstddef>

#include "kernels/kernels.h"
#include "zeropoint/granularity.h"

namespace zeropoint {

/// An operation with its rule, source and destination.
struct Pass {
  const kernels::Operation& operation;
  kernels::CodeRule rule;
  const void* from;
  void* to;

  /// Runs the operation over n values (or rows of n) from `position` on.
  void run(std::size_t position, std::size_t n, const kernels::AnyQParams& qparams) const {
    run(position, from_at(position), n, qparams);
  }

  /// The same with values from another address.
  void run(std::size_t position, const void* values, std::size_t n,
           const kernels::AnyQParams& qparams) const {
    kernels::run(operation, values, n, qparams, rule,
                 static_cast<std::byte*>(to) + position * operation.to_size);
  }

  [[nodiscard]] const void* from_at(std::size_t position) const {
    return static_cast<const std::byte*>(from) + position * operation.from_size;
  }
};

/// Maximum number of values, and so of slices, per call for short slices.
inline constexpr std::size_t kSliceTile = kernels::kMaxColumns;

/// Source of the slices' qparams.
class Slices {
 public:
  /// Qparams of slices first .. first + count, count <= kSliceTile; valid until the next load.
  [[nodiscard]] virtual kernels::ElementwiseQParams load(std::size_t first, std::size_t count) = 0;

 protected:
  ~Slices() = default;
};

/// Runs an operation over values[outer][slices][inner]; the first value is at `position`.
void run_slices(const Pass& pass, std::size_t position, const Granularity& g, Slices& slices);

}  // namespace zeropoint
