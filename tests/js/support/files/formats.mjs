// Files of the vectors, their expected values, and random damage for fuzzing.

import assert from "node:assert/strict";
import fc from "fast-check";
import { bytesSource, dtypeInfo, isDecodable, readValues } from "../../../internal/formats.mjs";
import { readVectors } from "../vectors.mjs";

export const fromBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** The vectors of a format: cases, and a source for each file. */
export function vectorsOf(name) {
  const { cases, files, bad, badFiles } = readVectors(`formats/${name}`);
  return {
    cases,
    bad,
    bytes: (file) => fromBase64(files[file]),
    badBytes: (file) => fromBase64(badFiles[file]),
    source: (file) => bytesSource(fromBase64(files[file])),
    names: Object.keys(files),
    badNames: Object.keys(badFiles),
  };
}

/** All chunks of a stream as one array. */
export async function collect(stream) {
  const chunks = [];
  let length = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    length += chunk.length;
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

export async function sha256(bytes) {
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The values of a tensor as one Float32Array. @param tileLength  of the reading */
export async function valuesOf(tensor, tileLength) {
  const tiles = [];
  for await (const tile of readValues(tensor, tileLength)) tiles.push(tile);
  return Float32Array.from(tiles.flatMap((tile) => [...tile]));
}

/** Asserts that numbers have the same bits; any NaN equals any NaN. */
export function sameValues(actual, expected, message) {
  assert.equal(actual.length, expected.length, `${message}: length`);
  for (let i = 0; i < expected.length; i++) {
    if (!Object.is(actual[i], expected[i])) {
      assert.fail(`${message}: value ${i} is ${actual[i]}, not ${expected[i]}`);
    }
  }
}

/** The expected values of a tensor, rounded to float32; undefined where the vectors have raw bytes alone. */
export function expectedValues({ f32, f64, values }) {
  const view = (text, Type) => new Type(fromBase64(text).buffer);
  if (typeof f32 === "string") return view(f32, Float32Array);
  if (typeof f64 === "string") return Float32Array.from(view(f64, Float64Array));
  return values === undefined ? undefined : Float32Array.from(values, Number);
}

/** Asserts values, shape and bytes of a tensor. */
export async function assertTensor(tensor, expected, message) {
  assert.ok(tensor, `${message}: exists`);
  if (expected.shape) assert.deepEqual([...tensor.shape], expected.shape, `${message}: shape`);
  const bytes = await collect(tensor.bytes());
  assert.equal(bytes.length, tensor.byteLength, `${message}: bytes`);
  if (expected.sha256) assert.equal(await sha256(bytes), expected.sha256, `${message}: sha256`);
  if (bytes.length > 3) {
    const part = await collect(tensor.bytes(1, bytes.length - 1));
    assert.deepEqual(part, bytes.subarray(1, -1), `${message}: part of the bytes`);
  }
  const values = expectedValues(expected);
  if (values === undefined || !isDecodable(tensor.dtype)) return false;
  sameValues(await valuesOf(tensor), values, message);
  sameValues(await valuesOf(tensor, 8), values, `${message}, in tiles of 8`);
  return true;
}

/** Asserts that an error is one of a file, and returns it. */
export function assertFileError(error, message) {
  const isKnown =
    error instanceof RangeError && ["ZP_INVALID_FILE", "ZP_UNSUPPORTED_FILE"].includes(error.code);
  if (!isKnown) assert.fail(`${message}: ${error?.stack ?? error}`);
  assert.ok(Number.isSafeInteger(error.offset) && error.offset >= 0, `${message}: offset`);
  assert.equal(typeof error.expected, "string");
  assert.equal(typeof error.found, "string");
  assert.ok(error.message.includes(error.expected) && error.message.length < 2000, error.message);
  return error;
}

/** Opens a file and reads all its tensors. @returns the file, or the error that it causes */
export async function openFully(open, bytes, message) {
  try {
    const file = await open(bytesSource(bytes));
    for (const tensor of file.tensors.values()) await collect(tensor.bytes());
    return { file };
  } catch (error) {
    return { error: assertFileError(error, message) };
  }
}

/** Asserts the verdict on a bad file: accept, reject, or either. */
export async function assertVerdict(open, bytes, { file, what, zeropoint }) {
  const { error } = await openFully(open, bytes, file);
  const verdict = error === undefined ? "accept" : "reject";
  assert.ok(
    zeropoint.includes(verdict) || (verdict === "accept" && zeropoint.includes("swap")),
    `${file} (${what}): ${error?.message ?? "accepted"}`,
  );
}

const seconds = Number(globalThis.process?.env.ZEROPOINT_FUZZ_SECONDS ?? 0);
let shares = 0;

/** Asserts a property for some runs, or for a share of the time that `npm run fuzz` gives. */
export function property(test, title, arbitraries, check, runs = 300) {
  shares++;
  test(title, async () => {
    const limits =
      seconds === 0
        ? { numRuns: runs, seed: 20 }
        : {
            numRuns: Number.MAX_SAFE_INTEGER,
            interruptAfterTimeLimit: (1000 * seconds) / shares,
          };
    await fc.assert(fc.asyncProperty(...arbitraries, check), {
      ...limits,
      includeErrorInReport: true,
    });
  });
}

/** Integers at the edges of parsers. */
const ODD = [0n, 1n, 2n, 7n, 8n, 9n, 24n, 255n, 256n, 65535n, 2n ** 31n - 1n, 2n ** 31n].concat([
  2n ** 32n - 1n,
  2n ** 32n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 61n,
  2n ** 63n - 1n,
  2n ** 63n,
  2n ** 64n - 1n,
]);

const places = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });

