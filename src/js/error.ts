// two tensors -> how far apart they are.

import { checkChoice, checkTensor, type TensorInput } from "./check.js";
import { rangeError } from "./errors.js";
import { activeCore } from "./init.js";
import { refused } from "./qparams.js";
import { showShape } from "./show.js";

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
  const { module, memory } = activeCore(where);
  const { data: aData, shape: aShape, size } = checkTensor(where, "a", a);
  const { data: bData, shape: bShape } = checkTensor(where, "b", b);
  if (aShape.length !== bShape.length || aShape.some((length, i) => length !== bShape[i])) {
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      `${where}: b must have the shape of a, ${showShape(aShape)}, got ${showShape(bShape)}`,
    );
  }
  const kind = checkChoice(where, "metric", metric, METRICS, "mse");
  const aAt = memory.place(4 * size);
  const bAt = memory.place(4 * size);
  const outAt = memory.place(8);
  const base = memory.commit(where);
  try {
    memory.write("Float32Array", base + aAt, aData);
    memory.write("Float32Array", base + bAt, bData);
    const status = module.quantizationError(base + aAt, base + bAt, size, kind, base + outAt);
    if (status !== "kOk") throw refused(where, status);
    return memory.readOne("Float64Array", base + outAt);
  } finally {
    memory.end();
  }
}
