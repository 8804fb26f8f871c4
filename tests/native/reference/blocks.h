// ggml's block types, one value at a time, as tests/vectors/README.md describes them. Shares no
// code with the kernels.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "zeropoint/blocks.h"

namespace zeropoint::reference {

using Floats = std::vector<float>;
using Bytes = std::vector<std::uint8_t>;
using Levels = std::vector<int>;

inline int nearest(float v) {
  return static_cast<int>(std::bit_cast<std::uint32_t>(v + 12582912.0F) & 0x7fffffU) - 0x400000;
}
inline int limited(int v, int low, int high) { return std::clamp(v, low, high); }
/// The low byte of x86-64's conversion of a float to an integer.
inline int byte_of(float v) {
  if (!(std::fabs(v) < 2147483648.0F)) return 0;
  return static_cast<std::int8_t>(static_cast<std::int32_t>(v));
}
inline float inverse(float d) { return d != 0.0F ? 1.0F / d : 0.0F; }

inline std::uint16_t to_half(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>(bits >> 16U & 0x8000U);
  const double magnitude = std::fabs(static_cast<double>(x));
  if (std::isnan(x)) return sign | 0x7e00U;
  if (magnitude >= 65520.0) return sign | 0x7c00U;
  const int exponent = magnitude < 0x1p-14 ? -14 : std::ilogb(magnitude);
  const double step = std::ldexp(1.0, exponent - 10);
  const double rounded = std::nearbyint(magnitude / step);  // exact, so rounded once: half to even
  const int biased = magnitude < 0x1p-14 ? 0 : exponent + 14;
  return static_cast<std::uint16_t>(sign + (biased << 10) + static_cast<int>(rounded));
}
inline float from_half(std::uint16_t half) {
  const int exponent = half >> 10U & 31;
  const int mantissa = half & 1023;
  const float sign = (half & 0x8000U) != 0 ? -1.0F : 1.0F;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  return sign * (exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                               : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25));
}
inline std::uint16_t to_bfloat(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16U & 1U)) >> 16U);
}

inline void put_half(Bytes& out, float x) {
  const std::uint16_t half = to_half(x);
  out.push_back(static_cast<std::uint8_t>(half & 255));
  out.push_back(static_cast<std::uint8_t>(half >> 8));
}

/// The first value of largest magnitude.
inline float first_max(std::span<const float> x) {
  float most = 0.0F;
  for (const float v : x) {
    if (std::fabs(v) > std::fabs(most)) most = v;
  }
  return most;
}

/// The largest value above 0, or 0; NaN is ignored.
inline float largest(std::span<const float> x) {
  float most = 0.0F;
  for (const float v : x) {
    if (v > most) most = v;
  }
  return most;
}

constexpr float kEps = 1e-15F;

// ---- Searches
// ------------------------------------------------------------------------------------

inline float symmetric(std::span<const float> x, std::span<const float> w, int n, Levels& levels) {
  levels.assign(x.size(), 0);
  const float m = first_max(x);
  if (std::fabs(m) < kEps) return 0.0F;
  float scale = 0.0F;
  float best = 0.0F;
  for (int k = -10; k <= 9; ++k) {
    if (k == 0) continue;
    // The first try is the one without a shift.
    const bool is_first = k == -10;
    const float s = is_first ? static_cast<float>(-n) / m
                             : -(static_cast<float>(n) + 0.1F * static_cast<float>(k)) / m;
    float a = 0.0F;
    float b = 0.0F;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto l = static_cast<float>(limited(nearest(s * x[i]), -n, n - 1));
      a += w[i] * x[i] * l;
      b += w[i] * l * l;
    }
    if (is_first ? true : b > 0.0F && a * a > best * b) {
      scale = is_first && b == 0.0F ? 0.0F : a / b;
      best = scale * a;
      for (std::size_t i = 0; i < x.size(); ++i) {
        levels[i] = limited(nearest(s * x[i]), -n, n - 1) + n;
      }
    }
  }
  return scale;
}

