// Each element with its code, its error and the scale that it shares: pointing at one shows the others.

import { formatNumber } from "../../shell/drawing/numbers.js";
import { h } from "../../shell/drawing/tree.js";
import type { Figure } from "../index.js";
import { COURSE } from "./by-hand.js";

const values = COURSE.flat();
const FIRST = 2; // the element that is shown at first

export const linked: Figure = {
  controls: [
    {
      name: "unit",
      label: "One scale for each",
      type: "choice",
      choices: [
        ["tensor", "Tensor"],
        ["0", "Row"],
        ["1", "Column"],
      ],
      value: "0",
    },
  ],

  draw({ unit }, zeropoint) {
    const x = zeropoint.tensor(COURSE);
    const quantized =
      unit === "tensor" ? zeropoint.quantize(x) : zeropoint.quantize(x, { axis: Number(unit) });
    const restored = zeropoint.dequantize(quantized).data;
    const { scale } = quantized;
    const scales = typeof scale === "number" ? [scale] : Array.from(scale.data);
    const sliceOf = (i: number) =>
      unit === "tensor" ? 0 : unit === "0" ? Math.floor(i / 3) : i % 3;
    const difference = (i: number) => Number((values[i] - restored[i]).toPrecision(3));
    const grid = (name: string, ink: string, read: (i: number) => number, isFirst = false) =>
      h(
        "table",
        {
          class: "linked-grid",
          role: isFirst ? "grid" : null,
          "aria-label": isFirst ? `${name}: arrow keys show code, error and scale` : null,
        },
        h("caption", {}, name),
        h(
          "tbody",
          {},
          [0, 1, 2].map((row) =>
            h(
              "tr",
              {},
              [0, 1, 2].map((column) => {
                const i = 3 * row + column;
                return h(
                  "td",
                  {
                    class: ink,
                    "data-element": i,
                    "data-slice": sliceOf(i),
                    "data-first": isFirst,
                    "data-shown": i === FIRST,
                    "data-sharing": sliceOf(i) === sliceOf(FIRST),
                  },
                  formatNumber(read(i)),
                );
              }),
            ),
          ),
        ),
      );
    return h(
      "div",
      { class: "linked", "data-linked": "" },
      h(
        "div",
        { class: "linked-grids" },
        grid("Value", "ink-real", (i) => values[i], true),
        grid("Code", "ink-code", (i) => quantized.data[i]),
        grid("Error", "ink-error", difference),
        h(
          "table",
          { class: "linked-grid" },
          h("caption", {}, "Scale"),
          h(
            "tbody",
            {},
            scales.map((each, slice) =>
              h(
                "tr",
                {},
                h(
                  "td",
                  { "data-scale": slice, "data-shown": slice === sliceOf(FIRST) },
                  Number(each.toPrecision(4)),
                ),
              ),
            ),
          ),
        ),
      ),
      h(
        "ul",
        { class: "linked-equations" },
        values.map((value, i) => {
          const s = String(Number(scales[sliceOf(i)].toPrecision(4)));
          return h(
            "li",
            { "data-equation": i, hidden: i !== FIRST },
            h("span", { class: "ink-real" }, formatNumber(value)),
            ` / ${s} rounds to `,
            h("span", { class: "ink-code" }, formatNumber(quantized.data[i])),
            `; ${formatNumber(quantized.data[i])} · ${s} = `,
            h("span", { class: "ink-real" }, formatNumber(restored[i])),
            "; off by ",
            h("span", { class: "ink-error" }, formatNumber(difference(i))),
          );
        }),
      ),
    );
  },
};
