// Rows of analyze for a file or a model in shards, with progress; used by analyze and by plan.

import { basename, dirname, join } from "node:path";
import { analyze } from "../models/analyze/analyze.js";
import type { AnalyzeOptions } from "../models/analyze/options.js";
import type { AnalysisRow } from "../models/analyze/row.js";
import type { Model } from "../models/model.js";
import type { Arguments } from "./arguments.js";
import { openInput, splitList } from "./input.js";
import type { JobOptions } from "./jobs/done.js";
import { hashOf } from "./jobs/sources.js";
import { isFolder } from "./output/files.js";
import { Progress } from "./output/progress.js";
import { type SizedRows, sizedRows } from "./sizes.js";
import { packageVersion } from "./version.js";

/** Options of the analysis that the command line gives. */
function analysisOptions(args: Arguments): AnalyzeOptions {
  const schemes = splitList(args.text("schemes"));
  const [include, exclude] = [args.list("include"), args.list("exclude")];
  return {
    ...(schemes !== undefined && { schemes }),
    ...(include.length > 0 && { include }),
    ...(exclude.length > 0 && { exclude }),
  };
}

/** The format and the target whose bytes are counted. */
export function targetOptions(args: Arguments): JobOptions {
  const [format, target] = [args.text("format"), args.text("target")];
  return { ...(format !== undefined && { format }), ...(target !== undefined && { target }) };
}

/** The hash of all that decides about rows. */
export const analysisHash = (args: Arguments): string =>
  hashOf([packageVersion(), analysisOptions(args), targetOptions(args)]);

/** Analyzes a model, with bytes as the target stores them. */
export async function rowsOf(
  model: Model,
  title: string,
  args: Arguments,
  signal: AbortSignal,
): Promise<SizedRows> {
  const progress = new Progress(`analyzing ${title}`, args.has("quiet"));
  const rows: AnalysisRow[] = [];
  const options = { ...analysisOptions(args), signal, onProgress: progress.update };
  for await (const row of analyze(model, options)) rows.push(row);
  progress.clear();
  return await sizedRows(model, rows, targetOptions(args));
}

/** Analyzes a file. */
export async function analyzeFile(
  file: string,
  args: Arguments,
  signal: AbortSignal,
): Promise<SizedRows> {
  const model = await openInput(file, signal);
  try {
    return await rowsOf(model, basename(file), args, signal);
  } finally {
    await model.close();
  }
}

/** The path of a file of a model in shards. @param model  its folder or its index */
export const shardPath = async (model: string, name: string): Promise<string> =>
  join((await isFolder(model)) ? model : dirname(model), name);
