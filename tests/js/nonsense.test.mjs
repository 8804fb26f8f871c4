// Random nonsense for every export: the call must throw a TypeError or RangeError with a code, or return; it must
// throw nothing else, and change no state.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import fc from "fast-check";
import { fuzzLimits } from "./support/arbitraries.mjs";
import { sameCodes } from "./support/asserts.mjs";
import { zeropoint } from "./support/exports.mjs";
import { JUNK as ANY_JUNK, checkRefusal, isClass } from "./support/junk.mjs";

const { build } = await zeropoint.init();
const { MinMaxObserver, QuantizedLinear, init, quantize, quantizePerTensor, tensor } = zeropoint;

const x = tensor([1, 2, 3, 4], [2, 2]);
const q = quantize(x, { axis: 0 });
const qint8 = quantizePerTensor(x, 0.05, 3, "qint8");
const observer = new MinMaxObserver();
observer.observe(x);
const model = new zeropoint.Sequential([new zeropoint.Linear(x), new zeropoint.ReLU()]);

/** Values of every JavaScript type, and objects of the library. */
const JUNK = [
  ...ANY_JUNK,
  ...[x, q, qint8, observer, model, MinMaxObserver],
  zeropoint.predefinedQConfigs.default_qconfig,
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
