// Dot products of up to four rows of x with rows of weights, eight values per step. In double, rows
// of x are widened once for up to kDotColumns rows of weights, whose values are widened as they are
// loaded, once for all rows of x. The order of additions does not depend on the number of rows.
// Parity: bit-identical to reference/dot.h.
#include <algorithm>
#include <cassert>
#include <type_traits>

#include "kernels/kernels.h"
#include "kernels/relaxed.h"
#include "kernels/simd.h"

namespace zeropoint::kernels {
namespace {

// Values per step, each with a partial sum of its own.
constexpr std::size_t kEight = 8;

// Inputs per piece: four rows of them, widened, take half of a first-level cache.
constexpr std::size_t kPieceInputs = 512;

// Products in float32, four per vector.
struct Floats {
  using Value = float;
  static constexpr std::size_t kVectors = 2;  // of a step

  static v128_t zero() { return wasm_f32x4_splat(0.0F); }
  static v128_t load(const float* values) { return wasm_v128_load(values); }
  static v128_t add_product(v128_t sum, v128_t a, v128_t b) {
    return wasm_f32x4_add(sum, wasm_f32x4_mul(a, b));
  }
  static float join(const v128_t* sums) {
    float lanes[4];
    wasm_v128_store(lanes, wasm_f32x4_add(sums[0], sums[1]));
    return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
  }
};

// Products in double, two per vector.
struct Widened {
  using Value = double;
  static constexpr std::size_t kVectors = 4;

  static v128_t zero() { return wasm_f64x2_splat(0.0); }
  // Two float32 as doubles, in one instruction.
  static v128_t load(const float* values) {
    return wasm_f64x2_promote_low_f32x4(wasm_v128_load64_zero(values));
  }
  static v128_t add_product(v128_t sum, v128_t a, v128_t b) { return add_exact_product(a, b, sum); }
  static double join(const v128_t* sums) {
    const v128_t sum =
        wasm_f64x2_add(wasm_f64x2_add(sums[0], sums[1]), wasm_f64x2_add(sums[2], sums[3]));
    return wasm_f64x2_extract_lane(sum, 0) + wasm_f64x2_extract_lane(sum, 1);
  }
};

// Partial sums of up to kDotRows rows with one row of weights.
template <typename Lanes>
using PartialSums = v128_t[kDotRows][Lanes::kVectors];

// Rows of x in the type of the products. Distances are in values.
template <typename Lanes>
struct Rows {
  const typename Lanes::Value* values;
  std::size_t row;     // from a row to the next
  std::size_t step;    // from eight inputs to the next eight
  std::size_t vector;  // from a vector of eight inputs to the next
};

// Adds products of `count` inputs, a multiple of eight, of kRows rows of x and kColumns rows of
// weights, k apart; only vectors first ... first + kCount - 1 of eight values, so that the sums of
// all rows and columns stay in registers.
// @param columns  rows of weights; the last one stands for those beyond it
template <typename Lanes, std::size_t kRows, std::size_t kColumns, std::size_t kCount>
void add_products(const Rows<Lanes>& x, const float* w, std::size_t columns, std::size_t k,
                  std::size_t count, std::size_t first, PartialSums<Lanes>* sums) {
  constexpr std::size_t kValues = kEight / Lanes::kVectors;
  const float* column[kColumns];
  for (std::size_t c = 0; c < kColumns; ++c) column[c] = w + std::min(c, columns - 1) * k;
  v128_t acc[kColumns][kRows][kCount];
  for (std::size_t c = 0; c < kColumns; ++c) {
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t j = 0; j < kCount; ++j) acc[c][r][j] = sums[c][r][first + j];
    }
  }
  // Widened rows lie side by side, at distances that instructions can hold.
  const std::size_t row = std::is_same_v<Lanes, Widened> ? kValues : x.row;
  const typename Lanes::Value* from = x.values + first * x.vector;
  for (std::size_t i = kValues * first; i < count; i += kEight) {
    for (std::size_t j = 0; j < kCount; ++j) {
      const std::size_t at = i + kValues * j;
      v128_t weights[kColumns];
      for (std::size_t c = 0; c < kColumns; ++c) weights[c] = Lanes::load(column[c] + at);
      for (std::size_t r = 0; r < kRows; ++r) {
        const v128_t values = wasm_v128_load(from + j * x.vector + r * row);
        for (std::size_t c = 0; c < kColumns; ++c) {
          acc[c][r][j] = Lanes::add_product(acc[c][r][j], values, weights[c]);
        }
      }
    }
    from += x.step;
  }
  for (std::size_t c = 0; c < kColumns; ++c) {
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t j = 0; j < kCount; ++j) sums[c][r][first + j] = acc[c][r][j];
    }
  }
}

