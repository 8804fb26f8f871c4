// Reads npz: a zip archive of npy files, stored or deflated. Sizes come from the central directory.
// Source: APPNOTE.TXT 6.3 (zip), numpy.savez, Python's zipfile.

import { show } from "../../base/format-value.js";
import { Budget } from "../budget.js";
import { crc32 } from "../crc32.js";
import { npyTensor, parseNpyHeader } from "../npy.js";
import {
  checkSource,
  decodeText,
  type FileError,
  type FileTensor,
  fileError,
  HeaderReader,
  readBytes,
  readChunks,
  type Source,
  unsupported,
} from "../source.js";
import {
  CENTRAL,
  DEFLATED,
  END,
  END64,
  inflateNow,
  LOCAL,
  LOCATOR64,
  STORED,
  through,
} from "./zip.js";

/** A member of an archive. */
interface Member {
  readonly name: string;
  /** Offset of its entry in the central directory, and of its local header. */
  readonly at: number;
  readonly offset: number;
  readonly method: number;
  readonly isEncrypted: boolean;
  readonly crc: number;
  readonly compressed: number;
  readonly size: number;
}

/** Bytes of an archive that are read at a time, at least: small members lie beside each other. */
const WINDOW_BYTES = 2 ** 16;

/** An archive that is read, and the errors of its bytes. */
class Archive {
  /** The bytes that were read last, and where they are. */
  #window: Uint8Array = new Uint8Array(0);
  #begin = 0;

  /** @param where  the called function, for messages */
  constructor(
    readonly where: string,
    readonly source: Source,
    readonly budget: Budget,
  ) {}

  /** Counts the memory of what is made of an entry at an offset. */
  spend(offset: number, bytes: number): void {
    this.budget.spend(this.where, offset, bytes);
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    const isThere = offset >= this.#begin && offset + length <= this.#begin + this.#window.length;
    if (!isThere) {
      const size = Math.max(length, Math.min(WINDOW_BYTES, this.source.size - offset));
      this.#window = await readBytes(this.where, this.source, offset, size);
      this.#begin = offset;
    }
    return this.#window.subarray(offset - this.#begin, offset - this.#begin + length);
  }

  /** Bytes [begin, end) in chunks of the window's size. */
  async *chunks(begin: number, end: number): AsyncGenerator<Uint8Array, void, undefined> {
    for (let at = begin; at < end; at += WINDOW_BYTES) {
      yield await this.read(at, Math.min(WINDOW_BYTES, end - at));
    }
  }

  fail(offset: number, expected: string, found: string | number): FileError {
    return fileError(this.where, offset, expected, found);
  }

  unsupported(offset: number, expected: string, found: string | number): FileError {
    return unsupported(this.where, offset, expected, found);
  }
}

/** Bytes that come of one byte of a deflated array of trained values, at most; zeros come to 1032. */
const MOST_HONEST = 16;

/** An npz file whose headers were read. */
export interface Npz {
  readonly format: "npz";
  readonly metadata: Map<string, string>;
  /** Tensors by name, without ".npy", in the order of the archive. */
  readonly tensors: Map<string, FileTensor>;
  /** Other members, by the name of the member without ".npy": what they are. */
  readonly unreadable: Map<string, string>;
}

/**
 * Reads the directory of an npz file and the headers of its members. Members of text, objects, dates and records, those
 * of other methods than deflate, damaged, encrypted and overlapping ones, those of one name, and files other than .npy,
 * are listed as unreadable.
 * @param where  the called function, for messages
 * @param budget  bounds the memory of the directory, and the bytes by which members are larger than 16 times what the
 * archive holds of them
 * @throws {RangeError} `ZP_INVALID_FILE` for damaged directories and archives of other files alone. If no member is read, the error of the
 * first: `ZP_INVALID_FILE` for a damaged one, `ZP_UNSUPPORTED_FILE` for encryption, other methods than deflate, and
 * dtypes as in `readNpy`. Checksums are compared when a tensor is read to its end
 */
