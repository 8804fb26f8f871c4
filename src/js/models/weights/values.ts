// Bytes of tensors -> values: of any dtype, block type or quantized weight, in runs from any index on. The only loop that
// gathers values, reads ahead and reports what was read.

import { fieldOf, OptionsRecord } from "../../base/fields.js";
import { Halves, isHalf } from "../../base/halves.js";
import { newArray } from "../../base/typed-arrays.js";
import type { KeptCore } from "../../core/init.js";
import { bytesOf, decodeValues, dtypeInfo, type FileDTypeInfo } from "../../formats/dtypes.js";
import { partOf, type StoredPart } from "../../formats/layouts/unpack.js";
import { type FileTensor, fileError, readScratch } from "../../formats/source.js";
import type { TensorInput } from "../../tensor/check.js";
import { sizeOf } from "../../tensor/shape.js";
import { documentOf, type Model, weightsOf } from "../open/model.js";
import { checkDecodable, decodeTile } from "../open/values.js";
import type { StoredWeight } from "../stored/weight.js";
import { HELD_BYTES, SLAB_VALUES } from "./memory.js";

/** Values in row-major order, to be read only: float32, or the bit patterns of half floats. They may be the memory of a file. */
export type Values = Float32Array | Halves;

/** Some of the values of a tensor: indices [begin, end). */
export interface Run {
  readonly begin: number;
  readonly end: number;
}

/** Values as a file has them. */
interface Piece {
  readonly values: Values;
  /** Bytes that were read for them. */
  readonly byteLength: number;
  /** The bytes of the file, of tensors that are not quantized. */
  readonly bytes?: Uint8Array;
}

/** Reads values of a tensor, one run at a time. */
interface Cursor {
  /** The values of a run, valid until the next call but one. */
  read(run: Run): Promise<Piece>;
  close(): Promise<void>;
}

/** A tensor whose values can be read. */
export interface ValueSource {
  readonly name: string;
  readonly size: number;
  open(): Cursor;
}

/** Called with the number of bytes that were read for a run and, unless the tensor is quantized, with them. */
export type OnRead = (byteLength: number, bytes?: Uint8Array) => Promise<void> | void;

/** A run with its values. */
export interface ReadRun<T extends Run> {
  readonly run: T;
  readonly values: Values;
}

/** Reads runs, in their order. The values are valid until the next run is asked for, while which is read already. */
export async function* readRuns<T extends Run>(
  source: ValueSource,
  runs: Iterable<T>,
  onRead: OnRead = () => {},
): AsyncGenerator<ReadRun<T>, void, undefined> {
  const cursor = source.open();
  /** The read that was begun last. */
  let last: Promise<Piece> | undefined;
  let ahead: { readonly run: T; readonly piece: Promise<Piece> } | undefined;
  const given = async ({ run, piece }: NonNullable<typeof ahead>): Promise<ReadRun<T>> => {
    const { values, byteLength, bytes } = await piece;
    await onRead(byteLength, bytes);
    return { run, values };
  };
  try {
    for (const run of runs) {
      const piece: Promise<Piece> = last?.then(() => cursor.read(run)) ?? cursor.read(run);
      // Not awaited after an early end.
      piece.catch(() => {});
      last = piece;
      if (ahead !== undefined) yield await given(ahead);
      ahead = { run, piece };
    }
    if (ahead !== undefined) yield await given(ahead);
  } finally {
    await last?.catch(() => {});
    await cursor.close();
  }
}

/** The run [begin, end) in runs of a length; the last one is shorter. */
export function* runsWithin(begin: number, end: number, length = SLAB_VALUES): Generator<Run> {
  for (let at = begin; at < end; at += length) yield { begin: at, end: Math.min(end, at + length) };
}

/** All values, front to back. */
export async function* allValues(
  source: ValueSource,
  onRead?: OnRead,
  length?: number,
): AsyncGenerator<Values, void, undefined> {
  const runs = runsWithin(0, source.size, length);
  for await (const { values } of readRuns(source, runs, onRead)) yield values;
}

