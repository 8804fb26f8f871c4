// --verify: compares a result, as it is on the disk, with the bytes that its source gives now, and with its values.

import { dirname, join } from "node:path";
import { verifyOutput } from "../models/compare/verify.js";
import type { Model } from "../models/open/model.js";
import type { QuantizeModelResult } from "../models/quantize/types.js";
import type { Arguments } from "./arguments.js";
import { EXIT, usage, withOptionNames } from "./failures.js";
import type { Target } from "./jobs/write.js";
import { Progress } from "./output/progress.js";
import { printable } from "./output/terminal.js";
import { parseDecibels, showNumber } from "./units.js";

/** A result to compare with its model. */
export interface Result {
  /** All files of the result with their paths. */
  readonly targets: readonly Target[];
  readonly result: QuantizeModelResult;
  /** The path of its file, or of its index. */
  readonly main: string;
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
 * Compares a result with the model. The bytes of each file must be those that the source gives now: a source whose
 * values were others while it was read is found. Then the file is opened again: kept tensors must be equal, and all
 * others must be there, with the least SQNR that was asked for.
 * @returns the exit code
 */
export async function verify(
  model: Model,
  { targets, result, main, minSqnr }: Result,
  isQuiet: boolean,
  signal: AbortSignal,
): Promise<number> {
  const progress = new Progress(`verifying ${main}`, isQuiet);
  const paths = new Map(targets.map(({ file, path }) => [file.name, path]));
  const { total, read, problems, max, sqnr, rows } = await verifyOutput(model, result, {
    written: (name) => paths.get(name) ?? join(dirname(main), name),
    ...{ minSqnr, signal, onProgress: progress.update },
  });
  progress.clear();
  const lines = problems.map((problem) => `${printable(withOptionNames(problem))}\n`);
  process.stderr.write(lines.slice(0, 20).join(""));
  const worst = rows.find((row) => row.sqnr === sqnr && sqnr < Number.POSITIVE_INFINITY);
  const least = worst === undefined ? "" : `, least SQNR ${sqnr.toFixed(1)} dB (${worst.name})`;
  const line = `${read} of ${total} tensors read again, largest difference ${showNumber(max)}${least}`;
  if (problems.length === 0) {
    if (!isQuiet) process.stdout.write(`${printable(line)}\n`);
    return EXIT.ok;
  }
  const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
  process.stderr.write(`zeropoint: ${count}; ${printable(line)}\n`);
  return EXIT.different;
}

/** The file by which a result of several files is opened. */
export const mainOf = (names: readonly string[]): string =>
  names.find((name) => name.endsWith(".index.json")) ??
  names.find((name) => !name.endsWith(".json")) ??
  names[0];
