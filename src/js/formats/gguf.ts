// GGUF: typed keys, tensor infos, then aligned tensor data.
// Source: ggml 0.27 (gguf.cpp) for what is written, gguf-py 0.7 for holes, nested arrays and byte order in what is read.

import { rangeError } from "../base/errors.js";
import { bytesOf, dtypeInfo, type FileDType, isBlockType, swapBytes, swapSize } from "./dtypes.js";
import {
  Budget,
  checkSource,
  countElements,
  decodeText,
  exactBytes,
  type FileTensor,
  fileError,
  HeaderReader,
  readChunks,
  type Source,
  SpanTensor,
  unsupported,
  type WritableTensor,
} from "./source.js";

/** Tensor types by their number; what is missing was removed from ggml. */
const TENSOR_TYPES: readonly (FileDType | undefined)[] = /* @__PURE__ */ (() => {
  const types: (FileDType | undefined)[] = [];
  const ids: { readonly [first: number]: readonly FileDType[] } = {
    0: ["float32", "float16", "q4_0", "q4_1"],
    6: ["q5_0", "q5_1", "q8_0", "q8_1", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "q8_k"],
    16: ["iq2_xxs", "iq2_xs", "iq3_xxs", "iq1_s", "iq4_nl", "iq3_s", "iq2_s", "iq4_xs"],
    24: ["int8", "int16", "int32", "int64", "float64", "iq1_m", "bfloat16"],
    34: ["tq1_0", "tq2_0"],
    39: ["mxfp4", "nvfp4", "q1_0", "q2_0"],
  };
  for (const [first, names] of Object.entries(ids)) {
    names.forEach((name, i) => {
      types[Number(first) + i] = name;
    });
  }
  return types;
})();

/** Types of values by their number, with the bytes of one; 0 where it varies. */
const VALUE_TYPES = [
  ["uint8", 1],
  ["int8", 1],
  ["uint16", 2],
  ["int16", 2],
  ["uint32", 4],
  ["int32", 4],
  ["float32", 4],
  ["bool", 1],
  ["string", 0],
  ["array", 0],
  ["uint64", 8],
  ["int64", 8],
  ["float64", 8],
] as const;

/** The type of a value of GGUF's metadata. */
export type GGUFType = (typeof VALUE_TYPES)[number][0];

/** A value of GGUF's metadata: 64-bit integers are bigints; arrays of numbers are typed arrays. */
export type GGUFValue =
  | number
  | bigint
  | boolean
  | string
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array
  | BigUint64Array
  | BigInt64Array
  | readonly GGUFValue[];

const ARRAYS = {
  uint8: Uint8Array,
  int8: Int8Array,
  uint16: Uint16Array,
  int16: Int16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
  uint64: BigUint64Array,
  int64: BigInt64Array,
  float64: Float64Array,
} as const;

/** Deepest nesting of arrays. ggml has none at all; gguf-py is limited by Python's stack. */
const MAX_NESTING = 32;
/** The longest name ggml takes, in bytes. */
const MAX_NAME = 63;
const DEFAULT_ALIGNMENT = 32;

const typeSize = (type: GGUFType): number => VALUE_TYPES[typeNumber(type)][1];
const typeNumber = (type: GGUFType): number => VALUE_TYPES.findIndex(([name]) => name === type);

/** A value as a file holds it, decoded when it is asked for. */
export class GGUFEntry {
  /**
   * @param type  of the value
   * @param bytes  the value as in a little-endian file, without its type
   */
  constructor(
    readonly type: GGUFType,
    readonly bytes: Uint8Array,
  ) {}

  /** Type of the elements of an array. */
  get elementType(): GGUFType | undefined {
    return this.type === "array" ? VALUE_TYPES[new Decoder(this.bytes).u32()][0] : undefined;
  }

  /** The value. Text that is not UTF-8 is decoded with replacement characters. */
  get value(): GGUFValue {
    return new Decoder(this.bytes).value(this.type);
  }
}

/** Decodes values whose lengths were checked. */
class Decoder {
  readonly #view: DataView;
  #at = 0;

  constructor(readonly bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  u32(): number {
    this.#at += 4;
    return this.#view.getUint32(this.#at - 4, true);
  }

  #u64(): bigint {
    this.#at += 8;
    return this.#view.getBigUint64(this.#at - 8, true);
  }

