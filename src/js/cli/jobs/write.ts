// Writes the files of a job, except those that are done already.

import { createReadStream } from "node:fs";
import { realpath, rm, stat } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { fieldOf } from "../../base/fields.js";
import type { Model } from "../../models/open/model.js";
import type { OutputFile } from "../../models/quantize/types.js";
import { EXIT, Failure } from "../failures.js";
import {
  type Chunks,
  checkRoom,
  chunksOf,
  isFolder,
  type Written,
  writeFile,
} from "../output/files.js";
import { leftBytes } from "../output/partial.js";
import { checkPlace, companionNames } from "../output/places.js";
import { printable } from "../output/terminal.js";
import { showBytes } from "../units.js";
import {
  type Done,
  hashOfOutput,
  isThere,
  peakMemory,
  readDescribed,
  readDone,
  writeDescribed,
  writeDone,
} from "./done.js";
import type { QuantizeRequest } from "./request.js";
import { hashOf, type SourceFile, sourceFiles, versionOfAll } from "./sources.js";

/** A file to write, and its source. */
export interface Target {
  readonly file: OutputFile;
  /** Full path or path from the current folder. */
  readonly path: string;
  /** The file of the model that it comes from; undefined if it is more than one. */
  readonly source: SourceFile | undefined;
  readonly headerSha256: string;
  /** The version of all files that its bytes come from; undefined if one of them has none. */
  readonly version: string | undefined;
}

/** Pairs the files to write with the files of the model: in a model of shards, by name. */
export async function targetsOf(
  model: Model,
  files: readonly OutputFile[],
  pathOf: (file: OutputFile) => string,
): Promise<Target[]> {
  const sources = await sourceFiles(model);
  const whole = hashOf(sources.map(({ headerSha256 }) => headerSha256));
  return files.map((file) => {
    const source =
      sources.length === 1 ? sources[0] : sources.find(({ name }) => name === file.name);
    const { headerSha256, version } = source ?? {
      ...{ headerSha256: whole, version: versionOfAll(sources) },
    };
    return { file, path: pathOf(file), source, headerSha256, version };
  });
}

/** Whether a file is written by finish: index and config, which describe all shards. */
export const isOfFinish = ({ name }: { readonly name: string }): boolean => name.endsWith(".json");

/** A target whose output exists, was written by the same job of the same bytes, and is as that job wrote it. */
async function doneOf(
  target: Target,
  request: QuantizeRequest,
  signal: AbortSignal,
): Promise<Done | undefined> {
  const done = await readDone(target.path);
  const isSame =
    done !== undefined &&
    done.job === request.job &&
    done.source.headerSha256 === target.headerSha256 &&
    target.version !== undefined &&
    done.source.version === target.version &&
    done.output.size === target.file.size &&
    (await isThere(target.path, done)) &&
    (await hashOfOutput(target.path, signal)) === done.output.sha256;
  return isSame ? done : undefined;
}

/**
 * The key of a file's bytes, by which a run continues an interrupted one. A source without a version, such as standard
 * input, has no key, because its values may change between runs.
 */
function keyOf({ headerSha256, version }: Target, request: QuantizeRequest): string | undefined {
  if (version === undefined) return undefined;
  return hashOf([request.job, headerSha256, version]).slice(0, 16);
}

/** The files to write, and the finished ones. */
export interface Work {
  readonly todo: readonly Target[];
  /** Bytes of these files that an interrupted run has written. */
  readonly left: number;
  readonly done: readonly Done[];
}

/**
 * Finds the files to write.
 * @throws {Failure} for an existing file of another job; for a disk without room
 */
