// JavaScript <-> C++: tensors cross as byte offsets in the heap. memory.ts owns the copies in and
// out and the heap's views; here an offset and a length become a span.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "zeropoint/tensor.h"

namespace zeropoint::bindings {

/// A byte offset in the heap, aligned to the type behind it.
using Offset = std::uintptr_t;

template <typename T>
std::span<T> span_at(Offset offset, std::size_t length) {
  return {reinterpret_cast<T*>(offset), length};
}

/// A shape: uint32[rank].
inline Shape shape_at(Offset offset, std::size_t rank) {
  return span_at<const std::uint32_t>(offset, rank);
}

/// How many values a shape has. JavaScript has counted and allocated them, so the count cannot
/// overflow; a shape whose count does has none here, which the core then refuses.
inline std::size_t count_of(Shape shape) {
  std::size_t count = 0;
  return element_count(shape, count) == Status::kOk ? count : 0;
}

/// A tensor whose length its shape says.
template <typename T>
TensorView<T> tensor_at(Offset values, Shape shape) {
  return {span_at<T>(values, count_of(shape)), shape};
}

}  // namespace zeropoint::bindings
