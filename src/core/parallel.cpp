#include "core/parallel.h"

#if !defined(__wasm__) || defined(__wasm_atomics__)

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstring>
#include <span>

#if defined(__EMSCRIPTEN__)
#include <emscripten/emscripten.h>
#else
#include <chrono>
#include <memory>
#include <thread>
#include <vector>
#endif

namespace zeropoint {
namespace {

// ---- platform differences

#if defined(__EMSCRIPTEN__)

double now() { return emscripten_get_now(); }

// The word behind an atomic, for the wait and notify instructions. std::atomic::wait would need a
// runtime.
int* word_of(std::atomic<std::uint32_t>& word) { return reinterpret_cast<int*>(&word); }

void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  __builtin_wasm_memory_atomic_wait32(word_of(word), static_cast<int>(value), -1);
}

void wake_all(std::atomic<std::uint32_t>& word) {
  __builtin_wasm_memory_atomic_notify(word_of(word), static_cast<unsigned>(kMaxThreads));
}

// Yields the processor to another thread where the platform allows it.
void nap(std::atomic<std::uint32_t>& word, std::uint32_t value, bool may_sleep) {
  constexpr std::int64_t kNanoseconds = 50'000;
  if (may_sleep) {
    __builtin_wasm_memory_atomic_wait32(word_of(word), static_cast<int>(value), kNanoseconds);
  }
}

#else

double now() {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  return Milliseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value) { word.wait(value); }

void wake_all(std::atomic<std::uint32_t>& word) { word.notify_all(); }

void nap(std::atomic<std::uint32_t>& /*word*/, std::uint32_t /*value*/, bool /*may_sleep*/) {
  std::this_thread::yield();
}

#endif

// ---- the pool

// Maximum number of chunks of a job. A chunk is a run of neighbouring parts.
constexpr std::size_t kMaxChunks = 1024;
// Checks by a waiting thread before it sleeps or naps: about 150 microseconds. Waking a sleeping
// thread takes 50, and a layer computes about 100 on the calling thread between two jobs.
constexpr int kLooks = 120'000;

// Cache line size: data written by different threads is kept on different lines.
constexpr std::size_t kLine = 64;

struct alignas(kLine) Worker {
  std::atomic<std::uint32_t> state{detail::kIdle};
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): separate cache lines on purpose
struct Pool {
  // High half: the job's number; low half: the count of its unclaimed chunks. A successful claim
  // belongs to the job whose number it read, because a job cannot end before its chunks are done.
  alignas(kLine) std::atomic<std::uint64_t> ticket{0};
  // The job's number again, as the word that workers sleep on.
  alignas(kLine) std::atomic<std::uint32_t> job_number{0};
  alignas(kLine) std::atomic<std::uint32_t> finished{0};
  std::array<std::atomic<bool>, kMaxChunks> is_done{};
  std::array<Worker, kMaxThreads - 1> workers;

  // The job: written before the ticket, read after a claim.
  alignas(kLine) std::array<std::byte, detail::kMaxCapture> work{};
  detail::RunPart run = nullptr;
  std::size_t parts = 0;
  std::size_t chunks = 0;

  std::atomic<std::size_t> worker_count{0};
  std::atomic<bool> is_busy{false};
  std::atomic<bool> is_ending{false};
  bool may_sleep = false;
  double patience = detail::kPatience;
  void (*lost)() = nullptr;
};

Pool pool;

void run_chunk(std::size_t chunk) {
  const auto edge = [](std::size_t at) {
    return static_cast<std::size_t>(std::uint64_t{at} * pool.parts / pool.chunks);
  };
  const std::size_t end = edge(chunk + 1);
  for (std::size_t part = edge(chunk); part < end; ++part) pool.run(pool.work.data(), part);
}

// Claims chunks of the current job, one by one, and computes them until none is left.
void work_off() {
  std::uint64_t ticket = pool.ticket.load();
  while (static_cast<std::uint32_t>(ticket) != 0) {
    if (!pool.ticket.compare_exchange_weak(ticket, ticket - 1)) continue;
    const std::size_t chunk = pool.chunks - static_cast<std::uint32_t>(ticket);
    run_chunk(chunk);
    pool.is_done[chunk].store(true, std::memory_order_release);
    pool.finished.fetch_add(1);
    ticket = pool.ticket.load();
  }
}

bool is_finished() { return pool.finished.load() == pool.chunks; }

// Whether a worker may still finish a chunk. A worker is kWorking from before its first claim until
// a claim fails. So if all chunks are claimed and no worker is kWorking, no worker holds a chunk.
bool is_anybody_working() {
  const std::size_t count = pool.worker_count.load();
  const auto workers = std::span(pool.workers).first(count);
  return std::any_of(workers.begin(), workers.end(),
                     [](const Worker& worker) { return worker.state.load() == detail::kWorking; });
}

// Waits for the workers' chunks. @return true if all are done; false at the deadline, or if no
// worker is working on those left
bool wait_until(double deadline) {
  for (;;) {
    for (int look = 0; look < kLooks; ++look) {
      if (is_finished()) return true;
    }
    if (!is_anybody_working()) return is_finished();
    if (now() > deadline) return false;
    nap(pool.finished, pool.finished.load(), pool.may_sleep);
  }
}

// Stops giving jobs to workers. The current job's description stays unchanged, because a worker
// that wakes up later reads it.
void give_up_workers() {
  pool.worker_count.store(0);
  if (pool.lost != nullptr) pool.lost();
}

}  // namespace

