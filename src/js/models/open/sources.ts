// Sources of files: paths, addresses, blobs, bytes, streams, or any object that reads at an offset.

import { wrongKind } from "../../base/check.js";
import { rangeError, stateError, typeError } from "../../base/errors.js";
import { fieldOf } from "../../base/fields.js";
import type {
  PlatformAbortSignal,
  PlatformBlob,
  PlatformResponse,
  PlatformStream,
  PlatformURL,
} from "../../base/platform.js";
import { arrayName, checkAttached, detached } from "../../base/typed-arrays.js";
import { bytesSource, checkSource, readBytes, type Source } from "../../formats/source.js";
import { openAddress } from "./addresses.js";
import { BlobReader, bytesOfBlob } from "./blob-reader.js";
import { blobOf, bodyOf, chunksOf, type Limits, NO_LIMITS } from "./requests.js";

/** Random access to the bytes of a file. */
export interface RandomAccess {
  /** Bytes of the file. */
  readonly size: number;
  /** Bytes [offset, offset + length), which lie within the file. */
  read(offset: number, length: number): Promise<Uint8Array> | Uint8Array;
}

/**
 * The source of a file. A text is a path in Node, Deno and Bun, and an address elsewhere or if it begins with
 * http:, https: or file:. The bytes of a stream are held in memory, or by the browser.
 */
export type FileSource =
  | string
  | PlatformURL
  | PlatformResponse
  | PlatformBlob
  | Uint8Array
  | ArrayBuffer
  | PlatformStream
  | AsyncIterable<Uint8Array>
  | RandomAccess;

/** An opened source. */
export interface OpenedSource extends Source {
  /** Its path or address, if it has one. */
  readonly name: string | undefined;
  /** Whether the bytes that it reads belong to the reader alone, if they fill their buffer. */
  readonly isFresh: boolean;
  /** The version of its bytes; undefined for bytes, blobs, streams, and addresses of servers that name none. */
  readonly version?: FileVersion | undefined;
  /** The version of a local file now. Reads of an address check it themselves. */
  readonly versionNow?: () => Promise<FileVersion>;
  close(): Promise<void>;
}

/** A version of a file: its bytes count as unchanged while this is. */
export interface FileVersion {
  /** Of a local file: inode, and times of the last changes in nanoseconds; of an address: ETag or Last-Modified. */
  readonly state: string;
  /** Device and inode of a local file, by which paths and links to one file are known. */
  readonly id?: string;
}

/** An opened source of a model. */
export interface GuardedSource extends OpenedSource {
  /** @throws {Error} `ZP_LOAD_FAILED` if it was read since the last check, and has changed since it was opened */
  readonly checkUnchanged: (where: string) => Promise<void>;
}

const closeNothing = async (): Promise<void> => {};

/** Whether an object is of a platform's class, of any realm. */
const isOf = (name: string, value: unknown): boolean =>
  Object.prototype.toString.call(value) === `[object ${name}]`;

/** Opens a source. @param limits  of what is waited for and held */
export async function openSource(
  where: string,
  given: unknown,
  limits = NO_LIMITS,
): Promise<OpenedSource> {
  const source = await given;
  const { signal } = limits;
  signal?.throwIfAborted();
  if (typeof source === "string" || source instanceof URL) {
    const address = addressOf(source);
    return address === undefined
      ? await openFile(where, source)
      : await fromAddress(where, address, limits);
  }
  if (isOf("Response", source)) return fromBlob(await bodyOf(where, source as Response, limits));
  if (isOf("ReadableStream", source)) {
    // The caller knows how long its own stream may take.
    const own = { ...limits, timeout: Number.POSITIVE_INFINITY };
    const chunks = chunksOf(where, "source", source as ReadableStream, own);
    return fromBlob(await blobOf(where, chunks, limits));
  }
  if (isOf("Blob", source) || isOf("File", source)) return fromBlob(source as Blob);
  if (isOf("ArrayBuffer", source) || isOf("SharedArrayBuffer", source))
    return fromBytes(where, bytesOf(where, source as ArrayBuffer));
  if (arrayName(source) === "Uint8Array") return fromBytes(where, source as Uint8Array);
  if (
    typeof (source as Partial<AsyncIterable<unknown>> | null)?.[Symbol.asyncIterator] === "function"
  ) {
    return fromBlob(await blobOf(where, source as AsyncIterable<unknown>, limits));
  }
  const random = source as Partial<RandomAccess> | null;
  if (typeof random === "object" && typeof random?.read === "function") {
    const { size, read } = checkSource(where, random as RandomAccess as Source);
    // A copy: a source may use one array for all of its reads.
    const readInto = async (offset: number, out: Uint8Array): Promise<number> => {
      out.set(await readBytes(where, { size, read }, offset, out.length));
      return out.length;
    };
    return { size, read, readInto, name: undefined, isFresh: false, close: closeNothing };
  }
  throw wrongKind(
    "ZP_INVALID_OPTION",
    where,
    "source",
    "a path, URL, Response, Blob, Uint8Array, stream of bytes or { size, read }",
    source,
  );
}

