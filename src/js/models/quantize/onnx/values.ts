// Values of a weight of a file, read as blocks of any of its axes.

import { newArray } from "../../../base/typed-arrays.js";
import { bytesOf, decodeValues } from "../../../formats/dtypes.js";
import { type FileTensor, readScratch } from "../../../formats/source.js";
import { sizeOf } from "../../../tensor/shape.js";
import type { Axes3 } from "../../weights/view.js";

/** The most values that are in memory at a time, unless one slice has more. */
export const PIECE = 2 ** 18;

/** Values of the longest tensor that is kept in memory once it was read. */
const SHORT = 2 ** 20;

/** The values of a tensor. Short ones are read once. */
export class WeightValues {
  #whole: Promise<Float32Array> | undefined;
  readonly size: number;

  constructor(readonly tensor: FileTensor) {
    this.size = sizeOf(tensor.shape);
  }

  /** Whether the tensor is kept in memory once it was read. */
  get isShort(): boolean {
    return this.size <= SHORT;
  }

  /** Forgets what is in memory. */
  release(): void {
    this.#whole = undefined;
  }

  /** Values [begin, end) in the order of the file. */
  async run(begin: number, end: number): Promise<Float32Array> {
    if (!this.isShort) return await readRun(this.tensor, begin, end);
    this.#whole ??= readRun(this.tensor, 0, this.size);
    return (await this.#whole).subarray(begin, end);
  }

  /** A function that reads values [begin, end), which are valid until its next call. */
  reader(): (begin: number, end: number) => Promise<Float32Array> {
    if (this.isShort) return (begin, end) => this.run(begin, end);
    const scratch = { bytes: new Uint8Array(0) };
    let values = new Float32Array(0);
    return async (begin, end) => {
      const length = end - begin;
      if (values.length < length) values = newArray("quantizeModel", Float32Array, length);
      return await readInto(this.tensor, begin, values.subarray(0, length), scratch);
    };
  }

  /** Values of the indices [begin, end) of the middle axis of a view. */
  async block([outer, middle, inner]: Axes3, begin: number, end: number): Promise<Float32Array> {
    const length = (end - begin) * inner;
    if (end - begin === middle) return await this.run(0, this.size);
    const block = newArray("quantizeModel", Float32Array, outer * length);
    const read = this.reader();
    for (let i = 0; i < outer; i++) {
      const at = (i * middle + begin) * inner;
      block.set(await read(at, at + length), i * length);
    }
    return block;
  }

  /**
   * Columns [left, right) of rows [top, bottom) of the matrix that one outer index of a view is.
   * @param scratch  memory for them, which the result may be in
   */
  async part(
    [, rows, columns]: Axes3,
    outer: number,
    top: number,
    bottom: number,
    left: number,
    right: number,
    scratch: Float32Array,
  ): Promise<Float32Array> {
    const start = (outer * rows + top) * columns;
    const width = right - left;
    const part = scratch.subarray(0, (bottom - top) * width);
    const isWhole = width === columns;
    for (let row = 0; row < (isWhole ? 1 : bottom - top); row++) {
      const at = start + row * columns + left;
      const own = isWhole ? part : part.subarray(row * width, (row + 1) * width);
      if (this.isShort) own.set(await this.run(at, at + own.length));
      else await readInto(this.tensor, at, own);
    }
    return part;
  }
}

const readRun = (tensor: FileTensor, begin: number, end: number): Promise<Float32Array> =>
  readInto(tensor, begin, newArray("quantizeModel", Float32Array, end - begin));

/** Reads as many values as there is room for. @param scratch  memory for the bytes, used again by the next call */
async function readInto(
  tensor: FileTensor,
  begin: number,
  out: Float32Array,
  scratch?: { bytes: Uint8Array },
): Promise<Float32Array> {
  const end = begin + out.length;
  const size = (bytesOf(tensor.dtype, 8) as number) / 8;
  const { span } = tensor;
  if (span !== undefined && scratch !== undefined) {
    const length = out.length * size;
    if (scratch.bytes.length < length) scratch.bytes = new Uint8Array(length);
    const at = span.offset + begin * size;
    const where = `values of ${tensor.name}`;
    const bytes = await readScratch(where, span.source, at, length, scratch.bytes);
    return decodeValues(tensor.dtype, bytes, out);
  }
  let rest = new Uint8Array(0);
  let filled = 0;
  for await (const chunk of tensor.bytes(begin * size, end * size)) {
    let bytes = chunk;
    if (rest.length > 0) {
      bytes = new Uint8Array(rest.length + chunk.length);
      bytes.set(rest);
      bytes.set(chunk, rest.length);
    }
    const count = Math.floor(bytes.length / size);
    decodeValues(tensor.dtype, bytes, out.subarray(filled, filled + count));
    filled += count;
    rest = bytes.slice(count * size);
  }
  return out;
}

const SQUARE = 32;

/** The transpose of a matrix. @param out  memory for it, unless it is the matrix itself */
export function transposed<T extends Float32Array | Int8Array | Uint8Array | Int32Array>(
  values: T,
  rows: number,
  columns: number,
  out: T = new (values.constructor as new (length: number) => T)(values.length),
): T {
  if (rows === 1 || columns === 1) return values;
  // In squares that stay in the cache.
  for (let top = 0; top < rows; top += SQUARE) {
    const bottom = Math.min(rows, top + SQUARE);
    for (let left = 0; left < columns; left += SQUARE) {
      const right = Math.min(columns, left + SQUARE);
      for (let row = top; row < bottom; row++) {
        for (let column = left; column < right; column++) {
          out[column * rows + row] = values[row * columns + column];
        }
      }
    }
  }
  return out;
}
