// A cell in detail: histograms before and after, the worst rows, what the error can do to an output.

import { scaleLinear } from "d3-scale";
import { shownNumber } from "../../measure/tables.js";
import { h, toDom } from "../../shell/tree.js";
import { bytesText, fieldOf, METRICS, metricWithUnit, plainNumber, shapeText } from "../format.js";
import { decibelText } from "./plan-view.js";

const WIDTH = 560;
const HEIGHT = 150;

/**
 * @typedef {{ counts: ArrayLike<number>, min: number, max: number }} Histogram  equal bins from min to max
 */

/**
 * Two histograms on one axis: values before, and after quantizing.
 * @param {Histogram} before
 * @param {Histogram} [after]
 */
function histograms(before, after) {
  const x = scaleLinear()
    .domain([before.min, before.max])
    .range([10, WIDTH - 10]);
  const bars = (
    /** @type {Histogram} */ { counts, min, max },
    /** @type {string} */ name,
    /** @type {number} */ middle,
    /** @type {number} */ sign,
  ) => {
    const most = Math.max(1, ...Array.from(counts));
    const step = (max - min) / counts.length;
    return Array.from(counts, (count, i) => {
      if (count === 0) return undefined;
      // The root shows rare values, too.
      const height = (HEIGHT / 2 - 16) * Math.sqrt(count / most);
      const left = x(min + i * step);
      return h("rect", {
        class: name,
        x: left.toFixed(2),
        y: (sign < 0 ? middle - height : middle).toFixed(2),
        width: Math.max(0.6, x(min + (i + 1) * step) - left - 0.4).toFixed(2),
        height: height.toFixed(2),
      });
    });
  };
  const middle = HEIGHT / 2 - 6;
  return h(
    "svg",
    {
      class: "detail-histogram",
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: "img",
      "aria-label": `Values from ${shownNumber(before.min)} to ${shownNumber(before.max)}: above as they are${after ? ", below as they are restored" : ""}`,
    },
    bars(before, "is-real", middle, -1),
    after ? bars(after, "is-code", middle, 1) : [],
    h("path", { class: "detail-axis", d: `M10 ${middle}H${WIDTH - 10}` }),
    x
      .ticks(5)
      .map((value) =>
        h(
          "text",
          { x: x(value), y: HEIGHT - 2, "text-anchor": "middle" },
          String(value).replace("-", "−"),
        ),
      ),
  );
}

/**
 * @param {any} row  of analyze, in detail
 * @param {{ isPinned: boolean, planned: string | undefined, reason: string }} layer
 */
