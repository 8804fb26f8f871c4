// The keys of a quantized GGUF file, and the facts that keys state of a model.

import type { GGUFEntry, GGUFValue } from "../../../formats/gguf/types.js";
import { ggufEntry } from "../../../formats/gguf/write.js";
import type { Importance } from "./importance.js";
import { layerOf, type ModelFacts, type TensorFacts } from "./tensor-types.js";

/** Keys of GGUF by name. */
export type Keys = ReadonlyMap<string, GGUFEntry>;

/** The version of ggml's block types. */
const QUANTIZATION_VERSION = 2;

/** Keys of a file that is one of several. llama-quantize writes one file. */
const SPLIT_KEYS = ["split.no", "split.count", "split.tensors.count"];

/**
 * The keys of the new file: those of the source in their order, then quantization version, file type and the origin of
 * the importance.
 */
export function quantizedKeys(
  source: Keys,
  fileType: number,
  importance?: Importance,
): [string, GGUFEntry][] {
  const added: [string, GGUFEntry][] = [
    ["general.quantization_version", ggufEntry("uint32", QUANTIZATION_VERSION)],
    ["general.file_type", ggufEntry("uint32", fileType)],
    ...(importance === undefined ? [] : importanceKeys(importance)),
  ];
  const removed = new Set([...SPLIT_KEYS, ...added.map(([key]) => key)]);
  return [...[...source].filter(([key]) => !removed.has(key)), ...added];
}

function importanceKeys({ file, dataset, entries, chunks }: Importance): [string, GGUFEntry][] {
  const keys: [string, GGUFEntry][] = [["quantize.imatrix.file", text(file)]];
  if (dataset !== undefined) keys.push(["quantize.imatrix.dataset", text(dataset)]);
  keys.push(["quantize.imatrix.entries_count", ggufEntry("uint32", entries.size)]);
  if (chunks > 0) keys.push(["quantize.imatrix.chunks_count", ggufEntry("uint32", chunks)]);
  return keys;
}

/** A string of at most 127 bytes, as llama-quantize has room for; characters are not cut. */
function text(value: string): GGUFEntry {
  let short = value;
  while (new TextEncoder().encode(short).length > 127) short = [...short].slice(0, -1).join("");
  return ggufEntry("string", short);
}

/** Facts that the keys of a language model state; tensors and defaults stand in for keys that are missing. */
export function factsOf(keys: Keys, tensors: readonly TensorFacts[]): ModelFacts {
  const architecture = String(keys.get("general.architecture")?.value ?? "");
  const numberAt = (key: string): number | undefined =>
    firstNumber(keys.get(`${architecture}.${key}`)?.value);
  const heads = numberAt("attention.head_count") ?? 1;
  return {
    architecture,
    // As arguments of one call, many tensors would not fit on the stack.
    layers:
      numberAt("block_count") ??
      tensors.reduce((most, { name }) => Math.max(most, layerOf(name) + 1), 0),
    heads,
    keyHeads: numberAt("attention.head_count_kv") ?? heads,
    experts: numberAt("expert_count") ?? 0,
  };
}

/** A number, or the first one of an array with one for each layer. */
function firstNumber(value: GGUFValue | undefined): number | undefined {
  const first = typeof value === "object" ? value[0] : value;
  return typeof first === "number" || typeof first === "bigint" ? Number(first) : undefined;
}
