// Checks messages of the worker of the cells. A cell may find a way to send messages of its own: those lack the token,
// and what the kernel passes on for a cell is bounded in size and number. The worker checks its messages by the same
// functions before it sends them.

import type { Plot } from "./kernel.js";

/** Bounds of a run: the kernel's own are lower. */
export const BOUNDS = {
  /** Characters of all texts of a run. */
  characters: 300_000,
  /** Messages of a run. */
  messages: 20_000,
  /** Values of all plots of a run: 128 MiB of numbers. */
  values: 2 ** 24,
  /** Points of all line charts of a run: each is drawn, and has a row of the table. */
  points: 2 ** 20,
  /** Messages without the token, after which the worker is ended. */
  foreign: 100,
};

/** Characters of a title or a name, of a sentence, and of the code of a notebook. */
const [SHORT, LONG, CODE] = [1000, 20_000, 2 ** 24];
const PANELS = ["original", "quantized", "dequantized", "error"];
const MOST = { axes: 16, panels: 4, series: 24, files: 500, checks: 500, names: 20_000 };

/** Gives a checked copy, or throws. */
type Check = (value: any) => any;

function must(holds: boolean): asserts holds {
  if (!holds) throw new TypeError("a message that the kernel does not send");
}

/** @param most  characters */
const text =
  (most: number): Check =>
  (value) => {
    must(typeof value === "string" && value.length <= most);
    return value;
  };

/**
 * In the worker, the list may be a cell's, with methods of its own: none is called.
 * @param most  elements
 */
const list =
  (check: Check, most: number): Check =>
  (value) => {
    must(Array.isArray(value));
    const { length } = value;
    must(length <= most);
    const checked = [];
    for (let i = 0; i < length; i++) checked.push(check(value[i]));
    return checked;
  };

const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined ? undefined : check(value);

/** An object with these fields, and no others. */
const object =
  (checks: Record<string, Check>): Check =>
  (value) => {
    must(typeof value === "object" && value !== null);
    const entries = Object.entries(checks).map(([name, check]) => [name, check(value[name])]);
    return Object.fromEntries(entries.filter(([, each]) => each !== undefined));
  };

const boolean: Check = (value) => {
  must(typeof value === "boolean");
  return value;
};

const number: Check = (value) => {
  must(typeof value === "number");
  return value;
};

const count: Check = (value) => {
  must(Number.isSafeInteger(value) && value >= 0);
  return value;
};

const numbers: Check = (value) => {
  must(value instanceof Float64Array && value.length <= BOUNDS.values);
  return value;
};

const panel: Check = (value) => {
  const checked = object({
    name: text(SHORT),
    title: text(SHORT),
    shape: list(count, MOST.axes),
    data: numbers,
  })(value);
  must(PANELS.includes(checked.name));
  must(checked.shape.reduce((a: number, b: number) => a * b, 1) === checked.data.length);
  return checked;
};

const series: Check = (value) => {
  const checked = object({ name: text(SHORT), x: numbers, y: numbers })(value);
  must(checked.x.length === checked.y.length);
  return checked;
};

/** A plot, as it may be drawn: sizes and data agree. */
export function checkedPlot(value: any): Plot {
  must(typeof value === "object" && value !== null);
  const { kind } = value;
  if (kind === "lines") {
    const level = object({ name: text(SHORT), y: number, within: number });
    const lines = object({
      title: text(SHORT),
      x: text(SHORT),
      y: text(SHORT),
      series: list(series, MOST.series),
      level: optional(level),
    })(value);
    must(lines.series.length > 0);
    return { kind, ...lines };
  }
  must(kind === "quantization-errors");
  const map = object({ n_bits: number, panels: list(panel, MOST.panels) })(value);
  must(map.panels.length > 0);
  const [first, ...others] = map.panels.map(({ shape }: any) => shape.join());
  must(others.every((each: string) => each === first));
  return { kind, ...map };
}

