// Quantized weights as checkpoints hold them: bit streams to codes, codes to values in the checkpoint's own rounding.

import { fieldOf } from "../../base/fields.js";
import type { FileDType } from "../dtypes.js";
import { type FileError, type FileTensor, fileError } from "../source.js";

/** Float types that a checkpoint computes in. */
export type ValueDType = "float32" | "float16" | "bfloat16";

/** Shape and dtype of a tensor. */
export interface TensorInfo {
  readonly shape: readonly number[];
  readonly dtype: FileDType;
}

/** A tensor with all its bytes, or with those of some of its rows. */
export interface StoredPart extends TensorInfo {
  /** Its name and its place in the file, for messages. */
  readonly name: string;
  readonly offset: number;
  /** Little-endian, row-major. */
  readonly bytes: Uint8Array;
}

/** A tensor of a file with bytes of it. @param shape  of these bytes */
export function partOf(
  { name, dtype, shape: whole, span }: FileTensor,
  bytes: Uint8Array,
  shape = whole,
): StoredPart {
  return { name, offset: span?.offset ?? 0, dtype, shape, bytes };
}

/** The error for a part that does not fit the other parts of its weight. */
export function misfit(
  { name, offset }: StoredPart,
  expected: string,
  found: string | number,
): FileError {
  return fileError("Model.read", offset, `${JSON.stringify(name)} to be ${expected}`, found);
}

/** The tensors of a quantized weight, by their role. */
export type StoredParts = Readonly<Record<string, StoredPart>>;

/** A quantized matrix, unpacked. */
export interface QuantizedValues {
  /** Row-major, one element a code. */
  readonly codes: Int8Array | Uint8Array | Float32Array;
  readonly shape: readonly [rows: number, columns: number];
  /** Whether the module's weight is the transpose: shape is [in, out]. */
  readonly isTransposed: boolean;
  /** Inputs of a group; the last one may be shorter. All of them unless granularity is "group". */
  readonly groupSize: number;
  /** One scale for all, for each row, or for each group of each row (of each column, if transposed). */
  readonly granularity: "tensor" | "channel" | "group";
  /** Row-major: [1], [rows, 1], [rows, groups], or transposed [groups, columns]. */
  readonly scale: Float32Array;
  readonly scaleShape: readonly number[];
  /** value = scale * (code - zeroPoint); of the scale's shape. Default: 0. */
  readonly zeroPoint?: Int32Array;
  /** value = scale * code + offset; of the scale's shape. Instead of a zero point. */
  readonly offset?: Float32Array;
  /** The group of each input, where groups are not runs of neighbours. */
  readonly groupIndex?: Int32Array;
  /** Every operation of the formulas is rounded to this type. */
  readonly valueDtype: ValueDType;
}

const FLOAT = /* @__PURE__ */ new Float32Array(1);
const WORD = /* @__PURE__ */ new Uint32Array(FLOAT.buffer);

/** Rounds a number to float32, then to a dtype: nearest, ties to even. */
export function roundTo(dtype: ValueDType, value: number): number {
  const rounded = Math.fround(value);
  if (dtype === "float32" || !Number.isFinite(rounded)) return rounded;
  FLOAT[0] = rounded;
  if (dtype === "bfloat16") {
    WORD[0] = (WORD[0] + 0x7fff + ((WORD[0] >>> 16) & 1)) & 0xffff0000;
    return FLOAT[0];
  }
  if (Math.abs(rounded) < 2 ** -14) {
    // Subnormal: multiples of 2^-24. Adding 1.5 * 2^52 rounds a double to an integer, ties to even.
    const steps = rounded * 2 ** 24 + 1.5 * 2 ** 52 - 1.5 * 2 ** 52;
    return steps === 0 ? rounded * 0 : steps * 2 ** -24;
  }
  WORD[0] = (WORD[0] + 0xfff + ((WORD[0] >>> 13) & 1)) & 0xffffe000;
  return Math.abs(FLOAT[0]) > 65504 ? Math.sign(rounded) * Infinity : FLOAT[0];
}

/**
 * Unpacks rows of codes from 32-bit words: element i takes bits i * bits and up, low bits first; each row starts at a
 * word.
 * @param words  rows * wordsPerRow
 * @param columns  codes of a row
 */
export function unpackDense(
  words: Uint32Array,
  rows: number,
  columns: number,
  bits: number,
): Uint8Array {
  const perRow = words.length / rows;
  const mask = 2 ** bits - 1;
  const codes = new Uint8Array(rows * columns);
  for (let row = 0, out = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const bit = column * bits;
      const at = row * perRow + (bit >>> 5);
      const shift = bit & 31;
      const low = words[at] >>> shift;
      codes[out++] = (shift + bits > 32 ? low | (words[at + 1] << (32 - shift)) : low) & mask;
    }
  }
  return codes;
}

/** As `unpackDense`, but no code crosses words: 32 div bits of them in each. */
export function unpackWithinWords(
  words: Uint32Array,
  rows: number,
  columns: number,
  bits: number,
): Uint8Array {
  const perRow = words.length / rows;
  const perWord = Math.floor(32 / bits);
  const mask = 2 ** bits - 1;
  const codes = new Uint8Array(rows * columns);
  for (let row = 0, out = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const word = words[row * perRow + Math.floor(column / perWord)];
      codes[out++] = (word >>> (bits * (column % perWord))) & mask;
    }
  }
  return codes;
}

/** Transposes a row-major matrix. */
export function transpose<T extends Uint8Array | Uint32Array>(
  matrix: T,
  rows: number,
  columns: number,
): T {
  const result = matrix.slice() as T;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      result[column * rows + row] = matrix[row * columns + column];
    }
  }
  return result;
}

/** The values of a quantized matrix, in its own order (not transposed). @param values  where they are written */
export function dequantizeValues(
  q: QuantizedValues,
  values: Float32Array = new Float32Array(q.codes.length),
): Float32Array {
  const { codes, shape, granularity, groupSize, scale, valueDtype } = q;
  const [zeroPoint, offset] = [fieldOf(q, "zeroPoint"), fieldOf(q, "offset")];
  const groupIndex = fieldOf(q, "groupIndex");
  const [rows, columns] = shape;
  const groups = q.scaleShape[1] ?? 1;
  for (let row = 0, i = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++, i++) {
      const input = q.isTransposed ? row : column;
      const group = groupIndex?.[input] ?? Math.floor(input / groupSize);
      const place =
        granularity === "tensor"
          ? 0
          : q.isTransposed
            ? group * columns + column
            : row * groups + group;
      const product =
        offset === undefined
          ? roundTo(valueDtype, codes[i] - (zeroPoint?.[place] ?? 0)) * scale[place]
          : codes[i] * scale[place];
      const rounded = roundTo(valueDtype, product);
      values[i] = offset === undefined ? rounded : roundTo(valueDtype, rounded + offset[place]);
    }
  }
  return values;
}
