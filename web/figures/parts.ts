// Helpers shared by the illustrations.

import { formatNumber } from "../shell/drawing/numbers.js";
import { factsTable } from "../shell/drawing/table.js";
import { h, type Nested } from "../shell/drawing/tree.js";

/** Widths of the built drawings in pixels; figures.css has the same. */
export const PHONE = 330; // the room of a figure on a screen of 390 pixels
export const WIDE = 620; // drawings narrower than this stand below each other
export const FULL = 830; // the room of a figure beside the contents

/** Repeatable numbers that look random: roughly normal, mean 0, deviation 1. */
export function samples(count: number, seed: number) {
  let state = seed;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  // The sum of six uniform numbers has the variance 1/2.
  const normal = () => uniform() + uniform() + uniform() + uniform() + uniform() + uniform() - 3;
  return Array.from({ length: count }, () => normal() * Math.SQRT2);
}

/** @param label  text alternative for screen readers */
export function drawing(width: number, height: number, label: string, ...children: Nested[]) {
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

export function text(x: number, y: number, content: string, className = "", anchor = "start") {
  return h("text", { x: round(x), y: round(y), class: className, "text-anchor": anchor }, content);
}

export function line(x1: number, y1: number, x2: number, y2: number, className = "") {
  return h("line", {
    x1: round(x1),
    y1: round(y1),
    x2: round(x2),
    y2: round(y2),
    class: className,
  });
}

export function dot(x: number, y: number, r: number, className = "") {
  return h("circle", { cx: round(x), cy: round(y), r, class: className });
}

export function round(value: number) {
  return Math.round(value * 100) / 100;
}

/** The same as facts, to be opened: for tables longer than the drawing above them. */
export function closedFacts(caption: string, columns: string[], rows: (string | number)[][]) {
  return h(
    "details",
    { class: "panel-table" },
    h("summary", {}, "Table"),
    facts(caption, columns, rows),
  );
}

/**
 * Facts below a drawing: the same numbers as text.
 * @param rows  each beginning with its heading
 */
export function facts(caption: string, columns: string[], rows: (string | number)[][]) {
  return factsTable(
    columns,
    rows.map(([heading, ...values]) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, heading),
        values.map((value) => h("td", {}, typeof value === "number" ? formatNumber(value) : value)),
      ),
    ),
    { caption },
  );
}
