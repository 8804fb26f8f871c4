// Elements in other places or shapes: flip, repeat, chunk, diag, tril and their relatives.

import { show, showShape } from "../../base/format-value.js";
import { pythonError } from "../python/errors.js";
import { dtypes } from "../tensor/dtype.js";
import {
  expand,
  narrow,
  permuteDims,
  reshape,
  squeeze,
  transpose,
  unsqueeze,
} from "../tensor/shapes.js";
import { clone } from "../tensor/unary.js";
import {
  allocate,
  checkAxis,
  checkInteger,
  countOf,
  elements,
  permute,
  rowMajorView,
  select,
  type View,
  writeElements,
} from "../tensor/view.js";
import { checkView, operation, sizesOperation } from "./operation.js";
import { takeSlices } from "./selection.js";

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value]);

/** Slices of an axis in another order, or some of them several times. */
function rearranged(where: string, view: View, axis: number, rows: readonly number[]): View {
  const index = rowMajorView(BigInt64Array.from(rows, BigInt), dtypes.int64, [rows.length]);
  return takeSlices(where, view, axis, index, [rows.length], "IndexError");
}

const upTo = (size: number): number[] => Array.from({ length: size }, (_, i) => i);

function flip(where: string, view: View, dims: readonly unknown[]): View {
  const axes = dims.map((dim) => checkAxis(where, dim, view.shape.length));
  if (new Set(axes).size !== axes.length) {
    throw pythonError("RuntimeError", `${where}: dims names a dimension twice: ${show(dims)}`);
  }
  const copy = rowMajorView(elements(view).slice() as View["storage"], view.dtype, view.shape);
  if (view.shape.length === 0) return copy;
  return axes.reduce(
    (part, axis) => rearranged(where, part, axis, upTo(view.shape[axis]).reverse()),
    copy,
  );
}

function roll(where: string, view: View, shifts: unknown, dims?: unknown): View {
  const steps = listOf(shifts).map((shift) => checkInteger(where, "shifts", shift));
  const rolled = (part: View, axis: number, step: number): View => {
    const size = part.shape[axis];
    return rearranged(
      where,
      part,
      axis,
      upTo(size).map((i) => (((i - step) % size) + size) % size),
    );
  };
  if (dims === undefined && steps.length === 1) {
    const flat = rowMajorView(elements(view), view.dtype, [countOf(view.shape)]);
    return { ...rowMajorView(rolled(flat, 0, steps[0]).storage, view.dtype, view.shape) };
  }
  const axes = listOf(dims ?? []).map((dim) => checkAxis(where, dim, view.shape.length));
  if (axes.length !== steps.length) {
    throw pythonError(
      "RuntimeError",
      `${where}: shifts and dims must be as many, got ${steps.length} and ${axes.length}`,
    );
  }
  return axes.reduce((part, axis, i) => rolled(part, axis, steps[i]), clone(view));
}

/** @param isTile  whether leading sizes may be missing */
function repeat(where: string, view: View, sizes: readonly unknown[], isTile = false): View {
  const given = sizes.map((size) => checkInteger(where, "repeats", size));
  const rank = view.shape.length;
  if (given.length < rank && !isTile) {
    throw pythonError(
      "RuntimeError",
      `${where}: takes a number for each of the ${rank} dimensions, got ${given.length}`,
    );
  }
  if (given.some((times) => times < 0)) {
    throw pythonError("RuntimeError", `${where}: a number of repeats must not be negative`);
  }
  const lead = Math.max(0, given.length - rank);
  const times = [...upTo(Math.max(0, rank - given.length)).map(() => 1), ...given];
  const shape = [...upTo(lead).map(() => 1), ...view.shape];
  const whole = rowMajorView(elements(view), view.dtype, shape);
  const repeated = times.reduce((part, count, axis) => {
    if (count === 1) return part;
    const rows = upTo(count).flatMap(() => upTo(shape[axis]));
    return rearranged(where, part, axis, rows);
  }, whole);
  const isOwn = repeated.storage !== view.storage;
  return isOwn
    ? repeated
    : { ...repeated, storage: elements(repeated).slice() as View["storage"], offset: 0 };
}

