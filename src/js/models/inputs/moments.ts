// Second moments of the inputs of a weight, in one pass over batches.

import { checkInteger } from "../../base/check.js";
import { rangeError } from "../../base/errors.js";
import { explainReceivers } from "../../base/receivers.js";
import { newArray } from "../../base/typed-arrays.js";
import type { TensorInput } from "../../tensor/check.js";
import { asTensor } from "../../tensor/tensor.js";

/** The most inputs of which all products are summed: 2 MiB of sums, and as many products for each sample. */
const MOST_FULL = 512;

/**
 * Statistics of the inputs of a weight: the mean of x · xᵀ for up to 512 inputs, which gives the exact mean error of
 * outputs over all samples; for more inputs only the mean of x², which treats different inputs as uncorrelated.
 * Sums are double, sample by sample.
 *
 * @example
 * const moments = new InputMoments(64).add(x); // x of shape [2, 64]
 * [moments.length, moments.samples, moments.kind]; // [64, 2, "full"]
 */
export class InputMoments {
  /** Inputs of an output. */
  readonly length: number;
  readonly #squares: Float64Array;
  /** Row i, column j >= i. */
  readonly #products: Float64Array | undefined;
  #samples = 0;

  static {
    explainReceivers(InputMoments, "InputMoments", (object) => #squares in object);
  }

  /** @param length  inputs of an output @throws {TypeError | RangeError} `ZP_INVALID_OPTION` */
  constructor(length: number) {
    const where = "InputMoments";
    this.length = checkInteger(where, "length", length ?? null, 0, 1, 2 ** 31);
    this.#squares = newArray(where, Float64Array, this.length);
    const isFull = this.length <= MOST_FULL;
    this.#products = isFull ? newArray(where, Float64Array, this.length ** 2) : undefined;
  }

  /** Number of samples so far. */
  get samples(): number {
    return this.#samples;
  }

  /** `"full"`: the products of all pairs of inputs; `"diagonal"`: the squares alone. */
  get kind(): "full" | "diagonal" {
    return this.#products === undefined ? "diagonal" : "full";
  }

  /**
   * Adds samples. @returns this
   * @param batch  of shape [..., length]
   * @throws {TypeError} `ZP_INVALID_TENSOR`
   * @throws {RangeError} `ZP_SHAPE_MISMATCH`; `ZP_NON_FINITE`
   */
  add(batch: TensorInput): this {
    const where = "InputMoments.add";
    const { data, shape } = asTensor(where, "batch", batch);
    const { length } = this;
    if (shape[shape.length - 1] !== length) {
      const problem = `the last axis of batch must have length ${length}, got shape [${shape.join(", ")}]`;
      throw rangeError("ZP_SHAPE_MISMATCH", where, problem);
    }
    for (let i = 0; i < data.length; i++) {
      if (Number.isFinite(data[i])) continue;
      throw rangeError("ZP_NON_FINITE", where, `batch has ${data[i]} at index ${i}`);
    }
    for (let start = 0; start < data.length; start += length) this.#addSample(data, start);
    return this;
  }

  #addSample(data: Float32Array, start: number): void {
    const { length } = this;
    const products = this.#products;
    for (let i = 0; i < length; i++) {
      const x = data[start + i];
      this.#squares[i] += x * x;
      if (products === undefined || x === 0) continue;
      for (let j = i; j < length; j++) products[i * length + j] += x * data[start + j];
    }
    this.#samples++;
  }

  /** @internal The mean of x², by input. */
  get squares(): Float64Array {
    return this.#squares.map((sum) => sum / this.#samples);
  }

  /** @internal The mean of (d · x)² over all samples; only for the kind "full". */
  meanSquare(d: Float64Array): number {
    const { length } = this;
    const products = this.#products as Float64Array;
    let sum = 0;
    for (let i = 0; i < length; i++) {
      if (d[i] === 0) continue;
      let row = 0;
      for (let j = i + 1; j < length; j++) row += products[i * length + j] * d[j];
      sum += d[i] * (products[i * length + i] * d[i] + 2 * row);
    }
    // Rounding can make a sum of squares that is almost 0 negative.
    return Math.max(0, sum / this.#samples);
  }
}
