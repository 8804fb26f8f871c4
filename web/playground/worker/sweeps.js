// Results of other settings: error against bits, range and group size, and a table of schemes. Each is
// a generator, so that a newer request can end it between two steps.

import * as zeropoint from "zeropoint";
import { BLOCK_TYPES, consistent, isBlock } from "../state.js";
import { courseOptions, evaluate } from "./evaluate.js";

/**
 * @typedef {import("../state.js").Settings} Settings
 * @typedef {import("../data/parse.js").Values} Values
 * @typedef {{ x: number, mse: number, sqnr: number, bitsPerValue: number }} Point
 * @typedef {{ bits: Point[], clip: Point[], group: Point[], clipNow?: number }} Curves
 *   clip: x is the share of the whole range; group: x is the group's size
 * @typedef {{ name: string, settings: Settings, bytes: number, bitsPerValue: number,
 *   metrics: import("./evaluate.js").Metrics }} SchemeRow
 */

const SHARES = 48;

/**
 * @param {Values} x
 * @param {Settings} settings
 * @param {number[]} bitsThere
 * @returns {Generator<undefined, Curves>}
 */
export function* curvesOf(x, settings, bitsThere) {
  const base = isBlock(settings)
    ? consistent({ ...settings, scheme: "symmetric", bits: 4, arithmetic: "course" })
    : settings;
  const columns = x.shape.at(-1) ?? 1;
  // A given range does not fit other numbers of bits or values.
  const chosen = consistent({
    ...base,
    range: base.range === "ends" || base.range === "qparams" ? "minmax" : base.range,
  });
  /** @type {Curves} */
  const curves = { bits: [], clip: [], group: [] };
  for (const bits of bitsThere) {
    if (chosen.scheme === "symmetric" && bits === 1) continue;
    curves.bits.push(pointOf(bits, x, consistent({ ...chosen, bits })));
    yield;
  }
  for (let size = 4; size < columns && size <= 1024; size *= 2) {
    const grouped = consistent({
      ...chosen,
      arithmetic: "course",
      granularity: "group",
      groupSize: size,
    });
    curves.group.push(pointOf(size, x, grouped));
    yield;
  }
  const whole = /** @type {const} */ (["channel", "tensor"]);
  for (const granularity of x.shape.length > 1 ? whole : whole.slice(1)) {
    const values = x.values.length;
    const size = granularity === "channel" ? values / x.shape[0] : values;
    const course = /** @type {const} */ ({ arithmetic: "course", granularity, axis: 0 });
    curves.group.push(pointOf(size, x, consistent({ ...chosen, ...course })));
    yield;
  }
  yield* clipCurve(x, base, curves);
  return curves;
}

/**
 * @param {number} at
 * @param {Values} x
 * @param {Settings} settings
 * @returns {Point}
 */
function pointOf(at, x, settings) {
  const { metrics, bytes } = evaluate(x, settings);
  const { mse, sqnr } = metrics;
  return { x: at, mse, sqnr, bitsPerValue: (8 * bytes) / x.values.length };
}

/**
 * The error for shares of the range from the smallest to the largest value of each slice.
 * @param {Values} x
 * @param {Settings} settings
 * @param {Curves} curves
 */
function* clipCurve({ values, shape }, settings, curves) {
  const x = { data: values, shape };
  const course = consistent({ ...settings, arithmetic: "course", range: "minmax" });
  if (course.scheme === "float") course.scheme = "affine";
  const options = courseOptions(course);
  const whole = zeropoint.chooseQParams(x, options);
  const scales = /** @type {any} */ (whole.scale);
  const scaled = (/** @type {number} */ share) =>
    typeof scales === "number"
      ? scales * share
      : { data: Float32Array.from(scales.data, (scale) => scale * share), shape: scales.shape };
  for (let i = SHARES; i >= 4; i--) {
    const share = i / SHARES;
    const given = { ...options, scale: scaled(share), zeroPoint: whole.zeroPoint };
    const restored = zeropoint.fakeQuantize(x, given);
    curves.clip.push({
      x: share,
      mse: zeropoint.quantizationError(x, restored),
      sqnr: zeropoint.quantizationError(x, restored, "sqnr"),
      bitsPerValue: 0,
    });
    yield;
  }
  curves.clip.reverse();
  if (course.granularity === "tensor" && !isBlock(settings)) {
    const now = evaluate({ values, shape }, settings).scales[0];
    curves.clipNow = now / /** @type {any} */ (scales);
  }
}

/**
 * @param {Values} x
 * @param {Settings} settings
 * @param {number[]} bitsThere
 * @param {boolean} hasBlocks
 * @returns {Generator<undefined, SchemeRow[]>}
 */
export function* schemeRows(x, settings, bitsThere, hasBlocks) {
  /** @type {SchemeRow[]} */
  const rows = [];
  for (const [name, other] of schemesToCompare(x, settings, bitsThere, hasBlocks)) {
    const { metrics, bytes } = evaluate(x, other);
    rows.push({
      name,
      settings: other,
      bytes,
      bitsPerValue: (8 * bytes) / x.values.length,
      metrics,
    });
    yield;
  }
  return rows;
}

/**
 * @param {Values} x
 * @param {Settings} settings
 * @param {number[]} bitsThere
 * @param {boolean} hasBlocks
 * @returns {[string, Settings][]}
 */
function schemesToCompare({ shape }, settings, bitsThere, hasBlocks) {
  const { groupSize } = settings;
  const columns = shape.at(-1) ?? 1;
  /** @type {[string, Settings][]} */
  const list = [];
  const base = /** @type {const} */ ({
    ...settings,
    arithmetic: "course",
    axis: 0,
    range: "minmax",
  });
  const units = /** @type {[string, Partial<Settings>][]} */ ([
    ["tensor", { granularity: "tensor" }],
    ["channel", { granularity: "channel" }],
    [`g${groupSize}`, { granularity: "group" }],
  ]);
  for (const bits of bitsThere.filter((each) => each >= 2).reverse()) {
    for (const [unit, granularity] of units) {
      if (unit === "channel" && shape.length < 2) continue;
      if (unit.startsWith("g") && groupSize >= columns) continue;
      const variants = /** @type {[string, Partial<Settings>][]} */ ([
        ["", { scheme: "symmetric" }],
        ["-affine", { scheme: "affine" }],
        ["-mse", { scheme: "symmetric", range: "mse" }],
      ]);
      for (const [suffix, variant] of variants) {
        if (suffix === "-mse" && bits > 4) continue;
        const one = consistent({ ...base, isUnsigned: false, bits, ...granularity, ...variant });
        list.push([`int${bits}-${unit}${suffix}`, one]);
      }
    }
  }
  for (const scheme of hasBlocks ? BLOCK_TYPES : []) {
    if (columns % (scheme.endsWith("_k") ? 256 : 32) === 0)
      list.push([scheme, { ...base, scheme }]);
  }
  return list;
}