function repeatInterleave(where: string, view: View, repeats: unknown, dim?: unknown): View {
  const source =
    dim === undefined ? rowMajorView(elements(view), view.dtype, [countOf(view.shape)]) : view;
  const axis = checkAxis(where, dim ?? 0, source.shape.length);
  const size = source.shape[axis] ?? 1;
  const counts =
    typeof repeats === "number" || typeof repeats === "bigint"
      ? upTo(size).map(() => checkInteger(where, "repeats", repeats))
      : Array.from(elements(checkView(where, "repeats", repeats)) as Float64Array, Number);
  const each = counts.length === 1 && size !== 1 ? upTo(size).map(() => counts[0]) : counts;
  if (each.length !== size || each.some((count) => count < 0)) {
    throw pythonError(
      "RuntimeError",
      `${where}: repeats must be one number of 0 or more, or one for each of the ${size} slices`,
    );
  }
  const rows = each.flatMap((count, i) => upTo(count).map(() => i));
  return rearranged(where, source, axis, rows);
}

function split(where: string, view: View, size: unknown, dim: unknown = 0): View[] {
  const axis = checkAxis(where, dim, view.shape.length);
  if (view.shape.length === 0) {
    throw pythonError("RuntimeError", `${where}: a 0-d tensor cannot be split`);
  }
  const length = view.shape[axis];
  let sizes: number[];
  if (Array.isArray(size)) {
    sizes = size.map((each) => checkInteger(where, "split_size", each));
    if (sizes.some((each) => each < 0) || sizes.reduce((a, b) => a + b, 0) !== length) {
      throw pythonError(
        "RuntimeError",
        `${where}: sizes must add up to ${length}, the size of dimension ${axis}, got ${show(size)}`,
      );
    }
  } else {
    const most = checkInteger(where, "split_size", size);
    if (most < 0 || (most === 0 && length > 0)) {
      throw pythonError("RuntimeError", `${where}: split_size must be above 0, got ${most}`);
    }
    const count = Math.max(1, Math.ceil(length / (most || 1)));
    sizes = upTo(count).map((i) => Math.min(most, length - i * most));
  }
  let start = 0;
  return sizes.map((each) => {
    const part = narrow(where, view, axis, start, each);
    start += each;
    return part;
  });
}

function chunk(where: string, view: View, chunks: unknown, dim: unknown = 0): View[] {
  const count = checkInteger(where, "chunks", chunks);
  const axis = checkAxis(where, dim, view.shape.length);
  if (count < 1) {
    throw pythonError("RuntimeError", `${where}: chunks must be above 0, got ${count}`);
  }
  const length = view.shape[axis] ?? 0;
  if (length === 0 && view.shape.length > 0) {
    return upTo(count).map(() => narrow(where, view, axis, 0, 0));
  }
  return split(where, view, Math.ceil(length / count), axis);
}

function unbind(where: string, view: View, dim: unknown = 0): View[] {
  const axis = checkAxis(where, dim, view.shape.length);
  if (view.shape.length === 0) {
    throw pythonError("IndexError", `${where}: a 0-d tensor has no slices`);
  }
  return upTo(view.shape[axis]).map((i) => select(where, view, axis, i));
}

function unflatten(where: string, view: View, dim: unknown, sizes: unknown): View {
  const axis = checkAxis(where, dim, view.shape.length);
  const given = listOf(sizes).map((size) => checkInteger(where, "sizes", size));
  const others = countOf(given.filter((size) => size !== -1));
  const length = view.shape[axis];
  const inner = given.map((size) => (size === -1 ? length / others : size));
  if (given.filter((size) => size === -1).length > 1 || countOf(inner) !== length) {
    throw pythonError(
      "RuntimeError",
      `${where}: sizes ${show(given)} do not multiply to ${length}, the size of dimension ${axis}`,
    );
  }
  const shape = [...view.shape.slice(0, axis), ...inner, ...view.shape.slice(axis + 1)];
  return reshaped(where, view, shape);
}

