// The values of a file's tensor, tile by tile: in the order of the file, or as rows of inputs.

import { Halves, isHalf } from "../../base/halves.js";
import { type NumberArray, newArray } from "../../base/typed-arrays.js";
import { bytesOf, decodeValues, type FileDType } from "../../formats/dtypes.js";
import { CHUNK_BYTES, type FileTensor, readScratch } from "../../formats/source.js";
import type { RowLayout } from "./layout.js";

/** Bytes of a tensor that is read once and kept while it is analyzed; a larger one is read again for each pass. */
export const HELD_BYTES = 2 ** 24;

/** Values of a tile. A tile and the arrays computed from it fit in the second-level cache. */
export const TILE_VALUES = 2 ** 17;

/** Values of a transposed tensor's rows that are in memory at a time. */
const TRANSPOSED_VALUES = 2 ** 22;

/** Some rows of a weight. */
export interface RowTile {
  readonly first: number;
  readonly rows: number;
  readonly values: NumberArray;
}

/** Memory that all tensors of an analysis share, one after the other. */
export class SharedBytes {
  #bytes: Uint8Array = new Uint8Array(0);

  /** Bytes of any content, valid until the next call. @throws {RangeError} `ZP_OUT_OF_MEMORY` */
  take(where: string, length: number): Uint8Array {
    if (this.#bytes.length < length) this.#bytes = newArray(where, Uint8Array, length);
    return this.#bytes.subarray(0, length);
  }
}

/** Reads a tensor in passes. */
export class TensorReader {
  #held: Uint8Array | undefined;
  #isFirst = true;
  readonly #size: number;
  readonly #valueBytes: number;

  /**
   * @param shared  for the bytes of the tensor, or for the chunk that is read
   * @param onChunk  called with all bytes, front to back, in the first pass
   * @param onRead  called with a number of bytes in every pass, the first one included, and awaited
   */
  constructor(
    readonly where: string,
    readonly file: FileTensor,
    readonly shared: SharedBytes,
    readonly onChunk: (bytes: Uint8Array) => void,
    readonly onRead: (bytes: number) => Promise<void> | void,
  ) {
    this.#size = file.shape.reduce((count, length) => count * length, 1);
    this.#valueBytes = bytesOf(file.dtype, 1) as number;
  }

  /** The number of passes over the file for rows of this layout. */
  static passesOf({ shape }: FileTensor, { inner }: RowLayout): number {
    const size = shape.reduce((count, length) => count * length, 1);
    return inner === 1 ? 1 : Math.ceil(size / TRANSPOSED_VALUES);
  }

  /** The bytes, front to back, in chunks that are valid until the next one is asked for. */
  async *bytes(): AsyncGenerator<Uint8Array, void, undefined> {
    if (this.#held !== undefined) {
      await this.onRead(this.#held.length);
      yield this.#held;
      return;
    }
    const { byteLength } = this.file;
    const isFirst = this.#isFirst;
    const isHeld = isFirst && byteLength <= HELD_BYTES;
    const held = isHeld ? this.shared.take(this.where, byteLength) : undefined;
    let at = 0;
    for await (const chunk of this.#chunks(held)) {
      if (isFirst) this.onChunk(chunk);
      if (held !== undefined && chunk.buffer !== held.buffer) held.set(chunk, at);
      at += chunk.length;
      await this.onRead(chunk.length);
      if (held === undefined) yield chunk;
    }
    this.#isFirst = false;
    this.#held = held;
    if (held !== undefined) yield held;
  }

  /** Chunks of the file, in memory that is used again. @param held  room for all bytes, which chunks are read into */
  async *#chunks(held: Uint8Array | undefined): AsyncGenerator<Uint8Array, void, undefined> {
    const { span, byteLength } = this.file;
    if (span === undefined) {
      yield* this.file.bytes();
      return;
    }
    const { source, offset } = span;
    const scratch = held ?? this.shared.take(this.where, Math.min(byteLength, CHUNK_BYTES));
    for (let at = 0; at < byteLength; at += CHUNK_BYTES) {
      const length = Math.min(CHUNK_BYTES, byteLength - at);
      const out = held === undefined ? scratch : scratch.subarray(at, at + length);
      yield await readScratch(this.where, source, offset + at, length, out);
    }
  }

