// Arguments and public fields that change, lie or inherit: results stay right or an error is thrown, and no call
// writes outside its buffers in the core's heap.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import {
  chooseQParams,
  dequantize,
  fakeQuantize,
  init,
  linear,
  pack,
  QuantizedLinear,
  quantizationError,
  quantize,
  tensor,
  unpack,
} from "zeropoint";
import {
  convert,
  Embedding,
  HistogramObserver,
  intRepr,
  LayerNorm,
  Linear,
  MinMaxObserver,
  MovingAverageMinMaxObserver,
  PerChannelMinMaxObserver,
  predefinedQConfigs,
  prepare,
  quantizePerChannel,
  quantizePerTensor,
  Sequential,
} from "zeropoint/torch";
import { Random, sameCodes, sameDeep, sameFloats } from "./support/asserts.mjs";
import { overwrite as overwriteOne, resultOrRefusal } from "./support/hostile.mjs";

await init();
const random = new Random(20);

// Layers before and after all allocations of a test: an out-of-bounds write changes their outputs.
const canaries = [];
const canaryInput = tensor(random.normal(64), [2, 32]);
let canaryOutputs = [];
const addCanary = () =>
  canaries.push(
    new QuantizedLinear(tensor(random.normal(32 * 16), [16, 32]), {
      axis: 0,
      bias: tensor(random.normal(16)),
    }),
  );
const canariesRun = () => canaries.map((layer) => [...layer.forward(canaryInput).data]);
addCanary();

/** Asserts that no layer's weights were overwritten. */
function canariesAreWell() {
  assert.deepEqual(canariesRun(), canaryOutputs, "a layer's weights were overwritten");
}

beforeEach(() => {
  addCanary();
  canaryOutputs = canariesRun();
});
afterEach(canariesAreWell);

/** Writes to an object's fields. */
function overwrite(object, fields) {
  for (const [name, value] of Object.entries(fields)) overwriteOne(object, name, value);
}

/** Fields of observers with other values than any of the tests has. */
const OBSERVER_FIELDS = {
  dtype: "qint32",
  qscheme: "per_channel_affine",
  reduceRange: true,
  quantMin: -5,
  quantMax: 1e9,
  eps: 7,
  isDynamic: true,
  averagingConstant: 1e9,
  chAxis: 5,
  bins: 1,
  core: undefined,
  compat: true,
  ranges: new Float32Array(1000),
  options: { dtype: "none" },
};

describe("fields of observers", () => {
  it("cannot move a histogram's heap address downwards", () => {
    const observer = new HistogramObserver({ bins: 2 ** 20 });
    observer.observe(tensor([0, 1, 2, 100]));
    overwrite(observer, { bins: 16 });
    addCanary();
    canaryOutputs = canariesRun();
    assert.equal(observer.bins, 2 ** 20);
    observer.observe(tensor([-500, 500]));
    assert.equal(observer.histogram.data.length, 2 ** 20);
    observer.calculateQParams();
  });

  it("cannot move a histogram's heap address upwards", () => {
    const observer = new HistogramObserver({ bins: 16 });
    const twin = new HistogramObserver({ bins: 16 });
    for (const each of [observer, twin]) each.observe(tensor([0, 1, 2, 100]));
    overwrite(observer, { bins: 4096 });
    for (const each of [observer, twin]) each.observe(tensor([-500, 500]));
    sameFloats(observer.histogram.data, twin.histogram.data);
    sameDeep(observer.toJSON(), twin.toJSON());
  });

  it("cannot be written: the options determine an observer's settings", () => {
    const made = [
      new MinMaxObserver({ dtype: "qint8", eps: 0.5 }),
      new MovingAverageMinMaxObserver({ averagingConstant: 0.5 }),
      new PerChannelMinMaxObserver({ chAxis: 1 }),
      new HistogramObserver({ bins: 8 }),
    ];
    const x = tensor([1, 2, 3, 4], [2, 2]);
    for (const observer of made) {
      const Class = observer.constructor;
      const twin = new Class(observer.options);
      overwrite(observer, OBSERVER_FIELDS);
      for (const each of [observer, twin]) each.observe(x);
      sameDeep(observer.calculateQParams().scale.data, twin.calculateQParams().scale.data);
      for (const name of ["dtype", "qscheme", "quantMin", "quantMax", "eps", "chAxis", "bins"]) {
        if (!(name in twin)) continue;
        assert.equal(observer[name], twin[name], `${Class.name}.${name}`);
      }
    }
  });
});

