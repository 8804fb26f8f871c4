// Three curves: error against bits, against the share of the range that is kept, against the size of groups.

import { curveDrawing } from "../../figures/curve.js";
import { facts } from "../../figures/parts.js";
import { find } from "../../shell/dom.js";
import { formatNumber } from "../../shell/drawing/numbers.js";
import { h, toDom } from "../../shell/drawing/tree.js";
import { makeScrollable } from "../../shell/scrollable.js";
import { isBlock, type Settings } from "../state.js";
import type { Curves } from "../worker/sweeps.js";

const HEIGHT = 230;
const NAMES = ["Bits", "Range", "Groups"];

export class CurvesView {
  place: HTMLElement;
  figures;
  #shown: { curves: Curves; settings: Settings; shape: readonly number[] } | undefined;
  /** The width of each figure; measured only when it changes, because measuring forces a layout. */
  #rooms = new Map<Element, number>();

  constructor(place: HTMLElement) {
    this.place = place;
    this.figures = NAMES.map((name) => {
      const figure = toDom(
        h(
          "figure",
          { class: "play-curve" },
          h("figcaption", {}, name),
          h("div", { class: "play-curve-drawing" }),
          h(
            "details",
            { class: "panel-table" },
            h("summary", {}, "Table", h("span", { class: "visually-hidden" }, ` of ${name}`)),
            h("div", {}),
          ),
        ),
      );
      place.append(figure);
      return figure;
    });
    const observer = new ResizeObserver((entries) => {
      for (const { target, contentRect } of entries) this.#rooms.set(target, contentRect.width);
      this.#draw();
    });
    for (const figure of this.figures) observer.observe(figure);
  }

  show(curves: Curves, settings: Settings, shape: readonly number[]) {
    this.#shown = { curves, settings, shape };
    this.#draw();
  }

  #draw() {
    if (!this.#shown) return;
    const { curves, settings, shape } = this.#shown;
    const parts = [
      bitsCurve(curves, settings),
      clipCurve(curves),
      groupCurve(curves, settings, shape),
    ];
    for (const [i, figure] of this.figures.entries()) {
      const { curve, caption, note, table } = parts[i];
      const box = find(figure, ".play-curve-drawing");
      const width = Math.floor(this.#rooms.get(figure) ?? 0);
      const title = find(figure, "figcaption");
      title.replaceChildren(caption, toDom(h("span", { class: "play-range" }, note)));
      figure.hidden = curve.points.length < 2;
      if (figure.hidden || width < 60) continue;
      box.replaceChildren(toDom(curveDrawing(curve, width, HEIGHT)));
      const tableBox = find(figure, "details > div");
      tableBox.replaceChildren(toDom(table));
      makeScrollable(tableBox);
    }
  }
}

function bitsCurve({ bits }: Curves, settings: Settings) {
  const points = bits.map(({ x, sqnr }) => ({ x, y: sqnr }));
  const last = points.at(-1) ?? { x: 8, y: 0 };
  const from = Math.max(bits[0]?.x ?? 1, 2);
  const reference = Number.isFinite(last.y)
    ? {
        from: [from, last.y - 6.02 * (last.x - from)] as [number, number],
        to: [last.x, last.y] as [number, number],
        text: "6 dB a bit",
      }
    : undefined;
  const now = bits.find(({ x }) => x === settings.bits && !isBlock(settings));
  return {
    caption: "Error against bits",
    note: now ? `${decibels(now.sqnr)} dB at ${now.x === 1 ? "1 bit" : `${now.x} bits`}` : "",
    curve: {
      label: `Signal to quantization noise, in decibels, for ${bits.map(({ x }) => x).join(", ")} bits. The table has the values.`,
      x: "bits",
      y: "SQNR, dB",
      points,
      hasMarks: true,
      ticks: bits.map(({ x }) => [x, String(x)] as [number, string]),
      current: isBlock(settings) ? undefined : settings.bits,
      reference,
    },
    table: facts(
      "Error against bits",
      ["Bits", "SQNR, dB", "Mean squared error"],
      bits.map(({ x, sqnr, mse }) => [x, decibels(sqnr), mse]),
    ),
  };
}

function clipCurve({ clip, clipNow }: Curves) {
  const points = clip.map(({ x, mse }) => ({ x, y: mse }));
  const best = points.reduce((a, b) => (b.y <= a.y ? b : a), points[0] ?? { x: 1, y: 0 });
  const now =
    clipNow === undefined
      ? undefined
      : points.reduce(
          (a, b) => (Math.abs(b.x - clipNow) < Math.abs(a.x - clipNow) ? b : a),
          points[0],
        );
  const percent = (share: number) => `${Math.round(100 * share)}\u00a0%`;
  return {
    caption: "Error against range",
    note: `least at ${percent(best.x)}`,
    curve: {
      label: `Mean squared error where only a share of the whole range is kept and the rest is clipped; least at ${percent(best.x)}. The table has the values.`,
      x: "share of the whole range",
      y: "mean squared error",
      isError: true,
      points,
      ticks: [0.25, 0.5, 0.75, 1].map((share) => [share, percent(share)] as [number, string]),
      best: best.x,
      current: now?.x,
    },
    table: facts(
      "Error against range",
      ["Share", "Mean squared error", "SQNR, dB"],
      clip.map(({ x, mse, sqnr }) => [percent(x), mse, decibels(sqnr)]),
    ),
  };
}

function groupCurve({ group }: Curves, settings: Settings, shape: readonly number[]) {
  const size = shape.reduce((product, length) => product * length, 1);
  const channel = shape.length > 1 ? size / shape[0] : undefined;
  const name = (x: number) => (x === size ? "tensor" : x === channel ? "channel" : String(x));
  const { granularity, axis, groupSize } = settings;
  const current =
    granularity === "group" ? groupSize : granularity === "channel" && axis === 0 ? channel : size;
  const now = isBlock(settings) ? undefined : group.find(({ x }) => x === current);
  return {
    caption: "Error against group size",
    note: now
      ? `${decibels(now.sqnr)} dB at ${formatNumber(Number(now.bitsPerValue.toPrecision(3)))} bits a value`
      : "",
    curve: {
      label:
        "Signal to quantization noise, in decibels, for each size of group, with the bits of a value below. The table has the values.",
      x: "values with one scale; bits a value",
      y: "SQNR, dB",
      isEven: true,
      points: group.map(({ x, sqnr }) => ({ x, y: sqnr })),
      ticks: group.map(
        ({ x, bitsPerValue }) =>
          [x, name(x), formatNumber(Number(bitsPerValue.toPrecision(3)))] as [
            number,
            string,
            string,
          ],
      ),
      current: isBlock(settings) ? undefined : current,
    },
    table: facts(
      "Error against group size",
      ["Values", "SQNR, dB", "Mean squared error", "Bits a value"],
      group.map(({ x, sqnr, mse, bitsPerValue }) => [name(x), decibels(sqnr), mse, bitsPerValue]),
    ),
  };
}

export const decibels = (value: number) =>
  value === Number.POSITIVE_INFINITY ? "exact" : value.toFixed(1).replace("-", "−");
