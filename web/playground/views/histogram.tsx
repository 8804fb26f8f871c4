// Histogram of the values, with ticks at the codes and movable ends of the range.

import { render, type TargetedKeyboardEvent, type TargetedPointerEvent } from "preact";
import { useState } from "preact/hooks";
import { axis, bars, linear, ticks } from "../../figures/chart.js";
import { dot, line, round, text } from "../../figures/parts.js";
import { Drawn } from "../../shell/drawing/drawn.js";
import { memo, useWidth } from "../../shell/drawing/hooks.js";
import { formatNumber } from "../../shell/drawing/numbers.js";
import { h } from "../../shell/drawing/tree.js";
import type { Data, Result } from "../engine.js";
import { isBlock, limitsOf } from "../state.js";
import { sliceOf } from "./geometry.js";
import { levelsOf } from "./levels.js";

export type Counts = { low: number; high: number; counts: Uint32Array };

/** What is drawn. */
interface Shown {
  data: Data;
  result: Result;
  /** The selected element. */
  element: number;
}

type OnMove = (low: number, high: number) => void;

const HEIGHT = 220;
const SIDE = 12;
const TOP = 26;
const BASE = 150;
const DENSEST = 3; // pixels between ticks
const LETTER = 8; // pixels of a bold letter

const HANDLES = [
  ["low", "Lower end of the range"],
  ["high", "Upper end of the range"],
] as const;

interface Props extends Omit<Shown, "data" | "result"> {
  data: Data | undefined;
  result: Result | undefined;
  onMove: OnMove;
}

export const Distribution = memo(({ data, result, element, onMove }: Props) => {
  const [place, width] = useWidth();
  return (
    <section class="play-distribution" aria-label="Distribution">
      <div class="play-histogram-place" ref={place}>
        {data && result && width >= 50 && (
          <Histogram data={data} result={result} element={element} width={width} onMove={onMove} />
        )}
      </div>
    </section>
  );
});

/**
 * Draws a histogram of another width for a picture.
 * @param use  called while it is in the document, for its styles
 */
export function withHistogram(shown: Shown, width: number, use: (svg: Element) => void) {
  const place = document.body.appendChild(document.createElement("div"));
  render(<Histogram {...shown} width={width} onMove={() => {}} />, place);
  if (place.firstElementChild) use(place.firstElementChild);
  render(null, place);
  place.remove();
}

