// How a large heat map fits the screen: which values share a mark, and how large a mark is.

const DRAWN = 512; // rows or columns of marks at most, all slices together
const WIDTH = 400; // pixels
const HEIGHT = 400;
const LARGEST = 24; // pixels of a mark
const NARROWEST = 160; // pixels of a map with few rows or columns, as far as LARGEST allows
const GAPS = 32; // slices up to which there are gaps between them

interface Bins {
  /** Slices, or several slices together where there are many. */
  groups: number;
  /** Rows of values in a group; the last group may have fewer. */
  values: number;
  /** Rows of values that share a mark. */
  down: number;
  /** Columns of values that share a mark. */
  across: number;
  /** Rows of marks in a group. */
  rows: number;
  /** Columns of marks. */
  columns: number;
  /** Pixels of a mark. */
  width: number;
  height: number;
  /** Pixels between groups. */
  gap: number;
}

/** @param grid  of values */
export function binsOf({
  slices,
  rows,
  columns,
}: {
  slices: number;
  rows: number;
  columns: number;
}): Bins {
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
  const stretched = (count: number) =>
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
