// Slices that share a scale and a zero point, handed to kernels in runs worth a call: long slices
// one by one, short ones together, with qparams written out for every value.
#pragma once

#include <cstddef>

#include "kernels/kernels.h"
#include "zeropoint/granularity.h"

namespace zeropoint {

/// An operation, where its values come from, and where the results go.
struct Pass {
  const kernels::Operation& operation;
  kernels::CodeRule rule;
  const void* from;
  void* to;

  /// Runs it over n values (or rows of n) from `position` on.
  void run(std::size_t position, std::size_t n, const kernels::AnyQParams& qparams) const {
    run(position, from_at(position), n, qparams);
  }

  /// The same with values from elsewhere.
  void run(std::size_t position, const void* values, std::size_t n,
           const kernels::AnyQParams& qparams) const {
    kernels::run(operation, values, n, qparams, rule,
                 static_cast<std::byte*>(to) + position * operation.to_size);
  }

  [[nodiscard]] const void* from_at(std::size_t position) const {
    return static_cast<const std::byte*>(from) + position * operation.from_size;
  }
};

/// Values, and so slices at most, that are taken together.
inline constexpr std::size_t kSliceTile = kernels::kMaxColumns;

/// Where the qparams of slices come from.
class Slices {
 public:
  /// Those of slices first .. first + count, count <= kSliceTile; they stay until the next load.
  [[nodiscard]] virtual kernels::ElementwiseQParams load(std::size_t first, std::size_t count) = 0;

 protected:
  ~Slices() = default;
};

/// Runs an operation over values[outer][slices][inner], the first of which is at `position`.
void run_slices(const Pass& pass, std::size_t position, const Granularity& g, Slices& slices);

}  // namespace zeropoint
