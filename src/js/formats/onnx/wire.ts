// Protocol buffers' wire format: fields read through a window, fields written, messages spliced.
// Source: protobuf.dev/programming-guides/encoding.

import { rangeError } from "../../base/errors.js";
import { Budget } from "../budget.js";
import {
  type ByteStream,
  decodeText,
  fileError,
  joinBytes,
  MoreBytes,
  readBytes,
  readChunks,
  type Source,
} from "../source.js";

const WINDOW_BYTES = 2 ** 18;
/** The longest text that is read along with a header. */
const MAX_TEXT = 2 ** 16;

export const VARINT = 0;
export const FIXED64 = 1;
export const BYTES = 2;
export const FIXED32 = 5;

/** A field of a message: where it is in the file. */
export interface Field {
  readonly number: number;
  /** One of VARINT, FIXED64, BYTES and FIXED32. */
  readonly wire: number;
  /** Offset of the tag. */
  readonly start: number;
  /** Offset behind the tag: of the length of a BYTES field. */
  readonly tagEnd: number;
  /** Offset of the content. */
  readonly content: number;
  readonly end: number;
  /** The message that holds the field; undefined at the top. */
  readonly parent: Field | undefined;
}

/** Reads fields of a file through a window of it. */
export class WireReader {
  #base = 0;
  #bytes: Uint8Array = new Uint8Array(0);
  #view = new DataView(this.#bytes.buffer);
  #completed = 0;
  /** Offset in the file. */
  at = 0;

  constructor(
    readonly where: string,
    readonly source: Source,
    readonly budget = new Budget(),
  ) {}

  /** Counts the memory of what is made of a field. */
  spend(field: number, bytes: number): void {
    this.budget.spend(this.where, field, bytes);
  }

  /** Runs a function that reads from `at` on; where the window ends, it starts again behind `complete()`. */
  async run<T>(parse: () => T): Promise<T> {
    this.#completed = this.at;
    for (;;) {
      try {
        return parse();
      } catch (error) {
        if (!(error instanceof MoreBytes)) throw error;
        this.at = this.#completed;
        const length = Math.max(WINDOW_BYTES, error.end - this.at);
        this.#base = this.at;
        const rest = Math.min(length, this.source.size - this.at);
        this.#bytes = await readBytes(this.where, this.source, this.at, rest);
        this.#view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, rest);
      }
    }
  }

  /** What was read up to here is not read again. */
  complete(): void {
    this.#completed = this.at;
  }

  /** Moves past bytes. @returns their place in the window */
  #take(length: number, end: number, what: string): number {
    const start = this.at - this.#base;
    if (this.at + length > end) {
      throw fileError(this.where, this.at, `${what} of ${length} bytes`, this.#left(this.at, end));
    }
    if (start < 0 || start + length > this.#bytes.length) throw new MoreBytes(this.at + length);
    this.at += length;
    return start;
  }

  /** What is left of a message, or of the file, for messages. */
  #left(from: number, end: number): string {
    const bytes = `${end - from} bytes before the end of the`;
    if (end < this.source.size) return `${bytes} message`;
    return `${bytes} file, which has ${end} bytes and may be cut off`;
  }

