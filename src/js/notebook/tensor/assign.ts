// Writing into a tensor's memory: item assignment and the methods in place.

import { showShape } from "../../base/format-value.js";
import { sameShape } from "../../tensor/shape.js";
import { pythonError } from "../python/errors.js";
import { cast, checkedScalarStorage, isScalar } from "./cast.js";
import type { Category } from "./dtype.js";
import type { Operand } from "./layout.js";
import { scalarOf } from "./reduce.js";
import {
  broadcast,
  countOf,
  elements,
  rowMajorView,
  stretch,
  type View,
  writeElements,
} from "./view.js";

/** Categories of dtypes, from the narrowest: a result goes into its own and into wider ones. */
const RANK: { readonly [category in Category]: number } = { bool: 0, integer: 1, float: 2 };

/**
 * Fills a view with a value, converted to its dtype and stretched to its shape: item assignment.
 * @throws {RangeError} RuntimeError if the value does not fit
 */
export function assignTo(where: string, target: View, value: Operand): void {
  if (isScalar(value)) {
    const one = checkedScalarStorage(where, value, target.dtype);
    const single = { ...rowMajorView(one, target.dtype, []), strides: [] };
    writeElements(target, elements(stretch(single, target.shape)));
    return;
  }
  const { shape, strides, storage, offset, dtype } = value;
  const lead = shape.length - target.shape.length;
  // A 0-d tensor is taken for its number, which has to fit.
  if (shape.length === 0 && lead < 0) {
    assignTo(where, target, scalarOf(storage[offset], dtype));
    return;
  }
  // Leading dimensions of size 1 fall away, as in PyTorch.
  const dropped = lead > 0 && shape.slice(0, lead).every((length) => length === 1) ? lead : 0;
  const trimmed = { ...value, shape: shape.slice(dropped), strides: strides.slice(dropped) };
  copyInto(where, target, trimmed);
}

/**
 * Copies the result of an operation in place.
 * @throws {RangeError} RuntimeError if its dtype or shape does not go into the view
 */
export function assignResult(where: string, target: View, result: View): void {
  if (RANK[result.dtype.category] > RANK[target.dtype.category]) {
    throw pythonError(
      "RuntimeError",
      `${where}: the result is ${result.dtype}, which does not go into a tensor of ${target.dtype}`,
    );
  }
  if (!sameShape(result.shape, target.shape)) {
    throw pythonError(
      "RuntimeError",
      `${where}: the result has shape ${showShape(result.shape)}, the tensor ` +
        showShape(target.shape),
    );
  }
  copyInto(where, target, result);
}

/**
 * Copies a view's elements into another, converted to its dtype and stretched to its shape.
 * @throws {RangeError} RuntimeError if they do not fit, or share memory
 */
export function copyInto(where: string, target: View, source: View): void {
  const { shape, strides } = target;
  if (shape.some((length, axis) => length > 1 && strides[axis] === 0) && countOf(shape) > 0) {
    throw pythonError(
      "RuntimeError",
      `${where}: elements of a stretched tensor share memory and cannot be written one by one; ` +
        `clone() it first`,
    );
  }
  if (!sameShape(broadcast(where, source.shape, shape), shape)) {
    throw pythonError(
      "RuntimeError",
      `${where}: a value of shape ${showShape(source.shape)} does not fit into shape ` +
        showShape(shape),
    );
  }
  writeElements(target, cast(elements(stretch(source, shape)), source.dtype, target.dtype));
}
