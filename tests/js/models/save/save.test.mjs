import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { dequantize, init, QuantizedLinear, quantize, tensor } from "zeropoint";
import { load, openModel, quantizeModel, save } from "zeropoint/models";
import {
  convert,
  getDefaultQConfig,
  HistogramObserver,
  Linear,
  MinMaxObserver,
  PlaceholderObserver,
  predefinedQConfigs,
  prepare,
  QConfig,
  QConfigMapping,
  quantizeDynamic,
  quantizePerTensor,
  RecordingObserver,
  ReLU,
  Sequential,
  WeightOnlyQConfig,
} from "zeropoint/torch";
import { fuzzLimits } from "../../support/arbitraries.mjs";
import { refuses, rejects, sameCodes, sameTensor } from "../../support/asserts.mjs";
import { outputBytes, safetensorsOf } from "../../support/files/checkpoints.mjs";
import { bytesOf, openBytes, sameThing, things } from "../../support/files/saved.mjs";
import { batches, floats, makeModel, weights, x } from "../../support/models.mjs";

await init();

const again = async (thing, options) => load(await bytesOf(thing), options);

describe("save and load", () => {
  it("give back random models, tensors and collections with the same bits", async () => {
    const check = async ([thing, input]) => sameThing(await again(thing), thing, input);
    await fc.assert(fc.asyncProperty(things, check), fuzzLimits(1, 300));
  });

  it("give back a prepared model that goes on with what its observers hold", async () => {
    const prepared = prepare(makeModel(), getDefaultQConfig("x86")).calibrate(batches.slice(0, 2));
    const restored = await again(prepared);
    assert.equal(String(restored), String(prepared));
    for (const each of [prepared, restored]) each.calibrate(batches.slice(2));
    sameTensor(convert(restored).forward(x), convert(prepared).forward(x));
  });

  it("give back scales in double precision", async () => {
    const q = quantize(x, { scheme: "affine" });
    assert.notEqual(q.scale, Math.fround(q.scale));
    assert.equal((await again(q)).scale, q.scale);
    const torch = quantizePerTensor(x, 1e-50, 0, "qint8");
    assert.equal((await again(torch)).scale, 1e-50);
    for (const scale of [Infinity, -0, Number.NaN]) {
      const odd = Object.assign(Object.create(Object.getPrototypeOf(torch)), torch, { scale });
      assert.ok(Object.is((await again(odd)).scale, scale));
    }
  });

  it("give back QConfigs and mappings, which print and work as before", async () => {
    const mapping = new QConfigMapping()
      .setGlobal(predefinedQConfigs.default_qconfig)
      .setObjectType(Linear, new WeightOnlyQConfig({ bits: 3, axis: 0 }))
      .setModuleNameRegex(/fc\d/i, predefinedQConfigs.default_per_channel_qconfig)
      .setModuleName("fc1", null);
    const qconfig = new QConfig({
      activation: HistogramObserver.withArgs({ bins: 16 }).withArgs({ reduceRange: true }),
      weight: RecordingObserver,
    });
    const all = {
      mapping,
      list: [qconfig, predefinedQConfigs.default_qat_qconfig, new WeightOnlyQConfig()],
    };
    const restored = await again(all);
    assert.equal(String(restored.mapping), String(mapping));
    assert.deepEqual(restored.list.map(String), all.list.map(String));
    const [before, after] = [mapping, restored.mapping].map((each) =>
      convert(prepare(makeModel(), each).calibrate(batches)).forward(x),
    );
    sameTensor(after, before);
    assert.equal(restored.list[0].activation().bins, 16);
  });

  it("give back observers with what they hold", async () => {
    const observers = {
      minmax: new MinMaxObserver({ dtype: "qint8" }),
      histogram: new HistogramObserver({ bins: 32 }),
      recording: new RecordingObserver(),
      empty: new MinMaxObserver({ eps: 1e-3 }),
    };
    for (const name of ["minmax", "histogram", "recording"]) observers[name].observe(x);
    const restored = await again(observers);
    for (const [name, observer] of Object.entries(observers)) sameThing(restored[name], observer);
  });

  it("give back half floats as their bit patterns", async () => {
    for (const dtype of ["float16", "bfloat16"]) {
      const given = { data: Uint16Array.of(0x3c00, 0xc000, 0x7fff), shape: [3], dtype };
      assert.deepEqual(await again(given), given);
      const { tensors } = openBytes(await bytesOf({ w: given }));
      assert.equal(tensors.w.dtype, dtype === "float16" ? "F16" : "BF16");
    }
  });

  it("give back tensors of dtypes that no typed array holds as their bytes, and write the same file", async () => {
    const file = await safetensorsOf({
      w: ["float32", [4, 64], floats([4, 64]).data],
      ids: ["int64", [2], BigInt64Array.of(1n, -2n)],
      mask: ["bool", [3], Uint8Array.of(0, 1, 1)],
      small: ["float8_e4m3fn", [0, 2], new Uint8Array(0)],
      scalar: ["complex64", [], Float32Array.of(1, 2)],
    });
    const { files } = await quantizeModel(await openModel(file), "int4-g32");
    const written = await outputBytes(files[0]);
    const restored = await load(written);
    assert.deepEqual(restored.ids, {
      data: new Uint8Array(BigInt64Array.of(1n, -2n).buffer),
      shape: [2],
      dtype: "int64",
    });
    assert.equal(restored.mask.dtype, "bool");
    const saved = await bytesOf(restored);
    assert.deepEqual(await load(saved), restored);
    assert.deepEqual(openBytes(saved).tensors, openBytes(written).tensors);
    refuses(
      () => save({ ids: { data: new Uint8Array(15), shape: [2], dtype: "int64" } }),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /"ids"\.data must be the 16 bytes of shape \[2\] in int64, got 15$/,
    );
  });

  it("give back groups that are longer than 2^32", async () => {
    for (const groupSize of [2 ** 32, 2 ** 40 + 3, Number.MAX_SAFE_INTEGER]) {
      const q = quantize(x, { dtype: "int4", groupSize });
      assert.deepEqual(await again(q), q);
    }
  });

  it("give back collections by their names, also by names of Object.prototype", async () => {
    const given = JSON.parse('{"__proto__": 0, "toString": 1, "": 2, "7": 3, "__metadata__": 4}');
    for (const name of Object.keys(given)) {
      Object.defineProperty(given, name, { value: tensor([given[name]]) });
    }
    const restored = await again(given);
    assert.deepEqual(Object.keys(restored), Object.keys(given));
    for (const name of Object.keys(given)) sameTensor(restored[name], given[name]);
    assert.equal(Object.getPrototypeOf(restored), Object.prototype);
  });

  it("save functions by name, and ask for them", async () => {
    const double = ({ data, shape }) => ({ data: data.map((value) => 2 * value), shape });
    const model = new Sequential({ fc: new Linear(weights.fc1), double });
    const bytes = await bytesOf(model);
    sameTensor((await load(bytes, { functions: { double } })).forward(x), model.forward(x));
    const missing = /^load: options\.functions must have the function "double", which is a layer/;
    await rejects(load(bytes), TypeError, "ZP_INVALID_FUNCTION", missing);
    await rejects(load(bytes, { functions: {} }), TypeError, "ZP_INVALID_FUNCTION", missing);
    const inherited = Object.create({ double });
    await rejects(load(bytes, { functions: inherited }), TypeError, "ZP_INVALID_FUNCTION", missing);
  });
});

