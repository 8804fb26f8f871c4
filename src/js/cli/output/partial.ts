// Unfinished files: their names, and which of them a new run continues.

import { createHash, type Hash } from "node:crypto";
import { constants, lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { hostname, networkInterfaces, uptime } from "node:os";
import { basename, dirname, join } from "node:path";
import { EXIT, Failure, reasonOf } from "../failures.js";
import { stemOf } from "./stem.js";

const ENDING = ".partial";
/** The ending of the record of an unfinished file. */
const RECORD_ENDING = ".sum.partial";

/** The text of a small file of the system; undefined on other systems. */
function systemText(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

let machineTag: string | undefined;

/**
 * The machine in which numbers of processes are unique: one start of one host, and the namespace of a container. Other
 * machines may have the same host name.
 */
function machine(): string {
  const start = systemText(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8"));
  const namespace = systemText(() => readlinkSync("/proc/self/ns/pid"));
  const cards = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const other = cards.map(({ mac }) => mac).sort();
  const parts = [hostname(), ...(start === undefined ? other : [start, namespace])];
  machineTag ??= createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 12);
  return machineTag;
}

/**
 * The name of an unfinished file: another one in every process, so that two workers may write the same file.
 * @param key  of its content; files without one are not continued
 */
export const partialPath = (path: string, key = "new"): string =>
  join(dirname(path), `${prefixOf(path)}${key}-${machine()}-${process.pid}${ENDING}`);

const prefixOf = (path: string): string => `.${stemOf(basename(path))}.`;

/** The path of the record of an unfinished file: how many of its bytes are there, and their hash. */
const recordPath = (partial: string): string => partial.slice(0, -ENDING.length) + RECORD_ENDING;

/** Key, machine and process of an unfinished file of a path, or of its record. */
const partsOf = (path: string, name: string): string[] | undefined => {
  const start = prefixOf(path);
  if (!name.startsWith(start)) return undefined;
  const [, ...parts] =
    /^(\w+)-(\w+)-(\d+)(?:\.sum)?\.partial$/.exec(name.slice(start.length)) ?? [];
  return parts.length === 0 ? undefined : parts;
};

/** Whether a name is that of an unfinished file of a path, or of its record, in the same folder. */
export const isPartialOf = (path: string, name: string): boolean =>
  partsOf(path, name) !== undefined;

/** Opens a new file; never one that is there, nor what a link leads to. */
const createNew = (path: string): Promise<FileHandle> =>
  open(
    path,
    constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0),
    0o666,
  );

/** Opens an unfinished file that is there. */
const openLeft = (path: string): Promise<FileHandle> =>
  open(path, constants.O_RDWR | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));

/** An error of writing an unfinished file, as one of the file that it becomes; errors of other files are unchanged. */
export function writeError(path: string, partial: string, error: unknown): unknown {
  const { code = "", path: at, syscall = "" } = error as NodeJS.ErrnoException;
  // Calls with an open file do not name it.
  const isOwn = at === partial || (at === undefined && WRITES.includes(syscall));
  if (!isOwn) return error;
  const rest = ["ENOSPC", "EDQUOT"].includes(code) ? "; nothing was left of it" : "";
  const reason = reasonOf(error as NodeJS.ErrnoException);
  return new Failure(EXIT.output, `${path}: ${reason}${rest}`);
}

const WRITES: readonly string[] = ["write", "fsync", "ftruncate"];

/** How many bytes of an unfinished file were written, and their sha256 in hexadecimal digits. */
export interface Record {
  readonly size: number;
  readonly sha256: string;
}

/** Writes records of an unfinished file: each over the last one, in one line of fixed length. */
export class RecordFile {
  #file: FileHandle | undefined;

  constructor(readonly partial: string) {}

  async write({ size, sha256 }: Record): Promise<void> {
    if (this.#file === undefined) {
      // Of the run before, or of a process of the same number.
      await rm(recordPath(this.partial), { force: true });
      this.#file = await createNew(recordPath(this.partial));
    }
    await this.#file.write(`${String(size).padStart(16, "0")} ${sha256}\n`, 0);
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }
}

/** Removes an unfinished file and its record. */
export async function removePartial(partial: string): Promise<void> {
  await rm(partial, { force: true });
  await rm(recordPath(partial), { force: true });
}

