// Heat maps of tensors. Values have one diverging scale: negative ones orange, positive ones blue, the darker the larger.
// A code has the colour of the value that it stands for. All values shown were computed by zeropoint.

import { interpolateBlues, interpolateOranges, interpolateRdPu } from "d3-scale-chromatic";
import { context2d, find } from "../../shell/dom.js";
import { formatNumber } from "../../shell/drawing/numbers.js";
import { inTheme } from "../../shell/drawing/shade.js";
import { h, type Tree, toDom } from "../../shell/drawing/tree.js";
import { binsOf } from "./bins.js";
import { closedTable, connectTable } from "./paged-table.js";

type Panel = { name: string; title: string; shape: number[]; data: ArrayLike<number> };

export type Plot = { kind: "quantization-errors"; n_bits: number; panels: Panel[] };

type Grid = { slices: number; rows: number; columns: number };

type Color = (value: number) => string;

/** shades: the values that give the cells their colours. */
type Shown = Panel & { shades: ArrayLike<number> };

/** Size of letters and width of a cell, in units of the drawing. */
type Cell = { letters: number; width: number };

type Scale = { least: number; greatest: number; color: Color };

const ANNOTATED = 12; // rows or columns up to which every value is written into its cell
const MARKED = 4; // pixels of a mark from which on a negative value gets a stroke
const WIDTH = 64;
const HEIGHT = 44;
const LETTER = 0.64; // the width of a digit, as a part of its height
const [LEAST_LETTER, LARGEST_LETTER] = [9, 16]; // pixels: smaller ones are not read
const SHORT = 6; // letters of a number that four panels side by side have room for
const SHADES = 256;
const NOT_FINITE = "#8a8a8a";

/** The heat maps of a quantization: original, codes, dequantized, absolute error. */
export function quantizationErrorPlot({ panels, n_bits }: Plot): Element {
  const { shape } = panels[0];
  const longest = isLarge(shape) ? 0 : longestNumber(panels);
  const letters = Math.min(
    LARGEST_LETTER,
    Math.max(LEAST_LETTER, (WIDTH - 6) / (LETTER * longest)),
  );
  const width = Math.max(WIDTH, LETTER * letters * longest + 6);
  const scales = scalesOf(panels);
  const size = shape.length === 0 ? "single value" : shape.join(" × ");
  const small = !isLarge(shape) && gridOf(shape).columns <= 4 && longest <= SHORT;
  const figure = toDom(
    h(
      "figure",
      { class: "plot" },
      h(
        "figcaption",
        { class: "plot-title" },
        `Quantization of a ${size}${shape.length === 0 ? "" : " tensor"} to ${n_bits} bits`,
      ),
      legendOf(scales),
      h("div", { class: small ? "plot-panels small" : "plot-panels" }),
    ),
  );
  const dequantized = panels.find(({ name }) => name === "dequantized");
  for (const panel of panels) {
    const isCodes = panel.name === "quantized" && dequantized !== undefined;
    const { color } = panel.name === "error" ? scales.errors : scales.values;
    const shown = { ...panel, shades: isCodes ? dequantized.data : panel.data };
    figure.lastElementChild?.append(panelFigure(shown, color, { letters, width }));
  }
  return figure;
}

function panelFigure(panel: Shown, color: Color, cell: Cell) {
  const { title, shape, data } = panel;
  const { slices, rows, columns } = gridOf(shape);
  const { least, greatest } = rangeOf(data);
  const range =
    least > greatest
      ? "no finite values"
      : `from ${formatNumber(least)} to ${formatNumber(greatest)}`;
  const count = (n: number, word: string) => `${n} ${word}${n === 1 ? "" : "s"}`;
  const size = [slices > 1 && count(slices, "slice"), count(rows, "row"), count(columns, "column")];
  const label = `${title}: ${size.filter(Boolean).join(", ")}, ${range}. The table below has the values.`;
  const isBig = isLarge(shape);
  const notes = isBig ? notesOn(shape, least < 0) : "";
  const figure = toDom(
    h(
      "figure",
      { class: "panel" },
      h("figcaption", {}, title, " ", h("span", { class: "panel-range" }, range)),
      h("div", { class: "scroll-x" }, !isBig && annotatedMap(panel, color, cell, label)),
      notes && h("p", { class: "panel-note" }, notes),
      closedTable(title),
    ),
  );
  if (isBig) figure.querySelector(".scroll-x")?.append(canvasMap(panel, color, label));
  // Scrolls where it would be too small to read.
  const map = figure.querySelector<SVGElement>("svg.heat-map");
  if (map) {
    const width = Number(map.getAttribute("width"));
    map.style.minWidth = `${Math.ceil((width * LEAST_LETTER) / cell.letters)}px`;
  }
  connectTable(find(figure, "details"), {
    caption: title,
    rows: slices * rows,
    columns,
    rowName: (row) => indexOf(shape, row),
    columnName: (column) => column,
    cell: (row, column) => formatNumber(data[row * columns + column]),
  });
  return figure;
}