export async function readNpz(
  given: Source,
  where = "readNpz",
  budget = new Budget(),
): Promise<Npz> {
  const source = checkSource(where, given);
  const archive = new Archive(where, source, budget);
  const { members, directory } = await readDirectory(archive);
  if (members.some(({ name }) => name.endsWith("/data.pkl"))) {
    const found =
      "PyTorch's archive of pickles, which is not read: save its tensors as safetensors";
    throw archive.unsupported(0, "an archive of .npy files", found);
  }
  if (members.length > 0 && !members.some(({ name }) => name.endsWith(".npy"))) {
    const found = `a zip archive without any; it has ${JSON.stringify(members[0].name)}`;
    throw fileError(where, 0, "an archive of .npy files", found);
  }
  const opened = await openMembers(archive, members, directory);
  const tensors = new Map<string, FileTensor>();
  const unreadable = new Map<string, string>();
  let refusal: unknown;
  for (const member of members) {
    const found = opened.get(member);
    if (found === undefined) {
      if (!member.name.endsWith("/")) unreadable.set(member.name, "no .npy file");
      continue;
    }
    const name = tensorName(member);
    if (tensors.has(name) || unreadable.has(name)) {
      refusal ??= archive.fail(member.at, "every member once", JSON.stringify(name));
      tensors.delete(name);
      unreadable.set(name, "the name of several members");
    } else if (!(found instanceof Error)) tensors.set(name, found);
    else {
      unreadable.set(name, reasonOf(found));
      refusal ??= found;
    }
  }
  if (tensors.size === 0 && refusal !== undefined) throw refusal;
  return { format: "npz", metadata: new Map(), tensors, unreadable };
}

/** Why a member is not read: its type or method, or its damage. */
const reasonOf = ({ code, offset, expected, found }: FileError): string =>
  code === "ZP_UNSUPPORTED_FILE"
    ? `of ${found}`
    : `damaged: at byte ${offset}: expected ${expected}, found ${found}`;

const tensorName = ({ name }: Member): string => name.slice(0, -4);

/**
 * Opens the arrays of an archive in the order in which they lie in it.
 * @returns tensors, and the errors of those that are damaged, or whose dtype is not read
 */
async function openMembers(
  archive: Archive,
  members: readonly Member[],
  directory: number,
): Promise<Map<Member, FileTensor | FileError>> {
  const opened = new Map<Member, FileTensor | FileError>();
  const found: { readonly member: Member; readonly start: number }[] = [];
  for (const member of [...members].sort((a, b) => a.offset - b.offset)) {
    const start = await errorOrValue(dataStart(archive, member, directory));
    if (typeof start === "number") found.push({ member, start });
    else if (isArray(member)) opened.set(member, start);
  }
  for (const [i, { member, start }] of found.entries()) {
    if (!isArray(member)) continue;
    archive.spend(member.at, 1000 + 2 * member.name.length);
    const end = found.at(i + 1)?.member.offset ?? directory;
    opened.set(member, await errorOrValue(openMember(archive, member, start, end)));
  }
  return opened;
}

const isArray = ({ name }: Member): boolean => name.endsWith(".npy");

/** A result, or the error of a file that is damaged or not supported. @throws other errors */
const errorOrValue = <T>(result: Promise<T>): Promise<T | FileError> =>
  result.catch((error: FileError) => {
    if (error.code === "ZP_UNSUPPORTED_FILE" || error.code === "ZP_INVALID_FILE") return error;
    throw error;
  });

