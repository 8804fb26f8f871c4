// Outputs and inputs of weights of TensorFlow.js and ONNX: what analyze measures is what quantizeModel writes.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { dequantize, fakeQuantize, init, quantizationError } from "zeropoint";
import { analyze, compare, load, openModel, quantizeModel } from "zeropoint/models";
import { sizeOf } from "../../../internal/tensor.mjs";
import { rejects, sameDeep } from "../../support/asserts.mjs";
import { openOutput, outputBytes } from "../../support/files/checkpoints.mjs";
import { constant, normals, onnxModel } from "../../support/onnx/models.mjs";

await init();

/** Numbers whose size depends on the index of an axis, as that of outputs does. */
function valuesOf(shape, axis) {
  const inner = sizeOf(shape, axis + 1);
  return normals(sizeOf(shape), shape[axis]).map(
    (value, i) => value * 1.3 ** ((Math.floor(i / inner) % shape[axis]) % 17),
  );
}

const layer = (class_name, name, config = {}) => ({ class_name, config: { name, ...config } });

const LAYERS = [
  layer("Dense", "dense"),
  layer("Dense", "last"),
  layer("Conv2D", "conv"),
  layer("DepthwiseConv2D", "depthwise"),
  layer("DepthwiseConv2D", "multiplied"),
  layer("Conv2DTranspose", "transposed"),
  layer("Bidirectional", "bidirectional", { layer: layer("LSTM", "lstm") }),
  layer("Embedding", "embedding"),
  layer("Unknown", "other"),
];

/** Weights of the layers: shape, the first and the last axis of the inputs, and an axis of outputs. */
const WEIGHTS = {
  "dense/kernel": [[64, 48], [0, 0], 1],
  "last/kernel": [[300, 1], [0, 0], 1],
  "conv/kernel": [[3, 3, 8, 32], [0, 2], 3],
  "depthwise/depthwise_kernel": [[3, 3, 96, 1], [0, 1], 2],
  "multiplied/depthwise_kernel": [[3, 3, 48, 2], [0, 1], 2],
  "transposed/kernel": [[3, 3, 32, 16], [3, 3], 2],
  "bidirectional/forward_lstm/lstm_cell/kernel": [[40, 128], [0, 0], 1],
  "bidirectional/forward_lstm/lstm_cell/recurrent_kernel": [[32, 128], [0, 0], 1],
  "embedding/embeddings": [[100, 16], [1, 1], 0],
  "other/kernel": [[64, 48], [1, 1], 0],
};

/** Weights of operators of ONNX, in the same way. */
const OPERATORS = {
  MatMul: [[64, 48], [0, 0], 1],
  Gemm: [[48, 64], [1, 1], 0],
  Gather: [[100, 16], [1, 1], 0],
  Conv: [[32, 8, 3, 3], [1, 3], 0],
  ConvTranspose: [[64, 8, 3, 2], [0, 0], 1],
  LSTM: [[2, 64, 24], [2, 2], 1],
  products: [[2, 64, 48], [1, 1], 2],
  "products of batches": [[2, 3, 64, 20], [2, 2], 3],
};

/** A model of TensorFlow.js with layers. @param weights  shapes, and axes of outputs @param change  changes the values */
async function layersModel(weights, change = () => {}) {
  const names = Object.keys(weights);
  const manifest = names.map((name) => ({ name, shape: weights[name][0], dtype: "float32" }));
  const values = names.map((name) => valuesOf(weights[name][0], weights[name][2]));
  for (const each of values) change(each);
  const shard = new Uint8Array(await new Blob(values).arrayBuffer());
  const model = {
    ...{ format: "layers-model", modelTopology: { model_config: { config: { layers: LAYERS } } } },
    weightsManifest: [{ paths: ["shard.bin"], weights: manifest }],
  };
  const text = new TextEncoder().encode(JSON.stringify(model));
  return await openModel(text, { externalData: () => shard });
}

