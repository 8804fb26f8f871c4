// Writes GGUF as ggml does: version 3, little-endian.
// Source: ggml 0.27 (gguf.cpp).

import { rangeError } from "../../base/errors.js";
import { bytesOf, dtypeInfo } from "../dtypes.js";
import { countElements, exactBytes, joinBytes, type WritableTensor } from "../source.js";
import {
  ARRAYS,
  alignmentOf,
  GGUFEntry,
  type GGUFType,
  type GGUFValue,
  ggmlTypeNumber,
  typeNumber,
} from "./types.js";

/** The longest name ggml takes, in bytes. */
const MAX_NAME = 63;

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
  return new GGUFEntry("array", joinBytes([head, ...parts]));
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
  return joinBytes([head, bytes]);
}

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
  const header = joinBytes(parts);
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
    const takes =
      shape.length > 4
        ? "at most 4 axes in a GGUF file"
        : `a multiple of ${blockLength} as its last length for ${dtype}`;
    const problem = `${label} must have ${takes}, got [${shape.join(", ")}]`;
    throw rangeError("ZP_INVALID_SHAPE", where, problem);
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
      throw refuse(`must have a name of at most ${limit} bytes in a GGUF file; it has ${length}`);
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
  for (const tensor of layout.tensors) yield* paddedTensor(layout, tensor);
}

/** The bytes of a tensor and of the padding behind it. */
async function* paddedTensor(
  { alignment }: GGUFLayout,
  { tensor, byteLength }: GGUFLayout["tensors"][number],
): AsyncGenerator<Uint8Array, void, undefined> {
  yield* exactBytes("writeGGUF", tensor, byteLength);
  const padding = padded(byteLength, alignment) - byteLength;
  if (padding > 0) yield new Uint8Array(padding);
}

/** The tensors of a GGUF file behind its header, each with its padding. */
export const ggufTensors = (layout: GGUFLayout) =>
  layout.tensors.map((tensor) => ({
    byteLength: padded(tensor.byteLength, layout.alignment),
    bytes: () => paddedTensor(layout, tensor),
  }));