// The same for all vectors of `columns` rows of weights.
template <typename Lanes, std::size_t kRows>
void add_piece(const Rows<Lanes>& x, const float* w, std::size_t k, std::size_t columns,
               std::size_t count, PartialSums<Lanes>* sums) {
  // Up to eight sums at a time fit in the registers beside their factors, and share most loads.
  constexpr std::size_t kCount = kRows == 1 ? 2 : 1;
  constexpr std::size_t kColumns = kRows == 1 ? Lanes::kVectors : 2;
  static_assert(kDotColumns % kColumns == 0);
  for (std::size_t c = 0; c < columns; c += kColumns) {
    for (std::size_t first = 0; first < Lanes::kVectors; first += kCount) {
      add_products<Lanes, kRows, kColumns, kCount>(x, w + c * k, columns - c, k, count, first,
                                                   sums + c);
    }
  }
}

template <typename Lanes, std::size_t kRows>
void dot_columns(const float* x, std::size_t stride, const float* w, std::size_t columns,
                 std::size_t k, typename Lanes::Value* dots) {
  using Value = typename Lanes::Value;
  PartialSums<Lanes> sums[kDotColumns];
  for (auto& column : sums) {
    for (auto& row : column) {
      for (v128_t& lanes : row) lanes = Lanes::zero();
    }
  }
  const std::size_t whole = k / kEight * kEight;
  for (std::size_t first = 0; first < whole; first += kPieceInputs) {
    const std::size_t count = std::min(kPieceInputs, whole - first);
    if constexpr (std::is_same_v<Value, float>) {
      add_piece<Lanes, kRows>({x + first, stride, kEight, kEight / Lanes::kVectors}, w + first, k,
                              columns, count, sums);
    } else {
      // Stored in the order of reading: by vector, step, row.
      alignas(16) double wide[kRows * kPieceInputs];
      double* to = wide;
      for (std::size_t j = 0; j < kEight; j += 2) {
        for (std::size_t i = j; i < count; i += kEight) {
          for (std::size_t r = 0; r < kRows; ++r, to += 2) {
            wasm_v128_store(to, Lanes::load(x + r * stride + first + i));
          }
        }
      }
      add_piece<Lanes, kRows>({wide, 2, 2 * kRows, kRows * count / Lanes::kVectors}, w + first, k,
                              columns, count, sums);
    }
  }
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t r = 0; r < kRows; ++r) {
      Value dot = Lanes::join(sums[c][r]);
      for (std::size_t t = whole; t < k; ++t) {
        dot += static_cast<Value>(x[r * stride + t]) * static_cast<Value>(w[c * k + t]);
      }
      dots[c * kDotRows + r] = dot;
    }
  }
}

template <typename Lanes>
void dot_rows(const float* x, std::size_t rows, std::size_t stride, const float* w,
              std::size_t columns, std::size_t k, typename Lanes::Value* dots) {
  assert(rows >= 1 && rows <= kDotRows && columns <= kDotColumns);
  // Two and three rows are rare, so there are no separate loops for them.
  if (rows == kDotRows) return dot_columns<Lanes, kDotRows>(x, stride, w, columns, k, dots);
  for (std::size_t r = 0; r < rows; ++r) {
    dot_columns<Lanes, 1>(x + r * stride, stride, w, columns, k, dots + r);
  }
}

}  // namespace

void dots(const float* x, std::size_t rows, std::size_t stride, const float* w, std::size_t columns,
          std::size_t k, double* dots) {
  dot_rows<Widened>(x, rows, stride, w, columns, k, dots);
}

void dots(const float* x, std::size_t rows, std::size_t stride, const float* w, std::size_t columns,
          std::size_t k, float* dots) {
  dot_rows<Floats>(x, rows, stride, w, columns, k, dots);
}

}  // namespace zeropoint::kernels
