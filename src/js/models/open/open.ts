// openModel: a model file of any format -> named tensors, read when they are asked for.

import { checkAbortSignal, checkChoice, checkFunction, wrongNumber } from "../../base/check.js";
import { rangeError, stateError } from "../../base/errors.js";
import { fieldOf } from "../../base/fields.js";
import { checkOptions } from "../../base/options.js";
import type { PlatformAbortSignal } from "../../base/platform.js";
import { keepCore } from "../../core/init.js";
import { Budget } from "../../formats/budget.js";
import { JsonReader } from "../../formats/json.js";
import { addressBeside, checkRelativePath, fileNameOf } from "../../formats/paths.js";
import { MAX_HEADER } from "../../formats/safetensors.js";
import { fileError, readBytes, type Source } from "../../formats/source.js";
import { Model, type ModelFormat } from "./model.js";
import { READERS } from "./readers.js";
import { type Limits, TIMEOUT } from "./requests.js";
import {
  type FileSource,
  guarded,
  isAddress,
  isFolder,
  NO_FILE,
  namesIn,
  type OpenedSource,
  openSource,
} from "./sources.js";
import { ModelFiles } from "./versions.js";

/** Options of `openModel`. */
export interface OpenModelOptions {
  /** The file's format. Default: by its first bytes. */
  format?: ModelFormat | undefined;
  /** Rejects with the signal's reason once it is aborted, also later reads. */
  signal?: PlatformAbortSignal | undefined;
  /**
   * Opens the files that the model's file names: shards, external data. Default: files beside it, if it has a path
   * or an address.
   */
  externalData?: ((path: string) => FileSource | Promise<FileSource>) | undefined;
  /**
   * Bytes of memory that all files of the model together may take for what is made of them: headers, metadata, lists of
   * tensors, configuration; members of an npz file count by what they are larger than 16 times their compressed bytes.
   * Default: 512 MiB. Also the largest file that a stream, or a server without ranges, gives as a whole; default: 4 GiB.
   */
  maxBytes?: number | undefined;
  /**
   * Milliseconds that a server may send nothing, and the longest time after which a busy one (429, 503) is tried again,
   * up to four times. Infinity waits for ever. Default: 60,000.
   */
  timeout?: number | undefined;
}

const FORMATS: readonly ModelFormat[] = ["safetensors", "gguf", "onnx", "npy", "npz", "tfjs", "pb"];

/** Files by which a folder is opened. */
const FOLDER_FILES = [
  "model.safetensors.index.json",
  "model.safetensors",
  "model.json",
  "model.onnx",
  "onnx/model.onnx",
];

/** Endings of files by which a folder without these is opened, if it has one alone. */
const FOLDER_ENDINGS = [/\.index\b[^/]*\.json$/, /\.safetensors$/, /\.gguf$/, /\.onnx$/];

/**
 * Opens a model file: safetensors (also an index of shards), GGUF, ONNX, npy, npz, tfjs (model.json, or its
 * weights_manifest.json alone) or pb (one tensor of ONNX). Only headers are read; values are read when they are asked for. The file is not trusted.
 *
 * @param source  a path (of a folder, too), an address, which is read by ranges if the server has them, a `Blob` or
 *   `File`, bytes, a `Response`, a stream, or `{ size, read }`
 * @throws {RangeError} `ZP_INVALID_FILE`, with `offset`, `expected` and `found`; `ZP_UNSUPPORTED_FILE`
 * @throws {Error} `ZP_LOAD_FAILED` if the file, or one that it names, cannot be read
 * @example
 * // also openModel("model.gguf")
 * const file = await openModel(save({ w: tensor([1, 2]) }));
 * for (const { name, shape, dtype } of file.tensors.values()) console.log(name, shape, dtype); // w [2] F32
 * const w = await file.read("w");
 * await file.close();
 * w.data; // Float32Array [1, 2]
 */