inline float descended(std::span<const float> x, int n, Levels& levels) {
  levels.assign(x.size(), 0);
  const float m = first_max(x);
  if (std::fabs(m) < kEps) return 0.0F;
  const float s = static_cast<float>(-n) / m;
  float a = 0.0F;
  float b = 0.0F;
  for (std::size_t i = 0; i < x.size(); ++i) {
    levels[i] = limited(nearest(s * x[i]), -n, n - 1);
    const auto l = static_cast<float>(levels[i]);
    const float w = x[i] * x[i];
    a += w * x[i] * l;
    b += w * l * l;
  }
  for (int sweep = 0; sweep < 5; ++sweep) {
    bool has_changed = false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto l = static_cast<float>(levels[i]);
      const float w = x[i] * x[i];
      float values = a - w * x[i] * l;
      if (!(values > 0.0F)) continue;
      float squares = b - w * l * l;
      const int next = limited(nearest(x[i] * squares / values), -n, n - 1);
      if (next == levels[i]) continue;
      const auto f = static_cast<float>(next);
      values += w * x[i] * f;
      squares += w * f * f;
      if (squares > 0.0F && values * values * b > a * a * squares) {
        levels[i] = next;
        a = values;
        b = squares;
        has_changed = true;
      }
    }
    if (!has_changed) break;
  }
  for (int& level : levels) level += n;
  return b > 0.0F ? a / b : 0.0F;
}

inline float positive(std::span<const float> x, std::span<const float> w, int n, Levels& levels) {
  levels.assign(x.size(), 0);
  const float most = largest(x);
  if (most < kEps) return 0.0F;
  float s = static_cast<float>(n) / most;
  const auto error = [&](float inverse_scale, int high) {
    float sum = 0.0F;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto l = static_cast<float>(std::min(high, nearest(inverse_scale * x[i])));
      const float d = x[i] - 1.0F / inverse_scale * l;
      sum += w[i] * d * d;
    }
    return sum;
  };
  float best = error(s, INT32_MAX);
  for (int k = -4; k <= 4; ++k) {
    if (k == 0) continue;
    const float next = (0.1F * static_cast<float>(k) + static_cast<float>(n)) / most;
    const float sum = error(next, n);
    if (sum < best) {
      best = sum;
      s = next;
    }
  }
  float a = 0.0F;
  float b = 0.0F;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const int l = std::min(n, nearest(s * x[i]));
    levels[i] = l & 255;
    a += w[i] * x[i] * static_cast<float>(l);
    b += w[i] * static_cast<float>(l) * static_cast<float>(l);
  }
  for (int sweep = 0; sweep < 5; ++sweep) {
    bool has_changed = false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto l = static_cast<float>(levels[i]);
      float values = a - w[i] * x[i] * l;
      float squares = b - w[i] * l * l;
      if (!(values > 0.0F && squares > 0.0F)) continue;
      const int next = std::min(n, nearest(x[i] * squares / values));
      if (next == levels[i]) continue;
      const auto f = static_cast<float>(next);
      values += w[i] * x[i] * f;
      squares += w[i] * f * f;
      if (values * values * b > a * a * squares) {
        levels[i] = next & 255;
        a = values;
        b = squares;
        has_changed = true;
      }
    }
    if (!has_changed) break;
  }
  return b > 0.0F ? a / b : 0.0F;
}

struct Affine {
  float scale;
  float minimum;
};

