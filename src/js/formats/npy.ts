// npy: a Python dictionary with dtype, order and shape, then the values.
// Source: numpy 2.4, numpy/lib/format.py.

import { rangeError } from "../base/errors.js";
import { newArray } from "../base/typed-arrays.js";
import { bytesOf, type FileDType, swapBytes, swapSize } from "./dtypes.js";
import {
  CHUNK_BYTES,
  checkSource,
  countElements,
  exactBytes,
  type FileTensor,
  fileError,
  HeaderReader,
  readChunks,
  type Source,
  type Span,
  unsupported,
  type WritableTensor,
} from "./source.js";

/** The longest header that numpy reads, in bytes. */
const MAX_HEADER = 10_000;
/** Bytes of a tile while column-major values are put in row-major order: each tile takes a pass over the values. */
const TILE_BYTES = 2 ** 26;

const DTYPES: readonly (readonly [code: string, dtype: FileDType])[] = [
  ["b1", "bool"],
  ["i1", "int8"],
  ["i2", "int16"],
  ["i4", "int32"],
  ["i8", "int64"],
  ["u1", "uint8"],
  ["u2", "uint16"],
  ["u4", "uint32"],
  ["u8", "uint64"],
  ["f2", "float16"],
  ["f4", "float32"],
  ["f8", "float64"],
  ["c8", "complex64"],
  ["c16", "complex128"],
];

/** What a header says. */
export interface NpyHeader {
  readonly dtype: FileDType;
  readonly shape: readonly number[];
  readonly isFortran: boolean;
  readonly isBigEndian: boolean;
  /** Bytes of the header, and of the values after it. */
  readonly headerLength: number;
  readonly byteLength: number;
}

/** An npy file whose header was read: one tensor. */
export interface Npy {
  readonly format: "npy";
  readonly metadata: Map<string, string>;
  readonly tensors: Map<string, FileTensor>;
}

/**
 * Reads the header of an npy file, versions 1 to 3: one tensor, "array".
 * @param where  the called function, for messages
 * @throws {RangeError} `ZP_INVALID_FILE`; `ZP_UNSUPPORTED_FILE` for objects, text, dates, records and 16-byte floats
 */
export async function readNpy(given: Source, where = "readNpy"): Promise<Npy> {
  const source = checkSource(where, given);
  const reader = new HeaderReader(where, source);
  const header = await reader.run(() => parseNpyHeader(reader));
  const start = header.headerLength;
  const chunks = () => readChunks(where, source, start, start + header.byteLength);
  const name = "array";
  const tensor = npyTensor(where, name, header, chunks, { source, offset: start });
  return { format: "npy", metadata: new Map(), tensors: new Map([[name, tensor]]) };
}

/** Reads a header from the current position, which is 0. */
export function parseNpyHeader(reader: HeaderReader): NpyHeader {
  const { where } = reader;
  const magic = reader.take(6, "the magic");
  const text = String.fromCharCode(...reader.bytes.subarray(magic, magic + 6));
  if (text !== "\x93NUMPY") throw fileError(where, 0, '"\\x93NUMPY"', JSON.stringify(text));
  reader.take(2, "the version");
  const [major, minor] = reader.bytes.subarray(6, 8);
  if (major < 1 || major > 3 || minor !== 0) {
    throw unsupported(where, 6, "version 1.0, 2.0 or 3.0", `${major}.${minor}`);
  }
  const length =
    major === 1 ? reader.u16("the header's length") : reader.u32("the header's length");
  if (length > Math.min(MAX_HEADER, reader.remaining)) {
    const most = Math.min(MAX_HEADER, reader.remaining);
    throw fileError(where, 8, `a header of at most ${most} bytes`, length);
  }
  const start = reader.take(length, "the header");
  const bytes = reader.bytes.subarray(start, start + length);
  const literal = new TextDecoder(major === 3 ? "utf-8" : "latin1").decode(bytes);
  const { descr, fortranOrder, shape } = new Literal(where, start, literal).dictionary();
  const { dtype, isBigEndian } = parseDescr(where, start, descr);
  const byteLength = bytesOf(dtype, countElements(where, start, shape));
  if (byteLength === undefined || byteLength > reader.remaining) {
    const expected = `at most ${reader.remaining} bytes of values`;
    throw fileError(where, start, expected, `shape [${shape.join(", ")}] of ${dtype}`);
  }
  return {
    dtype,
    shape,
    isFortran: fortranOrder,
    isBigEndian,
    headerLength: reader.at,
    byteLength,
  };
}

function parseDescr(where: string, offset: number, descr: string) {
  const [, order, code] = /^([<>=|]?)(.*)$/s.exec(descr) as RegExpExecArray;
  const known = DTYPES.find(([short, dtype]) => code === short || (order === "" && code === dtype));
  if (known !== undefined) return { dtype: known[1], isBigEndian: order === ">" };
  const expected = "a dtype of bool, integers, floats or complex numbers";
  const found = JSON.stringify(descr.slice(0, 80));
  if (/^([OSUVMmagG]|f16|c32)/.test(code)) throw unsupported(where, offset, expected, found);
  throw fileError(where, offset, expected, found);
}