export async function openModel(
  source: FileSource | Promise<FileSource>,
  options?: OpenModelOptions,
): Promise<Model> {
  const where = "openModel";
  const names = ["format", "signal", "externalData", "maxBytes", "timeout"];
  const given = checkOptions(where, options, names) as OpenModelOptions;
  const { signal, externalData } = given;
  checkFunction(where, "options.externalData", externalData);
  checkAbortSignal(where, signal);
  const wanted = checkChoice(where, "options.format", given.format, [...FORMATS, "auto"], "auto");
  const maxBytes = checkLimit(where, "options.maxBytes", given.maxBytes);
  const timeout = checkLimit(where, "options.timeout", given.timeout) ?? TIMEOUT;
  const limits = { signal, maxBytes, timeout };
  const budget = new Budget(maxBytes, "options.maxBytes");
  const core = keepCore();
  const opened = new ModelFiles();
  const keep = (each: OpenedSource, path?: string): OpenedSource =>
    opened.add(guarded(where, each, signal), path);
  const close = (): Promise<void> => opened.close();
  try {
    const path = await source;
    const file = keep(await openMain(where, path, limits));
    const format = wanted === "auto" ? await formatOf(where, file) : (wanted as ModelFormat);
    // A file without path or address, such as a Blob with a name, has no files beside it, except by options.externalData.
    const name = typeof path === "string" || isURL(path) ? file.name : undefined;
    const hasFolder = externalData !== undefined || name !== undefined;
    const openOther = async (path: string): Promise<Source> => {
      const beside = externalData ? await externalData(path) : besideOf(where, name, path);
      if (Object(beside) !== beside && typeof beside !== "string") {
        const problem = `options.externalData gives no file for ${JSON.stringify(path)}`;
        throw stateError("ZP_LOAD_FAILED", where, problem);
      }
      budget.spend(where, 0, BYTES_OF_FILE);
      return keep(await openSource(where, beside, limits), path);
    };
    // Opened once each, unless that fails.
    const others = new Map<string, Promise<Source>>();
    const openBeside = (given: string): Promise<Source> => {
      const path = checkRelativePath(where, 0, given);
      const known = others.get(path);
      if (known !== undefined) return known;
      const other = openOther(path);
      others.set(path, other);
      other.catch(() => others.delete(path));
      return other;
    };
    const besides = new Set<string>();
    const readBeside = async (name: string): Promise<Uint8Array | undefined> => {
      if (!hasFolder) return undefined;
      const found = await openBeside(name).catch((error: unknown) => {
        if (externalData === undefined && !isMissing(error)) throw error;
        return undefined;
      });
      if (found === undefined) return undefined;
      if (found.size > MAX_BESIDE) {
        const problem = `${JSON.stringify(name)} beside the model has ${found.size} bytes, and at most ${MAX_BESIDE} are read`;
        throw rangeError("ZP_UNSUPPORTED_FILE", where, problem);
      }
      if (!besides.has(name)) budget.spend(`${where}: ${name}`, 0, found.size);
      besides.add(name);
      // options.externalData may give no bytes for a file that it does not have.
      if (externalData !== undefined && found.size === 0) return undefined;
      return await readBytes(where, found, 0, found.size);
    };
    const fileName = file.name && fileNameOf(file.name, name !== undefined && isAddress(name));
    const read = READERS[format];
    const found = await read({ ...{ file, fileName, openBeside, readBeside, core, budget } });
    const { metadata, tensors, document, weights } = found;
    const own = {
      ...{ ...document, fileName, source: file, files: tensors, readBeside, opened, core },
      unreadable: fieldOf(found, "unreadable") ?? new Map<string, string>(),
    };
    return new Model(own, metadata, weights, close);
  } catch (error) {
    await close();
    throw error;
  }
}

/** Whether a file could not be opened because there is none: no file, a link to nothing, a pipe, a device. */
function isMissing(error: unknown): boolean {
  const { cause, message } = error as Error & { readonly cause?: { readonly code?: unknown } };
  const isNone = cause?.code === "ENOENT" || cause?.code === NO_FILE;
  return isNone || / answers (403|404|410)\b/.test(message);
}

