// Runs the cells of one notebook. This worker is the only place that turns text into code.

import * as zeropoint from "zeropoint";
import * as notebook from "zeropoint/notebook";
import * as search from "zeropoint/search";
import * as torch from "zeropoint/torch";
import { pageCore } from "../../shell/core/worker-core.js";
import { countText } from "../../shell/drawing/numbers.js";
import { adviceOnCall, missingName, namesOf, nearest } from "../cell/hints.js";
import { type Grade, grade } from "../exercises/grade.js";
import { taskOf } from "../exercises/tasks.js";
import type { Outcome } from "../kernel.js";
import { BOUNDS, checkedOutcome, checkedPlot, sizesOf } from "../messages.js";
import { linesPlot } from "../plots/lines-plot.js";
import { type CellError, describeError } from "./cell-error.js";
import { connectConsole } from "./console.js";
import { loadDigits } from "./digits.js";
import { inspected } from "./inspect.js";
import { isolate } from "./isolate.js";
import type { CellNames } from "./names.js";
import { printedText } from "./print.js";
import { rewriteCell } from "./rewrite.js";
import { createScope } from "./scope.js";
import { shortened } from "./shorten.js";
import { toModule } from "./to-module.js";

/** exercise: the id of a task; its code runs in a scope of its own. */
type RunMessage = {
  type: "run";
  run: number;
  label: string;
  source: string;
  checks: string[];
  exercise?: string;
};

// Limits on a cell's output, so that the page lays it out quickly; lines cost more than characters.
const OUTPUT_LIMIT = { characters: 200_000, lines: 5000 };
const PLOT_LIMITS = { plots: 50, values: BOUNDS.values, points: BOUNDS.points };
/** Errors of timers and promises after the end of a run. */
const ERROR_LIMIT = 50;
const FLUSH_AFTER = 50; // milliseconds

/** For cells only, which cannot do it themselves. */
// biome-ignore lint/security/noGlobalEval: this worker's purpose is to run cells
const evaluateText = globalThis.eval;
const send = self.postMessage.bind(self) as (message: any, transfer?: Transferable[]) => void;
/** Of the kernel's messages: the page ignores others. Cells cannot read it. */
let token = "";
const post = (message: object, transfer: Transferable[] = []) =>
  send({ ...message, token }, transfer);

// Cells can put fields of their own on an event, and on its prototype.
const { call } = Function.prototype;
const preventDefault = call.bind(Event.prototype.preventDefault);
const dataOf = call.bind(
  Object.getOwnPropertyDescriptor(MessageEvent.prototype, "data")?.get as () => any,
);

isolate(self);

// The lines of the cell are below the library's own in a stack trace.
Error.stackTraceLimit = 100;

let scope = createScope();
const cellLabels = new Map<string, string>();

let run = 0;
let file = "";
/** Ends the run of the cell that is running, if one is. */
let failRunning: ((thrown: unknown) => void) | undefined;
let printed = "";
let room = { ...OUTPUT_LIMIT };
let plotRoom = { ...PLOT_LIMITS };
let errorTotal = 0;
let flushedAt = 0;
let shownPlots = new WeakSet();

// Python's built-in functions, as globals of every cell.
const builtIn = {
  print,
  float: notebook.float,
  int: notebook.int,
  round: notebook.round,
  plotLines,
};
scope.provide(builtIn);

const countMessagesAnew = connectConsole(console, (...values) =>
  write(`${values.map(inspected).join(" ")}\n`),
);

// A Promise in arithmetic, in a text or taken apart is a forgotten await, and says nothing of it; nor
// where it is taken for the tensor that it will be.
const refusePromise = () => {
  throw new TypeError("a Promise has no value yet: write await before what makes it");
};
for (const use of [Symbol.toPrimitive, Symbol.iterator]) {
  Object.defineProperty(Promise.prototype, use, { value: refusePromise });
}
for (const part of ["data", "shape", "dtype", "scale", "zeroPoint"]) {
  Object.defineProperty(Promise.prototype, part, { get: refusePromise });
}

const modules: Record<string, Record<string, unknown>> = {
  zeropoint,
  "zeropoint/torch": torch,
  "zeropoint/search": search,
  "zeropoint/notebook": {
    ...notebook,
    print,
    plot_quantization_errors: plotQuantizationErrors,
  },
  "./digits.js": { loadDigits },
};