  /** All values in the order of the file, in tiles of a number of values; the last tile is shorter. */
  async *values(tileLength: number): AsyncGenerator<NumberArray, void, undefined> {
    const { dtype } = this.file;
    const tileBytes = tileLength * this.#valueBytes;
    let tile: Uint8Array | undefined;
    let filled = 0;
    for await (const chunk of this.bytes()) {
      for (let at = 0; at < chunk.length; ) {
        const isAligned = (chunk.byteOffset + at) % this.#valueBytes === 0;
        if (filled === 0 && isAligned && chunk.length - at >= tileBytes) {
          yield valuesOf(dtype, chunk.subarray(at, at + tileBytes));
          at += tileBytes;
          continue;
        }
        tile ??= newArray(this.where, Uint8Array, tileBytes);
        const taken = Math.min(chunk.length - at, tileBytes - filled);
        tile.set(chunk.subarray(at, at + taken), filled);
        at += taken;
        filled += taken;
        if (filled < tileBytes) continue;
        yield valuesOf(dtype, tile);
        filled = 0;
      }
    }
    if (tile !== undefined && filled > 0) yield valuesOf(dtype, tile.subarray(0, filled));
  }

  /** All rows, as many in a tile as its size allows, and a multiple of `step` in all but the last one. */
  async *rows(layout: RowLayout, step = 1): AsyncGenerator<RowTile, void, undefined> {
    const { rowLength, inner } = layout;
    const tileRows = rowsWithin(TILE_VALUES, rowLength, step);
    let first = 0;
    if (inner === 1) {
      for await (const values of this.values(tileRows * rowLength)) {
        const rows = values.length / rowLength;
        yield { first, rows, values };
        first += rows;
      }
      return;
    }
    for await (const block of this.#transposed(layout, step)) {
      const rows = block.length / rowLength;
      for (let at = 0; at < rows; at += tileRows) {
        const count = Math.min(tileRows, rows - at);
        const values = block.subarray(at * rowLength, (at + count) * rowLength);
        yield { first: first + at, rows: count, values };
      }
      first += rows;
    }
  }

  /** Rows of a tensor that is stored as [rows / inner, rowLength, inner]: some at a time, by a pass over the file. */
  async *#transposed(
    { rows, rowLength, inner }: RowLayout,
    step: number,
  ): AsyncGenerator<Float32Array, void, undefined> {
    const most = rowsWithin(TRANSPOSED_VALUES, rowLength, step);
    const memory = newArray(this.where, Float32Array, Math.min(rows, most) * rowLength);
    for (let begin = 0; begin < rows; begin += most) {
      const end = Math.min(rows, begin + most);
      const block = memory.subarray(0, (end - begin) * rowLength);
      let at = 0;
      for await (const tile of this.values(TILE_VALUES)) {
        scatter(floatsOf(tile), at, { rowLength, inner }, begin, end, block);
        at += tile.length;
      }
      yield block;
    }
  }

  /** Values of the tensor. */
  get size(): number {
    return this.#size;
  }
}

/** The largest multiple of `step` rows within a number of values; at least `step`. */
const rowsWithin = (values: number, rowLength: number, step: number): number =>
  step * Math.max(1, Math.floor(values / rowLength / step));

/** Stores values, from a position of the file on, in the rows [begin, end). */
function scatter(
  values: Float32Array,
  start: number,
  { rowLength, inner }: Pick<RowLayout, "rowLength" | "inner">,
  begin: number,
  end: number,
  block: Float32Array,
): void {
  let column = start % inner;
  let input = Math.floor(start / inner) % rowLength;
  let outer = Math.floor(start / inner / rowLength);
  for (let i = 0; i < values.length; ) {
    const count = Math.min(inner - column, values.length - i);
    const row = outer * inner + column;
    const from = Math.max(row, begin);
    const to = Math.min(row + count, end);
    for (let r = from; r < to; r++) block[(r - begin) * rowLength + input] = values[i + r - row];
    i += count;
    column = 0;
    if (++input < rowLength) continue;
    input = 0;
    outer++;
  }
}

/** Values in the form that the core takes. */
function valuesOf(dtype: FileDType, bytes: Uint8Array): NumberArray {
  const { buffer, byteOffset, length } = bytes;
  if (isHalf(dtype)) return new Halves(buffer, byteOffset, length / 2, dtype);
  if (dtype === "float32") return new Float32Array(buffer, byteOffset, length / 4);
  return decodeValues(dtype, bytes, new Float32Array(length / (bytesOf(dtype, 1) as number)));
}

/** Values as float32. */
export function floatsOf(values: NumberArray): Float32Array {
  if (values instanceof Float32Array) return values;
  const half = Halves.typeOf(values) as FileDType;
  const { buffer, byteOffset, byteLength, length } = values as Halves;
  return decodeValues(
    half,
    new Uint8Array(buffer, byteOffset, byteLength),
    new Float32Array(length),
  );
}
