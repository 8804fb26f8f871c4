// npz: a zip archive of npy files, stored or deflated. Sizes come from the central directory.
// Source: APPNOTE.TXT 6.3 (zip), numpy.savez, Python's zipfile.

import { rangeError } from "../base/errors.js";
import { bytesOf } from "./dtypes.js";
import { npyHeader, npyTensor, parseNpyHeader } from "./npy.js";
import {
  Budget,
  checkSource,
  decodeText,
  exactBytes,
  type FileTensor,
  fileError,
  HeaderReader,
  readBytes,
  readChunks,
  type Source,
  sliceSource,
  unsupported,
  type WritableTensor,
} from "./source.js";

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const END64 = 0x06064b50;
const LOCATOR64 = 0x07064b50;
const DESCRIPTOR = 0x08074b50;
const STORED = 0;
const DEFLATED = 8;
/** Compressed bytes that are inflated at a time. They expand a thousand times at most. */
const PIECE_BYTES = 2 ** 14;

const where = "readNpz";

/** A member of an archive. */
interface Member {
  readonly name: string;
  /** Offset of its entry in the central directory, and of its local header. */
  readonly at: number;
  readonly offset: number;
  readonly method: number;
  readonly crc: number;
  readonly compressed: number;
  readonly size: number;
}

/** An npz file whose headers were read. */
export interface Npz {
  readonly format: "npz";
  readonly metadata: Map<string, string>;
  /** Tensors by name, without ".npy", in the order of the archive. */
  readonly tensors: Map<string, FileTensor>;
}

/**
 * Reads the directory of an npz file and the headers of its members; other members than .npy files are skipped.
 * @throws {RangeError} `ZP_INVALID_FILE` for damaged archives, overlapping members and two of one name;
 * `ZP_UNSUPPORTED_FILE` for encryption, other methods than deflate, and dtypes as in `readNpy`. Checksums are compared
 * when a tensor is read to its end
 */
export async function readNpz(given: Source): Promise<Npz> {
  const source = checkSource(where, given);
  const { members, directory } = await readDirectory(source);
  const tensors = new Map<string, FileTensor>();
  const budget = new Budget(where, source.size);
  let covered = 0;
  for (const member of [...members].sort((a, b) => a.offset - b.offset)) {
    const start = await dataStart(source, member, directory);
    if (member.offset < covered) {
      throw fileError(where, member.at, `a member at byte ${covered} or later`, member.offset);
    }
    covered = start + member.compressed;
  }
  for (const member of members) {
    if (!member.name.endsWith(".npy")) continue;
    const name = member.name.slice(0, -4);
    if (tensors.has(name))
      throw fileError(where, member.at, "every member once", JSON.stringify(name));
    budget.spend(member.at, 1000 + 2 * name.length);
    const start = await dataStart(source, member, directory);
    tensors.set(name, await openMember(source, member, start, name));
  }
  return { format: "npz", metadata: new Map(), tensors };
}

async function openMember(
  source: Source,
  member: Member,
  start: number,
  name: string,
): Promise<FileTensor> {
  const isStored = member.method === STORED;
  const whole = isStored
    ? sliceSource(source, start, member.size)
    : {
        size: member.size,
        read: (_: number, length: number) => firstBytes(source, member, start, length),
      };
  const reader = new HeaderReader(where, whole);
  const header = await reader.run(() => parseNpyHeader(reader));
  const begin = header.headerLength;
  const chunks = () => slice(memberBytes(source, member, start), begin, begin + header.byteLength);
  const span = isStored ? { source, offset: start + begin } : undefined;
  return npyTensor(name, header, chunks, span);
}

/** Finds and reads the central directory. */
async function readDirectory(source: Source): Promise<{ members: Member[]; directory: number }> {
  const { size } = source;
  const tailStart = Math.max(0, size - 65_557);
  const tail = await readBytes(where, source, tailStart, size - tailStart);
  const view = new DataView(tail.buffer, tail.byteOffset, tail.length);
  let at = tail.length - 22;
  while (
    at >= 0 &&
    !(view.getUint32(at, true) === END && at + 22 + view.getUint16(at + 20, true) === tail.length)
  ) {
    at--;
  }
  if (at < 0) throw fileError(where, size, "an end record of a zip archive before", "none");
  let count = view.getUint16(at + 10, true);
  let length = view.getUint32(at + 12, true);
  let directory = view.getUint32(at + 16, true);
  let end = tailStart + at;
  if (at >= 20 && view.getUint32(at - 20, true) === LOCATOR64) {
    const record = toNumber(view, at - 12, end - 12);
    end -= 20;
    if (record + 56 > end) throw fileError(where, end, `a record before byte ${end}`, record);
    const bytes = await readBytes(where, source, record, 56);
    const fields = new DataView(bytes.buffer, bytes.byteOffset, 56);
    if (fields.getUint32(0, true) !== END64) {
      throw fileError(where, record, "a zip64 end record", "other bytes");
    }
    count = toNumber(fields, 32, record + 32);
    length = toNumber(fields, 40, record + 40);
    directory = toNumber(fields, 48, record + 48);
    end = record;
  }
  if (directory + length > end || count > length / 46) {
    const expected = `a directory of ${count} members before byte ${end}`;
    throw fileError(where, end, expected, `${length} bytes at ${directory}`);
  }
  const bytes = await readBytes(where, source, directory, length);
  return { members: parseDirectory(bytes, directory, count, size), directory };
}