/** Reads the one form of Python literal that a header has. */
class Literal {
  #at = 0;

  constructor(
    readonly where: string,
    readonly offset: number,
    readonly text: string,
  ) {}

  #fail(expected: string): Error {
    const found = JSON.stringify(this.text.slice(this.#at, this.#at + 24));
    return fileError(this.where, this.offset + this.#at, expected, found);
  }

  /** Moves past a token, after white space. */
  #token(pattern: RegExp): string | undefined {
    const space = /[ \t\n\r\f]*/y;
    space.lastIndex = this.#at;
    space.test(this.text);
    pattern.lastIndex = space.lastIndex;
    const found = pattern.exec(this.text);
    if (found === null) return undefined;
    this.#at = pattern.lastIndex;
    return found[0];
  }

  #expect(pattern: RegExp, expected: string): string {
    const token = this.#token(pattern);
    if (token === undefined) throw this.#fail(expected);
    return token;
  }

  dictionary() {
    let descr: string | undefined;
    let fortranOrder: boolean | undefined;
    let shape: number[] | undefined;
    this.#expect(/\{/y, "a dictionary");
    while (this.#token(/\}/y) === undefined) {
      const key = this.#string();
      this.#expect(/:/y, '":"');
      if (key === "descr") descr = this.#descr();
      else if (key === "fortran_order") {
        fortranOrder = this.#expect(/\b(True|False)\b/y, "True or False") === "True";
      } else if (key === "shape") shape = this.#tuple();
      else throw this.#fail(`no other keys than descr, fortran_order and shape, before`);
      if (this.#token(/,/y) === undefined) {
        this.#expect(/\}/y, '"," or "}"');
        break;
      }
    }
    this.#expect(/$/y, "the end of the header");
    if (descr === undefined || fortranOrder === undefined || shape === undefined) {
      throw this.#fail("descr, fortran_order and shape before");
    }
    return { descr, fortranOrder, shape };
  }

  #string(): string {
    return this.#expect(/'[^'\\\n]*'|"[^"\\\n]*"/y, "a string").slice(1, -1);
  }

  #descr(): string {
    if (this.#token(/(?=[[(])/y) !== undefined) {
      const expected = "a dtype of one value";
      throw unsupported(this.where, this.offset + this.#at, expected, "a structured dtype");
    }
    return this.#string();
  }

  #tuple(): number[] {
    const lengths: number[] = [];
    this.#expect(/\(/y, "a tuple");
    let hasComma = true;
    while (this.#token(/\)/y) === undefined) {
      if (!hasComma) throw this.#fail('"," or ")"');
      const digits = this.#expect(
        /(0|[1-9]\d{0,15})(?![\w.])|[1-9]\d{0,15}(?=L)/y,
        "a length below 2^53",
      );
      this.#token(/L/y);
      lengths.push(Number(digits));
      hasComma = this.#token(/,/y) !== undefined;
    }
    if (lengths.length === 1 && !hasComma) throw this.#fail('"," after the only length of a tuple');
    return lengths;
  }
}

/**
 * A tensor of an npy file.
 * @param chunks  streams the values as they are stored
 * @param span  place of the values, if a source holds them uncompressed
 * @param tileBytes  memory of a tile, if it may be more than the usual
 */
export function npyTensor(
  where: string,
  name: string,
  header: NpyHeader,
  chunks: () => AsyncIterable<Uint8Array>,
  span: Span | undefined,
  tileBytes = 0,
): FileTensor {
  const { dtype, shape, byteLength, isFortran, isBigEndian } = header;
  const axes = shape.filter((length) => length !== 1);
  const size = Math.max(1, byteLength / axes.reduce((count, length) => count * length, 1) || 1);
  const isReordered = isFortran && axes.length > 1 && byteLength > 0;
  const swapped = isBigEndian ? swapSize(dtype) : 1;
  async function* stored() {
    for await (const chunk of wholeElements(chunks(), size)) {
      yield swapped > 1 ? swapBytes(chunk.slice(), swapped) : chunk;
    }
  }
  const all = () => (isReordered ? rowMajor(stored, axes, size, tileBytes) : stored());
  const isPlain = span !== undefined && !isReordered && swapped === 1;
  async function* bytes(begin = 0, end = byteLength) {
    if (isPlain && (begin > 0 || end < byteLength)) {
      yield* readChunks(where, span.source, span.offset + begin, span.offset + end);
      return;
    }
    // A compressed stream is read to its end: its checksum is known only there.
    let at = 0;
    for await (const chunk of all()) {
      const part = chunk.subarray(Math.max(0, begin - at), Math.max(0, end - at));
      if (part.length > 0) yield part;
      at += chunk.length;
      if (at >= end && end < byteLength) return;
    }
  }
  return { name, shape, dtype, byteLength, ...(isPlain ? { span } : {}), bytes };
}

