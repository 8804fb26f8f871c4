// A cell in detail: histograms before and after, the worst rows, what the error can do to an output.

import { axis, bars, linear, ticks } from "../../figures/chart.js";
import { drawing } from "../../figures/parts.js";
import { shownNumber } from "../../measure/tables.js";
import { bytesText } from "../../shell/drawing/numbers.js";
import { factsTable } from "../../shell/drawing/table.js";
import { h, type Nested, toDom } from "../../shell/drawing/tree.js";
import { makeScrollable } from "../../shell/scrollable.js";
import {
  fieldOf,
  isEstimated,
  METRICS,
  type Metric,
  metricWithUnit,
  plainNumber,
  shapeText,
} from "../format.js";
import { decibelText } from "./plan-view.js";

const WIDEST = 596;
const HEIGHT = 150;

/** Equal bins from min to max. */
export type Histogram = { counts: ArrayLike<number>; min: number; max: number };

/**
 * Two histograms on one axis: values before, and after quantizing.
 * @param width  in pixels
 */
function histograms(before: Histogram, after: Histogram | undefined, width: number) {
  const x = linear([before.min, before.max], [10, width - 10]);
  const middle = HEIGHT / 2 - 6;
  const half = ({ counts, min, max }: Histogram, name: string, sign: number) => {
    const most = Math.max(1, ...Array.from(counts));
    // The root shows rare values, too.
    const endOf = (count: number) => middle + sign * (HEIGHT / 2 - 16) * Math.sqrt(count / most);
    return h("path", { class: name, d: bars({ counts, low: min, high: max }, x, middle, endOf) });
  };
  return drawing(
    width,
    HEIGHT,
    `Histogram of the values from ${shownNumber(before.min)} to ${shownNumber(before.max)}${after ? ": original above, dequantized below" : ""}`,
    half(before, "is-real", -1),
    after && half(after, "is-code", 1),
    axis([10, width - 10], middle),
    ticks(x, x.ticks(width < WIDEST / 2 ? 3 : 5), HEIGHT - 2),
  );
}

interface Cell {
  /** Of the layer. */
  name: string;
  scheme: string;
  /** The scheme that the layer is pinned to. */
  pin: string | undefined;
  /** The scheme that the plan gives the layer. */
  planned: string | undefined;
  /** Why the plan does so. */
  reason: string;
}

const button = (action: string, text: Nested, attributes = {}) =>
  h("button", { type: "button", class: "button", "data-action": action, ...attributes }, text);

/** Buttons that pin the layer to a scheme or to its own dtype, and one for the playground. */
const actions = ({ scheme, pin }: Cell, dtype: string) =>
  h(
    "p",
    { class: "detail-actions" },
    pin !== scheme && button("pin", `Pin ${scheme}`, { "data-pin": scheme }),
    pin !== "keep" && button("pin", `Keep in ${dtype}`, { "data-pin": "keep" }),
    pin !== undefined && button("pin", "Remove the pin", { "data-pin": "" }),
    button("play", "Open in the playground"),
  );

/**
 * @param row  of analyze, in detail
 * @param width  of drawings, in pixels
 */
