// Heap allocator: a list of free blocks in address order, first fit, with neighbouring free blocks
// merged. The core keeps few blocks (packed weights and one for a call's buffers), so the list is
// short. A general allocator has many times the code size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace zeropoint::bindings {

/// Alignment of blocks, and size of a block's header.
inline constexpr std::size_t kHeapStep = 16;

/// Allocates blocks from memory returned by more(bytes): an address, or null. Later calls return
/// higher addresses; bytes and the first address are multiples of the step.
template <typename More>
class Heap {
 public:
  explicit Heap(More more) : more_(more) {}

  /// Allocates a block of `bytes` bytes; null if memory is exhausted.
  void* allocate(std::size_t bytes) {
    if (bytes > SIZE_MAX / 2 - 2 * kHeapStep) return nullptr;
    const std::size_t size = (bytes + 2 * kHeapStep - 1) / kHeapStep * kHeapStep;
    Block* last = nullptr;
    for (Block** link = &free_; *link != nullptr; link = &(*link)->next) {
      last = *link;
      if (last->size >= size) return take(link, size);
    }
    // A free block at the end of the heap needs only the missing bytes.
    const std::size_t held = last != nullptr && last->end() == end_ ? last->size : 0;
    auto* const got = static_cast<Block*>(more_(size - held));
    if (got == nullptr) return nullptr;
    got->size = size - held;
    end_ = got->end();
    insert(got);
    return allocate(bytes);
  }

  /// Frees a block from allocate(); null is ignored.
  void release(void* bytes) {
    if (bytes == nullptr) return;
    insert(reinterpret_cast<Block*>(static_cast<std::byte*>(bytes) - kHeapStep));
  }

 private:
  struct alignas(kHeapStep) Block {
    std::size_t size;  // including this header
    Block* next;       // next free block, if this one is free

    [[nodiscard]] std::byte* end() { return reinterpret_cast<std::byte*>(this) + size; }
  };
  static_assert(sizeof(Block) == kHeapStep);

  // Takes a free block, or only its first bytes if the rest can form a block.
  static void* take(Block** link, std::size_t size) {
    Block* const block = *link;
    if (block->size == size) {
      *link = block->next;
    } else {
      auto* const rest = reinterpret_cast<Block*>(reinterpret_cast<std::byte*>(block) + size);
      *rest = {block->size - size, block->next};
      *link = rest;
      block->size = size;
    }
    return reinterpret_cast<std::byte*>(block) + kHeapStep;
  }

  void insert(Block* block) {
    Block* before = nullptr;
    Block* after = free_;
    while (after != nullptr && std::less<>()(after, block)) {
      before = after;
      after = after->next;
    }
    block->next = after;
    if (after != nullptr && block->end() == reinterpret_cast<std::byte*>(after)) {
      block->size += after->size;
      block->next = after->next;
    }
    if (before == nullptr) {
      free_ = block;
    } else if (before->end() == reinterpret_cast<std::byte*>(block)) {
      before->size += block->size;
      before->next = block->next;
    } else {
      before->next = block;
    }
  }

  More more_;
  Block* free_ = nullptr;
  std::byte* end_ = nullptr;
};

}  // namespace zeropoint::bindings
