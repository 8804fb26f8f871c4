// Model files that a command reads, and the core that it runs on.

import { constants, openSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { Socket } from "node:net";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { addAbortSignal, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import type { ZeropointError } from "../base/errors.js";
import { init } from "../core/start.js";
import type { OnnxTensor } from "../formats/onnx/tensor.js";
import { type Glob, parseGlob } from "../models/glob.js";
import { documentOf, type Model } from "../models/open/model.js";
import { openModel } from "../models/open/open.js";
import type { Arguments } from "./arguments.js";
import { describe, EXIT, Failure, usage, withOptionNames } from "./failures.js";
import { isFolder } from "./output/files.js";
import { noteFolder, noteInput, noteInputPath } from "./output/places.js";
import { parseBytes } from "./units.js";

/** Standard input as a stream, which an abort ends. @throws {Failure} if it is a terminal */
function standardInput(signal: AbortSignal): Readable {
  if (process.stdin.isTTY)
    throw usage("- is standard input, which is a terminal: pipe a file into it");
  return addAbortSignal(signal, process.stdin);
}

/**
 * All of a regular file or a pipe as text. Opening a pipe in the usual way would wait for its writer in a thread that
 * nothing ends.
 */
async function readWhole(path: string, signal: AbortSignal): Promise<string> {
  const found = await stat(path);
  if (found.isFile() || found.isDirectory())
    return await readFile(path, { encoding: "utf8", signal });
  if (!found.isFIFO()) throw new Failure(EXIT.input, `${path} is a device or a socket, no file`);
  const fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  return await text(addAbortSignal(signal, new Socket({ fd, readable: true, writable: false })));
}

/** The text of a file, of a pipe or of standard input. @param name  of the argument, for messages */
export async function readText(name: string, path: string, signal: AbortSignal): Promise<string> {
  if (path === "-") return await text(standardInput(signal));
  return await readWhole(path, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    const { line } = describe(error);
    throw new Failure(EXIT.input, name === "" ? line : `${name} ${line}`);
  });
}

const streamOfInput = (signal: AbortSignal): ReadableStream<Uint8Array> =>
  Readable.toWeb(standardInput(signal)) as ReadableStream<Uint8Array>;

/** Opens a model file, a folder, an address or standard input. */
export async function openInput(
  path: string,
  signal: AbortSignal,
  args: Arguments,
): Promise<Model> {
  const limit = (name: string, read: (text: string) => number | undefined): number | undefined => {
    const text = args.text(name);
    const value = text === undefined ? undefined : read(text);
    if (text === undefined || (value !== undefined && value > 0)) return value;
    throw usage(`--${name} takes a number above 0, got ${JSON.stringify(text)}`);
  };
  const timeout = limit("timeout", (text) => 1000 * Number(text));
  const options = { signal, timeout, maxBytes: limit("max-bytes", parseBytes) };
  try {
    const model = await openModel(path === "-" ? streamOfInput(signal) : path, options);
    await noteFiles(path, model);
    return model;
  } catch (error) {
    throw named(path, error);
  }
}

/** Notes all files of a model, which no output may overwrite: also those that its file names, and those beside it. */
async function noteFiles(path: string, model: Model): Promise<void> {
  const document = documentOf("zeropoint", "model", model);
  for (const { path: own, version } of document.opened.list()) {
    if (version?.id !== undefined) noteInput(version.id, own ?? path);
  }
  if (path === "-" || /^[a-z]{2,}:/i.test(path)) return;
  const folder = (await isFolder(path)) ? path : dirname(path);
  await noteFolder(folder);
  const locations = new Set<string>();
  for (const tensor of document.format === "onnx" ? document.files.values() : []) {
    const { location } = tensor as OnnxTensor;
    if (location !== undefined) locations.add(location);
  }
  for (const location of locations) await noteInputPath(join(folder, location));
}

/** An error of a file, with the file's name. */
function named(path: string, error: unknown): unknown {
  const { code, message } = error as Partial<ZeropointError>;
  if (typeof code !== "string" || !/^ZP_(UNSUP|INV).*_FILE$/.test(code)) return error;
  const name = path === "-" ? "standard input" : path;
  return new Failure(
    EXIT.input,
    `${name}: ${withOptionNames(String(message).replace(/^\w+: /, ""))}`,
  );
}

/** Starts the core with the threads that --threads asks for. */
export async function startCore(args: Arguments): Promise<void> {
  const given = args.text("threads");
  const threads = given === undefined ? availableParallelism() : Number(given);
  if (!Number.isInteger(threads) || threads < 1 || threads > 64) {
    throw usage(`--threads takes a number from 1 to 64, got ${JSON.stringify(given)}`);
  }
  await init({ threads: Math.min(threads, 64) });
}

/** Whether --include and --exclude select a tensor. */
export function nameFilter(args: Arguments): (name: string) => boolean {
  const globs = (option: string): Glob[] =>
    args.list(option).map((pattern) => parseGlob("cli", `--${option}`, pattern));
  const [included, excluded] = [globs("include"), globs("exclude")];
  return (name) =>
    (included.length === 0 || included.some((glob) => glob.matches(name))) &&
    !excluded.some((glob) => glob.matches(name));
}

/** @throws {Failure} if --include and --exclude leave no tensor */
export function checkSelection(args: Arguments, { tensors }: Model): void {
  if (tensors.size === 0 || [...tensors.keys()].some(nameFilter(args))) return;
  throw usage(`--include and --exclude leave none of ${tensors.size} tensors`);
}

/** Names with commas between. */
export const splitList = (list: string | undefined): string[] | undefined =>
  list
    ?.split(",")
    .map((part) => part.trim())
    .filter(Boolean);
