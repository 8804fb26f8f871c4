// A bit more halves the step: 6 decibels, for any data.

import { h } from "../../shell/drawing/tree.js";
import { curveDrawing } from "../curve.js";
import type { Figure } from "../index.js";
import { closedFacts, samples } from "../parts.js";

const BITS = [2, 3, 4, 5, 6, 7, 8];
const normal = samples(2000, 9);
const DATA: Record<string, number[]> = {
  even: normal.map((_, i) => (2 * i) / (normal.length - 1) - 1),
  normal,
  outlier: normal.map((value, i) => (i === 1000 ? 24 : value)),
};

export const errorBits: Figure = {
  controls: [
    {
      name: "data",
      label: "Values",
      type: "choice",
      choices: [
        ["even", "evenly spread"],
        ["normal", "normal"],
        ["outlier", "with one outlier"],
      ],
      value: "normal",
    },
  ],

  draw({ data }, zeropoint, width) {
    const x = zeropoint.tensor(DATA[data]);
    const points = BITS.map((bits) => {
      // PyTorch's observer and fake quantization take any limits of codes.
      const [quantMin, quantMax] = [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1];
      const observer = new zeropoint.MinMaxObserver({
        dtype: "qint8",
        qscheme: "per_tensor_symmetric",
        quantMin,
        quantMax,
      });
      observer.observe(x);
      const [scale] = observer.calculateQParams().scale.data;
      const restored = zeropoint.fakeQuantizePerTensor(x, scale, 0, quantMin, quantMax);
      return {
        bits,
        sqnr: zeropoint.quantizationError(x, restored, "sqnr"),
        mse: zeropoint.quantizationError(x, restored),
      };
    });
    const last = points[points.length - 1];
    return h(
      "div",
      {},
      curveDrawing(
        {
          label: `Signal to noise for 2 to 8 bits, from ${points[0].sqnr.toFixed(1)} to ${last.sqnr.toFixed(1)} decibels, beside a line of 6 decibels a bit.`,
          x: "bits",
          y: "SQNR, dB",
          hasMarks: true,
          points: points.map(({ bits, sqnr }) => ({ x: bits, y: sqnr })),
          ticks: BITS.map((bits) => [bits, String(bits)]),
          reference: {
            from: [2, last.sqnr - 6.02 * 6],
            to: [8, last.sqnr],
            text: "6 dB a bit",
          },
        },
        width,
        240,
      ),
      closedFacts(
        "2,000 values, one symmetric scale, in PyTorch’s arithmetic",
        ["Bits", "SQNR, dB", "A bit more gave", "Mean squared error"],
        points.map(({ bits, sqnr, mse }, i) => [
          String(bits),
          sqnr.toFixed(1).replace("-", "−"),
          i === 0 ? "" : `${(sqnr - points[i - 1].sqnr).toFixed(1)}\u00a0dB`,
          mse,
        ]),
      ),
    );
  },
};