// Restores the names of functions and classes, which the build shortens and cells display. An export with
// several names gets the first.
const named = new Set<unknown>();
for (const exports of [
  zeropoint,
  torch,
  search,
  notebook,
  notebook.torch,
  builtIn,
  ...Object.values(modules),
]) {
  giveNames(exports);
}

function giveNames(exports: object) {
  for (const [name, value] of Object.entries(exports)) {
    if (isModule(value)) giveNames(value);
    if (typeof value !== "function" || named.has(value)) continue;
    Object.defineProperty(value, "name", { value: name });
    named.add(value);
  }
}

/** Whether the value is a namespace within torch, such as torch.nn. */
function isModule(value: unknown): value is object {
  return (
    typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype
  );
}

/**
 * The error of an unknown name of a tensor, as Python says it. The package's tensors cannot throw it themselves: its
 * functions ask other tensors and arrays for names, too.
 * @param near  the name that may have been meant
 */
function print(...values: unknown[]) {
  write(printedText(values.map(withinRoom)));
}

function write(text: string) {
  if (room.characters < 0) return;
  printed += cut(text, room);
  // No later flush follows for text printed after the cell's end.
  if (!failRunning || performance.now() - flushedAt > FLUSH_AFTER) flush();
}

/** Cuts a text to the remaining room and reduces the room. A cut text ends with a note and uses up the room. */
function cut(text: string, room: { characters: number; lines: number }) {
  let end = 0;
  while (end < text.length && room.lines > 0) {
    const line = text.indexOf("\n", end);
    if (line >= 0) room.lines--;
    end = line >= 0 ? line + 1 : text.length;
  }
  end = Math.min(end, room.characters);
  room.characters -= end;
  if (end === text.length) return text;
  room.characters = -1;
  const shown = text.slice(0, end);
  return `${shown}${/[^\n]$/.test(shown) ? "\n" : ""}… the rest of the output is left out\n`;
}

function flush() {
  flushedAt = performance.now();
  if (printed === "") return;
  post({ type: "output", run, output: { kind: "text", text: printed } });
  printed = "";
}

/** Drawn at the call, like a plot in Python, whether or not the value is shown. */
function plotQuantizationErrors(...parameters: any[]) {
  const plot = (notebook.plot_quantization_errors as any)(...parameters);
  showPlot(plot);
  return plot;
}

function plotLines(plot: unknown) {
  postPlot(linesPlot(plot));
}

function showPlot(plot: any) {
  if (shownPlots.has(plot)) return;
  shownPlots.add(plot);
  postPlot(plainPlot(plot));
}

/** The arrays of a plot, which are copies and move to the page. */
const arraysOf = ({ panels = [], series = [] }: any) =>
  [...panels.map(({ data }: any) => data), ...series.flatMap(({ x, y }: any) => [x, y])].map(
    ({ buffer }) => buffer,
  );

function postPlot(plot: unknown) {
  if (plotRoom.plots < 0) return;
  const checked = drawable(plot);
  const { values, points } = sizesOf(checked);
  plotRoom.plots--;
  plotRoom.values -= values;
  plotRoom.points -= points;
  const isLeftOut = Object.values(plotRoom).some((left) => left < 0);
  if (isLeftOut) {
    plotRoom.plots = -1;
    write("… the other plots are left out\n");
  }
  flush();
  if (isLeftOut) return;
  post({ type: "output", run, output: { kind: "plot", plot: checked } }, arraysOf(checked));
}

/** A plot that the page draws. */
function drawable(plot: any) {
  const checked = checkedOrNone(plot);
  const { values, points } = checked ? sizesOf(checked) : { values: 0, points: 0 };
  if (checked && values <= BOUNDS.values && points <= BOUNDS.points) return checked;
  const [mostValues, mostPoints] = [BOUNDS.values, BOUNDS.points].map(countText);
  throw new RangeError(
    `a plot takes tensors whose data has as many values as their shape, at most ${mostValues} in all, or lines of at most ${mostPoints} points, and titles of up to 1000 characters`,
  );
}

function checkedOrNone(plot: unknown) {
  try {
    return checkedPlot(plot);
  } catch {
    return undefined;
  }
}

const PANELS = ["original", "quantized", "dequantized", "error"];

