// The float32 path of linear layers in the relaxed build: the codes of up to kWide inputs of a
// panel are widened to float32 on the stack, where they stay in the first-level cache while all
// rows pass, four at a time. Parity: none; within (K + 2) FLT_EPSILON (sum |x w| + |bias|), see
// Accumulate::kFloat32.
#include <algorithm>
#include <cassert>

#include "kernels/panels.h"

#if ZEROPOINT_RELAXED

namespace zeropoint::kernels {
namespace {

constexpr std::size_t kWide = 512;  // inputs
constexpr std::size_t kRows = 4;

// The four codes of input `lane` of a step, as float32 and as often as the unit says.
v128_t widen(v128_t tile, std::uint32_t lane) {
  return wasm_f32x4_convert_i32x4(wasm_i32x4_shr(wasm_i32x4_shl(tile, 24 - 8 * lane), 24));
}

// A step's tile, its codes in the highest bits of bytes.
v128_t load_tile(const Panels& w, const std::uint8_t* codes, std::size_t step, std::size_t tile) {
  if (w.bits == 8) return wasm_v128_load(codes + step * 32 + tile * 16);
  if (w.bits == 4) {
    const v128_t bytes = wasm_v128_load(codes + step * 16);
    return wasm_v128_and(tile == 0 ? wasm_i16x8_shl(bytes, 4) : bytes, wasm_i8x16_splat(-16));
  }
  const v128_t bytes = wasm_v128_load(codes + step / 2 * 16);
  const auto shift = static_cast<std::uint32_t>(6 - 2 * (step % 2 * 2 + tile));
  return wasm_v128_and(wasm_i16x8_shl(bytes, shift), wasm_i8x16_splat(-64));
}

// Widens `inputs` inputs from step `first` of a panel's chunk on, less their zero points.
void widen_codes(const Panels& w, const std::uint8_t* codes, const std::int32_t* zero_points,
                 std::size_t first_input, std::size_t first_step, std::size_t inputs,
                 float* weights) {
  const auto unit = static_cast<float>(w.unit());
  v128_t zeros[2] = {wasm_f32x4_splat(0.0F), wasm_f32x4_splat(0.0F)};
  if (w.affine) {
    for (std::size_t tile = 0; tile < 2; ++tile) {
      const v128_t integers = wasm_v128_load(zero_points + tile * kTile);
      zeros[tile] = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(integers), wasm_f32x4_splat(unit));
    }
  }
  for (std::size_t i = 0; i < inputs; i += kStepInputs) {
    for (std::size_t tile = 0; tile < 2; ++tile) {
      const v128_t bytes = load_tile(w, codes, first_step + i / kStepInputs, tile);
      for (std::uint32_t lane = 0; lane < kStepInputs && i + lane < inputs; ++lane) {
        v128_t weight = wasm_f32x4_sub(widen(bytes, lane), zeros[tile]);
        if (w.input_scales != nullptr) {
          const std::size_t input = first_input + i + lane;
          const auto zero = static_cast<float>(w.input_zero_points[input]);
          weight = wasm_f32x4_mul(wasm_f32x4_sub(weight, wasm_f32x4_splat(zero * unit)),
                                  wasm_f32x4_splat(w.input_scales[input]));
        }
        wasm_v128_store(weights + (i + lane) * kPanel + tile * kTile, weight);
      }
    }
  }
}

// sums[row][8] of `count` rows times the widened inputs.
template <std::size_t kCount>
void multiply_rows(const float* x, std::size_t stride, const float* weights, std::size_t inputs,
                   float* sums) {
  v128_t acc[kCount][2];
  for (auto& row : acc) row[0] = row[1] = wasm_f32x4_splat(0.0F);
  for (std::size_t i = 0; i < inputs; ++i) {
    const v128_t low = wasm_v128_load(weights + i * kPanel);
    const v128_t high = wasm_v128_load(weights + i * kPanel + kTile);
    for (std::size_t r = 0; r < kCount; ++r) {
      const v128_t value = wasm_v128_load32_splat(x + r * stride + i);
      acc[r][0] = multiply_add(low, value, acc[r][0]);
      acc[r][1] = multiply_add(high, value, acc[r][1]);
    }
  }
  for (std::size_t r = 0; r < kCount; ++r) {
    wasm_v128_store(sums + r * kPanel, acc[r][0]);
    wasm_v128_store(sums + r * kPanel + kTile, acc[r][1]);
  }
}

void multiply_panel(const FloatProduct& product, std::size_t panel) {
  const Panels& w = product.panels;
  const std::uint8_t* codes = w.codes + panel * w.bytes();
  const float* scales = w.scales + panel * w.groups() * kPanel;
  const std::int32_t* zero_points =
      w.affine ? w.zero_points + panel * w.groups() * kPanel : nullptr;
  float totals[kFloatBlock * kPanel] = {};
  for_chunks(w.k, w.group, [&](std::size_t first, std::size_t inputs, std::size_t group) {
    float scale[kPanel];
    for (std::size_t i = 0; i < kPanel; ++i) {
      scale[i] = scales[group * kPanel + i] / static_cast<float>(w.unit());
    }
    for (std::size_t at = 0; at < inputs; at += kWide) {
      const std::size_t count = std::min(kWide, inputs - at);
      float weights[kWide * kPanel];
      widen_codes(w, codes, w.affine ? zero_points + group * kPanel : nullptr, first + at,
                  at / kStepInputs, count, weights);
      for (std::size_t row = 0; row < product.rows;) {
        float sums[kRows * kPanel];
        const std::size_t taken = row + kRows <= product.rows ? kRows : 1;
        const auto multiply = taken == kRows ? multiply_rows<kRows> : multiply_rows<1>;
        multiply(product.x + row * w.k + first + at, w.k, weights, count, sums);
        for (std::size_t i = 0; i < taken * kPanel; ++i) {
          totals[row * kPanel + i] += sums[i] * scale[i % kPanel];
        }
        row += taken;
      }
    }
    codes += steps_of(inputs, w.bits) * static_cast<std::size_t>(w.bits) * 4;
  });
  const std::size_t column = panel * kPanel;
  const std::size_t columns = std::min(kPanel, w.n - column);
  for (std::size_t row = 0; row < product.rows; ++row) {
    for (std::size_t i = 0; i < columns; ++i) {
      const float added = product.bias == nullptr ? -0.0F : product.bias[column + i];
      product.out[row * w.n + column + i] = totals[row * kPanel + i] + added;
    }
  }
}

}  // namespace

void multiply_panels_f32(const FloatProduct& product, std::size_t first, std::size_t last) {
  assert(product.rows <= kFloatBlock);
  for (std::size_t panel = first; panel < last; ++panel) multiply_panel(product, panel);
}

}  // namespace zeropoint::kernels

#endif