const cellError = object({
  name: text(LONG),
  message: text(LONG),
  pythonType: optional(text(SHORT)),
  line: optional(number),
  promise: optional(text(LONG)),
  near: optional(text(SHORT)),
  advice: optional(text(LONG)),
  inTorch: optional(boolean),
  inside: optional(object({ cell: text(SHORT), line: number })),
});

export const checkedOutput: Check = (value) => {
  const { kind } = Object(value);
  if (kind === "plot") return { kind, plot: checkedPlot(value.plot) };
  if (kind === "error") return { kind, error: cellError(value.error) };
  must(kind === "text");
  return { kind, text: text(BOUNDS.characters)(value.text) };
};

const names = list(text(SHORT), MOST.names);
const use = { reads: names, writes: names, changes: names };

/** The end of a run. */
export const checkedOutcome: Check = object({
  run: count,
  result: optional(text(BOUNDS.characters)),
  error: optional(cellError),
  checks: list(object({ passed: boolean, message: optional(text(LONG)) }), MOST.checks),
  names: optional(object({ ...use, later: object(use) })),
  grade: optional(
    object({
      passed: boolean,
      text: text(LONG),
      mistakes: list(text(LONG), MOST.checks),
      detail: optional(text(LONG)),
    }),
  ),
});

/** Messages before any cell runs, by their type. */
const AT_START: Record<string, Check> = {
  ready: object({ files: list(text(SHORT), MOST.files) }),
  failed: object({ message: text(LONG) }),
  core: object({
    file: text(SHORT),
    port: (value) => {
      must(value instanceof MessagePort);
      return value;
    },
  }),
};

/** Messages of the kernel while cells run. */
const LATER: Record<string, Check> = {
  output: object({ run: count, output: checkedOutput }),
  done: checkedOutcome,
  module: object({ text: text(CODE) }),
};

/** The numbers of values, and of points of line charts, in a plot. */
export function sizesOf(plot: Plot) {
  const total = (lists: { length: number }[]) => lists.reduce((sum, { length }) => sum + length, 0);
  if (plot.kind !== "lines")
    return { values: total(plot.panels.map(({ data }) => data)), points: 0 };
  const points = total(plot.series.map(({ x }) => x));
  return { values: 2 * points, points };
}

/** What a worker has sent: counts messages and refuses those that are not the kernel's. */
export class Inbox {
  /** For the kernel alone: cells cannot read it. */
  token = crypto.randomUUID();
  #isReady = false;
  #foreign = 0;
  /** Of the run whose outputs are counted. */
  #run = -1;
  #used = { messages: 0, characters: 0, values: 0, points: 0 };

  /**
   * Checks a message.
   * @returns a checked copy; undefined for a message to ignore
   * @throws {Error} for a message with the token that the kernel never sends, and if there are more others than an
   *   accident explains
   */
  take(data: any): any {
    const isKernels = this.#isReady && Object(data).token === this.token;
    try {
      must(isKernels || !this.#isReady);
      const { type } = Object(data);
      const checks = this.#isReady ? LATER : AT_START;
      must(typeof type === "string" && Object.hasOwn(checks, type));
      const message = { type, ...checks[type](data) };
      if (type === "ready") this.#isReady = true;
      if (type === "output" && !this.#hasRoom(message)) return undefined;
      return message;
    } catch {
      this.#foreign++;
      if (!isKernels && this.#foreign <= BOUNDS.foreign) return undefined;
      throw new Error("Code of a cell sent the page messages of its own.");
    }
  }

  /** Whether an output is within the bounds of its run. */
  #hasRoom({ run, output: { text = "", plot } }: any) {
    if (run !== this.#run) {
      this.#run = run;
      this.#used = { messages: 0, characters: 0, values: 0, points: 0 };
    }
    const { values, points } = plot ? sizesOf(plot) : { values: 0, points: 0 };
    const used = this.#used;
    used.messages++;
    used.characters += text.length;
    used.values += values;
    used.points += points;
    return Object.entries(used).every(([name, count]) => count <= BOUNDS[name as "values"]);
  }
}
