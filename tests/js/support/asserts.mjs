// Helpers of many tests: comparisons by bits, expected errors, and numbers at the edges of arithmetic.

import assert from "node:assert/strict";

/** The method that Node, Deno and Bun print an object with. */
export const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/** Asserts that `work` throws an error of this class, code and text. */
export function refuses(work, type, code, message) {
  assert.throws(work, (error) => checkError(error, type, code, message));
}

/** Asserts that a promise is rejected with an error of this class, code and text. */
export async function rejects(promise, type, code, message) {
  await assert.rejects(promise, (error) => checkError(error, type, code, message));
}

function checkError(error, type, code, message) {
  assert.equal(error.constructor, type, `${error.stack}`);
  assert.equal(error.code, code, error.message);
  if (message instanceof RegExp) assert.match(error.message, message);
  else assert.equal(error.message, message);
  return true;
}

/** Asserts that float32 arrays are equal bit for bit, but that any NaN equals any NaN. */
export function sameFloats(actual, expected, message = "") {
  assert.ok(actual instanceof Float32Array, `${message} got ${actual?.constructor?.name}`);
  assert.equal(actual.length, expected.length, `${message} length`);
  for (let i = 0; i < actual.length; i++) {
    // Writes the message only where it is needed: numbers in texts take most of the time of a long comparison.
    if (!Object.is(actual[i], Math.fround(expected[i]))) {
      assert.fail(`${message} value ${i}: got ${actual[i]}, expected ${expected[i]}`);
    }
  }
}

/** Asserts that a tensor has this shape and these float32 bits. */
export function sameTensor(actual, expected, message = "") {
  assert.deepEqual([...actual.shape], [...expected.shape], `${message} shape`);
  sameFloats(actual.data, expected.data, message);
}

/** Asserts that two arrays of integers have the same type and values. */
export function sameCodes(actual, expected, message = "") {
  assert.equal(actual.constructor.name, expected.constructor.name, message);
  assert.equal(actual.length, expected.length, `${message} length`);
  for (let i = 0; i < actual.length; i++) {
    if (actual[i] !== expected[i]) {
      assert.fail(`${message} code ${i}: got ${actual[i]}, expected ${expected[i]}`);
    }
  }
}

/**
 * Asserts what assert.deepEqual does, and names the first value that differs. Of long arrays that differ
 * Node's own assertion writes all values side by side, which takes minutes and gigabytes.
 */
export function sameDeep(actual, expected, path = "value") {
  if (Object.is(actual, expected) || haveSameBytes(actual, expected)) return;
  const [keys, expectedKeys] = [actual, expected].map(keysOf);
  if (keys.length === 0 || expectedKeys.length === 0) {
    return assert.deepEqual(actual, expected, `${path}: got ${actual}, expected ${expected}`);
  }
  assert.equal(actual.constructor, expected.constructor, `${path} is of another class`);
  assert.equal(keys.length, expectedKeys.length, `${path} has another number of values`);
  for (const key of expectedKeys) {
    assert.ok(Object.hasOwn(actual, key), `${path} has no ${key}`);
    sameDeep(actual[key], expected[key], `${path}.${key}`);
  }
}

/** Whether two typed arrays are of one type and have the same bits: millions of values take long one by one. */
const haveSameBytes = (a, b) => {
  if (!ArrayBuffer.isView(a) || !ArrayBuffer.isView(b) || a.constructor !== b.constructor)
    return false;
  if (a.byteLength !== b.byteLength) return false;
  const [first, second] = [a, b].map(bytesOf);
  for (let i = 0; i < first.length; i++) if (first[i] !== second[i]) return false;
  return true;
};

const bytesOf = ({ buffer, byteOffset, byteLength }) =>
  new Uint8Array(buffer, byteOffset, byteLength);

const keysOf = (value) => (typeof value === "object" && value !== null ? Object.keys(value) : []);

