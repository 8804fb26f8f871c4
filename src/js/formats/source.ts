// Sources of bytes, the tensors found in them, and the errors of files that break their format.

import { type ErrorCode, rangeError, typeError, type ZeropointError } from "../base/errors.js";
import { fieldOf } from "../base/fields.js";
import { show } from "../base/format-value.js";
import type { FileDType } from "./dtypes.js";

/** Random access to the bytes of one file. */
export interface Source {
  /** Bytes in the file. */
  readonly size: number;
  /** Bytes [offset, offset + length), which lie within the file. */
  read(offset: number, length: number): Promise<Uint8Array> | Uint8Array;
  /** Reads bytes from an offset on into an array. @returns how many there were */
  readInto?(offset: number, out: Uint8Array): Promise<number>;
  /** Throws once reads would throw: of a closed file, or of an aborted signal. Asked between parts of long work on what was read. */
  checkOpen?(): void;
}

/** Chunks of bytes, front to back. */
export type ByteStream = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** A tensor that a writer takes. */
export interface WritableTensor {
  readonly name: string;
  /** Lengths of the axes, outermost first (row-major). */
  readonly shape: readonly number[];
  readonly dtype: FileDType;
  /**
   * All bytes front to back: little-endian, row-major, sub-byte values low bits first, ggml blocks as they are.
   * Called once, when the writer comes to this tensor.
   */
  bytes(): ByteStream;
}

/** A tensor of a file. It can be handed to any writer. */
export interface FileTensor extends WritableTensor {
  /** Bytes of the form that `bytes()` gives. */
  readonly byteLength: number;
  /** Place of these bytes, if a source holds them in this form: random access. */
  readonly span?: Span;
  /**
   * Bytes [begin, end), in chunks of at most 1 MiB.
   * @throws {RangeError} `ZP_INVALID_FILE` where the stored form turns out to be damaged
   */
  bytes(begin?: number, end?: number): AsyncGenerator<Uint8Array, void, undefined>;
}

/** A run of bytes of a source. */
export interface Span {
  readonly source: Source;
  readonly offset: number;
}

/** Several runs of bytes as one. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The largest chunk that readers ask for and hand out, in bytes. */
export const CHUNK_BYTES = 2 ** 20;

/** An error of a file: where the file breaks its format, and how. */
export type FileError = ZeropointError & {
  /** Byte offset in the file. */
  readonly offset: number;
  readonly expected: string;
  readonly found: string;
};

/** A file that breaks its format at an offset. */
export function fileError(
  where: string,
  offset: number,
  expected: string,
  found: string | number,
  code: ErrorCode = "ZP_INVALID_FILE",
): FileError {
  const text = String(found);
  const problem = `at byte ${offset}: expected ${expected}, found ${text}`;
  return Object.assign(rangeError(code, where, problem), { offset, expected, found: text });
}

/** A well-formed file that uses a part of its format that is not read. */
export function unsupported(
  where: string,
  offset: number,
  expected: string,
  found: string | number,
): FileError {
  return fileError(where, offset, expected, found, "ZP_UNSUPPORTED_FILE");
}

/** A source of bytes in memory. The bytes are not copied. */
export function bytesSource(bytes: Uint8Array): Source {
  return {
    size: bytes.length,
    read: (offset, length) => bytes.subarray(offset, offset + length),
  };
}

/**
 * Reads the size and the reading function of a source once.
 * @throws {TypeError} if it is not a source
 */
export function checkSource(where: string, source: Source): Source {
  const given: Partial<Source> | null | undefined = source;
  const size = given?.size;
  const read = given?.read;
  if (typeof read !== "function" || !Number.isSafeInteger(size) || (size as number) < 0) {
    const wanted = "{ size, read(offset, length) } with the file's bytes as size";
    throw typeError("ZP_INVALID_OPTION", where, `source must be ${wanted}, got ${show(given)}`);
  }
  const readInto = fieldOf(source, "readInto");
  const checkOpen = fieldOf(source, "checkOpen");
  const own = {
    size: size as number,
    read: (at: number, n: number) => read.call(given, at, n),
    ...(typeof checkOpen === "function" && { checkOpen: () => checkOpen.call(given) }),
  };
  if (typeof readInto !== "function") return own;
  return { ...own, readInto: (offset, out) => readInto.call(given, offset, out) };
}

