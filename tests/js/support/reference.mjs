// The arithmetic in plain JavaScript, one value at a time: Math.fround after every operation gives
// float32 its one rounding. Written from the definitions, so that kernels have something to agree
// with; no attention is paid to speed.

import { DTYPES } from "./asserts.mjs";

const f32 = Math.fround;

/** To the nearest integer, ties to even. */
export function roundHalfEven(x) {
  const below = Math.floor(x);
  const rest = x - below;
  if (rest < 0.5) return below;
  if (rest > 0.5) return below + 1;
  return below % 2 === 0 ? below : below + 1;
}

/** clamp(round_half_even(x / scale + zeroPoint), qmin, qmax), NaN to the zero point. */
export function quantizeValue(x, scale, zeroPoint, dtype) {
  const { qmin, qmax } = DTYPES[dtype];
  const shifted = f32(f32(f32(x) / f32(scale)) + f32(zeroPoint));
  if (Number.isNaN(shifted)) return zeroPoint;
  if (!Number.isFinite(shifted)) return shifted > 0 ? qmax : qmin;
  return Math.min(qmax, Math.max(qmin, roundHalfEven(shifted)));
}

/** scale * (code - zeroPoint). */
export function dequantizeValue(code, scale, zeroPoint) {
  return f32(f32(scale) * f32(f32(code) - f32(zeroPoint)));
}

/** The largest float32. */
const LARGEST = (2 - 2 ** -23) * 2 ** 127;

/** Scale (in double precision) and zero point for finite values. */
export function chooseFor(values, { dtype, scheme, includeZero = true }) {
  const { qmin, qmax } = DTYPES[dtype];
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    min = Math.min(min, f32(value));
    max = Math.max(max, f32(value));
  }
  const smallest = 2 ** -126;
  const clampedZero = Math.min(qmax, Math.max(qmin, 0));
  if (scheme === "symmetric") {
    const largest = Math.max(-min, max);
    return { scale: largest === 0 ? 1 : Math.max(largest / qmax, smallest), zeroPoint: 0 };
  }
  if (includeZero || min === max) {
    min = Math.min(min, 0);
    max = Math.max(max, 0);
  }
  if (min === max) return { scale: 1, zeroPoint: clampedZero };
  const scale = Math.min(Math.max((max - min) / (qmax - qmin), smallest), LARGEST);
  const zeroPoint = roundHalfEven(qmin - min / scale);
  return { scale, zeroPoint: Math.min(qmax, Math.max(qmin, zeroPoint)) };
}

/** Which slice each element of a shape belongs to, and how many slices there are. */
export function slicesOf(shape, { axis, groupSize }) {
  const size = shape.reduce((a, b) => a * b, 1);
  if (groupSize !== undefined) {
    // Groups restart with every row; the last one of a row may be short.
    const row = shape.at(-1);
    const groups = Math.ceil(row / groupSize);
    const of = (i) => Math.floor(i / row) * groups + Math.floor((i % row) / groupSize);
    return { count: size === 0 ? 0 : (size / row) * groups, of };
  }
  if (axis === undefined) return { count: 1, of: () => 0 };
  const at = axis < 0 ? axis + shape.length : axis;
  const inner = shape.slice(at + 1).reduce((a, b) => a * b, 1);
  return { count: shape[at], of: (i) => Math.floor(i / inner) % shape[at] };
}

/** Quantizes with qparams chosen slice by slice, as `quantize` does. */
export function quantizeTensor(data, shape, options) {
  const { dtype = "int8", scheme = "symmetric", includeZero = true } = options;
  const slices = slicesOf(shape, options);
  const members = Array.from({ length: slices.count }, () => []);
  for (let i = 0; i < data.length; i++) members[slices.of(i)].push(data[i]);
  const chosen = members.map((values) => chooseFor(values, { dtype, scheme, includeZero }));
  const codes = new DTYPES[dtype].array(data.length);
  const values = new Float32Array(data.length);
  for (let i = 0; i < data.length; i++) {
    const { scale, zeroPoint } = chosen[slices.of(i)];
    codes[i] = quantizeValue(data[i], scale, zeroPoint, dtype);
    values[i] = dequantizeValue(codes[i], scale, zeroPoint);
  }
  return { codes, values, chosen };
}

/** PyTorch's float32 sum on one thread: eight lanes, four rows a step, a cascade of four levels. */
function torchSum(values) {
  const n = values.length;
  if (n < 8)
    return sumRows(
      Array.from(values, (value) => [value]),
      1,
    )[0];
  const rows = [];
  for (let i = 0; i + 8 <= n; i += 8) rows.push(Array.from(values.slice(i, i + 8)));
  const lanes = sumRows(rows, 8);
  let sum = 0;
  for (let i = 8 * rows.length; i < n; i++) sum = f32(sum + values[i]);
  for (const lane of lanes) sum = f32(sum + lane);
  return sum;
}

/** Adds rows of `lanes` values: four partial sums, then those left over, then the four. */
function sumRows(rows, lanes) {
  const fours = Math.floor(rows.length / 4);
  const partial = [0, 1, 2, 3].map((p) =>
    cascade(
      Array.from({ length: fours }, (_, i) => rows[4 * i + p]),
      lanes,
    ),
  );
  for (let i = 4 * fours; i < rows.length; i++) partial[0] = addRows(partial[0], rows[i]);
  return addRows(addRows(addRows(partial[0], partial[1]), partial[2]), partial[3]);
}

function cascade(rows, lanes) {
  const levels = Math.max(4, Math.floor(ceilLog2(rows.length) / 4));
  const step = 2 ** levels;
  const sums = [0, 1, 2, 3].map(() => new Array(lanes).fill(0));
  let i = 0;
  while (i + step <= rows.length) {
    for (let j = 0; j < step; j++) sums[0] = addRows(sums[0], rows[i + j]);
    i += step;
    for (let level = 1; level < 4; level++) {
      sums[level] = addRows(sums[level], sums[level - 1]);
      sums[level - 1] = new Array(lanes).fill(0);
      if ((i & ((step - 1) << (level * levels))) !== 0) break;
    }
  }
  for (; i < rows.length; i++) sums[0] = addRows(sums[0], rows[i]);
  return sums.reduce(addRows);
}

function ceilLog2(n) {
  return n <= 2 ? 1 : 32 - Math.clz32(n - 1);
}

function addRows(a, b) {
  return a.map((value, lane) => f32(value + b[lane]));
}

/** mean((a - b)^2) or mean(|a - b|) in float32. */
export function meanError(a, b, metric) {
  const terms = a.map((value, i) => {
    const difference = f32(value - b[i]);
    return metric === "mse" ? f32(difference * difference) : Math.abs(difference);
  });
  return f32(torchSum(terms) / f32(a.length));
}

/** One output of a linear layer in double precision, and the sum of its products' magnitudes. */
export function dot(x, w, bias = 0) {
  let sum = 0;
  let magnitude = 0;
  for (let k = 0; k < x.length; k++) {
    sum += x[k] * w[k];
    magnitude += Math.abs(x[k] * w[k]);
  }
  return { y: sum + bias, magnitude };
}

/** Packed bytes, the first code in the lowest bits. */
export function packCodes(codes, bits) {
  const bytes = new Uint8Array(Math.ceil((codes.length * bits) / 8));
  for (let i = 0; i < codes.length; i++) {
    for (let bit = 0; bit < bits; bit++) {
      const at = i * bits + bit;
      if ((BigInt(codes[i]) >> BigInt(bit)) & 1n) bytes[at >> 3] |= 1 << (at & 7);
    }
  }
  return bytes;
}
