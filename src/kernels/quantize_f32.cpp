// 16 values per step: divide by the scale, add the zero point, round half to even, clamp, narrow.
// Parity: bit-identical to reference/quantize_f32.h for every float, NaN included.
//
// A fast version of each step either gives the right codes or reports doubt; then the exact version
// repeats the step, operation by operation. For codes of 8 bits the fast version does not divide
// (brackets.h).
#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/brackets.h"

namespace zeropoint::kernels {
namespace {

// Result of a fast step: codes to be narrowed with saturation, and a mask that is 0 if they are
// right.
struct Step {
  Int32x16 codes;
  v128_t doubt;
};

// Divides. NaN (for int32 also values too large) is in doubt.
template <typename Code>
class Divide {
 public:
  explicit Divide(const CodeRule& rule)
      : low_(wasm_f32x4_splat(static_cast<float>(rule.qmin))),
        high_(wasm_f32x4_splat(static_cast<float>(rule.qmax))) {}

  template <typename Lanes>
  [[nodiscard]] Step step(const float* x, const Lanes& lanes, std::size_t i) const {
    Step result;
    for (std::size_t j = 0; j < 4; ++j) {
      const QParamsLanes four = lanes.load(i + 4 * j);
      const v128_t quotient = wasm_f32x4_div(wasm_v128_load(x + i + 4 * j), four.factor);
      v128_t shifted = wasm_f32x4_add(quotient, four.zero_point);
      v128_t doubt;
      if constexpr (sizeof(Code) == 4) {
        doubt = wasm_v128_not(wasm_f32x4_lt(shifted, high_));
        result.codes.lanes[j] = wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_nearest(shifted));
      } else {
        doubt = wasm_f32x4_ne(shifted, shifted);
        shifted = wasm_f32x4_pmax(wasm_f32x4_pmin(shifted, high_), low_);
        result.codes.lanes[j] = wasm_i32x4_sub(wasm_f32x4_add(shifted, wasm_f32x4_splat(kMagic)),
                                               wasm_i32x4_splat(kMagicBits));
      }
      result.doubt = j == 0 ? doubt : wasm_v128_or(result.doubt, doubt);
    }
    return result;
  }

