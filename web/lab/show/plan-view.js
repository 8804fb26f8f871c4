// The size slider: a point of the frontier becomes a plan.

import { scaleLinear, scaleLog } from "d3-scale";
import { h, toDom } from "../../shell/drawing/tree.js";
import { bytesText } from "../format.js";

const HEIGHT = 220;
/** Narrower charts, in pixels, leave the labels of schemes to the tooltips. */
const LABELLED = 460;
const MARGIN = { top: 14, right: 16, bottom: 34, left: 56 };

/**
 * @typedef {{ bytes: number, error: number }} Point  of the frontier: bytes ascending, error descending
 * @typedef {{ name: string, bytes: number, error: number }} Uniform  one scheme for all layers
 */

/** Signal to noise of a relative squared error, in dB. @param {number} error */
export const decibels = (error) => (error > 0 ? -10 * Math.log10(error) : Number.POSITIVE_INFINITY);

/** @param {number} error */
export const decibelText = (error) => (error > 0 ? `${decibels(error).toFixed(1)} dB` : "no error");

/** How far the error of a plan is from the least possible one. @param {number | null} gap */
function boundText(gap) {
  if (gap === null) return "";
  const least = "the least possible error of this size";
  return gap > 0 ? `at most ${(100 * gap).toPrecision(1)} % above ${least}` : least;
}

/**
 * The chart of error against bytes.
 * @param {readonly Point[]} points
 * @param {readonly Uniform[]} uniforms
 * @param {Point} current
 * @param {number} width  in pixels
 */
function chart(points, uniforms, current, width) {
  const shown = points.filter(({ error }) => error > 0);
  const errors = [...shown, ...uniforms.filter(({ error }) => error > 0)].map(({ error }) => error);
  const sizes = [...points, ...uniforms].map(({ bytes }) => bytes);
  if (errors.length < 2) return undefined;
  const x = scaleLinear()
    .domain([Math.min(...sizes), Math.max(...sizes)])
    .range([MARGIN.left, width - MARGIN.right]);
  const y = scaleLog()
    .domain([Math.min(...errors), Math.max(...errors)])
    .range([MARGIN.top, HEIGHT - MARGIN.bottom]);
  const path = shown.map((point, i) => {
    const place = `${x(point.bytes).toFixed(1)} ${y(point.error).toFixed(1)}`;
    return `${i === 0 ? "M" : "L"}${place}`;
  });
  const places = labelPlaces(
    uniforms.filter(({ error }) => error > 0),
    x,
    y,
    width - MARGIN.right,
  );
  const marker = current.error > 0 ? y(current.error) : MARGIN.top;
  return h(
    "svg",
    {
      class: "frontier",
      viewBox: `0 0 ${width} ${HEIGHT}`,
      role: "img",
      "aria-label":
        "Signal to noise against size: the line shows the best plan of each size, each circle one scheme for all layers",
    },
    x
      .ticks(width < LABELLED ? 3 : 5)
      .map((value) =>
        h(
          "g",
          { class: "frontier-tick" },
          h("path", { d: `M${x(value)} ${HEIGHT - MARGIN.bottom}v5` }),
          h("text", { x: x(value), y: HEIGHT - 12, "text-anchor": "middle" }, bytesText(value)),
        ),
      ),
    decibelTicks(y).map((value) =>
      h(
        "g",
        { class: "frontier-tick" },
        h("path", {
          class: "frontier-rule",
          d: `M${MARGIN.left} ${y(10 ** (-value / 10))}H${width - MARGIN.right}`,
        }),
        h(
          "text",
          { x: MARGIN.left - 8, y: y(10 ** (-value / 10)) + 4, "text-anchor": "end" },
          `${value} dB`,
        ),
      ),
    ),
    h("path", { class: "frontier-line", d: path.join("") }),
    places.map(({ name, left, top, end, baseline }) =>
      h(
        "g",
        { class: "frontier-uniform" },
        h("title", {}, name),
        h("circle", { cx: left, cy: top, r: 3.5 }),
        width >= LABELLED &&
          h(
            "text",
            { x: left + (end ? -7 : 7), y: baseline, "text-anchor": end ? "end" : "start" },
            name,
          ),
      ),
    ),
    h("circle", { class: "frontier-current", cx: x(current.bytes), cy: marker, r: 6 }),
  );
}

/** Multiples of 10 dB within the scale. @param {import("d3-scale").ScaleLogarithmic<number, number>} y */
function decibelTicks(y) {
  const [high, low] = y.domain().map(decibels);
  const ticks = [];
  for (let value = Math.ceil(low / 10) * 10; value <= high; value += 10) ticks.push(value);
  return ticks;
}

