// Draws how one number depends on another: a line of marks for each series.

import { scaleLinear } from "d3-scale";
import { drawing, line, round, text } from "../figures/parts.js";
import { formatNumber } from "../plot.js";
import { h } from "../tree.js";

/**
 * @typedef {import("../tree.js").Tree} Tree
 * @typedef {{ name: string, points: [number, number][] }} Series
 * @typedef {{ kind: "lines", title: string, x: string, y: string, series: Series[],
 *   level?: { name: string, y: number } }} LinesPlot  a level is a value to compare with
 */

const WIDEST = 620;
const NARROWEST = 240;
const HEIGHT = 336;
const LEFT = 52;
const RIGHT = 12;
const TOP = 26;
const BOTTOM = 46;
const REACH = 5; // from the middle of a mark to its side

/** Shapes rather than colours tell the series apart: orange means quantized, whichever way. */
const MARKS = ["circle", "square", "triangle", "diamond"];

/**
 * What a cell passes, checked and copied so that it can be sent to the page.
 * @param {any} plot
 * @returns {LinesPlot}
 */
export function linesPlot({ title, x, y, series, level }) {
  if (!Array.isArray(series) || series.length === 0) {
    throw new TypeError("plotLines: series must be a list of { name, points: [[x, y], …] }");
  }
  if (series.length > MARKS.length) {
    throw new RangeError(`plotLines: there can be ${MARKS.length} series, got ${series.length}`);
  }
  const copied = series.map(({ name, points }) => ({
    name: String(name),
    points: Array.from(points, (/** @type {any} */ [a, b]) => {
      if (Number.isFinite(a) && Number.isFinite(b)) {
        return /** @type {[number, number]} */ ([Number(a), Number(b)]);
      }
      throw new RangeError(`plotLines: points of ${name} must be finite, got [${a}, ${b}]`);
    }),
  }));
  return {
    kind: "lines",
    title: String(title),
    x: String(x),
    y: String(y),
    series: copied,
    level: level && { name: String(level.name), y: Number(level.y) },
  };
}

/**
 * @param {LinesPlot} plot
 * @param {number} room  how wide it may be: letters keep their size on small screens
 * @returns {Tree}
 */
export function linesFigure({ title, x, y, series, level }, room) {
  const width = Math.max(NARROWEST, Math.min(room, WIDEST));
  const across = scaleLinear()
    .domain(range(series.flatMap(({ points }) => points.map(([a]) => a))))
    .nice()
    .range([LEFT + 2 * REACH, width - RIGHT - 2 * REACH]);
  const heights = series.flatMap(({ points }) => points.map(([, b]) => b));
  const down = scaleLinear()
    .domain(range([0, ...heights, ...(level ? [level.y] : [])]))
    .nice()
    .range([HEIGHT - BOTTOM, TOP]);
  const right = width - RIGHT;
  const bottom = HEIGHT - BOTTOM;

  return h(
    "figure",
    { class: "plot" },
    h("figcaption", { class: "plot-title" }, title),
    legend(series, level),
    h(
      "div",
      { class: "scroll-x drawing-box" },
      drawing(
        width,
        HEIGHT,
        `${title}: ${y} against ${x}. The table below has the values.`,
        down
          .ticks(5)
          .map((tick) => [
            line(LEFT, down(tick), right, down(tick), "grid"),
            text(LEFT - 8, down(tick) + 4, formatNumber(tick), "tick", "end"),
          ]),
        across
          .ticks(Math.round(width / 85))
          .map((tick) => text(across(tick), bottom + 18, formatNumber(tick), "tick", "middle")),
        line(LEFT, bottom, right, bottom, "axis"),
        text(right, HEIGHT - 6, x, "tick", "end"),
        text(0, 12, y, "tick"),
        level && line(LEFT, down(level.y), right, down(level.y), "level"),
        series.map(({ points }, i) => [
          h("polyline", {
            class: "series",
            points: points.map(([a, b]) => `${round(across(a))},${round(down(b))}`).join(" "),
          }),
          points.map(([a, b]) => mark(MARKS[i], across(a), down(b))),
        ]),
      ),
    ),
    h(
      "details",
      { class: "panel-table" },
      h("summary", {}, "Table", h("span", { class: "visually-hidden" }, ` of ${title}`)),
      h("div", { class: "scroll-x" }, valueTable(title, x, y, series, level)),
    ),
  );
}

/**
 * @param {Series[]} series
 * @param {LinesPlot["level"]} level
 */
function legend(series, level) {
  const sample = (/** @type {import("../tree.js").Nested[]} */ ...content) =>
    h(
      "svg",
      { class: "drawing", viewBox: "0 0 26 14", width: 26, height: 14, "aria-hidden": "true" },
      ...content,
    );
  return h(
    "ul",
    { class: "plot-legend" },
    series.map(({ name }, i) =>
      h(
        "li",
        {},
        sample(h("polyline", { class: "series", points: "1,7 25,7" }), mark(MARKS[i], 13, 7)),
        name,
      ),
    ),
    level && h("li", {}, sample(line(1, 7, 25, 7, "level")), level.name),
  );
}

/**
 * @param {string} shape
 * @param {number} x
 * @param {number} y
 */
function mark(shape, x, y) {
  /** @param {[number, number][]} corners  from the middle, in units of REACH */
  const polygon = (...corners) =>
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

/**
 * @param {string} title
 * @param {string} x
 * @param {string} y
 * @param {Series[]} series
 * @param {LinesPlot["level"]} level
 */
function valueTable(title, x, y, series, level) {
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
        [x, y].map((label) => h("th", { scope: "col" }, label)),
      ),
    ),
    h(
      "tbody",
      {},
      series.map(({ name, points }) =>
        points.map(([a, b]) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, name),
            h("td", {}, formatNumber(a)),
            h("td", {}, formatNumber(b)),
          ),
        ),
      ),
      level &&
        h(
          "tr",
          {},
          h("th", { scope: "row" }, level.name),
          h("td", {}),
          h("td", {}, formatNumber(level.y)),
        ),
    ),
  );
}

/** @param {number[]} values */
function range(values) {
  return [Math.min(...values), Math.max(...values)];
}
