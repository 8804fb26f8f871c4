// Three curves: error against bits, against the share of the range that is kept, against the size of groups.

import { curveDrawing } from "../../figures/curve.js";
import { facts } from "../../figures/parts.js";
import { Drawn } from "../../shell/drawing/drawn.js";
import { memo, useWidth } from "../../shell/drawing/hooks.js";
import { formatNumber } from "../../shell/drawing/numbers.js";
import type { Sweep } from "../engine.js";
import { isBlock } from "../state.js";
import { ClosedTable } from "./table.js";

const HEIGHT = 230;

export const CurvesView = memo(({ sweep }: { sweep: Sweep | undefined }) => (
  <section class="play-curves" aria-label="Other settings">
    <Curve name="Bits" {...(sweep && bitsCurve(sweep))} />
    <Curve name="Range" {...(sweep && clipCurve(sweep))} />
    <Curve name="Groups" {...(sweep && groupCurve(sweep))} />
  </section>
));

type Drawing = ReturnType<typeof bitsCurve | typeof clipCurve | typeof groupCurve>;

function Curve({ name, caption = name, note, curve, table }: { name: string } & Partial<Drawing>) {
  const [figure, width] = useWidth<HTMLElement>();
  return (
    <figure class="play-curve" ref={figure} hidden={curve && curve.points.length < 2}>
      <figcaption>
        {caption}
        <span class="play-range">{note}</span>
      </figcaption>
      <div class="play-curve-drawing">
        {curve && width >= 60 && <Drawn trees={curveDrawing(curve, width, HEIGHT)} />}
      </div>
      <ClosedTable name={name}>{() => table && <Drawn trees={table()} />}</ClosedTable>
    </figure>
  );
}

function bitsCurve({ curves: { bits }, settings }: Sweep) {
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
    table: () =>
      facts(
        "Error against bits",
        ["Bits", "SQNR, dB", "Mean squared error"],
        bits.map(({ x, sqnr, mse }) => [x, decibels(sqnr), mse]),
      ),
  };
}

function clipCurve({ curves: { clip, clipNow } }: Sweep) {
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
    table: () =>
      facts(
        "Error against range",
        ["Share", "Mean squared error", "SQNR, dB"],
        clip.map(({ x, mse, sqnr }) => [percent(x), mse, decibels(sqnr)]),
      ),
  };
}

function groupCurve({ curves: { group }, settings, shape }: Sweep) {
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
    table: () =>
      facts(
        "Error against group size",
        ["Values", "SQNR, dB", "Mean squared error", "Bits a value"],
        group.map(({ x, sqnr, mse, bitsPerValue }) => [name(x), decibels(sqnr), mse, bitsPerValue]),
      ),
  };
}

export const decibels = (value: number) =>
  value === Number.POSITIVE_INFINITY ? "exact" : value.toFixed(1).replace("-", "−");
