// Where a command may write: no file that it reads, no device, and what others have written only with --force.

import { readdirSync } from "node:fs";
import { lstat, stat } from "node:fs/promises";
import { join } from "node:path";
import { EXIT, Failure } from "../failures.js";

/** Files that the command reads: paths by device and inode, which all links to a file share. */
const inputs = new Map<string, string>();

/** Notes a file that the command reads, by what `openModel` knows of it. */
export function noteInput(id: string, path: string): void {
  if (!inputs.has(id)) inputs.set(id, path);
}

/** Notes a file that the command reads, if there is one. */
export async function noteInputPath(path: string): Promise<void> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (found?.isFile()) noteInput(`${found.dev}:${found.ino}`, path);
}

/** Files of a model's folder that engines need: configs, tokenizers, vocabularies, templates. */
const COMPANION =
  /^(config|\w+_config|tokenizer[\w.-]*|special_tokens_map|added_tokens|vocab|merges|chat_template|spiece|sentencepiece[\w.]*)\.(json|txt|model|jinja)$/;

/** Names of the companions in a model's folder. */
export function companionNames(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => COMPANION.test(name))
      .sort();
  } catch {
    return [];
  }
}

/** Notes the files beside a model that belong to it: its companions, and indexes. */
export async function noteFolder(folder: string): Promise<void> {
  for (const name of companionNames(folder)) await noteInputPath(join(folder, name));
  await noteInputPath(join(folder, "model.safetensors.index.json"));
}

/** Paths under which standard output is known to programs. */
export const STANDARD_OUTPUT: readonly string[] = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

const isMissing = ({ code }: NodeJS.ErrnoException): boolean =>
  code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP";

/** undefined for no file; other errors pass. */
const orMissing = (error: NodeJS.ErrnoException): undefined => {
  if (!isMissing(error)) throw error;
};

/** @throws {Failure} if a file is one that the command reads, by any link to it */
export async function checkNoInput(path: string): Promise<void> {
  const found = await stat(path, { bigint: true }).catch(orMissing);
  const input = found && inputs.get(`${found.dev}:${found.ino}`);
  if (input === undefined) return;
  const other = input === path ? "" : `the same file as ${input}, `;
  throw new Failure(
    EXIT.output,
    `${path} is ${other}an input of this command, which is never overwritten: name another file`,
  );
}

/** @throws {Failure} for a folder, a pipe or a device; for an input; for a file or link that exists, unless forced */
export async function checkPlace(path: string, isForced: boolean): Promise<void> {
  const own = await lstat(path).catch(orMissing);
  if (own === undefined) return;
  const found = await stat(path).catch(orMissing);
  const fail = (problem: string): Failure => new Failure(EXIT.output, `${path} ${problem}`);
  if (found === undefined) {
    if (!isForced) throw fail("is a link to a file that does not exist; --force replaces the link");
    return;
  }
  if (found.isDirectory()) throw fail("is a folder: name a file in it");
  if (!found.isFile()) {
    const kind = found.isFIFO() ? "a pipe" : found.isSocket() ? "a socket" : "a device";
    throw fail(`is ${kind}, and only files are written; -o - is standard output`);
  }
  await checkNoInput(path);
  if (!isForced) throw fail("exists already; --force overwrites it");
}
