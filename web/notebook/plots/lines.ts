// Draws how one number depends on another: a line for each series.

import { axis, levels, linear, ticks } from "../../figures/chart.js";
import { drawing, line, round, text } from "../../figures/parts.js";
import { formatNumber } from "../../shell/drawing/numbers.js";
import { h, type Nested, type Tree } from "../../shell/drawing/tree.js";
import type { LinesPlot, Series } from "./lines-plot.js";
import { closedTable, type TableData } from "./paged-table.js";

const WIDEST = 840;
const NARROWEST = 240;
const LABELLED = 420; // from this width on, names stand at the ends of the lines
const HEIGHT = 336;
const LEFT = 52;
const RIGHT = 12;
const TOP = 26;
const BOTTOM = 46;
const REACH = 5; // from the middle of a mark to its side
const MARKED = 40; // points of a series up to which each has a mark
const LETTER = 6.6; // the width of a letter of a label
const LABEL = 15; // the height of a label
const SAMPLE = 40; // the width of a line and its mark beside a name

/** Series differ in dashes and marks, not in colour: orange means quantized. */
const DASHES = ["none", "7 4", "2 4", "12 4", "7 3 2 3", "14 3 3 3 3 3"];
const MARKS = ["circle", "square", "triangle", "diamond"];

/** @param room  how wide it may be: letters keep their size on small screens */
export function linesFigure({ title, x, y, series, level }: LinesPlot, room: number): Tree {
  const width = Math.max(NARROWEST, Math.min(room, WIDEST));
  const longest = Math.max(...series.map(({ name }) => name.length));
  const isLabelled = width >= LABELLED && series.length > 1 && longest * LETTER < width / 3;
  const right = width - RIGHT - (isLabelled ? longest * LETTER + 2 * REACH + SAMPLE : 0);
  const bottom = HEIGHT - BOTTOM;
  const across = linear(range(series.map((one) => one.x)), [
    LEFT + 2 * REACH,
    right - 2 * REACH,
  ]).nice();
  const extra = level ? [level.y - level.within, level.y + level.within] : [];
  const down = linear(range([[0], ...series.map((one) => one.y), extra]), [bottom, TOP]).nice();

  return h(
    "figure",
    { class: "plot" },
    h("figcaption", { class: "plot-title" }, title),
    !isLabelled || level ? legend(isLabelled ? [] : series, level) : "",
    h(
      "div",
      { class: "scroll-x drawing-box" },
      drawing(
        width,
        HEIGHT,
        `${title}: ${y} against ${x}. The table below has the values.`,
        levels(down, down.ticks(5), [LEFT, right]),
        ticks(across, across.ticks(Math.min(7, Math.round(width / 85))), bottom + 18),
        axis([LEFT, right], bottom),
        text(right, HEIGHT - 6, x, "tick", "end"),
        text(0, 12, y, "tick"),
        level &&
          level.within > 0 &&
          h("rect", {
            class: "level-band",
            x: LEFT,
            width: right - LEFT,
            y: round(down(level.y + level.within)),
            height: round(down(level.y - level.within) - down(level.y + level.within)),
          }),
        level && line(LEFT, down(level.y), right, down(level.y), "level"),
        series.map((one, i) => seriesTree(one, i, across, down)),
        isLabelled && labels(series, right, down),
      ),
    ),
    closedTable(title),
  );
}

/**
 * A line without its missing values, and a mark for each value where there are few. Two elements at most for
 * the line: one path for all of its pieces, and one for the values between gaps, which no piece shows.
 */
function seriesTree(
  series: Series,
  i: number,
  across: (value: number) => number,
  down: (value: number) => number,
) {
  const { x, y } = series;
  const pieces = decimated(series, across);
  const place = (at: number) => `${round(across(x[at]))} ${round(down(y[at]))}`;
  const isMarked = x.length <= MARKED;
  const lines = pieces.filter((piece) => piece.length > 1);
  const dots = new Set(pieces.filter((piece) => piece.length === 1).map(([at]) => place(at)));
  return [
    lines.length > 0 &&
      h("path", {
        class: "series",
        "stroke-dasharray": DASHES[i % DASHES.length],
        d: lines.map((piece) => `M${piece.map(place).join("L")}`).join(""),
      }),
    dots.size > 0 &&
      !isMarked &&
      h("path", {
        class: "alone",
        d: Array.from(dots, (dot) => `M${dot}m-1.5-1.5h3v3h-3z`).join(""),
      }),
    isMarked &&
      pieces.flat().map((at) => mark(MARKS[i % MARKS.length], across(x[at]), down(y[at]))),
  ];
}

/**
 * The points to draw, in pieces between missing values: for each pixel across, the first, the least, the
 * greatest and the last value.
 */