/** Reads a stream to its end; a Response would reject with an error of its own in browsers. */
async function drain(stream) {
  const reader = stream.getReader();
  while (!(await reader.read()).done);
}

describe("save", () => {
  it("names tensors by their layers, and stores no symmetric zero points", async () => {
    const model = quantizeDynamic(
      makeModel(),
      new QConfigMapping().setObjectType(Linear, new WeightOnlyQConfig({ dtype: "int4", axis: 0 })),
    );
    const { tensors } = openBytes(await bytesOf(model));
    assert.deepEqual(
      Object.entries(tensors).map(([name, { dtype, shape }]) => `${name} ${dtype} [${shape}]`),
      [
        "fc1.bias F32 [16]",
        "fc1.weight_scale F32 [16,1]",
        "fc2.weight_scale F32 [12,1]",
        "fc3.bias F32 [4]",
        "fc3.weight_scale F32 [4,1]",
        "fc1.weight U8 [64]",
        "fc2.weight U8 [96]",
        "fc3.weight U8 [24]",
      ],
    );
  });

  /** The codes of a dtype in packed bytes. */
  function codesIn(bytes, dtype, count) {
    const bits = Number(/\d+/.exec(dtype));
    return Array.from({ length: count }, (_, i) => {
      const at = Math.floor((i * bits) / 8);
      const two = bytes[at] + 256 * (bytes[at + 1] ?? 0);
      const code = (two >> ((i * bits) % 8)) & (2 ** bits - 1);
      return dtype.startsWith("u") || code < 2 ** (bits - 1) ? code : code - 2 ** bits;
    });
  }

  /** Dequantizes the tensor "w" of a file as docs/files.md describes its layout. */
  function dequantizeByReadme({ tensors, dataOf, structure }) {
    const [[, { dtype, shape, groupSize }]] = structure.thing.items;
    const [rows, columns] = shape;
    const scale = new Float32Array(dataOf("w_scale").buffer);
    const offset = tensors.w_offset && new Float32Array(dataOf("w_offset").buffer);
    const Zeros = dtype.startsWith("u") ? Uint8Array : Int8Array;
    const zero = tensors.w_zero_point && new Zeros(dataOf("w_zero_point").buffer);
    const [n, m] = tensors.w_scale.shape;
    const values = codesIn(dataOf("w"), dtype, rows * columns).map((code, i) => {
      const [row, column] = [Math.floor(i / columns), i % columns];
      const at =
        (n === rows ? row * (m ?? 1) : 0) + (groupSize ? Math.floor(column / groupSize) : 0);
      const index = m === columns && n === 1 ? column : n === 1 && m === undefined ? 0 : at;
      const product = Math.fround(scale[index] * (code - (zero?.[index] ?? 0)));
      return product + (offset?.[index] ?? 0);
    });
    return { data: Float32Array.from(values), shape };
  }

  for (const options of [
    { dtype: "int4", groupSize: 4 },
    { dtype: "uint2", scheme: "affine", axis: 1 },
    { dtype: "uint8", scheme: "affine" },
    { dtype: "int8", axis: 0 },
    { dtype: "int3", groupSize: 5 },
    { dtype: "uint5", scheme: "affine", axis: 0 },
    { dtype: "uint6", zeroPoint: "float", groupSize: 4 },
    { dtype: "int7", zeroPoint: "float", axis: 1 },
  ]) {
    it(`writes the layout that docs/files.md describes: ${JSON.stringify(options)}`, async () => {
      const q = quantize(weights.fc1, options);
      const file = openBytes(await bytesOf({ w: q }));
      sameTensor(dequantizeByReadme(file), dequantize(q));
    });
  }

  it("puts a version and the structure into __metadata__", async () => {
    const { metadata, structure } = openBytes(await bytesOf(new Sequential(new ReLU())));
    assert.deepEqual(Object.keys(metadata), ["zeropoint"]);
    const thing = { kind: "Sequential", layers: [["0", { kind: "ReLU" }]] };
    assert.deepEqual(structure, { version: 1, thing });
  });

  it("gives bytes in parts, and reads the arrays when they are asked for", async () => {
    const data = new Float32Array(2 ** 20);
    const stream = save(tensor(data).data === data ? tensor(data) : { data, shape: [2 ** 20] });
    data.fill(3);
    let total = 0;
    let largest = 0;
    for await (const chunk of stream) {
      total += chunk.length;
      largest = Math.max(largest, chunk.length);
      // Another stream may transfer the chunk: it is no view of the array.
      assert.notEqual(chunk.buffer, data.buffer);
    }
    assert.ok(total > 2 ** 22 && largest <= 2 ** 20);
    assert.equal((await load(save({ data, shape: [2 ** 20] }))).data[7], 3);
  });

  it("fails where an array was transferred before it was written", async () => {
    const given = tensor([1, 2, 3]);
    const stream = save(given);
    structuredClone(given.data, { transfer: [given.data.buffer] });
    await rejects(drain(stream), TypeError, "ZP_DETACHED", /transferred/);
  });

  const refusesAll = (cases) => {
    for (const [thing, message] of cases) {
      refuses(() => save(thing), TypeError, "ZP_INVALID_MODEL", message);
    }
  };

  it("refuses models with parts that cannot be saved, and names the part", () => {
    class Own extends Linear {}
    const named = (name) => Object.defineProperty((v) => v, "name", { value: name });
    refusesAll([
      [
        new Sequential({ own: new Own(weights.fc1) }),
        /"own" cannot be saved: a Linear has a class/,
      ],
      [
        new Sequential({
          f: (
            () => (v) =>
              v
          )(),
        }),
        /"f" cannot be saved: a function is saved by its/,
      ],
      [new Sequential(named("same"), named("same")), /another function in it has the same name/],
      [Object.assign(new Linear(weights.fc1), { forward: (v) => v }), /forward of its own/],
    ]);
  });

  it("refuses values that are no tensors or models, and names their place", () => {
    refusesAll([
      [{ deep: [1] }, /"deep\.0" cannot be saved: save takes tensors, .* got 1$/],
      [undefined, /^save: thing cannot be saved/],
      [new Map(), /got a Map$/],
      [Promise.resolve(new Linear(weights.fc1)), /is await missing/],
    ]);
  });

  it("refuses QConfigs with functions or observers of one's own", () => {
    refusesAll([
      [
        new QConfig({
          activation: PlaceholderObserver.withCallableArgs({ eps: () => 1 }),
          weight: null,
        }),
        /functions give options/,
      ],
      [
        new QConfig({ activation: class Mine extends MinMaxObserver {}, weight: null }),
        /a class of its own/,
      ],
    ]);
  });

  it("refuses values that contain themselves", () => {
    const round = {};
    round.again = round;
    refuses(() => save(round), RangeError, "ZP_INVALID_MODEL", /at most 64 deep/);
  });

  it("refuses tensors whose data does not have their shape", () => {
    refuses(() => save({ data: [1], shape: [2] }), RangeError, "ZP_SHAPE_MISMATCH", /^save: /);
  });

  it("refuses a layer that is disposed", async () => {
    const layer = new QuantizedLinear(weights.fc1);
    const stream = save(layer);
    layer.dispose();
    refuses(() => save(layer), TypeError, "ZP_DISPOSED", /disposed/);
    await rejects(drain(stream), TypeError, "ZP_DISPOSED", /disposed/);
  });
});

