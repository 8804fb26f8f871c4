// Reads tests/vectors/*.json: what PyTorch answered. tests/vectors/README.md explains the
// encodings.

import assert from "node:assert/strict";

/** The cases of one file. */
export function cases(name) {
  const { cases: all, values } = readVectors(name);
  if (values === undefined) return all;
  const decoded = (each) => (typeof each === "number" ? values[each] : each);
  return all.map((each) => ({
    ...each,
    in: each.in.map(decoded),
    ...("out" in each && { out: decoded(each.out) }),
  }));
}

/** All of one file. */
export function readVectors(name) {
  return JSON.parse(readText(new URL(`../../vectors/${name}.json`, import.meta.url)));
}

/** A file's text: read from disk, or in a browser from the server that the tests came from. */
function readText(url) {
  if (url.protocol === "file:") {
    return process.getBuiltinModule("node:fs").readFileSync(url, "utf8");
  }
  const request = new XMLHttpRequest();
  request.open("GET", url, false);
  request.send();
  if (request.status !== 200) throw new Error(`${url}: ${request.status}`);
  return request.responseText;
}

const ARRAYS = {
  f32: Float32Array,
  f64: Float64Array,
  bool: Uint8Array,
  uint8: Uint8Array,
  int8: Int8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  int64: BigInt64Array,
};

/** The name that the library uses for an encoded dtype. */
export function dtypeName(t) {
  return { f32: "float32", f64: "float64" }[t] ?? t;
}

/** A tensor: its values in the array of its dtype, its shape, its dtype's name. */
export function decodeTensor(encoded) {
  const { t, gen, b64, data } = encoded;
  const dtype = dtypeName(t ?? "f32");
  if (gen === "lcg") {
    const values = lcg(encoded);
    const shape = encoded.shape ?? [encoded.n];
    return { dtype, shape, data: dtype === "float32" ? values : convert(values, t) };
  }
  const shape = encoded.shape;
  if (b64 !== undefined) {
    const bytes = Uint8Array.from(atob(b64), (character) => character.charCodeAt(0));
    return { dtype, shape, data: new ARRAYS[t](bytes.buffer) };
  }
  const number = t === "int64" ? BigInt : Number;
  return { dtype, shape, data: ARRAYS[t].from(data, (value) => number(value)) };
}

// The values of every recipe fit in its dtype, so truncating is all there is to do.
function convert(values, t) {
  if (t === "int64") return BigInt64Array.from(values, (value) => BigInt(Math.trunc(value)));
  if (t === "bool") return Uint8Array.from(values, (value) => (value !== 0 ? 1 : 0));
  return ARRAYS[t].from(values);
}

/** Portable large input; see the README. */
export function lcg({ n, seed, lo, hi }) {
  const out = new Float32Array(n);
  let state = seed >>> 0;
  for (let i = 0; i < n; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    out[i] = lo + (hi - lo) * (state / 4294967296);
  }
  return out;
}

/** A scalar: `{ t: "f64", hex }` as the number with these bits; a plain number as it is. */
export function decodeScalar(encoded) {
  if (typeof encoded !== "object") return encoded;
  return doubleFromHex(encoded.hex);
}

/** The double that 16 hex digits spell. */
export function doubleFromHex(hex) {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(`0x${hex}`));
  return view.getFloat64(0);
}

/** Whether an encoded value is a tensor rather than a scalar. */
export function isTensor(encoded) {
  return typeof encoded === "object" && ("shape" in encoded || "gen" in encoded);
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/** zlib's CRC-32 of a typed array's bytes, as eight hex digits. */
export function crc32(array) {
  let crc = ~0;
  for (const byte of new Uint8Array(array.buffer, array.byteOffset, array.byteLength)) {
    crc = CRC_TABLE[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  }
  return (~crc >>> 0).toString(16).padStart(8, "0");
}

/** Whether two numbers have the same bits; any NaN equals any NaN. */
export function sameBits(a, b) {
  return Object.is(a, b);
}

/**
 * Asserts that values are those of an encoded tensor, bit for bit, in the same kind of array and
 * with the same shape.
 */
export function assertTensor(data, shape, encoded, message) {
  assert.deepEqual([...shape], encoded.shape ?? [encoded.n], `${message}: shape`);
  const wanted = ARRAYS[encoded.t];
  assert.equal(data.constructor.name, wanted.name, `${message}: kind of array`);
  if (encoded.crc32 !== undefined) {
    for (const [index, value] of encoded.samples) {
      const expected = encoded.t === "f32" ? Math.fround(value) : Number(value);
      assert.ok(sameBits(Number(data[index]), expected), `${message}: value ${index}`);
    }
    assert.equal(crc32(data), encoded.crc32, `${message}: crc32`);
    return;
  }
  const expected = decodeTensor(encoded).data;
  assert.equal(data.length, expected.length, `${message}: length`);
  for (let i = 0; i < expected.length; i++) {
    if (!sameBits(data[i], expected[i])) {
      assert.fail(`${message}: value ${i} is ${data[i]}, not ${expected[i]}`);
    }
  }
}

/** Asserts that a number has the bits of an encoded double; any NaN equals any NaN. */
export function assertScalar(actual, encoded, message) {
  const expected = decodeScalar(encoded);
  assert.ok(sameBits(actual, expected), `${message}: ${actual} is not ${expected}`);
}
