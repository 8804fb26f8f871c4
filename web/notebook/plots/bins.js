// How a large heat map fits the screen: which values share a mark, and how large a mark is.

const DRAWN = 512; // rows or columns of marks at most, all slices together
const WIDTH = 400; // pixels
const HEIGHT = 400;
const LARGEST = 24; // pixels of a mark
const NARROWEST = 160; // pixels of a map with few rows or columns, as far as LARGEST allows
const GAPS = 32; // slices up to which there are gaps between them

/**
 * @typedef {object} Bins
 * @property {number} groups   slices, or several slices together where there are many
 * @property {number} values   rows of values in a group; the last group may have fewer
 * @property {number} down     rows of values that share a mark
 * @property {number} across   columns of values that share a mark
 * @property {number} rows     rows of marks in a group
 * @property {number} columns  columns of marks
 * @property {number} width    pixels of a mark
 * @property {number} height
 * @property {number} gap      pixels between groups
 */

/**
 * @param {{ slices: number, rows: number, columns: number }} grid  of values
 * @returns {Bins}
 */
export function binsOf({ slices, rows, columns }) {
  const together = Math.ceil(slices / DRAWN);
  const groups = Math.ceil(slices / together);
  const values = together * rows;
  const down = Math.ceil(values / Math.floor(DRAWN / groups));
  const across = Math.ceil(columns / DRAWN);
  const marks = { rows: Math.ceil(values / down), columns: Math.ceil(columns / across) };
  const tall = groups * marks.rows;
  const size = Math.max(
    1,
    Math.min(LARGEST, Math.floor(WIDTH / marks.columns), Math.floor(HEIGHT / tall)),
  );
  const stretched = (/** @type {number} */ count) =>
    Math.max(size, Math.min(LARGEST, Math.ceil(NARROWEST / count)));
  return {
    ...marks,
    groups,
    values,
    down,
    across,
    width: stretched(marks.columns),
    height: stretched(tall),
    gap: groups > 1 && groups <= GAPS ? Math.max(2, size) : 0,
  };
}