/**
 * Reads bytes that lie within a source.
 * @throws {RangeError} `ZP_INVALID_FILE` if the source gives another number of bytes
 */
export async function readBytes(
  where: string,
  source: Source,
  offset: number,
  length: number,
): Promise<Uint8Array> {
  if (length === 0) return new Uint8Array(0);
  const bytes = await source.read(offset, length);
  if (!(bytes instanceof Uint8Array)) {
    throw typeError("ZP_INVALID_OPTION", where, "source.read must give a Uint8Array");
  }
  if (bytes.length !== length) {
    throw fileError(where, offset, `${length} bytes from the source`, bytes.length);
  }
  // Without methods of subclasses: slice of Node's Buffer does not copy.
  const own = new Uint8Array(bytes.buffer, bytes.byteOffset, length);
  return isPlainMemory(bytes.buffer) ? own : new Uint8Array(own);
}

/** Whether a buffer is neither shared nor resizable: browsers refuse other memory for text and for streams. */
function isPlainMemory(buffer: ArrayBufferLike & { readonly resizable?: boolean }): boolean {
  const isShared = Object.prototype.toString.call(buffer) === "[object SharedArrayBuffer]";
  return !isShared && buffer.resizable !== true;
}

/**
 * Reads bytes that lie within a source into scratch memory, if the source can; otherwise as `readBytes`.
 * @param scratch  as long as the bytes at least
 */
export async function readScratch(
  where: string,
  source: Source,
  offset: number,
  length: number,
  scratch: Uint8Array,
): Promise<Uint8Array> {
  const readInto = fieldOf(source, "readInto");
  if (readInto === undefined) return await readBytes(where, source, offset, length);
  const out = scratch.subarray(0, length);
  const found = await readInto.call(source, offset, out);
  if (found === length) return out;
  throw fileError(where, offset, `${length} bytes from the source`, found);
}

/** Bytes [begin, end) of a source in chunks. */
export async function* readChunks(
  where: string,
  source: Source,
  begin: number,
  end: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = begin; at < end; at += CHUNK_BYTES) {
    yield await readBytes(where, source, at, Math.min(CHUNK_BYTES, end - at));
  }
}

/** A tensor whose bytes a source holds in the form that `bytes()` gives. */
export class SpanTensor implements FileTensor {
  constructor(
    readonly name: string,
    readonly shape: readonly number[],
    readonly dtype: FileDType,
    readonly byteLength: number,
    readonly span: Span,
  ) {}

  bytes(begin = 0, end = this.byteLength): AsyncGenerator<Uint8Array, void, undefined> {
    const { source, offset } = this.span;
    return readChunks(`bytes of ${this.name}`, source, offset + begin, offset + end);
  }
}

/** A tensor under another name. */
export const renamedTensor = (tensor: FileTensor, name: string): FileTensor =>
  tensor.name === name
    ? tensor
    : { ...tensor, name, bytes: (begin, end) => tensor.bytes(begin, end) };

/** Thrown by readers that have come to the end of the bytes read so far. */
export class MoreBytes {
  constructor(readonly end: number) {}
}

/** Reads a header of unknown length: fields one after the other, from a prefix of the file. */
export class HeaderReader {
  bytes: Uint8Array = new Uint8Array(0);
  view: DataView = new DataView(this.bytes.buffer);
  at = 0;
  littleEndian = true;
  #completed = 0;

  constructor(
    readonly where: string,
    readonly source: Source,
  ) {}

