// Draws numbers, and computes none: every value shown was computed by zeropoint.

import { scaleDiverging, scaleSequential } from "d3-scale";
import { interpolateOranges, interpolateRdBu, interpolateRdPu } from "d3-scale-chromatic";
import { h } from "./tree.js";

/**
 * @typedef {import("./tree.js").Tree} Tree
 * @typedef {{ name: string, title: string, shape: number[], data: ArrayLike<number> }} Panel
 * @typedef {{ kind: "quantization-errors", n_bits: number, panels: Panel[] }} Plot
 * @typedef {{ index: number, isGap: boolean }} Line
 */

const ANNOTATED = 12; // rows or columns up to which every value is written into its cell
const DRAWN = 48; // beyond this, rows or columns in the middle are left out
const LISTED = 24; // the same for the table

/**
 * The four heat maps of a quantization: original, codes, dequantized, absolute error.
 * @param {Plot} plot
 * @returns {Tree}
 */
export function quantizationErrorPlot({ panels, n_bits }) {
  const shape = panels[0].shape;
  const letters = letterSize(panels);
  return h(
    "figure",
    { class: "plot" },
    h(
      "figcaption",
      { class: "plot-title" },
      `Quantization of a ${shape.length === 0 ? "single value" : shape.join(" × ")} tensor to ${n_bits} bits`,
    ),
    h(
      "div",
      { class: grid(shape).columns <= 4 ? "plot-panels small" : "plot-panels" },
      panels.map((panel) => panelFigure(panel, colorOf(panel, panels, n_bits), letters)),
    ),
  );
}

/**
 * @param {Panel} panel
 * @param {(value: number) => string} color
 * @param {number} letters  their size, in units of the drawing
 */
function panelFigure(panel, color, letters) {
  const { rows, columns } = grid(panel.shape);
  const finite = Array.from(panel.data).filter(Number.isFinite);
  const range =
    finite.length === 0
      ? "no finite values"
      : `from ${formatNumber(least(finite))} to ${formatNumber(greatest(finite))}`;
  const size = `${rows} ${rows === 1 ? "row" : "rows"}, ${columns} ${columns === 1 ? "column" : "columns"}`;
  return h(
    "figure",
    { class: "panel" },
    h("figcaption", {}, panel.title, " ", h("span", { class: "panel-range" }, range)),
    h(
      "div",
      { class: "scroll-x" },
      heatMap(
        panel,
        color,
        letters,
        `${panel.title}: ${size}, ${range}. The table below has the values.`,
      ),
    ),
    h(
      "details",
      { class: "panel-table" },
      h("summary", {}, "Table", h("span", { class: "visually-hidden" }, ` of ${panel.title}`)),
      h("div", { class: "scroll-x" }, valueTable(panel)),
    ),
  );
}

/**
 * @param {Panel} panel
 * @param {(value: number) => string} color
 * @param {number} letters
 * @param {string} label
 */
function heatMap({ shape, data }, color, letters, label) {
  const { rows, columns } = grid(shape);
  const rowLines = lines(rows, DRAWN);
  const columnLines = lines(columns, DRAWN);
  const hasNumbers = isAnnotated(shape);
  const width = hasNumbers ? 64 : 12;
  const height = hasNumbers ? 44 : 12;

  /** @type {Tree[]} */
  const cells = [];
  for (const [y, row] of rowLines.entries()) {
    for (const [x, column] of columnLines.entries()) {
      if (row.isGap || column.isGap) continue;
      const value = data[row.index * columns + column.index];
      const fill = Number.isFinite(value) ? color(value) : "#8a8a8a";
      cells.push(h("rect", { x: x * width, y: y * height, width, height, fill }));
      if (!hasNumbers) continue;
      const text = formatNumber(value);
      cells.push(
        h(
          "text",
          {
            x: (x + 0.5) * width,
            y: (y + 0.5) * height,
            fill: readableOn(fill),
            "font-size": letters,
            "text-anchor": "middle",
            "dominant-baseline": "central",
          },
          text,
        ),
      );
    }
  }
  const totalWidth = columnLines.length * width;
  const totalHeight = rowLines.length * height;
  return h(
    "svg",
    {
      class: hasNumbers && columns <= 5 ? "heat-map fits" : "heat-map",
      viewBox: `0 0 ${totalWidth} ${totalHeight}`,
      width: totalWidth,
      height: totalHeight,
      role: "img",
      "aria-label": label,
    },
    cells,
  );
}