inline Affine affine(std::span<const float> x, std::span<const float> w, int n, float first,
                     float step, int tries, bool is_absolute, Levels& levels) {
  levels.assign(x.size(), 0);
  float low = std::min(*std::min_element(x.begin(), x.end()), 0.0F);
  const float high = *std::max_element(x.begin(), x.end());
  if (high <= low) return {0.0F, -low};
  float sum_w = 0.0F;
  float sum_x = 0.0F;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum_w += w[i];
    sum_x += w[i] * x[i];
  }
  const auto error = [&](float scale, float offset, const Levels& l) {
    float sum = 0.0F;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float d = scale * static_cast<float>(l[i]) + offset - x[i];
      sum += w[i] * (is_absolute ? std::fabs(d) : d * d);
    }
    return sum;
  };
  float s = static_cast<float>(n) / (high - low);
  float scale = 1.0F / s;
  for (std::size_t i = 0; i < x.size(); ++i) levels[i] = limited(nearest(s * (x[i] - low)), 0, n);
  float best = error(scale, low, levels);
  Levels tried(x.size());
  for (int k = 0; k <= tries; ++k) {
    s = (first + step * static_cast<float>(k) + static_cast<float>(n)) / (high - low);
    float p = 0.0F;
    float q = 0.0F;
    float r = 0.0F;
    for (std::size_t i = 0; i < x.size(); ++i) {
      tried[i] = limited(nearest(s * (x[i] - low)), 0, n);
      const auto l = static_cast<float>(tried[i]);
      p += w[i] * l;
      q += w[i] * l * l;
      r += w[i] * l * x[i];
    }
    const float determinant = sum_w * q - p * p;
    if (!(determinant > 0.0F)) continue;
    float next_scale = (sum_w * r - sum_x * p) / determinant;
    float next_low = (q * sum_x - p * r) / determinant;
    if (next_low > 0.0F) {
      next_low = 0.0F;
      next_scale = r / q;
    }
    const float sum = error(next_scale, next_low, tried);
    if (sum < best) {
      levels = tried;
      best = sum;
      scale = next_scale;
      low = next_low;
    }
  }
  return {scale, -low};
}

constexpr int kTable[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                            1,    13,   25,  38,  53,  69,  89,  113};

/// NaN gives the last index.
inline int table_index(float v) {
  int index = 15;
  for (int i = 0; i < 15; ++i) {
    if (v + v < static_cast<float>(kTable[i] + kTable[i + 1])) --index;
  }
  return index;
}

inline float table_scale(std::span<const float> x, std::span<const float> w) {
  const float m = first_max(x);
  if (std::fabs(m) < kEps) return 0.0F;
  float d = 0.0F;
  float best = 0.0F;
  for (int k = -8; k <= 7; ++k) {
    const bool is_first = k == -8;
    const float id = is_first ? 1.0F / (-m / -127.0F) : static_cast<float>(k - 127) / m;
    float a = 0.0F;
    float b = 0.0F;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto q = static_cast<float>(kTable[table_index(id * x[i])]);
      a += w[i] * q * x[i];
      b += w[i] * q * q;
    }
    if (is_first || (b > 0.0F && a * a > best * b)) {
      d = b > 0.0F ? a / b : 0.0F;
      best = d * a;
    }
  }
  return d;
}

// ---- Quantizers
// ----------------------------------------------------------------------------------

inline float sum_squares(std::span<const float> x) {
  float sum = 0.0F;
  for (const float v : x) sum += v * v;
  return sum;
}

inline Floats weighed(std::span<const float> x, std::span<const float> importance, float mean) {
  Floats w(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) w[i] = importance[i] * std::sqrt(mean + x[i] * x[i]);
  return w;
}

inline float total(const Floats& w) {
  float sum = 0.0F;
  for (const float v : w) sum += v;
  return sum;
}

