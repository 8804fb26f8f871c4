// The lab's commands, run in its worker by their names.

import { init } from "zeropoint";
import { analyze, frontier, plan, quantizeModel, storedRows } from "zeropoint/models";
import { escapeGlob } from "../names.js";
import { activations, mainOf, opened, openGiven, rows } from "./opened.js";

export { cornerOf, detail } from "./detail.js";
export { addInputs, removeInputs } from "./inputs.js";
export { quantize } from "./write.js";

/** @typedef {import("../../shell/calls/serve.js").Context} Context */

/** Text of a value of the metadata, cut where it is long. @param {unknown} value */
function metadataText(value) {
  const text = Array.isArray(value) || ArrayBuffer.isView(value) ? listText(value) : String(value);
  return text.length > 200 ? `${text.slice(0, 200)} … (${text.length} characters)` : text;
}

/** @param {any} list */
const listText = (list) =>
  `[${Array.from(list.slice(0, 8), String).join(", ")}${list.length > 8 ? `, … ${list.length} values` : ""}]`;

/**
 * Opens a file, or the first of several that others belong to, and gives its header.
 * @param {{ files: File[] }} argument
 * @param {Context} context
 */
export async function open({ files }, { signal }) {
  await init();
  const model = await openGiven(files);
  signal.throwIfAborted();
  return {
    name: mainOf(files).name,
    size: files.reduce((sum, { size }) => sum + size, 0),
    format: model.format,
    metadata: Array.from(model.metadata, ([key, value]) => [key, metadataText(value)]),
    tensors: Array.from(model.tensors.values(), (tensor) => ({ ...tensor })),
    inputs: model.inputs.map(({ name, dtype, shape }) => ({ name, dtype, shape })),
  };
}

/** Values of each weight for an estimate: a few rows. */
const SAMPLE = 2 ** 15;

/**
 * Analyzes weights, first from a sample of each, then in full: emits rows as they come, the progress, and the end of
 * the sample. Plans are made of what has come.
 * @param {{ names?: string[], format: any, target: string }} argument  names: of the weights whose rows are replaced;
 *   default: all. format and target: of the file to write
 * @param {Context} context
 */
export async function analyzeAll({ names, format, target }, { signal, emit, report, ready }) {
  if (!names) rows.clear();
  const include = names && { include: names.map(escapeGlob) };
  for (const isSample of [true, false]) {
    const options = {
      signal,
      activations: Object.fromEntries(activations),
      format,
      ...(target && { target }),
      ...include,
      ...(isSample && { sample: SAMPLE }),
      onProgress: (/** @type {any} */ progress) => {
        report({ progress: { ...progress, isSample } });
        return ready();
      },
    };
    const fresh = new Set();
    for await (const row of analyze(opened(), options)) {
      emit({ row });
      await ready();
      signal.throwIfAborted();
      if (!fresh.has(row.name)) rows.set(row.name, []);
      fresh.add(row.name);
      rows.get(row.name)?.push(row);
    }
    if (isSample) emit({ isSampled: true });
  }
}

/**
 * Where a plan goes: the format and the target of the file to write, and the schemes that are pinned.
 * @typedef {{ format: any, target: string, pins: Record<string, string> }} Output
 */

/** The last rows with the bytes of a target, which all commands of a plan ask for. @type {any} */
let stored;

/**
 * The rows with the bytes of the file to write.
 * @param {Output} output
 * @param {AbortSignal} signal
 */
async function storedFor({ format, target }, signal) {
  const key = JSON.stringify([format, target]);
  const all = [...rows.values()].flat();
  const isSame =
    stored?.key === key &&
    stored.all.length === all.length &&
    all.every((row, i) => row === stored.all[i]);
  if (!isSame) {
    const options = { format, signal, ...(target && { target }) };
    stored = { key, all, rows: await storedRows(opened(), all, options) };
  }
  return stored.rows;
}

/** Pins as patterns of names. @param {Record<string, string>} pins */
const patternsOf = (pins) =>
  Object.fromEntries(Object.entries(pins).map(([name, scheme]) => [escapeGlob(name), scheme]));

/**
 * The frontier of all plans, and the plan of each scheme that can be that of all weights, with sizes of the file; and
 * the bytes of each row as the target stores them.
 * @param {Output} output
 * @param {Context} context
 */
export async function frontierOf(output, { signal }) {
  const all = await storedFor(output, signal);
  const { format, pins } = output;
  const { metric } = plan(all, { ratio: Number.MAX_VALUE, format });
  const points = frontier(all, { pin: patternsOf(pins), format });
  const sizes = all.rows.map((/** @type {any} */ { name, scheme, bytes, isWritten = true }) => ({
    ...{ name, scheme, bytes, isWritten },
  }));
  return { points, uniforms: uniformsOf(all, metric, format), sizes };
}

/**
 * The pins that no plan can have: of schemes that the target cannot store.
 * @param {Output} output
 * @param {Context} context
 */
export async function unusablePins(output, { signal }) {
  const all = await storedFor(output, signal);
  const { format, pins } = output;
  return Object.keys(pins).filter((name) => {
    try {
      plan(all, { ratio: Number.MAX_VALUE, pin: patternsOf({ [name]: pins[name] }), format });
      return false;
    } catch {
      return true;
    }
  });
}

/**
 * @param {any} all  rows with the bytes of the file
 * @param {any} metric
 * @param {any} format
 */
function uniformsOf(all, metric, format) {
  /** @type {Map<string, any[]>} */
  const byName = new Map();
  for (const row of all.rows) byName.set(row.name, [...(byName.get(row.name) ?? []), row]);
  const [weights, kept] = [[], []].map(() => /** @type {any[][]} */ ([]));
  for (const each of byName.values()) (each.length > 1 ? weights : kept).push(each);
  const schemes = new Set(weights.flat().map(({ scheme }) => scheme));
  schemes.delete("keep");
  return [...schemes].flatMap((name) => {
    const own = weights.flatMap((each) => each.filter(({ scheme }) => scheme === name));
    if (own.length < weights.length) return [];
    const only = { ...all, rows: [...own, ...kept.flat()] };
    const uniform = plan(only, { ratio: Number.MAX_VALUE, metric, format });
    // A scheme that the target cannot hold leaves weights as they are.
    if (own.some((row) => uniform.schemes[row.name] !== name)) return [];
    return [{ name, bytes: uniform.fileBytes, error: uniform.error }];
  });
}

/**
 * What the error of a plan is estimated from; undefined for one that is exact.
 * @param {readonly any[]} all
 * @param {string} metric
 * @returns {"samples" | "squares" | undefined}
 */
function estimateOf(all, metric) {
  if (all.some((row) => row.isEstimate)) return "samples";
  const isOfSquares = metric === "output" && all.some(({ moments }) => moments === "diagonal");
  return isOfSquares ? "squares" : undefined;
}

/**
 * The plan of least error whose file has so many bytes at most, what its error is estimated from, and the files that
 * the writer makes of it, with their sizes.
 * @param {Output & { bytes: number }} output
 * @param {Context} context
 */
export async function planFor({ bytes, ...output }, { signal }) {
  const all = await storedFor(output, signal);
  const { format, target, pins } = output;
  const planned = plan(all, { bytes, pin: patternsOf(pins), format });
  const options = { format, signal, ...(target && { target }) };
  const { files } = await quantizeModel(opened(), planned, options);
  return {
    plan: planned,
    files: files.map(({ name, size }) => ({ name, size })),
    estimate: estimateOf(all.rows, planned.metric),
  };
}
