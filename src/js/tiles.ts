// Large tensors in pieces: how much of one is in the core's heap at a time, and where to cut it.
//
// A piece is read from the user's array, worked on and written to the result while it is in the
// processor's cache. So the size of a tensor is no matter to the heap, and copying costs little.

import { type NumberArray, newArray, subarrayOf } from "./arrays.js";
import { sizeOf } from "./check.js";
import type { Core } from "./core.js";
import { checkStatus, refused } from "./errors.js";
import { oneSlice, type SliceCounts } from "./granularity.js";
import type { ScaleAndZeroPoint } from "./qparams.js";

/** A range of values. */
export interface ValueRange {
  /** The smallest value. */
  readonly min: number;
  /** The largest value. */
  readonly max: number;
}

/** The most values of a tile. */
export const TILE = 2 ** 17;
/** Tiles of one axis begin at multiples of this, so that copies are aligned. */
const STEP = 64;

/** A piece of a tensor that lies together in memory, and the qparams that broadcast to it. */
export interface Tile {
  /** The position of its first value in the tensor. */
  readonly start: number;
  /** How many values it has. */
  readonly size: number;
  /** Its shape, of the tensor's rank. */
  readonly shape: readonly number[];
  /** The position of its first qparams among the tensor's. */
  readonly qStart: number;
  /** How many qparams it has. */
  readonly qCount: number;
  /** The shape of its qparams, of the rank of the tensor's own. */
  readonly qShape: readonly number[];
}

/**
 * Cuts a tensor, in order, into tiles of at most `limit` values: as many whole indices of its axes
 * as fit, so that every tile's qparams lie together too.
 * @param qShape  what the qparams' shape is; it must broadcast to `shape`
 */
export function* tilesOf(
  shape: readonly number[],
  qShape: readonly number[],
  limit: number = TILE,
): Generator<Tile, void, void> {
  const rank = shape.length;
  const lead = rank - qShape.length;
  const qLengths = shape.map((_, axis) => (axis < lead ? 1 : qShape[axis - lead]));
  const inner = sizesInside(shape);
  const qInner = sizesInside(qLengths);
  // The outermost axis of which one index fits; those outside it are walked index by index.
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
      };
    }
  }
}

/** How many values one index of each axis has inside it. */
function sizesInside(shape: readonly number[]): number[] {
  const sizes = shape.map(() => 1);
  for (let axis = shape.length - 2; axis >= 0; axis--) {
    sizes[axis] = sizes[axis + 1] * shape[axis + 1];
  }
  return sizes;
}

/** How many indices of an axis a tile takes: about as many in the last tile as in the others. */
function stepOf(length: number, inner: number, limit: number): number {
  const most = Math.max(1, Math.floor(limit / inner));
  const even = Math.ceil(length / Math.ceil(length / most));
  return inner === 1 ? Math.min(most, Math.ceil(even / STEP) * STEP) : even;
}

/** The part of the qparams that a tile takes; a number serves all. */
export function tileQParams(
  { scale, zeroPoint }: ScaleAndZeroPoint,
  { qStart, qCount, qShape }: Tile,
): ScaleAndZeroPoint {
  if (typeof scale === "number" || typeof zeroPoint === "number") return { scale, zeroPoint };
  const end = qStart + qCount;
  return {
    scale: { data: scale.data.subarray(qStart, end), shape: qShape },
    zeroPoint: { data: zeroPoint.data.subarray(qStart, end), shape: qShape },
  };
}

/**
 * The range of each slice, tile by tile: its smallest and its largest value, side by side.
 * @param data       float32, or numbers that are rounded to it
 * @param nonFinite  `"keep"`: a slice with a NaN has a range of NaN, and infinities count;
 *   `"ignore"`: they are skipped. A slice of nothing else has the range {Infinity, -Infinity}
 */