/** A 64-bit integer. @param offset  of the field in the file */
function toNumber(view: DataView, at: number, offset: number): number {
  const value = view.getBigUint64(at, true);
  if (value >= 2n ** 53n) throw fileError(where, offset, "a size below 2^53", `${value}`);
  return Number(value);
}

function parseDirectory(bytes: Uint8Array, start: number, count: number, size: number): Member[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const budget = new Budget(where, size);
  const members: Member[] = [];
  let at = 0;
  for (let i = 0; i < count; i++) {
    const offset = start + at;
    if (at + 46 > bytes.length || view.getUint32(at, true) !== CENTRAL) {
      throw fileError(where, offset, `entry ${i} of the directory`, "other bytes or its end");
    }
    const nameEnd = at + 46 + view.getUint16(at + 28, true);
    const extraEnd = nameEnd + view.getUint16(at + 30, true);
    const next = extraEnd + view.getUint16(at + 32, true);
    if (next > bytes.length) throw fileError(where, offset, "an entry within the directory", next);
    const flags = view.getUint16(at + 8, true);
    const method = view.getUint16(at + 10, true);
    if ((flags & 1) !== 0)
      throw unsupported(where, offset + 8, "members without encryption", flags);
    if (method !== STORED && method !== DEFLATED) {
      throw unsupported(where, offset + 10, "method 0 (stored) or 8 (deflated)", method);
    }
    const nameBytes = bytes.subarray(at + 46, nameEnd);
    const name = decodeText(nameBytes) ?? new TextDecoder("latin1").decode(nameBytes);
    budget.spend(offset, 300 + 2 * name.length);
    const sizes = [24, 20, 42].map((field) => view.getUint32(at + field, true));
    readZip64(view, nameEnd, extraEnd, start, sizes);
    const [uncompressed, compressed, local] = sizes;
    if (method === STORED && compressed !== uncompressed) {
      throw fileError(where, offset + 20, `${uncompressed} stored bytes`, compressed);
    }
    const crc = view.getUint32(at + 16, true);
    members.push({ name, at: offset, offset: local, method, crc, compressed, size: uncompressed });
    at = next;
  }
  return members;
}

/** Replaces sizes that do not fit in 32 bits by those of the zip64 extra field. */
function readZip64(
  view: DataView,
  begin: number,
  end: number,
  start: number,
  sizes: number[],
): void {
  for (let at = begin; at + 4 <= end; at += 4 + view.getUint16(at + 2, true)) {
    if (view.getUint16(at, true) !== 1) continue;
    const fieldEnd = Math.min(end, at + 4 + view.getUint16(at + 2, true));
    let field = at + 4;
    for (let i = 0; i < sizes.length; i++) {
      if (sizes[i] !== 0xffffffff) continue;
      if (field + 8 > fieldEnd) throw fileError(where, start + at, "64-bit sizes", "fewer bytes");
      sizes[i] = toNumber(view, field, start + field);
      field += 8;
    }
  }
}

/** Where the bytes of a member start. */
async function dataStart(source: Source, member: Member, directory: number): Promise<number> {
  const { offset, at, compressed } = member;
  if (offset + 30 > directory) {
    throw fileError(where, at + 42, `a local header before byte ${directory}`, offset);
  }
  const bytes = await readBytes(where, source, offset, 30);
  const view = new DataView(bytes.buffer, bytes.byteOffset, 30);
  if (view.getUint32(0, true) !== LOCAL)
    throw fileError(where, offset, "a local header", "other bytes");
  const start = offset + 30 + view.getUint16(26, true) + view.getUint16(28, true);
  if (start + compressed > directory) {
    throw fileError(where, at + 20, `at most ${directory - start} bytes of data`, compressed);
  }
  return start;
}

/** The first bytes of a deflated member. */
async function firstBytes(
  source: Source,
  member: Member,
  start: number,
  length: number,
): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let filled = 0;
  for await (const chunk of memberBytes(source, member, start)) {
    const part = chunk.subarray(0, length - filled);
    bytes.set(part, filled);
    filled += part.length;
    if (filled === length) break;
  }
  return bytes.subarray(0, filled);
}

