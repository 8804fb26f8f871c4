// An importance matrix: for each weight, how much each of its columns counts, from a GGUF file of llama-imatrix.
// Source: llama.cpp 0.7 (tools/quantize/quantize.cpp, load_imatrix).

import { rangeError } from "../../../base/errors.js";
import { show } from "../../../base/format-value.js";
import type { Model } from "../../open/model.js";

/** An importance matrix. */
export interface Importance {
  /** The name of its file. */
  readonly file: string;
  /** The first data set that it was computed from. */
  readonly dataset: string | undefined;
  /** Chunks of text that it was computed from; 0 if that is not known. */
  readonly chunks: number;
  /** By the name of a weight: one number for each column, or for each column of each expert. */
  readonly entries: ReadonlyMap<string, Float32Array>;
}

const SUMS = ".in_sum2";
const COUNTS = ".counts";

/**
 * Reads an importance matrix.
 * @param file  its name
 * @returns undefined if it has no entries: llama-quantize goes on without
 * @throws {RangeError} `ZP_INVALID_MODEL` if the file is no importance matrix, or has values that are not finite
 */
export async function readImportance(
  where: string,
  model: Model,
  file: string,
): Promise<Importance | undefined> {
  const refuse = (problem: string): Error =>
    rangeError(
      "ZP_INVALID_MODEL",
      where,
      `options.imatrix must be a GGUF file of llama-imatrix: ${problem}`,
    );
  const { metadata, tensors, format } = model;
  if (format !== "gguf") throw refuse(`it is a file of ${format}`);
  const datasets = metadata.get("imatrix.datasets");
  const chunks = metadata.get("imatrix.chunk_count");
  const isComplete = Array.isArray(datasets) && typeof chunks === "number";
  if (!isComplete || !metadata.has("imatrix.chunk_size")) {
    throw refuse("imatrix.datasets, imatrix.chunk_count or imatrix.chunk_size is missing");
  }
  const entries = new Map<string, Float32Array>();
  for (const name of tensors.keys()) {
    if (!name.endsWith(SUMS)) continue;
    const weight = name.slice(0, -SUMS.length);
    if (!tensors.has(weight + COUNTS)) throw refuse(`${show(weight + COUNTS)} is missing`);
    const { data: counts } = await model.read(weight + COUNTS);
    const { data: sums } = await model.read(name);
    if (sums.length === 0 || counts.length === 0) continue;
    if (sums.length % counts.length !== 0) {
      throw refuse(`${show(name)} has ${sums.length} values for ${counts.length} counts`);
    }
    const means = meansOf(sums, counts);
    const at = means.findIndex((mean) => !Number.isFinite(mean));
    if (at >= 0) throw refuse(`value ${at} of ${show(name)} is ${means[at]}`);
    entries.set(weight, means);
  }
  if (entries.size === 0) return undefined;
  return { file, dataset: datasets[0] as string | undefined, chunks, entries };
}

/** Sums divided by their counts; 1 where nothing was counted. */
function meansOf(sums: Float32Array, counts: Float32Array): Float32Array {
  const columns = sums.length / counts.length;
  return sums.map((sum, i) => {
    const count = counts[Math.floor(i / columns)];
    return count > 0 ? sum / count : 1;
  });
}

/**
 * The importance of the columns of a weight.
 * @returns undefined if there is none
 * @throws {RangeError} `ZP_INVALID_MODEL` if it has another number of columns
 */
export function importanceOf(
  where: string,
  importance: Importance | undefined,
  name: string,
  shape: readonly number[],
): Float32Array | undefined {
  const columns = importance?.entries.get(name);
  const expected = (shape.at(-1) ?? 1) * (shape.at(-3) ?? 1);
  if (columns === undefined || columns.length === expected) return columns;
  // llama-quantize lets that pass for embeddings, whose importance it never has.
  if (/^(per_layer_)?token_embd\.weight$/.test(name)) return undefined;
  const problem = `options.imatrix has ${columns.length} values for tensor ${show(name)}, which needs ${expected}`;
  throw rangeError("ZP_INVALID_MODEL", where, problem);
}
