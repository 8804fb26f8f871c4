// Tensors in the shards of a checkpoint that its index leaves out.

import { splitName } from "../../formats/layouts/checkpoints/neighbours.js";
import type { FileTensor } from "../../formats/source.js";

/** The files of an index of shards. */
export interface ShardIndex {
  readonly files: ReadonlyMap<string, { readonly tensors: ReadonlyMap<string, FileTensor> }>;
  readonly weightMap: ReadonlyMap<string, string>;
}

/** Tensors that an index leaves out, but for those of modules that it takes from another file. */
export function unlistedOf(index: ShardIndex | undefined): Map<string, FileTensor> {
  const unlisted = new Map<string, FileTensor>();
  for (const [file, { tensors }] of index?.files ?? []) {
    const of = (name: string): string | undefined => index?.weightMap.get(name);
    const moved = [...tensors.keys()].filter((name) => (of(name) ?? file) !== file);
    const old = new Set(moved.map((name) => splitName(name)[0]));
    for (const [name, tensor] of tensors)
      if (of(name) === undefined && !old.has(splitName(name)[0])) unlisted.set(name, tensor);
  }
  return unlisted;
}