/** A model of ONNX with a node for each weight. */
async function onnx() {
  const node = (opType, inputs, attributes = {}) => ({
    ...{ opType, inputs, attributes },
    outputs: [`y ${inputs[opType === "Gather" ? 0 : 1]}`],
  });
  const input = (name, shape, dtype) => ({ name, shape, dtype });
  const bytes = await onnxModel({
    inputs: [
      input("x", ["n", 64]),
      input("ids", ["n"], "int64"),
      input("image", [1, 8, 9, 9]),
      input("channels", [1, 64, 9, 9]),
      input("steps", [5, 1, 24]),
      input("recurrent", [2, 64, 16]),
    ],
    outputs: Object.keys(OPERATORS).map((name) => ({ name: `y ${name}`, shape: ["n", "m"] })),
    nodes: [
      node("MatMul", ["x", "MatMul"]),
      node("Gemm", ["x", "Gemm"], { transB: { int: 1 } }),
      node("Gather", ["Gather", "ids"]),
      node("Conv", ["image", "Conv"]),
      node("ConvTranspose", ["channels", "ConvTranspose"]),
      node("LSTM", ["steps", "LSTM", "recurrent"]),
      node("MatMul", ["x", "products"]),
      node("MatMul", ["x", "products of batches"]),
    ],
    initializers: Object.entries(OPERATORS).map(([name, [shape, , output]]) =>
      constant(name, shape, valuesOf(shape, output)),
    ),
  });
  return await openModel(bytes);
}

const SCHEMES = [
  ...["int8-tensor", "int4-tensor-mse", "int8-channel", "int8-channel-affine", "int4-channel-mse"],
  ...["int4-channel-hqq", "int8-g32", "int4-g32-affine-mse", "int4-g20", "int4-g32-hqq", "float16"],
];

async function collected(rows) {
  const list = [];
  for await (const row of rows) list.push(row);
  return list;
}

/** The largest sum of |a - b| of an output. */
function largestSum(a, b, shape, [first, last]) {
  const [inputs, inner] = [sizeOf(shape, first, last + 1), sizeOf(shape, last + 1)];
  const sums = new Float64Array(a.length / inputs);
  for (let i = 0; i < a.length; i++) {
    sums[Math.floor(i / inner / inputs) * inner + (i % inner)] += Math.abs(a[i] - b[i]);
  }
  return Math.max(...sums);
}

/**
 * Checks that the errors of an analysis are those of the written file, but for the order of sums in float64.
 * @param axes  the axes of weights by name
 */
async function sameErrors(model, axes, schemes, format) {
  const rows = await collected(analyze(model, { schemes, format }));
  assert.equal(rows.length, schemes.length * Object.keys(axes).length);
  for (const scheme of schemes) {
    const { files, report } = await quantizeModel(model, () => scheme, { format });
    const written = await openOutput(openModel, files);
    const found = await collected(compare(model, written));
    for (const row of rows.filter((each) => each.scheme === scheme)) {
      const { name, shape, parameters } = row;
      const title = `${scheme} ${name}`;
      const { max, mse } = found.find((each) => each.name === name);
      const [a, b] = [await model.read(name), await written.read(name)];
      // Sums of n numbers are off by n roundings at most, and norms are rounded up by n + 8.
      const isSame = (x, y) => Math.abs(x - y) <= 2 * (parameters + 8) * 2 ** -52 * y;
      assert.equal(row.max, max, title);
      assert.ok(isSame(row.mse, mse), title);
      assert.equal(quantizationError(a, b, "max"), max, title);
      assert.ok(isSame(row.norm1, largestSum(a.data, b.data, shape, axes[name][1])), title);
      const { bytesAfter } = report.rows.find((each) => each.name === name);
      assert.equal(row.bytes, bytesAfter, title);
    }
  }
}

