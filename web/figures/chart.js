// What all charts are made of: scales, levels with their numbers, ticks below, lines through points, bars of a histogram.

import { scaleLinear, scaleLog } from "d3-scale";
import { formatNumber } from "../shell/drawing/numbers.js";
import { h } from "../shell/drawing/tree.js";
import { line, round, text } from "./parts.js";

/**
 * @typedef {(value: number) => number} Scale  values to pixels
 * @typedef {readonly [number, number]} Ends
 */

/** @param {Ends} domain @param {Ends} range  pixels */
export const linear = (domain, range) => scaleLinear().domain(domain).range(range);

/** @param {Ends} domain @param {Ends} range  pixels */
export const logarithmic = (domain, range) => scaleLog().domain(domain).range(range);

/**
 * Horizontal lines, each with its number on the left.
 * @param {Scale} down
 * @param {readonly number[]} values
 * @param {Ends} ends  pixels
 */
export const levels = (down, values, [left, right], textOf = formatNumber) =>
  values.map((value) => [
    line(left, down(value), right, down(value), "grid"),
    text(left - 6, down(value) + 4, textOf(value), "tick", "end"),
  ]);

/**
 * Numbers below a horizontal axis.
 * @param {Scale} across
 * @param {readonly number[]} values
 * @param {number} y  of the numbers
 */
export const ticks = (across, values, y, textOf = formatNumber) =>
  values.map((value) => text(across(value), y, textOf(value), "tick", "middle"));

/** A horizontal axis. @param {Ends} ends  pixels @param {number} y */
export const axis = ([left, right], y) => line(left, y, right, y, "axis");

/**
 * A line through points; those that are not finite are left out.
 * @param {readonly { x: number, y: number }[]} points
 * @param {Scale} across
 * @param {Scale} down
 * @param {string} className
 */
export const lineThrough = (points, across, down, className) =>
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
 * @param {{ counts: ArrayLike<number>, low: number, high: number }} histogram  equal bins
 * @param {Scale} across
 * @param {number} base  pixels
 * @param {(count: number) => number} endOf  of a bar, in pixels
 * @param {(middle: number) => boolean} isWanted  whether a bin gets its bar, by the value in its middle
 */
export function bars({ counts, low, high }, across, base, endOf, isWanted = () => true) {
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
