// Vectors as arguments: any form of rows of numbers, read a tile at a time.

import { wrongKind } from "../base/check.js";
import { rangeError } from "../base/errors.js";
import { fieldsOf } from "../base/fields.js";
import { showShape } from "../base/format-value.js";
import {
  arrayLength,
  arrayName,
  checkAttached,
  checkStillThere,
  isArray,
  type NumberArray,
  pinned,
  subarrayOf,
} from "../base/typed-arrays.js";
import { checkQuantized } from "../quantize/check.js";
import { dequantize } from "../quantize/dequantize.js";
import type { QuantizedTensorInput } from "../quantize/quantized-tensor.js";
import {
  checkNested,
  checkTensor,
  looksQuantized,
  readQuantized,
  type TensorInput,
} from "../tensor/check.js";
import { checkOwnShape, checkSize, sizeOf } from "../tensor/shape.js";
import { looksTorchQuantized, type TorchQuantizedTensorInput } from "../torch/tensor.js";
import { signBytes } from "./layout.js";

/**
 * Vectors of signs, eight to a byte, the first one in the highest bit: `precision="ubinary"` of
 * sentence-transformers, `"ubinary"` of Cohere, `numpy.packbits`. A bit 1 is the value 1, a bit 0 the value −1.
 */
export interface PackedSigns {
  /** The bytes, ceil(dimensions / 8) for each vector; the last one's other bits are not read. */
  readonly data: Uint8Array;
  /** `[n, ceil(dimensions / 8)]`. Default: as many rows as there are bytes for. */
  readonly shape?: ArrayLike<number> | undefined;
  /** Distinguishes packed signs from bytes that are numbers. */
  readonly dtype: "ubinary";
}

/**
 * Vectors: a tensor `[n, dimensions]` in any form, n lists of numbers, n · dimensions values in one array, or a
 * quantized tensor `[n, dimensions]` with one scale for a row (`axis: 0`), a dimension (`axis: 1`), a group or all.
 */
export type VectorsInput =
  | TensorInput
  | QuantizedTensorInput
  | TorchQuantizedTensorInput
  | PackedSigns
  | readonly number[]
  | readonly (readonly number[] | NumberArray)[];

/** Rows of float values. */
export interface VectorSource {
  readonly rows: number;
  /** Some rows' values, for a copy into float32. */
  tile(where: string, first: number, rows: number): NumberArray;
}

/** Vectors after their checks. */
export interface CheckedVectors extends VectorSource {
  /** Whether the argument has one axis. */
  readonly isFlat: boolean;
}

/** Checks vectors. @throws {RangeError} `ZP_SHAPE_MISMATCH` if their length is not that of the index */
export function checkVectors(
  where: string,
  argument: string,
  value: unknown,
  dimensions: number,
): CheckedVectors {
  if (looksQuantized(value)) return quantizedVectors(where, argument, value, dimensions);
  if (isPackedSigns(value)) return packedVectors(where, argument, value, dimensions);
  const { data, shape, size } = Array.isArray(value)
    ? checkNested(where, argument, value, Float32Array)
    : checkTensor(where, argument, value);
  const rows = countRows(where, argument, shape, dimensions);
  const tile = (_: string, first: number, count: number): NumberArray => {
    checkStillThere(where, data, size);
    return subarrayOf(data, first * dimensions, (first + count) * dimensions);
  };
  // A list without items is a batch without vectors.
  const isFlat = shape.length === 1 && !(Array.isArray(value) && size === 0);
  return { rows, isFlat, tile };
}

/** The number of vectors in a shape: of one axis, or with vectors on the last one. */
function countRows(
  where: string,
  argument: string,
  shape: readonly number[],
  width: number,
  wanted = `${width} values`,
): number {
  const size = sizeOf(shape);
  const fits = shape.length === 1 ? size % width === 0 : shape.at(-1) === width;
  // An empty list has no length of its vectors.
  if (shape.length > 0 && (fits || shape[0] === 0)) return size / width;
  throw rangeError(
    "ZP_SHAPE_MISMATCH",
    where,
    `${argument} must have ${wanted} in each vector, as the index has, got shape ${showShape(shape)}`,
  );
}

