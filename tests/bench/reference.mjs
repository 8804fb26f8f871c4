// Reference results in plain JavaScript with double precision, and the largest error allowed.

import { normalValues } from "./random.mjs";

const FLOAT32_HALF_ULP = 2 ** -24;
const FLOAT32_EPSILON = 2 ** -23;

/**
 * The indices to check: the first, the last and some between, the same for every contestant.
 * @param {number} length
 * @param {number} count
 */
export function spread(length, count) {
  if (length <= count) return Array.from({ length }, (_, i) => i);
  const step = (length - 1) / (count - 1);
  return Array.from({ length: count }, (_, i) => Math.round(i * step));
}

/**
 * @typedef {object} Problem
 * @property {number} m
 * @property {number} k
 * @property {number} n
 * @property {Float32Array} x     [m, k]
 * @property {Float32Array} w     [n, k], the weights before quantization
 *
 * @typedef {object} Weights      a contestant's weights, in double precision
 * @property {(row: number) => Float64Array} row   the k weights of an output
 *
 * @typedef {object} Verdict
 * @property {number} worst       the largest error, relative to the bound
 * @property {string} [problem]   description, if `worst` is above 1
 */

/** @returns {Problem} */
export function linearProblem({ m, k, n }) {
  return { m, k, n, x: normalValues(m * k, 1), w: normalValues(n * k, 2) };
}

/**
 * Error bounds of a linear layer, relative to the exact sum of products with its quantized weights.
 *
 * - exact: SEMANTICS of the default, (K + 1) · 2⁻²⁴ · Σ|x·w|
 * - float32: K products and K sums, each rounded to float32 in any order, and the scale; the second extra term is
 *   the rounding of the weights if they are dequantized first
 */
export const BOUNDS = {
  exact: (k, sum) => (k + 1) * FLOAT32_HALF_ULP * sum,
  float32: (k, sum) => (k + 3) * FLOAT32_EPSILON * sum,
};

/**
 * @param {Problem} problem
 * @param {Weights} weights
 * @param {Float32Array} y
 * @param {(k: number, sum: number) => number} bound
 * @returns {Verdict}
 */
export function checkLinear({ m, k, n, x }, weights, y, bound) {
  if (y.length !== m * n) return wrong(`${y.length} outputs instead of ${m * n}`);
  let worst = 0;
  for (const column of spread(n, 24)) {
    const row = weights.row(column);
    for (const line of spread(m, 4)) {
      let sum = 0;
      let sizes = 0;
      for (let i = 0; i < k; i++) {
        const product = x[line * k + i] * row[i];
        sum += product;
        sizes += Math.abs(product);
      }
      const error = Math.abs(y[line * n + column] - sum);
      const part = error / bound(k, sizes);
      if (!(part <= 1)) {
        return wrong(
          `output [${line}, ${column}] is ${y[line * n + column]} instead of ${sum}`,
          part,
        );
      }
      worst = Math.max(worst, part);
    }
  }
  return { worst };
}

/**
 * A dynamic linear layer, bit for bit: activations in 7 bits (reduce_range) or 8, exact integer sums, float32
 * multiplications. Source: SEMANTICS of torch.ao.nn.quantized.dynamic.Linear; groups, whose sums are added in double
 * precision: linear_dynamic() of linear.h.
 * @param {Problem} problem
 * @param {{ data: Int8Array, scale: { data: ArrayLike<number> }, groupSize?: number }} weight  codes [n, k]; a scale
 *   for each output or group
 * @param {{ reduceRange?: boolean }} layer
 * @param {Float32Array} y
 * @returns {Verdict}
 */
