// Elements by mask or by index: masked_select, gather, nonzero and their relatives.

import { showShape } from "../../base/format-value.js";
import { checkFlag } from "../python/arguments.js";
import { pythonError } from "../python/errors.js";
import { checkedScalarStorage, isScalar } from "../tensor/cast.js";
import { dtypes, type Storage } from "../tensor/dtype.js";
import type { Operand } from "../tensor/layout.js";
import { scalarOf } from "../tensor/reduce.js";
import { clone } from "../tensor/unary.js";
import {
  allocate,
  broadcast,
  checkAxis,
  countOf,
  elements,
  rowMajorStrides,
  rowMajorView,
  stretch,
  type View,
} from "../tensor/view.js";
import { choose } from "../tensor/where.js";
import { checkOperand, checkView, operation, type Result } from "./operation.js";

/** A mask of bools. @throws {RangeError} RuntimeError */
function checkMask(where: string, value: unknown): View {
  const mask = checkView(where, "mask", value);
  if (mask.dtype === dtypes.bool) return mask;
  throw pythonError(
    "RuntimeError",
    `${where}: mask must be torch.bool, got ${mask.dtype}; comparisons such as gt make one`,
  );
}

/** Indices of int64, or int32 where PyTorch takes them. @throws {RangeError} RuntimeError */
function checkIndices(where: string, value: unknown): View {
  const index = checkView(where, "index", value);
  if (index.dtype === dtypes.int64 || index.dtype === dtypes.int32) return index;
  throw pythonError("RuntimeError", `${where}: index must be torch.int64, got ${index.dtype}`);
}

/** Elements of a storage, in the order of their places. */
function picked(values: Storage, view: View, places: readonly number[]): Storage {
  const out = view.dtype.allocate(places.length);
  places.forEach((at, i) => {
    out[i] = values[at];
  });
  return out;
}

/** The elements for which a mask that broadcasts is true, in one dimension. */
export function maskedSelect(where: string, view: View, mask: View): View {
  const shape = broadcast(where, view.shape, mask.shape);
  const wanted = elements(stretch(mask, shape));
  const places = [...wanted.keys()].filter((i) => wanted[i]);
  const out = picked(elements(stretch(view, shape)), view, places);
  return rowMajorView(out, view.dtype, [places.length]);
}

/** A copy in which the elements that a mask covers have another value. */
export function maskedFill(where: string, view: View, mask: View, operand: Operand): View {
  if (!isScalar(operand) && operand.shape.length > 0) {
    const got = `a tensor of ${operand.shape.length} dimensions`;
    throw pythonError(
      "RuntimeError",
      `${where}: value must be a number or a 0-d tensor, got ${got}`,
    );
  }
  const number = isScalar(operand)
    ? operand
    : scalarOf(operand.storage[operand.offset], operand.dtype);
  const [fill] = checkedScalarStorage(where, number, view.dtype);
  const shape = broadcast(where, view.shape, mask.shape);
  const out = clone(stretch(view, shape));
  const values = elements(out).slice() as Storage;
  elements(stretch(mask, shape)).forEach((isCovered: number | bigint, i: number) => {
    if (isCovered) values[i] = fill;
  });
  return rowMajorView(values, view.dtype, shape);
}

/** An index within a dimension. @throws {RangeError} */
function within(
  where: string,
  index: number | bigint,
  size: number,
  error: "IndexError" | "RuntimeError",
  allowsNegative = false,
): number {
  const at = Number(index);
  if (at >= (allowsNegative ? -size : 0) && at < size) return at < 0 ? at + size : at;
  throw pythonError(error, `${where}: index ${at} is out of range for a dimension of size ${size}`);
}

/** Whole slices of a dimension, by a tensor of indices. */
function indexSelect(where: string, view: View, dim: unknown, given: unknown): View {
  const index = checkIndices(where, given);
  const axis = checkAxis(where, dim, view.shape.length);
  if (index.shape.length > 1) {
    const got = `${index.shape.length} dimensions`;
    throw pythonError("IndexError", `${where}: index must have 1 dimension, got ${got}`);
  }
  return takeSlices(where, view, axis, index, [countOf(index.shape)], "IndexError");
}