/** Quantized rows, which are restored a tile at a time. */
function quantizedVectors(
  where: string,
  argument: string,
  value: object,
  dimensions: number,
): CheckedVectors {
  const given = readQuantized(value);
  if (looksTorchQuantized(given)) {
    const restored = dequantize(given as TorchQuantizedTensorInput);
    return checkVectors(where, argument, restored, dimensions);
  }
  const checked = checkQuantized(where, argument, given, true);
  const { codes, shape, size, dtype, scheme, qparams, slices } = checked;
  const rows = countRows(where, argument, shape, dimensions);
  const { scale, zeroPoint, hasOffsets } = qparams;
  if (shape.length > 2 || (shape.length === 1 && rows !== 1 && typeof scale !== "number")) {
    const wanted = `shape [n, ${dimensions}], as a quantized tensor`;
    const problem = `${argument} must have ${wanted}, got shape ${showShape(shape)}`;
    throw rangeError("ZP_SHAPE_MISMATCH", where, problem);
  }
  const { groupSize } = slices;
  const partOf = (all: typeof scale | typeof zeroPoint, first: number, count: number): unknown => {
    if (typeof all === "number") return all;
    const isGrouped = groupSize !== undefined;
    const width = isGrouped ? all.data.length / rows : (all.shape.at(-1) ?? 1);
    // One row of scales may serve all rows.
    if (!isGrouped && all.data.length === width) return { data: all.data, shape: [1, width] };
    const data = all.data.subarray(first * width, (first + count) * width);
    return { data, shape: isGrouped ? [count * width, 1] : [count, width] };
  };
  const tile = (_: string, first: number, count: number): NumberArray => {
    checkStillThere(where, codes, size);
    const part = {
      data: subarrayOf(codes, first * dimensions, (first + count) * dimensions),
      shape: [count, dimensions],
      dtype,
      scheme,
      scale: partOf(scale, first, count),
      [hasOffsets ? "offset" : "zeroPoint"]: partOf(zeroPoint, first, count),
      groupSize,
    };
    return dequantize(part as unknown as QuantizedTensorInput).data;
  };
  return { rows, isFlat: shape.length === 1, tile };
}

/** Whether a value says that it is packed signs. */
function isPackedSigns(value: unknown): value is object {
  if (typeof value !== "object" || value === null || isArray(value)) return false;
  return fieldsOf(value).dtype === "ubinary";
}

/** Packed signs, which are restored a tile at a time. */
function packedVectors(
  where: string,
  argument: string,
  value: object,
  dimensions: number,
): CheckedVectors {
  const { data: given, shape: givenShape, dims } = fieldsOf(value);
  if (arrayName(given) !== "Uint8Array") {
    const wanted = "a Uint8Array of packed signs";
    throw wrongKind("ZP_INVALID_TENSOR", where, `${argument}.data`, wanted, given);
  }
  checkAttached(where, `${argument}.data`, given);
  const data = pinned(given as Uint8Array);
  const size = arrayLength(data);
  const width = signBytes(dimensions);
  const hasShape = givenShape !== undefined || dims !== undefined;
  const shape = hasShape ? checkOwnShape(where, argument, givenShape, dims) : [size];
  const rows = countRows(where, argument, shape, width, `${width} bytes`);
  checkSize(where, argument, shape, size);
  const tile = (_: string, first: number, count: number): NumberArray => {
    checkStillThere(where, data, size);
    const bytes = subarrayOf(data, first * width, (first + count) * width);
    return Float32Array.from({ length: count * dimensions }, (_, i) => {
      const at = i % dimensions;
      const byte = bytes[Math.floor(i / dimensions) * width + (at >> 3)];
      return (byte >> (7 - (at & 7))) & 1 ? 1 : -1;
    });
  };
  return { rows, isFlat: shape.length === 1, tile };
}
