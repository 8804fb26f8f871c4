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

  [[nodiscard]] std::size_t bytes() const { return rows * bytes_of_row(); }
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
  /// Room for two lists of rows.
  [[nodiscard]] std::uint16_t* places(std::span<std::byte> scratch) const {
    return reinterpret_cast<std::uint16_t*>(scratch.data() +
                                            rows * (bytes_of_row() - kPlacesBytes));
  }

 private:
  static constexpr std::size_t kPlacesBytes = 2 * sizeof(std::uint16_t);

  [[nodiscard]] std::size_t bytes_of_row() const {
    return row_bytes + sizeof(kernels::RowScale) + chunks * sizeof(double) + kPlacesBytes;
  }

  RowBlock(std::size_t line_bytes, std::size_t chunk_count, std::size_t m);
};

}  // namespace zeropoint
