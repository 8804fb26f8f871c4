// Writes the files of a job, except those that are done already.

import { createReadStream, existsSync, readdirSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Model } from "../../models/open/model.js";
import type { OutputFile } from "../../models/quantize/types.js";
import { EXIT, Failure } from "../failures.js";
import {
  type Chunks,
  checkFree,
  checkRoom,
  chunksOf,
  isFolder,
  type Written,
  writeFile,
  writeText,
} from "../output/files.js";
import { leftBytes } from "../output/partial.js";
import { type Done, hashOfOutput, isThere, peakMemory, readDone, writeDone } from "./done.js";
import { hashOf, type SourceFile, sourceFiles, versionOfAll } from "./sources.js";
import type { Wish } from "./wish.js";

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
async function doneOf(target: Target, wish: Wish, signal: AbortSignal): Promise<Done | undefined> {
  const done = await readDone(target.path);
  const isSame =
    done !== undefined &&
    done.job === wish.job &&
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
function keyOf({ headerSha256, version }: Target, wish: Wish): string | undefined {
  if (version === undefined) return undefined;
  return hashOf([wish.job, headerSha256, version]).slice(0, 16);
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
  wish: Wish,
  isForced: boolean,
  signal: AbortSignal,
): Promise<Work> {
  const todo: Target[] = [];
  const done: Done[] = [];
  for (const target of targets) {
    // In this order: another worker may finish the file now, and writes its done-file first.
    const exists = existsSync(target.path);
    const found = isForced ? undefined : await doneOf(target, wish, signal);
    if (found !== undefined) done.push(found);
    else if (exists) checkFree(target.path, isForced);
    if (found === undefined) todo.push(target);
  }
  const bytes = todo.reduce((sum, { file }) => sum + file.size, 0);
  const left = todo.reduce((sum, target) => sum + leftBytes(target.path, keyOf(target, wish)), 0);
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
  wish: Wish,
  model: string,
  signal: AbortSignal,
): Promise<Done> {
  const start = performance.now();
  const { file, path, source, headerSha256, version } = target;
  let done: Done | undefined;
  const key = keyOf(target, wish);
  const onComplete = async (written: Written): Promise<void> => {
    if (written.size !== file.size) {
      const problem = `has ${written.size} bytes instead of ${file.size}`;
      throw new Failure(EXIT.bug, `${path} ${problem}`);
    }
    done = {
      version: 1,
      job: wish.job,
      plan: wish.plan,
      options: wish.options,
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

/**
 * Writes the files that describe all shards: index and config; copies of tokenizer and other small files beside the
 * model; the list of hashes.
 * @param model  a path, as the command names it
 * @param check  of the result, before the list of hashes is written; without success it is not written
 * @returns the exit code
 */
export async function writeRest(
  folder: string,
  model: string,
  rest: readonly OutputFile[],
  done: readonly Done[],
  signal: AbortSignal,
  check?: () => Promise<number>,
): Promise<number> {
  const sums = done.map(({ output }) => output).map(({ name, sha256 }) => ({ name, sha256 }));
  const add = async (name: string, chunks: Chunks): Promise<void> => {
    const { sha256 } = await writeFile(join(folder, name), () => chunks, signal);
    sums.push({ name, sha256 });
  };
  for (const file of rest) await add(file.name, chunksOf(file.stream()));
  const known = new Set(sums.map(({ name }) => name));
  for (const { name, path } of await companionsOf(model)) {
    if (!known.has(name) && resolve(folder, name) !== path) await add(name, createReadStream(path));
  }
  const code = (await check?.()) ?? EXIT.ok;
  if (code !== EXIT.ok) return code;
  sums.sort((a, b) => (a.name < b.name ? -1 : 1));
  const lines = sums.map(({ name, sha256 }) => `${sha256}  ${name}\n`);
  await writeText(join(folder, "SHA256SUMS"), lines.join(""), signal);
  return EXIT.ok;
}

/** Files of a model's folder that engines need: configs, tokenizers, vocabularies, templates. */
const COMPANION =
  /^(config|\w+_config|tokenizer[\w.-]*|special_tokens_map|added_tokens|vocab|merges|chat_template|spiece|sentencepiece[\w.]*)\.(json|txt|model|jinja)$/;
const MAX_COMPANION = 2 ** 27;

/** The companions of a model in a local folder. */
async function companionsOf(model: string): Promise<{ name: string; path: string }[]> {
  const folder = /\.index\.json$/.test(model) ? dirname(model) : model;
  if (!(await isFolder(folder))) return [];
  return readdirSync(folder)
    .sort()
    .map((name) => ({ name, path: resolve(folder, name) }))
    .filter(({ name, path }) => {
      const found = statSync(path);
      return COMPANION.test(name) && found.isFile() && found.size <= MAX_COMPANION;
    });
}
