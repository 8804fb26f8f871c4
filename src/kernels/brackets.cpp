// Computes the bounds of 32 groups at a time, then runs the fast loop over their steps, and the
// exact loop for steps in doubt. Parity: that of the exact loop, see bracket_parts().
#include "kernels/brackets.h"

#include <algorithm>

namespace zeropoint::kernels {
namespace {

// Four groups per step, the last four again at the end; with fewer than four, each one in all
// lanes.
[[gnu::noinline]] void make_brackets(const ElementwiseQParams& q, std::size_t count,
                                     const CodeRule& rule, GroupBrackets& out) {
  const bool few = count < 4;
  for (std::size_t i = 0; i < count; i += few ? 1 : 4) {
    const std::size_t at = few ? i : std::min(i, count - 4);
    const auto load = [=](const float* from) {
      return few ? wasm_v128_load32_splat(from + at) : wasm_v128_load(from + at);
    };
    const BracketParts parts = bracket_parts(load(q.factors), load(q.zero_points), rule);
    const v128_t width = wasm_f32x4_mul(parts.middle, parts.margin);
    wasm_v128_store(out.below + at, wasm_f32x4_sub(parts.middle, width));
    wasm_v128_store(out.above + at, wasm_f32x4_add(parts.middle, width));
    wasm_v128_store(out.offsets + at, parts.offset);
  }
  out.scales = q.factors;
}

}  // namespace

// Let t = x / scale be the true quotient, e = 2^-24, a = fl(t), z the zero point (an integer), p
// and q the products. If the sums p + z and q + z, rounded to integers, are equal, then fl(a + z),
// rounded, must give the same integer. It does if it lies between them. A relative margin m of the
// bounds ensures this as long as |t| m exceeds the rounding errors 6 e |t| and e |z|. For smaller
// |t|, |t| < 4/9 holds, so all three round to z. NaN never equals NaN, so it is in doubt;
// infinities saturate. A last case: where the sum with the constant is negative and small, its bits
// are not in order. There |p| > 2^23; p and q differ by more than 2^-20 * |p|, so the sums, which
// are integers, differ.
//
// Unvalidated scales may have no such bounds, and unvalidated zero points may not be codes.
BracketParts bracket_parts(v128_t scale, v128_t zero_point, const CodeRule& rule) {
  constexpr float kUnit = 0x1p-24F;
  const v128_t serves = wasm_v128_and(
      wasm_v128_and(wasm_f32x4_gt(scale, wasm_f32x4_splat(0x1p-100F)),
                    wasm_f32x4_lt(scale, wasm_f32x4_splat(0x1p100F))),
      wasm_v128_and(
          wasm_f32x4_eq(wasm_f32x4_nearest(zero_point), zero_point),
          wasm_v128_and(
              wasm_f32x4_ge(zero_point, wasm_f32x4_splat(static_cast<float>(rule.qmin))),
              wasm_f32x4_le(zero_point, wasm_f32x4_splat(static_cast<float>(rule.qmax))))));
  const v128_t least = wasm_f32x4_mul(wasm_f32x4_abs(zero_point), wasm_f32x4_splat(2.25F * kUnit));
  return {wasm_v128_or(wasm_f32x4_div(wasm_f32x4_splat(1.0F), scale), wasm_v128_not(serves)),
          wasm_f32x4_add(least, wasm_f32x4_splat(12 * kUnit)),
          wasm_f32x4_add(zero_point, wasm_f32x4_splat(kMagic))};
}

void run_groups(const GroupLoops& loops, const void* from, std::size_t n, const AnyQParams& q,
                const CodeRule& rule, void* to) {
  const auto* x = static_cast<const float*>(from);
  auto* out = static_cast<std::byte*>(to);
  const auto exact = [&](std::size_t position, std::size_t group) {
    loops.exact(x + position, q.each.skip(group), rule, out + position * loops.size);
  };
  // Computing brackets takes longer than the divisions of one step.
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
      step = loops.fast(x + first, step, end, steps, brackets, rule, out + first * loops.size);
      if (step == end) break;
      exact(first + step * kStep, group + step / steps);
    }
  }
}

}  // namespace zeropoint::kernels
