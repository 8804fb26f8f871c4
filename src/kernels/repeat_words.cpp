// 16 words per step, written beyond the end of a run; the next run overwrites the excess.
// Parity: copies, word for word.
#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {

void repeat_words(const void* from, std::size_t count, std::size_t times, std::size_t copies,
                  void* to) {
  const auto* words = static_cast<const std::uint32_t*>(from);
  auto* out = static_cast<std::uint32_t*>(to);
  for (std::size_t copy = 0; copy < copies; ++copy) {
    for (std::size_t i = 0; i < count; ++i, out += times) {
      const v128_t word = wasm_v128_load32_splat(words + i);
      for (std::size_t t = 0; t < times; t += 16) {
        for (std::size_t j = 0; j < 16; j += 4) wasm_v128_store(out + t + j, word);
      }
    }
  }
}

}  // namespace zeropoint::kernels
