// The keys of a GGUF file of weights from another format.

import { show } from "../../../base/format-value.js";
import type { GGUFEntry } from "../../../formats/gguf/types.js";
import { ggufEntry } from "../../../formats/gguf/write.js";

/** `general.architecture` of a container of weights: no engine knows it, so none takes the file for a language model. */
const CONTAINER_ARCHITECTURE = "weights";

/**
 * The keys of a container: architecture, name, and the texts and numbers of the source's metadata under its format's
 * name.
 * @param name  of the model
 */
export function containerKeys(
  format: string,
  name: string,
  metadata: ReadonlyMap<string, unknown>,
): Map<string, GGUFEntry> {
  const keys = new Map([
    ["general.architecture", ggufEntry("string", CONTAINER_ARCHITECTURE)],
    ["general.name", ggufEntry("string", name)],
  ]);
  for (const [key, value] of metadata) {
    const entry = entryOf(value);
    if (entry !== undefined) keys.set(`${format}.${key}`, entry);
  }
  return keys;
}

function entryOf(value: unknown): GGUFEntry | undefined {
  if (typeof value === "string") return ggufEntry("string", value);
  if (typeof value === "boolean") return ggufEntry("bool", value);
  if (typeof value === "bigint") return ggufEntry("string", show(value));
  if (typeof value !== "number") return undefined;
  return ggufEntry(Number.isSafeInteger(value) ? "int64" : "float64", value);
}
