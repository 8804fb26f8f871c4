// two tensors -> their difference, as a number or one for each slice.

import { checkChoice } from "../base/check.js";
import { checkStatus, rangeError } from "../base/errors.js";
import { showShape } from "../base/format-value.js";
import { checkOptions } from "../base/options.js";
import { checkStillThere, type NumberArray, newArray, subarrayOf } from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import { activeCore } from "../core/init.js";
import { type Blocks, bandsOf, evenBlocks, reorder } from "../tensor/blocks.js";
import { checkTensor, type TensorInput } from "../tensor/check.js";
import { checkSlices, qparamsShape, type SlicesWithRows } from "../tensor/granularity.js";
import { sameShape } from "../tensor/shape.js";
import { blocksOf, gather, isLong } from "../tensor/slice-blocks.js";
import { Tensor } from "../tensor/tensor.js";
import { TILE } from "../tensor/tiles.js";

/** A measure of the difference between two tensors. */
export type Metric = "mse" | "mae" | "max" | "sqnr" | "cosine";

/** The slices that `quantizationError` measures one by one. */
export type ErrorOptions =
  | {
      /** One error for each index of this axis; negative counts from the end. */
      axis: number;
      groupSize?: undefined;
      blockShape?: undefined;
    }
  | {
      axis?: undefined;
      /** One error for each run of this many values of the last axis; the last of a row may be short. */
      groupSize: number;
      blockShape?: undefined;
    }
  | {
      axis?: undefined;
      groupSize?: undefined;
      /** One error for each block, the number of its values on each axis; -1: the whole axis. */
      blockShape: readonly number[];
    };

const METRICS: readonly Metric[] = ["mse", "mae", "max", "sqnr", "cosine"];

/**
 * Measures the difference of `b`, for example a dequantized tensor, from `a`, its original.
 *
 * | metric | value |
 * | --- | --- |
 * | `"mse"` | mean of (a − b)²: PyTorch's float32 mean, in its one-thread order at every size |
 * | `"mae"` | mean of \|a − b\|, likewise |
 * | `"max"` | the largest \|a − b\| |
 * | `"sqnr"` | 10 · log10(Σa² / Σ(a − b)²) in dB; `Infinity` for equal tensors |
 * | `"cosine"` | Σab / √(Σa² · Σb²); NaN if either tensor is all zero |
 *
 * The last three accumulate in double precision. NaN in either tensor gives NaN, and so do tensors
 * without values.
 *
 * Source: quantization_error of the course notebooks for mse and mae.
 *
 * @param a  float32, any shape: the signal
 * @param b  float32, of the same shape; nothing is broadcast
 * @param metric  default: `"mse"`
 * @param options.axis       one error for each index of this axis; negative counts from the end
 * @param options.groupSize  one error for each run of this many values of the last axis
 * @param options.blockShape  one error for each n-dimensional block
 * @returns a number; with one of these a tensor of the errors of all slices, each as if its
 *   slice were a tensor, rounded to float32: of shape [1, …, n, …, 1], or [groups, 1], as scales are
 * @throws {TypeError} `ZP_INVALID_TENSOR`, `ZP_INVALID_OPTION`, `ZP_CONFLICTING_OPTIONS` for both
 * @throws {RangeError} `ZP_SHAPE_MISMATCH`, `ZP_INVALID_OPTION` for an unknown metric,
 *   `ZP_INVALID_AXIS`, `ZP_INVALID_GROUP_SIZE`, `ZP_OUT_OF_MEMORY`
 * @example quantizationError(tensor([1, 2]), tensor([1, 4])) // 2
 * @example
 * const rows = quantizationError(tensor([[1, 2], [3, 4]]), tensor([[1, 4], [3, 5]]), "mse", { axis: 0 });
 * rows.shape; // [2, 1]
 * rows.data; // Float32Array [2, 0.5]
 */
export function quantizationError(
  a: TensorInput,
  b: TensorInput,
  metric?: Metric,
  options?: { axis?: undefined; groupSize?: undefined; blockShape?: undefined },
): number;

export function quantizationError(
  a: TensorInput,
  b: TensorInput,
  metric: Metric | undefined,
  options: ErrorOptions,
): Tensor;

