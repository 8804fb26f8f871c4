// Dot products of up to four rows of x with rows of weights, eight values per step. In double, rows
// of x are widened once for up to kDotColumns rows of weights, whose values are widened as they are
// loaded, once for all rows of x. The order of additions does not depend on the number of rows.
// Parity: bit-identical to reference/dot.h.
#include <algorithm>
#include <cassert>

#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

constexpr std::size_t kEight = 8;

// ---- in float32

struct Floats8 {
  static constexpr std::size_t kVectors = 2;
  v128_t vectors[kVectors];

  explicit Floats8(const float* values)
      : vectors{wasm_v128_load(values), wasm_v128_load(values + 4)} {}
};

// Adds up the partial sums of a row.
float join(const v128_t* sums) {
  float lanes[4];
  wasm_v128_store(lanes, wasm_f32x4_add(sums[0], sums[1]));
  return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

template <std::size_t kCount>
void dot_rows(const float* x, std::size_t stride, const float* w, std::size_t k, float* dots) {
  v128_t acc[kCount][Floats8::kVectors];
  for (auto& row : acc) {
    for (v128_t& lanes : row) lanes = wasm_f32x4_splat(0.0F);
  }
  std::size_t i = 0;
  for (; i + kEight <= k; i += kEight) {
    const Floats8 weights(w + i);
    for (std::size_t r = 0; r < kCount; ++r) {
      const Floats8 values(x + r * stride + i);
      for (std::size_t j = 0; j < Floats8::kVectors; ++j) {
        acc[r][j] =
            wasm_f32x4_add(acc[r][j], wasm_f32x4_mul(values.vectors[j], weights.vectors[j]));
      }
    }
  }
  for (std::size_t r = 0; r < kCount; ++r) {
    float dot = join(acc[r]);
    for (std::size_t t = i; t < k; ++t) dot += x[r * stride + t] * w[t];
    dots[r] = dot;
  }
}

// ---- in double

// Inputs per piece: four rows of them, widened, take half of a first-level cache.
constexpr std::size_t kPieceInputs = 512;
constexpr std::size_t kVectors = 4;  // of eight doubles

// Two float32 as doubles, in one instruction.
v128_t widen_two(const float* values) {
  return wasm_f64x2_promote_low_f32x4(wasm_v128_load64_zero(values));
}

// Partial sums of up to kDotRows rows with one row of weights.
using PartialSums = v128_t[kDotRows][kVectors];

// Adds products of `count` inputs, a multiple of eight, of kRows widened rows, kPieceInputs apart,
// and kColumns rows of weights, k apart; only vectors first ... first + kCount - 1 of eight values,
// so that the sums of all rows and columns stay in registers.
template <std::size_t kRows, std::size_t kColumns, std::size_t kCount>
void add_products(const double* x, const float* w, std::size_t k, std::size_t count,
                  std::size_t first, PartialSums* sums) {
  v128_t acc[kColumns][kRows][kCount];
  for (std::size_t c = 0; c < kColumns; ++c) {
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t j = 0; j < kCount; ++j) acc[c][r][j] = sums[c][r][first + j];
    }
  }
  for (std::size_t i = 2 * first; i < count; i += kEight) {
    for (std::size_t j = 0; j < kCount; ++j) {
      const std::size_t at = i + 2 * j;
      v128_t weights[kColumns];
      for (std::size_t c = 0; c < kColumns; ++c) weights[c] = widen_two(w + c * k + at);
      for (std::size_t r = 0; r < kRows; ++r) {
        const v128_t values = wasm_v128_load(x + r * kPieceInputs + at);
        for (std::size_t c = 0; c < kColumns; ++c) {
          acc[c][r][j] = wasm_f64x2_add(acc[c][r][j], wasm_f64x2_mul(values, weights[c]));
        }
      }
    }
  }
  for (std::size_t c = 0; c < kColumns; ++c) {
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t j = 0; j < kCount; ++j) sums[c][r][first + j] = acc[c][r][j];
    }
  }
}

