// Quantization to 8 bits without division. Each value is multiplied by a number slightly below the
// scale's reciprocal and by one slightly above it. Equal results are the code. Otherwise the step
// is in doubt and is computed exactly.
#pragma once

#include <cstddef>

#include "kernels/kernels.h"
#include "kernels/qparams_lanes.h"
#include "kernels/relaxed.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {

/// Two factors for four values, and the offset for both products: zero point plus kMagic.
struct Bracket {
  v128_t below;
  v128_t above;
  v128_t offset;
};

/// Four codes plus kMagic, not yet clamped; sets the lanes in doubt.
inline v128_t multiply(v128_t x, const Bracket& b, v128_t& doubt) {
  const v128_t low = multiply_add(x, b.below, b.offset);
  const v128_t high = multiply_add(x, b.above, b.offset);
  doubt = wasm_v128_or(doubt, wasm_f32x4_ne(low, high));
  return low;
}

/// Inputs for brackets, four at a time.
struct BracketParts {
  v128_t middle;  ///< 1 / scale, or NaN for no bracket
  v128_t margin;  ///< relative distance of the bounds from the middle
  v128_t offset;
};
BracketParts bracket_parts(v128_t scale, v128_t zero_point, const CodeRule& rule);

/// Groups per batch of brackets. With four times as many, values from memory take a fifth longer.
inline constexpr std::size_t kGroups = 32;

struct GroupBrackets {
  float below[kGroups];
  float above[kGroups];
  float offsets[kGroups];
  const float* scales;

  [[nodiscard]] Bracket of(std::size_t group) const {
    return {wasm_v128_load32_splat(below + group), wasm_v128_load32_splat(above + group),
            wasm_v128_load32_splat(offsets + group)};
  }
};

/// Fast and exact loops of an operation over groups.
struct GroupLoops {
  /// Steps from `step` on, in groups of `steps` steps each: a separate function without calls, so
  /// that its constants stay in registers. @return the first step in doubt, or `end`
  std::size_t (*fast)(const float* x, std::size_t step, std::size_t end, std::size_t steps,
                      const GroupBrackets& brackets, const CodeRule& rule, std::byte* out);
  /// One step of one group; the group's qparams come first in `group`.
  void (*exact)(const float* x, const ElementwiseQParams& group, const CodeRule& rule,
                std::byte* out);
  std::size_t size;  ///< bytes of a result
};

/// Implements Operation::groups with these loops, for codes of 8 bits.
void run_groups(const GroupLoops& loops, const void* from, std::size_t n, const AnyQParams& q,
                const CodeRule& rule, void* to);

}  // namespace zeropoint::kernels
