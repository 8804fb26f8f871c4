// float32 to the block types with searched scales: the K types, iq4_nl and iq4_xs, and the types of
// 32 values with importance. Four sub-blocks are searched side by side, one per lane.
// Parity: byte-identical to ggml's quantize_q*(), for every finite float.
#include <cmath>

#include "kernels/block_bytes.h"
#include "kernels/block_search.h"
#include "kernels/blocks.h"

namespace zeropoint::kernels {

void quantize_extremes_q4_0(const BlockRow& row);
void quantize_extremes_q4_1(const BlockRow& row);
void quantize_extremes_q5_0(const BlockRow& row);
void quantize_extremes_q5_1(const BlockRow& row);

namespace {

constexpr std::size_t kLanes = 4;

/// Four runs of n consecutive values, transposed: lane j of out[i] is value i of run j.
void gather(const float* x, std::size_t n, F4* out) {
  for (std::size_t i = 0; i < n; i += 4) {
    v128_t a = wasm_v128_load(x + i);
    v128_t b = wasm_v128_load(x + n + i);
    v128_t c = wasm_v128_load(x + 2 * n + i);
    v128_t d = wasm_v128_load(x + 3 * n + i);
    transpose(a, b, c, d);
    out[i] = a;
    out[i + 1] = b;
    out[i + 2] = c;
    out[i + 3] = d;
  }
}

/// The inverse of gather(), of levels 0 ... 255, as bytes.
void scatter(const F4* levels, std::size_t n, std::uint8_t* out) {
  const auto whole = [](F4 level) { return wasm_i32x4_trunc_sat_f32x4(level.v); };
  for (std::size_t i = 0; i < n; i += 4) {
    v128_t a = whole(levels[i]);
    v128_t b = whole(levels[i + 1]);
    v128_t c = whole(levels[i + 2]);
    v128_t d = whole(levels[i + 3]);
    transpose(a, b, c, d);
    const v128_t bytes = narrow(a, b, c, d);
    wasm_v128_store32_lane(out + i, bytes, 0);
    wasm_v128_store32_lane(out + n + i, bytes, 1);
    wasm_v128_store32_lane(out + 2 * n + i, bytes, 2);
    wasm_v128_store32_lane(out + 3 * n + i, bytes, 3);
  }
}

float sum_of_squares(const float* x, std::size_t n) {
  float sum = 0.0F;
  for (std::size_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return sum;
}

/// importance * sqrt(mean square + x * x), of n vectors.
void weigh(const F4* x, const F4* importance, std::size_t n, F4 mean_square, F4* weights) {
  for (std::size_t i = 0; i < n; ++i) {
    weights[i] = importance[i] * sqrt(mean_square + x[i] * x[i]);
  }
}

F4 sum_of(const F4* values, std::size_t n) {
  F4 sum(0.0F);
  for (std::size_t i = 0; i < n; ++i) sum = sum + values[i];
  return sum;
}

/// The first value of largest magnitude among scales, with its sign.
float signed_max_of(const float* scales, std::size_t n) {
  float most = 0.0F;
  float value = 0.0F;
  for (std::size_t j = 0; j < n; ++j) {
    if (std::fabs(scales[j]) > most) {
      most = std::fabs(scales[j]);
      value = scales[j];
    }
  }
  return value;
}

float max_of(const float* values, std::size_t n) {
  float most = 0.0F;
  for (std::size_t j = 0; j < n; ++j) {
    if (values[j] > most) most = values[j];
  }
  return most;
}

int nearest_of(float x) { return wasm_i32x4_extract_lane(nearest(F4(x)).v, 0); }
float first_lane(F4 x) { return wasm_f32x4_extract_lane(x.v, 0); }

/// Quantizes a block's scales, or minimums, by importance: levels 0 ... count. @return their scale
float positive_levels(const float* values, const float* weights, std::size_t n, int count,
                      std::uint8_t* levels) {
  F4 x[16] = {};
  F4 w[16] = {};
  F4 l[16] = {};
  for (std::size_t j = 0; j < n; ++j) {
    x[j] = F4(values[j]);
    w[j] = F4(weights[j]);
  }
  const float scale = first_lane(positive_scale(x, w, n, count, l));
  for (std::size_t j = 0; j < n; ++j) levels[j] = static_cast<std::uint8_t>(first_lane(l[j]));
  return scale;
}

/// Rounds a sub-block again with the scale and minimum that are stored: clamp(round((x + minimum) /
/// scale)) + offset. A scale of 0 leaves the codes of the search.
void round_again(const float* x, std::size_t n, float scale, float minimum, int low, int high,
                 int offset, std::uint8_t* codes) {
  if (scale == 0.0F) return;
  for (std::size_t i = 0; i < n; i += 16) {
    v128_t four[4];
    for (std::size_t k = 0; k < 4; ++k) {
      const F4 value(wasm_v128_load(x + i + 4 * k));
      const I4 l = nearest((value + F4(minimum)) / F4(scale));
      four[k] = (larger(smaller(l, I4(high)), I4(low)) + I4(offset)).v;
    }
    wasm_v128_store(codes + i, narrow(four[0], four[1], four[2], four[3]));
  }
}

/// Sub-blocks of kValues values in a block of 256.
template <std::size_t kValues>
struct SubBlocks {
  static constexpr std::size_t kCount = 256 / kValues;

  /// Calls search(x, importance or null, first sub-block) for four sub-blocks at a time.
  template <typename Search>
  static void each_four(const float* x, const float* importance, Search search) {
    F4 values[kValues];
    F4 columns[kValues];
    for (std::size_t j = 0; j < kCount; j += kLanes) {
      gather(x + kValues * j, kValues, values);
      if (importance != nullptr) gather(importance + kValues * j, kValues, columns);
      search(values, importance == nullptr ? nullptr : columns, j);
    }
  }
};

/// Result of a search: a scale and a minimum per sub-block, and codes.
struct AffineBlock {
  float scales[16];
  float minimums[16];
  float weights[16];  ///< sums of the weights; with importance only
  std::uint8_t codes[256];
};

constexpr AffineTries kWithImportance = {-0.9F, 0.05F, 36, false};

/// Searches all sub-blocks of kValues values for levels 0 ... count.
/// @param weigh_values  gives the weights of values without importance
template <std::size_t kValues, typename WeighValues>
void search_affine(const float* x, const float* importance, float mean_square, int count,
                   const AffineTries& tries, WeighValues weigh_values, AffineBlock& block) {
  SubBlocks<kValues>::each_four(
      x, importance, [&](const F4* values, const F4* columns, std::size_t j) {
        F4 weights[kValues];
        F4 levels[kValues];
        if (columns == nullptr) {
          weigh_values(values, weights);
        } else {
          weigh(values, columns, kValues, F4(mean_square), weights);
          wasm_v128_store(block.weights + j, sum_of(weights, kValues).v);
        }
        const AffineScale found = affine_scale(
            values, weights, kValues, count, columns == nullptr ? tries : kWithImportance, levels);
        wasm_v128_store(block.scales + j, found.scale.v);
        wasm_v128_store(block.minimums + j, found.minimum.v);
        scatter(levels, kValues, block.codes + kValues * j);
      });
}

/// q4_k and q5_k without packed codes: writes d, dmin, scales and minimums to out, and the codes to
/// block.codes.
void quantize_q45_k(const float* x, const float* importance, int count, const AffineTries& tries,
                    AffineBlock& block, std::uint8_t* out) {
  const float mean_square = importance == nullptr ? 0.0F : 2.0F * sum_of_squares(x, 256) / 256.0F;
  search_affine<32>(
      x, importance, mean_square, count, tries,
      [](const F4* values, F4* weights) {
        F4 sum(0.0F);
        for (std::size_t i = 0; i < 32; ++i) sum = sum + values[i] * values[i];
        const F4 root = sqrt(sum / F4(32.0F));
        for (std::size_t i = 0; i < 32; ++i) weights[i] = root + abs(values[i]);
      },
      block);
  std::uint8_t scales[8];
  std::uint8_t minimums[8];
  float d = 0;
  float dmin = 0;
  if (importance == nullptr) {
    const float max_scale = max_of(block.scales, 8);
    const float max_minimum = max_of(block.minimums, 8);
    const float inverse_scale = max_scale > 0.0F ? 63.0F / max_scale : 0.0F;
    const float inverse_minimum = max_minimum > 0.0F ? 63.0F / max_minimum : 0.0F;
    for (std::size_t j = 0; j < 8; ++j) {
      const int scale = nearest_of(inverse_scale * block.scales[j]) & 255;
      const int minimum = nearest_of(inverse_minimum * block.minimums[j]) & 255;
      scales[j] = static_cast<std::uint8_t>(scale < 63 ? scale : 63);
      minimums[j] = static_cast<std::uint8_t>(minimum < 63 ? minimum : 63);
    }
    d = max_scale / 63.0F;
    dmin = max_minimum / 63.0F;
  } else {
    d = positive_levels(block.scales, block.weights, 8, 63, scales);
    dmin = positive_levels(block.minimums, block.weights, 8, 63, minimums);
  }
  store_f16(out, d);
  store_f16(out + 2, dmin);
  pack_scales(scales, minimums, out + 4);
  // With importance, a level may be negative: codes are rounded for the six bits that are stored.
  unpack_scales(out + 4, scales, minimums);
  d = load_f16(out);
  dmin = load_f16(out + 2);
  for (std::size_t j = 0; j < 8; ++j) {
    round_again(x + 32 * j, 32, d * static_cast<float>(scales[j]),
                dmin * static_cast<float>(minimums[j]), 0, count, 0, block.codes + 32 * j);
  }
}

/// Blocks of 32 values, four at a time; the last ones are filled up with zeros.
/// @param quantize  called with x (four blocks, transposed), importance (the same, or null), the
///                  number of blocks and the first block
template <typename Quantize>
void each_four_blocks(const BlockRow& row, Quantize quantize) {
  F4 values[32];
  F4 columns[32];
  for (std::size_t block = 0; block < row.blocks; block += kLanes) {
    const std::size_t count = row.blocks - block < kLanes ? row.blocks - block : kLanes;
    const float* x = row.x + 32 * block;
    const float* importance = row.importance == nullptr ? nullptr : row.importance + 32 * block;
    float filled[2][32 * kLanes] = {};
    if (count < kLanes) {
      std::memcpy(filled[0], x, count * 32 * sizeof(float));
      x = filled[0];
      if (importance != nullptr) {
        std::memcpy(filled[1], importance, count * 32 * sizeof(float));
        importance = filled[1];
      }
    }
    gather(x, 32, values);
    if (importance != nullptr) gather(importance, 32, columns);
    quantize(values, importance == nullptr ? nullptr : columns, count, block);
  }
}

void pack_32_nibbles(const std::uint8_t* codes, std::uint8_t* out) {
  wasm_v128_store(
      out, nibbles(low_nibbles(wasm_v128_load(codes)), low_nibbles(wasm_v128_load(codes + 16))));
}

/// Bit 4 of each of 32 codes, in order.
void pack_32_fifth_bits(const std::uint8_t* codes, std::uint8_t* out) {
  for (std::size_t half = 0; half < 2; ++half) {
    const v128_t bit = wasm_i8x16_shl(wasm_v128_load(codes + 16 * half), 3);
    store_u16(out + 2 * half, static_cast<std::uint16_t>(wasm_i8x16_bitmask(bit)));
  }
}

template <int kHalf>
void quantize_weighted_symmetric(const BlockRow& row) {
  each_four_blocks(row, [&](const F4* x, const F4* columns, std::size_t count, std::size_t first) {
    F4 weights[32];
    F4 levels[32];
    std::uint8_t codes[32 * kLanes];
    alignas(16) float d[kLanes];
    weigh(x, columns, 32, F4(row.mean_square), weights);
    wasm_v128_store(d, symmetric_scale(x, weights, 32, kHalf, levels).v);
    scatter(levels, 32, codes);
    for (std::size_t j = 0; j < count; ++j) {
      std::uint8_t* out = row.out + (kHalf == 8 ? 18 : 22) * (first + j);
      store_f16(out, d[j]);
      if constexpr (kHalf == 16) pack_32_fifth_bits(codes + 32 * j, out + 2);
      pack_32_nibbles(codes + 32 * j, out + (kHalf == 8 ? 2 : 6));
    }
  });
}

template <int kCount>
void quantize_weighted_affine(const BlockRow& row) {
  each_four_blocks(row, [&](const F4* x, const F4* columns, std::size_t count, std::size_t first) {
    F4 weights[32];
    F4 levels[32];
    std::uint8_t codes[32 * kLanes];
    alignas(16) float d[kLanes];
    alignas(16) float minimum[kLanes];
    weigh(x, columns, 32, F4(row.mean_square), weights);
    const AffineScale found = affine_scale(x, weights, 32, kCount, kWithImportance, levels);
    wasm_v128_store(d, found.scale.v);
    wasm_v128_store(minimum, found.minimum.v);
    scatter(levels, 32, codes);
    for (std::size_t j = 0; j < count; ++j) {
      std::uint8_t* out = row.out + (kCount == 15 ? 20 : 24) * (first + j);
      store_f16(out, d[j]);
      store_f16(out + 2, -minimum[j]);
      if constexpr (kCount == 31) pack_32_fifth_bits(codes + 32 * j, out + 4);
      pack_32_nibbles(codes + 32 * j, out + (kCount == 15 ? 4 : 8));
    }
  });
}

/// The weights of iq4_nl and iq4_xs.
void weigh_iq4(const F4* x, const F4* columns, F4 mean_square, F4* weights) {
  if (columns != nullptr) {
    weigh(x, columns, 32, mean_square, weights);
  } else {
    for (std::size_t i = 0; i < 32; ++i) weights[i] = x[i] * x[i];
  }
}

/// Indices of the nearest kIq4Values, as floats.
void iq4_levels(const F4* x, F4 inverse, F4* levels) {
  for (std::size_t i = 0; i < 32; ++i) levels[i] = to_float(iq4_index(inverse * x[i]));
}

F4 inverse_or_zero(F4 d) { return select(d != F4(0.0F), F4(1.0F) / d, F4(0.0F)); }

}  // namespace

void quantize_q4_0(const BlockRow& row) {
  row.importance == nullptr ? quantize_extremes_q4_0(row) : quantize_weighted_symmetric<8>(row);
}
void quantize_q5_0(const BlockRow& row) {
  row.importance == nullptr ? quantize_extremes_q5_0(row) : quantize_weighted_symmetric<16>(row);
}
void quantize_q4_1(const BlockRow& row) {
  row.importance == nullptr ? quantize_extremes_q4_1(row) : quantize_weighted_affine<15>(row);
}
void quantize_q5_1(const BlockRow& row) {
  row.importance == nullptr ? quantize_extremes_q5_1(row) : quantize_weighted_affine<31>(row);
}

void quantize_q2_k(const BlockRow& row) {
  for (std::size_t b = 0; b < row.blocks; ++b) {
    const float* x = row.x + 256 * b;
    const float* importance = row.importance == nullptr ? nullptr : row.importance + 256 * b;
    std::uint8_t* out = row.out + 84 * b;
    AffineBlock block;
    const float mean_square = importance == nullptr ? 0.0F : sum_of_squares(x, 256) / 256.0F;
    search_affine<16>(
        x, importance, mean_square, 3, {-0.5F, 0.1F, 15, true},
        [](const F4* values, F4* weights) {
          for (std::size_t i = 0; i < 16; ++i) weights[i] = abs(values[i]);
        },
        block);
    std::uint8_t scales[16] = {};
    std::uint8_t minimums[16] = {};
    float d = 0;
    float dmin = 0;
    if (importance == nullptr) {
      const float max_scale = max_of(block.scales, 16);
      const float max_minimum = max_of(block.minimums, 16);
      for (std::size_t j = 0; j < 16; ++j) {
        if (max_scale > 0.0F) {
          scales[j] = static_cast<std::uint8_t>(nearest_of(15.0F / max_scale * block.scales[j]));
        }
        if (max_minimum > 0.0F) {
          minimums[j] =
              static_cast<std::uint8_t>(nearest_of(15.0F / max_minimum * block.minimums[j]));
        }
      }
      d = max_scale / 15.0F;
      dmin = max_minimum / 15.0F;
    } else {
      d = positive_levels(block.scales, block.weights, 16, 15, scales);
      dmin = positive_levels(block.minimums, block.weights, 16, 15, minimums);
    }
    for (std::size_t j = 0; j < 16; ++j) {
      out[j] = static_cast<std::uint8_t>(scales[j] | minimums[j] << 4);
    }
    store_f16(out + 80, d);
    store_f16(out + 82, dmin);
    d = load_f16(out + 80);
    dmin = load_f16(out + 82);
    for (std::size_t j = 0; j < 16; ++j) {
      round_again(x + 16 * j, 16, d * static_cast<float>(out[j] & 15),
                  dmin * static_cast<float>(out[j] >> 4), 0, 3, 0, block.codes + 16 * j);
    }
    pack_crumbs(block.codes, out + 16);
  }
}

void quantize_q3_k(const BlockRow& row) {
  for (std::size_t b = 0; b < row.blocks; ++b) {
    const float* x = row.x + 256 * b;
    const float* importance = row.importance == nullptr ? nullptr : row.importance + 256 * b;
    std::uint8_t* out = row.out + 110 * b;
    const F4 mean_square(importance == nullptr ? 0.0F : 2.0F * sum_of_squares(x, 256) / 256.0F);
    alignas(16) float found[16];
    alignas(16) float sums[16];
    std::uint8_t codes[256];
    SubBlocks<16>::each_four(
        x, importance, [&](const F4* values, const F4* columns, std::size_t j) {
          F4 weights[16];
          F4 levels[16];
          if (columns == nullptr) {
            wasm_v128_store(found + j, descended_scale(values, 16, 4, levels).v);
          } else {
            weigh(values, columns, 16, mean_square, weights);
            wasm_v128_store(found + j, symmetric_scale(values, weights, 16, 4, levels).v);
            wasm_v128_store(sums + j, sum_of(weights, 16).v);
          }
          scatter(levels, 16, codes + 16 * j);
        });

    std::uint8_t levels[16] = {};
    float d = 0.0F;
    if (importance == nullptr) {
      const float most = signed_max_of(found, 16);
      if (most != 0.0F) {
        const float inverse = -32.0F / most;
        for (std::size_t j = 0; j < 16; ++j) {
          const int level = static_cast<std::int8_t>(nearest_of(inverse * found[j]));
          levels[j] = static_cast<std::uint8_t>((level < -32 ? -32 : level > 31 ? 31 : level) + 32);
        }
        d = 1.0F / inverse;
      }
    } else {
      F4 scales[16];
      F4 weights[16];
      F4 best[16];
      for (std::size_t j = 0; j < 16; ++j) {
        scales[j] = F4(found[j]);
        weights[j] = F4(sums[j]);
      }
      d = first_lane(symmetric_scale(scales, weights, 16, 32, best));
      for (std::size_t j = 0; j < 16; ++j)
        levels[j] = static_cast<std::uint8_t>(first_lane(best[j]));
    }
    pack_q3_scales(levels, out + 96);
    store_f16(out + 108, d);
    d = load_f16(out + 108);
    for (std::size_t j = 0; j < 16; ++j) {
      round_again(x + 16 * j, 16, d * static_cast<float>(levels[j] - 32), 0.0F, -4, 3, 4,
                  codes + 16 * j);
    }
    pack_bits_of(codes, 2, out);
    pack_crumbs(codes, out + 32);
  }
}

void quantize_q4_k(const BlockRow& row) {
  for (std::size_t b = 0; b < row.blocks; ++b) {
    const float* importance = row.importance == nullptr ? nullptr : row.importance + 256 * b;
    std::uint8_t* out = row.out + 144 * b;
    AffineBlock block;
    quantize_q45_k(row.x + 256 * b, importance, 15, {-1.0F, 0.1F, 20, false}, block, out);
    pack_nibbles(block.codes, out + 16);
  }
}

void quantize_q5_k(const BlockRow& row) {
  for (std::size_t b = 0; b < row.blocks; ++b) {
    const float* importance = row.importance == nullptr ? nullptr : row.importance + 256 * b;
    std::uint8_t* out = row.out + 176 * b;
    AffineBlock block;
    quantize_q45_k(row.x + 256 * b, importance, 31, {-0.5F, 0.1F, 15, false}, block, out);
    pack_bits_of(block.codes, 4, out + 16);
    pack_nibbles(block.codes, out + 48);
  }
}

void quantize_q6_k(const BlockRow& row) {
  for (std::size_t b = 0; b < row.blocks; ++b) {
    const float* x = row.x + 256 * b;
    const float* importance = row.importance == nullptr ? nullptr : row.importance + 256 * b;
    std::uint8_t* out = row.out + 210 * b;
    alignas(16) float scales[16];
    std::uint8_t codes[256];
    SubBlocks<16>::each_four(
        x, importance, [&](const F4* values, const F4* columns, std::size_t j) {
          F4 weights[16];
          F4 levels[16];
          for (std::size_t i = 0; i < 16; ++i) {
            weights[i] = columns == nullptr ? values[i] * values[i] : columns[i];
          }
          wasm_v128_store(scales + j, symmetric_scale(values, weights, 16, 32, levels).v);
          scatter(levels, 16, codes + 16 * j);
        });
    const float most = signed_max_of(scales, 16);
    if (std::fabs(most) < kGroupMaxEps) {
      std::memset(out, 0, 210);
      continue;
    }
    const float inverse = -128.0F / most;
    store_f16(out + 208, 1.0F / inverse);
    const float d = load_f16(out + 208);
    for (std::size_t j = 0; j < 16; ++j) {
      const int level = nearest_of(inverse * scales[j]);
      const auto stored = static_cast<std::int8_t>(level < 127 ? level : 127);
      out[192 + j] = static_cast<std::uint8_t>(stored);
      round_again(x + 16 * j, 16, d * static_cast<float>(stored), 0.0F, -32, 31, 32,
                  codes + 16 * j);
    }
    for (std::size_t half = 0; half < 2; ++half) {
      for (std::size_t l = 0; l < 32; l += 16) {
        const std::uint8_t* from = codes + 128 * half + l;
        v128_t quarter[4];
        v128_t high = wasm_i8x16_splat(0);
        for (std::size_t k = 0; k < 4; ++k) {
          quarter[k] = wasm_v128_load(from + 32 * k);
          high = wasm_v128_or(
              high, wasm_i8x16_shl(high_nibbles(quarter[k]), static_cast<std::uint32_t>(2 * k)));
        }
        std::uint8_t* low = out + 64 * half + l;
        wasm_v128_store(low, nibbles(low_nibbles(quarter[0]), low_nibbles(quarter[2])));
        wasm_v128_store(low + 32, nibbles(low_nibbles(quarter[1]), low_nibbles(quarter[3])));
        wasm_v128_store(out + 128 + 32 * half + l, high);
      }
    }
  }
}

void quantize_iq4_nl(const BlockRow& row) {
  each_four_blocks(row, [&](const F4* x, const F4* columns, std::size_t count, std::size_t first) {
    F4 squares[32];
    F4 weights[32];
    F4 levels[32];
    std::uint8_t codes[32 * kLanes];
    alignas(16) float d[kLanes];
    for (std::size_t i = 0; i < 32; ++i) squares[i] = x[i] * x[i];
    weigh_iq4(x, columns, sum_of(squares, 32) * F4(2.0F / 32.0F), weights);
    const F4 scale = iq4_scale(x, weights, 32);
    iq4_levels(x, inverse_or_zero(scale), levels);
    wasm_v128_store(d, scale.v);
    scatter(levels, 32, codes);
    for (std::size_t j = 0; j < count; ++j) {
      std::uint8_t* out = row.out + 18 * (first + j);
      store_f16(out, d[j]);
      pack_32_nibbles(codes + 32 * j, out + 2);
    }
  });
}

void quantize_iq4_xs(const BlockRow& row) {
  for (std::size_t b = 0; b < row.blocks; ++b) {
    const float* x = row.x + 256 * b;
    const float* importance = row.importance == nullptr ? nullptr : row.importance + 256 * b;
    std::uint8_t* out = row.out + 136 * b;
    const F4 mean_square(sum_of_squares(x, 256) * (2.0F / 256.0F));
    alignas(16) float scales[8];
    SubBlocks<32>::each_four(x, importance,
                             [&](const F4* values, const F4* columns, std::size_t j) {
                               F4 weights[32];
                               weigh_iq4(values, columns, mean_square, weights);
                               wasm_v128_store(scales + j, iq4_scale(values, weights, 32).v);
                             });
    const float d = -signed_max_of(scales, 8) / 32.0F;
    const float inverse = d != 0.0F ? 1.0F / d : 0.0F;
    alignas(16) float stored[8];
    unsigned high = 0;
    std::uint8_t low[8];
    for (std::size_t j = 0; j < 8; ++j) {
      const int nearest_level = nearest_of(inverse * scales[j]);
      const int level = nearest_level < -32 ? -32 : nearest_level > 31 ? 31 : nearest_level;
      stored[j] = d * static_cast<float>(level);
      low[j] = static_cast<std::uint8_t>((level + 32) & 15);
      high |= static_cast<unsigned>((level + 32) >> 4) << (2 * j);
    }
    store_f16(out, d);
    store_u16(out + 2, static_cast<std::uint16_t>(high));
    for (std::size_t j = 0; j < 4; ++j) {
      out[4 + j] = static_cast<std::uint8_t>(low[2 * j] | low[2 * j + 1] << 4);
    }
    std::uint8_t codes[256];
    SubBlocks<32>::each_four(x, nullptr, [&](const F4* values, const F4*, std::size_t j) {
      F4 levels[32];
      iq4_levels(values, inverse_or_zero(F4(wasm_v128_load(stored + j))), levels);
      scatter(levels, 32, codes + 32 * j);
    });
    for (std::size_t j = 0; j < 8; ++j) pack_32_nibbles(codes + 32 * j, out + 8 + 16 * j);
  }
}

}  // namespace zeropoint::kernels
