// Measurements as tables with a bar in each row, for published and local results.

import { h, type Tree } from "../shell/drawing/tree.js";

/** A result of the benchmark. */
export interface Measurement {
  case: string;
  contestant: string;
  build?: string;
  threads?: number;
  format?: string;
  operation?: string;
  place?: string;
  title: string;
  unit: string;
  value?: number;
  low?: number;
  high?: number;
  ratio?: number;
  limit?: string | undefined;
  check?: { problem?: string };
}

const CONTESTANTS = {
  zeropoint: "zeropoint",
  "onnxruntime-web": "onnxruntime-web",
  tfjs: "tfjs wasm",
  JavaScript: "plain JavaScript",
  "bare module": "a bare module of that size",
};

function contestantName({ contestant, build, threads }: Measurement) {
  const name = CONTESTANTS[contestant as keyof typeof CONTESTANTS] ?? contestant;
  return [name, build, threads && threads > 1 && `${threads} threads`].filter(Boolean).join(", ");
}

/** Two or three digits say all that a measurement can. */
export function shownNumber(value: number) {
  if (value >= 100) return value.toFixed(0);
  if (value >= 10) return value.toFixed(1);
  return value.toPrecision(2);
}

/** A title whose equations each stay in one line. */
const unbroken = (title: string) => title.replaceAll(" = ", "\u00a0=\u00a0");

/** Less is better where the unit is a time. */
const isTime = (unit: string) => unit === "µs" || unit === "ms";

/** @param measurements  of one unit */
export function measurementTable(title: string, measurements: Measurement[]): Tree {
  const { unit } = measurements[0];
  const most = Math.max(...measurements.map(({ value }) => value ?? 0));
  const sorted = [...measurements].sort((a, b) =>
    isTime(unit) ? (a.value ?? 0) - (b.value ?? 0) : (b.value ?? 0) - (a.value ?? 0),
  );
  const hasRatio = sorted.some(({ ratio, limit }) => ratio !== undefined && limit !== undefined);
  const isRight = sorted.every(({ check }) => !check?.problem);
  return h(
    "div",
    { class: "scroll-x" },
    h(
      "table",
      { class: "measurements" },
      h("caption", {}, unbroken(title), isTime(unit) && h("span", {}, " (less is better)")),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col", colspan: 2 }, "Who"),
          h("th", { scope: "col" }, unit),
          hasRatio && h("th", { scope: "col" }, "of limit"),
        ),
      ),
      h(
        "tbody",
        {},
        sorted.map((measurement) =>
          row(
            measurement,
            most,
            hasRatio,
            title.toLowerCase().includes(measurement.title.toLowerCase()),
          ),
        ),
      ),
    ),
    !isRight &&
      h(
        "p",
        { class: "cell-error" },
        "A result was wrong: please report this with your browser's version.",
      ),
  );
}

/**
 * A task in one line, with the fastest and how far ahead of the next it is; opened, all of its measurements.
 * @param measurements  of one unit
 */
function foldedTable(title: string, measurements: Measurement[]): Tree {
  const { unit } = measurements[0];
  const right = measurements.filter(
    (each) => each.value !== undefined && !each.check?.problem && isComparable(each),
  );
  const sorted = right.sort((a, b) => (isTime(unit) ? 1 : -1) * ((a.value ?? 0) - (b.value ?? 0)));
  const [first] = sorted;
  const next = sorted.find((each) => libraryOf(each) !== libraryOf(first));
  const ratio = first && next ? ratioOf(first, next, unit) : undefined;
  return h(
    "details",
    { class: "measure-task" },
    h(
      "summary",
      {},
      h("span", { class: "measure-title" }, unbroken(title)),
      first &&
        h(
          "span",
          { class: libraryOf(first) === "zeropoint" ? "measure-first is-own" : "measure-first" },
          `${contestantName(first)}: ${shownNumber(first.value ?? 0)}\u00a0${unit}`,
        ),
      next && h("span", { class: "measure-next" }, `${ratio} × as fast as ${contestantName(next)}`),
    ),
    measurementTable(title, measurements),
  );
}

/** The library of a contestant: zeropoint and zeropoint/slim are one. */
const libraryOf = ({ contestant }: Measurement) => contestant.split("/")[0];

/** The formats with which zeropoint's linear layers are compared: int8 weights with a scale for each output. */
const OWN_FORMATS = ["w8a32-channel", "w8a8-dynamic"];