 private:
  v128_t low_;
  v128_t high_;
};

// An exact step, operation by operation. Clamping integers instead of floats gives the same codes
// (trunc_sat saturates at int32) and keeps NaN lanes for the select.
[[gnu::noinline]] void quantize_exactly(const float* x, const FourByFour& qparams,
                                        const CodeRule& rule, Int32x16& codes) {
  assert(qparams.each.nan_codes != nullptr);
  // Overflow threshold; NaN, which no float reaches, if only the limits matter.
  const float beyond = rule.qmax == INT32_MAX ? 2147483648.0F : NAN;
  for (std::size_t j = 0; j < 4; ++j) {
    const ElementwiseQParams four = qparams.each.skip(j * qparams.stride);
    const v128_t quotient = wasm_f32x4_div(wasm_v128_load(x + 4 * j), wasm_v128_load(four.factors));
    const v128_t rounded =
        wasm_f32x4_nearest(wasm_f32x4_add(quotient, wasm_v128_load(four.zero_points)));
    const v128_t overflows = wasm_f32x4_ge(rounded, wasm_f32x4_splat(beyond));
    const v128_t code = wasm_v128_bitselect(wasm_i32x4_splat(rule.overflow),
                                            wasm_i32x4_trunc_sat_f32x4(rounded), overflows);
    const v128_t clamped = wasm_i32x4_min(wasm_i32x4_max(code, wasm_i32x4_splat(rule.qmin)),
                                          wasm_i32x4_splat(rule.qmax));
    codes.lanes[j] = wasm_v128_bitselect(clamped, wasm_v128_load(four.nan_codes),
                                         wasm_f32x4_eq(rounded, rounded));
  }
}

template <typename Code>
void quantize_exactly(const float* x, const FourByFour& qparams, const CodeRule& rule, Code* out) {
  Int32x16 codes;
  quantize_exactly(x, qparams, rule, codes);
  store_codes(codes, out);
}

// Divides 16 values per step, and calls exact(position) for steps in doubt.
template <typename Code, typename Lanes, typename Exact>
void divide_steps(const float* x, std::size_t n, const Lanes& lanes, const Divide<Code>& divide,
                  Code* out, Exact exact) {
  // The inner loop is free of calls, so that its constants stay in registers.
  for (std::size_t i = 0; i < n;) {
    v128_t doubt;
    do {
      const Step step = divide.step(x, lanes, i);
      store_codes(step.codes, out + i);
      doubt = step.doubt;
      i += kStep;
    } while (i < n && !wasm_v128_any_true(doubt));
    if (wasm_v128_any_true(doubt)) exact(i - kStep);
  }
}

template <typename Code>
void divide_groups(const void* from, std::size_t n, const AnyQParams& q, const CodeRule& rule,
                   void* to) {
  const auto* x = static_cast<const float*>(from);
  auto* out = static_cast<Code*>(to);
  const Divide<Code> divide(rule);
  for_groups(
      n, q,
      [&](std::size_t first, std::size_t count, const UniformLanes& lanes, std::size_t group) {
        divide_steps(x + first, count, lanes, divide, out + first, [&](std::size_t i) {
          quantize_exactly(x + first + i, FourAlike(q.each, group).qparams(), rule,
                           out + first + i);
        });
      });
}

template <typename Code>
void divide_columns(const void* from, std::size_t n, const AnyQParams& q, const CodeRule& rule,
                    void* to) {
  const auto* x = static_cast<const float*>(from);
  auto* out = static_cast<Code*>(to);
  divide_steps(x, n, ElementwiseLanes(q.each), Divide<Code>(rule), out, [&](std::size_t i) {
    quantize_exactly(x + i, {q.each.skip(i), 4}, rule, out + i);
  });
}

// ---- codes of 8 bits

template <typename Code>
[[gnu::noinline]] std::size_t multiply_groups(const float* x, std::size_t step, std::size_t end,
                                              std::size_t steps, const GroupBrackets& brackets,
                                              const CodeRule& limits, std::byte* out) {
  const v128_t magic = hidden_splat<kMagicBits>();
  const CodeRule rule = limits;  // in registers: `out` may be anything in memory
  std::size_t group = step / steps;
  for (std::size_t last = (group + 1) * steps; step < end; last += steps, ++group) {
    const Bracket b = brackets.of(group);
    for (; step < last; ++step) {
      Int32x16 codes;
      v128_t doubt = wasm_i32x4_splat(0);
      for (std::size_t j = 0; j < 4; ++j) {
        const v128_t sum = multiply(wasm_v128_load(x + kStep * step + 4 * j), b, doubt);
        codes.lanes[j] = wasm_i32x4_sub(sum, magic);
      }
      wasm_v128_store(out + kStep * step, narrow_codes<Code>(codes, rule));
      if (wasm_v128_any_true(doubt)) return step;
    }
  }
  return end;
}

// Brackets of columns, kept small so that the first-level cache has room for values.
struct ColumnBrackets {
  float reciprocals[kMaxColumns];
  float offsets[kMaxColumns];
  std::size_t offset_mask;  // 0 if all offsets are equal; then the first four serve all columns
  // 1 - m and 1 + m; m is, per lane, the widest margin of the lane's columns.
  v128_t less;
  v128_t more;

