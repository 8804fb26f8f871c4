// Arguments and results of torchao's functions: dtypes, limits of codes, values, numbers of blocks.

import { checkChoice, checkInteger, wrongKind } from "../../base/check.js";
import { DTYPES } from "../../base/dtype.js";
import { rangeError, typeError } from "../../base/errors.js";
import { type Options, ownFields } from "../../base/fields.js";
import { showShape } from "../../base/format-value.js";
import { Halves } from "../../base/halves.js";
import { type ARRAYS, type NumberArray, newArray } from "../../base/typed-arrays.js";
import type { Blocks } from "../../tensor/blocks.js";
import { type CheckedTensor, checkTensor } from "../../tensor/check.js";
import { sizeOf } from "../../tensor/shape.js";
import {
  FLOAT_DTYPES,
  type FloatDType,
  floatsOf,
  roundingOf,
  storedAs,
  toInt32,
} from "./floats.js";

/** Where zero points live: ZeroPointDomain of torchao. `"float"` is tinygemm's, `"none"` has none. */
export type ZeroPointDomain = "int" | "float" | "none";

/** A dtype of codes of torchao. */
export type AffineDType = `${"int" | "uint"}${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8}` | "int16" | "int32";

/** A dtype of zero points. */
export type ZeroPointDType = FloatDType | "int8" | "int32" | "int64";

/** Scales or zero points of blocks. */
export interface BlockTensor {
  /** `Float32Array`; a `Uint16Array` of bit patterns for half floats; `Int32Array` for int32 and int64. */
  readonly data: Float32Array | Uint16Array | Int8Array | Int32Array;
  /** The number of blocks on each axis. */
  readonly shape: number[];
  /** The type of the numbers. */
  readonly dtype: ZeroPointDType;
}

/** Codes of blocks, with everything that is needed to dequantize them. */
export interface AffineQuantized {
  /** The codes, row-major. */
  readonly data: Int8Array | Uint8Array | Int16Array | Int32Array;
  /** The length of each axis, outermost first. */
  readonly shape: number[];
  /** The dtype of the codes. */
  readonly dtype: AffineDType;
  /** The values of a block on each axis. */
  readonly blockSize: number[];
  /** Units per step, one for each block. */
  readonly scale: BlockTensor;
  /** The code of 0, or with `zeroPointDomain: "float"` the value of the middle code; none with `"none"`. */
  readonly zeroPoint?: BlockTensor;
  /** The dtype that the codes were computed in: that of the values. */
  readonly compute: FloatDType;
  /** The smallest code, if it is not that of the dtype. */
  readonly quantMin?: number;
  /** The largest code, if it is not that of the dtype. */
  readonly quantMax?: number;
  /** Default: `"int"`. */
  readonly zeroPointDomain?: ZeroPointDomain;
}

/** Options about codes. */
export interface CodeOptions {
  /** The dtype of codes. Default: `"int8"`. */
  dtype?: AffineDType | undefined;
  /** The smallest code. Default: that of the dtype. */
  quantMin?: number | undefined;
  /** The largest code. Default: that of the dtype. */
  quantMax?: number | undefined;
  /** Default: `"int"`. */
  zeroPointDomain?: ZeroPointDomain | undefined;
  /**
   * `"torch"`: NaN and infinities as torchao computes them. By default they are refused where qparams are chosen, and
   * the code of NaN is the zero point.
   */
  compat?: "torch" | undefined;
}

export const CODE_OPTIONS = ["dtype", "quantMin", "quantMax", "zeroPointDomain", "compat"] as const;
const DOMAINS = ["int", "float", "none"] as const;
export const ZERO_DTYPES = [...FLOAT_DTYPES, "int8", "int32", "int64"] as const;

/** What the codes are. */
export interface Codes {
  readonly dtype: AffineDType;
  readonly low: number;
  readonly high: number;
  /** Whether the limits differ from the dtype's. */
  readonly isNarrow: boolean;
  readonly domain: ZeroPointDomain;
  readonly isTorch: boolean;
}

/** The limits of a dtype, and the array of its codes; torchao has int1 and uint1, too. */
export function limitsOf(dtype: AffineDType): {
  low: number;
  high: number;
  arrayName: keyof typeof ARRAYS;
} {
  if (dtype === "int1") return { low: -1, high: 0, arrayName: "Int8Array" };
  const { qmin, qmax, arrayName } = DTYPES[dtype];
  return { low: qmin, high: qmax, arrayName };
}

const INTEGER_DTYPES = /^(u?int[1-8]|int16|int32)$/;

