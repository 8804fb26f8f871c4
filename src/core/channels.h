// Runs of one channel, for qparams per index of an axis: what the torch family's per-channel
// functions share.
#pragma once

#include <algorithm>
#include <cstddef>

#include "zeropoint/granularity.h"

namespace zeropoint {

/// Channels that fit a tile of qparams on the stack.
inline constexpr std::size_t kChannelTile = 256;

/// PyTorch's check of a channel axis: no negative one. @return kInvalidAxis, kSizeOverflow.
[[nodiscard]] inline Status channels_of(Shape shape, std::int32_t axis, std::size_t count,
                                        Granularity& out) {
  if (axis < 0) return Status::kInvalidAxis;
  const Status status = per_channel(shape, axis, out);
  if (status != Status::kOk) return status;
  return out.slices == count ? Status::kOk : Status::kShapeMismatch;
}

/// Calls run(position, channel, length) for every run of one channel's values.
template <typename Run>
void for_channel_runs(const Granularity& g, Run run) {
  for (std::size_t outer = 0; outer < g.outer; ++outer) {
    for (std::size_t channel = 0; channel < g.slices; ++channel) {
      run((outer * g.slices + channel) * g.inner, channel, g.inner);
    }
  }
}

/// For channels that alternate value by value (inner = 1): calls prepare(first channel, count) once
/// per tile of channels, then run(position, first channel, count) for each row.
template <typename Prepare, typename Run>
void for_channel_tiles(const Granularity& g, Prepare prepare, Run run) {
  for (std::size_t first = 0; first < g.slices; first += kChannelTile) {
    const std::size_t count = std::min(kChannelTile, g.slices - first);
    prepare(first, count);
    for (std::size_t row = 0; row < g.outer; ++row) run(row * g.slices + first, first, count);
  }
}

}  // namespace zeropoint