  #take(length: number): Uint8Array {
    this.#at += length;
    return this.bytes.subarray(this.#at - length, this.#at);
  }

  value(type: GGUFType): GGUFValue {
    if (type === "string") return LOSSY.decode(this.#take(Number(this.#u64())));
    if (type === "array") return this.#array();
    const values = this.#numbers(type, 1);
    return values[0];
  }

  #array(): GGUFValue {
    const [type] = VALUE_TYPES[this.u32()];
    const count = Number(this.#u64());
    if (type !== "string" && type !== "array") return this.#numbers(type, count);
    return Array.from({ length: count }, () => this.value(type));
  }

  #numbers(type: Exclude<GGUFType, "string" | "array">, count: number) {
    const bytes = this.#take(count * typeSize(type));
    if (type === "bool") return Array.from(bytes, (byte) => byte !== 0);
    return new ARRAYS[type](bytes.slice().buffer);
  }
}

const LOSSY = /* @__PURE__ */ new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Makes an entry of GGUF's metadata.
 * @param elementType  of arrays
 * @throws {RangeError} `ZP_INVALID_OPTION` if the type cannot hold the value
 * For example `ggufEntry("uint32", 32)`.
 * For example `ggufEntry("array", ["a", "b"], "string")`.
 */
export function ggufEntry(type: GGUFType, value: GGUFValue, elementType?: GGUFType): GGUFEntry {
  if (type !== "array") return new GGUFEntry(type, encodeValue(type, value));
  const items = Array.from(value as Iterable<GGUFValue>);
  if (elementType === undefined || elementType === "array") {
    throw rangeError("ZP_INVALID_OPTION", "ggufEntry", "an array needs the type of its elements");
  }
  const head = new Uint8Array(12);
  const view = new DataView(head.buffer);
  view.setUint32(0, typeNumber(elementType), true);
  view.setBigUint64(4, BigInt(items.length), true);
  const parts = items.map((item) => encodeValue(elementType, item));
  return new GGUFEntry("array", concat([head, ...parts]));
}

function encodeValue(type: GGUFType, value: GGUFValue): Uint8Array {
  if (type === "string") return encodeString(String(value));
  if (type === "bool") return Uint8Array.of(value ? 1 : 0);
  const numbers = new ARRAYS[type as keyof typeof ARRAYS](1);
  const isFloat = type === "float32" || type === "float64";
  const isInteger = typeof value === "bigint" || Number.isInteger(value);
  if (isFloat && typeof value === "number") numbers[0] = value;
  else if (!isFloat && isInteger) {
    const integer = BigInt(value as number | bigint);
    const isBig = numbers instanceof BigUint64Array || numbers instanceof BigInt64Array;
    numbers[0] = isBig ? integer : Number(integer);
    if (BigInt(numbers[0]) !== integer) throw notHeld(type, value);
  } else throw notHeld(type, value);
  return new Uint8Array(numbers.buffer);
}

const notHeld = (type: GGUFType, value: GGUFValue): Error =>
  rangeError("ZP_INVALID_OPTION", "ggufEntry", `${type} cannot hold ${String(value)}`);

function encodeString(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  const head = new Uint8Array(8);
  new DataView(head.buffer).setBigUint64(0, BigInt(bytes.length), true);
  return concat([head, bytes]);
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

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
}

/**
 * Reads keys and tensor infos of a GGUF file, version 2 or 3, of either byte order.
 * @throws {RangeError} `ZP_INVALID_FILE` for damaged files, names and keys that are empty, double or not UTF-8,
 * overlapping or unaligned tensors and data beyond the end; `ZP_UNSUPPORTED_FILE` for other versions
 * For example `(await readGGUF(source)).metadata.get("general.architecture")?.value // "llama"`.
 */
