// The playground's settings, and their form in a link.

import { GENERATORS, type Generated } from "./data/generate.js";

type Granularity = "tensor" | "channel" | "group";

/** ends: from low to high; qparams: a given scale and zero point. */
type Range = "minmax" | "mse" | "percentile" | "histogram" | "ends" | "qparams";

export interface Settings {
  arithmetic: "course" | "torch";
  /** Symmetric, affine, float (affine with a float zero point) or a block type. */
  scheme: string;
  bits: number;
  /** Of affine codes. */
  isUnsigned: boolean;
  granularity: Granularity;
  /** Of channels. */
  axis: number;
  groupSize: number;
  range: Range;
  percentile: number;
  low: number;
  high: number;
  scale: number;
  zeroPoint: number;
}

type GeneratedSource = { kind: "generated" } & Generated;

export type Source =
  | GeneratedSource
  | { kind: "given"; name: string; shape: number[]; values: Float32Array };

/** A source as it is asked for: texts and files are still to be read. */
export type Asked = Source | { kind: "text"; text: string } | { kind: "file"; file: File };

export const DEFAULTS: Settings = {
  arithmetic: "course",
  scheme: "symmetric",
  bits: 4,
  isUnsigned: false,
  granularity: "tensor",
  axis: 0,
  groupSize: 32,
  range: "minmax",
  percentile: 99,
  low: -1,
  high: 1,
  scale: 0.1,
  zeroPoint: 0,
};

export const FIRST_SOURCE: GeneratedSource = {
  kind: "generated",
  generator: "rows",
  rows: 12,
  columns: 16,
  seed: 42,
};

export const BLOCK_TYPES = [
  "q8_0",
  "q5_1",
  "q5_0",
  "q4_1",
  "q4_0",
  "q6_k",
  "q5_k",
  "q4_k",
  "q3_k",
  "q2_k",
];

const LINEAR = ["symmetric", "affine", "float"];

export const isBlock = ({ scheme }: Settings) => !LINEAR.includes(scheme);

/** Resolves contradictions: a choice that other settings exclude is replaced by the nearest valid one. */
export function consistent(given: Settings): Settings {
  const settings = { ...given };
  if (isBlock(settings)) return settings;
  // One bit has the codes 0 and 1, and no symmetric range.
  if (settings.scheme === "symmetric") settings.bits = Math.max(2, settings.bits);
  if (settings.scheme === "symmetric") settings.isUnsigned = false;
  else if (settings.bits === 1) settings.isUnsigned = true;
  if (settings.arithmetic === "torch") {
    if (settings.scheme === "float") settings.scheme = "affine";
    if (settings.granularity === "group") settings.granularity = "channel";
    if (["mse", "percentile"].includes(settings.range)) settings.range = "minmax";
    if (settings.range === "histogram" && settings.granularity !== "tensor")
      settings.range = "minmax";
  } else if (settings.range === "histogram") settings.range = "mse";
  // Clamps the zero point to the codes.
  const { qmin, qmax } = limitsOf(settings);
  settings.zeroPoint =
    settings.scheme === "symmetric" ? 0 : Math.max(qmin, Math.min(qmax, settings.zeroPoint));
  const isGiven = settings.range === "ends" || settings.range === "qparams";
  if (isGiven && (settings.granularity !== "tensor" || settings.scheme === "float")) {
    settings.range = "minmax";
  }
  return settings;
}

/** The smallest and the largest code. */
export function limitsOf({ bits, isUnsigned }: Settings) {
  return isUnsigned
    ? { qmin: 0, qmax: 2 ** bits - 1 }
    : { qmin: -(2 ** (bits - 1)), qmax: 2 ** (bits - 1) - 1 };
}

