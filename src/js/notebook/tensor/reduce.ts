// Many elements to one: sum, mean, min, max. Float sums are taken in PyTorch's order, which decides
// their last bits.

import { show } from "../../base/format-value.js";
import { cascadeSum, type FloatStorage } from "../../torch/cascade-sum.js";
import * as core from "../core.js";
import { checkFlag } from "../python/arguments.js";
import { pythonError } from "../python/errors.js";
import { fromInt64 } from "./cast.js";
import { type DType, dtypes, type NumberStorage, type Storage } from "./dtype.js";
import { convert } from "./unary.js";
import {
  allocate,
  checkAxis,
  countOf,
  elements,
  isContiguous,
  loopOrder,
  rowMajorStrides,
  rowMajorView,
  type View,
} from "./view.js";

/**
 * The axes and `keepdim` that a reduction's arguments mean; without axes, all are reduced.
 * @param rank  of the tensor
 * @throws {RangeError} IndexError; RuntimeError for a dimension that is named twice
 */
export function reduction(
  where: string,
  rank: number,
  [dim, keep]: readonly unknown[],
): [axes: ReadonlySet<number> | undefined, keepdim: boolean] {
  const keepdim = checkFlag(where, "keepdim", keep);
  if (dim === undefined) return [undefined, keepdim];
  const dims = Array.isArray(dim) ? (dim as readonly unknown[]) : [dim];
  const axes = new Set(dims.map((one) => checkAxis(where, one, rank)));
  if (axes.size !== dims.length) {
    throw pythonError("RuntimeError", `${where}: dim names a dimension twice: ${show(dims)}`);
  }
  // Without dimensions there is nothing to reduce; an empty list means all, as in PyTorch.
  return [rank === 0 || axes.size === 0 ? undefined : axes, keepdim];
}

/** The shape after axes are reduced: they are removed, or kept with size 1. */
function reducedShape(view: View, axes: ReadonlySet<number>, keepdim: boolean): number[] {
  return view.shape.flatMap((size, axis) => (axes.has(axis) ? (keepdim ? [1] : []) : [size]));
}

function allAxes(view: View): ReadonlySet<number> {
  return new Set(view.shape.keys());
}

/**
 * The sum over some axes.
 *
 * float32 and float64 are added in PyTorch's order for one thread. Integers and bool give int64,
 * which wraps.
 *
 * Source: `torch.sum`; cascade_sum (aten/src/ATen/native/cpu/SumKernel.cpp).
 *
 * @param axes  the axes that are summed; undefined for all
 */
export function sum(
  where: string,
  view: View,
  axes: ReadonlySet<number> = allAxes(view),
  keepdim = false,
): View {
  const shape = reducedShape(view, axes, keepdim);
  if (view.dtype.category !== "float") {
    const wide = convert(view, dtypes.int64);
    const out = allocate(dtypes.int64, shape);
    const totals = out.storage as BigInt64Array;
    forEachSlice(wide, axes, (values, slice) => {
      for (const value of values as BigInt64Array) totals[slice] += value;
    });
    return out;
  }
  if (view.dtype === dtypes.float32 && axes.size === view.shape.length && isContiguous(view)) {
    const total = core.sum(where, elements(view) as Float32Array);
    return rowMajorView(Float32Array.of(total), view.dtype, shape);
  }
  return rowMajorView(sumFloats(view, axes), view.dtype, shape);
}

/** Sums over `axes`; the result is row-major over the other axes. */
function sumFloats(view: View, axes: ReadonlySet<number>): FloatStorage {
  const kept = rowMajorStrides(view.shape.map((size, axis) => (axes.has(axis) ? 1 : size)));
  const output = kept.map((stride, axis) => (axes.has(axis) ? 0 : stride));
  const out = view.dtype.allocate(countOf(reducedShape(view, axes, false))) as FloatStorage;
  if (countOf(view.shape) === 0) return out;
  const order = loopOrder(view.shape, [output, view.strides], true);
  const pick = (list: readonly number[]): number[] => order.map((axis) => list[axis]);
  const loops = { sizes: pick(view.shape), input: pick(view.strides), output: pick(output) };
  cascadeSum(loops, view.storage as FloatStorage, view.offset, out);
  return out;
}

/**
 * The mean over some axes: the sum divided by the number of elements; NaN for none.
 *
 * Source: `torch.mean`.
 *
 * @throws {RangeError} RuntimeError for integers and bool
 */
export function mean(
  where: string,
  view: View,
  axes: ReadonlySet<number> = allAxes(view),
  keepdim = false,
): View {
  if (view.dtype.category !== "float") {
    throw pythonError(
      "RuntimeError",
      `${where}: takes a float tensor, got ${view.dtype}; convert with float() first`,
    );
  }
  const shape = reducedShape(view, axes, keepdim);
  if (view.dtype === dtypes.float32 && axes.size === view.shape.length && isContiguous(view)) {
    const value = core.mean(where, elements(view) as Float32Array);
    return rowMajorView(Float32Array.of(value), view.dtype, shape);
  }
  const totals = sum(where, view, axes, keepdim);
  const count = countOf([...axes].map((axis) => view.shape[axis]));
  const divisor = view.dtype === dtypes.float32 ? Math.fround(count) : count;
  const values = totals.storage as NumberStorage;
  for (let i = 0; i < values.length; i++) values[i] /= divisor;
  return totals;
}