export async function readGGUF(given: Source): Promise<GGUF> {
  const where = "readGGUF";
  const source = checkSource(where, given);
  const header = new HeaderReader(where, source);
  const budget = new Budget(where, source.size);
  const { version, tensorCount, keyCount } = await header.run(() => readCounts(header));
  const metadata = new Map<string, GGUFEntry>();
  await header.run(() => {
    while (metadata.size < keyCount) readEntry(header, budget, metadata);
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
    tensors.set(name, header.littleEndian ? tensor : new SwappedTensor(tensor));
  }
  const { littleEndian } = header;
  return { format: "gguf", version, littleEndian, metadata, tensors, alignment, dataOffset };
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
  const runs = skipValue(header, type);
  const bytes = header.bytes.slice(begin, header.at);
  budget.spend(start, 350 + 2 * key.length);
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
 * Moves past a value.
 * @returns the value as runs of [count, element size], where the file is big-endian
 */
function skipValue(header: HeaderReader, first: GGUFType): (readonly [number, number])[] {
  const runs: (readonly [number, number])[] = [];
  const isSwapped = !header.littleEndian;
  const note = (count: number, size: number): void => {
    if (isSwapped) runs.push([count, size]);
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
      note(1, 8);
      note(length, 1);
    } else if (type !== "array") {
      const size = typeSize(type);
      header.take(array.left * size, "values");
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
      note(1, 4);
      note(1, 8);
      around.push({ type: elementType, left });
    }
  }
  return runs;
}

function alignmentOf(where: string, metadata: Map<string, GGUFEntry>): number {
  const entry = metadata.get("general.alignment");
  if (entry === undefined) return DEFAULT_ALIGNMENT;
  const { type, value } = entry;
  if (type !== "uint32" || !isPowerOfTwo(value as number)) {
    const expected = "general.alignment to be a power of two of type uint32";
    throw fileError(where, 24, expected, `${type} ${String(value).slice(0, 40)}`);
  }
  return value as number;
}

const isPowerOfTwo = (value: number): boolean => Number.isInteger(Math.log2(value));

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
  if (dtype === undefined) throw fileError(where, header.at - 4, "a known tensor type", number);
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
  budget.spend(at, 450 + 2 * name.length);
  infos.set(name, { at, shape, dtype, byteLength, offset });
  header.complete();
}

/** Every tensor lies within the file, and no two overlap; holes and any order are let pass. */
function checkPlaces(
  where: string,
  infos: Info[],
  dataOffset: number,
  size: number,
  alignment: number,
): void {
  infos.sort((a, b) => a.offset - b.offset || a.byteLength - b.byteLength);
  let covered = 0;
  for (const { at, offset, byteLength } of infos) {
    if (offset < covered) throw fileError(where, at, `an offset of at least ${covered}`, offset);
    covered = offset + byteLength;
    // Padding may be missing at the end, even before a tensor without elements.
    const end = byteLength === 0 ? Math.ceil(size / alignment) * alignment : size;
    if (dataOffset + covered > end) {
      const expected = `data that ends within ${size} bytes`;
      throw fileError(where, at, expected, `an end at ${dataOffset + covered}`);
    }
  }
}

/** A tensor of a big-endian file. */
class SwappedTensor implements FileTensor {
  readonly #stored: SpanTensor;

  constructor(stored: SpanTensor) {
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
    for await (const chunk of readChunks("readGGUF", source, offset + first, offset + last)) {
      const swapped = swapBytes(chunk.slice(), size);
      yield swapped.subarray(Math.max(0, begin - at), end - at);
      at += chunk.length;
    }
  }
}

/** Number of a dtype among ggml's tensor types. @returns -1 if it has none */
export const ggmlTypeNumber = (dtype: FileDType): number => TENSOR_TYPES.indexOf(dtype);

/** A GGUF file before it is written. */
export interface GGUFLayout {
  /** Everything before the data section, padded. */
  readonly header: Uint8Array;
  readonly tensors: readonly { readonly tensor: WritableTensor; readonly byteLength: number }[];
  readonly alignment: number;
  /** Bytes of the file. */
  readonly byteLength: number;
}

/**
 * Lays a GGUF file out as ggml writes it: version 3, little-endian, tensors in the order given, each padded.
 * @param metadata  entries by key, in the order of the file; `general.alignment` among them decides the alignment
 * @param where  for error messages
 * @throws {RangeError} `ZP_UNSUPPORTED_DTYPE` for dtypes that ggml has not; `ZP_INVALID_SHAPE` for more than 4 axes
 * and rows that are not whole blocks; `ZP_INVALID_OPTION` for a name of more than 63 bytes or one that is there twice
 */