  /** A varint of at most 64 bits as its low and high 32 bits. @param end  of the message */
  #words(end: number): [low: number, high: number] {
    const { at } = this;
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#bytes[this.#take(1, end, "a varint")];
      const bits = byte & 127;
      if (shift < 32) low |= bits << shift;
      if (shift > 24) high |= shift < 32 ? bits >>> (32 - shift) : bits << (shift - 32);
      if (byte < 128) {
        if (shift === 63 && bits > 1) break;
        return [low >>> 0, high >>> 0];
      }
    }
    throw fileError(this.where, at, "a varint of at most 64 bits", "a longer one");
  }

  /** A varint below 2^53. */
  count(end: number, what: string): number {
    const { at } = this;
    const [low, high] = this.#words(end);
    if (high >= 2 ** 21) {
      const found = (BigInt(high) << 32n) | BigInt(low);
      throw fileError(this.where, at, `${what} below 2^53`, `${BigInt.asIntN(64, found)}`);
    }
    return high * 2 ** 32 + low;
  }

  /** A signed 64-bit varint: a number where it is exact, else a bigint. */
  integer(end: number): number | bigint {
    const [low, high] = this.#words(end);
    const value = (high | 0) * 2 ** 32 + low;
    if (Number.isSafeInteger(value)) return value;
    return (BigInt(high | 0) << 32n) | BigInt(low);
  }

  /** A varint as its low and high 32 bits. */
  words(end: number): [low: number, high: number] {
    return this.#words(end);
  }

  fixed32(end: number): number {
    return this.#view.getUint32(this.#take(4, end, "a fixed32"), true);
  }

  float(end: number): number {
    return this.#view.getFloat32(this.#take(4, end, "a float"), true);
  }

  /** The next field. Its content is not moved past, but its length is checked. */
  field(parent: Field | undefined, end: number): Field {
    const start = this.at;
    const [tag, high] = this.#words(end);
    const number = tag >>> 3;
    const wire = tag & 7;
    const tagEnd = this.at;
    if (high !== 0 || number === 0) {
      throw fileError(this.where, start, "a field number from 1 to 2^29 - 1", number);
    }
    let content = tagEnd;
    let length: number;
    if (wire === VARINT) {
      this.#words(end);
      length = this.at - tagEnd;
    } else if (wire === FIXED64) length = 8;
    else if (wire === FIXED32) length = 4;
    else if (wire === BYTES) {
      length = this.count(end, "a length");
      content = this.at;
    } else throw fileError(this.where, start, "wire type 0, 1, 2 or 5", wire);
    if (length > end - content) {
      const expected = `${length} bytes in field ${number}`;
      throw fileError(this.where, tagEnd, expected, this.#left(content, end));
    }
    this.at = content;
    return { number, wire, start, tagEnd, content, end: content + length, parent };
  }

  /** The text of a field. @throws {RangeError} `ZP_INVALID_FILE` if it is long or not UTF-8 */
  text(field: Field, what: string): string {
    const text = decodeText(this.bytes(field, what));
    if (text === undefined) {
      throw fileError(this.where, field.content, `${what} in UTF-8`, "other bytes");
    }
    return text;
  }

  /** The content of a short field. */
  bytes(field: Field, what: string): Uint8Array {
    const length = field.end - field.content;
    if (length > MAX_TEXT) {
      throw fileError(this.where, field.content, `${what} of at most ${MAX_TEXT} bytes`, length);
    }
    const start = this.#take(length, field.end, what);
    this.spend(field.start, 2 * length + 32);
    return this.#bytes.slice(start, start + length);
  }
}

/** Bytes that a splice puts in, or a stream of known length. */
export type Part = Uint8Array | { readonly byteLength: number; bytes(): ByteStream };

/** Replaces bytes [start, end) of the content of a message. */
export interface Edit {
  /** The message that the bytes are in; undefined: the file itself. */
  readonly parent: Field | undefined;
  readonly start: number;
  readonly end: number;
  readonly parts: readonly Part[];
}

/** The largest message that protocol buffers take, in bytes. */
const MAX_MESSAGE = 2 ** 31 - 1;

/** A message that changes, or an edit. */
interface Node {
  readonly start: number;
  readonly end: number;
  readonly length: number;
  /** A message: its new tag and length. */
  readonly head:
    | {
        readonly field: Field;
        readonly length: Uint8Array;
        readonly nodes: readonly Node[];
      }
    | undefined;
  readonly parts: readonly Part[] | undefined;
}

/** A part of a file with edits. */
export interface SplicedPart {
  readonly byteLength: number;
  /** Where it is in the file without edits; undefined for what edits put in. */
  readonly from?: number | undefined;
  bytes(): AsyncIterable<Uint8Array>;
}

