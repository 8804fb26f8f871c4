// Tiles of large tensors: the number of values in the core's heap at a time, and the division into tiles.
//
// A tile is read from the user's array, computed and written to the result while it is in the processor's
// cache, so tensors of any size need the same memory of the heap.

import { evenParts } from "./granularity.js";
import { sizeOf } from "./shape.js";

/** The largest number of values of a tile. */
export const TILE = 2 ** 17;

/** Tiles of one axis begin at multiples of this, so that copies are aligned. */
const STEP = 64;

/** A contiguous part of a tensor, and the qparams that broadcast to it. */
export interface Tile {
  /** The position of its first value in the tensor. */
  readonly start: number;
  /** The number of its values. */
  readonly size: number;
  /** Its shape, of the tensor's rank. */
  readonly shape: readonly number[];
  /** The position of its first qparams among the tensor's. */
  readonly qStart: number;
  /** The number of its qparams. */
  readonly qCount: number;
  /** The shape of its qparams, of the same rank as the tensor's qparams. */
  readonly qShape: readonly number[];
  /** The number of values of the last axis that share qparams; 0 if the qparams broadcast. */
  readonly group: number;
}

/**
 * Divides a tensor, in order, into tiles of at most `limit` values: as many whole indices of its axes
 * as fit, so that the qparams of every tile are contiguous too.
 * @param qShape  the shape of the qparams, which broadcasts to `shape`
 * @param limit   smaller only in tests, to keep their tensors small
 * @param group   0, or for a shape [rows, row] and qparams [rows, groups] the size of the groups, of which
 *   the last one of each row is short
 */
export function* tilesOf(
  shape: readonly number[],
  qShape: readonly number[],
  limit: number = TILE,
  group = 0,
): Generator<Tile, void, void> {
  if (group !== 0 && shape[1] > limit) {
    yield* tilesOfLongRows(shape, group, limit);
    return;
  }
  const rank = shape.length;
  const lead = rank - qShape.length;
  const qLengths = shape.map((_, axis) => (axis < lead ? 1 : qShape[axis - lead]));
  const inner = sizesInside(shape);
  const qInner = sizesInside(qLengths);
  // The outermost axis with one index that fits in a tile; axes outside it advance index by index.
  let cut = 0;
  while (cut < rank - 1 && inner[cut] > limit) cut++;
  const length = rank === 0 ? 1 : shape[cut];
  const step = stepOf(length, inner[cut] ?? 1, limit);
  let outer = 1;
  for (let axis = 0; axis < cut; axis++) outer *= shape[axis];
  for (let o = 0; o < outer; o++) {
    let qOuter = 0;
    let rest = o;
    for (let axis = cut - 1; axis >= 0; axis--) {
      const index = rest % shape[axis];
      rest = (rest - index) / shape[axis];
      if (qLengths[axis] !== 1) qOuter += index * qInner[axis];
    }
    for (let i = 0; i < length; i += step) {
      const count = Math.min(step, length - i);
      const isRepeated = rank === 0 || qLengths[cut] === 1;
      const at = (own: readonly number[], part: number) =>
        own.map((whole, axis) => (axis < cut ? 1 : axis === cut ? part : whole));
      const qPart = at(qLengths, isRepeated ? 1 : count);
      yield {
        start: (o * length + i) * (inner[cut] ?? 1),
        size: count * (inner[cut] ?? 1),
        shape: at(shape, count),
        qStart: qOuter + (isRepeated ? 0 : i * qInner[cut]),
        qCount: sizeOf(qPart),
        qShape: qPart.slice(lead),
        group,
      };
    }
  }
}

/** Tiles of rows that are longer than a tile and end with a short group. */
function* tilesOfLongRows(
  [rows, row]: readonly number[],
  group: number,
  limit: number,
): Generator<Tile, void, void> {
  for (const { start, qStart, slices, inner } of evenParts(rows, row, group)) {
    for (const tile of tilesOf([slices, inner], [slices, 1], limit)) {
      yield { ...tile, start: start + tile.start, qStart: qStart + tile.qStart };
    }
  }
}

/** The number of values per index of each axis. */
function sizesInside(shape: readonly number[]): number[] {
  const sizes = shape.map(() => 1);
  for (let axis = shape.length - 2; axis >= 0; axis--) {
    sizes[axis] = sizes[axis + 1] * shape[axis + 1];
  }
  return sizes;
}

/** The number of indices of an axis per tile, such that the last tile has about as many as the others. */
function stepOf(length: number, inner: number, limit: number): number {
  const most = Math.max(1, Math.floor(limit / inner));
  const even = Math.ceil(length / Math.ceil(length / most));
  return inner === 1 ? Math.min(most, Math.ceil(even / STEP) * STEP) : even;
}
