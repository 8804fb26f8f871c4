// Files that are complete or not there: written as .partial, synced, then renamed.

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, open, rename, rm, stat, statfs } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { EXIT, Failure } from "../failures.js";
import { showBytes } from "../units.js";

/** A file that was written. */
export interface Written {
  readonly size: number;
  /** In hexadecimal digits. */
  readonly sha256: string;
}

/** Chunks of bytes or of text. */
export type Chunks = AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>;

/** The chunks of a stream of the platform, which Node iterates over. */
export const chunksOf = (stream: ReadableStream<Uint8Array>): Chunks =>
  stream as unknown as AsyncIterable<Uint8Array>;

/** The name of an unfinished file: another one in every process, so that two workers may write the same file. */
const partialPath = (path: string): string => {
  const host = hostname().replaceAll(/[^\w.-]/g, "_");
  return join(dirname(path), `.${basename(path)}.${host}-${process.pid}.partial`);
};

/** Whether a name is that of an unfinished file. */
export const isPartial = (name: string): boolean => name.endsWith(".partial");

/**
 * Writes a file. It gets its name when it is complete and on the disk; after an error or an abort nothing is left.
 * @param onComplete  called when all bytes are on the disk, before the file gets its name
 * @throws {Failure} where the disk has no room
 */
export async function writeFile(
  path: string,
  chunks: Chunks,
  signal: AbortSignal,
  onComplete?: (written: Written) => Promise<void>,
): Promise<Written> {
  await mkdir(dirname(path), { recursive: true });
  const partial = partialPath(path);
  try {
    const hash = createHash("sha256");
    let size = 0;
    const file = await open(partial, "w");
    try {
      for await (const chunk of chunks) {
        signal.throwIfAborted();
        const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
        hash.update(bytes);
        for (let at = 0; at < bytes.length; ) {
          at += (await file.write(bytes, at, bytes.length - at)).bytesWritten;
        }
        size += bytes.length;
      }
      signal.throwIfAborted();
      await file.sync();
    } finally {
      await file.close();
    }
    const written = { size, sha256: hash.digest("hex") };
    await onComplete?.(written);
    await rename(partial, path);
    await syncFolder(dirname(path));
    return written;
  } catch (error) {
    await rm(partial, { force: true });
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOSPC" && code !== "EDQUOT") throw error;
    throw new Failure(EXIT.output, `${path}: no space left on the device; nothing was left of it`);
  }
}

/** Makes the rename durable, where the system can. */
async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch {
    // Windows, and some network file systems, have no such call.
  }
}

/** @throws {Failure} if a file exists and may not be overwritten */
export function checkFree(path: string, isForced: boolean): void {
  if (isForced || !existsSync(path)) return;
  throw new Failure(EXIT.output, `${path} exists already; --force overwrites it`);
}

/** @throws {Failure} unless the disk has room for so many bytes */
export async function checkRoom(path: string, bytes: number): Promise<void> {
  let folder = resolve(path);
  while (!existsSync(folder)) folder = dirname(folder);
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (bytes <= free) return;
  const problem = `needs ${showBytes(bytes)}, and the disk of ${folder} has ${showBytes(free)} left`;
  throw new Failure(EXIT.output, `${path} ${problem}`);
}

/** Whether a path is a folder. */
export async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** Writes to standard output, as fast as its reader takes it. */
export async function writeStdout(chunks: Chunks, signal: AbortSignal): Promise<void> {
  for await (const chunk of chunks) {
    signal.throwIfAborted();
    if (process.stdout.write(chunk)) continue;
    await new Promise((done) => process.stdout.once("drain", done));
  }
}