// The same for all vectors of `columns` rows of weights.
template <std::size_t kRows>
void add_piece(const double* x, const float* w, std::size_t k, std::size_t columns,
               std::size_t count, PartialSums* sums) {
  // Eight sums at a time fit in the registers beside their factors, and share most loads this way.
  constexpr std::size_t kCount = kRows == 1 ? 2 : 1;
  constexpr std::size_t kColumns = kRows == 1 ? 4 : 2;
  std::size_t column = 0;
  for (; column + kColumns <= columns; column += kColumns) {
    for (std::size_t first = 0; first < kVectors; first += kCount) {
      add_products<kRows, kColumns, kCount>(x, w + column * k, k, count, first, sums + column);
    }
  }
  for (; column < columns; ++column) {
    for (std::size_t first = 0; first < kVectors; first += kCount) {
      add_products<kRows, 1, kCount>(x, w + column * k, k, count, first, sums + column);
    }
  }
}

double join_doubles(const v128_t* sums) {
  const v128_t sum =
      wasm_f64x2_add(wasm_f64x2_add(sums[0], sums[1]), wasm_f64x2_add(sums[2], sums[3]));
  return wasm_f64x2_extract_lane(sum, 0) + wasm_f64x2_extract_lane(sum, 1);
}

template <std::size_t kRows>
void dot_columns(const float* x, std::size_t stride, const float* w, std::size_t columns,
                 std::size_t k, double* dots) {
  PartialSums sums[kDotColumns];
  for (std::size_t c = 0; c < columns; ++c) {
    for (auto& row : sums[c]) {
      for (v128_t& lanes : row) lanes = wasm_f64x2_splat(0.0);
    }
  }
  const std::size_t whole = k / kEight * kEight;
  alignas(16) double wide[kRows * kPieceInputs];
  for (std::size_t first = 0; first < whole; first += kPieceInputs) {
    const std::size_t count = std::min(kPieceInputs, whole - first);
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t i = 0; i < count; i += 2) {
        wasm_v128_store(wide + r * kPieceInputs + i, widen_two(x + r * stride + first + i));
      }
    }
    add_piece<kRows>(wide, w + first, k, columns, count, sums);
  }
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t r = 0; r < kRows; ++r) {
      double dot = join_doubles(sums[c][r]);
      for (std::size_t t = whole; t < k; ++t) {
        dot += static_cast<double>(x[r * stride + t]) * static_cast<double>(w[c * k + t]);
      }
      dots[c * kDotRows + r] = dot;
    }
  }
}

}  // namespace

void dots(const float* x, std::size_t rows, std::size_t stride, const float* w, std::size_t columns,
          std::size_t k, double* dots) {
  assert(rows >= 1 && rows <= kDotRows && columns <= kDotColumns);
  // Two and three rows are rare, so there are no separate loops for them.
  if (rows == kDotRows) return dot_columns<kDotRows>(x, stride, w, columns, k, dots);
  for (std::size_t r = 0; r < rows; ++r) {
    dot_columns<1>(x + r * stride, stride, w, columns, k, dots + r);
  }
}

void dots(const float* x, std::size_t rows, std::size_t stride, const float* w, std::size_t columns,
          std::size_t k, float* dots) {
  assert(rows >= 1 && rows <= kDotRows && columns <= kDotColumns);
  for (std::size_t c = 0; c < columns; ++c) {
    float* own = dots + c * kDotRows;
    if (rows == kDotRows) {
      dot_rows<kDotRows>(x, stride, w + c * k, k, own);
      continue;
    }
    for (std::size_t r = 0; r < rows; ++r) {
      dot_rows<1>(x + r * stride, stride, w + c * k, k, own + r);
    }
  }
}

}  // namespace zeropoint::kernels