/** All bytes of a source; a Uint8Array itself, uncopied. */
export async function readWhole(where: string, given: unknown): Promise<Uint8Array> {
  const source = await given;
  if (arrayName(source) === "Uint8Array") {
    checkAttached(where, "source", source);
    return source as Uint8Array;
  }
  const file = await openSource(where, source);
  try {
    checkReadable(where, file.size);
    return await readBytes(where, file, 0, file.size);
  } finally {
    await file.close();
  }
}

/** All bytes of a buffer. @throws {TypeError} `ZP_DETACHED` */
function bytesOf(where: string, buffer: ArrayBuffer): Uint8Array {
  try {
    return new Uint8Array(buffer);
  } catch {
    throw detached(where, "source", "ArrayBuffer");
  }
}

/** Bytes in memory, which their owner may transfer at any time. */
function fromBytes(where: string, bytes: Uint8Array): OpenedSource {
  const check = (): void => checkAttached(where, "source", bytes);
  check();
  const source = bytesSource(bytes);
  const read = (offset: number, length: number): Promise<Uint8Array> | Uint8Array => {
    check();
    return source.read(offset, length);
  };
  return { size: source.size, read, name: undefined, isFresh: false, close: closeNothing };
}

async function fromAddress(where: string, address: string, limits: Limits): Promise<OpenedSource> {
  const { content, version } = await openAddress(where, address, limits);
  const own = "arrayBuffer" in content ? fromBlob(content) : content;
  return { isFresh: true, close: closeNothing, ...own, name: address, version };
}

function fromBlob(blob: Blob): OpenedSource {
  const name = fieldOf(blob as { readonly name?: string }, "name");
  // Blobs of Node, Deno and Bun are rarely large, and their streams differ.
  const reader = fileSystem() === undefined ? new BlobReader(blob) : undefined;
  const read = async (offset: number, length: number): Promise<Uint8Array> => {
    if (reader === undefined) return await bytesOfBlob(blob, offset, length);
    const bytes = new Uint8Array(length);
    const done = await reader.readInto(offset, bytes);
    return done === length ? bytes : bytes.subarray(0, done);
  };
  return {
    ...{ size: blob.size, read, name, isFresh: true },
    ...(reader && { readInto: (offset: number, out: Uint8Array) => reader.readInto(offset, out) }),
    close: async () => reader?.close(),
  };
}

/** Whether the name of an opened source is an address, where `%` begins a code. */
export const isAddress = (name: string): boolean =>
  addressOf(name) !== undefined || /^file:/i.test(name);

/** The address that a text or URL stands for; undefined for a path. */
function addressOf(source: string | URL): string | undefined {
  const text = String(source);
  if (/^https?:/i.test(text) || /^(data|blob):/i.test(text)) return text;
  return fileSystem() === undefined ? text : undefined;
}

/** Node's file system, also in Deno and Bun. */
function fileSystem(): NodeFiles | undefined {
  const { process } = globalThis as { process?: NodeProcess };
  return process?.getBuiltinModule?.("node:fs/promises");
}

interface NodeProcess {
  getBuiltinModule?: (name: string) => NodeFiles | undefined;
}

interface NodeFiles {
  open(path: string | URL, flags: string | number): Promise<NodeFile>;
  stat(path: string | URL): Promise<{ isDirectory(): boolean; isFile(): boolean }>;
  readdir(path: string | URL): Promise<readonly string[]>;
  readonly constants?: { readonly O_NONBLOCK?: number };
}

interface NodeFile {
  stat(options: { readonly bigint: true }): Promise<NodeStat>;
  read(
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }>;
  close(): Promise<void>;
}

interface NodeStat {
  readonly size: bigint;
  readonly dev: bigint;
  readonly ino: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  isFile(): boolean;
}

/** A path as Node's functions take it. */
const forNode = (path: string | URL): string | URL =>
  typeof path === "string" && /^file:/i.test(path) ? new URL(path) : path;