  [[nodiscard]] Bracket of(std::size_t column) const {
    const v128_t middle = wasm_v128_load(reciprocals + column);
    return {wasm_f32x4_mul(middle, less), wasm_f32x4_mul(middle, more),
            wasm_v128_load(offsets + (column & offset_mask))};
  }
};

// 4 divides `count`.
[[gnu::noinline]] void make_brackets(const ElementwiseQParams& q, std::size_t count,
                                     const CodeRule& rule, ColumnBrackets& out) {
  v128_t widest = wasm_f32x4_splat(0.0F);
  for (std::size_t i = 0; i < count; i += 4) {
    const BracketParts parts =
        bracket_parts(wasm_v128_load(q.factors + i), wasm_v128_load(q.zero_points + i), rule);
    const v128_t serves = wasm_f32x4_eq(parts.middle, parts.middle);
    widest = wasm_f32x4_pmax(widest, wasm_v128_and(parts.margin, serves));
    wasm_v128_store(out.reciprocals + i, parts.middle);
    wasm_v128_store(out.offsets + i, parts.offset);
  }
  out.less = wasm_f32x4_sub(wasm_f32x4_splat(1.0F), widest);
  out.more = wasm_f32x4_add(wasm_f32x4_splat(1.0F), widest);
  out.offset_mask = mask_unless_alike(q.zero_points, count);
}

// Columns from `i` on of four rows, `apart` values apart, four columns at a time. @return the first
// column in doubt, or `whole`
template <typename Code>
[[gnu::noinline]] std::size_t multiply_rows(const float* x, std::size_t i, std::size_t whole,
                                            std::size_t apart, const ColumnBrackets& brackets,
                                            const CodeRule& limits, std::byte* out) {
  const v128_t magic = hidden_splat<kMagicBits>();
  const CodeRule rule = limits;  // in registers: `out` may be anything in memory
  for (; i < whole; i += 4) {
    const Bracket b = brackets.of(i);
    Int32x16 codes;
    v128_t doubt = wasm_i32x4_splat(0);
    for (std::size_t r = 0; r < kRowsTogether; ++r) {
      const v128_t sum = multiply(wasm_v128_load(x + r * apart + i), b, doubt);
      codes.lanes[r] = wasm_i32x4_sub(sum, magic);
    }
    const v128_t narrow = narrow_codes<Code>(codes, rule);
    wasm_v128_store32_lane(out + i, narrow, 0);
    wasm_v128_store32_lane(out + apart + i, narrow, 1);
    wasm_v128_store32_lane(out + 2 * apart + i, narrow, 2);
    wasm_v128_store32_lane(out + 3 * apart + i, narrow, 3);
    if (wasm_v128_any_true(doubt)) return i;
  }
  return whole;
}

// A step in doubt, to signed or unsigned bytes.
void quantize_to_bytes(const float* x, const FourByFour& qparams, const CodeRule& rule,
                       std::byte* out) {
  Int32x16 codes;
  quantize_exactly(x, qparams, rule, codes);
  for (v128_t& lane : codes.lanes) lane = wasm_v128_and(lane, wasm_i32x4_splat(255));
  store_codes(codes, reinterpret_cast<std::uint8_t*>(out));
}

using RowLoop = decltype(multiply_rows<std::int8_t>)*;

void run_rows(RowLoop fast, const void* from, std::size_t n, const AnyQParams& q,
              const CodeRule& rule, void* to) {
  ColumnBrackets brackets;
  make_brackets(q.each, n, rule, brackets);
  for_rows<kRowsTogether>(q, [&](std::size_t position, std::size_t apart) {
    const float* x = static_cast<const float*>(from) + position;
    auto* out = static_cast<std::byte*>(to) + position;
    for (std::size_t i = 0; i < n; i += 4) {
      i = fast(x, i, n, apart, brackets, rule, out);
      if (i == n) return;
      float values[kStep];
      std::byte codes[kStep];
      for (std::size_t r = 0; r < kRowsTogether; ++r) {
        std::copy_n(x + r * apart + i, 4, values + 4 * r);
      }
      quantize_to_bytes(values, {q.each.skip(i), 0}, rule, codes);
      for (std::size_t r = 0; r < kRowsTogether; ++r) {
        std::copy_n(codes + 4 * r, 4, out + r * apart + i);
      }
    }
  });
}

void quantize_step(const float* x, const ElementwiseQParams& group, const CodeRule& rule,
                   std::byte* out) {
  quantize_to_bytes(x, FourAlike(group, 0).qparams(), rule, out);
}

template <typename Code>
void quantize_groups(const void* from, std::size_t n, const AnyQParams& q, const CodeRule& rule,
                     void* to) {
  static constexpr GroupLoops kLoops{multiply_groups<Code>, quantize_step, sizeof(Code)};
  run_groups(kLoops, from, n, q, rule, to);
}

template <typename Code>
void quantize_rows(const void* from, std::size_t n, const AnyQParams& q, const CodeRule& rule,
                   void* to) {
  run_rows(multiply_rows<Code>, from, n, q, rule, to);
}

template <typename Code>
struct Quantization {
  static constexpr Operation kOperation{sizeof(float),       sizeof(Code),         true,
                                        divide_groups<Code>, divide_columns<Code>, nullptr};
};
template <typename Code>
requires(sizeof(Code) == 1) struct Quantization<Code> {
  static constexpr Operation kOperation{
      sizeof(float),         sizeof(Code),         true,
      quantize_groups<Code>, divide_columns<Code>, quantize_rows<Code>};
};

}  // namespace

const Operation& quantization(Storage codes) { return operation_of<Quantization>(codes); }

}  // namespace zeropoint::kernels
