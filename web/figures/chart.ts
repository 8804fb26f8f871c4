// What all charts are made of: scales, levels with their numbers, ticks below, lines through points, bars of a histogram.

import { scaleLinear, scaleLog } from "d3-scale";
import { formatNumber } from "../shell/drawing/numbers.js";
import { h } from "../shell/drawing/tree.js";
import { line, round, text } from "./parts.js";

/** Values to pixels. */
type Scale = (value: number) => number;

type Ends = readonly [number, number];

/** @param range  pixels */
export const linear = (domain: Ends, range: Ends) => scaleLinear().domain(domain).range(range);

/** @param range  pixels */
export const logarithmic = (domain: Ends, range: Ends) => scaleLog().domain(domain).range(range);

/**
 * Horizontal lines, each with its number on the left.
 * @param ends  pixels
 */
export const levels = (
  down: Scale,
  values: readonly number[],
  [left, right]: Ends,
  textOf = formatNumber,
) =>
  values.map((value) => [
    line(left, down(value), right, down(value), "grid"),
    text(left - 6, down(value) + 4, textOf(value), "tick", "end"),
  ]);

/**
 * Numbers below a horizontal axis.
 * @param y  of the numbers
 */
export const ticks = (across: Scale, values: readonly number[], y: number, textOf = formatNumber) =>
  values.map((value) => text(across(value), y, textOf(value), "tick", "middle"));

/**
 * A horizontal axis.
 * @param ends  pixels
 */
export const axis = ([left, right]: Ends, y: number) => line(left, y, right, y, "axis");

/** A line through points; those that are not finite are left out. */
export const lineThrough = (
  points: readonly { x: number; y: number }[],
  across: Scale,
  down: Scale,
  className: string,
) =>
  h("polyline", {
    class: className,
    points: points
      .filter((point) => Number.isFinite(point.y))
      .map((point) => `${round(across(point.x))},${round(down(point.y))}`)
      .join(" "),
  });

/**
 * The bars of a histogram in one path: an element for each would take most of the time of a drawing. Bins of no count
 * have none.
 * @param histogram  equal bins
 * @param base  pixels
 * @param endOf  of a bar, in pixels
 * @param isWanted  whether a bin gets its bar, by the value in its middle
 */
export function bars(
  { counts, low, high }: { counts: ArrayLike<number>; low: number; high: number },
  across: Scale,
  base: number,
  endOf: (count: number) => number,
  isWanted: (middle: number) => boolean = () => true,
) {
  const step = (high - low) / counts.length;
  let path = "";
  for (let i = 0; i < counts.length; i++) {
    const from = low + i * step;
    if (counts[i] === 0 || !isWanted(from + step / 2)) continue;
    const [left, right] = [across(from), across(from + step)];
    path += `M${round(left)} ${base}V${round(endOf(counts[i]))}H${round(Math.max(left + 1, right - 0.5))}V${base}Z`;
  }
  return path;
}
