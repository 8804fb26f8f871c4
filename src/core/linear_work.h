// How linear layers cut their work: rows into blocks whose digits stay in the cache, outputs into
// parts for threads, scratch memory into what a block needs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/parallel.h"
#include "kernels/panels.h"

namespace zeropoint {

/// Digits of so many bytes stay in a second-level cache while all weights pass.
inline constexpr std::size_t kBlockBytes = std::size_t{384} * 1024;

/// How rows of activations lie in scratch memory.
struct RowBlock {
  std::size_t row_bytes;  ///< of digits
  std::size_t chunks;
  std::size_t rows;  ///< of a block

  RowBlock(const kernels::Panels& panels, std::size_t m)
      : row_bytes(kernels::digit_row_bytes(panels.steps)), chunks(panels.chunks) {
    const std::size_t fit = kBlockBytes / (row_bytes + 16);
    rows = std::min(m, std::clamp(fit, std::size_t{16}, kernels::kMaxRows));
  }

  [[nodiscard]] std::size_t bytes() const {
    return rows * (row_bytes + sizeof(kernels::RowScale) + chunks * sizeof(double));
  }
  [[nodiscard]] std::uint8_t* digits(std::span<std::byte> scratch) const {
    return reinterpret_cast<std::uint8_t*>(scratch.data());
  }
  [[nodiscard]] kernels::RowScale* scales(std::span<std::byte> scratch) const {
    return reinterpret_cast<kernels::RowScale*>(scratch.data() + rows * row_bytes);
  }
  [[nodiscard]] double* sums(std::span<std::byte> scratch) const {
    return reinterpret_cast<double*>(scratch.data() +
                                     rows * (row_bytes + sizeof(kernels::RowScale)));
  }
};

/// A thread is woken for no less than so many multiplications.
inline constexpr std::uint64_t kThreadProducts = std::uint64_t{1} << 20;

/// Threads that begin late, or are slower, leave parts to others: so many for each thread, but none
/// of fewer multiplications than take a few microseconds.
inline constexpr std::size_t kThreadParts = 8;
inline constexpr std::uint64_t kPartProducts = std::uint64_t{1} << 17;

/// Into how many parts to cut `units` of work, `products` multiplications in all.
inline std::size_t part_count(std::size_t units, std::uint64_t products) {
  const std::size_t threads = thread_count();
  if (threads == 1 || products < 2 * kThreadProducts) return 1;
  const std::uint64_t parts =
      std::min<std::uint64_t>(products / kPartProducts, kThreadParts * threads);
  return std::clamp(static_cast<std::size_t>(parts), std::size_t{1},
                    std::max(units, std::size_t{1}));
}

/// The first of `units` that part `part` of `parts` takes; the next part's first one is its end.
inline std::size_t part_start(std::size_t units, std::size_t part, std::size_t parts) {
  return units / parts * part + std::min(part, units % parts);
}

}  // namespace zeropoint
