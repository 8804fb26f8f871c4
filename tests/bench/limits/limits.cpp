// The machine's limits in WebAssembly: peak speed of the instructions of a linear layer, and the
// speed of reading and copying memory.
//
// Each operation has two forms. Chained: enough independent chains to hide its latency, all in
// registers. GEMM-shaped: a tile of sums whose operands are loaded from the first-level cache, as
// in a matrix multiplication. The limit is the faster of the two.
//
// To keep the compiler from removing work, all operands come from memory that JavaScript fills,
// every chain depends on its last value, and every sum is stored; limits.mjs checks the instruction
// counts of the disassembly.
#include <wasm_simd128.h>

#include <cstddef>
#include <cstdint>

namespace {

// acc + a * b for 4 floats, each operation rounded.
struct MulAdd {
  static v128_t step(v128_t acc, v128_t a, v128_t b) {
    return wasm_f32x4_add(acc, wasm_f32x4_mul(a, b));
  }
  // The chain is a factor: the compiler would hoist a product of constants out of the loop.
  static v128_t chain(v128_t acc, v128_t a, v128_t b) {
    return wasm_f32x4_add(wasm_f32x4_mul(acc, a), b);
  }
};

// acc + the sums of two products of 16-bit integers.
struct DotI16 {
  static v128_t step(v128_t acc, v128_t a, v128_t b) {
    return wasm_i32x4_add(acc, wasm_i32x4_dot_i16x8(a, b));
  }
  static v128_t chain(v128_t acc, v128_t a, v128_t b) {
    return wasm_i32x4_add(wasm_i32x4_dot_i16x8(acc, a), b);
  }
};

#ifdef __wasm_relaxed_simd__
// acc + a * b for 4 floats, rounded once or twice, depending on the engine.
struct Madd {
  static v128_t step(v128_t acc, v128_t a, v128_t b) { return wasm_f32x4_relaxed_madd(a, b, acc); }
  static v128_t chain(v128_t acc, v128_t a, v128_t b) { return step(acc, a, b); }
};

// acc + the sums of four products of an 8-bit and a 7-bit integer.
struct DotI8 {
  static v128_t step(v128_t acc, v128_t a, v128_t b) {
    return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(a, b, acc);
  }
  static v128_t chain(v128_t acc, v128_t a, v128_t b) { return step(acc, a, b); }
};
#endif

// data: two operands, then the start of each chain, overwritten by its end.
template <typename Operation, int kChains>
void chained(v128_t* data, std::size_t steps) {
  const v128_t a = wasm_v128_load(data);
  const v128_t b = wasm_v128_load(data + 1);
  v128_t acc[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) acc[c] = wasm_v128_load(data + 2 + c);
#pragma clang loop unroll_count(4)
  for (std::size_t i = 0; i < steps; ++i) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) acc[c] = Operation::chain(acc[c], a, b);
  }
#pragma unroll
  for (int c = 0; c < kChains; ++c) wasm_v128_store(data + 2 + c, acc[c]);
}

// A tile of kRows rows of x by 4 * kVectors outputs, float: one value of each row is spread over
// the lanes and meets kVectors vectors of weights. x: [depth, kRows], w: [depth, kVectors, 4].
template <typename Operation, int kRows, int kVectors>
void float_tile(const float* x, const float* w, std::size_t depth, std::size_t times, v128_t* out) {
  v128_t acc[kRows][kVectors];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) acc[r][v] = wasm_v128_load(out + r * kVectors + v);
  }
  for (std::size_t time = 0; time < times; ++time) {
#pragma clang loop unroll_count(2)
    for (std::size_t k = 0; k < depth; ++k) {
      v128_t weights[kVectors];
#pragma unroll
      for (int v = 0; v < kVectors; ++v) weights[v] = wasm_v128_load(w + 4 * (k * kVectors + v));
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const v128_t value = wasm_v128_load32_splat(x + k * kRows + r);
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
          acc[r][v] = Operation::step(acc[r][v], weights[v], value);
        }
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) wasm_v128_store(out + r * kVectors + v, acc[r][v]);
  }
}

// A tile of kRows rows of x by kColumns outputs, integers: along K, 16 bytes of each row meet 16
// bytes of each column. x: [depth, kRows, 16 bytes], w: [depth, kColumns, 16 bytes].
template <typename Operation, int kRows, int kColumns>
void dot_tile(const v128_t* x, const v128_t* w, std::size_t depth, std::size_t times, v128_t* out) {
  v128_t acc[kRows][kColumns];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) acc[r][c] = wasm_v128_load(out + r * kColumns + c);
  }
  for (std::size_t time = 0; time < times; ++time) {
#pragma clang loop unroll_count(2)
    for (std::size_t k = 0; k < depth; ++k) {
      v128_t weights[kColumns];
#pragma unroll
      for (int c = 0; c < kColumns; ++c) weights[c] = wasm_v128_load(w + k * kColumns + c);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const v128_t values = wasm_v128_load(x + k * kRows + r);
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
          acc[r][c] = Operation::step(acc[r][c], weights[c], values);
        }
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) wasm_v128_store(out + r * kColumns + c, acc[r][c]);
  }
}

}  // namespace