function plainPlot({ kind, n_bits, panels }: any) {
  const [first, ...others] = panels.map(({ shape }: any) => [...shape].join(" × "));
  const other = others.find((each: string) => each !== first);
  if (other !== undefined) {
    throw new RangeError(`a plot takes tensors of one shape, got ${first} and ${other}`);
  }
  return {
    kind,
    n_bits,
    panels: panels.map(({ title, shape, data }: any, i: number) => ({
      name: PANELS[i],
      title,
      shape: [...shape],
      data: new Float64Array(data),
    })),
  };
}

async function importInto(module: string, names: string[] = []) {
  if (!Object.hasOwn(modules, module)) {
    throw new TypeError(
      `cells can import "zeropoint", "zeropoint/torch", "zeropoint/search", "zeropoint/notebook" and ` +
        `"./digits.js", not ${JSON.stringify(module)}`,
    );
  }
  const missing = names.find((name) => !Object.hasOwn(modules[module], name));
  if (missing !== undefined) {
    const error = new SyntaxError(`${JSON.stringify(module)} has no export called ${missing}`);
    throw Object.assign(error, { near: nearest(missing, Object.keys(modules[module])) });
  }
  return modules[module];
}

/**
 * Evaluates code with the notebook's names in reach. The prefix has no line break, so that line
 * numbers in stack traces are the cell's own. `with` cannot be written in a module, hence the
 * indirect eval; the cell itself is strict.
 */
function evaluate(code: string, file: string, isAsync: boolean) {
  const arrow = isAsync ? "async () =>" : "() =>";
  const text =
    `(function ($names, $declare, $import, $tuple, $get) { with ($names) ` +
    `return (${arrow} { "use strict"; ${code}\n})(); })\n//# sourceURL=${file}`;
  const evaluated = evaluateText(text);
  const tuple = (values: unknown[]) => notebook.tuple(...values);
  return evaluated(scope.names, scope.declare, importInto, tuple, partOf);
}

/**
 * Reads the property that a cell ends with, such as t.shape; throws for an unknown name, as in Python.
 * @param text  the object in the cell's words
 */
function partOf(object: any, key: PropertyKey, text: string) {
  const value = object[key];
  if (value !== undefined || key in Object(object)) return value;
  const name = String(key);
  const message = Array.isArray(object)
    ? `${text} has no ${name}: its length is ${object.length}`
    : `${text} has no ${name}`;
  throw Object.assign(new TypeError(message), { near: nearest(name, namesOf(object)) });
}

/**
 * Grades the function that an exercise's code has defined in the scope.
 * @param id  of the task
 */
function graded(id: string) {
  const task = taskOf(id);
  const learner = task.name in scope.names ? scope.names[task.name] : undefined;
  return grade(task, learner, notebook.torch, notebook.display);
}

async function runCell({ run: id, label, source, checks, exercise }: RunMessage) {
  if (exercise !== undefined) {
    scope = createScope();
    scope.provide({ ...builtIn, torch: modules["zeropoint/notebook"].torch });
  }
  file = `zeropoint-cell-${id}.js`;
  cellLabels.set(file, label);
  run = id;
  room = { ...OUTPUT_LIMIT };
  countMessagesAnew();
  plotRoom = { ...PLOT_LIMITS };
  errorTotal = 0;
  flushedAt = performance.now();
  shownPlots = new WeakSet();

  let result: string | undefined;
  let error: CellError | undefined;
  let names: CellNames | undefined;
  const failed: Promise<never> = new Promise((_, reject) => {
    failRunning = reject;
  });
  try {
    const rewritten = rewriteCell(source);
    const { hoisted, body } = rewritten;
    names = rewritten.names;
    if (hoisted.trim() !== "") evaluate(hoisted, file, false);
    const value = await Promise.race([evaluate(body, file, true), failed]);
    result = show(value);
  } catch (thrown) {
    error = describe(thrown);
  }
  failRunning = undefined;
  flush();
  const checked = error ? [] : checks.map((check) => runCheck(check, id));
  let verdict: Grade | undefined;
  try {
    if (exercise !== undefined && !error) verdict = graded(exercise);
  } catch (thrown) {
    error = describe(thrown);
  }
  flush();
  post({
    type: "done",
    ...sendable({ run: id, result, error, checks: checked, names, grade: verdict }),
  });
}

