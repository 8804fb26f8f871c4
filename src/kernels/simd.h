// The only place that includes SIMD intrinsics: WebAssembly's own, or SIMDe's portable ones
// natively, so that tests and sanitizers run the very code that ships.
#pragma once

#if defined(__wasm_simd128__)
#include <wasm_simd128.h>
#else
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/wasm/simd128.h>
#endif
