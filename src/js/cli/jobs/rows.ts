// Rows of analyze in files: one file of a whole model, or a folder with one for each file of a model in shards.

import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { PlanRow } from "../../models/plan/rows.js";
import { EXIT, Failure } from "../failures.js";
import { readText } from "../input.js";
import { isFile, isFolder } from "../output/files.js";
import { noteInputPath } from "../output/places.js";
import { jsonText } from "../output/report.js";
import { stemOf } from "../output/stem.js";
import { printable } from "../output/terminal.js";
import type { JobOptions } from "./done.js";
import { hasFields, parseJson } from "./json.js";

/** Rows as analyze writes them. */
export interface RowsFile {
  readonly version: 1;
  /** Hash of everything that the rows depend on: schemes, version of the package. */
  readonly job: string;
  /** The format and the target whose bytes the rows count. */
  readonly options?: JobOptions;
  /** Bytes of a file in addition to the bytes of its tensors. */
  readonly overhead?: number;
  readonly source: {
    readonly name: string;
    readonly headerSha256: string;
    /** Of the bytes of the files that were read. */
    readonly version?: string | undefined;
    /** The names of all files of the model, if it has several. */
    readonly of?: readonly string[];
  };
  /** Of what the file holds beside its source, as `hashOfRows` gives it; only in files of jobs. */
  readonly sha256?: string | undefined;
  readonly rows: readonly PlanRow[];
}

/** The hash by which changed rows of a job are found. */
export const hashOfRows = ({ options, overhead, rows }: RowsFile): string =>
  createHash("sha256").update(jsonText({ options, overhead, rows }, 0)).digest("hex");

const ENDING = ".rows.json";

/** The path of the rows of one file of a model. */
export const rowsPath = (folder: string, source: string): string =>
  join(folder, stemOf(source) + ENDING);

/** Whether an operand names rows rather than a model. */
export async function isOfRows(path: string, signal: AbortSignal): Promise<boolean> {
  if (path === "-") return true;
  if (!(await isFolder(path))) {
    if (!/(?<!\.index)\.json$/i.test(path) || /(^|[/\\])model\.json$/.test(path)) return false;
    // Models of TensorFlow.js have any name: an object with weightsManifest, or the array of such a manifest.
    // A pipe can be read only once.
    if (!(await isFile(path))) return true;
    return !/^\s*\[|"weightsManifest"\s*:/.test(await readText("", path, signal));
  }
  return readdirSync(path).some((name) => name.endsWith(ENDING));
}

/** The rows in a file. @throws {Failure} if it has none */
export async function readRowsFile(path: string, signal: AbortSignal): Promise<RowsFile> {
  const text = await readText("", path, signal);
  const file = parseJson(path, text);
  if (!isRows(file)) {
    throw new Failure(EXIT.input, `${path}: it has no rows of zeropoint analyze --json`);
  }
  return { ...file, rows: file.rows.map(withNumbers) };
}

/** Whether a value of a file has all that its readers use; `source` is for rows in folders. */
function isRows(file: unknown): file is RowsFile {
  if (!hasFields(file, { version: "number" }) || file.version !== 1) return false;
  const { rows, overhead = 0, options = {} } = file;
  return (
    Array.isArray(rows) &&
    rows.every(isRow) &&
    typeof overhead === "number" &&
    hasFields(options, {})
  );
}

/** Whether a value is a row as far as `plan` does not check it. */
function isRow(row: unknown): row is PlanRow {
  if (!hasFields(row, {})) return false;
  const { headerBytes = 0, nominalBytes = 0 } = row;
  return typeof headerBytes === "number" && typeof nominalBytes === "number";
}

/** @throws {Failure} if a file does not say of which file of a model its rows are */
function checkSource(path: string, { source, job }: RowsFile): void {
  const of: unknown = hasFields(source, { name: "string" }) ? (source.of ?? []) : undefined;
  const isKnown = Array.isArray(of) && of.every((name) => typeof name === "string");
  if (isKnown && typeof job === "string") return;
  throw new Failure(EXIT.input, `${path}: it names no file of a model; run its job again`);
}

/** Numbers that JSON does not have are stored as text. */
export function withNumbers(row: PlanRow): PlanRow {
  const entries = Object.entries(row).map(([key, value]) => {
    const isNumber = value === "Infinity" || value === "-Infinity" || value === "NaN";
    return [key, isNumber && key !== "name" ? Number(value) : value];
  });
  return Object.fromEntries(entries) as PlanRow;
}

/**
 * The rows of a file, or of all jobs in a folder.
 * @throws {Failure} if the rows of a file of the model are missing, or are of another model or analysis
 */
export async function readRows(
  path: string,
  signal: AbortSignal,
): Promise<Pick<RowsFile, "rows" | "options" | "overhead">> {
  if (!(await isFolder(path))) return await readRowsFile(path, signal);
  const names = readdirSync(path)
    .filter((name) => name.endsWith(ENDING))
    .sort();
  const files = new Map<string, RowsFile>();
  for (const name of names) {
    if (!(await isFile(join(path, name)))) {
      process.stderr.write(`${printable(`${name} is not read: it is no regular file`)}\n`);
      continue;
    }
    await noteInputPath(join(path, name));
    const file = await readRowsFile(join(path, name), signal);
    checkSource(join(path, name), file);
    if (file.sha256 !== undefined && file.sha256 !== hashOfRows(file)) {
      const problem = "changed since its job wrote it; run that again with --force";
      throw new Failure(EXIT.different, `${join(path, name)}: ${problem}`);
    }
    files.set(file.source.name, file);
  }
  const [first] = files.values();
  if (first === undefined) throw new Failure(EXIT.input, `${path}: it has no rows of analyze`);
  const wanted = first.source.of ?? [first.source.name];
  for (const [name, { source, job }] of files) {
    const isSame = (source.of ?? [source.name]).join("\n") === wanted.join("\n");
    if (isSame && job === first.job) continue;
    const problem = isSame ? "another analysis (schemes, or version)" : "another model";
    throw new Failure(
      EXIT.different,
      `${path}: ${name} is of ${problem} than ${first.source.name}`,
    );
  }
  const missing = wanted.filter((name) => !files.has(name));
  if (missing.length > 0) {
    const some = missing.slice(0, 3).join(", ");
    const count = `${missing.length} of ${wanted.length} files are missing: ${some}`;
    throw new Failure(
      EXIT.different,
      `${path}: ${count}${missing.length > 3 ? " …" : ""}; run their jobs`,
    );
  }
  const rows = wanted.flatMap((name) => files.get(name)?.rows ?? []);
  const overhead = wanted.reduce((sum, name) => sum + (files.get(name)?.overhead ?? 0), 0);
  return { rows, overhead, ...(first.options !== undefined && { options: first.options }) };
}
