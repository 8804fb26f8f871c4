// 32 values per step in eight vectors. As in PyTorch's sum, four rows of eight lanes stay separate,
// rows are added in runs of `step`, and full runs cascade through four levels. The order defines
// the result.
// Differences are first written to a buffer.
// Parity: bit-identical to reference/sum_f32.h, which follows the algorithm lane by lane.
#include <bit>
#include <cassert>
#include <cstring>

#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

constexpr std::size_t kLevels = 4;
constexpr std::size_t kLanes = 8;        // per row
constexpr std::size_t kRowsPerStep = 4;  // rows whose sums stay apart until the end
constexpr std::size_t kStepValues = kRowsPerStep * kLanes;
constexpr std::size_t kVectors = kStepValues / 4;

// log2 of the rows that a level adds before its sum moves up.
std::size_t level_power(std::size_t size) {
  const std::size_t ceil_log2 = size <= 2 ? 1 : static_cast<std::size_t>(std::bit_width(size - 1));
  return ceil_log2 / 4 > 4 ? ceil_log2 / 4 : 4;
}

struct Row {
  v128_t lanes[kVectors];

  void add(const Row& other) {
    for (std::size_t j = 0; j < kVectors; ++j) lanes[j] = wasm_f32x4_add(lanes[j], other.lanes[j]);
  }
};

// Sums of runs of rows, of runs of runs, and so on: all levels of the cascade but the first.
struct Levels {
  Row rows[kLevels - 1];

  // Rare path: after row i a level is full, and its sum moves up.
  [[gnu::noinline]] void carry(std::size_t i, std::size_t power) {
    const std::size_t mask = (std::size_t{1} << power) - 1;
    for (std::size_t level = 1; level < kLevels - 1; ++level) {
      if ((i & (mask << (level * power))) != 0) return;
      rows[level].add(rows[level - 1]);
      rows[level - 1] = Row{};
    }
  }
};

static_assert(sizeof(Levels) == sizeof(SumState));

// Fewer than 8 values: the same algorithm with rows of a single lane.
float sum_few(const float* x, std::size_t n) {
  const std::size_t rows = n / kRowsPerStep * kRowsPerStep;
  float sums[kRowsPerStep] = {};
  for (std::size_t i = 0; i < rows; ++i) sums[i] += x[i];
  for (std::size_t i = rows; i < n; ++i) sums[0] += x[i];
  return ((sums[0] + sums[1]) + sums[2]) + sums[3];
}

// Sum of all levels and of the values left after whole rows.
[[gnu::noinline]] float finish(Row sum, const Levels& levels, const float* x, std::size_t n) {
  for (const Row& row : levels.rows) sum.add(row);
  const std::size_t rows = n / kLanes * kLanes;
  for (std::size_t i = 0; i < rows; i += kLanes) {
    for (std::size_t j = 0; j < 2; ++j) {
      sum.lanes[j] = wasm_f32x4_add(sum.lanes[j], wasm_v128_load(x + i + 4 * j));
    }
  }
  float lanes[kLanes];
  for (std::size_t j = 0; j < 2; ++j) {
    v128_t total = sum.lanes[j];
    for (std::size_t k = 1; k < kRowsPerStep; ++k) {
      total = wasm_f32x4_add(total, sum.lanes[2 * k + j]);
    }
    wasm_v128_store(lanes + 4 * j, total);
  }
  float result = 0.0F;
  for (std::size_t i = rows; i < n; ++i) result += x[i];
  for (const float lane : lanes) result += lane;
  return 0.0F + result;
}

// The terms of a sum: a, (a - b)^2 or |a - b|.
enum class Term { kValue, kSquare, kMagnitude };

// Terms per step of the loops: computed into a buffer, which stays in the first-level cache, so
// that all sums share one loop.
constexpr std::size_t kTile = 1024;

class Terms {
 public:
  Terms(Term kind, const float* first, const float* second) : term_(kind), a_(first), b_(second) {}

  // Terms first .. first + count, count <= kTile.
  const float* load(std::size_t first, std::size_t count) {
    if (term_ == Term::kValue) return a_ + first;
    const v128_t is_square = wasm_i32x4_splat(term_ == Term::kSquare ? -1 : 0);
    const auto term_of = [&](v128_t x, v128_t y) {
      const v128_t d = wasm_f32x4_sub(x, y);
      return wasm_v128_bitselect(wasm_f32x4_mul(d, d), wasm_f32x4_abs(d), is_square);
    };
    const float* x = a_ + first;
    const float* y = b_ + first;
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4) {
      wasm_v128_store(buffer_ + i, term_of(wasm_v128_load(x + i), wasm_v128_load(y + i)));
    }
    for (; i < count; ++i) {
      wasm_v128_store32_lane(buffer_ + i, term_of(wasm_f32x4_splat(x[i]), wasm_f32x4_splat(y[i])),
                             0);
    }
    return buffer_;
  }

 private:
  Term term_;
  const float* a_;
  const float* b_;
  float buffer_[kTile];
};

float sum_terms(Term term, const float* a, const float* b, Piece piece, SumState& state) {
  const auto [begin, count, n] = piece;
  const std::size_t steps = n / kStepValues;
  const bool is_last = begin + count == n;
  const std::size_t power = level_power(steps);
  const std::size_t run = std::size_t{1} << power;
  assert(begin % (run * kStepValues) == 0 && (is_last || count % (run * kStepValues) == 0));
  // The first level is a local copy without aliases, so that it stays in registers. It is empty
  // after a full run, and so after every piece but the last.
  Row sum{};
  Levels levels{};
  if (begin > 0) std::memcpy(&levels, state.lanes, sizeof levels);
  Terms terms(term, a, b);
  std::size_t i = 0;
  const auto add_steps = [&](std::size_t end) {
    while (i < end) {
      const std::size_t near = end - i < kTile ? end - i : kTile;
      const float* x = terms.load(i, near);
      for (const float* const last = x + near; x < last; x += kStepValues) {
        for (std::size_t j = 0; j < kVectors; ++j) {
          sum.lanes[j] = wasm_f32x4_add(sum.lanes[j], wasm_v128_load(x + 4 * j));
        }
      }
      i += near;
    }
  };
  // One loop for full runs and for the steps after them, so that the additions are compiled once.
  while (i + kStepValues <= count) {
    const bool is_full = i + run * kStepValues <= count;
    add_steps(is_full ? i + run * kStepValues : count / kStepValues * kStepValues);
    if (!is_full) break;
    levels.rows[0].add(sum);
    sum = Row{};
    const std::size_t step = (begin + i) / kStepValues;
    if ((step & ((run - 1) << power)) == 0) levels.carry(step, power);
  }
  if (!is_last) {
    std::memcpy(state.lanes, &levels, sizeof levels);
    return 0.0F;
  }
  const std::size_t left = count - i;
  const float* rest = terms.load(i, left);
  return n < kLanes ? 0.0F + sum_few(rest, left) : finish(sum, levels, rest, left);
}

}  // namespace

float sum_f32(const float* x, std::size_t n) {
  SumState state;
  return sum_terms(Term::kValue, x, x, {0, n, n}, state);
}

float sum_squared_difference_f32(const float* a, const float* b, Piece piece, SumState& state) {
  return sum_terms(Term::kSquare, a, b, piece, state);
}

float sum_absolute_difference_f32(const float* a, const float* b, Piece piece, SumState& state) {
  return sum_terms(Term::kMagnitude, a, b, piece, state);
}

}  // namespace zeropoint::kernels