inline void put_nibbles(Bytes& out, std::span<const int> codes) {
  for (std::size_t j = 0; j < 16; ++j) {
    out.push_back(static_cast<std::uint8_t>((codes[j] & 15) | (codes[j + 16] & 15) << 4));
  }
}
inline void put_fifth_bits(Bytes& out, std::span<const int> codes) {
  std::uint32_t bits = 0;
  for (std::size_t j = 0; j < 32; ++j) bits |= static_cast<std::uint32_t>(codes[j] >> 4 & 1) << j;
  for (int k = 0; k < 4; ++k) out.push_back(static_cast<std::uint8_t>(bits >> (8 * k)));
}
inline void put_crumbs(Bytes& out, const Levels& codes) {
  for (std::size_t h = 0; h < 2; ++h) {
    for (std::size_t l = 0; l < 32; ++l) {
      int byte = 0;
      for (std::size_t k = 0; k < 4; ++k) byte |= (codes[128 * h + 32 * k + l] & 3) << (2 * k);
      out.push_back(static_cast<std::uint8_t>(byte));
    }
  }
}
inline void put_bits(Bytes& out, const Levels& codes, int bit) {
  for (std::size_t l = 0; l < 32; ++l) {
    int byte = 0;
    for (std::size_t k = 0; k < 8; ++k) byte |= (codes[32 * k + l] >> bit & 1) << k;
    out.push_back(static_cast<std::uint8_t>(byte));
  }
}
inline void put_wide_nibbles(Bytes& out, const Levels& codes) {
  for (std::size_t g = 0; g < 4; ++g) {
    for (std::size_t l = 0; l < 32; ++l) {
      const int low = codes[64 * g + l] & 15;
      const int high = codes[64 * g + 32 + l] & 15;
      out.push_back(static_cast<std::uint8_t>(low | high << 4));
    }
  }
}

inline void again(std::span<const float> x, float d, float dm, int low, int high, int offset,
                  int* levels) {
  if (d == 0.0F) return;
  for (std::size_t i = 0; i < x.size(); ++i) {
    levels[i] = limited(nearest((x[i] + dm) / d), low, high) + offset;
  }
}

inline void quantize_32(std::span<const float> x, BlockType type, std::span<const float> importance,
                        float row_mean, Bytes& out) {
  Levels q(32);
  const bool is_five = type == BlockType::kQ5_0 || type == BlockType::kQ5_1;
  switch (type) {
    case BlockType::kQ8_0: {
      float most = 0.0F;
      for (const float v : x) most = std::max(most, std::fabs(v));
      const float d = most / 127.0F;
      put_half(out, d);
      for (const float v : x) {
        out.push_back(static_cast<std::uint8_t>(byte_of(std::round(v * inverse(d)))));
      }
      return;
    }
    case BlockType::kQ4_0:
    case BlockType::kQ5_0: {
      const int n = is_five ? 16 : 8;
      float d = 0.0F;
      if (importance.empty()) {
        d = first_max(x) / static_cast<float>(-n);
        for (std::size_t i = 0; i < 32; ++i) {
          q[i] = std::min(2 * n - 1, byte_of(x[i] * inverse(d) + (static_cast<float>(n) + 0.5F)));
        }
      } else {
        d = symmetric(x, weighed(x, importance, row_mean), n, q);
      }
      put_half(out, d);
      break;
    }
    case BlockType::kQ4_1:
    case BlockType::kQ5_1: {
      const int n = is_five ? 31 : 15;
      float d = 0.0F;
      float m = 0.0F;
      if (importance.empty()) {
        m = *std::min_element(x.begin(), x.end());
        d = (*std::max_element(x.begin(), x.end()) - m) / static_cast<float>(n);
        for (std::size_t i = 0; i < 32; ++i) {
          q[i] = std::min(n, byte_of((x[i] - m) * inverse(d) + 0.5F));
        }
      } else {
        const Affine found =
            affine(x, weighed(x, importance, row_mean), n, -0.9F, 0.05F, 36, false, q);
        d = found.scale;
        m = -found.minimum;
      }
      put_half(out, d);
      put_half(out, m);
      break;
    }
    case BlockType::kIQ4_NL: {
      Floats w(32);
      for (std::size_t i = 0; i < 32; ++i) w[i] = x[i] * x[i];
      if (!importance.empty()) w = weighed(x, importance, sum_squares(x) * (2.0F / 32.0F));
      const float d = table_scale(x, w);
      for (std::size_t i = 0; i < 32; ++i) q[i] = table_index(inverse(d) * x[i]);
      put_half(out, d);
      break;
    }
    default:
      return;
  }
  if (is_five) put_fifth_bits(out, q);
  put_nibbles(out, q);
}

