// The files of a model, which are split among jobs, with hashes of their headers and the versions of their bytes.

import { createHash } from "node:crypto";
import type { OnnxTensor } from "../../formats/onnx/tensor.js";
import type { FileTensor } from "../../formats/source.js";
import type { ModelDocument } from "../../models/open/document.js";
import { documentOf, type Model } from "../../models/open/model.js";
import type { ModelFile } from "../../models/open/versions.js";
import type { Sized } from "./split-files.js";

/** A file of a model. */
export interface SourceFile extends Sized {
  /** Hash of everything in its header: names, dtypes, shapes and places of its tensors, and its metadata. */
  readonly headerSha256: string;
  /**
   * Hash of the versions of all files that its values and its layout come from: itself, the index, config.json, external
   * data. undefined if one of them has no version: standard input, and addresses of servers that name none.
   */
  readonly version: string | undefined;
  /** Names of its tensors. */
  readonly tensors: readonly string[];
}

/** The files of a model: shards of an index, or one file. */
export async function sourceFiles(model: Model): Promise<SourceFile[]> {
  const document = documentOf("zeropoint", "model", model);
  const opened = await openedFiles(document);
  if (document.format !== "safetensors") {
    const { fileName = "model", files } = document;
    return [sourceFile(fileName, model.metadata, files, versionOf(opened))];
  }
  const { shards, index } = document;
  const names = new Set(index === undefined ? [] : shards.map(({ file }) => file));
  return shards.map(({ file, metadata, tensors }) => {
    const own = opened.filter(({ path = "" }) => path === file || !names.has(path));
    return sourceFile(file, metadata, tensors, versionOf(own));
  });
}

/** The version of several files as one. */
export const versionOfAll = (sources: readonly SourceFile[]): string | undefined =>
  sources.every(({ version }) => version !== undefined)
    ? hashOf(sources.map(({ version }) => version))
    : undefined;

/** All files of a model; opens those that it has not read from yet. */
async function openedFiles(document: ModelDocument): Promise<readonly ModelFile[]> {
  if (document.format === "onnx") {
    for (const tensor of document.files.values()) {
      const { stored, location } = tensor as OnnxTensor;
      // A missing file is an error of the read that needs it.
      if (stored === "external" && location !== undefined) {
        await document.openExternal(location).catch(() => undefined);
      }
    }
  }
  return document.opened.list();
}

function versionOf(files: readonly ModelFile[]): string | undefined {
  const states = files.map(({ path = "", version }) => [path, version?.state]);
  return states.some(([, state]) => state === undefined) ? undefined : hashOf(states.sort());
}

function sourceFile(
  name: string,
  metadata: ReadonlyMap<string, unknown>,
  tensors: ReadonlyMap<string, FileTensor>,
  version: string | undefined,
): SourceFile {
  const list = Array.from(tensors.values(), ({ name, dtype, shape, byteLength, span }) => [
    ...[name, dtype, shape, byteLength, span?.offset ?? null],
  ]);
  const size = [...tensors.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);
  const entries = [...metadata].map(([key, value]) => [key, String(value)]);
  const headerSha256 = hashOf([entries, list]);
  return { name, size, headerSha256, version, tensors: [...tensors.keys()] };
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