export function checkCodeOptions(where: string, options: Options): Codes {
  const { dtype = "int8", quantMin, quantMax, compat } = options;
  if (typeof dtype !== "string" || !INTEGER_DTYPES.test(dtype)) {
    const wanted = '"int1" to "int8", "uint1" to "uint8", "int16" or "int32"';
    const error = typeof dtype === "string" ? rangeError : typeError;
    throw wrongKind("ZP_INVALID_DTYPE", where, "options.dtype", wanted, dtype, error);
  }
  const { low: least, high: most } = limitsOf(dtype as AffineDType);
  const low = checkInteger(where, "options.quantMin", quantMin, least, -(2 ** 31), 2 ** 31 - 1);
  const high = checkInteger(where, "options.quantMax", quantMax, most, low, 2 ** 31 - 1);
  const isTorch =
    compat !== undefined &&
    checkChoice(where, "options.compat", compat, ["torch"], undefined) !== undefined;
  const domain = checkChoice(
    where,
    "options.zeroPointDomain",
    options.zeroPointDomain,
    DOMAINS,
    "int",
  );
  const isNarrow = low !== least || high !== most;
  return { dtype: dtype as AffineDType, low, high, isNarrow, domain, isTorch };
}

/** Values with the dtype that they are computed in. */
export interface Values {
  readonly values: Float32Array;
  readonly shape: number[];
  readonly dtype: FloatDType;
}

export function valuesOf(where: string, argument: string, given: unknown): Values {
  const { data, shape } = checkTensor(where, argument, given) as CheckedTensor;
  return { values: floatsOf(where, data), shape, dtype: Halves.typeOf(data) ?? "float32" };
}

/** Values of a dtype as a result. */
export function resultOf(
  where: string,
  values: Float32Array,
  shape: readonly number[],
  dtype: FloatDType,
): { data: Float32Array | Uint16Array; shape: number[]; dtype: FloatDType } {
  return { data: storedAs(where, values, dtype), shape: [...shape], dtype };
}

/** Zero points, which may be integers, as a result. */
export function zeroPointsOf(
  where: string,
  values: Float32Array,
  shape: readonly number[],
  dtype: ZeroPointDType,
): BlockTensor {
  if (dtype === "int8" || dtype === "int32" || dtype === "int64") {
    const data = newArray<Int8Array | Int32Array>(
      where,
      dtype === "int8" ? Int8Array : Int32Array,
      values.length,
    );
    for (let i = 0; i < values.length; i++) data[i] = toInt32(values[i]);
    return { data, shape: [...shape], dtype };
  }
  const round = roundingOf(dtype);
  return resultOf(where, values.map(round), shape, dtype);
}

export function checkFiniteRanges(where: string, min: Float32Array, max: Float32Array): void {
  const index = min.findIndex((value, i) => !Number.isFinite(value) || !Number.isFinite(max[i]));
  if (index === -1) return;
  throw rangeError(
    "ZP_NON_FINITE",
    where,
    `the values must be finite to choose a scale, but those of block ${index} reach from ${min[index]} to ` +
      `${max[index]}; options.compat: "torch" computes with them as torchao does`,
  );
}

/** torch.clamp: keeps NaN. */
export const clamp = (value: number, low: number, high: number): number =>
  value < low ? low : value > high ? high : value;

/** max(value, low) as torch.clamp(min=…): keeps NaN, and -0. */
export const atLeast = (value: number, low: number): number => (value < low ? low : value);

/** A bound of codes in a dtype. @throws {RangeError} where PyTorch refuses it, too */
export function boundIn(where: string, bound: number, dtype: FloatDType): number {
  const rounded = roundingOf(dtype)(bound);
  if (Number.isFinite(rounded)) return rounded;
  throw rangeError("ZP_INVALID_OPTION", where, `the limit ${bound} of the codes is no ${dtype}`);
}

/** Numbers of blocks: one each, or one for all. */
export function checkBlockNumbers(
  where: string,
  argument: string,
  given: unknown,
  { count }: Blocks,
): { values: Float32Array; dtype: ZeroPointDType; given: BlockTensor } {
  if (typeof given === "number") {
    const values = newArray(where, Float32Array, count).fill(given);
    const one = { data: Float32Array.of(given), shape: [], dtype: "float32" as const };
    return { values, dtype: Number.isInteger(given) ? "int32" : "float32", given: one };
  }
  const { data, shape } = checkTensor(where, argument, given);
  if (sizeOf(shape) !== count) {
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      where,
      `${argument} must have one value for each of ${count} blocks, got shape ${showShape(shape)}`,
    );
  }
  const values = floatsOf(where, data);
  const dtype = Halves.typeOf(data) ?? plainDType(data, ownFields(given as object).dtype);
  return { values, dtype, given: zeroPointsOf(where, values, shape, dtype) };
}

/** The dtype of numbers that are no half floats. @param told  the tensor's own dtype, if it has one */
function plainDType(data: NumberArray, told: unknown): ZeroPointDType {
  if (data instanceof Float32Array || data instanceof Float64Array) return "float32";
  if (told === "int64") return told;
  return data instanceof Int8Array ? "int8" : "int32";
}
