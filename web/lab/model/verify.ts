// Reads the written files again and compares them with the model.

import type { Library } from "../../shell/library.js";
import type { Run } from "../show/progress.js";
import { openFiles } from "./files.js";
import type { ModelHandle } from "./opened.js";

/**
 * Compares every tensor of a model with the one in the written files.
 * @param rows  of the report of quantizeModel
 * @returns problems: tensors that are missing or
 *   cannot be compared, and kept tensors that differ; largest: the largest difference from the model
 */
export async function verify(
  zp: Library,
  source: ModelHandle,
  written: File[],
  rows: readonly { name: string; scheme: string }[],
  { signal, pause, onProgress }: Run,
): Promise<{ tensors: number; problems: string[]; largest: number }> {
  const kept = new Set(rows.filter(({ scheme }) => scheme === "keep").map(({ name }) => name));
  const own = await source.tensors;
  const again = await openFiles(zp, written, (path) => `${path} was not written`);
  try {
    let tensors = 0;
    let largest = 0;
    const problems: string[] = [];
    const options = {
      signal,
      onProgress: (progress: any) => onProgress(progress, "Reading the file again"),
    };
    for await (const row of zp.compare(source, again, options)) {
      const { name, max, equal, reason } = row;
      // Constants that the writer has added are no tensors of the model.
      if (!own.has(name)) continue;
      tensors++;
      if (reason !== undefined) problems.push(`${name}: ${reason}`);
      else if (kept.has(name) && !equal) problems.push(`${name}: kept, but it differs`);
      else largest = Math.max(largest, max);
      await pause.ready();
    }
    return { tensors, problems, largest };
  } finally {
    again.dispose();
  }
}