export function quantizationError(
  a: TensorInput,
  b: TensorInput,
  metric?: Metric,
  options?: object,
): number | Tensor {
  const where = "quantizationError";
  const core = activeCore(where);
  const known = ["axis", "groupSize", "blockShape"];
  const { axis, groupSize, blockShape } = checkOptions(where, options, known);
  const { a: aData, b: bData, size, shape, metric: kind } = checkMeasured(where, a, b, metric);
  const slices = checkSlices(where, "options", shape, axis, groupSize, blockShape);
  if (slices.granularity === "perTensor") return measure(core, where, aData, bData, size, kind);
  checkStillThere(where, aData, size);
  const errors = newArray(where, Float32Array, slices.slices);
  if (slices.isScattered) {
    for (const { start, size, first, blocks } of bandsOf(slices.blocks as Blocks)) {
      const [x, y] = [aData, bData].map((data) => {
        const values = newArray(where, Float32Array, size);
        reorder(blocks, subarrayOf(data, start, start + size), values);
        return values;
      });
      for (const even of evenBlocks(blocks)) {
        const end = even.start + even.slices * even.inner;
        const [p, q] = [x, y].map((values) => subarrayOf(values, even.start, end));
        const counts = { outer: 1, slices: even.slices, inner: even.inner, row: 0 };
        const at = first + even.first;
        measureSlices(core, where, p, q, counts, kind, subarrayOf(errors, at, at + even.slices));
      }
    }
  } else measureSlices(core, where, aData, bData, slices, kind, errors);
  return new Tensor(errors, qparamsShape(shape, slices));
}

/** Two tensors of one shape, and a metric. */
interface Measured {
  readonly a: NumberArray;
  readonly b: NumberArray;
  readonly size: number;
  readonly shape: readonly number[];
  readonly metric: Metric;
}

/** Checks the arguments of `quantizationError`. */
function checkMeasured(where: string, a: unknown, b: unknown, metric: unknown): Measured {
  const { data: aData, shape: aShape, size } = checkTensor(where, "a", a);
  const { data: bData, shape: bShape } = checkTensor(where, "b", b);
  if (!sameShape(aShape, bShape)) {
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      where,
      `b must have the shape of a, ${showShape(aShape)}, got ${showShape(bShape)}`,
    );
  }
  const kind = checkChoice(where, "metric", metric, METRICS, "mse");
  return { a: aData, b: bData, size, shape: aShape, metric: kind };
}

/** Measures two arrays of one length, tile by tile. */
export function measure(
  core: Core,
  where: string,
  a: NumberArray,
  b: NumberArray,
  size: number,
  metric: Metric,
): number {
  // A getter of b may have changed a; no code of the caller runs after b is checked.
  checkStillThere(where, a, size);
  const { memory, module } = core;
  const tile = Math.min(size, TILE);
  const sizes = [4 * tile, 4 * tile, module.errorStateBytes(), 8];
  const [aAt, bAt, stateAt, outAt] = memory.layOut(where, ...sizes);
  try {
    // An empty tensor is one empty tile.
    for (let start = 0; start === 0 || start < size; start += tile) {
      const count = Math.min(tile, size - start);
      const isWhole = count === size;
      const aPart = isWhole ? a : subarrayOf(a, start, start + count);
      const bPart = isWhole ? b : subarrayOf(b, start, start + count);
      memory.copyIn(where, "Float32Array", aAt, aPart, count);
      memory.copyIn(where, "Float32Array", bAt, bPart, count);
      const status = module.quantizationError(aAt, bAt, count, metric, start, size, stateAt, outAt);
      checkStatus(where, status);
      if (count === 0) break;
    }
    return memory.readOne("Float64Array", outAt);
  } finally {
    memory.end();
  }
}

/** Measures two arrays slice by slice: the slices of one block at a time, a long one in tiles. */
function measureSlices(
  core: Core,
  where: string,
  a: NumberArray,
  b: NumberArray,
  counts: SlicesWithRows,
  metric: Metric,
  errors: Float32Array,
): void {
  const { memory, module } = core;
  for (const block of blocksOf(counts)) {
    const { outer, slices, inner, first, start } = block;
    const size = outer * slices * inner;
    if (isLong(block)) {
      const [x, y] = [a, b].map((data) => subarrayOf(data, start, start + size));
      errors[first] = measure(core, where, x, y, size, metric);
      continue;
    }
    const [aAt, bAt, slicesAt, outAt] = memory.layOut(
      ...([where, 4 * size, 4 * size, 4 * 4, 8 * slices] as const),
    );
    try {
      gather(memory, where, a, block, aAt);
      gather(memory, where, b, block, bAt);
      memory.write("Uint32Array", slicesAt, [outer, slices, inner, 0]);
      const status = module.quantizationErrors(aAt, bAt, slicesAt, metric, outAt);
      checkStatus(where, status);
      for (let i = 0; i < slices; i++) {
        errors[first + i] = memory.readOne("Float64Array", outAt + 8 * i);
      }
    } finally {
      memory.end();
    }
  }
}
