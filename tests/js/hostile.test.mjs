// Random calls with hostile arguments, polluted prototypes and overwritten fields: each returns the right result or
// throws one of the library's errors, and no other layer changes. ZEROPOINT_HOSTILE_CALLS sets the number of calls
// for each build; the default takes seconds.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { Random, sameDeep } from "./support/asserts.mjs";
import { builds } from "./support/builds.mjs";
import {
  ARRAY_CLASSES,
  fieldNames,
  GARBAGE,
  hostile,
  hostileArray,
  NAMES,
  overwrite,
  polluted,
  resultOrRefusal,
  SPECIES,
  withFickleData,
  withSpecies,
} from "./support/hostile.mjs";

// A page has no environment.
const environment = globalThis.process?.env ?? {};
const thorough = environment.ZEROPOINT_THOROUGH === "1";
const calls = Number(environment.ZEROPOINT_HOSTILE_CALLS ?? (thorough ? 20_000 : 4000));
// Errors without long stacks are made sooner.
// Short stacks make errors cheaper.

/** Calls per run of fast-check, which shrinks their list if one fails. */
const CALLS_OF_A_RUN = 50;

/** All actions: arguments, the call, and its relative frequency. */
function actionsOf(zp) {
  const random = new Random(11);
  const { tensor } = zp;
  const values = tensor(random.normal(32), [4, 8]);
  const x = { data: values.data, shape: [4, 8] };
  const w = tensor(random.normal(48), [6, 8]);
  const b = tensor(random.normal(6));
  const q = zp.quantize(w, { axis: 0 });
  const groups = zp.quantize(w, { dtype: "int4", groupSize: 4 });
  const torch = zp.quantizePerTensor(w, 0.05, 3, "qint8");
  const quint8 = zp.quantizePerTensor(values, 0.05, 100, "quint8");
  const channels = zp.quantizePerChannel(w, [1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 0, 0], 0, "qint8");
  const layer = new zp.QuantizedLinear(w, { axis: 0, bias: b });
  const dynamic = new zp.QuantizedLinear(w, { activations: "dynamic", bias: b });
  const model = new zp.Sequential({
    fc1: new zp.Linear(w, { bias: b }),
    relu: new zp.ReLU(),
    fc2: new zp.Linear(tensor(random.normal(18), [3, 6])),
  });
  const prepared = zp.prepare(model, zp.defaultQConfig);
  prepared.forward(values);
  const converted = zp.convert(prepared);
  const dynamicModel = zp.quantizeDynamic(model);
  const plain = new zp.Linear(w, { bias: b });
  const table = new zp.Embedding(w);
  const norm = new zp.LayerNorm(8, { weight: tensor(random.normal(8)) });
  const softmax = new zp.Softmax();
  const out = () => ({ data: new Float32Array(24), shape: [4, 6] });
  const outTensor = () => tensor(new Float32Array(24), [4, 6]);
  const scales = Float32Array.of(0.1, 0.2, 0.3, 0.4);
  const zeros = Int32Array.of(1, 2, 3, 4);
  const tall = tensor(random.normal(140_000), [2, 70_000]);

  /** Observes a batch after writing to some of the observer's fields. */
  const observing = (Observer, options) => (given, fields) => {
    const observer = new Observer(options);
    observer.observe(given);
    writeFields(observer, fields);
    observer.observe(given);
    const { scale, zeroPoint } = observer.calculateQParams();
    return [scale, zeroPoint, observer.toJSON(), Observer.fromJSON(observer.toJSON()).toJSON()];
  };

  const of = (run, ...args) => ({ run, args: () => [...args] });
  return [
    of((a) => zp.quantize(a), x),
    of((a, o) => zp.quantize(a, o), x, { axis: 0 }),
    of((a, o) => zp.quantize(a, o), x, { dtype: "int4", groupSize: 4 }),
    of((a, o) => zp.quantize(a, o), x, { dtype: "uint8", scheme: "affine", axis: 1 }),
    of((a, o) => zp.quantize(a, o), x, { axis: 0, scale: scales, zeroPoint: zeros }),
    of((a, s, z) => zp.quantize(a, { scale: s, zeroPoint: z }), x, [[0.5]], [[3]]),
    of((a, s) => zp.quantize(a, { axis: 0, scale: s }), x, scales),
    of((a, o) => zp.chooseQParams(a, o), x, { dtype: "uint8", scheme: "affine" }),
    of((a) => zp.dequantize(a), q),
    of((a) => zp.dequantize(a), groups),
    of((a) => zp.dequantize(a), torch),
    of((a) => zp.dequantize(a), channels),
    of((a, o) => zp.fakeQuantize(a, o), x, { axis: 1 }),
    of((a) => zp.pack(a), groups),
    of((bytes, a) => zp.unpack(bytes, a), zp.pack(groups), groups),
    of((a, c, d) => zp.linear(a, c, d), x, w, b),
    of((a, c, d) => zp.linear(a, c, d), x, q, b),
    of((a, c, d) => zp.linear(a, c, d), x, groups, b),
    of((a, c, d, o) => zp.linear(a, c, d, o), x, torch, b, { accumulate: "float32" }),
    of((a, o) => makeAndRun(zp, a, o, values), w, { axis: 0, bias: b }),
    of((a, o) => makeAndRun(zp, a, o, values), w, { dtype: "int4", groupSize: 4, bias: b }),
    of((a, o) => makeAndRun(zp, a, o, values), w, { activations: "dynamic", axis: 0 }),
    of((a, o) => makeAndRun(zp, a, o, values), groups, { bias: b }),
    of((a) => layer.forward(a), x),
    of((a) => dynamic.forward(a), x),
    of((a, s, z) => zp.quantizePerTensor(a, s, z, "quint8"), x, [0.05], [100]),
    of((a, s, z) => zp.quantizePerChannel(a, s, z, 0, "qint8"), x, scales, zeros),
    of((a, s, z) => zp.fakeQuantizePerChannel(a, s, z, 0, 0, 15), x, scales, zeros),
    of((a, o) => zp.quantizePerTensorDynamic(a, "quint8", true, o), x, { compat: "torch" }),
    of((a) => zp.intRepr(a), channels),
    of((a, c) => zp.quantizationError(a, c, "sqnr"), x, values),
    of((a) => tensor(a), x),
    of(
      (a) => tensor(a),
      [
        [1, 2],
        [3, 4],
      ],
    ),
    of((a) => plain.forward(a), x),
    of((a) => table.forward(a), Int32Array.of(5, 0, 3)),
    of((a) => norm.forward(a), x),
    of((a) => softmax.forward(a), x),
    of((a) => converted.forward(a), x),
    of((a) => converted.forward(a), quint8),
    of((a) => dynamicModel.forward(a), x),
    { run: (a, o) => layer.forward(a, o), args: () => [x, out()], out: 1 },
    { run: (a, o) => layer.forward(a, o), args: () => [values, outTensor()], out: 1 },
    { run: (a, o) => dynamic.forward(a, o), args: () => [x, out()], out: 1 },
    { run: (a, o) => zp.linear(a, q, b, { out: o }), args: () => [x, out()], out: 1 },
    {
      run: (a, o) => zp.dequantize(a, { out: o }),
      args: () => [q, { data: new Float32Array(48), shape: [6, 8] }],
      out: 1,
    },
    {
      run: (a, o) => zp.quantize(a, { out: o }),
      args: () => [x, new Int8Array(32)],
      out: 1,
    },
    // With fields written between the calls.
    ...[
      [zp.MinMaxObserver, { dtype: "qint8" }],
      [zp.MovingAverageMinMaxObserver, { averagingConstant: 0.5 }],
      [zp.PerChannelMinMaxObserver, { chAxis: 1 }],
      [zp.MovingAveragePerChannelMinMaxObserver, { chAxis: 0 }],
      [zp.HistogramObserver, { bins: 32 }],
    ].map(([Observer, options]) => ({
      run: observing(Observer, options),
      args: (fields) => [x, fields],
    })),
    ...[
      [layer, (a) => layer.forward(a)],
      [dynamic, (a) => dynamic.forward(a)],
      [plain, (a) => plain.forward(a)],
      [table, () => table.forward(Int32Array.of(1, 5))],
      [norm, (a) => norm.forward(a)],
      [softmax, (a) => softmax.forward(a)],
      [converted, (a) => [converted.forward(a), converted.sizeInBytes]],
      [prepared, (a) => prepared.forward(a)],
      [model.layers[0].layer, (a) => [model.forward(a), converted.forward(a)]],
      [zp.defaultQConfig, () => String(zp.defaultQConfig)],
    ].map(([object, run]) => ({
      run: (a, fields) => {
        writeFields(object, fields);
        return run(a);
      },
      args: (fields) => [x, fields],
    })),
    {
      rare: true,
      run: (a) => {
        const made = zp.prepare(model, zp.defaultQConfig);
        made.forward(a);
        const other = zp.convert(made);
        const results = [other.forward(a), String(other.report(a))];
        other.dispose();
        return results;
      },
      args: () => [values],
    },
    { rare: true, run: (a) => zp.dequantize(zp.quantize(a, { axis: 0 })), args: () => [tall] },
  ];
}

/** Makes a layer, runs it and disposes of it. */
function makeAndRun(zp, weight, options, x) {
  const layer = new zp.QuantizedLinear(weight, options);
  try {
    return [layer.forward(x), layer.qparams];
  } finally {
    layer.dispose();
  }
}

/** Writes garbage to an object's fields, and to fields of its tensors and arrays except their values. */
function writeFields(object, random) {
  if (random === undefined) return;
  const names = fieldNames(object);
  for (let i = 0; i < 2; i++) {
    const name = random.pick(names);
    const inner = object[name];
    const isTensor = inner?.data !== undefined && inner.shape !== undefined;
    if (isTensor && random.integer(0, 1) === 0) {
      const shape = inner.shape;
      if (Array.isArray(shape)) overwrite(shape, 0, random.pick(GARBAGE));
      overwrite(inner, random.pick(["data", "shape"]), random.pick(GARBAGE));
    } else {
      overwrite(object, name, random.pick(GARBAGE));
    }
  }
}

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
      work = () => polluted(name, value, inner);
    } else if (attack === 1) {
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
  const Type = { Float32Array, Int8Array }[nameOf.call(array)];
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
