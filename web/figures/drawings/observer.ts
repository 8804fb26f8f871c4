// Feeds batches to three of the package's observers and draws their state after every batch.

import { formatNumber } from "../../shell/drawing/numbers.js";
import { h } from "../../shell/drawing/tree.js";
import { axis, bars, levels, linear, ticks } from "../chart.js";
import type { Figure, Zeropoint } from "../index.js";
import { dot, drawing, facts, line, round, samples, text } from "../parts.js";

const BATCHES = 12;
const SIZE = 16;
const OUTLIER = 4;
// PyTorch's default is 0.01; a larger weight shows the effect within a dozen batches.
const NEW_WEIGHT = 0.25;
// Few enough to draw each; PyTorch's default is 2048.
const BINS = 64;

const numbers = samples(BATCHES * SIZE, 21);
const batches = Array.from({ length: BATCHES }, (_, i) => {
  const batch = numbers.slice(i * SIZE, (i + 1) * SIZE).map((value) => value * 0.8 + 0.3);
  if (i === OUTLIER) batch[3] = 6.5;
  return batch;
});
const all = batches.flat();
const LOW = Math.min(...all) - 0.4;
const HIGH = Math.max(...all) + 0.4;

type Range = { min: number; max: number };

export const observer: Figure = {
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
    { name: "seen", label: "Batches", type: "player", next: "Next batch" },
  ],

  draw({ seen: chosen }, zeropoint, width) {
    const seen = Number(chosen);
    const { history, histogram, verdicts } = observe(seen, zeropoint);
    return h(
      "div",
      {},
      rangesDrawing(seen, history, width),
      histogramDrawing(seen, history[seen - 1], histogram, width),
      facts(
        `What each observer says after ${seen} ${seen === 1 ? "batch" : "batches"}`,
        ["", "Min", "Max", "Scale", "Zero point"],
        verdicts,
      ),
    );
  },
};

/** `chosen` is the histogram's. */
type Entry = { minMax: Range; average: Range; chosen: Range };
function observe(count: number, zeropoint: Zeropoint) {
  const minMax = new zeropoint.MinMaxObserver();
  const average = new zeropoint.MovingAverageMinMaxObserver({ averagingConstant: NEW_WEIGHT });
  const counter = new zeropoint.HistogramObserver({ bins: BINS });
  const history = batches.slice(0, count).map((batch) => {
    const x = zeropoint.tensor(batch);
    for (const one of [minMax, average, counter]) one.observe(x);
    return {
      minMax: rangeOf(minMax),
      average: rangeOf(average),
      chosen: counter.searchRange(),
    };
  });
  const last = history[count - 1];
  const verdicts = (
    [
      ["min-max", last.minMax, minMax],
      ["moving average", last.average, average],
      ["histogram", last.chosen, counter],
    ] as const
  ).map(([name, { min, max }, one]) => {
    const { scale, zeroPoint } = one.calculateQParams();
    return [name, min, max, scale.data[0], zeroPoint.data[0]];
  });
  const histogram = { counts: counter.histogram.data, ...rangeOf(counter) };
  return { history, histogram, verdicts };
}

function rangeOf({
  minVal,
  maxVal,
}: {
  minVal: { data: Float32Array };
  maxVal: { data: Float32Array };
}): Range {
  return { min: minVal.data[0], max: maxVal.data[0] };
}

function describe({ min, max }: Range) {
  return `${formatNumber(min)} to ${formatNumber(max)}`;
}

/** The batches side by side, and the range of each observer growing with them. */
function rangesDrawing(seen: number, history: Entry[], width: number) {
  const isNarrow = width < 330; // too narrow for the three names in one line
  const top = isNarrow ? 46 : 30;
  const bottom = 216;
  const across = linear([0.4, BATCHES + 0.6], [34, width - 6]);
  const down = linear([LOW, HIGH], [bottom, top]);
  const half = (across(1) - across(0)) / 2;

  const band = (kind: keyof Entry) => {
    const steps = history.map((entry, i) => ({
      left: round(across(i + 1) - half),
      right: round(across(i + 1) + half),
      over: round(down(entry[kind].max)),
      under: round(down(entry[kind].min)),
    }));
    const above = steps.map(({ left, right, over }) => `${left} ${over} ${right} ${over}`);
    const below = steps.map(({ left, right, under }) => `${right} ${under} ${left} ${under}`);
    return h("polygon", {
      class: `band ${kind}`,
      points: [...above, ...below.reverse()].join(" "),
    });
  };

  const last = history[seen - 1];
  return drawing(
    width,
    250,
    `After ${seen} of ${BATCHES} batches the min-max observer holds ${describe(last.minMax)}, the ` +
      `moving average ${describe(last.average)}, and the histogram observer chooses ` +
      `${describe(last.chosen)}. Batch ${OUTLIER + 1} has an outlier at 6.5.`,
    levels(down, down.ticks(5), [34, width - 6]),
    band("minMax"),
    band("average"),
    band("chosen"),
    batches.map((batch, i) =>
      batch.map((value) =>
        dot(across(i + 1), down(value), 2.5, i < seen ? "real faint" : "real unseen"),
      ),
    ),
    ticks(
      across,
      [...batches.keys()].map((i) => i + 1),
      bottom + 18,
    ),
    text(across(6.5), bottom + 32, "batch", "tick", "middle"),
    // The gaps are those of wide letters.
    text(0, 14, "min-max", "label real"),
    text(86, 14, "moving average", "label code"),
    text(isNarrow ? 0 : 220, isNarrow ? 31 : 14, "histogram", "label"),
  );
}

/** The counts of the histogram observer, with the three ranges below. */
function histogramDrawing(
  seen: number,
  entry: Entry,
  { counts, min, max }: Range & { counts: Float32Array },
  width: number,
) {
  const base = 112;
  const across = linear([LOW, HIGH], [10, width - 10]);
  const up = linear([0, Math.max(...counts)], [base, 26]);
  const { chosen } = entry;
  const ranges = [
    ["minMax", entry.minMax],
    ["average", entry.average],
    ["chosen", chosen],
  ] as const;
  return drawing(
    width,
    176,
    `The histogram after ${seen} ${seen === 1 ? "batch" : "batches"}: ${BINS} bins from ` +
      `${describe({ min, max })}. It would quantize ${describe(chosen)}.`,
    h("rect", {
      class: "chosen-part",
      x: round(across(chosen.min)),
      y: 22,
      width: round(across(chosen.max) - across(chosen.min)),
      height: base - 22,
    }),
    h("path", { class: "bin", d: bars({ counts, low: min, high: max }, across, base, up) }),
    axis([10, width - 10], base),
    ticks(across, across.ticks(6), base + 16),
    text(10, 14, `${seen * SIZE} values counted`, "label"),
    ranges.map(([kind, range], i) => {
      const y = base + 32 + i * 12;
      const [left, right] = [across(range.min), across(range.max)];
      return h(
        "g",
        { class: `reach ${kind}` },
        line(left, y, right, y),
        line(left, y - 4, left, y + 4),
        line(right, y - 4, right, y + 4),
      );
    }),
  );
}
