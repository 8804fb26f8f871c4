// The same data under a symmetric and an affine range, wherever the reader moves it.

import { formatNumber } from "../../shell/drawing/numbers.js";
import { h } from "../../shell/drawing/tree.js";
import { linear } from "../chart.js";
import type { Figure } from "../index.js";
import { dot, drawing, facts, line, samples, text } from "../parts.js";

const base = samples(60, 5);
const reach = Math.max(...base.map(Math.abs));

export const affineSymmetric: Figure = {
  controls: [
    {
      name: "shift",
      label: "Move the data",
      type: "range",
      min: -100,
      max: 100,
      step: 5,
      value: 80,
      unit: "\u00a0%",
    },
  ],

  draw({ shift }, zeropoint, width) {
    const values = base.map((value) => value / reach + Number(shift) / 100);
    const x = zeropoint.tensor(values);
    const across = linear([-2.05, 2.05], [10, width - 10]);
    const schemes = (["symmetric", "affine"] as const).map((scheme) => {
      const quantized = zeropoint.quantize(x, { dtype: "int4", scheme });
      const error = zeropoint.quantizationError(x, zeropoint.dequantize(quantized));
      const least = Math.min(...quantized.data);
      const greatest = Math.max(...quantized.data);
      return { scheme, quantized, error, least, greatest };
    });

    return h(
      "div",
      {},
      drawing(
        width,
        250,
        `60 values from ${formatNumber(Math.min(...values))} to ${formatNumber(Math.max(...values))}. ` +
          schemes
            .map(
              ({ scheme, least, greatest }) =>
                `${scheme} 4-bit codes from ${formatNumber(least)} to ${formatNumber(greatest)} cover them`,
            )
            .join("; "),
        text(10, 14, "data", "label real"),
        values.map((value, i) => dot(across(value), 34 + (i % 7) * 5, 3, "real faint")),
        line(across(0), 22, across(0), 226, "zero-line"),
        text(across(0), 244, "real 0", "tick", "middle"),
        schemes.map(({ scheme, quantized, least, greatest }, i) => {
          const y = 112 + i * 72;
          const low = scheme === "symmetric" ? -7 : -8;
          const codes = Array.from({ length: 8 - low }, (_, j) => low + j);
          const real = (code: number) => (code - quantized.zeroPoint) * quantized.scale;
          return [
            text(10, y - 14, scheme, "label code"),
            line(10, y, width - 10, y, "axis"),
            codes.map((code) =>
              line(
                across(real(code)),
                y - 9,
                across(real(code)),
                y + 9,
                code >= least && code <= greatest ? "code used" : "code unused",
              ),
            ),
            text(across(real(low)), y + 24, formatNumber(low), "tick", "middle"),
            text(across(real(7)), y + 24, "7", "tick", "middle"),
          ];
        }),
      ),
      facts(
        "The same data in 4 bits",
        ["", "Scale", "Zero point", "Codes used", "Mean squared error"],
        schemes.map(({ scheme, quantized, error, least, greatest }) => [
          scheme,
          quantized.scale,
          quantized.zeroPoint,
          `${greatest - least + 1} of ${scheme === "symmetric" ? 15 : 16}`,
          error,
        ]),
      ),
    );
  },
};
