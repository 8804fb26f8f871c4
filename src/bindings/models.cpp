// ggml's block types, and the errors of rows, for model files.
#include "bindings/marshal.h"
#include "bindings/register.h"
#include "zeropoint/zeropoint.h"

namespace zeropoint::bindings {
namespace {

Status quantize_blocks(Offset x, std::size_t n, std::size_t row_length, BlockType type,
                       Offset importance, Offset out) {
  const BlockInfo info = block_info(type);
  return zeropoint::quantize_blocks(
      span_at<const float>(x, n), row_length, type,
      span_at<const float>(importance, importance == 0 ? 0 : row_length),
      span_at<std::uint8_t>(out, n / info.values * info.bytes));
}

Status dequantize_blocks(Offset blocks, std::size_t bytes, BlockType type, Offset out) {
  const BlockInfo info = block_info(type);
  return zeropoint::dequantize_blocks(span_at<const std::uint8_t>(blocks, bytes), type,
                                      span_at<float>(out, bytes / info.bytes * info.values));
}

std::span<const double> weights_at(Offset weights, std::size_t n) {
  return span_at<const double>(weights, weights == 0 ? 0 : n);
}

// @param groups  the group's size and the run's length, see RowScheme
Status row_errors(Offset w, std::size_t rows, std::size_t row_length, DType dtype, Scheme scheme,
                  Offset groups, bool searches, Offset range, Offset weights, Offset values,
                  Offset out) {
  const auto sizes = span_at<const std::size_t>(groups, 2);
  const RowScheme own{
      {dtype, scheme, true}, sizes[0], sizes[1], searches, span_at<const Range>(range, 1)[0]};
  const std::size_t n = rows * row_length;
  return zeropoint::row_errors(
      span_at<const float>(w, n), row_length, own, weights_at(weights, row_length),
      span_at<float>(values, values == 0 ? 0 : n), span_at<RowError>(out, rows));
}

Status block_row_errors(Offset w, std::size_t rows, std::size_t row_length, BlockType type,
                        Offset weights, Offset values, Offset out) {
  const std::size_t n = rows * row_length;
  return zeropoint::row_errors(
      span_at<const float>(w, n), row_length, type, weights_at(weights, row_length),
      span_at<float>(values, values == 0 ? 0 : n), span_at<RowError>(out, rows));
}

Status row_energies(Offset w, std::size_t rows, std::size_t row_length, Offset weights,
                    Offset out) {
  return zeropoint::row_energies(span_at<const float>(w, rows * row_length), row_length,
                                 weights_at(weights, row_length), span_at<RowError>(out, rows));
}

double decibels(double signal, double noise) { return zeropoint::decibels(signal, noise); }

}  // namespace

EMSCRIPTEN_BINDINGS(models) {
  function("quantizeBlocks" PARAMETERS(x, n, rowLength, type, importance, out), &quantize_blocks);
  function("dequantizeBlocks" PARAMETERS(blocks, bytes, type, out), &dequantize_blocks);
  function("rowErrors" PARAMETERS(w, rows, rowLength, dtype, scheme, groups, searches, range,
                                  weights, values, out),
           &row_errors);
  function("blockRowErrors" PARAMETERS(w, rows, rowLength, type, weights, values, out),
           &block_row_errors);
  function("rowEnergies" PARAMETERS(w, rows, rowLength, weights, out), &row_energies);
  function("decibels" PARAMETERS(signal, noise), &decibels);
}

}  // namespace zeropoint::bindings
