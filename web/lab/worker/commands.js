// The lab's commands, run in its worker by their names.

import { init } from "zeropoint";
import { analyze, frontier, plan } from "zeropoint/models";
import { activations, escapeGlob, mainOf, opened, openGiven, rows } from "./opened.js";

export { cornerOf, detail } from "./detail.js";
export { addInputs, removeInputs } from "./inputs.js";
export { quantize } from "./write.js";

/** @typedef {import("./opened.js").Context} Context */

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
 * @param {{ names?: string[], format: any }} argument  names: of the weights whose rows are replaced; default: all.
 *   format: of the file to write
 * @param {Context} context
 */
export async function analyzeAll({ names, format }, { signal, emit, report, ready }) {
  if (!names) rows.clear();
  const include = names && { include: names.map(escapeGlob) };
  for (const isSample of [true, false]) {
    const options = {
      signal,
      activations: Object.fromEntries(activations),
      format,
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
 * The frontier of all plans, and the plan of each scheme that can be that of all weights.
 * @param {{ pins: Record<string, string>, format: any }} argument
 */
export function frontierOf({ pins, format }) {
  const all = [...rows.values()].flat();
  const { metric } = plan(all, { ratio: Number.MAX_VALUE, format });
  return { points: frontier(all, { pin: pins, format }), uniforms: uniformsOf(metric, format) };
}

/**
 * The pins that no plan can have: of schemes that the format cannot store.
 * @param {{ pins: Record<string, string>, format: any }} argument
 */
export function unusablePins({ pins, format }) {
  const all = [...rows.values()].flat();
  return Object.keys(pins).filter((name) => {
    try {
      plan(all, { ratio: Number.MAX_VALUE, pin: { [name]: pins[name] }, format });
      return false;
    } catch {
      return true;
    }
  });
}

/**
 * @param {any} metric
 * @param {any} format
 */
function uniformsOf(metric, format) {
  const [weights, kept] = [[], []].map(() => /** @type {any[][]} */ ([]));
  for (const each of rows.values()) (each.length > 1 ? weights : kept).push(each);
  const schemes = new Set(weights.flat().map(({ scheme }) => scheme));
  schemes.delete("keep");
  return [...schemes].flatMap((name) => {
    const own = weights.flatMap((each) => each.filter(({ scheme }) => scheme === name));
    if (own.length < weights.length) return [];
    const uniform = plan([...own, ...kept.flat()], { ratio: Number.MAX_VALUE, metric, format });
    // A scheme that the format cannot hold leaves weights as they are.
    if (own.some((row) => uniform.schemes[row.name] !== name)) return [];
    return [{ name, bytes: uniform.bytes, error: uniform.error }];
  });
}

/**
 * The plan of a budget, and whether it is made of estimates.
 * @param {{ bytes: number, pins: Record<string, string>, format: any }} argument
 */
export function planFor({ bytes, pins, format }) {
  const all = [...rows.values()].flat();
  const isEstimate = all.some((row) => row.isEstimate);
  return { plan: plan(all, { bytes, pin: pins, format }), isEstimate };
}
