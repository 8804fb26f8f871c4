// The size slider: a point of the frontier becomes a plan.

import { axis, levels, linear, lineThrough, logarithmic, ticks } from "../../figures/chart.js";
import { drawing } from "../../figures/parts.js";
import { bytesText } from "../../shell/drawing/numbers.js";
import { h, toDom } from "../../shell/drawing/tree.js";
import { placeLabels } from "./frontier-labels.js";

const HEIGHT = 260;
/** Charts of fewer pixels have numbers in the place of names, and a list of the names below. */
const NAMED = 640;
const MARGIN = { top: 22, right: 16, bottom: 34, left: 56 };

/**
 * @typedef {{ bytes: number, error: number }} Point  of the frontier: bytes ascending, error descending
 * @typedef {{ name: string, bytes: number, error: number }} Uniform  one scheme for all layers
 */

/** Signal to noise of a relative squared error, in dB. @param {number} error */
export const decibels = (error) => (error > 0 ? -10 * Math.log10(error) : Number.POSITIVE_INFINITY);

/** @param {number} error */
export const decibelText = (error) => (error > 0 ? `${decibels(error).toFixed(1)} dB` : "no error");

/** What the error of a plan is estimated from. */
const ESTIMATES = {
  samples: "estimated from samples of the layers",
  squares: "estimated as if the inputs of layers with more than 512 were uncorrelated",
};

/** How far the error of a plan is from the least possible one. @param {number | null} gap */
function boundText(gap) {
  if (gap === null) return "";
  const least = "the least possible error at this size";
  return gap > 0 ? `at most ${(100 * gap).toPrecision(1)} % above ${least}` : least;
}

/**
 * The chart of error against bytes, and on narrow screens the list of its circles.
 * @param {readonly Point[]} points
 * @param {readonly Uniform[]} uniforms
 * @param {Point} current
 * @param {number} width  in pixels
 */
function chart(points, uniforms, current, width) {
  const shown = points.filter(({ error }) => error > 0);
  const errors = [...shown, ...uniforms.filter(({ error }) => error > 0)].map(({ error }) => error);
  const sizes = [...points, ...uniforms].map(({ bytes }) => bytes);
  if (errors.length < 2) return [];
  const ends = /** @type {const} */ ([MARGIN.left, width - MARGIN.right]);
  const bottom = HEIGHT - MARGIN.bottom;
  const x = linear([Math.min(...sizes), Math.max(...sizes)], ends);
  const y = logarithmic([Math.min(...errors), Math.max(...errors)], [MARGIN.top, bottom]);
  /** Of decibels. */
  const down = (/** @type {number} */ value) => y(10 ** (-value / 10));
  const placeOf = (/** @type {Point} */ { bytes, error }) => ({ x: x(bytes), y: y(error) });
  const line = shown.map(placeOf);
  const isNamed = width >= NAMED;
  const circles = uniforms
    .filter(({ error }) => error > 0)
    .sort((a, b) => a.bytes - b.bytes)
    .map((uniform, i) => ({
      ...placeOf(uniform),
      name: uniform.name,
      text: isNamed ? uniform.name : String(i + 1),
    }));
  const labels = placeLabels(circles, line, {
    left: MARGIN.left,
    right: width,
    top: 0,
    bottom,
  });
  const marker = current.error > 0 ? y(current.error) : MARGIN.top;
  const drawn = drawing(
    width,
    HEIGHT,
    "Signal to noise against the size of the file: the line shows the best plan of each size, each circle one scheme for all layers",
    ticks(x, x.ticks(isNamed ? 5 : 3), HEIGHT - 12, tickText),
    levels(down, decibelTicks(y), ends, (value) => `${value} dB`),
    axis(ends, bottom),
    lineThrough(line, Number, Number, "curve is-quality"),
    circles.map((circle, i) =>
      h(
        "g",
        { class: "frontier-uniform" },
        h("title", {}, circle.name),
        h("circle", { cx: circle.x, cy: circle.y, r: 3.5 }),
        h("text", { x: labels[i].x, y: labels[i].y, "text-anchor": labels[i].anchor }, circle.text),
      ),
    ),
    h("circle", { class: "frontier-current", cx: x(current.bytes), cy: marker, r: 6 }),
  );
  const key = h(
    "ol",
    { class: "frontier-key" },
    circles.map(({ name }) => h("li", {}, name)),
  );
  return isNamed ? [drawn] : [drawn, key];
}

/** A tick of the axis of bytes, without zeros behind the point. @param {number} value */
const tickText = (value) => bytesText(value).replace(/\.0\b/, "");

/** Multiples of 10 dB within the scale. @param {import("d3-scale").ScaleLogarithmic<number, number>} y */
function decibelTicks(y) {
  const [high, low] = y.domain().map(decibels);
  const ticks = [];
  for (let value = Math.ceil(low / 10) * 10; value <= high; value += 10) ticks.push(value);
  return ticks;
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
        ["Scheme", "File, about", "SQNR"].map((title) => h("th", { scope: "col" }, title)),
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
    box.replaceChildren(...drawn.map((part) => toDom(part)));
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
     * @param {{ budget: number, fileBytes: number, error: number, gap: number | null, metric: string,
     *   estimate?: keyof ESTIMATES }} plan
     *   fileBytes: as the points have it, about that of the file; gap: null if no bound is known
     * @param {readonly { size: number }[]} files  that the writer makes of the plan
     * @param {number} whole  bytes of the file as it is
     */
    show(plan, files, whole) {
      current = { bytes: plan.fileBytes, error: plan.error };
      draw();
      let nearest = 0;
      while (nearest + 1 < points.length && points[nearest + 1].bytes <= plan.budget) nearest++;
      slider.value = String(nearest);
      const bytes = files.reduce((sum, { size }) => sum + size, 0);
      const share = `${((100 * bytes) / whole).toFixed(0)} %`;
      const count = files.length === 1 ? "" : ` in ${files.length} files`;
      const parts = [
        `${bytesText(bytes)}${count} (${share} of ${bytesText(whole)})`,
        `${plan.estimate ? "≈ " : ""}${decibelText(plan.error)} in ${plan.metric === "output" ? "outputs" : "weights"}`,
        plan.estimate ? ESTIMATES[plan.estimate] : boundText(plan.gap),
      ];
      const text = parts.filter(Boolean).join(", ");
      output.textContent = text;
      slider.setAttribute("aria-valuetext", text);
    },
  };
}