/** @param end  where the next member begins */
async function openMember(
  archive: Archive,
  member: Member,
  start: number,
  end: number,
): Promise<FileTensor> {
  const { where, source } = archive;
  const { method, at, compressed, size } = member;
  if (start + compressed > end) {
    throw archive.fail(at + 20, `at most ${end - start} bytes of data`, compressed);
  }
  if (member.isEncrypted) {
    throw archive.unsupported(at + 8, "members without encryption", "encrypted data");
  }
  if (method !== STORED && method !== DEFLATED) {
    const found = `compression method ${method}`;
    throw archive.unsupported(at + 10, "method 0 (stored) or 8 (deflated)", found);
  }
  const isStored = method === STORED;
  if (isStored && compressed !== size) {
    throw archive.fail(at + 20, `${size} stored bytes`, compressed);
  }
  const whole = {
    size,
    read: (first: number, length: number) =>
      isStored
        ? archive.read(start + first, length)
        : firstBytes(archive, member, start, first + length).then((all) => all.subarray(first)),
  };
  const reader = new HeaderReader(`${where}: ${show(member.name)}`, whole);
  const header = await reader.run(() => parseNpyHeader(reader));
  const begin = header.headerLength;
  const chunks = () => slice(memberBytes(archive, member, start), begin, begin + header.byteLength);
  const span = isStored ? { source, offset: start + begin } : undefined;
  // What is inflated is inflated once, as far as the memory allows.
  const tileBytes = isStored ? undefined : archive.budget.maxBytes;
  return npyTensor(where, tensorName(member), header, chunks, span, tileBytes);
}

/** Finds and reads the central directory. */
async function readDirectory(archive: Archive): Promise<{ members: Member[]; directory: number }> {
  const { size } = archive.source;
  const tailStart = Math.max(0, size - 65_557);
  const tail = await archive.read(tailStart, size - tailStart);
  const view = new DataView(tail.buffer, tail.byteOffset, tail.length);
  let at = tail.length - 22;
  while (
    at >= 0 &&
    !(view.getUint32(at, true) === END && at + 22 + view.getUint16(at + 20, true) === tail.length)
  ) {
    at--;
  }
  if (at < 0) throw archive.fail(size, "an end record of a zip archive before", "none");
  let count = view.getUint16(at + 10, true);
  let length = view.getUint32(at + 12, true);
  let directory = view.getUint32(at + 16, true);
  let end = tailStart + at;
  if (at >= 20 && view.getUint32(at - 20, true) === LOCATOR64) {
    const record = toNumber(archive, view, at - 12, end - 12);
    end -= 20;
    if (record + 56 > end) throw archive.fail(end, `a record before byte ${end}`, record);
    const bytes = await archive.read(record, 56);
    const fields = new DataView(bytes.buffer, bytes.byteOffset, 56);
    if (fields.getUint32(0, true) !== END64) {
      throw archive.fail(record, "a zip64 end record", "other bytes");
    }
    count = toNumber(archive, fields, 32, record + 32);
    length = toNumber(archive, fields, 40, record + 40);
    directory = toNumber(archive, fields, 48, record + 48);
    end = record;
  }
  if (directory + length > end || count > length / 46) {
    const expected = `a directory of ${count} members before byte ${end}`;
    throw archive.fail(end, expected, `${length} bytes at ${directory}`);
  }
  archive.spend(directory, length);
  const bytes = await archive.read(directory, length);
  return { members: parseDirectory(archive, bytes, directory, count), directory };
}

/** A 64-bit integer. @param offset  of the field in the file */
function toNumber(archive: Archive, view: DataView, at: number, offset: number): number {
  const value = view.getBigUint64(at, true);
  if (value >= 2n ** 53n) throw archive.fail(offset, "a size below 2^53", `${value}`);
  return Number(value);
}

