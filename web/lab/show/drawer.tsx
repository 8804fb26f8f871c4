// A cell in detail: histograms before and after, the worst rows, what the error can do to an output.

import { useLayoutEffect, useRef } from "preact/hooks";
import { axis, bars, linear, ticks } from "../../figures/chart.js";
import { drawing } from "../../figures/parts.js";
import { shownNumber } from "../../measure/tables.js";
import { closest, context2d } from "../../shell/dom.js";
import { Drawn } from "../../shell/drawing/drawn.js";
import { Facts } from "../../shell/drawing/facts.js";
import { useWidth } from "../../shell/drawing/hooks.js";
import { bytesText } from "../../shell/drawing/numbers.js";
import { h } from "../../shell/drawing/tree.js";
import {
  fieldOf,
  isEstimated,
  METRICS,
  type Metric,
  metricWithUnit,
  plainNumber,
  shapeText,
} from "../format.js";
import type { Detail, Histogram } from "../model/detail.js";
import { Button } from "./parts.js";
import { decibelText } from "./plan-view.js";

/** Drawings of fewer pixels have fewer numbers. */
const NARROW = 298;
const HEIGHT = 150;

/**
 * Two histograms on one axis: values before, and after quantizing.
 * @param width  in pixels
 */
function drawHistograms(before: Histogram, after: Histogram | undefined, width: number) {
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
    ticks(x, x.ticks(width < NARROW ? 3 : 5), HEIGHT - 2),
  );
}

function Histograms({ before, after }: { before: Histogram; after?: Histogram | undefined }) {
  const [box, width] = useWidth();
  return <div ref={box}>{width > 0 && <Drawn trees={drawHistograms(before, after, width)} />}</div>;
}

type ErrorMap = NonNullable<Detail["map"]>;

/** Draws the sizes of errors: a pixel for each value, in shades of the colour of errors. */
function drawMap(canvas: HTMLCanvasElement, { before, after }: ErrorMap) {
  const [rows, columns] = before.shape;
  canvas.width = columns;
  canvas.height = rows;
  const errors = before.values.map((row, i) => row.map((x, j) => Math.abs(x - after.values[i][j])));
  const most = Math.max(Number.MIN_VALUE, ...errors.map((row) => Math.max(...row)));
  const context = context2d(canvas);
  context.fillStyle = getComputedStyle(canvas).color;
  for (const [i, row] of errors.entries()) {
    for (const [j, error] of row.entries()) {
      context.globalAlpha = error / most;
      context.fillRect(j, i, 1, 1);
    }
  }
}

function ErrorMapView({ map }: { map: ErrorMap }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    if (canvas.current) drawMap(canvas.current, map);
  }, [map]);
  const [rows, columns] = map.before.shape;
  return (
    <>
      <h3>Error map</h3>
      <canvas
        ref={canvas}
        class="detail-map"
        role="img"
        aria-label="Sizes of the errors in the first rows and columns"
      />
      <p class="detail-note">
        The first {rows} rows and {columns} columns. The stronger the colour, the larger the error.
      </p>
    </>
  );
}

export interface Cell {
  scheme: string;
  /** The scheme that the layer is pinned to. */
  pin: string | undefined;
  /** The scheme that the plan gives the layer. */
  planned: string | undefined;
  /** Why the plan does so. */
  reason: string;
}

interface Actions {
  /** undefined removes the pin. */
  onPin: (scheme: string | undefined) => void;
  onPlay: () => void;
}

/** Buttons that pin the layer to a scheme or to its own dtype, and one for the playground. */
function ActionsView({ scheme, pin, dtype, onPin, onPlay }: Cell & Actions & { dtype: string }) {
  const button = (text: string, wanted?: string) => (
    <Button action="pin" data-pin={wanted ?? ""} onClick={() => onPin(wanted)}>
      {text}
    </Button>
  );
  return (
    <p class="detail-actions">
      {pin !== scheme && button(`Pin ${scheme}`, scheme)}
      {pin !== "keep" && button(`Keep in ${dtype}`, "keep")}
      {pin !== undefined && button("Remove the pin")}
      <Button action="play" onClick={onPlay}>
        Open in the playground
      </Button>
    </p>
  );
}

const Fact = ({ row, metric, of }: { row: Detail; metric: Metric; of: "outputs" | "weights" }) => {
  const field = of === "outputs" ? fieldOf(row, metric) : metric;
  const value = metricWithUnit(metric, row[field] ?? Number.NaN);
  return (
    <div>
      <dt>
        {METRICS[metric].title}
        {row.shows === "outputs" && ` of ${of}`}
      </dt>
      <dd>
        {isEstimated(row, field) && "≈ "}
        {value}
      </dd>
    </div>
  );
};

