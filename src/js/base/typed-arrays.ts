// Typed arrays of any origin: another realm, shared, resizable or transferred memory.
//
// The intrinsic getters read the engine's internal slots of an array. `instanceof` fails across realms,
// and a subclass that overrides `length` could make a copy overrun its heap block.

import { type Codes, type CodesOf, DTYPES, type DType, type QDType } from "./dtype.js";
import { type ErrorCode, rangeError, typeError, type ZeropointError } from "./errors.js";
import { type HalfType, Halves, halfValue } from "./halves.js";

/** A typed array of numbers (BigInt arrays hold none). */
export type NumberArray = ArrayLike<number> & ArrayBufferView;

const typedArrayPrototype = Object.getPrototypeOf(Uint8Array.prototype) as object;

function getter(key: string | symbol, prototype = typedArrayPrototype): () => unknown {
  return Object.getOwnPropertyDescriptor(prototype, key)?.get as () => unknown;
}

// Each has a separate wrapper function below, which engines can inline.
const getName = /* @__PURE__ */ getter(Symbol.toStringTag);
const getLength = /* @__PURE__ */ getter("length");
const getBuffer = /* @__PURE__ */ getter("buffer");
const getByteOffset = /* @__PURE__ */ getter("byteOffset");
const getByteLength = /* @__PURE__ */ getter("byteLength");
/** Throws for anything but an unshared buffer. */
const getBufferLength = /* @__PURE__ */ getter("byteLength", ArrayBuffer.prototype);
/** Undefined in engines without shared memory, or without growable shared memory. */
const getGrowable = /* @__PURE__ */ (() =>
  typeof SharedArrayBuffer === "function"
    ? (getter("growable", SharedArrayBuffer.prototype) as (() => unknown) | undefined)
    : undefined)();
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

/** The number of elements of a typed array. */
export function arrayLength(array: unknown): number {
  return getLength.call(array) as number;
}

/** The number of elements of an array, plain or typed. */
export function lengthOf(array: ArrayLike<unknown>): number {
  return Array.isArray(array) ? array.length : arrayLength(array);
}

/** The memory behind a typed array. */
export function arrayBuffer(array: unknown): ArrayBufferLike {
  return getBuffer.call(array) as ArrayBufferLike;
}

function arrayByteOffset(array: unknown): number {
  return getByteOffset.call(array) as number;
}

/** The bytes of a typed array. */
export function arrayByteLength(array: unknown): number {
  return getByteLength.call(array) as number;
}

/** Whether other threads may write to a typed array. Slower for shared memory. */
export function isShared(array: unknown): boolean {
  try {
    getBufferLength.call(arrayBuffer(array));
    return false;
  } catch {
    return true;
  }
}

/**
 * The array itself, or a fixed-length view of it if its memory is growable and shared: another thread
 * could lengthen the array between the length check and the copy.
 */
export function pinned<A extends NumberArray>(array: A): A {
  return isShared(array) && getGrowable?.call(arrayBuffer(array)) === true
    ? subarrayOf(array, 0, arrayLength(array))
    : array;
}

/**
 * Copies a typed array into another, at offset `start` of the target. Half floats become their values;
 * a Uint16Array gets their bit patterns.
 */
export function setArray(to: NumberArray, from: NumberArray, start: number): void {
  const type = Halves.typeOf(from);
  if (type === undefined || arrayName(to) === "Uint16Array") {
    set.call(to as Uint8Array, from, start);
    return;
  }
  const values = to as Float32Array;
  const { length } = from;
  for (let i = 0; i < length; i++) values[start + i] = halfValue(from[i], type);
}

/** A typed array of two-byte elements as half floats, on the same memory. */
export const halvesOf = (array: NumberArray, type: HalfType): Halves =>
  new Halves(arrayBuffer(array), arrayByteOffset(array), arrayLength(array), type);

/** The type of an array's elements in messages: the name of the array, or that of its half floats. */
export const elementName = (array: NumberArray): string =>
  Halves.typeOf(array) ?? (arrayName(array) as string);

/** One value of an array. */
export function valueAt(array: NumberArray, index: number): number {
  const type = Halves.typeOf(array);
  return type === undefined ? array[index] : halfValue(array[index], type);
}

/** Constructors of the arrays for codes and values, here and in the heap, captured at module load. */
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
 * Checks a typed array of numbers: its memory exists, and its length cannot change during a copy.
 * @param name  result of `arrayName(array)`
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
  checkAttached(where, argument, array);
  return pinned(array as NumberArray);
}

/** Checks that the memory of a typed array exists; other values pass. @throws {TypeError} `ZP_DETACHED` */
export function checkAttached(where: string, argument: string, value: unknown): void {
  const type = arrayName(value);
  if (type !== undefined && isDetached(value)) throw detached(where, argument, type);
}

/** The error for a typed array or an ArrayBuffer whose memory is gone. */
export function detached(where: string, argument: string, type: string): ZeropointError {
  const problem = `the memory of ${argument}, of type ${type}, is detached (transferred or shrunk away)`;
  return typeError("ZP_DETACHED", where, problem);
}

type NumberArrayConstructor = new (
  buffer: ArrayBufferLike,
  byteOffset: number,
  length: number,
) => NumberArray;

/** Whether the memory of a typed array is gone. Its length is then 0, as that of an empty array. */
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

