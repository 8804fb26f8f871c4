// What the lab asks of the library: a file's header, rows of its analysis, frontiers and plans.

import type { AnalysisRow } from "zeropoint/models";
import { library } from "../../shell/library.js";
import { escapeGlob } from "../names.js";
import type { Uniform } from "../show/plan-view.js";
import type { Run } from "../show/progress.js";
import { filesOf, type Given, mainOf, missingText, othersIn } from "./files.js";
import {
  activations,
  importance,
  isByAddress,
  opened,
  openGiven,
  parts,
  rows,
  used,
  withMoments,
} from "./opened.js";
import { analyzeParts } from "./parts.js";

/** Text of a value of the metadata, cut where it is long. */
function metadataText(value: unknown) {
  const text = Array.isArray(value) || ArrayBuffer.isView(value) ? listText(value) : String(value);
  return text.length > 200 ? `${text.slice(0, 200)} … (${text.length} characters)` : text;
}

const listText = (list: any) =>
  `[${Array.from(list.slice(0, 8), String).join(", ")}${list.length > 8 ? `, … ${list.length} values` : ""}]`;

export type Header = Awaited<ReturnType<typeof open>>;

/**
 * Opens a file, or the first of several that others belong to, and gives its header.
 * @param all  files that were given together, of which these are one model
 */
export async function open(given: Given, all: Given = given) {
  const model = await openGiven(given);
  const { format, metadata, tensors, inputs } = model;
  const [texts, named] = await Promise.all([metadata, tensors]);
  const sum = (list: Iterable<number>) => [...list].reduce((before, size) => before + size, 0);
  const ofTensors = sum(Array.from(named.values(), ({ byteLength }) => byteLength));
  // Of a folder the model's own files. External data of ONNX opens later, and an address does not tell its size.
  const ofFiles = sum(Array.from(used, ({ size }) => size));
  const isPart = typeof given === "string" || (await format) === "onnx";
  return {
    name: mainOf(given).name,
    missing: missingText(given),
    all,
    others: othersIn(all, used),
    /** The files of another model of those that were given. */
    filesOf: (other: File) => filesOf(all as readonly File[], used, other),
    size: isPart ? Math.max(ofFiles, ofTensors) : ofFiles,
    format: await format,
    metadata: Array.from(texts, ([key, value]) => [key, metadataText(value)] as const),
    tensors: [...named.values()],
    inputs: await inputs,
  };
}

/** Values of each weight for an estimate: a few rows. */
const SAMPLE = 2 ** 15;

/**
 * Analyzes weights, first from a sample of each, then in full. Plans are made of what has come.
 * @param argument  names: of the weights whose rows are replaced;
 *   default: all. format and target: of the file to write
 * @param handlers  called with each row, and after the sample
 */
export async function analyzeAll(
  { names, format, target }: { names?: string[] | undefined; format: any; target: string },
  run: Run,
  { onRow, onSampled }: { onRow: (row: AnalysisRow) => void; onSampled: () => void },
) {
  const { signal, pause, onProgress } = run;
  const [workers, tensors] = await Promise.all([parts(), opened().tensors]);
  if (!names) rows.clear();
  // Each row of a sample would be a request of its own.
  for (const isSample of isByAddress ? [false] : [true, false]) {
    const options = {
      signal,
      activations: Object.fromEntries(activations),
      format,
      ...(target && { target }),
      ...(isSample && { sample: SAMPLE }),
      onProgress: (progress: any) => {
        onProgress(progress, isSample ? "A sample of each layer" : "");
        return pause.ready();
      },
    };
    /** Rows of the weight that comes: they replace those of the sample when all are there. */
    let fresh: AnalysisRow[] = [];
    const keep = () => fresh.length > 0 && rows.set(fresh[0].name, fresh);
    for await (const each of analyzeParts(workers, names ?? [...tensors.keys()], options)) {
      const row = withMoments(each);
      onRow(row);
      await pause.ready();
      signal.throwIfAborted();
      if (row.name !== fresh[0]?.name) {
        keep();
        fresh = [];
      }
      fresh.push(row);
    }
    keep();
    if (isSample) onSampled();
  }
}

/** Where a plan goes: the format and the target of the file to write, and the schemes that are pinned. */
type Output = { format: any; target: string; pins: Record<string, string> };

/** The last rows with the bytes of a target, which all commands of a plan ask for. */
let stored: any;

/** The rows with the bytes of the file to write. */
async function storedFor({ format, target }: Output) {
  const key = JSON.stringify([format, target]);
  const all = [...rows.values()].flat();
  const isSame =
    stored?.key === key &&
    stored.all.length === all.length &&
    all.every((row, i) => row === stored.all[i]);
  if (!isSame) {
    const zp = await library();
    const options = { format, ...(target && { target }) };
    stored = { key, all, rows: zp.storedRows(opened(), all, options) };
  }
  return await stored.rows;
}

/** Pins as patterns of names. */
const patternsOf = (pins: Record<string, string>) =>
  Object.fromEntries(Object.entries(pins).map(([name, scheme]) => [escapeGlob(name), scheme]));

/**
 * The frontier of all plans, and the plan of each scheme that can be that of all weights, with sizes of the file; and
 * the bytes of each row as the target stores them.
 */
