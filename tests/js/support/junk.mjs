// Values that fit no function, and what the library may do with them: refuse them with a code, or work.

import assert from "node:assert/strict";
import { createContext, runInContext } from "node:vm";
import fc from "fast-check";

const detached = new Float32Array(4);
structuredClone(detached.buffer, { transfer: [detached.buffer] });
// fast-check cannot print it by default.
Object.defineProperty(detached, fc.toStringMethod, { value: () => "detached" });
const shrunk = new Float32Array(new ArrayBuffer(16, { maxByteLength: 32 }));
shrunk.buffer.resize(8);
const elsewhere = createContext();
const fromElsewhere = (code) => runInContext(code, elsewhere);
const deep = (depth) => {
  let nested = [1];
  for (let i = 0; i < depth; i++) nested = [nested];
  // fast-check cannot print it by default.
  Object.defineProperty(nested, fc.toStringMethod, { value: () => `deep(${depth})` });
  return nested;
};
const circular = [];
circular.push(circular);

/** Values of every JavaScript type, and some that resemble valid arguments of the library. */
export const JUNK = [
  ...[
    undefined,
    null,
    true,
    false,
    "",
    "int8",
    "uint4",
    "affine",
    "mse",
    "torch",
    "qint8",
    "2",
    "[]",
  ],
  ...[0, -0, 1, 2, -1, 1.5, 1e-45, 1e39, 255, 2 ** 31, 2 ** 32, 2 ** 53, Infinity, -Infinity, NaN],
  ...[10n, Symbol("s"), Symbol.iterator, () => 1, class A {}, async () => 1, /x/, new Date(0)],
  ...[
    [],
    [1, 2],
    [
      [1, 2],
      [3, 4],
    ],
    [[1], [2, 3]],
    new Array(3),
    [1, "2"],
    [null],
    [[[[[]]]]],
    deep(70),
  ],
  ...[{}, Object.create(null), new Map(), new Set([1]), new Proxy({}, {}), new Proxy([], {})],
  ...[new Float32Array(4), new Float64Array(2), Int8Array.of(1, 2, 3, 4), new Uint8Array(4)],
  ...[new Uint8ClampedArray(4), new Int32Array(2), new Uint32Array(4), BigInt64Array.of(1n)],
  ...[
    new DataView(new ArrayBuffer(4)),
    new ArrayBuffer(4),
    new SharedArrayBuffer(4),
    detached,
    shrunk,
  ],
  ...[fromElsewhere("new Float32Array([1, 2])"), fromElsewhere("[1, 2]"), fromElsewhere("({})")],
  ...[new Float32Array(new SharedArrayBuffer(16)), deep(20_000), circular],
  new Error("e"),
  ...[
    { data: detached, shape: [0] },
    { data: shrunk, shape: [2] },
    { data: [1, 2, 3, 4], shape: [2, 2] },
    { data: new Float32Array(4), dims: [4] },
    { data: new Float32Array(4), shape: [-1] },
    { data: new Float32Array(4), shape: "22" },
    { data: new Float32Array(4), shape: [2 ** 32, 2 ** 32] },
    { data: new Float32Array(4), shape: { length: 2 ** 40 } },
    { data: { length: 2 ** 40 }, shape: [2 ** 40] },
    { data: "1234", shape: [4] },
    { data: new Float32Array(0), shape: [0, 2] },
    { length: 3, 0: 1, 1: 2, 2: 3 },
    { length: 1e9 },
    { length: -1 },
    { valueOf: () => 1 },
    { toString: () => "int8" },
    { [Symbol.toPrimitive]: () => 2 },
    { __proto__: { dtype: "int4" } },
  ],
];

/** Checks that an error is one the library throws deliberately, rather than a bug. */
export function checkRefusal(error, name) {
  assert.ok(error instanceof TypeError || error instanceof RangeError, `${name}: ${error?.stack}`);
  assert.match(error.code ?? "", /^ZP_[A-Z_]+$/, `${name}: ${error.stack}`);
  assert.ok(error.message.length < 500, `${error.message.length} characters: ${error.message}`);
}

/** Whether a function is a class. */
export const isClass = (value) => /^class\b/.test(Function.prototype.toString.call(value));