/**
 * Like is compared with like: one thread, and zeropoint's linear layers in OWN_FORMATS. Other libraries take part
 * with every format of a table; a bare module computes nothing.
 */
function isComparable(measurement: Measurement) {
  const { contestant, threads = 1, format } = measurement;
  const isOwn = libraryOf(measurement) === "zeropoint";
  const isOwnFormat = format === undefined || OWN_FORMATS.includes(format);
  return threads === 1 && contestant !== "bare module" && (!isOwn || isOwnFormat);
}

function ratioOf({ value: a = 0 }: Measurement, { value: b = 0 }: Measurement, unit: string) {
  return shownNumber(isTime(unit) ? b / a : a / b);
}

/** @param isKnown  the table's title says what is measured */
function row(measurement: Measurement, most: number, hasRatio: boolean, isKnown: boolean) {
  const { contestant, title, value, low, high, ratio, limit, check } = measurement;
  const length = value === undefined ? 0 : Math.max(0.5, (100 * value) / most);
  return h(
    "tr",
    { class: contestant.startsWith("zeropoint") ? "is-own" : undefined },
    h(
      "th",
      { scope: "row" },
      contestantName(measurement),
      !isKnown && h("span", { class: "measurement-what" }, title),
    ),
    h(
      "td",
      { class: "measurement-bar" },
      h(
        "svg",
        {
          viewBox: "0 0 100 10",
          preserveAspectRatio: "none",
          "aria-hidden": "true",
          focusable: "false",
        },
        h("rect", { width: Math.round(length * 10) / 10, height: 10 }),
      ),
    ),
    h(
      "td",
      {},
      check?.problem ? "wrong" : value === undefined ? "–" : shownNumber(value),
      low !== undefined &&
        high !== undefined &&
        h("span", { class: "measurement-spread" }, `${shownNumber(low)}–${shownNumber(high)}`),
    ),
    hasRatio &&
      h("td", {}, ratio === undefined || limit === undefined ? "" : `${Math.round(100 * ratio)} %`),
  );
}

/** The formats that are shown, of all that are measured, by the activations of a linear layer. */
const FORMATS = {
  "float32 activations": [
    "w8a32-channel",
    "w8a32-group32",
    "w4a32-group32",
    "w8a32-float32",
    "float32",
  ],
  "8-bit activations": ["w8a8-dynamic"],
};
const OPERATIONS = ["minmax", "quantize", "dequantize", "fakeQuantize", "error"];

/**
 * The tables of linear layers, one for each kind of activations and shape.
 * @param table  writes a table
 */
export function linearTables(results: Measurement[], table: typeof measurementTable = foldedTable) {
  const linear = results.filter(
    ({ case: title, value }) =>
      title.startsWith("linear, M =") && !title.includes("cold") && value !== undefined,
  );
  const shapes = [...new Set(linear.map((result) => result.case))];
  return Object.entries(FORMATS).flatMap(([activations, formats]) =>
    shapes.flatMap((shape) => {
      const found = linear.filter(
        ({ case: title, format = "" }) => title === shape && formats.includes(format),
      );
      const title = `Linear layer, ${activations}${shape.slice("linear".length)}`;
      return found.length === 0 ? [] : [table(title, found)];
    }),
  );
}

/** The tables of a large tensor, one for each operation. */
export function elementwiseTables(results: Measurement[]) {
  return OPERATIONS.flatMap((operation) => {
    const found = results.filter(
      (result) =>
        result.operation === operation &&
        result.title.endsWith("per tensor") &&
        result.place === "arrays",
    );
    return found.length === 0
      ? []
      : [foldedTable(capitalized(found[0].title.replace(/^error\b/, "quantization error")), found)];
  });
}

/** The tables of small calls, one for each. */
export function smallTables(results: Measurement[]) {
  const small = results.filter(({ case: title }) => title === "small calls");
  return [...new Set(small.map(({ title }) => title))].map((title) =>
    foldedTable(
      capitalized(title),
      small.filter((result) => result.title === title),
    ),
  );
}

export function startTables(results: Measurement[]) {
  const start = results.filter(({ operation }) => operation === "start");
  return start.length === 0
    ? []
    : [
        foldedTable(
          "From a page's first script to its first result",
          start.map((one) => ({ ...one, limit: undefined })),
        ),
      ];
}

const capitalized = (text: string) => text[0].toUpperCase() + text.slice(1);