/** Calls `visit` with the elements of every slice along some axes, in row-major order. */
function forEachSlice(
  view: View,
  axes: ReadonlySet<number>,
  visit: (values: Storage, slice: number) => void,
): void {
  const kept = [...view.shape.keys()].filter((axis) => !axes.has(axis)).reverse();
  const slices = countOf(kept.map((axis) => view.shape[axis]));
  const sizes = [...axes].map((axis) => view.shape[axis]);
  const strides = [...axes].map((axis) => view.strides[axis]);
  for (let slice = 0; slice < slices; slice++) {
    let offset = view.offset;
    let left = slice;
    for (const axis of kept) {
      offset += (left % view.shape[axis]) * view.strides[axis];
      left = Math.floor(left / view.shape[axis]);
    }
    visit(elements({ ...view, shape: sizes, strides, offset }), slice);
  }
}

/** "min" or "max". */
export type ExtremeName = "min" | "max";

/**
 * The smallest or largest element; NaN if there is any.
 *
 * Source: `torch.min`, `torch.max` without dim.
 *
 * @throws {RangeError} RuntimeError for a tensor without elements
 */
export function extreme(where: string, name: ExtremeName, view: View): View {
  if (countOf(view.shape) === 0) {
    throw pythonError("RuntimeError", `${where}: a tensor without elements has no ${name}`);
  }
  const values = elements(view);
  const out = allocate(view.dtype, []);
  if (values instanceof Float32Array) {
    out.storage[0] = core.minMax(where, values)[name];
  } else {
    out.storage[0] = values[extremeIndex(name, values)];
  }
  return out;
}

/**
 * The smallest or largest elements along an axis and where they are: the first NaN if there is one,
 * else the first of equals.
 *
 * Source: `torch.min`, `torch.max` with dim; `torch.amin`, `torch.amax`.
 *
 * @throws {RangeError} IndexError for an axis of size 0
 */
export function extremeAlong(
  where: string,
  name: ExtremeName,
  view: View,
  axis: number,
  keepdim: boolean,
): { values: View; indices: View } {
  const axes = new Set(view.shape.length === 0 ? [] : [axis]);
  const shape = reducedShape(view, axes, keepdim);
  if (view.shape[axis] === 0) {
    throw pythonError("IndexError", `${where}: dimension ${axis} has size 0, so it has no ${name}`);
  }
  const values = allocate(view.dtype, shape);
  const indices = allocate(dtypes.int64, shape);
  forEachSlice(view, axes, (candidates, slice) => {
    const index = extremeIndex(name, candidates);
    values.storage[slice] = candidates[index];
    indices.storage[slice] = BigInt(index);
  });
  return { values, indices };
}

/** The index of the first NaN, else of the first smallest or largest element. */
export function extremeIndex(name: ExtremeName, values: Storage): number {
  let best = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (Number.isNaN(value)) return i;
    if (name === "min" ? value < values[best] : value > values[best]) best = i;
  }
  return best;
}

/**
 * Whether all, or any, elements along some axes are other than 0, as bool; uint8 stays uint8.
 *
 * Source: `torch.all`, `torch.any`.
 *
 * @param axes  undefined for all
 */
export function truth(
  name: "all" | "any",
  view: View,
  axes: ReadonlySet<number> = allAxes(view),
  keepdim = false,
): View {
  const type = view.dtype === dtypes.uint8 ? view.dtype : dtypes.bool;
  const out = allocate(type, reducedShape(view, axes, keepdim));
  const isAny = name === "any";
  forEachSlice(view, axes, (values, slice) => {
    // The first element that determines the result ends the search.
    let decided = false;
    for (let i = 0; i < values.length && !decided; i++)
      decided = (Number(values[i]) !== 0) === isAny;
    out.storage[slice] = decided === isAny ? 1 : 0;
  });
  return out;
}

/** Whether all elements are other than 0. */
export function everyElement(view: View): boolean {
  for (const value of elements(view)) if (Number(value) === 0) return false;
  return true;
}

/** A 0-d tensor's value: a number, a BigInt that is no safe integer, or a boolean. */
export function scalarOf(value: number | bigint, dtype: DType): number | bigint | boolean {
  if (dtype === dtypes.bool) return Boolean(value);
  return typeof value === "bigint" ? fromInt64(value) : value;
}

/** The result of a reduction of all elements: with `keepdim`, a dimension of size 1 for each of the tensor's. */
export function kept(view: View, whole: View, keepdim: boolean): View {
  return keepdim
    ? rowMajorView(
        whole.storage,
        whole.dtype,
        view.shape.map(() => 1),
      )
    : whole;
}