/** Whether a source is the path of a folder. */
export async function isFolder(source: unknown): Promise<boolean> {
  const isName = typeof source === "string" || source instanceof URL;
  if (!isName || addressOf(source) !== undefined) return false;
  const stat = await fileSystem()
    ?.stat(forNode(source))
    .catch(() => undefined);
  return stat?.isDirectory() === true;
}

/** The names of the files and folders in a folder, sorted. */
export async function namesIn(folder: unknown): Promise<readonly string[]> {
  const names = await fileSystem()?.readdir(forNode(folder as string | URL));
  return [...(names ?? [])].sort();
}

const kindOf = (stat: { isFile(): boolean }) => ({ isFile: stat.isFile() });

/** The code of the cause of an error about a pipe, a device or a socket, as systems name a wrong type of file. */
export const NO_FILE = "EFTYPE";

async function openFile(where: string, path: string | URL): Promise<OpenedSource> {
  const files = fileSystem() as NodeFiles;
  const noFile = (): Error =>
    stateError("ZP_LOAD_FAILED", where, `${path} is no file`, { code: NO_FILE });
  const couldNotOpen = (cause: unknown): never => {
    const problem = `${path} could not be opened: ${(cause as Error).message}`;
    throw stateError("ZP_LOAD_FAILED", where, problem, cause);
  };
  // Opening a named pipe would wait for its writer, in a call that nothing ends.
  const { isFile } = await files.stat(forNode(path)).then(kindOf, couldNotOpen);
  if (!isFile) throw noFile();
  const flags = files.constants?.O_NONBLOCK || "r";
  const file = await files.open(forNode(path), flags).catch(couldNotOpen);
  const found = await file.stat({ bigint: true });
  if (!found.isFile()) {
    await file.close();
    throw noFile();
  }
  const size = Number(found.size);
  const readInto = async (offset: number, out: Uint8Array): Promise<number> => {
    const { length } = out;
    let done = 0;
    while (done < length) {
      const { bytesRead } = await file.read(out, done, length - done, offset + done);
      if (bytesRead === 0) break;
      done += bytesRead;
    }
    return done;
  };
  const read = async (offset: number, length: number): Promise<Uint8Array> => {
    const bytes = new Uint8Array(length);
    const done = await readInto(offset, bytes);
    return done === length ? bytes : bytes.subarray(0, done);
  };
  return {
    ...{ size, read, readInto, name: String(path), isFresh: true, version: versionOf(found) },
    versionNow: async () => versionOf(await file.stat({ bigint: true })),
    close: () => file.close(),
  };
}

/** The version of a local file. Its size is part of it, as times of some file systems are coarse. */
function versionOf({ size, dev, ino, mtimeNs, ctimeNs }: NodeStat): FileVersion {
  return { state: [size, ino, mtimeNs, ctimeNs].join(" "), id: `${dev}:${ino}` };
}

/** A source whose reads fail once a signal is aborted, or it was closed. */
export function guarded(
  where: string,
  source: OpenedSource,
  signal: PlatformAbortSignal | undefined,
): GuardedSource {
  let closed = false;
  let isRead = true;
  const checkOpen = (): void => {
    signal?.throwIfAborted();
    if (closed) throw typeError("ZP_DISPOSED", where, "the model is closed");
  };
  const check = (): void => {
    checkOpen();
    isRead = true;
  };
  const readInto = fieldOf(source, "readInto");
  const version = fieldOf(source, "version");
  const versionNow = fieldOf(source, "versionNow");
  return {
    size: source.size,
    name: source.name,
    isFresh: source.isFresh,
    version,
    checkOpen,
    checkUnchanged: async (caller) => {
      if (!isRead || closed || versionNow === undefined) return;
      isRead = false;
      if ((await versionNow()).state === version?.state) return;
      const problem = `${source.name} has changed while it was read`;
      throw stateError("ZP_LOAD_FAILED", caller, problem);
    },
    read: (offset, length) => {
      check();
      return source.read(offset, length);
    },
    ...(readInto && {
      readInto: async (offset: number, out: Uint8Array) => {
        check();
        return await readInto(offset, out);
      },
    }),
    close: async () => {
      if (closed) return;
      closed = true;
      await source.close();
    },
  };
}

/** Checks the size of a file that is read as a whole. */
export function checkReadable(where: string, bytes: number): void {
  if (bytes < 2 ** 32) return;
  throw rangeError("ZP_SIZE_OVERFLOW", where, `a tensor must be below 4 GiB, got ${bytes} bytes`);
}