export async function plannedWork(
  targets: readonly Target[],
  request: QuantizeRequest,
  isForced: boolean,
  signal: AbortSignal,
): Promise<Work> {
  const todo: Target[] = [];
  const done: Done[] = [];
  for (const target of targets) {
    // In this order: another worker may finish the file now, and writes its done-file first.
    const place = await checkPlace(target.path, isForced).catch((error: unknown) => error);
    const found = isForced ? undefined : await doneOf(target, request, signal);
    if (found === undefined && place !== undefined) throw place;
    if (found === undefined) todo.push(target);
    else done.push(found);
  }
  const bytes = todo.reduce((sum, { file }) => sum + file.size, 0);
  const left = todo.reduce(
    (sum, target) => sum + leftBytes(target.path, keyOf(target, request)),
    0,
  );
  if (todo.length > 0) await checkRoom(todo[0].path, bytes - left);
  return { todo, done, left };
}

/**
 * Writes one file. The done-file is written before the output gets its name, so that an output without a done-file
 * always belongs to another job: a killed job can be run again, and two workers can write the same file.
 * @param model  as the command names it
 */
export async function writeTarget(
  target: Target,
  request: QuantizeRequest,
  model: string,
  signal: AbortSignal,
): Promise<Done> {
  const start = performance.now();
  const { file, path, source, headerSha256, version } = target;
  let done: Done | undefined;
  const key = keyOf(target, request);
  const onComplete = async (written: Written): Promise<void> => {
    if (written.size !== file.size) {
      const problem = `has ${written.size} bytes instead of ${file.size}`;
      throw new Failure(EXIT.bug, `${path} ${problem}`);
    }
    done = {
      version: 1,
      job: request.job,
      plan: request.plan,
      options: request.options,
      source: { model, path: resolve(model), name: source?.name, headerSha256, version },
      output: { name: file.name, ...written },
      peakMemory: peakMemory(),
      seconds: Math.round(performance.now() - start) / 1000,
    };
    // The done-file must not describe a file of another job.
    await rm(path, { force: true });
    await writeDone(path, done, signal);
  };
  await writeFile(path, (begin) => chunksOf(file.stream(begin)), signal, { key, onComplete });
  return done as Done;
}

/** A folder of a result, and the files that describe all of its shards. */
export interface Description {
  readonly folder: string;
  /** Index and config. */
  readonly files: readonly OutputFile[];
  /** Copies of tokenizer and other small files beside the model. */
  readonly companions: readonly Companion[];
}

/** The name of the list of hashes. */
const SUMS = "SHA256SUMS";

/**
 * The files that describe a result, before anything is written.
 * @param model  a path, as the command names it
 * @param names  of all files of the result
 * @throws {Failure} for two files of one name, and for files that others have written, unless forced
 */
export async function describe(
  folder: string,
  model: string,
  files: readonly OutputFile[],
  { isForced, isQuiet }: { readonly isForced: boolean; readonly isQuiet: boolean },
  signal: AbortSignal,
): Promise<Description> {
  const names = new Set<string>();
  for (const { name } of files) {
    const isReserved = name.toLowerCase() === SUMS.toLowerCase() || name === ".zeropoint";
    if (!isReserved && !names.has(name)) names.add(name);
    else {
      const use = isReserved ? "which the result has for itself" : "twice";
      throw new Failure(EXIT.input, `the model has a file of the name ${name}, ${use}`);
    }
  }
  const { companions, passed } = await companionsOf(model);
  for (const { name, reason } of passed) {
    // A file that is written itself has what is in the model's: of another folder, maybe secrets.
    if (names.has(name)) throw new Failure(EXIT.input, `${name} of the model ${reason}`);
    if (!isQuiet) process.stderr.write(`${printable(`${name} is not copied: it ${reason}`)}\n`);
  }
  const copied = companions.filter(
    ({ name, path }) => !names.has(name) && resolve(folder, name) !== path,
  );
  const own = await readDescribed(folder);
  const rest = files.filter(isOfFinish);
  for (const name of [...rest.map((file) => file.name), ...copied.map((each) => each.name), SUMS]) {
    const path = join(folder, name);
    const known = fieldOf(own, name);
    const isOwn = known !== undefined && known === (await hashOfOutput(path, signal));
    await checkPlace(path, isForced || isOwn);
  }
  return { folder, files: rest, companions: copied };
}

