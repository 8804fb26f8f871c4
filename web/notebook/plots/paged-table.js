// A table of any size, of which one page at a time is in the document; made when it is opened.

import { icon } from "../../shell/drawing/icons.js";
import { h, toDom } from "../../shell/drawing/tree.js";
import { makeScrollable } from "../../shell/scrollable.js";

/**
 * @typedef {object} TableData
 * @property {string} caption
 * @property {number} rows
 * @property {number} columns
 * @property {(row: number) => string | number} rowName
 * @property {(column: number) => string | number} columnName
 * @property {(row: number, column: number) => string} cell
 */

const ROWS = 25;
const COLUMNS = 25;

/**
 * The closed table below a plot.
 * @param {string} caption
 */
export function closedTable(caption) {
  return h(
    "details",
    { class: "panel-table" },
    h("summary", {}, "Table", h("span", { class: "visually-hidden" }, ` of ${caption}`)),
  );
}

/**
 * Fills a closed table when it is opened.
 * @param {Element} details
 * @param {TableData} data
 */
export function connectTable(details, data) {
  let [row, column] = [0, 0];
  const box = document.createElement("div");
  const show = () => {
    const width = Math.min(COLUMNS, data.columns - column);
    const height = Math.min(ROWS, data.rows - row);
    const controls = [
      data.rows > ROWS && pager("Rows", row, height, data.rows, ROWS),
      data.columns > COLUMNS && pager("Columns", column, width, data.columns, COLUMNS),
    ];
    box.replaceChildren(
      ...controls.flatMap((each) => (each ? [toDom(each)] : [])),
      toDom(h("div", { class: "scroll-x" }, tableOf(data, row, column, height, width))),
    );
    makeScrollable(box);
  };
  box.addEventListener("click", ({ target }) => {
    const button = /** @type {Element} */ (target).closest("button");
    if (!button) return;
    const { axis, to } = /** @type {DOMStringMap} */ (button.dataset);
    if (axis === "Rows") row = Number(to);
    else column = Number(to);
    const label = button.getAttribute("aria-label");
    show();
    const again = /** @type {HTMLButtonElement | null} */ (
      box.querySelector(`button[aria-label="${label}"]:not(:disabled)`) ??
        box.querySelector(`button[data-axis="${axis}"]:not(:disabled)`)
    );
    again?.focus();
  });
  details.addEventListener("toggle", () => {
    if (box.isConnected) return;
    details.append(box);
    show();
  });
}

/**
 * @param {string} axis
 * @param {number} first
 * @param {number} shown
 * @param {number} all
 * @param {number} step
 */
function pager(axis, first, shown, all, step) {
  const button = (
    /** @type {string} */ name,
    /** @type {number} */ to,
    /** @type {boolean} */ ok,
  ) =>
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

/**
 * @param {TableData} data
 * @param {number} row
 * @param {number} column
 * @param {number} height
 * @param {number} width
 */
function tableOf(data, row, column, height, width) {
  const range = (/** @type {number} */ from, /** @type {number} */ count) =>
    Array.from({ length: count }, (_, i) => from + i);
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