/** In another shape; a copy where elements must move. */
function reshaped(where: string, view: View, shape: readonly number[]): View {
  const placed = reshape(where, view, shape);
  return placed ?? rowMajorView(elements(view), view.dtype, shape);
}

function viewAs(where: string, view: View, other: unknown): View {
  const placed = reshape(where, view, ofOther(where, other));
  if (placed !== undefined) return placed;
  throw pythonError(
    "RuntimeError",
    `${where}: the elements do not lie in memory in the order that the new shape needs; use reshape_as(...)`,
  );
}

function movedim(where: string, view: View, source: unknown, destination: unknown): View {
  const rank = view.shape.length;
  const from = listOf(source).map((dim) => checkAxis(where, dim, rank));
  const to = listOf(destination).map((dim) => checkAxis(where, dim, rank));
  if (
    from.length !== to.length ||
    new Set(from).size < from.length ||
    new Set(to).size < to.length
  ) {
    throw pythonError(
      "RuntimeError",
      `${where}: source and destination must name as many dimensions, each once`,
    );
  }
  const rest = upTo(rank).filter((axis) => !from.includes(axis));
  const order = upTo(rank).map((axis) =>
    to.includes(axis) ? from[to.indexOf(axis)] : (rest.shift() as number),
  );
  return permuteDims(where, view, order);
}

function diagonal(
  where: string,
  view: View,
  offset: unknown = 0,
  dim1: unknown = 0,
  dim2: unknown = 1,
): View {
  const rank = view.shape.length;
  const [a, b] = [checkAxis(where, dim1, rank), checkAxis(where, dim2, rank)];
  if (a === b) {
    throw pythonError(
      "RuntimeError",
      `${where}: dim1 and dim2 must be two dimensions, got ${a} twice`,
    );
  }
  const shift = checkInteger(where, "offset", offset);
  const [rows, columns] = [view.shape[a] + Math.min(0, shift), view.shape[b] - Math.max(0, shift)];
  const length = Math.max(0, Math.min(rows, columns));
  const start = shift >= 0 ? shift * view.strides[b] : -shift * view.strides[a];
  const others = upTo(rank).filter((axis) => axis !== a && axis !== b);
  return {
    ...view,
    shape: [...others.map((axis) => view.shape[axis]), length],
    strides: [...others.map((axis) => view.strides[axis]), view.strides[a] + view.strides[b]],
    offset: length === 0 ? view.offset : view.offset + start,
  };
}

function diag(where: string, view: View, offset: unknown = 0): View {
  const shift = checkInteger(where, "diagonal", offset);
  if (view.shape.length === 2) {
    const found = diagonal(where, view, shift);
    return rowMajorView(elements(found).slice() as View["storage"], view.dtype, found.shape);
  }
  if (view.shape.length !== 1) {
    throw pythonError(
      "RuntimeError",
      `${where}: takes a tensor of 1 or 2 dimensions, got ${view.shape.length}`,
    );
  }
  const size = view.shape[0] + Math.abs(shift);
  const out = allocate(view.dtype, [size, size]);
  writeElements(diagonal(where, out, shift), elements(view));
  return out;
}

/** A copy with 0 in place of the elements beyond a diagonal, in the last two dimensions. */
function triangle(where: string, view: View, offset: unknown, isLower: boolean): View {
  const shift = checkInteger(where, "diagonal", offset ?? 0);
  const rank = view.shape.length;
  if (rank < 2) {
    throw pythonError(
      "RuntimeError",
      `${where}: takes a tensor of 2 dimensions or more, got ${rank}`,
    );
  }
  const [rows, columns] = view.shape.slice(-2);
  const out = rowMajorView(elements(view).slice() as View["storage"], view.dtype, view.shape);
  const zero = out.storage instanceof BigInt64Array ? 0n : 0;
  for (let i = 0; i < out.storage.length; i++) {
    const distance = (i % columns) - (Math.floor(i / columns) % rows);
    if (isLower ? distance > shift : distance < shift) out.storage[i] = zero;
  }
  return out;
}

