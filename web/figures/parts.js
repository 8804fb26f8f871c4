// Helpers shared by the illustrations.

import { formatNumber } from "../shell/drawing/numbers.js";
import { h } from "../shell/drawing/tree.js";

/** Widths of the built drawings in pixels; figures.css has the same. */
export const PHONE = 330; // the room of a figure on a screen of 390 pixels
export const WIDE = 620; // drawings narrower than this stand below each other
export const FULL = 830; // the room of a figure beside the contents

/**
 * Repeatable numbers that look random: roughly normal, mean 0, deviation 1.
 * @param {number} count
 * @param {number} seed
 */
export function samples(count, seed) {
  let state = seed;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  // The sum of six uniform numbers has the variance 1/2.
  const normal = () => uniform() + uniform() + uniform() + uniform() + uniform() + uniform() - 3;
  return Array.from({ length: count }, () => normal() * Math.SQRT2);
}

/**
 * @param {number} width
 * @param {number} height
 * @param {string} label  text alternative for screen readers
 * @param {...import("../shell/drawing/tree.js").Nested} children
 */
export function drawing(width, height, label, ...children) {
  return h(
    "svg",
    {
      class: "drawing",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": label,
    },
    ...children,
  );
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} content
 */
export function text(x, y, content, className = "", anchor = "start") {
  return h("text", { x: round(x), y: round(y), class: className, "text-anchor": anchor }, content);
}

/**
 * @param {number} x1
 * @param {number} y1
 * @param {number} x2
 * @param {number} y2
 */
export function line(x1, y1, x2, y2, className = "") {
  return h("line", {
    x1: round(x1),
    y1: round(y1),
    x2: round(x2),
    y2: round(y2),
    class: className,
  });
}

/**
 * @param {number} x
 * @param {number} y
 * @param {number} r
 */
export function dot(x, y, r, className = "") {
  return h("circle", { cx: round(x), cy: round(y), r, class: className });
}

/** @param {number} value */
export function round(value) {
  return Math.round(value * 100) / 100;
}

/**
 * The same as facts, to be opened: for tables longer than the drawing above them.
 * @param {string} caption
 * @param {string[]} columns
 * @param {(string | number)[][]} rows
 */
export function closedFacts(caption, columns, rows) {
  return h(
    "details",
    { class: "panel-table" },
    h("summary", {}, "Table"),
    facts(caption, columns, rows),
  );
}

/**
 * Facts below a drawing: the same numbers as text.
 * @param {string} caption
 * @param {string[]} columns
 * @param {(string | number)[][]} rows  each beginning with its heading
 */
export function facts(caption, columns, rows) {
  return h(
    "div",
    { class: "scroll-x" },
    h(
      "table",
      { class: "facts" },
      h("caption", {}, caption),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          columns.map((column) => (column ? h("th", { scope: "col" }, column) : h("td", {}))),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map(([heading, ...values]) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, heading),
            values.map((value) =>
              h("td", {}, typeof value === "number" ? formatNumber(value) : value),
            ),
          ),
        ),
      ),
    ),
  );
}
