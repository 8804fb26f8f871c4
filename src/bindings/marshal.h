// JavaScript <-> C++: tensors cross as byte offsets in the heap. memory.ts owns the copies in and
// out and the views of the heap; this file turns an offset and a length into a span.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "zeropoint/dtype.h"
#include "zeropoint/tensor.h"

namespace zeropoint::bindings {

/// A byte offset in the heap, aligned for the type it points to.
using Offset = std::uintptr_t;

template <typename T>
std::span<T> span_at(Offset offset, std::size_t length) {
  return {reinterpret_cast<T*>(offset), length};
}

/// A shape: uint32[rank].
inline Shape shape_at(Offset offset, std::size_t rank) {
  return span_at<const std::uint32_t>(offset, rank);
}

/// Number of values of a shape. JavaScript has counted and allocated them, so the count cannot
/// overflow. A shape with an overflowing count gets 0 values, and the core refuses it.
inline std::size_t count_of(Shape shape) {
  std::size_t count = 0;
  return element_count(shape, count) == Status::kOk ? count : 0;
}

/// A tensor with the length given by its shape.
template <typename T>
TensorView<T> tensor_at(Offset values, Shape shape) {
  return {span_at<T>(values, count_of(shape)), shape};
}

/// Codes of a dtype as a span of their storage type.
template <typename Data = void>
AnyCodes<Data> codes_at(Offset codes, std::size_t n, DType dtype) {
  return {reinterpret_cast<Data*>(codes), n, dtype_info(dtype).storage};
}

}  // namespace zeropoint::bindings