describe("A restored quantized model", () => {
  it("has its codes and qparams, but no float model", async () => {
    const quantized = convert(
      prepare(makeModel(), predefinedQConfigs.default_per_channel_qconfig).calibrate(batches),
    );
    const restored = await again(quantized);
    assert.equal(restored.model, undefined);
    for (const [i, layer] of quantized.layers.entries()) {
      assert.deepEqual({ ...restored.layers[i], weight: 0 }, { ...layer, weight: 0 });
      if (layer.weight) sameCodes(restored.layers[i].weight.data, layer.weight.data);
    }
    const { sizeInBytes, floatSizeInBytes } = restored.report();
    assert.equal(sizeInBytes, quantized.report().sizeInBytes);
    assert.equal(floatSizeInBytes, quantized.report().floatSizeInBytes);
    refuses(() => restored.report(x), TypeError, "ZP_INVALID_MODEL", /leave x out/);
    const { fc1 } = prepare(makeModel(), predefinedQConfigs.default_qconfig).observers;
    assert.ok(fc1);
    restored.dispose();
    refuses(() => restored.forward(x), TypeError, "ZP_DISPOSED", /disposed/);
  });

  it("is a file of about the size of its codes", async () => {
    const weight = floats([256, 256]);
    const model = new Sequential({ fc: new Linear(weight) });
    const int4 = quantizeDynamic(model, new WeightOnlyQConfig({ dtype: "int4", groupSize: 64 }));
    const { length } = await bytesOf(int4);
    assert.ok(length < (256 * 256) / 2 + 4 * 4 * 256 + 1000, `${length} bytes`);
  });
});