/** A file with edits, which adapt the lengths of all messages around them. Everything else keeps its bytes. */
export interface Spliced {
  readonly byteLength: number;
  /** Its parts, front to back, each of which can be made without those before it. */
  readonly parts: readonly SplicedPart[];
  /** The new file, front to back. Called once. */
  bytes(): AsyncGenerator<Uint8Array, void, undefined>;
}

/**
 * Applies edits to a file of protocol buffers.
 * @param edits  in any order; those at one place stay in their order
 * @throws {RangeError} `ZP_CONFLICTING_OPTIONS` if edits overlap; `ZP_SIZE_OVERFLOW` if the file comes to 2 GiB
 */
export function splice(where: string, source: Source, edits: readonly Edit[]): Spliced {
  const [nodes, byteLength] = planOf(where, source, edits);
  if (byteLength > MAX_MESSAGE) {
    const problem = `the model comes to ${byteLength} bytes, of which a protocol buffer takes ${MAX_MESSAGE}: store data externally`;
    throw rangeError("ZP_SIZE_OVERFLOW", where, problem);
  }
  const parts = partsOf(where, source, nodes);
  return { byteLength, parts, bytes: () => bytesOfParts(parts) };
}

async function* bytesOfParts(
  parts: readonly SplicedPart[],
): AsyncGenerator<Uint8Array, void, undefined> {
  for (const part of parts) yield* part.bytes();
}

/** The messages that edits change, and the length of the file. The edits are not held by its parts. */
function planOf(where: string, source: Source, edits: readonly Edit[]): [Node[], number] {
  const children = new Map<Field | undefined, Map<Field | Edit, Edit | undefined>>([
    [undefined, new Map()],
  ]);
  for (const edit of edits) {
    let child: Field | Edit = edit;
    for (let parent = edit.parent; ; parent = parent.parent) {
      const siblings: Map<Field | Edit, Edit | undefined> = children.get(parent) ?? new Map();
      children.set(parent, siblings);
      siblings.set(child, child === edit ? edit : undefined);
      if (parent === undefined) break;
      child = parent;
    }
  }
  const plan = (parent: Field | undefined, content: number, end: number): [Node[], number] => {
    const nodes: Node[] = [];
    let length = end - content;
    for (const [child, edit] of children.get(parent) ?? []) {
      if (edit !== undefined) {
        const added = lengthOf(edit.parts);
        const { start, end: last, parts } = edit;
        nodes.push({ start, end: last, length: added, head: undefined, parts });
      } else {
        const field = child as Field;
        const [inner, innerLength] = plan(field, field.content, field.end);
        const prefix = varint(innerLength);
        const head = { field, length: prefix, nodes: inner };
        const whole = field.tagEnd - field.start + prefix.length + innerLength;
        const { start, end: last } = field;
        nodes.push({ start, end: last, length: whole, head, parts: undefined });
      }
    }
    nodes.sort((a, b) => a.start - b.start || a.end - b.end);
    let covered = content;
    for (const { start, end: last, length: added } of nodes) {
      if (start < covered || last > end) {
        throw rangeError(
          "ZP_CONFLICTING_OPTIONS",
          where,
          `edits must not overlap, got two at ${start}`,
        );
      }
      covered = last;
      length += added - (last - start);
    }
    return [nodes, length];
  };
  return plan(undefined, 0, source.size);
}