/** The values of some runs, one behind the other. @param out  memory for them */
export async function gatherRuns(
  source: ValueSource,
  runs: Iterable<Run>,
  out: Float32Array,
): Promise<Float32Array> {
  let filled = 0;
  for await (const { values } of readRuns(source, runs)) {
    if (values instanceof Float32Array) out.set(values, filled);
    else floatsOf(values, out.subarray(filled));
    filled += values.length;
  }
  return out.subarray(0, filled);
}

/** Values as float32. @param out  memory for those of half floats */
export function floatsOf(values: Values, out?: Float32Array): Float32Array {
  if (values instanceof Float32Array) return values;
  const { buffer, byteOffset, byteLength, length } = values;
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  const floats = out?.subarray(0, length) ?? new Float32Array(length);
  return decodeValues(Halves.typeOf(values) ?? "float16", bytes, floats);
}

/** The first of some values, without a copy. */
export function firstOf(values: Values, count: number): Values {
  const dtype = Halves.typeOf(values);
  if (dtype === undefined) return values.subarray(0, count) as Float32Array;
  return new Halves(values.buffer, values.byteOffset, Math.min(count, values.length), dtype);
}

/** Values as a tensor, without a copy. */
export function tensorOf(values: Values, shape: readonly number[]): TensorInput {
  const dtype = Halves.typeOf(values);
  if (dtype === undefined) return { data: values, shape };
  const { buffer, byteOffset, length } = values;
  return { data: new Uint16Array(buffer, byteOffset, length), shape, dtype };
}

/**
 * The values of a tensor of a model, dequantized if it is quantized.
 * @throws {RangeError} `ZP_UNSUPPORTED_DTYPE` for dtypes without values
 */
export function valueSourceOf(where: string, model: Model, name: string): ValueSource {
  const { files, core } = documentOf(where, "model", model);
  const weight = weightsOf(model).get(name);
  if (weight !== undefined) return valuesOfWeight(where, weight, files);
  return valuesOfFile(where, core, files.get(name) as FileTensor);
}

/** The values of a tensor of a file: of an element type or of ggml's block types, which a core decodes. */
export function valuesOfFile(where: string, core: KeptCore, file: FileTensor): ValueSource {
  checkDecodable(where, file);
  const { name, dtype, shape, byteLength } = file;
  const { blockLength, blockBits } = dtypeInfo(dtype) as FileDTypeInfo;
  // The smallest run of values that is whole bytes by itself.
  const unit = blockLength === 1 && blockBits % 8 !== 0 ? 8 : blockLength;
  const unitBytes = bytesOf(dtype, unit) as number;
  const size = sizeOf(shape);
  const isAsItIs = dtype === "float32" || isHalf(dtype);
  const viewOf = (bytes: Uint8Array, length: number): Values => {
    const { buffer, byteOffset } = bytes.byteOffset % unitBytes === 0 ? bytes : bytes.slice();
    return isHalf(dtype)
      ? new Halves(buffer, byteOffset, length, dtype)
      : new Float32Array(buffer, byteOffset, length);
  };
  return {
    name,
    size,
    open() {
      const reader = file.span === undefined ? streamed(where, file) : spanned(where, file);
      const memory = new TwoRuns(where, Float32Array);
      return {
        async read({ begin, end }) {
          const from = Math.floor(begin / unit);
          const to = Math.ceil(end / unit);
          const first = from * unit;
          const bytes = await reader.read(from * unitBytes, Math.min(byteLength, to * unitBytes));
          if (isAsItIs) {
            return { values: viewOf(bytes, end - begin), byteLength: bytes.length, bytes };
          }
          const out = memory.take(Math.min(size, to * unit) - first);
          const values = decodeTile(core, dtype, bytes, out).subarray(begin - first, end - first);
          return { values, byteLength: bytes.length, bytes };
        },
        close: () => reader.close(),
      };
    },
  };
}

