// Batches pass; one observer keeps the extremes, another a moving average of them.

import { scaleLinear } from "d3-scale";
import { formatNumber } from "../plot.js";
import { h } from "../tree.js";
import { dot, drawing, facts, line, samples, text } from "./parts.js";

const BATCHES = 12;
const SIZE = 9;
const OUTLIER = 4;
// PyTorch's default is 0.01; a larger weight shows the effect within a dozen batches.
const NEW_WEIGHT = 0.25;

const numbers = samples(BATCHES * SIZE, 21);
const batches = Array.from({ length: BATCHES }, (_, i) => {
  const batch = numbers.slice(i * SIZE, (i + 1) * SIZE).map((value) => value * 0.8 + 0.3);
  if (i === OUTLIER) batch[3] = 6.5;
  return batch;
});

/** @type {import("./index.js").Figure} */
export const observer = {
  controls: [
    {
      name: "seen",
      label: "Batches seen",
      type: "range",
      min: 1,
      max: BATCHES,
      step: 1,
      value: 8,
    },
  ],

  draw({ seen: chosen }, zeropoint, width) {
    const seen = Number(chosen);
    const history = observe(seen);
    const last = history[seen - 1];
    const all = batches.flat();
    const top = 30;
    const bottom = 236;
    const across = scaleLinear()
      .domain([0.4, BATCHES + 0.6])
      .range([34, width - 6]);
    const down = scaleLinear()
      .domain([Math.min(...all) - 0.4, Math.max(...all) + 0.4])
      .range([bottom, top]);
    const half = (across(1) - across(0)) / 2;

    /**
     * @param {"minMax" | "average"} kind
     */
    const band = (kind) => {
      const steps = history.map((entry, i) => ({
        left: across(i + 1) - half,
        right: across(i + 1) + half,
        ...entry[kind],
      }));
      const over = steps.map(
        ({ left, right, max }) => `${left} ${down(max)} ${right} ${down(max)}`,
      );
      const under = steps.map(
        ({ left, right, min }) => `${right} ${down(min)} ${left} ${down(min)}`,
      );
      return h("polygon", {
        class: `band ${kind}`,
        points: [...over, ...under.reverse()].join(" "),
      });
    };

    const verdicts = /** @type {const} */ ([
      ["min-max", last.minMax],
      ["moving average", last.average],
    ]).map(([name, range]) => {
      const qparams = zeropoint.chooseQParams(zeropoint.tensor([range.min, range.max]), {
        dtype: "uint8",
        scheme: "affine",
      });
      return [name, range.min, range.max, qparams.scale, qparams.zeroPoint];
    });

    return h(
      "div",
      {},
      drawing(
        width,
        270,
        `After ${seen} of ${BATCHES} batches the min-max observer holds ` +
          `${formatNumber(last.minMax.min)} to ${formatNumber(last.minMax.max)}, the moving average ` +
          `${formatNumber(last.average.min)} to ${formatNumber(last.average.max)}. ` +
          `Batch ${OUTLIER + 1} has an outlier at 6.5.`,
        down
          .ticks(5)
          .map((tick) => [
            line(34, down(tick), width - 6, down(tick), "grid"),
            text(28, down(tick) + 4, formatNumber(tick), "tick", "end"),
          ]),
        band("minMax"),
        band("average"),
        batches.map((batch, i) =>
          batch.map((value) =>
            dot(across(i + 1), down(value), 3, i < seen ? "real" : "real unseen"),
          ),
        ),
        batches.map((_, i) => text(across(i + 1), bottom + 18, String(i + 1), "tick", "middle")),
        text(across(6.5), bottom + 34, "batch", "tick", "middle"),
        text(34, 14, "min-max", "label real"),
        text(104, 14, "moving average", "label code"),
      ),
      facts(
        `What each observer says after ${seen} ${seen === 1 ? "batch" : "batches"}`,
        ["", "Min", "Max", "Scale", "Zero point"],
        verdicts.map(([name, ...values]) => [name, ...values]),
      ),
    );
  },
};

/** @param {number} count */
function observe(count) {
  /** @type {{ minMax: { min: number, max: number }, average: { min: number, max: number } }[]} */
  const history = [];
  for (const batch of batches.slice(0, count)) {
    const min = Math.min(...batch);
    const max = Math.max(...batch);
    const before = history.at(-1);
    history.push(
      before
        ? {
            minMax: {
              min: Math.min(before.minMax.min, min),
              max: Math.max(before.minMax.max, max),
            },
            average: {
              min: before.average.min + NEW_WEIGHT * (min - before.average.min),
              max: before.average.max + NEW_WEIGHT * (max - before.average.max),
            },
          }
        : { minMax: { min, max }, average: { min, max } },
    );
  }
  return history;
}
