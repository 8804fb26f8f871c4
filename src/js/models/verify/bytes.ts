// Two runs of bytes, compared window by window.

import { joinBytes } from "../../formats/source.js";

/** Bytes of a window at most. */
const WINDOW = 2 ** 19;

/** Bytes that differ in a tensor. */
export interface ByteDifference {
  /** Offset of the first byte that differs. */
  readonly byte: number;
  /** Number of bytes that differ. */
  readonly bytes: number;
  /** Number of units that differ: blocks, or rows. */
  readonly units: number;
  /** Up to eight bytes from the first difference on, in hexadecimal. */
  readonly expected: string;
  readonly found: string;
}

/** A stream of bytes that is read in pieces of any length. */
class Cursor {
  readonly #chunks: AsyncIterator<Uint8Array> | Iterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array(0);

  constructor(stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) {
    this.#chunks =
      Symbol.asyncIterator in stream ? stream[Symbol.asyncIterator]() : stream[Symbol.iterator]();
  }

  /** The next bytes; fewer at the end. */
  async take(length: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for (let left = length; left > 0; ) {
      if (this.#rest.length === 0) {
        const { done, value } = await this.#chunks.next();
        if (done) break;
        this.#rest = value;
        continue;
      }
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      // The next chunk may take the place of this one in memory.
      parts.push(part.slice());
    }
    return parts.length === 1 ? parts[0] : joinBytes(parts);
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }
}

/** Called for a unit that differs. @returns whether it counts as equal */
export type ExamineUnit = (
  unit: number,
  expected: Uint8Array,
  found: Uint8Array,
) => boolean | Promise<boolean>;

/**
 * Compares streams.
 * @param unit  bytes of a block or a row, by which differences are counted
 * @param examine  blocks that it lets pass are not counted
 * @param advance  called with bytes that were compared
 * @returns undefined if no byte differs but those that `examine` lets pass
 */
export async function compareBytes(
  expected: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  found: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  unit: number,
  examine: ExamineUnit | undefined,
  advance: (bytes: number) => void,
): Promise<ByteDifference | undefined> {
  const [a, b] = [new Cursor(expected), new Cursor(found)];
  const length = unit > WINDOW ? WINDOW : Math.floor(WINDOW / unit) * unit;
  let first: Omit<ByteDifference, "bytes" | "units"> | undefined;
  let bytes = 0;
  let units = 0;
  let lastUnit = -1;
  try {
    for (let at = 0; ; at += length) {
      const [x, y] = [await a.take(length), await b.take(length)];
      const size = Math.max(x.length, y.length);
      if (size === 0) break;
      advance(y.length);
      for (let i = 0; i < size; i++) {
        if (x[i] === y[i]) continue;
        const index = Math.floor((at + i) / unit);
        const begin = index * unit - at;
        const end = begin + unit;
        // Blocks lie in one window.
        if (examine !== undefined && index !== lastUnit) {
          if (await examine(index, x.subarray(begin, end), y.subarray(begin, end))) {
            i = end - 1;
            continue;
          }
        }
        first ??= { byte: at + i, expected: hex(x, i), found: hex(y, i) };
        bytes++;
        if (index !== lastUnit) units++;
        lastUnit = index;
      }
      if (size < length) break;
    }
  } finally {
    await a.close();
    await b.close();
  }
  return first && { ...first, bytes, units };
}

/** Up to eight bytes in hexadecimal. */
const hex = (bytes: Uint8Array, at: number): string =>
  Array.from(bytes.subarray(at, at + 8), (byte) => byte.toString(16).padStart(2, "0")).join("");