/** The parts of a file. */
function partsOf(where: string, source: Source, nodes: readonly Node[]): SplicedPart[] {
  const parts: SplicedPart[] = [];
  let held: Uint8Array[] = [];
  let length = 0;
  const release = (): void => {
    const part = held.length === 1 ? held[0] : joinBytes(held);
    if (length > 0) parts.push({ byteLength: length, bytes: emitting(where, part) });
    held = [];
    length = 0;
  };
  const add = (part: Part, from?: number): void => {
    const isShort = part instanceof Uint8Array && part.length <= SHORT;
    if (!isShort || length > SHORT) release();
    if (isShort) {
      held.push(part);
      length += part.length;
    } else if (part.byteLength > 0) {
      parts.push({ byteLength: part.byteLength, bytes: emitting(where, part), from });
    }
  };
  collect(where, source, nodes, 0, source.size, add);
  release();
  return parts;
}

/** Gives the bytes of a part. */
const emitting =
  (where: string, part: Part): SplicedPart["bytes"] =>
  () =>
    emitPart(where, part);

/**
 * Bytes in memory up to which parts that follow one another become one: an edit has dozens of a few bytes, each of which
 * would be a section and a write of its own.
 */
const SHORT = 2 ** 16;

/** Lists the parts of a message. */
function collect(
  where: string,
  source: Source,
  nodes: readonly Node[],
  begin: number,
  end: number,
  add: (part: Part, from?: number) => void,
): void {
  const copy = (from: number, to: number): void => {
    if (from < to) {
      add({ byteLength: to - from, bytes: () => readChunks(where, source, from, to) }, from);
    }
  };
  let at = begin;
  for (const node of nodes) {
    copy(at, node.start);
    at = node.end;
    for (const part of node.parts ?? []) add(part);
    if (node.head !== undefined) {
      const { field, length, nodes: inner } = node.head;
      copy(field.start, field.tagEnd);
      add(length);
      collect(where, source, inner, field.content, field.end, add);
    }
  }
  copy(at, end);
}

async function* emitPart(where: string, part: Part): AsyncGenerator<Uint8Array, void, undefined> {
  if (part instanceof Uint8Array) {
    if (part.length > 0) yield part;
    return;
  }
  let given = 0;
  for await (const chunk of part.bytes()) {
    given += chunk.length;
    if (given > part.byteLength) break;
    yield chunk;
  }
  if (given !== part.byteLength) {
    const problem = `a part must give ${part.byteLength} bytes, got ${given > part.byteLength ? "more" : given}`;
    throw rangeError("ZP_INVALID_BYTES", where, problem);
  }
}

/** A varint. Negative numbers take ten bytes. */
export function varint(value: number | bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    const low = Number(rest & 127n);
    rest >>= 7n;
    bytes.push(rest === 0n ? low : low | 128);
  } while (rest !== 0n);
  return Uint8Array.from(bytes);
}

/** A field of varint type. */
export const varintField = (number: number, value: number | bigint): Part[] => [
  varint(8 * number + VARINT),
  varint(value),
];

/** A field of float type. */
export const floatField = (number: number, value: number): Part[] => [
  varint(8 * number + FIXED32),
  new Uint8Array(Float32Array.of(value).buffer),
];

/** Parts with short bytes that follow one another in one: a message of a few fields has dozens of them. */
export function joinParts(parts: readonly Part[]): Part[] {
  const joined: Part[] = [];
  let short: Uint8Array[] = [];
  const release = (): void => {
    if (short.length > 0) joined.push(joinBytes(short));
    short = [];
  };
  for (const part of parts) {
    if (part instanceof Uint8Array && part.length <= SHORT) short.push(part);
    else {
      release();
      joined.push(part);
    }
  }
  release();
  return joined;
}

/** Bytes of fields. */
export const lengthOf = (parts: readonly Part[]): number =>
  parts.reduce((sum, { byteLength }) => sum + byteLength, 0);

/** A field of text, bytes, or the fields of a message. */
export function bytesField(number: number, content: string | Part | readonly Part[]): Part[] {
  const parts =
    typeof content === "string"
      ? [new TextEncoder().encode(content)]
      : Array.isArray(content)
        ? (content as readonly Part[])
        : [content as Part];
  return [varint(8 * number + BYTES), varint(lengthOf(parts)), ...parts];
}
