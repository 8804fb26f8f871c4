import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { dequantize, init, quantize, quantizeBlocks, tensor } from "zeropoint";
import {
  compare,
  load,
  openModel,
  quantizeModel,
  save,
  schemeOptions,
  verifyOutput,
} from "zeropoint/models";
import { Linear, ReLU, Sequential } from "zeropoint/torch";
import { layoutGGUF, writeGGUF, writeNpz } from "../../../internal/formats.mjs";
import { rejects, sameDeep } from "../../support/asserts.mjs";
import {
  openOutput,
  outputBytes,
  safetensorsOf,
  someValues,
} from "../../support/files/checkpoints.mjs";
import { collect } from "../../support/files/formats.mjs";
import { openBytes } from "../../support/files/saved.mjs";
import { LAYERS, modelOf } from "../../support/onnx/layers.mjs";

await init();

const w = someValues(64 * 96);
const doubles = Float64Array.from(w, (value) => value / 3);
const writable = (name, dtype, shape, array) => ({
  ...{ name, dtype, shape },
  bytes: () => [new Uint8Array(array.buffer, array.byteOffset, array.byteLength)],
});
const npz = (compressed) =>
  collect(
    writeNpz(
      [
        writable("w", "float32", [64, 96], w),
        writable("d", "float64", [64, 96], doubles),
        writable("ids", "int64", [2], BigInt64Array.of(1n, -2n)),
      ],
      { compressed },
    ),
  );

describe("quantizeModel from npz", () => {
  for (const compressed of [false, true]) {
    it(`writes safetensors of ${compressed ? "deflated" : "stored"} arrays`, async () => {
      const model = await openModel(await npz(compressed));
      const result = await quantizeModel(model, "int4-g32", { format: "safetensors" });
      const { w: q, d, ids } = await load(await outputBytes(result.files[0]));
      const options = { dtype: "int4", groupSize: 32 };
      sameDeep(q.data, quantize({ data: w, shape: [64, 96] }, options).data);
      const rounded = { data: Float32Array.from(doubles), shape: [64, 96] };
      sameDeep(d.data, quantize(rounded, options).data);
      sameDeep(new BigInt64Array(ids.data.buffer), BigInt64Array.of(1n, -2n));
      const { read, total, problems } = await verifyOutput(model, result);
      assert.deepEqual([read, total, problems], [3, 3, []]);
    });
  }
});

describe("quantizeModel to npz and npy", () => {
  it("writes values as they are, and quantized ones dequantized", async () => {
    const q = quantize({ data: w, shape: [64, 96] }, { axis: 0 });
    const model = await openModel(save({ q, b: tensor([1, 2]) }));
    const { files, report } = await quantizeModel(model, "keep", { format: "npz" });
    const out = await openModel(await outputBytes(files[0]));
    assert.equal(out.format, "npz");
    sameDeep((await out.read("q")).data, dequantize(q).data);
    sameDeep((await out.read("b")).data, Float32Array.of(1, 2));
    assert.match(report.rows.find(({ name }) => name === "q").reason, /written as float32/);
  });

  it("writes half floats, and bfloat16 as float32", async () => {
    const model = await openModel(
      await safetensorsOf({
        w: ["float32", [64, 96], w],
        h: ["bfloat16", [2], Uint16Array.of(0x3f80, 0xc000)],
      }),
    );
    const { files } = await quantizeModel(model, "float16", { format: "npz" });
    const out = await openModel(await outputBytes(files[0]));
    assert.equal(out.tensors.get("w").dtype, "float16");
    assert.equal(out.tensors.get("h").dtype, "float32");
    sameDeep((await out.read("h")).data, Float32Array.of(1, -2));
  });

  it("writes one tensor as npy", async () => {
    const model = await openModel(save({ w: { data: w, shape: [64, 96] } }));
    const { files } = await quantizeModel(model, "float16", { format: "npy" });
    const out = await openModel(await outputBytes(files[0]));
    assert.deepEqual([out.format, ...out.tensors.keys()], ["npy", "array"]);
    assert.deepEqual([...out.tensors.values()][0].shape, [64, 96]);
  });

  it("refuses integer schemes, and npy for several tensors", async () => {
    const model = await openModel(save({ w: { data: w, shape: [64, 96] }, b: tensor([1]) }));
    const refuse = (scheme, format, code, text) =>
      rejects(() => quantizeModel(model, scheme, { format }), RangeError, code, text);
    await refuse("int8-channel", "npz", "ZP_INVALID_SCHEME", /npz holds plain values/);
    await refuse("keep", "npy", "ZP_INVALID_OPTION", /npy holds one tensor, and the model has 2/);
  });
});

