// Done-files: a record of the files that a job wrote, so that the same job ends at once when it is run again.

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { writeText } from "../output/files.js";
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
  /** Hash of the file of importance. */
  readonly imatrix?: string;
}

/** The path of the done-file of an output. */
const donePath = (output: string): string =>
  join(dirname(output), ".zeropoint", `${basename(output)}.done.json`);

/** The done-file of an output. @returns undefined if there is none, or it is not one */
export async function readDone(output: string): Promise<Done | undefined> {
  try {
    const done: unknown = JSON.parse(await readFile(donePath(output), "utf8"));
    return isDone(done) ? done : undefined;
  } catch {
    return undefined;
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

/** Writes a done-file, after its output. */
export async function writeDone(output: string, done: Done, signal: AbortSignal): Promise<void> {
  await writeText(donePath(output), `${JSON.stringify(done, null, 2)}\n`, signal);
}

/** Whether an output is there, with the size that its done-file says. */
export async function isThere(output: string, done: Done): Promise<boolean> {
  return await stat(output).then(
    (found) => found.isFile() && found.size === done.output.size,
    () => false,
  );
}

/** The sha256 of an output. @param onRead  called with bytes as they are read */
export async function hashOfOutput(
  path: string,
  signal: AbortSignal,
  onRead?: (bytes: number) => void,
): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 20 })) {
    signal.throwIfAborted();
    hash.update(chunk as Uint8Array);
    onRead?.((chunk as Uint8Array).length);
  }
  return hash.digest("hex");
}

/** Bytes of resident memory that this process has had at most. */
export const peakMemory = (): number => 1024 * process.resourceUsage().maxRSS;