export function checkDynamic(
  { m, k, n, x },
  { data: codes, scale: { data: scales }, groupSize },
  { reduceRange = true },
  y,
) {
  const most = reduceRange ? 127 : 255;
  let [least, greatest] = [0, 0];
  for (const value of x) {
    if (value < least) least = value;
    else if (value > greatest) greatest = value;
  }
  const scale = (greatest - least) / most;
  const low = least / scale;
  const high = greatest / scale;
  const zeroPoint = roundHalfToEven(-Math.abs(low) < most - Math.abs(high) ? -low : most - high);
  const inverse = Math.fround(1 / Math.fround(scale));
  for (const line of spread(m, 4)) {
    const qx = Array.from(x.subarray(line * k, (line + 1) * k), (value) => {
      const steps = roundHalfToEven(Math.fround(value * inverse));
      return Math.min(Math.max(steps + zeroPoint, 0), 255);
    });
    for (const column of spread(n, 24)) {
      const sumOf = (start, end) => {
        let sum = 0;
        for (let i = start; i < end; i++) sum += (qx[i] - zeroPoint) * codes[column * k + i];
        return sum;
      };
      let expected;
      if (groupSize === undefined) {
        const multiplier = Math.fround(Math.fround(scale) * scales[column]);
        expected = Math.fround(Math.fround(sumOf(0, k)) * multiplier);
      } else {
        const groups = k / groupSize;
        let sum = 0;
        for (let group = 0; group < groups; group++) {
          const part = sumOf(group * groupSize, (group + 1) * groupSize);
          sum += part * scales[column * groups + group];
        }
        expected = Math.fround(Math.fround(sum) * Math.fround(scale));
      }
      const got = y[line * n + column];
      if (got !== expected) {
        return wrong(`output [${line}, ${column}] is ${got} instead of exactly ${expected}`);
      }
    }
  }
  return { worst: 0 };
}

/**
 * ONNX's DynamicQuantizeMatMul: activations in 8 bits. Engines round ties of the activations differently, so a few
 * codes may differ by one; everything else is as exact as float32.
 * @param {Problem} problem
 * @param {Int8Array} codes  [n, k]
 * @param {ArrayLike<number>} scales  [n]
 * @param {Float32Array} y
 * @returns {Verdict}
 */
export function checkOnnxDynamic({ m, k, n, x }, codes, scales, y) {
  const CODES_OFF = 4;
  let [least, greatest] = [0, 0];
  for (const value of x) {
    if (value < least) least = value;
    else if (value > greatest) greatest = value;
  }
  const scale = Math.fround((greatest - least) / 255);
  const zeroPoint = roundHalfToEven(Math.fround(-least / scale));
  let worst = 0;
  for (const line of spread(m, 4)) {
    const qx = Array.from(x.subarray(line * k, (line + 1) * k), (value) =>
      Math.min(Math.max(roundHalfToEven(Math.fround(value / scale)) + zeroPoint, 0), 255),
    );
    for (const column of spread(n, 24)) {
      let sum = 0;
      for (let i = 0; i < k; i++) sum += (qx[i] - zeroPoint) * codes[column * k + i];
      const step = scale * scales[column];
      const bound = step * (CODES_OFF * 128 + 4 * FLOAT32_EPSILON * Math.abs(sum));
      const got = y[line * n + column];
      const part = Math.abs(got - sum * step) / bound;
      if (!(part <= 1)) {
        return wrong(`output [${line}, ${column}] is ${got} instead of ${sum * step}`, part);
      }
      worst = Math.max(worst, part);
    }
  }
  return { worst };
}

/**
 * Whether two results have the same bits.
 * @param {Float32Array} a
 * @param {Float32Array} b
 */
export function sameBits(a, b) {
  if (a.length !== b.length) return false;
  const bits = (values) => new Int32Array(values.buffer, values.byteOffset, values.length);
  const [left, right] = [bits(a), bits(b)];
  return left.every((bit, i) => bit === right[i]);
}

/** @param {number} value */
export function roundHalfToEven(value) {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

/**
 * @param {string} problem
 * @returns {Verdict}
 */
export function wrong(problem, worst = Number.POSITIVE_INFINITY) {
  return { worst, problem };
}
