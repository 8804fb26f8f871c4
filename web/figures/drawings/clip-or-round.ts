// Less range makes smaller steps and clips more: the error is least in between.

import { h } from "../../shell/drawing/tree.js";
import { curveDrawing } from "../curve.js";
import type { Figure, Zeropoint } from "../index.js";
import { facts, samples } from "../parts.js";

const SHARES = Array.from({ length: 15 }, (_, i) => (i + 6) / 20);
// Most values are small and a few are large, as in weights.
const values = samples(600, 3).map((value) => value * Math.abs(value) ** 1.2);
const reach = Math.max(...values.map(Math.abs));

export const clipOrRound: Figure = {
  predict: {
    question: "600 values, 15 codes. Which range gives the least error?",
    choices: ["all of it", "about two thirds", "a third of it"],
    answer: "about two thirds",
  },
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
      name: "share",
      label: "Range kept",
      type: "range",
      min: 30,
      max: 100,
      step: 5,
      value: 100,
      unit: "\u00a0%",
    },
  ],

  draw({ bits, share }, zeropoint, width) {
    const dtype = `int${bits}` as "int2" | "int4" | "int8";
    const points = SHARES.map((each) => costOf(each, dtype, zeropoint));
    const best = points.reduce((a, b) => (b.total <= a.total ? b : a));
    const now = points.find((each) => Math.round(each.share * 100) === Number(share)) ?? points[0];
    const percent = (each: number) => `${Math.round(100 * each)}\u00a0%`;
    const line = (name: "total" | "clipping" | "rounding") =>
      points.map((each) => ({ x: each.share, y: each[name] }));
    return h(
      "div",
      {},
      curveDrawing(
        {
          label: `Mean squared error of ${bits}-bit codes against the share of the range that is kept; least at ${percent(best.share)}. Clipping falls and rounding rises with the range.`,
          x: "share of the range that is kept",
          y: "mean squared error",
          isError: true,
          points: line("total"),
          others: [
            { points: line("clipping"), text: "clipping", class: "clipping" },
            { points: line("rounding"), text: "rounding", class: "rounding" },
          ],
          ticks: [0.4, 0.6, 0.8, 1].map((each) => [each, percent(each)]),
          best: best.share,
          current: now.share,
        },
        width,
        250,
      ),
      facts(
        `Least at ${percent(best.share)} of the range`,
        ["Range kept", "Clipping", "Rounding", "Mean squared error"],
        [
          [`here, ${percent(now.share)}`, now.clipping, now.rounding, now.total],
          [`least, ${percent(best.share)}`, best.clipping, best.rounding, best.total],
        ],
      ),
    );
  },
};

/** The errors of values beyond the range, and of those within, as parts of the mean. */
function costOf(share: number, dtype: "int2" | "int4" | "int8", zeropoint: Zeropoint) {
  const end = share * reach;
  const { scale } = zeropoint.chooseQParams(zeropoint.tensor([-end, end]), { dtype });
  const x = zeropoint.tensor(values);
  const restored = zeropoint.fakeQuantize(x, { dtype, scale });
  const partOf = (isIn: (value: number) => boolean) => {
    const places = values.flatMap((value, i) => (isIn(value) ? [i] : []));
    if (places.length === 0) return 0;
    const [a, b] = [x, restored].map(({ data }) => zeropoint.tensor(places.map((i) => data[i])));
    return (zeropoint.quantizationError(a, b) * places.length) / values.length;
  };
  return {
    share,
    clipping: partOf((value) => Math.abs(value) > end),
    rounding: partOf((value) => Math.abs(value) <= end),
    total: zeropoint.quantizationError(x, restored),
  };
}