/** Some of the values of a tensor: as many as `size`, from `begin` on. */
export const partOfValues = (source: ValueSource, begin: number, size: number): ValueSource => ({
  ...{ name: source.name, size },
  open() {
    const cursor = source.open();
    return {
      read: (run) => cursor.read({ begin: begin + run.begin, end: begin + run.end }),
      close: () => cursor.close(),
    };
  },
});

/** The values of several tensors, one behind the other, as those of one tensor. */
export const joinedValues = (
  where: string,
  name: string,
  parts: readonly ValueSource[],
): ValueSource => ({
  ...{ name, size: parts.reduce((sum, { size }) => sum + size, 0) },
  open() {
    const memory = new TwoRuns(where, Float32Array);
    let at = 0;
    /** The first value of the part at hand. */
    let first = 0;
    let cursor: Cursor | undefined;
    const turnTo = async (index: number): Promise<Cursor> => {
      if (cursor !== undefined && index >= first && index < first + parts[at].size) return cursor;
      await cursor?.close();
      if (index < first) [at, first] = [0, 0];
      for (; index >= first + parts[at].size; at++) first += parts[at].size;
      cursor = parts[at].open();
      return cursor;
    };
    return {
      async read({ begin, end }) {
        const values = memory.take(end - begin);
        let byteLength = 0;
        for (let index = begin; index < end; ) {
          const own = await turnTo(index);
          const run = { begin: index - first, end: Math.min(end - first, parts[at].size) };
          const piece = await own.read(run);
          values.set(floatsOf(piece.values), index - begin);
          byteLength += piece.byteLength;
          index += run.end - run.begin;
        }
        return { values, byteLength };
      },
      close: async () => void (await cursor?.close()),
    };
  },
});

