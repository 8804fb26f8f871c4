// torchao's float8 quantization of blocks: a scale, patterns of 8 bits, values.

import { checkChoice, checkFinite, wrongKind } from "../../base/check.js";
import { ownFields } from "../../base/fields.js";
import { checkOptions } from "../../base/options.js";
import { roundHalfEven } from "../../base/round.js";
import { decodeSmall, encodeSmall, SMALL_FLOATS } from "../../base/small-floats.js";
import { newArray } from "../../base/typed-arrays.js";
import { forRuns } from "../../tensor/blocks.js";
import { checkTensor, type TensorInput } from "../../tensor/check.js";
import { sizeOf } from "../../tensor/shape.js";
import {
  atLeast,
  type BlockTensor,
  checkBlockNumbers,
  checkFiniteRanges,
  resultOf,
  valuesOf,
} from "./arguments.js";
import { blockShape, checkBlocks } from "./blocks.js";
import {
  FLOAT_DTYPES,
  FLOAT8_DTYPES,
  type Float8DType,
  type FloatDType,
  roundingOf,
} from "./floats.js";

/** Options of `chooseScaleFloat8`. */
export interface ChooseFloat8Options {
  /** Default: `"float8_e4m3fn"`. */
  dtype?: Float8DType | undefined;
  /** The values of a block on each axis, which divide it; -1: all of it. Default: one block. */
  blockSize?: readonly number[] | undefined;
  /** A lower bound of the largest magnitude of a block. Default: 0. */
  lowerBound?: number | undefined;
  /** An upper bound of it. Default: none. */
  upperBound?: number | undefined;
  /** `"float8_e8m0"`: scales are powers of two. Default: `"float32"`. */
  scaleDtype?: "float32" | "float8_e8m0" | undefined;
  /** `"torch"`: NaN and infinities as torchao computes them; by default they are refused. */
  compat?: "torch" | undefined;
}

/** Values of 8-bit floats with a scale for each block. */
export interface Float8Quantized {
  /** Bit patterns. */
  readonly data: Uint8Array;
  /** The length of each axis, outermost first. */
  readonly shape: number[];
  /** The type of the patterns. */
  readonly dtype: Float8DType;
  /** The values of a block on each axis. */
  readonly blockSize: number[];
  /** Units of the patterns' values, one for each block; float32. */
  readonly scale: BlockTensor;
  /** The dtype of the values. */
  readonly compute: FloatDType;
}

/**
 * Chooses the scale of every block: max|x|, within the bounds, over the largest value of the float8 type, rounded to
 * the dtype of the values. With e8m0 scales, the nearest power of two. A block of zeros has scale 0 unless there is a
 * lower bound.
 *
 * Source: _choose_scale_float8 of torchao 0.19.
 *
 * @param x  float32, float16 or bfloat16, any shape
 * @returns float32, one scale for each block; all axes are kept
 * @throws {RangeError} `ZP_NON_FINITE` without `compat: "torch"`, `ZP_INVALID_GROUP_SIZE`
 */
export function chooseScaleFloat8(x: TensorInput, options?: ChooseFloat8Options): BlockTensor {
  const where = "chooseScaleFloat8";
  const known = ["dtype", "blockSize", "lowerBound", "upperBound", "scaleDtype", "compat"];
  const given = checkOptions(where, options, known);
  const dtype = checkChoice(where, "options.dtype", given.dtype, FLOAT8_DTYPES, "float8_e4m3fn");
  const scaleDtypes = ["float32", "float8_e8m0"] as const;
  const scaleDtype = checkChoice(
    where,
    "options.scaleDtype",
    given.scaleDtype,
    scaleDtypes,
    "float32",
  );
  const isTorch =
    given.compat !== undefined &&
    checkChoice(where, "options.compat", given.compat, ["torch"], undefined) === "torch";
  const input = valuesOf(where, "x", x);
  const blocks = checkBlocks(where, given.blockSize ?? input.shape.map(() => -1), input.shape);
  const round = roundingOf(input.dtype);
  const lower = round(checkFinite(where, "options.lowerBound", given.lowerBound, 0));
  const upper =
    given.upperBound === undefined
      ? Infinity
      : round(checkFinite(where, "options.upperBound", given.upperBound, 0));
  const scales = newArray(where, Float32Array, blocks.count);
  forRuns(blocks, (start, count, block) => {
    for (let i = start; i < start + count; i++) {
      scales[block] = Math.max(scales[block], Math.abs(input.values[i]));
    }
  });
  if (!isTorch) checkFiniteRanges(where, scales, scales);
  const { most } = SMALL_FLOATS[dtype];
  for (let i = 0; i < scales.length; i++) {
    const magnitude = atLeast(scales[i], lower);
    const scale = round((magnitude > upper ? upper : magnitude) / most);
    scales[i] =
      scaleDtype === "float32"
        ? scale
        : round(2 ** roundHalfEven(round(Math.fround(Math.log2(scale)))));
  }
  return { data: scales, shape: blockShape(blocks, true), dtype: "float32" };
}