/**
 * One size for all panels, in which the longest value does not touch its neighbours.
 * @param {Panel[]} panels
 */
function letterSize(panels) {
  if (!panels.every(({ shape }) => isAnnotated(shape))) return 0;
  const texts = panels.flatMap(({ data }) => Array.from(data, formatNumber));
  const longest = Math.max(0, ...texts.map((text) => text.length));
  return longest > 7 ? 11 : longest > 5 ? 14 : 16;
}

/**
 * Whether every value is written into its cell.
 * @param {number[]} shape
 */
function isAnnotated(shape) {
  const { rows, columns } = grid(shape);
  return rows <= ANNOTATED && columns <= ANNOTATED;
}

/** @param {Panel} panel */
function valueTable({ title, shape, data }) {
  const { rows, columns } = grid(shape);
  const rowLines = lines(rows, LISTED);
  const columnLines = lines(columns, LISTED);
  return h(
    "table",
    {},
    h("caption", {}, title),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("td", {}),
        columnLines.map(({ index, isGap }) =>
          isGap ? h("td", {}, "…") : h("th", { scope: "col" }, index),
        ),
      ),
    ),
    h(
      "tbody",
      {},
      rowLines.map((row) =>
        h(
          "tr",
          {},
          row.isGap ? h("td", {}, "⋮") : h("th", { scope: "row" }, row.index),
          columnLines.map((column) =>
            h(
              "td",
              {},
              row.isGap || column.isGap
                ? "…"
                : formatNumber(data[row.index * columns + column.index]),
            ),
          ),
        ),
      ),
    ),
  );
}

/**
 * A tensor as rows and columns: the last axis across, all others down.
 * @param {number[]} shape
 */
function grid(shape) {
  const columns = shape.at(-1) ?? 1;
  const rows = shape.slice(0, -1).reduce((product, length) => product * length, 1);
  return { rows, columns };
}

/**
 * The rows or columns to show: all, or the first and last with a gap between them.
 * @param {number} count
 * @param {number} limit
 * @returns {Line[]}
 */
function lines(count, limit) {
  const shown = Array.from({ length: count <= limit ? count : limit }, (_, i) => ({
    index: count <= limit || i < limit / 2 ? i : count - limit + i,
    isGap: false,
  }));
  if (count > limit) shown.splice(limit / 2, 0, { index: -1, isGap: true });
  return shown;
}

/**
 * Original and dequantized share one scale around 0, so that equal colours are equal values.
 * @param {Panel} panel
 * @param {Panel[]} panels
 * @param {number} bits
 * @returns {(value: number) => string}
 */
function colorOf(panel, panels, bits) {
  const numbers = Array.from(panel.data).filter(Number.isFinite);
  if (panel.name === "quantized") {
    const isSigned = numbers.some((value) => value < 0);
    const least = isSigned ? -(2 ** (bits - 1)) : 0;
    return scaleSequential(interpolateOranges)
      .domain([least, least + 2 ** bits - 1])
      .clamp(true);
  }
  if (panel.name === "error") {
    return scaleSequential(interpolateRdPu)
      .domain([0, greatest(numbers) || 1])
      .clamp(true);
  }
  const both = panels
    .filter(({ name }) => name === "original" || name === "dequantized")
    .flatMap(({ data }) => Array.from(data).filter(Number.isFinite));
  const reach = Math.max(Math.abs(least(both)), Math.abs(greatest(both))) || 1;
  return scaleDiverging(interpolateRdBu).domain([-reach, 0, reach]).clamp(true);
}

/** @param {number[]} values */
function least(values) {
  return values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
}

/** @param {number[]} values */
function greatest(values) {
  return values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
}

/**
 * Four digits are enough for a cell of a heat map.
 * @param {number} value
 */
export function formatNumber(value) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "−inf";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text =
    Number.isInteger(value) && size < 1e6
      ? String(size)
      : size >= 1e5 || size < 1e-3
        ? size.toExponential(1).replace("e+", "e").replace("e-", "e−")
        : String(Number(size.toPrecision(4)));
  return value < 0 ? `−${text}` : text;
}

/**
 * Black or white, whichever stands out more: at least 4.58 to 1 on any colour.
 * @param {string} color
 */
export function readableOn(color) {
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