/** The index of a row of the table: its index on each axis but the last. */
function indexOf(shape: number[], row: number) {
  const index: number[] = [];
  let rest = row;
  for (const length of shape.slice(0, -1).reverse()) {
    index.unshift(rest % length);
    rest = Math.floor(rest / length);
  }
  return index.length > 0 ? index.join(", ") : 0;
}

function notesOn(shape: number[], hasNegative: boolean) {
  const grid = gridOf(shape);
  const { down, across, width, height } = binsOf(grid);
  const notes = [];
  if (down * across > 1) {
    notes.push(`Each mark is the value of largest size among ${down} × ${across}.`);
  }
  if (hasNegative && Math.min(width, height) >= MARKED) {
    notes.push("A stroke marks a negative value.");
  }
  if (grid.slices > 1) notes.push("Slices of the first axes stand below each other.");
  return notes.join(" ");
}

function annotatedMap(
  { shape, data, shades }: Shown,
  color: Color,
  { letters, width: cellWidth }: Cell,
  label: string,
) {
  const { slices, rows, columns } = gridOf(shape);
  const cells: Tree[] = [];
  for (let row = 0; row < slices * rows; row++) {
    const y = row * HEIGHT + Math.floor(row / rows) * (HEIGHT / 4);
    for (let column = 0; column < columns; column++) {
      const x = column * cellWidth;
      const value = data[row * columns + column];
      const shade = shades[row * columns + column];
      const fill = Number.isFinite(shade) ? color(shade) : NOT_FINITE;
      cells.push(
        h("rect", { x, y, width: cellWidth, height: HEIGHT, fill }),
        h(
          "text",
          {
            x: x + cellWidth / 2,
            y: y + HEIGHT / 2,
            fill: readableOn(fill),
            "font-size": letters,
            "text-anchor": "middle",
            "dominant-baseline": "central",
          },
          formatNumber(value),
        ),
      );
    }
  }
  const width = columns * cellWidth;
  const height = slices * rows * HEIGHT + (slices - 1) * (HEIGHT / 4);
  return h(
    "svg",
    {
      class: columns <= 5 ? "heat-map fits" : "heat-map",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": label,
    },
    cells,
  );
}

function canvasMap({ shape, data, shades }: Shown, color: Color, label: string) {
  const { slices, rows, columns } = gridOf(shape);
  const bins = binsOf({ slices, rows, columns });
  const { width, height, gap } = bins;
  const canvas = document.createElement("canvas");
  canvas.className = "heat-map";
  canvas.width = bins.columns * width;
  canvas.height = bins.groups * bins.rows * height + (bins.groups - 1) * gap;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
  const context = context2d(canvas);
  const isMarked = Math.min(width, height) >= MARKED;
  for (let group = 0; group < bins.groups; group++) {
    const first = group * bins.values;
    const last = Math.min(first + bins.values, slices * rows);
    for (let i = 0; i < bins.rows; i++) {
      const top = first + i * bins.down;
      if (top >= last) break;
      const bottom = Math.min(top + bins.down, last);
      const y = (group * bins.rows + i) * height + group * gap;
      for (let j = 0; j < bins.columns; j++) {
        const left = j * bins.across;
        const right = Math.min(left + bins.across, columns);
        const value = extremeOf(data, columns, top, bottom, left, right);
        const shade =
          shades === data ? value : extremeOf(shades, columns, top, bottom, left, right);
        const fill = Number.isFinite(shade) ? color(shade) : NOT_FINITE;
        context.fillStyle = fill;
        context.fillRect(j * width, y, width, height);
        if (value < 0 && isMarked) {
          context.strokeStyle = readableOn(fill);
          context.beginPath();
          context.moveTo(j * width + 1, y + height - 1);
          context.lineTo((j + 1) * width - 1, y + 1);
          context.stroke();
        }
      }
    }
  }
  return canvas;
}

/**
 * The value of largest size in a rectangle of values; NaN counts as the largest.
 * @param bottom  not included
 * @param right  not included
 */
function extremeOf(
  data: ArrayLike<number>,
  columns: number,
  top: number,
  bottom: number,
  left: number,
  right: number,
) {
  let extreme = data[top * columns + left];
  for (let i = top; i < bottom; i++) {
    for (let j = left; j < right; j++) {
      const value = data[i * columns + j];
      if (!(Math.abs(value) <= Math.abs(extreme))) extreme = value;
    }
  }
  return extreme;
}

