// Workers on shared memory.
#if defined(__wasm_atomics__)
#include <emscripten/emscripten.h>

#include "bindings/marshal.h"
#include "bindings/register.h"
#include "core/parallel.h"

// Implemented in JavaScript: called when a silent worker is given up.
extern "C" void zeropoint_worker_lost();

// Entry point of a worker's thread, on a separate stack. JavaScript calls it by name.
extern "C" EMSCRIPTEN_KEEPALIVE void zeropoint_serve(std::size_t worker) {
  zeropoint::detail::serve(worker);
}

namespace zeropoint::bindings {
namespace {

void start_workers(std::size_t count, bool may_sleep) {
  detail::on_worker_lost(zeropoint_worker_lost);
  detail::set_may_sleep(may_sleep);
  detail::set_worker_count(count);
}

Offset worker_state(std::size_t worker) {
  return reinterpret_cast<Offset>(detail::worker_state(worker));
}

void end_workers() { detail::end_workers(); }

// Work with a result that JavaScript can predict: each part seeds a linear congruential generator
// with its number and runs it `steps` times.
void prove_workers(Offset out, std::size_t parts, std::size_t steps) {
  auto* states = span_at<std::uint32_t>(out, parts).data();
  parallel_for(parts, [=](std::size_t part) {
    auto state = static_cast<std::uint32_t>(part);
    for (std::size_t step = 0; step < steps; ++step) state = state * 1664525U + 1013904223U;
    states[part] = state;
  });
}

}  // namespace

EMSCRIPTEN_BINDINGS(threads) {
  function("startWorkers" PARAMETERS(count, maySleep), &start_workers);
  function("workerState" PARAMETERS(worker), &worker_state);
  function("endWorkers" PARAMETERS(), &end_workers);
  function("proveWorkers" PARAMETERS(out, parts, steps), &prove_workers);
}

}  // namespace zeropoint::bindings
#endif
