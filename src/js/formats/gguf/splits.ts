// GGUF models in several files, as llama-gguf-split writes them: NAME-00001-of-00003.gguf, whose first one has all keys.
// Source: llama.cpp 0.7 (llama-model-loader.cpp, llama_split_path).

import type { Budget } from "../budget.js";
import { type FileTensor, fileError, type Source, unsupported } from "../source.js";
import { type GGUF, readGGUF } from "./read.js";

/** A key of a split as a number; 0 where there is none. */
function numberOf({ metadata }: GGUF, key: string): number {
  const value = metadata.get(key)?.value;
  return typeof value === "number" ? value : 0;
}

/**
 * The whole model of the first of several files; a model in one file is returned as it is.
 * @param fileName  of the first file; its ending tells the names of the others
 * @param open  opens another file by its name
 * @param budget  of all files
 * @throws {RangeError} `ZP_UNSUPPORTED_FILE` for another file than the first; `ZP_INVALID_FILE` for files that do not
 *   belong together, and tensors that are missing or there twice
 */
export async function joinSplits(
  first: GGUF,
  fileName: string | undefined,
  open: (name: string) => Promise<Source>,
  where: string,
  budget: Budget,
): Promise<GGUF> {
  const count = numberOf(first, "split.count");
  if (count <= 1) return first;
  const number = numberOf(first, "split.no");
  if (number !== 0) {
    throw unsupported(where, 0, `the first of ${count} files of a model`, `file ${number + 1}`);
  }
  const ending = (index: number): string =>
    `-${String(index + 1).padStart(5, "0")}-of-${String(count).padStart(5, "0")}.gguf`;
  const name = fileName ?? `model${ending(0)}`;
  if (!name.endsWith(ending(0))) {
    throw unsupported(where, 0, `a name that ends with ${ending(0)}`, JSON.stringify(name));
  }
  const tensors = new Map<string, FileTensor>(first.tensors);
  let { size } = first;
  for (let index = 1; index < count; index++) {
    const other = name.slice(0, -ending(0).length) + ending(index);
    const own = `${where}: ${other}`;
    const split = await readGGUF(await open(other), own, budget);
    const [found, files] = [numberOf(split, "split.no"), numberOf(split, "split.count")];
    if (found !== index || files !== count) {
      throw fileError(own, 0, `file ${index + 1} of ${count}`, `file ${found + 1} of ${files}`);
    }
    size += split.size;
    for (const [key, tensor] of split.tensors) {
      if (tensors.has(key)) throw fileError(own, 0, "every tensor once", JSON.stringify(key));
      tensors.set(key, tensor);
    }
  }
  const expected = numberOf(first, "split.tensors.count");
  if (tensors.size !== expected) {
    throw fileError(where, 0, `${expected} tensors in ${count} files`, tensors.size);
  }
  return { ...first, tensors, size };
}