function Histogram({ width, onMove, ...shown }: Shown & { width: number; onMove: OnMove }) {
  const { settings, evaluation } = shown.result;
  const counts = shown.data.histogram;
  const levels = isBlock(settings) ? [] : levelsOf(evaluation, limitsOf(settings), shown.element);
  const ends = { low: levels[0] ?? counts.low, high: levels.at(-1) ?? counts.high };
  const { low, high } = ends;
  const isWhole = settings.granularity === "tensor";
  const canMove = isWhole && settings.scheme !== "float" && levels.length > 0;
  /** The domain while an end is dragged, so that the drawing does not move below the pointer. */
  const [held, hold] = useState<readonly [number, number]>();
  const reach = counts.high - counts.low || Math.abs(counts.high) || 1;
  const domain = held ?? [
    Math.min(counts.low, low, 0) - 0.06 * reach,
    Math.max(counts.high, high, 0) + 0.06 * reach,
  ];
  const [from, to] = domain;
  const across = linear(domain, [SIDE, width - SIDE]);

  const move = (end: "low" | "high", wanted: number) => {
    const isLow = end === "low";
    const isSymmetric = settings.scheme === "symmetric";
    const least = (to - from) / 1000;
    // An affine range contains 0; a symmetric one has it in the middle.
    const limit = isSymmetric ? least : 0;
    const place = isLow ? Math.min(wanted, -limit) : Math.max(wanted, limit);
    const other = isSymmetric ? -place : isLow ? high : low;
    const [lower, upper] = isLow ? [place, other] : [other, place];
    if (upper - lower >= least) onMove(Math.fround(lower), Math.fround(upper));
  };
  const grasp = (event: TargetedPointerEvent<SVGGElement>) => {
    event.preventDefault();
    event.currentTarget.focus();
    event.currentTarget.setPointerCapture(event.pointerId);
    hold(domain);
  };
  const drag = (end: "low" | "high", event: TargetedPointerEvent<SVGGElement>) => {
    const handle = event.currentTarget;
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const left = handle.ownerSVGElement?.getBoundingClientRect().left ?? 0;
    move(end, across.invert(event.clientX - left));
  };
  const pressKey = (end: "low" | "high", event: TargetedKeyboardEvent<SVGGElement>) => {
    const step = (to - from) / (event.shiftKey ? 20 : 200);
    const places: Record<string, number> = {
      ArrowLeft: ends[end] - step,
      ArrowDown: ends[end] - step,
      ArrowRight: ends[end] + step,
      ArrowUp: ends[end] + step,
      PageDown: ends[end] - 10 * step,
      PageUp: ends[end] + 10 * step,
      Home: counts.low,
      End: counts.high,
    };
    if (!(event.key in places)) return;
    event.preventDefault();
    move(end, places[event.key]);
  };

  const unit = settings.granularity === "channel" ? "channel" : "group";
  const codesText = isBlock(settings)
    ? "each block has codes of its own"
    : isWhole
      ? `${levels.length} codes`
      : `${levels.length} codes of ${unit} ${sliceOf(evaluation.slices, shown.element)}`;
  // On a narrow screen the name of the codes gets a line of its own.
  const isSplit = LETTER * ("real numbers".length + codesText.length + 2) > width - 2 * SIDE;
  const height = HEIGHT + (isSplit ? 18 : 0);
  const value = across(shown.data.values[shown.element]);
  const restored = across(evaluation.restored[shown.element]);
  const label =
    `Histogram of values from ${formatNumber(counts.low)} to ${formatNumber(counts.high)}; ` +
    `${levels.length} codes from ${formatNumber(low)} to ${formatNumber(high)}.`;
  const drawing = h(
    "g",
    { role: "img", "aria-label": label },
    barsOf(counts, isWhole ? reachOf(levels) : reachOf([]), across),
    axis([SIDE, width - SIDE], BASE),
    h("path", { class: "levels", d: ticksAt(levels.map(across), width) }),
    ticks(across, across.ticks(Math.round(width / 90)), BASE + 44),
    text(SIDE, HEIGHT - 8, "real numbers", "label real"),
    isSplit
      ? text(SIDE, height - 8, codesText, "label code")
      : text(width - SIDE, height - 8, codesText, "label code", "end"),
    line(value, BASE, restored, BASE + 14, "thread strong"),
    dot(value, BASE, 4.5, "real"),
    dot(restored, BASE + 14, 4.5, "code-dot"),
  );
  return (
    <svg
      class="drawing play-histogram"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="group"
      aria-label="Histogram"
    >
      <Drawn trees={drawing} />
      {canMove &&
        HANDLES.map(([end, name]) => (
          <g
            key={end}
            class="play-handle"
            role="slider"
            tabindex={0}
            transform={`translate(${round(across(ends[end]))} 0)`}
            aria-label={name}
            aria-orientation="horizontal"
            aria-valuemin={Number(from.toPrecision(4))}
            aria-valuemax={Number(to.toPrecision(4))}
            aria-valuenow={Number(ends[end].toPrecision(6))}
            aria-valuetext={formatNumber(ends[end])}
            onPointerDown={grasp}
            onPointerMove={(event) => drag(end, event)}
            onPointerUp={() => hold(undefined)}
            onPointerCancel={() => hold(undefined)}
            onKeyDown={(event) => pressKey(end, event)}
          >
            <rect class="touch" x={-22} y={TOP - 10} width={44} height={BASE - TOP + 44} />
            <line x1={0} x2={0} y1={TOP - 4} y2={BASE + 22} />
            <path d={`M-6 ${TOP - 10} H6 V${TOP - 3} L0 ${TOP + 5} L-6 ${TOP - 3} Z`} />
          </g>
        ))}
    </svg>
  );
}

/** @param reach  of the numbers that are not clipped */
function barsOf(counts: Counts, [low, high]: number[], across: (x: number) => number) {
  const most = Math.max(...counts.counts);
  const topOf = (count: number) => BASE - Math.max(2.5, ((BASE - TOP) * count) / most);
  return ["bar", "bar clipped"].map((name) =>
    h("path", {
      class: name,
      d: bars(counts, across, BASE, topOf, (x) => (x >= low && x <= high) === (name === "bar")),
    }),
  );
}

/** The path of ticks at places of the axis, but for those that are too dense. */
function ticksAt(places: number[], width: number) {
  let last = Number.NEGATIVE_INFINITY;
  let path = "";
  for (const at of places) {
    if (at < 0 || at > width || at - last < DENSEST) continue;
    path += `M${round(at)} ${BASE + 6}V${BASE + 22}`;
    last = at;
  }
  return path;
}

/**
 * The ends of the numbers that are rounded and not clipped: half a step beyond the least and the greatest code.
 * @param levels  the real number of each code, in order
 */
export function reachOf(levels: number[]) {
  if (levels.length < 2) return [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  const half = (levels[1] - levels[0]) / 2;
  return [levels[0] - half, levels[levels.length - 1] + half];
}