export async function frontierOf(output: Output) {
  const zp = await library();
  const all = await storedFor(output);
  const { format, pins } = output;
  // Calls that need not wait for each other: while an analysis runs, each waits for a part of it.
  const [{ metric }, points] = await Promise.all([
    zp.plan(all, { ratio: Number.MAX_VALUE, format }),
    zp.frontier(all, { pin: patternsOf(pins), format }),
  ]);
  const sizes = all.rows.map(({ name, scheme, bytes, isWritten = true }: any) => ({
    ...{ name, scheme, bytes, isWritten },
  }));
  const [uniforms, presets] = await Promise.all([
    uniformsOf(all, metric, format),
    presetsOf(all, format),
  ]);
  const shown: Uniform[] = [...uniforms, ...presets];
  return { points, uniforms: shown, sizes };
}

/** llama-quantize's mixes that are points beside the frontier. */
const PRESETS = ["Q2_K", "Q3_K_M", "Q4_0", "Q4_K_M", "Q5_K_M", "Q6_K", "Q8_0"];

/**
 * A mix as a plan, from GGUF to GGUF: the schemes of its types, their error from the rows, and the files with their sizes.
 * @param all  rows with the bytes of the file
 * @throws {Error} for a type without a row, and a mix that needs an importance matrix
 */
async function mixOf(name: string, all: any, format: any) {
  const zp = await library();
  const weights = new Set(all.rows.map((row: any) => row.name));
  const imatrix = importance.get("matrix");
  const { report, files } = await zp.quantizeModel(opened(), name, { imatrix });
  const pin = report.rows
    .filter((row) => weights.has(row.name))
    .map((row) => [row.name, row.scheme === row.from ? "keep" : row.scheme]);
  const options = { ratio: Number.MAX_VALUE, pin: patternsOf(Object.fromEntries(pin)), format };
  const plan = await zp.plan(all, options);
  return { plan: { ...plan, fileBytes: report.bytesAfter, preset: name }, files };
}

/** The mixes as points. */
async function presetsOf(all: any, format: any) {
  const isExact = all.rows.every((row: any) => !row.isEstimate);
  if (format !== "gguf" || (await opened().format) !== "gguf" || !isExact) return [];
  const presets = PRESETS.map((name) =>
    mixOf(name, all, format).then(
      ({ plan: { fileBytes: bytes, error } }) => [{ name, bytes, error, isPreset: true }],
      () => [],
    ),
  );
  return (await Promise.all(presets)).flat();
}

/**
 * The plan of a mix that frontierOf has found, as planFor gives plans. Written, it is the mix itself, by the importance matrix
 * if there is one. Pins do not change it.
 * @param argument  preset: such as "Q4_K_M"
 */
export async function planOfPreset({ preset, ...output }: Output & { preset: string }) {
  const all = await storedFor(output);
  const { plan, files } = await mixOf(preset, all, output.format);
  return {
    plan,
    files: files.map(({ name, size }) => ({ name, size })),
    estimate: estimateOf(all.rows, plan.metric),
  };
}

/** The pins that no plan can have: of schemes that the target cannot store. */
export async function unusablePins(output: Output) {
  const zp = await library();
  const all = await storedFor(output);
  const { format, pins } = output;
  const checks = Object.entries(pins).map(async ([name, scheme]) => {
    const own = { ...all, rows: all.rows.filter((row: any) => row.name === name) };
    const options = { ratio: Number.MAX_VALUE, pin: patternsOf({ [name]: scheme }), format };
    return await zp.plan(own, options).then(
      () => [],
      () => [name],
    );
  });
  return (await Promise.all(checks)).flat();
}

/** @param all  rows with the bytes of the file */
async function uniformsOf(all: any, metric: any, format: any) {
  const zp = await library();
  const byName = new Map<string, any[]>();
  for (const row of all.rows) byName.set(row.name, [...(byName.get(row.name) ?? []), row]);
  const [weights, kept] = [[], []].map(() => [] as any[][]);
  for (const each of byName.values()) (each.length > 1 ? weights : kept).push(each);
  const schemes = new Set(weights.flat().map(({ scheme }) => scheme));
  schemes.delete("keep");
  const uniforms = Array.from(schemes, async (name) => {
    const own = weights.flatMap((each) => each.filter(({ scheme }) => scheme === name));
    if (own.length < weights.length) return [];
    const only = { ...all, rows: [...own, ...kept.flat()] };
    const uniform = await zp.plan(only, { ratio: Number.MAX_VALUE, metric, format });
    // A scheme that the target cannot hold leaves weights as they are.
    if (own.some((row) => uniform.schemes[row.name] !== name)) return [];
    return [{ name, bytes: uniform.fileBytes ?? uniform.bytes, error: uniform.error }];
  });
  return (await Promise.all(uniforms)).flat();
}

/** What the error of a plan is estimated from; undefined for one that is exact. */
function estimateOf(all: readonly any[], metric: string): "samples" | "squares" | undefined {
  if (all.some((row) => row.isEstimate)) return "samples";
  const isOfSquares = metric === "output" && all.some(({ moments }) => moments === "diagonal");
  return isOfSquares ? "squares" : undefined;
}

/**
 * The plan of least error whose file has so many bytes at most, what its error is estimated from, and the files that
 * the writer makes of it, with their sizes.
 */
export async function planFor({ bytes, ...output }: Output & { bytes: number }) {
  const zp = await library();
  const all = await storedFor(output);
  const { format, target, pins } = output;
  const planned = await zp.plan(all, { bytes, pin: patternsOf(pins), format });
  const options = { format, ...(target && { target }) };
  const { files } = await zp.quantizeModel(opened(), planned, options);
  return {
    plan: { ...planned, fileBytes: planned.fileBytes ?? planned.bytes },
    files: files.map(({ name, size }) => ({ name, size })),
    estimate: estimateOf(all.rows, planned.metric),
  };
}
