// A weight as rows: one row of inputs for each output.

import { sizeOf } from "../../tensor/shape.js";

/** How a tensor's values form rows. */
export interface RowLayout {
  /** Outputs. */
  readonly rows: number;
  /** Inputs of one output. */
  readonly rowLength: number;
  /** Consecutive inputs whose end groups and blocks do not cross; divides the row. */
  readonly runLength: number;
  /**
   * Number of outputs whose values are interleaved: 1 if a row is contiguous. Values are in the file as
   * [rows / inner, rowLength, inner].
   */
  readonly inner: number;
}

/** The axes of a weight's inputs, first and last, where the format says more than the shape. */
export type InputAxes = readonly [first: number, last: number];

/** The rows of a tensor. Without axes: the first axis numbers the outputs, and groups run along the last one. */
export function layoutOf(shape: readonly number[], axes?: InputAxes): RowLayout {
  if (axes !== undefined) {
    const [first, last] = axes;
    const inner = sizeOf(shape.slice(last + 1));
    const rowLength = sizeOf(shape.slice(first, last + 1));
    return { rows: sizeOf(shape.slice(0, first)) * inner, rowLength, runLength: rowLength, inner };
  }
  const rows = shape.length < 2 ? 1 : shape[0];
  const runLength = shape[shape.length - 1] ?? 1;
  return { rows, rowLength: sizeOf(shape) / Math.max(1, rows), runLength, inner: 1 };
}