/**
 * Writes the files that describe all shards, and the list of hashes.
 * @param check  of the result, before the list of hashes is written; without success it is not written
 * @returns the exit code
 */
export async function writeRest(
  { folder, files, companions }: Description,
  done: readonly Done[],
  signal: AbortSignal,
  check?: () => Promise<number>,
): Promise<number> {
  const sums = done.map(({ output }) => output).map(({ name, sha256 }) => ({ name, sha256 }));
  const described: Record<string, string> = { ...(await readDescribed(folder)) };
  const add = async (name: string, chunks: Chunks): Promise<void> => {
    // The record comes before the name, so that a file of a killed command is known as its own.
    const onComplete = async ({ sha256 }: Written): Promise<void> => {
      described[name] = sha256;
      await writeDescribed(folder, described, signal);
    };
    const { sha256 } = await writeFile(join(folder, name), () => chunks, signal, { onComplete });
    sums.push({ name, sha256 });
  };
  for (const file of files) await add(file.name, chunksOf(file.stream()));
  for (const { name, path } of companions) await add(name, createReadStream(path));
  const code = (await check?.()) ?? EXIT.ok;
  if (code !== EXIT.ok) return code;
  sums.sort((a, b) => (a.name < b.name ? -1 : 1));
  // Names need no escapes of sha256sum: openModel refuses control characters in those of shards.
  await add(SUMS, [sums.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join("")]);
  return EXIT.ok;
}

/** Paths of all files of a result in a folder, which may have left unfinished ones. */
export const pathsOf = (targets: readonly Target[], { folder, files, companions }: Description) => [
  ...targets.map(({ path }) => path),
  ...[...files, ...companions].map(({ name }) => join(folder, name)),
  join(folder, SUMS),
];

/** A file of a model's folder that engines need. */
interface Companion {
  readonly name: string;
  readonly path: string;
}

const MAX_COMPANION = 2 ** 27;

/** The companions of a model in a local folder, and those that are not copied, with the reason. */
async function companionsOf(model: string): Promise<{
  readonly companions: readonly Companion[];
  readonly passed: readonly { readonly name: string; readonly reason: string }[];
}> {
  // Models for transformers.js are in a folder onnx beside these.
  const isNested = /(^|[/\\])onnx[/\\][^/\\]+\.onnx$/.test(model);
  const isIndex = /\.index\.json$/.test(model);
  const folder = isNested ? dirname(dirname(model)) : isIndex ? dirname(model) : model;
  const companions: Companion[] = [];
  const passed: { readonly name: string; readonly reason: string }[] = [];
  if (!(await isFolder(folder))) return { companions, passed };
  const roots = await rootsOf(folder);
  for (const name of companionNames(folder)) {
    const path = resolve(folder, name);
    const found = await stat(path).catch(() => undefined);
    const real = found && (await realpath(path).catch(() => undefined));
    let reason: string | undefined;
    if (found === undefined || real === undefined) reason = "is a link to no file";
    else if (!found.isFile()) reason = "is no regular file";
    else if (!roots.some((root) => real.startsWith(root + sep))) {
      reason = "is a link out of the model's folder";
    } else if (found.size > MAX_COMPANION) reason = `has more than ${showBytes(MAX_COMPANION)}`;
    if (reason === undefined) companions.push({ name, path });
    else passed.push({ name, reason });
  }
  return { companions, passed };
}

/** Folders that files of a model may be links to: its own, and in the cache of the Hub the blobs of the same repository. */
async function rootsOf(folder: string): Promise<string[]> {
  const own = await realpath(folder);
  const parts = own.split(sep);
  const at = parts.lastIndexOf("snapshots");
  return at > 0 ? [own, [...parts.slice(0, at), "blobs"].join(sep)] : [own];
}