/** The largest file beside the model that is read as a whole, in bytes. */
const MAX_BESIDE = 2 ** 26;

/** About the memory of an open file: the first bytes of an address are held. */
const BYTES_OF_FILE = 2 ** 16;

/** A limit: a number above 0, or Infinity. */
function checkLimit(where: string, argument: string, value: unknown): number | undefined {
  if (value === undefined || (typeof value === "number" && value > 0)) return value;
  throw wrongNumber("ZP_INVALID_OPTION", where, argument, "a number above 0", value);
}

const isURL = (value: unknown): boolean => value instanceof URL;

/** Opens a file, or the main file of a folder. */
async function openMain(where: string, source: unknown, limits: Limits): Promise<OpenedSource> {
  if (isAddressOfFolder(source)) return await openFolderAt(where, String(source), limits);
  if (!(await isFolder(source))) return await openSource(where, source, limits);
  const folder = String(source).replace(/[/\\]$/, "");
  for (const name of FOLDER_FILES) {
    const found = await openIfThere(where, `${folder}/${name}`, limits);
    if (found !== undefined) return found;
  }
  const names = await namesIn(source);
  for (const ending of FOLDER_ENDINGS) {
    const [name, ...more] = names.filter((each) => ending.test(each));
    if (name !== undefined && more.length === 0) {
      return await openSource(where, `${folder}/${name}`, limits);
    }
  }
  const problem = `${source} is a folder without any of ${FOLDER_FILES.join(", ")}; name the file in it`;
  throw stateError("ZP_LOAD_FAILED", where, problem);
}

/** @returns undefined if there is no file */
async function openIfThere(
  where: string,
  source: string,
  limits: Limits,
): Promise<OpenedSource | undefined> {
  return await openSource(where, source, limits).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
    return undefined;
  });
}

