// Reads GGUF: typed keys, tensor infos, then aligned tensor data.
// Source: ggml 0.27 (gguf.cpp), gguf-py 0.7 for holes, nested arrays and byte order.

import { show } from "../../base/format-value.js";
import { Budget } from "../budget.js";
import { bytesOf, dtypeInfo, type FileDType, isBlockType, swapBytes, swapSize } from "../dtypes.js";
import {
  checkSource,
  countElements,
  decodeText,
  type FileTensor,
  fileError,
  HeaderReader,
  readChunks,
  type Source,
  SpanTensor,
  unsupported,
} from "../source.js";
import {
  alignmentOf,
  GGUFEntry,
  type GGUFType,
  REMOVED_TYPES,
  TENSOR_TYPES,
  typeSize,
  VALUE_TYPES,
} from "./types.js";

/** Deepest nesting of arrays. ggml has none at all; gguf-py is limited by Python's stack. */
const MAX_NESTING = 32;

/** A GGUF file whose header was read. */
export interface GGUF {
  readonly format: "gguf";
  readonly version: number;
  readonly littleEndian: boolean;
  /** Entries by key, in the order of the file. */
  readonly metadata: Map<string, GGUFEntry>;
  /** Tensors by name, in the order of the file; shapes row-major (ggml's `ne` reversed). */
  readonly tensors: Map<string, FileTensor>;
  /** `general.alignment`. */
  readonly alignment: number;
  /** Where the data section starts. */
  readonly dataOffset: number;
  /** Bytes of the file, or of all files of a model in several. */
  readonly size: number;
}

/**
 * Reads keys and tensor infos of a GGUF file, version 2 or 3, of either byte order.
 * @param where  the called function, for messages
 * @param budget  bounds the memory of keys, values and tensor infos
 * @throws {RangeError} `ZP_INVALID_FILE` for damaged files, names and keys that are empty, double or not UTF-8,
 * overlapping or unaligned tensors and data beyond the end; `ZP_UNSUPPORTED_FILE` for other versions
 * For example `(await readGGUF(source)).metadata.get("general.architecture")?.value // "llama"`.
 */
export async function readGGUF(
  given: Source,
  where = "readGGUF",
  budget = new Budget(),
): Promise<GGUF> {
  const source = checkSource(where, given);
  const header = new HeaderReader(where, source);
  const { version, tensorCount, keyCount } = await header.run(() => readCounts(header));
  const metadata = new Map<string, GGUFEntry>();
  let { spent } = budget;
  await header.run(() => {
    budget.spent = spent;
    while (metadata.size < keyCount) {
      readEntry(header, budget, metadata);
      spent = budget.spent;
    }
  });
  const alignment = alignmentOf(where, metadata);
  const infos = new Map<string, Info>();
  await header.run(() => {
    while (infos.size < tensorCount) readInfo(header, budget, infos, alignment);
  });
  const dataOffset = Math.ceil(header.at / alignment) * alignment;
  checkPlaces(where, [...infos.values()], dataOffset, source.size, alignment);
  const tensors = new Map<string, FileTensor>();
  for (const [name, { shape, dtype, byteLength, offset }] of infos) {
    infos.delete(name);
    const span = { source, offset: dataOffset + offset };
    const tensor = new SpanTensor(name, shape, dtype, byteLength, span);
    tensors.set(name, header.littleEndian ? tensor : new SwappedTensor(where, tensor));
  }
  const { littleEndian } = header;
  const { size } = source;
  return { format: "gguf", version, littleEndian, metadata, tensors, alignment, dataOffset, size };
}

function readCounts(header: HeaderReader) {
  const { where } = header;
  const magic = header.u32("the magic");
  if (magic !== 0x46554747) {
    const found = JSON.stringify(String.fromCharCode(...header.bytes.subarray(0, 4)));
    throw fileError(where, 0, '"GGUF"', found);
  }
  let version = header.u32("the version");
  if ((version & 0xffff) === 0 && version !== 0) {
    header.littleEndian = false;
    version = header.view.getUint32(4, false);
  }
  if (version !== 2 && version !== 3) throw unsupported(where, 4, "version 2 or 3", version);
  const tensorCount = header.u64("the number of tensors");
  const keyCount = header.u64("the number of keys");
  // The smallest key takes 14 bytes, the smallest tensor info 24.
  const most = Math.floor(header.remaining / 14);
  if (keyCount > most) throw fileError(where, 16, `at most ${most} keys`, keyCount);
  const mostTensors = Math.floor((header.remaining - 14 * keyCount) / 24);
  if (tensorCount > mostTensors) {
    throw fileError(where, 8, `at most ${mostTensors} tensors`, tensorCount);
  }
  return { version, tensorCount, keyCount };
}

