// Strided views: the element of a storage that each index of a tensor refers to. Views of one storage
// share its values. This file finds and copies elements; it does no arithmetic.

import { showShape } from "../../base/format-value.js";
import { pythonError } from "../python/errors.js";
import type { DType, Storage } from "./dtype.js";

/** A tensor without its methods. */
export interface View {
  readonly storage: Storage;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Distance in the storage, in elements, between neighbours along each axis. */
  readonly strides: readonly number[];
  /** Where in the storage the first element is. */
  readonly offset: number;
}

/** How many elements a shape has. */
export function countOf(shape: readonly number[]): number {
  return shape.reduce((count, size) => count * size, 1);
}

/** The strides of a row-major tensor. Axes of size 0 count as 1, as in PyTorch. */
export function rowMajorStrides(shape: readonly number[]): number[] {
  const strides = new Array<number>(shape.length);
  let stride = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    strides[axis] = stride;
    stride *= Math.max(shape[axis], 1);
  }
  return strides;
}

/** A view of a whole row-major storage. */
export function rowMajorView(storage: Storage, dtype: DType, shape: readonly number[]): View {
  return { storage, dtype, shape, strides: rowMajorStrides(shape), offset: 0 };
}

/** A new tensor of zeros. */
export function allocate(dtype: DType, shape: readonly number[]): View {
  return rowMajorView(dtype.allocate(countOf(shape)), dtype, shape);
}

/** The layout of a tensor, without its storage. */
export type Placement = Pick<View, "shape" | "strides">;

/** Whether the elements lie one after the other in row-major order. */
export function isContiguous({ shape, strides }: Placement): boolean {
  if (countOf(shape) === 0) return true;
  let expected = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    if (shape[axis] !== 1 && strides[axis] !== expected) return false;
    expected *= shape[axis];
  }
  return true;
}

/** Whether the elements fill one run of the storage without gaps or repetition, in any order. */
export function isDense({ shape, strides }: Placement): boolean {
  const axes = shape.map((_, axis) => axis).filter((axis) => shape[axis] !== 1);
  axes.sort((a, b) => strides[a] - strides[b]);
  let expected = 1;
  for (const axis of axes) {
    if (shape[axis] === 0) return true;
    if (strides[axis] !== expected) return false;
    expected *= shape[axis];
  }
  return true;
}

/** The axis that `dim` means, counting from the end if negative. @throws {RangeError} IndexError */
export function checkAxis(where: string, dim: unknown, rank: number): number {
  const axis = checkInteger(where, "dim", dim);
  // A 0-d tensor takes -1 and 0, as if it had one axis.
  const limit = Math.max(rank, 1);
  if (axis < -limit || axis >= limit) {
    throw pythonError(
      "IndexError",
      `${where}: dim must be from ${-limit} to ${limit - 1} for a tensor of ${rank} ` +
        `dimension${rank === 1 ? "" : "s"}, got ${axis}`,
    );
  }
  return axis < 0 ? axis + limit : axis;
}

/** A whole number. @throws {TypeError} */
export function checkInteger(where: string, argument: string, value: unknown): number {
  const number = typeof value === "bigint" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isSafeInteger(number)) {
    throw pythonError(
      "TypeError",
      `${where}: ${argument} must be a whole number, got ${String(value)}`,
    );
  }
  return number + 0; // -0 becomes 0
}

/** A list without one of its items. */
function without(list: readonly number[], index: number): number[] {
  return list.filter((_, other) => other !== index);
}

/** Resolves one index of one axis; negative ones count from the end. @throws {RangeError} IndexError */
export function select(where: string, view: View, axis: number, given: unknown): View {
  const index = checkInteger(where, "index", given);
  if (view.shape.length === 0) {
    throw pythonError(
      "IndexError",
      `${where}: a 0-d tensor has no indices; item() gives its number`,
    );
  }
  const size = view.shape[axis];
  if (index < -size || index >= size) {
    throw pythonError(
      "IndexError",
      `${where}: index ${index} is out of range for dimension ${axis} of a tensor of shape ` +
        showShape(view.shape),
    );
  }
  const at = index < 0 ? index + size : index;
  return {
    ...view,
    shape: without(view.shape, axis),
    strides: without(view.strides, axis),
    offset: view.offset + at * view.strides[axis],
  };
}

/** The shape that two shapes broadcast to. @throws {RangeError} RuntimeError */
export function broadcast(
  where: string,
  a: readonly number[],
  b: readonly number[],
): readonly number[] {
  if (a.length === b.length && a.every((size, axis) => size === b[axis])) return a;
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, axis) => {
    const aSize = a[axis - rank + a.length] ?? 1;
    const bSize = b[axis - rank + b.length] ?? 1;
    if (aSize !== bSize && aSize !== 1 && bSize !== 1) {
      throw pythonError(
        "RuntimeError",
        `${where}: shapes ${showShape(a)} and ${showShape(b)} do not fit each other: dimension ` +
          `${axis} is ${aSize} in one and ${bSize} in the other, and neither is 1`,
      );
    }
    return aSize === 1 ? bSize : aSize;
  });
}

