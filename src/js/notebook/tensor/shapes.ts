// Parts of a tensor, and its elements in other shapes: what the methods of torch.Tensor compute that share its memory.

import { show, showShape } from "../../base/format-value.js";
import { sameShape } from "../../tensor/shape.js";
import { pythonError } from "../python/errors.js";
import {
  checkAxis,
  checkInteger,
  countOf,
  permute,
  rowMajorStrides,
  select,
  stretch,
  type View,
} from "./view.js";

/** Python's t[i, j], ...: one slice for each index. @throws {RangeError} IndexError */
export function selectEach(where: string, view: View, indices: readonly unknown[]): View {
  const rank = view.shape.length;
  if (indices.length > rank) {
    throw pythonError(
      "IndexError",
      `${where}: a tensor of ${rank} dimensions cannot take ${indices.length} indices`,
    );
  }
  let axis = 0;
  return indices.reduce<View>((part, index) => {
    if (typeof index === "string") return sliced(where, part, axis++, index);
    return select(where, part, axis, index);
  }, view);
}

const SLICE = /^\s*(-?\d+)?\s*:\s*(-?\d+)?\s*(?::\s*(-?\d+)?\s*)?$/;

/**
 * A slice in Python's words: "1:3", ":", "::2", "-2:". Ends beyond the dimension are cut off.
 * @throws {RangeError} IndexError for another text, ValueError for a step below 1
 */
function sliced(where: string, view: View, axis: number, text: string): View {
  const [matched, ...parts] = SLICE.exec(text) ?? [];
  if (matched === undefined) {
    throw pythonError(
      "IndexError",
      `${where}: an index must be a whole number or a slice such as "1:3", got ${show(text)}`,
    );
  }
  const [first, last, stride] = parts.map((part) =>
    part === undefined ? undefined : Number(part),
  );
  const size = view.shape[axis];
  const step = stride ?? 1;
  if (step < 1)
    throw pythonError("ValueError", `${where}: the step must be at least 1, got ${step}`);
  const within = (end: number): number => Math.max(0, Math.min(size, end < 0 ? end + size : end));
  const start = within(first ?? 0);
  const length = Math.max(0, Math.ceil((within(last ?? size) - start) / step));
  const { shape, strides, offset } = view;
  return {
    ...view,
    shape: shape.map((old, other) => (other === axis ? length : old)),
    strides: strides.map((old, other) => (other === axis ? old * step : old)),
    offset: length === 0 ? offset : offset + start * strides[axis],
  };
}

/** A range of indices of a dimension. @throws {RangeError} IndexError, RuntimeError */
export function narrow(
  where: string,
  view: View,
  dim: unknown,
  first: unknown,
  count: unknown,
): View {
  const { shape, strides, offset } = view;
  if (shape.length === 0) {
    throw pythonError("RuntimeError", `${where}: a 0-d tensor has no dimensions`);
  }
  const axis = checkAxis(where, dim, shape.length);
  const available = shape[axis];
  const given = checkInteger(where, "start", first);
  const length = checkInteger(where, "length", count);
  const start = given < 0 ? given + available : given;
  if (start < 0 || length < 0 || start + length > available) {
    throw pythonError(
      length >= 0 && (start < 0 || start > available) ? "IndexError" : "RuntimeError",
      `${where}: start ${given} and length ${length} reach beyond dimension ${axis} of size ` +
        `${available}`,
    );
  }
  return {
    ...view,
    shape: shape.map((old, other) => (other === axis ? length : old)),
    offset: offset + start * strides[axis],
  };
}

/**
 * The same elements in another shape, or undefined if they would have to be copied.
 * @param sizes  one of them may be -1
 * @throws {RangeError} RuntimeError if the shape does not fit
 */
export function reshape(where: string, view: View, sizes: readonly unknown[]): View | undefined {
  const shape = inferShape(where, sizes, countOf(view.shape));
  const strides = reshapedStrides(view, shape);
  return strides && { ...view, shape, strides };
}

/**
 * A shape with the dimensions from `first` to `last` as one; the given shape if that changes nothing.
 * @throws {RangeError} IndexError, RuntimeError
 */
export function flatShape(
  where: string,
  shape: readonly number[],
  first: unknown = 0,
  last: unknown = -1,
): readonly number[] {
  const start = checkAxis(where, first, shape.length);
  const end = checkAxis(where, last, shape.length);
  if (start > end) {
    throw pythonError("RuntimeError", `${where}: start_dim ${start} comes after end_dim ${end}`);
  }
  if (start === end && shape.length > 0) return shape;
  const merged = countOf(shape.slice(start, end + 1));
  return [...shape.slice(0, start), merged, ...shape.slice(end + 1)];
}

/** Without the dimensions of size 1, or without one of them. @throws {RangeError} IndexError */
export function squeeze(where: string, view: View, dim: unknown): View {
  const { shape, strides } = view;
  const axis = dim === undefined ? undefined : checkAxis(where, dim, shape.length);
  const stays = (other: number): boolean =>
    shape[other] !== 1 || (axis !== undefined && axis !== other);
  return {
    ...view,
    shape: shape.filter((_, other) => stays(other)),
    strides: strides.filter((_, other) => stays(other)),
  };
}

