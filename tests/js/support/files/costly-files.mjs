// Small files that a careless reader makes gigabytes of, or hours of work: of metadata, text, zeros, members and names.

import { constants, deflateRawSync } from "node:zlib";

const encoder = new TextEncoder();

/** Bytes of integers, little-endian: [width in bytes, value] each. */
function integers(...fields) {
  const bytes = new Uint8Array(fields.reduce((sum, [width]) => sum + width, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [width, value] of fields) {
    if (width === 8) view.setBigUint64(at, BigInt(value), true);
    else if (width === 4) view.setUint32(at, value, true);
    else view.setUint16(at, value, true);
    at += width;
  }
  return bytes;
}

/** One array filled with copies of the bytes of one item. */
function filled(count, item) {
  const bytes = new Uint8Array(count * item.length);
  bytes.set(item);
  for (let done = item.length; done < bytes.length; done *= 2) bytes.copyWithin(done, 0, done);
  return bytes;
}

const [UINT8, STRING, ARRAY] = [0, 8, 9];

/** A GGUF file with one key: an array of a number of items of a type. */
const ggufOf = (type, count, item) =>
  new Blob([
    encoder.encode("GGUF"),
    integers([4, 3], [8, 0], [8, 1], [8, 1]),
    encoder.encode("k"),
    integers([4, ARRAY], [4, type], [8, count]),
    filled(count, item),
  ]);

/** GGUF metadata of about `size` bytes: an array of short texts, as a tokenizer has them. */
export const ggufTexts = (size) =>
  ggufOf(STRING, Math.floor(size / 10), new Uint8Array([2, 0, 0, 0, 0, 0, 0, 0, 97, 98]));

/** GGUF metadata of about `size` bytes: an array of empty arrays. */
export const ggufArrays = (size) =>
  ggufOf(ARRAY, Math.floor(size / 12), integers([4, UINT8], [8, 0]));

/** A safetensors file of a header of about `size` bytes: one text in which each character is escaped. */
export function escapedText(size) {
  const [before, after] = ['{"__metadata__":{"k":"', '"}}'].map((text) => encoder.encode(text));
  const text = filled(Math.floor(size / 6), encoder.encode("\\u0041"));
  const length = before.length + text.length + after.length;
  return new Blob([integers([8, length]), before, text, after]);
}

/** The text of a config.json of about `size` bytes: an array of empty objects. */
export function emptyObjects(size) {
  const text = filled(Math.floor(size / 3), encoder.encode("{},"));
  return new Blob(["[", text, "{}]"]);
}

/** A zip archive. @param members  [name, crc, size, method, stored bytes or Blob] each */
function zipOf(members) {
  const parts = [];
  const directory = [];
  let offset = 0;
  for (const [name, crc, size, method, data] of members) {
    const bytes = encoder.encode(name);
    const compressed = data.size ?? data.length;
    const common = [
      [2, 20],
      [2, 0],
      [2, method],
      [4, 0],
      [4, crc],
      [4, compressed],
      [4, size],
    ];
    parts.push(integers([4, 0x04034b50], ...common, [2, bytes.length], [2, 0]), bytes, data);
    const rest = [
      [2, bytes.length],
      [2, 0],
      [2, 0],
      [2, 0],
      [2, 0],
      [4, 0],
      [4, offset],
    ];
    directory.push(integers([4, 0x02014b50], [2, 20], ...common, ...rest), bytes);
    offset += 30 + bytes.length + compressed;
  }
  const central = new Blob(directory);
  const count = [2, members.length];
  const end = integers(
    [4, 0x06054b50],
    [4, 0],
    count,
    count,
    [4, central.size],
    [4, offset],
    [2, 0],
  );
  return new Blob([...parts, central, end]);
}

/** The header of an npy file. */
function npyHead(descr, isFortran, shape) {
  const order = isFortran ? "True" : "False";
  const text = `{'descr': '${descr}', 'fortran_order': ${order}, 'shape': (${shape.join(", ")},), }`;
  const padded = `${text.padEnd(117)}\n`;
  return Buffer.concat([
    Buffer.from("\x93NUMPY", "latin1"),
    integers([2, 1], [2, padded.length]),
    encoder.encode(padded),
  ]);
}

/** Deflated bytes: a head, then `count` times 16 MiB of zeros. */
function deflatedZeros(head, count) {
  const finishFlush = constants.Z_FULL_FLUSH;
  const zeros = deflateRawSync(new Uint8Array(2 ** 24), { finishFlush, level: 9 });
  const first = deflateRawSync(head, { finishFlush });
  return new Blob([first, ...Array.from({ length: count }, () => zeros), new Uint8Array([3, 0])]);
}

/** An npz file of one array of `count` times 16 MiB of zeros, whose checksum is not right. */
export function npzZeros(count) {
  const head = npyHead("|u1", false, [count * 2 ** 24]);
  const data = deflatedZeros(head, count);
  return zipOf([["a.npy", 0, head.length + count * 2 ** 24, 8, data]]);
}

/** An npz file of many small arrays, deflated or stored. @param crc  checksum of bytes */
export function npzMembers(count, crc, isDeflated = true) {
  const head = npyHead("<f4", false, [2]);
  const bytes = new Uint8Array(head.length + 8);
  bytes.set(head);
  const data = isDeflated ? deflateRawSync(bytes) : bytes;
  const member = [crc(bytes), bytes.length, isDeflated ? 8 : 0, data];
  return zipOf(Array.from({ length: count }, (_, i) => [`m${i}.npy`, ...member]));
}

/** An npz file of one column-major matrix of float32, deflated: value i of the stored order is i mod 1021. */
export function npzColumns(rows, columns, crc) {
  const head = npyHead("<f4", true, [rows, columns]);
  const bytes = new Uint8Array(head.length + 4 * rows * columns);
  bytes.set(head);
  const view = new DataView(bytes.buffer, head.length);
  for (let i = 0; i < rows * columns; i++) view.setFloat32(4 * i, i % 1021, true);
  return zipOf([["a.npy", crc(bytes), bytes.length, 8, deflateRawSync(bytes, { level: 1 })]]);
}

/** An index of shards that names a tensor `t<i>` in each of some files. */
export const indexOf = (names) =>
  encoder.encode(
    JSON.stringify({ weight_map: Object.fromEntries(names.map((name, i) => [`t${i}`, name])) }),
  );

/** A shard with many small tensors, t<first> and those after it. */
export function manyTensors(count, first = 0) {
  const entries = Array.from(
    { length: count },
    (_, i) => `"t${first + i}":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`,
  );
  const header = encoder.encode(`{${entries.join(",")}}`);
  return new Blob([integers([8, header.length]), header]);
}