/** Whether a source is an address that ends with a slash. */
const isAddressOfFolder = (source: unknown): boolean =>
  (typeof source === "string" || isURL(source)) &&
  isAddress(String(source)) &&
  !/^(file|data|blob):/i.test(String(source)) &&
  /^[^?#]*\/([?#]|$)/.test(String(source));

/** Opens the main file of a folder at an address, or what the server has at the address itself. */
async function openFolderAt(where: string, folder: string, limits: Limits): Promise<OpenedSource> {
  for (const name of FOLDER_FILES) {
    const address = addressBeside(folder, name) as string;
    const found = await openIfThere(where, address, limits);
    if (found !== undefined) return found;
  }
  const file = await openIfThere(where, folder, limits);
  const [first] = file === undefined ? [] : await readBytes(where, file, 0, Math.min(1, file.size));
  if (file !== undefined && first !== "<".charCodeAt(0)) return file;
  const problem = `${folder} has none of ${FOLDER_FILES.join(", ")}; name the file in it, as no server lists its files`;
  throw stateError("ZP_LOAD_FAILED", where, problem);
}

/** The path or address of a file in the folder of another one. */
function besideOf(where: string, name: string | undefined, path: string): string {
  const beside = isAddress(name ?? "")
    ? addressBeside(name ?? "", path)
    : name && pathBeside(name, path);
  if (beside) return beside;
  const problem = `the file names another one, ${JSON.stringify(path)}; options.externalData opens it`;
  throw rangeError("ZP_UNSUPPORTED_FILE", where, problem);
}

/** A path that no reader takes for an address. */
const pathBeside = (name: string, path: string): string =>
  `${/[/\\]/.test(name) ? name.replace(/[^/\\]*$/, "") : "./"}${path}`;

const startsWith = (bytes: Uint8Array, text: string, at = 0): boolean =>
  [...text].every((letter, i) => bytes[at + i] === letter.charCodeAt(0));

const OLD_GGML =
  "a file of ggml from before GGUF, which is not read: convert the original model to GGUF";
const PICKLE = "a Python pickle, which is not read: save its tensors as safetensors";

/** Files that are often given in place of a model: their first bytes, and what to do about them. */
const NO_MODELS: readonly (readonly [start: string, at: number, problem: string])[] = [
  ["version https://git-lfs", 0, "a Git LFS pointer: git lfs pull downloads the file itself"],
  ["<", 0, "HTML or XML, maybe the page of a failed download"],
  ["\x89HDF", 0, "HDF5 (Keras), which is not read: convert it to ONNX, or to TensorFlow.js"],
  ["TFL3", 4, "TensorFlow Lite, which is not read: convert the original model to ONNX"],
  [
    "ORTM",
    4,
    "ONNX Runtime's own format, which is not read: open the ONNX file that it was made of",
  ],
  ...["lmgg", "fmgg", "tjgg"].map((start) => [start, 0, OLD_GGML] as const),
  ...["\x02", "\x03", "\x04", "\x05"].map((version) => [`\x80${version}`, 0, PICKLE] as const),
  ["\x1f\x8b", 0, "a gzip file: unpack it first"],
  ["\x28\xb5\x2f\xfd", 0, "a Zstandard file: unpack it first"],
];

const isBlank = (byte: number): boolean => [0x20, 0x09, 0x0a, 0x0d].includes(byte);

/** The format by the first bytes. */
async function formatOf(where: string, file: OpenedSource): Promise<ModelFormat> {
  const head = await readBytes(where, file, 0, Math.min(32, file.size));
  if (startsWith(head, "GGUF")) return "gguf";
  if (startsWith(head, "\x93NUMPY")) return "npy";
  if (startsWith(head, "PK")) return "npz";
  // The length of a header ends with zeros; blanks before the header are let pass, as the reference does.
  if (startsWith(head, "{", 8) || (startsWith(head, "\0\0\0\0", 4) && isBlank(head[8]))) {
    return "safetensors";
  }
  const [json] = /^\s*[{[]/.exec(String.fromCharCode(...head)) ?? [];
  if (json?.endsWith("{")) return (await isShardIndex(where, file)) ? "safetensors" : "tfjs";
  if (json !== undefined) return "tfjs";
  if (isTensorProto(head)) return "pb";
  if (head[0] === 0x08) return "onnx";
  const expected = `the beginning of a file of ${FORMATS.join(", ")}`;
  const [, , known] = NO_MODELS.find(([start, at]) => startsWith(head, start, at)) ?? [];
  const bytes = head.length === 0 ? "an empty file" : `bytes ${head.slice(0, 8).join(" ")}`;
  throw fileError(where, 0, expected, known ?? bytes);
}

/**
 * Whether bytes begin a TensorProto of ONNX rather than a model: dims one by one, then the number of the data_type, where a
 * model has text.
 */
function isTensorProto(head: Uint8Array): boolean {
  let at = 0;
  while (head[at] === 0x08) {
    at++;
    while (head[at] >= 0x80) at++;
    at++;
  }
  return head[at] === 0x10 && head[at + 1] > 0 && head[at + 1] < 0x40;
}

/**
 * Whether JSON is an index of shards rather than a model of tfjs, by the fields of the object; its name decides only
 * where the text breaks off before the first field that tells.
 */
async function isShardIndex(where: string, file: OpenedSource): Promise<boolean> {
  let isIndex: boolean | undefined;
  if (file.size <= MAX_HEADER) {
    const json = new JsonReader(where, await readBytes(where, file, 0, file.size), 0, true);
    try {
      json.object((key) => {
        if (key === "weight_map") isIndex = true;
        if (key === "weightsManifest" || key === "modelTopology") isIndex ??= false;
        json.skip();
      });
    } catch {
      // The reader of the format names the error.
    }
  }
  return isIndex ?? /\.index\b[^/\\]*\.json\b/.test(file.name ?? "");
}
