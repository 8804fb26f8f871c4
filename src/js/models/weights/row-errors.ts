// Errors of the outputs of a weight whose values come in the order of the file, in float64: value i of an output's
// inputs goes to partial sum i % 4, and the sum of an output is (p0 + p2) + (p1 + p3), as in src/kernels/compare_f64.cpp.

import { newArray } from "../../base/typed-arrays.js";
import type { Outputs } from "./view.js";

/**
 * Doubles of an output, of values v in place of w; the core's row errors are the first six: sums of (w - v)^2, of v^2,
 * of w * v and of |w - v|; the largest |w - v|, NaN if only one of two values is NaN; the sum of (w - v)^2 times the
 * weights of inputs; the sum of w^2.
 */
export type RowError = Float64Array;

/** Sums of an output: noise, energy, product, absolute, weighted, signal, each in four parts. */
const SUMS = 6;

/** Adds up the errors of outputs. Two NaN do not differ. */
export class RowErrors {
  /** Sum s of column c, part p, is at (4 * s + p) * inner + c. */
  readonly #sums: Float64Array;
  readonly #largest: Float64Array;
  readonly #row = new Float64Array(7);
  readonly #rowLength: number;
  readonly #inner: number;
  /** The place of the next value: an input, and a column. */
  #input = 0;
  #column = 0;

  /**
   * @param weights  of each input; undefined for none
   * @param onRow  called for each output, in their order, with an array that the next call has again
   */
  constructor(
    where: string,
    { rowLength, inner }: Pick<Outputs, "rowLength" | "inner">,
    readonly weights: Float64Array | undefined,
    readonly onRow: (row: RowError) => void,
  ) {
    this.#rowLength = rowLength;
    this.#inner = inner;
    this.#sums = newArray(where, Float64Array, 4 * SUMS * inner);
    this.#largest = newArray(where, Float64Array, inner);
  }

  /** Adds the next values. */
  add(w: Float32Array, v: Float32Array): void {
    if (this.#inner === 1) this.#addRows(w, v);
    else this.#addColumns(w, v);
  }

  /** Values of outputs one after the other. */
  #addRows(w: Float32Array, v: Float32Array): void {
    const sums = this.#sums;
    const { weights } = this;
    for (let at = 0; at < w.length; ) {
      const first = this.#input;
      const count = Math.min(w.length - at, this.#rowLength - first);
      let largest = this.#largest[0];
      // One partial sum after the other, so that sums stay in registers.
      for (let lane = 0; lane < 4; lane++) {
        let [noise, energy, product] = [sums[lane], sums[4 + lane], sums[8 + lane]];
        let [absolute, weighted, signal] = [sums[12 + lane], sums[16 + lane], sums[20 + lane]];
        for (let i = (lane - first) & 3; i < count; i += 4) {
          const a = w[at + i];
          const b = v[at + i];
          // biome-ignore lint/suspicious/noSelfCompare: faster than isNaN
          if (a !== a && b !== b) continue;
          const difference = a === b ? 0 : a - b;
          const square = difference * difference;
          const magnitude = Math.abs(difference);
          noise += square;
          energy += b * b;
          product += a * b;
          absolute += magnitude;
          if (weights !== undefined) weighted += weights[first + i] * square;
          signal += a * a;
          // biome-ignore lint/suspicious/noSelfCompare: NaN stays
          if (!(magnitude <= largest) && largest === largest) largest = magnitude;
        }
        sums[lane] = noise;
        sums[4 + lane] = energy;
        sums[8 + lane] = product;
        sums[12 + lane] = absolute;
        sums[16 + lane] = weighted;
        sums[20 + lane] = signal;
      }
      at += count;
      this.#largest[0] = largest;
      this.#input = first + count;
      if (this.#input === this.#rowLength) this.#end();
    }
  }

  /** Values of one input of all outputs, then of the next input. */
  #addColumns(w: Float32Array, v: Float32Array): void {
    const sums = this.#sums;
    const largest = this.#largest;
    const inner = this.#inner;
    for (let at = 0; at < w.length; ) {
      const count = Math.min(w.length - at, inner - this.#column);
      const lane = (this.#input & 3) * inner;
      const weight = this.weights?.[this.#input] ?? 0;
      for (let column = this.#column; column < this.#column + count; column++, at++) {
        const a = w[at];
        const b = v[at];
        // biome-ignore lint/suspicious/noSelfCompare: faster than isNaN
        if (a !== a && b !== b) continue;
        const difference = a === b ? 0 : a - b;
        const square = difference * difference;
        const magnitude = Math.abs(difference);
        const place = lane + column;
        sums[place] += square;
        sums[4 * inner + place] += b * b;
        sums[8 * inner + place] += a * b;
        sums[12 * inner + place] += magnitude;
        sums[16 * inner + place] += weight * square;
        sums[20 * inner + place] += a * a;
        const known = largest[column];
        // biome-ignore lint/suspicious/noSelfCompare: NaN stays
        if (!(magnitude <= known) && known === known) largest[column] = magnitude;
      }
      this.#column += count;
      if (this.#column < inner) continue;
      this.#column = 0;
      this.#input++;
      if (this.#input === this.#rowLength) this.#end();
    }
  }

  /** Gives the outputs whose values are complete. */
  #end(): void {
    const p = this.#sums;
    const inner = this.#inner;
    const total = (at: number): number =>
      p[at] + p[at + 2 * inner] + (p[at + inner] + p[at + 3 * inner]);
    const row = this.#row;
    for (let column = 0; column < inner; column++) {
      for (let sum = 0; sum < 4; sum++) row[sum] = total(4 * sum * inner + column);
      row[4] = this.#largest[column];
      row[5] = total(16 * inner + column);
      row[6] = total(20 * inner + column);
      this.onRow(row);
    }
    p.fill(0);
    this.#largest.fill(0);
    this.#input = 0;
  }
}
