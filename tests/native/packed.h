// Layers with packed weights, packed for the call, in every format that activations have.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "aligned_bytes.h"
#include "compare.h"
#include "core/dot_choice.h"
#include "core/packed_weight.h"
#include "zeropoint/linear.h"

namespace zeropoint::testing {

/// Sets the kernels of layers, and so the layout of 4-bit weights, for its lifetime.
class UsedKernels {
 public:
  explicit UsedKernels(LayerKernels kernels) { set_layer_kernels(kernels); }
  UsedKernels(const UsedKernels&) = delete;
  UsedKernels& operator=(const UsedKernels&) = delete;
  ~UsedKernels() { set_layer_kernels(LayerKernels::kBaseline); }
};

/// Packs a weight into `out`. @return the status of pack_weight()
template <typename Code>
Status pack(const QuantizedWeight<Code>& w, std::size_t n, std::size_t k, AlignedBytes& out) {
  AlignedBytes block(packed_weight_size({n, k, w.dtype, w.granularity, w.group_size}));
  const Status status = pack_weight(w, n, k, block.span());
  out = std::move(block);
  return status;
}

/// linear() with quantized weights. Every format of activations must give the same bits with
/// weights in either layout, except the short format, used for kFloat32 as in the relaxed build.
template <typename Code>
Status linear_quantized(std::span<const float> x, std::size_t m, std::size_t k,
                        const QuantizedWeight<Code>& w, std::size_t n, std::span<const float> bias,
                        Accumulate accumulate, std::span<float> out) {
  AlignedBytes block(0);
  Status status = pack(w, n, k, block);
  if (status != Status::kOk) return status;
  const AlignedBytes scratch(linear_scratch_size(block.data(), m));
  status = linear(x, m, block.data(), bias, accumulate, scratch.span(), out);
  if (status != Status::kOk) return status;
  for (const LayerKernels packed_for : {LayerKernels::kBaseline, LayerKernels::kRelaxed}) {
    const UsedKernels used(packed_for);
    status = pack(w, n, k, block);
    for (const kernels::Digits format : {kernels::Digits::kI16, kernels::Digits::kI7}) {
      std::vector<float> y(out.size());
      linear_packed(x.data(), m, panels_of(block.data()), bias.empty() ? nullptr : bias.data(),
                    format, scratch.span(), y);
      EXPECT_TRUE(same(y, out)) << "format " << static_cast<int>(format) << ", packed for "
                                << static_cast<int>(packed_for);
    }
  }
  if (accumulate == Accumulate::kFloat32) {
    linear_packed(x.data(), m, panels_of(block.data()), bias.empty() ? nullptr : bias.data(),
                  kernels::Digits::kI7Short, scratch.span(), out);
  }
  return status;
}

}  // namespace zeropoint::testing
