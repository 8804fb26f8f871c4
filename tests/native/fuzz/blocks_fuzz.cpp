// blocks.h, against ggml's block types one value at a time; blocks of any bytes, which files hold.
#include "fuzz.h"
#include "reference/blocks.h"
#include "zeropoint/blocks.h"

namespace zeropoint::fuzz {
namespace {

// Any bytes are blocks, and a block's values depend on no other block.
void check_bytes(Source& source, BlockType type) {
  const BlockInfo info = block_info(type);
  const std::size_t blocks = source.below(9);
  std::vector<std::uint8_t> bytes(blocks * info.bytes);
  Random more = source.random();
  const bool is_given = source.flag();
  for (std::uint8_t& byte : bytes) {
    byte = is_given ? source.take<std::uint8_t>() : static_cast<std::uint8_t>(more.bits());
  }
  const bool is_long = source.rarely(8);
  Output<float> values(blocks * info.values + (is_long ? 1 : 0));
  const Status status = dequantize_blocks(bytes, type, values.span());
  check(status, is_long ? Status::kShapeMismatch : Status::kOk);
  if (is_long) return values.check_untouched();
  for (std::size_t i = 0; i < blocks; ++i) {
    Output<float> alone(info.values);
    const std::span<const std::uint8_t> block(bytes.data() + i * info.bytes, info.bytes);
    check(dequantize_blocks(block, type, alone.span()), Status::kOk);
    const auto own = values.values().subspan(i * info.values, info.values);
    check_same(alone.values(), std::vector<float>(own.begin(), own.end()));
  }
}

void check_values(Source& source, BlockType type) {
  const BlockInfo info = block_info(type);
  const std::size_t row_length = info.values * (1 + source.below(info.values == 1 ? 40 : 3));
  const std::size_t rows = source.below(4);
  std::vector<float> x = source.finite_floats(rows * row_length);
  std::vector<float> importance;
  if (source.flag()) {
    importance = source.finite_floats(row_length);
    for (float& weight : importance) weight = std::fabs(weight);
  }
  const bool is_short = !x.empty() && source.rarely(8);
  Output<std::uint8_t> out(x.size() / info.values * info.bytes - (is_short ? 1 : 0));
  if (is_short) {
    check(quantize_blocks(x, row_length, type, importance, out.span()), Status::kShapeMismatch);
    return out.check_untouched();
  }
  if (!x.empty() && source.rarely(8)) {
    x[source.below(x.size())] = source.flag() ? NAN : INFINITY;
    check(quantize_blocks(x, row_length, type, importance, out.span()), Status::kNonFinite);
    return;
  }
  check(quantize_blocks(x, row_length, type, importance, out.span()), Status::kOk);
  std::vector<std::uint8_t> expected;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::span<const float> own(x.data() + row * row_length, row_length);
    const std::vector<std::uint8_t> bytes = reference::quantize_row(own, type, importance);
    expected.insert(expected.end(), bytes.begin(), bytes.end());
  }
  check_same(out.values(), expected);
}

}  // namespace

void run(Source source) {
  const auto type = static_cast<BlockType>(source.below(kBlockTypes));
  if (source.rarely(3)) {
    check_bytes(source, type);
  } else {
    check_values(source, type);
  }
}

}  // namespace zeropoint::fuzz
