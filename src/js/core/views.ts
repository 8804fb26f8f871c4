// A memory as typed arrays.

import { ARRAYS } from "../base/typed-arrays.js";

/** The element types that cross between JavaScript and the heap. */
export type ElementType = keyof typeof ARRAYS;

/** Views of all of a memory, one for each element type. */
type Whole = { readonly [T in ElementType]: InstanceType<(typeof ARRAYS)[T]> };

function wholeOf(buffer: ArrayBufferLike): Whole {
  const views = Object.entries(ARRAYS).map(([type, View]) => [
    type,
    new View(buffer as ArrayBuffer),
  ]);
  return Object.fromEntries(views) as Whole;
}

/** A memory as typed arrays. */
export class Views {
  declare readonly buffer: ArrayBufferLike;
  declare readonly whole: Whole;
  /** The last part and its type, kept here: a getter of the array could be overridden. */
  #part: Whole[ElementType] | undefined;
  #type: ElementType | undefined;
  #offset = 0;
  #count = 0;

  constructor(buffer: ArrayBufferLike) {
    this.buffer = buffer;
    this.whole = wholeOf(buffer);
  }

  /** A view of `count` elements, cached: a layer in a loop uses the same view repeatedly without garbage. */
  part(type: ElementType, offset: number, count: number): Whole[ElementType] {
    let part = this.#part;
    if (
      part === undefined ||
      this.#type !== type ||
      this.#offset !== offset ||
      this.#count !== count
    ) {
      part = new ARRAYS[type](this.buffer as ArrayBuffer, offset, count);
      this.#part = part;
      this.#type = type;
      this.#offset = offset;
      this.#count = count;
    }
    return part;
  }
}

/** Bytes of an element. Literals, since engines read them faster than a constructor's property. */
export const ELEMENT_BYTES: { readonly [T in ElementType]: number } = {
  Int8Array: 1,
  Uint8Array: 1,
  Int16Array: 2,
  Uint16Array: 2,
  Int32Array: 4,
  Uint32Array: 4,
  Float32Array: 4,
  Float64Array: 8,
};

/** Bytes of `count` elements in the heap. */
export function bytesIn(type: ElementType, count: number): number {
  return ELEMENT_BYTES[type] * count;
}
