// Tensors whose bytes stay in memory after the first read of them.

import { newArray } from "../../base/typed-arrays.js";
import { type FileTensor, readScratch, type Source } from "../../formats/source.js";
import { HELD_BYTES } from "./memory.js";

/** Memory that several tensors use, one after the other. */
export class SharedBytes {
  #bytes: Uint8Array = new Uint8Array(0);

  /** Bytes of any content, valid until the next call. @throws {RangeError} `ZP_OUT_OF_MEMORY` */
  take(where: string, length: number): Uint8Array {
    if (this.#bytes.length < length) this.#bytes = newArray(where, Uint8Array, length);
    return this.#bytes.subarray(0, length);
  }
}

/** Whether `heldTensor` keeps the bytes of a tensor. */
export const isHeld = ({ byteLength }: FileTensor): boolean => byteLength <= HELD_BYTES;

/** A tensor that is read once, if it is not larger than the budget; else the tensor itself. */
export function heldTensor(where: string, file: FileTensor, memory: SharedBytes): FileTensor {
  if (!isHeld(file)) return file;
  const { name, shape, dtype, byteLength, span } = file;
  let held: Uint8Array | undefined;
  /** Bytes that are there. */
  let filled = 0;
  let chunks: AsyncIterator<Uint8Array> | undefined;
  const next = async (bytes: Uint8Array, end: number): Promise<Uint8Array | undefined> => {
    if (span !== undefined) {
      const { source, offset } = span;
      const out = bytes.subarray(filled, end);
      return await readScratch(where, source, offset + filled, out.length, out);
    }
    chunks ??= file.bytes();
    const { done, value } = await chunks.next();
    return done ? undefined : value;
  };
  const read = async (offset: number, length: number): Promise<Uint8Array> => {
    held ??= memory.take(where, byteLength);
    const end = offset + length;
    while (filled < end) {
      const bytes = await next(held, end);
      if (bytes === undefined) break;
      if (bytes.buffer !== held.buffer) held.set(bytes, filled);
      filled += bytes.length;
    }
    return held.subarray(offset, Math.min(end, filled));
  };
  const source: Source = { size: byteLength, read };
  const bytes: FileTensor["bytes"] = (begin, end) => file.bytes(begin, end);
  return { name, shape, dtype, byteLength, span: { source, offset: 0 }, bytes };
}
