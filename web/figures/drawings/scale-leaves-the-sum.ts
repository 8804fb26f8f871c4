// A linear layer with codes for weights: every product has the scale, so the sum has it once.

import { h, type Nested } from "../../shell/drawing/tree.js";
import type { Figure } from "../index.js";

const input = [1, 2, 3];
const weight = [
  [-2, -1.13, 0.42],
  [-1.51, 0.25, 1.62],
  [0.23, 1.35, 2.15],
];
const STEPS = 4;

export const scaleLeavesTheSum: Figure = {
  controls: [
    {
      name: "row",
      label: "Output",
      type: "choice",
      choices: [
        ["0", "0"],
        ["1", "1"],
        ["2", "2"],
      ],
      value: "0",
    },
    { name: "step", label: "Steps", type: "range", min: 1, max: STEPS, step: 1, value: 4 },
    { name: "step", label: "Steps of the sum", type: "player", next: "Next step" },
  ],

  draw({ row: rowText, step }, zeropoint) {
    const row = Number(rowText);
    const quantized = zeropoint.quantize(zeropoint.tensor(weight));
    const codes = Array.from(quantized.data.slice(3 * row, 3 * row + 3));
    const scale = Number(quantized.scale.toPrecision(6));
    const output = zeropoint.linear(zeropoint.tensor([input]), quantized).data[row];
    const exact = zeropoint.linear(zeropoint.tensor([input]), zeropoint.tensor(weight)).data[row];
    const sum = codes.reduce((total, code, i) => total + code * input[i], 0);
    const real = (value: number) => h("b", { class: "ink-real" }, shown(value));
    const code = (value: number) => h("b", { class: "ink-code" }, shown(value));
    const s = () => h("b", { class: "scale-mark" }, String(scale));
    const lines: Nested[][] = [
      [
        "Weights as they were",
        input.map((value, i) => [i > 0 && " + ", real(value), " · ", real(weight[row][i])]),
        [" = ", real(digits(exact))],
      ],
      [
        "Each weight is scale · code",
        input.map((value, i) => [i > 0 && " + ", real(value), " · ", s(), " · ", code(codes[i])]),
        "",
      ],
      [
        "The scale is in every product: it leaves the sum",
        [
          s(),
          " · (",
          input.map((value, i) => [i > 0 && " + ", real(value), " · ", code(codes[i])]),
          ")",
        ],
        "",
      ],
      [
        "One multiplication by the scale is left",
        [s(), " · ", real(sum)],
        [" = ", real(digits(output))],
      ],
    ];
    return h(
      "ol",
      { class: "derivation" },
      lines.map(([name, middle, end], i) =>
        h(
          "li",
          { class: i < Number(step) ? null : "to-come" },
          h("span", { class: "derivation-name" }, name),
          h("span", { class: "derivation-line" }, middle, end),
        ),
      ),
    );
  },
};

const digits = (value: number) => Number(value.toFixed(4));

const shown = (value: number) => (value < 0 ? `(−${Math.abs(value)})` : String(value));
