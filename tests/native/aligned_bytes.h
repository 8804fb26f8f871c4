// Memory for packed weights and scratch, for tests and fuzz targets.
#pragma once

#include <cstddef>
#include <new>
#include <span>
#include <utility>

namespace zeropoint::testing {

/// Bytes aligned as packed weights and scratch memory must be, at the end of an allocation, so that
/// a sanitizer detects access beyond them.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::size_t size)
      : size_(size), bytes_(static_cast<std::byte*>(::operator new (size, std::align_val_t{16}))) {}
  AlignedBytes(AlignedBytes&& other) noexcept
      : size_(other.size_), bytes_(std::exchange(other.bytes_, nullptr)) {}
  AlignedBytes& operator=(AlignedBytes&& other) noexcept {
    std::swap(size_, other.size_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  ~AlignedBytes() { ::operator delete (bytes_, std::align_val_t{16}); }

  [[nodiscard]] std::span<std::byte> span() const { return {bytes_, size_}; }
  [[nodiscard]] const std::byte* data() const { return bytes_; }

 private:
  std::size_t size_;
  std::byte* bytes_;
};

}  // namespace zeropoint::testing
