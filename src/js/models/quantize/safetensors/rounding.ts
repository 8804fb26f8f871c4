// The arithmetic of compressed-tensors and MLX: ranges to scales, values to codes.
// Source: compressed-tensors 0.18 with llm-compressor's memoryless min-max observer; MLX's affine quantize on the CPU.

import type { Core } from "../../../core/core.js";
import { dequantizeValues } from "../../../formats/layouts/unpack.js";
import { rangesOf } from "../../../tensor/range.js";
import { checkFinite } from "../../weights/slabs.js";
import {
  type FileEncoder,
  type Groups,
  groupsPerRow,
  type LongGroup,
  type Params,
} from "../../weights/slices.js";
import { floatsOf, type Values } from "../../weights/values.js";
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

let floatsMemory = new Float32Array(0);
let quotientsMemory = new Float32Array(0);
let codesMemory = new Int8Array(0);

/** Values as float32, in memory that is used again. */
function floats(values: Values): Float32Array {
  if (floatsMemory.length < values.length) floatsMemory = new Float32Array(values.length);
  return floatsOf(values, floatsMemory);
}

/** Scratch memory for the quotients of a unit, used again for the next one. */
function quotientsOf(length: number): Float32Array {
  if (quotientsMemory.length < length) quotientsMemory = new Float32Array(length);
  return quotientsMemory.subarray(0, length);
}

/** Scratch memory for the codes of a unit, signed or not. */
function codesOf(length: number, isSigned: boolean): Int8Array | Uint8Array {
  if (codesMemory.length < length) codesMemory = new Int8Array(length);
  const { buffer } = codesMemory;
  return isSigned ? new Int8Array(buffer, 0, length) : new Uint8Array(buffer, 0, length);
}

/** A number rounded to float32, then to a float type. */
function rounded(value: number, dtype: ScaleDType): number {
  if (dtype === "float32") return Math.fround(value);
  one[0] = value;
  return roundInPlace(one, dtype)[0];
}

/** Writes the params of the group at an index, by its smallest and largest value. */
type ChooseParams = (min: number, max: number, params: FloatParams, index: number) => void;

interface FloatParams {
  readonly scale: Float32Array;
  readonly zero: Float32Array;
}

const floatParams = (length: number): FloatParams => ({
  scale: new Float32Array(length),
  zero: new Float32Array(length),
});

/** Params of a group that is too long to be held. */
function chooseByEnds({ min, max }: LongGroup, choose: ChooseParams): Params {
  const params = floatParams(1);
  choose(min, max, params, 0);
  return params;
}

/** Params of every group by its smallest and largest value. All groups are whole. */
function chooseByRanges(
  core: Core,
  values: Values,
  { groupSize }: Groups,
  choose: ChooseParams,
): Params {
  const slices = values.length / groupSize;
  const view = { outer: 1, slices, inner: groupSize };
  const ends = rangesOf(core, "quantizeModel", values, view, "keep");
  const params = floatParams(slices);
  for (let i = 0; i < slices; i++) {
    const min = ends[2 * i];
    const max = ends[2 * i + 1];
    if (!Number.isFinite(max - min)) checkFinite("", values, 0);
    choose(min, max, params, i);
  }
  return params;
}

/** Groups as readers of checkpoints describe them. */
const gridOf = (groups: Groups) => ({
  shape: [groups.rows, groups.columns] as const,
  scaleShape: [groups.rows, groupsPerRow(groups)],
  groupSize: groups.groupSize,
  granularity: "group" as const,
  isTransposed: false,
});

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
export function compressedEncoder(
  core: Core,
  bits: number,
  isAffine: boolean,
  dtype: ScaleDType,
): FileEncoder {
  const low = -(2 ** (bits - 1));
  const high = -low - 1;
  const round = (value: number): number => rounded(value, dtype);
  const choose: ChooseParams = (min, max, params, index) => {
    const bottom = Math.min(min, 0);
    const top = Math.max(max, 0);
    if (!isAffine) {
      const scale = round(Math.max(-bottom, top) / ((2 ** bits - 1) / 2));
      params.scale[index] = scale === 0 ? EPSILON[dtype] : scale;
      return;
    }
    const scale = round(round(top - bottom) / (2 ** bits - 1));
    const zero = round(low - round(bottom / scale));
    // 0 / 0: an empty range.
    const code = Number.isNaN(zero) ? 0 : Math.min(Math.max(zero, low), high) + ROUND - ROUND;
    params.scale[index] = scale === 0 ? EPSILON[dtype] : scale;
    params.zero[index] = code;
  };
  return {
    choose: (values, groups) => chooseByRanges(core, values, groups, choose),
    chooseLong: (group) => chooseByEnds(group, choose),
    encode: (given, { groupSize }, { scale, zero }) => {
      const values = floats(given);
      const { length } = values;
      const quotients = quotientsOf(length);
      for (let group = 0, i = 0; i < length; group++) {
        const step = scale[group];
        const end = Math.min(length, i + groupSize);
        for (; i < end; i++) quotients[i] = values[i] / step;
      }
      roundInPlace(quotients, dtype);
      if (isAffine) {
        for (let group = 0, i = 0; i < length; group++) {
          const shift = zero[group];
          const end = Math.min(length, i + groupSize);
          for (; i < end; i++) quotients[i] += shift;
        }
        roundInPlace(quotients, dtype);
      }
      const codes = codesOf(length, true);
      for (let i = 0; i < length; i++) {
        const value = quotients[i];
        codes[i] = (value < low ? low : value > high ? high : value) + ROUND - ROUND;
      }
      return codes;
    },
    restore: (codes, groups, { scale, zero }) =>
      dequantizeValues({
        ...{ codes, ...gridOf(groups), scale, valueDtype: dtype },
        ...(isAffine && { zeroPoint: Int32Array.from(zero) }),
      }),
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
export function mlxEncoder(core: Core, bits: number, dtype: ScaleDType): FileEncoder {
  const most = 2 ** bits - 1;
  const { fround } = Math;
  const least = fround(1e-7);
  const choose: ChooseParams = (min, max, params, index) => {
    const size = Math.max(fround(fround(max - min) / most), least);
    const isLow = Math.abs(min) > Math.abs(max);
    const scale = isLow ? size : -size;
    const edge = isLow ? min : max;
    const code = fround(edge / scale) + ROUND - ROUND;
    params.scale[index] = code === 0 ? scale : edge / code;
    params.zero[index] = code === 0 ? 0 : edge;
  };
  return {
    choose: (values, groups) => chooseByRanges(core, values, groups, choose),
    chooseLong: (group) => chooseByEnds(group, choose),
    encode: (given, { groupSize }, { scale, zero }) => {
      const values = floats(given);
      const { length } = values;
      const codes = codesOf(length, false);
      for (let group = 0, i = 0; i < length; group++) {
        const step = scale[group];
        const offset = zero[group];
        const end = Math.min(length, i + groupSize);
        for (; i < end; i++) {
          const value = fround(fround(values[i] - offset) / step);
          codes[i] = (value < 0 ? 0 : value > most ? most : value) + ROUND - ROUND;
        }
      }
      return codes;
    },
    restore: (codes, groups, { scale, zero }) =>
      dequantizeValues({
        ...{ codes, ...gridOf(groups), valueDtype: dtype },
        scale: roundInPlace(scale.slice(), dtype),
        offset: roundInPlace(Float32Array.from(zero), dtype),
      }),
  };
}
