// An array of the calling thread's that the library's end of a connection reads part by part.

import { type NumberArray, setArray } from "../../base/typed-arrays.js";

/** Values of a part in a copy of the whole array. */
const PART = 2 ** 18;

/** Parts whose memory is kept for the next ones. */
const MOST_FREE = 8;

/** Type name and length of an array. */
export interface ArrayForm {
  readonly type: string;
  readonly length: number;
}

/** Asks the calling thread for values. @param memory  takes them; undefined for new memory */
export type Read = (
  offset: number,
  size: number,
  memory: ArrayBuffer | undefined,
) => Promise<ArrayBuffer>;

/** A new typed array, or one on given memory. */
export function arrayOf(
  type: string,
  memory: ArrayBuffer | number,
  offset?: number,
  length?: number,
): NumberArray {
  const scope = globalThis as unknown as Record<
    string,
    new (
      memory: unknown,
      offset?: number,
      length?: number,
    ) => NumberArray
  >;
  return new scope[type](memory, offset, length);
}

/** An array on the calling thread. */
export class Incoming implements ArrayForm {
  readonly type: string;
  readonly length: number;
  readonly #read: Read;
  readonly #free: ArrayBuffer[];

  /** @param free  memory of parts that are no longer used, of all arrays of a connection */
  constructor({ type, length }: ArrayForm, free: ArrayBuffer[], read: Read) {
    this.type = type;
    this.length = length;
    this.#free = free;
    this.#read = read;
  }

  /** Copies some values, into memory of an earlier part if there is any. */
  async #part(offset: number, size: number): Promise<NumberArray> {
    const memory = await this.#read(offset, size, this.#free.pop());
    return arrayOf(this.type, memory, 0, size);
  }

  /**
   * Copies the whole array. Its pages are touched first on this thread, not on the calling one.
   * @param onRead  called with values as they are read
   */
  async whole(onRead: (size: number) => void): Promise<NumberArray> {
    if (this.length <= PART) return await this.#part(0, this.length);
    const all = arrayOf(this.type, this.length);
    const parts: Promise<NumberArray>[] = [];
    const sizeAt = (offset: number) => Math.min(PART, this.length - offset);
    let asked = 0;
    for (let at = 0; at < this.length; at += PART) {
      for (; asked < this.length && asked <= at + 2 * PART; asked += PART) {
        const part = this.#part(asked, sizeAt(asked));
        // An aborted call rejects all of them, but waits for one: in Node an unhandled one ends the worker.
        part.catch(() => undefined);
        parts.push(part);
      }
      const part = await (parts.shift() as Promise<NumberArray>);
      setArray(all, part, at);
      onRead(part.length);
      if (this.#free.length < MOST_FREE) this.#free.push(part.buffer as ArrayBuffer);
    }
    return all;
  }
}