/** A view stretched to a larger shape: axes of size 1 repeat. The shapes must fit. */
export function stretch<Some extends Placement>(view: Some, shape: readonly number[]): Some {
  if (view.shape === shape) return view;
  const lead = shape.length - view.shape.length;
  const strides = shape.map((_, axis) =>
    axis < lead || view.shape[axis - lead] !== shape[axis] ? 0 : view.strides[axis - lead],
  );
  return { ...view, shape, strides };
}

/** The same view with its axes in another order. */
export function permute<Some extends Placement>(view: Some, order: readonly number[]): Some {
  return {
    ...view,
    shape: order.map((axis) => view.shape[axis]),
    strides: order.map((axis) => view.strides[axis]),
  };
}

/**
 * The order in which PyTorch traverses the axes of operands of one shape, fastest axis first: by their
 * strides, the first operand's before the second's, and the last axis first if all strides are equal.
 * It determines the memory layout of results and the order of float sums.
 *
 * Source: TensorIteratorBase::reorder_dimensions (aten/src/ATen/TensorIterator.cpp).
 *
 * @param reduction  whether the first operand is the result of a reduction, with strides 0 at the
 *   axes that are reduced; these then come first
 */
export function loopOrder(
  shape: readonly number[],
  operands: readonly (readonly number[])[],
  reduction = false,
): number[] {
  const order = shape.map((_, axis) => shape.length - 1 - axis);
  for (let i = 1; i < order.length; i++) {
    let moving = i;
    for (let other = i - 1; other >= 0; other--) {
      const comparison = compareAxes(order[other], order[moving], shape, operands, reduction);
      if (comparison < 0) break;
      if (comparison > 0) {
        [order[other], order[moving]] = [order[moving], order[other]];
        moving = other;
      }
    }
  }
  return order;
}

/** Positive if axis `a` comes after axis `b`, negative if before, 0 if the strides do not say. */
function compareAxes(
  a: number,
  b: number,
  shape: readonly number[],
  operands: readonly (readonly number[])[],
  reduction: boolean,
): number {
  for (const [operand, strides] of operands.entries()) {
    const aStride = strides[a];
    const bStride = strides[b];
    if (reduction && operand === 0 && (aStride === 0) !== (bStride === 0)) {
      return bStride === 0 ? 1 : -1;
    }
    if (aStride === 0 || bStride === 0) continue;
    if (aStride !== bStride) return aStride < bStride ? -1 : 1;
    if (shape[a] > shape[b]) return 1;
  }
  return 0;
}

/**
 * The elements in row-major order: a subarray of the storage if they are contiguous, else a copy.
 */
export function elements(view: View): Storage {
  const { storage, shape, offset } = view;
  const count = countOf(shape);
  if (isContiguous(view)) {
    if (offset === 0 && count === storage.length) return storage;
    if (count > 0 && offset + count > storage.length) {
      throw pythonError("RuntimeError", "the memory of this tensor was transferred");
    }
    return storage.subarray(offset, offset + count) as Storage;
  }
  const out = view.dtype.allocate(count);
  // TypeScript cannot see that both arrays hold the same kind of number.
  copyElements(view, out as Float32Array);
  return out;
}

function copyElements(view: View, out: Float32Array): void {
  const source = view.storage as Float32Array;
  let next = 0;
  forEachRow(view, (start, stride, length) => {
    for (let i = 0; i < length; i++) out[next++] = source[start + i * stride];
  });
}

/** Writes row-major values to the elements of a view. */
export function writeElements(view: View, values: Storage): void {
  const source = values as Float32Array;
  const target = view.storage as Float32Array;
  let next = 0;
  forEachRow(view, (start, stride, length) => {
    for (let i = 0; i < length; i++) target[start + i * stride] = source[next++];
  });
}

/** Calls `row` for every run along the last axis, in row-major order. */
function forEachRow(
  view: View,
  row: (start: number, stride: number, length: number) => void,
): void {
  const { shape, strides, offset } = view;
  const rank = shape.length;
  if (countOf(shape) === 0) return;
  if (rank === 0) {
    row(offset, 1, 1);
    return;
  }
  const index = new Array<number>(rank - 1).fill(0);
  let start = offset;
  for (;;) {
    row(start, strides[rank - 1], shape[rank - 1]);
    let axis = rank - 2;
    for (; axis >= 0; axis--) {
      start += strides[axis];
      if (++index[axis] < shape[axis]) break;
      start -= shape[axis] * strides[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}