inline int fp4_index(float x, float d) {
  constexpr int kDoubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  int index = 0;
  for (int i = 1; i < 16; ++i) {
    const float error = std::fabs(static_cast<float>(kDoubled[i]) * d - x);
    if (error < std::fabs(static_cast<float>(kDoubled[index]) * d - x)) index = i;
  }
  return index;
}

inline float ue4m3_value(int code) {
  if (code == 0 || code == 0x7f) return 0.0F;
  const int e = code >> 3 & 15;
  const float value = e == 0 ? std::ldexp(static_cast<float>(code & 7), -9)
                             : std::ldexp(1.0F + static_cast<float>(code & 7) / 8.0F, e - 7);
  return value * 0.5F;
}

inline int ue4m3_code(float a) {
  if (!(a > 0.0F)) return 0;
  const float v = std::min(a, 448.0F);
  int e = std::ilogb(v) + 7;
  if (e <= 0) return std::min(7, static_cast<int>(std::floor(v * 512.0F + 0.5F)));
  int m = static_cast<int>(std::floor(std::ldexp(v, 4 - std::ilogb(v)))) - 16;  // four bits
  m = (m + 1) / 2;
  if (m > 7) {
    m = 0;
    ++e;
  }
  return e >= 15 ? 0x7e : e << 3 | m;
}

inline void quantize_small(std::span<const float> x, BlockType type, Bytes& out) {
  float most = 0.0F;
  for (const float v : x) most = std::max(most, std::fabs(v));
  switch (type) {
    case BlockType::kMXFP4: {
      const int e =
          most > 0.0F
              ? static_cast<int>(std::floor(static_cast<float>(std::log2(double{most})))) + 125
              : 0;
      out.push_back(static_cast<std::uint8_t>(e));
      const float d = std::ldexp(1.0F, (e & 255) - 128);
      Levels q;
      for (const float v : x) q.push_back(fp4_index(v, d));
      put_nibbles(out, q);
      return;
    }
    case BlockType::kNVFP4: {
      Levels q;
      for (std::size_t j = 0; j < 4; ++j) {
        float sub = 0.0F;
        for (std::size_t i = 0; i < 16; ++i) sub = std::max(sub, std::fabs(x[16 * j + i]));
        const int code = ue4m3_code(sub / 6.0F);
        out.push_back(static_cast<std::uint8_t>(code));
        for (std::size_t i = 0; i < 16; ++i) {
          q.push_back(fp4_index(x[16 * j + i], ue4m3_value(code)));
        }
      }
      for (std::size_t j = 0; j < 4; ++j) {
        for (std::size_t i = 0; i < 8; ++i) {
          out.push_back(static_cast<std::uint8_t>(q[16 * j + i] | q[16 * j + i + 8] << 4));
        }
      }
      return;
    }
    case BlockType::kQ1_0: {
      float sum = 0.0F;
      for (const float v : x) sum += std::fabs(v);
      put_half(out, sum / 128.0F);
      for (std::size_t j = 0; j < 128; j += 8) {
        int byte = 0;
        for (std::size_t k = 0; k < 8; ++k) byte |= (x[j + k] >= 0.0F ? 1 : 0) << k;
        out.push_back(static_cast<std::uint8_t>(byte));
      }
      return;
    }
    case BlockType::kQ2_0: {
      put_half(out, most);
      const float id = inverse(most);
      for (std::size_t j = 0; j < 64; j += 4) {
        int byte = 0;
        for (std::size_t k = 0; k < 4; ++k) {
          const float v = std::round(x[j + k] * id);
          const int q = std::fabs(v) < 1e9F ? limited(static_cast<int>(v), -1, 2) : -1;
          byte |= (q + 1) << (2 * k);
        }
        out.push_back(static_cast<std::uint8_t>(byte));
      }
      return;
    }
    default:
      break;  // tq1_0 and tq2_0
  }
  Levels trits;
  for (const float v : x) {
    const float rounded = std::round(v * inverse(most));
    trits.push_back((std::fabs(rounded) < 1e9F ? static_cast<int>(rounded) : 0) + 1);
  }
  if (type == BlockType::kTQ2_0) {
    put_crumbs(out, trits);
  } else {
    const auto put = [&](std::size_t first, std::size_t stride, std::size_t count) {
      for (std::size_t m = 0; m < stride; ++m) {
        int v = 0;
        for (std::size_t n = 0; n < 5; ++n)
          v = 3 * v + (n < count ? trits[first + stride * n + m] : 0);
        out.push_back(static_cast<std::uint8_t>((v * 256 + 242) / 243));
      }
    };
    put(0, 32, 5);
    put(160, 16, 5);
    put(240, 4, 4);
  }
  put_half(out, most);
}