function parseDirectory(
  archive: Archive,
  bytes: Uint8Array,
  start: number,
  count: number,
): Member[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const members: Member[] = [];
  let at = 0;
  for (let i = 0; i < count; i++) {
    const offset = start + at;
    if (at + 46 > bytes.length || view.getUint32(at, true) !== CENTRAL) {
      throw archive.fail(offset, `entry ${i} of the directory`, "other bytes or its end");
    }
    const nameEnd = at + 46 + view.getUint16(at + 28, true);
    const extraEnd = nameEnd + view.getUint16(at + 30, true);
    const next = extraEnd + view.getUint16(at + 32, true);
    if (next > bytes.length) throw archive.fail(offset, "an entry within the directory", next);
    const isEncrypted = (view.getUint16(at + 8, true) & 1) !== 0;
    const method = view.getUint16(at + 10, true);
    const nameBytes = bytes.subarray(at + 46, nameEnd);
    const name = decodeText(nameBytes) ?? new TextDecoder("latin1").decode(nameBytes);
    archive.spend(offset, 300 + 2 * name.length);
    const sizes = [24, 20, 42].map((field) => view.getUint32(at + field, true));
    readZip64(archive, view, nameEnd, extraEnd, start, sizes);
    const [uncompressed, compressed, local] = sizes;
    archive.spend(offset, Math.max(0, uncompressed - MOST_HONEST * compressed));
    const crc = view.getUint32(at + 16, true);
    const form = { method, isEncrypted, crc, compressed, size: uncompressed };
    members.push({ name, at: offset, offset: local, ...form });
    at = next;
  }
  return members;
}

/** Replaces sizes that do not fit in 32 bits by those of the zip64 extra field. */
function readZip64(
  archive: Archive,
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
      if (field + 8 > fieldEnd) throw archive.fail(start + at, "64-bit sizes", "fewer bytes");
      sizes[i] = toNumber(archive, view, field, start + field);
      field += 8;
    }
  }
}

/** Where the bytes of a member start. */
async function dataStart(archive: Archive, member: Member, directory: number): Promise<number> {
  const { offset, at } = member;
  if (offset + 30 > directory) {
    throw archive.fail(at + 42, `a local header before byte ${directory}`, offset);
  }
  const bytes = await archive.read(offset, 30);
  const view = new DataView(bytes.buffer, bytes.byteOffset, 30);
  if (view.getUint32(0, true) !== LOCAL)
    throw archive.fail(offset, "a local header", "other bytes");
  const start = offset + 30 + view.getUint16(26, true) + view.getUint16(28, true);
  return start;
}

/** The first bytes of a deflated member. */
async function firstBytes(
  archive: Archive,
  member: Member,
  start: number,
  length: number,
): Promise<Uint8Array> {
  if (Math.max(member.size, member.compressed) <= WINDOW_BYTES) {
    const small = await archive.read(start, member.compressed);
    try {
      const whole = inflateNow(small, member.size);
      if (whole !== undefined) return whole.subarray(0, length);
    } catch {
      throw archive.fail(start, "deflated data", "other bytes");
    }
  }
  const bytes = new Uint8Array(length);
  let filled = 0;
  const stored = archive.chunks(start, start + member.compressed);
  for await (const chunk of inflate(archive, stored, start)) {
    const part = chunk.subarray(0, length - filled);
    bytes.set(part, filled);
    filled += part.length;
    if (filled === length) break;
  }
  return bytes.subarray(0, filled);
}

/** All bytes of a member. @throws {RangeError} `ZP_INVALID_FILE` if size or checksum differ from the directory's */
async function* memberBytes(
  archive: Archive,
  member: Member,
  start: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { where, source } = archive;
  const stored = readChunks(where, source, start, start + member.compressed);
  const chunks = member.method === STORED ? stored : inflate(archive, stored, start);
  let size = 0;
  let crc = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > member.size) break;
    crc = crc32(chunk, crc);
    yield chunk;
  }
  if (size !== member.size) {
    throw archive.fail(start, `${member.size} bytes in ${JSON.stringify(member.name)}`, size);
  }
  if (crc !== member.crc) {
    const hex = (value: number): string => `0x${value.toString(16).padStart(8, "0")}`;
    throw archive.fail(member.at + 16, `checksum ${hex(crc)}`, hex(member.crc));
  }
}

async function* inflate(
  archive: Archive,
  chunks: AsyncIterable<Uint8Array>,
  start: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* through(chunks, new DecompressionStream("deflate-raw"));
  } catch (error) {
    if ((error as { code?: string }).code?.startsWith("ZP_")) throw error;
    throw archive.fail(start, "deflated data", "other bytes");
  }
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