export function decimated({ x, y }: Series, across: (value: number) => number): number[][] {
  const pieces: number[][] = [];
  let piece: number[] = [];
  let column: number[] = [];
  let pixel = Number.NaN;
  const endColumn = () => {
    if (column.length > 4) {
      const least = column.reduce((a, b) => (y[b] < y[a] ? b : a));
      const greatest = column.reduce((a, b) => (y[b] > y[a] ? b : a));
      const kept = new Set([column[0], least, greatest, column.at(-1) as number]);
      column = [...kept].sort((a, b) => a - b);
    }
    piece.push(...column);
    column = [];
  };
  for (let at = 0; at < x.length; at++) {
    if (Number.isNaN(y[at])) {
      endColumn();
      if (piece.length > 0) pieces.push(piece);
      piece = [];
      continue;
    }
    const here = Math.floor(across(x[at]));
    if (here !== pixel) endColumn();
    pixel = here;
    column.push(at);
  }
  endColumn();
  if (piece.length > 0) pieces.push(piece);
  return pieces;
}

/**
 * The names of the series at the ends of their lines, moved apart where they would meet; each with its dashes and
 * mark, because lines that meet leave the order open.
 */
function labels(series: Series[], right: number, down: (value: number) => number) {
  const ends = series
    .map((one, i) => ({ name: one.name, at: down(rightmost(one)), look: sample(one, i) }))
    .sort((a, b) => a.at - b.at);
  for (let i = 1; i < ends.length; i++) {
    ends[i].at = Math.max(ends[i].at, ends[i - 1].at + LABEL);
  }
  const excess = Math.max(0, (ends.at(-1)?.at ?? 0) - (HEIGHT - BOTTOM));
  return ends.map(({ name, at, look }) => [
    h("g", { transform: `translate(${right + 8} ${round(at - excess - 7)})` }, look),
    text(right + SAMPLE + 14, at - excess + 4, name, "series-label"),
  ]);
}

/** The value of the point farthest to the right. */
function rightmost({ x, y }: Series) {
  let [at, value] = [Number.NEGATIVE_INFINITY, 0];
  for (let i = 0; i < x.length; i++) {
    if (x[i] >= at && !Number.isNaN(y[i])) [at, value] = [x[i], y[i]];
  }
  return value;
}

function legend(series: Series[], level: LinesPlot["level"]) {
  const box = (content: Nested) =>
    h(
      "svg",
      {
        class: "drawing",
        viewBox: `0 0 ${SAMPLE} 14`,
        width: SAMPLE,
        height: 14,
        "aria-hidden": "true",
      },
      content,
    );
  return h(
    "ul",
    { class: "plot-legend" },
    series.map((one, i) => h("li", {}, box(sample(one, i)), one.name)),
    level && h("li", {}, box(line(1, 7, SAMPLE - 1, 7, "level")), levelName(level)),
  );
}

/** A short line with the dashes and the mark of a series, 14 pixels high. */
function sample({ x }: Series, i: number) {
  return [
    h("polyline", {
      class: "series",
      points: `1,7 ${SAMPLE - 1},7`,
      "stroke-dasharray": DASHES[i % DASHES.length],
    }),
    x.length <= MARKED && mark(MARKS[i % MARKS.length], SAMPLE / 2, 7),
  ];
}

function levelName({ name, within }: NonNullable<LinesPlot["level"]>) {
  return within > 0 ? `${name} ± ${formatNumber(within)}` : name;
}

function mark(shape: string, x: number, y: number) {
  /** @param corners  from the middle, in units of REACH */
  const polygon = (...corners: [number, number][]) =>
    h("polygon", {
      class: "mark",
      points: corners.map(([a, b]) => `${round(x + a * REACH)},${round(y + b * REACH)}`).join(" "),
    });
  switch (shape) {
    case "square":
      return polygon([-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]);
    case "triangle":
      return polygon([0, -1.2], [1.15, 0.8], [-1.15, 0.8]);
    case "diamond":
      return polygon([0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]);
    default:
      return h("circle", { class: "mark", cx: round(x), cy: round(y), r: REACH });
  }
}

/** All points of all series, one a row. */
export function linesTable({ title, x, y, series, level }: LinesPlot): TableData {
  const points = series.reduce((sum, one) => sum + one.x.length, 0);
  /** @returns none for the level */
  const pointOf = (row: number): { one?: Series; i: number } => {
    let i = row;
    for (const one of series) {
      if (i < one.x.length) return { one, i };
      i -= one.x.length;
    }
    return { i };
  };
  return {
    caption: title,
    rows: points + (level ? 1 : 0),
    columns: 2,
    rowName: (row) => pointOf(row).one?.name ?? level?.name ?? "",
    columnName: (column) => [x, y][column],
    cell(row, column) {
      const { one, i } = pointOf(row);
      if (!one) return column === 0 ? "" : formatNumber(level?.y ?? Number.NaN);
      return formatNumber(one[column === 0 ? "x" : "y"][i]);
    },
  };
}

/** From the least to the greatest finite value; a single value gets room around it. */
function range(lists: ArrayLike<number>[]): [number, number] {
  let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const list of lists) {
    for (let i = 0; i < list.length; i++) {
      if (Number.isNaN(list[i])) continue;
      least = Math.min(least, list[i]);
      greatest = Math.max(greatest, list[i]);
    }
  }
  if (least > greatest) return [0, 1];
  return least === greatest ? [least - 1, greatest + 1] : [least, greatest];
}