/** Random numbers that are the same in every run. */
export class Random {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** An integer from 0 to 2^32 - 1. */
  bits() {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  }

  /** A number from low up to, but without, high. */
  between(low, high) {
    return low + (high - low) * (this.bits() / 2 ** 32);
  }

  /** An integer from low to high, both included. */
  integer(low, high) {
    return low + (this.bits() % (high - low + 1));
  }

  /** One item of a list. */
  pick(list) {
    return list[this.bits() % list.length];
  }

  /** Float32 values of about normal distribution. */
  normal(length, deviation = 1) {
    const values = new Float32Array(length);
    for (let i = 0; i < length; i++) {
      let sum = -6;
      for (let k = 0; k < 12; k++) sum += this.between(0, 1);
      values[i] = sum * deviation;
    }
    return values;
  }

  /** Float32 values of any bits, so of any magnitude, NaN and infinities among them. */
  anyFloats(length) {
    const words = Uint32Array.from({ length }, () => this.bits());
    return new Float32Array(words.buffer);
  }
}

/** Lengths around the width of a vector and of an unrolled loop. */
export const LENGTHS = [0, 1, 15, 16, 17, 33];

/** Zeros, ties, subnormals, both ends of the range, infinities and NaN. */
export const SPECIAL_VALUES = [
  0,
  -0,
  0.5,
  -0.5,
  1.5,
  2.5,
  -1.5,
  -2.5,
  0.49999997,
  126.5,
  127.5,
  -127.5,
  -128.5,
  254.5,
  255.5,
  1e-45,
  -1e-45,
  1.1754942e-38,
  2 ** 23 + 1,
  2 ** 24 + 2,
  2147483520,
  2147483648,
  -2147483648,
  3.4028235e38,
  -3.4028235e38,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  Number.NaN,
];

/** `length` values that run through the special ones, beginning at another one each time. */
export function specialValues(length, start = 0) {
  return Float32Array.from(
    { length },
    (_, i) => SPECIAL_VALUES[(start + i) % SPECIAL_VALUES.length],
  );
}

/** qmin, qmax and the array of codes of every dtype. */
export const DTYPES = {
  int2: { qmin: -2, qmax: 1, array: Int8Array, bits: 2 },
  int3: { qmin: -4, qmax: 3, array: Int8Array, bits: 3 },
  int4: { qmin: -8, qmax: 7, array: Int8Array, bits: 4 },
  int5: { qmin: -16, qmax: 15, array: Int8Array, bits: 5 },
  int6: { qmin: -32, qmax: 31, array: Int8Array, bits: 6 },
  int7: { qmin: -64, qmax: 63, array: Int8Array, bits: 7 },
  int8: { qmin: -128, qmax: 127, array: Int8Array, bits: 8 },
  uint1: { qmin: 0, qmax: 1, array: Uint8Array, bits: 1 },
  uint2: { qmin: 0, qmax: 3, array: Uint8Array, bits: 2 },
  uint3: { qmin: 0, qmax: 7, array: Uint8Array, bits: 3 },
  uint4: { qmin: 0, qmax: 15, array: Uint8Array, bits: 4 },
  uint5: { qmin: 0, qmax: 31, array: Uint8Array, bits: 5 },
  uint6: { qmin: 0, qmax: 63, array: Uint8Array, bits: 6 },
  uint7: { qmin: 0, qmax: 127, array: Uint8Array, bits: 7 },
  uint8: { qmin: 0, qmax: 255, array: Uint8Array, bits: 8 },
  int16: { qmin: -32768, qmax: 32767, array: Int16Array, bits: 16 },
  uint16: { qmin: 0, qmax: 65535, array: Uint16Array, bits: 16 },
  int32: { qmin: -(2 ** 31), qmax: 2 ** 31 - 1, array: Int32Array, bits: 32 },
};

export const DTYPE_NAMES = Object.keys(DTYPES);
