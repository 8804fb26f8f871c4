// Rows of very different size, under one scale for all and under one scale each.

import { formatNumber } from "../../shell/drawing/numbers.js";
import { h } from "../../shell/drawing/tree.js";
import { linear } from "../chart.js";
import type { Figure } from "../index.js";
import { dot, drawing, facts, line, samples, text, WIDE } from "../parts.js";

const COLUMNS = 10;
const sizes = [1, 0.3, 0.09];
const numbers = samples(sizes.length * COLUMNS, 11);
const rows = sizes.map((size, row) => {
  const sample = numbers.slice(row * COLUMNS, (row + 1) * COLUMNS);
  const reach = Math.max(...sample.map(Math.abs));
  return sample.map((value) => (value / reach) * size);
});

export const granularity: Figure = {
  controls: [],
  draw(_, zeropoint, width) {
    const x = zeropoint.tensor(rows);
    // 4 bits: few enough codes to see each of them.
    const perTensor = zeropoint.quantize(x, { dtype: "int4" });
    const perChannel = zeropoint.quantize(x, { dtype: "int4", axis: 0 });
    const isWide = width >= WIDE;
    const panelWidth = isWide ? (width - 32) / 2 : width;
    const panelHeight = 64 * rows.length + 34;
    const panels = [
      {
        title: "per tensor: one scale",
        quantized: perTensor,
        scales: rows.map(() => perTensor.scale),
      },
      {
        title: "per channel: one scale per row",
        quantized: perChannel,
        scales: Array.from(perChannel.scale.data),
      },
    ];
    // Far enough to show the codes next to 0, however coarse they are.
    const reaches = sizes.map((size) => Math.max(size * 1.05, perTensor.scale * 1.1));
    const described = panels.map(({ quantized, title, scales }) => {
      const restored = zeropoint.dequantize(quantized);
      const errors = rows.map((row, i) =>
        zeropoint.quantizationError(
          zeropoint.tensor(row),
          zeropoint.tensor(Array.from(restored.data.slice(i * COLUMNS, (i + 1) * COLUMNS))),
        ),
      );
      const used = rows.map(
        (_, i) => new Set(quantized.data.slice(i * COLUMNS, (i + 1) * COLUMNS)).size,
      );
      return { title, scales, errors, used, restored: restored.data };
    });

    return h(
      "div",
      {},
      drawing(
        width,
        isWide ? panelHeight : 2 * panelHeight + 20,
        "Three rows of values, each drawn at its own magnification, above the codes it is given. " +
          described
            .map(({ title, used }) => `${title}: the rows use ${used.join(", ")} codes`)
            .join(". "),
        described.map((panel, i) =>
          h(
            "g",
            {
              transform: isWide
                ? `translate(${i * (panelWidth + 32)} 0)`
                : `translate(0 ${i * (panelHeight + 20)})`,
            },
            drawPanel(panel, panelWidth, reaches),
          ),
        ),
      ),
      facts(
        "4-bit codes, row by row",
        ["", "Scale", "Codes used", "Mean squared error"],
        described.flatMap(({ title, scales, used, errors }) =>
          rows.map((_, i) => [
            `${title.split(":")[0]}, row ${i}`,
            scales[i],
            `${used[i]} of 15`,
            errors[i],
          ]),
        ),
      ),
    );
  },
};

/** @param reaches  half the length of each row's axis, the same in both panels */
function drawPanel(
  { title, scales, restored }: { title: string; scales: number[]; restored: Float32Array },
  width: number,
  reaches: number[],
) {
  return [
    text(0, 14, title, "label"),
    rows.map((row, i) => {
      const across = linear([-reaches[i], reaches[i]], [8, width - 8]);
      const y = 52 + i * 64;
      const reach = Math.min(7, Math.floor(reaches[i] / scales[i]));
      return [
        text(0, y - 14, `row ${i}: values within ±${formatNumber(sizes[i])}`, "tick"),
        line(8, y + 20, width - 8, y + 20, "axis"),
        Array.from({ length: 2 * reach + 1 }, (_, j) => across((j - reach) * scales[i])).map((at) =>
          line(at, y + 12, at, y + 28, "code used"),
        ),
        row.map((value, j) =>
          line(across(value), y, across(restored[i * COLUMNS + j]), y + 12, "thread"),
        ),
        row.map((value) => dot(across(value), y - 2, 3.5, "real")),
      ];
    }),
  ];
}
