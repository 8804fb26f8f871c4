// Layout of a tensor in a drawing: rows and columns, and the slice of an element.

import type { Slices } from "../worker/evaluate.js";

export type Layout = { rows: number; columns: number };

/** The last axis is columns, the others are rows; a long list is wrapped. */
export function layoutOf(shape: readonly number[]): Layout {
  const size = shape.reduce((product, length) => product * length, 1);
  if (shape.length > 1) {
    const columns = shape.at(-1) as number;
    return { rows: size / columns, columns };
  }
  const columns = size <= 16 ? size : 2 ** Math.ceil(Math.log2(Math.sqrt(size)));
  return { rows: Math.ceil(size / columns), columns };
}

export function indexOf(shape: readonly number[], element: number) {
  const index = [];
  let rest = element;
  for (const length of [...shape].reverse()) {
    index.unshift(rest % length);
    rest = Math.floor(rest / length);
  }
  return `[${index.join(", ")}]`;
}

export function sliceOf({ count, inner, row }: Slices, element: number) {
  if (row === 0) return Math.floor(element / inner) % Math.max(1, count);
  return Math.floor(element / row) * Math.ceil(row / inner) + Math.floor((element % row) / inner);
}
