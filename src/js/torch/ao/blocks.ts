// Blocks and granularities of torchao.

import { checkInteger } from "../../base/check.js";
import { rangeError } from "../../base/errors.js";
import { showShape } from "../../base/format-value.js";
import { type Blocks, checkBlocks as checkBlocksOf } from "../../tensor/blocks.js";
import { checkTensor, type TensorInput } from "../../tensor/check.js";
import { checkShape } from "../../tensor/shape.js";

/** Blocks of torchao, which divide every axis. */
export const checkBlocks = (where: string, given: unknown, shape: readonly number[]): Blocks =>
  checkBlocksOf(where, "options.blockSize", given, shape, true);

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
