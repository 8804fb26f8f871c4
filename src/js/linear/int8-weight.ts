// int8 weights for 8-bit activations.

import { checkStatus } from "../base/errors.js";
import type { Core } from "../core/core.js";
import type { CheckedTensor } from "../tensor/check.js";
import { oneSlice, type SliceCounts } from "../tensor/granularity.js";
import { rangesOf } from "../tensor/range.js";
import { calculateQParams, nonFiniteValues } from "../torch/qparams.js";
import { quantizeTorch } from "../torch/quantize.js";
import type { TorchQuantizedTensor } from "../torch/tensor.js";

/**
 * Quantizes the weights of a layer as PyTorch does for dynamic quantization: qint8, symmetric, with the
 * scale max|w| / 127.5, one for all weights or one for each output.
 */
export function quantizeInt8Weight(
  core: Core,
  where: string,
  x: CheckedTensor,
  perOutput: boolean,
): TorchQuantizedTensor<"qint8"> {
  const { shape, size } = x;
  const counts = perOutput ? { outer: 1, slices: shape[0], inner: shape[1] } : oneSlice(size);
  // Without values there is no range; the scale is 1.
  const scales =
    size === 0 ? new Float32Array(counts.slices).fill(1) : chooseInt8Scales(core, where, x, counts);
  const qparams = perOutput
    ? { axis: 0, scales, zeroPoints: new Int32Array(scales.length) }
    : { scale: scales[0], zeroPoint: 0 };
  return quantizeTorch(core, where, { x, dtype: "qint8", qparams });
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
