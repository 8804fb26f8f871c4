// 32 values a step in eight vectors: PyTorch's sum keeps four rows of eight lanes apart, adds rows
// to them in runs of `step`, and cascades full runs through four levels. The order is the result.
// Parity: bit-identical to reference/sum_f32.h, which follows the algorithm lane by lane.
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

constexpr std::size_t kLevels = 4;
constexpr std::size_t kLanes = 8;        // of a row
constexpr std::size_t kRowsPerStep = 4;  // rows whose sums stay apart until the end
constexpr std::size_t kVectors = kRowsPerStep * kLanes / 4;

// log2 of the rows that a level takes before it passes its sum on.
std::size_t level_power(std::size_t size) {
  const std::size_t ceil_log2 = size <= 2 ? 1 : static_cast<std::size_t>(std::bit_width(size - 1));
  return ceil_log2 / 4 > 4 ? ceil_log2 / 4 : 4;
}

// Runs add(row, acc) over rows first .. last of `size` in the cascade's order; Row is what one
// row's sums take. Whole runs of `step` end at `last` unless it is the end, where acc[0] gets the
// result.
template <typename Row, typename Add, typename Merge>
void cascade(std::size_t first, std::size_t last, std::size_t size, bool is_end, const Row& zero,
             Add add, Merge merge, Row (&acc)[kLevels]) {
  const std::size_t power = level_power(size);
  const std::size_t step = std::size_t{1} << power;
  const std::size_t mask = step - 1;
  std::size_t i = first;
  while (i + step <= last) {
    for (const std::size_t end = i + step; i < end; ++i) add(i - first, acc[0]);
    for (std::size_t level = 1; level < kLevels; ++level) {
      merge(acc[level], acc[level - 1]);
      acc[level - 1] = zero;
      if ((i & (mask << (level * power))) != 0) break;
    }
  }
  if (!is_end) return;
  for (; i < last; ++i) add(i - first, acc[0]);
  for (std::size_t level = 1; level < kLevels; ++level) merge(acc[0], acc[level]);
}

struct VectorRow {
  v128_t lanes[kVectors];
};

// Fewer than 8 values: the same algorithm with rows of a single lane.
float sum_few(const float* x, std::size_t n) {
  struct Row {
    float lanes[kRowsPerStep];
  };
  const std::size_t steps = n / kRowsPerStep;
  Row acc[kLevels] = {};
  cascade(
      0, steps, steps, true, Row{},
      [&](std::size_t i, Row& acc) {
        for (std::size_t j = 0; j < kRowsPerStep; ++j) {
          acc.lanes[j] += x[i * kRowsPerStep + j];
        }
      },
      [](Row& acc, const Row& from) {
        for (std::size_t j = 0; j < kRowsPerStep; ++j) acc.lanes[j] += from.lanes[j];
      },
      acc);
  Row& row = acc[0];
  for (std::size_t i = steps * kRowsPerStep; i < n; ++i) row.lanes[0] += x[i];
  return ((row.lanes[0] + row.lanes[1]) + row.lanes[2]) + row.lanes[3];
}

template <typename Term>
float sum_terms(Term term, Piece piece, SumState& state) {
  const auto [begin, count, n] = piece;
  assert(begin % kPiece == 0 && (begin + count == n || count % kPiece == 0));
  if (n < kLanes) {
    float few[kLanes];
    for (std::size_t i = 0; i < n; ++i) few[i] = term.scalar(i);
    return n == 0 ? 0.0F : 0.0F + sum_few(few, n);
  }
  const std::size_t steps = n / (kLanes * kRowsPerStep);
  const std::size_t first = begin / (kLanes * kRowsPerStep);
  const bool is_last = begin + count == n;
  const std::size_t last = is_last ? steps : (begin + count) / (kLanes * kRowsPerStep);
  VectorRow zero;
  for (v128_t& lane : zero.lanes) lane = wasm_f32x4_splat(0.0F);
  // A copy that nothing else points to, so that its first row stays in registers.
  VectorRow acc[kLevels] = {zero, zero, zero, zero};
  if (begin > 0) std::memcpy(acc, state.lanes, sizeof acc);
  cascade(
      first, last, steps, is_last, zero,
      [&](std::size_t i, VectorRow& to) {
        for (std::size_t j = 0; j < kVectors; ++j) {
          to.lanes[j] = wasm_f32x4_add(to.lanes[j], term.vector(i * 32 + 4 * j));
        }
      },
      [](VectorRow& to, const VectorRow& from) {
        for (std::size_t j = 0; j < kVectors; ++j) {
          to.lanes[j] = wasm_f32x4_add(to.lanes[j], from.lanes[j]);
        }
      },
      acc);
  if (!is_last) {
    std::memcpy(state.lanes, acc, sizeof acc);
    return 0.0F;
  }
  VectorRow& row = acc[0];
  const std::size_t rows = count / kLanes;
  for (std::size_t i = (steps - first) * kRowsPerStep; i < rows; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      row.lanes[j] = wasm_f32x4_add(row.lanes[j], term.vector(i * kLanes + 4 * j));
    }
  }
  float lanes[kLanes];
  for (std::size_t j = 0; j < 2; ++j) {
    v128_t total = row.lanes[j];
    for (std::size_t k = 1; k < kRowsPerStep; ++k) {
      total = wasm_f32x4_add(total, row.lanes[2 * k + j]);
    }
    wasm_v128_store(lanes + 4 * j, total);
  }
  float sum = 0.0F;
  for (std::size_t i = rows * kLanes; i < count; ++i) sum += term.scalar(i);
  for (const float lane : lanes) sum += lane;
  return 0.0F + sum;
}

struct Value {
  const float* x;
  [[nodiscard]] float scalar(std::size_t i) const { return x[i]; }
  [[nodiscard]] v128_t vector(std::size_t i) const { return wasm_v128_load(x + i); }
};

struct SquaredDifference {
  const float* a;
  const float* b;
  [[nodiscard]] float scalar(std::size_t i) const {
    const float d = a[i] - b[i];
    return d * d;
  }
  [[nodiscard]] v128_t vector(std::size_t i) const {
    const v128_t d = wasm_f32x4_sub(wasm_v128_load(a + i), wasm_v128_load(b + i));
    return wasm_f32x4_mul(d, d);
  }
};

struct AbsoluteDifference {
  const float* a;
  const float* b;
  [[nodiscard]] float scalar(std::size_t i) const { return std::fabs(a[i] - b[i]); }
  [[nodiscard]] v128_t vector(std::size_t i) const {
    return wasm_f32x4_abs(wasm_f32x4_sub(wasm_v128_load(a + i), wasm_v128_load(b + i)));
  }
};

}  // namespace

float sum_f32(const float* x, std::size_t n) {
  SumState state;
  return sum_terms(Value{x}, {0, n, n}, state);
}

float sum_squared_difference_f32(const float* a, const float* b, Piece piece, SumState& state) {
  return sum_terms(SquaredDifference{a, b}, piece, state);
}

float sum_absolute_difference_f32(const float* a, const float* b, Piece piece, SumState& state) {
  return sum_terms(AbsoluteDifference{a, b}, piece, state);
}

}  // namespace zeropoint::kernels