/** Cuts a stream into chunks of whole elements. */
async function* wholeElements(
  chunks: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let rest = new Uint8Array(0);
  for await (const chunk of chunks) {
    let bytes = chunk;
    if (rest.length > 0) {
      bytes = new Uint8Array(rest.length + chunk.length);
      bytes.set(rest);
      bytes.set(chunk, rest.length);
    }
    const whole = bytes.length - (bytes.length % size);
    if (whole > 0) yield bytes.subarray(0, whole);
    rest = bytes.slice(whole);
  }
}

/**
 * Puts column-major elements in row-major order. The stream is read once for each tile of the result.
 * @param shape  without axes of length 1
 */
async function* rowMajor(
  stream: () => AsyncIterable<Uint8Array>,
  shape: readonly number[],
  size: number,
  tileBytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const [length, ...others] = shape;
  const columns = others.reduce((count, other) => count * other, 1);
  const count = length * columns;
  // Step of each of the other axes within a row of the result.
  const steps = others.map((_, axis) =>
    others.slice(axis + 1).reduce((step, other) => step * other, 1),
  );
  const tileLength = Math.max(
    1,
    Math.floor(Math.min(Math.max(tileBytes, TILE_BYTES), count * size) / size),
  );
  for (let begin = 0; begin < count; begin += tileLength) {
    const end = Math.min(count, begin + tileLength);
    const tile = newArray("rowMajor", Uint8Array, (end - begin) * size);
    const index = others.map(() => 0);
    let column = 0;
    let place = 0;
    let first = 0;
    for await (const chunk of stream()) {
      const last = first + chunk.length / size;
      for (;;) {
        const start = column * length;
        // Rows of this column that are in the tile and in the chunk.
        const from = Math.max(Math.ceil((begin - place) / columns), first - start, 0);
        const to = Math.min(Math.ceil((end - place) / columns), last - start, length);
        for (let row = from; row < to; row++) {
          const source = (start + row - first) * size;
          const target = (row * columns + place - begin) * size;
          for (let i = 0; i < size; i++) tile[target + i] = chunk[source + i];
        }
        if (start + length > last || column + 1 === columns) break;
        column++;
        for (let axis = 0; axis < others.length; axis++) {
          place += steps[axis];
          if (++index[axis] < others[axis]) break;
          place -= steps[axis] * others[axis];
          index[axis] = 0;
        }
      }
      first = last;
    }
    for (let at = 0; at < tile.length; at += CHUNK_BYTES) {
      yield tile.subarray(at, at + CHUNK_BYTES);
    }
  }
}

/** Whether npy has a dtype. */
export const isNpyDType = (dtype: FileDType): boolean => DTYPES.some(([, each]) => each === dtype);

/** Header of an npy file as numpy writes it: version 1.0, room for the first length to grow, 64-byte alignment. */
export function npyHeader(where: string, { name, shape, dtype }: WritableTensor): Uint8Array {
  const known = DTYPES.find(([, each]) => each === dtype);
  if (known === undefined) {
    const problem = `tensor ${JSON.stringify(name)} has dtype ${dtype}, which npy does not have`;
    throw rangeError("ZP_UNSUPPORTED_DTYPE", where, problem);
  }
  countElements(where, 0, shape);
  const order = known[0].endsWith("1") && known[0] !== "f1" ? "|" : "<";
  const lengths = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const text = `{'descr': '${order}${known[0]}', 'fortran_order': False, 'shape': (${lengths}), }`;
  const growth = shape.length > 0 ? " ".repeat(Math.max(0, 21 - String(shape[0]).length)) : "";
  const room = 64 - ((10 + text.length + growth.length + 1) % 64);
  const line = `${text}${growth}${" ".repeat(room % 64)}\n`;
  if (line.length > 65_535) {
    const problem = `tensor ${JSON.stringify(name)} has ${shape.length} axes: too many for npy`;
    throw rangeError("ZP_INVALID_SHAPE", where, problem);
  }
  const bytes = new Uint8Array(10 + line.length);
  bytes.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, line.length & 255, line.length >> 8]);
  bytes.set(new TextEncoder().encode(line), 10);
  return bytes;
}

/**
 * Writes an npy file front to back.
 * @throws {RangeError} `ZP_UNSUPPORTED_DTYPE` for dtypes that npy has not; `ZP_INVALID_BYTES` if the tensor gives
 * another number of bytes than its shape says
 */
export async function* writeNpy(
  tensor: WritableTensor,
): AsyncGenerator<Uint8Array, void, undefined> {
  const where = "writeNpy";
  yield npyHeader(where, tensor);
  const count = tensor.shape.reduce((product, length) => product * length, 1);
  yield* exactBytes(where, tensor, bytesOf(tensor.dtype, count) as number);
}
