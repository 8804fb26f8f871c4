// Typed arrays from anywhere: another realm, shared or resizable memory, transferred away.
//
// The intrinsic getters read what the engine itself knows of an array. `instanceof` fails across
// realms, and a subclass that overrides `length` could make a copy run past its place in the heap.

import { type Codes, type CodesOf, DTYPES, type DType, type QDType } from "./dtype.js";
import { type ErrorCode, rangeError, typeError } from "./errors.js";

/** A typed array of numbers (BigInt arrays hold none). */
export type NumberArray = ArrayLike<number> & ArrayBufferView;

const typedArrayPrototype = Object.getPrototypeOf(Uint8Array.prototype) as object;

function getter(key: string | symbol): () => unknown {
  return Object.getOwnPropertyDescriptor(typedArrayPrototype, key)?.get as () => unknown;
}

// Each has a function of its own below, which engines can then inline.
const getName = /* @__PURE__ */ getter(Symbol.toStringTag);
const getLength = /* @__PURE__ */ getter("length");
const getBuffer = /* @__PURE__ */ getter("buffer");
const getByteOffset = /* @__PURE__ */ getter("byteOffset");
const getByteLength = /* @__PURE__ */ getter("byteLength");
const { set } = Uint8Array.prototype;
const { keys } = Uint8Array.prototype;

/** "Float32Array" and the like; undefined for anything but a typed array. */
export function arrayName(value: unknown): string | undefined {
  return getName.call(value) as string | undefined;
}

/** Whether a value is an array, plain or typed. */
export function isArray(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || arrayName(value) !== undefined;
}

/** How many elements a typed array has. */
export function arrayLength(array: unknown): number {
  return getLength.call(array) as number;
}

/** How many elements an array has, plain or typed. */
export function lengthOf(array: ArrayLike<unknown>): number {
  return Array.isArray(array) ? array.length : arrayLength(array);
}

function arrayBuffer(array: unknown): ArrayBufferLike {
  return getBuffer.call(array) as ArrayBufferLike;
}

function arrayByteOffset(array: unknown): number {
  return getByteOffset.call(array) as number;
}

function arrayByteLength(array: unknown): number {
  return getByteLength.call(array) as number;
}

/** Copies a typed array into another, from `start` of it on. */
export function setArray(to: NumberArray, from: NumberArray, start: number): void {
  set.call(to as Uint8Array, from, start);
}

/** The arrays that hold codes and values, here and in the heap, as they are when this module loads. */
export const ARRAYS = {
  Int8Array,
  Uint8Array,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
};

/** The constructor of the array that holds codes of a dtype. */
export function codesArray<D extends DType | QDType>(dtype: D): ArrayConstructor<CodesOf<D>> {
  return ARRAYS[DTYPES[dtype].arrayName] as ArrayConstructor<unknown> as ArrayConstructor<
    CodesOf<D>
  >;
}

/** The constructors of all typed arrays of numbers. */
const CONSTRUCTORS: Readonly<Record<string, NumberArrayConstructor>> = {
  ...ARRAYS,
  Uint8ClampedArray,
  // Engines have it since 2025.
  Float16Array: (globalThis as unknown as Record<string, NumberArrayConstructor>).Float16Array,
};

/**
 * A typed array of numbers whose memory is there and whose length cannot change under a copy.
 * @param name  what `arrayName` says of `array`
 * @throws {TypeError} with `code` for an array of BigInts; `ZP_DETACHED`
 */
export function checkNumberArray(
  where: string,
  argument: string,
  name: string,
  array: unknown,
  code: ErrorCode,
): NumberArray {
  if (name.startsWith("Big")) {
    throw typeError(code, where, `${argument} must hold numbers, got a ${name} of BigInts`);
  }
  if (isDetached(array)) {
    throw typeError(
      "ZP_DETACHED",
      where,
      `the memory of ${argument}, of type ${name}, is detached (transferred or shrunk away)`,
    );
  }
  const buffer = arrayBuffer(array);
  // Another thread may grow such memory, and the array with it, between measuring and copying it.
  if ((buffer as { growable?: boolean }).growable === true) {
    return new CONSTRUCTORS[name](buffer, arrayByteOffset(array), arrayLength(array));
  }
  return array as NumberArray;
}

type NumberArrayConstructor = new (
  buffer: ArrayBufferLike,
  byteOffset: number,
  length: number,
) => NumberArray;

/** Whether the memory behind a typed array is gone; its length is 0 then, but not only then. */
function isDetached(array: unknown): boolean {
  if (arrayLength(array) !== 0) return false;
  try {
    // Iterating validates the array.
    keys.call(array as Uint8Array);
    return false;
  } catch {
    return true;
  }
}

