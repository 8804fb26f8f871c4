// Files split among jobs: by size, the same on every machine.

import { usage } from "../failures.js";

/** One of several jobs. */
export interface Part {
  /** From 1 to `count`. */
  readonly index: number;
  readonly count: number;
}

/** The largest number of jobs; a larger one is taken for a typing error. */
const MAX_JOBS = 1_000_000;

/** Reads --shard. @throws {Failure} */
export function parsePart(text: string | undefined): Part | undefined {
  if (text === undefined) return undefined;
  const [, first, second] = /^(\d+)\/(\d+)$/.exec(text) ?? [];
  const [index, count] = [Number(first), Number(second)];
  if (index >= 1 && index <= count && count <= MAX_JOBS) return { index, count };
  const hint = index === 0 ? "; where numbers begin with 0, add 1" : "";
  throw usage(`--shard takes I/N with I from 1 to N, got ${JSON.stringify(text)}${hint}`);
}

/** A file with its size. */
export interface Sized {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
}

/** Names by their UTF-16 code units. */
export const byName = (a: { readonly name: string }, b: { readonly name: string }): number =>
  a.name < b.name ? -1 : a.name > b.name ? 1 : 0;

/** Splits files among jobs: the largest first, each to the job with the fewest bytes; ties by name, then to the first job. */
export function splitFiles<File extends Sized>(files: readonly File[], count: number): File[][] {
  const shares: File[][] = Array.from({ length: Math.min(count, files.length) }, () => []);
  const loads = shares.map(() => 0);
  for (const file of [...files].sort((a, b) => b.size - a.size || byName(a, b))) {
    const least = loads.indexOf(Math.min(...loads));
    shares[least].push(file);
    loads[least] += file.size;
  }
  return shares;
}

/** The files of one job; with more jobs than files, the last jobs have none. */
export const filesOf = <File extends Sized>(
  files: readonly File[],
  part: Part | undefined,
): readonly File[] =>
  part === undefined ? files : (splitFiles(files, part.count)[part.index - 1] ?? []);
