// Tables of text that fit a terminal: long names are shortened, and columns that do not fit go into further tables below.

import { distinct, printable, type Styles, shorten } from "./terminal.js";

/** A column. */
export interface Column<Row> {
  /** Title; its lines are separated by \n. */
  readonly title: string;
  /** Name in CSV and HTML; default: the title. */
  readonly key?: string;
  /** The value, for CSV and sorting. */
  value(row: Row): string | number | undefined;
  /** The text in a table; default: the value. */
  show?(row: Row): string;
  /** Whether the column is text, at the left; numbers are at the right. */
  readonly isText?: boolean;
}

const MIN_NAME = 16;
const GAP = 2;

/** A cell's text. */
export function cellText<Row>(column: Column<Row>, row: Row): string {
  return printable(column.show?.(row) ?? String(column.value(row) ?? ""));
}

/**
 * A table whose first column names the rows.
 * @param width  columns of the terminal; undefined for any width
 */
export function tableText<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number | undefined,
  styles: Styles,
): string {
  const cells = columns.map((column) => rows.map((row) => cellText(column, row)));
  const titles = columns.map(({ title }) => title.split("\n").map(printable));
  const widths = columns.map((_, i) =>
    [...titles[i], ...cells[i]].reduce((most, text) => Math.max(most, text.length), 0),
  );
  // Names that have to be shortened lose their common beginning and end first.
  if (width !== undefined && widths.reduce((sum, own) => sum + own + GAP, -GAP) > width) {
    cells[0] = distinct(cells[0]);
    widths[0] = [...titles[0], ...cells[0]].reduce((most, text) => Math.max(most, text.length), 0);
  }
  const bands = width === undefined ? [columns.map((_, i) => i)] : fit(widths, width);
  return bands
    .map((band) => {
      const height = Math.max(...band.map((i) => titles[i].length));
      const lines: string[] = [];
      for (let line = 0; line < height; line++) {
        const texts = titles.map((title) => title[line - height + title.length] ?? "");
        lines.push(styles.bold(lineText(columns, band, widths, texts)));
      }
      for (let row = 0; row < rows.length; row++) {
        const texts = cells.map((column) => column[row]);
        lines.push(lineText(columns, band, widths, texts));
      }
      return `${lines.join("\n")}\n`;
    })
    .join("\n");
}

/** Shortens the first column where needed, and deals the others to as many tables as it takes. */
function fit(widths: number[], width: number): number[][] {
  const total = (indices: readonly number[]): number =>
    indices.reduce((sum, i) => sum + widths[i] + GAP, -GAP);
  const all = widths.map((_, i) => i);
  const excess = total(all) - width;
  if (excess > 0) {
    const widest = Math.max(0, ...widths.slice(1));
    // With several tables below each other, names may take two fifths of the width; one column must fit beside them.
    const shortest = Math.max(widths[0] - excess, Math.floor((2 * width) / 5));
    widths[0] = Math.min(widths[0], Math.max(MIN_NAME, Math.min(shortest, width - GAP - widest)));
  }
  const bands: number[][] = [[0]];
  for (let i = 1; i < widths.length; i++) {
    const last = bands[bands.length - 1];
    if (last.length > 1 && total([...last, i]) > width) bands.push([0, i]);
    else last.push(i);
  }
  return bands;
}

function lineText<Row>(
  columns: readonly Column<Row>[],
  band: readonly number[],
  widths: readonly number[],
  texts: readonly string[],
): string {
  return band
    .map((i) => {
      const text = shorten(texts[i], widths[i]);
      return columns[i].isText ? text.padEnd(widths[i]) : text.padStart(widths[i]);
    })
    .join(" ".repeat(GAP))
    .trimEnd();
}