inline void quantize_k(std::span<const float> x, BlockType type, std::span<const float> importance,
                       Bytes& out) {
  const bool is_four = type == BlockType::kQ4_K;
  const bool is_45 = is_four || type == BlockType::kQ5_K;
  const std::size_t size = is_45 || type == BlockType::kIQ4_XS ? 32 : 16;
  const std::size_t count = 256 / size;
  const float sum = sum_squares(x);
  const float mean = type == BlockType::kQ2_K     ? sum / 256.0F
                     : type == BlockType::kIQ4_XS ? sum * (2.0F / 256.0F)
                                                  : 2.0F * sum / 256.0F;
  Floats scales(count);
  Floats minimums(count);
  Floats sums(count);
  Levels codes(256);
  for (std::size_t j = 0; j < count; ++j) {
    const auto sub = x.subspan(size * j, size);
    Floats w(size);
    if (!importance.empty() && type != BlockType::kQ6_K) {
      w = weighed(sub, importance.subspan(size * j, size), mean);
      sums[j] = total(w);
    } else if (is_45) {
      const float root = std::sqrt(sum_squares(sub) / 32.0F);
      for (std::size_t i = 0; i < size; ++i) w[i] = root + std::fabs(sub[i]);
    } else {
      for (std::size_t i = 0; i < size; ++i) {
        w[i] = type == BlockType::kQ2_K ? std::fabs(sub[i]) : sub[i] * sub[i];
        if (!importance.empty()) w[i] = importance[size * j + i];
      }
    }
    Levels levels(size);
    const auto by_affine = [&](int n, float first, float step, int tries, bool is_absolute) {
      const Affine found = importance.empty()
                               ? affine(sub, w, n, first, step, tries, is_absolute, levels)
                               : affine(sub, w, n, -0.9F, 0.05F, 36, false, levels);
      scales[j] = found.scale;
      minimums[j] = found.minimum;
    };
    switch (type) {
      case BlockType::kQ2_K:
        by_affine(3, -0.5F, 0.1F, 15, true);
        break;
      case BlockType::kQ4_K:
        by_affine(15, -1.0F, 0.1F, 20, false);
        break;
      case BlockType::kQ5_K:
        by_affine(31, -0.5F, 0.1F, 15, false);
        break;
      case BlockType::kQ3_K:
        scales[j] = importance.empty() ? descended(sub, 4, levels) : symmetric(sub, w, 4, levels);
        break;
      case BlockType::kQ6_K:
        scales[j] = symmetric(sub, w, 32, levels);
        break;
      default:
        scales[j] = table_scale(sub, w);
        break;
    }
    std::copy(levels.begin(), levels.end(), codes.begin() + static_cast<std::ptrdiff_t>(size * j));
  }
  const auto sub_of = [&](std::size_t j) { return x.subspan(size * j, size); };

  if (type == BlockType::kQ2_K || is_45) {
    const int most = is_45 ? 63 : 15;
    Levels ls(count);
    Levels lm(count);
    float d = 0.0F;
    float dmin = 0.0F;
    if (importance.empty()) {
      const float max_scale = largest(scales);
      const float max_minimum = largest(minimums);
      const auto n = static_cast<float>(most);
      for (std::size_t j = 0; j < count; ++j) {
        if (max_scale > 0.0F) ls[j] = std::min(most, nearest(n / max_scale * scales[j]) & 255);
        if (max_minimum > 0.0F)
          lm[j] = std::min(most, nearest(n / max_minimum * minimums[j]) & 255);
      }
      d = max_scale / n;
      dmin = max_minimum / n;
    } else {
      d = positive(scales, sums, most, ls);
      dmin = positive(minimums, sums, most, lm);
    }
    const float hd = from_half(to_half(d));
    const float hm = from_half(to_half(dmin));
    // Levels as stored: those of the search may be negative.
    Bytes packed;
    if (is_45) {
      for (const Levels& l : {ls, lm}) {
        for (std::size_t j = 0; j < 4; ++j)
          packed.push_back(static_cast<std::uint8_t>(l[j] | l[j + 4] >> 4 << 6));
      }
      for (std::size_t j = 4; j < 8; ++j)
        packed.push_back(static_cast<std::uint8_t>((ls[j] & 15) | (lm[j] & 15) << 4));
      for (std::size_t j = 0; j < 4; ++j) {
        ls[j] = packed[j] & 63;
        lm[j] = packed[j + 4] & 63;
        ls[j + 4] = (packed[j + 8] & 15) | packed[j] >> 6 << 4;
        lm[j + 4] = packed[j + 8] >> 4 | packed[j + 4] >> 6 << 4;
      }
    } else {
      for (std::size_t j = 0; j < 16; ++j) {
        packed.push_back(static_cast<std::uint8_t>(ls[j] | lm[j] << 4));
        ls[j] = packed[j] & 15;
        lm[j] = packed[j] >> 4;
      }
    }
    for (std::size_t j = 0; j < count; ++j) {
      again(sub_of(j), hd * static_cast<float>(ls[j]), hm * static_cast<float>(lm[j]), 0,
            is_four ? 15
            : is_45 ? 31
                    : 3,
            0, codes.data() + size * j);
    }
    if (!is_45) {
      out.insert(out.end(), packed.begin(), packed.end());
      put_crumbs(out, codes);
      put_half(out, d);
      put_half(out, dmin);
      return;
    }
    put_half(out, d);
    put_half(out, dmin);
    out.insert(out.end(), packed.begin(), packed.end());
    if (!is_four) put_bits(out, codes, 4);
    put_wide_nibbles(out, codes);
    return;
  }

  if (type == BlockType::kQ3_K) {
    Levels l(16);
    float d = 0.0F;
    if (importance.empty()) {
      const float m = first_max(scales);
      if (m != 0.0F) {
        for (std::size_t j = 0; j < 16; ++j) {
          l[j] = limited(static_cast<std::int8_t>(nearest(-32.0F / m * scales[j])), -32, 31) + 32;
        }
        d = 1.0F / (-32.0F / m);
      }
    } else {
      d = symmetric(scales, sums, 32, l);
    }
    const float hd = from_half(to_half(d));
    for (std::size_t j = 0; j < 16; ++j) {
      again(sub_of(j), hd * static_cast<float>(l[j] - 32), 0.0F, -4, 3, 4, codes.data() + 16 * j);
    }
    put_bits(out, codes, 2);
    put_crumbs(out, codes);
    for (std::size_t j = 0; j < 8; ++j)
      out.push_back(static_cast<std::uint8_t>((l[j] & 15) | (l[j + 8] & 15) << 4));
    for (std::size_t j = 0; j < 4; ++j) {
      out.push_back(static_cast<std::uint8_t>(l[j] >> 4 | l[j + 4] >> 4 << 2 | l[j + 8] >> 4 << 4 |
                                              l[j + 12] >> 4 << 6));
    }
    put_half(out, d);
    return;
  }

  const float m = first_max(scales);
  if (type == BlockType::kQ6_K) {
    if (std::fabs(m) < kEps) {
      out.insert(out.end(), 210, 0);
      return;
    }
    const float d = 1.0F / (-128.0F / m);
    const float hd = from_half(to_half(d));
    Bytes levels;
    for (std::size_t j = 0; j < 16; ++j) {
      const auto level = static_cast<std::int8_t>(std::min(127, nearest(-128.0F / m * scales[j])));
      levels.push_back(static_cast<std::uint8_t>(level));
      again(sub_of(j), hd * static_cast<float>(level), 0.0F, -32, 31, 32, codes.data() + 16 * j);
    }
    for (std::size_t h = 0; h < 2; ++h) {
      for (std::size_t l = 0; l < 64; ++l) {
        const int low = codes[128 * h + l] & 15;
        const int high = codes[128 * h + 64 + l] & 15;
        out.push_back(static_cast<std::uint8_t>(low | high << 4));
      }
    }
    for (std::size_t h = 0; h < 2; ++h) {
      for (std::size_t l = 0; l < 32; ++l) {
        int byte = 0;
        for (std::size_t k = 0; k < 4; ++k) byte |= codes[128 * h + 32 * k + l] >> 4 << (2 * k);
        out.push_back(static_cast<std::uint8_t>(byte));
      }
    }
    out.insert(out.end(), levels.begin(), levels.end());
    put_half(out, d);
    return;
  }

  // iq4_xs
  const float d = -m / 32.0F;
  Levels l(8);
  int high = 0;
  for (std::size_t j = 0; j < 8; ++j) {
    l[j] = limited(nearest(inverse(d) * scales[j]), -32, 31);
    const float dl = d * static_cast<float>(l[j]);
    for (std::size_t i = 0; i < 32; ++i)
      codes[32 * j + i] = table_index(inverse(dl) * x[32 * j + i]);
    l[j] += 32;
    high |= l[j] >> 4 << (2 * j);
  }
  put_half(out, d);
  out.push_back(static_cast<std::uint8_t>(high));
  out.push_back(static_cast<std::uint8_t>(high >> 8));
  for (std::size_t j = 0; j < 8; j += 2)
    out.push_back(static_cast<std::uint8_t>((l[j] & 15) | (l[j + 1] & 15) << 4));
  for (std::size_t j = 0; j < 8; ++j) put_nibbles(out, std::span(codes).subspan(32 * j, 32));
}

