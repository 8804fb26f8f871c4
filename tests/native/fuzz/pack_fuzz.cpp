// pack.h, against a stream of single bits.
#include "fuzz.h"
#include "reference/pack_bits.h"
#include "zeropoint/pack.h"

namespace zeropoint::fuzz {
namespace {}  // namespace

void run(Source source) {
  const DType dtype = source.pick(kAllDTypes);
  const DTypeInfo info = dtype_info(dtype);
  const std::size_t n = source.below(source.flag() ? 70 : 2000);
  std::vector<std::uint8_t> codes(n);  // any bits: pack() drops bits above the dtype's width
  Random more = source.random();
  for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(more.bits());

  const bool too_long = source.rarely(8);
  const std::size_t size = info.bits > 4 ? n : packed_size(n, dtype);
  Output<std::uint8_t> bytes(size + (too_long ? 1 : 0));
  const Status packed = pack(codes, dtype, bytes.span());
  if (info.bits > 4 || too_long) {
    check(packed, info.bits > 4 ? Status::kUnsupportedDType : Status::kShapeMismatch);
    bytes.check_untouched();
    Output<std::uint8_t> back(n);
    check(unpack(bytes.values(), dtype, back.span()), packed);
    back.check_untouched();
    return;
  }
  check(packed, Status::kOk);
  const auto width = static_cast<std::size_t>(info.bits);
  const std::vector<std::uint8_t> expected = reference::pack_bits(codes, width);
  check_same(bytes.values(), expected);

  Output<std::uint8_t> back(n);
  check(unpack(bytes.values(), dtype, back.span()), Status::kOk);
  check_same(back.values(), reference::unpack_bits(expected, n, width, info.is_signed()));
}

}  // namespace zeropoint::fuzz