export function rangesOf(
  core: Core,
  where: string,
  data: NumberArray,
  counts: SliceCounts,
  nonFinite: "keep" | "ignore",
): Float32Array {
  const { outer, slices, inner } = counts;
  const ranges = newArray(where, Float32Array, 2 * slices);
  const shape = [outer, slices, inner];
  const size = outer * slices * inner;
  if (size > 0 && size <= TILE) {
    rangesOfTile(core, where, data, shape, nonFinite, ranges, false);
    return ranges;
  }
  forgetRanges(ranges);
  if (size === 0) return ranges;
  joinRanges(core, where, data, shape, nonFinite, ranges);
  return ranges;
}

/** The range of a whole tensor. */
export function tensorRange(
  core: Core,
  where: string,
  data: NumberArray,
  size: number,
): Float32Array {
  return rangesOf(core, where, data, oneSlice(size), "keep");
}

/** Makes all ranges those of slices without values. */
export function forgetRanges(ranges: Float32Array): void {
  for (let i = 0; i < ranges.length; i += 2) {
    ranges[i] = Infinity;
    ranges[i + 1] = -Infinity;
  }
}

/**
 * Joins the ranges of a tensor's slices to those that are known, tile by tile.
 * @param shape   [outer, slices, inner]
 * @param ranges  {Infinity, -Infinity} for slices of which nothing is known yet
 */
export function joinRanges(
  core: Core,
  where: string,
  data: NumberArray,
  shape: readonly number[],
  nonFinite: "keep" | "ignore",
  ranges: Float32Array,
): void {
  for (const { start, size, shape: part, qStart, qCount } of tilesOf(shape, [shape[1], 1])) {
    rangesOfTile(
      core,
      where,
      subarrayOf(data, start, start + size),
      part,
      nonFinite,
      ranges.subarray(2 * qStart, 2 * (qStart + qCount)),
      true,
    );
  }
}

/** The ranges of the slices of one tile, joined to what they were so far if `isMore`. */
function rangesOfTile(
  { memory, module }: Core,
  where: string,
  data: NumberArray,
  shape: readonly number[],
  nonFinite: "keep" | "ignore",
  ranges: Float32Array,
  isMore: boolean,
): void {
  const [outer, count, inner] = shape;
  const size = outer * count * inner;
  const [xAt, foundAt, heldAt] = memory.layOut(where, 4 * size, 8 * count, isMore ? 8 * count : 0);
  try {
    memory.copyIn(where, "Float32Array", xAt, data, size);
    const status = module.ranges(xAt, outer, count, inner, nonFinite, foundAt);
    // Without a finite value in this tile a slice may yet have one in another.
    if (status !== "kOk" && status !== "kEmpty") throw refused(where, status);
    if (isMore) {
      memory.write("Float32Array", heldAt, ranges);
      module.updateMinMax(foundAt, heldAt, count);
    }
    memory.read(isMore ? heldAt : foundAt, ranges);
  } finally {
    memory.end();
  }
}

/**
 * Counts the values between min and max into as many equal parts of that range as there are counts,
 * tile by tile; others, so infinities, are left out.
 * @param counts  uint32: how many there were before, and are with these
 */
export function countIntoBins(
  { memory, module }: Core,
  where: string,
  data: NumberArray,
  size: number,
  { min, max }: ValueRange,
  counts: Uint32Array,
): void {
  const bins = counts.length;
  const [xAt, countsAt] = memory.layOut(where, 4 * Math.min(size, TILE), 4 * bins);
  try {
    memory.write("Uint32Array", countsAt, counts);
    for (let start = 0; start < size; start += TILE) {
      const end = Math.min(size, start + TILE);
      memory.copyIn(where, "Float32Array", xAt, subarrayOf(data, start, end), end - start);
      checkStatus(where, module.countIntoBins(xAt, end - start, min, max, countsAt, bins));
    }
    memory.read(countsAt, counts);
  } finally {
    memory.end();
  }
}
