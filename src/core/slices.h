// Slices that share a scale and a zero point, handed to kernels in runs worth a call: long slices
// one by one, short ones together, with qparams written out for every value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "zeropoint/granularity.h"

namespace zeropoint {

/// Values, and so slices at most, that are taken together.
inline constexpr std::size_t kSliceTile = kernels::kColumns;

/// The same where slices are repeated to fill a tile: their qparams stay in the first cache. Longer
/// rows are read as far as a tile goes, because memory is fast only in long runs.
inline constexpr std::size_t kNearTile = 1024;

/// From this length on a slice with values left over after whole steps is worth a call of its own.
inline constexpr std::size_t kLongSlice = 128;

/// One word for each value of a tile, from one for each slice.
template <typename Word>
class Repeated {
 public:
  const Word* of(const Word* words, std::size_t count, std::size_t times, std::size_t copies) {
    static_assert(sizeof(Word) == 4);
    if (times == 1 && copies == 1) return words;
    kernels::repeat_words(words, count, times, copies, words_);
    return words_;
  }

 private:
  Word words_[kSliceTile + 15];
};

/// Walks values[outer][slices][inner] and calls
///
///   run(position, length, GroupedQParams, ColumnsQParams or ElementwiseFloatQParams, first slice)
///
/// for so many whole slices, which ColumnsQParams repeat row by row. Slices has load(first, count
/// <= kSliceTile), which gives the qparams of slices, and whose arrays stay until the next load.
template <typename Slices, typename Run>
void for_slices(const Granularity& g, Slices& slices, Run run) {
  const std::size_t period = g.slices * g.inner;
  if (period == 0) return;
  const bool whole_steps = g.inner % 16 == 0;
  if (whole_steps || g.inner >= kLongSlice || g.slices == 1) {
    const std::size_t most = whole_steps ? kNearTile : 1;
    for (std::size_t outer = 0; outer < g.outer; ++outer) {
      for (std::size_t first = 0; first < g.slices; first += most) {
        const std::size_t count = std::min(most, g.slices - first);
        const kernels::ElementwiseFloatQParams own = slices.load(first, count);
        run(outer * period + first * g.inner, count * g.inner,
            kernels::GroupedQParams{own.scales, own.zero_points, own.nan_codes, g.inner}, first);
      }
    }
    return;
  }
  Repeated<float> scales;
  Repeated<float> zero_points;
  Repeated<std::int32_t> nan_codes;
  const std::size_t tile = g.outer == 1 || period <= kNearTile ? kNearTile : kSliceTile;
  const std::size_t per_tile = tile / g.inner;
  for (std::size_t first = 0; first < g.slices; first += per_tile) {
    const std::size_t count = std::min(per_tile, g.slices - first);
    const std::size_t copies =
        count == g.slices ? std::min(tile / period, g.outer) : std::size_t{1};
    const kernels::ElementwiseFloatQParams own = slices.load(first, count);
    const kernels::ElementwiseFloatQParams all{
        scales.of(own.scales, count, g.inner, copies),
        zero_points.of(own.zero_points, count, g.inner, copies),
        nan_codes.of(own.nan_codes, count, g.inner, copies)};
    const std::size_t start = first * g.inner;
    const std::size_t rows = g.outer / copies;
    run(start, copies * count * g.inner, kernels::ColumnsQParams{all, rows, copies * period},
        first);
    const std::size_t left = g.outer % copies;
    if (left != 0) run(rows * copies * period + start, left * count * g.inner, all, first);
  }
}

}  // namespace zeropoint
