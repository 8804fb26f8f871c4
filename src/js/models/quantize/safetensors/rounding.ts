// The arithmetic of compressed-tensors and MLX: ranges to scales, values to codes.
// Source: compressed-tensors 0.18 with llm-compressor's memoryless min-max observer; MLX's affine quantize on the CPU.

import { checkFinite, type Encoder, type Groups, groupsPerRow, type Params } from "../groups.js";
import { roundInPlace, type ScaleDType } from "../halves.js";

/** Machine epsilon of the float types: the scale of a group without any range. */
const EPSILON: Readonly<Record<ScaleDType, number>> = {
  float32: 2 ** -23,
  bfloat16: 2 ** -7,
  float16: 2 ** -10,
};

/** Adding and subtracting it rounds a small double to an integer, ties to even. */
const ROUND = 1.5 * 2 ** 52;

const one = /* @__PURE__ */ new Float32Array(1);

let quotientsMemory = new Float32Array(0);
let codesMemory = new Int8Array(0);

/** Scratch memory for the quotients of a unit, used again for the next one. */
function quotientsOf(length: number): Float32Array {
  if (quotientsMemory.length < length) quotientsMemory = new Float32Array(length);
  return quotientsMemory.subarray(0, length);
}

/** A number rounded to float32, then to a float type. */
function rounded(value: number, dtype: ScaleDType): number {
  if (dtype === "float32") return Math.fround(value);
  one[0] = value;
  return roundInPlace(one, dtype)[0];
}

/** Calls a function with each group: its place among the groups, and its values [begin, end). */
function eachGroup(
  { rows, columns, groupSize }: Groups,
  run: (group: number, begin: number, end: number) => void,
): void {
  const count = Math.ceil(columns / groupSize);
  for (let row = 0, group = 0; row < rows; row++) {
    for (let i = 0; i < count; i++, group++) {
      const begin = row * columns + i * groupSize;
      run(group, begin, Math.min(begin + groupSize, (row + 1) * columns));
    }
  }
}

/** Params of every group by its smallest and largest value. */
function chooseByRanges(
  values: Float32Array,
  groups: Groups,
  choose: (min: number, max: number) => readonly [scale: number, zero: number],
): Params {
  checkFinite("", values, 0);
  const count = groups.rows * groupsPerRow(groups);
  const scale = new Float32Array(count);
  const zero = new Float32Array(count);
  eachGroup(groups, (group, begin, end) => {
    let min = values[begin];
    let max = min;
    for (let i = begin + 1; i < end; i++) {
      const value = values[i];
      if (value < min) min = value;
      else if (value > max) max = value;
    }
    [scale[group], zero[group]] = choose(min, max);
  });
  return { scale, zero };
}

/** Rounds quotients to codes from low to high, in scratch memory. */
function toCodes(quotients: Float32Array, low: number, high: number): Int8Array | Uint8Array {
  const { length } = quotients;
  if (codesMemory.length < length) codesMemory = new Int8Array(length);
  const { buffer } = codesMemory;
  const codes = low < 0 ? new Int8Array(buffer, 0, length) : new Uint8Array(buffer, 0, length);
  for (let i = 0; i < codes.length; i++) {
    const value = quotients[i];
    const clamped = value < low ? low : value > high ? high : value;
    codes[i] = clamped + ROUND - ROUND;
  }
  return codes;
}

/**
 * The encoder of compressed-tensors. Every operation is rounded to the weight's own float type:
 *
 *     min = min(values, 0)   max = max(values, 0)   low = -2^(bits - 1)   high = 2^(bits - 1) - 1
 *     symmetric   scale = max(|min|, |max|) / ((2^bits - 1) / 2)
 *     affine      scale = (max - min) / (2^bits - 1)   zero = round(clamp(low - min / scale, low, high))
 *     code = round(clamp(x / scale + zero, low, high))
 *
 * A scale of 0 becomes the type's epsilon, after the zero point is computed.
 */
export function compressedEncoder(bits: number, isAffine: boolean, dtype: ScaleDType): Encoder {
  const low = -(2 ** (bits - 1));
  const high = -low - 1;
  const round = (value: number): number => rounded(value, dtype);
  const choose = (min: number, max: number): readonly [number, number] => {
    const bottom = Math.min(min, 0);
    const top = Math.max(max, 0);
    if (!isAffine) {
      const scale = round(Math.max(-bottom, top) / ((2 ** bits - 1) / 2));
      return [scale === 0 ? EPSILON[dtype] : scale, 0];
    }
    const scale = round(round(top - bottom) / (2 ** bits - 1));
    const zero = round(low - round(bottom / scale));
    // 0 / 0: an empty range.
    const code = Number.isNaN(zero) ? 0 : Math.min(Math.max(zero, low), high) + ROUND - ROUND;
    return [scale === 0 ? EPSILON[dtype] : scale, code];
  };
  return {
    choose: (values, groups) => chooseByRanges(values, groups, choose),
    chooseLong: ({ min, max }) => {
      const [scale, zero] = choose(min, max);
      return { scale: Float32Array.of(scale), zero: Float32Array.of(zero) };
    },
    encode: (values, groups, { scale, zero }) => {
      const quotients = quotientsOf(values.length);
      eachGroup(groups, (group, begin, end) => {
        const step = scale[group];
        for (let i = begin; i < end; i++) quotients[i] = values[i] / step;
      });
      roundInPlace(quotients, dtype);
      if (isAffine) {
        eachGroup(groups, (group, begin, end) => {
          const shift = zero[group];
          for (let i = begin; i < end; i++) quotients[i] += shift;
        });
        roundInPlace(quotients, dtype);
      }
      return toCodes(quotients, low, high);
    },
  };
}

/**
 * The encoder of MLX, in float32: value = scale * code + offset, and the end of the range that is farther from 0 is
 * exact.
 *
 *     scale = max((max - min) / N, 1e-7), negative unless |min| > |max|   N = 2^bits - 1
 *     edge = the end farther from 0 (equal: max)   q = round(edge / scale)
 *     q != 0: scale = edge / q, offset = edge       else offset = 0
 *     code = clamp(round((x - offset) / scale), 0, N)
 *
 * Codes belong to this scale; files hold it in the weight's own float type.
 */
export function mlxEncoder(bits: number): Encoder {
  const most = 2 ** bits - 1;
  const { fround } = Math;
  const least = fround(1e-7);
  const choose = (min: number, max: number): readonly [number, number] => {
    const size = Math.max(fround(fround(max - min) / most), least);
    const isLow = Math.abs(min) > Math.abs(max);
    const scale = isLow ? size : -size;
    const edge = isLow ? min : max;
    const code = fround(edge / scale) + ROUND - ROUND;
    return code === 0 ? [scale, 0] : [fround(edge / code), edge];
  };
  return {
    choose: (values, groups) => chooseByRanges(values, groups, choose),
    chooseLong: ({ min, max }) => {
      const [scale, zero] = choose(min, max);
      return { scale: Float32Array.of(scale), zero: Float32Array.of(zero) };
    },
    encode: (values, groups, { scale, zero }) => {
      const quotients = quotientsOf(values.length);
      eachGroup(groups, (group, begin, end) => {
        const step = scale[group];
        const offset = zero[group];
        for (let i = begin; i < end; i++) quotients[i] = fround(values[i] - offset) / step;
      });
      return toCodes(quotients, 0, most);
    },
  };
}