/**
 * Dots with labels below the line, which rises to the right; labels of neighbours move down.
 * @param {readonly Uniform[]} uniforms
 * @param {(bytes: number) => number} x
 * @param {(error: number) => number} y
 * @param {number} right  end of the room
 */
function labelPlaces(uniforms, x, y, right) {
  const taken = /** @type {{ left: number, right: number, baseline: number }[]} */ ([]);
  return [...uniforms]
    .sort((a, b) => y(a.error) - y(b.error))
    .map(({ name, bytes, error }) => {
      const [left, top] = [x(bytes), y(error)];
      const width = name.length * 6.4 + 12;
      const end = left + width > right;
      const [from, to] = end ? [left - width, left] : [left, left + width];
      let baseline = top + (end ? 18 : 12);
      while (
        taken.some(
          (other) =>
            other.left < to && from < other.right && Math.abs(other.baseline - baseline) < 12,
        )
      ) {
        baseline += 12;
      }
      taken.push({ left: from, right: to, baseline });
      return { name, left, top, end, baseline };
    });
}

/** The circles of the chart as a table. @param {readonly Uniform[]} uniforms */
const uniformTable = (uniforms) =>
  h(
    "table",
    { class: "facts" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ["Scheme", "Size", "SQNR"].map((title) => h("th", { scope: "col" }, title)),
      ),
    ),
    h(
      "tbody",
      {},
      uniforms.map(({ name, bytes, error }) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, name),
          h("td", {}, bytesText(bytes)),
          h("td", {}, decibelText(error)),
        ),
      ),
    ),
  );

/**
 * Draws the chart and connects the slider.
 * @param {HTMLElement} parent
 * @param {{ onBudget: (bytes: number) => void }} handlers
 */
export function createPlanView(parent, { onBudget }) {
  /** @type {readonly Point[]} */
  let points = [];
  /** @type {readonly Uniform[]} */
  let uniforms = [];
  parent.replaceChildren(
    toDom(h("div", { class: "frontier-box" })),
    toDom(
      h(
        "label",
        { class: "budget" },
        h("span", {}, "Size of the quantized file"),
        h("input", { type: "range", min: 0, max: 0, step: 1, value: 0 }),
        h("output", { class: "budget-text" }),
      ),
    ),
    toDom(
      h(
        "details",
        { class: "frontier-table" },
        h("summary", {}, "One scheme for all layers"),
        h("div", { class: "scroll-x" }),
      ),
    ),
  );
  const box = /** @type {HTMLElement} */ (parent.querySelector(".frontier-box"));
  const slider = /** @type {HTMLInputElement} */ (parent.querySelector("input"));
  const output = /** @type {HTMLElement} */ (parent.querySelector("output"));
  /** @type {Point | undefined} */
  let current;
  const draw = () => {
    if (!current || box.clientWidth === 0) return;
    const drawn = chart(points, uniforms, current, box.clientWidth);
    box.replaceChildren(...(drawn ? [toDom(drawn)] : []));
  };
  new ResizeObserver(draw).observe(box);
  slider.addEventListener("input", () => onBudget(points[Number(slider.value)].bytes));

  return {
    /** @param {readonly Point[]} newPoints @param {readonly Uniform[]} newUniforms */
    setFrontier(newPoints, newUniforms) {
      points = newPoints;
      uniforms = newUniforms;
      slider.max = String(points.length - 1);
      parent.querySelector(".frontier-table > div")?.replaceChildren(toDom(uniformTable(uniforms)));
    },
    /**
     * Shows a plan.
     * @param {{ bytes: number, error: number, gap: number | null, metric: string, isEstimate: boolean }} plan
     *   gap: null if no bound is known
     * @param {number} whole  bytes of the file as it is
     */
    show(plan, whole) {
      current = plan;
      draw();
      let nearest = 0;
      while (nearest + 1 < points.length && points[nearest + 1].bytes <= plan.bytes) nearest++;
      slider.value = String(nearest);
      const share = `${((100 * plan.bytes) / whole).toFixed(0)} %`;
      const parts = [
        `${bytesText(plan.bytes)} (${share} of ${bytesText(whole)})`,
        `${plan.isEstimate ? "≈ " : ""}${decibelText(plan.error)} in ${plan.metric === "output" ? "outputs" : "weights"}`,
        plan.isEstimate ? "estimated from samples of the layers" : boundText(plan.gap),
      ];
      const text = parts.filter(Boolean).join(", ");
      output.textContent = text;
      slider.setAttribute("aria-valuetext", text);
    },
  };
}
