// two tensors -> how far apart they are.

import { checkStillThere, type NumberArray, subarrayOf } from "./arrays.js";
import { checkChoice, checkTensor, sameShape, type TensorInput } from "./check.js";
import type { Core } from "./core.js";
import { checkStatus, rangeError } from "./errors.js";
import { activeCore } from "./init.js";
import { showShape } from "./show.js";
import { TILE } from "./tiles.js";

/** A way to measure how far a tensor is from another. */
export type Metric = "mse" | "mae" | "max" | "sqnr" | "cosine";

const METRICS: readonly Metric[] = ["mse", "mae", "max", "sqnr", "cosine"];

/**
 * Measures how far `b`, say a dequantized tensor, is from `a`, its original.
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
 * @throws {TypeError} `ZP_INVALID_TENSOR`, `ZP_INVALID_OPTION`
 * @throws {RangeError} `ZP_SHAPE_MISMATCH`, `ZP_INVALID_OPTION` for an unknown metric,
 *   `ZP_OUT_OF_MEMORY`
 * @example quantizationError(tensor([1, 2]), tensor([1, 4])) // 2
 */
export function quantizationError(a: TensorInput, b: TensorInput, metric?: Metric): number {
  const where = "quantizationError";
  const core = activeCore(where);
  const checked = checkMeasured(where, a, b, metric);
  return measure(core, where, checked.a, checked.b, checked.size, checked.metric);
}

/** Two tensors of one shape, and a metric. */
export interface Measured {
  readonly a: NumberArray;
  readonly b: NumberArray;
  readonly size: number;
  readonly metric: Metric;
}

/** Checks what `quantizationError` takes. */
export function checkMeasured(where: string, a: unknown, b: unknown, metric: unknown): Measured {
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
  return { a: aData, b: bData, size, metric: kind };
}

/** What pieces so far measure, and what goes on to the next one. */
export interface ErrorTotal {
  readonly value: number;
  readonly state: Uint8Array;
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
  checkStillThere(where, a, size);
  checkStillThere(where, b, size);
  return runPiece(core, where, a, b, size, metric, 0, size, undefined);
}

/**
 * Measures two arrays that are a piece of longer ones: values begin .. begin + size of total.
 * @param begin   a multiple of 4096, as the core takes them; so is size, but for the last piece
 * @param before  what the piece before gave; undefined for the first one
 */
export function measurePiece(
  core: Core,
  where: string,
  a: NumberArray,
  b: NumberArray,
  size: number,
  metric: Metric,
  begin: number,
  total: number,
  before: ErrorTotal | undefined,
): ErrorTotal {
  const state = before?.state ?? new Uint8Array(core.module.errorStateBytes());
  const value = runPiece(core, where, a, b, size, metric, begin, total, state);
  return { value, state };
}

/** @param state  what the core carries on, read and written; undefined if this is all there is */
function runPiece(
  { memory, module }: Core,
  where: string,
  a: NumberArray,
  b: NumberArray,
  size: number,
  metric: Metric,
  begin: number,
  total: number,
  state: Uint8Array | undefined,
): number {
  const tile = Math.min(size, TILE);
  const [aAt, bAt, stateAt, outAt] = memory.layOut(
    where,
    4 * tile,
    4 * tile,
    module.errorStateBytes(),
    8,
  );
  try {
    if (state !== undefined) memory.write("Uint8Array", stateAt, state);
    // An empty tensor takes its one tile too.
    for (let start = 0; start === 0 || start < size; start += tile) {
      const count = Math.min(tile, size - start);
      const isWhole = count === size;
      const aPart = isWhole ? a : subarrayOf(a, start, start + count);
      const bPart = isWhole ? b : subarrayOf(b, start, start + count);
      memory.copyIn(where, "Float32Array", aAt, aPart, count);
      memory.copyIn(where, "Float32Array", bAt, bPart, count);
      const status = module.quantizationError(
        aAt,
        bAt,
        count,
        metric,
        begin + start,
        total,
        stateAt,
        outAt,
      );
      checkStatus(where, status);
      if (count === 0) break;
    }
    if (state !== undefined) memory.read(stateAt, state);
    return memory.readOne("Float64Array", outAt);
  } finally {
    memory.end();
  }
}
