#include "bindings/heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <vector>

namespace zeropoint::bindings {
namespace {

// Memory of a fixed size, handed out from its start on.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_(bytes + kHeapStep) {}

  void* more(std::size_t bytes) {
    EXPECT_EQ(bytes % kHeapStep, 0U);
    if (bytes > bytes_.size() - kHeapStep - given_) return nullptr;
    given_ += bytes;
    return start() + given_ - bytes;
  }
  std::byte* start() {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    return bytes_.data() + (kHeapStep - address % kHeapStep) % kHeapStep;
  }
  [[nodiscard]] std::size_t given() const { return given_; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t given_ = 0;
};

auto heap_of(Memory& memory) {
  return Heap([&memory](std::size_t bytes) { return memory.more(bytes); });
}

TEST(Heap, GivesBlocksThatDoNotOverlap) {
  constexpr std::size_t kRoom = 1 << 16;
  Memory memory(kRoom);
  auto heap = heap_of(memory);
  std::map<std::byte*, std::size_t> live;
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) {
    if (random() % 2 == 0) {
      const std::size_t bytes = random() % (random() % 4 == 0 ? 9000 : 100);
      auto* const block = static_cast<std::byte*>(heap.allocate(bytes));
      if (block == nullptr) continue;
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % kHeapStep, 0U);
      ASSERT_GE(block, memory.start());
      ASSERT_LE(block + bytes, memory.start() + memory.given());
      const auto next = live.lower_bound(block);
      const bool is_last = next == live.end();
      const bool is_first = next == live.begin();
      ASSERT_TRUE(is_last || block + bytes <= next->first);
      ASSERT_TRUE(is_first || std::prev(next)->first + std::prev(next)->second <= block);
      std::fill_n(block, bytes, static_cast<std::byte>(bytes));
      live[block] = bytes;
    } else if (!live.empty()) {
      const auto chosen =
          std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
      const auto [block, bytes] = *chosen;
      const auto written = static_cast<std::byte>(bytes);
      ASSERT_TRUE(
          std::all_of(block, block + bytes, [=](std::byte value) { return value == written; }));
      heap.release(block);
      live.erase(chosen);
    }
  }
  for (const auto& [block, bytes] : live) heap.release(block);
  // Nothing is lost: all of it is one block again.
  EXPECT_NE(heap.allocate(kRoom - kHeapStep), nullptr);
  EXPECT_EQ(memory.given(), kRoom);
}

TEST(Heap, ReusesReleasedBlocks) {
  Memory memory(1 << 16);
  auto heap = heap_of(memory);
  void* const first = heap.allocate(1000);
  void* const second = heap.allocate(1000);
  void* const third = heap.allocate(1000);
  const std::size_t given = memory.given();
  heap.release(first);
  heap.release(second);
  EXPECT_EQ(heap.allocate(2032), first);
  EXPECT_EQ(memory.given(), given);
  heap.release(third);
  EXPECT_EQ(heap.allocate(5000), third);
  EXPECT_EQ(memory.given(), given + 5024 - 1024);
}

TEST(Heap, ReturnsNullWithoutRoom) {
  Memory memory(4096);
  auto heap = heap_of(memory);
  EXPECT_EQ(heap.allocate(4096), nullptr);
  for (const std::size_t bytes :
       {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX - 40, SIZE_MAX / 2, std::size_t{1} << 31}) {
    EXPECT_EQ(heap.allocate(bytes), nullptr) << bytes;
  }
  void* const all = heap.allocate(4096 - kHeapStep);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(heap.allocate(0), nullptr);
  heap.release(nullptr);
  heap.release(all);
  EXPECT_EQ(heap.allocate(4096 - kHeapStep), all);
}

}  // namespace
}  // namespace zeropoint::bindings