  /**
   * Runs a function that reads fields from the current position. Where it runs out of bytes, the prefix is
   * doubled and the function starts again behind the last item that it has completed.
   */
  async run<T>(parse: () => T): Promise<T> {
    for (;;) {
      this.#completed = this.at;
      try {
        return parse();
      } catch (error) {
        if (!(error instanceof MoreBytes)) throw error;
        this.at = this.#completed;
        await this.#grow(error.end);
      }
    }
  }

  /** The item that ends here is complete: it is not read again. */
  complete(): void {
    this.#completed = this.at;
  }

  async #grow(end: number): Promise<void> {
    const { size } = this.source;
    const length = Math.min(size, Math.max(end, 2 * this.bytes.length, 2 ** 16));
    const old = this.bytes;
    const rest = await readBytes(this.where, this.source, old.length, length - old.length);
    this.bytes = old.length === 0 ? rest : new Uint8Array(length);
    if (old.length > 0) {
      this.bytes.set(old);
      this.bytes.set(rest, old.length);
    }
    this.view = new DataView(this.bytes.buffer, this.bytes.byteOffset, length);
  }

  /** Bytes of the file from the current position on. */
  get remaining(): number {
    return this.source.size - this.at;
  }

  /** Moves past a field. @returns its offset */
  take(length: number, field: string): number {
    const start = this.at;
    const end = start + length;
    if (end > this.bytes.length) {
      if (end > this.source.size) {
        const found = `${this.remaining} bytes before the end of the file`;
        throw fileError(this.where, start, `${field} of ${length} bytes`, found);
      }
      throw new MoreBytes(end);
    }
    this.at = end;
    return start;
  }

  u16(field: string): number {
    return this.view.getUint16(this.take(2, field), this.littleEndian);
  }

  u32(field: string): number {
    return this.view.getUint32(this.take(4, field), this.littleEndian);
  }

  /** A 64-bit count. @throws {RangeError} above 2^53 - 1 */
  u64(field: string): number {
    const start = this.take(8, field);
    const high = this.view.getUint32(start + (this.littleEndian ? 4 : 0), this.littleEndian);
    const low = this.view.getUint32(start + (this.littleEndian ? 0 : 4), this.littleEndian);
    if (high >= 2 ** 21) {
      const found = this.view.getBigUint64(start, this.littleEndian);
      throw fileError(this.where, start, `${field} below 2^53`, `${found}`);
    }
    return high * 2 ** 32 + low;
  }
}

/**
 * The number of elements of a shape.
 * @param offset  of the shape in the file
 * @throws {RangeError} `ZP_INVALID_FILE` from 2^53 on, also on the way to a 0
 */
export function countElements(where: string, offset: number, shape: readonly number[]): number {
  let count = 1;
  for (const length of shape) {
    count *= length;
    if (!Number.isSafeInteger(length) || length < 0 || !Number.isSafeInteger(count)) {
      throw fileError(where, offset, "a shape of less than 2^53 elements", `[${shape.join(", ")}]`);
    }
  }
  return count;
}

/** UTF-8 text. @returns undefined if the bytes are no UTF-8 */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

const UTF8 = /* @__PURE__ */ new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Order of strings by their UTF-8 bytes, which is the order of their code points. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    // Surrogates stand for code points above all other code units.
    const high = (unit: number): number =>
      unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
    return high(x) - high(y);
  }
  return a.length - b.length;
}

/**
 * The chunks of a tensor that is being written.
 * @throws {RangeError} if they are more or fewer bytes than shape and dtype say
 */
export async function* exactBytes(
  where: string,
  tensor: WritableTensor,
  byteLength: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let given = 0;
  for await (const chunk of tensor.bytes()) {
    given += chunk.length;
    if (given > byteLength) break;
    if (chunk.length > 0) yield chunk;
  }
  if (given !== byteLength) {
    const problem = `bytes of tensor ${JSON.stringify(tensor.name)} must be ${byteLength}, got ${given > byteLength ? "more" : given}`;
    throw rangeError("ZP_INVALID_BYTES", where, problem);
  }
}
