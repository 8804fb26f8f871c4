// Some real numbers, the codes they get, and where the codes put them.

import { formatNumber } from "../../shell/drawing/numbers.js";
import { h } from "../../shell/drawing/tree.js";
import { linear } from "../chart.js";
import type { Figure } from "../index.js";
import { dot, drawing, facts, line, samples, text } from "../parts.js";

const values = samples(28, 7).map((value) => 0.62 * value + 0.55);

export const journey: Figure = {
  controls: [
    {
      name: "bits",
      label: "Bits",
      type: "choice",
      choices: [
        ["2", "2"],
        ["4", "4"],
        ["8", "8"],
      ],
      value: "4",
    },
    {
      name: "scheme",
      label: "Scheme",
      type: "choice",
      choices: [
        ["symmetric", "Symmetric"],
        ["affine", "Affine"],
      ],
      value: "symmetric",
    },
  ],

  draw({ bits: chosenBits, scheme: chosenScheme }, zeropoint, width) {
    const bits = Number(chosenBits) as 2 | 4 | 8;
    const scheme = chosenScheme as "symmetric" | "affine";
    const dtype = ({ 2: "int2", 4: "int4", 8: "int8" } as const)[bits];
    const x = zeropoint.tensor(values);
    const quantized = zeropoint.quantize(x, { dtype, scheme });
    const { scale, zeroPoint } = quantized;
    const restored = zeropoint.dequantize(quantized);
    const error = zeropoint.quantizationError(x, restored);

    const low = scheme === "symmetric" ? -(2 ** (bits - 1)) + 1 : -(2 ** (bits - 1));
    const high = 2 ** (bits - 1) - 1;
    const codes = Array.from({ length: high - low + 1 }, (_, i) => low + i);
    const real = (code: number) => (code - zeroPoint) * scale;

    const reach = Math.max(...values.map(Math.abs)) * 1.04;
    const across = linear([-reach, reach], [14, width - 14]);
    const used = new Set(quantized.data);
    const top = 46;
    const bottom = 178;
    const ticks = across.ticks(width < 480 ? 5 : 9);

    return h(
      "div",
      {},
      drawing(
        width,
        226,
        `${values.length} real numbers on a line; below it the ${codes.length} codes of ${scheme} ` +
          `${bits}-bit quantization, ${used.size} of them used. Each number is joined to its code.`,
        text(14, 14, "real numbers", "label real"),
        ticks.map((tick) => [
          line(across(tick), top - 12, across(tick), top - 6, "axis"),
          text(across(tick), top - 16, formatNumber(tick), "tick", "middle"),
        ]),
        line(14, top - 6, width - 14, top - 6, "axis"),
        Array.from(restored.data, (to, i) =>
          line(across(values[i]), top + 6, across(to), bottom - 12, "thread"),
        ),
        values.map((value) => dot(across(value), top + 4, 4, "real")),
        codes
          .filter((code) => Math.abs(real(code)) <= reach)
          .map((code) =>
            line(
              across(real(code)),
              bottom - 10,
              across(real(code)),
              bottom + 6,
              used.has(code) ? "code used" : "code unused",
            ),
          ),
        dot(across(0), bottom - 2, 7, "zero-point"),
        text(
          across(0),
          bottom + 24,
          `zero point: code ${formatNumber(zeroPoint)}`,
          "tick",
          "middle",
        ),
        text(
          14,
          bottom + 42,
          `${codes.length} codes, ${formatNumber(low)} to ${formatNumber(high)}`,
          "label code",
        ),
        text(width - 14, bottom + 42, `${used.size} in use`, "label code", "end"),
      ),
      facts(
        "What it costs",
        ["", "Scale", "Mean squared error", "Memory"],
        [
          [
            `${bits}\u00a0bits`,
            scale,
            error,
            `${Math.ceil((values.length * bits) / 8)} of ${values.length * 4} bytes`,
          ],
        ],
      ),
    );
  },
};