#define EXPORT(name) extern "C" __attribute__((export_name(#name))) void name

#define CHAINED(name, Operation)                                                            \
  EXPORT(name##_chain8)(v128_t * data, std::size_t n) { chained<Operation, 8>(data, n); }   \
  EXPORT(name##_chain10)(v128_t * data, std::size_t n) { chained<Operation, 10>(data, n); } \
  EXPORT(name##_chain12)(v128_t * data, std::size_t n) { chained<Operation, 12>(data, n); }

#define FLOAT_TILES(name, Operation)                                            \
  EXPORT(name##_tile4x2)                                                        \
  (const float* x, const float* w, std::size_t k, std::size_t n, v128_t* out) { \
    float_tile<Operation, 4, 2>(x, w, k, n, out);                               \
  }                                                                             \
  EXPORT(name##_tile6x2)                                                        \
  (const float* x, const float* w, std::size_t k, std::size_t n, v128_t* out) { \
    float_tile<Operation, 6, 2>(x, w, k, n, out);                               \
  }

#define DOT_TILES(name, Operation)                                                \
  EXPORT(name##_tile4x2)                                                          \
  (const v128_t* x, const v128_t* w, std::size_t k, std::size_t n, v128_t* out) { \
    dot_tile<Operation, 4, 2>(x, w, k, n, out);                                   \
  }                                                                               \
  EXPORT(name##_tile4x3)                                                          \
  (const v128_t* x, const v128_t* w, std::size_t k, std::size_t n, v128_t* out) { \
    dot_tile<Operation, 4, 3>(x, w, k, n, out);                                   \
  }

#ifdef __wasm_relaxed_simd__
CHAINED(madd, Madd)
FLOAT_TILES(madd, Madd)
CHAINED(dot_i8, DotI8)
DOT_TILES(dot_i8, DotI8)
#else
CHAINED(muladd, MulAdd)
FLOAT_TILES(muladd, MulAdd)
CHAINED(dot_i16, DotI16)
DOT_TILES(dot_i16, DotI16)

// Reads `bytes` bytes, a multiple of 128, and stores their sum.
EXPORT(read_bytes)(const v128_t* data, std::size_t bytes, v128_t* out) {
  constexpr int kSums = 8;
  v128_t sums[kSums] = {};
  for (std::size_t i = 0; i < bytes / sizeof(v128_t); i += kSums) {
#pragma unroll
    for (int s = 0; s < kSums; ++s) {
      sums[s] = wasm_i32x4_add(sums[s], wasm_v128_load(data + i + s));
    }
  }
#pragma unroll
  for (int s = 1; s < kSums; ++s) sums[0] = wasm_i32x4_add(sums[0], sums[s]);
  wasm_v128_store(out, sums[0]);
}

// memory.copy.
EXPORT(copy_bytes)(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  __builtin_memcpy(to, from, bytes);
}

// Memory traffic of an elementwise kernel without arithmetic: loads and stores. memory.copy may
// write past the caches; a vector store of WebAssembly cannot, so the processor reads each line
// before it is written.

// Moves `bytes` bytes, a multiple of 64.
EXPORT(move_bytes)(v128_t* to, const v128_t* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes / sizeof(v128_t); i += 4) {
    v128_t four[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) four[j] = wasm_v128_load(from + i + j);
#pragma unroll
    for (int j = 0; j < 4; ++j) wasm_v128_store(to + i + j, four[j]);
  }
}

// Narrows `bytes` bytes of int32, a multiple of 64, to int8.
EXPORT(narrow_bytes)(v128_t* to, const v128_t* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes / sizeof(v128_t); i += 4) {
    const v128_t low =
        wasm_i16x8_narrow_i32x4(wasm_v128_load(from + i), wasm_v128_load(from + i + 1));
    const v128_t high =
        wasm_i16x8_narrow_i32x4(wasm_v128_load(from + i + 2), wasm_v128_load(from + i + 3));
    wasm_v128_store(to + i / 4, wasm_i8x16_narrow_i16x8(low, high));
  }
}

// Widens int8 to `bytes` bytes of int32, a multiple of 64.
EXPORT(widen_bytes)(v128_t* to, const v128_t* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes / sizeof(v128_t); i += 4) {
    const v128_t codes = wasm_v128_load(from + i / 4);
    const v128_t low = wasm_i16x8_extend_low_i8x16(codes);
    const v128_t high = wasm_i16x8_extend_high_i8x16(codes);
    wasm_v128_store(to + i, wasm_i32x4_extend_low_i16x8(low));
    wasm_v128_store(to + i + 1, wasm_i32x4_extend_high_i16x8(low));
    wasm_v128_store(to + i + 2, wasm_i32x4_extend_low_i16x8(high));
    wasm_v128_store(to + i + 3, wasm_i32x4_extend_high_i16x8(high));
  }
}
#endif