describe("fields of layers", () => {
  const weight = tensor(random.normal(64 * 48), [48, 64]);
  const bias = tensor(random.normal(48));
  const x = tensor(random.normal(4 * 64), [4, 64]);
  const calibrated = (layer) => {
    const model = new Sequential({ fc: layer });
    const prepared = prepare(model, predefinedQConfigs.default_qconfig);
    prepared.forward(x);
    return convert(prepared);
  };
  const expected = calibrated(new Linear(weight, { bias })).forward(x);

  for (const fields of [
    { outFeatures: 1 },
    { inFeatures: 2 },
    { outFeatures: 1e6 },
    { inFeatures: 1.5 },
    { weight: tensor([1], [1, 1]), bias: tensor([1]) },
  ]) {
    const text = Object.keys(fields).join(", ");
    const [value] = Object.values(fields);
    it(`of a Linear (${text} = ${value}) do not reach the static layer made from it`, () => {
      const layer = new Linear(weight, { bias });
      const quantized = calibrated(layer);
      overwrite(layer, fields);
      for (let i = 0; i < 3; i++) sameFloats(quantized.forward(x).data, expected.data);
      sameFloats(layer.forward(x).data, linear(x, weight, bias).data);
    });
  }

  it("of a Linear do not affect a later conversion", () => {
    const layer = new Linear(weight, { bias });
    const prepared = prepare(new Sequential({ fc: layer }), predefinedQConfigs.default_qconfig);
    prepared.forward(x);
    overwrite(layer, { outFeatures: 1, inFeatures: 2 });
    sameFloats(convert(prepared).forward(x).data, expected.data);
  });

  it("of an Embedding and a LayerNorm do not affect their results", () => {
    const table = new Embedding(tensor([1, 2, 3, 4, 5, 6], [3, 2]));
    overwrite(table, { numEmbeddings: 1000, embeddingDim: 1000, weight: tensor([1]) });
    assert.deepEqual([...table.forward(Int32Array.of(2)).data], [5, 6]);
    assert.throws(() => table.forward(Int32Array.of(3)), { code: "ZP_INVALID_TENSOR" });
    const norm = new LayerNorm(2);
    const before = norm.forward(tensor([1, 3])).data;
    overwrite(norm, { normalizedShape: [1], eps: 100, weight: tensor([5]) });
    sameFloats(norm.forward(tensor([1, 3])).data, before);
  });

  it("of a QuantizedLinear do not affect its results", () => {
    const layer = new QuantizedLinear(weight, { axis: 0, bias });
    const y = layer.forward(x);
    overwrite(layer, {
      inFeatures: 1,
      outFeatures: 1e6,
      accumulate: "none",
      qparams: {},
    });
    sameFloats(layer.forward(x).data, y.data);
    assert.equal(layer.outFeatures, 48);
  });

  it("of a parameter reach the layer as a whole or not at all", () => {
    const layer = new Linear(weight, { bias });
    const given = layer.weight;
    resultOrRefusal(() => {
      overwrite(given, { data: new Float32Array(3), shape: [1, 3] });
    });
    sameFloats(layer.forward(x).data, linear(x, weight, bias).data);
  });
});