describe("quantizeModel from GGUF to safetensors", () => {
  it("quantizes block types again if asked to, and writes them as float32 where they are kept", async () => {
    const x = { data: w, shape: [64, 96] };
    const blocks = quantizeBlocks(x, "q8_0");
    const file = await collect(
      writeGGUF(
        layoutGGUF(
          [
            writable("blk.0.ffn_up.weight", "q8_0", [64, 96], blocks),
            writable("blk.0.ffn_norm.weight", "float32", [96], w.slice(0, 96)),
            writable("position_embd.weight", "q8_0", [64, 96], blocks),
          ],
          [],
        ),
      ),
    );
    const model = await openModel(file);
    const result = await quantizeModel(model, "int4-g32", {
      ...{ format: "safetensors", target: "mlx", requantize: true },
    });
    const { tensors } = openBytes(await outputBytes(result.files[0]));
    assert.equal(tensors["blk.0.ffn_up.weight"].dtype, "U32");
    assert.equal(tensors["position_embd.weight"].dtype, "F32");
    assert.ok(result.report.notes.some((note) => note.includes("names of the gguf file")));
    const { problems, rows } = await verifyOutput(model, result);
    assert.deepEqual(problems, []);
    assert.ok(rows.find(({ name }) => name === "position_embd.weight").equal);
  });
});

describe("quantizeModel of what save wrote", () => {
  it("gives layers quantized weights: load restores a model that runs", async () => {
    const first = new Linear({ data: w, shape: [64, 96] }, { bias: tensor(new Float32Array(64)) });
    const layers = { first, relu: new ReLU(), last: new Linear({ data: w, shape: [96, 64] }) };
    const model = await openModel(save(new Sequential(layers)));
    const { files } = await quantizeModel(model, "int4-g32");
    const restored = await load(await outputBytes(files[0]));
    const expected = new Sequential({
      first: new Linear(quantize(first.weight, { dtype: "int4", groupSize: 32 }), {
        bias: first.bias,
      }),
      relu: new ReLU(),
      last: new Linear(quantize(layers.last.weight, { dtype: "int4", groupSize: 32 })),
    });
    const x = { data: w.slice(0, 192), shape: [2, 96] };
    sameDeep(restored.forward(x).data, expected.forward(x).data);
  });

  it("keeps quantized tensors and their nodes, and quantizes the others", async () => {
    const q = quantize({ data: w, shape: [64, 96] }, { dtype: "int4", groupSize: 32 });
    const model = await openModel(save({ q, x: { data: w, shape: [64, 96] } }));
    const { files, report } = await quantizeModel(model, "int8-channel");
    const loaded = await load(await outputBytes(files[0]));
    sameDeep(loaded.q.data, q.data);
    sameDeep(loaded.q.scale.data, q.scale.data);
    sameDeep(loaded.x.data, quantize({ data: w, shape: [64, 96] }, { axis: 0 }).data);
    const row = report.rows.find(({ name }) => name === "q");
    assert.deepEqual([row.scheme, row.reason], ["keep", "already quantized (int4)"]);
    const rows = [];
    for await (const each of compare(model, await openOutput(openModel, files))) rows.push(each);
    assert.deepEqual(rows.map(({ name, equal }) => [name, equal]).sort(), [
      ["q", true],
      ["x", false],
    ]);
  });
});

describe("quantizeModel of shards", () => {
  const map = { a: "one.safetensors", b: "two.safetensors", c: "two.safetensors" };
  let model;
  let result;
  before(async () => {
    const weight = ["float32", [64, 96], w];
    const metadata = [["format", "pt"]];
    const files = {
      "one.safetensors": await safetensorsOf({ a: weight }, metadata),
      "two.safetensors": await safetensorsOf(
        { b: weight, c: ["float32", [4], w.slice(0, 4)] },
        metadata,
      ),
    };
    const index = JSON.stringify({ metadata: {}, weight_map: map });
    const externalData = (name) => files[name];
    model = await openModel(new TextEncoder().encode(index), { externalData });
    result = await quantizeModel(model, "int4-g32");
  });

  it("writes each shard by itself, with its metadata", async () => {
    const names = result.files.map(({ name }) => name);
    assert.deepEqual(names, [...new Set(Object.values(map)), "model.safetensors.index.json"]);
    const { a } = await load(await outputBytes(result.files[0]));
    sameDeep(a.data, quantize({ data: w, shape: [64, 96] }, { dtype: "int4", groupSize: 32 }).data);
    const small = await openOutput(openModel, result.files);
    assert.equal(small.metadata.get("format"), "pt");
  });

  it("writes an index with the new names and sizes", async () => {
    const written = JSON.parse(new TextDecoder().decode(await outputBytes(result.files[2])));
    const codes = (64 * 96) / 2;
    const scales = 4 * 64 * 3;
    assert.equal(written.metadata.total_size, 2 * (codes + scales) + 16);
    assert.deepEqual(written.weight_map, { ...map, a_scale: map.a, b_scale: map.b });
  });

  it("writes shards that compare and verifyOutput read", async () => {
    const small = await openOutput(openModel, result.files);
    const rows = [];
    for await (const { name, sqnr } of compare(model, small)) rows.push([name, sqnr > 10]);
    assert.deepEqual(rows, [
      ["a", true],
      ["b", true],
      ["c", true],
    ]);
    assert.deepEqual((await verifyOutput(model, result)).problems, []);
  });
});

