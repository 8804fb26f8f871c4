// Files that are complete or not there: written as .partial, synced, then renamed.

import { existsSync } from "node:fs";
import { mkdir, open, rename, stat, statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { EXIT, Failure } from "../failures.js";
import { beginUnfinished, endUnfinished } from "../signals.js";
import { showBytes } from "../units.js";
import { openPartial, partialPath, removePartial, writeError } from "./partial.js";
import { checkNoInput } from "./places.js";

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

/** How a file is written. */
export interface WriteOptions {
  /**
   * Identifies everything that the bytes depend on. With it, an interrupted run keeps its bytes, and the next run of
   * the same key continues after them.
   */
  readonly key?: string | undefined;
  /** Called when all bytes are on the disk, before the file gets its name. */
  readonly onComplete?: (written: Written) => Promise<void>;
}

/** Bytes between two records of an unfinished file. */
const RECORD_BYTES = 2 ** 20;

/**
 * Writes a file. It gets its name when it is complete and on the disk; after an error, or an abort without a key,
 * nothing is left.
 * @param chunksFrom  the bytes from an offset on, which is 0 without a key
 * @throws {Failure} where it cannot be written; after an abort, if the next run goes on there
 */
export async function writeFile(
  path: string,
  chunksFrom: (begin: number) => Chunks,
  signal: AbortSignal,
  { key, onComplete }: WriteOptions = {},
): Promise<Written> {
  await checkNoInput(path);
  await mkdir(dirname(path), { recursive: true });
  const partial = partialPath(path, key);
  let kept = 0;
  beginUnfinished();
  try {
    const { file, hash, records, ...left } = await openPartial(path, key, signal);
    let { size } = left;
    let recorded = size;
    kept = size;
    const record = async (): Promise<void> => {
      if (key === undefined) return;
      await records.write({ size, sha256: hash.copy().digest("hex") });
      kept = recorded = size;
    };
    try {
      for await (const chunk of chunksFrom(size)) {
        signal.throwIfAborted();
        const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
        for (let at = 0; at < bytes.length; ) {
          const { bytesWritten } = await file.write(bytes, at, bytes.length - at, size + at);
          at += bytesWritten;
        }
        hash.update(bytes);
        size += bytes.length;
        if (size - recorded >= RECORD_BYTES) await record();
      }
      signal.throwIfAborted();
      await file.sync();
    } catch (error) {
      if (signal.aborted && size > recorded) await record();
      throw error;
    } finally {
      await records.close();
      await file.close();
    }
    const written = { size, sha256: hash.digest("hex") };
    await onComplete?.(written);
    await rename(partial, path);
    await removePartial(partial);
    await syncFolder(dirname(path));
    return written;
  } catch (error) {
    if (signal.aborted && key !== undefined && kept > 0) {
      const bytes = `${showBytes(kept)} of ${path} are kept, where the same command goes on`;
      throw new Failure(EXIT.output, `interrupted; ${bytes}`);
    }
    await removePartial(partial);
    throw writeError(path, partial, error);
  } finally {
    endUnfinished();
  }
}

/** Writes a file of a text. */
export const writeText = (path: string, text: string, signal: AbortSignal): Promise<Written> =>
  writeFile(path, () => [text], signal);

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

/** @throws {Failure} unless the disk has room for this many bytes */
export async function checkRoom(path: string, bytes: number): Promise<void> {
  let folder = resolve(path);
  while (!existsSync(folder)) folder = dirname(folder);
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (bytes <= free) return;
  const problem = `needs ${showBytes(bytes)}, and the disk of ${folder} has ${showBytes(free)} left`;
  throw new Failure(EXIT.output, `${path} ${problem}`);
}

/** Whether a path is that of a regular file, or of a link to one. */
export async function isFile(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
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