std::size_t thread_count() { return pool.worker_count.load(std::memory_order_relaxed) + 1; }

std::size_t part_count(std::size_t units, std::uint64_t products) {
  // Least number of multiplications per thread: below it, waking a thread does not pay off.
  constexpr std::uint64_t kThreadProducts = std::uint64_t{1} << 20;
  // Parts per thread, so that late or slow threads leave some to others; but each part has at least
  // the multiplications of a few microseconds.
  constexpr std::size_t kThreadParts = 8;
  constexpr std::uint64_t kPartProducts = std::uint64_t{1} << 17;
  const std::size_t threads = thread_count();
  if (threads == 1 || products < 2 * kThreadProducts) return 1;
  const std::uint64_t parts =
      std::min<std::uint64_t>(products / kPartProducts, kThreadParts * threads);
  return std::clamp(static_cast<std::size_t>(parts), std::size_t{1},
                    std::max(units, std::size_t{1}));
}

namespace detail {

void run_parts(std::size_t parts, const void* work, std::size_t bytes, RunPart run) {
  assert(bytes <= kMaxCapture);
  if (pool.is_busy.exchange(true)) {
    for (std::size_t part = 0; part < parts; ++part) run(work, part);
    return;
  }
  const double start = now();
  pool.parts = parts;
  pool.chunks = std::min(parts, kMaxChunks);
  pool.run = run;
  std::memcpy(pool.work.data(), work, bytes);
  pool.finished.store(0);
  for (std::size_t chunk = 0; chunk < pool.chunks; ++chunk) {
    pool.is_done[chunk].store(false, std::memory_order_relaxed);
  }
  const std::uint32_t number = pool.job_number.load() + 1;
  pool.ticket.store((std::uint64_t{number} << 32U) | pool.chunks);
  pool.job_number.store(number);
  wake_all(pool.job_number);

  work_off();
  const double mine = now() - start;
  if (!wait_until(start + mine + std::max(pool.patience, 4 * mine))) {
    const bool is_silent = is_anybody_working();
    for (std::size_t chunk = 0; chunk < pool.chunks; ++chunk) {
      if (!pool.is_done[chunk].load(std::memory_order_acquire)) run_chunk(chunk);
    }
    if (is_silent) {
      give_up_workers();
      return;  // stays busy, so that the job's description is never overwritten
    }
  }
  pool.is_busy.store(false);
}

std::uint32_t* worker_state(std::size_t index) {
  assert(index < pool.workers.size());
  return reinterpret_cast<std::uint32_t*>(&pool.workers[index].state);
}

void set_worker_count(std::size_t count) {
  assert(count < kMaxThreads);
  pool.worker_count.store(count);
}

void serve(std::size_t index) {
  assert(index < pool.workers.size());
  std::atomic<std::uint32_t>& state = pool.workers[index].state;
  state.store(kIdle);
  std::uint32_t seen = 0;
  while (!pool.is_ending.load()) {
    std::uint32_t number = pool.job_number.load();
    for (int look = 0; number == seen && look < kLooks; ++look) number = pool.job_number.load();
    if (number == seen) {
      sleep_while(pool.job_number, seen);
      continue;
    }
    seen = number;
    state.store(kWorking);
    work_off();
    state.store(kIdle);
  }
}

std::uint32_t job_count() { return pool.job_number.load(); }

void end_workers() {
  pool.worker_count.store(0);
  pool.is_ending.store(true);
  pool.job_number.fetch_add(1);
  wake_all(pool.job_number);
}

void set_may_sleep(bool may_sleep) { pool.may_sleep = may_sleep; }

void on_worker_lost(void (*callback)()) { pool.lost = callback; }

void set_patience(double milliseconds) { pool.patience = milliseconds; }

}  // namespace detail

#if !defined(__EMSCRIPTEN__)

namespace {

// Native worker threads; ended and joined at program exit.
class NativeThreads {
 public:
  NativeThreads() = default;
  NativeThreads(const NativeThreads&) = delete;
  NativeThreads& operator=(const NativeThreads&) = delete;
  ~NativeThreads() { end(); }

  void start(std::size_t count) {
    for (std::size_t index = 0; index < count; ++index) threads_.emplace_back(detail::serve, index);
    detail::set_worker_count(count);
  }

  void end() {
    detail::end_workers();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    pool.is_ending.store(false);
    pool.is_busy.store(false);
  }

 private:
  std::vector<std::thread> threads_;
};

}  // namespace

void set_thread_count(std::size_t count) {
  assert(count >= 1 && count <= kMaxThreads);
  static NativeThreads threads;
  threads.end();
  threads.start(count - 1);
}

#endif

}  // namespace zeropoint

#endif