const edits = fc.oneof(
  fc.record({ kind: fc.constant("byte"), at: places, value: fc.nat(255) }),
  fc.record({ kind: fc.constant("bit"), at: places, value: fc.nat(7) }),
  fc.record({
    kind: fc.constant("word"),
    at: places,
    value: fc.constantFrom(...ODD),
    size: fc.constantFrom(1, 2, 4, 8),
  }),
  fc.record({ kind: fc.constant("cut"), at: places, length: fc.nat(40) }),
  fc.record({ kind: fc.constant("end"), at: places }),
  fc.record({ kind: fc.constant("copy"), at: places, from: places, length: fc.nat(64) }),
  fc.record({ kind: fc.constant("insert"), at: places, bytes: fc.uint8Array({ maxLength: 20 }) }),
);

/** Lists of edits, which `damage` applies to bytes. */
export const damages = fc.array(edits, { minLength: 1, maxLength: 6 });

/** Bytes after edits. */
export function damage(original, list) {
  let bytes = original;
  for (const edit of list) {
    const at = Math.floor(edit.at * (bytes.length + 1));
    const join = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
    if (edit.kind === "byte" || edit.kind === "bit") {
      bytes = bytes.slice();
      if (at < bytes.length)
        bytes[at] = edit.kind === "byte" ? edit.value : bytes[at] ^ (1 << edit.value);
    } else if (edit.kind === "word") {
      bytes = bytes.slice();
      for (let i = 0; i < edit.size && at + i < bytes.length; i++) {
        bytes[at + i] = Number((edit.value >> BigInt(8 * i)) & 255n);
      }
    } else if (edit.kind === "cut")
      bytes = join(bytes.subarray(0, at), bytes.subarray(at + edit.length));
    else if (edit.kind === "end") bytes = bytes.slice(0, at);
    else if (edit.kind === "insert")
      bytes = join(bytes.subarray(0, at), edit.bytes, bytes.subarray(at));
    else {
      const from = Math.floor(edit.from * bytes.length);
      bytes = join(
        bytes.subarray(0, at),
        bytes.subarray(from, from + edit.length),
        bytes.subarray(at),
      );
    }
  }
  return bytes;
}

/** Fuzzes a reader: damaged vectors and random bytes are read, or refused with the right kind of error. */
export function fuzzReader(test, open, { names, bytes, badNames = [], badBytes }) {
  const originals = [
    ...names.map((name) => bytes(name)),
    ...badNames.map((name) => badBytes(name)),
  ];
  const pick = fc.nat(originals.length - 1);
  property(test, "reads damaged files or refuses them", [pick, damages], async (index, list) => {
    await openFully(open, damage(originals[index], list), "damaged file");
  });
  property(test, "refuses random bytes", [fc.uint8Array({ maxLength: 200 })], async (random) => {
    await openFully(open, random, "random bytes");
  });
}

/** Random tensors of the given dtypes, with their bytes. */
export function tensorsOf(dtypes, { maxRank = 4 } = {}) {
  const one = fc
    .record({
      name: fc.oneof(
        fc.string({ maxLength: 8, unit: "grapheme" }),
        fc.constantFrom("__proto__", "", "0", "a.b"),
      ),
      dtype: fc.constantFrom(...dtypes),
      outer: fc.array(fc.nat(4), { maxLength: maxRank - 1 }),
      blocks: fc.nat(3),
      isScalar: fc.boolean(),
      seed: fc.nat(),
    })
    .map(({ name, dtype, outer, blocks, isScalar, seed }) => {
      const { blockLength, blockBits } = dtypeInfo(dtype);
      // Sub-byte values: whole bytes.
      const unit = blockBits < 8 ? 8 : blockLength;
      const shape = isScalar && unit === 1 ? [] : [...outer, blocks * unit];
      const count = shape.reduce((product, length) => product * length, 1);
      const bytes = new Uint8Array(Math.ceil(((count / blockLength) * blockBits) / 8));
      let state = seed;
      for (let i = 0; i < bytes.length; i++) {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        bytes[i] = state >>> 24;
      }
      return { name, dtype, shape, data: bytes, bytes: () => [bytes] };
    });
  return fc.uniqueArray(one, { maxLength: 8, selector: ({ name }) => name });
}
