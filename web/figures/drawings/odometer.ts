// int8 arithmetic at the ends of its range: a dial of 256 codes wraps around.

import { formatNumber } from "../../shell/drawing/numbers.js";
import { h } from "../../shell/drawing/tree.js";
import type { Figure } from "../index.js";
import { dot, drawing, facts, line, round, text } from "../parts.js";

const SIZE = 230;
const MIDDLE = SIZE / 2;
const RADIUS = 82;

/** The place of a code on the dial: 0 at the top, the seam between 127 and −128 at the bottom. */
function placeOf(code: number, radius: number) {
  const angle = ((code + 0.5) / 256) * 2 * Math.PI;
  return { x: MIDDLE + radius * Math.sin(angle), y: MIDDLE - radius * Math.cos(angle) };
}

export const odometer: Figure = {
  predict: {
    question: "In int8 arithmetic, what is 127 − (−70)?",
    choices: ["197", "127", "−59"],
    answer: "−59",
  },
  controls: [
    { name: "code", label: "Code", type: "range", min: -128, max: 127, step: 1, value: 127 },
    { name: "zero", label: "Zero point", type: "range", min: -128, max: 127, step: 1, value: -70 },
  ],

  draw({ code: codeText, zero: zeroText }) {
    const [code, zero] = [Number(codeText), Number(zeroText)];
    const exact = code - zero;
    const [wrapped] = new Int8Array([exact]);
    const saturated = Math.max(-128, Math.min(127, exact));
    // The path from the code, step by step; a negative zero point goes up.
    const way = Array.from({ length: Math.abs(zero) + 1 }, (_, i) => code - Math.sign(zero) * i);
    const path = way
      .map((each) => placeOf(each, RADIUS + 14 - (each > 127 || each < -128 ? 4 : 0)))
      .map(({ x, y }) => `${round(x)},${round(y)}`)
      .join(" ");
    const crosses = exact !== wrapped;
    const end = placeOf(wrapped, RADIUS);
    return h(
      "div",
      { class: "beside" },
      drawing(
        SIZE,
        SIZE,
        `A dial of 256 codes. From ${formatNumber(code)} the hand goes ${Math.abs(zero)} steps ${zero < 0 ? "up" : "down"} and ` +
          `${crosses ? "crosses the seam between 127 and −128" : "stays on this side of the seam"}: it shows ${formatNumber(wrapped)}.`,
        Array.from({ length: 64 }, (_, i) => -128 + 4 * i).map((each) => {
          const [from, to] = [
            placeOf(each, RADIUS),
            placeOf(each, RADIUS - (each % 32 === 0 ? 12 : 6)),
          ];
          return line(from.x, from.y, to.x, to.y, "code used");
        }),
        line(MIDDLE, MIDDLE + RADIUS - 16, MIDDLE, MIDDLE + RADIUS + 20, "seam"),
        text(MIDDLE - 8, MIDDLE + RADIUS - 20, "−128", "tick", "end"),
        text(MIDDLE + 8, MIDDLE + RADIUS - 20, "127", "tick"),
        h("polyline", { class: crosses ? "way crossing" : "way", points: path }),
        line(MIDDLE, MIDDLE, end.x, end.y, "hand"),
        [-64, 0, 64].map((each) => {
          const { x, y } = placeOf(each, RADIUS - 26);
          return text(x, y + 5, formatNumber(each), "tick over", "middle");
        }),
        dot(MIDDLE, MIDDLE, 4, "pivot"),
        dot(placeOf(code, RADIUS + 14).x, placeOf(code, RADIUS + 14).y, 5, "code-dot"),
        text(
          MIDDLE,
          MIDDLE - 20,
          formatNumber(wrapped),
          crosses ? "dial wrong over" : "dial over",
          "middle",
        ),
      ),
      facts(
        `${formatNumber(code)} − ${zero < 0 ? `(${formatNumber(zero)})` : zero}`,
        ["", "Result", "Times 3.5"],
        [
          ["float32", exact, 3.5 * exact],
          ["int8, wraps", wrapped, 3.5 * wrapped],
          ["int8, if it saturated", saturated, 3.5 * saturated],
        ],
      ),
    );
  },
};
