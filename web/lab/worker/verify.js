// Reads the written files again and compares them with the model.

import { compare } from "zeropoint/models";
import { openFiles } from "./opened.js";

/**
 * Compares every tensor of a model with the one in the written files.
 * @param {import("zeropoint/models").Model} source
 * @param {File[]} written
 * @param {readonly { name: string, scheme: string }[]} rows  of the report of quantizeModel
 * @param {import("../../shell/calls/serve.js").Context} context
 * @returns {Promise<{ tensors: number, problems: string[], largest: number }>} problems: tensors that are missing or
 *   cannot be compared, and kept tensors that differ; largest: the largest difference from the model
 */
export async function verify(source, written, rows, { signal, report, ready }) {
  const kept = new Set(rows.filter(({ scheme }) => scheme === "keep").map(({ name }) => name));
  const again = await openFiles(written, (path) => `${path} was not written`);
  try {
    let tensors = 0;
    let largest = 0;
    /** @type {string[]} */
    const problems = [];
    const onProgress = (/** @type {any} */ progress) =>
      report({ progress, stage: "Reading the file again" });
    for await (const row of compare(source, again, { signal, onProgress })) {
      const { name, max, equal, reason } = row;
      // Constants that the writer has added are no tensors of the model.
      if (!source.tensors.has(name)) continue;
      tensors++;
      if (reason !== undefined) problems.push(`${name}: ${reason}`);
      else if (kept.has(name) && !equal) problems.push(`${name}: kept, but it differs`);
      else largest = Math.max(largest, max);
      await ready();
    }
    return { tensors, problems, largest };
  } finally {
    await again.close();
  }
}
