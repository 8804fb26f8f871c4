// Orders of elements in memory: operands and results of element-wise functions.

import { cast, isScalar, type Scalar, scalarStorage } from "./cast.js";
import type { DType, NumberStorage, Storage } from "./dtype.js";
import {
  broadcast,
  countOf,
  elements,
  isContiguous,
  isDense,
  loopOrder,
  type Placement,
  permute,
  rowMajorStrides,
  rowMajorView,
  stretch,
  type View,
} from "./view.js";

/** The second operand of an operation: a tensor or a Python number. */
export type Operand = View | Scalar;

export type NumberUnary = (a: number) => number;

/** Strides of a result, and the order in which its operands are traversed. */
export interface Layout extends Placement {
  readonly count: number;
  /** Axes from slowest to fastest; undefined for row-major order. */
  readonly order: readonly number[] | undefined;
}

/** Results are laid out as by PyTorch: like their operands, if these have the same layout. */
export function commonLayout(where: string, operands: readonly (Placement | Scalar)[]): Layout {
  const views = operands.filter((operand): operand is Placement => !isScalar(operand));
  const shape = views.reduce<readonly number[]>(
    (joint, view) => broadcast(where, joint, view.shape),
    [],
  );
  const count = countOf(shape);
  // Operands of one layout determine the order at once; otherwise it is determined axis by axis.
  if (views.length === operands.length && views.every((view) => areEqual(view.shape, shape))) {
    if (views.every(isContiguous)) {
      return { shape, strides: rowMajorStrides(shape), count, order: undefined };
    }
    const { strides } = views[0];
    if (views.every((view) => isDense(view) && areEqual(view.strides, strides))) {
      return { shape, strides, count, order: slowestFirst(views[0]) };
    }
  }
  const strides = views.map((view) => stretch(view, shape).strides);
  const order = loopOrder(shape, strides).reverse();
  return { shape, strides: stridesOf(shape, order), count, order };
}

function areEqual(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}

/** The strides of a tensor without gaps whose axes lie in a given order, slowest first. */
function stridesOf(shape: readonly number[], order: readonly number[]): number[] {
  const strides = new Array<number>(shape.length);
  const ordered = rowMajorStrides(order.map((axis) => shape[axis]));
  order.forEach((axis, i) => {
    strides[axis] = ordered[i];
  });
  return strides;
}

/** An operand's values in the layout's order; a single one if it has no more. */
export function operandElements(operand: Operand, type: DType, layout: Layout): Storage {
  if (isScalar(operand)) return scalarStorage(operand, type);
  if (countOf(operand.shape) === 1) return cast(elements(operand), operand.dtype, type);
  const stretched = stretch(operand, layout.shape);
  const ordered = layout.order ? permute(stretched, layout.order) : stretched;
  return cast(elements(ordered), operand.dtype, type);
}

export function mapNumbers(out: NumberStorage, source: NumberStorage, map: NumberUnary): void {
  if (out instanceof Float32Array && source instanceof Float32Array) {
    for (let i = 0; i < source.length; i++) out[i] = map(source[i]);
    return;
  }
  for (let i = 0; i < source.length; i++) out[i] = map(source[i]);
}

/** A tensor's values in the memory order of the result of a one-operand operation on it. */
export function laidOut(view: View): { values: Storage; strides: readonly number[] } {
  if (isContiguous(view)) return { values: elements(view), strides: rowMajorStrides(view.shape) };
  const strides = keptStrides(view);
  if (strides !== view.strides) {
    return { values: elements(permute(view, slowestFirst(view))), strides };
  }
  const run = rowMajorView(view.storage, view.dtype, [countOf(view.shape)]);
  return { values: elements({ ...run, offset: view.offset }), strides };
}

/** The strides of a tensor's copies: its own strides, if it has no gaps. */
export function keptStrides(view: Placement): readonly number[] {
  return isDense(view) ? view.strides : stridesOf(view.shape, slowestFirst(view));
}

function slowestFirst({ shape, strides }: Placement): number[] {
  return loopOrder(shape, [strides]).reverse();
}
