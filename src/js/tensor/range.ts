// tensor -> range of each slice; counts of a histogram.

import { checkStatus, refused } from "../base/errors.js";
import { checkStillThere, type NumberArray, newArray, subarrayOf } from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import { oneSlice, type SliceCounts } from "./granularity.js";
import { TILE, tilesOf } from "./tiles.js";

/** A range of values. */
export interface ValueRange {
  /** The smallest value. */
  readonly min: number;
  /** The largest value. */
  readonly max: number;
}

/**
 * The ranges of all slices, computed in tiles: minimum and maximum of each slice, interleaved.
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
  checkStillThere(where, data, size);
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

/** Sets all ranges to {Infinity, -Infinity}, the range of a slice without values. */
function forgetRanges(ranges: Float32Array): void {
  for (let i = 0; i < ranges.length; i += 2) {
    ranges[i] = Infinity;
    ranges[i + 1] = -Infinity;
  }
}

/**
 * Merges the ranges of a tensor's slices into the given ranges, in tiles.
 * @param shape   [outer, slices, inner]
 * @param ranges  ranges so far; {Infinity, -Infinity} for a slice without values so far
 */
function joinRanges(
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
      subarrayOf(ranges, 2 * qStart, 2 * (qStart + qCount)),
      true,
    );
  }
}

/** The ranges of the slices of one tile, merged with the previous ranges if `isMore`. */
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
    // A slice without a finite value in this tile may have one in another tile.
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
 * Adds the values between min and max to a histogram with one equal bin per count, in tiles. Other
 * values, also infinities, are skipped.
 * @param counts  uint32 counts, read and written
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
