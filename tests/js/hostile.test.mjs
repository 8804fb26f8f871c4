// Random calls with hostile arguments, polluted prototypes and overwritten fields: each returns the right result or
// throws one of the library's errors, and no other layer changes. ZEROPOINT_HOSTILE_CALLS sets the number of calls
// for each build; the default takes seconds.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { Random, sameDeep } from "./support/asserts.mjs";
import { builds } from "./support/builds.mjs";
import { isThorough } from "./support/effort.mjs";
import {
  ARRAY_CLASSES,
  GARBAGE,
  hostile,
  hostileArray,
  NAMES,
  polluted,
  resultOrRefusal,
  SPECIES,
  withFickleData,
  withSpecies,
} from "./support/hostile.mjs";
import { actionsOf, makeAndRun } from "./support/hostile-actions.mjs";

// A page has no environment.
const environment = globalThis.process?.env ?? {};
const calls = Number(environment.ZEROPOINT_HOSTILE_CALLS ?? (isThorough ? 20_000 : 4000));

/** Calls per run of fast-check, which shrinks their list if one fails. */
const CALLS_OF_A_RUN = 50;

/** Layers not used by any call, with their outputs. */
function canariesOf(zp) {
  const random = new Random(12);
  const x = zp.tensor(random.normal(16), [1, 16]);
  const canaries = [{ axis: 0 }, { dtype: "int4", groupSize: 8 }].map((options) => {
    const bias = zp.tensor(random.normal(8));
    const layer = new zp.QuantizedLinear(zp.tensor(random.normal(128), [8, 16]), {
      ...options,
      bias,
    });
    const out = zp.tensor(new Float32Array(8), [1, 8]);
    return { layer, out, expected: Float32Array.from(layer.forward(x).data) };
  });
  return () => {
    for (const { layer, out, expected } of canaries) {
      const { data } = layer.forward(x, out);
      for (let i = 0; i < 8; i++) {
        if (data[i] !== expected[i])
          assert.fail("a layer that the call does not use was overwritten");
      }
    }
  };
}

/** Calls for one build, each determined by a number. */
function callsOf(zp) {
  // Canary layers allocated before and after the memory of the actions.
  const checkBefore = canariesOf(zp);
  const actions = actionsOf(zp);
  const checkBehind = canariesOf(zp);
  const frequent = actions.filter(({ rare }) => !rare);
  const expected = new Map(
    actions.map((action) => {
      const args = action.args(undefined);
      const result = action.run(...args);
      return [action, structuredClone(outcome(action, args, result))];
    }),
  );
  const other = zp.tensor(new Random(13).normal(64), [8, 8]);

  /** User code that runs while the library reads a field. */
  function intrude(random, buffers) {
    const choice = random.integer(0, 15);
    if (choice === 0) zp.quantize(other, { axis: 0 });
    else if (choice === 1) makeAndRun(zp, other, undefined, other);
    else if (choice === 2) resultOrRefusal(() => zp.dequantize({ ...other, dtype: 1, scale: 1 }));
    else if (choice === 3 && buffers.length > 0) {
      const buffer = random.pick(buffers);
      const size = random.integer(0, buffer.maxByteLength);
      try {
        if (buffer.growable) buffer.grow(size);
        else if (buffer.resizable) buffer.resize(size);
      } catch (error) {
        assert.ok(error instanceof RangeError, error);
      }
    }
  }

  return (number) => {
    const random = new Random(number);
    const action = random.integer(0, 999) === 0 ? random.pick(actions) : random.pick(frequent);
    const args = action.args(random);
    const honest = [...args];
    let mayChange = false;
    let work = () => action.run(...args);
    // Rare: a changed prototype makes the engine recompile everything, so these attacks take 100 times as long.
    const attack = random.integer(0, 99) === 0 ? random.integer(0, 1) : random.integer(2, 5);
    if (attack === 0) {
      const inner = work;
      const [name, value] = [random.pick(NAMES), random.pick(GARBAGE)];
      work = () => polluted([name], value, inner);
    } else if (attack === 1 && !action.withoutSpecies) {
      const inner = work;
      const [type, Species] = [random.pick(ARRAY_CLASSES), random.pick(SPECIES)];
      work = () => withSpecies(type, Species, inner);
    } else if (attack < 5) {
      const buffers = [];
      const at = random.integer(0, args.length - 1);
      const isIntruder = attack === 4;
      const onRead = isIntruder ? () => intrude(random, buffers) : () => undefined;
      const how = { random, onRead, buffers };
      if (at === action.out) {
        // Record the array passed as out: the outcome is read from it.
        const given = args[at];
        if (ArrayBuffer.isView(given)) args[at] = honest[at] = hostileArray(given, how);
        else {
          const data = random.pick([given.data, hostileArray(given.data, how)]);
          given.data = data;
          honest[at] = { data };
          withFickleData(given, how);
        }
      } else if (!(args[at] instanceof Random)) {
        args[at] = hostile(args[at], how);
      }
      mayChange = isIntruder;
    }
    const result = resultOrRefusal(() => ({ returned: work() }));
    checkBefore();
    checkBehind();
    if (result === undefined || mayChange) return;
    sameDeep(plainOf(outcome(action, honest, result.returned)), expected.get(action));
  };
}

/** The outcome of a call: its return value, or the array that it wrote to. */
function outcome({ out }, args, returned) {
  if (out === undefined) return plainOf(returned);
  const given = args[out];
  return plainArray(ArrayBuffer.isView(given) ? given : given.data);
}

const TypedArray = Object.getPrototypeOf(Uint8Array);
const { get: lengthOf } = Object.getOwnPropertyDescriptor(TypedArray.prototype, "length");

/** The values of an array whose own fields may be overwritten. */
function plainArray(array) {
  const Type = { Float32Array, Int8Array, Uint8Array }[nameOf.call(array)];
  return Type.from({ length: lengthOf.call(array) }, (_, i) => array[i]);
}

const { get: nameOf } = Object.getOwnPropertyDescriptor(TypedArray.prototype, Symbol.toStringTag);

/** Own fields of results, without their classes. */
function plainOf(value) {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) return value.map(plainOf);
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, plainOf(field)]));
}

describe("hostile calls", () => {
  for (const zp of builds) {
    it(`return right results or throw errors, and change nothing else, on ${zp.name}`, () => {
      const call = callsOf(zp);
      let made = 0;
      const property = fc.property(
        fc.array(fc.nat(2 ** 31 - 1), {
          minLength: CALLS_OF_A_RUN,
          maxLength: CALLS_OF_A_RUN,
          size: "max",
        }),
        (numbers) => {
          for (const number of numbers) call(number);
          made += numbers.length;
        },
      );
      const numRuns = Math.ceil(calls / CALLS_OF_A_RUN);
      fc.assert(property, { numRuns, seed: 20, includeErrorInReport: true });
      assert.ok(made >= calls, `${made} calls`);
    });
  }
});
