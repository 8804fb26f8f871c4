// Work layout of linear layers: blocks of rows sized to keep their digits in the cache, and the
// parts of scratch memory for a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/panels.h"

namespace zeropoint {

/// Layout of a block's rows of activations in scratch memory.
struct RowBlock {
  std::size_t row_bytes;  ///< bytes of digits, or of quint8, per row
  std::size_t chunks;     ///< sums per row
  std::size_t rows;       ///< rows per block

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
  /// Space for two lists of rows.
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
