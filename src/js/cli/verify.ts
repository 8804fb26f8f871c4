// --verify: compares a result, as it is on the disk, with the bytes that its source gives now, and with its values.

import { open } from "node:fs/promises";
import { compare } from "../models/compare/compare.js";
import type { Model } from "../models/open/model.js";
import { openModel } from "../models/open/open.js";
import type { QuantizeReport } from "../models/quantize/types.js";
import type { Arguments } from "./arguments.js";
import { EXIT, usage } from "./failures.js";
import type { Target } from "./jobs/write.js";
import { chunksOf } from "./output/files.js";
import { Progress } from "./output/progress.js";
import { printable } from "./output/terminal.js";
import { parseDecibels, showNumber } from "./units.js";

/** A result to compare with its model. */
export interface Result {
  /** All files of the result, with the streams that make their bytes again. */
  readonly targets: readonly Target[];
  /** The path of its file, or of its index. */
  readonly main: string;
  readonly report: QuantizeReport;
  /** The least SQNR of a quantized tensor, in dB. */
  readonly minSqnr: number | undefined;
}

/** The least SQNR that --min-sqnr asks for. @throws {Failure} without --verify, or for another text */
export function minSqnrOf(args: Arguments): number | undefined {
  const text = args.text("min-sqnr");
  if (text === undefined) return undefined;
  if (!args.has("verify")) throw usage("--min-sqnr is a limit of --verify, which is missing");
  const limit = parseDecibels(text);
  if (limit !== undefined) return limit;
  throw usage(`--min-sqnr takes decibels, such as 30, got ${JSON.stringify(text)}`);
}

/**
 * Compares the bytes of a file with those that its source gives now, chunk by chunk.
 * @returns the problem; undefined for equal bytes
 */
async function differenceOf(
  { path, file }: Target,
  onRead: (bytes: number) => void,
  signal: AbortSignal,
): Promise<string | undefined> {
  const handle = await open(path, "r");
  try {
    let at = 0;
    for await (const chunk of chunksOf(file.stream())) {
      const wanted = Buffer.from(chunk);
      const found = Buffer.alloc(wanted.length);
      for (let size = 0; size < found.length; ) {
        signal.throwIfAborted();
        const { bytesRead } = await handle.read(found, size, found.length - size, at + size);
        if (bytesRead === 0) return `${path} ends at byte ${at + size}`;
        size += bytesRead;
      }
      if (!found.equals(wanted)) {
        const first = found.findIndex((byte, i) => byte !== wanted[i]);
        return `${path} differs at byte ${at + first} from what its source gives`;
      }
      at += wanted.length;
      onRead(wanted.length);
    }
    const { size } = await handle.stat();
    return size === at ? undefined : `${path} has ${size} bytes instead of ${at}`;
  } finally {
    await handle.close();
  }
}

/**
 * Compares a result with the model. The bytes of each file must be those that the source gives now: a source whose
 * values were others while it was read is found. Then the file is opened again: kept tensors must be equal, and all
 * others must be there, with the least SQNR that was asked for.
 * @returns the exit code
 */
export async function verify(
  model: Model,
  { targets, main: path, report, minSqnr }: Result,
  isQuiet: boolean,
  signal: AbortSignal,
): Promise<number> {
  const kept = new Set(
    report.rows.filter(({ scheme }) => scheme === "keep").map(({ name }) => name),
  );
  const problems: string[] = [];
  const remaking = new Progress(`making ${path} again`, isQuiet);
  const size = targets.reduce((sum, { file }) => sum + file.size, 0);
  let made = 0;
  for (const target of targets) {
    const onRead = (bytes: number): void => {
      made += bytes;
      remaking.update({ done: made, total: size, name: target.file.name });
    };
    const problem = await differenceOf(target, onRead, signal);
    if (problem !== undefined) problems.push(problem);
  }
  remaking.clear();
  const progress = new Progress(`reading ${path} again`, isQuiet);
  let [read, total, max] = [0, 0, 0];
  let worst = { name: "", sqnr: Number.POSITIVE_INFINITY };
  const written = await openModel(path, { signal });
  try {
    const options = { signal, onProgress: progress.update };
    for await (const row of compare(model, written, options)) {
      const { name, equal, reason, sqnr } = row;
      // The result may have additional tensors, such as scales.
      if (row.from === undefined) continue;
      total++;
      if (reason !== undefined) problems.push(`${name}: ${reason}`);
      else if (kept.has(name) && !equal) problems.push(`${name}: kept, but it differs`);
      else if (minSqnr !== undefined && !kept.has(name) && !(equal || sqnr >= minSqnr))
        problems.push(`${name}: SQNR ${sqnr.toFixed(1)} dB is below --min-sqnr ${minSqnr}`);
      else read++;
      if (row.max > max) max = row.max;
      if (sqnr < worst.sqnr) worst = { name, sqnr };
    }
  } finally {
    await written.close();
  }
  progress.clear();
  for (const problem of problems.slice(0, 20)) process.stderr.write(`${printable(problem)}\n`);
  const least = worst.name === "" ? "" : `, least SQNR ${worst.sqnr.toFixed(1)} dB (${worst.name})`;
  const line = `${read} of ${total} tensors read again, largest difference ${showNumber(max)}${least}`;
  if (problems.length > 0) process.stderr.write(`zeropoint: ${printable(line)}\n`);
  else if (!isQuiet) process.stdout.write(`${printable(line)}\n`);
  return problems.length > 0 ? EXIT.different : EXIT.ok;
}

/** The file by which a result of several files is opened. */
export const mainOf = (names: readonly string[]): string =>
  names.find((name) => name.endsWith(".index.json")) ??
  names.find((name) => !name.endsWith(".json")) ??
  names[0];
