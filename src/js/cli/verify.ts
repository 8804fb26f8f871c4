// --verify: opens a result again, as it is on the disk, and compares it with its source.

import { compare } from "../models/compare/compare.js";
import type { Model } from "../models/open/model.js";
import { openModel } from "../models/open/open.js";
import type { QuantizeReport } from "../models/quantize/types.js";
import { EXIT } from "./failures.js";
import { Progress } from "./output/progress.js";
import { printable } from "./output/terminal.js";
import { showNumber } from "./units.js";

/**
 * Compares a result with the model: kept tensors must be equal, all others must be there.
 * @param path  of the result's file, or of its index
 * @returns the exit code
 */
export async function verify(
  model: Model,
  path: string,
  report: QuantizeReport,
  isQuiet: boolean,
  signal: AbortSignal,
): Promise<number> {
  const kept = new Set(
    report.rows.filter(({ scheme }) => scheme === "keep").map(({ name }) => name),
  );
  const progress = new Progress(`reading ${path} again`, isQuiet);
  const problems: string[] = [];
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
