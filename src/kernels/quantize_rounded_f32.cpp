// 16 values per step: divide by the scale (or multiply by its reciprocal), round half to even, add
// the zero point, clamp; or 16 codes of int32, read. The codes are written, or their values.
// Parity: bit-identical to reference/quantize_rounded_f32.h for every float, NaN included.
#include <algorithm>
#include <cassert>
#include <type_traits>

#include "kernels/codes.h"
#include "kernels/doubles.h"
#include "kernels/qparams_lanes.h"

namespace zeropoint::kernels {
namespace {

// a + b, saturated to int32: a sum overflows if its sign is neither that of a nor that of b.
v128_t add_saturated(v128_t a, v128_t b) {
  const v128_t sum = wasm_i32x4_add(a, b);
  const v128_t differs = wasm_v128_and(wasm_v128_xor(a, sum), wasm_v128_xor(b, sum));
  const v128_t limit = wasm_v128_xor(wasm_i32x4_shr(a, 31), wasm_i32x4_splat(INT32_MAX));
  return wasm_v128_bitselect(limit, sum, wasm_i32x4_shr(differs, 31));
}

// One copy for all types of codes: loops over steps stay small.
[[gnu::noinline]] void quantize_step(const float* x, const FourByFour& qparams,
                                     const CodeRule& rule, Int32x16& codes) {
  assert(qparams.each.nan_codes != nullptr);
  for (std::size_t j = 0; j < 4; ++j) {
    const ElementwiseQParams four = qparams.each.skip(j * qparams.stride);
    const v128_t value = wasm_v128_load(x + 4 * j);
    const v128_t scale = wasm_v128_load(four.factors);
    const v128_t zero_point = wasm_v128_load(four.nan_codes);
    v128_t code;
    if (rule.multiplies) {
      const v128_t reciprocal = wasm_f32x4_div(wasm_f32x4_splat(1.0F), scale);
      const v128_t rounded = wasm_f32x4_nearest(wasm_f32x4_mul(value, reciprocal));
      const v128_t sum = wasm_f32x4_add(rounded, wasm_v128_load(four.zero_points));
      code = wasm_v128_bitselect(wasm_i32x4_trunc_sat_f32x4(sum), zero_point,
                                 wasm_f32x4_eq(rounded, rounded));
    } else {
      // NaN is converted to 0, so that its code is the zero point.
      const v128_t rounded = wasm_f32x4_nearest(wasm_f32x4_div(value, scale));
      code = add_saturated(wasm_i32x4_trunc_sat_f32x4(rounded), zero_point);
    }
    codes.lanes[j] = wasm_i32x4_min(wasm_i32x4_max(code, wasm_i32x4_splat(rule.qmin)),
                                    wasm_i32x4_splat(rule.qmax));
  }
}

// Writes the codes of a step, or their values.
using WriteStep = void (*)(const Int32x16& codes, const FourByFour& qparams, void* out);

template <typename Out>
void write_step(const Int32x16& codes, const FourByFour&, void* out) {
  store_codes(codes, static_cast<Out*>(out));
}
template <>
void write_step<float>(const Int32x16& codes, const FourByFour& qparams, void* out) {
  for (std::size_t j = 0; j < 4; ++j) {
    const ElementwiseQParams four = qparams.each.skip(j * qparams.stride);
    const v128_t steps =
        wasm_f32x4_sub(wasm_f32x4_convert_i32x4(codes.lanes[j]), wasm_v128_load(four.zero_points));
    wasm_v128_store(static_cast<float*>(out) + 4 * j,
                    wasm_f32x4_mul(wasm_v128_load(four.factors), steps));
  }
}

// The same for codes of 32 bits: their differences have 33 bits, which double holds.
void write_wide_step(const Int32x16& codes, const FourByFour& qparams, void* out) {
  assert(qparams.each.nan_codes != nullptr);
  for (std::size_t j = 0; j < 4; ++j) {
    const ElementwiseQParams four = qparams.each.skip(j * qparams.stride);
    const v128_t zero_points = wasm_v128_load(four.nan_codes);
    const v128_t steps = narrow(widen_i32(codes.lanes[j]) - widen_i32(zero_points));
    wasm_v128_store(static_cast<float*>(out) + 4 * j,
                    wasm_f32x4_mul(wasm_v128_load(four.factors), steps));
  }
}

// All loops exist once, for all types of codes.
struct Transfer {
  bool reads_codes;  // int32 in place of floats
  WriteStep write;
  std::size_t size;  // bytes of a code or value
};

void run_step(const void* from, std::size_t i, const FourByFour& qparams, const CodeRule& rule,
              const Transfer& transfer, void* to) {
  Int32x16 codes;
  if (transfer.reads_codes) {
    codes = load_codes(static_cast<const std::int32_t*>(from) + i);
  } else {
    quantize_step(static_cast<const float*>(from) + i, qparams, rule, codes);
  }
  transfer.write(codes, qparams, static_cast<std::byte*>(to) + i * transfer.size);
}

[[gnu::noinline]] void run_groups(const void* from, std::size_t n, const AnyQParams& q,
                                  const CodeRule& rule, const Transfer& transfer, void* to) {
  for (std::size_t first = 0, group = 0; first < n; first += std::min(q.length, n), ++group) {
    const FourAlike four(q.each, group);
    const std::size_t end = first + std::min(q.length, n - first);
    for (std::size_t i = first; i < end; i += kStep) {
      run_step(from, i, four.qparams(), rule, transfer, to);
    }
  }
}

[[gnu::noinline]] void run_columns(const void* from, std::size_t n, const AnyQParams& q,
                                   const CodeRule& rule, const Transfer& transfer, void* to) {
  for (std::size_t i = 0; i < n; i += kStep) {
    run_step(from, i, {q.each.skip(i), 4}, rule, transfer, to);
  }
}

constexpr Transfer kWideValues{true, write_wide_step, sizeof(float)};

template <typename Out>
Transfer transfer_of(const CodeRule& rule) {
  if (std::is_same_v<Out, float> && rule.qmax == INT32_MAX) {
    return {false, write_wide_step, sizeof(float)};
  }
  return {false, write_step<Out>, sizeof(Out)};
}

template <typename Out>
struct Rounded {
  static void groups(const void* from, std::size_t n, const AnyQParams& q, const CodeRule& rule,
                     void* to) {
    run_groups(from, n, q, rule, transfer_of<Out>(rule), to);
  }
  static void columns(const void* from, std::size_t n, const AnyQParams& q, const CodeRule& rule,
                      void* to) {
    run_columns(from, n, q, rule, transfer_of<Out>(rule), to);
  }
  static constexpr Operation kOperation{sizeof(float), sizeof(Out), true, groups, columns, nullptr};
};

void wide_groups(const void* from, std::size_t n, const AnyQParams& q, const CodeRule& rule,
                 void* to) {
  run_groups(from, n, q, rule, kWideValues, to);
}
void wide_columns(const void* from, std::size_t n, const AnyQParams& q, const CodeRule& rule,
                  void* to) {
  run_columns(from, n, q, rule, kWideValues, to);
}

}  // namespace

const Operation& rounded_quantization(Storage codes) { return operation_of<Rounded>(codes); }
const Operation& fake_rounded_quantization() { return Rounded<float>::kOperation; }
const Operation& wide_dequantization() {
  static constexpr Operation kOperation{sizeof(std::int32_t), sizeof(float), true,
                                        wide_groups,          wide_columns,  nullptr};
  return kOperation;
}

}  // namespace zeropoint::kernels
