// A weight as rows of inputs, one for each output, whatever their order in the file.

import { newArray } from "../../base/typed-arrays.js";
import { HELD_BYTES, SLAB_VALUES } from "./memory.js";
import {
  allValues,
  floatsOf,
  type OnRead,
  readRuns,
  runsWithin,
  type ValueSource,
  type Values,
} from "./values.js";
import type { Outputs } from "./view.js";

/** Some rows of a weight. */
export interface RowSlab {
  readonly first: number;
  readonly rows: number;
  readonly values: Values;
}

/** How often the values are read for rows of these outputs. */
export const passesOfRows = ({ size }: Pick<ValueSource, "size">, { inner }: Outputs): number =>
  inner === 1 ? 1 : Math.ceil((4 * size) / HELD_BYTES);

/** All rows, as many in a slab as fit, and a multiple of `step` in all but the last one. */
export async function* readRows(
  source: ValueSource,
  outputs: Outputs,
  step: number,
  onRead: OnRead,
): AsyncGenerator<RowSlab, void, undefined> {
  const { rowLength, inner } = outputs;
  const most = rowsWithin(SLAB_VALUES, rowLength, step);
  if (inner === 1) {
    const runs = runsWithin(0, source.size, most * rowLength);
    for await (const { run, values } of readRuns(source, runs, onRead)) {
      yield { first: run.begin / rowLength, rows: values.length / rowLength, values };
    }
    return;
  }
  let first = 0;
  for await (const block of transposedRows(source, outputs, step, onRead)) {
    const rows = block.length / rowLength;
    for (let at = 0; at < rows; at += most) {
      const count = Math.min(most, rows - at);
      const values = block.subarray(at * rowLength, (at + count) * rowLength);
      yield { first: first + at, rows: count, values };
    }
    first += rows;
  }
}

/** Rows of a weight that is stored as [rows / inner, rowLength, inner]: some at a time, by a pass over all values. */
async function* transposedRows(
  source: ValueSource,
  { rows, rowLength, inner }: Outputs,
  step: number,
  onRead: OnRead,
): AsyncGenerator<Float32Array, void, undefined> {
  const most = rowsWithin(HELD_BYTES / 4, rowLength, step);
  const memory = newArray("rows", Float32Array, Math.min(rows, most) * rowLength);
  for (let begin = 0; begin < rows; begin += most) {
    const end = Math.min(rows, begin + most);
    const block = memory.subarray(0, (end - begin) * rowLength);
    let at = 0;
    for await (const values of allValues(source, onRead)) {
      scatter(floatsOf(values), at, { rowLength, inner }, begin, end, block);
      at += values.length;
    }
    yield block;
  }
}

/** The largest multiple of `step` rows within a number of values; at least `step`. */
const rowsWithin = (values: number, rowLength: number, step: number): number =>
  step * Math.max(1, Math.floor(values / rowLength / step));

/** Stores values, from a position of the file on, in the rows [begin, end). */
function scatter(
  values: Float32Array,
  start: number,
  { rowLength, inner }: Pick<Outputs, "rowLength" | "inner">,
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
