// Arguments that change between reads, misreport themselves or run their own code, and changes of
// prototypes that all objects share.

import assert from "node:assert/strict";

/** Names of options and fields, of the library's own records too, and of what engines look up themselves. */
export const NAMES = [
  ...["scale", "zeroPoint", "bytes", "codes", "values", "id", "dtype", "scheme", "qscheme", "axis"],
  ...[
    "groupSize",
    "data",
    "shape",
    "dims",
    "type",
    "out",
    "bias",
    "accumulate",
    "activations",
    "compat",
  ],
  ...["reduceRange", "includeZero", "nonFinite", "bins", "eps", "chAxis", "quantMin", "quantMax"],
  ...[
    "range",
    "percentile",
    "averagingConstant",
    "isDynamic",
    "fuse",
    "weight",
    "activation",
    "options",
    "observer",
  ],
  ...["state", "input", "output", "q", "fused", "type", "name", "length", "cause", "signal"],
  ...["scales", "zeroPoints", "granularity", "strides", "offset", "valueAt", "reason", "size"],
  ...["typeName", "pythonName", "layer", "x", "given", "core", "next", "bits", "then", "0"],
  ...["ranges", "rows", "slices", "outer", "inner", "nonzero", "block", "memory", "layers"],
];

/** Values that fit no argument, or fit and are wrong. */
export const GARBAGE = [
  ...[0, 1, 2, 3, -1, 0.5, 1.5, 100, 4096, 1e9, 2 ** 31, 2 ** 32, 2 ** 53, Number.NaN, Infinity],
  ...["x", "int4", "float32", "", null, undefined, true, 7n, Symbol("s"), () => 1],
  ...[{}, [], [1], [1.5, 8], [2 ** 20, 2 ** 20], { data: new Float32Array(2), shape: [2] }],
  ...[new Float32Array(3), new Uint8Array(4096), new Float64Array(32), new ArrayBuffer(8)],
];

const pollute = (names, value) => {
  const descriptor = { __proto__: null, value, configurable: true, writable: true };
  for (const name of names) Object.defineProperty(Object.prototype, name, descriptor);
};
const clean = (names) => {
  for (const name of names) delete Object.prototype[name];
};

/** Does some work while Object.prototype has fields of a value. */
export function polluted(names, value, work) {
  pollute(names, value);
  try {
    return work();
  } finally {
    clean(names);
  }
}

/** The same for work that gives a promise: until it settles. */
export async function pollutedAsync(names, value, work) {
  pollute(names, value);
  try {
    return await work();
  } finally {
    clean(names);
  }
}

const TypedArray = Object.getPrototypeOf(Uint8Array);
/** The classes whose methods ask for Symbol.species to make typed arrays. */
export const ARRAY_CLASSES = [
  ...[TypedArray, Uint8Array, Int8Array, Float32Array, Float64Array, Int32Array, Uint32Array],
];
/** Answers to Symbol.species. */
export const SPECIES = [
  ...[Uint8Array, Float64Array, class extends Float32Array {}, Object, undefined],
];

/** Does some work while a class of typed arrays names another one as its species. */
export function withSpecies(type, Species, work) {
  const old = Object.getOwnPropertyDescriptor(type, Symbol.species);
  const asked = { __proto__: null, get: () => Species, configurable: true };
  Object.defineProperty(type, Symbol.species, asked);
  try {
    return work();
  } finally {
    delete type[Symbol.species];
    if (old !== undefined) Object.defineProperty(type, Symbol.species, old);
  }
}

/** Writes a field: an assignment that is refused is as good as one that does nothing. */
export function overwrite(object, name, value) {
  try {
    object[name] = value;
  } catch (error) {
    assert.ok(error instanceof TypeError, error);
  }
}

/** The names of an object's fields: its own and the accessors of its classes, but no methods. */
export function fieldNames(object) {
  const names = new Set();
  for (let at = object; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) {
      const { get, value } = Object.getOwnPropertyDescriptor(at, name);
      if (get !== undefined || (at === object && typeof value !== "function")) names.add(name);
    }
  }
  return [...names];
}

/** The result of some work, or undefined for a refusal of the library's. */
export function resultOrRefusal(work) {
  try {
    return work();
  } catch (error) {
    assert.match(error?.code ?? "", /^ZP_/, error?.stack ?? String(error));
    return undefined;
  }
}

const isTypedArray = (value) => ArrayBuffer.isView(value) && !(value instanceof DataView);

/** The same values in memory that can change its size, tracked by the array. */
function tracking(array, { random, buffers }) {
  const { byteLength, constructor: Type } = array;
  if (byteLength === 0) return array;
  const Buffer = random.pick([ArrayBuffer, SharedArrayBuffer]);
  const copy = new Type(new Buffer(byteLength, { maxByteLength: 4 * byteLength }));
  copy.set(array);
  buffers.push(copy.buffer);
  return copy;
}

/** The same values in an array with false properties. */
function lying(array, { random }) {
  const copy = new array.constructor(array);
  const [name, value] = random.pick([
    ["length", random.pick([0, 1, 1000, 1.5, "x"])],
    ["byteLength", 4],
    ["byteOffset", 8],
    ["buffer", new ArrayBuffer(4)],
    ["constructor", { [Symbol.species]: Uint8Array }],
    ["subarray", () => new Uint8Array(1)],
    ["slice", () => new Uint8Array(1)],
    ["set", () => undefined],
    [Symbol.iterator, () => [1][Symbol.iterator]()],
    [Symbol.toStringTag, "Uint8Array"],
  ]);
  Object.defineProperty(copy, name, { __proto__: null, value });
  return copy;
}

/** The same values in an array that looks like another type. */
export const hostileArray = (array, attack) => attack.random.pick([tracking, lying])(array, attack);

/** The same object, whose data is garbage when it is read for a second time. */
export function withFickleData(object, { random, onRead }) {
  const { data } = object;
  let reads = 0;
  return Object.defineProperty(object, "data", {
    __proto__: null,
    enumerable: true,
    get() {
      onRead();
      return reads++ === 0 ? data : random.pick(GARBAGE);
    },
  });
}

/** The same values behind a proxy: every read after the first one of a key is garbage. */
function fickle(object, { random, onRead }) {
  const seen = new Set();
  return new Proxy(object, {
    get(target, key) {
      const value = Reflect.get(target, key);
      if (typeof key === "symbol") return value;
      onRead();
      if (seen.has(key)) return random.pick(GARBAGE);
      seen.add(key);
      return value;
    },
  });
}

/** The same fields as accessors that answer once. */
function accessors(object, { random, onRead }) {
  const result = {};
  for (const [key, value] of Object.entries(object)) {
    let reads = 0;
    Object.defineProperty(result, key, {
      __proto__: null,
      enumerable: true,
      get() {
        onRead();
        return reads++ === 0 ? value : random.pick(GARBAGE);
      },
    });
  }
  return result;
}

/**
 * A value that looks like another one when each of its fields is read once.
 * @param attack.random   decides how
 * @param attack.onRead   called when a field is read: a place for code that a user may run there
 * @param attack.buffers  gets all memory that can change its size
 */
export function hostile(value, attack) {
  if (isTypedArray(value)) return hostileArray(value, attack);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return fickle(value, attack);
  const { random } = attack;
  // Fields of a tensor may be hostile, too.
  const copy = Object.fromEntries(
    Object.entries(value).map(([key, field]) => [
      key,
      random.integer(0, 2) === 0 ? hostile(field, attack) : field,
    ]),
  );
  return random.pick([fickle, accessors])(copy, attack);
}
