// int8 weights for 8-bit activations.

import { checkStatus } from "../base/errors.js";
import type { Core } from "../core/core.js";
import type { CheckedTensor } from "../tensor/check.js";
import { oneSlice, type SliceCounts } from "../tensor/granularity.js";
import { rangesOf } from "../tensor/range.js";
import { calculateQParams, nonFiniteValues } from "../torch/qparams.js";
import { quantizeTorch } from "../torch/quantize.js";
import type { WeightLayout } from "./weight.js";
import { partOf, rowsOfFloats, type WeightRows } from "./weight-rows.js";

/** Scales of int8 weights, as PyTorch chooses them for dynamic quantization: max|w| / 127.5. */
export function int8Scales(
  core: Core,
  where: string,
  x: CheckedTensor,
  perOutput: boolean,
): Float32Array {
  const { shape, size } = x;
  const counts = perOutput ? { outer: 1, slices: shape[0], inner: shape[1] } : oneSlice(size);
  // Without values there is no range; the scale is 1.
  return size === 0
    ? new Float32Array(counts.slices).fill(1)
    : chooseInt8Scales(core, where, x, counts);
}

/**
 * The codes of a float weight, quantized as PyTorch does for dynamic quantization: qint8, symmetric, with
 * one scale for all weights or one for each output.
 */
export function int8Rows(
  core: Core,
  where: string,
  x: CheckedTensor,
  layout: WeightLayout,
): WeightRows {
  const { granularity } = layout;
  return rowsOfFloats(where, x, layout, (part, first, out) => {
    const [count] = part.shape;
    const scales = partOf(layout, layout.scales as Float32Array, first, count);
    const qparams =
      granularity === "perTensor"
        ? { scale: scales[0], zeroPoint: 0 }
        : { axis: 0, scales, zeroPoints: new Int32Array(count) };
    quantizeTorch(core, where, { x: part, dtype: "qint8", qparams }, "saturate", out);
  });
}

function chooseInt8Scales(
  core: Core,
  where: string,
  x: CheckedTensor,
  counts: SliceCounts,
): Float32Array {
  const ranges = rangesOf(core, where, x.data, counts, "keep");
  if (!ranges.every(Number.isFinite)) {
    const range = [Math.min, Math.max].map((pick) => ranges.reduce((a, b) => pick(a, b)));
    throw nonFiniteValues(where, "weight", range);
  }
  const { status, scales } = calculateQParams(core, where, ranges, {
    scheme: "symmetric",
    quantMin: -128,
    quantMax: 127,
    eps: 2 ** -23,
    zeroPoint: 0,
  });
  checkStatus(where, status);
  return scales;
}