/** Slices of an axis, by indices; their shape takes the axis's place. */
export function takeSlices(
  where: string,
  view: View,
  axis: number,
  index: View,
  shape: readonly number[],
  error: "IndexError" | "RuntimeError",
  allowsNegative = false,
): View {
  const source = view.shape.length === 0 ? [1] : view.shape;
  const size = source[axis];
  const rows = Array.from(elements(index) as Float64Array, (each) =>
    within(where, each, size, error, allowsNegative),
  );
  const after = countOf(source.slice(axis + 1));
  const before = countOf(source.slice(0, axis));
  const values = elements(view);
  const out = view.dtype.allocate(before * rows.length * after);
  for (let i = 0; i < before; i++) {
    rows.forEach((row, j) => {
      const start = (i * size + row) * after;
      const run = values.subarray(start, start + after) as Float32Array;
      (out as Float32Array).set(run, (i * rows.length + j) * after);
    });
  }
  const whole = [...source.slice(0, axis), ...shape, ...source.slice(axis + 1)];
  return rowMajorView(out, view.dtype, view.shape.length === 0 ? [] : whole);
}

/** Calls `visit` with each place of an index and the place in a tensor that it means along an axis. */
function forEachIndex(
  where: string,
  index: View,
  shape: readonly number[],
  axis: number,
  visit: (at: number, place: number) => void,
): void {
  const strides = rowMajorStrides(shape);
  const own = rowMajorStrides(index.shape);
  elements(index).forEach((given: number | bigint, at: number) => {
    const target = within(where, given, shape[axis] ?? 1, "RuntimeError");
    let place = 0;
    for (let each = 0; each < index.shape.length; each++) {
      const step = each === axis ? target : Math.floor(at / own[each]) % index.shape[each];
      place += step * (strides[each] ?? 1);
    }
    visit(at, index.shape.length === 0 ? target : place);
  });
}

/** Shapes that gather and scatter need: as many dimensions, none larger than the tensor's. */
function checkIndexShape(where: string, index: View, view: View, axis: number | undefined): void {
  const fits =
    Math.max(index.shape.length, 1) === Math.max(view.shape.length, 1) &&
    index.shape.every((size, each) => each === axis || size <= (view.shape[each] ?? 1));
  if (fits || countOf(index.shape) === 0) return;
  throw pythonError(
    "RuntimeError",
    `${where}: index of shape ${showShape(index.shape)} does not fit shape ${showShape(view.shape)}`,
  );
}

function gather(where: string, view: View, dim: unknown, given: unknown): View {
  const index = checkIndices(where, given);
  const axis = checkAxis(where, dim, view.shape.length);
  checkIndexShape(where, index, view, axis);
  const values = elements(view);
  const out = allocate(view.dtype, index.shape);
  forEachIndex(where, index, view.shape, axis, (at, place) => {
    out.storage[at] = values[place];
  });
  return out;
}

/** A copy with values of another tensor, or a number, at places along a dimension. */
export function scatter(
  where: string,
  view: View,
  dim: unknown,
  given: unknown,
  source: unknown,
  adds = false,
): View {
  const index = checkIndices(where, given);
  const axis = checkAxis(where, dim, view.shape.length);
  checkIndexShape(where, index, view, axis);
  const operand = checkOperand(where, "src", source);
  if (!isScalar(operand)) {
    if (operand.dtype !== view.dtype) {
      throw pythonError(
        "RuntimeError",
        `${where}: src must be of the tensor's dtype, ${view.dtype}, got ${operand.dtype}`,
      );
    }
    checkIndexShape(where, index, operand, undefined);
  }
  const values = elements(clone(view)).slice() as Storage;
  const put = (place: number, value: number | bigint): void => {
    values[place] = adds ? (values[place] as number) + (value as number) : value;
  };
  if (isScalar(operand)) {
    const [value] = checkedScalarStorage(where, operand, view.dtype);
    forEachIndex(where, index, view.shape, axis, (_, place) => put(place, value));
  } else {
    const from = elements(operand);
    const strides = rowMajorStrides(operand.shape);
    const own = rowMajorStrides(index.shape);
    forEachIndex(where, index, view.shape, axis, (at, place) => {
      const places = index.shape.map((size, each) => Math.floor(at / own[each]) % size);
      put(place, from[places.reduce((sum, step, each) => sum + step * (strides[each] ?? 0), 0)]);
    });
  }
  return rowMajorView(values, view.dtype, view.shape);
}

