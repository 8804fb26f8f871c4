// load: a file of save -> the thing.

import { checkAbortSignal } from "../../base/check.js";
import { type ErrorCode, rangeError, type ZeropointError } from "../../base/errors.js";
import { show } from "../../base/format-value.js";
import { checkObject, checkOptions } from "../../base/options.js";
import type { PlatformAbortSignal } from "../../base/platform.js";
import type { Core } from "../../core/core.js";
import { binderOf } from "../../core/create.js";
import { activeCore, runOn } from "../../core/init.js";
import { readJson } from "../../formats/json.js";
import { readSafetensors } from "../../formats/safetensors.js";
import { type FileError, fileError, readBytes } from "../../formats/source.js";
import type { TensorInput } from "../../tensor/check.js";
import type { Tensor } from "../../tensor/tensor.js";
import { NO_LIMITS } from "../open/requests.js";
import { checkReadable, type FileSource, guarded, openSource } from "../open/sources.js";
import {
  type LoadedTensor,
  type PlacedTensor,
  STRUCTURE_KEY,
  STRUCTURE_VERSION,
  StructureReader,
} from "../structure/structure.js";
import { columnNames } from "../structure/vector-index.js";
import { type Loaded, readSaveable } from "./saveable.js";

/** Options of `load`. */
export interface LoadOptions {
  /** The functions that are layers of the file, by the names that they had. */
  functions?: Readonly<Record<string, (x: Tensor) => TensorInput>> | undefined;
  /** Rejects with the signal's reason once it is aborted. */
  signal?: PlatformAbortSignal | undefined;
}

/**
 * Restores what `save` has written, with the same bits: layers run at once. The file is not trusted: all of it is
 * checked. A mapping brings its patterns, which `prepare` matches with the names of layers.
 *
 * @typeParam T  what the file is expected to hold; not checked
 * @param source  a path, an address, a `Response`, a `Blob`, bytes, a stream of bytes, or `{ size, read }`
 * @param options.functions  the functions that are layers of the file, by name
 * @throws {RangeError} `ZP_INVALID_FILE` for any file that `save` does not write; `ZP_UNSUPPORTED_FILE` for one of a
 *   later version
 * @throws {TypeError} `ZP_INVALID_FUNCTION` for a function that is missing
 * @throws {Error} `ZP_LOAD_FAILED` if the file cannot be read; `ZP_NOT_INITIALIZED`
 * @example
 * // also load("model.safetensors"), and fetch("model.safetensors").then(load)
 * const restored = await load<typeof model>(save(model));
 * restored.forward(x).shape; // [2, 3]
 */
export async function load<T extends Loaded = Loaded>(
  source: FileSource | Promise<FileSource>,
  options?: LoadOptions,
): Promise<T> {
  return (await loadOn(activeCore("load"), source, options)) as T;
}

/** `load`, on a given core. */
export async function loadOn(
  core: Core,
  source: FileSource | Promise<FileSource>,
  options: LoadOptions | undefined,
): Promise<Loaded> {
  const where = "load";
  const names = ["functions", "signal"];
  const { functions, signal } = checkOptions(where, options, names) as LoadOptions;
  checkAbortSignal(where, signal);
  if (functions !== undefined) checkObject(where, "options.functions", functions);
  const own = Object.assign(Object.create(null), functions) as Record<string, unknown>;
  const file = guarded(where, await openSource(where, source, { ...NO_LIMITS, signal }), signal);
  try {
    const { metadata, tensors } = await readSafetensors(file, where);
    const structure = parseStructure(where, metadata.get(STRUCTURE_KEY));
    const loaded = new Map<string, LoadedTensor>();
    const placed = new Map<string, PlacedTensor>();
    const later = columnNames(structure);
    for (const [name, { dtype, shape, byteLength, span }] of tensors) {
      checkReadable(where, byteLength);
      if (later.has(name)) {
        placed.set(name, { dtype, shape, span: { source: file, offset: span.offset } });
        continue;
      }
      const bytes = await readBytes(where, file, span.offset, byteLength);
      // A copy, unless the source has made one: from then on the memory is the thing's.
      const isOwn = file.isFresh && bytes.byteLength === bytes.buffer.byteLength;
      loaded.set(name, { dtype, shape, bytes: isOwn ? bytes : bytes.slice() });
    }
    const reader = new StructureReader(where, loaded, file.size, own, binderOf(core), placed);
    const thing = runOn(core, () => readAll(reader, structure));
    await reader.finish();
    return thing;
  } finally {
    await file.close();
  }
}

function readAll(reader: StructureReader, structure: unknown): Loaded {
  try {
    const thing = readSaveable(reader, "", structure);
    reader.end();
    return thing;
  } catch (error) {
    throw asFileError(reader.where, error);
  }
}

/** Codes of errors that do not concern the file. */
const NOT_OF_FILE: readonly ErrorCode[] = [
  "ZP_INVALID_FILE",
  "ZP_INVALID_FUNCTION",
  "ZP_OUT_OF_MEMORY",
];

/** The error for a thing that the file describes, but that cannot be constructed. */
function asFileError(where: string, error: unknown): unknown {
  const { code, message } = error as Partial<ZeropointError>;
  if (typeof code !== "string" || NOT_OF_FILE.includes(code)) return error;
  const found = fileError(where, 8, `a thing that can be made`, String(message));
  return Object.assign(found, { cause: error });
}

function parseStructure(where: string, text: string | undefined): unknown {
  if (text === undefined) {
    const expected = `${STRUCTURE_KEY} in __metadata__, as save writes it`;
    throw fileError(where, 8, expected, "none; openModel reads the tensors of other files");
  }
  let parsed: { readonly version?: unknown; readonly thing?: unknown } | null;
  try {
    parsed = readJson(where, new TextEncoder().encode(text)) as typeof parsed;
  } catch (cause) {
    if ((cause as FileError).code === "ZP_UNSUPPORTED_FILE") throw cause;
    throw Object.assign(fileError(where, 8, "JSON in __metadata__", "another text"), { cause });
  }
  const version = parsed?.version;
  if (Number.isInteger(version) && (version as number) > STRUCTURE_VERSION) {
    const problem = `the file is of version ${show(version)}; this is the reader of ${STRUCTURE_VERSION}`;
    throw rangeError("ZP_UNSUPPORTED_FILE", where, problem);
  }
  if (version !== STRUCTURE_VERSION) {
    throw fileError(where, 8, `version ${STRUCTURE_VERSION} in __metadata__`, show(version));
  }
  return parsed?.thing;
}