/** The settings as the text of a link; only what differs from the defaults. */
export function writeSettings(settings: Settings): string {
  const { granularity, range } = settings;
  const pairs = [
    ["t", "1", settings.arithmetic === "torch"],
    ["s", settings.scheme, true],
    ["b", String(settings.bits), !isBlock(settings)],
    ["u", "1", settings.isUnsigned],
    [
      "g",
      granularity === "group" ? `group.${settings.groupSize}` : `channel.${settings.axis}`,
      granularity !== "tensor",
    ],
    ["r", range === "percentile" ? `percentile.${settings.percentile}` : range, range !== "minmax"],
    ["lo", String(settings.low), range === "ends"],
    ["hi", String(settings.high), range === "ends"],
    ["sc", String(settings.scale), range === "qparams"],
    ["z", String(settings.zeroPoint), range === "qparams"],
  ] as [string, string, boolean][];
  return String(
    new URLSearchParams(pairs.filter(([, , isThere]) => isThere).map(([k, v]) => [k, v])),
  );
}

/** Reads what writeSettings wrote; anything else gets its default. */
export function readSettings(text: string): Settings {
  const given = new URLSearchParams(text);
  const read = { ...DEFAULTS };
  const scheme = given.get("s") ?? "";
  if ([...LINEAR, ...BLOCK_TYPES].includes(scheme)) read.scheme = scheme;
  if (given.has("t")) read.arithmetic = "torch";
  read.bits = integer(given.get("b"), 1, 8, read.bits);
  read.isUnsigned = given.has("u");
  const [unit, size] = (given.get("g") ?? "").split(".");
  if (unit === "group") {
    read.granularity = "group";
    read.groupSize = integer(size, 1, 2 ** 20, read.groupSize);
  } else if (unit === "channel") {
    read.granularity = "channel";
    read.axis = integer(size, 0, 7, 0);
  }
  const [range, ...percentile] = (given.get("r") ?? "").split(".");
  if (["mse", "percentile", "histogram", "ends", "qparams"].includes(range)) {
    read.range = range as Range;
  }
  read.percentile = number(percentile.join("."), 50, 100, read.percentile);
  read.low = number(given.get("lo"), -3e38, 3e38, read.low);
  read.high = number(given.get("hi"), -3e38, 3e38, read.high);
  read.scale = number(given.get("sc"), 1e-38, 3e38, read.scale);
  read.zeroPoint = integer(given.get("z"), -128, 255, read.zeroPoint);
  return consistent(read);
}

/**
 * What readSettings left out or replaced: unknown settings, values out of their range, and what others exclude.
 * @param others  names in the text that are no settings
 * @returns such as "b=99"
 */
export function settingsUnread(text: string, others: string[]): string[] {
  const read = new URLSearchParams(writeSettings(readSettings(text)));
  return [...new URLSearchParams(text)]
    .filter(([name, value]) => {
      const own = read.get(name);
      const isRead =
        own === value || (own !== null && value !== "" && Number(own) === Number(value));
      return !isRead && !others.includes(name);
    })
    .map(([name, value]) => `${name}=${value}`);
}

function number(text: string | null | undefined, least: number, most: number, fallback: number) {
  const value = Number(text || Number.NaN);
  return value >= least && value <= most ? value : fallback;
}

const integer: typeof number = (text, least, most, fallback) => {
  const value = number(text, least, most, fallback);
  return Number.isInteger(value) ? value : fallback;
};

/** @returns undefined if it is not generated */
export function writeGenerated(source: Source): string | undefined {
  if (source.kind !== "generated") return undefined;
  return [source.generator, source.rows, source.columns, source.seed].join(".");
}

export function readGenerated(text: string | null): Source {
  const [generator, rows, columns, seed] = (text ?? "").split(".");
  if (!Object.hasOwn(GENERATORS, generator)) return FIRST_SOURCE;
  const [r, c] = [integer(rows, 1, 1_000_000, 12), integer(columns, 1, 1_000_000, 16)];
  if (r * c > 1_000_000) return FIRST_SOURCE;
  return { kind: "generated", generator, rows: r, columns: c, seed: integer(seed, 0, 2 ** 32, 42) };
}