/** With one more dimension, of size 1. @throws {RangeError} IndexError */
export function unsqueeze(where: string, view: View, dim: unknown): View {
  const { shape, strides } = view;
  const axis = checkAxis(where, dim, shape.length + 1);
  const stride = axis < shape.length ? shape[axis] * strides[axis] : 1;
  return {
    ...view,
    shape: [...shape.slice(0, axis), 1, ...shape.slice(axis)],
    strides: [...strides.slice(0, axis), stride, ...strides.slice(axis)],
  };
}

/** With two dimensions exchanged. @throws {RangeError} IndexError */
export function transpose(where: string, view: View, first: unknown, second: unknown): View {
  const rank = view.shape.length;
  const a = checkAxis(where, first, rank);
  const b = checkAxis(where, second, rank);
  return permute(
    view,
    view.shape.map((_, axis) => (axis === a ? b : axis === b ? a : axis)),
  );
}

/** With its dimensions in another order. @throws {RangeError} RuntimeError, IndexError */
export function permuteDims(where: string, view: View, dims: readonly unknown[]): View {
  const rank = view.shape.length;
  const order = dims.map((dim) => checkAxis(where, dim, rank));
  if (order.length !== rank || new Set(order).size !== rank) {
    throw pythonError(
      "RuntimeError",
      `${where}: must name each of the ${rank} dimensions once, got ${show(dims)}`,
    );
  }
  return permute(view, order);
}

/** Stretched: dimensions of size 1 repeat. -1 keeps a size. @throws {RangeError} RuntimeError */
export function expand(where: string, view: View, sizes: readonly unknown[]): View {
  const given = sizes.map((length) => checkInteger(where, "size", length));
  const { shape } = view;
  const lead = given.length - shape.length;
  const target = given.map((length, axis) => (length === -1 ? (shape[axis - lead] ?? -1) : length));
  const fits = target.every(
    (length, axis) =>
      length >= 0 && (axis < lead || shape[axis - lead] === length || shape[axis - lead] === 1),
  );
  if (lead < 0 || !fits) {
    throw pythonError(
      "RuntimeError",
      `${where}: a tensor of shape ${showShape(shape)} does not stretch to ${show(given)}`,
    );
  }
  const stretched = stretch(view, target);
  // New dimensions of size 1 do not repeat: they lie around the next one, as in PyTorch.
  const strides = [...stretched.strides];
  for (let axis = shape.length > 0 ? lead - 1 : -1; axis >= 0; axis--) {
    if (target[axis] === 1) strides[axis] = target[axis + 1] * strides[axis + 1];
  }
  return { ...stretched, strides };
}

/** Checks a shape whose one unknown length may be -1. @throws {RangeError} RuntimeError */
function inferShape(where: string, given: readonly unknown[], count: number): readonly number[] {
  const shape = given.map((size) => checkInteger(where, "shape", size));
  const text = showShape(shape);
  const negative = shape.find((size) => size < -1);
  if (negative !== undefined) {
    throw pythonError(
      "RuntimeError",
      `${where}: a size must be 0 or more, or -1 for what is left, got ${negative} in ${text}`,
    );
  }
  const unknown = shape.indexOf(-1);
  if (unknown !== shape.lastIndexOf(-1)) {
    throw pythonError("RuntimeError", `${where}: only one size can be -1, got ${text}`);
  }
  if (unknown >= 0) {
    const others = countOf(shape.filter((size) => size !== -1));
    if (others === 0 && count === 0) {
      throw pythonError(
        "RuntimeError",
        `${where}: the -1 in ${text} could be any size, because the tensor has no elements`,
      );
    }
    if (others !== 0 && count % others === 0) shape[unknown] = count / others;
  }
  if (countOf(shape) !== count || shape.includes(-1)) {
    throw pythonError(
      "RuntimeError",
      `${where}: shape ${text} does not fit a tensor of ${count} elements`,
    );
  }
  return shape;
}

/**
 * The strides under which the same elements have another shape, or undefined if they would have to
 * be copied. An axis of the old shape, or a run of axes that are contiguous with each other, may be split;
 * other axes cannot be merged.
 *
 * Source: computeStride (aten/src/ATen/TensorUtils.cpp), which gives axes of size 1 their strides.
 */
function reshapedStrides(view: View, shape: readonly number[]): number[] | undefined {
  if (countOf(shape) === 0) {
    return sameShape(view.shape, shape) ? [...view.strides] : rowMajorStrides(shape);
  }
  const strides = new Array<number>(shape.length).fill(1);
  let target = shape.length - 1;
  let length = 1; // of the run of old axes, innermost first
  let base = view.strides.at(-1) ?? 1; // the run's innermost stride
  for (let axis = view.shape.length - 1; axis >= 0; axis--) {
    length *= view.shape[axis];
    const outer = view.strides[axis - 1];
    if (axis > 0 && (view.shape[axis - 1] === 1 || outer === length * base)) continue;
    let filled = 1;
    while (target >= 0 && (filled < length || shape[target] === 1)) {
      strides[target] = base * filled;
      filled *= shape[target--];
    }
    if (filled !== length) return undefined;
    length = 1;
    base = outer;
  }
  return strides;
}