/** Reads bytes [begin, end) of a tensor, which are valid until the next call but one. */
interface ByteReader {
  read(begin: number, end: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** Memory for two runs in turn: one that is worked on, and one that is read. */
class TwoRuns<T extends Uint8Array | Float32Array> {
  readonly #arrays: T[];
  #turn = 0;

  constructor(
    readonly where: string,
    readonly Type: new (length: number) => T,
  ) {
    this.#arrays = [new Type(0), new Type(0)];
  }

  take(length: number): T {
    this.#turn = 1 - this.#turn;
    if (this.#arrays[this.#turn].length < length) {
      this.#arrays[this.#turn] = newArray(this.where, this.Type as never, length) as T;
    }
    return this.#arrays[this.#turn].subarray(0, length) as T;
  }
}

/** Reads a tensor that a source holds as it is. */
function spanned(where: string, { name, span }: FileTensor): ByteReader {
  const { source, offset } = span as NonNullable<FileTensor["span"]>;
  const memory = new TwoRuns(where, Uint8Array);
  // Other sources give arrays of their own.
  const isInto = fieldOf(source, "readInto") !== undefined;
  return {
    read(begin, end) {
      const scratch = memory.take(isInto ? end - begin : 0);
      return readScratch(`values of ${name}`, source, offset + begin, end - begin, scratch);
    },
    async close() {},
  };
}

/**
 * Reads a tensor that comes in chunks. A run that does not follow the one before it asks for its own bytes alone:
 * chunks are larger than parts of rows.
 */
function streamed(where: string, file: FileTensor): ByteReader {
  const memory = new TwoRuns(where, Uint8Array);
  let chunks: AsyncIterator<Uint8Array> | undefined;
  /** Bytes that were given, and their place. */
  let rest: Uint8Array = new Uint8Array(0);
  let at = 0;
  /** The end of the chunks. */
  let limit = 0;
  const read = async (begin: number, bytes: Uint8Array): Promise<Uint8Array> => {
    const end = begin + bytes.length;
    if (chunks === undefined || at !== begin || end > limit) {
      await chunks?.return?.();
      limit = at === begin ? file.byteLength : end;
      chunks = file.bytes(begin, limit);
      rest = new Uint8Array(0);
      at = begin;
    }
    for (let filled = 0; filled < bytes.length; ) {
      if (rest.length === 0) {
        const { done, value } = await chunks.next();
        if (done) {
          const expected = `${file.byteLength} bytes of ${JSON.stringify(file.name)}`;
          throw fileError(where, 0, expected, begin + filled);
        }
        rest = value;
      }
      const part = rest.subarray(0, bytes.length - filled);
      bytes.set(part, filled);
      filled += part.length;
      rest = rest.subarray(part.length);
    }
    at = begin + bytes.length;
    return bytes;
  };
  return {
    read: (begin, end) => read(begin, memory.take(end - begin)),
    close: async () => void (await chunks?.return?.()),
  };
}

/** The values of a quantized tensor: window by window where its layout allows it, else whole. */
function valuesOfWeight(
  where: string,
  weight: StoredWeight,
  files: ReadonlyMap<string, FileTensor>,
): ValueSource {
  const { name, shape } = weight;
  const size = sizeOf(shape);
  return {
    name,
    size,
    open() {
      const memory = new TwoRuns(where, Float32Array);
      const windows = windowsOf(weight, files, size);
      return {
        async read({ begin, end }) {
          const values = memory.take(end - begin);
          const before = windows.bytesRead;
          for (let at = begin; at < end; ) {
            const [first, window] = await windows.at(at);
            const part = window.subarray(at - first, end - first);
            values.set(part, at - begin);
            at += part.length;
          }
          return { values, byteLength: windows.bytesRead - before };
        },
        close: async () => {},
      };
    },
  };
}

/** Reads the windows of a quantized tensor, of which the last one is kept. */
function windowsOf(weight: StoredWeight, files: ReadonlyMap<string, FileTensor>, size: number) {
  const { name, window } = weight;
  const bytesOfPart = async (part: string, begin: number, end: number): Promise<Uint8Array> => {
    const file = files.get(part) as FileTensor;
    const bytes = new Uint8Array(end - begin);
    windows.bytesRead += bytes.length;
    if (file.span !== undefined && bytes.length > 0) {
      const { source, offset } = file.span;
      return await readScratch(`values of ${name}`, source, offset + begin, bytes.length, bytes);
    }
    let at = 0;
    for await (const chunk of file.bytes(begin, end)) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    return bytes;
  };
  // Parts that every window needs as a whole, such as a single scale.
  const held = new Map<string, Uint8Array>();
  const load = async (part: string, from: number, to: number): Promise<Uint8Array> => {
    const known = held.get(part);
    if (known !== undefined) return known;
    const bytes = await bytesOfPart(part, from, to);
    const isWhole = to - from === files.get(part)?.byteLength;
    if (isWhole && to - from <= HELD_BYTES / 256) held.set(part, bytes);
    return bytes;
  };
  const [codes] = Object.values(weight.parts);
  const whole = (): Promise<Float32Array> =>
    weight.read(
      async (names) => {
        const parts = new OptionsRecord() as Record<string, StoredPart>;
        for (const [role, part] of Object.entries(names)) {
          const file = files.get(part) as FileTensor;
          parts[role] = partOf(file, await bytesOfPart(part, 0, file.byteLength));
        }
        return parts;
      },
      () => files.get(codes)?.span?.source.checkOpen?.(),
    );
  const unit = window?.unit ?? size;
  const step = unit * Math.max(1, Math.floor(SLAB_VALUES / unit));
  let memory = new Float32Array(0);
  let last: readonly [first: number, values: Float32Array] | undefined;
  const windows = {
    bytesRead: 0,
    /** The window that an index is in. */
    async at(index: number): Promise<readonly [first: number, values: Float32Array]> {
      const first = index - (index % step);
      if (last?.[0] === first) return last;
      if (window === undefined) {
        last = [0, await whole()];
        return last;
      }
      if (memory.length === 0) memory = new Float32Array(Math.min(step, size));
      const own = memory.subarray(0, size - first);
      last = undefined;
      await window.read(load, first, own);
      last = [first, own];
      return last;
    },
  };
  return windows;
}
