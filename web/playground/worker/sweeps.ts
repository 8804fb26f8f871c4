// Results of other settings: error against bits, range and group size, and a table of schemes. Each is
// a generator, so that a newer request can end it between two steps.

import * as zeropoint from "zeropoint";
import type { Values } from "../data/parse.js";
import { BLOCK_TYPES, consistent, isBlock, type Settings } from "../state.js";
import { courseOptions, evaluate, type Metrics } from "./evaluate.js";

type Point = { x: number; mse: number; sqnr: number; bitsPerValue: number };

/** clip: x is the share of the whole range; group: x is the group's size. */
export type Curves = { bits: Point[]; clip: Point[]; group: Point[]; clipNow?: number };

export type SchemeRow = {
  name: string;
  settings: Settings;
  bytes: number;
  bitsPerValue: number;
  metrics: Metrics;
};

const SHARES = 48;

export function* curvesOf(
  x: Values,
  settings: Settings,
  bitsThere: number[],
): Generator<undefined, Curves> {
  const base = isBlock(settings)
    ? consistent({ ...settings, scheme: "symmetric", bits: 4, arithmetic: "course" })
    : settings;
  const columns = x.shape.at(-1) ?? 1;
  // A given range does not fit other numbers of bits or values.
  const chosen = consistent({
    ...base,
    range: base.range === "ends" || base.range === "qparams" ? "minmax" : base.range,
  });
  const curves: Curves = { bits: [], clip: [], group: [] };
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
  const whole = ["channel", "tensor"] as const;
  for (const granularity of x.shape.length > 1 ? whole : whole.slice(1)) {
    const values = x.values.length;
    const size = granularity === "channel" ? values / x.shape[0] : values;
    const course = { arithmetic: "course", granularity, axis: 0 } as const;
    curves.group.push(pointOf(size, x, consistent({ ...chosen, ...course })));
    yield;
  }
  yield* clipCurve(x, base, curves);
  return curves;
}

function pointOf(at: number, x: Values, settings: Settings): Point {
  const { metrics, bytes } = evaluate(x, settings);
  const { mse, sqnr } = metrics;
  return { x: at, mse, sqnr, bitsPerValue: (8 * bytes) / x.values.length };
}

/** The error for shares of the range from the smallest to the largest value of each slice. */
function* clipCurve({ values, shape }: Values, settings: Settings, curves: Curves) {
  const x = { data: values, shape };
  const course = consistent({ ...settings, arithmetic: "course", range: "minmax" });
  if (course.scheme === "float") course.scheme = "affine";
  const options = courseOptions(course);
  const whole = zeropoint.chooseQParams(x, options);
  const scale = whole.scale as number | zeropoint.ScaleTensor;
  const scaled = (share: number) =>
    typeof scale === "number"
      ? scale * share
      : { data: scale.data.map((one) => one * share), shape: scale.shape };
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
  if (typeof scale === "number" && !isBlock(settings)) {
    curves.clipNow = evaluate({ values, shape }, settings).scales[0] / scale;
  }
}

export function* schemeRows(
  x: Values,
  settings: Settings,
  bitsThere: number[],
  hasBlocks: boolean,
): Generator<undefined, SchemeRow[]> {
  const rows: SchemeRow[] = [];
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

function schemesToCompare(
  { shape }: Values,
  settings: Settings,
  bitsThere: number[],
  hasBlocks: boolean,
): [string, Settings][] {
  const { groupSize } = settings;
  const columns = shape.at(-1) ?? 1;
  const list: [string, Settings][] = [];
  const base = {
    ...settings,
    arithmetic: "course",
    axis: 0,
    range: "minmax",
  } as const;
  const units = [
    ["tensor", { granularity: "tensor" }],
    ["channel", { granularity: "channel" }],
    [`g${groupSize}`, { granularity: "group" }],
  ] as [string, Partial<Settings>][];
  for (const bits of bitsThere.filter((each) => each >= 2).reverse()) {
    for (const [unit, granularity] of units) {
      if (unit === "channel" && shape.length < 2) continue;
      if (unit.startsWith("g") && groupSize >= columns) continue;
      const variants = [
        ["", { scheme: "symmetric" }],
        ["-affine", { scheme: "affine" }],
        ["-mse", { scheme: "symmetric", range: "mse" }],
      ] as [string, Partial<Settings>][];
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
