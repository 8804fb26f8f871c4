// The only file that includes SIMD intrinsics: WebAssembly's, or natively SIMDe's portable ones, so
// that tests and sanitizers run the code that ships.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__wasm_simd128__)
#include <wasm_simd128.h>
#if defined(ZEROPOINT_SHARED)
// Files that are compiled once for both builds may not depend on relaxed SIMD: see relaxed.h.
#pragma GCC poison __wasm_relaxed_simd__
#endif
#else
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/wasm/simd128.h>
#endif

namespace zeropoint::kernels {

/// Returns v unchanged, hidden from the optimizer. Otherwise the compiler turns a shift of widened
/// bytes into a shift of bytes, which x86 lacks.
inline v128_t opaque(v128_t v) {
#if defined(__wasm__)
  __asm__("" : "+r"(v));
#endif
  return v;
}

/// Returns p + bytes, hidden from the optimizer. Otherwise the compiler replaces the pointer by a
/// loop counter and recomputes all addresses in each iteration.
inline const std::uint8_t* ahead(const std::uint8_t* p, std::size_t bytes) {
  p += bytes;
#if defined(__wasm__)
  __asm__("" : "+r"(p));
#endif
  return p;
}

/// Returns n, hidden from the optimizer: a loop of n iterations is not unrolled.
inline std::size_t hidden(std::size_t n) {
#if defined(__wasm__)
  __asm__("" : "+r"(n));
#endif
  return n;
}

/// kBits in every lane, read from memory so that the vector stays in a register: engines rebuild a
/// constant vector at every use.
template <std::int32_t kBits>
v128_t hidden_splat() {
  static const volatile std::int32_t bits = kBits;
  return wasm_i32x4_splat(bits);
}

/// Sums of neighbouring int32: of a's pairs, then of b's.
inline v128_t add_pairs(v128_t a, v128_t b) {
  return wasm_i32x4_add(wasm_i32x4_shuffle(a, b, 0, 2, 4, 6), wasm_i32x4_shuffle(a, b, 1, 3, 5, 7));
}

}  // namespace zeropoint::kernels