/** An outcome that the page takes: without names that are too many or too long for it. */
function sendable(outcome: Outcome & { run: number }) {
  const message = "the outcome of this cell is too large for the page";
  for (const each of [outcome, { ...outcome, names: undefined }]) {
    try {
      return checkedOutcome(each);
    } catch {}
  }
  return { run: outcome.run, error: { name: "RangeError", message }, checks: [] };
}

function describe(thrown: unknown) {
  try {
    return describedFully(thrown);
  } catch {
    // It has fields that throw.
    return { name: "Thrown", message: "a value that cannot be shown" };
  }
}

function describedFully(thrown: unknown) {
  const error = describeError(thrown, file, (name) => cellLabels.get(name));
  const missing = missingName(error);
  if (missing && Object.hasOwn(notebook.torch, missing)) error.inTorch = true;
  const [, of, method] = NO_FUNCTION.exec(error.message) ?? [];
  if (method === undefined) return error;
  const owner = meaningOf(of);
  if (owner instanceof Promise) {
    error.promise = of;
    return error;
  }
  error.advice = adviceOnCall(of, method, owner, notebook.torch.Tensor);
  return error;
}

/** Safari goes on with the call: "x.f is not a function. (In 'x.f()', 'x.f' is undefined)". */
const NO_FUNCTION = /^(.+)\.([\w$]+) is not a function(?:$|\. \(In )/;

/**
 * The value of a dotted name in a cell's scope; undefined if the text is not a name or the name cannot be
 * read from here.
 */
function meaningOf(text: string) {
  const [name, ...parts] = text.split(".");
  try {
    const whole = name in scope.names ? scope.names[name] : (globalThis as any)[name];
    return parts.reduce((each, part) => each[part], whole);
  } catch {
    // It is declared, and has no value yet, or is more than names.
    return undefined;
  }
}

/**
 * Handles an error of a timer or an unhandled rejection: fails the running cell, or shows the error at the
 * cell that ran last.
 */
function uncaught(event: Event, thrown: unknown) {
  preventDefault(event);
  if (failRunning) {
    failRunning(thrown);
    return;
  }
  errorTotal++;
  if (errorTotal === ERROR_LIMIT + 1) write("… the other errors are left out\n");
  if (errorTotal > ERROR_LIMIT) return;
  post({ type: "output", run, output: { kind: "error", error: describe(thrown) } });
}

// Capturing, and therefore before all listeners of cells.
self.addEventListener("error", (event) => uncaught(event, event.error ?? event.message), true);
self.addEventListener("unhandledrejection", (event) => uncaught(event, event.reason), true);

function show(value: unknown) {
  if (value === undefined || value === null) return undefined;
  if (isPlot(value)) {
    showPlot(value);
    return undefined;
  }
  const text = notebook.display(withinRoom(value));
  return text === undefined ? undefined : cut(text, { ...OUTPUT_LIMIT });
}

/** One character more than there is room for, so that the output says that it was cut. */
const withinRoom = (value: unknown) => shortened(value, OUTPUT_LIMIT.characters + 1);

function isPlot(value: any) {
  return typeof value === "object" && "kind" in value && value.kind === "quantization-errors";
}

/** @param check  an expression that has to be true */
function runCheck(check: string, id: number) {
  const file = `zeropoint-check-${id}.js`;
  try {
    return { passed: evaluate(`return (${check})`, file, false) === true };
  } catch (thrown) {
    const { name, message } = describe(thrown);
    return { passed: false, message: `${name}: ${message}` };
  }
}

// A cell that closed its own worker would leave the page waiting for an answer.
self.close = () => {
  throw new TypeError("a cell cannot close its worker: use Stop");
};

let queue = Promise.resolve();
function receive(event: MessageEvent) {
  // A cell can dispatch events of its own.
  if (!event.isTrusted) return;
  const data = dataOf(event);
  if (data?.type === "token") token ||= data.token;
  if (data?.type === "run") queue = queue.then(() => runCell(data));
  if (data?.type === "export") post({ type: "module", text: toModule(data.title, data.cells) });
}
self.addEventListener("message", receive, true);

notebook.init({ wasm: pageCore }).then(
  () =>
    post({
      type: "ready",
      files: performance.getEntriesByType("resource").map(({ name }) => name),
    }),
  (thrown: unknown) =>
    post({ type: "failed", message: describeError(thrown, "", () => undefined).message }),
);