function contents(row, { isPinned, planned, reason }) {
  const { name, shape, dtype, scheme, bytes, histograms: pair, map, worstRows, norm1, norm2 } = row;
  const isOutputs = row.shows === "outputs";
  const fact = (
    /** @type {import("../format.js").Metric} */ metric,
    /** @type {string} */ field,
    /** @type {string} */ of = "",
  ) => {
    const value = metricWithUnit(metric, row[field]);
    return h("div", {}, h("dt", {}, METRICS[metric].title, of), h("dd", {}, value));
  };
  const facts = [
    isOutputs &&
      /** @type {const} */ (["sqnr", "mse"]).map((metric) =>
        fact(metric, fieldOf(row, metric), " of outputs"),
      ),
    /** @type {const} */ (["sqnr", "mse", "max", "cosine"]).map((metric) =>
      fact(metric, metric, isOutputs ? " of weights" : ""),
    ),
  ];
  return [
    h("h2", { id: "lab-detail-title" }, h("code", {}, name)),
    h(
      "p",
      { class: "detail-what" },
      `${shapeText(shape)} ${dtype} as `,
      h("strong", { class: "ink-code" }, scheme),
      `: ${bytesText(bytes)}`,
      planned === scheme && ", as the plan has it",
    ),
    planned === scheme && reason && h("p", { class: "detail-reason" }, reason),
    h("dl", { class: "detail-facts" }, facts),
    isOutputs &&
      h(
        "p",
        { class: "detail-note" },
        row.moments === "full"
          ? "Outputs on the inputs that you gave: the mean error over all of them."
          : "Outputs on the inputs that you gave, taken as uncorrelated: the layer has too many for all products.",
      ),
    pair && [
      h("h3", {}, pair.after ? "Values before and after" : "Values"),
      histograms(pair.before, pair.after),
      h(
        "p",
        { class: "detail-note" },
        pair.after && "Above the values as they are, below as they are restored. ",
        "Heights are square roots of counts, so that rare values can be seen.",
        row.isLarge && " The weight is too large for the page to hold its restored values as well.",
      ),
    ],
    map && [
      h("h3", {}, "Where the error is"),
      h("canvas", {
        class: "detail-map",
        role: "img",
        "aria-label": "Sizes of the errors in the first rows and columns",
      }),
      h(
        "p",
        { class: "detail-note" },
        `The first ${map.before.shape[0]} rows and ${map.before.shape[1]} columns; the darker, the larger the error.`,
      ),
    ],
    h("h3", {}, "What this error can do"),
    h(
      "p",
      {},
      "No output of this layer moves by more than ",
      h("strong", {}, plainNumber(norm1)),
      " times the largest input, nor by more than ",
      h("strong", {}, plainNumber(norm2)),
      " times the length of the input: the largest ‖Δw‖₁ and ‖Δw‖₂ of all rows, which bound the error for every input. " +
        "No error of one layer is the accuracy of the model.",
    ),
    worstRows?.length > 0 && [
      h("h3", {}, "The worst rows"),
      h(
        "div",
        { class: "scroll-x" },
        h(
          "table",
          { class: "facts" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ["Row", "SQNR", "‖Δw‖₁", "‖Δw‖₂"].map((title) => h("th", { scope: "col" }, title)),
            ),
          ),
          h(
            "tbody",
            {},
            worstRows.map((/** @type {any} */ each) =>
              h(
                "tr",
                {},
                h("th", { scope: "row" }, each.row),
                h("td", {}, decibelText(each.relative)),
                h("td", {}, plainNumber(each.norm1)),
                h("td", {}, plainNumber(each.norm2)),
              ),
            ),
          ),
        ),
      ),
    ],
    h(
      "p",
      { class: "detail-actions" },
      h(
        "button",
        {
          type: "button",
          class: "button",
          "data-action": "pin",
          "aria-pressed": String(isPinned && planned === scheme),
        },
        isPinned && planned === scheme ? "Unpin" : `Pin ${scheme} for this layer`,
      ),
      h(
        "button",
        { type: "button", class: "button", "data-action": "play" },
        "Open in the playground",
      ),
      h("button", { type: "button", class: "button", "data-action": "close" }, "Close"),
    ),
  ];
}

/**
 * Draws the sizes of errors: a pixel for each value, in shades of the colour of errors.
 * @param {HTMLCanvasElement} canvas
 * @param {{ before: { shape: number[], values: Float32Array[] }, after: { values: Float32Array[] } }} map
 */
function drawMap(canvas, { before, after }) {
  const [rows, columns] = before.shape;
  canvas.width = columns;
  canvas.height = rows;
  const errors = before.values.map((row, i) => row.map((x, j) => Math.abs(x - after.values[i][j])));
  const most = Math.max(Number.MIN_VALUE, ...errors.map((row) => Math.max(...row)));
  const context = canvas.getContext("2d");
  if (!context) return;
  context.fillStyle = getComputedStyle(canvas).color;
  for (const [i, row] of errors.entries()) {
    for (const [j, error] of row.entries()) {
      context.globalAlpha = error / most;
      context.fillRect(j, i, 1, 1);
    }
  }
}

/**
 * Opens the dialog for a cell.
 * @param {HTMLDialogElement} dialog
 * @param {{ name: string, scheme: string, isPinned: boolean, planned: string | undefined, reason: string }} cell
 * @param {() => Promise<any>} load  the row in detail
 * @param {{ onPin: () => void, onPlay: () => void }} handlers
 */
export async function openDrawer(dialog, cell, load, { onPin, onPlay }) {
  const show = (/** @type {import("../../shell/tree.js").Nested[]} */ ...children) => {
    const box = toDom(h("div", { class: "detail" }, ...children));
    dialog.replaceChildren(box);
  };
  show(
    h("h2", { id: "lab-detail-title" }, h("code", {}, cell.name)),
    h("p", { role: "status" }, "Reading this layer …"),
  );
  if (!dialog.open) dialog.showModal();
  dialog.onclick = ({ target }) => {
    const action = /** @type {Element} */ (target)
      .closest("[data-action]")
      ?.getAttribute("data-action");
    if (action === "close" || target === dialog) dialog.close();
    if (action === "pin") onPin();
    if (action === "play") onPlay();
    if (action === "pin" || action === "play") dialog.close();
  };
  try {
    const row = await load();
    show(...contents(row, cell));
    const canvas = dialog.querySelector("canvas");
    if (canvas) drawMap(canvas, row.map);
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    show(
      h("h2", { id: "lab-detail-title" }, h("code", {}, cell.name)),
      h("p", { class: "cell-error" }, message),
      h("p", {}, h("button", { type: "button", class: "button", "data-action": "close" }, "Close")),
    );
  }
}
