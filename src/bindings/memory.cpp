// Heap memory for JavaScript, and half floats, which are converted on their way in.
#include <unistd.h>

#include "bindings/heap.h"
#include "bindings/marshal.h"
#include "bindings/register.h"
#include "zeropoint/half.h"

namespace zeropoint::bindings {
namespace {

// Heap memory behind the program's own data; JavaScript can grow it.
Heap heap([](std::size_t bytes) -> void* {
  void* const more = sbrk(static_cast<std::intptr_t>(bytes));
  return reinterpret_cast<std::intptr_t>(more) == -1 ? nullptr : more;
});

Offset allocate(std::size_t bytes) { return reinterpret_cast<Offset>(heap.allocate(bytes)); }

void release(Offset offset) { heap.release(reinterpret_cast<void*>(offset)); }

Status to_float32(Offset halves, std::size_t n, HalfType type, Offset out) {
  return zeropoint::to_float32(span_at<const std::uint16_t>(halves, n), type,
                               span_at<float>(out, n));
}

}  // namespace

EMSCRIPTEN_BINDINGS(memory) {
  function("allocate" PARAMETERS(bytes), &allocate);
  function("release" PARAMETERS(offset), &release);
  function("toFloat32" PARAMETERS(halves, n, type, out), &to_float32);
}

}  // namespace zeropoint::bindings