/** Letters of the longest number in the panels, which all have letters of one size. */
function longestNumber(panels: Panel[]) {
  const texts = panels.flatMap(({ data }) => Array.from(data, formatNumber));
  return Math.max(1, ...texts.map((text) => text.length));
}

/** Whether there are too many values to write each into its cell. */
function isLarge(shape: number[]) {
  const { slices, rows, columns } = gridOf(shape);
  return slices * rows > 2 * ANNOTATED || rows > ANNOTATED || columns > ANNOTATED;
}

/** A tensor as slices of rows and columns: the last two axes are rows and columns. */
function gridOf(shape: number[]): Grid {
  const columns = shape.at(-1) ?? 1;
  const rows = shape.at(-2) ?? 1;
  const slices = shape.slice(0, -2).reduce((product, length) => product * length, 1);
  return { slices, rows, columns };
}

/** The scales of values, which are symmetric about 0, and of errors. */
function scalesOf(panels: Panel[]) {
  const reachOf = (...names: string[]) => {
    const ranges = panels
      .filter(({ name }) => names.includes(name))
      .map(({ data }) => rangeOf(data));
    const sizes = ranges.flatMap(({ least, greatest }) => [Math.abs(least), Math.abs(greatest)]);
    return Math.max(...sizes.filter(Number.isFinite), 0);
  };
  const shared = reachOf("original", "dequantized");
  const reach = shared > 0 ? shared : reachOf("quantized");
  const most = reachOf("error");
  const [negative, positive, error] = [interpolateOranges, interpolateBlues, interpolateRdPu].map(
    (interpolate) => inTheme(interpolate),
  );
  const below = shades((value) => (-0.9 * value) / (reach || 1), negative);
  const above = shades((value) => (0.9 * value) / (reach || 1), positive);
  return {
    values: {
      least: -reach,
      greatest: reach,
      color: (value: number) => (value < 0 ? below : above)(value),
    },
    errors: {
      least: 0,
      greatest: most,
      color: shades((value) => (0.9 * value) / (most || 1), error),
    },
  };
}

const LEGEND = { width: 120, height: 10, steps: 40 };

/** What the colours mean. */
function legendOf({ values, errors }: { values: Scale; errors: Scale }) {
  const bar = ({ least, greatest, color }: Scale) => {
    const step = LEGEND.width / LEGEND.steps;
    return h(
      "svg",
      {
        class: "scale-bar",
        viewBox: `0 0 ${LEGEND.width} ${LEGEND.height}`,
        width: LEGEND.width,
        height: LEGEND.height,
        "aria-hidden": "true",
      },
      Array.from({ length: LEGEND.steps }, (_, i) => {
        const value = least + ((greatest - least) * (i + 0.5)) / LEGEND.steps;
        // Wider than a step: no seams.
        return h("rect", {
          x: i * step,
          y: 0,
          width: step + 0.5,
          height: LEGEND.height,
          fill: color(value),
        });
      }),
    );
  };
  const item = (title: string, scale: Scale) =>
    h(
      "li",
      {},
      h("span", { class: "scale-title" }, title),
      h("span", { class: "scale-end" }, formatNumber(scale.least)),
      bar(scale),
      h("span", { class: "scale-end" }, formatNumber(scale.greatest)),
    );
  return h(
    "ul",
    { class: "plot-scales" },
    item("Values, and codes by the value that they stand for:", values),
    item("Errors:", errors),
  );
}

/**
 * Computes a colour once for all values that share it.
 * @param shareOf  from 0 to 1
 */
function shades(shareOf: (value: number) => number, color: (share: number) => string): Color {
  const known: string[] = [];
  return (value) => {
    const shade = Math.round(shareOf(value) * (SHADES - 1));
    known[shade] ??= color(shade / (SHADES - 1));
    return known[shade];
  };
}

/** The least and greatest finite value; Infinity and -Infinity where there is none. */
function rangeOf(data: ArrayLike<number>) {
  let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < data.length; i++) {
    if (!Number.isFinite(data[i])) continue;
    if (data[i] < least) least = data[i];
    if (data[i] > greatest) greatest = data[i];
  }
  return { least, greatest };
}

/** Black or white, whichever stands out more: at least 4.58 to 1 on any colour. */
function readableOn(color: string) {
  const luminance = relativeLuminance(color);
  return (luminance + 0.05) ** 2 > 1.05 * 0.05 ? "#000" : "#fff";
}

/** @param color  "rgb(1, 2, 3)" or "#010203" */
function relativeLuminance(color: string) {
  const channels = color.startsWith("#")
    ? [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16))
    : (color.match(/[\d.]+/g) ?? []).map(Number);
  const [red, green, blue] = channels.map((channel) => {
    const part = channel / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