/** The bytes of a string. @param shortest  bytes that it must have at least */
function readString(header: HeaderReader, field: string, shortest = 0): Uint8Array {
  const { at } = header;
  const length = header.u64(`the length of ${field}`);
  if (length > header.remaining || length < shortest) {
    const expected = `${field} of ${shortest} to ${header.remaining} bytes`;
    throw fileError(header.where, at, expected, length);
  }
  const start = header.take(length, field);
  return header.bytes.subarray(start, start + length);
}

function readName(header: HeaderReader, field: string, shortest = 0): string {
  const { at } = header;
  const bytes = readString(header, field, shortest);
  const name = decodeText(bytes);
  if (name === undefined) throw fileError(header.where, at + 8, `${field} in UTF-8`, "other bytes");
  return name;
}

function readEntry(header: HeaderReader, budget: Budget, metadata: Map<string, GGUFEntry>): void {
  const { where } = header;
  const start = header.at;
  const key = readName(header, "a key", 1);
  if (metadata.has(key)) throw fileError(where, start, "every key once", JSON.stringify(key));
  const type = readType(header);
  const begin = header.at;
  const runs = skipValue(header, budget, type);
  const bytes = header.bytes.slice(begin, header.at);
  budget.spend(where, start, 350 + 2 * key.length + bytes.length);
  if (!header.littleEndian) {
    let at = 0;
    for (const [count, size] of runs) {
      swapBytes(bytes.subarray(at, at + count * size), size);
      at += count * size;
    }
  }
  metadata.set(key, new GGUFEntry(type, bytes));
  header.complete();
}

function readType(header: HeaderReader): GGUFType {
  const { at } = header;
  const number = header.u32("the type of a value");
  if (number >= VALUE_TYPES.length) {
    throw fileError(header.where, at, `a type below ${VALUE_TYPES.length}`, number);
  }
  return VALUE_TYPES[number][0];
}

/**
 * Moves past a value, which takes the memory of its decoded form once somebody asks for it.
 * @returns the value as runs of [count, element size], where the file is big-endian
 */
function skipValue(
  header: HeaderReader,
  budget: Budget,
  first: GGUFType,
): (readonly [number, number])[] {
  const runs: (readonly [number, number])[] = [];
  const isSwapped = !header.littleEndian;
  const spend = (bytes: number): void => budget.spend(header.where, header.at, bytes);
  const note = (count: number, size: number): void => {
    if (!isSwapped) return;
    spend(48);
    runs.push([count, size]);
  };
  /** Arrays around the current value: the type of their values, and how many are left. */
  const around: { readonly type: GGUFType; left: number }[] = [{ type: first, left: 1 }];
  for (let array = around.at(-1); array !== undefined; array = around.at(-1)) {
    if (array.left === 0) {
      around.pop();
      continue;
    }
    const { type } = array;
    if (type === "string") {
      array.left--;
      const { length } = readString(header, "a string");
      spend(32 + 2 * length);
      note(1, 8);
      note(length, 1);
    } else if (type !== "array") {
      const size = typeSize(type);
      header.take(array.left * size, "values");
      spend(array.left * Math.max(size, type === "bool" ? 8 : 0));
      note(array.left, size);
      array.left = 0;
    } else {
      array.left--;
      if (around.length > MAX_NESTING) {
        const expected = `at most ${MAX_NESTING} nested arrays`;
        throw fileError(header.where, header.at, expected, "more");
      }
      const elementType = readType(header);
      const { at } = header;
      const left = header.u64("the length of an array");
      const smallest =
        elementType === "string" ? 8 : elementType === "array" ? 12 : typeSize(elementType);
      const most = Math.floor(header.remaining / smallest);
      if (left > most) {
        throw fileError(header.where, at, `an array of at most ${most} values`, left);
      }
      spend(280);
      note(1, 4);
      note(1, 8);
      around.push({ type: elementType, left });
    }
  }
  return runs;
}

/** A tensor info: what the header says of a tensor. */
interface Info {
  /** Offset of the info in the file. */
  readonly at: number;
  readonly shape: number[];
  readonly dtype: FileDType;
  readonly byteLength: number;
  /** Offset from the start of the data section. */
  readonly offset: number;
}