/** A cell of the table. */
function CellView({ row, cell, ...actions }: { row: Detail; cell: Cell } & Actions) {
  const { planned, reason } = cell;
  const { shape, dtype, scheme, bytes, histograms: pair, map, worstRows = [] } = row;
  const isOutputs = row.shows === "outputs";
  return (
    <>
      <p class="detail-what">
        {shapeText(shape)} {dtype} as <strong class="ink-code">{scheme}</strong>: {bytesText(bytes)}
      </p>
      <dl class="detail-facts">
        {isOutputs &&
          (["sqnr", "mse"] as const).map((metric) => <Fact {...{ row, metric }} of="outputs" />)}
        {(["sqnr", "mse", "max", "cosine"] as const).map((metric) => (
          <Fact {...{ row, metric }} of="weights" />
        ))}
      </dl>
      {planned && (
        <p class="detail-plan">
          {planned === "keep" ? (
            `The plan keeps this layer in ${dtype}. `
          ) : (
            <>
              The plan gives this layer <strong class="ink-code">{planned}</strong>.{" "}
            </>
          )}
          {reason}
        </p>
      )}
      <ActionsView {...cell} {...actions} dtype={dtype} />
      {isOutputs && (
        <p class="detail-note">
          {row.moments === "full"
            ? "Error of the outputs: the mean over all inputs that you added."
            : "Error of the outputs, estimated: the mean over all inputs that you added, as if the inputs were " +
              "uncorrelated. The exact error may differ by several dB."}
        </p>
      )}
      {pair.before && (
        <>
          <h3>{pair.after ? "Values before and after" : "Values"}</h3>
          <Histograms before={pair.before} after={pair.after} />
          <p class="detail-note">
            {pair.after && "Above: the original values. Below: the dequantized values. "}
            The height of a bar is the square root of its count, so that rare values stay visible.
            {row.isLarge &&
              " Dequantized values and errors are not drawn: the layer is too large to hold both in memory."}
          </p>
        </>
      )}
      {map && <ErrorMapView map={map} />}
      <h3>Bounds for every input</h3>
      <p>
        The error of an output of this layer is at most <strong>{plainNumber(row.norm1)}</strong>{" "}
        times the largest input (the largest ‖Δw‖₁ of all rows), and at most{" "}
        <strong>{plainNumber(row.norm2)}</strong> times the Euclidean norm of the input (the largest
        ‖Δw‖₂). The accuracy of the model does not follow from these bounds.
      </p>
      {worstRows.length > 0 && (
        <>
          <h3>Rows with the largest error</h3>
          <Facts titles={["Row", "SQNR", "‖Δw‖₁", "‖Δw‖₂"]}>
            {worstRows.map((each) => (
              <tr>
                <th scope="row">{each.row}</th>
                <td>{decibelText(each.relative)}</td>
                <td>{plainNumber(each.norm1)}</td>
                <td>{plainNumber(each.norm2)}</td>
              </tr>
            ))}
          </Facts>
        </>
      )}
    </>
  );
}

/** What the dialog shows of a layer, or of any tensor its values. */
export interface Details {
  name: string;
  /** undefined for values. */
  cell?: Cell;
  row?: Detail;
  values?: Histogram;
  problem?: string;
}

/** @param details  undefined while the dialog is closed */
export function Drawer({
  details,
  onClose,
  ...actions
}: { details: Details | undefined; onClose: () => void } & Actions) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    if (details && !dialog.current?.open) dialog.current?.showModal();
    if (!details) dialog.current?.close();
  }, [details]);
  const { name, cell, row, values, problem } = details ?? { name: "" };
  return (
    <dialog
      ref={dialog}
      class="lab-drawer"
      aria-labelledby="lab-detail-title"
      // The event comes late: the next details may be open by then.
      onClose={() => !dialog.current?.open && onClose()}
      onClick={(event) => {
        if (event.target === dialog.current || closest(event, "[data-action]"))
          dialog.current?.close();
      }}
    >
      {/* The focus begins on the button, which stays while the content is replaced. */}
      <div class="detail-head">
        <h2 id="lab-detail-title">
          <code>{name}</code>
        </h2>
        <Button action="close" aria-label="Close">
          ×
        </Button>
      </div>
      <div class="detail">
        {problem !== undefined && <p class="cell-error">{problem}</p>}
        {cell && row && <CellView {...{ cell, row, ...actions }} />}
        {values && (
          <>
            <p>
              From {plainNumber(values.min)} to {plainNumber(values.max)}, dequantized.
            </p>
            <Histograms before={values} />
            <p class="detail-note">The height of a bar is the square root of its count.</p>
          </>
        )}
        {!row && !values && problem === undefined && <p role="status">Reading this layer …</p>}
      </div>
    </dialog>
  );
}
