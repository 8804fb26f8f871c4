// Heat maps of tensors. Colour shows the magnitude of a value, a stroke shows that it is negative. All values
// shown were computed by zeropoint.

import { interpolateBlues, interpolateOranges, interpolateRdPu } from "d3-scale-chromatic";
import { formatNumber } from "../../shell/numbers.js";
import { inTheme } from "../../shell/shade.js";
import { h, toDom } from "../../shell/tree.js";
import { closedTable, connectTable } from "./paged-table.js";

/**
 * @typedef {import("../../shell/tree.js").Tree} Tree
 * @typedef {{ name: string, title: string, shape: number[], data: ArrayLike<number> }} Panel
 * @typedef {{ kind: "quantization-errors", n_bits: number, panels: Panel[] }} Plot
 * @typedef {{ slices: number, rows: number, columns: number }} Grid
 * @typedef {(value: number) => string} Color
 */

const ANNOTATED = 12; // rows or columns up to which every value is written into its cell
const DRAWN = 512; // rows or columns beyond which several share a mark
const MARKED = 4; // pixels of a cell from which on a negative value gets a stroke
const WIDTH = 64;
const HEIGHT = 44;
const NOT_FINITE = "#8a8a8a";

/**
 * The heat maps of a quantization: original, codes, dequantized, absolute error.
 * @param {Plot} plot
 * @returns {Element}
 */
export function quantizationErrorPlot({ panels, n_bits }) {
  const { shape } = panels[0];
  const letters = letterSize(panels);
  const size = shape.length === 0 ? "single value" : shape.join(" × ");
  const small = !isLarge(shape) && gridOf(shape).columns <= 4;
  const figure = toDom(
    h(
      "figure",
      { class: "plot" },
      h(
        "figcaption",
        { class: "plot-title" },
        `Quantization of a ${size}${shape.length === 0 ? "" : " tensor"} to ${n_bits} bits`,
      ),
      h("div", { class: small ? "plot-panels small" : "plot-panels" }),
    ),
  );
  for (const panel of panels) {
    figure.lastElementChild?.append(panelFigure(panel, colorOf(panel, panels), letters));
  }
  return figure;
}

/**
 * @param {Panel} panel
 * @param {Color} color
 * @param {number} letters  their size, in units of the drawing
 */
function panelFigure(panel, color, letters) {
  const { title, shape, data } = panel;
  const { slices, rows, columns } = gridOf(shape);
  const { least, greatest } = rangeOf(data);
  const range =
    least > greatest
      ? "no finite values"
      : `from ${formatNumber(least)} to ${formatNumber(greatest)}`;
  const count = (/** @type {number} */ n, /** @type {string} */ word) =>
    `${n} ${word}${n === 1 ? "" : "s"}`;
  const size = [slices > 1 && count(slices, "slice"), count(rows, "row"), count(columns, "column")];
  const label = `${title}: ${size.filter(Boolean).join(", ")}, ${range}. The table below has the values.`;
  const isBig = isLarge(shape);
  const notes = isBig ? notesOn(shape, least < 0) : "";
  const figure = toDom(
    h(
      "figure",
      { class: "panel" },
      h("figcaption", {}, title, " ", h("span", { class: "panel-range" }, range)),
      h("div", { class: "scroll-x" }, !isBig && annotatedMap(panel, color, letters, label)),
      notes && h("p", { class: "panel-note" }, notes),
      closedTable(title),
    ),
  );
  if (isBig) figure.querySelector(".scroll-x")?.append(canvasMap(panel, color, label));
  connectTable(/** @type {Element} */ (figure.querySelector("details")), {
    caption: title,
    rows: slices * rows,
    columns,
    rowName: (row) => indexOf(shape, row),
    columnName: (column) => column,
    cell: (row, column) => formatNumber(data[row * columns + column]),
  });
  return figure;
}

/**
 * The index of a row of the table: its index on each axis but the last.
 * @param {number[]} shape
 * @param {number} row
 */
function indexOf(shape, row) {
  /** @type {number[]} */
  const index = [];
  let rest = row;
  for (const length of shape.slice(0, -1).reverse()) {
    index.unshift(rest % length);
    rest = Math.floor(rest / length);
  }
  return index.length > 0 ? index.join(", ") : 0;
}

/**
 * @param {number[]} shape
 * @param {boolean} hasNegative
 */
function notesOn(shape, hasNegative) {
  const { slices, rows, columns } = gridOf(shape);
  const [down, across] = [binOf(rows), binOf(columns)];
  const notes = [];
  if (down * across > 1) {
    notes.push(`Each mark is the value of largest size among ${down} × ${across}.`);
  }
  if (hasNegative && cellSize(columns) >= MARKED) notes.push("A stroke marks a negative value.");
  if (slices > 1) notes.push("Slices of the first axes stand below each other.");
  return notes.join(" ");
}

/** @param {number} count */
const binOf = (count) => Math.ceil(count / DRAWN);

/**
 * Pixels of a cell of a large map.
 * @param {number} columns
 */
const cellSize = (columns) => Math.max(1, Math.min(8, Math.floor(800 / columns)));

/**
 * @param {Panel} panel
 * @param {Color} color
 * @param {number} letters
 * @param {string} label
 */
