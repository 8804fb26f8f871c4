// Groups: smaller ones follow the data more closely, and every group brings a scale.

import { formatNumber } from "../../shell/drawing/numbers.js";
import { h } from "../../shell/drawing/tree.js";
import { curveDrawing } from "../curve.js";
import type { Figure } from "../index.js";
import { facts, samples } from "../parts.js";

const COLUMNS = 512;
const SIZES = [8, 16, 32, 64, 128, 256, COLUMNS];
const numbers = samples(4 * COLUMNS, 21);

export const groupSize: Figure = {
  controls: [
    {
      name: "outliers",
      label: "Outliers in a row",
      type: "choice",
      choices: [
        ["0", "none"],
        ["1", "one"],
        ["4", "four"],
      ],
      value: "1",
    },
    {
      name: "size",
      label: "Group",
      type: "choice",
      choices: [
        ["8", "8"],
        ["32", "32"],
        ["128", "128"],
        ["512", "row"],
      ],
      value: "32",
    },
  ],

  draw({ outliers, size }, zeropoint, width) {
    const data = numbers.map((value, i) =>
      i % COLUMNS < 129 * Number(outliers) && (i % COLUMNS) % 129 === 40
        ? 12 * Math.sign(value)
        : value,
    );
    const x = zeropoint.tensor(data, [4, COLUMNS]);
    const points = SIZES.map((each) => {
      const quantized = zeropoint.quantize(x, { dtype: "int4", groupSize: each });
      const restored = zeropoint.dequantize(quantized);
      const scales = data.length / each;
      const bytes = zeropoint.pack(quantized).length + 4 * scales;
      return {
        size: each,
        bytes,
        bits: (8 * bytes) / data.length,
        sqnr: zeropoint.quantizationError(x, restored, "sqnr"),
        mse: zeropoint.quantizationError(x, restored),
      };
    });
    const name = (each: number) => (each === COLUMNS ? "row" : String(each));
    const now = points.find((each) => each.size === Number(size)) ?? points[0];
    return h(
      "div",
      {},
      curveDrawing(
        {
          label: `Signal to noise of 4-bit codes for groups of ${SIZES.map(name).join(", ")}; below each the bits of a value, scales included.`,
          x: "group size; bits a value",
          y: "SQNR, dB",
          isEven: true,
          points: points.map((each) => ({ x: each.size, y: each.sqnr })),
          ticks: points.map((each) => [
            each.size,
            name(each.size),
            formatNumber(Number(each.bits.toPrecision(3))),
          ]),
          current: now.size,
        },
        width,
        240,
      ),
      facts(
        "4-bit codes of 4 rows of 512 values",
        ["Group", "Bytes", "Bits a value", "SQNR, dB", "Mean squared error"],
        [
          [
            name(now.size),
            now.bytes,
            formatNumber(Number(now.bits.toPrecision(3))),
            now.sqnr.toFixed(1),
            now.mse,
          ],
          [
            "row",
            points[6].bytes,
            formatNumber(Number(points[6].bits.toPrecision(3))),
            points[6].sqnr.toFixed(1),
            points[6].mse,
          ],
        ],
      ),
    );
  },
};
