// A table of any size, of which one page at a time is in the document; made when it is opened.

import { closest } from "../../shell/dom.js";
import { icon } from "../../shell/drawing/icons.js";
import { h, type Tree, toDom } from "../../shell/drawing/tree.js";
import { makeScrollable } from "../../shell/scrollable.js";

export interface TableData {
  caption: string;
  rows: number;
  columns: number;
  rowName: (row: number) => string | number;
  columnName: (column: number) => string | number;
  cell: (row: number, column: number) => string;
}

const ROWS = 25;
const COLUMNS = 25;

/** The closed table below a plot. */
export function closedTable(caption: string) {
  return h(
    "details",
    { class: "panel-table" },
    h("summary", {}, "Table", h("span", { class: "visually-hidden" }, ` of ${caption}`)),
  );
}

/** Fills a closed table when it is opened. */
export function connectTable(details: Element, data: TableData) {
  let [row, column] = [0, 0];
  const box = document.createElement("div");
  const show = () => {
    box.replaceChildren(...pageOf(data, row, column).map((part) => toDom(part)));
    makeScrollable(box);
  };
  box.addEventListener("click", (event) => {
    const button = closest(event, "button");
    if (!button) return;
    const { axis, to } = button.dataset;
    if (axis === "Rows") row = Number(to);
    else column = Number(to);
    const label = button.getAttribute("aria-label");
    show();
    const again =
      box.querySelector<HTMLElement>(`button[aria-label="${label}"]:not(:disabled)`) ??
      box.querySelector<HTMLElement>(`button[data-axis="${axis}"]:not(:disabled)`);
    again?.focus();
  });
  details.addEventListener("toggle", () => {
    if (box.isConnected) return;
    details.append(box);
    show();
  });
}

/** The page of a table from a row and a column on, below the buttons that turn it. */
export function pageOf(data: TableData, row: number, column: number): Tree[] {
  const width = Math.min(COLUMNS, data.columns - column);
  const height = Math.min(ROWS, data.rows - row);
  return [
    data.rows > ROWS && pager("Rows", row, height, data.rows, ROWS),
    data.columns > COLUMNS && pager("Columns", column, width, data.columns, COLUMNS),
    h("div", { class: "scroll-x" }, tableOf(data, row, column, height, width)),
  ].filter((part) => part !== false);
}

function pager(axis: string, first: number, shown: number, all: number, step: number) {
  const button = (name: string, to: number, ok: boolean) =>
    h(
      "button",
      {
        type: "button",
        class: "button",
        "aria-label": `${name} ${axis.toLowerCase()}`,
        "data-axis": axis,
        "data-to": to,
        disabled: !ok,
      },
      icon(name === "Next" ? "next" : "previous"),
    );
  return h(
    "p",
    { class: "pager" },
    button("Previous", Math.max(0, first - step), first > 0),
    h("span", {}, `${axis} ${first} to ${first + shown - 1} of ${all}`),
    button("Next", first + step, first + shown < all),
  );
}

function tableOf(data: TableData, row: number, column: number, height: number, width: number) {
  const range = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i);
  return h(
    "table",
    {},
    h("caption", {}, data.caption),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("td", {}),
        range(column, width).map((j) => h("th", { scope: "col" }, data.columnName(j))),
      ),
    ),
    h(
      "tbody",
      {},
      range(row, height).map((i) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, data.rowName(i)),
          range(column, width).map((j) => h("td", {}, data.cell(i, j))),
        ),
      ),
    ),
  );
}
