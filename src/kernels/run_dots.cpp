// Repeats either dot product, for timing: each iteration is a load, the dot and one vector
// operation. Dots of the same round of 16 do not depend on each other.
// Parity: bit-identical to reference/run_dots.h.
#include <utility>

#include "kernels/panels.h"
#include "kernels/relaxed.h"

namespace zeropoint::kernels {
namespace {

// Unrolled, so that sums stay in registers even in code that engines have not yet optimized.
template <typename Dot, std::size_t... kDots>
std::int32_t run_dots(std::size_t rounds, Dot dot, std::index_sequence<kDots...>) {
  constexpr std::size_t kSums = 4;
  alignas(16) std::uint8_t codes[kDotsOfRound * 16];
  for (std::size_t i = 0; i < sizeof(codes); ++i)
    codes[i] = static_cast<std::uint8_t>(37 * i + i / 16);
  v128_t sums[kSums];
  for (v128_t& sum : sums) sum = wasm_i8x16_splat(1);
  for (std::size_t round = 0; round < rounds; ++round) {
    // The result depends on all sums, so that no round can be optimized away.
    const v128_t digits = wasm_v128_and(sums[0], wasm_i8x16_splat(127));
    ((sums[kDots % kSums] = dot(wasm_v128_load(codes + 16 * kDots), digits, sums[kDots % kSums])),
     ...);
  }
  const v128_t all =
      wasm_i32x4_add(wasm_i32x4_add(sums[0], sums[1]), wasm_i32x4_add(sums[2], sums[3]));
  std::int32_t lanes[4];
  wasm_v128_store(lanes, all);
  return lanes[0] ^ lanes[1] ^ lanes[2] ^ lanes[3];
}

}  // namespace

std::int32_t run_wide_dots(std::size_t rounds) {
  const auto dot = [](v128_t codes, v128_t digits, v128_t sum) {
    return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(codes, digits));
  };
  return run_dots(rounds, dot, std::make_index_sequence<kDotsOfRound>());
}

#if ZEROPOINT_RELAXED
std::int32_t run_relaxed_dots(std::size_t rounds) {
  const auto dot = [](v128_t codes, v128_t digits, v128_t sum) {
    return wasm_v128_xor(sum, dot_i8x16_i7x16_add(codes, digits, digits));
  };
  return run_dots(rounds, dot, std::make_index_sequence<kDotsOfRound>());
}
#endif

}  // namespace zeropoint::kernels
