// Searches of block_search.h: for each tried scale a loop over the values of four sub-blocks.
// Parity: as stated there.
#include "kernels/block_search.h"

namespace zeropoint::kernels {
namespace {

/// Maximum number of values of a sub-block.
constexpr std::size_t kMaxSubBlock = 32;

/// The first value of largest magnitude, with its sign; 0 if all are 0.
F4 signed_max(const F4* x, std::size_t n) {
  F4 most(0.0F);
  F4 value(0.0F);
  for (std::size_t i = 0; i < n; ++i) {
    const F4 magnitude = abs(x[i]);
    const Mask is_larger = magnitude > most;
    most = select(is_larger, magnitude, most);
    value = select(is_larger, x[i], value);
  }
  return value;
}

/// round(s * x) within [low, high].
F4 level(F4 s, F4 x, int low, int high) {
  return to_float(larger(smaller(nearest(s * x), I4(high)), I4(low)));
}

/// Weighted products of values and levels: sum (w*x)*l and sum (w*l)*l.
struct Products {
  F4 values{0.0F};
  F4 levels{0.0F};

  void add(F4 w, F4 x, F4 l) {
    values = values + (w * x) * l;
    levels = levels + (w * l) * l;
  }
};

/// Point at which descend() refuses a sum of squared levels that is not positive.
enum class Refuse {
  kBefore,  ///< before the changed level is added: make_qp_quants()
  kAfter,   ///< after it: make_q3_quants()
};

/// Improves levels one value at a time, for at most five sweeps.
/// @param low, high  limits of a level
/// @return the scale
/// Source: the last loops of make_q3_quants() and make_qp_quants().
F4 descend(const F4* x, const F4* weights, std::size_t n, int low, int high, Refuse refuse,
           Mask is_active, Products sums, F4* levels) {
  const F4 zero(0.0F);
  for (int sweep = 0; sweep < 5 && any(is_active); ++sweep) {
    Mask has_changed = {wasm_i32x4_splat(0)};
    for (std::size_t i = 0; i < n; ++i) {
      const F4 l = levels[i];
      const F4 weighted = weights[i] * x[i];
      const F4 values = sums.values - weighted * l;
      const F4 squares = sums.levels - (weights[i] * l) * l;
      const I4 wanted = larger(smaller(nearest((x[i] * squares) / values), I4(high)), I4(low));
      const F4 next = to_float(wanted);
      const F4 next_values = values + weighted * next;
      const F4 next_squares = squares + (weights[i] * next) * next;
      const Mask is_better =
          is_active & (values > zero) & (next != l) &
          ((refuse == Refuse::kBefore ? squares : next_squares) > zero) &
          ((next_values * next_values) * sums.levels > (sums.values * sums.values) * next_squares);
      // ggml stores bytes; a level of make_qp_quants() that wrapped below 0 loses its high bits.
      const F4 stored = refuse == Refuse::kBefore ? to_float(wanted & I4(255)) : next;
      levels[i] = select(is_better, stored, l);
      sums.values = select(is_better, next_values, sums.values);
      sums.levels = select(is_better, next_squares, sums.levels);
      has_changed = has_changed | is_better;
    }
    is_active = is_active & has_changed;
  }
  return select(sums.levels > zero, sums.values / sums.levels, zero);
}

/// Elements of kIq4Values.
F4 iq4_value(I4 index) {
  const v128_t bytes = wasm_i8x16_swizzle(wasm_v128_load(kIq4Values), index.v);
  // The lowest byte of each lane is the value; the others are those of index 0 and are shifted out.
  return to_float(wasm_i32x4_shr(wasm_i32x4_shl(bytes, 24), 24));
}

}  // namespace

F4 symmetric_scale(const F4* x, const F4* weights, std::size_t n, int count, F4* levels) {
  const F4 most = signed_max(x, n);
  const Mask is_alive = abs(most) >= F4(kGroupMaxEps);
  const auto try_inverse = [&](F4 inverse) {
    Products sums;
    for (std::size_t i = 0; i < n; ++i) {
      sums.add(weights[i], x[i], level(inverse, x[i], -count, count - 1));
    }
    return sums;
  };
  F4 best_inverse = F4(static_cast<float>(-count)) / most;
  const Products first = try_inverse(best_inverse);
  F4 scale = select(first.levels != F4(0.0F), first.values / first.levels, F4(0.0F));
  F4 best = scale * first.values;
  for (int k = -9; k <= 9; ++k) {
    if (k == 0) continue;
    const F4 inverse = F4(-(static_cast<float>(count) + 0.1F * static_cast<float>(k))) / most;
    const Products sums = try_inverse(inverse);
    const Mask is_better =
        (sums.levels > F4(0.0F)) & (sums.values * sums.values > best * sums.levels);
    if (!any(is_better)) continue;
    scale = select(is_better, sums.values / sums.levels, scale);
    best = select(is_better, scale * sums.values, best);
    best_inverse = select(is_better, inverse, best_inverse);
  }
  const F4 offset(static_cast<float>(count));
  for (std::size_t i = 0; i < n; ++i) {
    const F4 l = level(best_inverse, x[i], -count, count - 1) + offset;
    levels[i] = select(is_alive, l, F4(0.0F));
  }
  return select(is_alive, scale, F4(0.0F));
}

F4 descended_scale(const F4* x, std::size_t n, int count, F4* levels) {
  F4 weights[kMaxSubBlock] = {};
  const F4 most = signed_max(x, n);
  const Mask is_alive = abs(most) >= F4(kGroupMaxEps);
  const F4 inverse = F4(static_cast<float>(-count)) / most;
  Products sums;
  for (std::size_t i = 0; i < n; ++i) {
    weights[i] = x[i] * x[i];
    levels[i] = level(inverse, x[i], -count, count - 1);
    sums.add(weights[i], x[i], levels[i]);
  }
  const F4 scale =
      descend(x, weights, n, -count, count - 1, Refuse::kAfter, is_alive, sums, levels);
  for (std::size_t i = 0; i < n; ++i) {
    levels[i] = select(is_alive, levels[i] + F4(static_cast<float>(count)), F4(0.0F));
  }
  return select(is_alive, scale, F4(0.0F));
}

F4 positive_scale(const F4* x, const F4* weights, std::size_t n, int count, F4* levels) {
  F4 most(0.0F);
  for (std::size_t i = 0; i < n; ++i) most = larger(most, x[i]);
  const Mask is_alive = most >= F4(kGroupMaxEps);
  const auto error = [&](F4 inverse, int high) {
    const F4 scale = F4(1.0F) / inverse;
    F4 sum(0.0F);
    for (std::size_t i = 0; i < n; ++i) {
      const F4 l = to_float(smaller(nearest(inverse * x[i]), I4(high)));
      const F4 difference = x[i] - scale * l;
      sum = sum + (weights[i] * difference) * difference;
    }
    return sum;
  };
  const F4 nmax(static_cast<float>(count));
  F4 best_inverse = nmax / most;
  F4 best = error(best_inverse, 255);
  for (int k = -4; k <= 4; ++k) {
    if (k == 0) continue;
    const F4 inverse = F4(0.1F * static_cast<float>(k) + static_cast<float>(count)) / most;
    const F4 sum = error(inverse, count);
    const Mask is_better = sum < best;
    best = select(is_better, sum, best);
    best_inverse = select(is_better, inverse, best_inverse);
  }
  Products sums;
  for (std::size_t i = 0; i < n; ++i) {
    const I4 l = smaller(nearest(best_inverse * x[i]), I4(count));
    sums.add(weights[i], x[i], to_float(l));
    levels[i] = to_float(l & I4(255));
  }
  const F4 scale =
      descend(x, weights, n, -(1 << 23), count, Refuse::kBefore, is_alive, sums, levels);
  for (std::size_t i = 0; i < n; ++i) levels[i] = select(is_alive, levels[i], F4(0.0F));
  return select(is_alive, scale, F4(0.0F));
}

AffineScale affine_scale(const F4* x, const F4* weights, std::size_t n, int count,
                         const AffineTries& search, F4* levels) {
  F4 low = x[0];
  F4 high = x[0];
  F4 sum_w = weights[0];
  F4 sum_x = weights[0] * x[0];
  for (std::size_t i = 1; i < n; ++i) {
    low = smaller(low, x[i]);
    high = larger(high, x[i]);
    sum_w = sum_w + weights[i];
    sum_x = sum_x + weights[i] * x[i];
  }
  const F4 zero(0.0F);
  low = select(low > zero, zero, low);
  const F4 first_low = low;
  const Mask is_flat = high <= low;
  const auto error = [&](F4 scale, const F4* l, F4 offset) {
    F4 sum(0.0F);
    for (std::size_t i = 0; i < n; ++i) {
      const F4 difference = (scale * l[i] + offset) - x[i];
      sum = sum + weights[i] * (search.is_absolute ? abs(difference) : difference * difference);
    }
    return sum;
  };

  const F4 nmax(static_cast<float>(count));
  F4 best_inverse = nmax / (high - low);
  F4 best_low = low;
  F4 scale = F4(1.0F) / best_inverse;
  F4 tried[kMaxSubBlock];
  for (std::size_t i = 0; i < n; ++i) tried[i] = level(best_inverse, x[i] - low, 0, count);
  F4 best = error(scale, tried, low);
  for (int k = 0; k <= search.tries; ++k) {
    const F4 inverse =
        F4((search.first + search.step * static_cast<float>(k)) + static_cast<float>(count)) /
        (high - low);
    F4 sum_l(0.0F);
    F4 sum_ll(0.0F);
    F4 sum_lx(0.0F);
    for (std::size_t i = 0; i < n; ++i) {
      const F4 l = level(inverse, x[i] - low, 0, count);
      tried[i] = l;
      const F4 weighted = weights[i] * l;
      sum_l = sum_l + weighted;
      sum_ll = sum_ll + weighted * l;
      sum_lx = sum_lx + weighted * x[i];
    }
    const F4 determinant = sum_w * sum_ll - sum_l * sum_l;
    F4 next_scale = (sum_w * sum_lx - sum_x * sum_l) / determinant;
    F4 next_low = (sum_ll * sum_x - sum_l * sum_lx) / determinant;
    const Mask is_above = next_low > zero;
    next_scale = select(is_above, sum_lx / sum_ll, next_scale);
    next_low = select(is_above, zero, next_low);
    const F4 sum = error(next_scale, tried, next_low);
    const Mask is_better = (determinant > zero) & (sum < best);
    if (!any(is_better)) continue;
    best_inverse = select(is_better, inverse, best_inverse);
    best_low = select(is_better, low, best_low);
    best = select(is_better, sum, best);
    scale = select(is_better, next_scale, scale);
    low = select(is_better, next_low, low);
  }
  for (std::size_t i = 0; i < n; ++i) {
    levels[i] = select(is_flat, zero, level(best_inverse, x[i] - best_low, 0, count));
  }
  return {select(is_flat, zero, scale), -select(is_flat, first_low, low)};
}

F4 iq4_scale(const F4* x, const F4* weights, std::size_t n) {
  const F4 most = signed_max(x, n);
  const Mask is_alive = abs(most) >= F4(kGroupMaxEps);
  const F4 zero(0.0F);
  const auto try_inverse = [&](F4 inverse) {
    Products sums;
    for (std::size_t i = 0; i < n; ++i) {
      const F4 q = iq4_value(iq4_index(inverse * x[i]));
      const F4 weighted = weights[i] * q;
      sums.values = sums.values + weighted * x[i];
      sums.levels = sums.levels + weighted * q;
    }
    return sums;
  };
  const F4 lowest(static_cast<float>(kIq4Values[0]));
  const Products first = try_inverse(F4(1.0F) / (-most / lowest));
  F4 scale = select(first.levels > zero, first.values / first.levels, zero);
  F4 best = scale * first.values;
  for (int k = -7; k <= 7; ++k) {
    const Products sums = try_inverse(F4(static_cast<float>(k + kIq4Values[0])) / most);
    const Mask is_better = (sums.levels > zero) & (sums.values * sums.values > best * sums.levels);
    scale = select(is_better, sums.values / sums.levels, scale);
    best = select(is_better, scale * sums.values, best);
  }
  return select(is_alive, scale, zero);
}

}  // namespace zeropoint::kernels
