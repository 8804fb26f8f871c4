// Scale and zero point by hand, on the course's own tensor: codes, errors and the reach of the codes.

import { formatNumber } from "../../shell/drawing/numbers.js";
import { h } from "../../shell/drawing/tree.js";
import { linear } from "../chart.js";
import type { Figure } from "../index.js";
import { closedFacts, dot, drawing, line, text } from "../parts.js";
import { scrub } from "../scrub.js";

export const COURSE = [
  [191.6, -13.5, 728.6],
  [92.14, 295.5, -184],
  [0, 684.6, 245.5],
];
const values = COURSE.flat();
const [LEAST, MOST] = [-420, 1000]; // ends of the axis
const [TOP, BOTTOM] = [52, 112]; // heights of the numbers and of the codes

export const byHand: Figure = {
  controls: [
    { name: "scale", label: "Scale", type: "range", min: 0.5, max: 8, step: 0.01, value: 3.5 },
    { name: "zero", label: "Zero point", type: "range", min: -128, max: 127, step: 1, value: -70 },
  ],

  draw({ scale: scaleText, zero }, zeropoint, width) {
    const scale = Number(scaleText);
    const zeroPoint = Number(zero);
    const x = zeropoint.tensor(COURSE);
    const quantized = zeropoint.quantize(x, { scale, zeroPoint, scheme: "affine" });
    const restored = zeropoint.dequantize(quantized);
    const error = zeropoint.quantizationError(x, restored);
    const [low, high] = [-128, 127].map((code) => scale * (code - zeroPoint));
    const saturated = values.filter(
      (value) => value < low - scale / 2 || value > high + scale / 2,
    ).length;
    const across = linear([LEAST, MOST], [10, width - 10]).clamp(true);
    const errorOf = (i: number) =>
      formatNumber(Number((values[i] - restored.data[i]).toPrecision(4)));
    const step = Math.max(1, Math.ceil(3 / (across(scale) - across(0))));
    const codes = Array.from({ length: Math.ceil(256 / step) }, (_, i) => -128 + i * step);
    return h(
      "div",
      {},
      h(
        "p",
        { class: "figure-prose" },
        "With a step of ",
        scrub("scale", scale),
        " and the zero point at ",
        scrub("zero", zeroPoint),
        ", the codes −128 to 127 stand for the real values from ",
        h("b", { class: "ink-code" }, formatNumber(low)),
        " to ",
        h("b", { class: "ink-code" }, formatNumber(high)),
        ". ",
        saturated === 0
          ? "Every value is inside"
          : `${saturated} of 9 values ${saturated === 1 ? "saturates" : "saturate"}`,
        "; the mean squared error is ",
        h("b", { class: "ink-error" }, formatNumber(error)),
        ".",
      ),
      drawing(
        width,
        146,
        `Nine real numbers from −184 to 728.6, and the reach of 256 codes from ${formatNumber(low)} to ${formatNumber(high)}.`,
        text(10, 12, "real numbers", "label real"),
        text(width - 10, 12, "0 is the circle", "tick", "end"),
        across
          .ticks(width < 480 ? 4 : 8)
          .filter((tick) => across(tick) < width - 24) // half of its number is right of it
          .map((tick) => [
            line(across(tick), TOP - 12, across(tick), TOP - 6, "axis"),
            text(across(tick), TOP - 16, formatNumber(tick), "tick", "middle"),
          ]),
        line(10, TOP - 6, width - 10, TOP - 6, "axis"),
        Array.from(restored.data, (to, i) =>
          line(across(values[i]), TOP + 6, across(to), BOTTOM - 8, "thread"),
        ),
        values.map((value) => dot(across(value), TOP + 4, 4, "real")),
        codes
          .map((code) => scale * (code - zeroPoint))
          .filter((place) => place > LEAST && place < MOST)
          .map((place) => line(across(place), BOTTOM - 8, across(place), BOTTOM + 8, "code used")),
        dot(across(0), BOTTOM, 6, "zero-point"),
        text(across(0), BOTTOM + 28, `code ${formatNumber(zeroPoint)}`, "tick", "middle"),
      ),
      h(
        "div",
        { class: "linked-grids is-read" },
        grid("Code", "ink-code", (i) => formatNumber(quantized.data[i])),
        grid("Restored", "ink-real", (i) => formatNumber(restored.data[i])),
        grid("Error: value − restored", "ink-error", errorOf),
      ),
      closedFacts(
        "The nine elements",
        ["", "Value", "Code", "Restored", "Error"],
        values.map((value, i) => [
          `[${Math.floor(i / 3)}, ${i % 3}]`,
          value,
          quantized.data[i],
          restored.data[i],
          errorOf(i),
        ]),
      ),
    );
  },
};

/** Nine numbers in the shape of the tensor. */
function grid(name: string, ink: string, read: (i: number) => string) {
  return h(
    "table",
    { class: "linked-grid" },
    h("caption", {}, name),
    h(
      "tbody",
      {},
      [0, 3, 6].map((first) =>
        h(
          "tr",
          {},
          [first, first + 1, first + 2].map((i) => h("td", { class: ink }, read(i))),
        ),
      ),
    ),
  );
}