/** Options of `quantizeFloat8`. */
export interface QuantizeFloat8Options {
  /** Default: `"float8_e4m3fn"`. */
  dtype?: Float8DType | undefined;
  /** Default: one block. */
  blockSize?: readonly number[] | undefined;
  /** A result of `chooseScaleFloat8`, or one number. */
  scale: TensorInput | BlockTensor | number;
}

/**
 * Quantizes to 8-bit floats: x / scale in float32, clamped to the largest value, rounded half to even.
 *
 * Source: _quantize_affine_float8 of torchao 0.19.
 *
 * @param x  float32, float16 or bfloat16, any shape
 * @throws {RangeError} `ZP_INVALID_GROUP_SIZE`, `ZP_SHAPE_MISMATCH`
 */
export function quantizeFloat8(x: TensorInput, options: QuantizeFloat8Options): Float8Quantized {
  const where = "quantizeFloat8";
  const given = checkOptions(where, options, ["dtype", "blockSize", "scale"]);
  const dtype = checkChoice(where, "options.dtype", given.dtype, FLOAT8_DTYPES, "float8_e4m3fn");
  const input = valuesOf(where, "x", x);
  const blocks = checkBlocks(where, given.blockSize ?? input.shape.map(() => -1), input.shape);
  const scales = checkBlockNumbers(where, "options.scale", given.scale, blocks);
  const data = newArray(where, Uint8Array, input.values.length);
  forRuns(blocks, (start, count, block) => {
    const scale = scales.values[block];
    for (let i = start; i < start + count; i++) {
      data[i] = encodeSmall(Math.fround(input.values[i] / scale), dtype);
    }
  });
  return {
    data,
    shape: input.shape,
    dtype,
    blockSize: [...blocks.size],
    scale: scales.given,
    compute: input.dtype,
  };
}

/**
 * Turns 8-bit floats back into values: value · scale in float32, rounded to the output's dtype.
 *
 * Source: _dequantize_affine_float8 of torchao 0.19.
 *
 * @param q  a result of `quantizeFloat8`, or an object with the same fields
 * @returns values of the output's dtype: a `Float32Array`, or bit patterns of half floats
 */
export function dequantizeFloat8(
  q: Omit<Float8Quantized, "compute">,
  options?: { outputDtype?: FloatDType | undefined },
): { data: Float32Array | Uint16Array; shape: number[]; dtype: FloatDType } {
  const where = "dequantizeFloat8";
  const { outputDtype } = checkOptions(where, options, ["outputDtype"]);
  const output = checkChoice(where, "options.outputDtype", outputDtype, FLOAT_DTYPES, "float32");
  if (typeof q !== "object" || q === null) {
    throw wrongKind("ZP_INVALID_TENSOR", where, "q", "a result of quantizeFloat8", q);
  }
  const fields = ownFields(q);
  const dtype = checkChoice(where, "q.dtype", fields.dtype, FLOAT8_DTYPES, undefined);
  if (!(fields.data instanceof Uint8Array)) {
    throw wrongKind("ZP_INVALID_CODES", where, "q.data", "a Uint8Array of patterns", fields.data);
  }
  const { data, shape } = checkTensor(where, "q", { data: fields.data, shape: fields.shape });
  const blocks = checkBlocks(where, fields.blockSize, shape);
  const scales = checkBlockNumbers(where, "q.scale", fields.scale, blocks);
  const values = newArray(where, Float32Array, sizeOf(shape));
  const table = Float32Array.from({ length: 256 }, (_, code) => decodeSmall(code, dtype));
  const codes = data as unknown as Uint8Array;
  const round = roundingOf(output);
  forRuns(blocks, (start, count, block) => {
    const scale = scales.values[block];
    for (let i = start; i < start + count; i++) {
      values[i] = round(Math.fround(table[codes[i]] * scale));
    }
  });
  return resultOf(where, values, shape, output);
}
