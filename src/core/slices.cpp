#include "core/slices.h"

#include <algorithm>
#include <cstdint>

namespace zeropoint {
namespace {

// Tile size, in values, for a single row, or for rows no longer than this: its qparams stay in the
// first-level cache. Tiles of several longer rows have up to kSliceTile columns, because memory is
// fast only in long runs.
constexpr std::size_t kNearTile = 1024;

// Minimum length for a call per slice if its length is not a multiple of the step.
constexpr std::size_t kLongSlice = 128;

// Expands one word per slice to one word per value of a tile; null stays null.
template <typename Word>
class Repeated {
 public:
  const Word* of(const Word* words, std::size_t count, std::size_t times, std::size_t copies) {
    static_assert(sizeof(Word) == 4);
    if (words == nullptr || (times == 1 && copies == 1)) return words;
    kernels::repeat_words(words, count, times, copies, words_);
    return words_;
  }

 private:
  Word words_[kSliceTile + 15];
};

}  // namespace

void run_slices(const Pass& pass, std::size_t position, const Granularity& g, Slices& slices) {
  const std::size_t period = g.slices * g.inner;
  if (period == 0) return;
  const bool whole_steps = g.inner % kernels::kStep == 0;
  if (whole_steps || g.inner >= kLongSlice || g.slices == 1) {
    const std::size_t most = whole_steps ? kNearTile : 1;
    for (std::size_t outer = 0; outer < g.outer; ++outer) {
      for (std::size_t first = 0; first < g.slices; first += most) {
        const std::size_t count = std::min(most, g.slices - first);
        pass.run(position + outer * period + first * g.inner, count * g.inner,
                 kernels::AnyQParams::groups(slices.load(first, count), g.inner));
      }
    }
    return;
  }
  Repeated<float> factors;
  Repeated<float> zero_points;
  Repeated<std::int32_t> nan_codes;
  Repeated<float> scales;
  const std::size_t tile = g.outer == 1 || period <= kNearTile ? kNearTile : kSliceTile;
  const std::size_t per_tile = tile / g.inner;
  for (std::size_t first = 0; first < g.slices; first += per_tile) {
    const std::size_t count = std::min(per_tile, g.slices - first);
    const std::size_t copies =
        count == g.slices ? std::min(tile / period, g.outer) : std::size_t{1};
    const kernels::ElementwiseQParams own = slices.load(first, count);
    const kernels::ElementwiseQParams all{factors.of(own.factors, count, g.inner, copies),
                                          zero_points.of(own.zero_points, count, g.inner, copies),
                                          nan_codes.of(own.nan_codes, count, g.inner, copies),
                                          scales.of(own.scales, count, g.inner, copies)};
    const std::size_t start = position + first * g.inner;
    const std::size_t rows = g.outer / copies;
    pass.run(start, copies * count * g.inner, {all, rows, copies * period});
    const std::size_t left = g.outer % copies;
    if (left != 0) pass.run(start + rows * copies * period, left * count * g.inner, all);
  }
}

}  // namespace zeropoint
