// The difference between the outputs of a quantized model and of the original, as probabilities.

import { rangeError } from "../../base/errors.js";
import { showShape } from "../../base/format-value.js";
import type { TensorInput } from "../../tensor/check.js";
import { sameShape } from "../../tensor/shape.js";
import { asTensor } from "../../tensor/tensor.js";

/**
 * The Kullback-Leibler divergence of two models' outputs: the mean over all samples of Σ p · ln(p / q), in nats, with p
 * and q the softmax of the last axis of `original` and `quantized`. 0 for equal outputs; unlike weight error it says how
 * much the model's answers change. Computed in double; the last bits depend on the engine's exp and log.
 *
 * @param original  logits of the original model, of shape [..., classes]
 * @param quantized  logits of the quantized model on the same inputs
 * @throws {TypeError} `ZP_INVALID_TENSOR`
 * @throws {RangeError} `ZP_SHAPE_MISMATCH`; `ZP_EMPTY` for no value; `ZP_NON_FINITE` for NaN or an infinity
 * @example klDivergence(tensor([[0, 0]]), tensor([[0, 0]])) // 0
 */
export function klDivergence(original: TensorInput, quantized: TensorInput): number {
  const where = "klDivergence";
  const a = asTensor(where, "original", original);
  const b = asTensor(where, "quantized", quantized);
  if (!sameShape(a.shape, b.shape)) {
    const problem = `quantized must have the shape of original, ${showShape(a.shape)}, got ${showShape(b.shape)}`;
    throw rangeError("ZP_SHAPE_MISMATCH", where, problem);
  }
  const classes = a.shape[a.shape.length - 1] ?? 1;
  if (a.data.length === 0) throw rangeError("ZP_EMPTY", where, "original has no values");
  let sum = 0;
  for (let start = 0; start < a.data.length; start += classes) {
    const p = logProbabilities(where, "original", a.data, start, classes);
    const q = logProbabilities(where, "quantized", b.data, start, classes);
    for (let i = 0; i < classes; i++) sum += Math.exp(p[i]) * (p[i] - q[i]);
  }
  // Rounding can make a sum that is almost 0 negative.
  return Math.max(0, sum / (a.data.length / classes));
}

/** The logarithm of the softmax of a row. */
function logProbabilities(
  where: string,
  argument: string,
  data: Float32Array,
  start: number,
  classes: number,
): Float64Array {
  const row = Float64Array.from(data.subarray(start, start + classes));
  let most = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < classes; i++) {
    if (!Number.isFinite(row[i])) {
      throw rangeError("ZP_NON_FINITE", where, `${argument} has ${row[i]} at index ${start + i}`);
    }
    most = Math.max(most, row[i]);
  }
  let sum = 0;
  for (const value of row) sum += Math.exp(value - most);
  const shift = most + Math.log(sum);
  return row.map((value) => value - shift);
}
