// half.h, against 16-bit floats by their definition.
#include "fuzz.h"
#include "reference/half.h"
#include "zeropoint/half.h"

namespace zeropoint::fuzz {

void run(Source source) {
  const HalfType type = source.flag() ? HalfType::kFloat16 : HalfType::kBfloat16;
  const reference::HalfFormat format =
      type == HalfType::kFloat16 ? reference::kFloat16 : reference::kBfloat16;
  const std::size_t n = source.below(source.flag() ? 40 : 1000);
  const std::size_t wrong = source.rarely(8) ? n + 1 : n;

  std::vector<std::uint16_t> halves(n);
  Random more = source.random();
  for (std::uint16_t& half : halves) {
    half = source.flag() ? source.take<std::uint16_t>() : static_cast<std::uint16_t>(more.bits());
  }
  Output<float> values(wrong);
  check(to_float32(halves, type, values.span()), wrong == n ? Status::kOk : Status::kShapeMismatch);
  const std::vector<float> x = source.floats(n);
  Output<std::uint16_t> bits(wrong);
  check(from_float32(x, type, bits.span()), wrong == n ? Status::kOk : Status::kShapeMismatch);
  if (wrong != n) {
    values.check_untouched();
    bits.check_untouched();
    return;
  }
  std::vector<float> expected;
  for (const std::uint16_t half : halves) {
    expected.push_back(static_cast<float>(reference::half_value(half, format)));
  }
  check_same(values.values(), expected);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint16_t half = bits.values()[i];
    // Any NaN serves, but its sign is kept.
    check(std::isnan(x[i]) ? std::isnan(reference::half_value(half, format)) &&
                                 (half >> 15 != 0) == std::signbit(x[i])
                           : half == reference::nearest_half(x[i], format),
          "the nearest half float");
  }

  // In place: the halves in the second half of the values' memory.
  std::vector<float> memory(n);
  auto* second = reinterpret_cast<std::uint16_t*>(memory.data()) + n;
  if (n > 0) std::memcpy(second, halves.data(), n * sizeof(std::uint16_t));
  check(to_float32({second, n}, type, memory), Status::kOk);
  check_same(std::span<const float>(memory), expected);
}

}  // namespace zeropoint::fuzz
