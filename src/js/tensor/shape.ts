// Sizes and checks of shapes.

import { isIntegerWithin, wrongKind, wrongNumber } from "../base/check.js";
import { rangeError } from "../base/errors.js";
import { show, showShape } from "../base/format-value.js";
import { arrayName, lengthOf } from "../base/typed-arrays.js";

/** The largest rank of a tensor, as in PyTorch and in the core. */
export const MAX_RANK = 64;

/** The largest length of an axis, and the most elements, that the core counts in 32 bits. */
export const MAX_COUNT = 2 ** 32 - 1;

/** The number of elements of a shape, or of some of its axes. */
export function sizeOf(shape: readonly number[], start = 0, end = shape.length): number {
  let size = 1;
  for (let axis = start; axis < end; axis++) {
    if (shape[axis] === 0) return 0;
    size *= shape[axis];
  }
  return size;
}

/** Whether two shapes are the same. */
export function sameShape(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((length, axis) => length === b[axis]);
}

/** The numbers of elements outside an axis, along it and inside it. */
export function aroundAxis(
  shape: readonly number[],
  axis: number,
): [outer: number, length: number, inner: number] {
  return [sizeOf(shape, 0, axis), shape[axis], sizeOf(shape, axis + 1)];
}

/** Copies a shape. @throws {TypeError|RangeError} if it is not a list of lengths */
export function checkShape(where: string, argument: string, value: unknown): number[] {
  const name = arrayName(value);
  if (!Array.isArray(value) && (name === undefined || name.startsWith("Big"))) {
    throw wrongKind("ZP_INVALID_SHAPE", where, argument, "an array of lengths", value);
  }
  const given = value as ArrayLike<unknown>;
  const rank = lengthOf(given);
  if (!Number.isInteger(rank) || rank < 0 || rank > MAX_RANK) {
    throw rangeError(
      "ZP_INVALID_SHAPE",
      where,
      `${argument} must have at most ${MAX_RANK} axes, got ${show(rank)}`,
    );
  }
  const shape = new Array<number>(rank);
  for (let axis = 0; axis < rank; axis++) {
    const length = given[axis];
    if (!isIntegerWithin(length, 0, Infinity)) {
      const name = `${argument}[${axis}]`;
      throw wrongNumber("ZP_INVALID_SHAPE", where, name, "an integer >= 0", length);
    }
    if (length > MAX_COUNT) {
      throw rangeError(
        "ZP_SIZE_OVERFLOW",
        where,
        `${argument}[${axis}] must be less than 2^32, got ${length}`,
      );
    }
    shape[axis] = length + 0; // -0 becomes 0
  }
  return shape;
}

/**
 * Copies a shape given as `shape` or as `dims`.
 * @throws {RangeError} `ZP_INVALID_SHAPE` if both are present and differ
 */
export function checkOwnShape(
  where: string,
  argument: string,
  shape: unknown,
  dims: unknown,
): number[] {
  if (dims === undefined) return checkShape(where, `${argument}.shape`, shape);
  const named = checkShape(where, `${argument}.dims`, dims);
  if (shape === undefined) return named;
  const own = checkShape(where, `${argument}.shape`, shape);
  if (sameShape(own, named)) return own;
  throw rangeError(
    "ZP_INVALID_SHAPE",
    where,
    `${argument}.shape and ${argument}.dims must be equal where both are given, got ` +
      `${showShape(own)} and ${argument}.dims ${showShape(named)}`,
  );
}

/**
 * Checks that a shape fits its data.
 * @param hint  end of the message
 */
export function checkSize(
  where: string,
  argument: string,
  shape: readonly number[],
  length: number,
  hint = "",
): void {
  const size = sizeOf(shape);
  if (size !== length) {
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      where,
      `${argument} of shape ${showShape(shape)} must have ${size} values, got ${length}${hint}`,
    );
  }
  if (size > MAX_COUNT) {
    throw rangeError(
      "ZP_SIZE_OVERFLOW",
      where,
      `${argument} must have fewer than 2^32 values, got ${size}`,
    );
  }
}