/** Numbers as float32: the array itself if it is one of these. */
export function asFloat32(array: NumberArray): Float32Array {
  return arrayName(array) === "Float32Array" ? (array as Float32Array) : Float32Array.from(array);
}

/**
 * Refuses an array that was resized or transferred since it was checked: by a getter among the
 * arguments, or while an asynchronous function was at work.
 */
export function checkStillThere(where: string, array: NumberArray, size: number): void {
  const now = arrayLength(array);
  if (now === size) return;
  throw typeError(
    "ZP_DETACHED",
    where,
    `an array, ${arrayName(array)}, was resized or transferred while it was in use: it ` +
      `had ${size} values, now it has ${now}`,
  );
}

/** Whether two typed arrays share a byte. */
export function overlap(a: NumberArray, b: NumberArray): boolean {
  if (arrayBuffer(a) !== arrayBuffer(b)) return false;
  const start = Math.max(arrayByteOffset(a), arrayByteOffset(b));
  const aEnd = arrayByteOffset(a) + arrayByteLength(a);
  const bEnd = arrayByteOffset(b) + arrayByteLength(b);
  return start < Math.min(aEnd, bEnd);
}

/** The elements of a typed array from `start` up to, but without, `end`, on the same memory. */
export function subarrayOf(array: NumberArray, start: number, end: number): NumberArray {
  const type = CONSTRUCTORS[arrayName(array) as string];
  const elementBytes = arrayLength(array) === 0 ? 1 : arrayByteLength(array) / arrayLength(array);
  return new type(arrayBuffer(array), arrayByteOffset(array) + start * elementBytes, end - start);
}

/** What makes typed arrays of one type. */
export interface ArrayConstructor<T> {
  new (length: number): T;
  readonly BYTES_PER_ELEMENT: number;
}

/** A new typed array. @throws {RangeError} `ZP_OUT_OF_MEMORY` with the size in it */
export function newArray<T>(where: string, type: ArrayConstructor<T>, length: number): T {
  try {
    return new type(length);
  } catch {
    const bytes = length * type.BYTES_PER_ELEMENT;
    throw rangeError(
      "ZP_OUT_OF_MEMORY",
      where,
      `not enough memory for an array of ${length} values (${bytes} bytes)`,
    );
  }
}

/** All bits that some word has, or that differ there from the one below them where `carried` is -1. */
function joinBits(words: Int32Array | Uint8Array, carried: 0 | -1): number {
  let bits = 0;
  for (let i = 0; i < words.length; i++) bits |= words[i] ^ ((words[i] << 1) & carried);
  return bits;
}

/**
 * The index of the first code that a dtype of less than 8 bits cannot hold, or -1.
 *
 * Looks at four codes at a time: a byte holds an unsigned code if its high bits are 0, and a signed
 * one if they all equal its sign bit. Then no bit from there up differs from the one below it, which
 * `word ^ (word << 1)` shows without mixing bytes.
 */
export function findMisfit(codes: Int8Array | Uint8Array, dtype: DType | QDType): number {
  const { bits, qmin, qmax } = DTYPES[dtype];
  const start = arrayByteOffset(codes);
  const bytes = new Uint8Array(arrayBuffer(codes), start, arrayByteLength(codes));
  const head = Math.min(bytes.length, -start & 3);
  const wordCount = Math.floor((bytes.length - head) / 4);
  const carried = qmin < 0 ? -1 : 0;
  let seen = joinBits(bytes.subarray(0, head), carried);
  seen |= joinBits(bytes.subarray(head + 4 * wordCount), carried);
  // Signed words, since engines leave the integers for unsigned ones; none have no address.
  if (wordCount > 0) {
    seen |= joinBits(new Int32Array(bytes.buffer, start + head, wordCount), carried);
  }
  const highBits = ((0xff << bits) & 0xff) * 0x01010101;
  if ((seen & highBits) === 0) return -1;
  return Array.prototype.findIndex.call(codes, (code) => code < qmin || code > qmax);
}

/** Whether all integers lie in a range: for many of them, where a function for each would be slow. */
export function areWithin(integers: Int32Array, low: number, high: number): boolean {
  for (let i = 0; i < integers.length; i++) {
    if (integers[i] < low || integers[i] > high) return false;
  }
  return true;
}

/** Whether all numbers are finite and > 0: as integers their bits are those of 2^-149 and more. */
export function arePositive(numbers: Float32Array): boolean {
  const bits = new Int32Array(arrayBuffer(numbers), arrayByteOffset(numbers), arrayLength(numbers));
  return areWithin(bits, 1, 0x7f7fffff);
}

/** The memory of codes as bytes. */
export function bytesOf(codes: Codes): Uint8Array {
  return new Uint8Array(arrayBuffer(codes), arrayByteOffset(codes), arrayByteLength(codes));
}
