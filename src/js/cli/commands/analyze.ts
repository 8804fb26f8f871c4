// zeropoint analyze: what each scheme costs each tensor.

import { mkdir } from "node:fs/promises";
import { basename } from "node:path";
import type { Model } from "../../models/open/model.js";
import type { StoredRows } from "../../models/quantize/stored-rows.js";
import {
  type Analysis,
  analysisOf,
  journalFor,
  journalOf,
  rowsOf,
  shardPath,
  targetOptions,
} from "../analysis/analysis.js";
import { analysisReport, metricOf } from "../analysis/analysis-report.js";
import { readArguments } from "../arguments.js";
import { EXIT, Failure, usage } from "../failures.js";
import { checkSelection, openInput, startCore } from "../input.js";
import { peakMemory } from "../jobs/done.js";
import { hashOfRows, type RowsFile, readRowsFile, rowsPath } from "../jobs/rows.js";
import { hashOf, type SourceFile, sourceFiles } from "../jobs/sources.js";
import { filesOf, type Part, parsePart } from "../jobs/split-files.js";
import { isFile, isFolder, writeText } from "../output/files.js";
import { checkPlace } from "../output/places.js";
import { checkOutput, jsonText, writeReport } from "../output/report.js";
import { printable } from "../output/terminal.js";
import { showTime } from "../units.js";

/** Runs the command. @returns the exit code */
export async function run(argv: readonly string[], signal: AbortSignal): Promise<number> {
  const args = readArguments("analyze", argv);
  const [file] = args.operands;
  const metric = metricOf(args);
  const output = args.text("output");
  const part = parsePart(args.text("shard"));
  const isToFolder =
    part !== undefined ||
    (output !== undefined && (/[/\\]$/.test(output) || (await isFolder(output))));
  if (part !== undefined && output === undefined)
    throw usage("--shard needs -o, a folder for the rows");
  if (!isToFolder) await checkOutput(args);
  await startCore(args);
  const model = await openInput(file, signal, args);
  try {
    const analysis = await analysisOf(args, model, signal);
    if (isToFolder) return await writeShards(file, model, part, analysis, signal);
    checkSelection(args, model);
    const journal = await journalFor(model, analysis);
    const sized = await rowsOf(model, basename(file), analysis, signal, journal);
    const sources = await sourceFiles(model);
    const source =
      sources.length === 1
        ? sourceOf(sources[0])
        : {
            name: basename(file),
            headerSha256: hashOf(sources.map(({ headerSha256 }) => headerSha256)),
          };
    const report = analysisReport(file, sized, args, metric, rowsFile(analysis, source, sized));
    await writeReport(args, report, signal);
    return EXIT.ok;
  } finally {
    await model.close();
  }
}

const sourceOf = ({ name, headerSha256, version }: SourceFile) => ({
  ...{ name, headerSha256, version },
});

const rowsFile = (
  { args, hash }: Analysis,
  source: RowsFile["source"],
  { rows, overhead }: StoredRows,
): RowsFile => ({
  ...{ version: 1, job: hash, source },
  options: targetOptions(args),
  ...{ overhead, rows },
});

/** Analyzes the files of one job, each to a file of rows; skips files that are done. */
async function writeShards(
  file: string,
  model: Model,
  part: Part | undefined,
  analysis: Analysis,
  signal: AbortSignal,
): Promise<number> {
  const { args, hash } = analysis;
  const folder = args.text("output") as string;
  const start = performance.now();
  const sources = await sourceFiles(model);
  const names = sources.map(({ name }) => name);
  await mkdir(folder, { recursive: true });
  let [count, done] = [0, 0];
  for (const source of filesOf(sources, part)) {
    const path = rowsPath(folder, source.name);
    // Opened only if it is a regular file: others are refused by checkPlace.
    const found = (await isFile(path))
      ? await readRowsFile(path, signal).catch(() => undefined)
      : undefined;
    const isSame =
      found?.job === hash &&
      found.source.headerSha256 === source.headerSha256 &&
      found.source.version === source.version &&
      source.version !== undefined &&
      found.sha256 === hashOfRows(found);
    if (isSame && !args.has("force")) {
      done++;
      continue;
    }
    if (found !== undefined && !args.has("force")) {
      throw new Failure(
        EXIT.output,
        `${path} is of another analysis, or the model or the file itself has changed; --force overwrites it`,
      );
    }
    await checkPlace(path, args.has("force"));
    const shard =
      sources.length === 1
        ? model
        : await openInput(await shardPath(file, source.name), signal, args);
    try {
      const journal = journalOf(path, source.headerSha256, source.version, analysis);
      const sized = await rowsOf(shard, source.name, analysis, signal, journal);
      const made = rowsFile(analysis, { ...sourceOf(source), of: names }, sized);
      const content = { ...made, sha256: hashOfRows(made) };
      await writeText(path, `${jsonText(content, 0)}\n`, signal);
      count++;
    } finally {
      if (shard !== model) await shard.close();
    }
  }
  if (!args.has("quiet")) {
    const seconds = showTime((performance.now() - start) / 1000);
    const skipped = done === 0 ? "" : `, ${done} done already`;
    const memory = `${Math.round(peakMemory() / 1e6)} MB of memory at most`;
    const line = `${folder}: rows of ${count} files in ${seconds}${skipped}, ${memory}`;
    process.stdout.write(`${printable(line)}\n`);
  }
  return EXIT.ok;
}