function contents(row: any, cell: Cell, width: number) {
  const { planned, reason } = cell;
  const { shape, dtype, scheme, bytes, histograms: pair, map, worstRows, norm1, norm2 } = row;
  const isOutputs = row.shows === "outputs";
  const fact = (metric: Metric, field: string, of = "") => {
    const value = `${isEstimated(row, field) ? "≈ " : ""}${metricWithUnit(metric, row[field])}`;
    return h("div", {}, h("dt", {}, METRICS[metric].title, of), h("dd", {}, value));
  };
  const facts = [
    isOutputs &&
      (["sqnr", "mse"] as const).map((metric) => fact(metric, fieldOf(row, metric), " of outputs")),
    (["sqnr", "mse", "max", "cosine"] as const).map((metric) =>
      fact(metric, metric, isOutputs ? " of weights" : ""),
    ),
  ];
  return [
    h(
      "p",
      { class: "detail-what" },
      `${shapeText(shape)} ${dtype} as `,
      h("strong", { class: "ink-code" }, scheme),
      `: ${bytesText(bytes)}`,
    ),
    h("dl", { class: "detail-facts" }, facts),
    planned &&
      h(
        "p",
        { class: "detail-plan" },
        planned === "keep"
          ? `The plan keeps this layer in ${dtype}. `
          : ["The plan gives this layer ", h("strong", { class: "ink-code" }, planned), ". "],
        reason,
      ),
    actions(cell, dtype),
    isOutputs &&
      h(
        "p",
        { class: "detail-note" },
        row.moments === "full"
          ? "Error of the outputs: the mean over all inputs that you added."
          : "Error of the outputs, estimated: the mean over all inputs that you added, as if the inputs were " +
              "uncorrelated. The exact error may differ by several dB.",
      ),
    pair && [
      h("h3", {}, pair.after ? "Values before and after" : "Values"),
      histograms(pair.before, pair.after, width),
      h(
        "p",
        { class: "detail-note" },
        pair.after && "Above: the original values. Below: the dequantized values. ",
        "The height of a bar is the square root of its count, so that rare values stay visible.",
        row.isLarge &&
          " Dequantized values and errors are not drawn: the layer is too large to hold both in memory.",
      ),
    ],
    map && [
      h("h3", {}, "Error map"),
      h("canvas", {
        class: "detail-map",
        role: "img",
        "aria-label": "Sizes of the errors in the first rows and columns",
      }),
      h(
        "p",
        { class: "detail-note" },
        `The first ${map.before.shape[0]} rows and ${map.before.shape[1]} columns. The stronger the colour, the larger the error.`,
      ),
    ],
    h("h3", {}, "Bounds for every input"),
    h(
      "p",
      {},
      "The error of an output of this layer is at most ",
      h("strong", {}, plainNumber(norm1)),
      " times the largest input (the largest ‖Δw‖₁ of all rows), and at most ",
      h("strong", {}, plainNumber(norm2)),
      " times the Euclidean norm of the input (the largest ‖Δw‖₂). The accuracy of the model does not follow from these bounds.",
    ),
    worstRows?.length > 0 && [
      h("h3", {}, "Rows with the largest error"),
      factsTable(
        ["Row", "SQNR", "‖Δw‖₁", "‖Δw‖₂"],
        worstRows.map((each: any) =>
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
    ],
  ];
}

/** Draws the sizes of errors: a pixel for each value, in shades of the colour of errors. */
function drawMap(
  canvas: HTMLCanvasElement,
  {
    before,
    after,
  }: { before: { shape: number[]; values: Float32Array[] }; after: { values: Float32Array[] } },
) {
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

/** The range of a tensor's values and their histogram. */
const valuesContents = (values: Histogram, width: number) => [
  h("p", {}, `From ${plainNumber(values.min)} to ${plainNumber(values.max)}, dequantized.`),
  histograms(values, undefined, width),
  h("p", { class: "detail-note" }, "The height of a bar is the square root of its count."),
];

/** Opens the dialog for the values of a tensor. */
export const openValues = (
  dialog: HTMLDialogElement,
  name: string,
  load: () => Promise<Histogram>,
) => openDialog(dialog, name, async (width) => valuesContents(await load(), width));

/**
 * Opens the dialog for a cell.
 * @param load  the row in detail
 * @param handlers  onPin: undefined removes the pin
 */
export async function openDrawer(
  dialog: HTMLDialogElement,
  cell: Cell,
  load: () => Promise<any>,
  { onPin, onPlay }: { onPin: (scheme: string | undefined) => void; onPlay: () => void },
) {
  const act = ({ action = "", pin = "" }: DOMStringMap) => {
    if (action === "pin") onPin(pin || undefined);
    if (action === "play") onPlay();
  };
  let row: any;
  await openDialog(
    dialog,
    cell.name,
    async (width) => {
      row = await load();
      return contents(row, cell, width);
    },
    act,
  );
  const canvas = dialog.querySelector("canvas");
  if (canvas) drawMap(canvas, row.map);
}

/**
 * Opens the dialog with a name, and shows what is loaded.
 * @param load  width: of drawings, in pixels
 * @param act  called with the data of a button that was pressed
 */
async function openDialog(
  dialog: HTMLDialogElement,
  name: string,
  load: (width: number) => Promise<Nested>,
  act: (data: DOMStringMap) => void = () => {},
) {
  const box = toDom(h("div", { class: "detail" })) as HTMLElement;
  const show = (...children: Nested[]) =>
    box.replaceChildren(...toDom(h("div", {}, ...children)).childNodes);
  show(h("p", { role: "status" }, "Reading this layer …"));
  // The focus begins on the button, which stays while the content is replaced.
  const head = h(
    "div",
    { class: "detail-head" },
    h("h2", { id: "lab-detail-title" }, h("code", {}, name)),
    button("close", "×", { "aria-label": "Close" }),
  );
  dialog.replaceChildren(toDom(head), box);
  if (!dialog.open) dialog.showModal();
  dialog.onclick = ({ target }) => {
    const pressed = (target as Element).closest("[data-action]") as HTMLElement | null;
    if (pressed) act(pressed.dataset);
    if (pressed || target === dialog) dialog.close();
  };
  try {
    const { clientWidth } = box.lastElementChild as Element;
    show(await load(clientWidth || WIDEST));
    makeScrollable(box);
  } catch (error) {
    const { message } = error as Error;
    show(h("p", { class: "cell-error" }, message));
  }
}
