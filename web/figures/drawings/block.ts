// A block of real weights: its bytes by field, the values that they make, and how.

import { formatNumber } from "../../shell/drawing/numbers.js";
import { type Attribute, type Child, h } from "../../shell/drawing/tree.js";
import {
  blockOf,
  bytesOf,
  byteTree,
  fieldOf,
  formulaTree,
  hex,
  valuesOf,
  valueTree,
} from "../blocks/describe.js";
import { LAYOUTS } from "../blocks/layouts.js";
import type { Figure } from "../index.js";

/** Cells of a row of both grids. */
const COLUMNS = 16;
const FIRST = 9; // the value that is shown at first
const LEVELS = 6; // heights of the bar of a value

export const block: Figure = {
  fitsAnyWidth: true,
  controls: [
    {
      name: "type",
      label: "Format",
      type: "choice",
      choices: LAYOUTS.map(({ type, name }) => [type, name]),
      value: "q4_0",
    },
  ],

  draw({ type }, zeropoint) {
    const one = blockOf(type, zeropoint);
    const { layout, bytes, restored, weights } = one;
    const most = Math.max(...weights.map(Math.abs));
    const shown = bytesOf(one, FIRST);
    const bits = Number(((8 * bytes.length) / layout.values).toFixed(3));
    return h(
      "div",
      { class: "block", "data-cells": "" },
      h(
        "p",
        { class: "block-facts" },
        h("strong", {}, layout.name),
        `: ${layout.values} weights in ${bytes.length}\u00a0bytes, ${bits}\u00a0bits each. A value is `,
        h("strong", {}, formulaTree(layout)),
        ".",
      ),
      h(
        "ul",
        { class: "block-fields" },
        layout.fields.map(({ symbol, about, start, end, ink }) =>
          h(
            "li",
            { class: ink || null },
            h("strong", {}, symbol),
            ` ${about}: ${end - start === 1 ? `byte ${start}` : `bytes ${start} to ${end - 1}`}`,
          ),
        ),
      ),
      h(
        "div",
        { class: "block-grids" },
        grid("Bytes, hexadecimal", "byte", [...bytes], (byte, at) => ({
          attributes: {
            class: fieldOf(layout, at).ink || null,
            "data-sharing": shown.includes(at),
          },
          content: hex(byte),
        })),
        grid("Values, as bars", "value", [...restored], (value, i) => {
          const level = Math.max(-LEVELS, Math.min(LEVELS, Math.round((LEVELS * value) / most)));
          return {
            attributes: { "data-level": level, "data-shown": i === FIRST },
            content: h("span", { class: "visually-hidden" }, formatNumber(value)),
          };
        }),
        h("div", { class: "block-detail", "data-detail": "" }, valueTree(one, FIRST)),
      ),
    );
  },

  detail({ type }, zeropoint, kind, index) {
    const one = blockOf(type, zeropoint);
    const [tree, other, places] =
      kind === "byte"
        ? [byteTree(one, index), "value", valuesOf(one, index)]
        : [valueTree(one, index), "byte", bytesOf(one, index)];
    return { tree, others: { [other]: places } };
  },
};

function grid<T>(
  caption: string,
  kind: string,
  items: T[],
  cell: (item: T, i: number) => { attributes: Record<string, Attribute>; content: Child },
) {
  const rows = Array.from({ length: Math.ceil(items.length / COLUMNS) }, (_, row) => row);
  return h(
    "table",
    { class: `block-grid is-${kind}`, "data-kind": kind, "data-columns": COLUMNS },
    h("caption", {}, caption),
    h(
      "tbody",
      {},
      rows.map((row) =>
        h(
          "tr",
          {},
          items.slice(COLUMNS * row, COLUMNS * (row + 1)).map((item, column) => {
            const i = COLUMNS * row + column;
            const { attributes, content } = cell(item, i);
            return h("td", { "data-index": i, ...attributes }, content);
          }),
        ),
      ),
    ),
  );
}
