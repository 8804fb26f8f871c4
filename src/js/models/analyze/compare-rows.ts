// The errors of rows for values that were quantized and dequantized outside the core's row errors: same sums in the
// same order as src/kernels/compare_f64.cpp.

import { ROW_DOUBLES } from "./totals.js";

const total = (p: Float64Array, at: number): number => p[at] + p[at + 2] + (p[at + 1] + p[at + 3]);

/**
 * Errors of rows: noise, energy, product, absolute, largest, weighted.
 * @param weights  of each input; undefined for none
 */
export function compareRows(
  w: Float32Array,
  v: Float32Array,
  rowLength: number,
  weights: Float64Array | undefined,
  errors: Float64Array,
): void {
  const sums = new Float64Array(20);
  for (let row = 0; row * ROW_DOUBLES < errors.length; row++) {
    sums.fill(0);
    let largest = 0;
    for (let i = 0; i < rowLength; i++) {
      const a = w[row * rowLength + i];
      const b = v[row * rowLength + i];
      const difference = a - b;
      const square = difference * difference;
      const magnitude = Math.abs(difference);
      const lane = i & 3;
      sums[lane] += square;
      sums[4 + lane] += b * b;
      sums[8 + lane] += a * b;
      sums[12 + lane] += magnitude;
      if (weights !== undefined) sums[16 + lane] += weights[i] * square;
      if (magnitude > largest) largest = magnitude;
    }
    const at = row * ROW_DOUBLES;
    for (let i = 0; i < 4; i++) errors[at + i] = total(sums, 4 * i);
    errors[at + 4] = largest;
    errors[at + 5] = total(sums, 16);
  }
}
