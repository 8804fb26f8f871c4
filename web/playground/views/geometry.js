// Layout of a tensor in a drawing: rows and columns, and the slice of an element.

/**
 * @typedef {import("../worker/evaluate.js").Slices} Slices
 * @typedef {{ rows: number, columns: number }} Layout
 */

/**
 * The last axis is columns, the others are rows; a long list is wrapped.
 * @param {readonly number[]} shape
 * @returns {Layout}
 */
export function layoutOf(shape) {
  const size = shape.reduce((product, length) => product * length, 1);
  if (shape.length > 1) {
    const columns = /** @type {number} */ (shape.at(-1));
    return { rows: size / columns, columns };
  }
  const columns = size <= 16 ? size : 2 ** Math.ceil(Math.log2(Math.sqrt(size)));
  return { rows: Math.ceil(size / columns), columns };
}

/**
 * @param {readonly number[]} shape
 * @param {number} element
 */
export function indexOf(shape, element) {
  const index = [];
  let rest = element;
  for (const length of [...shape].reverse()) {
    index.unshift(rest % length);
    rest = Math.floor(rest / length);
  }
  return `[${index.join(", ")}]`;
}

/**
 * @param {Slices} slices
 * @param {number} element
 */
export function sliceOf({ count, inner, row }, element) {
  if (row === 0) return Math.floor(element / inner) % Math.max(1, count);
  return Math.floor(element / row) * Math.ceil(row / inner) + Math.floor((element % row) / inner);
}
