// Rows of analyze for a file or a model in shards, with progress; used by analyze and by plan.

import { basename, dirname, join } from "node:path";
import { analyze } from "../../models/analyze/analyze.js";
import type { AnalyzeOptions } from "../../models/analyze/options.js";
import type { AnalysisRow } from "../../models/analyze/row.js";
import type { Model } from "../../models/open/model.js";
import { type StoredRows, storedRows } from "../../models/quantize/stored-rows.js";
import type { Arguments } from "../arguments.js";
import { openInput, splitList } from "../input.js";
import type { JobOptions } from "../jobs/done.js";
import { Journal } from "../jobs/journal.js";
import { hashOfFile, modelOptions } from "../jobs/request.js";
import { hashOf, sourceFiles, versionOfAll } from "../jobs/sources.js";
import { isFolder } from "../output/files.js";
import { Progress } from "../output/progress.js";
import { packageVersion } from "../version.js";
import { type Inputs, readActivations } from "./activations.js";

/** Options of the analysis that the command line gives. */
function analysisOptions(args: Arguments): AnalyzeOptions {
  const schemes = splitList(args.text("schemes"));
  // The library checks the name.
  const format = args.text("format") as AnalyzeOptions["format"];
  const target = args.text("target");
  const [include, exclude] = [args.list("include"), args.list("exclude")];
  return {
    ...(schemes !== undefined && { schemes }),
    ...(format !== undefined && { format }),
    ...(target !== undefined && { target }),
    ...(include.length > 0 && { include }),
    ...(exclude.length > 0 && { exclude }),
  };
}

/** The format and the target whose bytes are counted. */
export function targetOptions(args: Arguments): JobOptions {
  const [format, target] = [args.text("format"), args.text("target")];
  return { ...(format !== undefined && { format }), ...(target !== undefined && { target }) };
}

/** An analysis that the arguments ask for. */
export interface Analysis {
  readonly args: Arguments;
  readonly inputs: Inputs;
  /** The hash of everything that the rows depend on. */
  readonly hash: string;
}

/** @param model  the whole model, with all shards */
export async function analysisOf(
  args: Arguments,
  model: Model,
  signal: AbortSignal,
): Promise<Analysis> {
  const files = await Promise.all(args.list("activations").map(hashOfFile));
  const inputs = await readActivations(args, model.tensors, signal);
  const parts = [packageVersion(), analysisOptions(args), targetOptions(args)];
  return { args, inputs, hash: hashOf(files.length === 0 ? parts : [...parts, files]) };
}

/** Analyzes a model, with bytes as the target stores them. */
export async function rowsOf(
  model: Model,
  title: string,
  { args, inputs }: Analysis,
  signal: AbortSignal,
  journal?: Journal,
): Promise<StoredRows<AnalysisRow>> {
  const progress = new Progress(`analyzing ${title}`, args.has("quiet"));
  const rows: AnalysisRow[] = [];
  const known = await journal?.open(signal);
  const own = [...inputs].filter(([name]) => model.tensors.has(name));
  const options = {
    ...analysisOptions(args),
    ...(own.length > 0 && { activations: Object.fromEntries(own) }),
    ...{ known, signal, onProgress: progress.update },
  };
  try {
    for await (const row of analyze(model, options)) {
      rows.push(row);
      await journal?.add(row);
    }
    await journal?.remove();
  } catch (error) {
    if (signal.aborted) throw (await journal?.keep()) ?? error;
    await journal?.remove();
    throw error;
  } finally {
    await journal?.close();
  }
  progress.clear();
  return await storedRows(model, rows, modelOptions(targetOptions(args)));
}

/** The journal of an analysis whose result goes to a file; undefined for another one. */
export async function journalFor(model: Model, analysis: Analysis): Promise<Journal | undefined> {
  const output = analysis.args.text("output");
  if (output === undefined || output === "-") return undefined;
  const sources = await sourceFiles(model);
  const headers = sources.map(({ headerSha256 }) => headerSha256);
  return journalOf(output, hashOf(headers), versionOfAll(sources), analysis);
}

/** The journal of the rows of one file of a model; undefined without a version, as its values may change between runs. */
export function journalOf(
  output: string,
  headerSha256: string,
  version: string | undefined,
  { hash }: Analysis,
): Journal | undefined {
  if (version === undefined) return undefined;
  return new Journal(output, hashOf([hash, headerSha256, version]).slice(0, 16));
}

/** Analyzes a file. */
export async function analyzeFile(
  file: string,
  args: Arguments,
  signal: AbortSignal,
): Promise<StoredRows<AnalysisRow>> {
  const model = await openInput(file, signal, args);
  try {
    const analysis = await analysisOf(args, model, signal);
    const journal = await journalFor(model, analysis);
    return await rowsOf(model, basename(file), analysis, signal, journal);
  } finally {
    await model.close();
  }
}

/** The path of a file of a model in shards. @param model  its folder or its index */
export const shardPath = async (model: string, name: string): Promise<string> =>
  join((await isFolder(model)) ? model : dirname(model), name);
