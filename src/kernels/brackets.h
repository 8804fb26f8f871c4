// Quantizing to 8 bits without dividing. Values are multiplied by a number a little below the
// scale's reciprocal and by one a little above it; where both lead to the same code, that is the
// code. Where they do not, a step is in doubt, and is computed exactly.
#pragma once

#include <cstddef>

#include "kernels/kernels.h"
#include "kernels/qparams_lanes.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {

/// What four values are multiplied by, and what is added to both products: zero point and kMagic.
struct Bracket {
  v128_t below;
  v128_t above;
  v128_t offset;
};

/// Four codes plus kMagic, yet to be clamped; marks those in doubt.
inline v128_t multiply(v128_t x, const Bracket& b, v128_t& doubt) {
  const v128_t low = multiply_add(x, b.below, b.offset);
  const v128_t high = multiply_add(x, b.above, b.offset);
  doubt = wasm_v128_or(doubt, wasm_f32x4_ne(low, high));
  return low;
}

/// What brackets are made of, four at a time.
struct BracketParts {
  v128_t middle;  ///< 1 / scale, or NaN where there is no bracket
  v128_t margin;  ///< by how much of the middle the bounds lie apart from it
  v128_t offset;
};
BracketParts bracket_parts(v128_t scale, v128_t zero_point, const CodeRule& rule);

/// Of so many groups at a time. Four times as many make values that come from memory take a fifth
/// longer.
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

/// The loops of an operation over groups.
struct GroupLoops {
  /// Steps `step` and later of groups of `steps` steps each: a function of its own, without calls,
  /// so that what it uses stays in registers. @return the first step in doubt, or `end`
  std::size_t (*fast)(const float* x, std::size_t step, std::size_t end, std::size_t steps,
                      const GroupBrackets& brackets, const CodeRule& rule, std::byte* out);
  /// One step, of one group, whose qparams come first.
  void (*exact)(const float* x, const ElementwiseQParams& group, const CodeRule& rule,
                std::byte* out);
  std::size_t size;  ///< bytes of a result
};

/// Operation::groups by such loops, of codes of 8 bits.
void run_groups(const GroupLoops& loops, const void* from, std::size_t n, const AnyQParams& q,
                const CodeRule& rule, void* to);

}  // namespace zeropoint::kernels
