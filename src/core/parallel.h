// Work in parts, on all threads that there are.
//
//   parallel_for(rows, [=](std::size_t row) { dot(x + row * k, w, k, out + row); });
//
// Which thread computes which part is left to chance, so a part's result must not depend on it:
// parts write apart from each other, each always the same values, and results have the same bits
// with any number of threads.
//
// A WebAssembly build without threads has the loop alone. One with threads has workers that
// JavaScript starts (bindings/embind.cpp); natively set_thread_count() starts them.
//
// What happens to a part whose worker is lost (the engine may end a worker at any time):
//   - A worker lost between parts, or before it ever ran, is not missed.
//   - A worker that stops by an error says so; the calling thread computes its part again.
//   - A worker that falls silent within a part is given up after a while (kPatience, and four times
//     as long as the calling thread worked before it had to wait). The calling thread computes the
//     part again, and from then on everything is computed by the calling thread alone. The silent
//     worker may yet wake up and write what it was about to write. Hence the rules for work:
//       - it captures by value ([=]), because the caller's variables may be gone by then;
//       - it reads and writes only memory that its caller's caller provides, never a buffer that
//         the function around it gives back when it returns. JavaScript is told of the loss, ends
//         all workers and does not use that memory again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace zeropoint {

#if defined(__wasm__) && !defined(__wasm_atomics__)

constexpr std::size_t thread_count() { return 1; }
constexpr std::size_t part_count(std::size_t, std::uint64_t) { return 1; }

template <typename F>
void parallel_for(std::size_t parts, const F& work) {
  for (std::size_t part = 0; part < parts; ++part) work(part);
}

#else

/// The most threads that can work together, the calling one included.
inline constexpr std::size_t kMaxThreads = 64;

/// How many threads parallel_for uses, the calling one included.
std::size_t thread_count();

/// Into how many parts to cut `units` of work that takes as long as so many multiplications.
std::size_t part_count(std::size_t units, std::uint64_t products);

namespace detail {

/// The most bytes that work may capture.
inline constexpr std::size_t kMaxCapture = 512;

using RunPart = void (*)(const void* work, std::size_t part);

void run_parts(std::size_t parts, const void* work, std::size_t bytes, RunPart run);

}  // namespace detail

/// Calls work(part) for each part in [0, parts), in any order, on all threads, and returns when all
/// are done. On the calling thread alone when there is one thread or one part, when the caller is
/// itself a part, and while another thread's parts are running.
template <typename F>
void parallel_for(std::size_t parts, const F& work) {
  static_assert(std::is_trivially_copyable_v<F>, "each thread works on a copy of what is captured");
  static_assert(sizeof(F) <= detail::kMaxCapture);
  if (parts > 1 && thread_count() > 1) {
    detail::run_parts(parts, &work, sizeof(F), [](const void* copy, std::size_t part) {
      (*static_cast<const F*>(copy))(part);
    });
    return;
  }
  for (std::size_t part = 0; part < parts; ++part) work(part);
}

namespace detail {

/// What a worker's state word says. JavaScript writes kDead for a worker that stopped by an error.
enum WorkerState : std::uint32_t { kIdle = 0, kWorking = 1, kDead = 2 };

/// The state word of a worker, 0 <= index < kMaxThreads - 1.
std::uint32_t* worker_state(std::size_t index);

/// Says how many workers take part from now on. They need not have reached serve() yet.
void set_worker_count(std::size_t count);

/// A worker's life: computes parts until end_workers(). Runs on the worker's own thread.
void serve(std::size_t index);

/// How many times parallel_for has called upon the workers, modulo 2^32.
std::uint32_t job_count();

/// Lets all workers return from serve().
void end_workers();

/// Whether the calling thread may sleep while it waits; a page's main thread may not.
void set_may_sleep(bool may_sleep);

/// What to call, on the calling thread, when a silent worker is given up.
void on_worker_lost(void (*callback)());

/// How long a silent worker is waited for at least, in milliseconds.
inline constexpr double kPatience = 2000;
void set_patience(double milliseconds);

}  // namespace detail

#if !defined(__EMSCRIPTEN__)

/// Starts or ends native threads, so that `count` work together; 1 to kMaxThreads. Never called
/// while parallel_for runs.
void set_thread_count(std::size_t count);

#endif
#endif

/// The first of `units` that part `part` of `parts` takes; the next part's first one is its end.
inline std::size_t part_start(std::size_t units, std::size_t part, std::size_t parts) {
  return units / parts * part + std::min(part, units % parts);
}

}  // namespace zeropoint
