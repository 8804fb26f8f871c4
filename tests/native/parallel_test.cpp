#include "core/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace zeropoint {
namespace {

constexpr std::size_t kThreadCounts[] = {1, 2, 3, 8, kMaxThreads};
constexpr std::size_t kPartCounts[] = {0, 1, 2, 3, 7, 64, 1000, 1023, 1024, 1025, 2047, 5000};

// How often each part was computed.
class Counts {
 public:
  explicit Counts(std::size_t parts) : counts_(parts) {}

  auto counting() {
    return [counts = counts_.data()](std::size_t part) { counts[part].fetch_add(1); };
  }
  [[nodiscard]] bool all_are(int expected) const {
    return std::all_of(counts_.begin(), counts_.end(),
                       [=](const std::atomic<int>& count) { return count.load() == expected; });
  }

 private:
  std::vector<std::atomic<int>> counts_;
};

class ParallelFor : public testing::Test {
 protected:
  void TearDown() override {
    set_thread_count(1);
    detail::set_patience(detail::kPatience);
    detail::on_worker_lost(nullptr);
  }
};

TEST_F(ParallelFor, ComputesEachPartOnce) {
  for (const std::size_t threads : kThreadCounts) {
    set_thread_count(threads);
    ASSERT_EQ(thread_count(), threads);
    for (const std::size_t parts : kPartCounts) {
      Counts counts(parts);
      parallel_for(parts, counts.counting());
      EXPECT_TRUE(counts.all_are(1)) << threads << " threads, " << parts << " parts";
    }
  }
}

TEST_F(ParallelFor, ComputesJobAfterJobWithoutMixingThem) {
  set_thread_count(4);
  std::vector<std::uint32_t> out(37);
  for (std::uint32_t job = 0; job < 5000; ++job) {
    parallel_for(out.size(), [job, to = out.data()](std::size_t part) {
      to[part] = job + static_cast<std::uint32_t>(part);
    });
    for (std::size_t part = 0; part < out.size(); ++part) ASSERT_EQ(out[part], job + part);
  }
}

// Jobs of two parts, then of three with two long ones: a stale count of the first job must not end
// the second one early.
TEST_F(ParallelFor, WaitsForAllPartsAfterASmallerJob) {
  set_thread_count(3);
  parallel_for(2, [](std::size_t) {});
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  const std::thread::id caller = std::this_thread::get_id();
  parallel_for(3, [caller, begun = &begun, ended = &ended](std::size_t) {
    begun->fetch_add(1);
    while (begun->load() < 3) std::this_thread::yield();
    if (std::this_thread::get_id() != caller) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    ended->fetch_add(1);
  });
  EXPECT_EQ(ended.load(), 3);
}

TEST_F(ParallelFor, UsesOtherThreads) {
  set_thread_count(2);
  // Two parts that each wait until the other has begun: a single thread would never end.
  std::atomic<int> begun{0};
  parallel_for(2, [begun = &begun](std::size_t) {
    begun->fetch_add(1);
    while (begun->load() < 2) std::this_thread::yield();
  });
  EXPECT_EQ(begun.load(), 2);
}

TEST_F(ParallelFor, WithinAPartRunsOnItsThread) {
  set_thread_count(4);
  Counts counts(40);
  parallel_for(8, [count = counts.counting()](std::size_t outer) {
    const std::thread::id self = std::this_thread::get_id();
    parallel_for(5, [=](std::size_t inner) {
      count(outer * 5 + inner);
      EXPECT_EQ(std::this_thread::get_id(), self);
    });
  });
  EXPECT_TRUE(counts.all_are(1));
}

TEST_F(ParallelFor, ServesSeveralCallersAtOnce) {
  set_thread_count(3);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([] {
      for (int job = 0; job < 200; ++job) {
        Counts counts(50);
        parallel_for(50, counts.counting());
        EXPECT_TRUE(counts.all_are(1));
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST_F(ParallelFor, RecomputesThePartsOfAStoppedWorker) {
  set_thread_count(2);
  std::atomic<bool> has_stopped{false};
  std::atomic<bool> may_end{false};
  std::vector<std::atomic<int>> out(2);
  const std::thread::id caller = std::this_thread::get_id();
  // The worker takes a part, reports that it is dead, and does not compute the part.
  parallel_for(2, [=, out = out.data(), stopped = &has_stopped, end = &may_end](std::size_t part) {
    if (std::this_thread::get_id() != caller) {
      std::atomic_ref<std::uint32_t>(*detail::worker_state(0)).store(detail::kDead);
      stopped->store(true);
      while (!end->load()) std::this_thread::yield();
      return;
    }
    while (!stopped->load()) std::this_thread::yield();
    out[part].store(static_cast<int>(part) + 1);
  });
  EXPECT_EQ(out[0].load(), 1);
  EXPECT_EQ(out[1].load(), 2);

  Counts counts(100);
  parallel_for(100, counts.counting());
  EXPECT_TRUE(counts.all_are(1));
  may_end.store(true);
  set_thread_count(1);
}

int losses = 0;

TEST_F(ParallelFor, RecomputesThePartsOfASilentWorkerAndContinuesAlone) {
  set_thread_count(2);
  detail::set_patience(20);
  losses = 0;
  detail::on_worker_lost([] { ++losses; });
  std::atomic<bool> is_silent{false};
  std::atomic<bool> may_wake{false};
  std::vector<std::atomic<int>> out(2);
  const std::thread::id caller = std::this_thread::get_id();
  parallel_for(2, [=, out = out.data(), silent = &is_silent, wake = &may_wake](std::size_t part) {
    if (std::this_thread::get_id() != caller) {
      silent->store(true);
      while (!wake->load()) std::this_thread::yield();
    }
    while (!silent->load()) std::this_thread::yield();
    out[part].store(static_cast<int>(part) + 1);
  });
  EXPECT_EQ(out[0].load(), 1);
  EXPECT_EQ(out[1].load(), 2);
  EXPECT_EQ(losses, 1);
  EXPECT_EQ(thread_count(), 1U);

  Counts counts(100);
  parallel_for(100, counts.counting());
  EXPECT_TRUE(counts.all_are(1));
  EXPECT_EQ(losses, 1);

  // The worker wakes up during the caller's next work and finishes its writes.
  may_wake.store(true);
  Counts others(100);
  parallel_for(100, others.counting());
  EXPECT_TRUE(others.all_are(1));
  set_thread_count(2);
  EXPECT_EQ(out[0].load(), 1);
  EXPECT_EQ(out[1].load(), 2);
  EXPECT_EQ(thread_count(), 2U);
}

TEST_F(ParallelFor, WaitsForAWorkerThatIsSlowButNotSilent) {
  set_thread_count(2);
  losses = 0;
  detail::on_worker_lost([] { ++losses; });
  std::atomic<bool> has_begun{false};
  std::atomic<int> finished{0};
  const std::thread::id caller = std::this_thread::get_id();
  parallel_for(2, [=, begun = &has_begun, finished = &finished](std::size_t) {
    if (std::this_thread::get_id() != caller) {
      begun->store(true);
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
    while (!begun->load()) std::this_thread::yield();
    finished->fetch_add(1);
  });
  EXPECT_EQ(finished.load(), 2);
  EXPECT_EQ(losses, 0);
  EXPECT_EQ(thread_count(), 2U);
}

}  // namespace
}  // namespace zeropoint
