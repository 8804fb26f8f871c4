// torchao's half-quadratic quantization (HQQ): qparams that are improved on the values in up to 20 steps.

import { checkBoolean, checkChoice, checkInteger } from "../../base/check.js";
import { rangeError, typeError } from "../../base/errors.js";
import { showShape } from "../../base/format-value.js";
import { checkOptions } from "../../base/options.js";
import { roundHalfEven } from "../../base/round.js";
import { newArray } from "../../base/typed-arrays.js";
import type { TensorInput } from "../../tensor/check.js";
import { MAX_COUNT } from "../../tensor/shape.js";
import { cascadeSum } from "../cascade-sum.js";
import { type AffineDType, type AffineQuantized, clamp, resultOf, valuesOf } from "./arguments.js";
import { FLOAT_DTYPES, type FloatDType, roundingOf } from "./floats.js";

/** Options of `quantizeHqq`. */
export interface QuantizeHqqOptions {
  /** Bits of a code, 1 to 8. Default: 4. */
  bits?: number | undefined;
  /** The values that share a scale. Default: 64. */
  groupSize?: number | undefined;
  /**
   * 1: groups of consecutive values of the last axis. 0: the columns of the values arranged as `groupSize` rows, which
   * is then the result's shape. Default: 1.
   */
  axis?: 0 | 1 | undefined;
  /** false: no steps; qparams from the range alone. Default: true. */
  optimize?: boolean | undefined;
  /** The dtype of scales and zero points. Default: `"float16"`. With `scaleOnly` it is that of the values. */
  computeDtype?: FloatDType | undefined;
  /** Zero points as HQQ has them, real codes: value = (code - zeroPoint) * scale. Default: false. */
  raw?: boolean | undefined;
  /** Signed codes without zero points; of the other options only `bits` and `groupSize`. Default: false. */
  scaleOnly?: boolean | undefined;
}

/** Its value as a float32, as PyTorch takes a number. */
const POWER = /* @__PURE__ */ Math.fround(-0.3);

/** Steps of either form. */
const STEPS = 20;

/** Values as `groups` slices of `size` values: value j of slice i is at i * across + j * step. */
interface Slices {
  readonly values: Float32Array;
  readonly groups: number;
  readonly size: number;
  readonly across: number;
  readonly step: number;
}

/**
 * Quantizes in groups, with a scale and a zero point that half-quadratic optimization improves. In float32, with
 * s = min((2^bits - 1) / (max - min), 20000) and z = -min * s at the beginning, and then up to 20 times:
 *
 *     code = clamp(round_half_even(x * s + z), 0, 2^bits - 1)
 *     r = (code - z) / s
 *     e = sign(x - r) * max(|x - r| - |x - r|^-0.3 / (10 * 1.01^i), 0)
 *     z = mean(code - (x - e) * s)
 *
 * until mean|x - r| no longer falls. The scale is 1 / s, the zero point (2^(bits - 1) - z) / s: the real value of the
 * middle code, as `zeroPointDomain: "float"` has it. With `scaleOnly`, scale = max|x| / 2^(bits - 1) at the beginning,
 * and then up to 20 times scale = sum(x * code) / sum(code * code).
 *
 * Sums are added in PyTorch's order for one thread.
 *
 * Source: _choose_qparams_and_quantize_affine_hqq and _choose_qparams_and_quantize_scale_only_hqq of torchao 0.19.
 *
 * @param x  float32, float16 or bfloat16; groups divide its last axis, with `axis: 0` all of it
 * @returns what `dequantizeAffine` takes
 * @throws {RangeError} `ZP_NON_FINITE`, `ZP_INVALID_GROUP_SIZE`
 * @throws {TypeError} `ZP_INVALID_TENSOR`, `ZP_CONFLICTING_OPTIONS`
 * @example quantizeHqq(x, { bits: 4, groupSize: 64 })
 */
