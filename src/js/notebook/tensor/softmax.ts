// Shares of a whole: softmax.

import { pythonError } from "../python/errors.js";
import { checkAxis, elements, permute, rowMajorView, type View } from "./view.js";

/**
 * exp(t - max) over its sum, along a dimension: computed in double precision and rounded to the dtype once. PyTorch
 * computes in float32, with errors of a few ulps that depend on the machine.
 *
 * Source: `torch.softmax`.
 *
 * @returns the tensor's shape and dtype; NaN where a NaN or an infinity leaves no other value
 * @throws {RangeError} RuntimeError for integers and bools, IndexError
 */
export function softmax(where: string, view: View, dim: unknown): View {
  const { dtype, shape } = view;
  const axis = checkAxis(where, dim, shape.length);
  if (dtype.category !== "float") {
    throw pythonError(
      "RuntimeError",
      `${where}: takes a float tensor, got ${dtype}; convert with float() first`,
    );
  }
  const order = [...shape.keys()].filter((each) => each !== axis);
  if (shape.length > 0) order.push(axis);
  const moved = permute(view, order);
  const values = elements(moved) as Float32Array;
  const length = shape[axis] ?? 1;
  const out = dtype.allocate(values.length);
  for (let start = 0; start < values.length; start += length) {
    const row = values.subarray(start, start + length);
    const largest = row.reduce((a, b) => Math.max(a, b));
    const powers = Array.from(row, (value) => Math.exp(value - largest));
    const sum = powers.reduce((a, b) => a + b);
    for (let i = 0; i < length; i++) out[start + i] = powers[i] / sum;
  }
  const result = permute(
    rowMajorView(out, dtype, moved.shape),
    [...order.keys()].map((to) => order.indexOf(to)),
  );
  return rowMajorView(elements(result), dtype, shape);
}
