// Metadata of a model for which a file of another format has no place.

import { show } from "../../base/format-value.js";
import type { Model } from "../open/model.js";

/** Whether an entry of metadata is one text or number. */
export const isScalar = (value: unknown): boolean =>
  ["string", "number", "boolean", "bigint"].includes(typeof value);

/** Names metadata of a model that a file does not have. @param isKept  whether the file has an entry */
export function lostMetadata(
  { metadata }: Model,
  isKept: (value: unknown, key: string) => boolean = isScalar,
): string[] {
  const lost = [...metadata].filter(([key, value]) => !isKept(value, key));
  if (lost.length === 0) return [];
  const some = lost.slice(0, 3).map(([key]) => show(key));
  const more = lost.length > some.length ? " …" : "";
  const entries = lost.length === 1 ? "1 entry" : `${lost.length} entries`;
  return [
    `${entries} of the model's metadata, for which the format has no place, left out: ${some.join(", ")}${more}`,
  ];
}