/** A file that another run has left. */
interface Left {
  readonly path: string;
  readonly key: string;
  /** undefined if it is not to be continued: no regular file, the machine was restarted since, no record. */
  readonly record: Record | undefined;
}

/** Unfinished files of a path whose processes, on this machine, have ended. */
function leftOf(path: string): Left[] {
  const folder = dirname(path);
  return namesIn(folder).flatMap((name): Left[] => {
    const [key, own, pid] = partsOf(path, name) ?? [];
    if (name.endsWith(RECORD_ENDING) || own !== machine() || isRunning(Number(pid))) return [];
    const partial = join(folder, name);
    return [{ path: partial, key, record: recordOf(partial) }];
  });
}

/** The record of an unfinished file that may be continued. */
function recordOf(partial: string): Record | undefined {
  const found = lstatSync(partial, { throwIfNoEntry: false });
  const file = lstatSync(recordPath(partial), { throwIfNoEntry: false });
  // A second name would be written with it.
  if (!found?.isFile() || found.nlink > 1 || !file?.isFile()) return undefined;
  if (found.mtimeMs <= Date.now() - 1000 * uptime()) return undefined;
  const text = systemText(() => readFileSync(recordPath(partial), "latin1")) ?? "";
  const [, size, sha256] = /^(\d{16}) ([0-9a-f]{64})\n$/.exec(text) ?? [];
  if (sha256 === undefined || Number(size) === 0 || Number(size) > found.size) return undefined;
  return { size: Number(size), sha256 };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Whether another process has this number. */
function isRunning(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** The longest unfinished file of a key that may be continued. */
function bestOf(path: string, key: string | undefined): (Left & { record: Record }) | undefined {
  const own = leftOf(path).flatMap(({ record, ...left }) =>
    left.key === key && record !== undefined ? [{ ...left, record }] : [],
  );
  return own.sort((a, b) => b.record.size - a.record.size)[0];
}

/** Bytes of a file that an interrupted run of the same key has written. */
export const leftBytes = (path: string, key: string | undefined): number =>
  bestOf(path, key)?.record.size ?? 0;

/**
 * Takes over the unfinished file of an interrupted run of the same key, under this process's name, and removes those
 * of other runs that have ended.
 * @returns its record, which its bytes may contradict; undefined if there is none
 */
async function takeOver(path: string, key: string | undefined): Promise<Record | undefined> {
  const own = partialPath(path, key);
  const best = bestOf(path, key);
  let record: Record | undefined;
  if (best !== undefined) {
    try {
      await rename(best.path, own);
      await rename(recordPath(best.path), recordPath(own));
      record = best.record;
    } catch {
      // Another process has taken it over in the meantime.
    }
  }
  for (const left of leftOf(path)) {
    if (left.path !== own || record === undefined) await removePartial(left.path);
  }
  return record;
}

/** An unfinished file that is open. */
export interface Partial {
  readonly path: string;
  readonly file: FileHandle;
  /** Bytes that are there. */
  readonly size: number;
  /** Of these bytes. */
  readonly hash: Hash;
  readonly records: RecordFile;
}

/**
 * Opens the unfinished file of a path: that of an interrupted run of the same key, if its bytes are those that it wrote,
 * else a new one.
 */
export async function openPartial(
  path: string,
  key: string | undefined,
  signal: AbortSignal,
): Promise<Partial> {
  const partial = partialPath(path, key);
  const records = new RecordFile(partial);
  const record = await takeOver(path, key);
  if (record !== undefined) {
    const file = await openLeft(partial);
    try {
      const hash = await hashOfStart(file, record.size, signal);
      if (hash.copy().digest("hex") === record.sha256) {
        await file.truncate(record.size);
        return { path: partial, file, size: record.size, hash, records };
      }
    } catch (error) {
      await file.close();
      throw error;
    }
    await file.close();
    await removePartial(partial);
  }
  const file = await createNew(partial);
  return { path: partial, file, size: 0, hash: createHash("sha256"), records };
}

const READ_BYTES = 2 ** 20;

/** The hash of the first bytes of a file, or of all of them if it is shorter. */
async function hashOfStart(file: FileHandle, size: number, signal: AbortSignal): Promise<Hash> {
  const hash = createHash("sha256");
  const buffer = Buffer.alloc(READ_BYTES);
  for (let at = 0; at < size; ) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(buffer, 0, Math.min(READ_BYTES, size - at), at);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
  return hash;
}
