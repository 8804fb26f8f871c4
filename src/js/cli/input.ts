// Model files that a command reads, and the core that it runs on.

import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { Readable } from "node:stream";
import type { ZeropointError } from "../base/errors.js";
import { init } from "../core/start.js";
import { type Glob, parseGlob } from "../models/glob.js";
import type { Model } from "../models/open/model.js";
import { openModel } from "../models/open/open.js";
import type { Arguments } from "./arguments.js";
import { describe, EXIT, Failure, usage } from "./failures.js";

/** Standard input as a stream. @throws {Failure} if it is a terminal */
function standardInput(): ReadableStream<Uint8Array> {
  if (process.stdin.isTTY)
    throw usage("- is standard input, which is a terminal: pipe a file into it");
  return Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>;
}

/** The text of a file, or of standard input. @param name  of the argument, for messages */
export async function readText(name: string, path: string): Promise<string> {
  if (path === "-") return await new Response(standardInput()).text();
  return await readFile(path, "utf8").catch((error: unknown) => {
    const { line } = describe(error);
    throw new Failure(EXIT.input, name === "" ? line : `${name} ${line}`);
  });
}

/** Opens a model file, a folder, an address or standard input. */
export async function openInput(path: string, signal: AbortSignal): Promise<Model> {
  try {
    return await openModel(path === "-" ? standardInput() : path, { signal });
  } catch (error) {
    throw named(path, error);
  }
}

/** An error of a file, with the file's name. */
function named(path: string, error: unknown): unknown {
  const { code, message } = error as Partial<ZeropointError>;
  if (typeof code !== "string" || !/^ZP_(UNSUP|INV).*_FILE$/.test(code)) return error;
  const name = path === "-" ? "standard input" : path;
  return new Failure(EXIT.input, `${name}: ${String(message).replace(/^\w+: /, "")}`);
}

/** Starts the core with the threads that --threads asks for. */
export async function startCore(args: Arguments): Promise<void> {
  const text = args.text("threads");
  const threads = text === undefined ? availableParallelism() : Number(text);
  if (!Number.isInteger(threads) || threads < 1 || threads > 64) {
    throw usage(`--threads takes a number from 1 to 64, got ${JSON.stringify(text)}`);
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
export const splitList = (text: string | undefined): string[] | undefined =>
  text
    ?.split(",")
    .map((part) => part.trim())
    .filter(Boolean);
