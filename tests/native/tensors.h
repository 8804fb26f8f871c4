// Tensors that own their values, and broadcasting by the book: index by index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "random.h"
#include "zeropoint/dtype.h"
#include "zeropoint/quantize.h"
#include "zeropoint/tensor.h"

namespace zeropoint::testing {

using ShapeVector = std::vector<std::uint32_t>;

template <typename T>
struct Tensor {
  std::vector<T> values;
  ShapeVector shape;

  [[nodiscard]] TensorView<const T> view() const { return {values, shape}; }
};

/// Calls visit with a value of the C++ type for the dtype's codes, and returns its result.
template <typename Visit>
auto with_code(DType dtype, Visit visit) {
  switch (dtype_info(dtype).storage) {
    case Storage::kInt8:
      return visit(std::int8_t{});
    case Storage::kUint8:
      return visit(std::uint8_t{});
    case Storage::kInt16:
      return visit(std::int16_t{});
    case Storage::kUint16:
      return visit(std::uint16_t{});
    case Storage::kInt32:
      break;
  }
  return visit(std::int32_t{});
}

/// A tensor of one axis.
template <typename T>
Tensor<T> vector_of(std::vector<T> values) {
  const auto length = static_cast<std::uint32_t>(values.size());
  return {std::move(values), {length}};
}

/// A 0-dimensional tensor.
template <typename T>
Tensor<T> scalar(T value) {
  return {{value}, {}};
}

struct QParamsTensor {
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;
  ShapeVector shape;

  [[nodiscard]] QParamsView view() const { return {scales, zero_points, shape}; }
};

/// One scale and zero point for the whole tensor.
inline QParamsTensor per_tensor_qparams(float scale, std::int32_t zero_point) {
  return {{scale}, {zero_point}, {}};
}

inline std::size_t count_of(const ShapeVector& shape) {
  std::size_t count = 1;
  for (const std::uint32_t length : shape) count *= length;
  return count;
}

/// The shape that all of them broadcast to; none if two lengths differ and neither is 1.
inline std::optional<ShapeVector> broadcast_shapes(const std::vector<ShapeVector>& shapes) {
  ShapeVector result;
  for (const ShapeVector& shape : shapes) {
    if (shape.size() > result.size()) {
      result.insert(result.begin(), shape.size() - result.size(), 1);
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::uint32_t& length = result[result.size() - 1 - i];
      const std::uint32_t own = shape[shape.size() - 1 - i];
      if (length != own && length != 1 && own != 1) return std::nullopt;
      length = length == 1 ? own : length;
    }
  }
  return result;
}

/// Index, in a tensor of shape `own`, of the element that broadcasts to `position` of shape
/// `result`.
inline std::size_t broadcast_position(std::size_t position, const ShapeVector& result,
                                      const ShapeVector& own) {
  std::size_t own_position = 0;
  std::size_t own_stride = 1;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t length = result[result.size() - 1 - i];
    const std::size_t index = position % length;
    position /= length;
    if (i >= own.size()) continue;
    const std::size_t own_length = own[own.size() - 1 - i];
    if (own_length != 1) own_position += index * own_stride;
    own_stride *= own_length;
  }
  return own_position;
}

/// A shape of 0 to 6 axes, most of them short; a few are empty, or longer than the 256 values that
/// the core takes at a time.
inline ShapeVector random_shape(Random& random) {
  ShapeVector shape(random.below(7));
  for (std::uint32_t& length : shape) {
    length = static_cast<std::uint32_t>(random.below(12) == 0 ? 0 : 1 + random.below(4));
  }
  if (!shape.empty() && random.below(4) == 0) {
    shape[random.below(shape.size())] = static_cast<std::uint32_t>(200 + random.below(400));
  }
  return shape;
}

/// A shape that broadcasts to another: some axes repeated, some leading ones left out.
inline ShapeVector random_operand(const ShapeVector& shape, Random& random) {
  ShapeVector operand = shape;
  for (std::uint32_t& length : operand) {
    if (random.below(3) == 0) length = 1;
  }
  if (random.below(2) == 0) {
    const auto leading = static_cast<std::ptrdiff_t>(random.below(operand.size() + 1));
    operand.erase(operand.begin(), operand.begin() + leading);
  }
  return operand;
}

/// Any code of a dtype.
template <typename Code>
std::vector<Code> random_codes(std::size_t n, DType dtype, Random& random) {
  const DTypeInfo info = dtype_info(dtype);
  std::vector<Code> codes(n);
  for (Code& code : codes) code = static_cast<Code>(random.integer(info.qmin, info.qmax));
  return codes;
}

}  // namespace zeropoint::testing
