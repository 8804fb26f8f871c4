// 16 values a step: divide by the scale, add the zero point, round half to even, clamp, narrow.
// Parity: bit-identical to reference/quantize_f32.h for every float, NaN included.
//
// A step is first taken the fast way, which either gives the right codes or says that it may not
// have; then it is taken again, operation by operation. Where values share a scale and codes have 8
// bits, the fast way does not divide. It multiplies by a number a little below the scale's
// reciprocal and by one a little above it; where both lead to the same code, that is the code.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/qparams_lanes.h"

namespace zeropoint::kernels {
namespace {

// Adding 1.5 * 2^23 leaves a float no bits for fractions: it rounds half to even, and then its bits
// are those of the constant plus the integer, in order even where the float is far from there.
constexpr float kMagic = 12582912.0F;
constexpr std::int32_t kMagicBits = 0x4B400000;

// What a fast step leaves: codes yet to be narrowed, which saturates, and a mask that is 0 if they
// are right.
struct Step {
  Int32x16 codes;
  v128_t doubt;
};

// What four values are multiplied by and what is added to both products.
struct Bracket {
  v128_t below;
  v128_t above;
  v128_t offset;
};

// Four codes, yet to be narrowed, which saturates; marks those in doubt.
v128_t multiply(v128_t x, const Bracket& b, v128_t magic, v128_t& doubt) {
  const v128_t low = multiply_add(x, b.below, b.offset);
  const v128_t high = multiply_add(x, b.above, b.offset);
  doubt = wasm_v128_or(doubt, wasm_f32x4_ne(low, high));
  return wasm_i32x4_sub(low, magic);
}

// Divides, and leaves NaN (for int32 also what is too large) in doubt.
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
      const v128_t quotient = wasm_f32x4_div(wasm_v128_load(x + i + 4 * j), four.scale);
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

// A step, operation by operation. Clamping integers instead of floats gives the same codes
// (trunc_sat saturates at int32) and leaves NaN alone, which the select then replaces.
[[gnu::noinline]] void quantize_exactly(const float* x, const FourByFour& qparams,
                                        const CodeRule& rule, Int32x16& codes) {
  assert(qparams.each.nan_codes != nullptr);
  // What no float reaches where only the limits count.
  const float beyond = rule.qmax == INT32_MAX ? 2147483648.0F : NAN;
  for (std::size_t j = 0; j < 4; ++j) {
    const ElementwiseFloatQParams four = qparams.each.skip(j * qparams.stride);
    const v128_t quotient = wasm_f32x4_div(wasm_v128_load(x + 4 * j), wasm_v128_load(four.scales));
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

// Divides 16 values a step, and leaves those in doubt to exact(where they are).
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
void divide_groups(const void* from, std::size_t n, const QParams& q, const CodeRule& rule,
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
void divide_columns(const void* from, std::size_t n, const QParams& q, const CodeRule& rule,
                    void* to) {
  const auto* x = static_cast<const float*>(from);
  auto* out = static_cast<Code*>(to);
  divide_steps(x, n, ElementwiseLanes(q.each), Divide<Code>(rule), out, [&](std::size_t i) {
    quantize_exactly(x + i, {q.each.skip(i), 4}, rule, out + i);
  });
}

// ---- codes of 8 bits

// Let t = x / scale be the true quotient, e = 2^-24, a = fl(t), z the zero point, an integer, p and
// q the products. The sums p + z and q + z, rounded to integers, and once more only there, are
// equal: is fl(a + z), rounded, the same? It is if it lies between them, which a relative margin m
// of the bounds assures as long as |t| m exceeds what rounds, 6 e |t| and e |z|. If |t| is smaller
// than that asks for, it is less than 4/9, and so all three round to z. NaN never equals NaN, so it
// is in doubt; infinities saturate. One thing is left: where the sum with the constant is negative
// and small, its bits are no longer in order. There |p| > 2^23; p and q lie more than 2^-20 * |p|
// apart, so the sums, which are integers, differ.
v128_t margin(v128_t zero_point) {
  constexpr float kUnit = 0x1p-24F;
  return wasm_f32x4_add(wasm_f32x4_mul(wasm_f32x4_abs(zero_point), wasm_f32x4_splat(2.25F * kUnit)),
                        wasm_f32x4_splat(12 * kUnit));
}

// 1 / scale, or NaN where there are no such bounds: scales that nobody has validated may have none,
// and zero points may be no codes.
v128_t reciprocal(v128_t scale, v128_t zero_point, const CodeRule& rule) {
  const v128_t serves = wasm_v128_and(
      wasm_v128_and(wasm_f32x4_gt(scale, wasm_f32x4_splat(0x1p-100F)),
                    wasm_f32x4_lt(scale, wasm_f32x4_splat(0x1p100F))),
      wasm_v128_and(
          wasm_f32x4_eq(wasm_f32x4_nearest(zero_point), zero_point),
          wasm_v128_and(
              wasm_f32x4_ge(zero_point, wasm_f32x4_splat(static_cast<float>(rule.qmin))),
              wasm_f32x4_le(zero_point, wasm_f32x4_splat(static_cast<float>(rule.qmax))))));
  return wasm_v128_or(wasm_f32x4_div(wasm_f32x4_splat(1.0F), scale), wasm_v128_not(serves));
}

v128_t offset(v128_t zero_point) { return wasm_f32x4_add(zero_point, wasm_f32x4_splat(kMagic)); }

// Of so many groups at a time. Four times as many make values that come from memory take a fifth
// longer.
constexpr std::size_t kGroups = 32;

struct GroupBrackets {
  float below[kGroups];
  float above[kGroups];
  float offsets[kGroups];

  [[nodiscard]] Bracket of(std::size_t group) const {
    return {wasm_v128_load32_splat(below + group), wasm_v128_load32_splat(above + group),
            wasm_v128_load32_splat(offsets + group)};
  }
};

// Four groups at a time, the last four again; fewer than four, each in all lanes.
[[gnu::noinline]] void make_brackets(const ElementwiseFloatQParams& q, std::size_t count,
                                     const CodeRule& rule, GroupBrackets& out) {
  const bool few = count < 4;
  for (std::size_t i = 0; i < count; i += few ? 1 : 4) {
    const std::size_t at = few ? i : std::min(i, count - 4);
    const auto load = [=](const float* from) {
      return few ? wasm_v128_load32_splat(from + at) : wasm_v128_load(from + at);
    };
    const v128_t zero_point = load(q.zero_points);
    const v128_t middle = reciprocal(load(q.scales), zero_point, rule);
    const v128_t width = wasm_f32x4_mul(middle, margin(zero_point));
    wasm_v128_store(out.below + at, wasm_f32x4_sub(middle, width));
    wasm_v128_store(out.above + at, wasm_f32x4_add(middle, width));
    wasm_v128_store(out.offsets + at, offset(zero_point));
  }
}

// Of columns: as little as can be, so that the first cache has room for values, too.
struct ColumnBrackets {
  float reciprocals[kColumns];
  float offsets[kColumns];
  std::size_t offset_mask;  // 0 if all offsets are alike, and those of the first four serve
  // 1 - m and 1 + m, in each lane for the widest margin of its columns.
  v128_t less;
  v128_t more;

  [[nodiscard]] Bracket of(std::size_t column) const {
    const v128_t middle = wasm_v128_load(reciprocals + column);
    return {wasm_f32x4_mul(middle, less), wasm_f32x4_mul(middle, more),
            wasm_v128_load(offsets + (column & offset_mask))};
  }
};

// 4 divides `count`.
[[gnu::noinline]] void make_brackets(const ElementwiseFloatQParams& q, std::size_t count,
                                     const CodeRule& rule, ColumnBrackets& out) {
  v128_t widest = wasm_f32x4_splat(0.0F);
  for (std::size_t i = 0; i < count; i += 4) {
    const v128_t zero_point = wasm_v128_load(q.zero_points + i);
    const v128_t middle = reciprocal(wasm_v128_load(q.scales + i), zero_point, rule);
    const v128_t serves = wasm_f32x4_eq(middle, middle);
    widest = wasm_f32x4_pmax(widest, wasm_v128_and(margin(zero_point), serves));
    wasm_v128_store(out.reciprocals + i, middle);
    wasm_v128_store(out.offsets + i, offset(zero_point));
  }
  out.less = wasm_f32x4_sub(wasm_f32x4_splat(1.0F), widest);
  out.more = wasm_f32x4_add(wasm_f32x4_splat(1.0F), widest);
  out.offset_mask = mask_unless_alike(q.zero_points, count);
}

// The fast loops are functions of their own, without calls, so that what they use stays in
// registers, and all that int8 and uint8 differ in. They return at the first step in doubt.

// Steps `step` and later of groups of `steps` steps each. @return the step in doubt, or `end`
template <typename Code>
[[gnu::noinline]] std::size_t multiply_groups(const float* x, std::size_t step, std::size_t end,
                                              std::size_t steps, const GroupBrackets& brackets,
                                              const CodeRule& limits, std::uint8_t* out) {
  const v128_t magic = hidden_splat<kMagicBits>();
  const CodeRule rule = limits;  // in registers: `out` may be anything in memory
  std::size_t group = step / steps;
  for (std::size_t last = (group + 1) * steps; step < end; last += steps, ++group) {
    const Bracket b = brackets.of(group);
    for (; step < last; ++step) {
      Int32x16 codes;
      v128_t doubt = wasm_i32x4_splat(0);
      for (std::size_t j = 0; j < 4; ++j) {
        codes.lanes[j] = multiply(wasm_v128_load(x + kStep * step + 4 * j), b, magic, doubt);
      }
      wasm_v128_store(out + kStep * step, narrow_codes<Code>(codes, rule));
      if (wasm_v128_any_true(doubt)) return step;
    }
  }
  return end;
}

// Columns `i` and later of four rows so far apart, four columns at a time. @return the first column
// in doubt, or `whole`
template <typename Code>
[[gnu::noinline]] std::size_t multiply_rows(const float* x, std::size_t i, std::size_t whole,
                                            std::size_t apart, const ColumnBrackets& brackets,
                                            const CodeRule& limits, std::uint8_t* out) {
  const v128_t magic = hidden_splat<kMagicBits>();
  const CodeRule rule = limits;  // in registers: `out` may be anything in memory
  for (; i < whole; i += 4) {
    const Bracket b = brackets.of(i);
    Int32x16 codes;
    v128_t doubt = wasm_i32x4_splat(0);
    for (std::size_t r = 0; r < kRowsTogether; ++r) {
      codes.lanes[r] = multiply(wasm_v128_load(x + r * apart + i), b, magic, doubt);
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

struct FastLoops {
  decltype(multiply_groups<std::int8_t>)* groups;
  decltype(multiply_rows<std::int8_t>)* rows;
};

template <typename Code>
constexpr FastLoops kFastLoops{multiply_groups<Code>, multiply_rows<Code>};

// A step in doubt, to bytes, whether they are signed or not.
void quantize_to_bytes(const float* x, const FourByFour& qparams, const CodeRule& rule,
                       std::uint8_t* out) {
  Int32x16 codes;
  quantize_exactly(x, qparams, rule, codes);
  for (v128_t& lane : codes.lanes) lane = wasm_v128_and(lane, wasm_i32x4_splat(255));
  store_codes(codes, out);
}

void quantize_groups(const FastLoops& fast, const void* from, std::size_t n, const QParams& q,
                     const CodeRule& rule, void* to) {
  const auto* x = static_cast<const float*>(from);
  auto* out = static_cast<std::uint8_t*>(to);
  const auto exact = [&](std::size_t position, std::size_t group) {
    quantize_to_bytes(x + position, FourAlike(q.each, group).qparams(), rule, out + position);
  };
  // Brackets take longer than the divisions of one step.
  if (n == kStep) return exact(0, 0);
  const std::size_t length = std::min(q.length, n);
  const std::size_t groups = (n + length - 1) / length;
  const std::size_t steps = length / kStep;
  GroupBrackets brackets;
  for (std::size_t group = 0; group < groups; group += kGroups) {
    const std::size_t count = std::min(kGroups, groups - group);
    make_brackets(q.each.skip(group), count, rule, brackets);
    const std::size_t first = group * length;
    const std::size_t end = std::min(count * length, n - first) / kStep;
    for (std::size_t step = 0; step < end; ++step) {
      step = fast.groups(x + first, step, end, steps, brackets, rule, out + first);
      if (step == end) break;
      exact(first + step * kStep, group + step / steps);
    }
  }
}

void quantize_rows(const FastLoops& fast, const void* from, std::size_t n, const QParams& q,
                   const CodeRule& rule, void* to) {
  ColumnBrackets brackets;
  make_brackets(q.each, n, rule, brackets);
  for_rows<kRowsTogether>(q, [&](std::size_t position, std::size_t apart) {
    const float* x = static_cast<const float*>(from) + position;
    auto* out = static_cast<std::uint8_t*>(to) + position;
    for (std::size_t i = 0; i < n; i += 4) {
      i = fast.rows(x, i, n, apart, brackets, rule, out);
      if (i == n) return;
      float values[kStep];
      std::uint8_t codes[kStep];
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

template <typename Code>
void quantize_groups(const void* from, std::size_t n, const QParams& q, const CodeRule& rule,
                     void* to) {
  quantize_groups(kFastLoops<Code>, from, n, q, rule, to);
}

template <typename Code>
void quantize_rows(const void* from, std::size_t n, const QParams& q, const CodeRule& rule,
                   void* to) {
  quantize_rows(kFastLoops<Code>, from, n, q, rule, to);
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
