// Tables of facts: the first cell of a row is its heading, numbers stand to the right.

import { h, type Nested } from "./tree.js";

/**
 * A table that scrolls by itself where it is wider than its place.
 * @param titles  of the columns; empty for none
 * @param rows  elements tr
 * @param texts  titles of columns that stand to the left
 */
export const factsTable = (
  titles: readonly string[],
  rows: Nested,
  { caption, texts = [] }: { caption?: string; texts?: readonly string[] } = {},
) =>
  h(
    "div",
    { class: "scroll-x" },
    h(
      "table",
      { class: "facts" },
      caption !== undefined && h("caption", {}, caption),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          titles.map((title) =>
            title === ""
              ? h("td", {})
              : h("th", { scope: "col", class: texts.includes(title) && "is-text" }, title),
          ),
        ),
      ),
      h("tbody", {}, rows),
    ),
  );