function annotatedMap({ shape, data }, color, letters, label) {
  const { slices, rows, columns } = gridOf(shape);
  /** @type {Tree[]} */
  const cells = [];
  for (let row = 0; row < slices * rows; row++) {
    const y = row * HEIGHT + Math.floor(row / rows) * (HEIGHT / 4);
    for (let column = 0; column < columns; column++) {
      const x = column * WIDTH;
      const value = data[row * columns + column];
      const fill = Number.isFinite(value) ? color(value) : NOT_FINITE;
      cells.push(
        h("rect", { x, y, width: WIDTH, height: HEIGHT, fill }),
        h(
          "text",
          {
            x: x + WIDTH / 2,
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
  const width = columns * WIDTH;
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

/**
 * @param {Panel} panel
 * @param {Color} color
 * @param {string} label
 */
function canvasMap({ shape, data }, color, label) {
  const { slices, rows, columns } = gridOf(shape);
  const [down, across] = [binOf(rows), binOf(columns)];
  const [height, width] = [Math.ceil(rows / down), Math.ceil(columns / across)];
  const size = cellSize(width);
  const gap = slices > 1 ? Math.max(2, size) : 0;
  const canvas = document.createElement("canvas");
  canvas.className = "heat-map";
  canvas.width = width * size;
  canvas.height = slices * height * size + (slices - 1) * gap;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  for (let slice = 0; slice < slices; slice++) {
    for (let i = 0; i < height; i++) {
      const y = (slice * height + i) * size + slice * gap;
      for (let j = 0; j < width; j++) {
        const value = extremeOf(data, slice * rows, rows, columns, i * down, j * across);
        const fill = Number.isFinite(value) ? color(value) : NOT_FINITE;
        context.fillStyle = fill;
        context.fillRect(j * size, y, size, size);
        if (value < 0 && size >= MARKED) {
          context.strokeStyle = readableOn(fill);
          context.beginPath();
          context.moveTo(j * size + 1, y + size - 1);
          context.lineTo((j + 1) * size - 1, y + 1);
          context.stroke();
        }
      }
    }
  }
  return canvas;
}

/**
 * The value of largest size in a bin.
 * @param {ArrayLike<number>} data
 * @param {number} base  the first row of the slice
 * @param {number} rows
 * @param {number} columns
 * @param {number} top  in the slice
 * @param {number} left
 */
function extremeOf(data, base, rows, columns, top, left) {
  const [down, across] = [binOf(rows), binOf(columns)];
  let extreme = data[(base + top) * columns + left];
  for (let i = top; i < Math.min(top + down, rows); i++) {
    for (let j = left; j < Math.min(left + across, columns); j++) {
      const value = data[(base + i) * columns + j];
      if (!(Math.abs(value) <= Math.abs(extreme))) extreme = value;
    }
  }
  return extreme;
}

/**
 * One size for all panels, in which the longest value does not touch its neighbours.
 * @param {Panel[]} panels
 */
function letterSize(panels) {
  if (panels.some(({ shape }) => isLarge(shape))) return 0;
  const texts = panels.flatMap(({ data }) => Array.from(data, formatNumber));
  const longest = Math.max(0, ...texts.map((text) => text.length));
  return longest > 7 ? 11 : longest > 5 ? 14 : 16;
}

/**
 * Whether there are too many values to write each into its cell.
 * @param {number[]} shape
 */
function isLarge(shape) {
  const { slices, rows, columns } = gridOf(shape);
  return slices * rows > 2 * ANNOTATED || rows > ANNOTATED || columns > ANNOTATED;
}

/**
 * A tensor as slices of rows and columns: the last two axes are rows and columns.
 * @param {number[]} shape
 * @returns {Grid}
 */
function gridOf(shape) {
  const columns = shape.at(-1) ?? 1;
  const rows = shape.at(-2) ?? 1;
  const slices = shape.slice(0, -2).reduce((product, length) => product * length, 1);
  return { slices, rows, columns };
}

/**
 * The colours of a panel, from its own data: real numbers blue by their size, codes orange from the least to
 * the greatest, errors magenta. Original and dequantized share one scale: equal colours are equal sizes.
 * @param {Panel} panel
 * @param {Panel[]} panels
 * @returns {Color}
 */
function colorOf({ name, data }, panels) {
  if (name === "quantized") {
    const { least, greatest } = rangeOf(data);
    const width = greatest - least || 1;
    const color = inTheme(interpolateOranges);
    return (value) => color(0.05 + (0.8 * (value - least)) / width);
  }
  const shared = name === "error" ? ["error"] : ["original", "dequantized"];
  const ranges = panels
    .filter((each) => shared.includes(each.name))
    .map((each) => rangeOf(each.data));
  const sizes = ranges.flatMap(({ least, greatest }) => [Math.abs(least), Math.abs(greatest)]);
  const reach = Math.max(...sizes.filter(Number.isFinite), 0) || 1;
  const color = inTheme(name === "error" ? interpolateRdPu : interpolateBlues);
  return (value) => color((0.9 * Math.abs(value)) / reach);
}

/**
 * The least and greatest finite value; Infinity and -Infinity where there is none.
 * @param {ArrayLike<number>} data
 */
function rangeOf(data) {
  let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < data.length; i++) {
    if (!Number.isFinite(data[i])) continue;
    if (data[i] < least) least = data[i];
    if (data[i] > greatest) greatest = data[i];
  }
  return { least, greatest };
}

/**
 * Black or white, whichever stands out more: at least 4.58 to 1 on any colour.
 * @param {string} color
 */
function readableOn(color) {
  const luminance = relativeLuminance(color);
  return (luminance + 0.05) ** 2 > 1.05 * 0.05 ? "#000" : "#fff";
}

/** @param {string} color  "rgb(1, 2, 3)" or "#010203" */
function relativeLuminance(color) {
  const channels = color.startsWith("#")
    ? [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16))
    : (color.match(/[\d.]+/g) ?? []).map(Number);
  const [red, green, blue] = channels.map((channel) => {
    const part = channel / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
