// A small line chart of one error against one choice: its points, the least of them, and the current one.

import { formatNumber } from "../shell/drawing/numbers.js";
import { axis, levels, linear, lineThrough, logarithmic } from "./chart.js";
import { dot, drawing, line, text } from "./parts.js";

interface Curve {
  /** Text alternative for screen readers. */
  label: string;
  /** Name of the horizontal axis. */
  x: string;
  y: string;
  points: { x: number; y: number }[];
  /** Places and texts of the horizontal axis, in two lines. */
  ticks?: [number, string, string?][];
  /** Points at equal distances, independent of their x. */
  isEven?: boolean;
  /** A mark for each point. */
  hasMarks?: boolean;
  /** Logarithmic y. */
  isLog?: boolean;
  /** X of a mark. */
  current?: number | undefined;
  /** X of a mark with a drop line. */
  best?: number;
  /** A line to compare with. */
  reference?: { from: [number, number]; to: [number, number]; text: string } | undefined;
  /** Drawn below. */
  others?: { points: { x: number; y: number }[]; text: string; class: string }[];
  /** Y is an error and not a quality: magenta. */
  isError?: boolean;
}

const LETTER = 6.8; // pixels of a letter of a tick
const RIGHT = 14;
const TOP = 26;

export function curveDrawing(curve: Curve, width: number, height: number) {
  const { points, x, y, label, ticks = [], others = [] } = curve;
  const hasSecondLine = ticks.some(([, , below]) => below);
  const bottom = height - (hasSecondLine ? 54 : 40);
  const down = downOf(curve, bottom);
  const heights = down.ticks(4).filter(isRound(curve.isLog));
  const left = 12 + LETTER * Math.max(3, ...heights.map((tick) => formatNumber(tick).length));
  const across = acrossOf(curve, left, width - RIGHT);
  const at = (place: number | undefined) =>
    place === undefined ? undefined : points.find((point) => point.x === place);
  const [best, current] = [at(curve.best), at(curve.current)];
  const step = Math.ceil((ticks.length * (hasSecondLine ? 50 : 34)) / (width - left - RIGHT));
  const { reference } = curve;
  const color = curve.isError ? "is-error" : "is-quality";
  const mark = (at: { x: number; y: number }, r: number, className = "curve-mark") =>
    dot(across(at.x), down(at.y), r, `${className} ${color}`);
  return drawing(
    width,
    height,
    label,
    text(0, 12, y, "tick"),
    levels(down, heights, [left, width - RIGHT]),
    axis([left, width - RIGHT], bottom),
    ticks
      .filter((_, i) => i % step === 0)
      .map(([place, above, below]) => [
        text(across(place), bottom + 17, above, "tick", "middle"),
        below && text(across(place), bottom + 32, below, "tick faint", "middle"),
      ]),
    text(width - RIGHT, height - 4, x, "tick", "end"),
    reference && [
      line(
        across(reference.from[0]),
        down(reference.from[1]),
        across(reference.to[0]),
        down(reference.to[1]),
        "reference",
      ),
      text(across(reference.to[0]) - 6, down(reference.to[1]) - 8, reference.text, "tick", "end"),
    ],
    others.map((other) => {
      const last = other.points[other.points.length - 1];
      const first = other.points[0];
      const end = down(last.y) < bottom - 4 && down(last.y) < down(first.y) ? last : first;
      return [
        lineThrough(other.points, across, down, `curve ${other.class}`),
        text(
          across(end.x) + (end === first ? 6 : -4),
          Math.max(TOP + 8, down(end.y) - 8),
          other.text,
          `curve-name ${other.class}`,
          end === first ? "start" : "end",
        ),
      ];
    }),
    lineThrough(points, across, down, `curve ${color}`),
    (curve.isEven || curve.hasMarks) &&
      points.filter((point) => Number.isFinite(point.y)).map((point) => mark(point, 3.5)),
    best &&
      Number.isFinite(best.y) && [
        line(across(best.x), down(best.y), across(best.x), bottom, "drop"),
        mark(best, 4),
      ],
    current && Number.isFinite(current.y) && mark(current, 6, "curve-now"),
  );
}

function acrossOf(
  { points, isEven, ticks = [] }: Curve,
  left: number,
  right: number,
): (value: number) => number {
  const range = [left + 14, right - 14] as [number, number];
  if (isEven) {
    const order = points.map((point) => point.x);
    const scale = linear([0, Math.max(1, order.length - 1)], range);
    return (value) => {
      const index = order.indexOf(value);
      return scale(index < 0 ? 0 : index);
    };
  }
  const places = [...points.map((point) => point.x), ...ticks.map(([place]) => place)];
  return linear([Math.min(...places), Math.max(...places)], range);
}

function downOf({ points, others = [], isLog, reference }: Curve, bottom: number) {
  const all = [points, ...others.map((other) => other.points)].flat().map((point) => point.y);
  if (reference) all.push(reference.from[1], reference.to[1]);
  const finite = all.filter((value) => Number.isFinite(value) && (!isLog || value > 0));
  const [least, most] = finite.length > 0 ? [Math.min(...finite), Math.max(...finite)] : [0, 1];
  const low = isLog ? least / 1.3 : Math.min(0, least);
  const domain = (most > low ? [low, most] : [low - 1, low + 1]) as [number, number];
  return (isLog ? logarithmic : linear)(domain, [bottom, TOP]).nice();
}

/** Of a logarithmic axis, powers of ten only. */
const isRound = (isLog: boolean | undefined) => (tick: number) =>
  !isLog || Math.abs(Math.log10(tick) - Math.round(Math.log10(tick))) < 1e-9;