function take(where: string, view: View, given: unknown): View {
  const index = checkIndices(where, given);
  if (index.dtype !== dtypes.int64) {
    throw pythonError("RuntimeError", `${where}: index must be torch.int64, got ${index.dtype}`);
  }
  const flat = rowMajorView(elements(view), view.dtype, [countOf(view.shape)]);
  return takeSlices(where, flat, 0, index, index.shape, "IndexError", true);
}

/** The indices of elements other than 0: one row for each, one column for each dimension. */
function nonzeroRows(view: View): View {
  const values = elements(view);
  const strides = rowMajorStrides(view.shape);
  const rank = view.shape.length;
  const places = [...values.keys()].filter((i) => Number(values[i]) !== 0);
  const out = allocate(dtypes.int64, [places.length, rank]);
  places.forEach((place, row) => {
    for (let axis = 0; axis < rank; axis++) {
      const index = Math.floor(place / strides[axis]) % view.shape[axis];
      out.storage[row * rank + axis] = BigInt(index);
    }
  });
  return out;
}

/** The indices of elements other than 0, a list for each dimension. */
export function nonzeroColumns(view: View): View[] {
  // A 0-d tensor counts as one of 1 dimension.
  const rows = nonzeroRows(view.shape.length === 0 ? { ...view, shape: [1], strides: [1] } : view);
  const rank = rows.shape[1];
  return Array.from({ length: rank }, (_, axis) => {
    const column = Array.from({ length: rows.shape[0] }, (_each, row) => row * rank + axis);
    return rowMajorView(picked(rows.storage, rows, column), dtypes.int64, [rows.shape[0]]);
  });
}

/** Which elements are among those of another tensor. */
export function isin(where: string, view: View, others: unknown): View {
  const operand = checkOperand(where, "test_elements", others);
  const wanted = new Set<number>(
    isScalar(operand) ? [Number(operand)] : Array.from(elements(operand) as Float64Array, Number),
  );
  const out = allocate(dtypes.bool, view.shape);
  elements(view).forEach((value: number | bigint, i: number) => {
    // NaN equals nothing; a Set finds it.
    out.storage[i] = Number(wanted.has(Number(value)) && !Number.isNaN(value));
  });
  return out;
}

/** Operations that choose elements. */
export const selection = {
  where: operation("condition other", (where, view, condition, other) =>
    choose(
      where,
      checkView(where, "condition", condition),
      view,
      checkOperand(where, "other", other),
    ),
  ),
  masked_select: operation("mask", (where, view, mask) =>
    maskedSelect(where, view, checkMask(where, mask)),
  ),
  masked_fill: operation("mask value", (where, view, mask, value) =>
    maskedFill(where, view, checkMask(where, mask), checkOperand(where, "value", value)),
  ),
  index_select: operation("dim index", indexSelect),
  gather: operation("dim index", gather),
  scatter: operation("dim index src", (where, view, dim, index, source) =>
    scatter(where, view, dim, index, source),
  ),
  scatter_add: operation("dim index src", (where, view, dim, index, source) =>
    scatter(where, view, dim, index, checkAsTensor(where, source), true),
  ),
  take: operation("index", take),
  nonzero: operation(
    "* as_tuple?",
    (where, view, asTuple): Result =>
      checkFlag(where, "as_tuple", asTuple) ? nonzeroColumns(view) : nonzeroRows(view),
  ),
  argwhere: operation("", (_where, view) => nonzeroRows(view)),
};

/** A source that must be a tensor. */
function checkAsTensor(where: string, value: unknown): unknown {
  checkView(where, "src", value);
  return value;
}