function readInfo(
  header: HeaderReader,
  budget: Budget,
  infos: Map<string, Info>,
  alignment: number,
): void {
  const { where, at } = header;
  const name = readName(header, "a tensor's name");
  if (infos.has(name)) throw fileError(where, at, "every tensor once", JSON.stringify(name));
  const rank = header.u32("the number of dimensions");
  if (rank > 4) throw fileError(where, header.at - 4, "at most 4 dimensions", rank);
  const shape: number[] = [];
  for (let axis = 0; axis < rank; axis++) shape.unshift(header.u64("a dimension"));
  const count = countElements(where, at, shape);
  const number = header.u32("the tensor's type");
  const dtype = TENSOR_TYPES[number];
  if (dtype === undefined) {
    const expected = `a known tensor type of ${show(name)}`;
    const removed = REMOVED_TYPES.get(number);
    if (removed === undefined) throw fileError(where, header.at - 4, expected, number);
    const found = `${number}: ${removed}, which was removed from ggml`;
    throw unsupported(where, header.at - 4, expected, found);
  }
  const { blockLength } = dtypeInfo(dtype) as { blockLength: number };
  const row = shape.at(-1) ?? 1;
  const byteLength = bytesOf(dtype, count);
  if (row % blockLength !== 0 || byteLength === undefined) {
    throw fileError(where, at, `rows of whole blocks of ${blockLength} for ${dtype}`, row);
  }
  if (!header.littleEndian && isBlockType(dtype)) {
    throw unsupported(where, header.at - 4, "element types in a big-endian file", dtype);
  }
  const offset = header.u64("the tensor's offset");
  if (offset % alignment !== 0) {
    throw fileError(where, header.at - 8, `a multiple of ${alignment} as offset`, offset);
  }
  budget.spend(where, at, 450 + 2 * name.length);
  infos.set(name, { at, shape, dtype, byteLength, offset });
  header.complete();
}

/**
 * Every tensor lies within the file, and no two overlap. Any order is let pass, and holes, which ggml refuses, except
 * behind blocks: their type is the number of another one in a build that is not ggml's own.
 */
function checkPlaces(
  where: string,
  infos: Info[],
  dataOffset: number,
  size: number,
  alignment: number,
): void {
  infos.sort((a, b) => a.offset - b.offset || a.byteLength - b.byteLength);
  let covered = 0;
  let last: Info | undefined;
  for (const info of infos) {
    const { at, offset, byteLength } = info;
    if (offset < covered) throw fileError(where, at, `an offset of at least ${covered}`, offset);
    if (last !== undefined && isBlockType(last.dtype) && offset - covered >= alignment) {
      const expected = `${last.dtype} of ${offset - last.offset} bytes up to the next tensor`;
      throw unsupported(where, last.at, expected, last.byteLength);
    }
    last = info;
    covered = offset + byteLength;
    // Padding may be missing at the end, even before a tensor without elements.
    const end = byteLength === 0 ? Math.ceil(size / alignment) * alignment : size;
    if (dataOffset + covered > end) {
      const expected = `data that ends within ${size} bytes`;
      const found = `an end at ${dataOffset + covered}; the file may be cut off`;
      throw fileError(where, at, expected, found);
    }
  }
}

/** A tensor of a big-endian file. */
class SwappedTensor implements FileTensor {
  readonly #where: string;
  readonly #stored: SpanTensor;

  constructor(where: string, stored: SpanTensor) {
    this.#where = where;
    this.#stored = stored;
  }

  get name(): string {
    return this.#stored.name;
  }

  get shape(): readonly number[] {
    return this.#stored.shape;
  }

  get dtype(): FileDType {
    return this.#stored.dtype;
  }

  get byteLength(): number {
    return this.#stored.byteLength;
  }

  async *bytes(begin = 0, end = this.byteLength): AsyncGenerator<Uint8Array, void, undefined> {
    const { source, offset } = this.#stored.span;
    const size = swapSize(this.dtype);
    const first = begin - (begin % size);
    const last = Math.ceil(end / size) * size;
    let at = first;
    for await (const chunk of readChunks(this.#where, source, offset + first, offset + last)) {
      const swapped = swapBytes(chunk.slice(), size);
      yield swapped.subarray(Math.max(0, begin - at), end - at);
      at += chunk.length;
    }
  }
}