export function layoutGGUF(
  tensors: Iterable<WritableTensor>,
  metadata: Iterable<readonly [string, GGUFEntry]>,
  where = "writeGGUF",
): GGUFLayout {
  const entries = [...metadata];
  const alignment = alignmentOf(where, new Map(entries));
  const sized = Array.from(tensors, (tensor) => ({
    tensor,
    byteLength: checkTensor(where, tensor),
  }));
  checkNames(
    where,
    "tensor",
    sized.map(({ tensor }) => tensor.name),
  );
  checkNames(
    where,
    "key",
    entries.map(([key]) => key),
  );
  const parts = [
    fixed(4, 0x46554747),
    fixed(4, 3),
    fixed(8, sized.length),
    fixed(8, entries.length),
  ];
  for (const [key, { type, bytes }] of entries) {
    parts.push(encodeString(key), fixed(4, typeNumber(type)), bytes);
  }
  let offset = 0;
  for (const { tensor, byteLength } of sized) {
    const { name, shape, dtype } = tensor;
    parts.push(encodeString(name), fixed(4, shape.length));
    for (const length of [...shape].reverse()) parts.push(fixed(8, length));
    parts.push(fixed(4, ggmlTypeNumber(dtype)), fixed(8, offset));
    offset += padded(byteLength, alignment);
  }
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  parts.push(new Uint8Array(padded(length, alignment) - length));
  const header = concat(parts);
  return { header, tensors: sized, alignment, byteLength: header.length + offset };
}

const padded = (length: number, alignment: number): number =>
  Math.ceil(length / alignment) * alignment;

/** An unsigned integer of 4 or 8 bytes. */
function fixed(size: 4 | 8, value: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value), true);
  return bytes.subarray(0, size);
}

function checkTensor(where: string, { name, shape, dtype }: WritableTensor): number {
  const label = `tensor ${JSON.stringify(name)}`;
  if (ggmlTypeNumber(dtype) < 0) {
    const problem = `${label} has dtype ${dtype}, which GGUF does not have`;
    throw rangeError("ZP_UNSUPPORTED_DTYPE", where, problem);
  }
  const count = countElements(where, 0, shape);
  const { blockLength } = dtypeInfo(dtype) as { blockLength: number };
  const byteLength = bytesOf(dtype, count);
  if (shape.length > 4 || (shape.at(-1) ?? 1) % blockLength !== 0 || byteLength === undefined) {
    const takes = `at most 4 axes, the last a multiple of ${blockLength} for ${dtype}`;
    throw rangeError(
      "ZP_INVALID_SHAPE",
      where,
      `${label} must have ${takes}, got [${shape.join(", ")}]`,
    );
  }
  return byteLength;
}

function checkNames(where: string, kind: "tensor" | "key", names: readonly string[]): void {
  const known = new Set<string>();
  const limit = kind === "tensor" ? MAX_NAME : 2 ** 30;
  for (const name of names) {
    const refuse = (problem: string): Error =>
      rangeError("ZP_INVALID_OPTION", where, `${kind} ${JSON.stringify(name)} ${problem}`);
    const { length } = new TextEncoder().encode(name);
    if (length > limit) {
      throw refuse(
        `must have a name of at most ${limit} bytes, as ggml has room for; it has ${length}`,
      );
    }
    if (kind === "key" && length === 0) throw refuse("must have a name");
    if (known.has(name)) throw refuse("must be there once");
    known.add(name);
  }
}

/**
 * Writes a GGUF file front to back.
 * @throws {RangeError} `ZP_INVALID_BYTES` if a tensor gives another number of bytes than its shape says
 * For example `for await (const chunk of writeGGUF(layoutGGUF(file.tensors.values(), file.metadata))) …`.
 */
export async function* writeGGUF(layout: GGUFLayout): AsyncGenerator<Uint8Array, void, undefined> {
  yield layout.header;
  for (const { tensor, byteLength } of layout.tensors) {
    yield* exactBytes("writeGGUF", tensor, byteLength);
    const padding = padded(byteLength, layout.alignment) - byteLength;
    if (padding > 0) yield new Uint8Array(padding);
  }
}