/** All bytes of a member. @throws {RangeError} `ZP_INVALID_FILE` if size or checksum differ from the directory's */
async function* memberBytes(
  source: Source,
  member: Member,
  start: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const stored = readChunks(where, source, start, start + member.compressed);
  const chunks = member.method === STORED ? stored : inflate(stored, start);
  let size = 0;
  let crc = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > member.size) break;
    crc = crc32(chunk, crc);
    yield chunk;
  }
  if (size !== member.size) {
    throw fileError(where, start, `${member.size} bytes in ${JSON.stringify(member.name)}`, size);
  }
  if (crc !== member.crc) {
    const hex = (value: number): string => `0x${value.toString(16).padStart(8, "0")}`;
    throw fileError(where, member.at + 16, `checksum ${hex(crc)}`, hex(member.crc));
  }
}

async function* inflate(
  chunks: AsyncIterable<Uint8Array>,
  start: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = transform(chunks, new DecompressionStream("deflate-raw"));
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (error) {
    if ((error as { code?: string }).code?.startsWith("ZP_")) throw error;
    throw fileError(where, start, "deflated data", "other bytes");
  } finally {
    reader.cancel().catch(ignore);
  }
}

const ignore = (): void => {};

/** Feeds a transform piece by piece, as fast as it is read. */
function transform(
  chunks: AsyncIterable<Uint8Array>,
  stream: CompressionStream | DecompressionStream,
): ReadableStreamDefaultReader<Uint8Array> {
  const writer = stream.writable.getWriter();
  const reader = stream.readable.getReader();
  writer.closed.catch(ignore);
  reader.closed.catch(ignore);
  const feed = async (): Promise<void> => {
    try {
      for await (const chunk of chunks) {
        for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
          await writer.ready;
          await writer.write(chunk.slice(at, at + PIECE_BYTES));
        }
      }
      await writer.close();
    } catch (error) {
      // The reader sees the same error: of the source, or of the transform itself.
      await writer.abort(error);
    }
  };
  feed().catch(ignore);
  return reader;
}

/** Bytes [begin, end) of a stream, which is read to its end all the same. */
async function* slice(
  stream: AsyncIterable<Uint8Array>,
  begin: number,
  end: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let at = 0;
  for await (const chunk of stream) {
    const part = chunk.subarray(Math.max(0, begin - at), Math.max(0, end - at));
    at += chunk.length;
    if (part.length > 0) yield part;
  }
}

/** Remainders for four bytes at a time. */
const CRC = /* @__PURE__ */ (() => {
  const table = new Int32Array(1024);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    table[byte] = crc;
  }
  for (let i = 256; i < 1024; i++) table[i] = (table[i - 256] >>> 8) ^ table[table[i - 256] & 255];
  return table;
})();

/** CRC-32 of zip and zlib. @param before  the CRC of the bytes before */
export function crc32(bytes: Uint8Array, before = 0): number {
  let crc = ~before;
  let i = 0;
  for (; i + 4 <= bytes.length; i += 4) {
    crc ^= bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24);
    crc =
      CRC[768 + (crc & 255)] ^
      CRC[512 + ((crc >>> 8) & 255)] ^
      CRC[256 + ((crc >>> 16) & 255)] ^
      CRC[crc >>> 24];
  }
  for (; i < bytes.length; i++) crc = CRC[(crc ^ bytes[i]) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** How members are written. */
export interface NpzOptions {
  /** Deflates members as `numpy.savez_compressed`; otherwise they are stored as by `numpy.savez`. Default: false. */
  readonly compressed?: boolean;
}

/**
 * The size of an npz file with stored members, as `writeNpz` writes it.
 * @throws {RangeError} `ZP_UNSUPPORTED_DTYPE`
 */
export function sizeOfNpz(tensors: Iterable<WritableTensor>): number {
  let count = 0;
  let offset = 0;
  let directory = 0;
  for (const tensor of tensors) {
    const name = new TextEncoder().encode(`${tensor.name}.npy`);
    const values = tensor.shape.reduce((product, length) => product * length, 1);
    const size = npyHeader("writeNpz", tensor).length + (bytesOf(tensor.dtype, values) as number);
    directory += centralHeader(name, false, 0, size, size, offset).length;
    offset += localHeader(name, false).length + size + 24;
    count++;
  }
  return offset + directory + endRecords(count, directory, offset).length;
}

/**
 * Writes an npz file front to back. Sizes and checksums follow each member, so the stream never goes back.
 * @throws {RangeError} `ZP_UNSUPPORTED_DTYPE` for dtypes that npy has not; `ZP_INVALID_OPTION` for a name that is
 * there twice or takes 65,532 bytes or more; `ZP_INVALID_BYTES` if a tensor gives another number of bytes than its shape says
 */
export async function* writeNpz(
  tensors: Iterable<WritableTensor>,
  { compressed = false }: NpzOptions = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  const writing = "writeNpz";
  const list = [...tensors];
  const names = new Set<string>();
  for (const { name } of list) {
    const { length } = new TextEncoder().encode(name);
    if (names.has(name) || length > 65_531) {
      const problem = `name ${JSON.stringify(name.slice(0, 80))} must be there once, of at most 65531 bytes`;
      throw rangeError("ZP_INVALID_OPTION", writing, problem);
    }
    names.add(name);
  }
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const tensor of list) {
    const name = new TextEncoder().encode(`${tensor.name}.npy`);
    const local = localHeader(name, compressed);
    yield local;
    const header = npyHeader(writing, tensor);
    const count = tensor.shape.reduce((product, length) => product * length, 1);
    let size = 0;
    let crc = 0;
    async function* plain() {
      yield header;
      yield* exactBytes(writing, tensor, bytesOf(tensor.dtype, count) as number);
    }
    async function* counted() {
      for await (const chunk of plain()) {
        size += chunk.length;
        crc = crc32(chunk, crc);
        yield chunk;
      }
    }
    let written = 0;
    for await (const chunk of compressed ? deflate(counted()) : counted()) {
      written += chunk.length;
      yield chunk;
    }
    yield fields([4, DESCRIPTOR], [4, crc], [8, written], [8, size]);
    directory.push(centralHeader(name, compressed, crc, written, size, offset));
    offset += local.length + written + 24;
  }
  let length = 0;
  for (const entry of directory) {
    length += entry.length;
    yield entry;
  }
  yield endRecords(directory.length, length, offset);
}

