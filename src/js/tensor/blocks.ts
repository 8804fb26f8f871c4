// Blocks: every axis is cut into runs of a number of values; one block is their product.

import { isIntegerWithin, wrongKind } from "../base/check.js";
import { rangeError } from "../base/errors.js";
import { show, showShape } from "../base/format-value.js";
import { type NumberArray, setArray, subarrayOf, valueAt } from "../base/typed-arrays.js";
import { sizeOf } from "./shape.js";

/** A tensor's shape cut into blocks. */
export interface Blocks {
  readonly shape: readonly number[];
  /** The values of a block on each axis; the last block of an axis may be shorter. */
  readonly size: readonly number[];
  /** The number of blocks on each axis. */
  readonly counts: readonly number[];
  /** The number of all blocks. */
  readonly count: number;
}

const blocksOfSize = (shape: readonly number[], size: readonly number[]): Blocks => {
  const counts = shape.map((length, axis) => (length === 0 ? 0 : Math.ceil(length / size[axis])));
  return { shape, size, counts, count: sizeOf(counts) };
};

/**
 * Cuts a shape into blocks.
 * @param given   one number for each axis; -1: the whole axis
 * @param divide  whether each number has to divide its axis
 * @throws {RangeError} `ZP_INVALID_GROUP_SIZE`
 */
export function checkBlocks(
  where: string,
  argument: string,
  given: unknown,
  shape: readonly number[],
  divide: boolean,
): Blocks {
  if (!Array.isArray(given)) {
    const wanted = "a list of one number for each axis";
    throw wrongKind("ZP_INVALID_GROUP_SIZE", where, argument, wanted, given);
  }
  const sizeAt = (length: unknown, axis: number) => (length === -1 ? shape[axis] : length);
  // No more of a list than its length is read, which is then the rank.
  const size = given.length === shape.length ? shape.map((_, i) => sizeAt(given[i], i)) : [];
  const fits = (length: unknown, axis: number): boolean =>
    isIntegerWithin(length, shape[axis] === 0 ? 0 : 1, Infinity) &&
    (!divide || length === 0 || shape[axis] % length === 0);
  if (size.length !== shape.length || !size.every(fits)) {
    const wanted = divide ? "divide every axis" : "have a positive integer, or -1, for every axis";
    const problem = `${argument} must ${wanted} of shape ${showShape(shape)}, got ${show(given)}`;
    throw rangeError("ZP_INVALID_GROUP_SIZE", where, problem);
  }
  return blocksOfSize(
    shape,
    (size as number[]).map((length, axis) => Math.min(length, shape[axis])),
  );
}

/** Calls visit(start, count, block) for runs of values of one block that lie side by side, in order. */
export function forRuns(
  { shape, size, counts }: Blocks,
  visit: (start: number, count: number, block: number) => void,
): void {
  const last = shape.length - 1;
  if (last < 0) {
    visit(0, 1, 0);
    return;
  }
  const [row, run, runs] = [shape[last], size[last], counts[last]];
  const index = new Array<number>(last).fill(0);
  const rows = sizeOf(shape, 0, last);
  for (let r = 0; r < rows && row > 0; r++) {
    let block = 0;
    for (let axis = 0; axis < last; axis++) {
      block = block * counts[axis] + Math.floor(index[axis] / size[axis]);
    }
    for (let i = 0; i < runs; i++) {
      visit(r * row + i * run, Math.min(run, row - i * run), block * runs + i);
    }
    for (let axis = last - 1; axis >= 0 && ++index[axis] === shape[axis]; axis--) index[axis] = 0;
  }
}

/** Consecutive values that whole blocks are made of: as few as there are. */
export interface Band {
  /** The position of the first value. */
  readonly start: number;
  readonly size: number;
  /** The index of the first block. */
  readonly first: number;
  readonly blocks: Blocks;
}

/** Divides a tensor into bands, in order. */
export function* bandsOf({ shape, size, counts }: Blocks): Generator<Band, void, void> {
  const last = shape.length - 1;
  // Axes whose blocks are single indices, before the first other one, lie in bands of their own.
  let cut = 0;
  while (cut < last && size[cut] === 1) cut++;
  const [length, step] = last < 0 ? [1, 1] : [shape[cut], size[cut]];
  const rest = shape.slice(cut + 1);
  const inner = sizeOf(rest);
  const perStep = sizeOf(counts, cut + 1);
  const outer = sizeOf(shape, 0, cut);
  let first = 0;
  for (let o = 0; o < outer; o++) {
    for (let at = 0; at < length; at += step, first += perStep) {
      const own = Math.min(step, length - at);
      const blocks = blocksOfSize([own, ...rest], [own, ...size.slice(cut + 1)]);
      yield { start: (o * length + at) * inner, size: own * inner, first, blocks };
    }
  }
}

/** Consecutive blocks of one size, once the values of each block lie side by side. */
export interface EvenBlocks {
  readonly first: number;
  readonly start: number;
  readonly slices: number;
  /** The values of a block. */
  readonly inner: number;
}

/** The sizes of all blocks, in order. */
function blockSizes(blocks: Blocks): Float64Array {
  const sizes = new Float64Array(blocks.count);
  forRuns(blocks, (_, count, block) => {
    sizes[block] += count;
  });
  return sizes;
}

/** The blocks in as few groups of one size as their order allows. */
export function* evenBlocks(blocks: Blocks): Generator<EvenBlocks, void, void> {
  const sizes = blockSizes(blocks);
  for (let first = 0, start = 0; first < sizes.length; ) {
    const inner = sizes[first];
    let end = first + 1;
    while (end < sizes.length && sizes[end] === inner) end++;
    yield { first, start, slices: end - first, inner };
    start += (end - first) * inner;
    first = end;
  }
}

/** Runs below this length are copied value by value, which is faster. */
const SHORT = 16;

/** Copies values so that those of each block lie side by side, or, with `back`, the other way. */
export function reorder(blocks: Blocks, from: NumberArray, to: NumberArray, back = false): void {
  const sizes = blockSizes(blocks);
  let next = 0;
  const starts = sizes.map((size) => {
    next += size;
    return next - size;
  });
  const out = to as Float32Array;
  forRuns(blocks, (start, count, block) => {
    const other = starts[block];
    starts[block] += count;
    const [source, target] = back ? [other, start] : [start, other];
    if (count < SHORT) {
      for (let i = 0; i < count; i++) out[target + i] = valueAt(from, source + i);
    } else setArray(out, subarrayOf(from, source, source + count), target);
  });
}
