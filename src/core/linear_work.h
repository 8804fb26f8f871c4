// How linear layers cut their work: rows into blocks whose digits stay in the cache, scratch memory
// into what a block needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/panels.h"

namespace zeropoint {

/// How rows of activations lie in scratch memory.
struct RowBlock {
  std::size_t row_bytes;  ///< of digits, or of bytes
  std::size_t chunks;     ///< that have a sum
  std::size_t rows;       ///< of a block

  /// m rows of digits for these weights.
  static RowBlock digits_of(const kernels::Panels& panels, std::size_t m) {
    return {kernels::digit_row_bytes(panels.steps), panels.chunks, m};
  }
  /// m rows of quint8.
  static RowBlock bytes_of(const kernels::Panels& panels, std::size_t m) {
    return {kernels::byte_row_bytes(panels.steps), 0, m};
  }

  [[nodiscard]] std::size_t bytes() const {
    return rows * (row_bytes + sizeof(kernels::RowScale) + chunks * sizeof(double));
  }
  [[nodiscard]] std::uint8_t* lines(std::span<std::byte> scratch) const {
    return reinterpret_cast<std::uint8_t*>(scratch.data());
  }
  [[nodiscard]] kernels::RowScale* scales(std::span<std::byte> scratch) const {
    return reinterpret_cast<kernels::RowScale*>(scratch.data() + rows * row_bytes);
  }
  [[nodiscard]] double* sums(std::span<std::byte> scratch) const {
    return reinterpret_cast<double*>(scratch.data() +
                                     rows * (row_bytes + sizeof(kernels::RowScale)));
  }

 private:
  RowBlock(std::size_t bytes_of_row, std::size_t chunk_count, std::size_t m);
};

}  // namespace zeropoint
