// Indexing by a tensor: Python's t[mask] and t[index], and their assignment.

import { showShape } from "../../base/format-value.js";
import { pythonError } from "../python/errors.js";
import { assignTo, copyInto } from "../tensor/assign.js";
import { isScalar } from "../tensor/cast.js";
import { dtypes, type Storage } from "../tensor/dtype.js";
import type { Operand } from "../tensor/layout.js";
import {
  allocate,
  countOf,
  elements,
  rowMajorView,
  type View,
  writeElements,
} from "../tensor/view.js";
import { maskedFill, maskedSelect, takeSlices } from "./selection.js";

/** A tensor as index stands alone. @throws {RangeError} IndexError */
export function checkAlone(where: string, index: readonly unknown[]): void {
  if (index.length === 1) return;
  throw pythonError(
    "IndexError",
    `${where}: a tensor as index stands alone here; select(...) and index_select(...) take one dimension`,
  );
}

/** A mask of the first dimensions, as whole slices of them: the mask alone, or stretched over the others. */
function maskOver(where: string, view: View, mask: View): View {
  const rank = mask.shape.length;
  if (rank > view.shape.length || mask.shape.some((size, axis) => size !== view.shape[axis])) {
    throw pythonError(
      "IndexError",
      `${where}: a mask of shape ${showShape(mask.shape)} does not fit shape ${showShape(view.shape)}`,
    );
  }
  const strides = [...mask.strides, ...view.shape.slice(rank).map(() => 0)];
  return { ...mask, shape: view.shape, strides };
}

/** Python's t[mask] and t[index]. */
export function partByTensor(where: string, view: View, index: View): View {
  if (index.dtype === dtypes.bool) {
    const part = maskedSelect(where, view, maskOver(where, view, index));
    const slices = view.shape.slice(index.shape.length);
    const size = countOf(slices);
    return size === 0
      ? part
      : rowMajorView(part.storage, view.dtype, [countOf(part.shape) / size, ...slices]);
  }
  if (index.dtype.category !== "integer") {
    throw pythonError(
      "IndexError",
      `${where}: a tensor as index must be of integers or bools, got ${index.dtype}`,
    );
  }
  return takeSlices(where, view, 0, index, index.shape, "IndexError", true);
}

/** Python's t[mask] = value and t[index] = value. */
export function assignByTensor(where: string, view: View, index: View, value: Operand): void {
  if (index.dtype === dtypes.bool && (isScalar(value) || value.shape.length === 0)) {
    copyInto(where, view, maskedFill(where, view, maskOver(where, view, index), value));
    return;
  }
  // The places of the elements, taken as the elements would be.
  const count = countOf(view.shape);
  const all = rowMajorView(
    BigInt64Array.from({ length: count }, (_, i) => BigInt(i)),
    dtypes.int64,
    view.shape,
  );
  const places = partByTensor(where, all, index);
  const values = allocate(view.dtype, places.shape);
  assignTo(where, values, value);
  const whole = elements(view).slice() as Storage;
  places.storage.forEach((place: number | bigint, i: number) => {
    whole[Number(place)] = values.storage[i];
  });
  writeElements(view, whole);
}