describe("quantizeModel from ONNX to safetensors", () => {
  it("quantizes initializers as they lie, and writes those that it keeps as they are", async () => {
    const layer = LAYERS["Gemm with transB and a bias"];
    const values = w.slice(0, 20 * 96);
    const model = await openModel(await modelOf(layer, values));
    const result = await quantizeModel(model, "int4-g32", { format: "safetensors" });
    assert.equal(result.report.format, "safetensors");
    const { w: q, b } = await load(await outputBytes(result.files[0]));
    const expected = quantize({ data: values, shape: [20, 96] }, schemeOptions("int4-g32"));
    sameDeep(q.data, expected.data);
    sameDeep(q.scale.data, expected.scale.data);
    sameDeep(b.data, (await model.read("b")).data);
    const { read, total, problems } = await verifyOutput(model, result);
    assert.deepEqual([read, total, problems], [2, 2, []]);
  });
});

describe("quantizeModel from TensorFlow.js to safetensors", () => {
  const kernel = w.slice(0, 64 * 32);
  const codes = Uint8Array.from({ length: 64 * 32 }, (_, i) => i % 251);

  /** A model with a weight that is quantized and one that is quantized already, over two shards. */
  async function quantizedFromTfjs() {
    const bytes = new Uint8Array([...new Uint8Array(kernel.buffer), ...codes]);
    const shards = { "a.bin": bytes.subarray(0, 5000), "b.bin": bytes.subarray(5000) };
    const quantization = { dtype: "uint8", scale: 0.5, min: -8, original_dtype: "float32" };
    const weights = [
      { name: "dense/kernel", shape: [64, 32], dtype: "float32" },
      { name: "other/kernel", shape: [64, 32], dtype: "float32", quantization },
    ];
    const manifest = {
      ...{ format: "layers-model", modelTopology: {} },
      weightsManifest: [{ paths: Object.keys(shards), weights }],
    };
    const externalData = (path) => shards[path];
    const text = new TextEncoder().encode(JSON.stringify(manifest));
    const model = await openModel(text, { externalData });
    assert.equal(model.format, "tfjs");
    const wish = ({ name }) => (name === "dense/kernel" ? "int8-channel" : "keep");
    const result = await quantizeModel(model, wish, { format: "safetensors" });
    return { model, result, out: await load(await outputBytes(result.files[0])) };
  }

  it("quantizes weights over several shards", async () => {
    const { out } = await quantizedFromTfjs();
    const expected = quantize({ data: kernel, shape: [64, 32] }, schemeOptions("int8-channel"));
    sameDeep(out["dense/kernel"].data, expected.data);
    sameDeep(out["dense/kernel"].scale.data, expected.scale.data);
  });

  it("writes the values of weights that are quantized already", async () => {
    const { out } = await quantizedFromTfjs();
    sameDeep(
      out["other/kernel"].data,
      Float32Array.from(codes, (code) => code * 0.5 - 8),
    );
  });

  it("is read again by verifyOutput", async () => {
    const { model, result } = await quantizedFromTfjs();
    const { read, total, problems } = await verifyOutput(model, result);
    assert.deepEqual([read, total, problems], [2, 2, []]);
  });
});

describe("streams from an offset", () => {
  const from = async (file, begin) =>
    new Uint8Array(await new Response(file.stream(begin)).arrayBuffer());
  const same = async (model, scheme, options) => {
    const { files } = await quantizeModel(model, scheme, options);
    for (const file of files) {
      const whole = await outputBytes(file);
      const { length } = whole;
      for (const begin of [1, length >> 2, (length >> 1) + 3, length - 1, length]) {
        sameDeep(await from(file, begin), whole.slice(begin));
      }
    }
  };

  it("give the rest of a file of every format", async () => {
    const float = await openModel(save({ a: tensor(w, [64, 96]), b: tensor(w, [96, 64]) }));
    await same(float, "int4-g32");
    await same(float, "uint4-g32-affine", { target: "mlx" });
    await same(float, "q8_0", { format: "gguf" });
    await same(float, "float16", { format: "npz" });
    const onnx = await openModel(await modelOf(LAYERS.MatMul, w.slice(0, 96 * 20)));
    for (const target of ["portable", "web"]) await same(onnx, "int4-g32", { target });
  });

  it("do not read the tensors before it", async () => {
    const model = await openModel(save({ a: tensor(w, [64, 96]), b: tensor(w, [96, 64]) }));
    const names = new Set();
    const onProgress = ({ name }) => names.add(name);
    const { files } = await quantizeModel(model, "int8-channel", { onProgress });
    await from(files[0], files[0].size - 1);
    assert.equal(names.has("a") && names.has("b"), false);
  });

  it("refuse an offset behind the end", async () => {
    const { files } = await quantizeModel(
      await openModel(save({ w: tensor(w, [64, 96]) })),
      "int8-channel",
    );
    assert.throws(
      () => files[0].stream(files[0].size + 1),
      /quantizeModel: begin must be an integer from 0 to /,
    );
  });
});
