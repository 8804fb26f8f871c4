// Random nonsense for every export: the call must throw a TypeError or RangeError with a code, or return; it must
// throw nothing else, and change no state.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { createContext, runInContext } from "node:vm";
import fc from "fast-check";
import { fuzzLimits } from "./support/arbitraries.mjs";
import { sameCodes } from "./support/asserts.mjs";
import { zeropoint } from "./support/exports.mjs";

const { build } = await zeropoint.init();
const { MinMaxObserver, QuantizedLinear, init, quantize, quantizePerTensor, tensor } = zeropoint;

const x = tensor([1, 2, 3, 4], [2, 2]);
const q = quantize(x, { axis: 0 });
const qint8 = quantizePerTensor(x, 0.05, 3, "qint8");
const observer = new MinMaxObserver();
observer.observe(x);
const model = new zeropoint.Sequential([new zeropoint.Linear(x), new zeropoint.ReLU()]);

const detached = new Float32Array(4);
structuredClone(detached.buffer, { transfer: [detached.buffer] });
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

/** Values of every JavaScript type, and some that resemble valid arguments. */
const JUNK = [
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
  ...[
    x,
    q,
    qint8,
    observer,
    model,
    MinMaxObserver,
    zeropoint.predefinedQConfigs.default_qconfig,
    new Error("e"),
  ],
  ...[
    { data: detached, shape: [0] },
    { data: shrunk, shape: [2] },
    { data: [1, 2, 3, 4], shape: [2, 2] },
    { data: x.data, dims: [4] },
    { data: x.data, shape: [-1] },
    { data: x.data, shape: "22" },
    { data: x.data, shape: [2 ** 32, 2 ** 32] },
    { data: x.data, shape: { length: 2 ** 40 } },
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

/** Names of all options, and of fields of the library's objects. */
const KEYS = [
  ...[
    "dtype",
    "scheme",
    "axis",
    "groupSize",
    "scale",
    "zeroPoint",
    "includeZero",
    "nonFinite",
    "range",
    "percentile",
    "out",
  ],
  ...[
    "data",
    "shape",
    "dims",
    "type",
    "accumulate",
    "bias",
    "activations",
    "reduceRange",
    "compat",
    "qscheme",
  ],
  ...["quantMin", "quantMax", "eps", "bins", "averagingConstant", "chAxis", "isDynamic", "minVal"],
  ...["maxVal", "histogram", "weight", "inFeatures", "outFeatures", "activation", "class", "state"],
  ...[
    "build",
    "threads",
    "exclude",
    "layers",
    "method",
    "length",
    "constructor",
    "__proto__",
    "then",
  ],
];

const junk = fc.constantFrom(...JUNK);
/** A valid object with one or two invalid fields, or an object of invalid fields. */
const spoiled = fc
  .tuple(
    fc.constantFrom(
      {},
      x,
      q,
      qint8,
      { ...observer.toJSON() },
      zeropoint.predefinedQConfigs.default_qconfig,
    ),
    fc.array(fc.tuple(fc.constantFrom(...KEYS), junk), { minLength: 1, maxLength: 3 }),
  )
  .map(([good, changes]) => ({ ...good, ...Object.fromEntries(changes) }));
const argument = fc.oneof(
  { weight: 3, arbitrary: junk },
  { weight: 2, arbitrary: spoiled },
  {
    weight: 1,
    arbitrary: fc.anything({ withTypedArray: true, withBigInt: true, withNullPrototype: true }),
  },
);
const argumentLists = fc.array(argument, { maxLength: 7 });
/** Lists with a valid start, to pass the first checks. */
const halfGoodLists = fc
  .tuple(
    fc.array(fc.constantFrom(x, q, qint8, x.data, "qint8", 1, 0, [1, 1]), { maxLength: 3 }),
    argumentLists,
  )
  .map(([good, bad]) => [...good, ...bad]);
const lists = fc.oneof(argumentLists, halfGoodLists);

/** Checks that an error is one the library throws deliberately, rather than a bug. */
function checkRefusal(error, name) {
  assert.ok(error instanceof TypeError || error instanceof RangeError, `${name}: ${error?.stack}`);
  assert.match(error.code ?? "", /^ZP_[A-Z_]+$/, `${name}: ${error.stack}`);
  assert.ok(error.message.length < 500, `${error.message.length} characters: ${error.message}`);
}

/** Whether a function is a class. */
const isClass = (value) => /^class\b/.test(Function.prototype.toString.call(value));

/** Public methods declared in the package's types; other methods check nothing. */
const dist = new URL("../../dist/", import.meta.url);
const PUBLIC = new Set(
  readdirSync(dist, { recursive: true })
    .filter((file) => file.endsWith(".d.ts") && !/^(models|formats|cli|worker)\b/.test(file))
    .flatMap((file) => [
      ...readFileSync(new URL(file, dist), "utf8").matchAll(/^ {4}(?:static )?(\w+)(?:<.*>)?\(/gm),
    ])
    .map((match) => match[1]),
);

/** The names of an object's public methods, including inherited ones. */
function methodsOf(object) {
  const names = new Set();
  for (let at = object; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) {
      if (name === "constructor" || !PUBLIC.has(name)) continue;
      if (typeof object[name] === "function") names.add(name);
    }
  }
  return [...names];
}

/** All calls of an export, by name: generated, so that a new export is included. */
const calls = {};
for (const [name, value] of Object.entries(zeropoint)) {
  if (typeof value !== "function") continue;
  if (!isClass(value)) {
    calls[name] = (args) => value(...args);
    continue;
  }
  calls[`new ${name}`] = async (args, more) => {
    const made = new value(...args);
    for (const method of methodsOf(made)) {
      try {
        await made[method](...more);
      } catch (error) {
        checkRefusal(error, `${name}.${method}`);
      }
    }
    String(made);
    made.dispose?.();
  };
  for (const method of Object.getOwnPropertyNames(value)) {
    if (typeof value[method] !== "function" || !PUBLIC.has(method)) continue;
    calls[`${name}.${method}`] = (args, more) => {
      const made = value[method](...args);
      // The result may be a factory.
      if (typeof made === "function") made(...more);
    };
  }
}

describe("nonsense", () => {
  const expected = quantize(x, { axis: 0 });
  const weight = quantize(tensor([[1, -2, 3]]), { dtype: "int4" });
  const layer = new QuantizedLinear(weight);
  const sums = [...layer.forward(tensor([1, 1, 1])).data];

  for (const [name, call] of Object.entries(calls)) {
    it(`is refused by ${name} with a code, or works; and changes no state`, async () => {
      const property = fc.asyncProperty(lists, lists, async (args, more) => {
        try {
          await call(args, more);
        } catch (error) {
          checkRefusal(error, name);
        }
      });
      await fc.assert(property, fuzzLimits(Object.keys(calls).length, 60));
      sameCodes(quantize(x, { axis: 0 }).data, expected.data);
      assert.deepEqual([...x.data], [1, 2, 3, 4]);
      assert.deepEqual([...layer.forward(tensor([1, 1, 1])).data], sums);
      assert.equal((await init()).build, build);
    });
  }
});
