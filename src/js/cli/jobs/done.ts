// Done-files: a record of the files that a job wrote, so that the same job ends at once when it is run again.

import { createHash } from "node:crypto";
import { constants, type ReadStream } from "node:fs";
import { type FileHandle, lstat, open, readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { EXIT, Failure } from "../failures.js";
import { writeText } from "../output/files.js";
import { stemOf } from "../output/stem.js";
import { hasFields } from "./json.js";

/** A job's record of a file that it wrote. */
export interface Done {
  readonly version: 1;
  /** Hash of everything that the bytes depend on: plan or scheme, options, version of the package. */
  readonly job: string;
  /** Hash of the plan's schemes, or of the scheme's name. */
  readonly plan: string;
  readonly options: JobOptions;
  readonly source: {
    /** The model as the job named it, and its folder's full path. */
    readonly model: string;
    readonly path: string;
    /** The file that was read; undefined if it was more than one. */
    readonly name: string | undefined;
    readonly headerSha256: string;
    /** Of the bytes of all files that were read; undefined if one of them has none. */
    readonly version: string | undefined;
  };
  readonly output: { readonly name: string; readonly size: number; readonly sha256: string };
  /** Largest resident memory of the process, in bytes. */
  readonly peakMemory: number;
  readonly seconds: number;
}

/** Options of quantize that the bytes depend on. */
export interface JobOptions {
  readonly format?: string;
  readonly target?: string;
  readonly activations?: string;
  readonly pure?: boolean;
  readonly requantize?: boolean;
  readonly tokenEmbeddingType?: string;
  readonly outputTensorType?: string;
  readonly tensorTypes?: Readonly<Record<string, string>>;
  /** Hash of the file of importance. */
  readonly imatrix?: string;
}

/** The folder of records beside outputs. */
export const recordsFolder = (folder: string): string => join(folder, ".zeropoint");

const ENDING = ".done.json";

/** The path of the done-file of an output. */
export const donePath = (output: string): string =>
  join(recordsFolder(dirname(output)), stemOf(basename(output)) + ENDING);

/** Opens a regular file that no link leads to. @returns undefined if there is none */
async function openOwn(path: string): Promise<FileHandle | undefined> {
  const flags = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  const file = await open(path, constants.O_RDONLY | flags).catch(() => undefined);
  if (file === undefined || (await file.stat()).isFile()) return file;
  await file.close();
  return undefined;
}

/** The JSON of a record. @returns undefined if there is none, or it is damaged */
async function readRecord(path: string): Promise<unknown> {
  const file = await openOwn(path);
  try {
    return file && JSON.parse(await file.readFile("utf8"));
  } catch {
    return undefined;
  } finally {
    await file?.close();
  }
}

/** Whether a value of a file has all that its readers use. */
function isDone(value: unknown): value is Done {
  if (!hasFields(value, { version: "number", job: "string", plan: "string" })) return false;
  const { version, source, output, options } = value;
  return (
    version === 1 &&
    hasFields(value, { peakMemory: "number", seconds: "number" }) &&
    hasFields(source, { model: "string", path: "string", headerSha256: "string" }) &&
    hasFields(output, { name: "string", size: "number", sha256: "string" }) &&
    hasFields(options, {})
  );
}

/** The done-file of an output. @returns undefined if there is none, or it is damaged */
export async function readDone(output: string): Promise<Done | undefined> {
  const done = await readRecord(donePath(output));
  return isDone(done) ? done : undefined;
}

/** The first done-file of a folder. */
export async function firstDone(folder: string): Promise<Done | undefined> {
  const records = recordsFolder(folder);
  const names = await readdir(records).catch(() => []);
  for (const name of names.sort()) {
    if (!name.endsWith(ENDING)) continue;
    const done = await readRecord(join(records, name));
    if (isDone(done)) return done;
  }
  return undefined;
}

/** Writes a record beside outputs. @throws {Failure} if the folder of records is a link */
async function writeRecord(path: string, record: unknown, signal: AbortSignal): Promise<void> {
  const folder = await lstat(dirname(path)).catch(() => undefined);
  if (folder?.isSymbolicLink()) {
    throw new Failure(EXIT.output, `${dirname(path)} is a link, and records are not written there`);
  }
  await writeText(path, `${JSON.stringify(record, null, 2)}\n`, signal);
}

/** Writes a done-file, after its output. */
export async function writeDone(output: string, done: Done, signal: AbortSignal): Promise<void> {
  await writeRecord(donePath(output), done, signal);
}

/** Hashes of the files that describe a result, by name: index, config, companions, SHA256SUMS. */
export type Described = Readonly<Record<string, string>>;

const describedPath = (folder: string): string => join(recordsFolder(folder), "described.json");

/** The files that were written last to describe the result in a folder. */
export async function readDescribed(folder: string): Promise<Described> {
  const record = Object(await readRecord(describedPath(folder))) as { files?: unknown };
  const files = Object.entries(Object(record.files) as Described);
  return Object.fromEntries(files.filter(([, sha256]) => typeof sha256 === "string"));
}

export async function writeDescribed(
  folder: string,
  files: Described,
  signal: AbortSignal,
): Promise<void> {
  await writeRecord(describedPath(folder), { version: 1, files }, signal);
}

/** Whether an output is there, with the size that its done-file says. */
export async function isThere(output: string, done: Done): Promise<boolean> {
  return await lstat(output).then(
    (found) => found.isFile() && found.size === done.output.size,
    () => false,
  );
}

/** The sha256 of an output; undefined if it is no regular file. @param onRead  called with bytes as they are read */
export async function hashOfOutput(
  path: string,
  signal: AbortSignal,
  onRead?: (bytes: number) => void,
): Promise<string | undefined> {
  const file = await openOwn(path);
  if (file === undefined) return undefined;
  const hash = createHash("sha256");
  const stream: ReadStream = file.createReadStream({ highWaterMark: 2 ** 20 });
  for await (const chunk of stream) {
    signal.throwIfAborted();
    hash.update(chunk as Uint8Array);
    onRead?.((chunk as Uint8Array).length);
  }
  return hash.digest("hex");
}

/** Bytes of resident memory that this process has had at most. */
export const peakMemory = (): number => 1024 * process.resourceUsage().maxRSS;