/** Numbers as float32: the array itself if it is a Float32Array, else a converted copy. */
export function asFloat32(where: string, array: NumberArray): Float32Array {
  return arrayName(array) === "Float32Array"
    ? (array as Float32Array)
    : copyOf(where, array, Float32Array);
}

/**
 * Refuses an array that was resized or transferred since it was checked: by a getter among the
 * arguments, or during an asynchronous function.
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

/** Whether two typed arrays lie in different buffers that are not shared with other threads. */
export function areApart(a: unknown, b: unknown): boolean {
  return arrayBuffer(a) !== arrayBuffer(b) && !isShared(a) && !isShared(b);
}

/**
 * The elements of a typed array from `start` up to, but without, `end`, on the same memory. Unlike the
 * method `subarray` it asks neither the array's class nor `Symbol.species` for the type.
 */
export function subarrayOf<A extends NumberArray>(array: A, start: number, end: number): A {
  const half = Halves.typeOf(array);
  const type = half ? Halves : CONSTRUCTORS[arrayName(array) as string];
  const elementBytes = arrayLength(array) === 0 ? 1 : arrayByteLength(array) / arrayLength(array);
  const from = arrayByteOffset(array) + start * elementBytes;
  return new type(arrayBuffer(array), from, end - start, half as HalfType) as NumberArray as A;
}

/**
 * A copy of a typed array, converted as typed arrays convert.
 * @param size  the number of values at the time of the check
 * @throws {TypeError} `ZP_DETACHED` if the number has changed since
 */
export function copyOf<T extends NumberArray>(
  where: string,
  array: NumberArray,
  type: ArrayConstructor<T>,
  size = arrayLength(array),
): T {
  const copy = newArray(where, type, size);
  checkStillThere(where, array, size);
  setArray(copy, array, 0);
  return copy;
}

/** A constructor of typed arrays of one type. */
export interface ArrayConstructor<T> {
  new (length: number): T;
  readonly BYTES_PER_ELEMENT: number;
}

/** A new typed array. @throws {RangeError} `ZP_OUT_OF_MEMORY`, naming the size */
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

/** A new typed array of the same type as another. */
export function newArrayLike<A extends NumberArray>(where: string, array: A, length: number): A {
  const type = ARRAYS[arrayName(array) as keyof typeof ARRAYS];
  return newArray(where, type as ArrayConstructor<unknown> as ArrayConstructor<A>, length);
}

/** A copy of a typed array, of the same type. */
export function copyLike<A extends NumberArray>(where: string, array: A): A {
  const copy = newArrayLike(where, array, arrayLength(array));
  setArray(copy, array, 0);
  return copy;
}

/** Bitwise or of all words; for `carried` -1, of w ^ (w << 1): the bits that differ from the bit below. */
function joinBits(words: Int32Array | Uint8Array, carried: 0 | -1): number {
  let bits = 0;
  for (let i = 0; i < words.length; i++) bits |= words[i] ^ ((words[i] << 1) & carried);
  return bits;
}

/**
 * The index of the first code that a dtype of less than 8 bits cannot hold, or -1.
 *
 * Four codes per word: a byte holds a valid unsigned code if its high bits are 0, and a valid signed
 * code if its high bits all equal the code's sign bit. Then no high bit differs from the bit below it,
 * so that those bits of `word ^ (word << 1)` are 0; they do not depend on neighbouring bytes.
 */
export function findMisfit(codes: Int8Array | Uint8Array, dtype: DType | QDType): number {
  const { bits, qmin, qmax } = DTYPES[dtype];
  const start = arrayByteOffset(codes);
  const bytes = new Uint8Array(arrayBuffer(codes), start, arrayByteLength(codes));
  const head = Math.min(bytes.length, -start & 3);
  const wordCount = Math.floor((bytes.length - head) / 4);
  const carried = qmin < 0 ? -1 : 0;
  const tail = head + 4 * wordCount;
  let seen = joinBits(subarrayOf(bytes, 0, head), carried);
  seen |= joinBits(subarrayOf(bytes, tail, bytes.length), carried);
  // Signed words: engines convert large unsigned ones to doubles. Zero words would need no valid offset.
  if (wordCount > 0) {
    seen |= joinBits(new Int32Array(bytes.buffer, start + head, wordCount), carried);
  }
  const highBits = ((0xff << bits) & 0xff) * 0x01010101;
  if ((seen & highBits) === 0) return -1;
  return subarrayOf(codes, 0, arrayLength(codes)).findIndex((code) => code < qmin || code > qmax);
}

/** Whether all integers lie in a range. A plain loop, since a callback per element is slow. */
export function areWithin(integers: Int32Array, low: number, high: number): boolean {
  for (let i = 0; i < integers.length; i++) {
    if (integers[i] < low || integers[i] > high) return false;
  }
  return true;
}

/** Whether all numbers are finite and > 0. As integers, the bits of such numbers lie between 2^-149's and infinity's. */
export function arePositive(numbers: Float32Array): boolean {
  const bits = new Int32Array(arrayBuffer(numbers), arrayByteOffset(numbers), arrayLength(numbers));
  return areWithin(bits, 1, 0x7f7fffff);
}

/** A view of the memory of codes as bytes. */
export function bytesOf(codes: Codes): Uint8Array {
  return new Uint8Array(arrayBuffer(codes), arrayByteOffset(codes), arrayByteLength(codes));
}