async function* deflate(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = transform(chunks, new CompressionStream("deflate-raw"));
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(ignore);
  }
}

/** Little-endian integers, as [bytes, value]. */
function fields(...list: (readonly [2 | 4 | 8, number])[]): Uint8Array {
  const bytes = new Uint8Array(list.reduce((length, [size]) => length + size, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [size, value] of list) {
    if (size === 2) view.setUint16(at, value, true);
    else if (size === 4) view.setUint32(at, value, true);
    else view.setBigUint64(at, BigInt(value), true);
    at += size;
  }
  return bytes;
}

function join(...parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Flags: sizes and checksum follow the data; the name is UTF-8. */
const FLAGS = 0x0808;
/** 1980-01-01, as numpy has it. */
const DATE = 0x21;
const VERSION = 45;

const localHeader = (name: Uint8Array, compressed: boolean): Uint8Array =>
  join(
    fields(
      [4, LOCAL],
      [2, VERSION],
      [2, FLAGS],
      [2, compressed ? DEFLATED : STORED],
      [2, 0],
      [2, DATE],
    ),
    fields([4, 0], [4, 0xffffffff], [4, 0xffffffff], [2, name.length], [2, 20]),
    name,
    fields([2, 1], [2, 16], [8, 0], [8, 0]),
  );

function centralHeader(
  name: Uint8Array,
  compressed: boolean,
  crc: number,
  written: number,
  size: number,
  offset: number,
): Uint8Array {
  const values = [size, written, offset];
  const large = values.filter((value) => value >= 0xffffffff);
  const [size32, written32, offset32] = values.map((value) => Math.min(value, 0xffffffff));
  const extra =
    large.length === 0
      ? new Uint8Array(0)
      : fields([2, 1], [2, 8 * large.length], ...large.map((value) => [8, value] as const));
  return join(
    fields(
      [4, CENTRAL],
      [2, VERSION],
      [2, VERSION],
      [2, FLAGS],
      [2, compressed ? DEFLATED : STORED],
    ),
    fields([2, 0], [2, DATE], [4, crc], [4, written32], [4, size32], [2, name.length]),
    fields([2, extra.length], [2, 0], [2, 0], [2, 0], [4, 0], [4, offset32]),
    name,
    extra,
  );
}

function endRecords(count: number, length: number, offset: number): Uint8Array {
  const isLarge = count >= 0xffff || length >= 0xffffffff || offset >= 0xffffffff;
  const end64 = fields(
    [4, END64],
    [8, 44],
    [2, VERSION],
    [2, VERSION],
    [4, 0],
    [4, 0],
    [8, count],
    [8, count],
  );
  const record = join(end64, fields([8, length], [8, offset]));
  const locator = fields([4, LOCATOR64], [4, 0], [8, offset + length], [4, 1]);
  const count16 = Math.min(count, 0xffff);
  const sizes = [Math.min(length, 0xffffffff), Math.min(offset, 0xffffffff)];
  const end = fields(
    [4, END],
    [2, 0],
    [2, 0],
    [2, count16],
    [2, count16],
    [4, sizes[0]],
    [4, sizes[1]],
    [2, 0],
  );
  return isLarge ? join(record, locator, end) : end;
}
