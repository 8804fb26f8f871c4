// Blocks of consecutive whole slices, gathered in the core's heap.

import { type NumberArray, subarrayOf } from "../base/typed-arrays.js";
import type { Memory } from "../core/memory.js";
import { evenParts, type SliceCounts, type SlicesWithRows } from "./granularity.js";
import { TILE } from "./tiles.js";

/** Consecutive slices of one length, as [outer, slices, inner]. */
export interface Block extends SliceCounts {
  /** The index of the first slice. */
  readonly first: number;
  /** The position of the first value. */
  readonly start: number;
  /** Values from one index of `outer` to the next. */
  readonly pitch: number;
}

/** Whether a block is a single contiguous slice that is longer than a tile. */
export const isLong = ({ outer, inner }: Block): boolean => outer === 1 && inner > TILE;

/** The values of a channel on an inner axis are gathered in runs of at least this many, for speed. */
const RUN = 16;

/**
 * Divides a tensor into blocks of as many slices as fit in a tile. A channel on an inner axis is in one
 * block, of any size.
 */
export function* blocksOf(counts: SlicesWithRows): Generator<Block, void, void> {
  const { outer, slices, inner, row } = counts;
  if (row !== 0) {
    for (const part of evenParts(slices / Math.ceil(row / inner), row, inner)) {
      for (const block of blocksOf({ ...part, outer: 1, row: 0 })) {
        yield { ...block, first: part.qStart + block.first, start: part.start + block.start };
      }
    }
    return;
  }
  const fits = Math.floor(TILE / (outer * inner));
  const most = Math.min(slices, Math.max(fits, outer === 1 ? 1 : Math.ceil(RUN / inner)));
  for (let first = 0; first < slices; first += most) {
    const count = Math.min(most, slices - first);
    yield { outer, slices: count, inner, first, start: first * inner, pitch: slices * inner };
  }
}

/** Copies the values of a block into the heap. */
export function gather(
  memory: Memory,
  where: string,
  data: NumberArray,
  { outer, slices, inner, start, pitch }: Block,
  at: number,
): void {
  const run = slices * inner;
  for (let o = 0; o < outer; o++) {
    const from = start + o * pitch;
    const part = subarrayOf(data, from, from + run);
    memory.copyIn(where, "Float32Array", at + 4 * o * run, part, run);
  }
}
