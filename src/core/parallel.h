// Parallel loops: work in parts, on all threads.
//
//   parallel_for(rows, [=](std::size_t row) { dot(x + row * k, w, k, out + row); });
//
// The assignment of parts to threads is not deterministic, so a part's result must not depend on
// it: each part writes its own memory, always with the same values. Results then have the same bits
// for any number of threads.
//
// A WebAssembly build without threads has a plain loop. A build with threads uses workers started
// by JavaScript (bindings/threads.cpp); natively, set_thread_count() starts threads.
//
// Loss of a worker (the engine may end a worker at any time):
//   - Between parts, or before the worker's first part: no effect.
//   - A worker that stops with an error is marked kDead; the calling thread recomputes its part.
//   - A worker that does not finish a part in time (kPatience, or four times the time that the
//     calling thread worked on the job, if longer) is given up. The calling thread recomputes the
//     part, and computes everything from then on by itself. The lost worker may still wake up and
//     finish its writes. Hence two rules for work:
//       - It captures by value ([=]), because the caller's variables may be gone by then.
//       - It reads and writes only memory owned by the caller's caller, never a buffer that the
//         enclosing function frees on return. JavaScript is notified of the loss, ends all workers
//         and does not use that memory again.
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

/// Maximum number of threads that work together, including the calling thread.
inline constexpr std::size_t kMaxThreads = 64;

/// Number of threads that parallel_for uses, including the calling thread.
std::size_t thread_count();

/// Number of parts for `units` of work that take as long as `products` multiplications.
std::size_t part_count(std::size_t units, std::uint64_t products);

namespace detail {

/// Maximum size of a work function's captures, in bytes.
inline constexpr std::size_t kMaxCapture = 512;

using RunPart = void (*)(const void* work, std::size_t part);

void run_parts(std::size_t parts, const void* work, std::size_t bytes, RunPart run);

}  // namespace detail

/// Calls work(part) for each part in [0, parts), in any order, on all threads, and returns when all
/// are done. Runs on the calling thread alone if there is one thread or one part, if the caller is
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

/// Values of a worker's state word. JavaScript writes kDead for a worker that stopped with an
/// error.
enum WorkerState : std::uint32_t { kIdle = 0, kWorking = 1, kDead = 2 };

/// The state word of a worker, 0 <= index < kMaxThreads - 1.
std::uint32_t* worker_state(std::size_t index);

/// Sets the number of workers from now on. They need not have reached serve() yet.
void set_worker_count(std::size_t count);

/// Main loop of a worker: computes parts until end_workers(). Runs on the worker's thread.
void serve(std::size_t index);

/// Number of jobs that parallel_for has given to the workers, modulo 2^32.
std::uint32_t job_count();

/// Makes all workers return from serve().
void end_workers();

/// Whether the calling thread may sleep while it waits; a page's main thread may not.
void set_may_sleep(bool may_sleep);

/// Sets a callback that runs on the calling thread when a silent worker is given up.
void on_worker_lost(void (*callback)());

/// Minimum time, in milliseconds, before a silent worker is given up.
inline constexpr double kPatience = 2000;
void set_patience(double milliseconds);

}  // namespace detail

#if !defined(__EMSCRIPTEN__)

/// Starts or ends native threads so that `count` work together; 1 to kMaxThreads. Must not be
/// called while parallel_for runs.
void set_thread_count(std::size_t count);

#endif
#endif

/// First unit of part `part` of `parts`; the first unit of the next part is its end.
inline std::size_t part_start(std::size_t units, std::size_t part, std::size_t parts) {
  return units / parts * part + std::min(part, units % parts);
}

}  // namespace zeropoint