describe("tensors that change", () => {
  it("refuses a fractional length in the fast path", () => {
    const layer = new QuantizedLinear(tensor(random.normal(4 * 8), [4, 8]));
    const input = tensor(random.normal(16), [2, 8]);
    const out = tensor(new Float32Array(8), [2, 4]);
    for (const length of [1.5, 0.5, -1, Number.NaN, 2 ** 32, "2", { valueOf: () => 2 }]) {
      for (const inputToo of [true, false]) {
        const [a, b] = [tensor(input), tensor(out)];
        if (inputToo) a.shape[0] = length;
        b.shape[0] = length;
        assert.throws(() => layer.forward(a, b), { code: /^ZP_/ }, `${String(length)}`);
      }
    }
    const half = tensor(new Float32Array(12), [1, 12]);
    const halfOut = tensor(new Float32Array(6), [1, 6]);
    half.shape[0] = 1.5;
    half.shape[1] = 8;
    halfOut.shape[0] = 1.5;
    halfOut.shape[1] = 4;
    assert.throws(() => layer.forward(half, halfOut), { code: "ZP_INVALID_SHAPE" });
  });

  it("reads the data of out once", () => {
    const q = quantize(tensor(random.normal(1000)));
    const expected = dequantize(q).data;
    for (const second of [
      new Uint8Array(1000),
      new Float64Array(1000),
      new Float32Array(1),
      new Int8Array(0),
      undefined,
    ]) {
      const [first, ...others] = [new Float32Array(1000), second, second, second, second];
      let reads = 0;
      const shape = [1000];
      const out = {
        get data() {
          reads++;
          return reads === 1 ? first : others[0];
        },
        shape,
      };
      const result = resultOrRefusal(() => dequantize(q, { out }));
      if (result !== undefined) sameFloats(first, expected);
      assert.ok(reads <= 1, `data was read ${reads} times`);
      canariesAreWell();
    }
  });

  it("reads the data of a Tensor given as out once", () => {
    const q = quantize(tensor(random.normal(1000)));
    const layer = new QuantizedLinear(tensor(random.normal(32 * 1000), [1000, 32]));
    const x = tensor(random.normal(32), [1, 32]);
    for (const [run, shape] of [
      [(out) => dequantize(q, { out }), [1000]],
      [(out) => fakeQuantize(q.data, { scale: 1, out }), [1000]],
      [(out) => layer.forward(x, out), [1, 1000]],
      [(out) => linear(x, tensor(new Float32Array(32000), [1000, 32]), null, { out }), [1, 1000]],
    ]) {
      const out = tensor(new Float32Array(1000), shape);
      const good = out.data;
      let reads = 0;
      const data = {
        get() {
          reads++;
          return reads === 1 ? good : new Uint8Array(1000);
        },
      };
      Object.defineProperty(out, "data", data);
      resultOrRefusal(() => run(out));
      assert.ok(reads <= 1, `data was read ${reads} times by ${run}`);
      canariesAreWell();
    }
  });

  /** A copy of an object that counts how often each of its fields is read. */
  function counted(object) {
    const counts = new Map();
    const handler = {
      get(target, key) {
        if (typeof key === "string") counts.set(key, (counts.get(key) ?? 0) + 1);
        return Reflect.get(target, key);
      },
    };
    return { proxy: new Proxy({ ...object }, handler), counts };
  }

  const x = tensor(random.normal(64), [8, 8]);
  const q = quantize(x, { axis: 0 });
  const torch = quantizePerTensor(x, 0.1, 0, "qint8");
  for (const [name, given, run] of [
    ["quantize", x, (v) => quantize(v)],
    ["chooseQParams", x, (v) => chooseQParams(v)],
    ["tensor", x, (v) => tensor(v)],
    ["linear", x, (v) => linear(v, x)],
    ["linear's weight", q, (v) => linear(x, v)],
    ["linear's torch weight", torch, (v) => linear(x, v)],
    ["QuantizedLinear", q, (v) => new QuantizedLinear(v)],
    ["QuantizedLinear of torch", torch, (v) => new QuantizedLinear(v)],
    ["dequantize", q, (v) => dequantize(v)],
    ["dequantize of torch", torch, (v) => dequantize(v)],
    ["pack", q, (v) => pack(v)],
    ["unpack", q, (v) => unpack(pack(q), v)],
    ["quantizePerTensor", x, (v) => quantizePerTensor(v, 1, 0, "qint8")],
    ["quantizationError", x, (v) => quantizationError(v, x)],
    ["options", { scale: 1, zeroPoint: 3, scheme: "affine" }, (v) => quantize(x, v)],
    ["options of a QuantizedLinear", { axis: 0 }, (v) => new QuantizedLinear(x, v)],
    ["options of an observer", { dtype: "qint8" }, (v) => new MinMaxObserver(v)],
  ]) {
    it(`reads every field of an input once: ${name}`, () => {
      const { proxy, counts } = counted(given);
      run(proxy);
      for (const [key, count] of counts) assert.equal(count, 1, `${key} is read ${count} times`);
    });
  }

  it("refuses a shape that contradicts dims", () => {
    const data = new Float32Array(4);
    assert.throws(() => quantize({ data, shape: [4], dims: [2, 2] }), {
      code: "ZP_INVALID_SHAPE",
      message: /x\.shape .*\[4\].*x\.dims.*\[2, 2\]/,
    });
    assert.deepEqual(quantize({ data: Float32Array.of(1), shape: [1], dims: [1] }).shape, [1]);
    const q = quantize(tensor([1, 2, 3, 4]));
    assert.throws(() => dequantize({ ...q, dims: [2, 2] }), { code: "ZP_INVALID_SHAPE" });
  });

  /** Shared buffers, and a thread that grows each a short time after flag[0] was set to its index plus 1. */
  async function startGrowing(count) {
    const buffers = Array.from(
      { length: count },
      () => new SharedArrayBuffer(4 * 16, { maxByteLength: 2 ** 20 }),
    );
    const flag = new Int32Array(new SharedArrayBuffer(4));
    const source = `
      const { workerData: { buffers, flag } } = require("node:worker_threads");
      Atomics.store(flag, 0, -1);
      for (let i = 0; i < buffers.length; i++) {
        while (Atomics.load(flag, 0) < i + 1);
        for (let pause = 0; pause < (i * 37) % 997; pause++) Atomics.load(flag, 0);
        try { buffers[i].grow(2 ** 20); } catch {}
      }`;
    const worker = new Worker(source, { eval: true, workerData: { buffers, flag } });
    while (Atomics.load(flag, 0) !== -1) await new Promise((resolve) => setTimeout(resolve, 5));
    return { buffers, worker, flag };
  }

  it("never writes out of bounds while another thread grows an array", async () => {
    const layer = new QuantizedLinear(tensor(random.normal(64), [4, 16]));
    addCanary();
    canaryOutputs = canariesRun();
    const out = tensor(new Float32Array(4), [1, 4]);
    const { buffers, worker, flag } = await startGrowing(1200);
    try {
      for (let i = 0; i < buffers.length; i++) {
        const input = tensor(new Float32Array(16), [1, 16]);
        input.data = new Float32Array(buffers[i]);
        Atomics.store(flag, 0, i + 1);
        for (let k = 0; k < 500; k++) {
          try {
            layer.forward(input, out);
          } catch (error) {
            assert.match(error.code ?? error.stack, /^ZP_/);
            break;
          }
        }
        canariesAreWell();
      }
    } finally {
      await worker.terminate();
    }
  });

  it("uses an array's length at the call when it tracks the length of its memory", () => {
    const shared = new SharedArrayBuffer(64, { maxByteLength: 256 });
    const own = new ArrayBuffer(64, { maxByteLength: 256 });
    const layer = new QuantizedLinear(tensor(random.normal(64), [4, 16]));
    for (const buffer of [shared, own]) {
      const values = new Float32Array(buffer);
      assert.equal(quantize(values).data.length, 16);
      const x = tensor(new Float32Array(16), [1, 16]);
      x.data = values;
      const out = tensor(new Float32Array(4), [1, 4]);
      layer.forward(x, out);
      if (buffer === shared) buffer.grow(128);
      else buffer.resize(128);
      assert.equal(quantize(values).data.length, 32);
      assert.throws(() => layer.forward(x, out), { code: "ZP_SHAPE_MISMATCH" });
    }
  });

  it("refuses an array that is resized while other fields are read", () => {
    for (const bytes of [0, 4, 64]) {
      for (const [run, dtype] of [
        [(q) => intRepr(q), "qint8"],
        [(q) => dequantize(q), "qint8"],
        [(q) => pack(q), "int4"],
        [(q) => new QuantizedLinear(q), "int8"],
      ]) {
        const data = new Int8Array(new ArrayBuffer(16, { maxByteLength: 64 }));
        const q = {
          data,
          shape: [4, 4],
          dtype,
          zeroPoint: 0,
          scale: {
            data: [1],
            get shape() {
              data.buffer.resize(bytes);
              return [1];
            },
          },
        };
        assert.throws(() => run(q), { code: /^ZP_(DETACHED|SHAPE_MISMATCH)$/ }, `${run} ${bytes}`);
      }
    }
  });

  const values = Float32Array.from({ length: 16 }, (_, i) => i);
  const codes = () => quantize(values).data;
  for (const [name, value] of [
    ["length", 4],
    ["length", 1000],
    ["byteOffset", 8],
    ["byteLength", 4],
    ["buffer", new ArrayBuffer(4)],
    ["constructor", { [Symbol.species]: Uint8Array }],
    [Symbol.iterator, () => [1][Symbol.iterator]()],
    [Symbol.toStringTag, "Uint8Array"],
  ]) {
    const overridden = (array) => Object.defineProperty(array, name, { value });
    const field = `${String(name)}, here ${typeof value === "number" ? value : typeof value}`;

    it(`ignores an overridden field of values: ${field}`, () => {
      sameCodes(quantize(overridden(new Float32Array(values))).data, codes());
    });

    it(`ignores an overridden field of out: ${field}`, () => {
      const out = overridden(new Int8Array(16));
      quantize(values, { out });
      const written = Array.from({ length: 16 }, (_, i) => out[i]);
      assert.deepEqual(written, [...codes()]);
    });

    it(`ignores an overridden field of scales: ${field}`, () => {
      const scale = overridden(Float32Array.of(1, 2));
      const rows = { data: values, shape: [2, 8] };
      sameCodes(
        quantize(rows, { axis: 0, scale }).data,
        quantize(rows, { axis: 0, scale: [1, 2] }).data,
      );
      sameCodes(
        quantizePerChannel(rows, scale, [0, 0], 0, "qint8").data,
        quantizePerChannel(rows, [1, 2], [0, 0], 0, "qint8").data,
      );
    });
  }
});

