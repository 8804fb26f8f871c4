// Unfinished files: their names, and which of them a new run continues.

import { readdirSync, statSync } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { hostname, uptime } from "node:os";
import { basename, dirname, join } from "node:path";
import { EXIT, Failure, reasonOf } from "../failures.js";

const ENDING = ".partial";

/** Whether a name is that of an unfinished file. */
export const isPartial = (name: string): boolean => name.endsWith(ENDING);

const host = (): string => hostname().replaceAll(/[^\w.]/g, "_");

/**
 * The name of an unfinished file: another one in every process, so that two workers may write the same file.
 * @param key  of its content; files without one are not continued
 */
export const partialPath = (path: string, key = "new"): string =>
  join(dirname(path), `.${basename(path)}.${key}-${host()}-${process.pid}${ENDING}`);

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

/** A file that another run has left. */
interface Left {
  readonly path: string;
  readonly size: number;
  /** Whether all written bytes are intact: the machine has not been restarted since. */
  readonly isSound: boolean;
  readonly key: string;
}

/** Unfinished files of a path whose processes, on this machine, have ended. */
function leftOf(path: string): Left[] {
  const folder = dirname(path);
  const [start, end] = [`.${basename(path)}.`, ENDING];
  const names = namesIn(folder).filter((name) => name.startsWith(start) && name.endsWith(end));
  return names.flatMap((name): Left[] => {
    const middle = name.slice(start.length, -end.length);
    const [, key, machine, pid] = /^(\w+)-(.*)-(\d+)$/.exec(middle) ?? [];
    if (key === undefined || machine !== host() || isRunning(Number(pid))) return [];
    const found = statSync(join(folder, name), { throwIfNoEntry: false });
    if (found === undefined) return [];
    const isSound = found.mtimeMs > Date.now() - 1000 * uptime();
    return [{ path: join(folder, name), size: found.size, isSound, key }];
  });
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

/** The largest unfinished file of a key that may be continued. */
function bestOf(path: string, key: string | undefined): Left | undefined {
  const own = leftOf(path).filter((left) => left.key === key && left.isSound && left.size > 0);
  return own.sort((a, b) => b.size - a.size)[0];
}

/** Bytes of a file that an interrupted run of the same key has written. */
export const leftBytes = (path: string, key: string | undefined): number =>
  bestOf(path, key)?.size ?? 0;

/**
 * Takes over the unfinished file of an interrupted run of the same key, under this process's name, and removes those
 * of other runs that have ended.
 * @returns bytes that are there
 */
export async function takeOver(path: string, key: string | undefined): Promise<number> {
  const own = partialPath(path, key);
  const best = bestOf(path, key);
  // Another process may have taken it over in the meantime.
  const isTaken =
    best !== undefined &&
    (await rename(best.path, own).then(
      () => true,
      () => false,
    ));
  for (const left of leftOf(path)) {
    if (left.path !== own || !isTaken) await rm(left.path, { force: true });
  }
  return isTaken ? (await stat(own)).size : 0;
}