/** The size of a dimension on each side, from the last dimension to the first. Source: `torch.nn.functional.pad`. */
export function pad(where: string, view: View, sizes: unknown, fill: number | bigint): View {
  const given = listOf(sizes).map((size) => checkInteger(where, "pad", size));
  const rank = view.shape.length;
  if (given.length % 2 === 1 || given.length > 2 * rank) {
    throw pythonError(
      "RuntimeError",
      `${where}: pad takes two numbers for each of at most ${rank} dimensions, got ${show(given)}`,
    );
  }
  const before = view.shape.map((_, axis) => given[2 * (rank - 1 - axis)] ?? 0);
  const after = view.shape.map((_, axis) => given[2 * (rank - 1 - axis) + 1] ?? 0);
  const shape = view.shape.map((size, axis) => size + before[axis] + after[axis]);
  if (shape.some((size) => size < 0)) {
    throw pythonError(
      "RuntimeError",
      `${where}: pad leaves the negative size of ${showShape(shape)}`,
    );
  }
  const out = allocate(view.dtype, shape);
  (out.storage as Float32Array).fill(fill as number);
  // What negative sizes cut off is left out of both.
  const part = (whole: View, starts: readonly number[], lengths: readonly number[]): View =>
    starts.reduce((each, start, axis) => narrow(where, each, axis, start, lengths[axis]), whole);
  const lengths = view.shape.map((size, axis) =>
    Math.max(0, size + Math.min(0, before[axis]) + Math.min(0, after[axis])),
  );
  const target = part(
    out,
    before.map((size) => Math.max(0, size)),
    lengths,
  );
  writeElements(
    target,
    elements(
      part(
        view,
        before.map((size) => Math.max(0, -size)),
        lengths,
      ),
    ),
  );
  return out;
}

function transposeMatrix(where: string, view: View): View {
  const rank = view.shape.length;
  if (rank > 2) {
    throw pythonError(
      "RuntimeError",
      `${where}: takes a tensor of at most 2 dimensions, got ${rank}; use transpose(...)`,
    );
  }
  return permute(view, upTo(rank).reverse());
}

const ofOther = (where: string, other: unknown): readonly number[] =>
  checkView(where, "other", other).shape;

/** Operations on the places of elements. */
export const arrangement = {
  narrow: operation("dim start length", (where, view, dim, start, length) =>
    narrow(where, view, dim, start, length),
  ),
  squeeze: operation("dim?", (where, view, dim) => squeeze(where, view, dim)),
  unsqueeze: operation("dim", (where, view, dim) => unsqueeze(where, view, dim)),
  t: operation("", transposeMatrix),
  transpose: operation("dim0 dim1", (where, view, a, b) => transpose(where, view, a, b)),
  permute: sizesOperation("dims", permuteDims),
  expand: sizesOperation("size", expand),
  flip: sizesOperation("dims", flip),
  roll: operation("shifts dims?", roll),
  repeat: sizesOperation("repeats", repeat),
  tile: sizesOperation("dims", (where, view, sizes) => repeat(where, view, sizes, true)),
  repeat_interleave: operation("repeats dim?", repeatInterleave),
  split: operation("split_size dim?", split),
  chunk: operation("chunks dim?", chunk),
  unbind: operation("dim?", unbind),
  ravel: operation("", (where, view) => reshaped(where, view, [countOf(view.shape)])),
  view_as: operation("other", viewAs),
  reshape_as: operation("other", (where, view, other) =>
    reshaped(where, view, ofOther(where, other)),
  ),
  unflatten: operation("dim sizes", unflatten),
  movedim: operation("source destination", movedim),
  swapaxes: operation("axis0 axis1", (where, view, a, b) => transpose(where, view, a, b)),
  broadcast_to: operation("size", (where, view, size) => expand(where, view, listOf(size))),
  expand_as: operation("other", (where, view, other) => expand(where, view, ofOther(where, other))),
  diagonal: operation("offset? dim1? dim2?", diagonal),
  diag: operation("diagonal?", diag),
  tril: operation("diagonal?", (where, view, offset) => triangle(where, view, offset, true)),
  triu: operation("diagonal?", (where, view, offset) => triangle(where, view, offset, false)),
};