export function quantizeHqq(x: TensorInput, options?: QuantizeHqqOptions): AffineQuantized {
  const where = "quantizeHqq";
  const known = ["bits", "groupSize", "axis", "optimize", "computeDtype", "raw", "scaleOnly"];
  const given = checkOptions(where, options, known);
  const bits = checkInteger(where, "options.bits", given.bits, 4, 1, 8);
  const size = checkInteger(where, "options.groupSize", given.groupSize, 64, 1, MAX_COUNT);
  const isScaleOnly = checkBoolean(where, "options.scaleOnly", given.scaleOnly, false);
  if (isScaleOnly) {
    for (const name of ["axis", "optimize", "computeDtype", "raw"]) {
      if (given[name] === undefined) continue;
      const problem = `options.${name} must be undefined with scaleOnly: true`;
      throw typeError("ZP_CONFLICTING_OPTIONS", where, problem);
    }
  }
  const axis = checkInteger(where, "options.axis", given.axis, 1, 0, 1);
  const optimize = checkBoolean(where, "options.optimize", given.optimize, true);
  const computeDtype = checkChoice(
    where,
    "options.computeDtype",
    given.computeDtype,
    FLOAT_DTYPES,
    "float16",
  );
  const isRaw = checkBoolean(where, "options.raw", given.raw, false);
  const { values, shape, dtype } = valuesOf(where, "x", x);
  const length = axis === 1 ? (shape.at(-1) ?? 1) : values.length;
  if (length % size !== 0) {
    throw rangeError(
      "ZP_INVALID_GROUP_SIZE",
      where,
      `options.groupSize must divide ${axis === 1 ? "the last axis" : "the number of values"} of shape ` +
        `${showShape(shape)}, got ${size}`,
    );
  }
  const infinite = values.findIndex((value) => !Number.isFinite(value));
  if (infinite !== -1) {
    const problem = `the values must be finite, got ${values[infinite]} at index ${infinite}`;
    throw rangeError("ZP_NON_FINITE", where, problem);
  }
  const groups = values.length / size;
  const [across, step] = axis === 1 ? [size, 1] : [1, groups];
  const slices: Slices = { values, groups, size, across, step };
  const rows = axis === 1 ? shape : [size, groups];
  const common = {
    shape: [...rows],
    blockSize: rows.map((_, i) => (i === (axis === 1 ? rows.length - 1 : 0) ? size : 1)),
    compute: dtype,
  };
  const counts = rows.map((own, i) => own / common.blockSize[i]);
  if (isScaleOnly) {
    const { codes, scale } = scaleOnly(where, slices, bits);
    return {
      ...common,
      data: newArray(where, Int8Array, values.length).map((_, i) => codes[i]),
      dtype: `int${bits}` as AffineDType,
      scale: resultOf(where, scale.map(roundingOf(dtype)), counts, dtype),
      zeroPointDomain: "none",
    };
  }
  const { codes, scale, zero } = affine(where, slices, bits, optimize, roundingOf(computeDtype));
  if (!isRaw) {
    const middle = 2 ** (bits - 1);
    for (let i = 0; i < groups; i++) zero[i] = Math.fround(middle - zero[i]) * scale[i];
  }
  const round = roundingOf(computeDtype);
  return {
    ...common,
    data: newArray(where, Uint8Array, values.length).map((_, i) => codes[i]),
    dtype: `uint${bits}` as AffineDType,
    scale: resultOf(where, scale.map(round), counts, computeDtype),
    zeroPoint: resultOf(where, zero.map(round), counts, computeDtype),
    ...(isRaw ? {} : { zeroPointDomain: "float" }),
  };
}

/** Calls visit(index, group) for every value. */
function forValues(
  { groups, size, across, step }: Slices,
  visit: (index: number, group: number) => void,
): void {
  for (let group = 0; group < groups; group++) {
    for (let j = 0; j < size; j++) visit(group * across + j * step, group);
  }
}

/** The sum of each slice of an array that is laid out as the values. */
function sums(where: string, { groups, size, across, step }: Slices, terms: Float32Array) {
  const out = newArray(where, Float32Array, groups);
  const axes = { sizes: [size, groups], input: [step, across], output: [0, 1] };
  if (terms.length > 0) cascadeSum(axes, terms, 0, out);
  return out;
}