describe("a quantized tensor given to a static model", () => {
  const model = new Sequential({
    fc: new Linear(tensor(random.normal(64), [8, 8]), { bias: tensor(random.normal(8)) }),
  });
  const x = tensor(random.normal(32), [4, 8]);
  const prepared = prepare(model, predefinedQConfigs.default_qconfig);
  prepared.forward(x);
  const quantized = convert(prepared);

  it("is used with its scale and zero point, as in PyTorch", () => {
    const observer = prepared.observers.fc.input;
    const { scale, zeroPoint } = observer.calculateQParams();
    const same = quantizePerTensor(x, scale.data[0], zeroPoint.data[0], "quint8");
    sameFloats(quantized.forward(same).data, quantized.forward(x).data);
    // With another scale: within 2.5 output steps of the result for the dequantized input.
    const other = quantizePerTensor(x, 0.05, 100, "quint8");
    const step = prepared.observers.fc.output.calculateQParams().scale.data[0];
    const [got, wanted] = [other, dequantize(other)].map((each) => quantized.forward(each).data);
    got.forEach((value, i) => {
      assert.ok(Math.abs(value - wanted[i]) < 2.5 * step, `${i}: ${value} and ${wanted[i]}`);
    });
  });

  it("is refused unless it is quint8 with one scale", () => {
    for (const q of [
      quantizePerTensor(x, 0.05, 0, "qint8"),
      quantizePerTensor(x, 0.05, 0, "qint32"),
      quantizePerChannel(x, new Array(4).fill(0.1), new Array(4).fill(0), 0, "quint8"),
      { ...quantizePerTensor(x, 0.05, 0, "qint8") },
    ]) {
      assert.throws(() => quantized.forward(q), {
        code: /^ZP_(UNSUPPORTED_DTYPE|INVALID_TENSOR|INVALID_QSCHEME)$/,
      });
    }
    const wrong = quantizePerTensor(x, 0.05, 0, "quint8");
    overwrite(wrong, { data: new Uint8Array(3) });
    assert.throws(() => quantized.forward(wrong), { code: "ZP_SHAPE_MISMATCH" });
  });
});

describe("state from JSON", () => {
  it("refuses half of an unobserved range", () => {
    const json = (minVal, maxVal) => ({
      observer: "HistogramObserver",
      options: { bins: 2 },
      state: { minVal, maxVal, histogram: [0, 0] },
    });
    for (const [min, max] of [
      [[5], ["-Infinity"]],
      [["Infinity"], [5]],
      [[5], [4]],
    ]) {
      assert.throws(() => HistogramObserver.fromJSON(json(min, max)), { code: "ZP_INVALID_STATE" });
      assert.throws(
        () =>
          MinMaxObserver.fromJSON({ ...json(min, max), observer: "MinMaxObserver", options: {} }),
        { code: "ZP_INVALID_STATE" },
      );
    }
    assert.ok(HistogramObserver.fromJSON(json(["Infinity"], ["-Infinity"])).isUnobserved);
  });
});