/// The blocks of one row.
inline Bytes quantize_row(std::span<const float> x, BlockType type,
                          std::span<const float> importance) {
  Bytes out;
  const std::size_t n = block_info(type).values;
  const float row_mean = sum_squares(x) / static_cast<float>(x.size());
  for (std::size_t i = 0; i < x.size(); i += n) {
    const auto block = x.subspan(i, n);
    const auto columns = importance.empty() ? importance : importance.subspan(i, n);
    switch (type) {
      case BlockType::kF16:
        put_half(out, block[0]);
        break;
      case BlockType::kBF16: {
        const std::uint16_t bits = to_bfloat(block[0]);
        out.push_back(static_cast<std::uint8_t>(bits & 255));
        out.push_back(static_cast<std::uint8_t>(bits >> 8));
        break;
      }
      case BlockType::kQ8_0:
      case BlockType::kQ4_0:
      case BlockType::kQ4_1:
      case BlockType::kQ5_0:
      case BlockType::kQ5_1:
      case BlockType::kIQ4_NL:
        quantize_32(block, type, columns, row_mean, out);
        break;
      case BlockType::kTQ1_0:
      case BlockType::kTQ2_0:
      case BlockType::kMXFP4:
      case BlockType::kNVFP4:
      case BlockType::kQ1_0:
      case BlockType::kQ2_0:
        quantize_small(block, type, out);
        break;
      default:
        quantize_k(block, type, columns, out);
        break;
    }
  }
  return out;
}

}  // namespace zeropoint::reference