function affine(
  where: string,
  slices: Slices,
  bits: number,
  optimize: boolean,
  round: (value: number) => number,
) {
  const { values, groups, size } = slices;
  const top = 2 ** bits - 1;
  const [low, high, steps, zero] = Array.from({ length: 4 }, () =>
    newArray(where, Float32Array, groups),
  );
  low.fill(Infinity);
  high.fill(-Infinity);
  forValues(slices, (i, group) => {
    low[group] = Math.min(low[group], values[i]);
    high[group] = Math.max(high[group], values[i]);
  });
  for (let i = 0; i < groups; i++) {
    const reciprocal = Math.fround(1 / Math.fround(high[i] - low[i]));
    steps[i] = Math.min(Math.fround(reciprocal * top), 2e4);
    zero[i] = -low[i] * steps[i];
    if (bits === 4) zero[i] = roundHalfEven(zero[i]);
    if (optimize) continue;
    zero[i] = round(zero[i]);
    steps[i] = round(steps[i]);
  }
  const codeOf = (i: number, group: number): number =>
    clamp(roundHalfEven(Math.fround(Math.fround(values[i] * steps[group]) + zero[group])), 0, top);
  const [errors, targets] = [0, 1].map(() => newArray(where, Float32Array, values.length));
  let [beta, best] = [10, 1e4];
  for (let step = 0; optimize && step < STEPS; step++) {
    const weight = Math.fround(1 / beta);
    forValues(slices, (i, group) => {
      const code = codeOf(i, group);
      const restored = Math.fround(Math.fround(code - zero[group]) / steps[group]);
      const rest = Math.fround(values[i] - restored);
      const error = Math.abs(rest);
      errors[i] = error;
      // The power of 0 is infinite: nothing is left of it.
      const shrunk = Math.fround(error - Math.fround(weight * Math.fround(error ** POWER)));
      const kept = rest === 0 ? 0 : Math.sign(rest) * Math.max(shrunk, 0);
      const target = Math.fround(Math.fround(values[i] - kept) * steps[group]);
      targets[i] = code - target;
    });
    const total = sums(where, slices, targets);
    for (let i = 0; i < groups; i++) zero[i] = total[i] / size;
    beta *= 1.01;
    const error = mean(errors);
    if (!(error < best)) break;
    best = error;
  }
  const codes = newArray(where, Float32Array, values.length);
  forValues(slices, (i, group) => {
    codes[i] = codeOf(i, group);
  });
  const scale = steps.map((own) => (optimize ? 1 / own : round(Math.fround(1 / own))));
  return { codes, scale, zero };
}

/** torch.mean of all values. */
function mean(values: Float32Array): number {
  const total = new Float32Array(1);
  const { length } = values;
  if (length > 0) cascadeSum({ sizes: [length], input: [1], output: [0] }, values, 0, total);
  return Math.fround(total[0] / length);
}

function scaleOnly(where: string, slices: Slices, bits: number) {
  const { values, groups } = slices;
  const [low, high] = [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1];
  const least = 2 ** -23;
  const scale = newArray(where, Float32Array, groups);
  forValues(slices, (i, group) => {
    scale[group] = Math.max(scale[group], Math.abs(values[i]));
  });
  for (let i = 0; i < groups; i++) scale[i] = Math.max(Math.fround(scale[i] / -low), least);
  const [codes, products, squares] = [0, 1, 2].map(() =>
    newArray(where, Float32Array, values.length),
  );
  const quantize = () =>
    forValues(slices, (i, group) => {
      codes[i] = clamp(roundHalfEven(Math.fround(values[i] / scale[group])), low, high);
    });
  for (let step = 0; step < STEPS; step++) {
    quantize();
    for (let i = 0; i < values.length; i++) {
      products[i] = values[i] * codes[i];
      squares[i] = codes[i] * codes[i];
    }
    const [above, below] = [sums(where, slices, products), sums(where, slices, squares)];
    let change = 0;
    for (let i = 0; i < groups; i++) {
      const old = scale[i];
      const next = below[i] > 0 ? Math.fround(above[i] / below[i]) : old;
      scale[i] = Math.max(next, least);
      const difference = Math.abs(Math.fround(scale[i] - old));
      change = Math.max(change, Math.fround(difference / Math.max(old, least)));
    }
    if (change < 1e-5) break;
  }
  quantize();
  return { codes, scale };
}
