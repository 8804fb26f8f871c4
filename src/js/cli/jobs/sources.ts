// The files of a model, which are dealt to jobs, and hashes of their headers.

import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { FileTensor } from "../../formats/source.js";
import { documentOf, type Model } from "../../models/open/model.js";
import type { Sized } from "./deal.js";

/** A file of a model. */
export interface SourceFile extends Sized {
  /** Hash of everything in its header: names, dtypes, shapes and places of its tensors, and its metadata. */
  readonly headerSha256: string;
  /** Names of its tensors. */
  readonly tensors: readonly string[];
}

/** The files of a model: shards of an index, or one file. */
export function sourceFiles(model: Model): SourceFile[] {
  const document = documentOf("zeropoint", "model", model);
  if (document.format === "safetensors") {
    return document.shards.map(({ file, metadata, tensors }) =>
      sourceFile(file, metadata, tensors),
    );
  }
  return [sourceFile(document.fileName ?? "model", model.metadata, document.files)];
}

function sourceFile(
  name: string,
  metadata: ReadonlyMap<string, unknown>,
  tensors: ReadonlyMap<string, FileTensor>,
): SourceFile {
  const list = Array.from(tensors.values(), ({ name, dtype, shape, byteLength, span }) => [
    ...[name, dtype, shape, byteLength, span?.offset ?? null],
  ]);
  const size = [...tensors.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);
  const entries = [...metadata].map(([key, value]) => [key, String(value)]);
  return { name, size, headerSha256: hashOf([entries, list]), tensors: [...tensors.keys()] };
}

/** Size and time of a local file of a model, by which its values count as unchanged; null for an address. */
export function stampOf(model: string, name: string | undefined): readonly number[] | null {
  const found = statSync(model, { throwIfNoEntry: false });
  if (found === undefined) return null;
  const folder = found.isDirectory() ? model : dirname(model);
  const file =
    name === undefined ? undefined : statSync(join(folder, name), { throwIfNoEntry: false });
  const { size, mtimeMs } = file ?? found;
  return [size, mtimeMs];
}

/** The sha256 of plain data, independent of the order of an object's keys. */
export function hashOf(data: unknown): string {
  const sorted = (_: string, value: unknown): unknown =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  return createHash("sha256")
    .update(JSON.stringify(data, sorted) ?? "")
    .digest("hex");
}
