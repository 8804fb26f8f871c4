// Writes npz as numpy.savez and savez_compressed do: a zip archive of npy files.
// Source: APPNOTE.TXT 6.3 (zip), numpy.savez, Python's zipfile.

import { rangeError } from "../../base/errors.js";
import { crc32 } from "../crc32.js";
import { bytesOf } from "../dtypes.js";
import { npyHeader } from "../npy.js";
import { exactBytes, joinBytes, type WritableTensor } from "../source.js";
import {
  CENTRAL,
  DEFLATED,
  DESCRIPTOR,
  END,
  END64,
  LOCAL,
  LOCATOR64,
  STORED,
  through,
} from "./zip.js";

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
    for await (const chunk of compressed
      ? through(counted(), new CompressionStream("deflate-raw"))
      : counted()) {
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

const join = (...parts: Uint8Array[]): Uint8Array => joinBytes(parts);

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
