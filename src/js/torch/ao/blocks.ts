// Blocks: every axis is cut into runs of a number of values; one block is their product. Granularities of torchao.

import { checkInteger, wrongKind } from "../../base/check.js";
import { rangeError } from "../../base/errors.js";
import { showShape } from "../../base/format-value.js";
import { checkTensor, type TensorInput } from "../../tensor/check.js";
import { checkShape, sizeOf } from "../../tensor/shape.js";

/** A tensor's shape cut into blocks. */
export interface Blocks {
  readonly shape: readonly number[];
  /** The values of a block on each axis. */
  readonly size: readonly number[];
  /** The number of blocks on each axis. */
  readonly counts: readonly number[];
  /** The number of all blocks. */
  readonly count: number;
}

/**
 * Cuts a shape into blocks.
 * @param blockSize  one number for each axis, which divides it; -1: the whole axis
 * @throws {RangeError} `ZP_INVALID_GROUP_SIZE`
 */
export function checkBlocks(where: string, blockSize: unknown, shape: readonly number[]): Blocks {
  const argument = "options.blockSize";
  if (!Array.isArray(blockSize)) {
    const wanted = "a list of one number for each axis";
    throw wrongKind("ZP_INVALID_GROUP_SIZE", where, argument, wanted, blockSize);
  }
  const whole = blockSize.map((length, axis) => (length === -1 ? shape[axis] : length));
  const size = checkShape(where, argument, whole);
  const divides = (length: number, axis: number) =>
    length > 0 ? shape[axis] % length === 0 : shape[axis] === 0;
  if (size.length !== shape.length || !size.every(divides)) {
    throw rangeError(
      "ZP_INVALID_GROUP_SIZE",
      where,
      `${argument} must divide every axis of shape ${showShape(shape)}, got ${showShape(size)}`,
    );
  }
  const counts = shape.map((length, axis) => (length === 0 ? 0 : length / size[axis]));
  return { shape, size, counts, count: sizeOf(counts) };
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
    for (let i = 0; i < runs; i++) visit(r * row + i * run, run, block * runs + i);
    for (let axis = last - 1; axis >= 0 && ++index[axis] === shape[axis]; axis--) index[axis] = 0;
  }
}

/** Shape of qparams: the number of blocks of each axis; without `keepdim` not of the axes that are one block. */
export function blockShape({ size, counts, count }: Blocks, keepdim: boolean): number[] {
  if (keepdim) return [...counts];
  // An axis in blocks of one value is not reduced, and stays; a tensor of one value has one number.
  const isReduced = size.some((length) => length !== 1);
  if (!isReduced) return count === 1 ? [] : [...counts];
  return counts.filter((own, axis) => size[axis] === 1 || own !== 1);
}

// ---- granularities, as get_block_size of torchao

const shapeOf = (where: string, x: TensorInput): number[] => checkTensor(where, "x", x).shape;

/** One block: PerTensor. */
export const perTensor = (x: TensorInput): number[] => shapeOf("perTensor", x);

/** A block for each row, the values of the last axis: PerRow, and PerToken. */
export function perRow(x: TensorInput): number[] {
  return perGroup(x, shapeOf("perRow", x).at(-1) ?? 1);
}

/** A block for each index of an axis: PerAxis. @param axis  negative counts from the end */
export function perAxis(x: TensorInput, axis: number): number[] {
  const where = "perAxis";
  const shape = shapeOf(where, x);
  const given = checkInteger(where, "axis", axis, 0, -shape.length, shape.length - 1);
  const own = given < 0 ? given + shape.length : given;
  return shape.map((length, i) => (i === own ? 1 : length));
}

/** A block for each group of consecutive values of the last axis: PerGroup. */
export function perGroup(x: TensorInput, groupSize: number): number[] {
  const where = "perGroup";
  const shape = shapeOf(where, x);
  const size = checkInteger(where, "groupSize", groupSize, 1, 1, 2 ** 32 - 1);
  return shape.map((_, axis) => (axis === shape.length - 1 ? size : 1));
}

/** Blocks of these lengths on the last axes, of one on the others: PerBlock. */
export function perBlock(x: TensorInput, block: readonly number[]): number[] {
  const where = "perBlock";
  const shape = shapeOf(where, x);
  const own = checkShape(where, "block", block);
  if (own.length > shape.length) {
    const problem = `block must have at most ${shape.length} axes, got ${showShape(own)}`;
    throw rangeError("ZP_INVALID_GROUP_SIZE", where, problem);
  }
  return [...new Array<number>(shape.length - own.length).fill(1), ...own];
}