describe("Outputs of weights", () => {
  it("is shown in rows as the axis of the scales, unless it is the first one or several", async () => {
    const model = await layersModel(WEIGHTS);
    const found = {};
    for (const { name, outputAxis, max } of await collected(
      analyze(model, { schemes: ["int8-channel"], exclude: ["*depthwise*"] }),
    )) {
      found[name] = outputAxis;
      const x = await model.read(name);
      if (outputAxis === undefined) continue;
      const changed = fakeQuantize(x, { dtype: "int8", axis: outputAxis });
      assert.equal(quantizationError(x, changed, "max"), max, name);
    }
    await model.close();
    assert.deepEqual(
      [found["dense/kernel"], found["last/kernel"], found["conv/kernel"]],
      [1, 1, 3],
    );
    assert.deepEqual(
      [found["embedding/embeddings"], found["transposed/kernel"]],
      [undefined, undefined],
    );
  });

  it("are the same in an analysis and in safetensors of a model of TensorFlow.js", async () => {
    await sameErrors(await layersModel(WEIGHTS), WEIGHTS, SCHEMES, undefined);
  });

  it("are the same in an analysis and in safetensors of a model of ONNX", async () => {
    await sameErrors(await onnx(), OPERATORS, SCHEMES, "safetensors");
  });

  it("are the same in an analysis and in a model of ONNX, where batches share their scales", async () => {
    await sameErrors(await onnx(), OPERATORS, SCHEMES, "onnx");
  });

  it("are the same in an analysis and in ONNX where batches grow by four, as default", async () => {
    const [batches, inputs, outputs] = [8, 64, 16];
    const values = normals(batches * inputs * outputs, 3).map(
      (value, i) => value * 4 ** Math.floor(i / inputs / outputs),
    );
    const bytes = await onnxModel({
      inputs: [{ name: "x", shape: [batches, "m", inputs] }],
      outputs: [{ name: "y", shape: [batches, "m", outputs] }],
      nodes: [{ opType: "MatMul", inputs: ["x", "w"], outputs: ["y"] }],
      initializers: [constant("w", [batches, inputs, outputs], values)],
    });
    const model = await openModel(bytes);
    const axes = { w: [[batches, inputs, outputs], [1, 1], 2] };
    await sameErrors(model, axes, ["int8-channel", "int4-channel"], undefined);
    const [{ bytes: size, sqnr }] = await collected(analyze(model, { schemes: ["int8-channel"] }));
    assert.deepEqual([size, Math.round(sqnr)], [batches * inputs * outputs + 4 * outputs, 38]);
  });

  it("are kept by an analysis for ONNX if a value that batches share a scale with is NaN", async () => {
    const values = normals(2 * 32 * 16);
    values[600] = Number.NaN;
    const bytes = await onnxModel({
      inputs: [{ name: "x", shape: [2, "m", 32] }],
      outputs: [{ name: "y", shape: [2, "m", 16] }],
      nodes: [{ opType: "MatMul", inputs: ["x", "w"], outputs: ["y"] }],
      initializers: [constant("w", [2, 32, 16], values)],
    });
    const [row] = await collected(analyze(await openModel(bytes), { schemes: ["int8-channel"] }));
    assert.deepEqual([row.scheme, row.reason], ["keep", "values that are NaN or infinite"]);
    assert.match(row.sha256, /^[0-9a-f]{64}$/);
  });

  it("are the same where a weight is read in several passes", async () => {
    const weights = { "dense/kernel": [[3000, 1400], [0, 0], 1] };
    const schemes = ["int8-channel", "int4-channel-mse", "int4-g32"];
    await sameErrors(await layersModel(weights), weights, schemes, "safetensors");
  });

  it("are quantized in blocks along the last axis for GGUF", async () => {
    const weights = {
      "dense/kernel": [[40, 256], [0, 0], 1],
      "conv/kernel": WEIGHTS["conv/kernel"],
    };
    await sameErrors(await layersModel(weights), weights, ["q8_0", "q4_0"], "gguf");
  });

  it("have a scale each, along their own axes, so that small outputs keep their precision", async () => {
    const model = await layersModel(WEIGHTS);
    const { files, report } = await quantizeModel(model, () => "int8-channel");
    assert.deepEqual(
      report.notes.filter((note) => !/are read twice/.test(note)),
      [],
    );
    const bytes = await outputBytes(files[0]);
    const [loaded, written] = [await load(bytes), await openModel(bytes)];
    for (const [name, [shape, [first, last]]] of Object.entries(WEIGHTS)) {
      const q = loaded[name];
      assert.deepEqual(q.shape, shape, name);
      const scaleShape = shape.map((length, i) => (i >= first && i <= last ? 1 : length));
      assert.deepEqual(q.scale.shape, scaleShape, name);
      sameDeep(dequantize(q).data, (await written.read(name)).data);
    }
    const kernel = await model.read("dense/kernel");
    const worst = (values) =>
      Math.min(...quantizationError(kernel, values, "sqnr", { axis: 1 }).data);
    const ofInputs = worst(fakeQuantize(kernel, { axis: 0 }));
    const ofOutputs = worst(dequantize(loaded["dense/kernel"]));
    assert.ok(ofInputs < 20 && ofOutputs > 40, `${ofInputs} dB, ${ofOutputs} dB`);
  });

  it("have the errors of their sums in an analysis with inputs of the layer", async () => {
    const weights = { "dense/kernel": WEIGHTS["dense/kernel"] };
    const model = await layersModel(weights);
    const [count, inputs, outputs] = [20, 64, 48];
    const x = normals(count * inputs, 3);
    const activations = { "dense/kernel": { data: x, shape: [count, inputs] } };
    const schemes = ["int8-channel", "int4-g32", "int4-g32-hqq"];
    const rows = await collected(analyze(model, { schemes, activations }));
    assert.equal(rows.length, schemes.length);
    for (const row of rows) {
      const { files } = await quantizeModel(model, () => row.scheme);
      const written = await openModel(await outputBytes(files[0]));
      const [a, b] = [await model.read(row.name), await written.read(row.name)];
      let sum = 0;
      for (let n = 0; n < count; n++) {
        for (let o = 0; o < outputs; o++) {
          let error = 0;
          for (let i = 0; i < inputs; i++) {
            const at = i * outputs + o;
            error += x[n * inputs + i] * (a.data[at] - b.data[at]);
          }
          sum += error ** 2;
        }
      }
      const mean = sum / count / outputs;
      assert.ok(Math.abs(row.outputMse - mean) < 1e-9 * mean, row.scheme);
    }
  });

  it("are kept by an analysis, and refused by a file, if a value is NaN", async () => {
    const weights = { "dense/kernel": WEIGHTS["dense/kernel"] };
    const model = await layersModel(weights, (values) => values.fill(Number.NaN, 1000, 1001));
    const [row] = await collected(analyze(model, { schemes: ["int4-g32"] }));
    assert.equal(row.reason, "values that are NaN or infinite");
    for (const scheme of ["int8-channel", "int4-channel-mse", "int4-g32"]) {
      const { files } = await quantizeModel(model, () => scheme);
      await rejects(outputBytes(files[0]), RangeError, "ZP_NON_FINITE", /has NaN at index 1000/);
    }
  });

  it("are in groups only where inputs are in front of them, and the report says so", async () => {
    const model = await layersModel({ "dense/kernel": WEIGHTS["dense/kernel"] });
    const { report } = await quantizeModel(model, "int4-g32");
    const note = "groups of 1 weight run along the last axis, over outputs";
    assert.equal(report.notes[0].slice(0, note.length), note);
  });

  it("are kept in a layout that takes them as rows, if they are columns", async () => {
    const names = { "a.weight": 0, "b.weight": 1 };
    const bytes = await onnxModel({
      inputs: [{ name: "x", shape: ["n", 32] }],
      outputs: Object.keys(names).map((name) => ({ name: `y ${name}`, shape: ["n", 32] })),
      nodes: Object.entries(names).map(([name, transB]) => ({
        ...{ opType: "Gemm", inputs: ["x", name], outputs: [`y ${name}`] },
        attributes: { transB: { int: transB } },
      })),
      initializers: Object.keys(names).map((name) => constant(name, [32, 32], normals(1024))),
    });
    const options = { format: "safetensors", target: "compressed-tensors" };
    const { report } = await quantizeModel(await openModel(bytes), "int8-channel", options);
    assert.deepEqual(
      report.rows.map(({ scheme, reason }) => [scheme, reason]),
      [
        ["keep", "its outputs are columns, and the layout takes rows"],
        ["int8-channel", undefined],
      ],
    );
  });

  it("are kept in safetensors where no operator makes them a weight", async () => {
    const bytes = await onnxModel({
      inputs: [{ name: "x", shape: [16, 32] }],
      outputs: [{ name: "y", shape: [16, 32] }],
      nodes: [{ opType: "Add", inputs: ["x", "w"], outputs: ["y"] }],
      initializers: [constant("w", [16, 32], normals(512))],
    });
    const model = await openModel(bytes);
    const [row] = await collected(analyze(model));
    const { report } = await quantizeModel(model, "int8-channel", { format: "safetensors" });
    assert.deepEqual([row.reason, report.rows[0].reason], ["used by Add", "used by Add"]);
  });
});
