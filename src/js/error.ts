// two tensors -> how far apart they are.

import { checkStillThere, type NumberArray, subarrayOf } from "./arrays.js";
import type { Core } from "./build.js";
import { checkChoice, checkTensor, type TensorInput } from "./check.js";
import { rangeError, refused } from "./errors.js";
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
  const { data: aData, shape: aShape, size } = checkTensor(where, "a", a);
  const { data: bData, shape: bShape } = checkTensor(where, "b", b);
  if (aShape.length !== bShape.length || aShape.some((length, i) => length !== bShape[i])) {
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      `${where}: b must have the shape of a, ${showShape(aShape)}, got ${showShape(bShape)}`,
    );
  }
  const kind = checkChoice(where, "metric", metric, METRICS, "mse");
  return measure(core, where, aData, bData, size, kind);
}

/** Pieces of a tensor begin at multiples of this; the core says why. */
const PIECE = 4096;

/** Measures two arrays of one length, tile by tile. */
export function measure(
  core: Core,
  where: string,
  a: NumberArray,
  b: NumberArray,
  size: number,
  metric: Metric,
): number {
  const tile = Math.min(size, TILE - (TILE % PIECE));
  checkStillThere(where, a, size);
  checkStillThere(where, b, size);
  const { memory, module } = core;
  const stateBytes = module.errorStateBytes();
  const aAt = memory.place(4 * tile);
  const bAt = memory.place(4 * tile);
  const stateAt = memory.place(stateBytes);
  const outAt = memory.place(8);
  const base = memory.commit(where);
  try {
    // An empty tensor takes its one piece too.
    for (let begin = 0; begin === 0 || begin < size; begin += tile) {
      const count = Math.min(tile, size - begin);
      const end = begin + count;
      const whole = count === size;
      const aPart = whole ? a : subarrayOf(a, begin, end);
      const bPart = whole ? b : subarrayOf(b, begin, end);
      memory.copyIn(where, "Float32Array", base + aAt, aPart, count);
      memory.copyIn(where, "Float32Array", base + bAt, bPart, count);
      const status = module.quantizationError(
        base + aAt,
        base + bAt,
        count,
        metric,
        begin,
        size,
        base + stateAt,
        base + outAt,
      );
      if (status !== "kOk") throw refused(where, status);
      if (count === 0) break;
    }
    return memory.readOne("Float64Array", base + outAt);
  } finally {
    memory.end();
  }
}
